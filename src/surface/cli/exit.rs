//! Exit codes of the subcommands. (A run exits as its command did.)

use std::ffi::c_int;

/// How a subcommand ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It did what was asked.
    Ok,
    /// It could not, or a check it makes (`doctor`, `whitelist check`) found a problem.
    Failure,
    /// The command line was wrong.
    Usage,
    /// A code that is the answer itself (`last --exit-code`).
    Answer(u8),
}

impl Exit {
    /// The process's exit code.
    pub fn code(self) -> c_int {
        match self {
            Exit::Ok => 0,
            Exit::Failure => 1,
            Exit::Usage => 2,
            Exit::Answer(code) => c_int::from(code),
        }
    }
}
