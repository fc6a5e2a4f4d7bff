//! The first run of each check in a task, the newest first, page by page: what the first-time pass rate counts.

use serde::Serialize;

use super::cursor::{cut_page, read_mark, standing_mark};
use super::filter::{AppliedFilter, BoardFilter};
use super::{Board, PAGE_ROWS_MAX};
use crate::base::clock::Timestamp;
use crate::base::lossless::Lossless;
use crate::base::text::{ellipsis, one_line};
use crate::store::{FirstRunFilter, FirstRunRow};

const LIST: &str = "first-runs";
/// A command line, bytes.
const COMMAND_BYTES_MAX: usize = 300;

/// Which first runs a list has. Absent fields match all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FirstRunQuery {
    /// Runs have no category.
    pub filter: BoardFilter,
    /// Only those that passed, or only those that failed.
    pub passed: Option<bool>,
}

/// A page of first runs.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct FirstRunLines {
    /// What they are restricted to.
    pub filter: AppliedFilter,
    /// The newest first.
    pub runs: Vec<FirstRunLine>,
    /// What the next page is asked for with; `null` at the end.
    pub next: Option<String>,
}

/// The first run of a check in a task.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct FirstRunLine {
    /// The run's id.
    pub run: String,
    /// When it was started.
    pub at: Timestamp,
    /// Whether it passed.
    pub passed: bool,
    /// `f-…`, when it failed.
    pub failure: Option<String>,
    /// The task of the run.
    pub task: String,
    /// Name of the agent that ran it.
    pub agent: Option<String>,
    /// The tool, else the kind of the check.
    pub tool: String,
    /// What was run, secrets replaced.
    pub command: String,
}

impl Board<'_> {
    /// A page of first runs, at most `limit` and at most 1,000, that follows the one that gave the cursor `after`.
    ///
    /// # Errors
    /// When the cursor is none, or the store can't be read.
    pub(crate) fn first_runs(
        &self,
        query: &FirstRunQuery,
        after: Option<&str>,
        limit: usize,
    ) -> anyhow::Result<FirstRunLines> {
        let limit = limit.clamp(1, PAGE_ROWS_MAX);
        let after = read_mark(LIST, after)?;
        let filter =
            FirstRunFilter { days: query.filter.asked_days(), whom: query.filter.whom.clone(), passed: query.passed };
        let mut rows = self.index().list_first_runs(&filter, after.as_ref(), limit + 1)?;
        let next = cut_page(&mut rows, limit, |row| standing_mark(LIST, (row.at, &row.run)));
        let runs = rows.into_iter().map(FirstRunLine::from_row).collect();
        Ok(FirstRunLines { filter: query.filter.applied(), runs, next })
    }
}

impl FirstRunLine {
    fn from_row(row: FirstRunRow) -> Self {
        let command = shell_words::join(row.argv.iter().map(Lossless::display));
        FirstRunLine {
            run: row.run,
            at: row.at,
            passed: row.passed,
            failure: row.failure,
            task: row.task,
            agent: row.agent,
            tool: row.tool,
            command: ellipsis(one_line(&command).trim(), COMMAND_BYTES_MAX),
        }
    }
}
