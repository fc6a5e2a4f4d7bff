//! What people and programs talk to. The only stage that prints.

pub mod cli;
pub mod hook;
pub mod mcp;

use std::ffi::{OsString, c_int};

/// Takes the process over and returns its exit code, unless the run path replaces or ends the process itself.
/// `args` are those after the program's name.
///
/// The first word decides: a reserved word or a help flag is a subcommand, anything else is a run. Nothing of the
/// command-line parser is touched on the run path.
pub fn start(args: Vec<OsString>) -> c_int {
    match args.first() {
        Some(first) if !cli::is_ours(first) => cli::run::start(args),
        Some(first) if first == "hook" && hook::is_call(&args[1..]) => hook::start(&args[1..]),
        _ => cli::start(args),
    }
}
