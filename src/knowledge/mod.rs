//! What people and agents write down: which properties an entry has, when two of them are one, confidence, which
//! strategy is next, what an agent may still remember. Pure; cannot fail.

mod draft;
pub(crate) mod duplicate;
pub(crate) mod entry;
pub(crate) mod ledger;
pub(crate) mod memory;
pub(crate) mod remedy;

pub(crate) use draft::EntryDraft;
pub(crate) use entry::{EntryType, entry_types};
