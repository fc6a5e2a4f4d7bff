//! Tasks, the last touched first: what ran in them, and what was said.

use serde::Serialize;

use super::cursor::{cut_page, moving_mark, read_moving_mark};
use super::filter::{AppliedFilter, BoardFilter};
use super::{Board, PAGE_ROWS_MAX};
use crate::advice::task::task_end;
use crate::base::clock::Timestamp;
use crate::event::DeliveryArm;
use crate::ops::task::{self, TaskPage};
use crate::store::{StoreError, TaskDetails, TaskFilter, TaskRunRow, TaskSumsRow};

/// Runs of a row, the last ones.
const STRIP_MAX: usize = 30;
/// Runs of a page.
const RUNS_MAX: usize = 500;
const LIST: &str = "tasks";

/// Which tasks a list has. Absent fields match all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TaskQuery {
    pub filter: BoardFilter,
    /// Only those with a failure that counts.
    pub failed: bool,
}

/// A page of tasks.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct TaskLines {
    /// What they are restricted to.
    pub filter: AppliedFilter,
    /// The last touched first.
    pub tasks: Vec<TaskLine>,
    /// How many there are in all; `null` of a part of them.
    pub total: Option<u64>,
    /// What the next page is asked for with; `null` at the end.
    pub next: Option<String>,
}

/// A task in a list.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct TaskLine {
    /// Its name.
    pub name: String,
    /// What it is about.
    pub title: Option<String>,
    /// `open` or `done`.
    pub state: &'static str,
    /// Its agents, the most active first.
    pub agents: Vec<String>,
    /// First run, or when it was announced.
    pub first_at: Timestamp,
    /// The last moment that anything is known of.
    pub last_at: Timestamp,
    /// Runs, passed or failed.
    pub runs: u64,
    /// Failures that count.
    pub failures: u64,
    /// Failures that a change made go away.
    pub fixed: u64,
    /// The last runs, the oldest first, at most 30.
    pub strip: Vec<TaskRun>,
    /// What was said in it.
    pub warnings: TaskWarnings,
}

/// A run of a task.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct TaskRun {
    /// The run's id.
    pub run: String,
    /// When it was started.
    pub at: Timestamp,
    /// Whether the command exited with 0.
    pub passed: bool,
    /// Why no rate counts it: `cancelled`, `flaky` or `weakened`.
    pub not_counted: Option<String>,
    /// The tool, of a recognised check.
    pub tool: Option<String>,
    /// `f-…`, when it failed.
    pub failure: Option<String>,
}

/// Advice in a task. What is held out is a number: its names would spoil the comparison.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct TaskWarnings {
    /// Warnings that were shown.
    pub shown: u64,
    /// Those after which a check passed that would have shown the mistake.
    pub prevented: u64,
    /// Those after which the mistake was made.
    pub failed_anyway: u64,
    /// Warnings that were held out.
    pub held_out: u64,
}

/// One task.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct TaskDetail {
    /// What `task show --json` prints.
    #[serde(flatten)]
    pub page: TaskPage,
    /// Its agents, the most active first.
    pub agents: Vec<String>,
    /// Failures that count.
    pub failures_counted: u64,
    /// Failures that a change made go away.
    pub fixed: u64,
    /// Its runs, the oldest first, the last 500.
    pub run_list: Vec<TaskRun>,
    /// What was said in it.
    pub warnings: TaskWarnings,
}

impl Board<'_> {
    /// A page of tasks, at most `limit` and at most 1,000, that follows the one that gave the cursor `after`.
    ///
    /// # Errors
    /// When the cursor is none, or the store can't be read.
    pub(crate) fn tasks(&self, query: &TaskQuery, after: Option<&str>, limit: usize) -> anyhow::Result<TaskLines> {
        let limit = limit.clamp(1, PAGE_ROWS_MAX);
        let (moment, after) = read_moving_mark(LIST, after, self.now())?;
        let filter =
            TaskFilter { days: query.filter.asked_days(), whom: query.filter.whom.clone(), failed: query.failed };
        let mut rows = self.index().page_of_tasks(&filter, moment, after.as_ref(), limit + 1)?;
        let next = cut_page(&mut rows, limit, |row| moving_mark(LIST, moment, (row.last_at, &row.name)));
        let mut tasks = Vec::new();
        for row in &rows {
            if let Some(details) = self.index().find_task(&row.name)? {
                tasks.push(self.task_line(details)?);
            }
        }
        let total = if filter == TaskFilter::default() { Some(self.index().count_tasks()?) } else { None };
        Ok(TaskLines { filter: query.filter.applied(), tasks, total, next })
    }

    /// The task of this name.
    ///
    /// # Errors
    /// When there is none, or the store can't be read.
    pub(crate) fn task(&self, name: &str) -> anyhow::Result<TaskDetail> {
        let page = task::show_task(self.request, Some(name))?.data;
        let details = self.index().find_task(&page.name)?.map(|details| details.number);
        let number = details.ok_or_else(|| StoreError::NoSuchId { id: name.to_owned() })?;
        let TaskSumsRow { agents, failures, fixed } = self.index().sums_of_task(number)?;
        let runs = self.index().runs_of_task(number, RUNS_MAX)?.into_iter();
        Ok(TaskDetail {
            page,
            agents,
            failures_counted: failures,
            fixed,
            run_list: runs.map(TaskRun::from_row).collect(),
            warnings: self.task_warnings(number)?,
        })
    }

    fn task_line(&self, details: TaskDetails) -> Result<TaskLine, StoreError> {
        let TaskSumsRow { agents, failures, fixed } = self.index().sums_of_task(details.number)?;
        let strip = self.index().runs_of_task(details.number, STRIP_MAX)?.into_iter();
        let end = task_end(&details, self.now(), self.settings().fix.silence());
        Ok(TaskLine {
            state: if end.is_some() { "done" } else { "open" },
            agents,
            failures,
            fixed,
            strip: strip.map(TaskRun::from_row).collect(),
            warnings: self.task_warnings(details.number)?,
            name: details.name,
            title: details.title,
            first_at: details.first_at,
            last_at: details.last_at,
            runs: details.runs,
        })
    }

    fn task_warnings(&self, task: i64) -> Result<TaskWarnings, StoreError> {
        let mut warnings = TaskWarnings::default();
        for (arm, outcome, count) in self.index().count_deliveries_of_task(task)? {
            match (arm, outcome.as_deref()) {
                (DeliveryArm::Holdout, _) => warnings.held_out += count,
                // What the gate shows is no warning before an edit.
                (DeliveryArm::Gate, _) => {}
                (DeliveryArm::Shown, outcome) => {
                    warnings.shown += count;
                    match outcome {
                        Some("prevented") => warnings.prevented += count,
                        Some("failed_anyway") => warnings.failed_anyway += count,
                        _ => {}
                    }
                }
            }
        }
        Ok(warnings)
    }
}

impl TaskRun {
    fn from_row(row: TaskRunRow) -> Self {
        TaskRun {
            run: row.run,
            at: row.at,
            passed: row.passed,
            not_counted: row.uncounted,
            tool: row.tool,
            failure: row.failure,
        }
    }
}
