//! Takes signed receipts of other machines into the store.

use std::path::Path;

use super::ReceiptBrief;
use super::keys::{accepted_folder, accepted_keys, read_small};
use super::signed::{NoPass, SignedPass};
use crate::base::ids::RunId;
use crate::base::refusal::Refusal;
use crate::config::ReceiptEnvironment;
use crate::event::{Event, EventBody, SignedReceipt};
use crate::gate::receipt::dsse::Envelope;
use crate::ops::reply::Reply;
use crate::ops::request::Request;

/// A receipt of another machine that is in the store now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ImportedReceipt {
    /// The receipt.
    pub receipt: ReceiptBrief,
    /// The id of the key that signed it, hex.
    pub key: String,
}

/// Records a signed receipt. Whether it counts is looked at again at each use.
///
/// # Errors
/// When the file can't be read, is no pass that an accepted key signed, or the store can't be written.
pub(crate) fn import_receipt(request: &Request, file: &Path) -> anyhow::Result<Reply<ImportedReceipt>> {
    let unusable = |why: &str| Refusal::usage(format!("{}: {why}", file.display()));
    let bytes = read_small(file).map_err(|why| unusable(&why))?;
    // What is beside the fields of an envelope was not signed.
    let envelope = Envelope::parse(&bytes).map_err(|error| unusable(&error.to_string()))?.to_json();
    let pass = SignedPass::open(&envelope, &accepted_keys(request)).map_err(|why| refuse(request, file, why))?;
    let run = RunId(uuid::Uuid::parse_str(&pass.check.run).map_err(|_| unusable("it names no run"))?);
    let command = pass.statement.command_digest().unwrap_or_default().to_owned();
    let receipt = pass.brief();
    let signed = SignedReceipt {
        receipt: receipt.id.clone(),
        run,
        key: pass.key.clone(),
        command,
        tree: receipt.tree.clone(),
        ended_at: receipt.ended_at,
        envelope,
    };
    let (mut store, mut notes) = request.open_for_writing()?;
    let id = signed.event_id();
    if !store.index().has_event(RunId(id))? {
        let body = EventBody::SignedReceipt(Box::new(signed));
        store.append(&[Event { id, ..Event::new(request.now(), store.writer_name(), body) }])?;
    }
    notes.extend(store.take_notes());
    if request.settings().receipts.environment != ReceiptEnvironment::Toolchain {
        notes.push("it is not reused (setting `receipts.environment` = \"machine\")".to_owned());
    }
    Ok(Reply::new(ImportedReceipt { receipt, key: pass.key }, notes))
}

/// Why an envelope is not taken.
fn refuse(request: &Request, file: &Path, why: NoPass) -> Refusal {
    let refusal = Refusal::conflict(format!("{}: {why}", file.display()));
    match accepted_folder(request) {
        Ok(folder) if why == NoPass::NotAccepted => {
            refusal.then_do(format!("put the signer's public key into {} if you trust its machine", folder.display()))
        }
        _ => refusal,
    }
}
