//! What a call gives back: a text for the model, and the same for programs, both bounded and without control characters.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;

use crate::base::markdown::{code, escaped, untagged};
use crate::base::text::{ellipsis, one_line, printable};
use crate::ops::reply::Reply;
use crate::surface::failure::FailureReport;

/// A text, bytes.
const TEXT_BYTES_MAX: usize = 16 << 10;
/// A string for programs, bytes.
const STRING_BYTES_MAX: usize = 4_000;
/// All of a structure, bytes.
const STRUCTURE_BYTES_MAX: usize = 48 << 10;
/// Items of a list in a structure; fewer where the whole is too long.
const ITEMS_MAX: usize = 200;
/// Nesting of a structure.
const DEPTH_MAX: usize = 12;
/// What was noticed on the way, lines and bytes of one.
const NOTES_MAX: usize = 5;
const NOTE_BYTES_MAX: usize = 300;
/// An error, bytes.
const ERROR_BYTES_MAX: usize = 2_000;

/// What a tool gives back.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ToolAnswer {
    /// For the model, Markdown.
    pub text: String,
    /// The same for programs: an object with `"schema"`.
    pub structure: Value,
}

impl ToolAnswer {
    /// From a verb's reply and a text about it.
    ///
    /// # Errors
    /// None that these types have: what can't be serialised is a defect.
    pub(super) fn new<T: Serialize>(reply: &Reply<T>, mut text: String) -> anyhow::Result<Self> {
        for note in reply.notes.iter().take(NOTES_MAX) {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            let _ = writeln!(text, "Note: {}", escaped(&ellipsis(&untagged(&one_line(note)), NOTE_BYTES_MAX)));
        }
        Ok(ToolAnswer { text: bounded(&text), structure: structure(serde_json::to_value(reply)?) })
    }
}

/// verify-run's own text, with quoted output of tools.
pub(super) fn bounded(text: &str) -> String {
    ellipsis(printable(text).trim_end(), TEXT_BYTES_MAX)
}

/// What went wrong, for the model.
pub(super) fn failed(error: &anyhow::Error) -> String {
    ellipsis(printable(&FailureReport::new(error).to_text()).trim(), ERROR_BYTES_MAX)
}

/// A text of a tool or a person, inside of Markdown.
pub(super) fn quoted(text: &str) -> String {
    code(&untagged(text))
}

/// Strings cleaned and cut, without what looks like a tag, lists cut; where something had to go `"truncated": true` is added.
fn structure(value: Value) -> Value {
    let mut items = ITEMS_MAX;
    loop {
        let mut is_cut = false;
        let mut cleaned = clean(value.clone(), items, 0, &mut is_cut);
        if cleaned.to_string().len() <= STRUCTURE_BYTES_MAX || items <= 1 {
            if let (true, Value::Object(fields)) = (is_cut, &mut cleaned) {
                fields.insert("truncated".to_owned(), Value::Bool(true));
            }
            return cleaned;
        }
        items /= 2;
    }
}

fn clean(value: Value, items: usize, depth: usize, is_cut: &mut bool) -> Value {
    if depth > DEPTH_MAX {
        *is_cut = true;
        return Value::Null;
    }
    match value {
        Value::String(text) => {
            *is_cut |= text.len() > STRING_BYTES_MAX;
            Value::String(ellipsis(&untagged(&printable(&text)), STRING_BYTES_MAX))
        }
        Value::Array(list) => {
            *is_cut |= list.len() > items;
            list.into_iter().take(items).map(|it| clean(it, items, depth + 1, is_cut)).collect()
        }
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(name, it)| (printable(&name), clean(it, items, depth + 1, is_cut)));
            Value::Object(fields.collect())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_structure_is_clean_and_bounded_whatever_is_in_it() {
        let kept = structure(json!({"schema": 1, "a": ["x\u{1b}[31m\u{202e}y\nz</b>"]}));
        assert_eq!(kept, json!({"schema": 1, "a": ["x[31my\nz‹/b›"]}));
        let cut = structure(json!({"schema": 1, "text": "é".repeat(9_000), "list": vec![1; 900]}));
        assert_eq!((&cut["truncated"], cut["list"].as_array().map(Vec::len)), (&json!(true), Some(200)));
        assert!(cut["text"].as_str().is_some_and(|text| text.len() <= STRING_BYTES_MAX && text.ends_with('…')));
        let long = structure(json!({"schema": 1, "list": vec!["y".repeat(3_000); 150]}));
        assert!(long.to_string().len() <= STRUCTURE_BYTES_MAX && long["truncated"] == json!(true), "{}", long);
        let mut deep = json!(1);
        for _ in 0..100 {
            deep = json!([deep]);
        }
        assert_eq!(structure(json!({"deep": deep}))["truncated"], json!(true));
    }

    #[test]
    fn notes_are_one_line_each_and_few() {
        let notes: Vec<String> = (0..9).map(|n| format!("{n}\n<b>\u{7}")).collect();
        let answer = ToolAnswer::new(&Reply::new(json!({}), notes), "text".to_owned()).expect("serialises");
        assert_eq!(answer.text.lines().count(), 6, "{}", answer.text);
        assert!(answer.text.starts_with("text\nNote: 0 ‹b›\n"), "{}", answer.text);
    }
}
