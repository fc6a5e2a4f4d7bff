//! Diagnostics that a tool printed as a document: JSON, XML, a table with named columns, or commands to a CI system.
//!
//! They are read with parsers, never with regexes. No format is known by name: a JSON object or an XML element that
//! has a line, and a file of its own or of its parent, is a diagnostic, and its message, code and severity are found
//! by the names that reporters give them. That covers ESLint, ruff, elm, rustc, SARIF and Code Climate in JSON, and
//! Checkstyle, PMD, Cppcheck, SpotBugs, CodeNarc, Android lint and jslint in XML, and what imitates them.

use std::ops::Range;

use crate::base::limits::{DOCUMENT_ENTRIES_MAX, MESSAGE_BYTES_MAX};
use crate::base::text::prefix;
use crate::diagnose::{Severity, engine};

mod annotation;
pub(super) mod json;
mod lean;
mod report;
pub(super) mod table;
pub(super) mod xml;

/// One diagnostic of a document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct StructuredFinding {
    /// The file as printed.
    pub file: Option<String>,
    /// Line, 1-based.
    pub line: Option<u32>,
    /// Column, 1-based, as printed.
    pub col: Option<u32>,
    /// How bad, where the document says so.
    pub severity: Option<Severity>,
    /// Rule or error code.
    pub code: Option<String>,
    /// The failing test.
    pub test: Option<String>,
    /// The message, at most `MESSAGE_BYTES_MAX` bytes.
    pub message: String,
}

/// A document inside an output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StructuredDocument {
    /// The lines that it covers, 0-based.
    pub lines: Range<usize>,
    /// What it says, at most `DOCUMENT_ENTRIES_MAX` entries.
    pub entries: Vec<StructuredFinding>,
    /// Entries beyond the limit.
    pub cut: usize,
}

/// The documents in `text` that hold diagnostics, in order. Their lines are those of `text.lines()`.
pub(super) fn find_documents(text: &str) -> Vec<StructuredDocument> {
    let mut documents = Vec::new();
    // A text that begins a document again and again and never ends one is not read again and again.
    let mut budget = text.len().saturating_mul(2);
    let (mut at, mut line) = (0, 0);
    while at < text.len() {
        let end = memchr::memchr(b'\n', &text.as_bytes()[at..]).map_or(text.len(), |end| at + end + 1);
        let read = read_document(&text[at..], &text[at..end], &mut budget);
        let read = read.filter(|(_, entries, _)| !entries.is_empty());
        let (used, entries, left_out) = read.unwrap_or_default();
        let end = if used > 0 { line_end(text, at + used) } else { end };
        let count = memchr::memchr_iter(b'\n', &text.as_bytes()[at..end]).count().max(1);
        if !entries.is_empty() {
            documents.push(new_document(line..line + count, entries, left_out));
        }
        (at, line) = (end, line + count);
    }
    documents
}

fn new_document(lines: Range<usize>, mut entries: Vec<StructuredFinding>, left_out: usize) -> StructuredDocument {
    let cut = entries.len().saturating_sub(DOCUMENT_ENTRIES_MAX) + left_out;
    entries.truncate(DOCUMENT_ENTRIES_MAX);
    for entry in &mut entries {
        entry.message = prefix(entry.message.trim(), MESSAGE_BYTES_MAX).to_owned();
    }
    StructuredDocument { lines, entries, cut }
}

fn line_end(text: &str, at: usize) -> usize {
    if text.as_bytes()[..at].last() == Some(&b'\n') {
        return at;
    }
    memchr::memchr(b'\n', &text.as_bytes()[at..]).map_or(text.len(), |end| at + end + 1)
}

/// Reads the document that begins in the first line of `rest`: how many bytes it has, what it says, and how many elements
/// of its lists were left out.
fn read_document(rest: &str, line: &str, budget: &mut usize) -> Option<(usize, Vec<StructuredFinding>, usize)> {
    let indent = line.len() - line.trim_start().len();
    let (used, entries, left_out) = match line.as_bytes().get(indent)? {
        b'{' | b'[' => {
            let (used, read) = json::read_value(&rest[indent..], budget)?;
            (used, json::findings_in(&read.value), read.left_out)
        }
        b'<' => {
            let (used, entries) = xml::read_xml(&rest[indent..], budget)?;
            (used, entries, 0)
        }
        b':' | b'#' if let Some(entry) = annotation::read_annotation(line) => {
            return Some((line.len(), vec![entry], 0));
        }
        // A comment is none.
        b'/' | b'#' => return None,
        _ if line.trim_end().ends_with('}')
            && let Some(start) = line.find("{\"") =>
        {
            let (used, read) = json::read_value(&line[start..], budget)?;
            return Some((start + used, json::findings_in(&read.value), read.left_out));
        }
        _ => return table::read_table(rest, line, budget).map(|(used, entries)| (used, entries, 0)),
    };
    Some((indent + used, entries, left_out))
}

/// What a reporter's word or number for the severity means; ESLint has 1 and 2, PMD five priorities of which 1 is worst.
fn severity_of_word(word: &str) -> Option<Severity> {
    engine::severity_of_word(word).or_else(|| {
        Some(match word.to_ascii_lowercase().as_str() {
            "blocker" | "major" => Severity::Error,
            "minor" | "normal" => Severity::Warning,
            _ => return None,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_found_between_other_lines() {
        let text = "before\n[\n  {\"file\": \"a.py\", \"line\": 3, \"message\": \"bad\"}\n]\nafter\n{\"file\":\"b.py\",\"line\":4,\"message\":\"worse\"}\nlog {\"path\":\"c.py\",\"line\":5,\"msg\":\"worst\"}\n";
        let found = find_documents(text);
        assert_eq!(found.iter().map(|document| document.lines.clone()).collect::<Vec<_>>(), [1..4, 5..6, 6..7]);
        assert_eq!(found[0].entries[0].file.as_deref(), Some("a.py"));
        assert_eq!(found[2].entries[0].message, "worst");
    }

    #[test]
    fn what_only_begins_like_a_document_is_none() {
        for text in
            ["{\n  int x;\n}\n", "[INFO] a\n", "<stdin>:1:2: x\n", "[[[[[", "<a><b>", "{\"a\": 1}\n", "", "[1, 2"]
        {
            assert_eq!(find_documents(text), [], "{text}");
        }
    }

    #[test]
    fn a_text_that_begins_documents_without_end_is_not_read_twice_over() {
        let text = "[1,\n".repeat(50_000);
        let began = std::time::Instant::now();
        assert_eq!(find_documents(&text), []);
        assert!(began.elapsed().as_secs() < 5);
    }
}
