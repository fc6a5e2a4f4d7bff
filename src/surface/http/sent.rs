//! The fields of a document or a form that was sent.

use serde_json::{Map, Value};

use super::ask::HttpAsk;
use super::problem::{BodyFault, HttpProblem, ProblemError};
use crate::capture::Identity;

/// A word that says what is being done, bytes.
const ACTION_BYTES_MAX: usize = 40;

/// A document that was sent, while its fields are read.
pub(super) struct SentFields<'a> {
    fields: &'a Map<String, Value>,
    faults: Vec<BodyFault>,
}

impl<'a> SentFields<'a> {
    /// The fields of a document.
    ///
    /// # Errors
    /// When it is no object.
    pub(super) fn new(ask: &'a HttpAsk) -> anyhow::Result<Self> {
        let fields = ask.body.as_ref().and_then(Value::as_object);
        let fault = || BodyFault { pointer: String::new(), detail: "an object is expected".into() };
        let fields = fields.ok_or_else(|| ProblemError(HttpProblem::bad_body(vec![fault()])))?;
        Ok(SentFields { fields, faults: Vec::new() })
    }

    /// Notes that a field is wrong.
    pub(super) fn add_fault(&mut self, name: &str, detail: &str) {
        self.faults.push(BodyFault { pointer: format!("/{name}"), detail: format!("{name}: {detail}") });
    }

    /// A text that may be missing.
    pub(super) fn text(&mut self, name: &str) -> Option<String> {
        match self.fields.get(name) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
            Some(_) => {
                self.add_fault(name, "a text is expected");
                None
            }
        }
    }

    /// A text that has to be there.
    pub(super) fn required(&mut self, name: &str) -> String {
        let before = self.faults.len();
        match self.text(name) {
            Some(text) => text,
            None => {
                if self.faults.len() == before {
                    self.add_fault(name, "is missing or empty");
                }
                String::new()
            }
        }
    }

    /// Whether something is agreed to: `true`, or the ticked box of a form.
    pub(super) fn is_on(&mut self, name: &str) -> bool {
        self.choice(name).unwrap_or(false)
    }

    /// Yes or no, also as the word of a form; it may be missing.
    pub(super) fn choice(&mut self, name: &str) -> Option<bool> {
        match self.fields.get(name) {
            None | Some(Value::Null) => None,
            Some(Value::Bool(choice)) => Some(*choice),
            Some(Value::String(word)) if word == "true" || word == "false" => Some(word == "true"),
            Some(_) => {
                self.add_fault(name, "true or false is expected");
                None
            }
        }
    }

    /// A number that has to be there, also as the text of a form.
    pub(super) fn number(&mut self, name: &str) -> f64 {
        let number = match self.fields.get(name) {
            Some(Value::String(text)) => text.trim().parse().ok().filter(|number: &f64| number.is_finite()),
            Some(value) => value.as_f64(),
            None => None,
        };
        number.unwrap_or_else(|| {
            self.add_fault(name, "a number is expected");
            0.0
        })
    }

    /// Texts that may be missing.
    pub(super) fn texts(&mut self, name: &str) -> Vec<String> {
        let texts = match self.fields.get(name) {
            None | Some(Value::Null) => Some(Vec::new()),
            Some(Value::Array(items)) => items.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
            Some(_) => None,
        };
        texts.unwrap_or_else(|| {
            self.add_fault(name, "a list of texts is expected");
            Vec::new()
        })
    }

    /// What is being done: a word in capital letters.
    pub(super) fn action(&mut self) -> Vec<String> {
        let action = self.required("actionType");
        let is_word = action.len() <= ACTION_BYTES_MAX && action.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
        if !is_word {
            self.add_fault("actionType", "expected a word such as CREATE, UPDATE, DELETE or VERIFY");
        }
        vec![action]
    }

    /// Who recorded it, in which task and session.
    pub(super) fn identity(&mut self) -> Identity {
        let agent = Some(self.required("agentId"));
        Identity { task: self.text("taskId"), session: self.text("executionId"), agent, ..Identity::default() }
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// When a field was wrong, or there is one of another name.
    pub(super) fn finish(mut self, known: &[&str]) -> anyhow::Result<()> {
        let unknown: Vec<String> = self.fields.keys().filter(|name| !known.contains(&name.as_str())).cloned().collect();
        for name in unknown {
            self.add_fault(&crate::base::text::one_line(&name), "is unknown");
        }
        if self.faults.is_empty() { Ok(()) } else { Err(ProblemError(HttpProblem::bad_body(self.faults)).into()) }
    }
}
