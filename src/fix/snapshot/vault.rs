//! A git repository of verify-run's own that keeps trees whatever happens to the user's repository and to the snapshots: it
//! borrows no objects. What is kept is a chain of commits under one tag; forgetting the tag lets its objects go.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::Path;
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

use super::SkippedSnapshot;
use super::git::{Git, GitError, GitFolders, GitView};
use super::prune::is_hash;
use super::settings::GitSettings;
use super::take::require_repository;
use crate::base::clock::Timestamp;
use crate::base::file::{Durability, create_private_dir, write_atomic};
use crate::config::Places;

/// Files of a change that are read.
const FILES_MAX: usize = 5_000;
/// Contents of a change that are read, bytes.
const CONTENT_BYTES_MAX: usize = 64 << 20;
/// Of what git says about damage, bytes.
const STATUS_BYTES_MAX: usize = 4 << 10;
/// The name of the tree without files as a parent's mode is written: there is none.
const NO_MODE: &str = "000000";
/// What the repository's git does whatever the user's does.
const CONFIG: &str = "[core]\n\trepositoryformatversion = 1\n\tbare = true\n\thooksPath = /dev/null\n\tfsmonitor = false\n\
                      \tcommitGraph = false\n\tsharedRepository = 0600\n\tcompression = 1\n\tquotePath = false\n\
                      [gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n[protocol]\n\tallow = never\n[pack]\n\tthreads = 1\n";

/// Trees to keep together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TreesToKeep<'a> {
    /// The tag.
    pub tag: &'a str,
    /// The trees, each with what it is; the last one is what the tag names.
    pub trees: &'a [(&'a str, &'a str)],
    /// The time of the commits.
    pub at: Timestamp,
    /// Behind what a tree is, in the messages of the commits.
    pub message: &'a str,
    /// More than this is not copied, bytes.
    pub bytes_max: u64,
}

/// Kept trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeptTrees {
    /// The commit of the last tree, hex.
    pub commit: String,
    /// `sha256:…` of the last tree as `git archive` writes it.
    pub tarball_digest: String,
    /// Every object is here; else they depend on the user's repository.
    pub is_copied: bool,
}

/// What is wrong with kept trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VaultDamage {
    /// A lowercase fragment.
    pub why: String,
    /// What git says, at most 4 KiB.
    pub status: String,
}

/// A file in one tree: its mode as git writes it (`100644`, `100755`, `120000`), and its bytes.
pub(crate) type TreeFile = (String, Vec<u8>);

/// A branch of a bundle, with one commit, for people.
#[derive(Debug, Clone)]
pub(crate) struct BundleBranch<'a> {
    /// Its name.
    pub branch: &'a str,
    /// The commit's message.
    pub message: &'a str,
    /// The commit's time.
    pub at: Timestamp,
    /// All of its files.
    pub files: BTreeMap<String, Option<TreeFile>>,
}

/// A file that differs between two trees.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TreeFileChange {
    /// In the older one.
    pub before: Option<TreeFile>,
    /// In the newer one.
    pub after: Option<TreeFile>,
}

/// The repository.
#[derive(Debug)]
pub(crate) struct TreeVault {
    git: Git,
}

