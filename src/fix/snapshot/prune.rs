//! Forgetting old trees: what is still reachable is packed, the rest is removed.

use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use super::git::{Git, GitError, GitView};
use super::place::{self, ObjectFolder, folder_statuses};
use super::take::{require_repository, snapshot_folders};
use super::{PruneLimits, SkippedSnapshot};
use crate::base::clock::Timestamp;
use crate::base::file::{Durability, create_private_dir, write_atomic};
use crate::config::{Places, StateDir};
use crate::store::TreeUse;

/// How often the older half of what may go is given up to get below the size.
const ROUNDS_MAX: usize = 16;
/// Loose objects in one of 256 folders from which on packing is worth it before its time (git's own `gc.auto` is 27).
const LOOSE_IN_FOLDER_MAX: usize = 80;
/// A purge may take so long, milliseconds.
const PURGE_MS_MAX: u64 = 60_000;
/// Packing is done so often at least, seconds.
const PERIOD_SECONDS: u64 = 86_400;

/// The result of a pruning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PruneReport {
    /// Trees that were kept.
    pub trees: usize,
    /// Size of the objects before, bytes.
    pub bytes_before: u64,
    /// And after.
    pub bytes: u64,
}

/// Whether the last [`prune_objects`] is a day ago, or, where no caller waits, many objects came since. Cheap.
pub(crate) fn is_due(state: &StateDir, now: Timestamp, has_time: bool) -> bool {
    let objects = state.objects();
    if !objects.is_dir() {
        return false;
    }
    // Any of the 256 says how many there are in all.
    let loose = fs::read_dir(objects.join("17")).into_iter().flatten().count();
    let last = fs::metadata(state.prune_mark()).and_then(|metadata| metadata.modified()).ok();
    let age = last.and_then(|last| last.duration_since(std::time::UNIX_EPOCH).ok()).map(|last| {
        let seconds = u64::try_from(now.0 / 1_000_000).unwrap_or(0);
        seconds.abs_diff(last.as_secs())
    });
    has_time && loose > LOOSE_IN_FOLDER_MAX || age.is_none_or(|age| age > PERIOD_SECONDS)
}

/// Starts the time to the first [`prune_objects`].
pub(super) fn start_period(state: &StateDir) -> io::Result<()> {
    let mark = state.prune_mark();
    if mark.exists() { Ok(()) } else { write_atomic(&mark, b"", 0o600, Durability::Cached) }
}

/// Bytes of the objects of all snapshots.
pub(crate) fn folder_size(state: &StateDir) -> u64 {
    folder_bytes(&state.objects())
}

/// Keeps of `uses` (newest first) what is needed or young enough, and gives up the oldest of what isn't needed until
/// the objects are small enough. The last tree of each work tree stays, because its index is made of it. The caller
/// holds the recorder's lock.
///
/// # Errors
/// When git fails. Then nothing is removed, unless there is too much: then everything is.
pub(crate) fn prune_objects(
    places: &Places,
    uses: &[TreeUse],
    keep: PruneLimits,
    time_max: Duration,
) -> Result<PruneReport, SkippedSnapshot> {
    let bytes_before = folder_size(&places.state);
    forget_gone_work_trees(&places.state);
    let repository = require_repository(places)?;
    let place = ObjectFolder::open_for_reading(places)
        .map_err(|error| SkippedSnapshot::with_reason(format!("cannot write: {error}")))?;
    // Also when it fails: it would the next time, too.
    let marked = write_atomic(&places.state.prune_mark(), b"", 0o600, Durability::Cached);
    marked.map_err(|error| SkippedSnapshot::with_reason(format!("cannot write: {error}")))?;
    let git = Git::new(snapshot_folders(places, repository, &place), Instant::now() + time_max)?;
    let now = Timestamp::now();
    let is_young = |tree: &TreeUse| Duration::from_micros(now.micros_since(tree.at)) <= keep.age_max;
    let mut needed: Vec<String> = folder_statuses(&places.state).into_iter().filter_map(|status| status.tree).collect();
    needed.extend(uses.iter().filter(|tree| tree.needed).map(|tree| tree.tree.clone()));
    let young = uses.iter().filter(|tree| !tree.needed && is_young(tree)).map(|tree| tree.tree.clone());
    match pack_objects(&git, &places.state.objects(), &needed, young.collect(), keep.bytes_max) {
        Ok(trees) => Ok(PruneReport { trees, bytes_before, bytes: folder_size(&places.state) }),
        Err(trouble) if bytes_before > keep.bytes_max => {
            let _ = fs::remove_dir_all(places.state.objects());
            Err(SkippedSnapshot::with_reason(format!("{}; the trees are gone", trouble.reason_text())))
        }
        Err(trouble) => Err(SkippedSnapshot::with_reason(trouble.reason_text())),
    }
}

