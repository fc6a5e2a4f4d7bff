//! Which receipts are this machine's own.

use crate::config::Places;
use crate::event::{EventBody, Receipt};
use crate::store::{Index, SegmentFolder, StoreError, own_writer};

/// Whether the receipt was recorded here.
///
/// # Errors
/// When the store can't be read.
pub(super) fn is_own_receipt(
    places: &Places,
    index: &Index,
    segments: &SegmentFolder,
    receipt: &Receipt,
) -> Result<bool, StoreError> {
    let Some(writer) = own_writer(&places.state) else { return Ok(false) };
    let id = receipt.event_id().to_string();
    let recorded = index.read_event(segments, &id)?.map(|event| event.body);
    let is_it = matches!(recorded, Some(EventBody::Receipt(recorded)) if *recorded == *receipt);
    Ok(is_it && index.is_own_event(&id, &writer)?)
}
