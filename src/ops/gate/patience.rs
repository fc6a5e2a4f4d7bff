//! Access to a store that another process holds: an evaluation takes minutes, and waits for what it cannot do without.

use std::thread;
use std::time::{Duration, Instant};

use crate::base::lock::Lock;
use crate::ops::request::Request;
use crate::store::{Index, SegmentFolder, Store, StoreError};

/// How long the gate waits for the store.
const STORE_WAIT: Duration = Duration::from_secs(30);
/// Between two tries, each of which waits on its own.
const TRY_EVERY: Duration = Duration::from_millis(20);

/// The index with every event of the segments: an evaluation that was killed may have written a step that the index does
/// not have. As it is where that can't be written.
///
/// # Errors
/// When the store can't be read, or another process holds it for 30 seconds.
pub(super) fn open_index(request: &Request) -> Result<Option<Index>, StoreError> {
    let open = || patiently(|| request.open_as_it_is(&mut Vec::new()));
    let segments = SegmentFolder::new(request.places.state.events());
    let Some(index) = open()? else { return Ok(None) };
    if index.has_all_of(&segments)? {
        return Ok(Some(index));
    }
    drop(index);
    let _ = open_store(request);
    open()
}

/// The store for writing.
///
/// # Errors
/// When it can't be written, or another process holds it for 30 seconds.
pub(super) fn open_store(request: &Request) -> Result<Store, StoreError> {
    patiently(|| request.open_store())
}

/// Keeps recorders out until the lock is dropped.
///
/// # Errors
/// When another process holds the store for 30 seconds.
pub(super) fn lock_store(request: &Request) -> Result<Lock, StoreError> {
    patiently(|| request.lock_store())
}

fn patiently<T>(mut attempt: impl FnMut() -> Result<T, StoreError>) -> Result<T, StoreError> {
    let until = Instant::now() + STORE_WAIT;
    loop {
        match attempt() {
            Err(error) if error.is_busy() && Instant::now() < until => thread::park_timeout(TRY_EVERY),
            result => return result,
        }
    }
}
