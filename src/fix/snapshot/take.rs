//! Taking a snapshot: changes since the last index are added to it, and the index becomes a tree.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::git::{Git, GitError, GitFolders, GitView};
use super::look::WorkTreeScan;
use super::place::ObjectFolder;
use super::settings::GitSettings;
use super::stamp::{SeenFiles, StampedLook, WorkTreeStamp};
use super::taken::{TakenSnapshot, tick_micros};
use super::{SkippedSnapshot, SnapshotOptions};
use crate::base::clock::Timestamp;
use crate::base::file::create_private_dir;
use crate::base::threads::joined;
use crate::config::{Places, Repository};

/// A file may change while git reads it; then everything is looked at again, this many times in all.
const TRIES: usize = 3;

/// Fewer new trees than this are written one by one.
const COPIED_MIN: usize = 200;

/// The work tree of `places` as it is now. The caller holds the recorder's lock.
///
/// # Errors
/// When there is none, with the reason; one that took too long is not tried again for a while.
pub(crate) fn take_snapshot(places: &Places, options: &SnapshotOptions) -> Result<TakenSnapshot, SkippedSnapshot> {
    let now = Timestamp::now();
    let until = Instant::now() + options.time_max;
    let repository = require_repository(places)?;
    let mut place = ObjectFolder::open_for_snapshot(places)
        .map_err(|error| SkippedSnapshot::with_reason(format!("cannot write: {error}")))?;
    if let Some(skipped) = place.pause_reason(now) {
        return Err(skipped);
    }
    let git = Git::new(snapshot_folders(places, repository, &place), until)?;
    let taken = take_with(&git, &mut place, repository, options, now);
    match taken {
        Ok(taken) => {
            place.note_success(&taken.tree, now);
            Ok(taken)
        }
        Err(trouble) => {
            let why = SkippedSnapshot::with_reason(match &trouble {
                GitError::Late => format!("it took longer than {} s", options.time_max.as_secs_f64()),
                other => other.reason_text(),
            });
            if matches!(trouble, GitError::Failed(_)) {
                // The cause may be verify-run's own index.
                place.start_anew();
            }
            place.note_failure(&why, now);
            Err(why)
        }
    }
}

/// The tree of the commit that is checked out; `None` before the first one.
///
/// # Errors
/// When git can't be asked.
pub(crate) fn head_tree(
    places: &Places,
    commit: Option<&str>,
    time_max: Duration,
) -> Result<Option<String>, SkippedSnapshot> {
    let repository = require_repository(places)?;
    let place = ObjectFolder::open_for_reading(places)
        .map_err(|error| SkippedSnapshot::with_reason(format!("cannot write: {error}")))?;
    let git = Git::new(snapshot_folders(places, repository, &place), Instant::now() + time_max)?;
    ask_head_tree(&git, commit).map_err(|trouble| SkippedSnapshot::with_reason(trouble.reason_text()))
}

/// The tree of an index file of the user's: what a commit would have. Nothing is written to the user's objects. The caller
/// holds the recorder's lock.
///
/// # Errors
/// When git can't be asked, or the index has conflicts.
pub(crate) fn index_tree(places: &Places, index: &Path, time_max: Duration) -> Result<String, SkippedSnapshot> {
    let repository = require_repository(places)?;
    let cannot_write = |error| SkippedSnapshot::with_reason(format!("cannot write: {error}"));
    let place = ObjectFolder::open_for_reading(places).map_err(cannot_write)?;
    let copy = tempfile::Builder::new().prefix(".tmp-").tempdir_in(place.scratch_path()).map_err(cannot_write)?;
    let copied = copy.path().join("index");
    fs::copy(index, &copied)
        .map_err(|error| SkippedSnapshot::with_reason(format!("cannot read the index: {error}")))?;
    let mut git = Git::new(snapshot_folders(places, repository, &place), Instant::now() + time_max)?;
    git.set_index(copied);
    write_tree(&git).map_err(|trouble| SkippedSnapshot::with_reason(trouble.reason_text()))
}

fn ask_head_tree(git: &Git, commit: Option<&str>) -> Result<Option<String>, GitError> {
    // From a file that anybody can have written: only a hash is a commit here.
    let commit = commit.filter(|commit| commit.bytes().all(|byte| byte.is_ascii_hexdigit())).unwrap_or("HEAD");
    let tree = format!("{commit}^{{tree}}");
    match git.run(GitView::User, ["rev-parse", "--quiet", "--verify", &tree], None) {
        Ok(answer) => Ok(Some(String::from_utf8_lossy(&answer).trim().to_owned())),
        Err(GitError::Failed(why)) if why.ends_with(": exit status: 1") => Ok(None),
        Err(trouble) => Err(trouble),
    }
}

