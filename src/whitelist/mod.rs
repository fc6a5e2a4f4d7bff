//! Which commands are checks. Literal compares only: no regex, no database.

mod check;
mod kind;
mod layers;

pub use check::{Check, Decision, ExitMeaning, key, key_parts};
pub use kind::CheckKind;
pub use layers::{Problem, Whitelist};
