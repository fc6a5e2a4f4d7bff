//! What a run in the lab may use.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::config::LabSettings;

/// Processes and threads that each processor adds to the least limit: tools start as many as there are processors.
const TASKS_PER_PROCESSOR: u64 = 64;

/// Memory of a run that nothing else is said of, bytes, at least.
const MEMORY_BYTES_MIN: u64 = 2 << 30;

/// Limits of one run. Its time is the caller's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LabLimits {
    /// Processes and threads at the same time.
    pub tasks: u64,
    /// One file, bytes.
    pub file_bytes: u64,
    /// Everything that it writes to the disk, bytes.
    pub disk_bytes: u64,
    /// Memory of all its processes, bytes.
    pub memory_bytes: u64,
}

/// A limit that ended a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum LabLimit {
    /// Its time.
    Time,
    /// Its memory.
    Memory,
    /// What it wrote to the disk, or the room that the disk has left.
    Disk,
    /// Its processes.
    Tasks,
}

impl LabLimits {
    /// The limits of the settings; what they leave open depends on the machine. A run in the background gets no more than
    /// the least memory.
    pub(crate) fn from_settings(settings: &LabSettings, is_idle: bool) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
        let memory_bytes = match settings.memory_bytes {
            0 if is_idle => MEMORY_BYTES_MIN,
            0 => MEMORY_BYTES_MIN.max(machine_memory() / 2),
            bytes => bytes,
        };
        LabLimits {
            tasks: settings.processes.max(TASKS_PER_PROCESSOR * processors),
            file_bytes: settings.file_bytes,
            disk_bytes: settings.disk_bytes,
            memory_bytes,
        }
    }

    /// What a run was ended for, for people.
    pub(crate) fn explain_end(&self, limit: LabLimit) -> String {
        match limit {
            LabLimit::Time => "it was ended by the time limit".to_owned(),
            LabLimit::Memory => {
                format!("it used more than {} of memory (setting lab.memory_bytes)", mebibytes(self.memory_bytes))
            }
            LabLimit::Disk => format!(
                "it wrote more than {}, or the disk was nearly full (setting lab.disk_bytes)",
                mebibytes(self.disk_bytes)
            ),
            LabLimit::Tasks => format!("it had more than {} processes and threads (setting lab.processes)", self.tasks),
        }
    }
}

impl fmt::Display for LabLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LabLimit::Time => "time",
            LabLimit::Memory => "memory",
            LabLimit::Disk => "disk",
            LabLimit::Tasks => "processes",
        })
    }
}

fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", bytes >> 20)
}

/// The machine's memory, bytes; 0 where that is not known.
fn machine_memory() -> u64 {
    let listed = crate::base::file::read_start(std::path::Path::new("/proc/meminfo"), 4 << 10).unwrap_or_default();
    let listed = String::from_utf8_lossy(&listed).into_owned();
    let total = listed.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kibibytes = total.and_then(|rest| rest.split_ascii_whitespace().next()?.parse::<u64>().ok());
    kibibytes.unwrap_or(0) << 10
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_larger_machine_allows_more_and_a_job_in_the_background_does_not_take_it() {
        let settings = LabSettings { processes: 1, ..LabSettings::default() };
        let limits = LabLimits::from_settings(&settings, false);
        assert!(limits.tasks >= TASKS_PER_PROCESSOR && limits.memory_bytes >= MEMORY_BYTES_MIN, "{limits:?}");
        assert_eq!(LabLimits::from_settings(&settings, true).memory_bytes, MEMORY_BYTES_MIN);
        let settings = LabSettings { memory_bytes: 1 << 20, ..LabSettings::default() };
        assert_eq!(LabLimits::from_settings(&settings, false).memory_bytes, 1 << 20);
    }
}
