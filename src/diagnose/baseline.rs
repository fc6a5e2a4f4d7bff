//! The last passing output of a command as a set of masked lines: what is not in it is news.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::base::limits::BASELINE_LINES_MAX;

/// The masked lines of a passing output, as 64-bit hashes; at most [`BASELINE_LINES_MAX`] of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Baseline {
    /// The version of mask and hash; a baseline of another version says nothing.
    version: u32,
    lines: BTreeSet<u64>,
}

/// Raised with every change of the mask.
const VERSION: u32 = 1;

impl Baseline {
    /// The baseline of a passing run's raw output.
    pub fn of(output: &[u8]) -> Self {
        let text = String::from_utf8_lossy(output);
        Baseline { version: VERSION, lines: text.lines().map(key).take(BASELINE_LINES_MAX).collect() }
    }

    /// Whether a cleaned line was in the passing output, numbers and times aside.
    pub fn contains(&self, line: &str) -> bool {
        self.lines.contains(&key(line))
    }

    /// Whether it can say anything: it is of this version and not empty.
    pub fn is_usable(&self) -> bool {
        self.version == VERSION && !self.lines.is_empty()
    }
}

fn key(line: &str) -> u64 {
    let hash = blake3::hash(line.trim().as_bytes());
    u64::from_le_bytes(hash.as_bytes()[..8].try_into().unwrap_or_default())
}
