//! Whether a recording verify-run is among the ancestors, so that nested ones record once.
//!
//! A recording wrapper names itself in `/proc/PID/stat` ([`super::supervise::RECORDING`]); one that executed its
//! command in place took that command's name. So walking up is one small read per ancestor, and the environment stays
//! unchanged.

use std::path::PathBuf;

/// Ancestors looked at.
#[cfg(target_os = "linux")]
const ANCESTORS_MAX: usize = 64;

/// The working directories of the recording wrappers above us, nearest first; `None` for one that can't be read. One of
/// another user that we can't look into is left out: it records elsewhere, and what it might miss would be lost.
#[cfg(target_os = "linux")]
pub fn recording_ancestors() -> Vec<Option<PathBuf>> {
    use super::process::{Process, STAT_BYTES};
    use super::{supervise::RECORDING, sys};

    let mut found = Vec::new();
    let mut pid = sys::parent_id();
    for _ in 0..ANCESTORS_MAX {
        if pid <= 1 {
            break;
        }
        let mut buffer = [0; STAT_BYTES];
        let Some(process) = Process::look(pid, &mut buffer) else { break };
        if process.name == RECORDING.to_bytes() {
            let folder = std::fs::read_link(format!("/proc/{pid}/cwd")).ok();
            if folder.is_some() || is_ours(pid) {
                found.push(folder);
            }
        }
        pid = process.parent;
    }
    found
}

/// Whether a process belongs to the user of this one, as far as is known.
#[cfg(target_os = "linux")]
fn is_ours(pid: i32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mut users = status.lines().filter_map(|line| line.strip_prefix("Uid:"));
    let effective = users.next().and_then(|users| users.split_whitespace().nth(1)?.parse().ok());
    effective.is_none_or(|user: u32| user == nix::unistd::geteuid().as_raw())
}

/// Not to be had here without a library of its own: nested runs are merged by the recorder (same folder, same
/// arguments, within one interval).
#[cfg(not(target_os = "linux"))]
pub fn recording_ancestors() -> Vec<Option<PathBuf>> {
    Vec::new()
}
