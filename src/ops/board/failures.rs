//! Failures, the newest first, page by page.

use serde::Serialize;

use super::cursor::{CursorParts, read_mark};
use super::filter::{AppliedFilter, BoardFilter};
use super::{Board, PAGE_ROWS_MAX};
use crate::base::clock::{Timestamp, UtcDay};
use crate::base::lossless::Lossless;
use crate::base::text::{ellipsis, one_line};
use crate::ops::recent::RecentFailure;
use crate::ops::reply::Reply;
use crate::ops::request::Request;
use crate::store::{DayRange, FailureFilter, FailureScope, StoreError};

const LIST: &str = "failures";
/// A root, bytes.
const ROOT_BYTES_MAX: usize = 500;

/// Which failures a list has. Absent fields match all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FailureQuery {
    pub filter: BoardFilter,
    pub scope: FailureScope,
    /// Name of the task.
    pub task: Option<String>,
    /// `p-…`, or the start of one.
    pub pattern: Option<String>,
    /// An affected file, or a folder around one.
    pub file: Option<String>,
    /// A part of the first message or of the command.
    pub text: Option<String>,
}

/// What `log --failures --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct FailureLines {
    /// What they are restricted to.
    pub filter: AppliedFilter,
    /// Newest first.
    pub failures: Vec<FailureLine>,
    /// How many there are in all; `null` where all would have to be looked at.
    pub total: Option<u64>,
    /// What the next page is asked for with; `null` at the end. A page may have fewer failures than were asked for, or
    /// none, and not be the last.
    pub next: Option<String>,
}

/// A failure in a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct FailureLine {
    /// The failure.
    #[serde(flatten)]
    pub failure: RecentFailure,
    /// The run's id.
    pub run: String,
    /// When the run was started.
    pub started_at: Timestamp,
    /// The work tree.
    pub root: String,
    /// Why no rate counts it: `cancelled` or `flaky`.
    pub not_counted: Option<String>,
}

/// A page of failures; an empty one where nothing is recorded.
///
/// # Errors
/// As [`Board::failures`].
pub(crate) fn list_failures(
    request: &Request,
    query: &FailureQuery,
    after: Option<&str>,
    limit: usize,
) -> anyhow::Result<Reply<FailureLines>> {
    let opened = Board::open(request)?;
    let lines = match &opened.board {
        Some(board) => board.failures(query, after, limit)?,
        None => FailureLines { filter: query.filter.applied(), failures: Vec::new(), total: Some(0), next: None },
    };
    Ok(Reply::new(lines, opened.notes))
}

impl Board<'_> {
    /// A page of failures, at most `limit` and at most 1,000, that follows the one that gave the cursor `after`.
    ///
    /// # Errors
    /// When the cursor or the pattern's id is none, or the store can't be read.
    pub(crate) fn failures(
        &self,
        query: &FailureQuery,
        after: Option<&str>,
        limit: usize,
    ) -> anyhow::Result<FailureLines> {
        let limit = limit.clamp(1, PAGE_ROWS_MAX);
        let after = read_mark(LIST, after)?;
        let pattern = match &query.pattern {
            Some(id) => Some(self.index().find_pattern_number(id)?),
            None => None,
        };
        let is_open = query.scope == FailureScope::Open;
        let days = query.filter.asked_days().or_else(|| is_open.then(|| self.open_days()));
        let filter = FailureFilter {
            scope: query.scope,
            days,
            whom: query.filter.whom.clone(),
            task: query.task.clone(),
            pattern,
            file: query.file.clone(),
            text: query.text.clone(),
        };
        let page = self.index().list_failures(&filter, after.as_ref(), limit)?;
        let next = page.next.map(|(at, run)| CursorParts::new(LIST).with(at.0).with(run).encode());
        let lines = page.failures.into_iter().map(|row| FailureLine {
            run: row.run.clone(),
            started_at: row.started_at,
            root: ellipsis(one_line(&row.root.display()).trim(), ROOT_BYTES_MAX),
            not_counted: row.uncounted.clone(),
            failure: RecentFailure::from_row(row),
        });
        Ok(FailureLines {
            failures: lines.collect(),
            total: self.count_failures(query)?,
            filter: query.filter.applied(),
            next,
        })
    }

    /// How many failures a list has, where the sums know it.
    fn count_failures(&self, query: &FailureQuery) -> Result<Option<u64>, StoreError> {
        let FailureQuery { filter, scope, task, pattern, file, text } = query;
        let is_narrow = [task, pattern, file, text].into_iter().any(Option::is_some);
        if is_narrow || *scope == FailureScope::Uncounted {
            return Ok(None);
        }
        if *scope == FailureScope::Open {
            let days = filter.asked_days().unwrap_or_else(|| self.open_days());
            return Ok(Some(self.index().count_open_failures(days, &filter.whom)?));
        }
        let days = filter.asked_days().unwrap_or(DayRange { from: UtcDay(0), until: UtcDay(i64::MAX) });
        Ok(Some(self.index().count_tasks_of_days(days, &filter.whom)?.failures))
    }

    /// The days in which a failure is still called open.
    pub(super) fn open_days(&self) -> DayRange {
        let days = i64::try_from(self.settings().fix.open_days).unwrap_or(i64::MAX);
        let today = UtcDay::of(self.now()).0;
        DayRange { from: UtcDay(today.saturating_sub(days).max(0)), until: UtcDay(today + 2) }
    }
}

/// What was run, as it is typed in a work tree: with its folder.
pub(super) fn reproduction(argv: &[Lossless], dir: &Lossless) -> String {
    let command = shell_words::join(argv.iter().map(Lossless::display));
    let dir = dir.display();
    let dir = one_line(&dir);
    if dir.trim().is_empty() {
        one_line(&command)
    } else {
        format!("cd {} && {}", shell_words::quote(&dir), one_line(&command))
    }
}
