//! Which commands are checks. Literal compares only: no regex, no database.

mod arguments;
mod check;
mod confined;
mod encode;
mod kind;
mod layer;
mod layers;
mod program;
mod reason;
mod recognise;
mod resolution;
mod runners;
mod script_files;
mod scripts;
mod table;
#[cfg(test)]
mod tests;
mod wrapper_position;

pub use check::{Check, CheckDecision, ExitMeaning, command_key, command_key_parts};
pub use kind::CheckKind;
pub use layers::{ListedRule, Whitelist};
pub use program::{base_name, package_name};
pub use wrapper_position::WrapperPosition;
