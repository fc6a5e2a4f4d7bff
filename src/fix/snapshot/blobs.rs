//! Contents of files in trees and commits, asked for by name.

use std::time::Instant;

use super::git::{Git, GitError, GitView};
use super::place::ObjectFolder;
use super::prune::is_hash;
use super::take::snapshot_folders;
use super::{SkippedSnapshot, SnapshotOptions};
use crate::config::Places;

/// A larger file is not read, bytes.
const CONTENT_BYTES_MAX: u64 = 256 << 10;
/// Paths of a tree that are listed.
const PATHS_MAX: usize = 20_000;

/// A file in a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Blob {
    /// Its content's hash.
    pub id: String,
    /// Its size.
    pub bytes: u64,
}

/// A file of a tree, with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TreeEntry {
    /// Relative to the root, with `/`.
    pub path: String,
    /// Its content's hash; of a submodule its commit's.
    pub id: String,
}

/// Trees and commits of one work tree.
pub(crate) struct GitObjectReader {
    git: Git,
}

impl GitObjectReader {
    /// Opens what this work tree has.
    ///
    /// # Errors
    /// When there is no repository or no git.
    pub(crate) fn open_blobs(places: &Places, options: &SnapshotOptions) -> Result<Self, SkippedSnapshot> {
        let Some(repository) = &places.repository else {
            return Err(SkippedSnapshot::with_reason("not in a git repository"));
        };
        let place = ObjectFolder::open_for_reading(places)
            .map_err(|error| SkippedSnapshot::with_reason(format!("cannot write: {error}")))?;
        Ok(GitObjectReader {
            git: Git::new(snapshot_folders(places, repository, &place), Instant::now() + options.time_max)?,
        })
    }

    /// The files that are named by tree or commit (a hash, a commit's with `~2` behind it) and path; `None` of one that
    /// isn't there. Named by the empty path it is the tree itself.
    ///
    /// # Errors
    /// When git can't be asked.
    pub(crate) fn find_blobs(&self, names: &[(String, &str)]) -> Result<Vec<Option<Blob>>, SkippedSnapshot> {
        let is_safe = |(tree, path): &(String, &str)| {
            is_hash(tree.split('~').next().unwrap_or_default()) && !path.contains(['\n', '\0'])
        };
        let line = |name: &(String, &str)| match (is_safe(name), name) {
            (true, (tree, "")) => format!("{tree}^{{tree}}\n"),
            (true, (tree, path)) => format!("{tree}:{path}\n"),
            // Something that is never there: answers come in order.
            (false, _) => "-\n".to_owned(),
        };
        self.check_blobs(names.len(), &names.iter().map(line).collect::<String>())
    }

    /// The files with these contents; `None` of a hash that is no file's.
    ///
    /// # Errors
    /// When git can't be asked.
    pub(crate) fn find_blobs_by_id(&self, ids: &[&str]) -> Result<Vec<Option<Blob>>, SkippedSnapshot> {
        let line = |id: &&str| if is_hash(id) { format!("{id}\n") } else { "-\n".to_owned() };
        self.check_blobs(ids.len(), &ids.iter().map(line).collect::<String>())
    }

    /// Asks for as many names as there are lines in `input`.
    fn check_blobs(&self, count: usize, input: &str) -> Result<Vec<Option<Blob>>, SkippedSnapshot> {
        if count == 0 {
            return Ok(Vec::new());
        }
        let format = "--batch-check=%(objecttype) %(objectname) %(objectsize)";
        let answer = self.ask_git(&["cat-file", format], input)?;
        let answer = String::from_utf8_lossy(&answer);
        let mut found: Vec<Option<Blob>> = answer.lines().take(count).map(parse_blob).collect();
        found.resize(count, None);
        Ok(found)
    }

