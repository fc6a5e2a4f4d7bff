//! The process that starts the command and outlives it: it watches what the run uses, and sees that nothing of it is left.
//! In namespaces it is their first process, so that the kernel ends all others with it.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, geteuid, getpid};

use super::changes::{ChangedTree, TreeChanges};
use super::command::{become_command, put_up_walls};
use super::failure::{EnterFailure, at_step};
use super::folders::KeptFolders;
use super::sys::{self, ForkSide};
use super::usage::{self, RunProcesses};
use crate::base::lossless::Lossless;
use crate::lab::limits::{LabLimit, LabLimits};
use crate::lab::plan::{CommandOutcome, EndedCommand, EnterStep, LabPlan, LabReport};

/// Between two looks at processes and memory.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// The same for root, whose processes the kernel does not limit.
const LOOK_EVERY_OF_ROOT: Duration = Duration::from_millis(50);
/// Between two looks at the disk, if they are short; one takes at most a tenth of the time.
const DISK_EVERY: Duration = Duration::from_secs(1);
/// Room that every run leaves on the disk, bytes, if it had as much when it began.
const FREE_DISK_MIN: u64 = 1 << 30;
/// How many times its limit of processes may be new on the machine before they are taken for those of a run of root.
const SUSPICIOUS_PART: u64 = 2;
/// The first process of a namespace.
const FIRST_PROCESS: Pid = Pid::from_raw(1);
/// How long processes that were killed may take to be gone.
const END_TIME_MAX: Duration = Duration::from_secs(5);

/// The keeper of one run.
pub(super) struct RunKeeper<'a> {
    /// What is to be done.
    pub plan: &'a LabPlan,
    /// Folders outside.
    pub folders: &'a KeptFolders,
    /// Whether there is a user namespace.
    pub has_users: bool,
    /// Which processes belong to the run.
    pub processes: RunProcesses,
    /// The process outside: its end is the end of the run.
    pub outside: &'a File,
    /// When the process inside was started.
    pub started: Instant,
}

impl RunKeeper<'_> {
    /// Runs the command to its end, and ends all that it has left.
    ///
    /// # Errors
    /// When the command was not started.
    pub(super) fn run_command(&self) -> Result<LabReport, EnterFailure> {
        let failed = |what: &str, error: io::Error| at_step(EnterStep::Preparation, what, error);
        let mut children = SigSet::empty();
        children.add(Signal::SIGCHLD);
        sigprocmask(SigmaskHow::SIG_BLOCK, Some(&children), None)
            .map_err(|error| failed("cannot block signals", error.into()))?;
        let signals = SignalFd::with_flags(&children, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)
            .map_err(|error| failed("cannot wait for signals", error.into()))?;
        let (mut begun, mut begins) = io::pipe().map_err(|error| failed("cannot make a pipe", error))?;
        let command = match sys::fork().map_err(|error| failed("cannot start a process", error))? {
            ForkSide::Parent(command) => Pid::from_raw(command),
            ForkSide::Child => {
                drop(begun);
                sys::exit_now(self.be_command(&mut begins));
            }
        };
        drop(begins);
        // No process inside may look into this one.
        let _ = prctl::set_dumpable(false);
        // It is closed when the command is executed; before, it has the reason why that could not be.
        let mut refusal = Vec::new();
        let _ = begun.read_to_end(&mut refusal);
        let entered_us = u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX);
        if !refusal.is_empty() {
            self.end_all(command);
            return Ok(serde_json::from_slice(&refusal).unwrap_or_else(|_| LabReport::Failed {
                step: EnterStep::Preparation,
                errno: 0,
                what: "the process inside did not say why it ended".to_owned(),
            }));
        }
        let (outcome, stopped_by) = self.wait_for_end(command, &signals);
        self.end_all(command);
        let changes = if stopped_by.is_none() { self.list_changes() } else { TreeChanges::default() };
        Ok(LabReport::Ended(EndedCommand {
            outcome,
            stopped_by,
            entered_us,
            changed: changes.files.iter().map(Lossless::from).collect(),
            changed_cut: changes.cut,
        }))
    }

    /// The new process on its way to become the command; the code to exit with when that failed.
    fn be_command(&self, begins: &mut io::PipeWriter) -> i32 {
        if let Err(failure) = put_up_walls(self.plan, self.has_users) {
            let _ = begins.write_all(&serde_json::to_vec(&failure.to_report()).unwrap_or_default());
            return 1;
        }
        if self.plan.argv.is_empty() {
            let _ = begins.write_all(&serde_json::to_vec(&LabReport::Ready).unwrap_or_default());
            return 0;
        }
        become_command(self.plan)
    }

    /// Waits until the command has ended, or has to be ended.
    fn wait_for_end(&self, command: Pid, signals: &SignalFd) -> (CommandOutcome, Option<LabLimit>) {
        let mut watch = UsageWatch::begin(self.plan.limits, self.folders.scratch_path());
        let pause = if geteuid().is_root() { LOOK_EVERY_OF_ROOT } else { LOOK_EVERY };
        let millis = u16::try_from(pause.as_millis()).unwrap_or(u16::MAX);
        loop {
            let mut watched = [
                PollFd::new(signals.as_fd(), PollFlags::POLLIN),
                // Its other end is closed, or half of it, when the process outside is gone or wants an end.
                PollFd::new(self.outside.as_fd(), PollFlags::POLLIN),
            ];
            let _ = poll(&mut watched, PollTimeout::from(millis));
            if watched[1].revents().is_some_and(|events| !events.is_empty()) {
                return (CommandOutcome::Killed(Signal::SIGKILL as i32), Some(LabLimit::Time));
            }
            while let Ok(Some(_)) = signals.read_signal() {}
            if let Some(outcome) = reap_children(command) {
                return (outcome, None);
            }
            if let Some(limit) = watch.find_excess(self.processes, pause) {
                return (CommandOutcome::Killed(Signal::SIGKILL as i32), Some(limit));
            }
        }
    }

    /// Ends every process of the run, and waits for them to be gone.
    fn end_all(&self, command: Pid) {
        let until = Instant::now() + END_TIME_MAX;
        // Only in a namespace of its own all processes are the run's. One call ends them all at once: one after the other
        // they would have more children than there is time for.
        let everything = match self.processes {
            RunProcesses::Namespace if getpid() == FIRST_PROCESS => Pid::from_raw(-1),
            RunProcesses::Namespace | RunProcesses::Descendants => Pid::from_raw(-command.as_raw()),
        };
        loop {
            let _ = kill(everything, Signal::SIGKILL);
            if everything != Pid::from_raw(-1) {
                for process in RunProcesses::Descendants.list_ids(self.plan.limits.tasks) {
                    let _ = kill(Pid::from_raw(process), Signal::SIGKILL);
                }
            }
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Err(Errno::ECHILD) => return,
                Ok(WaitStatus::StillAlive) if Instant::now() < until => wait_a_moment(),
                Ok(WaitStatus::StillAlive) => return,
                _ => {}
            }
        }
    }

    fn list_changes(&self) -> TreeChanges {
        let layers = self.folders.layer_paths();
        let root = self.plan.root.path();
        let written = self.folders.written_path();
        let is_apart = self.processes == RunProcesses::Namespace;
        ChangedTree { root, written: if is_apart { &written } else { root }, layers: &layers }.list_changes()
    }
}

