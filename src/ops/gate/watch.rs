//! Whether commands changed the work tree, which is looked at after each of them, and what receipts say of it as it is.

use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::change::{gate_snapshot_options, read_tree};
use super::execute::GateCommand;
use crate::fix::snapshot::TakenSnapshot;
use crate::lab::LabLevel;
use crate::ops::receipt::{CheckedCommand, ObservedState, ReceiptLookup};
use crate::ops::request::Request;

/// What commands may have done to the judged tree.
#[derive(Debug, Default)]
pub(super) struct TreeWatch {
    last: Mutex<LastLook>,
    /// A file was changed since, even if it is as before.
    is_touched: AtomicBool,
    /// A command ran, and nothing says that it changed no file.
    is_in_doubt: AtomicBool,
    /// A command changed the tree: receipts of the judged one say nothing about it.
    is_changed: AtomicBool,
    /// The tree is known to be the judged one after the last command that ran.
    is_known: AtomicBool,
}

/// The work tree as it was last seen.
#[derive(Debug, Default)]
struct LastLook {
    taken: Option<TakenSnapshot>,
    /// Receipts over it; `None` where none can be compared with it, or none is wanted.
    lookup: Option<Arc<ReceiptLookup>>,
}

impl TreeWatch {
    fn lock_last(&self) -> MutexGuard<'_, LastLook> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The receipts over the judged tree, unless a command changed it.
    fn lookup(&self) -> Option<Arc<ReceiptLookup>> {
        if self.is_changed() { None } else { self.lock_last().lookup.clone() }
    }

    /// The work tree is about to be judged as it was seen.
    pub(super) fn begin(&self, judged: &TakenSnapshot) {
        self.lock_last().taken.get_or_insert_with(|| judged.clone());
    }

    /// Prepares to look up receipts over the judged tree.
    pub(super) fn open_receipts(&self, request: &Request) {
        let mut last = self.lock_last();
        if last.lookup.is_none() {
            let lookup = last.taken.as_ref().and_then(|taken| ReceiptLookup::over_snapshot(request, taken).ok());
            last.lookup = lookup.map(Arc::new);
        }
    }

    /// Whether there may be a receipt over the judged tree that was there before the evaluation.
    pub(super) fn has_receipts(&self) -> bool {
        self.lookup().is_some_and(|lookup| lookup.has_receipts())
    }

    /// The line about the receipt that covers a command over the judged tree.
    pub(super) fn find_cover(
        &self,
        inside: &Request,
        command: &CheckedCommand<'_>,
        state: &ObservedState,
    ) -> Option<String> {
        self.lookup()?.find_cover(inside, command, state)
    }

    /// What a receipt of a command over the judged tree would be about.
    pub(super) fn observe(&self, inside: &Request, command: &CheckedCommand<'_>) -> Option<ObservedState> {
        if self.is_in_doubt() { None } else { self.lookup()?.observe(inside, command) }
    }

    /// A digest of what a command depends on besides the files of its tree, in the lab or in the work tree; `None` where
    /// that is not known.
    pub(super) fn digest_surroundings(
        &self,
        request: &Request,
        command: &GateCommand<'_>,
        level: Option<LabLevel>,
    ) -> Option<String> {
        let lookup = self.lock_last().lookup.clone()?;
        let words = command.argv.iter().skip(1).map(OsString::from);
        let argv: Vec<OsString> = std::iter::once(command.program.into()).chain(words).collect();
        lookup.digest_surroundings(&request.in_folder(command.dir.clone()), &argv, level)
    }

    /// A command ran of which nothing says that it left the judged tree.
    pub(super) fn note_run(&self) {
        self.note_doubt(true);
    }

    fn note_doubt(&self, is_doubtful: bool) {
        self.is_in_doubt.fetch_or(is_doubtful, Ordering::Relaxed);
        self.is_known.store(!is_doubtful, Ordering::Relaxed);
    }

    /// Looks at the tree after a command ran: whether it left the judged tree, without writing to any file of it.
    pub(super) fn look_after_run(&self, request: &Request) -> bool {
        let was_known = !self.is_in_doubt() && !self.is_changed();
        let taken = read_tree(request, &gate_snapshot_options(request)).ok();
        let same = taken.filter(|taken| self.lock_last().taken.as_ref().is_some_and(|last| last.tree == taken.tree));
        let is_untouched = same.map(|taken| self.take_look(request, taken));
        self.note_doubt(is_untouched.is_none());
        was_known && is_untouched == Some(true)
    }

    /// Remembers how the judged tree was seen last; whether no file of it was written to since.
    fn take_look(&self, request: &Request, taken: TakenSnapshot) -> bool {
        let mut last = self.lock_last();
        let is_untouched = last.taken.as_ref().is_some_and(|last| taken.changed_at <= last.changed_at);
        if !is_untouched {
            self.is_touched.store(true, Ordering::Relaxed);
            // Its line ends may be others.
            last.lookup =
                last.lookup.take().and_then(|_| ReceiptLookup::over_snapshot(request, &taken).ok()).map(Arc::new);
        }
        last.taken = Some(taken);
        is_untouched
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
        let now = taken.tree.clone();
        if now == *tree {
            self.take_look(request, taken);
        }
        self.is_in_doubt.store(false, Ordering::Relaxed);
        self.is_known.store(true, Ordering::Relaxed);
        if now == *tree {
            return Ok(None);
        }
        self.is_touched.store(true, Ordering::Relaxed);
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
