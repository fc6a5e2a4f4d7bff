//! What a finished task proposes to write down: a pattern from the diff of each of its fixes that held.

use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value};

use super::entry_page::page_line;
use crate::base::clock::Timestamp;
use crate::base::lossless::Lossless;
use crate::base::text::{count, ellipsis};
use crate::event::{Attempt, AttemptOutcome, EntrySource, EntryTypeName, FixState};
use crate::fix::fix_status;
use crate::knowledge::EntryDraft;
use crate::store::{EntryFilter, FixFilter, FixRow, Index, SegmentFolder, StoreError};

/// Fixes of one task that are proposed.
const PROPOSED_MAX: usize = 5;
/// The code of a proposal, bytes.
const TEMPLATE_BYTES_MAX: usize = 3_000;
/// Files that a proposal is about.
const FILES_MAX: usize = 10;

/// A pattern that is worth writing down.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct EntryProposal {
    /// `x-…`
    pub fix: String,
    /// The task that it is from.
    pub task: String,
    /// Its title.
    pub title: String,
    /// Its properties.
    pub properties: Value,
    /// Files that it is about.
    pub globs: Vec<String>,
    /// What to type to write it down.
    pub accept: String,
}

/// What a task that is over proposes; nothing of a fix that an entry is about already, or of which none is wanted.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn task_proposals(
    index: &Index,
    segments: &SegmentFolder,
    task: &str,
) -> Result<Vec<EntryProposal>, StoreError> {
    let filter =
        FixFilter { state: Some(FixState::Success), task: Some(task.to_owned()), limit: 50, ..Default::default() };
    let mut found = Vec::new();
    for row in index.list_fixes(&filter)? {
        // The task is over: what hasn't come back by now held.
        let held = fix_status(&row, Timestamp::now(), Duration::ZERO).is_some_and(|status| status.confirmed);
        let known = EntryFilter { source: Some(row.id.clone()), superseded: true, ..EntryFilter::default() };
        if !held || found.len() >= PROPOSED_MAX || !index.newest_entries(&known, 0, 1)?.is_empty() {
            continue;
        }
        if index.fix_notes(&row.id)?.iter().any(|said| said.declined.is_some()) {
            continue;
        }
        if let Some(given) = fix_draft(index, segments, &row)? {
            let accept = format!("verify-run knowledge add pattern --from-fix {}", row.id);
            let properties = Value::Object(given.properties);
            let (title, globs) = (given.title, given.globs);
            found.push(EntryProposal { fix: row.id, task: task.to_owned(), title, properties, globs, accept });
        }
    }
    Ok(found)
}

/// The pattern that a fix makes, to be written down; `None` where neither a diff nor a command is known.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn fix_draft(
    index: &Index,
    segments: &SegmentFolder,
    row: &FixRow,
) -> Result<Option<EntryDraft>, StoreError> {
    let attempts = index.read_attempts(segments, &row.id)?;
    let Some(attempt) = attempts.iter().rev().find(|attempt| attempt.outcome == AttemptOutcome::Success) else {
        return Ok(None);
    };
    let Some(template) = attempt_template(attempt) else { return Ok(None) };
    let said = index.fix_notes(&row.id)?;
    let newest =
        |of: fn(&crate::store::FixNoteRow) -> &Option<String>| said.iter().rev().find_map(|row| of(row).clone());
    let (rule, approach) = (newest(|row| &row.rule), newest(|row| &row.approach));
    let summary = page_line(row.summary.as_deref().unwrap_or("a failure"));
    let command = page_line(&shell_words::join(row.argv.iter().map(Lossless::display)));
    let files: Vec<String> = attempt.files.iter().map(|file| file.path.display()).take(FILES_MAX).collect();
    // A person's words, else what the tool said.
    let title = rule.as_ref().or(approach.as_ref()).map(|said| page_line(said));
    let description =
        approach.or(rule).unwrap_or_else(|| format!("fixed by a change of {}", count(attempt.files.len(), "file")));
    let mut properties = Map::new();
    properties.insert("description".into(), description.into());
    properties.insert("template".into(), template.into());
    properties.insert("usage".into(), format!("when {command} reports: {summary}").into());
    let sources = [Some(row.id.clone()), row.failure.clone()].into_iter().flatten().collect();
    Ok(Some(EntryDraft {
        kind: EntryTypeName::PATTERN,
        title: title.unwrap_or_else(|| format!("Fix for: {summary}")),
        properties,
        globs: files,
        sources,
        source: Some(EntrySource::Check),
        fix_applied: true,
        ..EntryDraft::default()
    }))
}

/// The diff, else the commands that did it.
fn attempt_template(attempt: &Attempt) -> Option<String> {
    let commands: Vec<&str> = attempt.commands.iter().map(|command| command.line.as_str()).collect();
    let text = if attempt.diff.trim().is_empty() { commands.join("\n") } else { attempt.diff.clone() };
    (!text.trim().is_empty()).then(|| ellipsis(&text, TEMPLATE_BYTES_MAX))
}
