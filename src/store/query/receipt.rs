//! Questions about receipts.

use rusqlite::params;

use super::ambiguous_id;
use crate::base::lossless::Lossless;
use crate::event::{EventBody, Receipt};
use crate::store::error::StoreError;
use crate::store::index::Index;
use crate::store::segment::SegmentFolder;
use crate::store::to_json;

/// What a receipt is looked up by.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ReceiptFilter<'a> {
    /// The digest of a command, of receipts that this writer wrote.
    Command { digest: &'a str, writer: &'a str },
    /// The same, over this tree.
    CommandOnTree { digest: &'a str, writer: &'a str, tree: &'a str },
    /// The work tree.
    Root(&'a Lossless),
    /// The id, or the start of one.
    Id(&'a str),
}

/// What was recorded that speaks against a receipt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReceiptDoubt {
    /// The command is proven to be flaky.
    Flaky,
    /// The check was made weaker before the run passed.
    Weakened,
    /// A later run failed, on this tree as far as is known.
    FailedSince,
    /// A run here failed on the tree on which it passed elsewhere.
    FailedHere,
}

impl Index {
    /// Receipts, the newest first.
    ///
    /// # Errors
    /// SQLite's and I/O.
    pub(crate) fn list_receipts(
        &self,
        segments: &SegmentFolder,
        filter: ReceiptFilter<'_>,
        limit: usize,
    ) -> Result<Vec<Receipt>, StoreError> {
        const OF_COMMAND: &str = "command = ?1 AND writer = ?2 AND (tree = ?3 OR ?3 = '') AND EXISTS (
            SELECT 1 FROM events e JOIN segments USING (segment_no)
            WHERE e.event_id = receipts.event_id AND substr(name, 1, length(?2) + 1) = ?2 || '-')";
        let (condition, one, other, tree) = match filter {
            ReceiptFilter::Command { digest, writer } => (OF_COMMAND, digest.to_owned(), writer, ""),
            ReceiptFilter::CommandOnTree { digest, writer, tree } => (OF_COMMAND, digest.to_owned(), writer, tree),
            ReceiptFilter::Root(root) => ("root = ?1 AND ?2 || ?3 = ''", to_json(root), "", ""),
            ReceiptFilter::Id(id) => {
                ("substr(receipt_id, 1, length(?1)) = ?1 AND ?2 || ?3 = ''", id.to_owned(), "", "")
            }
        };
        let find = || {
            let sql =
                format!("SELECT event_id FROM receipts WHERE {condition} ORDER BY ended_at DESC, event_id LIMIT ?4");
            let mut statement = self.connection.prepare_cached(&sql)?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            statement.query_map(params![one, other, tree, limit], |row| row.get::<_, String>(0))?.collect()
        };
        let ids: Vec<String> = self.sql_result("read", find())?;
        let mut receipts = Vec::new();
        for id in ids {
            if let Some(EventBody::Receipt(receipt)) = self.read_event(segments, &id)?.map(|event| event.body) {
                receipts.push(*receipt);
            }
        }
        Ok(receipts)
    }

    /// Whether one of the last `limit` receipts of a work tree is over this tree.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn has_receipts_on(&self, root: &Lossless, tree: &str, limit: usize) -> Result<bool, StoreError> {
        let find = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM (
                     SELECT tree FROM receipts WHERE root = ?1 ORDER BY ended_at DESC LIMIT ?3) WHERE tree = ?2)",
            )?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            statement.query_row(params![to_json(root), tree, limit], |row| row.get(0))
        };
        self.sql_result("read", find())
    }

    /// The receipt of an id, or of the start of one.
    ///
    /// # Errors
    /// [`StoreError::NoSuchId`], [`StoreError::Ambiguous`], SQLite's and I/O.
    pub(crate) fn find_receipt(&self, segments: &SegmentFolder, id: &str) -> Result<Receipt, StoreError> {
        let no_such_id = || StoreError::NoSuchId { id: id.to_owned() };
        if !id.starts_with("e-") || id.len() < 3 {
            return Err(no_such_id());
        }
        let mut found = self.list_receipts(segments, ReceiptFilter::Id(id), 10)?;
        match found.len() {
            0 | 1 => found.pop().ok_or_else(no_such_id),
            count => Err(ambiguous_id(id, count, found.iter().map(|receipt| receipt.receipt.as_str()))),
        }
    }

    /// What speaks against a receipt; `None` when nothing does.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn doubt_of_receipt(&self, receipt: &Receipt) -> Result<Option<ReceiptDoubt>, StoreError> {
        let flaky = "SELECT 1 FROM flakes WHERE command_key = ?1 AND proof = 'proven'";
        let weakened = "SELECT 1 FROM fix_attempts WHERE run_id = ?1 AND weakened > 0";
        // A run whose tree is another one proves nothing.
        let failed = "SELECT 1 FROM runs LEFT JOIN snapshots USING (run_id)
            WHERE command_key = ?1 AND ended_at >= ?2 AND NOT passed AND (tree IS NULL OR tree = ?3 OR NOT exact)";
        let find = || {
            let connection = &self.connection;
            Ok(if connection.prepare_cached(flaky)?.exists([&receipt.key])? {
                Some(ReceiptDoubt::Flaky)
            } else if connection.prepare_cached(weakened)?.exists([receipt.run.to_string()])? {
                Some(ReceiptDoubt::Weakened)
            } else {
                let since = params![receipt.key, receipt.ended_at.rfc3339(), receipt.state.tree];
                connection.prepare_cached(failed)?.exists(since)?.then_some(ReceiptDoubt::FailedSince)
            })
        };
        self.sql_result("read", find())
    }
}
