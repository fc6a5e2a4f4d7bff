//! `outcome ack`: marks a warning as seen.

use anyhow::Context as _;
use serde::Serialize;

use super::reply::Reply;
use super::request::Request;
use crate::event::{Acknowledgement, EventAuthor, EventBody};
use crate::store::{DeliveryRow, Index, StoreError};

/// What `outcome ack --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct AcknowledgementReply {
    /// `w-…`
    pub warning: String,
    /// Task of the delivery.
    pub task: String,
    /// The latest rating.
    pub useful: Option<bool>,
}

/// Records that a user has seen the warning whose id starts with `id`, and their rating; with the name of a person who
/// gave one.
///
/// # Errors
/// When there is none or more than one, or the store can't be written.
pub(crate) fn acknowledge_warning(
    request: &Request,
    id: &str,
    useful: Option<bool>,
    person: Option<String>,
) -> anyhow::Result<Reply<AcknowledgementReply>> {
    let reading = request.open_for_reading()?;
    let row = find_delivery(reading.index.as_ref(), id)?;
    let mut store = request.open_store().context("cannot record it now")?;
    store.record_event(EventBody::Ack(Acknowledgement {
        warning: row.warning.clone(),
        useful,
        by: EventAuthor { person, ..EventAuthor::from_identity(&request.identity, None) },
    }))?;
    let row = find_delivery(Some(store.index()), &row.warning)?;
    Ok(Reply::new(AcknowledgementReply { warning: row.warning, task: row.task, useful: row.useful }, reading.notes))
}

fn find_delivery(index: Option<&Index>, id: &str) -> Result<DeliveryRow, StoreError> {
    match index {
        Some(index) => index.find_delivery(id),
        None => Err(StoreError::NoSuchId { id: id.to_owned() }),
    }
}
