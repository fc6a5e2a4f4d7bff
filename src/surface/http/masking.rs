//! A record without what tools printed and people wrote: numbers, times, ids and verify-run's own words stay.

use serde_json::Value;

use crate::base::clock::{Timestamp, UtcDay};
use crate::ops::board::figures::FIGURES;

/// What is there instead.
const MASK: &str = "•••";
/// Fields with a word of a closed set of verify-run's.
const OWN_WORDS: [&str; 14] = [
    "action", "arm", "category", "evidence", "kind", "outcome", "phase", "proof", "severity", "state", "status",
    "strength", "unit", "verdict",
];
/// A word of verify-run, bytes.
const WORD_BYTES_MAX: usize = 40;
/// Characters of ids: no vowel but `u`, so hardly any word is one.
const ID_ALPHABET: &[u8] = b"0123456789bcdfghjklmnpqrstuvwxyz";
/// Characters of an id after its kind.
const ID_CHARS: usize = 8;

/// Masks the texts of a document.
pub(super) fn mask_document(value: &mut Value) {
    mask_field("", value);
}

fn mask_field(name: &str, value: &mut Value) {
    match value {
        Value::String(text) if !is_own(name, text) => *text = MASK.to_owned(),
        Value::Array(list) => list.iter_mut().for_each(|value| mask_field(name, value)),
        Value::Object(fields) => fields.iter_mut().for_each(|(name, value)| mask_field(name, value)),
        _ => {}
    }
}

/// Whether a text can only be verify-run's own.
fn is_own(name: &str, text: &str) -> bool {
    let is_word = text.len() <= WORD_BYTES_MAX && text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    let is_figure = || FIGURES.iter().any(|figure| [figure.name, figure.what, figure.definition].contains(&text));
    text.is_empty()
        || name == "words"
        || OWN_WORDS.contains(&name) && is_word
        || is_id(text)
        || is_time(text)
        || is_figure()
}

/// A moment or a day, and nothing else.
fn is_time(text: &str) -> bool {
    let is_day = || UtcDay::parse(text, Timestamp(0)).is_some_and(|day| day.to_string() == text);
    text.starts_with(|c: char| c.is_ascii_digit()) && (Timestamp::parse(text).is_some() || is_day())
}

/// `p-k3v9q2mb`, or the UUID of an event.
fn is_id(text: &str) -> bool {
    let short = text.split_once('-').is_some_and(|(kind, rest)| {
        kind.len() == 1 && rest.len() == ID_CHARS && rest.bytes().all(|b| ID_ALPHABET.contains(&b))
    });
    short || uuid::Uuid::parse_str(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_not_verify_runs_own_is_masked() {
        let mut value = json!({
            "schema": 1, "id": "p-k3v9q2mb", "at": "2026-11-01T10:00:00Z", "day": "2026-11-01", "share": 0.5,
            "state": "open", "name": "failing_tasks", "words": "No measurable effect.",
            "title": "secret message", "agents": [{"agent": "ada", "failures": 3}], "files": ["src/secret.rs"],
            "task": "a-platypus", "category": "Secret Words",
        });
        mask_document(&mut value);
        assert_eq!(
            value,
            json!({
                "schema": 1, "id": "p-k3v9q2mb", "at": "2026-11-01T10:00:00Z", "day": "2026-11-01", "share": 0.5,
                "state": "open", "name": "failing_tasks", "words": "No measurable effect.",
                "title": MASK, "agents": [{"agent": MASK, "failures": 3}], "files": [MASK],
                "task": MASK, "category": MASK,
            })
        );
    }
}
