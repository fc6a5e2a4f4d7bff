//! How the command ended, and how to end the same way.

use serde::{Deserialize, Serialize};

use super::{signals, sys};

/// How the command ended, as `waitpid` saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum CommandEnd {
    /// Exit code, 0–255.
    Exit(u8),
    /// Death by this signal.
    Signal(i32),
}

impl CommandEnd {
    /// Exit code 0.
    pub fn passed(self) -> bool {
        self == CommandEnd::Exit(0)
    }

    /// What a shell's `$?` shows: the code, or 128 + signal.
    pub fn shell_code(self) -> i32 {
        match self {
            CommandEnd::Exit(code) => i32::from(code),
            CommandEnd::Signal(signal) => 128 + signal,
        }
    }
}

/// Ends this process as the command ended: with its code, or by its signal (without a second core dump), so that
/// the caller's `wait` sees what it would have seen. 128 + signal only where a signal can't end us (PID 1).
pub fn end_as(ended: CommandEnd) -> ! {
    if let CommandEnd::Signal(signal) = ended {
        sys::forbid_core();
        signals::act_by_default(signal);
    }
    sys::exit_now(ended.shell_code())
}
