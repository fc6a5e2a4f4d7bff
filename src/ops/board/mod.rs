//! What is recorded as figures, lists and pages: values that every surface shows in its own way.
//!
//! A [`Board`] is a store opened once for several questions. Every list is bounded and paged by a cursor
//! ([`cursor`]); every figure names the command that prints the same number ([`figures`]).

pub(crate) mod audit;
pub(crate) mod changes;
pub(crate) mod cursor;
pub(crate) mod effect;
pub(crate) mod failure;
pub(crate) mod failures;
pub(crate) mod figures;
pub(crate) mod files;
pub(crate) mod filter;
pub(crate) mod first_runs;
pub(crate) mod fixes;
pub(crate) mod gate;
pub(crate) mod inbox;
pub(crate) mod lessons;
pub(crate) mod library;
pub(crate) mod metrics;
pub(crate) mod overview;
pub(crate) mod page_figures;
pub(crate) mod pattern;
pub(crate) mod patterns;
pub(crate) mod search;
pub(crate) mod severity;
pub(crate) mod tasks;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod totals;
pub(crate) mod warnings;

use crate::base::clock::Timestamp;
use crate::config::Settings;
use crate::ops::pattern::open_reader;
use crate::ops::request::Request;
use crate::retrieval::pattern_reader::PatternReader;
use crate::store::{Index, SegmentFolder, StoreError};

pub(crate) use filter::BoardFilter;

/// Rows of a page at most.
pub(crate) const PAGE_ROWS_MAX: usize = 1_000;

/// The store, opened for the questions of one page.
pub(crate) struct Board<'a> {
    request: &'a Request,
    desk: PatternReader,
}

/// A board, and what was found on the way.
pub(crate) struct OpenedBoard<'a> {
    /// `None` when nothing was ever recorded here.
    pub board: Option<Board<'a>>,
    /// For standard error.
    pub notes: Vec<String>,
}

/// Which kinds of records there are, of those that not every store has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RecordedKinds {
    /// Evaluations of the quality gate, or decisions about it.
    pub gate: bool,
    /// Jobs or pages of the pattern library.
    pub library: bool,
}

impl RecordedKinds {
    /// Looks into the index as it is. What can't be read has none.
    pub(crate) fn find(request: &Request) -> Self {
        let index = request.open_index().ok().flatten();
        let found = index.and_then(|index| Some((index.has_gate_steps().ok()?, index.has_library_steps().ok()?)));
        found.map_or_else(RecordedKinds::default, |(gate, library)| RecordedKinds { gate, library })
    }
}

impl<'a> Board<'a> {
    /// Records what waits, and opens the store. Creates nothing where nothing was recorded.
    ///
    /// # Errors
    /// When a newer verify-run wrote it, or it can't be read.
    pub(crate) fn open(request: &'a Request) -> Result<OpenedBoard<'a>, StoreError> {
        let (desk, notes) = open_reader(request)?;
        Ok(OpenedBoard { board: desk.map(|desk| Board { request, desk }), notes })
    }

    /// When the last event was recorded.
    ///
    /// # Errors
    /// When the store can't be read.
    pub(crate) fn last_event_at(&self) -> Result<Option<Timestamp>, StoreError> {
        self.index().last_event_at()
    }

    pub(super) fn index(&self) -> &Index {
        &self.desk.index
    }

    fn segments(&self) -> &SegmentFolder {
        &self.desk.segments
    }

    fn settings(&self) -> &Settings {
        &self.desk.settings
    }

    fn now(&self) -> Timestamp {
        self.desk.now
    }
}
