//! What the lessons that a team shares teach about patterns.

use std::path::Path;

use crate::advice::ProvenRemedy;
use crate::base::ids::{self, IdKind};
use crate::base::lossless::Lossless;
use crate::event::Technique;
use crate::store::{EntryRow, Index, StoreError};

/// What is taught of the patterns with these keys: the entries, each with its lesson's path.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn lessons_of_patterns(
    index: &Index,
    root: &Path,
    keys: &[String],
) -> Result<Vec<(EntryRow, String)>, StoreError> {
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

/// What a lesson says that helped.
pub(crate) fn shared_lesson_remedy(row: &EntryRow) -> Option<ProvenRemedy> {
    Some(ProvenRemedy::from_figures(&row.text("fix")?, Technique::Lesson, 1, 1, false))
}
