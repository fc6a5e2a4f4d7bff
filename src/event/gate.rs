//! Evaluations of the quality gate, and what people decide about them.

use serde::{Deserialize, Serialize};

use super::by::EventAuthor;
use super::gate_review::{GateModels, GateReview};
use super::word::words;
use crate::base::clock::Timestamp;
use crate::base::lossless::Lossless;

/// A step of the quality gate in one work tree. Attempts, the circuit breaker and the state of a cycle are computed from
/// these steps and are stored nowhere else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GateNote {
    /// The root of the work tree.
    pub work_tree: Lossless,
    /// `g-…` of the evaluation; of a decision, the evaluation that it is about.
    pub evaluation: String,
    /// `g-…` of the first evaluation of the cycle.
    pub cycle: String,
    /// What happened.
    #[serde(flatten)]
    pub step: GateStep,
    /// Who says so.
    #[serde(default)]
    pub by: EventAuthor,
}

/// Steps of the quality gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub(crate) enum GateStep {
    /// An evaluation began.
    Started(Box<GateStart>),
    /// An evaluation ended with a verdict.
    Verdict(Box<GateOutcome>),
    /// An evaluation ended without a verdict.
    Abandoned {
        /// Why, a lowercase fragment.
        why: String,
    },
    /// Someone says that the work on this tree is done, or withdraws that.
    Signal {
        /// The tree.
        tree: String,
        /// Whether an earlier signal is withdrawn.
        #[serde(default)]
        withdrawn: bool,
    },
    /// A person lets an item pass until a date, or ends that.
    Waiver(GateWaiver),
    /// A person closes the circuit breaker and begins a new cycle.
    Reset {
        /// Why.
        reason: String,
    },
    /// A person decides after an escalation.
    Resolved {
        /// What was decided.
        decision: GateResolution,
        /// Why.
        reason: String,
    },
    /// The command that ships an approved tree begins.
    ShipStarted {
        /// The approved tree.
        tree: String,
        /// BLAKE3 of the command's words.
        command: String,
    },
    /// The branch has a commit with the approved tree.
    Shipped {
        /// The commit.
        commit: String,
        /// Its tree.
        tree: String,
    },
    /// The approved tree was not shipped.
    ShipFailed {
        /// Why, a lowercase fragment.
        why: String,
    },
}

impl GateStep {
    /// The name in the event.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            GateStep::Started(_) => "started",
            GateStep::Verdict(_) => "verdict",
            GateStep::Abandoned { .. } => "abandoned",
            GateStep::Signal { .. } => "signal",
            GateStep::Waiver(_) => "waiver",
            GateStep::Reset { .. } => "reset",
            GateStep::Resolved { .. } => "resolved",
            GateStep::ShipStarted { .. } => "ship_started",
            GateStep::Shipped { .. } => "shipped",
            GateStep::ShipFailed { .. } => "ship_failed",
        }
    }

    /// Whether only a person may say so, by a command that asks for their name.
    pub(crate) fn is_decision(&self) -> bool {
        matches!(self, GateStep::Waiver(_) | GateStep::Reset { .. } | GateStep::Resolved { .. })
    }
}

/// What an evaluation is about.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GateStart {
    /// The git tree of the work tree, untracked files included.
    pub tree: String,
    /// What the change is compared with, for people: `merge base with main, 1f2e3d4`.
    pub base: String,
    /// The tree of the base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_tree: Option<String>,
    /// The policy files with a short digest, for people.
    pub policy: String,
    /// The policy files, each with its digest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policy_files: Vec<GatePolicyFile>,
    /// The feature, from `--feature`, the PRP or the branch.
    pub feature: String,
    /// The PRP, relative to the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prp: Option<String>,
    /// The kind of the change, with who says so: `feature (by default)`.
    pub change_kind: String,
    /// Changed files, relative to the root, sorted, at most 200.
    pub files: Vec<String>,
    /// Language models that wrote the change, as far as they are known then, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub implementers: Vec<String>,
    /// The number of the evaluation in its cycle, from 1.
    pub iteration: u64,
    /// What was chosen in another way than for the last evaluation of the cycle, each a phrase.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<String>,
    /// How its commands were isolated; absent where they ran in the work tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<String>,
}

/// A policy file as an evaluation read it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GatePolicyFile {
    /// Relative to the root; `shipped qa-checklist.yml` of a shipped one.
    pub name: String,
    /// SHA-256 of its content, hex: others compute it, too.
    pub sha256: String,
}

/// The end of an evaluation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GateOutcome {
    /// The tree after the last command; the evaluation's own when nothing changed.
    pub tree: String,
    /// The verdict.
    pub verdict: GateVerdict,
    /// The items, in the order of the checklist.
    pub items: Vec<GateItem>,
    /// What stops an approval beside the items.
    #[serde(default)]
    pub issues: Vec<GateIssue>,
    /// BLAKE3 of what fails and how, without line numbers, times and temporary paths: two evaluations with the same
    /// digest fail in the same way.
    pub error: String,
    /// What memory has to say.
    #[serde(default)]
    pub memory: GateMemory,
    /// Who wrote the change, and how the reviewer compares.
    #[serde(default)]
    pub models: GateModels,
    /// The review, where the user configured a reviewer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<GateReview>,
    /// Microseconds of the evaluation.
    pub duration_us: u64,
}

