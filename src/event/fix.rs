//! What was tried against an open failure and its outcome; passes that prove nothing; what people say about a fix.

use serde::{Deserialize, Serialize};

use super::word::words;

use super::snapshot::FileChange;
use crate::base::clock::Timestamp;
use crate::base::ids::RunId;
use crate::base::lossless::Lossless;

/// One run of a check that had an open failure, with what was changed since the failing run before it.
///
/// A fix workflow is the fold of the attempts with one `key` and one `opened_by`. A run is more than one attempt when
/// it shows that something is gone that only an earlier failing run had shown: a run that didn't get to it proves
/// nothing about it, and what was done since the earlier one may have been its fix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Attempt {
    /// The command key of the open failure. The run may have had another one that covers it.
    pub key: String,
    /// The run of the attempt.
    pub run: RunId,
    /// The first failing run of the open stretch.
    pub opened_by: RunId,
    /// The failing run that this one is compared with: the last one before it, or the one that showed what is gone now.
    pub before: RunId,
    /// The work tree, absolute.
    pub root: Lossless,
    /// What is worked on.
    pub task: String,
    /// When the run ended: the order of attempts.
    pub ended_at: Timestamp,
    /// Microseconds from the end of `before` to the end of this run.
    pub duration_us: u64,
    /// The outcome of the failure.
    pub outcome: AttemptOutcome,
    /// What was done in between, as far as it is known.
    pub means: AttemptMeans,
    /// Atoms of the failure that are gone.
    #[serde(default, skip_serializing_if = "AtomList::is_empty")]
    pub fixed: AtomList,
    /// Atoms that were not in the failure.
    #[serde(default, skip_serializing_if = "AtomList::is_empty")]
    pub introduced: AtomList,
    /// Atoms of the failure that are still there.
    #[serde(default, skip_serializing_if = "AtomList::is_empty")]
    pub persisted: AtomList,
    /// Atoms of the failure that this run didn't look at or didn't get to.
    #[serde(default, skip_serializing_if = "AtomList::is_empty")]
    pub not_reached: AtomList,
    /// Hashes of the atoms that stay open, when the run had another key than the failure: what a later one is
    /// compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remaining: Option<Vec<String>>,
    /// What earlier failing runs showed and none has looked at since, this one included; the oldest run first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<UnseenAtoms>,
    /// The work tree at `before` and at the run, as far as both are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trees: Option<AttemptTrees>,
    /// What differs between the trees, without what came with a new base.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileChange>,
    /// Files beyond the limit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub files_cut: usize,
    /// The unified diff of these files, redacted, up to a limit.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub diff: String,
    /// Bytes of the diff beyond the limit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub diff_cut: usize,
    /// Files left out because a rebase, merge or pull changed them, not the work on this failure.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub came_with_base: usize,
    /// Runs of other commands in this work tree since `before`, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<RecordedCommand>,
    /// Runs beyond the limit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub commands_cut: usize,
    /// Installed packages and local settings that changed since `before`, relative to the root: what no tree holds.
    #[serde(default, alias = "surroundings", skip_serializing_if = "Vec::is_empty")]
    pub changed_dependencies: Vec<String>,
    /// Keys under which the same change is found again in another task.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recipes: Vec<Recipe>,
    /// Changed files that are not what fixed it, as far as is known: they are in no file of the failure and not near
    /// one by imports, are generated, or only went back to an earlier state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also_changed: Vec<Lossless>,
    /// The files went back to what they were at an earlier run or commit: a checkout, a stash, a revert. No fix.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undo: bool,
    /// Where the check was made weaker in between. With a certain mark it is no fix, whatever the outcome.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weakened: Vec<WeakenedCheckRecord>,
}

/// Atoms that only an earlier failing run showed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct UnseenAtoms {
    /// The last run that showed them.
    pub run: RunId,
    /// Their hashes.
    pub atoms: Vec<String>,
}

/// The outcome of an open failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum AttemptOutcome {
    /// All of it is gone.
    Success,
    /// Some of it is gone.
    Partial,
    /// All of it is still there, as far as the run looked.
    Failure,
}

/// What was done between two runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum AttemptMeans {
    /// Files were changed.
    Edit,
    /// A command was run (`npm install`) that changed what the check depends on; files at most in manifests and
    /// locks.
    Command,
    /// Nothing: the check was run again.
    None,
    /// Unknown: there are no trees to compare.
    Unknown,
}

/// Two snapshots.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct AttemptTrees {
    /// At the failing run.
    pub before: String,
    /// At the attempt.
    pub after: String,
    /// Both are what the runs saw: nothing changed between a run's start and its snapshot.
    pub exact: bool,
}

/// Atoms, up to a limit, with their number.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct AtomList {
    /// All of them.
    pub count: usize,
    /// The first of them in the order of the output.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub first: Vec<Atom>,
}

impl AtomList {
    /// None at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// One thing that was wrong, without line numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Atom {
    /// Its identity; see `fix::atom`.
    pub hash: String,
    /// Its pattern key.
    pub pattern: String,
    /// The file, relative to the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The failing test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<String>,
    /// What it says, one short line.
    pub text: String,
}

