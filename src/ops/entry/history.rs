//! What happened to an entry after it was written, from the index.

use crate::knowledge::ledger::History;
use crate::pattern::confidence::Told;
use crate::store::{EntryRow, Index, StoreError};

/// What happened to the entry that stands for itself and those that were merged with it.
///
/// # Errors
/// SQLite's.
pub(in crate::ops) fn of(index: &Index, row: &EntryRow) -> Result<History, StoreError> {
    Ok(History {
        merged: if row.occurrences > 1 { index.merged_entries(&row.id)? } else { Vec::new() },
        changes: index.entry_changes(&row.id)?,
        uses: index.entry_uses(&row.id)?,
        told: index.deliveries_of_entry(&row.id)?.into_iter().filter_map(Told::of).collect(),
    })
}
