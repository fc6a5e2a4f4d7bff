//! Which files and folders were changed, and in which something failed.

use rusqlite::params;

use crate::base::clock::{Timestamp, UtcDay};
use crate::store::error::StoreError;
use crate::store::index::Index;
use crate::store::query::figures::SumFilter;
use crate::store::query::row_time;

/// Tasks that are looked at, the last touched.
const TASKS_MAX: i64 = 2_000;
/// Rows of files in their runs.
const ROWS_MAX: i64 = 200_000;

/// A file in a task.
#[derive(Debug)]
pub(crate) struct TaskFileRow<'a> {
    pub path: &'a str,
    /// Row number of the task.
    pub task: i64,
    /// When the run was started that it was changed before, or that failed in it.
    pub day: UtcDay,
    /// Something failed in it; else it was changed.
    pub failed: bool,
    /// The pattern that failed there, by the row number of the one that represents its group.
    pub pattern: Option<i64>,
}

impl Index {
    /// Calls `visit` with each file that was changed, or in which something failed that is no flake, from `since` on in the
    /// last tasks. There may be hundreds of thousands.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn visit_files_of_tasks(
        &self,
        since: Timestamp,
        filter: &SumFilter,
        mut visit: impl FnMut(&TaskFileRow<'_>),
    ) -> Result<(), StoreError> {
        const WHOSE: &str = "started_at >= ?1 AND (?2 IS NULL OR agent = ?2)
            AND (?3 IS NULL OR coalesce(r.tool, check_kind) = ?3 OR coalesce(r.tool, check_kind) LIKE '%:' || ?3)";
        let sql = format!(
            "WITH recent AS MATERIALIZED (
                 SELECT task_no FROM tasks WHERE last_at >= ?1 ORDER BY last_at DESC, name LIMIT {TASKS_MAX})
             SELECT * FROM (
                 SELECT path, task_no, started_at, 0, NULL FROM recent CROSS JOIN runs r USING (task_no)
                 CROSS JOIN snapshot_files USING (run_id) WHERE {WHOSE} LIMIT {ROWS_MAX})
             UNION ALL SELECT * FROM (
                 SELECT file, r.task_no, started_at, 1, leader_no FROM recent CROSS JOIN runs r USING (task_no)
                 CROSS JOIN failures USING (run_id) CROSS JOIN occurrences USING (failure_no)
                 CROSS JOIN pattern_leaders USING (pattern_no)
                 WHERE {WHOSE} AND file IS NOT NULL AND NOT flaky AND uncounted IS NULL
                   AND (?4 IS NULL OR category = ?4) LIMIT {ROWS_MAX})"
        );
        let mut read = || {
            let mut statement = self.connection.prepare_cached(&sql)?;
            let mut rows = statement.query(params![since.rfc3339(), filter.agent, filter.tool, filter.category])?;
            while let Some(row) = rows.next()? {
                visit(&TaskFileRow {
                    path: row.get_ref(0)?.as_str()?,
                    task: row.get(1)?,
                    day: UtcDay::of(row_time(row, 2)?),
                    failed: row.get(3)?,
                    pattern: row.get(4)?,
                });
            }
            Ok(())
        };
        self.sql_result("read", read())
    }
}