impl TreeVault {
    /// The repository in the state folder of `places`, made if needed. Each question may take `time_max`: a job asks
    /// for as long as its checks run.
    ///
    /// # Errors
    /// Outside of a git work tree, when git can't be asked, or the folder can't be written.
    pub(crate) fn open(places: &Places, time_max: Duration) -> Result<TreeVault, SkippedSnapshot> {
        let repository = require_repository(places)?;
        let git_dir = places.state.learn_repository();
        let scratch = places.state.learn_scratch();
        let until = Instant::now() + time_max;
        let folders = GitFolders {
            root: places.root.clone(),
            git_dir: git_dir.clone(),
            objects: places.state.learn_objects(),
            user_git_dir: repository.git_dir.clone(),
            user_objects: repository.common_dir.join("objects"),
            scratch: scratch.clone(),
        };
        let cannot_write = |error: io::Error| SkippedSnapshot::with_reason(format!("cannot write: {error}"));
        for folder in [&scratch, &git_dir.join("objects/pack"), &git_dir.join("refs/tags")] {
            create_private_dir(folder).map_err(cannot_write)?;
        }
        let mut git = Git::new(folders, until)?;
        git.limit_each(time_max);
        git.add_alternate(&places.state.objects());
        if !git_dir.join("HEAD").exists() {
            let settings = GitSettings::ask_git(&git).map_err(skipped)?;
            let format = match settings.format.as_str() {
                "sha1" => String::new(),
                other => format!("[extensions]\n\tobjectformat = {other}\n"),
            };
            let config = format!("{CONFIG}{format}");
            write_atomic(&git_dir.join("config"), config.as_bytes(), 0o600, Durability::Cached)
                .map_err(cannot_write)?;
            let head = b"ref: refs/heads/none\n";
            write_atomic(&git_dir.join("HEAD"), head, 0o600, Durability::Cached).map_err(cannot_write)?;
        }
        Ok(TreeVault { git })
    }

    /// Keeps trees under a tag, with all their objects. The same again gives the same commit.
    ///
    /// # Errors
    /// When an object is gone already, when it takes too long, or nothing can be written.
    pub(crate) fn keep_trees(&self, wanted: &TreesToKeep<'_>) -> Result<KeptTrees, SkippedSnapshot> {
        self.keep(wanted).map_err(skipped)
    }

    fn keep(&self, wanted: &TreesToKeep<'_>) -> Result<KeptTrees, GitError> {
        let mut commit: Option<String> = None;
        for (what, tree) in wanted.trees {
            if !is_hash(tree) {
                return Err(GitError::Failed("not a tree".to_owned()));
            }
            commit = Some(self.write_commit(
                tree,
                commit.as_deref(),
                wanted.at,
                &format!("{what}\n\n{}", wanted.message),
            )?);
        }
        let commit = commit.ok_or_else(|| GitError::Failed("no tree".to_owned()))?;
        let known = self.lines(GitView::Own, &["for-each-ref", "--format=%(objectname)", "refs/tags"], None)?;
        let mut revisions = format!("{commit}\n");
        known.iter().for_each(|known| revisions.push_str(&format!("^{known}\n")));
        let size = ["rev-list", "--objects", "--disk-usage", "--stdin"];
        let bytes: u64 =
            self.lines(GitView::Both, &size, Some(&revisions))?.pop().and_then(|it| it.parse().ok()).unwrap_or(0);
        let is_copied = bytes <= wanted.bytes_max;
        if is_copied {
            let pack = self.git.objects_path().join("pack/pack");
            let arguments = ["pack-objects", "--revs", "--quiet", "--window=5"].map(OsStr::new);
            let arguments = arguments.into_iter().chain([pack.as_os_str()]);
            self.git.run(GitView::Both, arguments, Some(revisions.as_bytes()))?;
            self.git.run(
                GitView::Own,
                ["fsck", "--connectivity-only", "--no-dangling", "--no-progress", &commit],
                None,
            )?;
        }
        self.git.run(GitView::Own, ["update-ref", &format!("refs/tags/{}", wanted.tag), &commit], None)?;
        let tarball_digest = self.digest_archive(&commit, is_copied)?;
        Ok(KeptTrees { commit, tarball_digest, is_copied })
    }

    /// Writes a commit; its bytes depend on the arguments alone.
    fn write_commit(&self, tree: &str, parent: Option<&str>, at: Timestamp, message: &str) -> Result<String, GitError> {
        let parent = parent.map_or_else(String::new, |parent| format!("parent {parent}\n"));
        let who = format!("verify-run <verify-run@localhost> {} +0000", at.0 / 1_000_000);
        let object = format!("tree {tree}\n{parent}author {who}\ncommitter {who}\n\n{}\n", message.trim());
        self.line(GitView::Own, &["hash-object", "-t", "commit", "-w", "--stdin"], Some(&object))
    }

