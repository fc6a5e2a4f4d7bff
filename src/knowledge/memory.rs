//! What an agent remembers: which of it comes to mind, and what becomes everybody's knowledge.

use serde_json::{Value, json};

use super::duplicate::NormalisedWords;
use crate::base::clock::Timestamp;
use crate::event::{EntryTypeName, MemoryType};
use crate::store::MemoryRow;

/// A memory weighs half as much after so long, days.
const HALF_LIFE_DAYS: f64 = 30.0;
const DAY_US: f64 = 86_400_000_000.0;
/// An entry's title, bytes.
const TITLE_BYTES_MAX: usize = 120;

/// How much a memory comes to mind, 0 to 1: by its importance, how fresh it is, how often it was looked up, and the words
/// of the question when there are any. 0 when it has none of them.
pub(crate) fn recall_weight(memory: &MemoryRow, question: &NormalisedWords, now: Timestamp) -> f64 {
    let text = match question.as_slice() {
        [] => 1.0,
        asked => {
            let own = NormalisedWords::from_text(&memory.text);
            let shared = asked.iter().filter(|word| own.as_slice().contains(word)).count();
            shared as f64 / asked.len() as f64
        }
    };
    let age = now.micros_since(memory.at) as f64 / DAY_US;
    let fresh = 0.5_f64.powf(age / HALF_LIFE_DAYS);
    let used = memory.accesses as f64 / (memory.accesses as f64 + 5.0);
    text * (0.5 * memory.importance + 0.3 * fresh + 0.2 * used)
}

/// The type, title and properties of the entry that a memory becomes. An error that comes back is a gotcha, the rest is
/// a pattern.
pub(crate) fn promoted_entry(memory_type: MemoryType, text: &str) -> (EntryTypeName, String, Value) {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let title = crate::base::text::ellipsis(first.trim(), TITLE_BYTES_MAX);
    match memory_type {
        MemoryType::ErrorPattern => (EntryTypeName::GOTCHA, title, json!({"pitfall": text})),
        _ => (EntryTypeName::PATTERN, title, json!({"description": text})),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(text: &str, importance: f64, days: i64, accesses: u64) -> MemoryRow {
        let at = Timestamp((100 - days) * 86_400_000_000);
        MemoryRow { text: text.into(), importance, at, accesses, ..MemoryRow::default() }
    }

    #[test]
    fn what_is_important_fresh_and_used_comes_first_and_only_what_was_asked_for() {
        let now = Timestamp(100 * 86_400_000_000);
        let weight =
            |memory: &MemoryRow, asked: &str| super::recall_weight(memory, &NormalisedWords::from_text(asked), now);
        let plain = memory("the tests need a database", 0.5, 10, 0);
        assert!(weight(&memory("x", 0.9, 10, 0), "") > weight(&plain, ""));
        assert!(weight(&memory("x", 0.5, 1, 0), "") > weight(&plain, ""));
        assert!(weight(&memory("x", 0.5, 10, 5), "") > weight(&plain, ""));
        assert!(weight(&plain, "databases for testing") > 0.0);
        assert!(weight(&plain, "frontend").abs() < f64::EPSILON);
    }

    #[test]
    fn an_error_becomes_a_gotcha_and_a_success_a_pattern() {
        assert_eq!(promoted_entry(MemoryType::ErrorPattern, "It hangs").0, EntryTypeName::GOTCHA);
        let (entry_type, title, properties) = promoted_entry(MemoryType::Learning, "\nUse the pool\nand close it");
        assert_eq!((entry_type, title.as_str()), (EntryTypeName::PATTERN, "Use the pool"));
        assert_eq!(properties["description"], "\nUse the pool\nand close it");
    }
}
