//! Events in the order in which they were recorded.

use rusqlite::{OptionalExtension as _, params};

use crate::base::clock::Timestamp;
use crate::store::error::StoreError;
use crate::store::index::Index;
use crate::store::query::{row_time, row_unsigned};
use crate::store::segment::LineSpan;

impl Index {
    /// The indexed bytes of each segment; the one that was begun first comes first.
    ///
    /// # Errors
    /// SQLite's, as for all methods here.
    pub(crate) fn segment_ends(&self) -> Result<Vec<(String, u64)>, StoreError> {
        let read = || {
            let sql = "SELECT name, indexed_bytes FROM segments ORDER BY segment_no";
            let mut statement = self.connection.prepare_cached(sql)?;
            statement.query_map([], |row| Ok((row.get(0)?, row_unsigned(row, 1)?)))?.collect()
        };
        self.sql_result("read", read())
    }

    /// The segment of an event, and where its line ends in it.
    ///
    /// # Errors
    /// As above.
    pub(crate) fn event_end(&self, id: &str) -> Result<Option<(String, u64)>, StoreError> {
        let sql = "SELECT name, start + len FROM events JOIN segments USING (segment_no) WHERE event_id = ?1";
        let find = || {
            let mut statement = self.connection.prepare_cached(sql)?;
            statement.query_row([id], |row| Ok((row.get(0)?, row_unsigned(row, 1)?))).optional()
        };
        self.sql_result("read", find())
    }

    /// Where the events of a segment are, from a position on.
    ///
    /// # Errors
    /// As above.
    pub(crate) fn events_of_segment(
        &self,
        segment: &str,
        from: u64,
        limit: usize,
    ) -> Result<Vec<LineSpan>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT start, len FROM events JOIN segments USING (segment_no)
                 WHERE name = ?1 AND start >= ?2 ORDER BY start LIMIT ?3",
            )?;
            let (from, limit) = (i64::try_from(from).unwrap_or(i64::MAX), i64::try_from(limit).unwrap_or(i64::MAX));
            let span =
                |row: &rusqlite::Row<'_>| Ok(LineSpan { start: row_unsigned(row, 0)?, len: row_unsigned(row, 1)? });
            statement.query_map(params![segment, from, limit], span)?.collect()
        };
        self.sql_result("read", read())
    }

    /// When the last event was recorded.
    ///
    /// # Errors
    /// As above.
    pub(crate) fn last_event_at(&self) -> Result<Option<Timestamp>, StoreError> {
        let find = || {
            let mut statement =
                self.connection.prepare_cached("SELECT max(at) FROM events HAVING max(at) IS NOT NULL")?;
            statement.query_row([], |row| row_time(row, 0)).optional()
        };
        self.sql_result("read", find())
    }
}
