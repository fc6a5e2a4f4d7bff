//! What a command changed of the tree.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Changed files that are named; further ones are counted.
const CHANGES_MAX: usize = 10_000;
/// Folders below each other that are looked at.
const DEPTH_MAX: usize = 100;
/// What is read of two files at once to compare them, bytes.
const COMPARED_BYTES: usize = 64 << 10;

/// The changed files, relative to the tree.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TreeChanges {
    /// The first ones.
    pub files: Vec<PathBuf>,
    /// Further ones.
    pub cut: u64,
}

/// A tree after a command.
#[derive(Debug)]
pub(super) struct ChangedTree<'a> {
    /// As it is now.
    pub root: &'a Path,
    /// What was written of it; the tree itself where that is not apart.
    pub written: &'a Path,
    /// What it was made of, the topmost first.
    pub layers: &'a [PathBuf],
}

impl ChangedTree<'_> {
    /// The files that are new, gone, or have another content, type or executable bit.
    pub(super) fn list_changes(&self) -> TreeChanges {
        let mut changes = TreeChanges::default();
        let mut folders = vec![PathBuf::new()];
        while let Some(folder) = folders.pop() {
            for name in names_in(&self.written.join(&folder)) {
                let path = folder.join(&name);
                // The repository was made for the run.
                if path == Path::new(".git") {
                    continue;
                }
                match fs::symlink_metadata(self.root.join(&path)) {
                    Ok(metadata) if metadata.is_dir() && path.components().count() >= DEPTH_MAX => {}
                    Ok(metadata) if metadata.is_dir() => folders.push(path),
                    Ok(metadata) if !self.is_as_before(&path, &metadata) => changes.add(path),
                    // Gone: it is found below.
                    _ => {}
                }
            }
            self.add_removed(&folder, &mut changes);
        }
        changes.files.sort();
        changes
    }

    fn is_as_before(&self, path: &Path, now: &Metadata) -> bool {
        let found = self.layers.iter().find_map(|layer| {
            let file = layer.join(path);
            Some((fs::symlink_metadata(&file).ok()?, file))
        });
        // Of a whole tree most files were not written: their time says so. A program can set it, as few do.
        let trusts_time = self.written == self.root;
        found.is_some_and(|(before, file)| {
            trusts_time && has_same_time(&before, now) || is_same_file(&file, &before, &self.root.join(path), now)
        })
    }

    /// Files of the layers that are not there any more.
    fn add_removed(&self, folder: &Path, changes: &mut TreeChanges) {
        let before: BTreeSet<OsString> = self.layers.iter().flat_map(|layer| names_in(&layer.join(folder))).collect();
        for name in before {
            let path = folder.join(name);
            if path != Path::new(".git") && fs::symlink_metadata(self.root.join(&path)).is_err() {
                self.add_files_of(path, changes);
            }
        }
    }

    /// A file of the layers, or all files of a folder.
    fn add_files_of(&self, path: PathBuf, changes: &mut TreeChanges) {
        let mut paths = vec![path];
        while let Some(path) = paths.pop() {
            let is_folder = self
                .layers
                .iter()
                .any(|layer| fs::symlink_metadata(layer.join(&path)).is_ok_and(|metadata| metadata.is_dir()));
            if is_folder && path.components().count() < DEPTH_MAX {
                let names: BTreeSet<OsString> =
                    self.layers.iter().flat_map(|layer| names_in(&layer.join(&path))).collect();
                paths.extend(names.into_iter().map(|name| path.join(name)));
            } else {
                changes.add(path);
            }
        }
    }
}

impl TreeChanges {
    fn add(&mut self, path: PathBuf) {
        if self.files.len() < CHANGES_MAX {
            self.files.push(path);
        } else {
            self.cut += 1;
        }
    }
}

fn names_in(folder: &Path) -> Vec<OsString> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name()).collect()
}

fn has_same_time(before: &Metadata, now: &Metadata) -> bool {
    let about = |metadata: &Metadata| (metadata.file_type(), metadata.mode(), metadata.len(), metadata.modified().ok());
    about(before) == about(now)
}

fn is_same_file(old: &Path, before: &Metadata, new: &Path, now: &Metadata) -> bool {
    if before.file_type() != now.file_type() {
        return false;
    }
    if now.is_symlink() {
        return fs::read_link(old).ok() == fs::read_link(new).ok();
    }
    let is_executable = |metadata: &Metadata| metadata.mode() & 0o100 != 0;
    if !now.is_file() || before.len() != now.len() || is_executable(before) != is_executable(now) {
        return false;
    }
    has_same_content(old, new).unwrap_or(false)
}

fn has_same_content(old: &Path, new: &Path) -> Option<bool> {
    let (mut old, mut new) = (File::open(old).ok()?, File::open(new).ok()?);
    let (mut one, mut other) = (vec![0; COMPARED_BYTES], vec![0; COMPARED_BYTES]);
    loop {
        let count = old.read(&mut one).ok()?;
        new.read_exact(&mut other[..count]).ok()?;
        if one[..count] != other[..count] {
            return Some(false);
        }
        if count == 0 {
            return Some(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn write(folder: &Path, files: &[(&str, &str)]) {
        for (name, text) in files {
            let file = folder.join(name);
            fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            fs::write(file, text).expect("a file");
        }
    }

    #[test]
    fn new_gone_and_other_files_are_listed_and_touched_ones_are_not() {
        let dir = tempfile::tempdir().expect("a folder");
        let (layer, root) = (dir.path().join("layer"), dir.path().join("tree"));
        let before = [
            ("same", "1"),
            ("touched", "22"),
            ("other", "333"),
            ("sub/gone", "4"),
            ("sub/deep/gone", "5"),
            ("mode", "6"),
        ];
        write(&layer, &before);
        symlink("same", layer.join("link")).expect("a link");
        write(
            &root,
            &[("same", "1"), ("touched", "22"), ("other", "334"), ("new/file", "7"), ("mode", "6"), (".git/x", "8")],
        );
        symlink("other", root.join("link")).expect("a link");
        fs::set_permissions(root.join("mode"), fs::Permissions::from_mode(0o755)).expect("a mode");
        let layers = [layer];
        let changes = ChangedTree { root: &root, written: &root, layers: &layers }.list_changes();
        let expected = ["link", "mode", "new/file", "other", "sub/deep/gone", "sub/gone"];
        assert_eq!(changes, TreeChanges { files: expected.map(PathBuf::from).to_vec(), cut: 0 });
    }

    #[test]
    fn a_file_of_the_topmost_layer_is_the_one_that_counts() {
        let dir = tempfile::tempdir().expect("a folder");
        let [top, bottom, root] = ["top", "bottom", "tree"].map(|name| dir.path().join(name));
        write(&top, &[("both", "new")]);
        write(&bottom, &[("both", "old"), ("below", "1")]);
        write(&root, &[("both", "new"), ("below", "2")]);
        let layers = [top, bottom];
        let changes = ChangedTree { root: &root, written: &root, layers: &layers }.list_changes();
        assert_eq!(changes.files, [PathBuf::from("below")]);
    }
}
