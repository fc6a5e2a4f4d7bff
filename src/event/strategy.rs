//! What somebody proposes against an error, and what came of trying it.

use serde::{Deserialize, Serialize};

use super::by::EventAuthor;
use super::fix::AttemptOutcome;
use super::word::words;

/// Something said of a strategy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StrategyNote {
    /// `s-…`; of one that somebody proposed made of what it is against and of the technique.
    pub strategy: String,
    /// What is said.
    #[serde(flatten)]
    pub change: StrategyChange,
    /// Who says so.
    #[serde(default)]
    pub by: EventAuthor,
}

/// What is said of a strategy.
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
        /// How, one after the other.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        steps: Vec<String>,
        /// Settings have it, as templates: it is proposed where they do, for what they say. Its id is theirs.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        declared: bool,
    },
    /// It was tried.
    Attempted {
        /// What came of it.
        outcome: AttemptOutcome,
        /// What kind of task it was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        category: Option<String>,
        /// What kind of file it was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file_type: Option<String>,
        /// What somebody noticed.
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
