//! A receipt with a signature, as others can verify it.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::derived_id;
use crate::base::clock::Timestamp;
use crate::base::ids::RunId;

/// A signed statement about a check that passed. What is beside the envelope only finds it: everything that counts is read
/// from what was signed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SignedReceipt {
    /// `e-…`
    pub receipt: String,
    /// The run that passed.
    pub run: RunId,
    /// The id of the key that signed, hex.
    pub key: String,
    /// SHA-256 of the words of the command and its folder, hex, as the statement has it.
    pub command: String,
    /// The git tree, hex.
    pub tree: String,
    /// When the command ended.
    pub ended_at: Timestamp,
    /// The DSSE envelope, a JSON document.
    pub envelope: String,
}

impl SignedReceipt {
    /// The id of its event: signing again is one event.
    pub(crate) fn event_id(&self) -> Uuid {
        derived_id("signed receipt", &[&self.run.to_string(), &self.key, &self.envelope])
    }
}
