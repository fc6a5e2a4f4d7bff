//! What is read from one line without a rule: its head, its indent, how bad it says it is.

use crate::base::limits::LINE_MATCH_BYTES_MAX;
use crate::base::text::prefix;
use crate::diagnose::Severity;

/// What is matched of a line.
pub(super) fn line_head(line: &str) -> &str {
    prefix(line, LINE_MATCH_BYTES_MAX)
}

/// The bytes that `text` is indented by.
pub(super) fn indent_width(text: &str) -> usize {
    text.bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

/// How bad a message is whose rule doesn't say it: none that begins with a log's word for less.
pub(super) fn logged_severity(message: &str) -> Severity {
    let word = message.trim_start_matches('[').split(|c: char| !c.is_ascii_uppercase()).next().unwrap_or_default();
    match word {
        "INFO" | "DEBUG" | "TRACE" | "NOTICE" => Severity::Info,
        _ => Severity::Error,
    }
}

/// The longest word for a severity, bytes.
const SEVERITY_BYTES_MAX: usize = 23;

/// The severity that a tool's word or letter means.
pub(crate) fn severity_of_word(word: &str) -> Option<Severity> {
    let word = word.trim_end_matches(':');
    let mut lower = [0; SEVERITY_BYTES_MAX];
    let lower = lower.get_mut(..word.len())?;
    lower.copy_from_slice(word.as_bytes());
    lower.make_ascii_lowercase();
    Some(match str::from_utf8(lower).ok()? {
        "error"
        | "fatal"
        | "fatal error"
        | "err"
        | "e"
        | "f"
        | "critical"
        | "high"
        | "severe"
        | "fail"
        | "failed"
        | "internal compiler error"
        | "syntaxerror" => Severity::Error,
        "warning" | "warn" | "w" | "medium" => Severity::Warning,
        "info" | "note" | "hint" | "help" | "style" | "convention" | "refactor" | "performance" | "portability"
        | "information" | "low" | "c" | "r" | "i" | "n" | "suggestion" => Severity::Info,
        _ => return None,
    })
}
