//! Contents of folders that no list describes: every file by its bytes.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::check_inputs::{UnknownInput, entry_names};
use crate::capture::InputHasher;

/// Files that are read in one installation; one with more is not known.
const FILES_MAX: usize = 20_000;
/// … and their bytes.
const BYTES_MAX: u64 = 256 << 20;
/// Folders in folders.
const DEPTH_MAX: usize = 64;
/// What an interpreter writes beside its sources.
const CACHE: &[u8] = b"__pycache__";

/// The files of one installation, as far as they were read.
#[derive(Debug)]
pub(super) struct FolderContent<'a> {
    /// What the installation is called.
    name: &'a str,
    /// Its folder: links may not lead out of it.
    base: &'a Path,
    files: usize,
    bytes: u64,
}

impl<'a> FolderContent<'a> {
    pub(super) fn new(name: &'a str, base: &'a Path) -> Self {
        FolderContent { name, base, files: 0, bytes: 0 }
    }

    /// Adds a file, or a folder with all that is in it: names, modes and bytes.
    ///
    /// # Errors
    /// [`UnknownInput::Unreadable`], also where there is too much.
    pub(super) fn add(&mut self, inputs: &mut InputHasher, path: &Path) -> Result<(), UnknownInput> {
        self.add_below(inputs, path, 0)
    }

    fn add_below(&mut self, inputs: &mut InputHasher, path: &Path, depth: usize) -> Result<(), UnknownInput> {
        let unreadable = || UnknownInput::Unreadable(self.name.to_owned());
        let metadata = fs::symlink_metadata(path).map_err(|_| unreadable())?;
        if metadata.is_dir() {
            if depth == DEPTH_MAX {
                return Err(unreadable());
            }
            let names = entry_names(path, self.name)?;
            let mut names = names.iter().filter(|name| name.as_slice() != CACHE);
            return names.try_for_each(|name| self.add_below(inputs, &path.join(OsStr::from_bytes(name)), depth + 1));
        }
        self.files += 1;
        self.bytes = self.bytes.saturating_add(metadata.len());
        if self.files > FILES_MAX || self.bytes > BYTES_MAX {
            return Err(unreadable());
        }
        let shown = path.strip_prefix(self.base).unwrap_or(path);
        inputs.add(self.name, shown.as_os_str().as_bytes());
        if metadata.is_symlink() {
            let target = fs::read_link(path).map_err(|_| unreadable())?;
            let base = fs::canonicalize(self.base).map_err(|_| unreadable())?;
            let is_inside = fs::canonicalize(path).is_ok_and(|real| real.starts_with(base));
            if target.is_absolute() || !is_inside {
                return Err(unreadable());
            }
            inputs.add(self.name, target.as_os_str().as_bytes());
            return Ok(());
        }
        if !metadata.is_file() {
            return Err(unreadable());
        }
        let mut hasher = blake3::Hasher::new();
        let mut file = File::open(path).map_err(|_| unreadable())?.take(BYTES_MAX);
        io::copy(&mut file, &mut hasher).map_err(|_| unreadable())?;
        inputs.add(self.name, &[u8::from(metadata.permissions().mode() & 0o111 != 0)]);
        inputs.add(self.name, hasher.finalize().as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn every_byte_of_a_folder_counts_and_what_leads_out_of_it_is_not_known() {
        let dir = tempfile::tempdir().expect("a folder");
        let package = dir.path().join("base/shop");
        fs::create_dir_all(package.join("src")).expect("made");
        fs::create_dir_all(package.join("__pycache__")).expect("made");
        fs::write(package.join("src/a.py"), "1").expect("written");
        let digest = || {
            let mut inputs = InputHasher::default();
            let base = dir.path().join("base");
            FolderContent::new("packages", &base).add(&mut inputs, &package).map(|()| inputs.finish().digest)
        };
        let mut seen = vec![digest().expect("a digest")];
        fs::write(package.join("__pycache__/a.pyc"), "1").expect("written");
        assert_eq!(digest().as_ref(), Ok(&seen[0]));
        let changes: [&dyn Fn(); 4] = [
            &|| fs::write(package.join("src/a.py"), "2").expect("written"),
            &|| fs::write(package.join("src/b.py"), "").expect("written"),
            &|| fs::set_permissions(package.join("src/b.py"), PermissionsExt::from_mode(0o755)).expect("changed"),
            &|| symlink("a.py", package.join("src/link")).expect("linked"),
        ];
        for change in changes {
            change();
            let digest = digest().expect("a digest");
            assert!(!seen.contains(&digest), "{seen:?}");
            seen.push(digest);
        }
        symlink("../../../outside", package.join("src/out")).expect("linked");
        fs::write(dir.path().join("outside"), "").expect("written");
        assert_eq!(digest(), Err(UnknownInput::Unreadable("packages".into())));
    }
}
