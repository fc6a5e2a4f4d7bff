//! What a run uses: processes, memory, disk.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::unistd::SysconfVar;

/// What an entry of a folder takes at least, bytes: a million empty files are no small matter either.
const ENTRY_BYTES: u64 = 512;
/// Size of the blocks in which the kernel counts.
const BLOCK_BYTES: u64 = 512;
/// How long one look at the disk may take; what was seen by then counts.
const LOOK_TIME_MAX: Duration = Duration::from_secs(2);
/// Entries between two looks at the clock.
const ENTRIES_BETWEEN: u64 = 1_024;

/// Which processes belong to a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunProcesses {
    /// All that can be seen, but this one.
    Namespace,
    /// Those that this process has started, and all that they have.
    Descendants,
}

impl RunProcesses {
    /// Their ids, as soon as there are more than `most` no further ones: they may become more faster than they are listed.
    pub(super) fn list_ids(self, most: u64) -> Vec<i32> {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let own = nix::unistd::getpid().as_raw();
        match self {
            RunProcesses::Namespace => numbers_in(Path::new("/proc")).filter(|id| *id != own).collect(),
            RunProcesses::Descendants => {
                let mut found = Vec::new();
                let mut parents = vec![own];
                while let Some(parent) = parents.pop().filter(|_| found.len() <= most) {
                    let children = children_of(parent);
                    parents.extend(&children);
                    found.extend(children);
                }
                found
            }
        }
    }
}

fn numbers_in(folder: &Path) -> impl Iterator<Item = i32> {
    fs::read_dir(folder).into_iter().flatten().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn children_of(process: i32) -> Vec<i32> {
    let threads = PathBuf::from(format!("/proc/{process}/task"));
    let lists =
        numbers_in(&threads).filter_map(|thread| fs::read_to_string(threads.join(format!("{thread}/children"))).ok());
    lists
        .flat_map(|list| list.split_ascii_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<i32>>())
        .collect()
}

/// Processes and threads.
pub(super) fn count_tasks(processes: &[i32]) -> u64 {
    processes.iter().map(|id| threads_of(*id).unwrap_or(1)).sum()
}

/// Processes and threads of the whole machine: one number, however many there are.
pub(super) fn count_all_tasks() -> Option<u64> {
    let load = fs::read_to_string("/proc/loadavg").ok()?;
    load.split_ascii_whitespace().nth(3)?.split_once('/')?.1.parse().ok()
}

fn threads_of(process: i32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program, in brackets, may hold anything.
    status.rsplit_once(')')?.1.split_ascii_whitespace().nth(17)?.parse().ok()
}

/// Memory of these processes, bytes. What they share is counted once where it decides whether they have more than
/// `limit`.
pub(super) fn count_memory(processes: &[i32], limit: u64) -> u64 {
    let page = nix::unistd::sysconf(SysconfVar::PAGE_SIZE).ok().flatten();
    let page = page.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(4_096);
    let resident = |id: &i32| -> Option<u64> {
        let sizes = fs::read_to_string(format!("/proc/{id}/statm")).ok()?;
        Some(sizes.split_ascii_whitespace().nth(1)?.parse::<u64>().ok()? * page)
    };
    let all: u64 = processes.iter().filter_map(resident).sum();
    if all <= limit {
        return all;
    }
    processes.iter().map(|id| share_of(*id).or_else(|| resident(id)).unwrap_or(0)).sum()
}

/// The memory of a process with its share of what it has in common with others, bytes.
fn share_of(process: i32) -> Option<u64> {
    let summary = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).ok()?;
    let line = summary.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    Some(line.split_ascii_whitespace().next()?.parse::<u64>().ok()? << 10)
}

/// Files without a name that processes hold open.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct NamelessFiles {
    /// Those on a disk, bytes.
    pub disk_bytes: u64,
    /// Those in memory, bytes.
    pub memory_bytes: u64,
}

