//! Whether commands changed the work tree: receipts prove that they did not, else the tree is looked at again.

use std::ffi::OsString;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use super::change::{gate_snapshot_options, read_tree};
use super::execute::GateCommand;
use crate::base::clock::Timestamp;
use crate::fix::snapshot::TakenSnapshot;
use crate::lab::LabLevel;
use crate::ops::receipt::{CoveringReceipt, ReceiptLookup};
use crate::ops::request::Request;

/// What commands may have done to the judged tree.
#[derive(Debug, Default)]
pub(super) struct TreeWatch {
    lookup: OnceLock<Option<ReceiptLookup>>,
    /// When a file of the judged tree changed last.
    judged_at: OnceLock<Timestamp>,
    /// A file was changed since, even if it is as before.
    is_touched: AtomicBool,
    /// A command ran, and nothing says that it changed no file.
    is_in_doubt: AtomicBool,
    /// A command changed the tree: receipts of the judged one say nothing about it.
    is_changed: AtomicBool,
    /// The tree is known to be the judged one after the last command that ran.
    is_known: AtomicBool,
}

impl TreeWatch {
    /// Prepares to look up receipts over the judged tree.
    pub(super) fn open_receipts(&self, request: &Request, judged: &TakenSnapshot) {
        self.judged_at.get_or_init(|| judged.changed_at);
        self.lookup.get_or_init(|| ReceiptLookup::over_snapshot(request, judged).ok());
    }

    /// The receipt that covers a command over the judged tree.
    pub(super) fn find_cover(&self, request: &Request, command: &GateCommand<'_>) -> Option<CoveringReceipt> {
        self.find_receipt(request, command, (command.argv, command.item.is_some()))
    }

    /// The receipt of the same command as a person types it.
    pub(super) fn find_typed_cover(&self, request: &Request, command: &GateCommand<'_>) -> Option<CoveringReceipt> {
        self.find_receipt(request, command, (command.as_written?, false))
    }

    fn find_receipt(
        &self,
        request: &Request,
        command: &GateCommand<'_>,
        (words, is_item): (&[String], bool),
    ) -> Option<CoveringReceipt> {
        let lookup = self.lookup.get()?.as_ref().filter(|_| !self.is_changed.load(Ordering::Relaxed))?;
        let argv: Vec<OsString> = words.iter().map(OsString::from).collect();
        lookup.find_cover(&request.in_folder(command.dir.clone()), &argv, is_item)
    }

    /// A digest of what a command depends on besides the files of its tree, in the lab or in the work tree; `None` where
    /// that is not known.
    pub(super) fn digest_surroundings(
        &self,
        request: &Request,
        command: &GateCommand<'_>,
        level: Option<LabLevel>,
    ) -> Option<String> {
        let lookup = self.lookup.get()?.as_ref()?;
        let words = command.argv.iter().skip(1).map(OsString::from);
        let argv: Vec<OsString> = std::iter::once(command.program.into()).chain(words).collect();
        lookup.digest_surroundings(&request.in_folder(command.dir.clone()), &argv, level)
    }

    /// A command ran; `is_proven` says that it left the judged tree.
    pub(super) fn note_run(&self, is_proven: bool) {
        self.is_in_doubt.fetch_or(!is_proven, Ordering::Relaxed);
        self.is_known.store(is_proven, Ordering::Relaxed);
    }

    /// Whether the tree is to be looked at, after the commands of an item.
    pub(super) fn is_in_doubt(&self) -> bool {
        self.is_in_doubt.load(Ordering::Relaxed)
    }

    /// Looks at the tree. It becomes `tree`; whether it was another one.
    ///
    /// # Errors
    /// When the tree can't be read.
    pub(super) fn look(&self, request: &Request, tree: &mut String) -> anyhow::Result<Option<String>> {
        let taken = read_tree(request, &gate_snapshot_options(request))?;
        let is_touched = self.judged_at.get().is_none_or(|judged_at| taken.changed_at > *judged_at);
        self.is_touched.fetch_or(is_touched, Ordering::Relaxed);
        let now = taken.tree;
        self.is_in_doubt.store(false, Ordering::Relaxed);
        self.is_known.store(true, Ordering::Relaxed);
        if now == *tree {
            return Ok(None);
        }
        self.is_changed.store(true, Ordering::Relaxed);
        Ok(Some(std::mem::replace(tree, now)))
    }

    /// Whether a command changed the judged tree.
    pub(super) fn is_changed(&self) -> bool {
        self.is_changed.load(Ordering::Relaxed)
    }

    /// Whether no file was changed up to the last look, not even to what it was.
    pub(super) fn is_untouched(&self) -> bool {
        !self.is_touched.load(Ordering::Relaxed)
    }

    /// Whether the tree was looked at after the last command that ran.
    pub(super) fn is_known(&self) -> bool {
        self.is_known.load(Ordering::Relaxed)
    }
}
