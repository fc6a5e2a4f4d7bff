//! Tasks, the last ones first, and what ran in them.

use rusqlite::params;

use crate::base::clock::Timestamp;
use crate::event::DeliveryArm;
use crate::store::error::StoreError;
use crate::store::index::Index;
use crate::store::query::figures::{BY_WHOM, DayRange, SumFilter};
use crate::store::query::{row_time, row_unsigned};

/// Which tasks to list. Absent fields match all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TaskFilter {
    /// UTC days on which something ran in it.
    pub days: Option<DayRange>,
    pub whom: SumFilter,
    /// Only those in which a failure counts.
    pub failed: bool,
}

/// A run of a task, as its strip shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TaskRunRow {
    pub run: String,
    /// When it was started.
    pub at: Timestamp,
    pub passed: bool,
    /// Why no rate counts it: `cancelled`, `flaky` or `weakened`.
    pub uncounted: Option<String>,
    pub tool: Option<String>,
    /// `f-…`, when it failed.
    pub failure: Option<String>,
}

/// What a task adds up to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TaskSumsRow {
    /// Its agents, the most active first.
    pub agents: Vec<String>,
    /// Failures that count.
    pub failures: u64,
    /// Failures that a change made go away.
    pub fixed: u64,
}

/// A task where a list has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TaskKeyRow {
    pub name: String,
    /// When it was last touched before the list was begun.
    pub last_at: Timestamp,
}

/// When a task was last touched at the moment `?9`; null when nothing was known of it.
const TOUCHED_UNTIL: &str = "(
    SELECT max(at) FROM (
        SELECT max(started_at) AS at FROM runs r WHERE r.task_no = t.task_no AND started_at <= ?9
        UNION ALL SELECT max(at) FROM task_changes c WHERE c.name = t.name AND c.at <= ?9
        UNION ALL SELECT max(delivered_at) FROM deliveries d WHERE d.task_no = t.task_no AND delivered_at <= ?9))";

