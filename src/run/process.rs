//! The kernel's record of a process, `/proc/PID/stat`.

use std::ffi::CString;
use std::os::fd::AsRawFd;

use nix::fcntl::OFlag;
use nix::libc;

use super::sys;

/// Long enough for the fields that are read: the name has 64 bytes at most, a number 20.
pub(super) const STAT_BYTES: usize = 512;

/// A process.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Process<'b> {
    /// What it is called: the kernel keeps 15 bytes.
    pub name: &'b [u8],
    /// The process that started it.
    pub parent: libc::pid_t,
    /// When it was started, in ticks since the machine was. With the id it names a process for good.
    pub started: u64,
}

impl<'b> Process<'b> {
    /// Looks at the process `pid`. `None` when there is none, or no `/proc`.
    pub(super) fn look(pid: libc::pid_t, buffer: &'b mut [u8; STAT_BYTES]) -> Option<Self> {
        let path = CString::new(format!("/proc/{pid}/stat")).ok()?;
        let file = sys::open(&path, OFlag::O_RDONLY).ok()?;
        let count = sys::read(file.as_raw_fd(), buffer).ok()?;
        Process::parse(&buffer[..count])
    }

    /// `PID (NAME) STATE PARENT …`, where the name may have parentheses and spaces in it; the start is the 22nd field.
    fn parse(stat: &'b [u8]) -> Option<Self> {
        let open = stat.iter().position(|byte| *byte == b'(')?;
        let close = stat.iter().rposition(|byte| *byte == b')')?;
        let mut fields = std::str::from_utf8(&stat[close + 1..]).ok()?.split_ascii_whitespace();
        let parent = fields.nth(1)?.parse().ok()?;
        let started = fields.nth(17).and_then(|field| field.parse().ok()).unwrap_or(0);
        Some(Process { name: stat.get(open + 1..close)?, parent, started })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_look_like_the_end_of_a_name() {
        let parsed = |stat| Process::parse(stat).map(|process| (process.name, process.parent));
        assert_eq!(parsed(b"12 (a) S 1 (b) R 7 12 12 0"), Some((&b"a) S 1 (b"[..], 7)));
        assert_eq!(parsed(b"12 (verify-run:rec) S 3 12"), Some((&b"verify-run:rec"[..], 3)));
        assert_eq!(parsed(b"nonsense"), None);
    }

    #[test]
    fn the_start_is_the_22nd_field() {
        let stat = b"4 (cat) R 3 4 3 0 -1 4194304 90 0 0 0 0 0 0 0 20 0 1 0 987654 2 3";
        assert_eq!(Process::parse(stat).map(|process| process.started), Some(987_654));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_is_found() {
        let mut buffer = [0; STAT_BYTES];
        let process = Process::look(sys::own_id(), &mut buffer).expect("ourselves");
        assert_eq!(process.parent, sys::parent_id());
        assert!(process.started > 0);
    }
}
