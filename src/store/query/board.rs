//! What the board shows, read from the sums: [`crate::ops::board`] puts it together.

pub(in crate::store) mod audit;
mod changes;
pub(in crate::store) mod effect;
pub(in crate::store) mod failures;
pub(in crate::store) mod files;
pub(in crate::store) mod first_runs;
pub(in crate::store) mod overview;
pub(in crate::store) mod pattern;
pub(in crate::store) mod pattern_lines;
pub(in crate::store) mod patterns;
pub(in crate::store) mod resolution;
pub(in crate::store) mod tasks;
pub(in crate::store) mod uses;
pub(in crate::store) mod warnings;
pub(in crate::store) mod words;
