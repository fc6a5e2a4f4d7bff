//! The figures that show progress.

use rusqlite::params;
use serde::Serialize;

use super::{row_time, row_unsigned};
use crate::base::clock::{Timestamp, UtcDay};
use crate::store::error::StoreError;
use crate::store::index::Index;

/// Whose runs, failures and fixes are counted. Absent fields match all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SumFilter {
    /// The failure's category; runs have none.
    pub category: Option<String>,
    /// The agent as recorded.
    pub agent: Option<String>,
    /// The tool, as [`super::RunFilter::tool`].
    pub tool: Option<String>,
}

/// UTC days.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DayRange {
    pub from: UtcDay,
    /// Not in it.
    pub until: UtcDay,
}

/// The checks of a UTC day that count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CheckDayRow {
    pub day: UtcDay,
    /// Runs of checks.
    pub runs: u64,
    /// Those that failed.
    pub failed: u64,
    /// First runs of a check in a task.
    pub first_runs: u64,
    /// Those that passed.
    pub first_passed: u64,
}

/// A run of a check that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CheckRunRow {
    /// When it was started.
    pub at: Timestamp,
    pub failed: bool,
    /// The first of its check in its task.
    pub first: bool,
}

/// A failure that a change made go away. What was a proven flake is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SolvedFailureRow {
    /// When it was gone.
    pub at: Timestamp,
    pub attempts: u64,
    /// From the start of the first failing run to the pass; `None` when that run is not recorded.
    pub seconds: Option<u64>,
}

/// `agent_no` and `tool_no` are those of a filter, which is `?1` and `?2`.
pub(super) const BY_WHOM: &str = "
    (?1 IS NULL OR agent_no = (SELECT name_no FROM names WHERE name = ?1))
    AND (?2 IS NULL OR tool_no IN (SELECT name_no FROM names WHERE name = ?2 OR name LIKE '%:' || ?2))";
/// One value each: both in one look-up would read all rows.
const FIRST_AND_LAST_DAY: &str = "SELECT (SELECT min(day) FROM run_days), (SELECT max(day) FROM run_days)";
/// The row is about recognised checks.
pub(super) const CHECKS: &str = "tool_no IS NOT (SELECT name_no FROM names WHERE name = '')";

/// Shares of all that was recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct TotalsRow {
    /// Tries of recovery strategies that count.
    pub tries: u64,
    /// Those that helped.
    pub helped: u64,
    /// Tasks in which a pattern came back that an earlier task had seen, and nothing had been said.
    pub missed: u64,
    /// Written entries, where duplicates count once, and gotchas that were learnt.
    pub entries: u64,
    /// Of these those that helped in another session than the one that wrote them, or in a further task.
    pub reused: u64,
    /// How often they did, once for each session.
    pub uses: u64,
}

/// Entries that helped, each with a session that didn't write it; what was learnt, with each task that its fix helped,
/// of which the first is no reuse.
const REUSE: &str = "SELECT coalesce(leader_id, entry_id) AS entry, coalesce(u.session, u.task, '') FROM entry_uses u
    JOIN entries e USING (entry_id)
    WHERE how IN ('applied', 'validated', 'prevented') AND u.session IS NOT e.session
    UNION SELECT entry_id, 'task ' || task FROM helped_tasks";

