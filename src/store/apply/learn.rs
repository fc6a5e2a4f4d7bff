//! Applies steps of jobs and of library pages to their tables.

use rusqlite::{Transaction, params};

use super::fix::insert_quoted_runs;
use crate::event::{Event, EventAuthor, JobState, LearnNote, LearnStep, LibraryNote};

pub(super) fn insert_learn_note(
    transaction: &Transaction<'_>,
    event_id: &str,
    event: &Event,
    note: &LearnNote,
) -> rusqlite::Result<()> {
    if note.step.is_decision() && !is_named(&note.by)
        || !insert_quoted_runs(transaction, event_id, &event.body.quoted_runs())?
    {
        return Ok(());
    }
    let (task, fix) = match &note.step {
        LearnStep::Harvested(harvest) => (Some(&harvest.task), harvest.fix.as_ref()),
        LearnStep::Skipped(skipped) => (Some(&skipped.task), skipped.fix.as_ref()),
        _ => (None, None),
    };
    // Serialising these types can't fail: no map has keys that aren't strings.
    let body = serde_json::to_string(note).unwrap_or_default();
    transaction.prepare_cached("INSERT INTO learn_steps VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")?.execute(
        params![
            event_id,
            note.job,
            note.step.kind(),
            note.step.leads_to().map(JobState::as_str),
            event.at.rfc3339(),
            event.writer,
            task,
            fix,
            note.step.artifact(),
            body
        ],
    )?;
    if let LearnStep::Harvested(harvest) = &note.step {
        let mut insert = transaction.prepare_cached("INSERT OR IGNORE INTO learn_shapes VALUES (?1, ?2, ?3)")?;
        for shape in &harvest.shapes {
            insert.execute(params![shape, note.job, event_id])?;
        }
    }
    Ok(())
}

pub(super) fn insert_library_note(
    transaction: &Transaction<'_>,
    event_id: &str,
    event: &Event,
    note: &LibraryNote,
) -> rusqlite::Result<()> {
    if note.step.is_decision() && !is_named(&note.by)
        || !insert_quoted_runs(transaction, event_id, &event.body.quoted_runs())?
    {
        return Ok(());
    }
    let body = serde_json::to_string(note).unwrap_or_default();
    transaction.prepare_cached("INSERT INTO library_steps VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?.execute(params![
        event_id,
        note.artifact,
        note.step.kind(),
        event.at.rfc3339(),
        event.writer,
        body
    ])?;
    Ok(())
}

/// A decision without a name is a line that someone wrote by hand.
fn is_named(by: &EventAuthor) -> bool {
    by.person.as_deref().is_some_and(|person| !person.trim().is_empty())
}
