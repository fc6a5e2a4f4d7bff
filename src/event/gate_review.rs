//! Who wrote a change and who reviewed it, as a part of an evaluation's outcome.

use serde::{Deserialize, Serialize};

use super::word::words;

/// The language models that wrote a change, and how the reviewer compares with them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct GateModels {
    /// The models of the cycle, as far as they are known, by name.
    #[serde(default)]
    pub implementers: Vec<String>,
    /// The outcome.
    #[serde(default)]
    pub diversity: GateDiversity,
}

/// How the model of a review compares with those of the authors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum GateDiversity {
    /// No model took part in the verdict.
    #[default]
    NotNeeded,
    /// The reviewer differs from all authors.
    Enforced,
    /// The reviewer is of the family of an author, or of its vendor where that is asked for.
    SameFamily,
    /// It is not known which model wrote the change.
    UnknownImplementer,
}

words!(GateDiversity {
    NotNeeded => "not_needed",
    Enforced => "enforced",
    SameFamily => "same_family",
    UnknownImplementer => "unknown_implementer",
});

/// A review by a program of the user's. It adds remarks and never approves.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct GateReview {
    /// The model, as it names itself; absent when the review did not take place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Its own verdict, which has no effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
    /// Its issues that are about the change.
    #[serde(default)]
    pub issues: Vec<GateReviewIssue>,
    /// Issues about anything else.
    #[serde(default)]
    pub dropped: u64,
    /// Tests that it proposes for acceptance criteria, with how they ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<GateReviewLink>,
    /// Milliseconds that it took.
    #[serde(default)]
    pub took_ms: u64,
    /// Why the review did not take place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// An issue of a review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct GateReviewIssue {
    /// How bad it is.
    pub severity: ReviewSeverity,
    /// The changed file, relative to the root; absent when the whole change is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The changed line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// What is wrong, one line.
    pub message: String,
    /// What helps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// Whether it stops an approval.
    #[serde(default)]
    pub blocking: bool,
}

/// How bad an issue of a review is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum ReviewSeverity {
    /// A detail.
    Low,
    /// It should be mended.
    Medium,
    /// It must be mended.
    High,
}

words!(ReviewSeverity { Low => "low", Medium => "medium", High => "high" });

/// A test that a review proposes for an acceptance criterion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct GateReviewLink {
    /// `AC-2`
    pub criterion: String,
    /// The test.
    pub test: String,
    /// It ran on this tree and passed.
    pub passed: bool,
    /// Why it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl GateReview {
    /// A review that did not take place.
    pub(crate) fn failed(why: &str) -> GateReview {
        GateReview { warning: Some(format!("the review did not take place: {why}")), ..GateReview::default() }
    }

    /// Issues that stop an approval.
    pub(crate) fn blocking_issues(&self) -> u64 {
        self.issues.iter().filter(|issue| issue.blocking).count() as u64
    }
}
