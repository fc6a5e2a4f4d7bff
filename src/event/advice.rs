//! Advice that was due, and how users rated it.

use serde::{Deserialize, Serialize};

use super::by::EventAuthor;
use super::word::words;
use crate::base::ids::RunId;

/// Advice that was due to a session. Its id is made of the session and what it is about: however often it is asked for,
/// there is one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Delivery {
    /// `w-…`, made of the same as the event's id.
    pub warning: String,
    /// Task of the run.
    pub task: String,
    /// Session of the worker.
    pub session: String,
    /// The pattern's key, of advice about a pattern.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// `k-…`, of advice from the knowledge base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// The pattern's family key, or the entry again: what is held out together.
    pub family: String,
    /// Its place in the list, from 1.
    pub rank: u32,
    /// Its score, from 0 to 1,000. A whole number: it is read back as it was written.
    pub score_permille: u16,
    /// Whether it was shown.
    pub arm: DeliveryArm,
    /// The share of tasks that was held out then, from 0 to 1,000.
    #[serde(default)]
    pub holdout_permille: u16,
    /// Where it was shown (`warn`, a hook's event).
    pub surface: String,
    /// The files that were asked about, relative to the root, up to a limit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// The tool class that was asked about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// What was shown, one line; nothing where it was held out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The runs whose messages and edits are in that text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<RunId>,
    /// Who it was for.
    #[serde(default)]
    pub by: EventAuthor,
}

/// The outcome of advice that was due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DeliveryArm {
    Shown,
    /// It was held out, so that it can be known what happens without.
    Holdout,
    /// The quality gate showed it, whatever the draw: what happens afterwards is no evidence about warnings.
    Gate,
}

words!(DeliveryArm { Shown => "shown", Holdout => "holdout", Gate => "gate" });

/// A user has seen a warning, with their rating.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Acknowledgement {
    /// `w-…`
    pub warning: String,
    /// Whether it was of use, if they say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub useful: Option<bool>,
    #[serde(default)]
    pub by: EventAuthor,
}
