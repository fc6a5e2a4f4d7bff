//! Exit codes. A wrapped command's own code goes through as it is.

use std::ffi::c_int;

/// How verify-run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// The subcommand did what was asked.
    Ok,
    /// The subcommand failed, or a check that it makes found a problem.
    Failure,
    /// The command line was wrong.
    Usage,
    /// There is no change to check: git is missing or failed (`check-diff`).
    Unreadable,
    /// One strategy failed in this task too often (`strategy`).
    Escalated,
    /// verify-run failed before the command could start, or refused it.
    OwnFailure,
    /// The command is not executable.
    NotExecutable,
    /// The command was not found.
    NotFound,
    /// A code that is the answer itself (`last --exit-code`).
    Answer(u8),
}

impl Exit {
    /// The codes with a meaning of their own, as the manual lists them.
    pub(super) const LISTED: [Exit; 8] = [
        Exit::Ok,
        Exit::Failure,
        Exit::Usage,
        Exit::Unreadable,
        Exit::Escalated,
        Exit::OwnFailure,
        Exit::NotExecutable,
        Exit::NotFound,
    ];

    /// The process's exit code.
    pub fn code(self) -> c_int {
        match self {
            Exit::Ok => 0,
            Exit::Failure => 1,
            Exit::Usage => 2,
            Exit::Unreadable | Exit::Escalated => 3,
            Exit::OwnFailure => 125,
            Exit::NotExecutable => 126,
            Exit::NotFound => 127,
            Exit::Answer(code) => c_int::from(code),
        }
    }

    /// What the code means, for the manual.
    pub(super) fn meaning(self) -> &'static str {
        match self {
            Exit::Ok => "success",
            Exit::Failure => "failure, or a check (`check-diff`, `doctor`, `whitelist check`) found a problem",
            Exit::Usage => "wrong command line",
            Exit::Unreadable => "`check-diff`: the change cannot be read, such as without git",
            Exit::Escalated => "`strategy`: one strategy failed in this task too often",
            Exit::OwnFailure => "verify-run failed before the command could start, or `--only-checks` refused it",
            Exit::NotExecutable => "the command is not executable",
            Exit::NotFound => "the command was not found",
            Exit::Answer(_) => "the answer itself (`last --exit-code`, `again`)",
        }
    }
}
