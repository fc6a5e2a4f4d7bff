//! A tree as files in a folder of its own.

use std::ffi::OsString;
use std::path::Path;
use std::time::Instant;

use super::git::{Git, GitError, GitView};
use super::place::ObjectFolder;
use super::prune::is_hash;
use super::take::{require_repository, snapshot_folders};
use super::{SkippedSnapshot, SnapshotOptions};
use crate::base::file::{Durability, create_private_dir, write_atomic};
use crate::config::Places;

/// Writes the files of a tree into an empty folder, which becomes the top of an empty repository: programs in it do not
/// take the repository around it for theirs.
///
/// # Errors
/// When objects of the tree are gone, when it takes too long, when the folder can't be written.
pub(crate) fn checkout_tree(
    places: &Places,
    tree: &str,
    folder: &Path,
    options: &SnapshotOptions,
) -> Result<(), SkippedSnapshot> {
    if !is_hash(tree) {
        return Err(SkippedSnapshot::with_reason("not a tree"));
    }
    let repository = require_repository(places)?;
    let cannot_write = |error| SkippedSnapshot::with_reason(format!("cannot write: {error}"));
    let place = ObjectFolder::open_folder(places).map_err(cannot_write)?;
    let scratch = tempfile::Builder::new().prefix(".tmp-").tempdir_in(place.scratch_path()).map_err(cannot_write)?;
    let mut git = Git::new(snapshot_folders(places, repository, &place), Instant::now() + options.time_max)?;
    git.set_index(scratch.path().join("index"));
    write_files(&git, tree, folder).map_err(|trouble| SkippedSnapshot::with_reason(trouble.reason_text()))?;
    make_repository(folder).map_err(cannot_write)
}

fn write_files(git: &Git, tree: &str, folder: &Path) -> Result<(), GitError> {
    git.run(GitView::Both, ["read-tree", tree], None)?;
    let mut prefix = OsString::from("--prefix=");
    prefix.push(folder);
    prefix.push("/");
    let arguments = ["checkout-index", "--all", "--quiet"].map(OsString::from);
    git.run(GitView::Both, arguments.into_iter().chain([prefix]), None).map(|_| ())
}

/// The files without which a folder is no repository.
fn make_repository(folder: &Path) -> std::io::Result<()> {
    let git = folder.join(".git");
    for inside in ["objects", "refs"] {
        create_private_dir(&git.join(inside))?;
    }
    let write = |name: &str, text: &str| write_atomic(&git.join(name), text.as_bytes(), 0o600, Durability::Cached);
    write("config", "[core]\n\trepositoryformatversion = 0\n\tbare = false\n")?;
    write("HEAD", "ref: refs/heads/main\n")
}
