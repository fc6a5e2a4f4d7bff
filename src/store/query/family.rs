//! Families of patterns: those whose messages differ in their subject alone.

use rusqlite::params;

use super::history::ROWS_MAX;
use super::pattern::{FAMILY_TASKS, GROUP};
use super::row_unsigned;
use crate::store::error::StoreError;
use crate::store::index::Index;

/// Patterns of a family that are counted.
const FAMILY_MAX: i64 = 10_000;

impl Index {
    /// The row numbers of a family's patterns; of a group that of the one that represents it.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn patterns_of_family(&self, family_key: &str) -> Result<Vec<i64>, StoreError> {
        let read = || {
            let sql = "SELECT DISTINCT coalesce(leader_no, pattern_no) AS leader FROM patterns
                LEFT JOIN pattern_groups USING (pattern_no) WHERE family_key = ?1 ORDER BY leader LIMIT ?2";
            let mut statement = self.connection.prepare_cached(sql)?;
            statement.query_map(params![family_key, ROWS_MAX], |row| row.get(0))?.collect()
        };
        self.sql_result("read", read())
    }

    /// How many patterns a family has, and how many of them were seen in one task only.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn count_family_patterns(&self, family_key: &str) -> Result<(u64, u64), StoreError> {
        let read = || {
            let sql = "SELECT count(*), count(*) FILTER (WHERE tasks = 1) FROM (
                SELECT count(DISTINCT task_no) AS tasks FROM (
                    SELECT coalesce(leader_no, pattern_no) AS leader, pattern_no FROM patterns
                    LEFT JOIN pattern_groups USING (pattern_no) WHERE family_key = ?1 LIMIT ?2)
                JOIN occurrences USING (pattern_no) GROUP BY leader)";
            self.connection
                .prepare_cached(sql)?
                .query_row(params![family_key, FAMILY_MAX], |row| Ok((row_unsigned(row, 0)?, row_unsigned(row, 1)?)))
        };
        self.sql_result("read", read())
    }

    /// Distinct tasks in which a pattern of the family of a pattern that represents its group was seen.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn count_family_tasks(&self, leader: i64) -> Result<u64, StoreError> {
        let sql = format!("{GROUP} SELECT {FAMILY_TASKS}");
        let count = || self.connection.prepare_cached(&sql)?.query_row([leader], |row| row_unsigned(row, 0));
        self.sql_result("read", count())
    }
}
