//! What the lessons that a team shares teach about a pattern.

use std::path::Path;

use serde_json::Value;

use crate::advice::ProvenRemedy;
use crate::base::ids::{self, IdKind};
use crate::base::lossless::Lossless;
use crate::store::{EntryRow, Index, StoreError};

/// What is taught of the patterns with these keys: the entries, each with its lesson's path.
///
/// # Errors
/// When the store can't be read.
pub(super) fn of_patterns(index: &Index, root: &Path, keys: &[String]) -> Result<Vec<(EntryRow, String)>, StoreError> {
    let ids: Vec<String> = keys.iter().map(|key| ids::short(IdKind::Pattern, key.as_bytes())).collect();
    let mut found = Vec::new();
    for row in index.shared_lessons_about(&Lossless::from(root), &ids)? {
        let Some(entry) = row.entry else { continue };
        let entry = index.find_entry(&entry)?;
        if entry.superseded_by.is_none() {
            found.push((entry, row.path));
        }
    }
    Ok(found)
}

/// A text of an entry.
pub(super) fn entry_text(row: &EntryRow, name: &str) -> Option<String> {
    row.properties.get(name).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// What a lesson says that helped.
pub(super) fn remedy_of(row: &EntryRow) -> Option<ProvenRemedy> {
    Some(ProvenRemedy::from_figures(&entry_text(row, "fix")?, "lesson", (1, 1), false))
}
