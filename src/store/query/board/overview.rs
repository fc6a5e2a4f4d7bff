//! Sums of a stretch of days: tasks, failures by category, the most frequent patterns, and what is not counted.

use rusqlite::params;

use crate::base::clock::UtcDay;
use crate::store::error::StoreError;
use crate::store::index::Index;
use crate::store::query::figures::{BY_WHOM, DayRange, SumFilter, start_of_day};
use crate::store::query::row_unsigned;

/// `category_no` is that of a filter, which is `?5`.
pub(super) const OF_CATEGORY: &str = "(?5 IS NULL OR category_no = (SELECT name_no FROM names WHERE name = ?5))";

/// Tasks and runs of some days.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TaskCountRow {
    /// The first of the days.
    pub day: UtcDay,
    /// Distinct tasks with a run that counts.
    pub tasks: u64,
    /// Distinct tasks with a failure that counts.
    pub tasks_failed: u64,
    /// Runs that count.
    pub runs: u64,
    /// Failures that count.
    pub failures: u64,
}

/// Failures of one category.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CategoryCountRow {
    pub category: String,
    pub failures: u64,
    /// Distinct tasks.
    pub tasks: u64,
}

/// Failures of one category in some days.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CategoryDayRow {
    pub category: String,
    /// The first of the days.
    pub day: UtcDay,
    pub failures: u64,
}

/// How often a pattern failed in some days.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FrequentPatternRow {
    /// Row number of the pattern that represents its group.
    pub number: i64,
    pub failures: u64,
}

/// What no rate counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct UncountedRow {
    /// Failed runs whose result does not depend on the code.
    pub cancelled: u64,
    /// Failed runs in which everything is a proven flake.
    pub flaky: u64,
    /// Distinct patterns that are a proven flake somewhere.
    pub flaky_patterns: u64,
    /// Passes that were reached by weakening the check.
    pub weakened: u64,
}

impl Index {
    /// Tasks and runs of the whole range.
    ///
    /// # Errors
    /// SQLite's, as for all methods here.
    pub(crate) fn count_tasks_of_days(&self, range: DayRange, filter: &SumFilter) -> Result<TaskCountRow, StoreError> {
        let days = range.until.0.saturating_sub(range.from.0).max(1);
        let rows = self.task_counts_of_days(range, days, filter)?;
        Ok(rows.first().copied().unwrap_or(TaskCountRow { day: range.from, ..TaskCountRow::default() }))
    }