/// A recorded run between two runs of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RecordedCommand {
    /// The run.
    pub run: RunId,
    /// The command line, redacted.
    pub line: String,
    /// Whether it exited with 0.
    pub passed: bool,
    /// It is a check itself: it looks at files and changes nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub check: bool,
}

/// What makes a change the same as another task's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Recipe {
    /// What was compared.
    pub kind: RecipeKind,
    /// `1:` and 32 hex digits; the same key is the same recipe.
    pub key: String,
    /// What a person recognises it by: file names, the changed line, the command.
    pub label: String,
}

/// The outcome of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum FixState {
    /// It is gone.
    Success,
    /// It is gone because the check was made weaker.
    Weakened,
    /// It is gone because the files went back to an earlier state.
    Undone,
    /// It is gone, and nothing was changed.
    Flaky,
    /// Some of it is gone.
    Partial,
    /// All of it is still there.
    Failure,
}

words!(FixState {
    Success => "success",
    Weakened => "weakened",
    Undone => "undone",
    Flaky => "flaky",
    Partial => "partial",
    Failure => "failure",
});

/// Where what is known to help comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum Technique {
    /// Changed lines that read alike.
    Shape,
    /// A change of the same files.
    Files,
    /// A command.
    Command,
    /// A user or an agent said it.
    #[default]
    Said,
    /// Settings declare it.
    Declared,
    /// A lesson that a team shares teaches it.
    Lesson,
}

words!(Technique {
    Shape => "shape",
    Files => "files",
    Command => "command",
    Said => "said",
    Declared => "declared",
    Lesson => "lesson",
});

impl Technique {
    /// Whether it was learnt from what was changed.
    pub(crate) fn is_learnt(self) -> bool {
        matches!(self, Technique::Shape | Technique::Files | Technique::Command)
    }
}

/// What makes two changes one recipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum RecipeKind {
    /// Changed lines that read the same when names of values are masked.
    Shape,
    /// The same set of files.
    Files,
    /// The same command.
    Command,
}

words!(RecipeKind { Shape => "shape", Files => "files", Command => "command" });

words!(AttemptOutcome { Success => "success", Partial => "partial", Failure => "failure" });

impl AttemptMeans {
    /// The word in events, tables and JSON.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            AttemptMeans::Edit => "edit",
            AttemptMeans::Command => "command",
            AttemptMeans::None => "none",
            AttemptMeans::Unknown => "unknown",
        }
    }
}

/// A place in a diff where a check was made weaker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct WeakenedCheckRecord {
    /// The rule that found it.
    pub rule: String,
    /// The file, relative to the root.
    pub path: String,
    /// The line, 1-based, where one is known: its number now, of a deleted one its number before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Whether the line is gone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleted: bool,
    /// The line's text, redacted and bounded.
    pub text: String,
    /// What it means, for people.
    pub message: String,
    /// A pass that came with it proves nothing: it weakens the check for certain, or is all that changed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub certain: bool,
}

impl Attempt {
    /// The changed files that may have fixed it: what its recipes are made of.
    pub(crate) fn related_files(&self) -> impl Iterator<Item = &FileChange> {
        self.files.iter().filter(|file| !self.also_changed.contains(&file.path))
    }

    /// Files were changed, and none of them, nor a command, has to do with the failure as far as is known.
    pub(crate) fn has_unknown_cause(&self) -> bool {
        let has_command = !self.changed_dependencies.is_empty()
            || self.commands.iter().any(|command| command.passed && !command.check);
        self.means == AttemptMeans::Edit && !self.undo && !has_command && self.related_files().next().is_none()
    }

    /// Whether the check was made weaker in between, for certain.
    pub(crate) fn is_weakened(&self) -> bool {
        self.weakened.iter().any(|mark| mark.certain)
    }
}

/// Two runs of one check over the same tree with different results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Flake {
    /// The command key.
    pub key: String,
    /// Pattern keys of the atoms that were in one run and not in the other.
    pub patterns: Vec<String>,
    /// These atoms, up to a limit.
    pub atoms: AtomList,
    /// The run without them, and the run with them.
    pub runs: [RunId; 2],
    /// The work tree, absolute.
    pub root: Lossless,
    /// What is worked on.
    pub task: String,
    /// When the later of the runs ended.
    pub ended_at: Timestamp,
    /// Its certainty.
    pub proof: FlakeProof,
    /// What is known and what isn't, for people.
    pub why: String,
}

/// How sure a flake is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum FlakeProof {
    /// Both trees are exact and the same, so are command line, programs and variables, and nothing else that is recorded
    /// changed.
    Proven,
    /// The trees are the same, but something around them changed, may have changed, or isn't known.
    Suspected,
}

words!(FlakeProof { Proven => "proven", Suspected => "suspected" });

/// What a person or an agent says about a fix. Later ones replace earlier ones, text by text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FixNote {
    /// `x-…`
    pub fix: String,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// Approach that fixed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approach: Option<String>,
    /// Rule that follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Why no entry is to be made of it; empty without a reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declined: Option<String>,
    /// Author of the statement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(value: &usize) -> bool {
    *value == 0
}
