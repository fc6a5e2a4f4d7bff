//! Words of jobs: states, evidence, causes.

use serde::{Deserialize, Serialize};

use crate::event::word::words;

/// The state of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum JobState {
    /// Its trees are being kept.
    Harvested,
    /// There is no job.
    Skipped,
    /// Its trees could not be kept; it is tried again.
    SnapshotFailed,
    /// Its trees could not be kept.
    Dropped,
    /// It waits for a runner.
    Queued,
    /// A runner checks its trees and looks for a scenario.
    Preparing,
    /// Its trees are damaged: a person has to look.
    StalledSnapshot,
    /// A person has to write a scenario.
    NeedsManualScenario,
    /// A runner runs both trees.
    Validating,
    /// There is evidence; the smallest change is looked for.
    Validated,
    /// A page is being written.
    Crystallising,
    /// A page waits for a person.
    Candidate,
    /// It proves a page that is there already.
    FurtherProof,
    /// It needs no page.
    NoArtifact,
    /// It ended without evidence.
    Failed,
    /// A person ended it.
    Cancelled,
    /// It waited for too long.
    Expired,
}

words!(JobState {
    Harvested => "harvested",
    Skipped => "skipped",
    SnapshotFailed => "snapshot_failed",
    Dropped => "dropped",
    Queued => "queued",
    Preparing => "preparing",
    StalledSnapshot => "stalled_snapshot",
    NeedsManualScenario => "needs_manual_scenario",
    Validating => "validating",
    Validated => "validated",
    Crystallising => "crystallising",
    Candidate => "candidate",
    FurtherProof => "further_proof",
    NoArtifact => "no_artifact",
    Failed => "failed",
    Cancelled => "cancelled",
    Expired => "expired",
});

impl JobState {
    /// Whether a runner works on it.
    pub(crate) fn is_running(self) -> bool {
        matches!(self, JobState::Preparing | JobState::Validating | JobState::Validated | JobState::Crystallising)
    }

    /// Whether a person has to act.
    pub(crate) fn waits_for_person(self) -> bool {
        matches!(self, JobState::StalledSnapshot | JobState::NeedsManualScenario)
    }

    /// Whether nothing more happens to it without a person.
    pub(crate) fn is_over(self) -> bool {
        matches!(
            self,
            JobState::Skipped
                | JobState::Dropped
                | JobState::Candidate
                | JobState::FurtherProof
                | JobState::NoArtifact
                | JobState::Failed
                | JobState::Cancelled
                | JobState::Expired
        )
    }
}

/// What led to a harvest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum HarvestTrigger {
    /// Someone said that the task is done.
    #[default]
    TaskDone,
    /// The gate approved the tree, and the work may end.
    GateExit,
    /// The task's branch was merged.
    Merged,
    /// Someone asked for it.
    Asked,
}

words!(HarvestTrigger {
    TaskDone => "task_done",
    GateExit => "gate_exit",
    Merged => "merged",
    Asked => "asked",
});

/// Why a fix is no job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum SkippedHarvestRule {
    /// The check was made weaker.
    Weakened,
    /// The check is flaky.
    Flaky,
    /// The files went back to an earlier state.
    Undone,
    /// Enough jobs have proven the same change.
    Known,
    /// There are no trees to compare.
    NoTrees,
}

words!(SkippedHarvestRule {
    Weakened => "weakened",
    Flaky => "flaky",
    Undone => "undone",
    Known => "known",
    NoTrees => "no_trees",
});

/// The walls between a run and the rest of the machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum IsolationLevel {
    /// A process group and limits.
    #[default]
    None,
    /// The file system and network are restricted by Landlock and seccomp.
    Landlock,
    /// A namespace of its own for users, mounts, processes, network, IPC and host name.
    Namespaces,
}

words!(IsolationLevel { None => "none", Landlock => "landlock", Namespaces => "namespaces" });

/// Where a scenario comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum ScenarioSource {
    /// The recorded runs of the task.
    #[default]
    ExecutionHistory,
    /// An earlier passing run of the same folder, of any task.
    LastKnownGood,
    /// What was asked for.
    Prompt,
    /// The files of the change.
    Diff,
    /// The templates of the stack.
    Template,
    /// A person.
    Manual,
}

words!(ScenarioSource {
    ExecutionHistory => "execution_history",
    LastKnownGood => "last_known_good",
    Prompt => "prompt",
    Diff => "diff",
    Template => "template",
    Manual => "manual",
});

