//! Questions about the work tree at a run.

use rusqlite::{OptionalExtension, params};

use super::{row_time, row_unsigned};
use crate::base::clock::Timestamp;
use crate::base::ids::RunId;
use crate::base::lossless::Lossless;
use crate::event::{Event, EventBody, Snapshot};
use crate::store::error::StoreError;
use crate::store::index::Index;
use crate::store::segment::SegmentFolder;
use crate::store::to_json;

/// The work tree at a run, as the index has it. Files and diff are in the event: [`Index::snapshot_event`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SnapshotRow {
    /// The tree; `None` when it was skipped.
    pub tree: Option<String>,
    /// Whether the tree is what the run saw.
    pub exact: bool,
    /// Whether a file changed between the run's end and the tree.
    pub late: bool,
    /// Why there is no tree.
    pub skipped: Option<String>,
    /// Files that are not in the tree.
    pub left_out: u64,
    /// What it was compared with: `pass`, `head`, or nothing.
    pub base: Option<String>,
    /// Files that differ from the base, as text, sorted; up to the event's limit.
    pub files: Vec<String>,
    /// How many differ in all.
    pub file_count: u64,
    /// Why it could not be compared.
    pub unavailable: Option<String>,
}

/// The tree of a passing run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PassingTree {
    pub run: RunId,
    pub tree: String,
    /// Whether the tree is what the run saw.
    pub exact: bool,
}

/// A tree that some run has, for pruning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TreeUse {
    pub tree: String,
    /// When the last run that has it ended.
    pub at: Timestamp,
    /// It is the newest passing tree of a key, or of a failure that is still open: it has to stay.
    pub needed: bool,
}

impl Index {
    /// The ids of runs that saw exactly this tree, the newest first, at most `limit`.
    pub(crate) fn runs_on_tree(&self, tree: &str, limit: usize) -> Result<Vec<String>, StoreError> {
        let read = || -> rusqlite::Result<Vec<String>> {
            let mut statement = self.connection.prepare_cached(
                "SELECT run_id FROM snapshots WHERE tree = ?1 AND exact = 1 AND left_out = 0 ORDER BY at DESC LIMIT ?2",
            )?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            statement.query_map(params![tree, limit], |row| row.get(0))?.collect()
        };
        self.sql_result("read", read())
    }

    /// The work tree at a run; `None` when nothing is recorded of it.
    ///
    /// # Errors
    /// SQLite's, as for all methods here.
    pub(crate) fn snapshot_of_run(&self, run: &str) -> Result<Option<SnapshotRow>, StoreError> {
        let find = || {
            let row = self
                .connection
                .prepare_cached(
                    "SELECT tree, exact, late, skipped, left_out, base, file_count, unavailable
                     FROM snapshots WHERE run_id = ?1",
                )?
                .query_row([run], |row| {
                    Ok(SnapshotRow {
                        tree: row.get(0)?,
                        exact: row.get(1)?,
                        late: row.get(2)?,
                        skipped: row.get(3)?,
                        left_out: row_unsigned(row, 4)?,
                        base: row.get(5)?,
                        files: Vec::new(),
                        file_count: row_unsigned(row, 6)?,
                        unavailable: row.get(7)?,
                    })
                })
                .optional()?;
            let Some(row) = row else { return Ok(None) };
            let mut files =
                self.connection.prepare_cached("SELECT path FROM snapshot_files WHERE run_id = ?1 ORDER BY path")?;
            let files = files.query_map([run], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
            Ok(Some(SnapshotRow { files, ..row }))
        };
        self.sql_result("read", find())
    }

    /// The snapshot itself, with its files and its diff.
    ///
    /// # Errors
    /// SQLite's and I/O.
    pub(crate) fn snapshot_event(&self, segments: &SegmentFolder, run: RunId) -> Result<Option<Snapshot>, StoreError> {
        let id = Event::snapshot_id(run).hyphenated().to_string();
        Ok(match self.read_event(segments, &id)?.map(|event| event.body) {
            Some(EventBody::Snapshot(snapshot)) => Some(*snapshot),
            _ => None,
        })
    }

    /// The tree of the last run of a key in `root` that ended at or before `before`, `run` itself left out; `None` when
    /// that one passed, or has none.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn last_failing_tree(
        &self,
        command_key: &str,
        root: &Lossless,
        before: Timestamp,
        run: RunId,
    ) -> Result<Option<String>, StoreError> {
        let find = || {
            self.connection
                .prepare_cached(
                    "SELECT iif(passed, NULL, tree) FROM runs LEFT JOIN snapshots USING (run_id)
                     WHERE command_key = ?1 AND root = ?2 AND ended_at <= ?3 AND run_id <> ?4
                     ORDER BY ended_at DESC, run_id DESC LIMIT 1",
                )?
                .query_row(params![command_key, to_json(root), before.rfc3339(), run.to_string()], |row| row.get(0))
                .optional()
        };
        Ok(self.sql_result("read", find())?.flatten())
    }

