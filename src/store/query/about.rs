//! The patterns of entries, and the outcome of advice from them.

use std::collections::BTreeSet;

use rusqlite::params;

use super::row_unsigned;
use crate::store::about;
use crate::store::error::StoreError;
use crate::store::index::Index;

/// Patterns of one source, those of the most failures.
const SOURCE_PATTERNS_MAX: i64 = 20;

/// The recorded patterns that an entry is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct EntryPatternsRow {
    /// Row numbers of the patterns that represent them.
    pub patterns: Vec<i64>,
    /// It names them as its source; else their messages say what its pitfall says.
    pub named: bool,
}

/// What an id that is named as a source represents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EntrySourceRow {
    /// The whole id.
    pub id: String,
    /// `p-…` of the patterns.
    pub patterns: Vec<String>,
}

impl Index {
    /// The recorded patterns that an entry, with those that it was merged with, is about. Without any, its effect
    /// can't be measured.
    ///
    /// # Errors
    /// SQLite's, as for all methods here.
    pub(crate) fn patterns_of_entry(&self, id: &str) -> Result<EntryPatternsRow, StoreError> {
        let read = || {
            let about = about::subject_of_entry(&self.connection, id)?;
            let leaders: BTreeSet<i64> =
                about.patterns.iter().map(|pattern| self.leader_of(*pattern)).collect::<rusqlite::Result<_>>()?;
            Ok(EntryPatternsRow { patterns: leaders.into_iter().collect(), named: about.named })
        };
        self.sql_result("read", read())
    }

    /// The family of what an entry names as its source; `None` when it names nothing that is recorded, or several.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn entry_family(&self, id: &str) -> Result<Option<String>, StoreError> {
        self.sql_result("read", about::family_of_entry(&self.connection, id))
    }

    /// Warnings about an entry and those that were merged with it that were due before, shown or held out.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn entry_exposures(&self, leader: &str) -> Result<u64, StoreError> {
        let sql = "SELECT count(*) FROM entries e CROSS JOIN deliveries d USING (entry_id)
                   WHERE e.leader_id = ?1 AND e.event_id IS NOT NULL AND d.arm <> 'gate'";
        let read = || self.connection.prepare_cached(sql)?.query_row([leader], |row| row_unsigned(row, 0));
        self.sql_result("read", read())
    }

    /// What the start of an id represents that a user names as a source: a pattern, or what patterns were seen in: a
    /// failure, a lesson, a fix, a strategy, a gotcha that was learnt. `None` when it is the start of no one such id.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn find_source(&self, id: &str) -> Result<Option<EntrySourceRow>, StoreError> {
        let from = match id.get(..2).filter(|start| id.len() > start.len()) {
            Some("p-") => {
                "SELECT pattern_id AS id, pattern_no FROM patterns
                 UNION SELECT recorded_id, pattern_no FROM recorded_keys"
            }
            Some("f-") => "SELECT failure_id AS id, pattern_no FROM failures JOIN occurrences USING (failure_no)",
            Some("l-") => "SELECT lesson_id AS id, pattern_no FROM failures JOIN occurrences USING (failure_no)",
            Some("x-") => {
                "SELECT fix_id AS id, pattern_no FROM fix_attempts JOIN attempt_patterns USING (event_id)
                 JOIN known_patterns ON recorded_key = pattern_key WHERE role = 'fixed'"
            }
            Some("s-") => {
                "SELECT strategy_id AS id, pattern_no FROM strategies
                 JOIN known_patterns ON recorded_key = error_pattern WHERE match = 'pattern'"
            }
            Some("k-") => {
                "SELECT entry_id AS id, pattern_no FROM entries e
                 JOIN known_patterns ON recorded_key = e.pattern_key WHERE event_id IS NULL"
            }
            _ => return Ok(None),
        };
        let read = || -> rusqlite::Result<Vec<(String, String)>> {
            // A range, so that the indexes are used; `~` comes after every letter of an id.
            let mut statement = self.connection.prepare_cached(&format!(
                "SELECT DISTINCT id, pattern_id FROM ({from}) JOIN patterns USING (pattern_no)
                 WHERE id BETWEEN ?1 AND ?1 || '~' ORDER BY failure_count DESC, pattern_key LIMIT ?2"
            ))?;
            let rows = statement.query_map(params![id, SOURCE_PATTERNS_MAX], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect()
        };
        let found = self.sql_result("read", read())?;
        let ids: BTreeSet<&str> = found.iter().map(|(id, _)| id.as_str()).collect();
        let Some(id) = ids.first().filter(|_| ids.len() == 1).map(|&id| id.to_owned()) else {
            return Ok(None);
        };
        Ok(Some(EntrySourceRow { id, patterns: found.into_iter().map(|(_, pattern)| pattern).collect() }))
    }
}
