//! Applies memories to their tables.

use rusqlite::{Transaction, params};

use crate::event::{MemoryChange, MemoryNote};

pub(super) fn insert_memory_note(
    transaction: &Transaction<'_>,
    id: &str,
    at: &str,
    note: &MemoryNote,
) -> rusqlite::Result<()> {
    let by = &note.by;
    let change = |memory: &str, change: &str, entry: Option<&str>| {
        transaction
            .prepare_cached("INSERT INTO memory_changes VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING")?
            .execute(params![id, memory, at, change, entry, by.agent, by.session])
    };
    match &note.change {
        MemoryChange::Remembered { memory_type, text, importance_permille, expires_at } => {
            let importance = f64::from((*importance_permille).min(1_000)) / 1_000.0;
            let expires = expires_at.map(crate::base::clock::Timestamp::rfc3339);
            // Of two events that say one id the smaller holds.
            transaction
                .prepare_cached(
                    "INSERT INTO agent_memory VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
                     ON CONFLICT (memory_id) DO UPDATE SET event_id = excluded.event_id, type = excluded.type,
                         text = excluded.text, importance = excluded.importance, at = excluded.at,
                         expires_at = excluded.expires_at, agent = excluded.agent, session = excluded.session,
                         task = excluded.task, person = excluded.person
                     WHERE excluded.event_id < event_id",
                )?
                .execute(params![
                    note.memory,
                    id,
                    memory_type.as_str(),
                    text,
                    importance,
                    at,
                    expires,
                    by.agent,
                    by.session,
                    by.task,
                    by.person
                ])?;
        }
        MemoryChange::Recalled { with } => {
            for memory in [&note.memory].into_iter().chain(with) {
                change(memory, "recalled", None)?;
            }
        }
        MemoryChange::Validated => drop(change(&note.memory, "validated", None)?),
        MemoryChange::Promoted { entry } => drop(change(&note.memory, "promoted", Some(entry))?),
    }
    Ok(())
}
