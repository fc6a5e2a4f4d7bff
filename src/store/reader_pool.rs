//! Connections of readers, kept from one question to the next.
//!
//! To open an index is to read its whole schema, and a new connection compiles every statement again: that is most of the
//! time of a page of few rows. A kept connection is used only while the file is as it was when it was opened.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

use super::index_file::FileState;

/// Connections that wait for the next question. Its clones share them; the default keeps none.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReaderPool(Option<Arc<Mutex<IdleReaders>>>);

#[derive(Debug)]
struct IdleReaders {
    /// Connections, the last used last.
    idle: Vec<(FileState, Connection)>,
    max: usize,
}

impl ReaderPool {
    /// One that keeps up to `max` connections.
    pub(crate) fn new(max: usize) -> Self {
        ReaderPool(Some(Arc::new(Mutex::new(IdleReaders { idle: Vec::new(), max }))))
    }

    /// Whether connections are kept.
    pub(super) fn is_kept(&self) -> bool {
        self.0.is_some()
    }

    fn readers(&self) -> Option<MutexGuard<'_, IdleReaders>> {
        self.0.as_ref().map(|readers| readers.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A connection to a file that is in this state. Those to other files are closed.
    pub(super) fn take(&self, state: &FileState) -> Option<Connection> {
        let mut readers = self.readers()?;
        readers.idle.retain(|(known, _)| known == state);
        readers.idle.pop().map(|(_, connection)| connection)
    }

    fn give_back(&self, state: FileState, connection: Connection) {
        if let Some(mut readers) = self.readers()
            && readers.idle.len() < readers.max
        {
            readers.idle.push((state, connection));
        }
    }
}

/// A connection that goes back to its pool when nothing is asked of it any more.
#[derive(Debug)]
pub(super) struct PooledConnection {
    /// There until it is dropped.
    connection: Option<Connection>,
    home: Option<(ReaderPool, FileState)>,
}

impl PooledConnection {
    /// A connection of a pool, to a file that was in this state when it was opened.
    pub(super) fn of_pool(connection: Connection, pool: &ReaderPool, state: FileState) -> Self {
        PooledConnection { connection: Some(connection), home: Some((pool.clone(), state)) }
    }

    /// The same connection, which is closed when it is dropped.
    pub(super) fn without_pool(mut self) -> Self {
        self.home = None;
        self
    }
}

impl From<Connection> for PooledConnection {
    fn from(connection: Connection) -> Self {
        PooledConnection { connection: Some(connection), home: None }
    }
}

impl Deref for PooledConnection {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection.as_ref().expect("is there until it is dropped")
    }
}

impl DerefMut for PooledConnection {
    fn deref_mut(&mut self) -> &mut Connection {
        self.connection.as_mut().expect("is there until it is dropped")
    }
}

impl Drop for PooledConnection {
    fn drop(&mut self) {
        let Some((mut connection, (pool, state))) = self.connection.take().zip(self.home.take()) else { return };
        // The end of one question is not that of the next.
        let is_free = connection.progress_handler(0, None::<fn() -> bool>).is_ok();
        // What it read stays as it was until then; the next question wants what is there now.
        if is_free && (connection.is_autocommit() || connection.execute_batch("COMMIT").is_ok()) {
            pool.give_back(state, connection);
        }
    }
}
