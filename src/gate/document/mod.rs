//! The documentation of a change: README, architecture decisions, changelog and API documents. Text in, answers out.

pub(crate) mod adr;
pub(crate) mod changelog;
pub(crate) mod decision;
pub(crate) mod heading;
pub(crate) mod manifest;
pub(crate) mod openapi;
pub(crate) mod public_name;
pub(crate) mod readme;
pub(crate) mod reference;
pub(crate) mod route;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::base::text;

/// A document is read up to here, bytes.
pub(crate) const DOCUMENT_BYTES_MAX: usize = 4 << 20;
/// Findings of one answer; the rest is counted in the last one.
pub(crate) const FINDINGS_MAX: usize = 200;
/// A message or a detail, bytes.
const MESSAGE_BYTES_MAX: usize = 500;
/// Lines before times lines after that are compared in their order; larger changes are compared as sets of lines.
const COMPARED_PAIRS_MAX: usize = 4_000_000;

/// A file before and after a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChangedDocument<'a> {
    /// The path, relative to the root, with `/`.
    pub path: &'a str,
    /// The text in the base; `None` when the file is new.
    pub before: Option<&'a str>,
    /// The text in the tree; `None` when the file is gone.
    pub after: Option<&'a str>,
    /// The lines of `after` that the change adds, from 1, ascending.
    pub added_lines: Vec<u32>,
}

impl<'a> ChangedDocument<'a> {
    /// A file with the lines that a comparison of both texts finds.
    pub(crate) fn compare_texts(path: &'a str, before: Option<&'a str>, after: Option<&'a str>) -> Self {
        let (before, after) = (before.map(bounded), after.map(bounded));
        let added_lines = added_lines(before.unwrap_or_default(), after.unwrap_or_default());
        ChangedDocument { path, before, after, added_lines }
    }

    /// A file with the added lines that the caller knows, from 1.
    pub(crate) fn with_added_lines(
        path: &'a str,
        before: Option<&'a str>,
        after: Option<&'a str>,
        mut added_lines: Vec<u32>,
    ) -> Self {
        added_lines.sort_unstable();
        added_lines.dedup();
        ChangedDocument { path, before: before.map(bounded), after: after.map(bounded), added_lines }
    }

    /// Whether the change made the file.
    pub(crate) fn is_new(&self) -> bool {
        self.before.is_none() && self.after.is_some()
    }

    /// The added lines with their numbers.
    pub(crate) fn added_texts(&self) -> impl Iterator<Item = (u32, &'a str)> + '_ {
        let mut added = self.added_lines.iter().copied().peekable();
        numbered_lines(self.after.unwrap_or_default()).filter(move |(number, _)| {
            while added.next_if(|line| line < number).is_some() {}
            added.next_if_eq(number).is_some()
        })
    }

    /// The added lines whose words the file did not have before: no blank, moved or re-indented lines.
    pub(crate) fn fresh_texts(&self) -> Vec<(u32, &'a str)> {
        let mut surplus = line_counts(self.after.unwrap_or_default());
        for (line, count) in line_counts(self.before.unwrap_or_default()) {
            if let Some(left) = surplus.get_mut(&line) {
                *left -= count;
            }
        }
        let mut is_fresh = |line: &str| match surplus.get_mut(&collapse_spaces(line)) {
            Some(left) if *left > 0 => {
                *left -= 1;
                true
            }
            _ => false,
        };
        self.added_texts().filter(|(_, line)| !line.trim().is_empty() && is_fresh(line)).collect()
    }

    /// The lines that the change removes, in the order of the old text.
    pub(crate) fn removed_texts(&self) -> Vec<&'a str> {
        let reverse = ChangedDocument::compare_texts(self.path, self.after, self.before);
        reverse.fresh_texts().into_iter().map(|(_, line)| line).collect()
    }
}

/// Something that a document lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DocumentFinding {
    /// The file, where one is meant.
    pub path: Option<String>,
    /// The line in it, from 1.
    pub line: Option<u32>,
    /// A lowercase fragment without control characters.
    pub message: String,
}

