//! `verify-run [RUN OPTIONS] [--] COMMAND`.

use std::ffi::{OsString, c_int};

/// Runs the command; returns only if it could not be started.
pub fn start(_args: Vec<OsString>) -> c_int {
    125
}