/// Tasks in which a pattern came back after something had been said of it there: by a warning about it, or by one of an
/// entry that names it or its family as its source.
pub(super) const SAID_COMEBACKS: &str = "
    SELECT DISTINCT c.task_no, c.pattern_no FROM (
        SELECT d.task_no, pattern_no, delivered_at FROM deliveries d JOIN patterns USING (pattern_key)
        UNION ALL SELECT d.task_no, pattern_no, delivered_at FROM deliveries d
        JOIN entries own ON own.entry_id = d.entry_id AND own.event_id IS NOT NULL
        JOIN entries e ON e.leader_id = own.leader_id AND e.event_id IS NOT NULL
        JOIN knowledge_labels l ON l.entry_no = e.entry_no AND l.kind = 'source'
        JOIN patterns p ON p.pattern_id = l.value
        UNION ALL SELECT d.task_no, pattern_no, delivered_at FROM deliveries d
        JOIN entries own ON own.entry_id = d.entry_id AND own.event_id IS NOT NULL
        JOIN entries e ON e.leader_id = own.leader_id AND e.event_id IS NOT NULL
        JOIN knowledge_labels l ON l.entry_no = e.entry_no AND l.kind = 'source'
        JOIN patterns p ON p.family_key = l.value) said
    CROSS JOIN comebacks c USING (task_no, pattern_no)
    WHERE said.delivered_at < (SELECT min(at) FROM occurrences o
                               WHERE o.task_no = c.task_no AND o.pattern_no = c.pattern_no)";

/// The moment at which a UTC day begins, as the index has times.
pub(super) fn start_of_day(day: UtcDay) -> String {
    day.begins().rfc3339()
}

impl Index {
    /// The times of the first and the last run; `None` before there is one.
    ///
    /// # Errors
    /// SQLite's, as for all methods here.
    pub(crate) fn recorded_period(&self) -> Result<Option<(Timestamp, Timestamp)>, StoreError> {
        let read = || {
            // The days first: their runs are few.
            let sql = "SELECT min(started_at), max(started_at) FROM run_days d CROSS JOIN runs r
                 ON r.task_no = d.task_no AND r.started_at >= ?1 AND r.started_at < ?2 WHERE day = ?3";
            let mut bounds = self.connection.prepare_cached(sql)?;
            let mut bounds_of = |day: i64| {
                bounds.query_row(params![start_of_day(UtcDay(day)), start_of_day(UtcDay(day + 1)), day], |row| {
                    Ok((row_time(row, 0)?, row_time(row, 1)?))
                })
            };
            let days = self.connection.query_row(FIRST_AND_LAST_DAY, [], |row| {
                Ok(row.get::<_, Option<i64>>(0)?.zip(row.get::<_, Option<i64>>(1)?))
            })?;
            days.map(|(first, last)| Ok((bounds_of(first)?.0, bounds_of(last)?.1))).transpose()
        };
        self.sql_result("read", read())
    }

