//! What tells one content of an index from another.

use std::fs;
use std::os::unix::fs::MetadataExt;

use crate::store::error::{StoreError, io_at};
use crate::store::index::Index;

/// The file of an index, and what it has of each segment. Two equal ones have the same rows under the same numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IndexState {
    /// Device, number and last change of the file: one that was rebuilt may number its rows differently.
    file: [u64; 2],
    changed: [i64; 2],
    /// Digest of the segments, each as far as it is indexed.
    segments: blake3::Hash,
}

impl Index {
    /// What the index has now.
    ///
    /// # Errors
    /// I/O and SQLite's.
    pub(crate) fn state(&self) -> Result<IndexState, StoreError> {
        let read = || {
            let sql = "SELECT name, indexed_bytes, mark FROM segments ORDER BY name";
            let mut statement = self.connection.prepare_cached(sql)?;
            let mut rows = statement.query([])?;
            let mut hasher = blake3::Hasher::new();
            while let Some(row) = rows.next()? {
                let (name, bytes, mark): (String, i64, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
                hasher.update(format!("{name}\0{bytes}\0{mark}\0").as_bytes());
            }
            Ok(hasher.finalize())
        };
        let segments = self.sql_result("read", read())?;
        let file = fs::metadata(&self.path).map_err(io_at("read", &self.path))?;
        Ok(IndexState { file: [file.dev(), file.ino()], changed: [file.mtime(), file.mtime_nsec()], segments })
    }
}
