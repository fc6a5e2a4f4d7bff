//! The relation of two commits: whether one comes from the other, and which changes of a work tree came with another
//! base (a rebase, a merge, a pull) instead of the work in it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::git::{Git, GitError, GitView};
use super::place::ObjectFolder;
use super::take::{require_repository, snapshot_folders};
use super::{SkippedSnapshot, SnapshotOptions};
use crate::config::Places;

/// Of a branch's log of moves the last this many bytes are read.
const LOG_BYTES_MAX: u64 = 256 << 10;
/// References that may be the base of a branch, of every remote and here.
const BASES: [&str; 8] = [
    "refs/remotes/*/HEAD",
    "refs/remotes/*/main",
    "refs/remotes/*/master",
    "refs/remotes/*/trunk",
    "refs/remotes/*/develop",
    "refs/heads/main",
    "refs/heads/master",
    "refs/heads/trunk",
];
/// Bases that are tried.
const BASES_MAX: usize = 12;

/// A work tree at two moments.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HeadMove<'a> {
    /// The branch at the later one.
    pub branch: Option<&'a str>,
    /// The commits that were checked out.
    pub commits: [&'a str; 2],
    /// The snapshots.
    pub trees: [&'a str; 2],
}

/// Whether `new` has `old` in its history.
///
/// # Errors
/// When git can't be asked.
pub(crate) fn is_ancestor(
    places: &Places,
    old: &str,
    new: &str,
    options: &SnapshotOptions,
) -> Result<bool, SkippedSnapshot> {
    if old == new {
        return Ok(true);
    }
    check_hashes(&[old, new])?;
    let git = open_git(places, options)?;
    match git.run(GitView::User, ["merge-base", "--is-ancestor", old, new], None) {
        Ok(_) => Ok(true),
        Err(GitError::Failed(why)) if why.ends_with("exit status: 1") => Ok(false),
        Err(trouble) => Err(SkippedSnapshot::with_reason(trouble.reason_text())),
    }
}

/// Those of `olds` that `new` has in its history: two calls of git, however many there are.
///
/// # Errors
/// When git can't be asked.
pub(crate) fn read_ancestors(
    places: &Places,
    olds: &[&str],
    new: &str,
    options: &SnapshotOptions,
) -> Result<BTreeSet<String>, SkippedSnapshot> {
    let hashes: Vec<&str> = olds.iter().copied().chain([new]).collect();
    check_hashes(&hashes)?;
    let git = open_git(places, options)?;
    let ask = || -> Result<BTreeSet<String>, GitError> {
        let lines = |hashes: &[&str]| hashes.iter().map(|hash| format!("{hash}\n")).collect::<String>();
        let check = ["cat-file", "--batch-check=%(objectname) %(objecttype)"];
        let answer = git.run(GitView::User, check, Some(lines(&hashes).as_bytes()))?;
        let answer = String::from_utf8_lossy(&answer);
        let here: BTreeSet<&str> = answer.lines().filter_map(|line| line.strip_suffix(" commit")).collect();
        let olds: Vec<&str> = olds.iter().copied().filter(|old| here.contains(old)).collect();
        if olds.is_empty() || !here.contains(new) {
            return Ok(BTreeSet::new());
        }
        // What can be reached from them but not from the new one: an ancestor is not among it.
        let walk = format!("{}^{new}\n", lines(&olds));
        let beyond = git.run(GitView::User, ["rev-list", "--stdin"], Some(walk.as_bytes()))?;
        let beyond = String::from_utf8_lossy(&beyond);
        let beyond: BTreeSet<&str> = beyond.lines().collect();
        Ok(olds.into_iter().filter(|old| !beyond.contains(old)).map(str::to_owned).collect())
    };
    ask().map_err(|trouble| SkippedSnapshot::with_reason(trouble.reason_text()))
}

/// The changed files that came with another base, relative to the root: between the points where the old and the new
/// commit left a base, and with the same content on both sides as in the work tree.
///
/// # Errors
/// When git can't be asked.
pub(crate) fn came_with_base(
    places: &Places,
    moved: HeadMove<'_>,
    options: &SnapshotOptions,
) -> Result<BTreeSet<PathBuf>, SkippedSnapshot> {
    let [old, new] = moved.commits;
    if old == new {
        return Ok(BTreeSet::new());
    }
    check_hashes(&[old, new, moved.trees[0], moved.trees[1]])?;
    let git = open_git(places, options)?;
    let came = || -> Result<BTreeSet<PathBuf>, GitError> {
        let own = own_commits(places, moved.branch);
        let mut steps = BTreeSet::new();
        for base in base_commits(&git, moved.branch)? {
            let (before, after) = (fork_point(&git, old, &base)?, fork_point(&git, new, &base)?);
            // What was committed on this branch and pushed afterwards is in the base, but didn't come from it.
            if let (Some(before), Some(after)) = (before, after)
                && before != after
                && !own.contains(&after)
            {
                steps.insert((before, after));
            }
        }
        if steps.is_empty() {
            return Ok(BTreeSet::new());
        }
        let here = changes_in_history(&git, moved.trees[0], moved.trees[1], options)?;
        let mut came = BTreeSet::new();
        for (before, after) in steps {
            let there = changes_in_history(&git, &before, &after, options)?;
            came.extend(
                here.iter().filter(|(path, change)| there.get(*path) == Some(*change)).map(|(path, _)| path.clone()),
            );
        }
        Ok(came)
    };
    came().map_err(|trouble| SkippedSnapshot::with_reason(trouble.reason_text()))
}

pub(super) fn open_git(places: &Places, options: &SnapshotOptions) -> Result<Git, SkippedSnapshot> {
    let repository = require_repository(places)?;
    let place = ObjectFolder::open_for_reading(places)
        .map_err(|error| SkippedSnapshot::with_reason(format!("cannot write: {error}")))?;
    Git::new(snapshot_folders(places, repository, &place), Instant::now() + options.time_max)
}

/// From events and from files that anybody can have written: only a hash is an object here.
fn check_hashes(hashes: &[&str]) -> Result<(), SkippedSnapshot> {
    let is_hash = |hash: &&str| matches!(hash.len(), 40 | 64) && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    if hashes.iter().all(is_hash) { Ok(()) } else { Err(SkippedSnapshot::with_reason("not a commit")) }
}

/// Commits that the branch may be based on, without its own.
fn base_commits(git: &Git, branch: Option<&str>) -> Result<BTreeSet<String>, GitError> {
    let mut arguments = vec!["for-each-ref".to_owned(), "--format=%(refname) %(objectname)".to_owned()];
    arguments.extend(BASES.iter().map(|base| (*base).to_owned()));
    let upstream = branch.map(|branch| format!("refs/heads/{branch}"));
    let listed = git.run(GitView::User, arguments, None)?;
    let mut found = BTreeSet::new();
    for line in String::from_utf8_lossy(&listed).lines() {
        if let Some((name, commit)) = line.split_once(' ')
            && upstream.as_deref() != Some(name)
            && found.len() < BASES_MAX
        {
            found.insert(commit.to_owned());
        }
    }
    if let Some(name) = upstream {
        let asked = git.run(GitView::User, ["rev-parse", "--quiet", "--verify", &format!("{name}@{{upstream}}")], None);
        let commit = asked.map(|answer| String::from_utf8_lossy(&answer).trim().to_owned()).unwrap_or_default();
        found.extend((!commit.is_empty()).then_some(commit));
    }
    Ok(found)
}

/// Where `commit` left `base`; `None` when they have nothing in common.
pub(super) fn fork_point(git: &Git, commit: &str, base: &str) -> Result<Option<String>, GitError> {
    if commit == base {
        return Ok(Some(commit.to_owned()));
    }
    match git.run(GitView::User, ["merge-base", commit, base], None) {
        Ok(answer) => Ok(String::from_utf8_lossy(&answer).lines().next().map(str::to_owned)),
        Err(GitError::Failed(why)) if why.ends_with("exit status: 1") => Ok(None),
        Err(trouble) => Err(trouble),
    }
}

/// The contents of each file that differs, before and after.
fn changes_in_history(
    git: &Git,
    from: &str,
    to: &str,
    options: &SnapshotOptions,
) -> Result<BTreeMap<PathBuf, (String, String)>, GitError> {
    let mut arguments: Vec<std::ffi::OsString> =
        ["diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", from, to, "--", ":(top)"]
            .map(Into::into)
            .into();
    for folder in &options.excluded {
        let mut excluded = std::ffi::OsString::from(":(top,exclude,literal)");
        excluded.push(folder);
        arguments.push(excluded);
    }
    let printed = git.run(GitView::Both, arguments, None)?;
    let mut found = BTreeMap::new();
    let mut fields = printed.split(|byte| *byte == 0);
    while let (Some(head), Some(path)) = (fields.next(), fields.next()) {
        let head = String::from_utf8_lossy(head).into_owned();
        let mut words = head.split(' ').skip(2);
        let (Some(before), Some(after)) = (words.next(), words.next()) else { continue };
        let path = <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(path);
        found.insert(PathBuf::from(path), (before.to_owned(), after.to_owned()));
    }
    Ok(found)
}

/// Commits that were made on the branch, by git's own log of its moves.
fn own_commits(places: &Places, branch: Option<&str>) -> BTreeSet<String> {
    let (Some(repository), Some(branch)) = (&places.repository, branch) else { return BTreeSet::new() };
    if branch.split('/').any(|part| part == "..") {
        return BTreeSet::new();
    }
    let log = read_tail(&repository.common_dir.join("logs/refs/heads").join(branch)).unwrap_or_default();
    let log = String::from_utf8_lossy(&log);
    log.lines().filter_map(own_commit).collect()
}

/// The new commit of a line `<old> <new> <who> <when>\t<what>`, if it was made there.
fn own_commit(line: &str) -> Option<String> {
    let (head, what) = line.split_once('\t')?;
    let new = head.split(' ').nth(1)?;
    (what.starts_with("commit") || what.starts_with("cherry-pick") || what.starts_with("revert"))
        .then(|| new.to_owned())
}

fn read_tail(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let size = file.metadata()?.len();
    file.seek(SeekFrom::Start(size.saturating_sub(LOG_BYTES_MAX)))?;
    let mut bytes = Vec::new();
    file.take(LOG_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}
