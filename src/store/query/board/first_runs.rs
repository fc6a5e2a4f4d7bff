//! The first run of each check in a task, the newest first, page by page.

use rusqlite::params;

use crate::base::clock::{Timestamp, UtcDay};
use crate::base::lossless::Lossless;
use crate::store::error::StoreError;
use crate::store::index::Index;
use crate::store::query::figures::{BY_WHOM, CHECKS, DayRange, SumFilter, start_of_day};
use crate::store::query::row_time;

/// Which first runs to list: those that the figure counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FirstRunFilter {
    /// UTC days of the start of the run; `None` for all.
    pub days: Option<DayRange>,
    /// Agent and tool; runs have no category.
    pub whom: SumFilter,
    /// Only those that passed, or only those that failed.
    pub passed: Option<bool>,
}

/// A first run of a check in a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FirstRunRow {
    /// The run's id.
    pub run: String,
    /// When it was started.
    pub at: Timestamp,
    pub passed: bool,
    pub task: String,
    pub agent: Option<String>,
    /// The tool, else the kind of the check.
    pub tool: String,
    /// What was run, secrets replaced.
    pub argv: Vec<Lossless>,
    /// `f-…`, when it failed.
    pub failure: Option<String>,
}

impl Index {
    /// First runs that count, the newest first, at most `limit`, that follow the run of this time and id.
    ///
    /// # Errors
    /// SQLite's, as for all methods here.
    pub(crate) fn list_first_runs(
        &self,
        filter: &FirstRunFilter,
        after: Option<&(Timestamp, String)>,
        limit: usize,
    ) -> Result<Vec<FirstRunRow>, StoreError> {
        let read = || {
            let mut found = Vec::new();
            for day in self.days_with_first_runs(filter, after)? {
                self.add_first_runs(day, filter, after, &mut found)?;
                if found.len() >= limit {
                    found.truncate(limit);
                    break;
                }
            }
            Ok(found)
        };
        self.sql_result("read", read())
    }

    /// The days on which there are any, the newest first: the sums know them.
    fn days_with_first_runs(
        &self,
        filter: &FirstRunFilter,
        after: Option<&(Timestamp, String)>,
    ) -> rusqlite::Result<Vec<UtcDay>> {
        let mut statement = self.connection.prepare_cached(&format!(
            "SELECT DISTINCT day FROM first_run_days WHERE day >= ?3 AND day < ?4 AND {BY_WHOM} AND {CHECKS}
               AND (?5 IS NULL OR ?5 AND passed > 0 OR NOT ?5 AND passed < runs)
             ORDER BY day DESC"
        ))?;
        let (from, until) = filter.days.map_or((i64::MIN, i64::MAX), |days| (days.from.0, days.until.0));
        let until = after.map_or(until, |(at, _)| until.min(UtcDay::of(*at).0 + 1));
        let whom = &filter.whom;
        statement
            .query_map(params![whom.agent, whom.tool, from, until, filter.passed], |row| row.get(0).map(UtcDay))?
            .collect()
    }

    /// Adds the first runs of a day.
    fn add_first_runs(
        &self,
        day: UtcDay,
        filter: &FirstRunFilter,
        after: Option<&(Timestamp, String)>,
        found: &mut Vec<FirstRunRow>,
    ) -> rusqlite::Result<()> {
        // The tasks of the day first: its runs have no other index.
        let mut statement = self.connection.prepare_cached(&format!(
            "SELECT r.run_id, started_at, passed, t.name, agent, coalesce(tool, check_kind), argv, failure_id
             FROM (SELECT DISTINCT task_no FROM run_days WHERE day = ?3 AND {BY_WHOM} AND {CHECKS})
             CROSS JOIN runs r USING (task_no) CROSS JOIN tasks t USING (task_no) LEFT JOIN failures f USING (run_id)
             WHERE started_at >= ?4 AND started_at < ?5 AND check_kind IS NOT NULL AND (?1 IS NULL OR agent = ?1)
               AND (?2 IS NULL OR coalesce(tool, check_kind) = ?2 OR coalesce(tool, check_kind) LIKE '%:' || ?2)
               AND (?6 IS NULL OR passed = ?6)
               AND (?7 IS NULL OR started_at <= ?7 AND (started_at < ?7 OR r.run_id < ?8))
               AND NOT iif(passed,
                   EXISTS (SELECT 1 FROM fix_attempts a
                           WHERE a.run_id = r.run_id AND a.outcome = 'success' AND a.weakened > 0),
                   f.uncounted IS NOT NULL)
               AND run_no = (SELECT n.run_no FROM first_runs n
                             WHERE n.task_no = r.task_no AND n.command_key = r.command_key)
             ORDER BY started_at DESC, r.run_id DESC"
        ))?;
        let (whom, (at, run)) = (&filter.whom, after.map(|(at, run)| (at.rfc3339(), run)).unzip());
        let [begins, ends] = [day, UtcDay(day.0 + 1)].map(start_of_day);
        let parameters = params![whom.agent, whom.tool, day.0, begins, ends, filter.passed, at, run];
        let rows = statement.query_map(parameters, |row| {
            Ok(FirstRunRow {
                run: row.get(0)?,
                at: row_time(row, 1)?,
                passed: row.get(2)?,
                task: row.get(3)?,
                agent: row.get(4)?,
                tool: row.get(5)?,
                argv: serde_json::from_str(&row.get::<_, String>(6)?).unwrap_or_default(),
                failure: row.get(7)?,
            })
        })?;
        for row in rows {
            found.push(row?);
        }
        Ok(())
    }
}
