//! Documents of the user's that get verify-run's entries: JSON with comments, TOML, YAML. They are edited as text, so
//! that everything but the entry keeps its bytes: comments, order, indentation, line ends, a byte order mark.

pub mod json;
mod line;
mod ours;
pub mod reverse;
pub mod toml;
pub mod yaml;

pub use ours::ours;
pub use toml::value as of_toml;

use std::path::Path;

use thiserror::Error;

use crate::base::text::line_number;

/// Why a document is left alone.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{reason}")]
pub struct EditError {
    /// Line, from 1, where one is known.
    pub line: Option<usize>,
    /// What is wrong, a lowercase fragment.
    pub reason: String,
    /// Nothing is wrong with the document: it just can't take the entry.
    pub by_hand: bool,
}

impl EditError {
    fn at(text: &str, offset: usize, reason: impl Into<String>) -> Self {
        EditError { line: Some(line_number(text, offset)), reason: reason.into(), by_hand: false }
    }

    fn by_hand(text: &str, offset: usize, reason: impl Into<String>) -> Self {
        EditError { by_hand: true, ..EditError::at(text, offset, reason) }
    }
}

/// A document before and after verify-run wrote to it.
#[derive(Debug, Clone, Copy)]
pub struct WrittenDocument<'a> {
    /// Its text without us; empty where there was no file.
    pub before: &'a str,
    /// Its text as we left it.
    pub after: &'a str,
}

/// `current` without what was added from `written.before` to `written.after`; everything else stays.
///
/// What was added is cut out as text where it is as it was written, else entry by entry where the kind of document is
/// known by `path`.
///
/// # Errors
/// When verify-run's part can't be found any more; `current` is to be left as it is.
pub fn take_out(path: &Path, written: WrittenDocument<'_>, current: &str) -> Result<String, EditError> {
    match path.extension().and_then(|kind| kind.to_str()).unwrap_or_default() {
        "json" | "jsonc" => json::take_out(written, current),
        "toml" => toml::take_out(written, current),
        "yml" | "yaml" => yaml::take_out(written, current),
        _ => reverse::take_out(written, current).ok_or_else(|| EditError {
            line: None,
            reason: "verify-run's entries in it changed since".to_owned(),
            by_hand: true,
        }),
    }
}
