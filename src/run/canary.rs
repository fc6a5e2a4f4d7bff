//! A second process in verify-run's group that shows whether a signal was sent to the whole group or to verify-run
//! alone.
//!
//! A `kill` of the group looks exactly like a `kill` of the wrapper, but the command got it too, and passing it on
//! would deliver it twice. The canary holds every signal pending: if it has one that the wrapper got, the group got
//! it. (The kernel signals the newest member of a group first, so the canary has it first.)

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::libc;

use super::{signals, sys};

/// How long an answer may take, milliseconds: the canary may be stopped along with the group.
const ANSWER_MS_MAX: c_int = 50;

/// An answer is the signal's number, with this bit if the canary has the signal.
const SEEN: u8 = 0x80;

/// The process and our line to it. Ended and reaped when dropped.
pub(super) struct Canary {
    pid: libc::pid_t,
    line: OwnedFd,
}

impl Canary {
    /// Starts it.
    ///
    /// # Errors
    /// When there is no process or descriptor to be had.
    pub(super) fn start() -> io::Result<Self> {
        let (ours, its) = sys::socket_pair()?;
        match sys::fork()? {
            sys::Fork::Child => {
                signals::block();
                sys::close_all_but(&[its.as_raw_fd()]);
                watch(&its)
            }
            sys::Fork::Parent(pid) => Ok(Canary { pid, line: ours }),
        }
    }

    /// Whether the group got `signal`. Asking takes it from the canary, so the next one is distinguished again.
    pub(super) fn saw(&self, signal: c_int) -> bool {
        let Ok(question) = u8::try_from(signal) else { return false };
        if sys::send_nowait(self.line.as_raw_fd(), &[question]).is_err() {
            return false;
        }
        if let Some(seen) = self.answer(question) {
            return seen;
        }
        // It was stopped with the group and not continued with us.
        sys::kill(self.pid, libc::SIGCONT);
        self.answer(question) == Some(true)
    }

    /// Lets it go; dropping waits until it is gone.
    pub(super) fn dismiss(&self) {
        sys::kill(self.pid, libc::SIGKILL);
    }

    /// The answer to `question`. One that came too late for an earlier question is passed over.
    fn answer(&self, question: u8) -> Option<bool> {
        loop {
            let mut watch = [sys::watch(self.line.as_raw_fd(), libc::POLLIN)];
            let mut answer = [0];
            let ready = sys::poll(&mut watch, ANSWER_MS_MAX).ok()?;
            if ready == 0 || sys::read(self.line.as_raw_fd(), &mut answer).ok()? != 1 {
                return None;
            }
            if answer[0] & !SEEN == question {
                return Some(answer[0] & SEEN != 0);
            }
        }
    }
}

impl Drop for Canary {
    fn drop(&mut self) {
        self.dismiss();
        sys::reap(self.pid);
    }
}

/// The canary's life: answers questions until the wrapper is gone.
fn watch(line: &OwnedFd) -> ! {
    let mut question = [0];
    loop {
        match sys::read(line.as_raw_fd(), &mut question) {
            Ok(1..) => {
                let seen = signals::take_pending(c_int::from(question[0]));
                sys::write_all(line.as_raw_fd(), &[if seen { question[0] | SEEN } else { question[0] }]);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => sys::exit_now(0),
        }
    }
}
