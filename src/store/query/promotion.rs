//! Proposals for CLAUDE.md and AGENTS.md, and their decisions.

use std::collections::BTreeMap;

use rusqlite::{OptionalExtension as _, Row};
use serde::Serialize;

use super::knowledge::EntryRow;
use super::{row_time, row_unsigned};
use crate::base::clock::Timestamp;
use crate::event::{PromotionChangeKind, PromotionState};
use crate::store::error::StoreError;
use crate::store::index::Index;

/// Promotions that are looked at, the newest.
const PROMOTIONS_MAX: i64 = 10_000;
/// Changes of one.
const CHANGES_MAX: i64 = 1_000;

/// A promotion in its current state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PromotionRow {
    /// `r-…`
    pub id: String,
    /// The pattern's key, of a promotion of a pattern.
    pub pattern: Option<String>,
    /// `k-…`, of one from the knowledge base.
    pub entry: Option<String>,
    /// Its state.
    pub state: PromotionState,
    /// When it was first proposed.
    pub proposed_at: Timestamp,
    pub decided_at: Option<Timestamp>,
    /// Who decided.
    pub person: Option<String>,
    pub reason: String,
    /// Where it was written last.
    pub target: Option<String>,
    /// BLAKE3 of the file before it was approved last; `None` when there was none.
    pub before: Option<String>,
    /// … and after that, or after it was taken out.
    pub after: Option<String>,
    /// Approved, and its retirement was proposed since.
    pub retirement_proposed: bool,
}

/// One thing that was said of a promotion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PromotionChangeRow {
    /// Time of the change.
    pub at: Timestamp,
    /// The step that was taken.
    pub change: PromotionChangeKind,
    /// Whether it was strong then, of a proposal.
    pub strong: Option<bool>,
    /// The reason that was given.
    pub reason: String,
    /// Who decided.
    pub person: Option<String>,
    /// Agent that said so.
    pub agent: Option<String>,
    /// Where it was written.
    pub target: Option<String>,
}

impl Index {
    /// All promotions that were ever heard of, the newest first.
    ///
    /// # Errors
    /// SQLite's, as for all methods here.
    pub(crate) fn list_promotions(&self) -> Result<Vec<PromotionRow>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT promotion_id, pattern_key, entry_id, state, proposed_at, decided_at, person, reason, target, before,
                        after, retirement_proposed
                 FROM promotion_states ORDER BY coalesce(decided_at, proposed_at) DESC, promotion_id LIMIT ?1",
            )?;
            statement.query_map([PROMOTIONS_MAX], promotion_from_row)?.collect()
        };
        self.sql_result("read", read())
    }

    /// How many promotions there are in each state (`pending`, `approved`, `rejected`, `rolled_back`).
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn promotion_states(&self) -> Result<BTreeMap<String, u64>, StoreError> {
        let read = || {
            let sql = "SELECT state, count(*) FROM promotion_states GROUP BY state";
            let mut statement = self.connection.prepare_cached(sql)?;
            statement.query_map([], |row| Ok((row.get(0)?, row_unsigned(row, 1)?)))?.collect()
        };
        self.sql_result("read", read())
    }

    /// What was said of a promotion, the first first.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn promotion_changes(&self, id: &str) -> Result<Vec<PromotionChangeRow>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT at, change, strong, reason, person, agent, target FROM promotion_changes
                 WHERE promotion_id = ?1 ORDER BY at, event_id LIMIT ?2",
            )?;
            let rows = statement.query_map(rusqlite::params![id, CHANGES_MAX], |row| {
                Ok(PromotionChangeRow {
                    at: row_time(row, 0)?,
                    change: row.get(1)?,
                    strong: row.get(2)?,
                    reason: row.get(3)?,
                    person: row.get(4)?,
                    agent: row.get(5)?,
                    target: row.get(6)?,
                })
            })?;
            rows.collect()
        };
        self.sql_result("read", read())
    }

    /// Keys of the patterns that may have earned a promotion, those of the most failures: a warning about them
    /// prevented something, or something helped against them. Of groups those that represent them.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn promotable_patterns(&self, limit: usize) -> Result<Vec<String>, StoreError> {
        let read = || {
            // Both figures are named, as in the condition of `warned_patterns`, which is small.
            let mut statement = self.connection.prepare_cached(
                "SELECT DISTINCT l.pattern_key FROM (
                     SELECT pattern_no FROM patterns WHERE prevented + failed_anyway > 0 AND prevented > 0
                     UNION SELECT pattern_no FROM strategies
                     JOIN known_patterns ON recorded_key = error_pattern WHERE match = 'pattern' AND successes > 0)
                 JOIN pattern_leaders USING (pattern_no) JOIN patterns l ON l.pattern_no = leader_no
                 ORDER BY l.failure_count DESC, l.pattern_key LIMIT ?1",
            )?;
            statement.query_map([i64::try_from(limit).unwrap_or(i64::MAX)], |row| row.get(0))?.collect()
        };
        self.sql_result("read", read())
    }
}

