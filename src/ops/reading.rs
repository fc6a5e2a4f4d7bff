//! What every reading command does first: record what waits, then open the index; or take the index as it is.

use crate::config::Places;
use crate::store::{Index, Segments, StoreError};

use super::record;

/// The store, open for reading.
pub struct Reading {
    /// `None` when nothing was ever recorded here.
    pub index: Option<Index>,
    /// The events.
    pub segments: Segments,
    /// What was found and put right on the way, or could not be done; for standard error.
    pub notes: Vec<String>,
}

/// Opens the store of these places. Creates nothing where nothing was recorded.
///
/// # Errors
/// When a newer verify-run wrote it, or it can't be read.
pub fn open(places: &Places) -> Result<Reading, StoreError> {
    let mut notes = Vec::new();
    if places.events().exists() || !record::pending(places).is_empty() {
        match record::drain_for_reading(places) {
            Ok(drained) => {
                notes.extend(drained.notes);
                if drained.busy {
                    notes.push("another verify-run is recording: the newest runs may be missing".into());
                }
            }
            Err(error) if error.is_newer() => return Err(error),
            // A read-only disk, somebody else's folder: what is there can still be read.
            Err(error) => notes.push(format!("what waits could not be recorded: {error}")),
        }
    }
    let index = Index::open_read(&places.index())?;
    Ok(Reading { index, segments: Segments::new(places.events()), notes })
}

/// Opens the index as it is: nobody is waited for. Only where there is none yet is what waits recorded first.
///
/// # Errors
/// As [`open`].
pub fn open_as_it_is(places: &Places, notes: &mut Vec<String>) -> Result<Option<Index>, StoreError> {
    if let Some(index) = Index::open_read(&places.index())? {
        return Ok(Some(index));
    }
    let reading = open(places)?;
    notes.extend(reading.notes);
    Ok(reading.index)
}