/// Removes what no run of `uses` has, the last trees of work trees included.
///
/// # Errors
/// As [`prune_objects`].
pub(crate) fn purge_objects(places: &Places, uses: &[TreeUse]) -> Result<(), SkippedSnapshot> {
    if !places.state.objects().is_dir() {
        return Ok(());
    }
    place::forget_unused(&places.state, |tree| uses.iter().any(|it| it.tree == tree));
    let keep = PruneLimits { age_max: Duration::MAX, bytes_max: u64::MAX };
    prune_objects(places, uses, keep, Duration::from_millis(PURGE_MS_MAX)).map(|_| ())
}

/// One pack of everything that these trees have in our objects, and nothing else; how many trees it has.
fn pack_objects(
    git: &Git,
    objects: &Path,
    needed: &[String],
    mut young: Vec<String>,
    bytes_max: u64,
) -> Result<usize, GitError> {
    let needed = present_trees(git, needed)?;
    young = present_trees(git, &young)?;
    let folder = objects.join("pack");
    create_private_dir(&folder)?;
    for round in 1.. {
        let trees: Vec<&str> = needed.iter().chain(&young).map(String::as_str).collect();
        if trees.is_empty() {
            remove_all_but(objects, None);
            return Ok(0);
        }
        let base = folder.join("pack");
        // Contents that only the user's objects have are theirs to keep.
        let arguments = ["pack-objects", "--revs", "--missing=allow-any", "--quiet", "--window=5"];
        let arguments = arguments.iter().map(std::ffi::OsStr::new).chain([base.as_os_str()]);
        let printed = git.run(GitView::Own, arguments, Some((trees.join("\n") + "\n").as_bytes()))?;
        let name = format!("pack-{}", String::from_utf8_lossy(&printed).trim());
        let bytes = fs::metadata(folder.join(format!("{name}.pack"))).map_or(0, |metadata| metadata.len());
        if bytes <= bytes_max || young.is_empty() || round == ROUNDS_MAX {
            remove_all_but(objects, Some(&name));
            return Ok(trees.len());
        }
        young.truncate(young.len() / 2);
    }
    Ok(0)
}

/// Those that are in our objects: another machine's are not.
fn present_trees(git: &Git, trees: &[String]) -> Result<Vec<String>, GitError> {
    if trees.is_empty() {
        return Ok(Vec::new());
    }
    let asked: String = trees.iter().filter(|tree| is_hash(tree)).map(|tree| format!("{tree}\n")).collect();
    let printed = git.run(GitView::Own, ["cat-file", "--batch-check"], Some(asked.as_bytes()))?;
    let printed = String::from_utf8_lossy(&printed);
    let trees = printed.lines().filter_map(|line| line.split_once(" tree ")).map(|(tree, _)| tree.to_owned());
    Ok(trees.collect())
}

pub(super) fn is_hash(tree: &str) -> bool {
    matches!(tree.len(), 40 | 64) && tree.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Removes every object that isn't in the pack of this name.
fn remove_all_but(objects: &Path, pack: Option<&str>) {
    for entry in fs::read_dir(objects).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.len() == 2 && name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    for entry in fs::read_dir(objects.join("pack")).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let stays = pack.is_some_and(|pack| name.to_string_lossy().starts_with(pack));
        if !stays {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn forget_gone_work_trees(state: &StateDir) {
    for entry in fs::read_dir(state.snapshots()).into_iter().flatten().flatten() {
        let status = place::read_status(&entry.path());
        if status.is_some_and(|status| !status.root.path().is_dir()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn folder_bytes(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let bytes = entries.map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => folder_bytes(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    });
    bytes.sum()
}
