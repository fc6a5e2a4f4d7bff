//! Groups of merged patterns, the reasons, and the reviews of people.

use serde::Serialize;

use super::wording::message_title;
use crate::base::clock::Timestamp;
use crate::event::ReviewState;
use crate::store::{GroupMemberRow, PatternMergeRow, PatternReviewRow};

/// A pattern that is counted with others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct GroupMember {
    /// `p-…`.
    pub id: String,
    /// The masked message, one line.
    pub title: String,
    /// Failed runs that had just this one.
    pub failures: u64,
    /// Ids that it had with other versions of the fingerprint.
    pub earlier_ids: Vec<String>,
}

/// Why two patterns of the group are counted together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct GroupMerge {
    /// When they were merged.
    pub at: Timestamp,
    /// Id of the one, as it was then.
    pub from: String,
    /// Id of the other.
    pub into: String,
    /// `near-duplicate` when the recorder found it, else who said so, if they said.
    pub by: Option<String>,
    /// How similar the texts are, from 0 to 1,000, where the recorder found it.
    pub similarity_permille: Option<u16>,
    /// Why, in a person's words.
    pub why: Option<String>,
}

/// What users said about the pattern.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct GroupReview {
    /// Time of the review.
    pub at: Timestamp,
    /// `muted`, `unmuted`, `deprecated`, `restored`.
    pub state: ReviewState,
    /// Who, if they said.
    pub by: Option<String>,
    /// Reason, if given.
    pub why: Option<String>,
}

/// A group of patterns.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PatternGroupSummary {
    /// The patterns that are counted together, the one that represents them first.
    pub group: Vec<GroupMember>,
    /// Why they are, oldest first.
    pub merges: Vec<GroupMerge>,
    /// What people said about them, oldest first.
    pub reviews: Vec<GroupReview>,
}

impl PatternGroupSummary {
    /// From the store's rows.
    pub(crate) fn from_rows(
        group: Vec<GroupMemberRow>,
        merges: Vec<PatternMergeRow>,
        reviews: Vec<PatternReviewRow>,
    ) -> Self {
        PatternGroupSummary {
            group: group.into_iter().map(GroupMember::from_row).collect(),
            merges: merges.into_iter().map(GroupMerge::from_row).collect(),
            reviews: reviews.into_iter().map(GroupReview::from_row).collect(),
        }
    }
}

impl GroupMember {
    fn from_row(row: GroupMemberRow) -> Self {
        GroupMember {
            id: row.id,
            title: message_title(&row.masked),
            failures: row.failures,
            earlier_ids: row.earlier_ids,
        }
    }
}

impl GroupMerge {
    fn from_row(row: PatternMergeRow) -> Self {
        GroupMerge {
            at: row.at,
            from: row.from,
            into: row.into,
            by: row.by,
            similarity_permille: row.similarity_permille,
            why: row.why,
        }
    }
}

impl GroupReview {
    fn from_row(row: PatternReviewRow) -> Self {
        GroupReview { at: row.at, state: row.state, by: row.by, why: row.why }
    }
}