impl DocumentFinding {
    /// A finding without a place.
    pub(crate) fn new(message: impl AsRef<str>) -> Self {
        DocumentFinding { path: None, line: None, message: shown(message.as_ref()) }
    }

    /// A finding in a file.
    pub(crate) fn in_file(path: &str, line: Option<u32>, message: impl AsRef<str>) -> Self {
        DocumentFinding { path: Some(path.to_owned()), line, message: shown(message.as_ref()) }
    }
}

/// The answer about one item of the documentation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DocumentAnswer {
    /// The documentation has what the item asks for.
    Met {
        /// What was found, and where.
        details: String,
    },
    /// It does not.
    NotMet {
        /// What is missing; never empty, at most [`FINDINGS_MAX`].
        findings: Vec<DocumentFinding>,
    },
    /// Nothing in the change asks for it.
    NotApplicable {
        /// Why, with what was looked for.
        reason: String,
    },
}

impl DocumentAnswer {
    fn met(details: impl AsRef<str>) -> Self {
        DocumentAnswer::Met { details: shown(details.as_ref()) }
    }

    fn not_met(mut findings: Vec<DocumentFinding>) -> Self {
        if findings.len() > FINDINGS_MAX {
            let omitted = findings.len() - (FINDINGS_MAX - 1);
            findings.truncate(FINDINGS_MAX - 1);
            findings.push(DocumentFinding::new(format!("{omitted} more findings are not listed")));
        }
        DocumentAnswer::NotMet { findings }
    }

    fn not_applicable(reason: impl AsRef<str>) -> Self {
        DocumentAnswer::NotApplicable { reason: shown(reason.as_ref()) }
    }
}

/// Text of a document as it may be shown: one line, no control characters, bounded.
fn shown(message: &str) -> String {
    text::ellipsis(&text::one_line(text::prefix(message, 4 * MESSAGE_BYTES_MAX)), MESSAGE_BYTES_MAX)
}

fn bounded(text: &str) -> &str {
    text::prefix(text, DOCUMENT_BYTES_MAX)
}

/// The lines of a text with their numbers, from 1.
fn numbered_lines(text: &str) -> impl Iterator<Item = (u32, &str)> {
    (1..).zip(text.lines())
}

/// A line with single spaces, without those around it.
fn collapse_spaces(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// How often each line occurs, whatever its spaces.
fn line_counts(text: &str) -> HashMap<String, i64> {
    let mut counts = HashMap::new();
    for line in text.lines() {
        *counts.entry(collapse_spaces(line)).or_insert(0) += 1;
    }
    counts
}

/// The lines of `after` that `before` does not have, from 1.
fn added_lines(before: &str, after: &str) -> Vec<u32> {
    let (before, after): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let head = before.iter().zip(&after).take_while(|(old, new)| old == new).count();
    let (before, after) = (&before[head..], &after[head..]);
    let tail = before.iter().rev().zip(after.iter().rev()).take_while(|(old, new)| old == new).count();
    let (before, after) = (&before[..before.len() - tail], &after[..after.len() - tail]);
    let number = |index: usize| u32::try_from(head + index + 1).unwrap_or(u32::MAX);
    if before.len().saturating_mul(after.len()) > COMPARED_PAIRS_MAX {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        before.iter().for_each(|line| *counts.entry(line).or_default() += 1);
        let mut is_known = |line: &str| match counts.get_mut(line) {
            Some(left) if *left > 0 => {
                *left -= 1;
                true
            }
            _ => false,
        };
        return (0..after.len()).filter(|index| !is_known(after[*index])).map(number).collect();
    }
    let mut added = Vec::new();
    for op in capture_diff_slices(Algorithm::Myers, before, after) {
        if !matches!(op, DiffOp::Equal { .. }) {
            added.extend(op.new_range().map(number));
        }
    }
    added
}
