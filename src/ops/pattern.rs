//! `pattern list` and `pattern show`.

use serde::Serialize;

use super::reading;
use crate::config::Places;
use crate::pattern::{Page, Summary};
use crate::store::StoreError;

/// Failures, files shown of one pattern.
const SHOWN_MAX: usize = 20;

/// What `pattern list --json` prints.
#[derive(Debug, Serialize)]
pub struct List {
    /// Version of this shape.
    pub schema: u32,
    /// The last seen first.
    pub patterns: Vec<Summary>,
    /// For standard error.
    #[serde(skip)]
    pub notes: Vec<String>,
}

/// At most `limit` patterns, the last seen first; with `recurring` only those of three tasks or more.
///
/// # Errors
/// When the store can't be read.
pub fn list(places: &Places, limit: usize, recurring: bool) -> Result<List, StoreError> {
    let reading = reading::open(places)?;
    let rows = match &reading.index {
        Some(index) => index.patterns(if recurring { usize::MAX } else { limit })?,
        None => Vec::new(),
    };
    let patterns = rows.into_iter().map(Summary::of).filter(|pattern| pattern.recurring || !recurring);
    Ok(List { schema: 1, patterns: patterns.take(limit).collect(), notes: reading.notes })
}

/// Everything about the pattern whose id starts with `id`, with notes for standard error.
///
/// # Errors
/// When there is none or more than one, or the store can't be read.
pub fn show(places: &Places, id: &str) -> Result<(Page, Vec<String>), StoreError> {
    let reading = reading::open(places)?;
    let Some(index) = reading.index else { return Err(StoreError::NoSuchId { id: id.to_owned() }) };
    let row = index.pattern(id)?;
    let files = index.pattern_files(row.number, SHOWN_MAX)?;
    let lessons = index.pattern_lessons(row.number)?;
    let occurrences = index.occurrences(row.number, SHOWN_MAX)?;
    Ok((Page::of(row, files, lessons, occurrences), reading.notes))
}
