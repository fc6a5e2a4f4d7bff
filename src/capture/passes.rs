//! The pass log: a line per passing run that needs no more than its header, `<state>/passes.jsonl`.
//!
//! The recorder renames the log before it reads it and keeps what it took for a minute, so a line that was on its
//! way is read too; recording is idempotent by run id.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;

use super::spool::SpoolHeader;
use crate::base::private;
use crate::config::StateDir;

/// Appends one line, in one write: lines of wrappers that end at the same time stay whole.
///
/// # Errors
/// The operating system's. Where there is no state folder nothing was ever recorded, and it isn't created.
pub(super) fn append(state: &StateDir, header: &SpoolHeader) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600).custom_flags(private::FLAGS);
    let mut log = options.open(state.pass_log())?;
    log.write_all(&header.line())
}
