//! The tools, in the order in which they are listed: each with what it takes, what it says of itself, and its verb.

mod advice;
mod failures;
mod gate;
mod memory;
mod writing;

use anyhow::ensure;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

pub(super) use advice::{SURFACE, warned};
pub(super) use failures::recent_text;
pub(super) use memory::recalled_text;

use super::answer::ToolAnswer;
use crate::base::schema::PropertySchema;
use crate::ops::request::Request;

/// A path, characters.
const PATH_CHARS_MAX: usize = 4_096;
/// A command line, characters.
const COMMAND_CHARS_MAX: usize = 20_000;
/// A name, a title, characters.
const NAME_CHARS_MAX: usize = 500;
/// Files of a question.
const FILES_MAX: usize = 200;

/// A tool.
pub(super) struct Tool {
    /// Its name.
    pub name: &'static str,
    /// A name for people.
    pub title: &'static str,
    /// What it does and when to call it, for models.
    pub description: &'static str,
    /// Whether it only reads; that something was read may be remembered.
    pub reads: bool,
    /// JSON Schema of its arguments.
    pub input: fn() -> Value,
    /// The properties of its structured answer beside `schema`, with their types; the verbs' types say what is in them.
    pub output: &'static [(&'static str, &'static str)],
    call: fn(&Request, Value) -> anyhow::Result<ToolAnswer>,
}

/// All tools.
pub(super) const TOOLS: [&Tool; 9] = [
    &advice::WARNINGS,
    &failures::KNOWN_FAILURE,
    &writing::LESSONS_SEARCH,
    &writing::RECORD_FIX,
    &memory::REMEMBER,
    &memory::RECALL,
    &failures::RECENT_FAILURES,
    &advice::CHECK_DIFF,
    &gate::GATE_STATUS,
];

impl Tool {
    /// Calls it.
    ///
    /// # Errors
    /// Arguments that don't fit the schema, each named with its path; what the verb says.
    pub(super) fn call(&self, request: &Request, arguments: Map<String, Value>) -> anyhow::Result<ToolAnswer> {
        let input = (self.input)();
        let arguments = Value::Object(understood(arguments, &input));
        let faults = PropertySchema::new(&input).map_err(anyhow::Error::msg)?.faults(&arguments);
        ensure!(faults.is_empty(), "these arguments don't fit {}: {}", self.name, faults.join("; "));
        (self.call)(request, arguments)
    }

    /// JSON Schema of its structured answer: what is always there. Later versions may have more.
    pub(super) fn output(&self) -> Value {
        let all = [("schema", "integer")].into_iter().chain(self.output.iter().copied());
        let properties: Map<String, Value> =
            all.clone().map(|(name, kind)| (name.to_owned(), json!({ "type": kind }))).collect();
        let required: Vec<&str> = all.map(|(name, _)| name).collect();
        json!({"type": "object", "properties": properties, "required": required})
    }
}

/// What models often write instead: the other tools' name for a text, one string where a list is expected.
fn understood(mut arguments: Map<String, Value>, input: &Value) -> Map<String, Value> {
    let properties = &input["properties"];
    for (said, meant) in [("query", "text"), ("text", "query")] {
        if properties.get(said).is_none()
            && properties.get(meant).is_some()
            && !arguments.contains_key(meant)
            && let Some(value) = arguments.remove(said)
        {
            arguments.insert(meant.to_owned(), value);
        }
    }
    for (name, value) in &mut arguments {
        if value.is_string() && properties[name.as_str()]["type"] == "array" {
            *value = Value::Array(vec![value.take()]);
        }
    }
    arguments
}

/// The tool of this name.
pub(super) fn named(name: &str) -> Option<&'static Tool> {
    TOOLS.into_iter().find(|tool| tool.name == name)
}

