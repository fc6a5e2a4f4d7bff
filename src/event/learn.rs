//! Jobs of the learning pipeline: what was harvested from a task, what was tried with it, and the outcome.

mod label;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::by::EventAuthor;
use super::fix::AtomList;
use crate::base::clock::Timestamp;
use crate::base::ids::RunId;
use crate::base::lossless::Lossless;

pub(crate) use label::{
    EvidenceLabel, HarvestTrigger, IsolationLevel, JobState, ManualReason, NoPageRule, ScenarioSource,
    SkippedHarvestRule, TrialFailureCause, TrialOutcome, TrialPurpose,
};

/// A step of a job. The state of a job is computed from its steps and is stored nowhere else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LearnNote {
    /// `j-…`, derived from the fix and the approved tree: the same harvest twice is one job.
    pub job: String,
    #[serde(flatten)]
    pub step: LearnStep,
    /// Who says so.
    #[serde(default)]
    pub by: EventAuthor,
}

/// Steps of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub(crate) enum LearnStep {
    /// A task that is done has something to learn from.
    Harvested(Box<HarvestRecord>),
    /// A task that is done has nothing to learn from: there is no job, and this says why.
    Skipped(Box<SkippedHarvest>),
    /// The trees are kept, whatever happens to the user's repository.
    Captured(Box<CaptureRecord>),
    /// They could not be kept.
    SnapshotFailed {
        /// Why, a lowercase fragment.
        why: String,
        /// The number of the try, from 1.
        attempt: u64,
    },
    /// They could not be kept in the last try either: the job is over.
    Dropped {
        /// Why, a lowercase fragment.
        why: String,
    },
    /// A runner works on it.
    Claimed(RunnerLease),
    /// The kept trees are not what they were: nothing is run until a person requeues it.
    Stalled {
        /// What is wrong, a lowercase fragment.
        why: String,
        /// What git says, redacted, at most 4 KiB.
        status: String,
    },
    /// What is run to show the failure and the fix.
    Scenario(Box<ScenarioRecord>),
    /// Nothing that may be run shows them: a person has to write a scenario.
    NeedsManual(Box<MissingScenario>),
    /// A person puts it into the queue again.
    Requeued {
        /// Why.
        reason: String,
        /// The scenario that the person signed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        scenario: Option<Box<SignedScenario>>,
    },
    /// One run in the lab.
    Trial(Box<TrialRecord>),
    /// What the trial shows.
    Judged(Box<JudgementRecord>),
    /// The smallest change that still works.
    Minimised(Box<MinimalChange>),
    /// A page was written about it.
    Crystallised(Box<CrystallisedPage>),
    /// It proves a page that is there already.
    FurtherProof {
        /// `a-…` of the page.
        artifact: String,
    },
    /// There is no page about it.
    NoArtifact {
        /// Which rule says so.
        rule: NoPageRule,
        /// Why, a lowercase fragment.
        why: String,
    },
    /// Its runner is gone.
    Interrupted,
    /// It ended without evidence.
    Failed {
        /// The root cause.
        cause: TrialFailureCause,
        /// What was seen, a lowercase fragment.
        why: String,
    },
    /// A person ended it.
    Cancelled {
        /// Why.
        reason: String,
    },
    /// It waited for too long.
    Expired,
}

