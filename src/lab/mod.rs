//! Isolated runs: a command in a git tree, with nothing of the user's but what it needs, and without any effect outside.
//! The stage knows trees and commands, and nothing of checks, lessons or learning.
//!
//! - [`LabLevel`] is a kind of walls; [`LabAbility`] which of them this kernel and this user can have, and which setting of
//!   the machine decides it
//! - [`Lab`] is a folder on the disk with trees as files ([`LabTree`]), and what is lent of the machine and the project
//! - [`Lab::run_command`] runs one [`LabCommand`]
//! - [`start_inside`] is the process inside; `plan` is what it is asked for and answers
//! - `view`, `tools`, `folder`, `hidden` and `variables` decide what is seen; `limits` and `cgroup` what is used
//! - `claim` holds a folder on the disk and removes what dead labs have left, `removal` removes whatever a run has left

mod ability;
mod cgroup;
mod claim;
#[cfg(target_os = "linux")]
mod enter;
mod folder;
mod hidden;
mod level;
mod limits;
mod obstacle;
mod place;
mod plan;
mod removal;
mod run;
mod start;
mod tools;
mod tree;
mod variables;
mod view;

pub(crate) use ability::LabAbility;
pub(crate) use level::LabLevel;
pub(crate) use limits::{LabLimit, LabLimits};
pub(crate) use place::{Lab, LabError, LabRequest};
pub(crate) use plan::CommandOutcome;
pub(crate) use run::{LabCommand, LabOutput, LabRun};
pub(crate) use start::LAB_WORD;
pub(crate) use tree::{LabTree, TreeEdit};

/// Does what the process outside asks for; the exit code.
#[cfg(target_os = "linux")]
pub(crate) fn start_inside() -> std::ffi::c_int {
    enter::start_inside()
}

/// There is no isolation here.
#[cfg(not(target_os = "linux"))]
pub(crate) fn start_inside() -> std::ffi::c_int {
    1
}
