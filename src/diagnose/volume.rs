//! How much of an output is read: this many lines, the first and the last ones. What is left out is counted.

use std::borrow::Cow;

use crate::base::limits::{OUTPUT_HEAD_LINES_MAX, OUTPUT_LINES_MAX};

/// The text with at most [`OUTPUT_LINES_MAX`] lines, and how many are left out between the first and the last. Before
/// that, of empty lines in a row only the first one stays: nothing is lost with the others.
pub(super) fn bound_text(text: Cow<'_, str>) -> (Cow<'_, str>, usize) {
    if count_lines(&text) <= OUTPUT_LINES_MAX {
        return (text, 0);
    }
    let squeezed = without_empty_lines(&text);
    let cut = count_lines(&squeezed).saturating_sub(OUTPUT_LINES_MAX);
    if cut == 0 {
        return (Cow::Owned(squeezed), 0);
    }
    let mut ends = memchr::memchr_iter(b'\n', squeezed.as_bytes());
    let head = ends.nth(OUTPUT_HEAD_LINES_MAX - 1).map_or(0, |at| at + 1);
    let tail = ends.nth(cut - 1).map_or(squeezed.len(), |at| at + 1);
    (Cow::Owned([&squeezed[..head], &squeezed[tail..]].concat()), cut)
}

fn count_lines(text: &str) -> usize {
    memchr::memchr_iter(b'\n', text.as_bytes()).count()
}

fn without_empty_lines(text: &str) -> String {
    let mut kept = String::new();
    let mut was_empty = false;
    for line in text.split_inclusive('\n') {
        let is_empty = line == "\n";
        if !(is_empty && was_empty) {
            kept.push_str(line);
        }
        was_empty = is_empty;
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_and_the_last_lines_stay_and_the_others_are_counted() {
        let few = "a\n\n\n\nb\n";
        assert_eq!(bound_text(few.into()), (few.into(), 0));
        let empty = format!("first\n{}last\n", "\n".repeat(2 * OUTPUT_LINES_MAX));
        assert_eq!(bound_text(empty.into()), ("first\n\nlast\n".into(), 0));
        let many: String = (0..OUTPUT_LINES_MAX + 7).map(|number| format!("{number}\n")).collect();
        let (text, cut) = bound_text(many.into());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!((lines.len(), cut), (OUTPUT_LINES_MAX, 7));
        assert_eq!((lines[0], lines[OUTPUT_HEAD_LINES_MAX - 1]), ("0", &*(OUTPUT_HEAD_LINES_MAX - 1).to_string()));
        assert_eq!(lines[OUTPUT_HEAD_LINES_MAX], (OUTPUT_HEAD_LINES_MAX + 7).to_string());
        assert_eq!(lines[OUTPUT_LINES_MAX - 1], (OUTPUT_LINES_MAX + 6).to_string());
    }
}