    /// The texts of these, empty where one is too large or no text.
    ///
    /// # Errors
    /// When git can't be asked.
    pub(crate) fn read_texts(&self, blobs: &[Option<Blob>]) -> Result<Vec<String>, SkippedSnapshot> {
        let texts = self.read_texts_up_to(blobs, CONTENT_BYTES_MAX)?;
        Ok(texts.into_iter().map(Option::unwrap_or_default).collect())
    }

    /// The texts of these; `None` of one that is absent, larger than `bytes_max`, or no text.
    ///
    /// # Errors
    /// When git can't be asked.
    pub(crate) fn read_texts_up_to(
        &self,
        blobs: &[Option<Blob>],
        bytes_max: u64,
    ) -> Result<Vec<Option<String>>, SkippedSnapshot> {
        let small = |blob: &&Blob| blob.bytes <= bytes_max;
        let wanted: Vec<&Blob> = blobs.iter().flatten().filter(small).collect();
        let input: String = wanted.iter().map(|blob| format!("{}\n", blob.id)).collect();
        let answer =
            if wanted.is_empty() { Vec::new() } else { self.ask_git(&["cat-file", "--batch=%(objectsize)"], &input)? };
        let mut rest = &answer[..];
        let mut read = || -> Option<Option<String>> {
            let end = rest.iter().position(|byte| *byte == b'\n')?;
            let bytes: usize = std::str::from_utf8(&rest[..end]).ok()?.parse().ok()?;
            let content = rest.get(end + 1..end + 1 + bytes)?;
            rest = rest.get(end + bytes + 2..)?;
            let is_text = !content.contains(&0);
            Some(is_text.then(|| String::from_utf8_lossy(content).into_owned()))
        };
        let texts = blobs.iter().map(|blob| blob.as_ref().filter(small).and_then(|_| read().flatten()));
        Ok(texts.collect())
    }

    /// The paths of a tree's files, up to a limit.
    ///
    /// # Errors
    /// When git can't be asked.
    pub(crate) fn tree_paths(&self, tree: &str) -> Result<Vec<String>, SkippedSnapshot> {
        let mut entries = self.list_tree(tree)?;
        entries.truncate(PATHS_MAX);
        Ok(entries.into_iter().map(|entry| entry.path).collect())
    }

    /// All files of a tree, in the order of their paths.
    ///
    /// # Errors
    /// When git can't be asked.
    pub(crate) fn list_tree(&self, tree: &str) -> Result<Vec<TreeEntry>, SkippedSnapshot> {
        if !is_hash(tree) {
            return Err(SkippedSnapshot::with_reason("not a tree"));
        }
        let listed = self.git.run(GitView::Both, ["ls-tree", "-r", "-z", "--full-tree", tree], None);
        let listed = listed.map_err(|trouble| SkippedSnapshot::with_reason(trouble.reason_text()))?;
        let mut entries: Vec<TreeEntry> = listed.split(|byte| *byte == 0).filter_map(parse_entry).collect();
        entries.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(entries)
    }

    fn ask_git(&self, arguments: &[&str], input: &str) -> Result<Vec<u8>, SkippedSnapshot> {
        let answer: Result<Vec<u8>, GitError> = self.git.run(GitView::Both, arguments, Some(input.as_bytes()));
        answer.map_err(|trouble| SkippedSnapshot::with_reason(trouble.reason_text()))
    }
}

/// `100644 blob <id>\t<path>`
fn parse_entry(line: &[u8]) -> Option<TreeEntry> {
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    let id = std::str::from_utf8(&line[..tab]).ok()?.rsplit(' ').next()?.to_owned();
    Some(TreeEntry { path: String::from_utf8_lossy(&line[tab + 1..]).into_owned(), id })
}

fn parse_blob(line: &str) -> Option<Blob> {
    let mut words = line.split(' ');
    let (kind, id, bytes) = (words.next()?, words.next()?, words.next()?);
    (matches!(kind, "blob" | "tree") && is_hash(id)).then_some(Blob { id: id.to_owned(), bytes: bytes.parse().ok()? })
}
