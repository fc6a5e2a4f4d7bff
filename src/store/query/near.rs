//! Candidates for near-duplicates.

use rusqlite::params;

use super::unsigned;
use crate::fingerprint::{CANDIDATES_MAX, Near, comparable};
use crate::store::error::StoreError;
use crate::store::index::Index;
use crate::store::json;

/// A pattern that may be a near-duplicate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NearRow {
    /// `p-…`.
    pub id: String,
    /// The pattern key.
    pub key: String,
    /// The family's text as it is compared.
    pub text: String,
    /// Bands of the sketch that are equal.
    pub bands: u64,
}

impl Index {
    /// The patterns of the same scope that share most of the sketch, at most [`CANDIDATES_MAX`]; of groups only those
    /// that stand for them, so that no chain leads from one text to a very different one.
    ///
    /// # Errors
    /// SQLite's.
    pub fn near_patterns(&self, near: &Near) -> Result<Vec<NearRow>, StoreError> {
        let limit = i64::try_from(CANDIDATES_MAX).unwrap_or(i64::MAX);
        let read = || {
            // CROSS JOIN keeps this order: the bands select, the rest only looks up.
            let mut statement = self.connection.prepare_cached(
                "SELECT pattern_id, pattern_key, masked_family, count(*) AS shared
                 FROM json_each(?1) band CROSS JOIN near_bands n ON n.band = band.value
                 CROSS JOIN qa_failure_patterns p ON p.pattern_no = n.pattern_no
                 LEFT JOIN pattern_groups g ON g.pattern_no = n.pattern_no
                 WHERE p.near_scope = ?2 AND coalesce(g.leader_no, n.pattern_no) = n.pattern_no
                 GROUP BY n.pattern_no ORDER BY shared DESC, pattern_key LIMIT ?3",
            )?;
            let rows = statement.query_map(params![json(&near.bands.to_vec()), near.scope, limit], |row| {
                Ok(NearRow {
                    id: row.get(0)?,
                    key: row.get(1)?,
                    text: comparable(&row.get::<_, String>(2)?),
                    bands: unsigned(row, 3)?,
                })
            })?;
            rows.collect()
        };
        self.sql("read", read())
    }
}