/// The schema of an object with these properties and no others.
fn object(required: &[&str], properties: Value) -> Value {
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

fn string(description: &str, most: usize) -> Value {
    json!({"type": "string", "description": description, "maxLength": most})
}

fn integer(description: &str, least: u64, most: u64, default: u64) -> Value {
    json!({"type": "integer", "description": description, "minimum": least, "maximum": most, "default": default})
}

fn boolean(description: &str) -> Value {
    json!({"type": "boolean", "description": description, "default": false})
}

fn files(description: &str) -> Value {
    let one = json!({"type": "string", "minLength": 1, "maxLength": PATH_CHARS_MAX});
    json!({"type": "array", "description": description, "items": one, "maxItems": FILES_MAX})
}

/// What a whole number is, also when it is written as `5.0`.
#[derive(serde::Deserialize)]
#[serde(transparent)]
struct WholeNumber(f64);

impl WholeNumber {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole and bounded by the schema")]
    fn of(given: Option<Self>, default: usize) -> usize {
        given.map_or(default, |count| count.0 as usize)
    }
}

/// The arguments as a tool has them; the schema has said what is wrong with them.
fn parsed<T: DeserializeOwned>(arguments: Value) -> anyhow::Result<T> {
    Ok(serde_json::from_value(arguments)?)
}

/// A text, without one that is empty.
fn some(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Identity;

    #[test]
    fn every_schema_is_strict_and_every_name_is_one() {
        let mut names = std::collections::HashSet::new();
        for tool in TOOLS {
            assert!(names.insert(tool.name) && tool.name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'));
            assert!(tool.description.len() < 400, "{}: models read all of them", tool.name);
            let input = (tool.input)();
            PropertySchema::new(&input).expect("a schema that is checked");
            assert_eq!(input["additionalProperties"], json!(false), "{}", tool.name);
            for (name, schema) in input["properties"].as_object().expect("properties") {
                assert!(schema["description"].is_string(), "{}.{name} has no description", tool.name);
                let bounded = match schema["type"].as_str() {
                    Some("string") => schema.get("maxLength").is_some() || schema.get("enum").is_some(),
                    Some("array") => schema.get("maxItems").is_some(),
                    Some("integer" | "number") => schema.get("maximum").is_some(),
                    _ => true,
                };
                assert!(bounded || (tool.name, name.as_str()) == ("known_failure", "text"), "{}.{name}", tool.name);
            }
        }
    }

    #[test]
    fn a_text_may_be_called_query_and_one_file_is_a_list_of_one() {
        let understood = |name: &str, arguments: Value| {
            let Value::Object(arguments) = arguments else { panic!("an object") };
            Value::Object(understood(arguments, &(named(name).expect("a tool").input)()))
        };
        assert_eq!(understood("warnings", json!({"files": "a.py"})), json!({"files": ["a.py"]}));
        assert_eq!(understood("known_failure", json!({"query": "x"})), json!({"text": "x"}));
        assert_eq!(understood("lessons_search", json!({"text": "x"})), json!({"query": "x"}));
        assert_eq!(understood("recall", json!({"query": "x", "limit": 2})), json!({"text": "x", "limit": 2}));
        let both = json!({"text": "x", "query": "y"});
        assert_eq!(understood("recall", both.clone()), both, "which one is meant is not guessed");
    }

    #[test]
    fn bad_arguments_are_named_and_no_verb_is_reached() {
        let dir = tempfile::tempdir().expect("a folder");
        let environment = crate::config::Environment { home: Some(dir.path().to_owned()), ..Default::default() };
        let request = Request::new(dir.path().to_owned(), environment, Identity::default());
        let call = |name: &str, arguments: Value| {
            let Value::Object(arguments) = arguments else { panic!("an object") };
            named(name).expect("a tool").call(&request, arguments).expect_err("does not fit").to_string()
        };
        let error = call("warnings", json!({"files": 7, "limit": 99, "mood": 1}));
        assert_eq!(
            error,
            "these arguments don't fit warnings: files: must be a list; limit: 99 is out of range; \
             mood: is not known; there are category, command, files, limit, task, title"
        );
        assert!(call("remember", json!({})).contains("text: is missing"));
        assert!(call("remember", json!({"text": "x".repeat(10 << 20)})).contains("at most 4000"));
        assert!(call("recall", json!({"limit": 1.5})).contains("limit: must be an integer"));
        assert!(call("check_diff", json!({"range": null})).contains("range: must be a string"));
        assert!(call("record_fix", json!({"id": "p-1", "cause": "x"})).contains("known_failure"));
        assert!(call("known_failure", json!({"text": "x", "run": "y"})).contains("not both"));
    }
}
