//! Warnings that were shown, the newest first, page by page.

use rusqlite::{OptionalExtension as _, params};

use super::effect::ABOUT_FILTER;
use crate::base::clock::Timestamp;
use crate::event::DeliveryArm;
use crate::store::error::StoreError;
use crate::store::index::Index;
use crate::store::query::figures::{DayRange, SumFilter, start_of_day};
use crate::store::query::outcome::{DELIVERY_COLUMNS, DeliveryOutcomeRow, outcome_from_row};

/// Which warnings to list, by their outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum WarningScope {
    #[default]
    All,
    /// Those whose outcome a run shows.
    Known,
    /// Those after which a check passed that would have shown the mistake.
    Prevented,
    /// Those after which the mistake was made.
    FailedAnyway,
}

/// Which warnings to list. Absent fields match all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct WarningFilter {
    /// UTC days on which they were shown.
    pub days: Option<DayRange>,
    /// With a category or a tool those about patterns of it.
    pub whom: SumFilter,
    pub scope: WarningScope,
}

impl Index {
    /// Warnings that were shown, the newest first, at most `limit`, that follow the one of this time and event.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn list_warnings(
        &self,
        filter: &WarningFilter,
        after: Option<&(Timestamp, String)>,
        limit: usize,
    ) -> Result<Vec<DeliveryOutcomeRow>, StoreError> {
        let outcome = match filter.scope {
            WarningScope::All => "TRUE",
            WarningScope::Known => "(failed_in IS NOT NULL OR passed_in IS NOT NULL)",
            WarningScope::Prevented => "(failed_in IS NULL AND passed_in IS NOT NULL)",
            WarningScope::FailedAnyway => "failed_in IS NOT NULL",
        };
        let sql = format!(
            "SELECT {DELIVERY_COLUMNS} FROM (
                 SELECT event_id FROM deliveries d
                 WHERE arm = ?1 AND {outcome} AND (?2 IS NULL OR delivered_at >= ?2)
                   AND (?3 IS NULL OR delivered_at < ?3) AND {ABOUT_FILTER}
                   AND (?7 IS NULL OR delivered_at <= ?7 AND (delivered_at < ?7 OR event_id < ?8))
                 ORDER BY delivered_at DESC, event_id DESC LIMIT ?9)
             CROSS JOIN deliveries d USING (event_id) JOIN tasks t USING (task_no)
             ORDER BY d.delivered_at DESC, d.event_id DESC"
        );
        let read = || {
            let mut statement = self.connection.prepare_cached(&sql)?;
            let (whom, shown) = (&filter.whom, DeliveryArm::Shown.as_str());
            let (from, until) = filter.days.map(|days| (start_of_day(days.from), start_of_day(days.until))).unzip();
            let (at, event) = after.map(|(at, event)| (at.rfc3339(), event)).unzip();
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let parameters = params![shown, from, until, whom.agent, whom.category, whom.tool, at, event, limit];
            statement.query_map(parameters, outcome_from_row)?.collect()
        };
        self.sql_result("read", read())
    }

    /// The latest rating of a warning; `None` where a user gave none.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn rating_of_warning(&self, warning: &str) -> Result<Option<bool>, StoreError> {
        let sql = "SELECT useful FROM warning_acks WHERE warning_id = ?1 AND useful IS NOT NULL
            ORDER BY at DESC, event_id DESC LIMIT 1";
        let read = || self.connection.prepare_cached(sql)?.query_row([warning], |row| row.get(0)).optional();
        self.sql_result("read", read())
    }
}
