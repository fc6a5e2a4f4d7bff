//! What a checkup finds.

use std::path::{Path, PathBuf};

use serde::Serialize;

/// How something stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(crate) enum CheckStatus {
    /// As it should be.
    Ok,
    /// Works, but worth knowing.
    Warning,
    /// Does not work.
    Problem,
}

/// One thing that was looked at.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Finding {
    /// What was looked at (`state`, `whitelist`).
    pub name: &'static str,
    /// How it stands.
    pub status: CheckStatus,
    /// A sentence for people.
    pub message: String,
    /// The file or folder.
    pub file: Option<PathBuf>,
    /// The line in it, from 1.
    pub line: Option<usize>,
    /// What to type next.
    pub hint: Option<String>,
}

/// A finding without a line and a hint.
pub(crate) fn new_finding(
    name: &'static str,
    status: CheckStatus,
    message: impl Into<String>,
    file: Option<&Path>,
) -> Finding {
    Finding { name, status, message: message.into(), file: file.map(Path::to_owned), line: None, hint: None }
}

/// The finding with what to type next.
pub(crate) fn with_hint(finding: Finding, hint: impl Into<String>) -> Finding {
    Finding { hint: Some(hint.into()), ..finding }
}
