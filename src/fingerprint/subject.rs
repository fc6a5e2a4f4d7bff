//! The subject of a message: the parts that a pattern keeps and its family masks.

use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use regex::Regex;

use super::scan::{MaskLevel, MessagePiece, SlotClass, scan_message};
use super::vocabulary::{ABSENCE, COMPARISON, CONNECTION, STOP_WORDS, VERSION_KEEPERS};

/// Longest subject, bytes; what is longer is a value.
const SUBJECT_BYTES_MAX: usize = 60;

/// What a message does with its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageContext {
    /// It compares values: none of them is a subject.
    Comparison,
    /// It misses something, or finds it not to be what it should be.
    Absence,
    /// A connection failed: the host is the subject.
    Connection,
    /// None of these.
    Other,
}

impl MessageContext {
    pub(super) fn from_message(text: &str) -> Self {
        let lower = text.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        if has(&ABSENCE) {
            MessageContext::Absence
        } else if has(&CONNECTION) {
            MessageContext::Connection
        } else if has(&COMPARISON) || lower.contains("==") || lower.contains("!=") {
            MessageContext::Comparison
        } else {
            MessageContext::Other
        }
    }
}

/// What a bare word of a message of a known shape is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BareWordRole {
    /// What the message is about.
    Subject,
    /// What happened to be there.
    Value,
}

/// A message of a known shape.
struct BareWordShape {
    /// What has to be in it.
    literal: &'static str,
    role: BareWordRole,
    source: &'static str,
    /// Compiled when a message has the literal: all of them would cost more than the rest of recording.
    regex: OnceLock<Regex>,
}

impl BareWordShape {
    fn compiled_regex(&self) -> &Regex {
        self.regex.get_or_init(|| Regex::new(self.source).expect("a valid pattern"))
    }
}

/// Messages whose subject or value is not quoted; the first group that matched is it.
static BARE: LazyLock<Vec<BareWordShape>> = LazyLock::new(|| {
    use BareWordRole::{Subject, Value};
    [
        (
            " is not ",
            Subject,
            r"^(\S+) is not (?:a function|defined|iterable|a constructor|callable|installed|recognized)",
        ),
        ("No module named ", Subject, r"No module named ([\w.]+)"),
        ("undefined: ", Subject, r"undefined: (\S+)"),
        ("undeclared name: ", Subject, r"undeclared name: (\S+)"),
        ("undefined reference to ", Subject, r"undefined reference to (\S+)"),
        ("command not found: ", Subject, r"command not found: (\S+)"),
        (": command not found", Subject, r"(\S+): command not found"),
        (": not found", Subject, r"(\S+): not found"),
        ("nused import ", Subject, r"[Uu]nused import ([\w.]+)"),
        (" imported from ", Subject, r"^(\S+) imported from"),
        ("No rule to make target ", Subject, r"No rule to make target (\S+)"),
        ("package ", Subject, r"package (\S+) is not in"),
        ("already in use", Subject, r"(?i)port (\d+) (?:is )?already in use|address already in use\D*:(\d+)"),
        ("(reading ", Subject, r"\(reading (\S+)\)"),
        ("no required module provides package ", Subject, r"no required module provides package (\S+)"),
        ("Could not resolve ", Subject, r"Could not resolve (\S+)"),
        ("has no ", Subject, r"^(\w+) has no (?:attribute|member|field|method)"),
        // `unknown url type: ftp`, `unsupported locale: de`: one word behind a label of several.
        (": ", Subject, r"^\w+(?: [\w-]+)+: ([\w.-]+|[^\w\s])\.?$"),
        // What came instead, as the last word.
        ("ot ", Value, r"(?i)(?:^|[\s,;(])(?:but )?got[:=]? (\S+)$"),
        // Accounts, as login programs and databases name them.
        ("ser ", Subject, r"(?i)\b(?:user|username) ([\w.@$-]+)(?: (?:from|by|on|does not|\[)|$)"),
        (" from ", Value, r" for ([\w.@$-]+) from (?:\d|[\da-f]*:)"),
        (" [", Value, r" for ([\w.@$-]+) \[\w+\]$"),
    ]
    .into_iter()
    .map(|(literal, role, source)| BareWordShape { literal, role, source, regex: OnceLock::new() })
    .collect()
});

