//! How many of the failures that count are open.

use rusqlite::params;

use crate::store::error::StoreError;
use crate::store::index::Index;
use crate::store::query::figures::{DayRange, SumFilter, start_of_day};
use crate::store::query::row_unsigned;

impl Index {
    /// Counts the failures of some days that nothing resolved: neither a later pass of the check on its branch, nor a run
    /// of another one that showed that all of it was gone. What no rate counts is left out.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn count_open_failures(&self, range: DayRange, filter: &SumFilter) -> Result<u64, StoreError> {
        let sql = "SELECT count(*) FROM open_failures CROSS JOIN failures f USING (failure_no) CROSS JOIN runs r USING (run_id)
             WHERE uncounted IS NULL AND r.started_at >= ?1 AND r.started_at < ?2
               AND (?3 IS NULL OR f.category = ?3) AND (?4 IS NULL OR r.agent = ?4)
               AND (?5 IS NULL OR coalesce(tool, check_kind) = ?5 OR coalesce(tool, check_kind) LIKE '%:' || ?5)";
        let SumFilter { category, agent, tool } = filter;
        let parameters = params![start_of_day(range.from), start_of_day(range.until), category, agent, tool];
        let read = || self.connection.prepare_cached(sql)?.query_row(parameters, |row| row_unsigned(row, 0));
        self.sql_result("read", read())
    }
}
