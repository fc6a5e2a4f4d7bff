//! A pattern with its merged patterns, and all their keys: looked up once, because a query for each key is cheaper
//! than one that first has to find them.

use std::collections::BTreeSet;

use crate::store::error::StoreError;
use crate::store::index::Index;

/// A pattern and those that are counted with it.
pub(super) struct PatternGroupRow {
    /// Their row numbers, at least one.
    pub members: Vec<i64>,
    /// Every key that events have for them, and whose it is.
    pub keys: Vec<(String, i64)>,
}

impl PatternGroupRow {
    /// The keys, each once.
    pub(super) fn distinct_keys(&self) -> BTreeSet<&str> {
        self.keys.iter().map(|(key, _)| key.as_str()).collect()
    }
}

impl Index {
    /// The group of a pattern.
    pub(super) fn group_of(&self, pattern: i64) -> rusqlite::Result<PatternGroupRow> {
        let mut others = self.connection.prepare_cached(
            "SELECT other.pattern_no FROM pattern_groups own JOIN pattern_groups other USING (leader_no)
             WHERE own.pattern_no = ?1",
        )?;
        let mut members: Vec<i64> = others.query_map([pattern], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        if members.is_empty() {
            members.push(pattern);
        }
        let mut named = self.connection.prepare_cached(
            "SELECT pattern_key FROM patterns WHERE pattern_no = ?1
             UNION ALL SELECT recorded_key FROM recorded_keys WHERE pattern_no = ?1",
        )?;
        let mut keys = Vec::with_capacity(members.len());
        for &member in &members {
            for key in named.query_map([member], |row| row.get(0))? {
                keys.push((key?, member));
            }
        }
        Ok(PatternGroupRow { members, keys })
    }

    /// The merges that the last split of a pattern reverted: the keys of both patterns, as they were merged.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn merges_before_split(&self, pattern: i64) -> Result<Vec<[String; 2]>, StoreError> {
        // A merge was in force until then unless one of its patterns was split before; the recorder's own merges yield to
        // every split.
        const SQL: &str = "
            WITH keys (pattern_key) AS (
                SELECT pattern_key FROM patterns WHERE pattern_no = ?1
                UNION SELECT recorded_key FROM recorded_keys WHERE pattern_no = ?1
            ), last (at, event_id) AS (
                SELECT at, event_id FROM pattern_splits WHERE pattern_key IN keys ORDER BY at DESC, event_id DESC LIMIT 1
            )
            SELECT DISTINCT m.from_key, m.into_key FROM pattern_merges m CROSS JOIN last
            WHERE (m.from_key IN keys OR m.into_key IN keys) AND (m.at, m.event_id) < (last.at, last.event_id)
              AND NOT EXISTS (
                  SELECT 1 FROM pattern_splits s
                  WHERE (s.pattern_key IN (m.from_key, m.into_key) OR s.pattern_key IN keys)
                    AND (s.at, s.event_id) < (last.at, last.event_id)
                    AND (m.automatic OR (s.at, s.event_id) > (m.at, m.event_id)))
            ORDER BY m.from_key, m.into_key";
        let read = || {
            let mut statement = self.connection.prepare_cached(SQL)?;
            statement.query_map([pattern], |row| Ok([row.get(0)?, row.get(1)?]))?.collect()
        };
        self.sql_result("read", read())
    }
}
