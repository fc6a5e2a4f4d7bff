//! What people and agents record for everyone: entries and their later changes.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::by::EventAuthor;
use super::word::words;

/// Something said of an entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct EntryNote {
    /// `k-…`
    pub entry: String,
    #[serde(flatten)]
    pub change: EntryChange,
    /// Author of the statement.
    #[serde(default)]
    pub by: EventAuthor,
}

/// What is said of an entry. What was written once is never changed: a better one supersedes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub(crate) enum EntryChange {
    /// It was written.
    Created(Box<KnowledgeEntry>),
    /// Another one is better.
    Superseded {
        /// `k-…`
        with: String,
    },
    /// A user sets its confidence.
    ConfidenceSet {
        /// From 0 to 1,000. A whole number: it is read back as it was written.
        value_permille: u16,
        reason: String,
    },
    /// It never fades and is never held out; or not any more.
    Pinned {
        /// It is a check.
        on: bool,
    },
    /// It says what another one says.
    Merged {
        /// `k-…`
        into: String,
    },
    /// It was found, read, applied.
    Used {
        how: EntryUse,
        /// Further entries to which the same happened.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        with: Vec<String>,
    },
}

/// An entry as it was written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct KnowledgeEntry {
    /// Its type.
    #[serde(rename = "type")]
    pub entry_type: EntryTypeName,
    /// One line.
    pub title: String,
    /// What its type asks for: an object.
    pub properties: Value,
    /// Files that it is about, relative to the root; none: it is about no files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub globs: Vec<String>,
    /// What is being done when it matters (`CREATE`, `UPDATE`, `DELETE`, `VERIFY`, …), upper case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<String>,
    /// Words to find it by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Ids of what it comes from (`p-…`, `x-…`, `f-…`, `m-…`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// Where it comes from.
    #[serde(default)]
    pub origin: EntryOrigin,
}

/// The name of a type of entries: one of the constants, or one that the settings declare.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct EntryTypeName(Cow<'static, str>);

impl EntryTypeName {
    /// A mistake that happens here, and what to do instead.
    pub(crate) const GOTCHA: Self = EntryTypeName(Cow::Borrowed("gotcha"));
    /// A way of doing something that works here.
    pub(crate) const PATTERN: Self = EntryTypeName(Cow::Borrowed("pattern"));
    /// What was chosen, and why.
    pub(crate) const DECISION: Self = EntryTypeName(Cow::Borrowed("decision"));

    /// The name as it is stored and typed.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for EntryTypeName {
    fn from(name: &str) -> Self {
        EntryTypeName(Cow::Owned(name.to_owned()))
    }
}

impl fmt::Display for EntryTypeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Where an entry comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EntryOrigin {
    /// Source of the knowledge.
    #[serde(default)]
    pub source: EntrySource,
    /// It prevented the mistake.
    #[serde(default, skip_serializing_if = "is_false")]
    pub prevented: bool,
    /// Its fix was seen to work.
    #[serde(default, skip_serializing_if = "is_false")]
    pub fix_applied: bool,
}

/// Source of the knowledge.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum EntrySource {
    /// A person.
    Human,
    /// A check that ran.
    Check,
    #[default]
    Agent,
}

/// What was said of an entry after it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryChangeKind {
    /// Another one is better.
    Superseded,
    /// A user set its confidence.
    ConfidenceSet,
    /// It never fades.
    Pinned,
    /// It does again.
    Unpinned,
    /// It says what another one says.
    Merged,
}

words!(EntryChangeKind {
    Superseded => "superseded",
    ConfidenceSet => "confidence_set",
    Pinned => "pinned",
    Unpinned => "unpinned",
    Merged => "merged",
});

/// What was done with an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EntryUse {
    /// A search found it.
    Queried,
    /// It was read.
    Retrieved,
    Applied,
    /// A user confirmed it.
    Validated,
    /// It prevented the mistake.
    Prevented,
    /// It was applied without success.
    DidNotHelp,
}

words!(EntrySource { Human => "human", Check => "check", Agent => "agent" });

words!(EntryUse { Queried => "queried", Retrieved => "retrieved", Applied => "applied", Validated => "validated", Prevented => "prevented", DidNotHelp => "did_not_help" });

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}
