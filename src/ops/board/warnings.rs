//! Warnings that were shown, the newest first, page by page, each with its outcome. What was held out is in no list.

use serde::Serialize;

use super::cursor::{cut_page, read_mark, standing_mark};
use super::filter::{AppliedFilter, BoardFilter};
use super::{Board, PAGE_ROWS_MAX};
use crate::advice::outcome::{DeliveryOutcome, ObservedDelivery};
use crate::base::clock::Timestamp;
use crate::pattern::wording::brief_pattern_name;
use crate::store::{DeliveryOutcomeRow, StoreError, WarningFilter, WarningScope};

const LIST: &str = "warnings";

/// Which warnings a list has. Absent fields match all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct WarningQuery {
    /// With a category or a tool those about patterns of it.
    pub filter: BoardFilter,
    pub scope: WarningScope,
}

/// A page of warnings.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct WarningLines {
    /// What they are restricted to.
    pub filter: AppliedFilter,
    /// The newest first.
    pub warnings: Vec<WarningLine>,
    /// What the next page is asked for with; `null` at the end.
    pub next: Option<String>,
}

/// A warning that was shown.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct WarningLine {
    /// `w-…`
    pub warning: String,
    /// When it was shown.
    pub at: Timestamp,
    /// The task that was warned.
    pub task: String,
    /// Name of the agent that was warned.
    pub agent: Option<String>,
    /// `p-…`, of a warning about a pattern …
    pub pattern: Option<String>,
    /// … and its name.
    pub name: Option<String>,
    /// `k-…`, of a warning from an entry.
    pub entry: Option<String>,
    /// What followed.
    pub outcome: DeliveryOutcome,
    /// The run that says so; `null` where none does.
    pub run: Option<String>,
    /// Whether it was useful, as a user rated it last; `null` where none did.
    pub useful: Option<bool>,
}

impl Board<'_> {
    /// A page of warnings, at most `limit` and at most 1,000, that follows the one that gave the cursor `after`.
    ///
    /// # Errors
    /// When the cursor is none, or the store can't be read.
    pub(crate) fn warnings(
        &self,
        query: &WarningQuery,
        after: Option<&str>,
        limit: usize,
    ) -> anyhow::Result<WarningLines> {
        let limit = limit.clamp(1, PAGE_ROWS_MAX);
        let after = read_mark(LIST, after)?;
        let filter =
            WarningFilter { days: query.filter.asked_days(), whom: query.filter.whom.clone(), scope: query.scope };
        let mut rows = self.index().list_warnings(&filter, after.as_ref(), limit + 1)?;
        let next = cut_page(&mut rows, limit, |row| standing_mark(LIST, (row.at, &row.event)));
        let warnings = rows.into_iter().map(|row| self.warning_line(row)).collect::<Result<_, _>>()?;
        Ok(WarningLines { filter: query.filter.applied(), warnings, next })
    }

    fn warning_line(&self, row: DeliveryOutcomeRow) -> Result<WarningLine, StoreError> {
        let outcome = ObservedDelivery::from_row(&row, self.now(), self.settings().fix.silence()).outcome();
        let number = match &row.pattern {
            Some(key) => self.index().pattern_number(key)?,
            None => None,
        };
        let pattern = number.map(|number| self.index().brief_of_pattern(number)).transpose()?;
        let useful = self.index().rating_of_warning(&row.warning)?;
        Ok(WarningLine {
            useful,
            warning: row.warning,
            at: row.at,
            task: row.task,
            agent: row.agent,
            name: pattern.as_ref().map(brief_pattern_name),
            pattern: pattern.map(|row| row.id),
            entry: row.entry,
            outcome,
            run: row.failed_in.or(row.passed_in),
        })
    }
}