    /// Whether the tag, its commit, its tree and everything below it are what they were when they were kept.
    ///
    /// # Errors
    /// What is wrong.
    pub(crate) fn check_kept(&self, tag: &str, commit: &str, tree: &str, kept: &KeptTrees) -> Result<(), VaultDamage> {
        let damage = |why: &str, error: Option<GitError>| VaultDamage {
            why: why.to_owned(),
            status: error
                .map_or_else(String::new, |error| crate::base::text::ellipsis(&error.reason_text(), STATUS_BYTES_MAX)),
        };
        let names = self.line(
            GitView::Own,
            &["rev-parse", "--verify", "--quiet", &format!("refs/tags/{tag}^{{commit}}")],
            None,
        );
        match names {
            Ok(named) if named == commit => {}
            Ok(_) => return Err(damage("its tag names another commit", None)),
            Err(error) => return Err(damage("its tag is gone", Some(error))),
        }
        let view = if kept.is_copied { GitView::Own } else { GitView::Both };
        match self.line(view, &["rev-parse", "--verify", "--quiet", &format!("{commit}^{{tree}}")], None) {
            Ok(named) if named == tree => {}
            Ok(_) => return Err(damage("its commit has another tree", None)),
            Err(error) => return Err(damage("its commit is gone", Some(error))),
        }
        let fsck = ["fsck", "--connectivity-only", "--no-dangling", "--no-progress", commit];
        self.git.run(view, fsck, None).map_err(|error| damage("objects of it are missing or damaged", Some(error)))?;
        match self.digest_archive(commit, kept.is_copied) {
            Ok(digest) if digest == kept.tarball_digest => Ok(()),
            Ok(_) => Err(damage("its content has another digest", None)),
            Err(error) => Err(damage("its content cannot be read", Some(error))),
        }
    }

    /// `sha256:…` of a commit's tree as `git archive` writes it.
    fn digest_archive(&self, commit: &str, is_copied: bool) -> Result<String, GitError> {
        let file = tempfile::Builder::new().prefix(".tmp-").tempfile_in(self.git.scratch_path())?;
        self.archive(commit, file.path(), is_copied)?;
        let mut hasher = Sha256::new();
        let mut file = file.reopen()?;
        let mut piece = vec![0; 64 << 10];
        loop {
            let count = file.read(&mut piece)?;
            if count == 0 {
                break;
            }
            hasher.update(&piece[..count]);
        }
        let hex: String = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(format!("sha256:{hex}"))
    }

    fn archive(&self, commit: &str, file: &Path, is_copied: bool) -> Result<(), GitError> {
        let view = if is_copied { GitView::Own } else { GitView::Both };
        let mut output = std::ffi::OsString::from("--output=");
        output.push(file);
        let arguments = [OsStr::new("archive"), OsStr::new("--format=tar"), &output, OsStr::new(commit)];
        self.git.run(view, arguments, None).map(|_| ())
    }

    /// Writes the last of some kept trees as a tar archive, whose digest is the one that they were kept with.
    ///
    /// # Errors
    /// When git can't be asked, or the file can't be written.
    pub(crate) fn write_archive(&self, kept: &KeptTrees, file: &Path) -> Result<(), SkippedSnapshot> {
        self.archive(&kept.commit, file, kept.is_copied).map_err(skipped)
    }

    /// Writes what a tag names as a git bundle, which anybody can clone from, with a branch that explains it. The same
    /// again gives the same commits.
    ///
    /// # Errors
    /// When git can't be asked, or the file can't be written.
    pub(crate) fn write_bundle(
        &self,
        tag: &str,
        explained: &BundleBranch<'_>,
        file: &Path,
    ) -> Result<(), SkippedSnapshot> {
        self.bundle(tag, explained, file).map_err(skipped)
    }

