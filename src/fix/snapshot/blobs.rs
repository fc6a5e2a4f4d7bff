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
/// Asks for contents.
const BATCH: &str = "--batch=%(objecttype) %(objectsize)";
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
        self.check_blobs(names.len(), &lines_of_names(names))
    }

    /// The texts of files that are few and hardly ever large, named as for [`GitObjectReader::find_blobs`] and with one
    /// question; `None` of one that is absent, larger than `bytes_max`, or no text. Sizes are asked for where the answer is too
    /// large: one huge file takes none of the others away.
    ///
    /// # Errors
    /// When git can't be asked.
    pub(crate) fn read_few_texts(
        &self,
        names: &[(String, &str)],
        bytes_max: u64,
    ) -> Result<Vec<Option<String>>, SkippedSnapshot> {
        match self.git.run(GitView::Both, ["cat-file", BATCH], Some(lines_of_names(names).as_bytes())) {
            Ok(answer) => Ok(read_batch(&answer, names.len(), bytes_max)),
            Err(GitError::TooMuch) => self.read_texts_up_to(&self.find_blobs(names)?, bytes_max),
            Err(trouble) => Err(SkippedSnapshot::with_reason(trouble.reason_text())),
        }
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
        let answer = if wanted.is_empty() { Vec::new() } else { self.ask_git(&["cat-file", BATCH], &input)? };
        let mut texts = read_batch(&answer, wanted.len(), bytes_max).into_iter();
        let texts = blobs.iter().map(|blob| blob.as_ref().filter(small).and_then(|_| texts.next().flatten()));
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

/// A line for each: answers come in order, and so there is one that is never there for what git must not be asked.
fn lines_of_names(names: &[(String, &str)]) -> String {
    let is_safe = |(tree, path): &(String, &str)| {
        is_hash(tree.split('~').next().unwrap_or_default()) && !path.contains(['\n', '\0'])
    };
    let line = |name: &(String, &str)| match (is_safe(name), name) {
        (true, (tree, "")) => format!("{tree}^{{tree}}\n"),
        (true, (tree, path)) => format!("{tree}:{path}\n"),
        (false, _) => "-\n".to_owned(),
    };
    names.iter().map(line).collect()
}

/// The texts in the answer to `count` names in [`BATCH`]: a line with kind and size, the content and a line end for each, and a
/// line alone for what is not there (git-cat-file(1)). `None` of what is no file, larger than `bytes_max`, or no text.
fn read_batch(answer: &[u8], count: usize, bytes_max: u64) -> Vec<Option<String>> {
    let mut rest = answer;
    let mut read = || -> Option<String> {
        let (head, content) = rest.split_at_checked(rest.iter().position(|byte| *byte == b'\n')? + 1)?;
        rest = content;
        let (kind, bytes) = std::str::from_utf8(head).ok()?.trim_end().split_once(' ')?;
        let (content, end) = content.split_at_checked(bytes.parse().ok()?)?;
        rest = end.get(1..)?;
        let is_wanted = kind == "blob" && content.len() as u64 <= bytes_max && !content.contains(&0);
        is_wanted.then(|| String::from_utf8_lossy(content).into_owned())
    };
    (0..count).map(|_| read()).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_or_no_text_leaves_the_others_in_their_places() {
        let answer =
            b"blob 4\none\n\nabc:a 12 missing\ntree 3\nx\0y\nblob 3\nx\0y\nblob 0\n\nblob 9\ntoo large\nblob 3\ntwo\n";
        let texts = read_batch(answer, 8, 8);
        let wanted = [Some("one\n"), None, None, None, Some(""), None, Some("two"), None];
        assert_eq!(texts.iter().map(Option::as_deref).collect::<Vec<_>>(), wanted);
        assert_eq!(read_batch(b"blob 9\ncut", 2, 100), [None, None]);
    }
}
