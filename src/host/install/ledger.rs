//! What was written where, and what was there before: the record that takes installations out again.
//!
//! `install/ledger.json` in the state folder, the contents beside it under their hashes. It is written before the first
//! file is; a file that still is as before needs nothing then.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::InstallError;
use crate::base::file::{Durability, create_private_dir, read_start, write_atomic};
use crate::base::limits::{CONFIG_FILE_BYTES_MAX, LOCK_WAIT_MS_MAX};
use crate::base::lock;
use crate::base::lossless::Lossless;
use crate::config::{Environment, Places, StateDir};
use crate::host::InstallScope;
use crate::host::agent::WrittenTexts;

/// Of the file.
const SCHEMA: u32 = 1;
/// The ledger, bytes.
const LEDGER_BYTES_MAX: u64 = 4 << 20;

/// A file that was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LedgerEntry {
    /// Absolute.
    pub path: Lossless,
    /// For which hosts.
    pub hosts: Vec<String>,
    /// What was in it before us; `None`: there was no such file.
    pub before: Option<LedgerContent>,
    /// What we made of it.
    pub after: LedgerContent,
    /// Folders that were made for it, the outermost first.
    #[serde(default)]
    pub folders: Vec<Lossless>,
}

/// A file's content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LedgerContent {
    /// BLAKE3 of the bytes, which lie under this name.
    pub hash: String,
    /// Permission bits.
    pub mode: u32,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct LedgerDocument {
    schema: u32,
    /// Folders that were made for the ledger itself, the outermost first.
    #[serde(default)]
    folders: Vec<Lossless>,
    files: Vec<LedgerEntry>,
}

/// The ledger of a project, which also has its local files, or of the home folder.
#[derive(Debug)]
pub(super) struct Ledger {
    dir: PathBuf,
    document: LedgerDocument,
    /// Held from the first change on.
    lock: Option<lock::Lock>,
}

impl Ledger {
    /// Reads it; one that isn't there yet is empty.
    ///
    /// # Errors
    /// When it can't be read, or is of a newer version.
    pub(super) fn open_ledger(
        places: &Places,
        environment: &Environment,
        scope: InstallScope,
    ) -> Result<Self, InstallError> {
        let state =
            if scope.is_user() { environment.state_dir().map(StateDir::from) } else { Some(places.state.clone()) };
        let dir = state.ok_or(InstallError::NoHomeFolder)?.installation();
        let path = dir.join("ledger.json");
        let document = match read_start(&path, LEDGER_BYTES_MAX) {
            Ok(bytes) => {
                serde_json::from_slice(&bytes).map_err(|source| InstallError::Ledger { path: path.clone(), source })?
            }
            Err(error) if is_absent(&error) => LedgerDocument { schema: SCHEMA, ..LedgerDocument::default() },
            Err(error) => return Err(InstallError::file("read", &path)(error)),
        };
        if document.schema > SCHEMA {
            return Err(InstallError::NewerLedger { path });
        }
        Ok(Ledger { dir, document, lock: None })
    }

    /// As [`Ledger::open_ledger`], for changing it: no other process does until this is dropped.
    ///
    /// # Errors
    /// As [`Ledger::open_ledger`], and when its folder can't be made.
    pub(super) fn open_for_change(
        places: &Places,
        environment: &Environment,
        scope: InstallScope,
    ) -> Result<Self, InstallError> {
        let dir = Ledger::open_ledger(places, environment, scope)?.dir;
        let made = missing_folders(&dir);
        create_private_dir(&dir).map_err(InstallError::file("create", &dir))?;
        let wait = Duration::from_millis(LOCK_WAIT_MS_MAX);
        let held = lock::exclusive(&dir.join("lock"), wait).map_err(|source| InstallError::Lock { source })?;
        let held = held.ok_or(InstallError::Busy)?;
        let mut ledger = Ledger::open_ledger(places, environment, scope)?;
        ledger.document.folders.extend(made.iter().map(|dir| Lossless::from(dir.as_path())));
        ledger.lock = Some(held);
        Ok(ledger)
    }

