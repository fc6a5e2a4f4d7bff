//! Fixes, the last touched first, page by page; and what a pass is worth: held, open, weakened, flaky.

use serde::Serialize;

use super::cursor::{cut_page, moving_mark, read_moving_mark};
use super::filter::{AppliedFilter, BoardFilter};
use super::{Board, PAGE_ROWS_MAX};
use crate::event::FixState;
use crate::ops::fix::{self, FixRate, FixSummary};
use crate::store::{FixFilter, StoreError};

const LIST: &str = "fixes";

/// Which fixes a list has. Absent fields match all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FixQuery {
    /// The days of the last attempt.
    pub filter: BoardFilter,
    pub state: Option<FixState>,
    /// Without those of proven flakes, which no figure counts.
    pub is_counted: bool,
    /// Name of the task of an attempt.
    pub task: Option<String>,
    /// A file that an attempt changed, or a folder around one.
    pub file: Option<String>,
}

/// A page of fixes.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct FixLines {
    /// What they are restricted to.
    pub filter: AppliedFilter,
    /// The last touched first.
    pub fixes: Vec<FixSummary>,
    /// What the next page is asked for with; `null` at the end.
    pub next: Option<String>,
}

/// What has been fixed, in numbers.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct FixCounts {
    /// By the outcome of the failure.
    pub states: Vec<FixStateCount>,
    /// By category; weakened, undone and flaky ones are not counted.
    pub rates: Vec<FixRate>,
}

/// Fixes of one state.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct FixStateCount {
    /// The outcome of the failure.
    pub state: FixState,
    /// How many.
    pub fixes: u64,
}

impl Board<'_> {
    /// A page of fixes, at most `limit` and at most 1,000, that follows the one that gave the cursor `after`.
    ///
    /// # Errors
    /// When the cursor is none, or the store can't be read.
    pub(crate) fn fixes(&self, query: &FixQuery, after: Option<&str>, limit: usize) -> anyhow::Result<FixLines> {
        let limit = limit.clamp(1, PAGE_ROWS_MAX);
        let (moment, after) = read_moving_mark(LIST, after, self.now())?;
        let days = query.filter.asked_days();
        let whom = query.filter.whom.clone();
        let filter = FixFilter {
            state: query.state,
            category: whom.category,
            task: query.task.clone(),
            file: query.file.clone(),
            is_proven: false,
            is_counted: query.is_counted,
            agent: whom.agent,
            tool: whom.tool,
            since: days.map(|days| days.from.begins()),
            until: days.map(|days| days.until.begins()),
            limit: limit + 1,
        };
        let mut rows = self.index().page_of_fixes(&filter, moment, after.as_ref())?;
        let next = cut_page(&mut rows, limit, |(row, at)| moving_mark(LIST, moment, (*at, &row.id)));
        let mut fixes: Vec<FixSummary> =
            rows.into_iter().map(|(row, _)| fix::fix_summary(row, self.settings(), self.now())).collect();
        fix::add_weakened_checks(self.index(), self.segments(), &mut fixes)?;
        Ok(FixLines { filter: query.filter.applied(), fixes, next })
    }

    /// What has been fixed, in numbers.
    ///
    /// # Errors
    /// When the store can't be read.
    pub(crate) fn fix_counts(&self) -> Result<FixCounts, StoreError> {
        let states = self.index().count_fix_states()?.into_iter();
        let rates = self.index().fix_rates(self.settings().fix.quick_attempts)?;
        Ok(FixCounts {
            states: states.map(|(state, fixes)| FixStateCount { state, fixes }).collect(),
            rates: rates.into_iter().map(FixRate::from_row).collect(),
        })
    }
}
