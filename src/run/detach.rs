//! A fully detached process, for work that goes on after the wrapper has returned.

use std::io;
use std::os::fd::RawFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{CommandEnd, end_as, signals, sys};
#[cfg(target_env = "musl")]
use crate::base::heap;

/// Lower priority of detached work.
const NICENESS: i32 = 10;

/// Does `work` in a process with its own session, at `/`, without any descriptor but `keep`, `/dev/null` on 0–2, every
/// signal at its default, and low priority. The caller of verify-run waits for none of its descriptors, and a kill of the
/// process group doesn't reach it. The process ends with `work`, also when that panics.
///
/// # Errors
/// When there is no process to be had.
pub fn run_detached(keep: &[RawFd], work: impl FnOnce()) -> io::Result<()> {
    if let sys::Fork::Parent(_) = sys::fork()? {
        return Ok(());
    }
    sys::new_session();
    sys::leave_folder();
    sys::close_all_but(keep);
    sys::null_streams();
    sys::be_nice(NICENESS);
    // What was sent to the caller's group before we left it, as the end of a terminal's session leader does.
    signals::forget_pending();
    signals::reset();
    #[cfg(target_env = "musl")]
    heap::unshare();
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
    // Nothing of the caller's is dropped: its descriptors are closed already.
    end_as(CommandEnd::Exit(0))
}

/// Starts another program of the same kind: a session of its own in `dir`, `/dev/null` on 0–2 and no other descriptor of the
/// caller's, at low priority. No process waits for it. Unlike [`run_detached`] this is for callers that may have threads.
///
/// # Errors
/// When it can't be started.
pub fn start_detached(program: &Path, arguments: &[&str], dir: &Path) -> io::Result<()> {
    #[allow(clippy::disallowed_methods, reason = "this is the door for programs that no process waits for")]
    let mut command = Command::new(program);
    command.args(arguments).current_dir(dir);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    sys::prepare_detached(&mut command, NICENESS);
    #[allow(clippy::disallowed_methods, reason = "see above")]
    command.spawn().map(drop)
}

/// Whether this is PID 1, whose end is the end of everything in its container.
pub fn is_init() -> bool {
    sys::own_id() == 1
}

/// Whether the process gained privileges by being executed: then it does nothing but execute the command.
pub fn privileged() -> bool {
    sys::gained_privileges()
}

/// The session's id: names a terminal session as long as it lasts.
pub fn session() -> i32 {
    sys::own_session()
}

/// Waits at most `limit` until every process that holds the other end of `fd` has closed it.
pub fn wait_for_end(fd: RawFd, limit: Duration) {
    let until = Instant::now() + limit;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let mut watch = [sys::watch(fd, 0)];
        let ready = sys::poll(&mut watch, i32::try_from(left.as_millis()).unwrap_or(i32::MAX));
        if left.is_zero() || ready.is_err() || watch[0].revents != 0 {
            return;
        }
    }
}
