//! What people and programs talk to. The only stage that prints.

pub mod cli;
mod failure;
pub mod hook;
mod http;
pub mod mcp;

use std::ffi::{OsString, c_int};

use crate::lab::{self, LAB_WORD};
use crate::run::Shim;

/// Takes the process over and returns its exit code, unless the run path replaces or ends the process itself.
/// `args` begin with the program's name.
///
/// Called as a shim, the whole line is the command. Else the first word decides: a reserved word or a help flag is a
/// subcommand, anything else is a run. Nothing of the command-line parser is touched on the run path.
pub fn start(mut args: Vec<OsString>) -> c_int {
    if let Some(shim) = args.first().and_then(|typed| Shim::called(typed)) {
        return cli::run::start_shim(shim, args);
    }
    args.drain(..args.len().min(1));
    match args.first() {
        // It has one thread and must keep it: nothing else of the program is touched.
        Some(first) if first == LAB_WORD => lab::start_inside(),
        Some(first) if !cli::is_ours(first) => cli::run::start(args),
        Some(first) if first == "hook" && hook::is_call(&args[1..]) => hook::start(&args[1..]),
        _ => cli::start(args),
    }
}
