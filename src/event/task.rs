//! The start and the end of a task, as a user or agent announces them.

use serde::{Deserialize, Serialize};

use super::by::EventAuthor;
use super::word::words;

/// A statement about a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TaskNote {
    /// The task's name, as runs have it.
    pub name: String,
    #[serde(flatten)]
    pub step: TaskStep,
    /// Who says so. Runs of the same session belong to a task that began, until it is over.
    #[serde(default)]
    pub by: EventAuthor,
}

/// Statements about a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub(crate) enum TaskStep {
    /// It begins. Said again, the later words hold.
    Started {
        /// Its subject.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// What kind of work it is, in the user's own words (`feature`, `bugfix`).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        category: Option<String>,
        /// Files that it will touch, relative to the root.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<String>,
        /// Names of tasks that come before it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        depends_on: Vec<String>,
    },
    /// It is over. A later run reopens it.
    Done {
        /// How it went, if recorded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outcome: Option<TaskOutcome>,
        /// Why it is over, if it was not announced: its branch was merged, or is gone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
}

/// Outcome of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TaskOutcome {
    /// It did what it was for.
    Completed,
    /// It did not.
    Failed,
    /// It was given up.
    Abandoned,
}

words!(TaskOutcome { Completed => "completed", Failed => "failed", Abandoned => "abandoned" });
