//! Applies statements about the phases of tasks to their table.

use rusqlite::{Transaction, params};

use crate::event::{PhaseNote, PhaseStep};
use crate::store::to_json;

pub(super) fn insert_phase_note(
    transaction: &Transaction<'_>,
    event_id: &str,
    at: &str,
    note: &PhaseNote,
) -> rusqlite::Result<()> {
    // A line written by hand: a decision without a name.
    let is_named = note.by.person.as_deref().is_some_and(|person| !person.trim().is_empty());
    if matches!(note.step, PhaseStep::Reset { .. }) && !is_named {
        return Ok(());
    }
    transaction.prepare_cached("INSERT INTO phase_notes VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?.execute(params![
        event_id,
        to_json(&note.work_tree),
        note.task,
        note.step.kind(),
        note.step.phase().map(|phase| phase.as_str()),
        at,
    ])?;
    Ok(())
}
