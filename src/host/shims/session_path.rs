//! The shims in front of a session's `PATH`.
//!
//! Claude Code gives the hooks of a session's start a file that each of the session's commands is started with.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

use crate::base::file::read_start;

/// The file's length up to which it is added to, bytes.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Adds the line that puts the shims in front, once, if there are any.
///
/// # Errors
/// When the file can't be read or written.
pub(crate) fn put_in_front(shims: &Path, file: &Path) -> io::Result<()> {
    let Some(shims) = shims.to_str().filter(|_| shims.is_dir()) else { return Ok(()) };
    let known = match read_start(file, FILE_BYTES_MAX) {
        Ok(known) => known,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error),
    };
    let line = format!("export PATH={}:\"$PATH\"\n", shell_words::quote(shims));
    if String::from_utf8_lossy(&known).contains(&line) {
        return Ok(());
    }
    let end = if known.is_empty() || known.ends_with(b"\n") { "" } else { "\n" };
    // One write: another hook of the session may add to it at the same time.
    OpenOptions::new().append(true).create(true).open(file)?.write_all(format!("{end}{line}").as_bytes())
}
