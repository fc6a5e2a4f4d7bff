//! What people and agents write down: which properties an entry has, when two of them are one, how far one is believed,
//! which strategy is next, what an agent may still remember. Pure; cannot fail.

pub mod duplicate;
pub mod entry;
pub mod ledger;
pub mod memory;
pub mod remedy;

pub use entry::{EntryType, entry_types};
