//! What happened to an entry after it was written, from the index.

use crate::knowledge::ledger::EntryHistory;
use crate::pattern::confidence::JudgedDelivery;
use crate::store::{EntryRow, Index, StoreError};

/// What happened to the entry that represents itself and those that were merged with it.
///
/// # Errors
/// SQLite's.
pub(crate) fn entry_history(index: &Index, row: &EntryRow) -> Result<EntryHistory, StoreError> {
    history_with_exposures(index, row, index.entry_exposures(&row.id)?)
}

/// The same where it is known how often it was warned of.
///
/// # Errors
/// SQLite's.
pub(crate) fn history_with_exposures(
    index: &Index,
    row: &EntryRow,
    exposures: u64,
) -> Result<EntryHistory, StoreError> {
    let deliveries = if exposures > 0 { index.judged_deliveries_of_entry(&row.id)? } else { Vec::new() };
    Ok(EntryHistory {
        merged: if row.occurrences > 1 { index.merged_entries(&row.id)? } else { Vec::new() },
        changes: index.entry_changes(&row.id)?,
        uses: index.entry_uses(&row.id)?,
        told: deliveries.into_iter().filter_map(JudgedDelivery::from_outcome_row).collect(),
    })
}
