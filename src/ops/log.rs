//! `log`: the runs of a work tree, passed and failed.

use serde::Serialize;

use super::last::LastRun;
use super::reply::Reply;
use super::request::Request;
use crate::base::clock::Timestamp;
use crate::base::lossless::Lossless;
use crate::store::{RunFilter, StoreError};

/// What `log --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RunLog {
    /// Newest first.
    pub runs: Vec<LogEntry>,
}

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct LogEntry {
    /// The run's id.
    pub run: String,
    /// `f-…`, when it failed.
    pub failure: Option<String>,
    /// End of the run.
    pub ended_at: Timestamp,
    /// Wall time, microseconds.
    pub duration_us: u64,
    /// Whether the command exited with 0.
    pub passed: bool,
    /// The exit code, or 128 + signal.
    pub exit_code: i32,
    /// The tool, of a recognised check.
    pub tool: Option<String>,
    /// What was run, secrets replaced.
    pub argv: Vec<Lossless>,
    /// Where, relative to the root.
    pub dir: Lossless,
    /// The failure's category.
    pub category: Option<String>,
    /// The failure's first message.
    pub summary: Option<String>,
}

/// The runs that `filter` asks for, at most `limit`.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn list_runs(request: &Request, filter: &RunFilter, limit: usize) -> Result<Reply<RunLog>, StoreError> {
    let reading = request.open_for_reading()?;
    let root = Lossless::from(&request.places.root);
    let rows = reading.index.as_ref().map(|index| index.runs_under(&root, filter, limit)).transpose()?;
    let runs = rows.unwrap_or_default().into_iter().map(|row| LogEntry::from_last(LastRun::from_run(row))).collect();
    Ok(Reply::new(RunLog { runs }, reading.notes))
}

impl LogEntry {
    fn from_last(run: LastRun) -> Self {
        LogEntry {
            run: run.run,
            failure: run.failure,
            ended_at: run.ended_at,
            duration_us: run.duration_us,
            passed: run.passed,
            exit_code: run.exit_code,
            tool: run.tool,
            argv: run.argv,
            dir: run.dir,
            category: run.category,
            summary: run.summary,
        }
    }
}