    fn bundle(&self, tag: &str, explained: &BundleBranch<'_>, file: &Path) -> Result<(), GitError> {
        let empty = self.line(GitView::Own, &["hash-object", "-t", "tree", "-w", "--stdin"], Some(""))?;
        let tree = self.tree_with(&empty, &explained.files)?;
        let commit = self.write_commit(&tree, None, explained.at, explained.message)?;
        let (tag, branch) = (format!("refs/tags/{tag}"), format!("refs/heads/{}", explained.branch));
        // It is made for each bundle, and kept nowhere else.
        self.git.run(GitView::Own, ["update-ref", &branch, &commit], None)?;
        let names = [OsStr::new(&branch), OsStr::new(&tag)];
        let create = [OsStr::new("bundle"), OsStr::new("create"), OsStr::new("--quiet"), file.as_os_str()];
        let written = self.git.run(GitView::Both, create.into_iter().chain(names), None);
        self.git.run(GitView::Own, ["update-ref", "-d", &branch], None)?;
        written.map(|_| ())
    }

    /// The tags that are kept.
    ///
    /// # Errors
    /// When git can't be asked.
    pub(crate) fn list_tags(&self) -> Result<Vec<String>, SkippedSnapshot> {
        self.lines(GitView::Own, &["for-each-ref", "--format=%(refname:strip=2)", "refs/tags"], None).map_err(skipped)
    }

    /// Forgets tags, and the objects that nothing else keeps.
    ///
    /// # Errors
    /// When git can't be asked.
    pub(crate) fn forget_tags(&self, tags: &[String]) -> Result<(), SkippedSnapshot> {
        for tag in tags {
            self.git.run(GitView::Own, ["update-ref", "-d", &format!("refs/tags/{tag}")], None).map_err(skipped)?;
        }
        if tags.is_empty() {
            return Ok(());
        }
        self.git.run(GitView::Own, ["gc", "--quiet", "--prune=now"], None).map(|_| ()).map_err(skipped)
    }

    /// The files that differ between two trees, by path.
    ///
    /// # Errors
    /// When there are too many, when objects are gone, or git can't be asked.
    pub(crate) fn read_change(
        &self,
        from: &str,
        to: &str,
    ) -> Result<BTreeMap<String, TreeFileChange>, SkippedSnapshot> {
        self.change(from, to).map_err(skipped)
    }

    fn change(&self, from: &str, to: &str) -> Result<BTreeMap<String, TreeFileChange>, GitError> {
        if !is_hash(from) || !is_hash(to) {
            return Err(GitError::Failed("not a tree".to_owned()));
        }
        let arguments = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", from, to];
        let listed = self.git.run(GitView::Both, arguments, None)?;
        let entries = read_raw_diff(&listed);
        if entries.len() > FILES_MAX {
            return Err(GitError::TooMuch);
        }
        let ids: Vec<&str> =
            entries.iter().flat_map(|entry| [&entry.before, &entry.after]).flatten().map(|it| it.1.as_str()).collect();
        let mut contents = self.contents(&ids)?.into_iter();
        let mut files = BTreeMap::new();
        for entry in &entries {
            let mut take = |side: &Option<(String, String)>| {
                side.as_ref().and_then(|(mode, _)| Some((mode.clone(), contents.next()?)))
            };
            let (before, after) = (take(&entry.before), take(&entry.after));
            files.insert(entry.path.clone(), TreeFileChange { before, after });
        }
        Ok(files)
    }