impl LearnStep {
    /// The name in the event.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            LearnStep::Harvested(_) => "harvested",
            LearnStep::Skipped(_) => "skipped",
            LearnStep::Captured(_) => "captured",
            LearnStep::SnapshotFailed { .. } => "snapshot_failed",
            LearnStep::Dropped { .. } => "dropped",
            LearnStep::Claimed(_) => "claimed",
            LearnStep::Stalled { .. } => "stalled",
            LearnStep::Scenario(_) => "scenario",
            LearnStep::NeedsManual(_) => "needs_manual",
            LearnStep::Requeued { .. } => "requeued",
            LearnStep::Trial(_) => "trial",
            LearnStep::Judged(_) => "judged",
            LearnStep::Minimised(_) => "minimised",
            LearnStep::Crystallised(_) => "crystallised",
            LearnStep::FurtherProof { .. } => "further_proof",
            LearnStep::NoArtifact { .. } => "no_artifact",
            LearnStep::Interrupted => "interrupted",
            LearnStep::Failed { .. } => "failed",
            LearnStep::Cancelled { .. } => "cancelled",
            LearnStep::Expired => "expired",
        }
    }

    /// The state that it leads to; `None` of a step within a state.
    pub(crate) fn leads_to(&self) -> Option<JobState> {
        Some(match self {
            LearnStep::Harvested(_) => JobState::Harvested,
            LearnStep::Skipped(_) => JobState::Skipped,
            LearnStep::Captured(_) | LearnStep::Requeued { .. } | LearnStep::Interrupted => JobState::Queued,
            LearnStep::SnapshotFailed { .. } => JobState::SnapshotFailed,
            LearnStep::Dropped { .. } => JobState::Dropped,
            LearnStep::Claimed(_) => JobState::Preparing,
            LearnStep::Stalled { .. } => JobState::StalledSnapshot,
            LearnStep::Scenario(_) => JobState::Validating,
            LearnStep::NeedsManual(_) => JobState::NeedsManualScenario,
            LearnStep::Trial(_) => return None,
            LearnStep::Judged(_) => JobState::Validated,
            LearnStep::Minimised(_) => JobState::Crystallising,
            LearnStep::Crystallised(_) => JobState::Candidate,
            LearnStep::FurtherProof { .. } => JobState::FurtherProof,
            LearnStep::NoArtifact { .. } => JobState::NoArtifact,
            LearnStep::Failed { .. } => JobState::Failed,
            LearnStep::Cancelled { .. } => JobState::Cancelled,
            LearnStep::Expired => JobState::Expired,
        })
    }

    /// The page that it is about.
    pub(crate) fn artifact(&self) -> Option<&str> {
        match self {
            LearnStep::Crystallised(page) => Some(&page.artifact),
            LearnStep::FurtherProof { artifact } => Some(artifact),
            _ => None,
        }
    }

    /// Whether only a person may say so, by a command that asks for their name.
    pub(crate) fn is_decision(&self) -> bool {
        matches!(self, LearnStep::Requeued { .. } | LearnStep::Cancelled { .. })
    }

    /// The runs whose text is in it.
    pub(crate) fn quoted_runs(&self) -> Vec<RunId> {
        match self {
            LearnStep::Harvested(harvest) => harvest.runs.all(),
            LearnStep::Trial(trial) => trial.quotes.clone(),
            LearnStep::Judged(judgement) => judgement.quotes.clone(),
            LearnStep::Crystallised(page) => page.quotes.clone(),
            _ => Vec::new(),
        }
    }
}

/// What a task left to learn from: one fix, or its change as a whole.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HarvestRecord {
    /// The task.
    pub task: String,
    /// What led to it.
    pub trigger: HarvestTrigger,
    /// The work tree, absolute.
    pub root: Lossless,
    /// `x-…`; absent when the task has no fix and its change is taken as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// The command key of the check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Recorded runs with something to compare.
    #[serde(default)]
    pub runs: HarvestRuns,
    /// The work tree at these runs.
    #[serde(default)]
    pub trees: HarvestTrees,
    /// What the fix is said to have fixed.
    #[serde(default, skip_serializing_if = "AtomList::is_empty")]
    pub fixed: AtomList,
    /// Keys of the shapes of its changed lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shapes: Vec<String>,
    /// Installed packages or local settings changed between failure and pass: no tree holds that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_dependencies: Vec<String>,
    /// The successful command between failure and pass that may be the fix: `npm install`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// What was asked for: the title of the task, or what was given, redacted, at most 4 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Acceptance criteria, one line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<String>,
    /// What someone adds, redacted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// How new it is here.
    #[serde(default)]
    pub novelty: HarvestNovelty,
}

/// Recorded runs of a harvest.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct HarvestRuns {
    /// The last failing run before anything of it was fixed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<RunId>,
    /// The run that passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass: Option<RunId>,
    /// The last passing run before the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<RunId>,
}

impl HarvestRuns {
    fn all(&self) -> Vec<RunId> {
        [self.before, self.pass, self.base].into_iter().flatten().collect()
    }
}

/// The trees of [`HarvestRuns`], hex.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct HarvestTrees {
    /// At the failing run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// At the run that passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass: Option<String>,
    /// At the last passing run before the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// Both of `before` and `pass` are what the runs saw.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exact: bool,
}

/// How new a harvest is in this store.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct HarvestNovelty {
    /// No other task had this family of failures.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_new_family: bool,
    /// No other fix changed lines of this shape.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_new_shape: bool,
    /// Tasks that had the failure.
    #[serde(default)]
    pub tasks: u64,
    /// `a-…` of a page with the same shape or family.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<String>,
    /// A page or an entry that reads alike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alike: Option<String>,
}

/// Why a fix of a finished task is no job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SkippedHarvest {
    /// The task.
    pub task: String,
    /// `x-…`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// Which rule says so.
    pub rule: SkippedHarvestRule,
    /// Why, a lowercase fragment.
    pub why: String,
}

