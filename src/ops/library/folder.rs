//! The folders of the pattern library in the work tree: their pages as files, moved and written whole. What others
//! put there is read, and never followed out of the work tree.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::candidate::ensure_inside_root;
use crate::base::file::{Durability, read_start, write_atomic};
use crate::event::LibraryFolderName;
use crate::learn::library::{PAGE_BYTES_MAX, PageFile, PageFrontMatter, digest_page, parse_page};
use crate::ops::request::Request;

/// Pages of one folder that are looked at.
const PAGES_MAX: usize = 500;
/// The folders.
pub(super) const FOLDERS: [LibraryFolderName; 3] =
    [LibraryFolderName::Candidates, LibraryFolderName::Active, LibraryFolderName::Deprecated];

/// A page that is in a folder of the library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundPage {
    /// What decides whether it is served.
    pub file: PageFile,
    /// Relative to the root.
    pub path: PathBuf,
    /// All of it.
    pub text: String,
    /// What it says of itself.
    pub front_matter: PageFrontMatter,
}

/// The library of a work tree.
#[derive(Debug, Clone)]
pub(super) struct PageFolders {
    root: PathBuf,
    /// Relative to the root.
    dir: PathBuf,
}

impl PageFolders {
    /// The library that the settings name.
    pub(super) fn of_request(request: &Request) -> Self {
        PageFolders { root: request.places.root.clone(), dir: request.settings().patterns.dir.clone() }
    }

    /// A folder, relative to the root.
    fn relative(&self, folder: LibraryFolderName) -> PathBuf {
        self.dir.join(folder.as_str())
    }

    /// The readable pages of a folder, by name; the names of those that are none, with the reason.
    pub(super) fn read_pages(&self, folder: LibraryFolderName) -> (Vec<FoundPage>, Vec<(PathBuf, String)>) {
        let (mut pages, mut unreadable) = (Vec::new(), Vec::new());
        let dir = self.root.join(self.relative(folder));
        if ensure_inside_root(&self.root, &dir).is_err() {
            return (pages, vec![(self.relative(folder), "a link leads out of the work tree".to_owned())]);
        }
        let names = fs::read_dir(&dir).into_iter().flatten().flatten();
        let mut names: Vec<String> = names.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.retain(|name| name.starts_with("a-") && name.ends_with(".md"));
        names.sort();
        for name in names.into_iter().take(PAGES_MAX) {
            let path = self.relative(folder).join(&name);
            match self.read_page(folder, &name) {
                Ok(page) => pages.push(page),
                Err(reason) => unreadable.push((path, reason)),
            }
        }
        (pages, unreadable)
    }

    fn read_page(&self, folder: LibraryFolderName, name: &str) -> Result<FoundPage, String> {
        let path = self.relative(folder).join(name);
        let full = self.root.join(&path);
        let metadata = full.symlink_metadata().map_err(|error| error.to_string())?;
        if !metadata.is_file() {
            return Err("it is no regular file".to_owned());
        }
        if metadata.len() > PAGE_BYTES_MAX as u64 {
            return Err(format!("it has more than {} KiB", PAGE_BYTES_MAX >> 10));
        }
        let bytes = read_start(&full, PAGE_BYTES_MAX as u64).map_err(|error| error.to_string())?;
        let digest = digest_page(&bytes);
        let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
        let (front_matter, _) = parse_page(&text).map_err(|error| error.to_string())?;
        let is_its_name = name.strip_prefix(&front_matter.id).is_some_and(|rest| rest.starts_with(['-', '.']));
        if !is_its_name {
            return Err(format!("it says that it is {}", front_matter.id));
        }
        let file = PageFile { folder, name: name.to_owned(), digest, is_in_default_branch: false };
        Ok(FoundPage { file, path, text, front_matter })
    }

    /// Writes a page into a folder; its path, relative to the root. A file of this name is replaced: its id is the page's.
    ///
    /// # Errors
    /// When the folder leads out of the work tree or can't be written.
    pub(super) fn write_page(&self, folder: LibraryFolderName, name: &str, text: &str) -> anyhow::Result<PathBuf> {
        let path = self.relative(folder).join(name);
        let dir = self.root.join(self.relative(folder));
        ensure_inside_root(&self.root, &dir).with_context(|| format!("cannot write {}", dir.display()))?;
        fs::create_dir_all(&dir).with_context(|| format!("cannot create {}", dir.display()))?;
        write_atomic(&self.root.join(&path), text.as_bytes(), 0o644, Durability::Synced)
            .with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    }

    /// Removes a page's file, and its folder once that is empty.
    ///
    /// # Errors
    /// When it can't be removed.
    pub(super) fn remove_page(&self, path: &Path) -> anyhow::Result<()> {
        let full = self.root.join(path);
        match fs::remove_file(&full) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("cannot remove {}", path.display()));
            }
            _ => {}
        }
        if let Some(folder) = full.parent() {
            // It stays while anything is in it.
            let _ = fs::remove_dir(folder);
        }
        Ok(())
    }
}
