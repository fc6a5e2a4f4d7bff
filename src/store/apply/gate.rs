//! Applies steps of the quality gate to their table.

use rusqlite::{Transaction, params};

use crate::event::GateNote;
use crate::store::to_json;

pub(super) fn insert_gate_note(
    transaction: &Transaction<'_>,
    event_id: &str,
    at: &str,
    note: &GateNote,
) -> rusqlite::Result<()> {
    // A line written by hand: a decision without a name.
    let is_named = note.by.person.as_deref().is_some_and(|person| !person.trim().is_empty());
    if note.step.is_decision() && !is_named {
        return Ok(());
    }
    // Serialising these types can't fail: no map has keys that aren't strings.
    let body = serde_json::to_string(note).unwrap_or_default();
    transaction.prepare_cached("INSERT INTO gate_steps VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?.execute(params![
        event_id,
        to_json(&note.work_tree),
        note.evaluation,
        note.cycle,
        note.step.kind(),
        at,
        body
    ])?;
    Ok(())
}