/// Reaps what has ended; how the command did, if it is among that.
fn reap_children(command: Pid) -> Option<CommandOutcome> {
    let mut outcome = None;
    loop {
        let (process, end) = match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::Exited(process, code)) => (process, CommandOutcome::Exited(code)),
            Ok(WaitStatus::Signaled(process, signal, _)) => (process, CommandOutcome::Killed(signal as i32)),
            Ok(WaitStatus::StillAlive) | Err(_) => return outcome,
            Ok(_) => continue,
        };
        if process == command {
            outcome = Some(end);
        }
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "what was killed is gone within moments, and waiting for any process has no limit"
)]
fn wait_a_moment() {
    std::thread::sleep(Duration::from_millis(1));
}

/// What a run uses, looked at again and again.
struct UsageWatch {
    limits: LabLimits,
    scratch: PathBuf,
    /// The room on the disk that is left to others, bytes.
    spared_disk: u64,
    /// Processes and threads of the machine when the run began, where the kernel does not limit those of the run.
    tasks_before: Option<u64>,
    looked_at: Instant,
    disk_at: Instant,
    /// Files in memory, as the last look at the disk had them, bytes.
    memory_files: u64,
}

impl UsageWatch {
    fn begin(limits: LabLimits, scratch: PathBuf) -> Self {
        let spared_disk = usage::free_disk(&scratch).map_or(0, |free| FREE_DISK_MIN.min(free / 2));
        let now = Instant::now();
        UsageWatch {
            limits,
            scratch,
            spared_disk,
            tasks_before: if geteuid().is_root() { usage::count_all_tasks() } else { None },
            looked_at: now,
            disk_at: now + DISK_EVERY,
            memory_files: 0,
        }
    }

    /// The limit that the run is beyond. Asked earlier than `pause` after the last time, nothing is looked at.
    fn find_excess(&mut self, processes: RunProcesses, pause: Duration) -> Option<LabLimit> {
        if self.looked_at.elapsed() < pause {
            return None;
        }
        self.looked_at = Instant::now();
        // Where processes become more all the time, there is no time to list them.
        let more = self.tasks_before.and_then(|before| usage::count_all_tasks()?.checked_sub(before));
        if more.is_some_and(|more| more > SUSPICIOUS_PART * self.limits.tasks) {
            return Some(LabLimit::Tasks);
        }
        let ids = processes.list_ids(self.limits.tasks);
        // Of too many processes none is looked at: there is no time for it.
        if ids.len() as u64 > self.limits.tasks || usage::count_tasks(&ids) > self.limits.tasks {
            return Some(LabLimit::Tasks);
        }
        let memory = usage::count_memory(&ids, self.limits.memory_bytes) + self.memory_files;
        if memory > self.limits.memory_bytes {
            return Some(LabLimit::Memory);
        }
        if Instant::now() < self.disk_at {
            return None;
        }
        let begun = Instant::now();
        let nameless = usage::count_nameless_files(&ids);
        self.memory_files = nameless.memory_bytes;
        let bytes = usage::count_disk(&self.scratch, self.limits.disk_bytes) + nameless.disk_bytes;
        let is_full = usage::free_disk(&self.scratch).is_some_and(|free| free < self.spared_disk);
        self.disk_at = Instant::now() + DISK_EVERY.max(begun.elapsed() * 9);
        (bytes > self.limits.disk_bytes || is_full).then_some(LabLimit::Disk)
    }
}
