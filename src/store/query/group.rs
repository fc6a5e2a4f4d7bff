//! A pattern with its merged patterns, and all their keys: looked up once, because a query for each key is cheaper
//! than one that first has to find them.

use std::collections::BTreeSet;

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
}
