//! SQLite's files beside the index: its write-ahead log, or where that is impossible its rollback journal.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

/// Pages of the write-ahead log from which on a transaction's end moves them into the database: SQLite's default.
const LOG_PAGES: u32 = 1_000;

/// Whether the write-ahead log starts with what is written next.
pub(super) fn is_log_empty(index: &Path) -> bool {
    fs::metadata(log_path(index)).map_or(true, |log| log.len() == 0)
}

/// While the first transaction of a write-ahead log is written: SQLite would sync the log's start, so that with one that
/// is overwritten nothing old is taken for new (<https://sqlite.org/src/info/ff5be73dee>). In a new file nothing is old,
/// and what a power failure leaves of it is no log, or a shorter one: the index is then behind, and catches up. The log is
/// synced before anything of it gets into the database, which happens in no transaction that this is about.
pub(super) struct UnsyncedStart<'c>(&'c Connection);

impl<'c> UnsyncedStart<'c> {
    /// From now on until it is dropped; both are outside of a transaction.
    ///
    /// # Errors
    /// SQLite's.
    pub(super) fn begin(connection: &'c Connection) -> rusqlite::Result<Self> {
        connection.execute_batch("PRAGMA wal_autocheckpoint = 0; PRAGMA synchronous = OFF")?;
        Ok(UnsyncedStart(connection))
    }
}

impl Drop for UnsyncedStart<'_> {
    fn drop(&mut self) {
        let set = format!("PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = {LOG_PAGES}");
        let restored = self.0.execute_batch(&set);
        debug_assert!(restored.is_ok(), "{restored:?}");
    }
}

/// Removes an index's journal.
pub(super) fn remove_journal(index: &Path) {
    for suffix in ["-wal", "-shm", "-journal"] {
        let _ = fs::remove_file(journal_path(index, suffix));
    }
}

/// The write-ahead log of an index.
pub(super) fn log_path(index: &Path) -> PathBuf {
    journal_path(index, "-wal")
}

fn journal_path(index: &Path, suffix: &str) -> PathBuf {
    let mut name = index.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::event::sample;
    use crate::store::{Store, lock_store};

    /// What an index's connection is set to, and how much there is of its log, bytes.
    fn state(store: &Store) -> (i64, i64, u64) {
        let index = store.index();
        let ask = |sql| index.connection.query_row(sql, [], |row| row.get(0)).expect("answers");
        let log = fs::metadata(journal_path(&index.path, "-wal")).map_or(0, |log| log.len());
        (ask("PRAGMA synchronous"), ask("PRAGMA wal_autocheckpoint"), log)
    }

    #[test]
    fn a_log_that_was_begun_is_written_like_any_other() {
        let dir = sample::folder();
        let lock = lock_store(&dir.path().into(), Duration::ZERO).expect("locks");
        drop(Store::open(&dir.path().into(), lock.share().expect("is shared")).expect("makes it"));
        let mut store = Store::open(&dir.path().into(), lock).expect("opens");
        let (normal, pages) = (1, i64::from(LOG_PAGES));
        assert_eq!(state(&store), (normal, pages, 0));
        store.append(&[sample::passed_run(1, "t")]).expect("appends");
        let (synchronous, autocheckpoint, begun) = state(&store);
        assert_eq!((synchronous, autocheckpoint), (normal, pages));
        assert!(begun > 0 && !is_log_empty(&store.index().path));
        store.append(&[sample::passed_run(2, "t")]).expect("appends");
        let (synchronous, autocheckpoint, longer) = state(&store);
        assert_eq!((synchronous, autocheckpoint), (normal, pages));
        assert!(longer > begun);
    }
}
