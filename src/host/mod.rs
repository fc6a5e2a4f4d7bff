//! The programs that run checks: agents, git, CI systems, shells. What they ask in their own words, what they are
//! answered, and what of their configuration names us.

pub mod agent;
mod change;
pub mod ci;
pub mod conversation;
pub mod dialect;
pub mod document;
pub mod file;
pub mod git;
pub(crate) mod install;
pub(crate) mod interrupt;
mod permission;
pub mod process;
pub(crate) mod rewrite;
pub(crate) mod shims;
pub mod survey;
pub(crate) mod user;

pub use change::{ConfigFileChange, InstallScope, InstallSite, PlannedHost};
pub use permission::Permissions;
