//! Applies steps of jobs and of library pages to their tables.

use rusqlite::{Transaction, params};

use super::fix::insert_quoted_runs;
use crate::event::{Event, EventAuthor, HarvestRecord, JobState, LearnNote, LearnStep, LibraryNote};
use crate::store::to_json;

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
    if let Some(state) = note.step.leads_to() {
        note_job_state(transaction, event_id, event, &note.job, state)?;
    }
    if let LearnStep::Harvested(harvest) = &note.step {
        note_harvest(transaction, event_id, &note.job, harvest)?;
        let mut insert = transaction.prepare_cached("INSERT OR IGNORE INTO learn_shapes VALUES (?1, ?2, ?3)")?;
        for shape in &harvest.shapes {
            insert.execute(params![shape, note.job, event_id])?;
        }
    }
    Ok(())
}

fn note_job_state(
    transaction: &Transaction<'_>,
    event_id: &str,
    event: &Event,
    job: &str,
    state: JobState,
) -> rusqlite::Result<()> {
    const LATER: &str = "(excluded.is_own, excluded.at, excluded.event_id) > (is_own, at, event_id)";
    let sql = format!(
        "INSERT INTO learn_jobs (job_id, state, first_at, at, event_id, is_own) SELECT ?1, ?2, ?3, ?3, ?4,
             NOT EXISTS (SELECT 1 FROM imported_events i WHERE i.event_id = ?4)
         WHERE true ON CONFLICT (job_id) DO UPDATE SET
             first_at = CASE WHEN excluded.is_own > is_own THEN excluded.at
                 WHEN excluded.is_own = is_own THEN min(first_at, excluded.at) ELSE first_at END,
             state = CASE WHEN {LATER} THEN excluded.state ELSE state END,
             event_id = CASE WHEN {LATER} THEN excluded.event_id ELSE event_id END,
             at = CASE WHEN {LATER} THEN excluded.at ELSE at END,
             is_own = max(is_own, excluded.is_own)"
    );
    let at = event.at.rfc3339();
    transaction.prepare_cached(&sql)?.execute(params![job, state.as_str(), at, event_id])?;
    Ok(())
}

/// What decides when a job's turn is. An imported harvest counts only until there is one of this store.
fn note_harvest(
    transaction: &Transaction<'_>,
    event_id: &str,
    job: &str,
    harvest: &HarvestRecord,
) -> rusqlite::Result<()> {
    let sql = "UPDATE learn_jobs SET root = ?2, is_known = ?3, tasks = ?4, is_new_family = ?5, is_own_harvest = own
        FROM (SELECT NOT EXISTS (SELECT 1 FROM imported_events i WHERE i.event_id = ?6) AS own)
        WHERE job_id = ?1 AND own >= is_own_harvest";
    let novelty = &harvest.novelty;
    let is_known = novelty.page.is_some() || novelty.alike.is_some();
    let tasks = i64::try_from(novelty.tasks).unwrap_or(i64::MAX);
    let values = params![job, to_json(&harvest.root), is_known, tasks, novelty.is_new_family, event_id];
    transaction.prepare_cached(sql)?.execute(values)?;
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
