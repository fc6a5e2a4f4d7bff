//! The programs that run checks: agents, git, CI systems, shells. What they ask in their own words, what they are
//! answered, and what of their configuration names us.

mod change;
pub mod dialect;
pub mod document;
mod permission;

pub use change::{Change, Planned, Site};
pub use permission::Permissions;
