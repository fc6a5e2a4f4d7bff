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
    bytes: u64,
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
        let place = ObjectFolder::open_folder(places)
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
        let input: String = names.iter().map(line).collect();
        let format = "--batch-check=%(objecttype) %(objectname) %(objectsize)";
        let answer = self.ask_git(&["cat-file", format], &input)?;
        let answer = String::from_utf8_lossy(&answer);
        let mut found: Vec<Option<Blob>> = answer.lines().take(names.len()).map(parse_blob).collect();
        found.resize(names.len(), None);
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
        let mut paths = self.all_tree_paths(tree)?;
        paths.truncate(PATHS_MAX);
        Ok(paths)
    }

    /// The paths of all files of a tree.
    ///
    /// # Errors
    /// When git can't be asked.
    pub(crate) fn all_tree_paths(&self, tree: &str) -> Result<Vec<String>, SkippedSnapshot> {
        if !is_hash(tree) {
            return Err(SkippedSnapshot::with_reason("not a tree"));
        }
        let listed = self.git.run(GitView::Both, ["ls-tree", "-r", "--name-only", "-z", "--full-tree", tree], None);
        let listed = listed.map_err(|trouble| SkippedSnapshot::with_reason(trouble.reason_text()))?;
        let paths = listed.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        Ok(paths.map(|path| String::from_utf8_lossy(path).into_owned()).collect())
    }

    fn ask_git(&self, arguments: &[&str], input: &str) -> Result<Vec<u8>, SkippedSnapshot> {
        let answer: Result<Vec<u8>, GitError> = self.git.run(GitView::Both, arguments, Some(input.as_bytes()));
        answer.map_err(|trouble| SkippedSnapshot::with_reason(trouble.reason_text()))
    }
}

fn parse_blob(line: &str) -> Option<Blob> {
    let mut words = line.split(' ');
    let (kind, id, bytes) = (words.next()?, words.next()?, words.next()?);
    (matches!(kind, "blob" | "tree") && is_hash(id)).then_some(Blob { id: id.to_owned(), bytes: bytes.parse().ok()? })
}
