//! `outcome ack`: marks a warning as seen.

use std::time::Duration;

use anyhow::Context as _;
use serde::Serialize;

use super::reading;
use crate::base::limits::LOCK_WAIT_MS_MAX;
use crate::capture::Identity;
use crate::config::Places;
use crate::event::{Acknowledgement, EventAuthor, EventBody};
use crate::store::{DeliveryRow, Index, Store, StoreError, lock_store};

/// What `outcome ack --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Acknowledged {
    /// Version of this shape.
    pub schema: u32,
    /// `w-…`
    pub warning: String,
    /// Task of the delivery.
    pub task: String,
    /// The latest rating.
    pub useful: Option<bool>,
    /// Notes for standard error.
    #[serde(skip)]
    pub notes: Vec<String>,
}

/// Records that a user has seen the warning whose id starts with `id`, and their rating.
///
/// # Errors
/// When there is none or more than one, or the store can't be written.
pub(crate) fn acknowledge_warning(
    places: &Places,
    identity: &Identity,
    id: &str,
    useful: Option<bool>,
) -> anyhow::Result<Acknowledged> {
    let reading = reading::open_for_reading(places)?;
    let row = find_delivery(reading.index.as_ref(), id)?;
    let lock = lock_store(&places.state, Duration::from_millis(LOCK_WAIT_MS_MAX)).context("cannot record it now")?;
    let mut store = Store::open(&places.state, lock)?;
    store.record_event(EventBody::Ack(Acknowledgement {
        warning: row.warning.clone(),
        useful,
        by: EventAuthor::from_identity(identity, None),
    }))?;
    let row = find_delivery(Some(store.index()), &row.warning)?;
    Ok(Acknowledged { schema: 1, warning: row.warning, task: row.task, useful: row.useful, notes: reading.notes })
}

fn find_delivery(index: Option<&Index>, id: &str) -> Result<DeliveryRow, StoreError> {
    match index {
        Some(index) => index.find_delivery(id),
        None => Err(StoreError::NoSuchId { id: id.to_owned() }),
    }
}
