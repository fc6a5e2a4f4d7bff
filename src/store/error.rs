//! Errors of the store.

use std::io;
use std::path::{Path, PathBuf};

use crate::base::text;

/// An error of the store, with the path and what was being done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    /// A file operation failed.
    #[error("cannot {action} {path}: {source}", path = text::path(path))]
    Io {
        /// What was being done (`append to`).
        action: &'static str,
        /// To which file or folder.
        path: PathBuf,
        /// The operating system's reason.
        source: io::Error,
    },
    /// SQLite refused.
    #[error("cannot {action} the index {path}: {source}", path = text::path(path))]
    Sql {
        /// What was being done.
        action: &'static str,
        /// The database.
        path: PathBuf,
        /// SQLite's reason.
        source: rusqlite::Error,
    },
    /// Written by a newer verify-run: left exactly as it is.
    #[error(
        "{path} was written by a newer verify-run ({found}, this one knows {known})",
        path = text::path(path)
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Version or kind found.
        found: String,
        /// The highest version this binary knows.
        known: u32,
    },
    /// Another process held the recorder's lock for too long.
    #[error("another verify-run is recording and holds {path}", path = text::path(path))]
    Busy {
        /// The lock file.
        path: PathBuf,
    },
    /// No record has this id.
    #[error("no record has the id {id}")]
    NoSuchId {
        /// As typed.
        id: String,
    },
    /// Several records have ids that start so.
    #[error("{id} is the start of {count} ids: {examples}")]
    Ambiguous {
        /// As typed.
        id: String,
        /// How many match.
        count: usize,
        /// Some of them.
        examples: String,
    },
}

impl StoreError {
    /// Whether the index itself is damaged, so that rebuilding it from the events helps.
    pub(crate) fn is_damage(&self) -> bool {
        use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
        match self {
            StoreError::Sql { source, .. } => {
                use rusqlite::Error::{
                    FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, Utf8Error,
                };
                // A page that is none of SQLite's any more may still be read as rows.
                matches!(
                    source,
                    FromSqlConversionFailure(..) | IntegralValueOutOfRange(..) | InvalidColumnType(..) | Utf8Error(..)
                ) || matches!(source.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase))
                    // A table or column that isn't there: the header survived, the schema didn't.
                    || source.to_string().contains("no such")
            }
            _ => false,
        }
    }

    /// Whether another process holds the store: later it may be free.
    pub(crate) fn is_busy(&self) -> bool {
        use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked};
        match self {
            StoreError::Busy { .. } => true,
            StoreError::Sql { source, .. } => {
                matches!(source.sqlite_error_code(), Some(DatabaseBusy | DatabaseLocked))
            }
            _ => false,
        }
    }

    /// Whether it is a newer verify-run's store.
    pub(crate) fn is_newer(&self) -> bool {
        matches!(self, StoreError::Newer { .. })
    }
}

/// Adds action and path to an I/O error.
pub(crate) fn io_at<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> StoreError + 'a {
    move |source| StoreError::Io { action, path: path.to_owned(), source }
}

/// Adds action and path to an SQLite error.
pub(super) fn sql_at<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(rusqlite::Error) -> StoreError + 'a {
    move |source| StoreError::Sql { action, path: path.to_owned(), source }
}
