//! Questions about receipts with signatures. Nothing in them is verified here.

use rusqlite::params;

use super::receipt::ReceiptDoubt;
use crate::base::clock::Timestamp;
use crate::event::{EventBody, SignedReceipt};
use crate::store::error::StoreError;
use crate::store::index::Index;
use crate::store::segment::SegmentFolder;

/// A pass of another machine, as the records here know it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SignedSubject<'a> {
    /// The command key that the check has here.
    pub command_key: &'a str,
    /// The run, as the signer's machine has it.
    pub run: &'a str,
    /// The git tree, hex.
    pub tree: &'a str,
    /// When the command ended.
    pub ended_at: Timestamp,
}

impl Index {
    /// Signed receipts of a command: those that say that they are of `tree` first, then the newest.
    ///
    /// # Errors
    /// SQLite's and I/O.
    pub(crate) fn list_signed_receipts(
        &self,
        segments: &SegmentFolder,
        command: &str,
        tree: &str,
        limit: usize,
    ) -> Result<Vec<SignedReceipt>, StoreError> {
        let find = || {
            let sql = "SELECT event_id FROM signed_receipts WHERE command = ?1
                ORDER BY tree = ?2 DESC, ended_at DESC, event_id LIMIT ?3";
            let mut statement = self.connection.prepare_cached(sql)?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            statement.query_map(params![command, tree, limit], |row| row.get::<_, String>(0))?.collect()
        };
        let ids: Vec<String> = self.sql_result("read", find())?;
        let mut receipts = Vec::new();
        for id in ids {
            if let Some(EventBody::SignedReceipt(signed)) = self.read_event(segments, &id)?.map(|event| event.body) {
                receipts.push(*signed);
            }
        }
        Ok(receipts)
    }

    /// What was recorded here that speaks against a pass of another machine; `None` when nothing does. A failure on the same
    /// tree counts whenever it was: why it failed here and passed there is not known.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn doubt_of_signed(&self, pass: SignedSubject<'_>) -> Result<Option<ReceiptDoubt>, StoreError> {
        let flaky = "SELECT 1 FROM flakes WHERE command_key = ?1 AND proof = 'proven'";
        let weakened = "SELECT 1 FROM fix_attempts WHERE weakened > 0 AND (run_id = ?1 OR run_id IN
            (SELECT run_id FROM snapshots JOIN runs USING (run_id) WHERE tree = ?2 AND command_key = ?3))";
        let failed = "SELECT 1 FROM runs LEFT JOIN snapshots USING (run_id) WHERE command_key = ?1 AND NOT passed
            AND (tree = ?3 OR ended_at >= ?2 AND (tree IS NULL OR NOT exact))";
        let find = || {
            let connection = &self.connection;
            Ok(if connection.prepare_cached(flaky)?.exists([pass.command_key])? {
                Some(ReceiptDoubt::Flaky)
            } else if connection.prepare_cached(weakened)?.exists([pass.run, pass.tree, pass.command_key])? {
                Some(ReceiptDoubt::Weakened)
            } else {
                let since = params![pass.command_key, pass.ended_at.rfc3339(), pass.tree];
                connection.prepare_cached(failed)?.exists(since)?.then_some(ReceiptDoubt::FailedHere)
            })
        };
        self.sql_result("read", find())
    }
}
