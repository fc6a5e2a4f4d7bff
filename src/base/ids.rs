//! Ids: UUIDv7 for runs and events, a kind prefix and 8 base32 characters for what people type.

use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::clock::Timestamp;

/// The id of one run, and of the event that records it: a UUIDv7, so ids sort by time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct RunId(#[cfg_attr(test, schemars(with = "String"))] pub Uuid);

impl RunId {
    /// A fresh id from the wall clock and the system's randomness.
    ///
    /// Asks the kernel itself: in a static binary the `getrandom` crate finds no function of that name and keeps
    /// `/dev/urandom` open instead, under a number that the recorder closes with all the others.
    pub fn fresh() -> Self {
        let mut random = [0; 10];
        if !fill_random(&mut random) {
            return RunId(Uuid::now_v7());
        }
        let millis = u64::try_from(Timestamp::now().0 / 1_000).unwrap_or(0);
        RunId(uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid())
    }

    /// The id that sorts before all others of a moment's millisecond.
    pub fn first_at(moment: Timestamp) -> Self {
        let millis = u64::try_from(moment.0 / 1_000).unwrap_or(0);
        RunId(uuid::Builder::from_unix_timestamp_millis(millis, &[0; 10]).into_uuid())
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

/// Fills at most 256 bytes from the system's randomness; whether it could.
#[allow(unsafe_code, reason = "neither std nor nix offers the call")]
pub(crate) fn fill_random(bytes: &mut [u8]) -> bool {
    // SAFETY: the buffer is valid for its length, which is far below the 256 bytes that are given whole or not at all.
    #[cfg(target_os = "linux")]
    return unsafe { nix::libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) }.unsigned_abs() == bytes.len();
    // SAFETY: as above.
    #[cfg(not(target_os = "linux"))]
    return unsafe { nix::libc::getentropy(bytes.as_mut_ptr().cast(), bytes.len()) } == 0;
}

/// What an id names; the prefix before the dash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdKind {
    /// `f-`: a failure.
    Failure,
    /// `p-`: a pattern.
    Pattern,
    /// `l-`: a lesson.
    Lesson,
    /// `x-`: a fix workflow.
    Fix,
    /// `s-`: a recovery strategy.
    Strategy,
    /// `k-`: a piece of knowledge.
    Knowledge,
    /// `w-`: a warning.
    Warning,
    /// `m-`: what an agent remembers.
    Memory,
    /// `r-`: a promotion.
    Promotion,
    /// `g-`: an evaluation of the quality gate.
    Evaluation,
    /// `e-`: a receipt, evidence that a check passed.
    Receipt,
    /// `j-`: a job of the learning pipeline.
    Job,
    /// `a-`: a page of the pattern library.
    Artifact,
}

impl IdKind {
    /// The letter before the dash.
    pub fn prefix(self) -> char {
        match self {
            IdKind::Failure => 'f',
            IdKind::Pattern => 'p',
            IdKind::Lesson => 'l',
            IdKind::Fix => 'x',
            IdKind::Strategy => 's',
            IdKind::Knowledge => 'k',
            IdKind::Warning => 'w',
            IdKind::Memory => 'm',
            IdKind::Promotion => 'r',
            IdKind::Evaluation => 'g',
            IdKind::Receipt => 'e',
            IdKind::Job => 'j',
            IdKind::Artifact => 'a',
        }
    }
}

/// A short id such as `f-k3v9q2ma`: derived from `seed` alone, so recording the same run twice gives the same id.
///
/// 40 bits of BLAKE3 in lower-case Crockford-like base32 (`data-encoding`'s BASE32_DNSCURVE alphabet).
pub fn short(kind: IdKind, seed: &[u8]) -> String {
    let hash = blake3::Hasher::new().update(&[kind.prefix() as u8, b'\0']).update(seed).finalize();
    let text = data_encoding::BASE32_DNSCURVE.encode(&hash.as_bytes()[..5]);
    format!("{}-{text}", kind.prefix())
}

/// The id of the failure of a run.
pub fn failure(run: RunId) -> String {
    short(IdKind::Failure, run.0.as_bytes())
}

/// The id of the fix of what failed under a command key from this run on.
pub fn fix(command_key: &str, opened_by: RunId) -> String {
    short(IdKind::Fix, &[command_key.as_bytes(), opened_by.0.as_bytes()].concat())
}

/// The id of what is done against a pattern: its key, the technique, what makes it the same in another task.
pub fn strategy(pattern_key: &str, technique: &str, recipe_key: &str) -> String {
    short(IdKind::Strategy, [pattern_key, technique, recipe_key].join("\0").as_bytes())
}

/// The id of a strategy: kind of match, its text, what to do.
pub fn said_strategy(matches: &str, error: &str, technique: &str) -> String {
    short(IdKind::Strategy, ["said", matches, error, technique].join("\0").as_bytes())
}

/// The id of a strategy that settings have: what it is for, what to do.
pub fn declared_strategy(error: &str, category: &str, tool: &str, technique: &str) -> String {
    short(IdKind::Strategy, ["declared", error, category, tool, technique].join("\0").as_bytes())
}

/// The id of the gotcha that was learnt about a pattern.
pub fn gotcha(pattern_key: &str) -> String {
    short(IdKind::Knowledge, ["gotcha", pattern_key].join("\0").as_bytes())
}

/// The id of a warning: who gets it, what it is about.
pub fn warning(session: &str, subject: &str) -> String {
    short(IdKind::Warning, [session, subject].join("\0").as_bytes())
}

/// The id of the promotion of what has this pattern key, or of the entry that has this id.
pub fn promotion(subject: &str) -> String {
    short(IdKind::Promotion, subject.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_ids_are_stable_and_told_apart_by_kind() {
        let failure = short(IdKind::Failure, b"seed");
        assert_eq!(failure, short(IdKind::Failure, b"seed"));
        assert_eq!(failure.len(), 10);
        assert!(failure.starts_with("f-"));
        assert_ne!(failure[2..], short(IdKind::Lesson, b"seed")[2..]);
    }
}
