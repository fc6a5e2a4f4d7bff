//! Failures that share a key: what recurs, where, since when, and how far to believe it. Takes rows, returns values.

pub mod library_page;
pub mod confidence;
pub mod detector;
pub mod glob;
mod group;
pub mod history;
pub mod knowledge;
pub mod signature;
pub mod statistics;
mod summary;
pub mod wording;

pub use group::{GroupMember, GroupMerge, GroupReview, PatternGroupSummary};
pub use summary::{FileCount, PatternFrequency, FailureOccurrence, PatternPage, SummaryParts, PatternSummary};
