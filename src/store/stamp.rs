//! What tells, without opening it, that a store is as it was.

use super::index_file::FileState;
use super::journal;
use super::segment::{Segment, SegmentFolder};
use crate::config::StateDir;

/// The files of a store at a moment. Two equal ones have the same events, and the same rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoreStamp {
    events: Vec<Segment>,
    index: FileState,
    /// Of the index's write-ahead log; an empty one comes and goes with each reader.
    log: Option<FileState>,
}

impl StoreStamp {
    /// Of a state folder; `None` when there is no index, or its files can't be looked at.
    pub(crate) fn of(state: &StateDir) -> Option<Self> {
        let index = state.index();
        Some(StoreStamp {
            events: SegmentFolder::new(state.events()).list_segments().ok()?,
            index: FileState::of(&index)?,
            log: (!journal::is_log_empty(&index)).then(|| FileState::of(&journal::log_path(&index))).flatten(),
        })
    }

    /// Whether nothing was appended between the two.
    pub(crate) fn has_same_events(&self, other: &Self) -> bool {
        self.events == other.events
    }
}
