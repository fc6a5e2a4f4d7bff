//! Hands a finished run to the recorder: one spool file, written whole.

mod reading;
mod spool;

pub use reading::SpoolError;
pub use spool::{Header, Identity, Place, Spooled};
