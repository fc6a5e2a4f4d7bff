//! Receipts: when one covers a command, and how it is shown to others. No I/O.

pub(crate) mod dsse;
mod matching;
pub(crate) mod statement;

pub(crate) use matching::{StateDifference, count_differences, find_difference, list_some};
