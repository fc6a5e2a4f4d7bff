//! Failures that share a key: what recurs, where, since when, and with what confidence. Takes rows, returns values.

pub(crate) mod confidence;
pub(crate) mod detector;
pub(crate) mod glob;
mod group;
pub(crate) mod history;
pub(crate) mod knowledge;
pub(crate) mod library_page;
pub(crate) mod signature;
pub(crate) mod statistics;
mod summary;
pub(crate) mod wording;

pub(crate) use group::PatternGroupSummary;
pub(crate) use summary::{FailureOccurrence, PatternPage, PatternSummary, PatternWords, SummaryParts};
