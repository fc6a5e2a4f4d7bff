//! What the caller gave us to read.

use std::io;
use std::os::fd::AsFd;

use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::stat::fstat;

/// Whether standard input has something to read now that the command may read: a file that is not empty, or a pipe or
/// socket with bytes in it. A terminal and an open pipe in which nothing was written yet don't count.
pub fn has_input() -> bool {
    let stdin = io::stdin();
    let Ok(status) = fstat(stdin.as_fd()) else { return false };
    match status.st_mode & libc::S_IFMT {
        libc::S_IFREG => status.st_size > 0,
        libc::S_IFIFO | libc::S_IFSOCK => {
            let mut watched = [PollFd::new(stdin.as_fd(), PollFlags::POLLIN)];
            let ready = poll(&mut watched, PollTimeout::ZERO);
            let events = watched[0].revents().unwrap_or(PollFlags::empty());
            ready.is_err() || events.contains(PollFlags::POLLIN)
        }
        _ => false,
    }
}