    /// The contents of objects, in their order.
    fn contents(&self, ids: &[&str]) -> Result<Vec<Vec<u8>>, GitError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let input: String = ids.iter().map(|id| format!("{id}\n")).collect();
        let answer = self.git.run(GitView::Both, ["cat-file", "--batch=%(objectsize)"], Some(input.as_bytes()))?;
        if answer.len() > CONTENT_BYTES_MAX {
            return Err(GitError::TooMuch);
        }
        let mut rest = &answer[..];
        let mut contents = Vec::with_capacity(ids.len());
        for id in ids {
            let missing = || GitError::Failed(format!("object {id} is missing"));
            let end = rest.iter().position(|&byte| byte == b'\n').ok_or_else(missing)?;
            let bytes: usize =
                std::str::from_utf8(&rest[..end]).ok().and_then(|it| it.parse().ok()).ok_or_else(missing)?;
            contents.push(rest.get(end + 1..end + 1 + bytes).ok_or_else(missing)?.to_vec());
            rest = rest.get(end + bytes + 2..).unwrap_or_default();
        }
        Ok(contents)
    }

    /// The tree that is `base` with these files in place of its own; `None` of one that is not there.
    ///
    /// # Errors
    /// When objects are gone, or nothing can be written.
    pub(crate) fn write_tree(
        &self,
        base: &str,
        files: &BTreeMap<String, Option<TreeFile>>,
    ) -> Result<String, SkippedSnapshot> {
        self.tree_with(base, files).map_err(skipped)
    }

    fn tree_with(&self, base: &str, files: &BTreeMap<String, Option<TreeFile>>) -> Result<String, GitError> {
        let folder = tempfile::Builder::new().prefix(".tmp-").tempdir_in(self.git.scratch_path())?;
        let mut paths = String::new();
        let present: Vec<(&String, &TreeFile)> =
            files.iter().filter_map(|(path, file)| Some((path, file.as_ref()?))).collect();
        for (n, (_, (_, bytes))) in present.iter().enumerate() {
            let path = folder.path().join(n.to_string());
            write_atomic(&path, bytes, 0o600, Durability::Cached)?;
            paths.push_str(&format!("{}\n", path.display()));
        }
        let hashed = if present.is_empty() {
            Vec::new()
        } else {
            self.lines(GitView::Own, &["hash-object", "-w", "--no-filters", "--stdin-paths"], Some(&paths))?
        };
        let mut info = Vec::new();
        for ((path, (mode, _)), id) in present.iter().zip(&hashed) {
            info.extend(format!("{mode} {id}\t{path}\0").into_bytes());
        }
        for path in files.iter().filter(|(_, file)| file.is_none()).map(|(path, _)| path) {
            info.extend(format!("0 {}\t{path}\0", "0".repeat(base.len())).into_bytes());
        }
        let index = folder.path().join("index");
        let run = |arguments: &[&str], input: Option<&[u8]>| {
            self.git.run_with_index(GitView::Both, &index, arguments.iter().map(OsStr::new), input)
        };
        run(&["read-tree", base], None)?;
        run(&["update-index", "-z", "--index-info"], Some(&info))?;
        let tree = run(&["write-tree", "--missing-ok"], None)?;
        Ok(String::from_utf8_lossy(&tree).trim().to_owned())
    }

    /// What differs between two trees as `git diff` writes it, with these lines of context: it applies as it is.
    ///
    /// # Errors
    /// When objects are gone, when it is larger than what is read of git, or git can't be asked.
    pub(crate) fn diff_text(&self, from: &str, to: &str, context: usize) -> Result<Vec<u8>, SkippedSnapshot> {
        let context = format!("-U{context}");
        let arguments = [
            "diff-tree",
            "-r",
            "-p",
            &context,
            "--no-color",
            "--no-ext-diff",
            "--no-textconv",
            "--no-renames",
            from,
            to,
        ];
        self.git.run(GitView::Both, arguments, None).map_err(skipped)
    }

    /// The regular files of a tree.
    ///
    /// # Errors
    /// When objects are gone, or git can't be asked.
    pub(crate) fn list_files(&self, tree: &str) -> Result<Vec<KeptFile>, SkippedSnapshot> {
        if !is_hash(tree) {
            return Err(SkippedSnapshot::with_reason("not a tree"));
        }
        let listed = self.git.run(GitView::Both, ["ls-tree", "-r", "-z", "-l", tree], None).map_err(skipped)?;
        let file = |line: &[u8]| {
            let line = String::from_utf8_lossy(line).into_owned();
            let (about, path) = line.split_once('\t')?;
            let mut about = about.split_ascii_whitespace();
            let (mode, _, id) = (about.next()?, about.next()?, about.next()?);
            let bytes = about.next()?.parse().ok()?;
            mode.starts_with("100").then(|| KeptFile { path: path.to_owned(), id: id.to_owned(), bytes })
        };
        Ok(listed.split(|byte| *byte == 0).filter_map(file).collect())
    }

    /// The contents of listed files, in their order; what is not UTF-8 has replacement characters.
    ///
    /// # Errors
    /// When objects are gone, when they are too large together, or git can't be asked.
    pub(crate) fn read_files(&self, files: &[&KeptFile]) -> Result<Vec<String>, SkippedSnapshot> {
        let ids: Vec<&str> = files.iter().map(|file| file.id.as_str()).collect();
        let contents = self.contents(&ids).map_err(skipped)?;
        Ok(contents.iter().map(|bytes| String::from_utf8_lossy(bytes).into_owned()).collect())
    }

    /// Whether a tree has a file of this name.
    pub(crate) fn has_file(&self, tree: &str, path: &str) -> bool {
        let is_safe = is_hash(tree) && !path.is_empty() && !path.contains(['\n', '\0']);
        let name = format!("{tree}:{path}");
        is_safe && self.line(GitView::Both, &["cat-file", "-t", &name], None).is_ok_and(|kind| kind == "blob")
    }

    fn line(&self, view: GitView, arguments: &[&str], input: Option<&str>) -> Result<String, GitError> {
        Ok(self.lines(view, arguments, input)?.into_iter().next().unwrap_or_default())
    }

    fn lines(&self, view: GitView, arguments: &[&str], input: Option<&str>) -> Result<Vec<String>, GitError> {
        let printed = self.git.run(view, arguments, input.map(str::as_bytes))?;
        Ok(String::from_utf8_lossy(&printed).lines().map(str::to_owned).collect())
    }
}

