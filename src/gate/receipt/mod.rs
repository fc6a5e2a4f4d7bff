//! Receipts: when one covers a command, and how receipts and verdicts are shown to others. No I/O.

mod descriptor;
pub(crate) mod dsse;
mod matching;
mod mismatch;
mod statement;
mod test_result;
mod toolchain;
mod verdict;

pub(crate) use descriptor::sha256_hex;
pub(crate) use matching::{StateDifference, count_differences, find_difference, list_some};
pub(crate) use statement::{Statement, StatementDemand};
pub(crate) use test_result::{CheckStatement, StatedCheck, StatedCommand};
pub(crate) use toolchain::{StatedToolchain, ToolchainDifference, UnknownVersion};
pub(crate) use verdict::VerdictStatement;