    /// Tasks and runs of each `step` days from the first one on. What has none is left out.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn task_counts_of_days(
        &self,
        range: DayRange,
        step: i64,
        filter: &SumFilter,
    ) -> Result<Vec<TaskCountRow>, StoreError> {
        let sql = format!(
            "SELECT part, sum(tasks), sum(failed), sum(runs), sum(failures) FROM (
                 SELECT (day - ?3) / ?6 AS part, count(DISTINCT iif(runs > uncounted, task_no, NULL)) AS tasks,
                        0 AS failed, sum(runs - uncounted) AS runs, 0 AS failures
                 FROM run_days WHERE day >= ?3 AND day < ?4 AND {BY_WHOM} GROUP BY part
                 UNION ALL
                 SELECT (day - ?3) / ?6 AS part, 0, count(DISTINCT task_no), 0, sum(failures)
                 FROM failure_days WHERE day >= ?3 AND day < ?4 AND {BY_WHOM} AND {OF_CATEGORY} GROUP BY part)
             GROUP BY part ORDER BY part"
        );
        let read = || {
            let mut statement = self.connection.prepare_cached(&sql)?;
            let parameters = params![filter.agent, filter.tool, range.from.0, range.until.0, filter.category, step];
            let rows = statement.query_map(parameters, |row| {
                Ok(TaskCountRow {
                    day: UtcDay(range.from.0 + row.get::<_, i64>(0)? * step),
                    tasks: row_unsigned(row, 1)?,
                    tasks_failed: row_unsigned(row, 2)?,
                    runs: row_unsigned(row, 3)?,
                    failures: row_unsigned(row, 4)?,
                })
            })?;
            rows.collect()
        };
        self.sql_result("read", read())
    }

    /// Failures by category, the most frequent first.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn count_categories(
        &self,
        range: DayRange,
        filter: &SumFilter,
    ) -> Result<Vec<CategoryCountRow>, StoreError> {
        let sql = format!(
            "SELECT name, sum(failures), count(DISTINCT task_no) FROM failure_days JOIN names ON name_no = category_no
             WHERE day >= ?3 AND day < ?4 AND {BY_WHOM} AND {OF_CATEGORY}
             GROUP BY category_no ORDER BY 2 DESC, name"
        );
        let read = || {
            let mut statement = self.connection.prepare_cached(&sql)?;
            let parameters = params![filter.agent, filter.tool, range.from.0, range.until.0, filter.category];
            let rows = statement.query_map(parameters, |row| {
                Ok(CategoryCountRow {
                    category: row.get(0)?,
                    failures: row_unsigned(row, 1)?,
                    tasks: row_unsigned(row, 2)?,
                })
            })?;
            rows.collect()
        };
        self.sql_result("read", read())
    }

    /// How many failures there are, and how many of them have a category other than `other`.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn count_categorised(&self, range: DayRange, filter: &SumFilter) -> Result<(u64, u64), StoreError> {
        let sql = format!(
            "SELECT coalesce(sum(failures), 0), coalesce(sum(iif(name = 'other', 0, failures)), 0)
             FROM failure_days JOIN names ON name_no = category_no
             WHERE day >= ?3 AND day < ?4 AND {BY_WHOM} AND {OF_CATEGORY}"
        );
        let read = || {
            let mut statement = self.connection.prepare_cached(&sql)?;
            let parameters = params![filter.agent, filter.tool, range.from.0, range.until.0, filter.category];
            statement.query_row(parameters, |row| Ok((row_unsigned(row, 0)?, row_unsigned(row, 1)?)))
        };
        self.sql_result("read", read())
    }

    /// Failures by category of each `step` days from the first one on. What has none is left out.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn category_days(
        &self,
        range: DayRange,
        step: i64,
        filter: &SumFilter,
    ) -> Result<Vec<CategoryDayRow>, StoreError> {
        let sql = format!(
            "SELECT name, (day - ?3) / ?6 AS part, sum(failures) FROM failure_days JOIN names ON name_no = category_no
             WHERE day >= ?3 AND day < ?4 AND {BY_WHOM} AND {OF_CATEGORY}
             GROUP BY category_no, part ORDER BY name, part"
        );
        let read = || {
            let mut statement = self.connection.prepare_cached(&sql)?;
            let parameters = params![filter.agent, filter.tool, range.from.0, range.until.0, filter.category, step];
            let rows = statement.query_map(parameters, |row| {
                let day = UtcDay(range.from.0 + row.get::<_, i64>(1)? * step);
                Ok(CategoryDayRow { category: row.get(0)?, day, failures: row_unsigned(row, 2)? })
            })?;
            rows.collect()
        };
        self.sql_result("read", read())
    }

    /// The patterns that failed most often, at most `limit`.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn frequent_patterns(
        &self,
        range: DayRange,
        filter: &SumFilter,
        limit: usize,
    ) -> Result<Vec<FrequentPatternRow>, StoreError> {
        // Most patterns failed once: their order among equals is asked of those alone that may be on the list.
        let sql = format!(
            "WITH counted AS MATERIALIZED (
                 SELECT pattern_no, sum(failures) AS failures FROM pattern_days
                 WHERE day >= ?3 AND day < ?4 AND {BY_WHOM} AND {OF_CATEGORY} GROUP BY pattern_no)
             SELECT pattern_no, counted.failures FROM counted JOIN pattern_figures USING (pattern_no)
             WHERE counted.failures >= coalesce(
                 (SELECT failures FROM counted ORDER BY failures DESC LIMIT 1 OFFSET ?6 - 1), 1)
             ORDER BY 2 DESC, tie LIMIT ?6"
        );
        let read = || {
            let mut statement = self.connection.prepare_cached(&sql)?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let parameters = params![filter.agent, filter.tool, range.from.0, range.until.0, filter.category, limit];
            let rows = statement.query_map(parameters, |row| {
                Ok(FrequentPatternRow { number: row.get(0)?, failures: row_unsigned(row, 1)? })
            })?;
            rows.collect()
        };
        self.sql_result("read", read())
    }

    /// What no rate counts.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn count_uncounted(&self, range: DayRange, filter: &SumFilter) -> Result<UncountedRow, StoreError> {
        const WHOSE: &str = "r.started_at >= ?3 AND r.started_at < ?4 AND (?1 IS NULL OR r.agent = ?1)
            AND (?2 IS NULL OR coalesce(r.tool, r.check_kind) = ?2 OR coalesce(r.tool, r.check_kind) LIKE '%:' || ?2)
            AND (?5 IS NULL OR f.category = ?5)";
        let failures = format!(
            "SELECT count(*) FILTER (WHERE uncounted = 'cancelled'), count(*) FILTER (WHERE uncounted = 'flaky')
             FROM failures f INDEXED BY uncounted_failures JOIN runs r USING (run_id)
             WHERE uncounted IS NOT NULL AND {WHOSE}"
        );
        let patterns = format!(
            "SELECT count(DISTINCT leader_no) FROM (SELECT DISTINCT fail_run FROM flakes WHERE proof = 'proven')
             CROSS JOIN failures f ON f.run_id = fail_run JOIN runs r USING (run_id)
             JOIN occurrences USING (failure_no) JOIN pattern_leaders USING (pattern_no) WHERE flaky AND {WHOSE}"
        );
        let weakened = format!(
            "SELECT count(*) FROM fix_figures WHERE state = 'weakened' AND resolved_at >= ?3 AND resolved_at < ?4
             AND {BY_WHOM} AND {OF_CATEGORY}"
        );
        let read = || {
            let parameters = params![
                filter.agent,
                filter.tool,
                start_of_day(range.from),
                start_of_day(range.until),
                filter.category
            ];
            let (cancelled, flaky) = self
                .connection
                .prepare_cached(&failures)?
                .query_row(parameters, |row| Ok((row_unsigned(row, 0)?, row_unsigned(row, 1)?)))?;
            let flaky_patterns =
                self.connection.prepare_cached(&patterns)?.query_row(parameters, |row| row_unsigned(row, 0))?;
            let weakened =
                self.connection.prepare_cached(&weakened)?.query_row(parameters, |row| row_unsigned(row, 0))?;
            Ok(UncountedRow { cancelled, flaky, flaky_patterns, weakened })
        };
        self.sql_result("read", read())
    }
}
