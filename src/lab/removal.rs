//! Removes what a run has left on the disk, whatever it is: folders that may not be entered, trees deeper than a path can
//! say.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Folders below each other that are removed in their place; deeper ones are moved up first.
const DEPTH_MAX: usize = 64;
/// A longer path, bytes, is one too: the kernel takes up to 4,096.
const PATH_BYTES_MAX: usize = 2_048;

/// Removes a folder with everything in it. No process writes into it any more. Links are removed, never followed.
///
/// # Errors
/// The operating system's; what could be removed is gone.
pub(super) fn remove_tree(folder: &Path) -> io::Result<()> {
    let mut roots = vec![folder.to_owned()];
    let mut failed = None;
    let mut moved = 0_u64;
    while let Some(root) = roots.pop() {
        // Every folder is visited twice: to list it, and to remove it when it is empty.
        let mut folders: Vec<(PathBuf, usize, bool)> = vec![(root.clone(), 0, false)];
        while let Some((current, depth, is_listed)) = folders.pop() {
            if is_listed {
                keep_first(&mut failed, fs::remove_dir(&current));
                continue;
            }
            folders.push((current.clone(), depth, true));
            for entry in list_folder(&current, &mut failed) {
                let path = entry.path();
                if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    keep_first(&mut failed, fs::remove_file(&path));
                } else if depth < DEPTH_MAX && path.as_os_str().len() < PATH_BYTES_MAX {
                    folders.push((path, depth + 1, false));
                } else {
                    moved += 1;
                    let shallow = folder.with_extension(format!("deep-{moved}"));
                    let _ = make_enterable(&path);
                    match fs::rename(&path, &shallow) {
                        Ok(()) => roots.push(shallow),
                        Err(error) => keep_first(&mut failed, Err(error)),
                    }
                }
            }
        }
    }
    match failed {
        Some(error) if fs::symlink_metadata(folder).is_ok() => Err(error),
        _ => Ok(()),
    }
}

fn list_folder(folder: &Path, failed: &mut Option<io::Error>) -> Vec<fs::DirEntry> {
    let listed = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let _ = make_enterable(folder);
            fs::read_dir(folder)
        }
        listed => listed,
    };
    // Without the right to write, nothing can be removed from it.
    if fs::metadata(folder).is_ok_and(|metadata| metadata.permissions().mode() & 0o700 != 0o700) {
        let _ = make_enterable(folder);
    }
    match listed {
        Ok(entries) => entries.flatten().collect(),
        Err(error) => {
            keep_first(failed, Err(error));
            Vec::new()
        }
    }
}

/// Only called for a folder that is no link: no process is left that could put one in its place.
fn make_enterable(folder: &Path) -> io::Result<()> {
    fs::set_permissions(folder, Permissions::from_mode(0o700))
}

fn keep_first(failed: &mut Option<io::Error>, result: io::Result<()>) {
    if let Err(error) = result
        && error.kind() != io::ErrorKind::NotFound
        && failed.is_none()
    {
        *failed = Some(error);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn closed_and_deep_folders_go_and_what_links_lead_to_stays() {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = dir.path().join("run");
        fs::create_dir_all(folder.join("work/work")).expect("a folder");
        fs::write(folder.join("work/work/file"), "x").expect("a file");
        fs::set_permissions(folder.join("work/work"), Permissions::from_mode(0o000)).expect("a mode");
        fs::set_permissions(folder.join("work"), Permissions::from_mode(0o500)).expect("a mode");
        fs::write(dir.path().join("kept"), "y").expect("a file");
        symlink(dir.path(), folder.join("link")).expect("a link");
        let mut deep = folder.clone();
        for _ in 0..200 {
            deep.push("d");
        }
        fs::create_dir_all(&deep).expect("a folder");
        fs::write(deep.join("file"), "z").expect("a file");
        remove_tree(&folder).expect("removed");
        let left: Vec<_> =
            fs::read_dir(dir.path()).expect("a folder").flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(left, ["kept"]);
    }

    #[test]
    fn a_tree_deeper_than_a_path_goes() {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = dir.path().join("run");
        fs::create_dir(&folder).expect("a folder");
        // Built from the inside to the outside: no path is longer than two names.
        let (one, other) = (dir.path().join("one"), dir.path().join("other"));
        let name = "n".repeat(200);
        fs::create_dir(&one).expect("a folder");
        for _ in 0..100 {
            fs::create_dir(&other).expect("a folder");
            fs::rename(&one, other.join(&name)).expect("moved");
            fs::rename(&other, &one).expect("moved");
        }
        fs::rename(&one, folder.join("deep")).expect("moved");
        remove_tree(&folder).expect("removed");
        assert_eq!(fs::read_dir(dir.path()).expect("a folder").count(), 0);
    }
}
