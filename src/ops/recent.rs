//! Recent failures of this project, and whether they are still open.

use serde::Serialize;

use super::reply::Reply;
use super::request::Request;
use crate::base::clock::Timestamp;
use crate::base::lossless::Lossless;
use crate::base::text::{ellipsis, one_line};
use crate::run::CommandEnd;
use crate::store::{FailureRow, StoreError};

/// Failures of one answer.
const FAILURES_MAX: usize = 50;
/// Files that are named of each.
const FILES_MAX: usize = 10;
/// A command line, bytes.
const COMMAND_BYTES_MAX: usize = 300;
/// A message, bytes.
const SUMMARY_BYTES_MAX: usize = 300;
/// A path or a name, bytes.
const NAME_BYTES_MAX: usize = 200;

/// The newest failures of a work tree.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct RecentFailures {
    /// Newest first.
    pub failures: Vec<RecentFailure>,
}

/// A failure. Every text is one line without control characters.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RecentFailure {
    /// `f-…`
    pub id: String,
    /// When it ended.
    pub at: Timestamp,
    /// What was run, secrets replaced.
    pub command: String,
    /// Where, relative to the root; empty at the root.
    pub dir: String,
    /// `{"exit": 1}` or `{"signal": 9}`.
    pub ended: CommandEnd,
    /// The tool, of a recognised check.
    pub tool: Option<String>,
    /// The failure category.
    pub category: String,
    /// Its first message.
    pub summary: String,
    /// Number of diagnostics.
    pub items: u64,
    /// Affected files, up to ten.
    pub files: Vec<String>,
    /// `p-…`, up to five.
    pub patterns: Vec<String>,
    /// The task of the run.
    pub task: String,
    /// Name of the agent that ran it.
    pub agent: Option<String>,
    /// `l-…`, when a lesson was written for it.
    pub lesson: Option<String>,
    /// Nothing resolved it yet.
    pub open: bool,
    /// When it was gone.
    pub resolved_at: Option<Timestamp>,
    /// `x-…` of what was tried until it was gone.
    pub fix: Option<String>,
}

/// The newest failures of this work tree, at most `limit` and at most 50; with `open` only those that nothing resolved.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn recent_failures(
    request: &Request,
    open: bool,
    limit: usize,
) -> Result<Reply<RecentFailures>, StoreError> {
    let reading = request.open_for_reading()?;
    let rows = match &reading.index {
        Some(index) => {
            let root = Lossless::from(&request.places.root);
            index.recent_failures(&root, request.now(), open, limit.min(FAILURES_MAX))?
        }
        None => Vec::new(),
    };
    Ok(Reply::new(RecentFailures { failures: rows.into_iter().map(RecentFailure::from_row).collect() }, reading.notes))
}

impl RecentFailure {
    /// From the store's row.
    pub(super) fn from_row(row: FailureRow) -> Self {
        let line = |text: &str, max| ellipsis(one_line(text).trim(), max);
        let command = shell_words::join(row.argv.iter().map(Lossless::display));
        RecentFailure {
            id: row.failure,
            at: row.at,
            command: line(&command, COMMAND_BYTES_MAX),
            dir: line(&row.dir.display(), NAME_BYTES_MAX),
            ended: row.ended,
            tool: row.tool.map(|tool| line(&tool, NAME_BYTES_MAX)),
            category: line(&row.category, NAME_BYTES_MAX),
            summary: line(&row.summary, SUMMARY_BYTES_MAX),
            items: row.items,
            files: row.files.iter().take(FILES_MAX).map(|file| line(file, NAME_BYTES_MAX)).collect(),
            patterns: row.patterns,
            task: line(&row.task, NAME_BYTES_MAX),
            agent: row.agent.map(|agent| line(&agent, NAME_BYTES_MAX)),
            lesson: row.lesson,
            open: row.resolved_at.is_none(),
            resolved_at: row.resolved_at,
            fix: row.fix,
        }
    }
}
