//! The snapshot of the work tree at a run, and its changes.

use serde::{Deserialize, Serialize};

use crate::base::ids::RunId;
use crate::base::lossless::Lossless;

/// The work tree at a run, passed or failed. Its id is derived from the run's: there is one for a run at most, and none
/// for a run outside a git work tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Snapshot {
    pub run: RunId,
    /// The git tree, hex. Its objects are in the state folder of the machine that took it, and not forever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// The tree is what the run saw: no file of it changed after the run had started, and nothing in the work tree is
    /// out of git's sight (a populated submodule, another repository). Else it may be what was there a moment later.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exact: bool,
    /// A file changed after the run had ended and before the tree was taken: the tree is not the run's for certain. Absent
    /// in events of older versions, which did not tell.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub late: bool,
    /// Why there is no tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// Files that are not in the tree: too large, unreadable, repositories of their own.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
    /// What `files` and `diff` compare the tree with; absent when there was nothing to compare it with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<SnapshotBase>,
    /// The files that differ from the base, sorted by path, up to a limit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileChange>,
    /// Files beyond the limit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub files_cut: u64,
    /// The unified diff from the base, redacted, control characters removed, up to a limit. Of a failure only.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub diff: String,
    /// Bytes of the diff beyond the limit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub diff_cut: u64,
    /// Why the base could not be compared: its objects are gone, or it took too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unavailable: Option<String>,
}

/// What a tree was compared with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub(crate) enum SnapshotBase {
    /// The tree of the last passing run of the same command key.
    Pass { run: RunId, tree: String },
    /// The commit that was checked out: the key has not passed with a tree yet.
    Head {
        /// The commit's tree.
        tree: String,
    },
}

impl SnapshotBase {
    /// The tree.
    pub(crate) fn tree_id(&self) -> &str {
        match self {
            SnapshotBase::Pass { tree, .. } | SnapshotBase::Head { tree } => tree,
        }
    }
}

/// A file that differs between two trees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct FileChange {
    /// Relative to the root, with `/`; secrets in it replaced.
    pub path: Lossless,
    /// What happened to it.
    pub kind: FileChangeKind,
    /// Its path before, of a renamed one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Lossless>,
    /// Lines added.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub added: u64,
    /// Lines removed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub removed: u64,
    /// Named only: binary, the content of a filter (LFS), or a file that holds secrets by its name.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub opaque: bool,
}

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum FileChangeKind {
    /// It was not there before.
    Added,
    /// It is not there any more.
    Removed,
    /// Its content or its mode changed.
    Modified,
    /// It had another path; its content may have changed too.
    Renamed,
    /// A file became a link, a link a submodule, or the other way round.
    Retyped,
}

impl FileChangeKind {
    /// The word in events and tables.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            FileChangeKind::Added => "added",
            FileChangeKind::Removed => "removed",
            FileChangeKind::Modified => "modified",
            FileChangeKind::Renamed => "renamed",
            FileChangeKind::Retyped => "retyped",
        }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
