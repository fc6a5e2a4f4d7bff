//! A line that is proposed for CLAUDE.md or AGENTS.md, and what people decide about it.

use serde::{Deserialize, Serialize};

use super::by::EventAuthor;
use super::word::words;

/// Something said of a promotion. Its id is made of what it is about, so that it is one on every machine. It quotes no
/// run: the line itself is in the file, and what is purged takes no decision with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Promotion {
    /// `r-…`
    pub promotion: String,
    /// The pattern's key, of a promotion of a pattern.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// `k-…`, of a promotion from the knowledge base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    #[serde(flatten)]
    pub step: PromotionStep,
    /// Who says so; `person` is the reviewer.
    #[serde(default)]
    pub by: EventAuthor,
}

/// Steps of a promotion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub(crate) enum PromotionStep {
    /// It passed the gate. The earliest counts.
    Proposed {
        /// Whether held-out tasks prove it.
        strong: bool,
        /// Why that is so.
        why: String,
    },
    /// A person wants it.
    Approved {
        reason: String,
        /// The file, relative to the root, with `/`.
        target: String,
        /// BLAKE3 of the file before, 64 hexadecimal digits; absent when there was none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<String>,
        /// … and after.
        after: String,
    },
    /// A person doesn't want it.
    Rejected { reason: String },
    /// A person took it out again.
    RolledBack {
        reason: String,
        /// BLAKE3 of the file after; absent when there is none any more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<String>,
    },
    /// It didn't help, or isn't needed any more: a person should take it out. Until then it stays.
    RetirementProposed { why: String },
}

impl PromotionStep {
    /// The step without its content.
    pub(crate) fn kind(&self) -> PromotionChangeKind {
        match self {
            PromotionStep::Proposed { .. } => PromotionChangeKind::Proposed,
            PromotionStep::Approved { .. } => PromotionChangeKind::Approved,
            PromotionStep::Rejected { .. } => PromotionChangeKind::Rejected,
            PromotionStep::RolledBack { .. } => PromotionChangeKind::RolledBack,
            PromotionStep::RetirementProposed { .. } => PromotionChangeKind::RetirementProposed,
        }
    }

    /// Whether only a person may say so, by a command that asks for their name: never as a note.
    pub(crate) fn is_decision(&self) -> bool {
        !matches!(self, PromotionStep::Proposed { .. } | PromotionStep::RetirementProposed { .. })
    }
}

/// Kinds of steps of a promotion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum PromotionChangeKind {
    /// It passed the gate.
    Proposed,
    /// A person wants it.
    Approved,
    /// A person doesn't want it.
    Rejected,
    /// A person took it out again.
    RolledBack,
    /// A person should take it out.
    RetirementProposed,
}

words!(PromotionChangeKind {
    Proposed => "proposed",
    Approved => "approved",
    Rejected => "rejected",
    RolledBack => "rolled_back",
    RetirementProposed => "retirement_proposed",
});

/// State of a promotion.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum PromotionState {
    /// It waits for a person.
    #[default]
    Pending,
    /// A person wanted it.
    Approved,
    /// A person didn't.
    Rejected,
    /// A person took it out again.
    RolledBack,
}

words!(PromotionState { Pending => "pending", Approved => "approved", Rejected => "rejected", RolledBack => "rolled_back" });
