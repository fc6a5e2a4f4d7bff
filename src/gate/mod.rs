//! The quality gate: receipts of checks that passed on one exact tree, and what proves them to others.

pub(crate) mod receipt;
