//! Hands a finished run to the recorder: one spool file, written whole.

mod spool;

pub use spool::{Header, Identity, Place, Spooled};