pub(super) fn require_repository(places: &Places) -> Result<&Repository, SkippedSnapshot> {
    match &places.repository {
        Some(repository) if repository.worktree.is_some() => Ok(repository),
        Some(_) => Err(SkippedSnapshot::with_reason("a bare repository has no work tree")),
        None => Err(SkippedSnapshot::with_reason("not in a git repository")),
    }
}

pub(super) fn snapshot_folders(places: &Places, repository: &Repository, place: &ObjectFolder) -> GitFolders {
    GitFolders {
        root: places.root.clone(),
        git_dir: place.git_dir(),
        objects: places.state.objects(),
        user_git_dir: repository.git_dir.clone(),
        user_objects: repository.common_dir.join("objects"),
        scratch: place.scratch_path().to_owned(),
    }
}

/// Lists the work tree, puts what changed into our index, and writes that as a tree; again from the beginning where a file
/// changes meanwhile.
fn take_with(
    git: &Git,
    place: &mut ObjectFolder,
    repository: &Repository,
    options: &SnapshotOptions,
    now: Timestamp,
) -> Result<TakenSnapshot, GitError> {
    let stamp = place.stamp(options);
    let (settings, seen) = ask_settings(git, place.status.tree.is_some(), stamp.as_ref())?;
    let rules = settings.rule_files(git);
    let is_changed = place.prepare_folder(repository, &settings)?;
    let stamp = stamp.filter(|stamp| !is_changed && stamp.holds_outside(&rules));
    let (mut listing, mut has_excluded) = (None, false);
    let (mut has_absent, mut has_filters) = (false, true);
    match (seen, &stamp) {
        (SeenWorkTree::AsBefore, Some(stamp)) if !place.is_index_new(repository)? => return Ok(stamp.as_taken(now)),
        (SeenWorkTree::Changed(listed), Some(stamp)) => {
            (listing, has_excluded) = (Some(listed), stamp.has_excluded());
            (has_absent, has_filters) = (stamp.has_absent(), stamp.may_have_filters(git, &rules));
        }
        (SeenWorkTree::Listed(listed), _) if !is_changed => listing = Some(listed),
        _ => {}
    }
    let mut tries = 0;
    loop {
        tries += 1;
        let is_new = place.seed_index(repository)?;
        if is_new {
            copy_folders(git, place)?;
            if settings.has_sparse_index {
                refresh_index(git)?;
            }
        }
        let listed = listing.take().filter(|_| !is_new);
        let is_listed = listed.is_some();
        let listed = listed.map_or_else(|| WorkTreeScan::list_files(git), Ok)?;
        let mut look = WorkTreeScan::read_listing(&listed, git, options)?;
        if look.is_overlooked {
            refresh_index(git)?;
            look = WorkTreeScan::read_listing(&WorkTreeScan::list_files(git)?, git, options)?;
        }
        let known = place.status.tree.clone().filter(|_| !is_new && look.is_unchanged());
        let seen = match known {
            Some(tree) => look.last_change(git).map(|(at, files)| (tree, at, files)),
            None => look
                .put_in(git, &settings.format, has_filters || !is_listed)
                .and_then(|()| write_and_look(git, &mut look)),
        };
        let (tree, changed_at, files) = match seen {
            Err(GitError::Failed(_)) if tries < TRIES => continue,
            seen => seen?,
        };
        let mut taken = TakenSnapshot {
            tree,
            changed_at,
            blind: look.blind || !look.submodules.is_empty(),
            has_unseen: look.blind,
            submodules: look.submodules,
            left_out: look.left_out,
            has_excluded: look.has_excluded || has_excluded,
            at: now,
            stamp: None,
        };
        if !taken.blind && taken.left_out == 0 {
            let has_absent = look.has_absent || is_listed && has_absent;
            let look = StampedLook { options, taken: &taken, tick: tick_micros(), rules: &rules, has_absent };
            // Without one the next look takes longer.
            let written = WorkTreeStamp::write(place.scratch_path(), git, look, files, stamp.as_ref());
            taken.stamp = written.unwrap_or_default();
        }
        return Ok(taken);
    }
}

