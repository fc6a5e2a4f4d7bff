//! The prompt `before-work`: what an agent should know before it begins.

use std::path::PathBuf;

use super::answer::bounded;
use super::tools;
use crate::ops::request::Request;
use crate::ops::{memory, recent};
use crate::retrieval::question::WarnRequest;

/// Its name.
pub(super) const NAME: &str = "before-work";
/// What it is for.
pub(super) const DESCRIPTION: &str =
    "What went wrong here before, what is still open and what this agent remembered, for the task at hand";
/// Its arguments, none of which is required.
pub(super) const ARGUMENTS: [(&str, &str); 3] = [
    ("task", "What the task is about, in a few words"),
    ("files", "Files that you will change, separated by commas"),
    ("command", "A check that will be run"),
];

/// Maximum number of failures and memories shown.
const FAILURES: usize = 5;
const MEMORIES: usize = 5;
/// An argument, characters.
const ARGUMENT_CHARS_MAX: usize = 20_000;
/// Files of an argument.
const FILES_MAX: usize = 200;

/// What to do with the tools.
const ADVICE: &str = "\
While you work:

- Run checks as `verify-run -- COMMAND`: it is exactly COMMAND, and is recorded.
- When one fails, call `known_failure` before you look for the cause.
- When it passes again, call `record_fix` with why it failed and the rule that follows.
- Before you commit, call `check_diff`.
";

/// The prompt's text for these arguments, by their names.
///
/// # Errors
/// An argument that there isn't or that is too long; a store that can't be read.
pub(super) fn text(request: &Request, argument: impl Fn(&str) -> Option<String>) -> anyhow::Result<String> {
    let [task, files, command] = ARGUMENTS.map(|(name, _)| {
        let text = argument(name).unwrap_or_default();
        let cut = text.chars().take(ARGUMENT_CHARS_MAX).collect::<String>();
        Some(cut.trim().to_owned()).filter(|text| !text.is_empty())
    });
    let files = files.unwrap_or_default();
    let files = files.split(',').map(str::trim).filter(|file| !file.is_empty()).take(FILES_MAX).map(PathBuf::from);
    let asked = WarnRequest {
        identity: request.identity.clone(),
        title: task.clone(),
        files: files.collect(),
        command,
        surface: tools::SURFACE.to_owned(),
        ..WarnRequest::default()
    };
    let mut parts = vec!["# Before you begin".to_owned()];
    let (_, warnings) = tools::warned(request, &asked)?;
    parts.push(warnings.trim_end().to_owned());
    let open = recent::recent_failures(request, true, FAILURES)?;
    if !open.data.failures.is_empty() {
        parts.push(format!("Still open. {}", tools::recent_text(&open.data.failures).trim_end()));
    }
    let asked = memory::RecallRequest { text: task.unwrap_or_default(), memory_type: None, limit: MEMORIES };
    let remembered = memory::recall_memories(request, &asked)?;
    if !remembered.data.memories.is_empty() {
        parts.push(format!("You remembered:\n\n{}", tools::recalled_text(&remembered.data).trim_end()));
    }
    parts.push(ADVICE.trim_end().to_owned());
    Ok(bounded(&parts.join("\n\n")))
}