/// Where a message of a known shape names its subject without quotes, or a value that nothing marks as one. In order,
/// without overlaps.
pub(super) fn find_bare_words(text: &str) -> Vec<(Range<usize>, BareWordRole)> {
    let shapes = BARE.iter().filter(|shape| text.contains(shape.literal));
    let found = shapes.filter_map(|shape| Some((shape.compiled_regex().captures(text)?, shape.role)));
    let mut ranges: Vec<(Range<usize>, BareWordRole)> = Vec::new();
    for (captures, role) in found {
        let Some(group) = captures.iter().skip(1).flatten().next() else { continue };
        let trimmed = group.as_str().trim_matches(|c: char| "'\"`‘’“”;,:().".contains(c));
        // A subject, but not the second of two shapes that fit, and no stop word.
        let taken = ranges.iter().any(|(other, kept)| {
            (*kept == BareWordRole::Subject && role == BareWordRole::Subject)
                || other.start < group.end() && group.start() < other.end
        });
        let start = group.start() + group.as_str().find(trimmed).unwrap_or(0);
        let end = start + trimmed.len();
        if !taken && !trimmed.is_empty() && !STOP_WORDS.contains(&trimmed) {
            let quotes = (text[..start].chars().next_back(), text[end..].chars().next());
            let quoted = matches!(quotes, (Some('\''), Some('\'')) | (Some('"'), Some('"')) | (Some('`'), Some('`')));
            ranges.push((start - usize::from(quoted)..end + usize::from(quoted), role));
        }
    }
    ranges.sort_by_key(|(range, _)| range.start);
    ranges
}

/// The subject that a slot is in this context, in the form that goes into the key: the same on every machine.
pub(super) fn slot_subject(class: SlotClass, text: &str, context: MessageContext) -> Option<String> {
    if text.len() > SUBJECT_BYTES_MAX * 4 {
        return None;
    }
    let kept = match (context, class) {
        (MessageContext::Absence, SlotClass::Quoted | SlotClass::Name | SlotClass::Path) => stable_name(text),
        (MessageContext::Connection, SlotClass::Name | SlotClass::Url) => url_host(text).to_owned(),
        _ => return None,
    };
    (!kept.is_empty() && kept.len() <= SUBJECT_BYTES_MAX && kept != "<*>").then_some(kept)
}

/// `requires node 18.0.0`: the version is what the message is about.
pub(super) fn is_demanded_version(class: SlotClass, before: &str) -> bool {
    let words = before.rsplit(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    class == SlotClass::Version
        && words.take(2).any(|word| VERSION_KEEPERS.contains(&word.to_ascii_lowercase().as_str()))
}

/// The host of a URL, without user, port and path.
fn url_host(text: &str) -> &str {
    let text = text.split_once("://").map_or(text, |(_, rest)| rest);
    let text = text.split(['/', '?', '#']).next().unwrap_or_default();
    let text = text.rsplit('@').next().unwrap_or_default();
    text.split(':').next().unwrap_or_default()
}

/// A name without what differs between machines and runs: the folders of an absolute path, positions, and parts that
/// are ids or times.
pub(super) fn stable_name(text: &str) -> String {
    let text = text.trim().trim_matches(['\'', '"', '`']).replace('\\', "/");
    // What a name is called with is no part of it.
    let text =
        text.find(['(', '[']).filter(|&at| at > 0 && text.ends_with([')', ']'])).map_or(&*text, |at| &text[..at]);
    let drive = text.as_bytes().get(1) == Some(&b':') && text.as_bytes().get(2) == Some(&b'/');
    let local = if text.starts_with('/') || text.starts_with("~/") || drive {
        text.rsplit('/').find(|part| !part.is_empty()).unwrap_or_default()
    } else {
        text.trim_start_matches("./")
    };
    let mut out = String::new();
    for part in local.split_inclusive('/') {
        let (part, slash) = part.strip_suffix('/').map_or((part, ""), |part| (part, "/"));
        let pieces = scan_message(part, MaskLevel::Values);
        let volatile = pieces.iter().any(|piece| match piece {
            MessagePiece::Slot(
                SlotClass::Uuid | SlotClass::Time | SlotClass::Hex | SlotClass::Address | SlotClass::Duration,
                _,
            ) => true,
            MessagePiece::Slot(SlotClass::Number | SlotClass::Id, text) => {
                text.bytes().filter(u8::is_ascii_digit).count() >= 5
            }
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
