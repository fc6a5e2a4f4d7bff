//! A work tree that was seen, as a git tree.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use crate::base::clock::Timestamp;

/// A work tree as a git tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TakenSnapshot {
    /// The tree's id, hex.
    pub tree: String,
    /// When a file of the tree changed last, by its content or its attributes; for a removed one, its folder.
    pub changed_at: Timestamp,
    /// Something in the work tree is out of git's sight: a populated submodule, another repository, a file that can't
    /// be read, a known one that is too large.
    pub blind: bool,
    /// Whether it is so for another reason than submodules that are checked out.
    pub has_unseen: bool,
    /// The submodules that are checked out, relative to the root.
    pub submodules: Vec<PathBuf>,
    /// Files that are not in the tree.
    pub left_out: u64,
    /// Whether a folder that the options leave out has files in git's sight: without that option the tree is another one.
    pub has_excluded: bool,
    /// When the snapshot was begun.
    pub at: Timestamp,
    /// The stamp of the work tree as it was then, if it has one.
    pub(super) stamp: Option<String>,
}

impl TakenSnapshot {
    /// Whether a run that was started then saw this tree, so far as times can tell: a file system's clock may be behind
    /// by one tick of the system's.
    pub(crate) fn is_exact_for(&self, started_at: Timestamp) -> bool {
        !self.blind && self.changed_at.0.saturating_add(tick_micros()) < started_at.0
    }
}

/// One tick of the clock that file times are made of, microseconds.
#[cfg(target_os = "linux")]
pub(super) fn tick_micros() -> i64 {
    const USUAL: i64 = 4_000;
    let tick = nix::time::clock_getres(nix::time::ClockId::CLOCK_REALTIME_COARSE);
    tick.map_or(USUAL, |tick| tick.tv_nsec() / 1_000)
}

/// One tick of the clock that file times are made of, microseconds.
#[cfg(not(target_os = "linux"))]
pub(super) fn tick_micros() -> i64 {
    0
}

/// When a file changed last in any way, microseconds since the epoch.
pub(super) fn change_time(metadata: &Metadata) -> i64 {
    let micros = |seconds: i64, nanos: i64| seconds.saturating_mul(1_000_000).saturating_add(nanos / 1_000);
    micros(metadata.mtime(), metadata.mtime_nsec()).max(micros(metadata.ctime(), metadata.ctime_nsec()))
}
