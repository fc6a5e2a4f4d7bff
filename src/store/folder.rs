//! The state folder itself: foreign files in the place of verify-run's files are moved aside.

use std::fs::{self, FileType};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::error::{StoreError, io_at};
use super::segment::free_name;
use crate::base::private;
use crate::base::text;
use crate::config::StateDir;

/// What is moved aside gets this behind its name, and a number.
const ASIDE: &str = ".aside-";

/// Moves aside every link, FIFO and device, every folder in place of a file and every file in place of a folder: a
/// project that was cloned or unpacked may have brought them along. A note for each.
///
/// # Errors
/// When the state folder itself is a link or another user's, or something can't be moved.
pub(crate) fn move_foreign_files_aside(state: &StateDir) -> Result<Vec<String>, StoreError> {
    private::check_folder(state).map_err(io_at("use", state))?;
    let mut notes = Vec::new();
    for (path, kind) in read_entries(state)? {
        let name = path.file_name().unwrap_or_default().as_bytes();
        let is = |names: &[&str]| names.iter().any(|known| known.as_bytes() == name);
        let is_foreign = match kind {
            kind if kind.is_dir() => {
                is(&StateDir::FILES) || is(&StateDir::FOLDERS) && private::check_folder(&path).is_err()
            }
            kind if kind.is_file() => is(&StateDir::FOLDERS),
            _ => !is_aside(&path),
        };
        if is_foreign {
            notes.push(move_aside(&path)?);
        }
    }
    for (path, kind) in read_entries(&state.events())? {
        if !kind.is_file() && path.extension().is_some_and(|extension| extension == "jsonl") {
            notes.push(move_aside(&path)?);
        }
    }
    Ok(notes)
}

/// What was moved aside, now or earlier.
pub(crate) fn files_moved_aside(state: &StateDir) -> Vec<PathBuf> {
    let found =
        [state.to_path_buf(), state.events()].into_iter().flat_map(|dir| read_entries(&dir).unwrap_or_default());
    let mut found: Vec<_> = found.map(|(path, _)| path).filter(|path| is_aside(path)).collect();
    found.sort();
    found
}

fn is_aside(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().contains(ASIDE))
}

fn read_entries(dir: &Path) -> Result<Vec<(PathBuf, FileType)>, StoreError> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(io_at("read", dir)(error)),
    };
    Ok(entries.flatten().filter_map(|entry| Some((entry.path(), entry.file_type().ok()?))).collect())
}

/// Moves aside what occupies the name of one of verify-run's files; returns the note.
///
/// # Errors
/// The operating system's.
pub(super) fn move_aside(path: &Path) -> Result<String, StoreError> {
    let aside = free_name(|n| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!("{ASIDE}{n}"));
        name.into()
    });
    fs::rename(path, &aside).map_err(io_at("move aside", path))?;
    Ok(format!("{} is not a file or folder of verify-run: moved it to {}", text::path(path), text::path(&aside)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::event::sample;

    #[test]
    fn what_is_not_ours_is_moved_aside_once_and_what_is_ours_stays() {
        let dir = sample::folder();
        let state = StateDir::from(dir.path());
        let path = |name: &str| state.join(name);
        fs::create_dir_all(path("events/w-2026-01.jsonl")).expect("a folder");
        fs::create_dir_all(path("spool")).expect("a folder");
        fs::write(path("events/w-2026-02.jsonl"), "").expect("a file");
        fs::write(path("raw"), "").expect("a file");
        symlink("/etc/passwd", path("recorder.log")).expect("a link");
        symlink("store.db", path("store.db")).expect("a link");
        symlink("/etc/passwd", path("events/$(touch${IFS}x).jsonl")).expect("a link");
        let notes = move_foreign_files_aside(&state).expect("puts it right");
        assert_eq!(notes.len(), 5, "{notes:#?}");
        assert!(notes.iter().any(|note| note.contains("/$(touch${IFS}x).jsonl' is not")), "{notes:#?}");
        assert_eq!(files_moved_aside(&state).len(), 5);
        assert!(path("events/w-2026-02.jsonl").is_file() && path("spool").is_dir());
        assert_eq!(move_foreign_files_aside(&state).expect("has nothing to do"), Vec::<String>::new());
    }
}
