//! Statements about patterns: merges, splits and reviews.
//!
//! Patterns are named by their keys, of whichever fingerprint version: the index knows which pattern has a key now.

use serde::{Deserialize, Serialize};

use super::word::words;

/// `by` of a merge that the recorder found.
pub(crate) const NEAR_DUPLICATE: &str = "near-duplicate";

/// Two patterns are one from now on. Nothing is rewritten: both keys stay, and the figures are counted together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PatternMerge {
    /// Key of the one.
    pub from: String,
    /// Key of the other. Which of the two names the group is decided by their failures.
    pub into: String,
    /// Who: [`NEAR_DUPLICATE`], or a person's name where one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// How similar their families' texts are, from 0 to 1,000; only where the recorder found it. A whole number: it is
    /// read back as it was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub similarity_permille: Option<u16>,
    /// Why, in a person's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl PatternMerge {
    /// Found by the recorder: it yields to every split, whichever came first.
    pub(crate) fn is_automatic(&self) -> bool {
        self.by.as_deref() == Some(NEAR_DUPLICATE)
    }
}

/// Splits a pattern from its group: reverts every earlier merge of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PatternSplit {
    /// Its key.
    pub pattern: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// What a person thinks of a pattern. The latest of each pair holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ReviewState {
    /// No advice about it.
    Muted,
    /// Advice about it again.
    Unmuted,
    /// It can't happen any more, or is no mistake.
    Deprecated,
    /// It is back in use.
    Restored,
}

words!(ReviewState { Muted => "muted", Unmuted => "unmuted", Deprecated => "deprecated", Restored => "restored" });

/// A user reviewed a pattern.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Review {
    /// Its key.
    pub pattern: String,
    /// The stated opinion.
    pub state: ReviewState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}
