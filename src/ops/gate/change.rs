//! The change that an evaluation judges: the work tree as a git tree, its base, and what differs.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Context;

use super::patience::lock_store;
use crate::base::lock::Lock;
use crate::base::text;
use crate::fix::patch::{FilePatch, Patch, PatchChange, PatchKind, PatchLine};
use crate::fix::snapshot::{
    BaseCommit, GitObjectReader, SnapshotOptions, TakenSnapshot, changed_paths, find_base, messages_since,
    patch_between, take_snapshot,
};
use crate::gate::document::ChangedDocument;
use crate::gate::measure::SOURCE_BYTES_MAX;
use crate::lesson::LessonFolder;
use crate::ops::request::Request;
use crate::recorder;

/// Time for everything that is asked of git in one step.
const GIT_TIME_MAX: Duration = Duration::from_secs(30);
/// The largest file of a tree, bytes.
const FILE_BYTES_MAX: u64 = 64 << 20;
/// The largest file that is read, bytes: the limit of the measures.
const TEXT_BYTES_MAX: u64 = SOURCE_BYTES_MAX as u64;
/// Changed files that a message names.
const NAMED_FILES_MAX: usize = 5;
/// Where other tools keep the state of a phase; not a part of the work.
pub(super) const SESSION_FOLDER: &str = ".prp-session";

/// A change.
#[derive(Debug)]
pub(super) struct Change {
    /// The tree of the work tree, untracked files included.
    pub tree: String,
    /// What it is compared with.
    pub base: BaseCommit,
    /// The difference, with enough context to judge weakened checks.
    pub patch: Patch,
    /// The changed files, sorted by path.
    pub files: Vec<ChangedFile>,
    /// All files of the tree, sorted.
    pub paths: Vec<String>,
    /// Messages of the commits since the base, the newest first.
    pub messages: Vec<String>,
}

/// A changed file.
#[derive(Debug, Clone)]
pub(super) struct ChangedFile {
    /// Relative to the root, with `/`.
    pub path: String,
    /// The text in the base; `None` where it was not there.
    pub before: Option<String>,
    /// The text now; `None` where it is not there any more.
    pub after: Option<String>,
    /// It is there now, and too large to be read or no text.
    pub is_unread: bool,
    /// Numbers of the lines that are new, from 1, ascending.
    pub added: Vec<u32>,
    /// Numbers of the lines that are new, and of those where lines went.
    pub touched: Vec<u32>,
}

/// A file of a tree.
struct TreeFile {
    is_there: bool,
    text: Option<String>,
}

/// What snapshots for the gate leave out, and how long they may take.
pub(super) fn gate_snapshot_options(request: &Request) -> SnapshotOptions {
    let settings = request.settings();
    let lessons = LessonFolder::find(&request.places, settings);
    let mut options = recorder::snapshot_options(&request.places, settings, &lessons);
    options.time_max = options.time_max.max(GIT_TIME_MAX);
    options.file_bytes_max = options.file_bytes_max.max(FILE_BYTES_MAX);
    options.excluded.push(SESSION_FOLDER.into());
    options
}

/// The work tree as a git tree.
///
/// # Errors
/// When there is no git repository, something is out of git's sight, or it takes too long.
pub(super) fn read_tree(request: &Request, options: &SnapshotOptions) -> anyhow::Result<TakenSnapshot> {
    take_tree(request, options, lock_store(request)?)
}

/// As [`read_tree`], of a caller that holds the store's lock.
///
/// # Errors
/// As [`read_tree`].
pub(super) fn take_tree(request: &Request, options: &SnapshotOptions, _held: Lock) -> anyhow::Result<TakenSnapshot> {
    let taken = take_snapshot(&request.places, options)
        .map_err(|skipped| anyhow::anyhow!("{skipped}"))
        .context("the work tree cannot be read as a git tree, so no verdict can be bound to it")?;
    let bound = "so no verdict can be bound to it";
    anyhow::ensure!(
        !taken.blind,
        "a part of the work tree is out of git's sight (a submodule, another repository or an unreadable file), {bound}"
    );
    anyhow::ensure!(
        taken.left_out == 0,
        "{} of the work tree larger than {} MiB, {bound}: remove or ignore what is not part of the work",
        text::count(taken.left_out, "file"),
        FILE_BYTES_MAX >> 20
    );
    Ok(taken)
}

