//! The recorder's log: what it found, put right, or could not do. It has no terminal to say it on.

use std::any::Any;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;

use crate::base::clock::Timestamp;
use crate::base::private;
use crate::base::text;
use crate::config::StateDir;

/// At this size the log starts again, bytes; the one before is kept.
const LOG_BYTES_MAX: u64 = 64 << 10;
/// A line, bytes.
const LOG_LINE_BYTES_MAX: usize = 1_000;

/// Appends lines. Errors are ignored: the log has no reader that waits.
pub(super) fn append_lines(state: &StateDir, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    let path = state.recorder_log();
    if fs::metadata(&path).is_ok_and(|metadata| metadata.len() > LOG_BYTES_MAX) {
        let _ = fs::rename(&path, state.previous_recorder_log());
    }
    let now = Timestamp::now().rfc3339();
    let text: String = lines
        .iter()
        .map(|line| format!("{now} {}\n", text::ellipsis(&text::one_line(line), LOG_LINE_BYTES_MAX)))
        .collect();
    if let Ok(mut file) = private::open(&path, OpenOptions::new().create(true).append(true).mode(0o600)) {
        let _ = file.write_all(text.as_bytes());
    }
}

/// The last lines of the log, oldest first.
pub(crate) fn recent_lines(state: &StateDir, count: usize) -> Vec<String> {
    let text = private::read(&state.recorder_log()).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].iter().map(|line| (*line).to_owned()).collect()
}

/// What a panic said, for the log: a defect that is visible nowhere else.
pub(super) fn panic_text(panic: &(dyn Any + Send)) -> String {
    let message = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    format!("the recorder panicked ({})", message.unwrap_or("without a message"))
}
