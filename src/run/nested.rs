//! Whether a recording verify-run is above us, so that nested ones record once.
//!
//! A recording wrapper names itself in `/proc/PID/stat` ([`super::supervise::RECORDING`]); one that executed its
//! command in place took that command's name. So walking up is one small read per ancestor, and no variable has to
//! be put into anybody's environment.

use std::path::PathBuf;

/// The working directories of the recording wrappers above us, nearest first; `None` for one that can't be read.
#[cfg(target_os = "linux")]
pub fn recording_ancestors() -> Vec<Option<PathBuf>> {
    use super::{supervise::RECORDING, sys};

    let mut found = Vec::new();
    let mut pid = sys::parent_id();
    for _ in 0..linux::ANCESTORS_MAX {
        if pid <= 1 {
            break;
        }
        let mut buffer = [0; 512];
        let Some((name, parent)) = linux::stat(pid, &mut buffer) else { break };
        if name == RECORDING.to_bytes() {
            found.push(std::fs::read_link(format!("/proc/{pid}/cwd")).ok());
        }
        pid = parent;
    }
    found
}

/// Not to be had here without a library of its own: nested runs are merged by the recorder (same folder, same
/// arguments, within one interval).
#[cfg(not(target_os = "linux"))]
pub fn recording_ancestors() -> Vec<Option<PathBuf>> {
    Vec::new()
}

#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::CString;
    use std::os::fd::AsRawFd;

    use nix::libc;

    use crate::run::sys;

    /// Ancestors looked at.
    pub const ANCESTORS_MAX: usize = 64;

    /// Name and parent of a process.
    pub fn stat(pid: libc::pid_t, buffer: &mut [u8]) -> Option<(&[u8], libc::pid_t)> {
        let path = CString::new(format!("/proc/{pid}/stat")).ok()?;
        let file = sys::open(&path, libc::O_RDONLY).ok()?;
        let count = sys::read(file.as_raw_fd(), buffer).ok()?;
        parse(&buffer[..count])
    }

    /// `PID (NAME) STATE PARENT …`, where the name may have parentheses and spaces in it.
    pub fn parse(stat: &[u8]) -> Option<(&[u8], libc::pid_t)> {
        let open = stat.iter().position(|byte| *byte == b'(')?;
        let close = stat.iter().rposition(|byte| *byte == b')')?;
        let parent = std::str::from_utf8(&stat[close + 1..]).ok()?.split_ascii_whitespace().nth(1)?;
        Some((stat.get(open + 1..close)?, parent.parse().ok()?))
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::linux::parse;

    #[test]
    fn a_name_may_look_like_the_end_of_a_name() {
        assert_eq!(parse(b"12 (a) S 1 (b) R 7 12 12 0"), Some((&b"a) S 1 (b"[..], 7)));
        assert_eq!(parse(b"12 (verify-run:rec) S 3 12"), Some((&b"verify-run:rec"[..], 3)));
        assert_eq!(parse(b"nonsense"), None);
    }
}