/// Compares the work tree with its base.
///
/// # Errors
/// When git can't be asked, or `base` names no commit.
pub(super) fn read_change(request: &Request, tree: String, base: Option<&str>) -> anyhow::Result<Change> {
    let options = gate_snapshot_options(request);
    let failed = |skipped| anyhow::anyhow!("cannot compare with the base: {skipped}");
    let base = find_base(&request.places, base, &options).map_err(failed)?;
    let patch = if base.tree == tree {
        Patch::default()
    } else {
        patch_between(&request.places, &base.tree, &tree, &options).map_err(failed)?
    };
    let messages = messages_since(&request.places, &base, &options).map_err(failed)?;
    let reader = GitObjectReader::open_blobs(&request.places, &options).map_err(failed)?;
    let mut paths = reader.all_tree_paths(&tree).map_err(failed)?;
    paths.sort();
    let files = read_changed_files(&reader, &patch, [&base.tree, &tree]).map_err(failed)?;
    Ok(Change { tree, base, patch, files, paths, messages })
}

fn read_changed_files(
    reader: &GitObjectReader,
    patch: &Patch,
    trees: [&str; 2],
) -> Result<Vec<ChangedFile>, crate::fix::snapshot::SkippedSnapshot> {
    let side = |tree: &str, path: fn(&FilePatch) -> &String| -> Result<Vec<TreeFile>, _> {
        let names: Vec<(String, &str)> =
            patch.files.iter().map(|file| (tree.to_owned(), path(file).as_str())).collect();
        let blobs = reader.find_blobs(&names)?;
        let texts = reader.read_texts_up_to(&blobs, TEXT_BYTES_MAX)?;
        Ok(blobs.iter().zip(texts).map(|(blob, text)| TreeFile { is_there: blob.is_some(), text }).collect())
    };
    let (before, after) = (side(trees[0], |file| &file.old)?, side(trees[1], |file| &file.new)?);
    let mut files: BTreeMap<String, ChangedFile> = BTreeMap::new();
    for (file, (before, after)) in patch.files.iter().zip(before.into_iter().zip(after)) {
        let added = file.lines_of_kind(PatchKind::Added).map(|line| line.new).collect();
        let is_change = |line: &&PatchLine| line.kind != PatchKind::Context;
        let touched = file.all_lines().filter(is_change).map(|line| line.new).collect();
        let is_gone = file.change == PatchChange::Deleted;
        let changed = ChangedFile {
            path: file.new.clone(),
            before: before.text.filter(|_| file.change != PatchChange::Added),
            is_unread: !is_gone && after.is_there && after.text.is_none(),
            after: after.text.filter(|_| !is_gone),
            added,
            touched,
        };
        files.insert(changed.path.clone(), changed);
    }
    Ok(files.into_values().collect())
}

impl Change {
    /// The paths of the changed files that are still there.
    pub(super) fn present_paths(&self) -> Vec<String> {
        self.files.iter().filter(|file| file.after.is_some() || file.is_unread).map(|file| file.path.clone()).collect()
    }
}

impl ChangedFile {
    /// The file for judging documents.
    pub(super) fn to_document(&self) -> ChangedDocument<'_> {
        let (before, after) = (self.before.as_deref(), self.after.as_deref());
        ChangedDocument::with_added_lines(&self.path, before, after, self.added.clone())
    }
}

/// The files in which two trees of this work tree differ, for people: `2 files: a.ts, b.ts`.
///
/// # Errors
/// When git can't be asked.
pub(super) fn describe_difference(request: &Request, from: &str, to: &str) -> anyhow::Result<String> {
    let files = changed_paths(&request.places, from, to, &gate_snapshot_options(request))
        .map_err(|skipped| anyhow::anyhow!("cannot compare two trees: {skipped}"))?;
    let named: Vec<&str> = files.iter().map(String::as_str).take(NAMED_FILES_MAX).collect();
    Ok(format!("{}: {}", text::count(files.len(), "file"), named.join(", ")))
}

/// The texts of these files in a tree; `None` of one that is not there, larger than 2 MiB, or no text.
///
/// # Errors
/// When git can't be asked.
pub(super) fn read_texts(request: &Request, tree: &str, paths: &[String]) -> anyhow::Result<Vec<Option<String>>> {
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let failed = |skipped| anyhow::anyhow!("cannot read the tree: {skipped}");
    let reader = GitObjectReader::open_blobs(&request.places, &gate_snapshot_options(request)).map_err(failed)?;
    let names: Vec<(String, &str)> = paths.iter().map(|path| (tree.to_owned(), path.as_str())).collect();
    let blobs = reader.find_blobs(&names).map_err(failed)?;
    reader.read_texts_up_to(&blobs, TEXT_BYTES_MAX).map_err(failed)
}
