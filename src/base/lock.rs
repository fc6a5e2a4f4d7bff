//! Advisory file locks, by the standard library (`flock` on Linux and macOS).

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use super::private;

/// A held exclusive lock; released when dropped or when the process ends in any way.
#[derive(Debug)]
pub struct Lock(File);

impl Lock {
    /// A second hold on it: it is released when both are dropped.
    ///
    /// # Errors
    /// When there are no descriptors left.
    pub fn share(&self) -> io::Result<Lock> {
        self.0.try_clone().map(Lock)
    }
}

/// Tries once. `Ok(None)` when another process holds the lock.
///
/// # Errors
/// When the file can't be created or the file system has no locks.
pub fn try_exclusive(path: &Path) -> io::Result<Option<Lock>> {
    let file = open(path)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(Lock(file))),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Waits at most `wait` for the lock, asking every 5 ms. `Ok(None)` when it was not to be had.
///
/// # Errors
/// As [`try_exclusive`].
#[allow(clippy::disallowed_methods, reason = "std's lock has no wait with a limit")]
pub fn exclusive(path: &Path, wait: Duration) -> io::Result<Option<Lock>> {
    let until = Instant::now() + wait;
    loop {
        if let Some(lock) = try_exclusive(path)? {
            return Ok(Some(lock));
        }
        if Instant::now() >= until {
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn open(path: &Path) -> io::Result<File> {
    private::open(path, OpenOptions::new().create(true).write(true).truncate(false).mode(0o600))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_lock_is_held_until_both_are_dropped() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("lock");
        let first = try_exclusive(&path).expect("locks").expect("is free");
        let second = first.share().expect("shares");
        drop(first);
        assert!(try_exclusive(&path).expect("asks").is_none());
        drop(second);
        assert!(try_exclusive(&path).expect("asks").is_some());
    }
}
