//! Phases of test-driven work on a task: announced, ended, and how their circuit breaker is reset.

use serde::{Deserialize, Serialize};

use super::by::EventAuthor;
use super::word::words;
use crate::base::lossless::Lossless;

/// A phase of the work on a feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum WorkPhase {
    /// Tests are written that fail.
    Red,
    /// They are made to pass.
    Green,
    /// The code gets better, and the tests go on passing.
    Refactor,
    /// Documentation is written.
    Document,
    /// The quality gate judges.
    Qa,
}

words!(WorkPhase {
    Red => "RED",
    Green => "GREEN",
    Refactor => "REFACTOR",
    Document => "DOCUMENT",
    Qa => "QA",
});

impl WorkPhase {
    /// The phase of a name in any case, as people and variables have it.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        WorkPhase::from_word(&name.trim().to_ascii_uppercase())
    }
}

/// A statement about the phase of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PhaseNote {
    /// The root of the work tree.
    pub work_tree: Lossless,
    /// The task's name, as runs have it.
    pub task: String,
    /// What is said.
    #[serde(flatten)]
    pub step: PhaseStep,
    /// Who says so.
    #[serde(default)]
    pub by: EventAuthor,
}

/// Statements about a phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub(crate) enum PhaseStep {
    /// The task is in this phase, until another one begins.
    Began {
        /// The phase.
        phase: WorkPhase,
    },
    /// The task is in no phase.
    Ended,
    /// A person closes the circuit breaker of a phase.
    Reset {
        /// The phase.
        phase: WorkPhase,
        /// Why.
        reason: String,
    },
}

impl PhaseStep {
    /// The name in the event.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            PhaseStep::Began { .. } => "began",
            PhaseStep::Ended => "ended",
            PhaseStep::Reset { .. } => "reset",
        }
    }

    /// The phase that it is about.
    pub(crate) fn phase(&self) -> Option<WorkPhase> {
        match self {
            PhaseStep::Began { phase } | PhaseStep::Reset { phase, .. } => Some(*phase),
            PhaseStep::Ended => None,
        }
    }
}
