//! What detectors look at, kept from one question to the next: it is the larger part of what a page reads, and it
//! changes only when something is recorded.

use std::sync::{Arc, Mutex, PoisonError};

use crate::pattern::history::TaskHistory;
use crate::store::{Index, IndexState, StoreError};

/// The last history that was read, and the index that it is from. Its clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct HistoryCache(Arc<Mutex<Option<KeptHistory>>>);

#[derive(Debug)]
struct KeptHistory {
    state: IndexState,
    history: Arc<TaskHistory>,
}

impl HistoryCache {
    /// The newest tasks of an index, read only if it has changed since they were read last.
    ///
    /// # Errors
    /// When the store can't be read.
    pub(crate) fn recent_history(&self, index: &Index) -> Result<Arc<TaskHistory>, StoreError> {
        let state = index.state()?;
        if let Some(kept) = self.kept().as_ref().filter(|kept| kept.state == state) {
            return Ok(Arc::clone(&kept.history));
        }
        let history = Arc::new(TaskHistory::from_rows(index.recent_history()?));
        *self.kept() = Some(KeptHistory { state, history: Arc::clone(&history) });
        Ok(history)
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Option<KeptHistory>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
