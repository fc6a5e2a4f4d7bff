//! Edits of the tree, done before the command starts.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

use nix::libc;

use crate::lab::plan::PlannedEdit;

/// Makes the edits in the tree at `root`; `from` has their contents.
///
/// # Errors
/// The operating system's; `InvalidInput` for a path that leads out of the tree.
pub(super) fn make_edits(edits: &[PlannedEdit], root: &Path, from: Option<&Path>) -> io::Result<()> {
    for edit in edits {
        let target = path_inside(root, edit.path.path())?;
        // What is there may be a link, or shared with the layer below.
        match fs::symlink_metadata(&target) {
            Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(&target)?,
            Ok(_) => fs::remove_file(&target)?,
            Err(_) => {}
        }
        let (Some(name), Some(from)) = (&edit.from, from) else { continue };
        if let Some(parent) = target.parent() {
            DirBuilder::new().recursive(true).mode(0o755).create(parent)?;
        }
        let mode = if edit.is_executable { 0o755 } else { 0o644 };
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(mode).custom_flags(libc::O_NOFOLLOW).open(&target)?;
        io::copy(&mut File::open(from.join(name))?, &mut file)?;
    }
    Ok(())
}

/// The path below `root`, none of whose folders is a link.
fn path_inside(root: &Path, path: &Path) -> io::Result<PathBuf> {
    let refused = || io::Error::new(io::ErrorKind::InvalidInput, format!("{} leads out of the tree", path.display()));
    let mut target = root.to_owned();
    let mut parts = path.components().peekable();
    while let Some(part) = parts.next() {
        match part {
            Component::Normal(name) => target.push(name),
            _ => return Err(refused()),
        }
        let is_folder = parts.peek().is_some();
        if is_folder && fs::symlink_metadata(&target).is_ok_and(|metadata| metadata.is_symlink()) {
            return Err(refused());
        }
    }
    if target == root { Err(refused()) } else { Ok(target) }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn edit(path: &str, from: Option<&str>) -> PlannedEdit {
        PlannedEdit { path: path.into(), from: from.map(str::to_owned), is_executable: true }
    }

    #[test]
    fn files_are_written_removed_and_never_outside() {
        let dir = tempfile::tempdir().expect("a folder");
        let (root, from) = (dir.path().join("tree"), dir.path().join("edits"));
        fs::create_dir_all(root.join("sub")).expect("a folder");
        fs::create_dir(&from).expect("a folder");
        fs::write(from.join("0"), "new").expect("a file");
        fs::write(root.join("gone"), "old").expect("a file");
        fs::write(dir.path().join("outside"), "kept").expect("a file");
        symlink("../outside", root.join("link")).expect("a link");
        symlink("..", root.join("up")).expect("a link");
        let edits = [edit("a/b", Some("0")), edit("gone", None), edit("link", Some("0")), edit("never", None)];
        make_edits(&edits, &root, Some(&from)).expect("edited");
        assert_eq!(fs::read_to_string(root.join("a/b")).expect("a file"), "new");
        assert!(fs::metadata(root.join("a/b")).expect("a file").permissions().mode() & 0o100 != 0);
        assert!(!root.join("gone").exists() && fs::symlink_metadata(root.join("link")).expect("a file").is_file());
        for path in ["../outside", "/outside", "up/outside", ".", ""] {
            let refused = make_edits(&[edit(path, Some("0"))], &root, Some(&from));
            assert!(refused.is_err(), "{path}");
        }
        assert_eq!(fs::read_to_string(dir.path().join("outside")).expect("a file"), "kept");
    }
}
