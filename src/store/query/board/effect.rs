//! What advice costs, and where there was none.

use rusqlite::{OptionalExtension, params};

use crate::base::clock::Timestamp;
use crate::event::DeliveryArm;
use crate::store::error::StoreError;
use crate::store::index::Index;
use crate::store::query::figures::{DayRange, SAID_COMEBACKS, SumFilter, start_of_day};
use crate::store::query::{row_time, row_unsigned};

/// Tasks that are looked at, the last touched.
const TASKS_MAX: i64 = 2_000;

/// A delivery `d` is of the agent `?4`, and about a pattern of the category `?5` and the tool `?6`, as far as these are given.
pub(super) const ABOUT_FILTER: &str = "(?4 IS NULL OR agent = ?4)
    AND (?5 IS NULL AND ?6 IS NULL OR EXISTS (
        SELECT 1 FROM known_patterns k JOIN pattern_leaders l USING (pattern_no)
        JOIN patterns p ON p.pattern_no = leader_no JOIN pattern_figures g ON g.pattern_no = leader_no
        WHERE k.recorded_key = d.pattern_key AND (?6 IS NULL OR p.tool = ?6)
          AND (?5 IS NULL OR category_no = (SELECT name_no FROM names WHERE name = ?5))))";

/// Texts of advice that was shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ShownTextRow {
    /// Warnings that were shown.
    pub warnings: u64,
    /// Those whose text is recorded.
    pub with_text: u64,
    /// Bytes of these texts.
    pub bytes: u64,
}

/// Warnings that were shown in some days, by their outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct OutcomeCountRow {
    /// A check that would have shown the mistake passed.
    pub prevented: u64,
    /// The mistake was made all the same.
    pub failed_anyway: u64,
}

/// What a delivery is filtered by beside its agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PatternLabelRow {
    /// The most frequent category of the pattern's failures.
    pub category: String,
    /// The tool definition that reports it.
    pub tool: String,
}

/// A task in which a known mistake was made and nothing had been said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MissedOpportunityRow {
    pub task: String,
    /// Row number of the pattern that represents its group.
    pub pattern: i64,
    /// When it was made.
    pub at: Timestamp,
    /// Whether the task had other advice.
    pub was_advised: bool,
}

impl Index {
    /// Texts of the advice that was shown from `since` on and before `until`.
    ///
    /// # Errors
    /// SQLite's, as for all methods here.
    pub(crate) fn count_shown_texts(&self, since: Timestamp, until: Timestamp) -> Result<ShownTextRow, StoreError> {
        let read = || {
            self.connection
                .prepare_cached(
                    "SELECT count(*), count(text), coalesce(sum(octet_length(text)), 0) FROM deliveries
                     WHERE arm = ?1 AND delivered_at >= ?2 AND delivered_at < ?3",
                )?
                .query_row(params![DeliveryArm::Shown.as_str(), since.rfc3339(), until.rfc3339()], |row| {
                    Ok(ShownTextRow {
                        warnings: row_unsigned(row, 0)?,
                        with_text: row_unsigned(row, 1)?,
                        bytes: row_unsigned(row, 2)?,
                    })
                })
        };
        self.sql_result("read", read())
    }

    /// The outcomes of the warnings that were shown in a range of days, as far as they are known. With a category or a tool
    /// those about patterns of it.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn count_outcomes_of_days(
        &self,
        range: DayRange,
        filter: &SumFilter,
    ) -> Result<OutcomeCountRow, StoreError> {
        let read = || {
            self.connection
                .prepare_cached(&format!(
                    "SELECT coalesce(sum(failed_in IS NULL), 0), coalesce(sum(failed_in IS NOT NULL), 0) FROM deliveries d
                     WHERE arm = ?1 AND (failed_in IS NOT NULL OR passed_in IS NOT NULL)
                       AND delivered_at >= ?2 AND delivered_at < ?3 AND {ABOUT_FILTER}"
                ))?
                .query_row(
                    params![
                        DeliveryArm::Shown.as_str(),
                        start_of_day(range.from),
                        start_of_day(range.until),
                        filter.agent,
                        filter.category,
                        filter.tool
                    ],
                    |row| Ok(OutcomeCountRow { prevented: row_unsigned(row, 0)?, failed_anyway: row_unsigned(row, 1)? }),
                )
        };
        self.sql_result("read", read())
    }

    /// What the pattern with this key is filtered by; `None` when there is none.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn label_of_key(&self, key: &str) -> Result<Option<PatternLabelRow>, StoreError> {
        let read = || {
            self.connection
                .prepare_cached(
                    "SELECT name, p.tool FROM known_patterns k JOIN pattern_leaders USING (pattern_no)
                     JOIN patterns p ON p.pattern_no = leader_no JOIN pattern_figures g ON g.pattern_no = leader_no
                     JOIN names ON name_no = category_no WHERE k.recorded_key = ?1 LIMIT 1",
                )?
                .query_row([key], |row| Ok(PatternLabelRow { category: row.get(0)?, tool: row.get(1)? }))
                .optional()
        };
        self.sql_result("read", read())
    }

    /// Of the last 2,000 tasks those in which a known mistake was made and nothing had been said of it, at most `limit`.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn missed_opportunities(&self, limit: usize) -> Result<Vec<MissedOpportunityRow>, StoreError> {
        let sql = format!(
            "WITH said AS MATERIALIZED ({SAID_COMEBACKS})
             SELECT name, leader_no,
                    (SELECT min(at) FROM occurrences o WHERE o.task_no = c.task_no AND o.pattern_no = c.pattern_no),
                    EXISTS (SELECT 1 FROM deliveries d WHERE d.task_no = c.task_no)
             FROM (SELECT task_no, name, last_at FROM tasks ORDER BY last_at DESC, name LIMIT {TASKS_MAX})
             CROSS JOIN comebacks c USING (task_no) JOIN pattern_leaders USING (pattern_no)
             WHERE (c.task_no, c.pattern_no) NOT IN (SELECT task_no, pattern_no FROM said)
             ORDER BY last_at DESC, name, leader_no LIMIT ?1"
        );
        let read = || {
            let mut statement = self.connection.prepare_cached(&sql)?;
            let rows = statement.query_map([i64::try_from(limit).unwrap_or(i64::MAX)], |row| {
                Ok(MissedOpportunityRow {
                    task: row.get(0)?,
                    pattern: row.get(1)?,
                    at: row_time(row, 2)?,
                    was_advised: row.get(3)?,
                })
            })?;
            rows.collect()
        };
        self.sql_result("read", read())
    }
}