impl Index {
    /// Ids of the entries that may have earned a promotion, those that were used most: they were written more than
    /// once, helped, or a warning from them prevented something. Of merged ones those that represent them; none that
    /// something better is known for.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn promotable_entries(&self, limit: usize) -> Result<Vec<String>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT leader_id, sum(number) FROM (
                     SELECT leader_id, count(*) AS number FROM entries WHERE event_id IS NOT NULL
                     GROUP BY leader_id HAVING count(*) > 1
                     UNION ALL SELECT leader_id, count(*) FROM entry_uses u
                     JOIN entries e ON e.entry_id = u.entry_id AND e.event_id IS NOT NULL
                     WHERE how IN ('applied', 'validated', 'prevented') GROUP BY leader_id
                     UNION ALL SELECT leader_id, count(DISTINCT task_no) FROM deliveries d
                     JOIN entries e ON e.entry_id = d.entry_id AND e.event_id IS NOT NULL
                     WHERE arm = 'shown' AND outcome = 'prevented' GROUP BY leader_id)
                 WHERE NOT EXISTS (SELECT 1 FROM knowledge_changes c WHERE c.entry_id = leader_id AND change = 'superseded')
                 GROUP BY leader_id ORDER BY 2 DESC, leader_id LIMIT ?1",
            )?;
            statement.query_map([i64::try_from(limit).unwrap_or(i64::MAX)], |row| row.get(0))?.collect()
        };
        self.sql_result("read", read())
    }

    /// Whether an entry, or one that was merged into it, is in a CLAUDE.md or AGENTS.md.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn is_promoted_entry(&self, leader: &str) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM entries e CROSS JOIN promotion_states p USING (entry_id)
             WHERE e.leader_id = ?1 AND e.event_id IS NOT NULL AND p.state = 'approved'";
        self.sql_result("read", self.connection.prepare_cached(sql).and_then(|mut find| find.exists([leader])))
    }

    /// The entry with this whole id, or the one that it was merged into; `None` when there is none.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn leading_entry(&self, id: &str) -> Result<Option<EntryRow>, StoreError> {
        let read = || {
            let sql = "SELECT l.entry_no FROM entries e
                 JOIN entries l ON l.entry_id = e.leader_id AND l.event_id IS NOT NULL
                 WHERE e.entry_id = ?1 AND e.event_id IS NOT NULL";
            self.connection.prepare_cached(sql)?.query_row([id], |row| row.get(0)).optional()
        };
        let number: Option<i64> = self.sql_result("read", read())?;
        number.map(|number| self.entry_at(number)).transpose()
    }
}

fn promotion_from_row(row: &Row<'_>) -> rusqlite::Result<PromotionRow> {
    Ok(PromotionRow {
        id: row.get(0)?,
        pattern: row.get(1)?,
        entry: row.get(2)?,
        state: row.get(3)?,
        proposed_at: row_time(row, 4)?,
        decided_at: row.get::<_, Option<String>>(5)?.map(|_| row_time(row, 5)).transpose()?,
        person: row.get(6)?,
        reason: row.get(7)?,
        target: row.get(8)?,
        before: row.get(9)?,
        after: row.get(10)?,
        retirement_proposed: row.get(11)?,
    })
}
