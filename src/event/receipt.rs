//! A receipt: a command passed on exactly this tree, with these programs, variables and dependencies.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::derived_id;
use super::run::Run;
use crate::base::clock::Timestamp;
use crate::base::ids::{self, IdKind, RunId};
use crate::base::lossless::Lossless;
use crate::capture::CheckedState;
use crate::whitelist::CheckKind;

/// Evidence that a check passed. There is one of a run at most; its id is derived from the run's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Receipt {
    /// `e-…`
    pub receipt: String,
    /// The run that passed.
    pub run: RunId,
    /// The command as typed, redacted.
    pub argv: Vec<Lossless>,
    /// The work tree, absolute.
    pub root: Lossless,
    /// Where the command ran, relative to the root; empty at the root itself.
    pub dir: Lossless,
    /// The command key.
    pub key: String,
    /// What the check does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<CheckKind>,
    /// What was true before the command began and after it ended.
    pub state: CheckedState,
    /// Tests that ran, of a check that tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<u64>,
    /// When the command was started.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Timestamp,
    /// Wall time, microseconds.
    pub duration_us: u64,
    /// The version of verify-run that ran it.
    pub version: String,
}

impl Receipt {
    /// The receipt of a run about this state.
    pub(crate) fn from_run(id: RunId, run: &Run, state: CheckedState) -> Self {
        Receipt {
            receipt: ids::short(IdKind::Receipt, id.0.as_bytes()),
            run: id,
            argv: run.argv.clone(),
            root: run.root.clone(),
            dir: run.dir.clone(),
            key: run.key.clone(),
            check: run.check,
            state,
            tests: run.tests,
            started_at: run.started_at,
            ended_at: run.ended_at,
            duration_us: run.duration_us,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    /// The id of its event, derived from the run's.
    pub(crate) fn event_id(&self) -> Uuid {
        derived_id("receipt", &[&self.run.to_string()])
    }
}
