//! Failures that share a key: what recurs, where, since when. Takes rows, returns values.

mod summary;

pub use summary::{FileCount, Occurrence, Page, RECURRING_TASKS_MIN, Summary};