/// The files without a name that these processes hold open.
pub(super) fn count_nameless_files(processes: &[i32]) -> NamelessFiles {
    let mut seen = HashSet::new();
    let mut found = NamelessFiles::default();
    for process in processes {
        let folder = PathBuf::from(format!("/proc/{process}/fd"));
        for number in numbers_in(&folder) {
            let file = folder.join(number.to_string());
            let Ok(metadata) = fs::metadata(&file) else { continue };
            if metadata.nlink() > 0 || !metadata.is_file() || !seen.insert((metadata.dev(), metadata.ino())) {
                continue;
            }
            let bytes = metadata.blocks() * BLOCK_BYTES;
            if is_in_memory(&file) { found.memory_bytes += bytes } else { found.disk_bytes += bytes }
        }
    }
    found
}

/// Whether a file is in memory. One in a layered folder is on the disk that holds the layers.
fn is_in_memory(file: &Path) -> bool {
    nix::sys::statfs::statfs(file).is_ok_and(|about| about.filesystem_type() == nix::sys::statfs::TMPFS_MAGIC)
}

/// What a folder takes on the disk, bytes: of a file with several names once. `limit` ends the look.
pub(super) fn count_disk(folder: &Path, limit: u64) -> u64 {
    let until = Instant::now() + LOOK_TIME_MAX;
    let mut linked = HashSet::new();
    let mut folders = vec![folder.to_owned()];
    let (mut bytes, mut entries) = (0_u64, 0_u64);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            entries += 1;
            if bytes > limit || entries.is_multiple_of(ENTRIES_BETWEEN) && Instant::now() > until {
                return bytes;
            }
            bytes += ENTRY_BYTES;
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.nlink() > 1 && !metadata.is_dir() && !linked.insert((metadata.dev(), metadata.ino())) {
                continue;
            }
            bytes += metadata.blocks() * BLOCK_BYTES;
            if metadata.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    bytes
}

/// Room that the file system of a folder has left for its users, bytes.
pub(super) fn free_disk(folder: &Path) -> Option<u64> {
    let room = nix::sys::statvfs::statvfs(folder).ok()?;
    Some(room.blocks_available() * room.fragment_size())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_counts_its_files_once() {
        let dir = tempfile::tempdir().expect("a folder");
        fs::write(dir.path().join("one"), vec![1; 1 << 20]).expect("a file");
        fs::create_dir(dir.path().join("sub")).expect("a folder");
        fs::hard_link(dir.path().join("one"), dir.path().join("sub/two")).expect("a link");
        let bytes = count_disk(dir.path(), u64::MAX);
        assert!((1 << 20..(1 << 20) + (64 << 10)).contains(&bytes), "{bytes}");
        assert!(count_disk(dir.path(), 1_000) > 1_000);
        assert!(free_disk(dir.path()).is_some_and(|free| free > 0));
    }

    #[test]
    fn a_file_without_a_name_counts() {
        use std::io::Write;
        let dir = tempfile::tempdir().expect("a folder");
        let mut file = tempfile::tempfile_in(dir.path()).expect("a file");
        let own = [i32::try_from(std::process::id()).expect("an id")];
        let all = || {
            let found = count_nameless_files(&own);
            if is_in_memory(dir.path()) { found.memory_bytes } else { found.disk_bytes }
        };
        let before = all();
        file.write_all(&vec![1; 3 << 20]).expect("written");
        file.sync_all().expect("on the disk");
        assert!(all() >= before + (3 << 20));
    }

    #[test]
    fn this_process_has_memory_and_a_thread() {
        let own = [i32::try_from(std::process::id()).expect("an id")];
        assert!(count_tasks(&own) >= 1 && count_all_tasks().is_some_and(|all| all > 1));
        let (resident, shared) = (count_memory(&own, u64::MAX), count_memory(&own, 0));
        assert!(resident > 1 << 20 && shared > 0, "{resident} {shared}");
    }
}