/// A regular file of a kept tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeptFile {
    /// Relative to the top of the tree.
    pub path: String,
    /// Its blob, hex.
    id: String,
    /// Its size, bytes.
    pub bytes: u64,
}

/// A line of `git diff-tree --raw`: mode and object of both sides.
struct RawDiffEntry {
    path: String,
    before: Option<(String, String)>,
    after: Option<(String, String)>,
}

/// Reads `git diff-tree --raw -z`. Paths that are no UTF-8 and submodules are left out: no unit of a change is made of them.
fn read_raw_diff(listed: &[u8]) -> Vec<RawDiffEntry> {
    let mut fields = listed.split(|&byte| byte == 0).filter(|field| !field.is_empty());
    let mut entries = Vec::new();
    while let (Some(about), Some(path)) = (fields.next(), fields.next()) {
        let about = String::from_utf8_lossy(about);
        let words: Vec<&str> = about.trim_start_matches(':').split(' ').collect();
        let ([old_mode, new_mode, old, new, ..], Ok(path)) = (&words[..], std::str::from_utf8(path)) else { continue };
        let side =
            |mode: &str, id: &str| (mode != NO_MODE && mode != "160000").then(|| (mode.to_owned(), id.to_owned()));
        let (before, after) = (side(old_mode, old), side(new_mode, new));
        if before.is_some() || after.is_some() {
            entries.push(RawDiffEntry { path: path.to_owned(), before, after });
        }
    }
    entries
}

fn skipped(error: GitError) -> SkippedSnapshot {
    SkippedSnapshot::with_reason(error.reason_text())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_of_a_raw_diff_are_read() {
        let (a, b, none) = ("a".repeat(40), "b".repeat(40), "0".repeat(40));
        let listed = format!(
            ":100644 100755 {a} {b} M\0a b\0:000000 120000 {none} {b} A\0new\0:100644 000000 {a} {none} D\0gone\0\
             :160000 160000 {a} {b} M\0sub\0"
        );
        let entries = read_raw_diff(listed.as_bytes());
        let sides: Vec<(&str, Option<&str>, Option<&str>)> = entries
            .iter()
            .map(|entry| {
                (
                    entry.path.as_str(),
                    entry.before.as_ref().map(|it| it.0.as_str()),
                    entry.after.as_ref().map(|it| it.0.as_str()),
                )
            })
            .collect();
        assert_eq!(
            sides,
            [("a b", Some("100644"), Some("100755")), ("new", None, Some("120000")), ("gone", Some("100644"), None)]
        );
    }
}