    /// The checks of each day that has any, the oldest first.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn check_days(&self, range: DayRange, filter: &SumFilter) -> Result<Vec<CheckDayRow>, StoreError> {
        let sql = format!(
            "SELECT day, sum(runs), sum(failed), sum(first_runs), sum(first_passed) FROM (
                 SELECT day, agent_no, tool_no, runs - uncounted AS runs, failed, 0 AS first_runs, 0 AS first_passed
                 FROM run_days WHERE day >= ?3 AND day < ?4
                 UNION ALL SELECT day, agent_no, tool_no, 0, 0, runs, passed FROM first_run_days
                 WHERE day >= ?3 AND day < ?4)
             WHERE {BY_WHOM} AND {CHECKS} GROUP BY day ORDER BY day"
        );
        let read = || {
            let mut statement = self.connection.prepare_cached(&sql)?;
            let parameters = params![filter.agent, filter.tool, range.from.0, range.until.0];
            let rows = statement.query_map(parameters, |row| {
                Ok(CheckDayRow {
                    day: UtcDay(row.get(0)?),
                    runs: row_unsigned(row, 1)?,
                    failed: row_unsigned(row, 2)?,
                    first_runs: row_unsigned(row, 3)?,
                    first_passed: row_unsigned(row, 4)?,
                })
            })?;
            rows.collect()
        };
        self.sql_result("read", read())
    }

    /// The checks of one day in the order in which they were started.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn check_runs_of_day(&self, day: UtcDay, filter: &SumFilter) -> Result<Vec<CheckRunRow>, StoreError> {
        let sql = format!(
            "SELECT started_at, NOT passed, run_no = (
                 SELECT run_no FROM first_runs f WHERE f.task_no = r.task_no AND f.command_key = r.command_key)
             FROM (SELECT DISTINCT task_no FROM run_days WHERE day = ?3 AND {BY_WHOM} AND {CHECKS})
             CROSS JOIN runs r USING (task_no)
             WHERE started_at >= ?4 AND started_at < ?5 AND check_kind IS NOT NULL AND (?1 IS NULL OR agent = ?1)
               AND (?2 IS NULL OR coalesce(tool, check_kind) = ?2 OR coalesce(tool, check_kind) LIKE '%:' || ?2)
               AND NOT iif(passed,
                   EXISTS (SELECT 1 FROM fix_attempts a
                           WHERE a.run_id = r.run_id AND a.outcome = 'success' AND a.weakened > 0),
                   EXISTS (SELECT 1 FROM failures f WHERE f.run_id = r.run_id AND f.uncounted IS NOT NULL))
             ORDER BY started_at, run_id"
        );
        let read = || {
            let mut statement = self.connection.prepare_cached(&sql)?;
            let parameters =
                params![filter.agent, filter.tool, day.0, start_of_day(day), start_of_day(UtcDay(day.0 + 1))];
            let rows = statement.query_map(parameters, |row| {
                Ok(CheckRunRow { at: row_time(row, 0)?, failed: row.get(1)?, first: row.get(2)? })
            })?;
            rows.collect()
        };
        self.sql_result("read", read())
    }

    /// The failures that were solved from `since` on and before `until`, the first first.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn solved_failures(
        &self,
        since: Timestamp,
        until: Timestamp,
        filter: &SumFilter,
    ) -> Result<Vec<SolvedFailureRow>, StoreError> {
        let sql = format!(
            "SELECT resolved_at, attempts, seconds FROM fix_figures
             WHERE state = 'success' AND NOT suspect AND resolved_at >= ?3 AND resolved_at < ?4 AND {BY_WHOM}
               AND (?5 IS NULL OR category_no = (SELECT name_no FROM names WHERE name = ?5))
             ORDER BY resolved_at"
        );
        let read = || {
            let mut statement = self.connection.prepare_cached(&sql)?;
            let parameters = params![filter.agent, filter.tool, since.rfc3339(), until.rfc3339(), filter.category];
            let rows = statement.query_map(parameters, |row| {
                let seconds: Option<i64> = row.get(2)?;
                Ok(SolvedFailureRow {
                    at: row_time(row, 0)?,
                    attempts: row_unsigned(row, 1)?,
                    seconds: seconds.and_then(|seconds| u64::try_from(seconds).ok()),
                })
            })?;
            rows.collect()
        };
        self.sql_result("read", read())
    }

    /// Shares of all that was recorded.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn total_figures(&self) -> Result<TotalsRow, StoreError> {
        let read = || {
            let sql = format!(
                "SELECT (SELECT value FROM totals WHERE name = 'tries'),
                        (SELECT value FROM totals WHERE name = 'helped'),
                        (SELECT count(*) FROM comebacks) - (SELECT count(*) FROM ({SAID_COMEBACKS})),
                        (SELECT value FROM totals WHERE name = 'learnt')
                            + (SELECT count(*) FROM entries WHERE event_id IS NOT NULL AND leader_id = entry_id),
                        (SELECT count(DISTINCT entry) FROM ({REUSE})), (SELECT count(*) FROM ({REUSE}))
                            - (SELECT count(DISTINCT entry_id) FROM helped_tasks)"
            );
            self.connection.query_row(&sql, [], |row| {
                Ok(TotalsRow {
                    tries: row_unsigned(row, 0)?,
                    helped: row_unsigned(row, 1)?,
                    missed: row_unsigned(row, 2)?,
                    entries: row_unsigned(row, 3)?,
                    reused: row_unsigned(row, 4)?,
                    uses: row_unsigned(row, 5)?,
                })
            })
        };
        self.sql_result("read", read())
    }
}
