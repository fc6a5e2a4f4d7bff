//! A folder on the disk that a process holds by a lock, and removes at its end. What a process that was killed has left
//! is removed by the next one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::removal::remove_tree;
use crate::base::file::create_private_dir;
use crate::base::lock::{self, Lock};

/// How long another process may take to make its folder, or to clean up.
const LOCK_WAIT: Duration = Duration::from_secs(10);
/// The lock of a folder, in it, and that of all of them.
const LOCK_FILE: &str = "lock";

/// A folder of this process.
#[derive(Debug)]
pub(super) struct ClaimedFolder {
    dir: PathBuf,
    _lock: Lock,
}

impl ClaimedFolder {
    /// Removes what dead processes have left in `labs`, and makes a folder there.
    ///
    /// # Errors
    /// The operating system's; `WouldBlock` while another process makes its own.
    pub(super) fn claim(labs: &Path) -> io::Result<Self> {
        create_private_dir(labs)?;
        let busy = || io::Error::new(io::ErrorKind::WouldBlock, "another lab does not let go of its lock");
        // A folder without a held lock is a dead process's: none may be made meanwhile.
        let _all = lock::exclusive(&labs.join(LOCK_FILE), LOCK_WAIT)?.ok_or_else(busy)?;
        remove_dead_folders(labs);
        let dir = labs.join(uuid::Uuid::now_v7().simple().to_string());
        create_private_dir(&dir)?;
        let lock = lock::try_exclusive(&dir.join(LOCK_FILE))?.ok_or_else(busy)?;
        Ok(ClaimedFolder { dir, _lock: lock })
    }

    /// The folder.
    pub(super) fn path(&self) -> &Path {
        &self.dir
    }
}

impl Drop for ClaimedFolder {
    fn drop(&mut self) {
        // What can't be removed now, the next one removes.
        let _ = remove_tree(&self.dir);
    }
}

/// Removes what dead processes have left in `labs`. Nothing while another process makes its folder: it does the same.
pub(super) fn remove_left_folders(labs: &Path) {
    if labs.is_dir()
        && let Ok(Some(_all)) = lock::try_exclusive(&labs.join(LOCK_FILE))
    {
        remove_dead_folders(labs);
    }
}

/// The kernel releases a lock when its process dies, however it does, and whatever container it was in: what is locked
/// is in use.
fn remove_dead_folders(labs: &Path) {
    for entry in fs::read_dir(labs).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir())
            && let Ok(Some(_held)) = lock::try_exclusive(&entry.path().join(LOCK_FILE))
        {
            let _ = remove_tree(&entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_dead_process_left_goes_and_what_is_held_stays() {
        let dir = tempfile::tempdir().expect("a folder");
        let labs = dir.path().join("lab");
        fs::create_dir_all(labs.join("dead/run-0/rw/tree/work")).expect("a folder");
        fs::write(labs.join("level.json"), "{}").expect("a file");
        let held = ClaimedFolder::claim(&labs).expect("claimed");
        assert!(!labs.join("dead").exists() && labs.join("level.json").exists());
        let other = ClaimedFolder::claim(&labs).expect("claimed");
        assert!(held.path().is_dir() && other.path().is_dir());
        let path = held.path().to_owned();
        fs::create_dir(path.join("run-0")).expect("a folder");
        drop(held);
        assert!(!path.exists() && other.path().is_dir());
    }

    #[test]
    fn what_a_dead_process_left_goes_without_a_new_lab() {
        let dir = tempfile::tempdir().expect("a folder");
        let labs = dir.path().join("lab");
        remove_left_folders(&labs);
        assert!(!labs.exists());
        let held = ClaimedFolder::claim(&labs).expect("claimed");
        fs::create_dir(labs.join("dead")).expect("a folder");
        remove_left_folders(&labs);
        assert!(!labs.join("dead").exists() && held.path().is_dir());
    }
}
