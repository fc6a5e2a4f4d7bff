//! An agent's memory: private until it is promoted to an entry.

use serde::{Deserialize, Serialize};

use super::by::EventAuthor;
use crate::base::clock::Timestamp;

/// Something said of a memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MemoryNote {
    /// `m-…`
    pub memory: String,
    #[serde(flatten)]
    pub change: MemoryChange,
    /// Who says so; of `remembered` whose it is.
    #[serde(default)]
    pub by: EventAuthor,
}

/// Changes of a memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub(crate) enum MemoryChange {
    /// It is to be remembered.
    Remembered {
        #[serde(rename = "type")]
        sort: MemoryType,
        /// Text of the memory.
        text: String,
        /// How important it is, from 0 to 1,000.
        importance_permille: u16,
        /// When it is forgotten.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires_at: Option<Timestamp>,
    },
    /// It was looked up.
    Recalled {
        /// Further memories that were looked up at the same time.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        with: Vec<String>,
    },
    /// It has turned out to be true.
    Validated,
    /// It became knowledge for everybody.
    Promoted {
        /// `k-…`
        entry: String,
    },
}

/// What a memory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MemoryType {
    /// The state of a task.
    Context,
    /// Something that was learnt.
    Learning,
    /// How this agent likes to work.
    Preference,
    /// An error that comes back.
    ErrorPattern,
    /// Something that works.
    SuccessPattern,
}

impl MemoryType {
    /// The word in events and tables.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            MemoryType::Context => "context",
            MemoryType::Learning => "learning",
            MemoryType::Preference => "preference",
            MemoryType::ErrorPattern => "error_pattern",
            MemoryType::SuccessPattern => "success_pattern",
        }
    }

    /// From that word.
    pub(crate) fn parse(word: &str) -> Option<Self> {
        use MemoryType::{Context, ErrorPattern, Learning, Preference, SuccessPattern};
        [Context, Learning, Preference, ErrorPattern, SuccessPattern].into_iter().find(|sort| sort.as_str() == word)
    }
}
