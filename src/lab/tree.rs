//! A git tree as files: checked out once, read-only for all runs; what one run writes or edits is over it.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};

use super::place::{Lab, LabError, file_error};
use crate::base::file::is_program;
use crate::fix::snapshot::{CheckoutLimits, check_out_tree};

/// The room that a lab leaves on the disk, bytes.
const FREE_DISK_MIN: u64 = 512 << 20;

/// A tree that is checked out in a lab.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LabTree {
    /// The git tree.
    pub tree: String,
    /// Files of it whose content is not known any more: they are not there.
    pub missing: Vec<PathBuf>,
    /// Files that are other than in it.
    pub edits: Vec<TreeEdit>,
    /// The folders that it is made of, the topmost first.
    pub(super) layers: Vec<PathBuf>,
}

/// A file that is other than in the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TreeEdit {
    /// Relative to the root.
    pub path: PathBuf,
    /// `None` for a file that is not there.
    pub content: Option<Vec<u8>>,
    /// Whether it may be executed.
    pub is_executable: bool,
}

impl LabTree {
    /// A file of this tree as an edit of another one: with its content, or as removed where it is not there.
    ///
    /// # Errors
    /// The operating system's; `InvalidInput` for anything but a regular file.
    pub(crate) fn edit_of_file(&self, path: &Path) -> io::Result<TreeEdit> {
        let path = path.to_owned();
        let found = self.layers.iter().map(|layer| layer.join(&path)).find(|file| fs::symlink_metadata(file).is_ok());
        let Some(file) = found else { return Ok(TreeEdit { path, content: None, is_executable: false }) };
        if !fs::symlink_metadata(&file)?.is_file() {
            let refused = format!("{} is not a regular file", path.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, refused));
        }
        Ok(TreeEdit { content: Some(fs::read(&file)?), is_executable: is_program(&file), path })
    }

    /// The same tree with edits over it.
    pub(crate) fn with_edits(&self, edits: Vec<TreeEdit>) -> Self {
        LabTree { edits, ..self.clone() }
    }
}

impl Lab {
    /// A tree of the project as files; a second time it is there already.
    ///
    /// # Errors
    /// When an object is gone, a name leads out of the folder, or the disk is nearly full.
    pub(crate) fn check_out(&self, tree: &str) -> Result<LabTree, LabError> {
        let mut trees = self.trees().lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(known) = trees.get(tree) {
            return Ok(known.clone());
        }
        let lent = self.lent_layer().map_err(file_error("cannot copy the ignored files of the project"))?;
        let to = self.folder(&format!("tree-{}", trees.len()));
        self.check_room()?;
        // Rights as a user's own checkout has them.
        make_folder(&to).map_err(file_error("cannot make a folder for the tree"))?;
        let checked_out =
            check_out_tree(self.project_places(), tree, &to, CheckoutLimits::LARGEST, self.snapshot_options());
        let checked_out = checked_out.map_err(LabError::Tree)?;
        let layers = vec![lent, to];
        let made = LabTree { tree: tree.to_owned(), missing: checked_out.missing, edits: Vec::new(), layers };
        trees.insert(tree.to_owned(), made.clone());
        Ok(made)
    }

    #[allow(clippy::unnecessary_cast, reason = "the types differ between systems")]
    fn check_room(&self) -> Result<(), LabError> {
        let room = nix::sys::statvfs::statvfs(self.folder("").as_path());
        let free =
            room.map_or(u64::MAX, |room| (room.blocks_available() as u64).saturating_mul(room.fragment_size() as u64));
        if free >= FREE_DISK_MIN {
            return Ok(());
        }
        let error = io::Error::new(io::ErrorKind::StorageFull, format!("{} MiB are free", free >> 20));
        Err(file_error("there is no room for a tree on the disk")(error))
    }

    /// The ignored files that are lent, and the folders in which lent ones are mounted: a layer over every tree.
    fn lent_layer(&self) -> io::Result<PathBuf> {
        let layer = self.folder("lent");
        if layer.is_dir() {
            return Ok(layer);
        }
        make_folder(&layer)?;
        let (lent, root) = (self.lent(), &self.view().root);
        for path in &lent.files {
            let to = layer.join(path);
            to.parent().map_or(Ok(()), make_folder)?;
            // One that is gone meanwhile is not lent.
            if fs::copy(root.join(path), &to).is_ok()
                && let Ok(modified) = fs::metadata(root.join(path)).and_then(|metadata| metadata.modified())
            {
                let _ = fs::File::options().write(true).open(&to).and_then(|file| file.set_modified(modified));
            }
        }
        for path in &lent.links {
            let to = layer.join(path);
            to.parent().map_or(Ok(()), make_folder)?;
            fs::read_link(root.join(path)).and_then(|target| symlink(target, to))?;
        }
        lent.folders.iter().try_for_each(|path| make_folder(&layer.join(path)))?;
        Ok(layer)
    }
}

/// Copies the layers of a tree into `to`, the lowest first, without the folders that are lent as they are.
///
/// # Errors
/// The operating system's.
pub(super) fn copy_layers(layers: &[PathBuf], to: &Path) -> io::Result<()> {
    for layer in layers.iter().rev() {
        let mut folders = vec![PathBuf::new()];
        while let Some(folder) = folders.pop() {
            make_folder(&to.join(&folder))?;
            for entry in fs::read_dir(layer.join(&folder))? {
                let entry = entry?;
                let path = folder.join(entry.file_name());
                let kind = entry.file_type()?;
                let target = to.join(&path);
                if kind.is_dir() {
                    folders.push(path);
                    continue;
                }
                match fs::remove_file(&target) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
                if kind.is_symlink() {
                    symlink(fs::read_link(entry.path())?, &target)?;
                } else if kind.is_file() {
                    fs::copy(entry.path(), &target)?;
                    let modified = entry.metadata()?.modified()?;
                    // One without the right to write keeps the time of the copy.
                    let _ = fs::File::options().write(true).open(&target).and_then(|file| file.set_modified(modified));
                }
            }
        }
    }
    Ok(())
}

fn make_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o755).create(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_the_topmost_file_of_each_name_with_its_time() {
        let dir = tempfile::tempdir().expect("a folder");
        let [top, bottom, to] = ["top", "bottom", "to"].map(|name| dir.path().join(name));
        for (layer, files) in [(&top, &["a", "sub/new"][..]), (&bottom, &["a", "sub/old"][..])] {
            for file in files {
                let path = layer.join(file);
                fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
                fs::write(path, layer.display().to_string()).expect("a file");
            }
        }
        symlink("a", bottom.join("link")).expect("a link");
        let time = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
        fs::File::options()
            .write(true)
            .open(bottom.join("sub/old"))
            .expect("a file")
            .set_modified(time)
            .expect("a time");
        copy_layers(&[top.clone(), bottom], &to).expect("copied");
        assert_eq!(fs::read_to_string(to.join("a")).expect("a file"), top.display().to_string());
        assert!(to.join("sub/new").is_file() && fs::read_link(to.join("link")).expect("a link") == Path::new("a"));
        assert_eq!(fs::metadata(to.join("sub/old")).expect("a file").modified().expect("a time"), time);
    }
}
