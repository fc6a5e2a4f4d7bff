//! A group of the kernel's for the memory and the processes of one run, where the user may make one. The process inside
//! watches both all the same.

use std::fs;
use std::path::{Path, PathBuf};

use super::limits::LabLimits;

/// Where the one hierarchy of groups is.
const HIERARCHY: &str = "/sys/fs/cgroup";
/// Before the name of a group.
const PREFIX: &str = "verify-run-lab-";
/// How often a group is tried to be removed: its processes are on their way out.
const REMOVALS_MAX: usize = 100;

/// A group of one run.
#[derive(Debug)]
pub(super) struct RunGroup {
    dir: PathBuf,
}

impl RunGroup {
    /// Makes one, if the user has a group in which memory and processes are counted.
    pub(super) fn make(name: &str, limits: &LabLimits) -> Option<Self> {
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let own = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
        RunGroup::make_above(Path::new(HIERARCHY), own, name, limits)
    }

    /// In the nearest group above this process that can have one: a group with processes can't.
    fn make_above(hierarchy: &Path, own: &str, name: &str, limits: &LabLimits) -> Option<Self> {
        let own = hierarchy.join(own.trim_matches('/'));
        let mut above = own.ancestors().take_while(|group| group.starts_with(hierarchy));
        let group = above.find(|group| counts_memory(group))?;
        let made = RunGroup { dir: group.join(format!("{PREFIX}{name}")) };
        #[allow(clippy::disallowed_methods, reason = "a group of the kernel's, not a folder with files")]
        fs::create_dir(&made.dir).ok()?;
        made.limit("memory.max", limits.memory_bytes)?;
        made.limit("pids.max", limits.tasks)?;
        // Swap would be used instead, and a run that lost one process has lost all.
        let _ = made.write("memory.swap.max", "0");
        let _ = made.write("memory.oom.group", "1");
        Some(made)
    }

    fn limit(&self, file: &str, most: u64) -> Option<()> {
        self.write(file, &most.to_string()).ok()
    }

    #[allow(clippy::disallowed_methods, reason = "a file of the kernel's: it takes what is written, and nothing else")]
    fn write(&self, file: &str, text: &str) -> std::io::Result<()> {
        fs::write(self.dir.join(file), text)
    }

    /// The group.
    pub(super) fn path(&self) -> &Path {
        &self.dir
    }

    /// Whether the kernel ended a process of the group because there was no memory left for it.
    pub(super) fn is_out_of_memory(&self) -> bool {
        let events = fs::read_to_string(self.dir.join("memory.events")).unwrap_or_default();
        let count = events.lines().find_map(|line| line.strip_prefix("oom_kill "));
        count.is_some_and(|count| count.trim() != "0")
    }
}

impl Drop for RunGroup {
    #[allow(clippy::disallowed_methods, reason = "its processes were killed, and are gone within moments")]
    fn drop(&mut self) {
        let _ = self.write("cgroup.kill", "1");
        for _ in 0..REMOVALS_MAX {
            if fs::remove_dir(&self.dir).is_ok() || !self.dir.exists() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    }
}

/// Whether groups in this one count memory and processes.
fn counts_memory(group: &Path) -> bool {
    let controllers = fs::read_to_string(group.join("cgroup.subtree_control")).unwrap_or_default();
    let has = |name| controllers.split_ascii_whitespace().any(|it| it == name);
    let may_write = nix::unistd::access(group, nix::unistd::AccessFlags::W_OK).is_ok();
    has("memory") && has("pids") && may_write
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: LabLimits = LabLimits { tasks: 7, file_bytes: 1, disk_bytes: 1, memory_bytes: 4_096 };

    #[test]
    fn a_group_is_made_where_its_parent_counts() {
        let dir = tempfile::tempdir().expect("a folder");
        let user = dir.path().join("user.slice/app.slice");
        fs::create_dir_all(user.join("shell.scope")).expect("a folder");
        fs::write(user.join("cgroup.subtree_control"), "cpu memory pids\n").expect("a file");
        fs::write(user.join("shell.scope/cgroup.subtree_control"), "\n").expect("a file");
        let own = "user.slice/app.slice/shell.scope";
        let group = RunGroup::make_above(dir.path(), own, "1", &LIMITS).expect("a group");
        assert_eq!(group.path(), user.join("verify-run-lab-1"));
        assert_eq!(fs::read_to_string(group.path().join("memory.max")).expect("a file"), "4096");
        assert_eq!(fs::read_to_string(group.path().join("pids.max")).expect("a file"), "7");
        fs::write(group.path().join("memory.events"), "low 0\noom_kill 0\n").expect("a file");
        assert!(!group.is_out_of_memory());
        fs::write(group.path().join("memory.events"), "low 0\noom_kill 2\n").expect("a file");
        assert!(group.is_out_of_memory());
        fs::remove_dir_all(group.path()).expect("removed, as the kernel does it with its files");
    }

    #[test]
    fn without_one_that_counts_there_is_none() {
        let dir = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(dir.path().join("a/b")).expect("a folder");
        fs::write(dir.path().join("a/cgroup.subtree_control"), "cpu memory\n").expect("a file");
        assert!(RunGroup::make_above(dir.path(), "a/b", "1", &LIMITS).is_none());
        assert!(RunGroup::make_above(dir.path(), "", "1", &LIMITS).is_none());
        assert_eq!(fs::read_dir(dir.path().join("a")).expect("a folder").count(), 2);
    }
}
