//! What a search over everything is made of, beside what other questions ask.

use rusqlite::params;

use crate::store::error::StoreError;
use crate::store::index::Index;
use crate::store::query::fix::FixRow;

impl Index {
    /// Words of patterns' messages that start so, at most `limit`.
    ///
    /// # Errors
    /// SQLite's, as for all methods here.
    pub(crate) fn pattern_terms(&self, start: &str, limit: usize) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT term FROM pattern_vocabulary WHERE term >= ?1 AND term <= ?1 || char(0x10ffff) LIMIT ?2";
        let read = || {
            let mut statement = self.connection.prepare_cached(sql)?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            statement.query_map(params![start, limit], |row| row.get(0))?.collect()
        };
        self.sql_result("read", read())
    }

    /// Fixes that made a pattern of one of these keys go away, the last touched first.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn fixes_of_keys(&self, keys: &[&str], limit: usize) -> Result<Vec<FixRow>, StoreError> {
        let sql = "SELECT DISTINCT fix_id FROM json_each(?1) CROSS JOIN attempt_patterns ON pattern_key = value
                   CROSS JOIN fix_attempts USING (event_id) CROSS JOIN fix_figures USING (fix_id)
                   WHERE role = 'fixed' AND means <> 'none' AND NOT suspect
                   ORDER BY fix_figures.last_at DESC, fix_id LIMIT ?2";
        let read = || {
            let keys = serde_json::to_string(keys).unwrap_or_default();
            let mut statement = self.connection.prepare_cached(sql)?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let ids = statement.query_map(params![keys, limit], |row| row.get(0))?;
            self.read_fixes(ids.collect::<rusqlite::Result<_>>()?)
        };
        self.sql_result("read", read())
    }
}
