//! What a checkup finds.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::config::Problem;

/// The state of something.
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

/// How much is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CheckDepth {
    /// All: the index page by page, every tree, every lesson file. Seconds for a million failures.
    Whole,
    /// What a page can wait for: whether the index can be opened, and the lesson files that were changed last. Damage that
    /// a question meets is healed there.
    Brief,
}

/// One thing that was looked at.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Finding {
    /// What was looked at (`state`, `whitelist`).
    pub name: &'static str,
    /// Its state.
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
pub(super) fn new_finding(
    name: &'static str,
    status: CheckStatus,
    message: impl Into<String>,
    file: Option<&Path>,
) -> Finding {
    Finding { name, status, message: message.into(), file: file.map(Path::to_owned), line: None, hint: None }
}

/// The finding with what to type next.
pub(super) fn with_hint(finding: Finding, hint: impl Into<String>) -> Finding {
    Finding { hint: Some(hint.into()), ..finding }
}

/// The problems of a kind of file that people write, or one finding without a problem.
pub(crate) fn findings_of_problems(name: &'static str, fine: &str, problems: Vec<Problem>) -> Vec<Finding> {
    if problems.is_empty() {
        return vec![new_finding(name, CheckStatus::Ok, fine, None)];
    }
    let found = problems.into_iter().map(|problem| Finding {
        name,
        status: if problem.warning { CheckStatus::Warning } else { CheckStatus::Problem },
        message: problem.reason,
        file: Some(problem.file),
        line: problem.line,
        hint: Some(problem.hint),
    });
    found.collect()
}