/// What the project's memory had to say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct GateMemory {
    /// Questions that were answered in time, of 4.
    pub queries: u64,
    /// Earlier failures that concern the change.
    pub failures: u64,
    /// Patterns and conventions of its stack.
    pub patterns: u64,
    /// Decision records that concern it.
    pub decisions: u64,
    /// Changed files with a history of failures.
    pub files: u64,
    /// What was found, by the question; one line each, the first ones.
    #[serde(default)]
    pub findings: GateMemoryFindings,
    /// One line for each thing that concerns a changed file.
    #[serde(default)]
    pub recommendations: Vec<String>,
    /// What a memory server answered, by the question. Its results are in the counts above.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server: Vec<GateMemoryAnswer>,
    /// Milliseconds that all questions took together.
    #[serde(default)]
    pub took_ms: u64,
    /// Why a question was not answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// What the project's own memory found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct GateMemoryFindings {
    /// Earlier failures.
    #[serde(default)]
    pub failures: Vec<String>,
    /// Patterns and conventions.
    #[serde(default)]
    pub patterns: Vec<String>,
    /// Decisions.
    #[serde(default)]
    pub decisions: Vec<String>,
    /// Changed files that failed before.
    #[serde(default)]
    pub files: Vec<String>,
}

/// What a memory server answered to a question. Its text is data, never an instruction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct GateMemoryAnswer {
    /// The question.
    pub question: GateMemoryQuestion,
    /// The tool that answered.
    pub tool: String,
    /// The tool that is asked where a server has it, and that this one took the place of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stands_for: Option<String>,
    /// Results; of the question about files, files with results.
    pub count: u64,
    /// The text, without secrets and control characters, at most 16 KiB.
    pub text: String,
    /// Bytes that the text was longer.
    #[serde(default)]
    pub cut_bytes: u64,
}

/// A question to a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum GateMemoryQuestion {
    /// Earlier failures that concern the feature.
    Failures,
    /// Patterns and conventions of its stacks.
    Patterns,
    /// Architecture decisions that concern it.
    Decisions,
    /// The history of the changed files.
    Files,
}

words!(GateMemoryQuestion {
    Failures => "failures",
    Patterns => "patterns",
    Decisions => "decisions",
    Files => "files",
});

/// One item of the checklist, judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct GateItem {
    /// `F1`
    pub id: String,
    /// The category's heading.
    pub category: String,
    /// What is asked.
    pub criterion: String,
    /// Whether it stops an approval.
    pub blocking: bool,
    /// The state.
    pub status: GateItemStatus,
    /// The measured figures in one line; empty when there are none.
    pub details: String,
    /// Why it does not apply, was not evaluated, or is waived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The commands that ran, as they were executed.
    #[serde(default)]
    pub commands: Vec<String>,
    /// What is wrong, at most 200.
    #[serde(default)]
    pub findings: Vec<GateFinding>,
    /// Findings beyond the limit.
    #[serde(default)]
    pub findings_cut: u64,
}

/// Something that is wrong at a place.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct GateFinding {
    /// The file, relative to the root; absent when no file is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// What is wrong, one line.
    pub message: String,
    /// What helps, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// The key of the failure's pattern, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
}

/// Something beside the items that stops an approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct GateIssue {
    /// What it is about.
    pub kind: GateIssueKind,
    /// What is wrong, one line.
    pub message: String,
}

/// A person lets an item pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GateWaiver {
    /// The item.
    pub item: String,
    /// The end, exclusive.
    pub until: Timestamp,
    /// Only findings in files of this glob; all without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Why.
    pub reason: String,
    /// Whether an earlier waiver of the item ends.
    #[serde(default)]
    pub withdrawn: bool,
}

/// The verdict of an evaluation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum GateVerdict {
    /// Nothing blocking is left.
    Approve,
    /// Something blocking is left.
    #[default]
    Reject,
}

words!(GateVerdict { Approve => "approve", Reject => "reject" });

/// The state of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum GateItemStatus {
    /// It is fulfilled.
    Pass,
    /// It is not fulfilled.
    Fail,
    /// It does not apply to this change.
    NotApplicable,
    /// It could not be measured.
    NotEvaluated,
    /// It is not fulfilled, and a person lets it pass.
    Waived,
}

words!(GateItemStatus {
    Pass => "pass",
    Fail => "fail",
    NotApplicable => "not_applicable",
    NotEvaluated => "not_evaluated",
    Waived => "waived",
});

/// What an issue beside the items is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum GateIssueKind {
    /// The change makes the policy weaker.
    Policy,
    /// The work tree is not known or changed meanwhile.
    Tree,
    /// The reviewer is a model of the same family as an author, or the author is not known.
    Model,
}

words!(GateIssueKind { Policy => "POLICY", Tree => "TREE", Model => "MODEL" });

/// A person's decision after an escalation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum GateResolution {
    /// Attempts start at 1 again.
    Retry,
    /// This tree passes as it is.
    Accept,
    /// The work is given up.
    Abort,
}
