//! What git ignores in the work tree.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::git::{GitError, GitView};
use super::history::open_git;
use super::{SkippedSnapshot, SnapshotOptions};
use crate::config::Places;

/// An ignored file, or a folder in which everything is ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IgnoredEntry {
    /// Relative to the root.
    pub path: PathBuf,
    /// A folder, and no link to one.
    pub is_folder: bool,
}

/// The ignored files and folders; of a folder in which everything is ignored the folder alone. A snapshot of the same
/// work tree was taken before.
///
/// # Errors
/// When git can't be asked.
pub(crate) fn list_ignored(places: &Places, options: &SnapshotOptions) -> Result<Vec<IgnoredEntry>, SkippedSnapshot> {
    let git = open_git(places, options)?;
    let arguments = ["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"];
    let listed = git.run(GitView::Own, arguments, None);
    let listed = listed.map_err(|trouble| SkippedSnapshot::with_reason(trouble.reason_text()))?;
    let entries = listed.split(|&byte| byte == 0).filter(|path| !path.is_empty()).map(|path| {
        let folder = path.strip_suffix(b"/");
        IgnoredEntry { path: OsStr::from_bytes(folder.unwrap_or(path)).into(), is_folder: folder.is_some() }
    });
    Ok(entries.collect())
}

/// Those of these paths, relative to the root, that a snapshot would have: not ignored, and not in a folder that
/// snapshots leave out.
///
/// # Errors
/// When git can't be asked.
pub(crate) fn without_ignored(
    places: &Places,
    paths: Vec<PathBuf>,
    options: &SnapshotOptions,
) -> Result<Vec<PathBuf>, SkippedSnapshot> {
    if paths.is_empty() {
        return Ok(paths);
    }
    let git = open_git(places, options)?;
    let input: Vec<u8> = paths.iter().flat_map(|path| [path.as_os_str().as_bytes(), b"\0"].concat()).collect();
    let arguments = ["check-ignore", "-z", "--stdin", "--no-index"];
    let listed = match git.run(GitView::Own, arguments, Some(&input)) {
        Ok(listed) => listed,
        // None of them is.
        Err(GitError::Failed(why)) if why.ends_with(": exit status: 1") => Vec::new(),
        Err(trouble) => return Err(SkippedSnapshot::with_reason(trouble.reason_text())),
    };
    let ignored: BTreeSet<&Path> =
        listed.split(|&byte| byte == 0).map(|path| Path::new(OsStr::from_bytes(path))).collect();
    let is_excluded = |path: &Path| options.excluded.iter().any(|folder| path.starts_with(folder));
    Ok(paths.iter().filter(|path| !ignored.contains(path.as_path()) && !is_excluded(path)).cloned().collect())
}
