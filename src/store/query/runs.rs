//! Recorded runs, passed and failed, for looking back.

use rusqlite::{OptionalExtension, params};

use super::{RUN_COLUMNS, RunRow};
use crate::base::clock::Timestamp;
use crate::base::ids::RunId;
use crate::base::lossless::Lossless;
use crate::store::error::StoreError;
use crate::store::index::Index;
use crate::store::to_json;

/// Which runs to list. An absent field matches every run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RunFilter {
    /// The tool as recorded (`pytest`), or what its name ends in after a colon (`test` for `script:test`).
    pub tool: Option<String>,
    /// Only passed or only failed runs.
    pub passed: Option<bool>,
    /// Only runs that ended at this time or later.
    pub since: Option<Timestamp>,
}

impl Index {
    /// The runs under `root`, the newest first, at most `limit`.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn runs_under(
        &self,
        root: &Lossless,
        filter: &RunFilter,
        limit: usize,
    ) -> Result<Vec<RunRow>, StoreError> {
        let sql = format!(
            "{RUN_COLUMNS} WHERE root = ?1 AND (?2 IS NULL OR tool = ?2 OR tool LIKE '%:' || ?2)
               AND (?3 IS NULL OR passed = ?3) AND (?4 IS NULL OR ended_at >= ?4)
             ORDER BY ended_at DESC, run_id DESC LIMIT ?5"
        );
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let since = filter.since.map(Timestamp::rfc3339);
        let read = || {
            let mut statement = self.connection.prepare_cached(&sql)?;
            let parameters = params![to_json(root), filter.tool, filter.passed, since, limit];
            statement.query_map(parameters, |row| self.run_row(row))?.collect()
        };
        self.sql_result("read", read())
    }

    /// A run by its whole id, wherever it ran.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn run_summary(&self, run: RunId) -> Result<Option<RunRow>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(&format!("{RUN_COLUMNS} WHERE run_id = ?1"))?;
            statement.query_row([run.to_string()], |row| self.run_row(row)).optional()
        };
        self.sql_result("read", read())
    }
}
