//! Shims: links in the names of programs that run verify-run before them.

mod error;
mod folder;
mod names;
mod session_path;
mod startup;

pub(crate) use error::ShimError;
pub(crate) use folder::{
    ShimFolder, ShimOptions, ShimStanding, ShimState, ShimStatus, ShimsReply, find_status, install_shims,
    uninstall_shims,
};
pub(crate) use session_path::put_in_front;
pub(crate) use startup::find_startup_lines;
