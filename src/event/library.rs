//! Pages of the pattern library, and what people decide about them.

use serde::{Deserialize, Serialize};

use super::by::EventAuthor;
use super::learn::IsolationLevel;
use super::word::words;
use crate::base::ids::RunId;

/// A step of a page. The folder of its file says what a page is; the steps say who put it there and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LibraryNote {
    /// `a-…`
    pub artifact: String,
    #[serde(flatten)]
    pub step: LibraryStep,
    /// Who says so; `person` is the one who decides.
    #[serde(default)]
    pub by: EventAuthor,
}

/// Steps of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub(crate) enum LibraryStep {
    /// It was written as a candidate.
    Written(Box<WrittenPage>),
    /// It is for agents to read.
    Approved {
        /// Why.
        reason: String,
        /// `sha256:…` of the file that was approved.
        digest: String,
        /// Pages that it replaces.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        supersedes: Vec<String>,
        /// It is not proven, and the person knows.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unproven: bool,
    },
    /// It is not wanted. Its text stays in the event that wrote it.
    Rejected {
        /// Why.
        reason: String,
    },
    /// It is not for agents any more.
    Deprecated {
        /// Why.
        reason: String,
        /// The page that replaces it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replaced_by: Option<String>,
    },
    /// A deprecated page is for agents again.
    Restored {
        /// Why.
        reason: String,
        /// `sha256:…` of the file.
        digest: String,
    },
    /// Its file was found in another folder than the steps say.
    Moved {
        /// Where it was.
        from: LibraryFolderName,
        /// Where it is.
        to: LibraryFolderName,
        /// The commit that moved it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        commit: Option<String>,
    },
    /// Its file was found with another content.
    Edited {
        /// `sha256:…` of the file.
        digest: String,
    },
    /// The records say that it should be deprecated. A person decides.
    DeprecationProposed {
        /// Why, a lowercase fragment.
        why: String,
    },
    /// Its proof was run again.
    Verified {
        /// Whether it holds.
        holds: bool,
        /// The isolation.
        level: IsolationLevel,
        /// What was seen, a lowercase fragment.
        why: String,
    },
}

impl LibraryStep {
    /// The name in the event.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            LibraryStep::Written(_) => "written",
            LibraryStep::Approved { .. } => "approved",
            LibraryStep::Rejected { .. } => "rejected",
            LibraryStep::Deprecated { .. } => "deprecated",
            LibraryStep::Restored { .. } => "restored",
            LibraryStep::Moved { .. } => "moved",
            LibraryStep::Edited { .. } => "edited",
            LibraryStep::DeprecationProposed { .. } => "deprecation_proposed",
            LibraryStep::Verified { .. } => "verified",
        }
    }

    /// Whether a name has to stand for it.
    pub(crate) fn is_decision(&self) -> bool {
        matches!(
            self,
            LibraryStep::Approved { .. }
                | LibraryStep::Rejected { .. }
                | LibraryStep::Deprecated { .. }
                | LibraryStep::Restored { .. }
        )
    }

    /// The runs whose text is in it.
    pub(crate) fn quoted_runs(&self) -> Vec<RunId> {
        match self {
            LibraryStep::Written(page) => page.quotes.clone(),
            _ => Vec::new(),
        }
    }
}

/// A page as it was written: the file can be written again from this.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WrittenPage {
    /// The file's name in its folder.
    pub file: String,
    /// `sha256:…` of the text.
    pub digest: String,
    /// The text, redacted, at most 16 KiB.
    pub text: String,
    /// `j-…` of the job that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// Session of the fix: the same session must not approve it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix_session: Option<String>,
    /// Runs whose text is in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quotes: Vec<RunId>,
}

/// A folder of the library.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum LibraryFolderName {
    /// Only people who decide read them.
    #[default]
    Candidates,
    /// Agents read them.
    Active,
    /// No agent reads them any more.
    Deprecated,
}

words!(LibraryFolderName { Candidates => "candidates", Active => "active", Deprecated => "deprecated" });
