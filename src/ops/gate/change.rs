//! The change that an evaluation judges: the work tree as a git tree, its base, and what differs.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::Context;

use super::patience::lock_store;
use crate::base::lock::Lock;
use crate::base::text;
use crate::base::threads::joined;
use crate::fix::patch::{Patch, PatchChange, PatchKind, PatchLine};
use crate::fix::snapshot::{
    BaseCommit, GitObjectReader, SkippedSnapshot, SnapshotOptions, TakenSnapshot, changed_paths,
    changed_paths_after_moves, find_base, messages_since, patch_between, take_snapshot,
};
use crate::gate::document::ChangedDocument;
use crate::gate::measure::SOURCE_BYTES_MAX;
use crate::gate::stack::StackProject;
use crate::lesson::LessonFolder;
use crate::ops::request::Request;
use crate::recorder;

/// Time for everything that is asked of git in one step.
const GIT_TIME_MAX: Duration = Duration::from_secs(30);
/// The largest file of a tree, bytes.
const FILE_BYTES_MAX: u64 = 64 << 20;
/// The largest file that is read, bytes: the limit of the measures.
const TEXT_BYTES_MAX: u64 = SOURCE_BYTES_MAX as u64;
/// Texts that are in memory at a time, bytes.
const READ_AT_ONCE_BYTES_MAX: u64 = 16 << 20;
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
    /// The hash of the content of each of them, in the same order.
    pub blobs: Vec<String>,
    /// Texts of unchanged files that were read before.
    texts: Mutex<BTreeMap<String, Option<String>>>,
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

/// What is judged.
pub(super) struct JudgedChange<'a> {
    /// The change.
    pub change: &'a Change,
    /// The projects that it is judged in.
    pub projects: Vec<StackProject>,
    /// The work tree with it.
    pub tree: &'a TakenSnapshot,
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

/// Takes the tree and finds its base at the same time: neither needs the other.
///
/// # Errors
/// As [`read_tree`]; when git can't be asked, or `base` names no commit.
pub(super) fn read_tree_and_base(request: &Request, base: Option<&str>) -> anyhow::Result<(TakenSnapshot, BaseCommit)> {
    let options = gate_snapshot_options(request);
    let (taken, base) = thread::scope(|scope| {
        let beside = scope.spawn(|| find_base(&request.places, base, &options));
        let taken = read_tree(request, &options);
        (taken, joined(beside))
    });
    Ok((taken?, base.map_err(not_comparable)?))
}

fn not_comparable(skipped: SkippedSnapshot) -> anyhow::Error {
    anyhow::anyhow!("cannot compare with the base: {skipped}")
}

/// The paths of all files of a tree, and of those in which it differs from its base, both sorted.
///
/// # Errors
/// When git can't be asked.
pub(super) fn read_paths(request: &Request, tree: &str, base: &str) -> anyhow::Result<(Vec<String>, Vec<String>)> {
    let (places, options) = (&request.places, gate_snapshot_options(request));
    let (listed, changed) = thread::scope(|scope| {
        let beside = scope.spawn(|| changed_paths_after_moves(places, base, tree, &options));
        let listed = GitObjectReader::open_blobs(places, &options).and_then(|reader| reader.list_tree(tree));
        (listed, joined(beside))
    });
    let paths = listed.map_err(not_comparable)?.into_iter().map(|entry| entry.path).collect();
    Ok((paths, changed.map_err(not_comparable)?))
}

/// Compares the work tree with its base.
///
/// # Errors
/// When git can't be asked, or `base` names no commit.
pub(super) fn read_change(request: &Request, tree: String, base: Option<&str>) -> anyhow::Result<Change> {
    let base = find_base(&request.places, base, &gate_snapshot_options(request)).map_err(not_comparable)?;
    read_change_from(request, tree, base)
}

/// As [`read_change`], with a base that was found.
///
/// # Errors
/// When git can't be asked.
pub(super) fn read_change_from(request: &Request, tree: String, base: BaseCommit) -> anyhow::Result<Change> {
    let options = gate_snapshot_options(request);
    let places = &request.places;
    // Each of these is a git that has nothing to do with the others.
    let (patch, (messages, listed)) = thread::scope(|scope| {
        let beside = scope.spawn(|| {
            let messages = messages_since(places, &base, &options);
            let reader = GitObjectReader::open_blobs(places, &options);
            (messages, reader.and_then(|reader| reader.list_tree(&tree)))
        });
        let patch =
            if base.tree == tree { Ok(Patch::default()) } else { patch_between(places, &base.tree, &tree, &options) };
        (patch, joined(beside))
    });
    let patch = patch.map_err(not_comparable)?;
    let reader = GitObjectReader::open_blobs(&request.places, &options).map_err(not_comparable)?;
    let files = read_changed_files(&reader, &patch, [&base.tree, &tree]).map_err(not_comparable)?;
    let entries = listed.map_err(not_comparable)?;
    let (paths, blobs) = entries.into_iter().map(|entry| (entry.path, entry.id)).unzip();
    Ok(Change {
        tree,
        base,
        patch,
        files,
        paths,
        blobs,
        texts: Mutex::default(),
        messages: messages.map_err(not_comparable)?,
    })
}

