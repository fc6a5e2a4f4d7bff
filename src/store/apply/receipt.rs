//! Applies receipts to their table.

use rusqlite::{Transaction, params};

use super::fix::insert_quoted_runs;
use crate::event::{Event, Receipt, SignedReceipt};
use crate::store::to_json;

pub(super) fn insert_receipt(
    transaction: &Transaction<'_>,
    id: &str,
    event: &Event,
    receipt: &Receipt,
) -> rusqlite::Result<()> {
    if !insert_quoted_runs(transaction, id, &event.body.quoted_runs())? {
        return Ok(());
    }
    transaction
        .prepare_cached("INSERT INTO receipts VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")?
        .execute(params![
            id,
            receipt.receipt,
            receipt.run.to_string(),
            event.writer,
            to_json(&receipt.root),
            receipt.key,
            receipt.state.command,
            receipt.state.tree,
            receipt.ended_at.rfc3339(),
        ])
        .map(|_| ())
}

pub(super) fn insert_signed_receipt(
    transaction: &Transaction<'_>,
    id: &str,
    signed: &SignedReceipt,
) -> rusqlite::Result<()> {
    if !insert_quoted_runs(transaction, id, &[signed.run])? {
        return Ok(());
    }
    transaction
        .prepare_cached("INSERT INTO signed_receipts VALUES (?1, ?2, ?3, ?4, ?5)")?
        .execute(params![id, signed.receipt, signed.command, signed.tree, signed.ended_at.rfc3339()])
        .map(|_| ())
}
