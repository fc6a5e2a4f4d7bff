//! The change that is about to be committed, or a range of commits, as unified text: the user's own repository, read
//! only.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::git::{Git, GitError, GitFolders, GitView};
use crate::base::limits::{CHANGES_MS_MAX, UNTRACKED_BYTES_MAX, UNTRACKED_FILES_MAX};
use crate::fix::patch::{CONTEXT_LINES, Patch};

/// The two sides of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DiffScope {
    /// The work tree, untracked files included, with `HEAD`.
    WorkTree,
    /// The index with `HEAD`: what a commit would have.
    Index,
    /// As `git diff` understands it: `a..b`, `a...b`, `a^!`; one commit means the work tree with that commit.
    Range(String),
}

impl DiffScope {
    /// Whether the newer side is the work tree.
    fn is_work_tree(&self) -> bool {
        match self {
            DiffScope::WorkTree => true,
            DiffScope::Index => false,
            DiffScope::Range(range) => !range.contains("..") && !range.ends_with("^!"),
        }
    }
}

/// Why a change could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ChangesError {
    /// There is no git on `PATH`.
    #[error("git is not installed")]
    GitMissing,
    /// The folder is in no repository; git's words.
    #[error("{0}")]
    NoRepository(String),
    /// The range names no commits; git's words.
    #[error("{0}")]
    BadRange(String),
    /// git failed or did not finish in time.
    #[error("{0}")]
    Unreadable(String),
}

impl From<GitError> for ChangesError {
    fn from(error: GitError) -> Self {
        ChangesError::Unreadable(error.reason_text())
    }
}

/// The comparison as a patch with [`CONTEXT_LINES`] of context, in the repository of the process's working directory;
/// the variables that git gives its hooks (`GIT_DIR`, `GIT_INDEX_FILE`) decide as they do for git. Nothing in `root`,
/// the top of the work tree, is taken for git itself.
///
/// # Errors
/// See [`ChangesError`].
pub(crate) fn work_tree_changes(root: &Path, compared: &DiffScope) -> Result<Patch, ChangesError> {
    let none = PathBuf::new();
    let folders = GitFolders {
        root: root.to_owned(),
        git_dir: none.clone(),
        objects: none.clone(),
        user_git_dir: none.clone(),
        user_objects: none.clone(),
        scratch: none,
    };
    let until = Instant::now() + Duration::from_millis(CHANGES_MS_MAX);
    let git = Git::new(folders, until).map_err(|_| ChangesError::GitMissing)?;
    ChangesRequest(git).read_patch(compared)
}

/// git in the user's own repository.
struct ChangesRequest(Git);

impl ChangesRequest {
    fn run<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Result<Vec<u8>, GitError> {
        self.0.run(GitView::Caller, arguments, None)
    }

    fn read_patch(&mut self, compared: &DiffScope) -> Result<Patch, ChangesError> {
        let fixed = [
            "diff",
            "--patch",
            "--no-color",
            "--no-ext-diff",
            "--no-textconv",
            "--no-relative",
            "--src-prefix=a/",
            "--dst-prefix=b/",
            "--find-renames",
            "--histogram",
            "--inter-hunk-context=0",
            "--ignore-submodules=all",
        ];
        // Outside of a repository `diff` silently compares files.
        self.run(["rev-parse", "--git-dir"]).map_err(|error| match error {
            GitError::Failed(reason) => ChangesError::NoRepository(reason),
            other => other.into(),
        })?;
        self.0.empty_filters()?;
        let mut arguments: Vec<String> = fixed.iter().map(ToString::to_string).collect();
        arguments.push(format!("--unified={CONTEXT_LINES}"));
        match compared {
            DiffScope::WorkTree => arguments.push(self.head_commit()?),
            DiffScope::Index => arguments.extend(["--cached".into(), self.head_commit()?]),
            DiffScope::Range(range) if range.starts_with('-') => {
                return Err(ChangesError::BadRange(format!("not a commit or range: {range}")));
            }
            DiffScope::Range(range) => arguments.push(range.clone()),
        }
        arguments.push("--".into());
        let diff = self.run(&arguments).map_err(|error| match (compared, error) {
            (DiffScope::Range(_), GitError::Failed(reason)) => ChangesError::BadRange(reason),
            (_, other) => other.into(),
        })?;
        let mut patch = Patch::parse(&diff);
        if compared.is_work_tree() {
            self.add_untracked(&mut patch)?;
        }
        Ok(patch)
    }

    /// `HEAD`, before the first commit the tree without files.
    fn head_commit(&self) -> Result<String, GitError> {
        if self.run(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).is_ok() {
            return Ok("HEAD".to_owned());
        }
        let tree = self.run(["hash-object", "-t", "tree", "--stdin"])?;
        Ok(String::from_utf8_lossy(&tree).trim().to_owned())
    }

    /// Files that git would add are part of the work tree: a test that moved to one of them is not gone.
    fn add_untracked(&self, patch: &mut Patch) -> Result<(), GitError> {
        let top = self.run(["rev-parse", "--show-toplevel"])?;
        let top = PathBuf::from(OsString::from_vec(top.strip_suffix(b"\n").unwrap_or(&top).to_vec()));
        let names = self.run(["ls-files", "--others", "--exclude-standard", "--full-name", "-z", "--", ":/"])?;
        let mut names = names.split(|&byte| byte == 0).filter(|name| !name.is_empty());
        for name in names.by_ref().take(UNTRACKED_FILES_MAX) {
            let path = top.join(OsStr::from_bytes(name));
            let is_file = path.symlink_metadata().is_ok_and(|it| it.is_file() && it.len() <= UNTRACKED_BYTES_MAX);
            let mut content = Vec::new();
            let read = |content: &mut Vec<u8>| File::open(&path)?.take(UNTRACKED_BYTES_MAX).read_to_end(content);
            if is_file && read(&mut content).is_ok() {
                patch.add_new_file(&String::from_utf8_lossy(name), &content);
            } else {
                patch.cut += 1;
            }
        }
        patch.cut += names.count();
        Ok(())
    }
}
