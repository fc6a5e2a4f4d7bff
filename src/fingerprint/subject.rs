//! What a message is about: the parts that a pattern keeps and its family masks.

use std::sync::LazyLock;

use regex::Regex;

use super::scan::{Class, Level, Piece, scan};
use super::vocabulary::{ABSENCE, COMPARISON};

/// Longest subject, bytes; what is longer is a value.
const SUBJECT_BYTES_MAX: usize = 60;

/// What a message does with its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Context {
    /// It compares values: none of them is a subject.
    Comparison,
    /// It misses something, or finds it not to be what it should be.
    Absence,
    /// Neither.
    Other,
}

impl Context {
    pub(super) fn of(text: &str) -> Self {
        let lower = text.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        if has(&ABSENCE) {
            Context::Absence
        } else if has(&COMPARISON) || lower.contains("==") || lower.contains("!=") {
            Context::Comparison
        } else {
            Context::Other
        }
    }
}

/// Messages whose subject stands bare; the group is the subject.
static BARE: LazyLock<Vec<(&str, Regex)>> = LazyLock::new(|| {
    [
        (" is not ", r"^(\S+) is not (?:a function|defined|iterable|a constructor|callable|installed|recognized)"),
        ("No module named ", r"No module named ([\w.]+)"),
        ("undefined: ", r"undefined: (\S+)"),
        ("undeclared name: ", r"undeclared name: (\S+)"),
        ("undefined reference to ", r"undefined reference to (\S+)"),
        ("command not found: ", r"command not found: (\S+)"),
        (": command not found", r"(\S+): command not found"),
        (": not found", r"(\S+): not found"),
        ("nused import ", r"[Uu]nused import ([\w.]+)"),
        (" imported from ", r"^(\S+) imported from"),
        ("No rule to make target ", r"No rule to make target (\S+)"),
        ("package ", r"package (\S+) is not in"),
        ("already in use", r"(?i)port (\d+) (?:is )?already in use|address already in use\D*:(\d+)"),
        ("(reading ", r"\(reading (\S+)\)"),
        ("no required module provides package ", r"no required module provides package (\S+)"),
        ("Could not resolve ", r"Could not resolve (\S+)"),
        ("has no ", r"^(\w+) has no (?:attribute|member|field|method)"),
    ]
    .into_iter()
    .map(|(literal, pattern)| (literal, Regex::new(pattern).expect("a valid pattern")))
    .collect()
});

/// Where a message of a known shape names its subject without quotes.
pub(super) fn bare_subject(text: &str) -> Option<std::ops::Range<usize>> {
    let shapes = BARE.iter().filter(|(literal, _)| text.contains(literal));
    let found = shapes.filter_map(|(_, regex)| regex.captures(text)).next()?;
    let group = found.iter().skip(1).flatten().next()?;
    let trimmed = group.as_str().trim_matches(|c: char| "'\"`‘’“”;,:().".contains(c));
    let start = group.start() + group.as_str().find(trimmed)?;
    (!trimmed.is_empty()).then(|| start..start + trimmed.len())
}

/// The subject that a slot is in this context, in the form that goes into the key: the same on every machine.
pub(super) fn subject(class: Class, text: &str, context: Context) -> Option<String> {
    if context != Context::Absence || text.len() > SUBJECT_BYTES_MAX * 4 {
        return None;
    }
    let kept = match class {
        Class::Quoted | Class::Name | Class::Path => stable(text),
        // `requires node 18.0.0`: the version is what it is about.
        _ => return None,
    };
    (!kept.is_empty() && kept.len() <= SUBJECT_BYTES_MAX && kept != "<*>").then_some(kept)
}

/// A name without what differs between machines and runs: the folders of an absolute path, positions, and parts that
/// are ids or times.
pub(super) fn stable(text: &str) -> String {
    let text = text.trim().replace('\\', "/");
    let text = text.trim_end_matches("()");
    let drive = text.as_bytes().get(1) == Some(&b':') && text.as_bytes().get(2) == Some(&b'/');
    let local = if text.starts_with('/') || text.starts_with("~/") || drive {
        text.rsplit('/').find(|part| !part.is_empty()).unwrap_or_default()
    } else {
        text.trim_start_matches("./")
    };
    let mut out = String::new();
    for part in local.split_inclusive('/') {
        let (part, slash) = part.strip_suffix('/').map_or((part, ""), |part| (part, "/"));
        let pieces = scan(part, Level::Values);
        let volatile = pieces.iter().any(|piece| match piece {
            Piece::Slot(Class::Uuid | Class::Time | Class::Hex | Class::Address | Class::Duration, _) => true,
            Piece::Slot(Class::Number | Class::Id, text) => text.bytes().filter(u8::is_ascii_digit).count() >= 5,
            _ => false,
        });
        out.push_str(if volatile { "<*>" } else { without_position(part) });
        out.push_str(slash);
    }
    out
}

/// `file.rs` of `file.rs:12:3`.
fn without_position(part: &str) -> &str {
    let cut = part
        .find([':', '('])
        .filter(|&at| at > 0 && part[at + 1..].starts_with(|c: char| c.is_ascii_digit()) && part[..at].contains('.'));
    cut.map_or(part, |at| &part[..at])
}
