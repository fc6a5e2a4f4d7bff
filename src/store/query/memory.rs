//! Memories of agents.

use rusqlite::params;

use super::knowledge::author_from_row;
use super::{ambiguous_id, row_time, row_unsigned};
use crate::base::clock::Timestamp;
use crate::event::{EventAuthor, MemoryType};
use crate::store::error::StoreError;
use crate::store::index::Index;

/// Memories that are looked at, the newest.
const MEMORIES_MAX: i64 = 2_000;
/// Tasks whose memories are promoted at a time.
const TASKS_MAX: i64 = 20;
/// What was learnt, has turned out to be true, and is not everybody's yet.
const TO_PROMOTE: &str = "type IN ('learning', 'error_pattern', 'success_pattern')
    AND EXISTS (SELECT 1 FROM memory_changes c WHERE c.memory_id = m.memory_id AND change = 'validated')
    AND NOT EXISTS (SELECT 1 FROM memory_changes c WHERE c.memory_id = m.memory_id AND change = 'promoted')";

/// A memory.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct MemoryRow {
    /// `m-…`
    pub id: String,
    /// `context`, `learning`, `preference`, `error_pattern`, `success_pattern`.
    pub memory_type: MemoryType,
    /// What is remembered.
    pub text: String,
    /// How important it is, 0 to 1.
    pub importance: f64,
    /// Since when.
    pub at: Timestamp,
    pub expires_at: Option<Timestamp>,
    /// Its owner.
    pub by: EventAuthor,
    /// Number of lookups.
    pub accesses: u64,
    /// It has turned out to be true.
    pub validated: bool,
    /// `k-…` that it became.
    pub entry: Option<String>,
}

impl Index {
    /// What this agent remembers and isn't forgotten at `now`, the newest first.
    ///
    /// # Errors
    /// SQLite's, as for all methods here.
    pub(crate) fn memories_of_agent(&self, agent: Option<&str>, now: Timestamp) -> Result<Vec<MemoryRow>, StoreError> {
        let condition = "agent IS ?1 AND (expires_at IS NULL OR expires_at > ?2)";
        self.memories_where(condition, agent, now)
    }

    /// What was learnt in a task, has turned out to be true and is not shared knowledge yet.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn memories_to_promote(&self, task: &str, now: Timestamp) -> Result<Vec<MemoryRow>, StoreError> {
        let condition = format!("task = ?1 AND (expires_at IS NULL OR expires_at > ?2) AND {TO_PROMOTE}");
        self.memories_where(&condition, Some(task), now)
    }

    /// The tasks in which something was learnt that has turned out to be true and is not everybody's yet, each with when
    /// something was last remembered in it.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn tasks_to_promote(&self, now: Timestamp) -> Result<Vec<(String, Timestamp)>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(&format!(
                "SELECT task, max(at) FROM agent_memory m WHERE task IS NOT NULL AND {TO_PROMOTE}
                 AND (expires_at IS NULL OR expires_at > ?1) GROUP BY task ORDER BY 2 LIMIT ?2"
            ))?;
            let rows =
                statement.query_map(params![now.rfc3339(), TASKS_MAX], |row| Ok((row.get(0)?, row_time(row, 1)?)))?;
            rows.collect()
        };
        self.sql_result("read", read())
    }

    /// Whether something was remembered in a task.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn has_memories(&self, task: &str) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM agent_memory WHERE task = ?1 LIMIT 1";
        self.sql_result("read", self.connection.prepare_cached(sql).and_then(|mut find| find.exists([task])))
    }

    /// The memory whose id starts with `id` (`m-` may be left out).
    ///
    /// # Errors
    /// [`StoreError::NoSuchId`], [`StoreError::Ambiguous`], SQLite's.
    pub(crate) fn find_memory(&self, id: &str) -> Result<MemoryRow, StoreError> {
        let full = if id.starts_with("m-") { id.to_owned() } else { format!("m-{id}") };
        let condition = "memory_id BETWEEN ?1 AND ?1 || '~' AND ?2 <> ''";
        let mut found =
            if full == "m-" { Vec::new() } else { self.memories_where(condition, Some(&full), Timestamp(0))? };
        match found.len() {
            0 => Err(StoreError::NoSuchId { id: full }),
            1 => Ok(found.remove(0)),
            count => Err(ambiguous_id(id, count, found.iter().map(|row| row.id.as_str()))),
        }
    }

    fn memories_where(
        &self,
        condition: &str,
        parameter: Option<&str>,
        now: Timestamp,
    ) -> Result<Vec<MemoryRow>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(&format!(
                "SELECT memory_id, type, text, importance, at, expires_at, agent, session, task, person,
                        (SELECT count(*) FROM memory_changes c WHERE c.memory_id = m.memory_id AND change = 'recalled'),
                        EXISTS (SELECT 1 FROM memory_changes c WHERE c.memory_id = m.memory_id AND change = 'validated'),
                        (SELECT entry_id FROM memory_changes c WHERE c.memory_id = m.memory_id AND change = 'promoted'
                         ORDER BY c.at, c.event_id LIMIT 1)
                 FROM agent_memory m WHERE {condition} ORDER BY at DESC, memory_id LIMIT ?3"
            ))?;
            let rows = statement.query_map(params![parameter, now.rfc3339(), MEMORIES_MAX], |row| {
                let expires: Option<String> = row.get(5)?;
                Ok(MemoryRow {
                    id: row.get(0)?,
                    memory_type: row.get(1)?,
                    text: row.get(2)?,
                    importance: row.get(3)?,
                    at: row_time(row, 4)?,
                    expires_at: expires.and_then(|at| Timestamp::parse(&at)),
                    by: author_from_row(row, 6)?,
                    accesses: row_unsigned(row, 10)?,
                    validated: row.get(11)?,
                    entry: row.get(12)?,
                })
            })?;
            rows.collect()
        };
        self.sql_result("read", read())
    }
}
