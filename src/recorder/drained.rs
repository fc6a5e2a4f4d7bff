//! What a drain did, for its caller and for the recorder's log.

use std::io;
use std::path::PathBuf;

/// The result of a drain.
#[derive(Debug, Default, Clone)]
pub(crate) struct DrainReport {
    /// Runs recorded, passed or failed.
    pub runs: usize,
    /// Failures among them.
    pub failures: usize,
    /// Events taken that commands had recorded.
    pub notes_taken: usize,
    /// Raw output written, bytes, that the upkeep doesn't know of yet.
    pub(super) raw_bytes: u64,
    /// Lesson files written.
    pub lessons: Vec<PathBuf>,
    /// Spool files that could not be parsed, and where they are now.
    pub bad: Vec<PathBuf>,
    /// Spool files left for a newer verify-run, or for later, with the reason.
    pub left: Vec<(PathBuf, String)>,
    /// What was found and put right, or could not be done.
    pub notes: Vec<String>,
    /// Something was learnt in a task that waits for the task's end to be shared.
    pub promotes: bool,
    /// A check left a receipt for other machines: what its programs' versions are is still to be asked.
    pub asks_versions: bool,
    /// Another process is recording: nothing was done here.
    pub busy: bool,
}

impl DrainReport {
    /// Notes that `what` could not be kept, which stops nothing.
    pub(super) fn note_error(&mut self, what: &str, result: io::Result<()>) {
        if let Err(error) = result {
            self.notes.push(format!("cannot keep {what}: {error}"));
        }
    }
}