    /// The distinct trees of the last runs in `root` that ended before `before`, the newest first.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn trees_before(
        &self,
        root: &Lossless,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<String>, StoreError> {
        let find = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT tree FROM (SELECT tree, ended_at FROM runs JOIN snapshots USING (run_id)
                     WHERE root = ?1 AND ended_at < ?2 AND tree IS NOT NULL ORDER BY ended_at DESC LIMIT ?3)
                 GROUP BY tree ORDER BY max(ended_at) DESC",
            )?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            statement.query_map(params![to_json(root), before.rfc3339(), limit], |row| row.get(0))?.collect()
        };
        self.sql_result("read", find())
    }

    /// The tree of the last passing run of a key in `root` that ended at or before `before`, `run` itself left out.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn last_passing_tree(
        &self,
        command_key: &str,
        root: &Lossless,
        before: Timestamp,
        run: RunId,
    ) -> Result<Option<PassingTree>, StoreError> {
        let find = || {
            self.connection
                .prepare_cached(
                    "SELECT run_id, tree, exact FROM runs JOIN snapshots USING (run_id)
                     WHERE command_key = ?1 AND root = ?2 AND ended_at <= ?3 AND run_id <> ?4
                           AND passed AND tree IS NOT NULL
                     ORDER BY ended_at DESC, run_id DESC LIMIT 1",
                )?
                .query_row(params![command_key, to_json(root), before.rfc3339(), run.to_string()], |row| {
                    Ok((row.get::<_, String>(0)?, row.get(1)?, row.get(2)?))
                })
                .optional()
        };
        let found = self.sql_result("read", find())?;
        Ok(found.and_then(|(run, tree, exact)| {
            Some(PassingTree { run: RunId(uuid::Uuid::parse_str(&run).ok()?), tree, exact })
        }))
    }

    /// Every tree that a run has, the newest first.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn list_trees(&self) -> Result<Vec<TreeUse>, StoreError> {
        let read = || {
            // An open failure: no run of its key passed since.
            let mut statement = self.connection.prepare_cached(
                "WITH passes AS (SELECT command_key, max(ended_at) AS at FROM runs WHERE passed GROUP BY command_key),
                 newest AS (SELECT command_key, max(ended_at) AS at FROM runs JOIN snapshots USING (run_id)
                            WHERE passed AND tree IS NOT NULL GROUP BY command_key)
                 SELECT tree, max(ended_at),
                        max(ended_at > ifnull(passes.at, '') OR (passed AND ended_at IS newest.at))
                 FROM snapshots JOIN runs USING (run_id) LEFT JOIN passes USING (command_key)
                      LEFT JOIN newest USING (command_key)
                 WHERE tree IS NOT NULL GROUP BY tree ORDER BY 2 DESC, tree",
            )?;
            let rows = statement
                .query_map([], |row| Ok(TreeUse { tree: row.get(0)?, at: row_time(row, 1)?, needed: row.get(2)? }))?;
            rows.collect()
        };
        self.sql_result("read", read())
    }
}
