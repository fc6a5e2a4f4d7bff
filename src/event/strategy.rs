//! What a user proposes against an error, and the outcomes of its attempts.

use serde::{Deserialize, Serialize};

use super::by::EventAuthor;
use super::fix::AttemptOutcome;
use super::word::words;

/// A statement about a strategy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StrategyNote {
    /// `s-…`; of a proposed one, computed from its target and its technique.
    pub strategy: String,
    #[serde(flatten)]
    pub change: StrategyChange,
    /// Author of the statement.
    #[serde(default)]
    pub by: EventAuthor,
}

/// Statements about a strategy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub(crate) enum StrategyChange {
    /// It is proposed.
    Created {
        /// What `text` is.
        matches: StrategyMatchKind,
        /// The error.
        text: String,
        /// What to do, in a few words.
        technique: String,
        /// Steps in order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        steps: Vec<String>,
        /// Settings have it, as templates: it is proposed where they do, for what they say. Its id is theirs.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        declared: bool,
    },
    /// It was tried.
    Attempted {
        outcome: AttemptOutcome,
        /// Kind of task.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        category: Option<String>,
        /// Kind of file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file_type: Option<String>,
        /// The user's note.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
}

/// How the error of a proposal is known: as a strategy knows it, or by what settings say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ErrorMatch {
    /// The error has this text.
    #[default]
    Substring,
    /// The error has a match.
    Regex,
    /// The error has this pattern's key.
    Pattern,
    /// The failure is of this category.
    Category,
    /// The tool reported it.
    Tool,
}

words!(ErrorMatch {
    Substring => "substring",
    Regex => "regex",
    Pattern => "pattern",
    Category => "category",
    Tool => "tool",
});

/// How a strategy knows its error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StrategyMatchKind {
    /// The error has this text, in upper or lower case.
    Substring,
    /// The error has a match.
    Regex,
    /// The error has this pattern's key.
    Pattern,
}

impl StrategyMatchKind {
    /// The error as it is compared.
    pub(crate) fn normalize_text(self, text: &str) -> String {
        if self == StrategyMatchKind::Substring { text.to_lowercase() } else { text.to_owned() }
    }

    /// The word in events and tables.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            StrategyMatchKind::Substring => "substring",
            StrategyMatchKind::Regex => "regex",
            StrategyMatchKind::Pattern => "pattern",
        }
    }
}
