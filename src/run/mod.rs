//! Running the command as if it were run bare.

use serde::{Deserialize, Serialize};

/// How the command ended, as `waitpid` saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ended {
    /// Exit code, 0–255.
    Exit(u8),
    /// Death by this signal.
    Signal(i32),
}

impl Ended {
    /// Exit code 0.
    pub fn passed(self) -> bool {
        self == Ended::Exit(0)
    }

    /// What a shell's `$?` shows: the code, or 128 + signal.
    pub fn shell_code(self) -> i32 {
        match self {
            Ended::Exit(code) => i32::from(code),
            Ended::Signal(signal) => 128 + signal,
        }
    }
}