/// Why a person has to write a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum ManualReason {
    /// No command was found that reaches the change.
    NothingFound,
    /// A word of the command was a secret.
    RedactedArgument,
    /// Another machine recorded the command.
    ForeignHistory,
    /// Installed packages differ between the trees and can't be installed offline.
    Dependencies,
}

words!(ManualReason {
    NothingFound => "nothing_found",
    RedactedArgument => "redacted_argument",
    ForeignHistory => "foreign_history",
    Dependencies => "dependencies",
});

/// What a run in the lab is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum TrialPurpose {
    /// The approved tree passes here at all.
    #[default]
    KnownGood,
    /// The tree before the fix fails as recorded.
    Before,
    /// The tree before the fix with the tests of the change.
    BeforeWithTests,
    /// The approved tree with the tests from before.
    AfterWithoutTests,
    /// Again, before.
    BeforeAgain,
    /// Again, after.
    AfterAgain,
    /// A part of the change.
    Reduced,
    /// The smallest change, with nothing left over from earlier runs.
    Confirmed,
    /// The smallest change under another time zone, order or the like.
    Perturbed,
}

words!(TrialPurpose {
    KnownGood => "known_good",
    Before => "before",
    BeforeWithTests => "before_with_tests",
    AfterWithoutTests => "after_without_tests",
    BeforeAgain => "before_again",
    AfterAgain => "after_again",
    Reduced => "reduced",
    Confirmed => "confirmed",
    Perturbed => "perturbed",
});

/// How a run in the lab ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum TrialOutcome {
    /// It did its job and passed.
    Passed,
    /// It failed.
    #[default]
    Failed,
    /// Its time was up.
    TimedOut,
    /// It needed more memory, disk, processes or output than a run may.
    OverLimits,
    /// It did not do its job: no test ran, the tool is missing, it could not be started.
    NotRun,
}

words!(TrialOutcome {
    Passed => "passed",
    Failed => "failed",
    TimedOut => "timed_out",
    OverLimits => "over_limits",
    NotRun => "not_run",
});

/// How sure a fix is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum EvidenceLabel {
    /// It was seen in the work tree and can't be shown again.
    #[default]
    Recorded,
    /// The tree after it passes in isolation; the failure before it could not be shown.
    Replayed,
    /// The tree before it fails as recorded and the one after it passes, twice, in isolation.
    Proven,
}

words!(EvidenceLabel { Recorded => "recorded", Replayed => "replayed", Proven => "proven" });

/// Why a job ended without evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum TrialFailureCause {
    /// The kept trees are damaged.
    SnapshotIntegrity,
    /// No scenario could be made of what is known.
    ScenarioSynthesis,
    /// The tree that passed does not pass in the lab: it needs a network, a service, a secret file or the like.
    LabUnsuitable,
    /// The tree before the fix does not fail as recorded.
    NotReproduced,
    /// The approved tree fails.
    AfterFails,
    /// Something else fails after the fix.
    Regressed,
    /// The check was made weaker.
    Weakened,
    /// It fails and passes over the same tree.
    Flaky,
    /// Only tests were changed.
    TestOnly,
    /// Its time was up.
    TimedOut,
    /// It needed more than a run may.
    OverLimits,
    /// Its runner died three times.
    Interrupted,
}

words!(TrialFailureCause {
    SnapshotIntegrity => "snapshot_integrity",
    ScenarioSynthesis => "scenario_synthesis",
    LabUnsuitable => "lab_unsuitable",
    NotReproduced => "not_reproduced",
    AfterFails => "after_fails",
    Regressed => "regressed",
    Weakened => "weakened",
    Flaky => "flaky",
    TestOnly => "test_only",
    TimedOut => "timed_out",
    OverLimits => "over_limits",
    Interrupted => "interrupted",
});

/// Why there is no page about a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum NoPageRule {
    /// The fix reverts a slip of the same task.
    Undo,
    /// Only tests were changed.
    TestOnly,
    /// A page or an entry says nearly the same.
    Alike,
    /// A secret would be in it.
    Secret,
    /// The failure could not be shown.
    NotShown,
    /// The library has no place for it: it leads out of the work tree, or is full.
    NoPlace,
}

words!(NoPageRule {
    Undo => "undo",
    TestOnly => "test_only",
    Alike => "alike",
    Secret => "secret",
    NotShown => "not_shown",
    NoPlace => "no_place",
});