fn read_changed_files(
    reader: &GitObjectReader,
    patch: &Patch,
    [base, tree]: [&str; 2],
) -> Result<Vec<ChangedFile>, SkippedSnapshot> {
    let name = |tree: &str, path: &'_ String| (tree.to_owned(), path.clone());
    let before = patch.files.iter().map(|file| name(base, &file.old));
    let names: Vec<(String, String)> = before.chain(patch.files.iter().map(|file| name(tree, &file.new))).collect();
    let names: Vec<(String, &str)> = names.iter().map(|(tree, path)| (tree.clone(), path.as_str())).collect();
    let blobs = reader.find_blobs(&names)?;
    let mut texts = reader.read_texts_up_to(&blobs, TEXT_BYTES_MAX)?;
    let after_texts = texts.split_off(patch.files.len());
    let mut files: BTreeMap<String, ChangedFile> = BTreeMap::new();
    let sides = texts.into_iter().zip(after_texts.into_iter().zip(&blobs[patch.files.len()..]));
    for (file, (before, (after, blob))) in patch.files.iter().zip(sides) {
        let added = file.lines_of_kind(PatchKind::Added).map(|line| line.new).collect();
        let is_change = |line: &&PatchLine| line.kind != PatchKind::Context;
        let touched = file.all_lines().filter(is_change).map(|line| line.new).collect();
        let is_gone = file.change == PatchChange::Deleted;
        let changed = ChangedFile {
            path: file.new.clone(),
            before: before.filter(|_| file.change != PatchChange::Added),
            is_unread: !is_gone && blob.is_some() && after.is_none(),
            after: after.filter(|_| !is_gone),
            added,
            touched,
        };
        files.insert(changed.path.clone(), changed);
    }
    Ok(files.into_values().collect())
}

impl Change {
    /// The hash of a file's content; `None` where the tree has no such file.
    pub(super) fn blob_id(&self, path: &str) -> Option<&str> {
        let at = self.paths.binary_search_by(|known| known.as_str().cmp(path)).ok()?;
        self.blobs.get(at).map(String::as_str)
    }

    /// The changed file of this path.
    pub(super) fn changed_file(&self, path: &str) -> Option<&ChangedFile> {
        let at = self.files.binary_search_by(|file| file.path.as_str().cmp(path)).ok()?;
        self.files.get(at)
    }

    /// The texts of these files in the tree; `None` of one that is not there, larger than 2 MiB, or no text. What is read
    /// is kept: for documents, which several items look at.
    ///
    /// # Errors
    /// When git can't be asked.
    pub(super) fn read_documents(&self, request: &Request, paths: &[String]) -> anyhow::Result<Vec<Option<String>>> {
        let mut known = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        let new = paths.iter().filter(|path| self.changed_file(path).is_none() && !known.contains_key(*path));
        let new: Vec<String> = new.cloned().collect();
        let texts = self.read_texts(request, &new)?;
        known.extend(new.into_iter().zip(texts));
        let text = |path: &String| match self.changed_file(path) {
            Some(file) => file.after.clone(),
            None => known.get(path).cloned().flatten(),
        };
        Ok(paths.iter().map(text).collect())
    }

    /// The texts of these files in the base, as [`Change::read_documents`]. A renamed file is known by its new path.
    ///
    /// # Errors
    /// When git can't be asked.
    pub(super) fn read_base_documents(
        &self,
        request: &Request,
        paths: &[String],
    ) -> anyhow::Result<Vec<Option<String>>> {
        let texts = self.read_documents(request, paths)?;
        let before = |(path, text): (&String, Option<String>)| match self.changed_file(path) {
            Some(file) => file.before.clone(),
            None => text,
        };
        Ok(paths.iter().zip(texts).map(before).collect())
    }

    /// As [`Change::read_documents`], but nothing is kept: for sources, of which there may be many.
    ///
    /// # Errors
    /// When git can't be asked.
    pub(super) fn read_texts(&self, request: &Request, paths: &[String]) -> anyhow::Result<Vec<Option<String>>> {
        let mut texts = vec![None; paths.len()];
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        self.read_each_text(request, &paths, |at, text| {
            texts[at] = Some(text.to_owned());
            Ok(())
        })?;
        Ok(texts)
    }

    /// Hands the text of each of these files of the tree to `take`, with its place among them; a file that is not there,
    /// larger than 2 MiB, or no text is left out. Few of them are in memory at a time.
    ///
    /// # Errors
    /// When git can't be asked, and those of `take`.
    pub(super) fn read_each_text(
        &self,
        request: &Request,
        paths: &[&str],
        mut take: impl FnMut(usize, &str) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut unread: Vec<(usize, &str)> = Vec::new();
        for (at, path) in paths.iter().enumerate() {
            match self.changed_file(path) {
                Some(file) => file.after.iter().try_for_each(|text| take(at, text))?,
                None => unread.extend(self.blob_id(path).map(|id| (at, id))),
            }
        }
        if unread.is_empty() {
            return Ok(());
        }
        let failed = |skipped| anyhow::anyhow!("cannot read the tree: {skipped}");
        let reader = GitObjectReader::open_blobs(&request.places, &gate_snapshot_options(request)).map_err(failed)?;
        let ids: Vec<&str> = unread.iter().map(|(_, id)| *id).collect();
        let blobs = reader.find_blobs_by_id(&ids).map_err(failed)?;
        let mut from = 0;
        while from < blobs.len() {
            let mut bytes = 0;
            let count = blobs[from..].iter().take_while(|blob| {
                bytes += blob.as_ref().map_or(0, |blob| blob.bytes.min(TEXT_BYTES_MAX));
                bytes <= READ_AT_ONCE_BYTES_MAX
            });
            let to = from + count.count().max(1);
            let texts = reader.read_texts_up_to(&blobs[from..to], TEXT_BYTES_MAX).map_err(failed)?;
            for ((at, _), text) in unread[from..to].iter().zip(texts) {
                text.map_or(Ok(()), |text| take(*at, &text))?;
            }
            from = to;
        }
        Ok(())
    }

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
