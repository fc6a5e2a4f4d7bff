//! The last passing output of a command as a set of masked lines: what is not in it is news.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, Hasher};

use foldhash::fast::RandomState;
use serde::{Deserialize, Serialize};

use crate::base::limits::{BASELINE_LINES_MAX, LINE_MATCH_BYTES_MAX};
use crate::base::text::{is_blank, prefix};

/// The masked lines of a passing output, as 64-bit hashes; at most [`BASELINE_LINES_MAX`] of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Baseline {
    /// The version of mask and hash; a baseline of another version is ignored.
    version: u32,
    lines: BTreeSet<u64>,
}

/// Raised with every change of the mask, or of the text that is masked.
const VERSION: u32 = 2;

impl Baseline {
    /// The baseline of a passing run's raw output.
    pub fn from_output(output: &[u8]) -> Self {
        let text = super::text_of(output);
        let lines = text.lines().filter(|line| !is_blank(line));
        Baseline { version: VERSION, lines: lines.map(line_key).take(BASELINE_LINES_MAX).collect() }
    }

    /// Whether a cleaned line was in the passing output, numbers and times aside.
    pub fn contains_line(&self, line: &str) -> bool {
        self.lines.contains(&line_key(line))
    }

    /// Whether it can say anything: it is of this version and not empty.
    pub fn is_usable(&self) -> bool {
        self.version == VERSION && !self.lines.is_empty()
    }
}

/// 64 bits of the masked line: words with a digit in them are all the same, but for a count of zero.
pub(super) fn line_key(line: &str) -> u64 {
    let mut hasher = blake3::Hasher::new();
    mask_line(line, |part| {
        hasher.update(part);
    });
    let hash = hasher.finalize();
    u64::from_le_bytes(hash.as_bytes()[..8].try_into().unwrap_or_default())
}

/// The same for lines that are compared in one run alone, and much faster; another number each time.
pub(super) fn alike_key(line: &str, hashes: &RandomState) -> u64 {
    let mut hasher = hashes.build_hasher();
    mask_line(line, |part| hasher.write(part));
    hasher.finish()
}

/// The parts of the masked line.
fn mask_line(line: &str, mut take: impl FnMut(&[u8])) {
    for word in prefix(line, LINE_MATCH_BYTES_MAX).split_whitespace() {
        let zero = word.trim_matches(|c: char| !c.is_alphanumeric()) == "0";
        for part in word.split_inclusive(|c: char| !c.is_alphanumeric()) {
            let number = !zero && part.contains(|c: char| c.is_ascii_digit());
            let end = if number { part.trim_start_matches(char::is_alphanumeric) } else { part };
            if number {
                take(b"#");
            }
            take(end.as_bytes());
        }
        take(b" ");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Found by fuzzing: the times of a log are no part of the text that is read.
    #[test]
    fn a_log_s_lines_are_known_without_their_times() {
        let log = b"2026-03-05T12:30:22.022Z INFO up\r\n2026-03-06T12:30:32.032Z GET /v1/32\r\n";
        let baseline = Baseline::from_output(log);
        assert!(crate::diagnose::text_of(log).lines().all(|line| baseline.contains_line(line)));
        assert!(baseline.contains_line("INFO up") && !baseline.contains_line("INFO down"));
    }

    #[test]
    fn numbers_and_spaces_are_no_news_and_failures_are() {
        let baseline = Baseline::from_output(
            b"\x1b[32mok\x1b[0m  1 - adds (12ms)\n5 passed, 0 failed in 1.25s\nat 0x7f3a src/a1.c:3\n",
        );
        for known in ["ok 2 - adds (3ms)", "7 passed, 0 failed in 0.31s", "  at 0x99 src/a2.c:7"] {
            assert!(baseline.contains_line(known), "{known}");
        }
        for news in ["not ok 2 - adds (3ms)", "7 passed, 2 failed in 0.31s"] {
            assert!(!baseline.contains_line(news), "{news}");
        }
        assert!(baseline.is_usable());
        assert!(!Baseline::from_output(b"\n").is_usable());
        let json = serde_json::to_string(&baseline).expect("serialises");
        assert_eq!(serde_json::from_str::<Baseline>(&json).expect("parses"), baseline);
    }
}
