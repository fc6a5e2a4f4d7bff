//! What is counted together, why, and what people said about it.

use serde::Serialize;

use super::summary::title;
use crate::base::clock::Timestamp;
use crate::store::{MemberRow, MergeRow, ReviewRow};

/// A pattern that is counted with others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Member {
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
pub struct Merged {
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

/// What somebody said about the pattern.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reviewed {
    /// When.
    pub at: Timestamp,
    /// `muted`, `unmuted`, `deprecated`, `restored`.
    pub state: String,
    /// Who, if they said.
    pub by: Option<String>,
    /// Why, if they said.
    pub why: Option<String>,
}

/// A group of patterns.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Together {
    /// The patterns that are counted together, the one that stands for them first.
    pub group: Vec<Member>,
    /// Why they are, oldest first.
    pub merges: Vec<Merged>,
    /// What people said about them, oldest first.
    pub reviews: Vec<Reviewed>,
}

impl Together {
    /// From the store's rows.
    pub fn of(group: Vec<MemberRow>, merges: Vec<MergeRow>, reviews: Vec<ReviewRow>) -> Self {
        Together {
            group: group.into_iter().map(Member::of).collect(),
            merges: merges.into_iter().map(Merged::of).collect(),
            reviews: reviews.into_iter().map(Reviewed::of).collect(),
        }
    }
}

impl Member {
    fn of(row: MemberRow) -> Self {
        Member { id: row.id, title: title(&row.masked), failures: row.failures, earlier_ids: row.earlier_ids }
    }
}

impl Merged {
    fn of(row: MergeRow) -> Self {
        Merged {
            at: row.at,
            from: row.from,
            into: row.into,
            by: row.by,
            similarity_permille: row.similarity_permille,
            why: row.why,
        }
    }
}

impl Reviewed {
    fn of(row: ReviewRow) -> Self {
        Reviewed { at: row.at, state: row.state, by: row.by, why: row.why }
    }
}