    /// Every file that was written.
    pub(super) fn all_entries(&self) -> &[LedgerEntry] {
        &self.document.files
    }

    /// The entry of a file.
    pub(super) fn find_entry(&self, path: &Path) -> Option<&LedgerEntry> {
        self.document.files.iter().find(|entry| entry.path.path() == path)
    }

    /// The texts of a file before and after it was written; `None` where it wasn't.
    pub(super) fn original_texts(&self, path: &Path) -> Option<WrittenTexts> {
        let entry = self.find_entry(path)?;
        let text = |content: &LedgerContent| String::from_utf8(self.content_bytes(content).ok()?).ok();
        let before = entry.before.as_ref().map_or(Some(String::new()), text)?;
        Some(WrittenTexts { before, after: text(&entry.after)? })
    }

    /// A content's bytes.
    ///
    /// # Errors
    /// When they are lost.
    pub(super) fn content_bytes(&self, content: &LedgerContent) -> Result<Vec<u8>, InstallError> {
        let path = self.dir.join("contents").join(&content.hash);
        let bytes = read_start(&path, CONFIG_FILE_BYTES_MAX * 2).map_err(InstallError::file("read", &path))?;
        if hash(&bytes) == content.hash { Ok(bytes) } else { Err(InstallError::Damaged { path }) }
    }

    /// Keeps bytes, and says what they are.
    ///
    /// # Errors
    /// When they can't be written.
    pub(super) fn keep_content(&self, bytes: &[u8], mode: u32) -> Result<LedgerContent, InstallError> {
        let (dir, hash) = (self.dir.join("contents"), hash(bytes));
        create_private_dir(&dir).map_err(InstallError::file("create", &dir))?;
        let path = dir.join(&hash);
        write_atomic(&path, bytes, 0o600, Durability::Synced).map_err(InstallError::file("write", &path))?;
        Ok(LedgerContent { hash, mode })
    }

    /// Puts an entry in the place of the one for the same file.
    pub(super) fn set_entry(&mut self, entry: LedgerEntry) {
        self.document.files.retain(|other| other.path != entry.path);
        self.document.files.push(entry);
    }

    /// Puts `entries` in the place of all others.
    pub(super) fn replace_entries(&mut self, entries: Vec<LedgerEntry>) {
        self.document.files = entries;
    }

    /// Forgets a file.
    pub(super) fn forget_entry(&mut self, path: &Path) {
        self.document.files.retain(|entry| entry.path.path() != path);
    }

    /// Writes it. One without files goes, with the folders that were made for it.
    ///
    /// # Errors
    /// When it can't be written.
    pub(super) fn save_ledger(&mut self) -> Result<(), InstallError> {
        if self.document.files.is_empty() {
            return self.clear_ledger();
        }
        let path = self.dir.join("ledger.json");
        let bytes = serde_json::to_vec_pretty(&self.document)
            .map_err(|source| InstallError::Ledger { path: path.clone(), source })?;
        write_atomic(&path, &bytes, 0o600, Durability::Synced).map_err(InstallError::file("write", &path))
    }

    /// Removes contents that no entry names.
    fn clear_ledger(&mut self) -> Result<(), InstallError> {
        match fs::remove_dir_all(&self.dir) {
            Err(error) if !is_absent(&error) => return Err(InstallError::file("remove", &self.dir)(error)),
            _ => {}
        }
        for folder in self.document.folders.iter().rev().filter(|folder| folder.path() != self.dir) {
            // One that is in use by now stays.
            let _ = fs::remove_dir(folder.path());
        }
        Ok(())
    }
}

/// The folders that are missing on the way to `dir` and `dir` itself, the outermost first.
pub(super) fn missing_folders(dir: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        dir.ancestors().take_while(|dir| fs::symlink_metadata(dir).is_err()).map(Path::to_owned).collect();
    found.reverse();
    found
}

/// BLAKE3 in hexadecimal.
pub(super) fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// Whether a file isn't there.
pub(super) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
