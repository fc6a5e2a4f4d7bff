//! The work tree at a run, as a git tree: the only module that starts git.
//!
//! [`take_snapshot`] makes the tree, [`diff_trees`] compares two, [`prune_objects`] forgets old ones. Nothing of the user's repository is
//! changed, locked or trusted: git runs in a git folder of our own (`snapshots/<work tree>/git` in the state folder)
//! whose configuration is ours, so that no hook, filter, text conversion, file monitor or credential helper of the
//! user's can run. From the user's it has
//!
//! - a copy of the index, whenever that has changed: what is known there need not be read again,
//! - the objects, as an alternate that is only read,
//! - the few settings that decide what content means (line ends, file modes, ignored files), and `info/exclude` and
//!   `info/attributes`.
//!
//! [`check_out_tree`] writes a tree into a folder elsewhere. [`work_tree_changes`] alone reads the user's repository as it is: what is about to be committed only its index knows.
//!
//! New objects go to `objects/` in the state folder, trees without exception: a user's `git gc` can only take contents
//! that were committed or staged, which makes a comparison unavailable and breaks nothing.

mod base;
mod blobs;
mod changes;
mod checkout;
mod diff;
mod git;
mod history;
mod ignored;
mod line_ends;
mod look;
mod place;
mod prune;
mod secret_files;
mod settings;
mod stamp;
mod take;
mod taken;
mod vault;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

pub(crate) use base::{BaseCommit, find_base, find_default_branch, messages_since};
pub(crate) use blobs::GitObjectReader;
pub(crate) use changes::{ChangesError, DiffScope, work_tree_changes};
pub(crate) use checkout::{CheckoutLimits, check_out_tree};
pub(crate) use diff::{Diff, DiffLimits, changed_paths, changed_paths_after_moves, diff_trees, patch_between};
pub(crate) use history::{HeadMove, came_with_base, is_ancestor, read_ancestors};
pub(crate) use ignored::{IgnoredEntry, list_ignored, without_ignored};
pub(crate) use line_ends::digest_line_ends;
pub(crate) use place::{ObjectFolderStatus, folder_statuses};
pub(crate) use prune::{PruneReport, folder_size, is_due, prune_objects, purge_objects};
pub(crate) use secret_files::is_secret;
pub(crate) use take::{head_tree, index_tree, take_snapshot};
pub(crate) use taken::TakenSnapshot;
pub(crate) use vault::{BundleBranch, KeptFile, KeptTrees, TreeFile, TreeFileChange, TreeVault, TreesToKeep};

/// What a snapshot leaves out and how long it may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SnapshotOptions {
    /// For everything together.
    pub time_max: Duration,
    /// A larger file is left out, bytes.
    pub file_bytes_max: u64,
    /// Folders that are left out, relative to the root.
    pub excluded: Vec<PathBuf>,
}

/// What [`prune_objects`] keeps beside what is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PruneLimits {
    /// Trees that are not older.
    pub age_max: Duration,
    /// Objects in all, bytes.
    pub bytes_max: u64,
}

/// Why there is no snapshot, or no comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SkippedSnapshot {
    /// A lowercase fragment for people, one line.
    pub reason: String,
}

impl SkippedSnapshot {
    fn with_reason(reason: impl Into<String>) -> Self {
        SkippedSnapshot { reason: reason.into() }
    }
}

impl fmt::Display for SkippedSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}
