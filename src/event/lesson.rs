//! Changes of lessons after they were written.

use serde::{Deserialize, Serialize};

use crate::base::ids::RunId;

/// Something done to a lesson.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct LessonChange {
    /// `l-…`.
    pub lesson: String,
    /// What was done.
    #[serde(flatten)]
    pub change: LessonChangeKind,
    /// Who did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// What was done to a lesson.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub(crate) enum LessonChangeKind {
    /// The file was removed and none is to be written for these patterns again.
    Forgotten {
        /// Pattern keys, or ids (`p-…`) when the lesson's run wasn't in the store.
        patterns: Vec<String>,
    },
    /// A user said why it failed, what solved it, or what to do from now on.
    Annotated {
        /// Why it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<String>,
        /// What solved it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resolution: Option<String>,
        /// Rule that follows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        corrective_rule: Option<String>,
    },
    /// The failure is fixed and the lesson has no further use: the file was removed. The text follows from the run.
    Withdrawn {
        /// The runs whose lesson it was; a later one may have it written again.
        runs: Vec<RunId>,
        /// The fix that ended its failure.
        fix: Option<String>,
    },
    /// The file was edited by hand.
    Edited {
        /// BLAKE3 of the file as found, hex.
        hash: String,
    },
}