impl Index {
    /// Tasks of a filter, the last touched first, as the list was at a moment: what was touched later comes where it was
    /// then, and what is newer is left out.
    ///
    /// # Errors
    /// SQLite's, as for all methods here.
    pub(crate) fn page_of_tasks(
        &self,
        filter: &TaskFilter,
        moment: Timestamp,
        after: Option<&(Timestamp, String)>,
        limit: usize,
    ) -> Result<Vec<TaskKeyRow>, StoreError> {
        let TaskFilter { days, whom, failed } = filter;
        let is_all = days.is_none() && *whom == SumFilter::default() && !failed;
        // As the figures count them: by what ran on these days.
        let sums = if *failed || whom.category.is_some() {
            "failure_days WHERE (?5 IS NULL OR category_no = (SELECT name_no FROM names WHERE name = ?5))"
        } else {
            "run_days WHERE runs > uncounted AND ?5 IS NULL"
        };
        let which = if is_all {
            "?1 IS ?2 AND ?3 <= ?4 AND ?5 IS NULL".to_owned()
        } else {
            format!("task_no IN (SELECT task_no FROM {sums} AND day >= ?3 AND day < ?4 AND {BY_WHOM})")
        };
        let sql = format!(
            "SELECT * FROM (SELECT name, last_at FROM tasks WHERE {which} AND last_at <= min(?9, coalesce(?6, ?9))
                            AND (?6 IS NULL OR last_at < ?6 OR name > ?7) ORDER BY last_at DESC, name LIMIT ?8)
             UNION ALL SELECT * FROM (SELECT name, {TOUCHED_UNTIL} AS last_at FROM tasks t WHERE {which} AND t.last_at > ?9)
             WHERE last_at IS NOT NULL AND (?6 IS NULL OR last_at < ?6 OR last_at = ?6 AND name > ?7)
             ORDER BY last_at DESC, name LIMIT ?8"
        );
        let read = || {
            let mut statement = self.connection.prepare_cached(&sql)?;
            let (from, until) = days.map_or((i64::MIN, i64::MAX), |days| (days.from.0, days.until.0));
            let (at, name) = after.map(|(at, name)| (at.rfc3339(), name)).unzip();
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let parameters =
                params![whom.agent, whom.tool, from, until, whom.category, at, name, limit, moment.rfc3339()];
            let row = |row: &rusqlite::Row<'_>| Ok(TaskKeyRow { name: row.get(0)?, last_at: row_time(row, 1)? });
            statement.query_map(parameters, row)?.collect()
        };
        self.sql_result("read", read())
    }

    /// How many tasks there are.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn count_tasks(&self) -> Result<u64, StoreError> {
        // They have the numbers from 1: to count them would be to look at each.
        let sql = "SELECT coalesce(max(task_no), 0) FROM tasks";
        self.sql_result("read", self.connection.query_row(sql, [], |row| row_unsigned(row, 0)))
    }

    /// The newest task whose name is one that is looked for; all names are read.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn find_task_where(&self, is_wanted: impl Fn(&str) -> bool) -> Result<Option<String>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached("SELECT name FROM tasks ORDER BY last_at DESC, name")?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let name: String = row.get(0)?;
                if is_wanted(&name) {
                    return Ok(Some(name));
                }
            }
            Ok(None)
        };
        self.sql_result("read", read())
    }

    /// The last runs of a task, the oldest first.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn runs_of_task(&self, task: i64, limit: usize) -> Result<Vec<TaskRunRow>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT r.run_id, started_at, passed, iif(passed, (
                     SELECT 'weakened' FROM fix_attempts a
                     WHERE a.run_id = r.run_id AND a.outcome = 'success' AND a.weakened > 0), f.uncounted), tool, failure_id
                 FROM runs r LEFT JOIN failures f USING (run_id)
                 WHERE task_no = ?1 ORDER BY started_at DESC, r.run_id DESC LIMIT ?2",
            )?;
            let rows = statement.query_map(params![task, i64::try_from(limit).unwrap_or(i64::MAX)], |row| {
                Ok(TaskRunRow {
                    run: row.get(0)?,
                    at: row_time(row, 1)?,
                    passed: row.get(2)?,
                    uncounted: row.get(3)?,
                    tool: row.get(4)?,
                    failure: row.get(5)?,
                })
            })?;
            let mut runs: Vec<TaskRunRow> = rows.collect::<rusqlite::Result<_>>()?;
            runs.reverse();
            Ok(runs)
        };
        self.sql_result("read", read())
    }

    /// What a task adds up to.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn sums_of_task(&self, task: i64) -> Result<TaskSumsRow, StoreError> {
        let read = || {
            let mut agents = self.connection.prepare_cached(
                "SELECT agent FROM runs WHERE task_no = ?1 AND agent IS NOT NULL GROUP BY agent
                 ORDER BY count(*) DESC, agent LIMIT 5",
            )?;
            let agents = agents.query_map([task], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
            let failures = self
                .connection
                .prepare_cached(
                    "SELECT count(*) FROM runs JOIN failures USING (run_id) WHERE task_no = ?1 AND uncounted IS NULL",
                )?
                .query_row([task], |row| row_unsigned(row, 0))?;
            let fixed = self
                .connection
                .prepare_cached(
                    "SELECT count(DISTINCT fix_id) FROM runs r JOIN fix_attempts a ON a.opened_by = r.run_id
                     JOIN fix_figures g USING (fix_id) WHERE task_no = ?1 AND NOT passed AND state = 'success' AND NOT suspect",
                )?
                .query_row([task], |row| row_unsigned(row, 0))?;
            Ok(TaskSumsRow { agents, failures, fixed })
        };
        self.sql_result("read", read())
    }

    /// Advice in a task: its arm, its outcome as far as it is known, and how many.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn count_deliveries_of_task(
        &self,
        task: i64,
    ) -> Result<Vec<(DeliveryArm, Option<String>, u64)>, StoreError> {
        let sql = "SELECT arm, outcome, count(*) FROM deliveries WHERE task_no = ?1 GROUP BY arm, outcome";
        let read = || {
            let mut statement = self.connection.prepare_cached(sql)?;
            statement.query_map([task], |row| Ok((row.get(0)?, row.get(1)?, row_unsigned(row, 2)?)))?.collect()
        };
        self.sql_result("read", read())
    }
}
