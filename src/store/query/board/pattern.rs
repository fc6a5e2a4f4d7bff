//! What the page of one pattern shows beside what its summary says.

use rusqlite::params;

use crate::base::clock::{Timestamp, UtcDay};
use crate::store::error::StoreError;
use crate::store::index::Index;
use crate::store::query::figures::{DayRange, start_of_day};
use crate::store::query::pattern::{GROUP, OccurrenceRow};
use crate::store::query::{row_time, row_unsigned};

/// Failures of a pattern in some days.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PatternDayRow {
    /// The first of the days.
    pub day: UtcDay,
    pub failures: u64,
    /// Distinct tasks.
    pub tasks: u64,
}

/// Fixes that a pattern was in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PatternFixesRow {
    /// Fixes that made it go away.
    pub fixed: u64,
    /// Those in which it was tried; weakened, undone and flaky ones are not counted.
    pub tried: u64,
}

impl Index {
    /// Failures of a pattern and those that are counted with it in each `step` days; what has none is left out.
    ///
    /// # Errors
    /// SQLite's, as for all methods here.
    pub(crate) fn pattern_days(
        &self,
        pattern: i64,
        range: DayRange,
        step: i64,
    ) -> Result<Vec<PatternDayRow>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(&format!(
                "{GROUP} SELECT (unixepoch(at) / 86400 - ?2) / ?3 AS part, count(DISTINCT failure_no), count(DISTINCT task_no)
                 FROM members CROSS JOIN occurrences USING (pattern_no)
                 WHERE NOT flaky AND at >= ?4 AND at < ?5 GROUP BY part ORDER BY part"
            ))?;
            let [from, until] = [range.from, range.until].map(start_of_day);
            let parameters = params![pattern, range.from.0, step, from, until];
            let rows = statement.query_map(parameters, |row| {
                Ok(PatternDayRow {
                    day: UtcDay(range.from.0 + row.get::<_, i64>(0)? * step),
                    failures: row_unsigned(row, 1)?,
                    tasks: row_unsigned(row, 2)?,
                })
            })?;
            rows.collect()
        };
        self.sql_result("read", read())
    }

    /// Agents whose runs had a pattern, with the number of failures; the most frequent first.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn pattern_agents(&self, pattern: i64, limit: usize) -> Result<Vec<(String, u64)>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT name, sum(failures) FROM pattern_days INDEXED BY agents_of_patterns
                 CROSS JOIN names ON name_no = agent_no
                 WHERE pattern_no = (SELECT leader_no FROM pattern_leaders WHERE pattern_no = ?1)
                 GROUP BY agent_no ORDER BY 2 DESC, name LIMIT ?2",
            )?;
            let rows = statement.query_map(params![pattern, i64::try_from(limit).unwrap_or(i64::MAX)], |row| {
                Ok((row.get(0)?, row_unsigned(row, 1)?))
            })?;
            rows.collect()
        };
        self.sql_result("read", read())
    }

    /// Fixes that a pattern was in, with those that are counted with it.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn count_pattern_fixes(&self, pattern: i64) -> Result<PatternFixesRow, StoreError> {
        let read = || {
            self.connection
                .prepare_cached(&format!(
                    "{GROUP} SELECT coalesce(sum(fixed), 0), count(*) FROM (
                         SELECT max(fixed) AS fixed FROM keys CROSS JOIN pattern_fixes USING (pattern_key) GROUP BY fix_id)"
                ))?
                .query_row([pattern], |row| {
                    Ok(PatternFixesRow { fixed: row_unsigned(row, 0)?, tried: row_unsigned(row, 1)? })
                })
        };
        self.sql_result("read", read())
    }

    /// The failures of a pattern before and after one of them in time, `f-…` each; `None` at the ends.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn neighbouring_failures(&self, pattern: i64, failure: &str) -> Result<[Option<String>; 2], StoreError> {
        let read = || {
            let neighbour = |compare: &str, order: &str| -> rusqlite::Result<Option<String>> {
                let mut statement = self.connection.prepare_cached(&format!(
                    "{GROUP} SELECT failure_id FROM members CROSS JOIN occurrences USING (pattern_no)
                     JOIN failures USING (failure_no)
                     WHERE (at, run_id) {compare} (
                         SELECT started_at, run_id FROM failures JOIN runs USING (run_id) WHERE failure_id = ?2)
                     ORDER BY at {order}, run_id {order} LIMIT 1"
                ))?;
                let mut rows = statement.query(params![pattern, failure])?;
                rows.next()?.map(|row| row.get(0)).transpose()
            };
            Ok([neighbour("<", "DESC")?, neighbour(">", "ASC")?])
        };
        self.sql_result("read", read())
    }

    /// Failures of a pattern, the newest first, after one of this time in this run: those of its group, flakes too.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn pattern_failures(
        &self,
        pattern: i64,
        after: Option<&(Timestamp, String)>,
        limit: usize,
    ) -> Result<Vec<OccurrenceRow>, StoreError> {
        let read = || {
            // Of a failure with two patterns of the group the first one's place and message: `min` picks the row. How late
            // the last of them was is known without a look at the others, which are many; equals are all looked at.
            let mut statement = self.connection.prepare_cached(&format!(
                "{GROUP} SELECT failure_id, run_id, at, name, sum(o.item_count), file, line, test, message, category,
                                sum(NOT flaky) = 0, min(pattern_key)
                 FROM members CROSS JOIN occurrences o USING (pattern_no) JOIN patterns USING (pattern_no)
                 JOIN failures USING (failure_no) JOIN tasks USING (task_no)
                 WHERE (?2 IS NULL OR (at, run_id) < (?2, ?3)) AND at >= coalesce((
                     SELECT e.at FROM members CROSS JOIN occurrences e USING (pattern_no) WHERE ?2 IS NULL OR e.at < ?2
                     GROUP BY e.failure_no ORDER BY e.at DESC LIMIT 1 OFFSET ?4 - 1), '')
                 GROUP BY failure_no ORDER BY at DESC, run_id DESC LIMIT ?4"
            ))?;
            let (at, run) = after.map(|(at, run)| (at.rfc3339(), run)).unzip();
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let rows = statement.query_map(params![pattern, at, run, limit], |row| {
                Ok(OccurrenceRow {
                    failure: row.get(0)?,
                    run: row.get(1)?,
                    at: row_time(row, 2)?,
                    task: row.get(3)?,
                    items: row_unsigned(row, 4)?,
                    file: row.get(5)?,
                    line: row.get(6)?,
                    test: row.get(7)?,
                    message: row.get(8)?,
                    category: row.get(9)?,
                    flaky: row.get(10)?,
                })
            })?;
            rows.collect()
        };
        self.sql_result("read", read())
    }
}
