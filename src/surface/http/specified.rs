//! The endpoints whose addresses and field names other programs rely on. Fields may be added here, never renamed.

pub(super) mod failures;
pub(super) mod knowledge;