/// Writes our index as a tree, and looks at the files meanwhile: git has read what is in it.
fn write_and_look(git: &Git, look: &mut WorkTreeScan<'_>) -> Result<(String, Timestamp, SeenFiles), GitError> {
    thread::scope(|scope| {
        let written = scope.spawn(|| write_tree(git));
        let (at, files) = look.last_change(git)?;
        let tree = joined(written)?;
        Ok((tree, at, files))
    })
}

/// What is known of the work tree while the user's settings are asked for.
enum SeenWorkTree {
    /// Nothing.
    Unknown,
    /// Its files and folders are as the stamp says.
    AsBefore,
    /// As the stamp says, but for contents of some files: what git would list.
    Changed(Vec<u8>),
    /// What git lists.
    Listed(Vec<u8>),
}

/// Asks for the user's settings and, where our git folder probably has them already, for what is in the work tree at the
/// same time: that answer holds if nothing of what it depends on turns out to have changed.
fn ask_settings(
    git: &Git,
    is_known: bool,
    stamp: Option<&WorkTreeStamp>,
) -> Result<(GitSettings, SeenWorkTree), GitError> {
    let see = || {
        let stamped = stamp.and_then(|stamp| Some((stamp, stamp.changes_inside(git.root_path())?)));
        match stamped {
            Some((_, changed)) if changed.is_empty() => SeenWorkTree::AsBefore,
            Some((stamp, changed)) => SeenWorkTree::Changed(stamp.as_listing(&changed)),
            None => WorkTreeScan::list_files(git).map_or(SeenWorkTree::Unknown, SeenWorkTree::Listed),
        }
    };
    thread::scope(|scope| {
        let seen = is_known.then(|| thread::Builder::new().spawn_scoped(scope, see));
        let settings = GitSettings::ask_git(git);
        let seen = seen.and_then(|begun| begun.ok()?.join().ok()).unwrap_or(SeenWorkTree::Unknown);
        Ok((settings?, seen))
    })
}

/// Copies the trees of the commit into our objects, all in one pack, if many are new.
///
/// Without the user's objects git writes every tree that it doesn't find in ours ([`write_tree`]), each as a file: of
/// 6,000 folders that takes seconds. Copied from pack to pack it takes a tenth of one.
fn copy_folders(git: &Git, place: &mut ObjectFolder) -> Result<(), GitError> {
    let Ok(Some(head)) = ask_head_tree(git, None) else { return Ok(()) };
    let copied = place.status.copied.replace(head.clone());
    if copied.as_ref() == Some(&head) {
        return Ok(());
    }
    let list = |without: Option<&str>| {
        let fixed = ["rev-list", "--objects", "--filter=blob:none", "--no-object-names", head.as_str()];
        git.run(GitView::Both, fixed.into_iter().chain(without), None)
    };
    let without = copied.map(|copied| format!("^{copied}"));
    // The other one may be gone; and where there is nothing to copy, everything goes on, slower.
    let new = match without.as_deref().map(|without| list(Some(without))) {
        Some(Ok(new)) => Ok(new),
        _ => list(None),
    };
    let trees = match new {
        Ok(trees) if trees.iter().filter(|&&byte| byte == b'\n').count() >= COPIED_MIN => trees,
        Err(trouble @ GitError::Late) => return Err(trouble),
        _ => return Ok(()),
    };
    let base = git.objects_path().join("pack");
    create_private_dir(&base)?;
    let arguments = ["pack-objects", "--quiet", "--window=0"].map(OsStr::new);
    let base = base.join("pack");
    git.run(GitView::Both, arguments.into_iter().chain([base.as_os_str()]), Some(&trees)).map(|_| ())
}

/// Looks also at files that git was asked to take as unchanged, and unfolds a sparse index, which takes the user's
/// objects.
fn refresh_index(git: &Git) -> Result<(), GitError> {
    match git.run(GitView::Both, ["update-index", "-q", "--really-refresh", "--force-write-index"], None) {
        // That something differs.
        Err(GitError::Failed(why)) if why.ends_with(": exit status: 1") => Ok(()),
        result => result.map(|_| ()),
    }
}

fn write_tree(git: &Git) -> Result<String, GitError> {
    // Without the user's objects: the tree's objects are then written to verify-run's folder, and nothing of the
    // user's is touched, not even the time of a pack that has the same tree.
    let printed = git.run(GitView::Own, ["write-tree", "--missing-ok"], None)?;
    Ok(String::from_utf8_lossy(&printed).trim().to_owned())
}