/// The kept trees of a job.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CaptureRecord {
    /// `learning-snapshot-<uuid>`, in verify-run's own git folder.
    pub tag: String,
    /// The commit that it names, hex.
    pub commit: String,
    /// The approved tree, hex.
    pub tree: String,
    /// `sha256:…` of the approved tree as `git archive` writes it.
    pub tarball_digest: String,
    /// Files that are not in the tree: too large, unreadable, repositories of their own.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
    /// Something in the work tree is out of git's sight.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_blind: bool,
    /// Every object is in verify-run's own store; else the job depends on the user's objects.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_copied: bool,
    /// Files in which the approved tree differs from the one that passed, at most 50.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differing: Vec<String>,
}

/// The process that works on a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RunnerLease {
    /// Its process id.
    pub pid: u32,
    /// The boot of the machine.
    pub boot: String,
    /// Isolation that the machine gives.
    pub level: IsolationLevel,
    /// When the runner gives up at the latest.
    pub until: Timestamp,
}

/// A command of a scenario.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ScenarioCommand {
    /// Its words; no shell reads them.
    pub argv: Vec<String>,
    /// The working directory, relative to the root.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub dir: String,
}

/// What is run to show a failure and its fix.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ScenarioRecord {
    /// Where it comes from.
    pub source: ScenarioSource,
    /// How well it fits, 0 to 100.
    pub score: u64,
    /// Run before the entrypoint, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub setup: Vec<ScenarioCommand>,
    /// The check.
    pub entrypoint: ScenarioCommand,
    /// The same check with only the failing tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub narrow: Option<ScenarioCommand>,
    /// Variables of the command, beside those that the lab passes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// Commands that are started before the entrypoint and ended after it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<ScenarioService>,
    /// Tests that have to run at least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests_min: Option<u64>,
    /// Seconds that the entrypoint may take.
    pub time_limit_s: u64,
}

/// A service of a scenario.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ScenarioService {
    /// What starts it.
    pub command: ScenarioCommand,
    /// What exits with 0 once it is ready.
    pub health: ScenarioCommand,
}

/// A scenario that a person wrote and signed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SignedScenario {
    /// `sha256:…` of the file.
    pub digest: String,
    /// The file, as given.
    pub path: String,
    /// What it says.
    pub scenario: ScenarioRecord,
    /// Who signed it.
    pub approver: String,
    /// The date of the signature, as written.
    pub date: String,
}

/// Why nothing that may be run shows a failure and its fix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MissingScenario {
    /// The reason.
    pub reason: ManualReason,
    /// For people, a lowercase fragment.
    pub why: String,
    /// What was found so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<ScenarioRecord>,
}

/// One run in the lab.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct TrialRecord {
    /// Its number in the job, from 0.
    pub n: u64,
    /// What it is for.
    pub purpose: TrialPurpose,
    /// The git tree that was run, hex.
    pub tree: String,
    /// BLAKE3 of command, folder, variables and level: the same on the same tree need not be run again.
    pub command: String,
    /// How it ended.
    pub outcome: TrialOutcome,
    /// The exit code; absent when a signal or a limit ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// Tests that ran, as the runner says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<u64>,
    /// What failed.
    #[serde(default, skip_serializing_if = "AtomList::is_empty")]
    pub atoms: AtomList,
    /// Milliseconds.
    pub duration_ms: u64,
    /// The isolation.
    pub level: IsolationLevel,
    /// What a person should know of it: the limit that was reached, the perturbation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Runs whose text is in the atoms.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quotes: Vec<RunId>,
}

/// What the runs of a job show.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct JudgementRecord {
    /// The evidence.
    pub evidence: EvidenceLabel,
    /// Fails before, and not after.
    #[serde(default, skip_serializing_if = "AtomList::is_empty")]
    pub fixed: AtomList,
    /// What people should know of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Runs whose text is in the atoms.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quotes: Vec<RunId>,
}

/// The smallest change that still works.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct MinimalChange {
    /// Edits of the whole change.
    pub units: u64,
    /// Edits that are needed.
    pub kept: u64,
    /// Runs of the search.
    pub runs: u64,
    /// Whether dropping any one of the kept edits was tried and fails.
    pub is_minimal: bool,
    /// Why the search ended early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The tree with only these edits, hex.
    pub tree: String,
    /// The failing state that they are applied to, hex: with the change's own tests.
    pub before: String,
    /// Whether they only revert what brought the failure.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_undo: bool,
    /// Perturbed runs that passed.
    #[serde(default)]
    pub robust: u64,
    /// Perturbed runs.
    #[serde(default)]
    pub perturbed: u64,
    /// Perturbations under which it fails.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub breaks_under: Vec<String>,
}

/// A page that was written about a job.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CrystallisedPage {
    /// `a-…`
    pub artifact: String,
    /// The file, relative to the root.
    pub path: String,
    /// `sha256:…` of the file.
    pub digest: String,
    /// The model that worded it, if a command did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Sections whose wording was not grounded and is the template's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaced: Vec<String>,
    /// Runs whose text is in the page.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quotes: Vec<RunId>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
