//! Candidates for near-duplicates.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use rusqlite::{OptionalExtension, params};

use crate::fingerprint::{CANDIDATES_MAX, NearDuplicateSketch, comparable_text};
use crate::store::error::StoreError;
use crate::store::index::Index;

/// A pattern that may be a near-duplicate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NearPatternRow {
    /// `p-…`.
    pub id: String,
    /// The pattern key.
    pub key: String,
    /// The family's text as it is compared.
    pub text: String,
    /// Bands of the sketch that are equal.
    pub bands: u64,
}

/// How a test failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TestFailureRow {
    /// The key of the pattern, or of the one that represents it.
    pub key: String,
    /// The pattern's tool.
    pub tool: String,
    /// The pattern's code.
    pub code: Option<String>,
    /// The message at that time.
    pub message: String,
}

/// Failures of one test that are looked at, the newest.
const TEST_FAILURES_MAX: u32 = 50;
/// Patterns read of one band, the newest: common words put many thousand into one, which says little of each.
const BAND_PATTERNS_MAX: usize = 10_000;
/// Patterns looked at, those that share most first. Members of groups are never results.
const LOOKUPS_MAX: usize = 500;

impl Index {
    /// The patterns of the same scope that share most of the sketch, at most [`CANDIDATES_MAX`], of equals the older
    /// one first; of groups only those that represent them, so that no chain leads from one text to a very different
    /// one.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn near_patterns(&self, near: &NearDuplicateSketch) -> Result<Vec<NearPatternRow>, StoreError> {
        let read = || {
            let mut candidate = self.connection.prepare_cached(
                "SELECT pattern_id, pattern_key, masked_family FROM patterns p
                 LEFT JOIN pattern_groups g ON g.pattern_no = p.pattern_no
                 WHERE p.pattern_no = ?1 AND near_scope = ?2 AND coalesce(g.leader_no, p.pattern_no) = p.pattern_no",
            )?;
            let mut found = Vec::new();
            for (Reverse(bands), pattern) in self.patterns_by_shared_bands(near)?.into_iter().take(LOOKUPS_MAX) {
                if found.len() == CANDIDATES_MAX {
                    break;
                }
                let row = candidate.query_row(params![pattern, near.scope], |row| {
                    let text = comparable_text(&row.get::<_, String>(2)?);
                    Ok(NearPatternRow { id: row.get(0)?, key: row.get(1)?, text, bands })
                });
                found.extend(row.optional()?);
            }
            Ok(found)
        };
        self.sql_result("read", read())
    }

    /// The id of the pattern with this key, or of the one that represents it.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn pattern_id_of_key(&self, key: &str) -> Result<Option<String>, StoreError> {
        let find = || {
            let Some(number) = self.number_of_key(key)? else { return Ok(None) };
            let sql = "SELECT pattern_id FROM patterns WHERE pattern_no = ?1";
            self.connection.prepare_cached(sql)?.query_row([self.leader_of(number)?], |row| row.get(0)).map(Some)
        };
        self.sql_result("read", find())
    }

    /// How a test failed before, the newest first, at most 50.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn failures_of_test(&self, test: &str) -> Result<Vec<TestFailureRow>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT leader.pattern_key, p.tool, p.code, o.message
                 FROM occurrences o JOIN patterns p USING (pattern_no)
                 JOIN pattern_leaders l USING (pattern_no)
                 JOIN patterns leader ON leader.pattern_no = l.leader_no
                 WHERE o.test = ?1 ORDER BY o.at DESC, o.pattern_no LIMIT ?2",
            )?;
            let rows = statement.query_map(params![test, TEST_FAILURES_MAX], |row| {
                Ok(TestFailureRow { key: row.get(0)?, tool: row.get(1)?, code: row.get(2)?, message: row.get(3)? })
            })?;
            rows.collect()
        };
        self.sql_result("read", read())
    }

    /// Numbers of the patterns that share bands, those with most first. From the index of bands alone: the patterns
    /// themselves lie far apart.
    fn patterns_by_shared_bands(&self, near: &NearDuplicateSketch) -> rusqlite::Result<Vec<(Reverse<u64>, i64)>> {
        let limit = i64::try_from(BAND_PATTERNS_MAX).unwrap_or(i64::MAX);
        let mut band_patterns = self
            .connection
            .prepare_cached("SELECT pattern_no FROM near_bands WHERE band = ?1 ORDER BY pattern_no DESC LIMIT ?2")?;
        let mut patterns: Vec<i64> = Vec::new();
        for band in near.bands.iter().collect::<BTreeSet<_>>() {
            for pattern in band_patterns.query_map(params![band, limit], |row| row.get(0))? {
                patterns.push(pattern?);
            }
        }
        patterns.sort_unstable();
        let shared = patterns.chunk_by(|a, b| a == b).map(|equal| (Reverse(equal.len() as u64), equal[0]));
        let mut shared: Vec<_> = shared.collect();
        shared.sort_unstable();
        Ok(shared)
    }
}
