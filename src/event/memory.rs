//! An agent's memory: private until it is promoted to an entry.

use serde::{Deserialize, Serialize};

use super::by::EventAuthor;
use super::word::words;
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
        memory_type: MemoryType,
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum MemoryType {
    /// The state of a task.
    Context,
    /// Something that was learnt.
    #[default]
    Learning,
    /// How this agent likes to work.
    Preference,
    /// An error that comes back.
    ErrorPattern,
    /// Something that works.
    SuccessPattern,
}

words!(MemoryType { Context => "context", Learning => "learning", Preference => "preference", ErrorPattern => "error_pattern", SuccessPattern => "success_pattern" });
