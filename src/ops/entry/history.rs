//! What happened to an entry after it was written, from the index.

use crate::knowledge::ledger::History;
use crate::pattern::confidence::Told;
use crate::store::{EntryRow, Index, StoreError};

/// What happened to the entry that stands for itself and those that were merged with it.
///
/// # Errors
/// SQLite's.
pub(in crate::ops) fn of(index: &Index, row: &EntryRow) -> Result<History, StoreError> {
    with(index, row, index.entry_exposures(&row.id)?)
}

/// The same where it is known how often it was warned of.
///
/// # Errors
/// SQLite's.
pub(in crate::ops) fn with(index: &Index, row: &EntryRow, exposures: u64) -> Result<History, StoreError> {
    let deliveries = if exposures > 0 { index.judged_deliveries_of_entry(&row.id)? } else { Vec::new() };
    Ok(History {
        merged: if row.occurrences > 1 { index.merged_entries(&row.id)? } else { Vec::new() },
        changes: index.entry_changes(&row.id)?,
        uses: index.entry_uses(&row.id)?,
        told: deliveries.into_iter().filter_map(Told::of).collect(),
    })
}
