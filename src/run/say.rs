//! One line on standard error, after the command has ended.

use nix::libc;

use super::sys;

/// Whether the caller gave us a standard error. What we opened ourselves under its number is closed on exec, and what
/// came to us over one can't be.
pub fn has_stderr() -> bool {
    sys::stays_open_on_exec(libc::STDERR_FILENO)
}

/// Writes a short line in one go if that needs no waiting; else nothing.
pub fn say_on_stderr(line: &str) {
    let mut stderr = [sys::watch(libc::STDERR_FILENO, libc::POLLOUT)];
    let is_ready = sys::poll(&mut stderr, 0).is_ok_and(|ready| ready == 1) && stderr[0].revents == libc::POLLOUT;
    if is_ready && line.len() <= libc::PIPE_BUF {
        sys::write_all(libc::STDERR_FILENO, line.as_bytes());
    }
}
