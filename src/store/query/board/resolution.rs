//! How many of the failures that count are resolved.

use rusqlite::params;

use crate::store::error::StoreError;
use crate::store::index::Index;
use crate::store::query::figures::{DayRange, SumFilter, start_of_day};
use crate::store::query::row_unsigned;

/// Failures that count, and those of them that are resolved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ResolutionRow {
    pub failures: u64,
    /// The check passed later on its branch, or a run of another one showed that all of it was gone.
    pub resolved: u64,
}

impl Index {
    /// Counts the failures of some days that are resolved.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn count_resolved(&self, range: DayRange, filter: &SumFilter) -> Result<ResolutionRow, StoreError> {
        let sql = "SELECT count(*), count(*) FILTER (WHERE
                 EXISTS (SELECT 1 FROM runs p INDEXED BY passes_by_key
                         WHERE p.command_key = r.command_key AND p.ended_at > r.ended_at AND p.branch IS r.branch
                           AND p.own_status AND p.passed)
                 OR EXISTS (SELECT 1 FROM fix_attempts a
                            WHERE a.command_key = r.command_key AND a.at >= r.ended_at AND a.outcome = 'success'))
             FROM runs r JOIN failures f USING (run_id)
             WHERE NOT r.passed AND uncounted IS NULL AND r.started_at >= ?1 AND r.started_at < ?2
               AND (?3 IS NULL OR f.category = ?3) AND (?4 IS NULL OR r.agent = ?4)
               AND (?5 IS NULL OR coalesce(tool, check_kind) = ?5 OR coalesce(tool, check_kind) LIKE '%:' || ?5)";
        let read = || {
            let SumFilter { category, agent, tool } = filter;
            let (from, until) = (start_of_day(range.from), start_of_day(range.until));
            self.connection.prepare_cached(sql)?.query_row(params![from, until, category, agent, tool], |row| {
                Ok(ResolutionRow { failures: row_unsigned(row, 0)?, resolved: row_unsigned(row, 1)? })
            })
        };
        self.sql_result("read", read())
    }
}
