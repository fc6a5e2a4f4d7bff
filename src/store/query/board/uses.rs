//! How knowledge is used, in numbers.

use crate::store::error::StoreError;
use crate::store::index::Index;
use crate::store::query::row_unsigned;

impl Index {
    /// Uses of entries by what was done with them, by name.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn count_entry_uses(&self) -> Result<Vec<(String, u64)>, StoreError> {
        let read = || {
            let sql = "SELECT how, count(*) FROM entry_uses GROUP BY how ORDER BY how";
            let mut statement = self.connection.prepare_cached(sql)?;
            statement.query_map([], |row| Ok((row.get(0)?, row_unsigned(row, 1)?)))?.collect()
        };
        self.sql_result("read", read())
    }
}
