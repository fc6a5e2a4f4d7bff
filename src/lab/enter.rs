//! The process inside: `verify-run lab-init`, which no user types. It has one thread, and is the first thing that the
//! program does: it reads what is to be done from its standard input, puts up the walls, starts the command, and answers.

mod changes;
mod command;
mod edits;
mod failure;
mod folders;
mod identity;
mod keeper;
mod sys;
mod usage;
mod walls;

use std::ffi::c_int;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::Instant;

use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{Pid, dup2_stdin, geteuid};

use super::level::LabLevel;
use super::plan::{EndedCommand, EnterStep, LabPlan, LabReport};
use failure::{EnterFailure, at_step};
use folders::KeptFolders;
use keeper::RunKeeper;
use sys::ForkSide;
use usage::RunProcesses;

/// A plan, bytes.
const PLAN_BYTES_MAX: u64 = 64 << 20;
/// What the kernel ends first when there is no memory left, of -1000 to 1000.
const ENDED_FIRST: &str = "800";

/// Does what the process outside asks for on standard input, and answers there. The exit code has no meaning.
pub(crate) fn start_inside() -> c_int {
    let started = Instant::now();
    sys::close_inherited();
    let Ok(mut outside) = take_standard_input() else { return 1 };
    let report = read_plan(&mut outside).and_then(|plan| follow_plan(&plan, &outside, started));
    answer(&outside, report)
}

/// What was standard input, under another number; the command gets nothing to read.
fn take_standard_input() -> io::Result<File> {
    let outside: OwnedFd = io::stdin().as_fd().try_clone_to_owned()?;
    dup2_stdin(File::open("/dev/null")?)?;
    Ok(File::from(outside))
}

/// Reads the length of the plan, 8 bytes, and the plan.
fn read_plan(outside: &mut File) -> Result<LabPlan, EnterFailure> {
    let mut read = || -> io::Result<LabPlan> {
        let mut length = [0; 8];
        outside.read_exact(&mut length)?;
        let length = u64::from_le_bytes(length);
        if length > PLAN_BYTES_MAX {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "too long"));
        }
        let mut plan = Vec::new();
        outside.take(length).read_to_end(&mut plan)?;
        Ok(serde_json::from_slice(&plan)?)
    };
    read().map_err(|error| at_step(EnterStep::Preparation, "cannot read what is to be done", error))
}

fn follow_plan(plan: &LabPlan, outside: &File, started: Instant) -> Result<LabReport, EnterFailure> {
    let _ = sys::tell_kernel("/proc/self/oom_score_adj", ENDED_FIRST);
    sys::be_prompt();
    if let Some(cgroup) = &plan.cgroup {
        // What can't be left to the kernel is watched all the same.
        let _ = sys::tell_kernel(&format!("{}/cgroup.procs", cgroup.display()), "0");
    }
    if plan.level == LabLevel::Namespaces {
        return run_in_namespaces(plan, outside, started);
    }
    prctl::set_child_subreaper(true)
        .map_err(|error| at_step(EnterStep::Preparation, "cannot take in processes", error.into()))?;
    let folders =
        KeptFolders::open(plan).map_err(|error| at_step(EnterStep::Folders, "cannot open the folders", error))?;
    make_edits(plan, &folders)?;
    let processes = RunProcesses::Descendants;
    RunKeeper { plan, folders: &folders, has_users: false, processes, outside, started }.run_command()
}

/// Enters the namespaces; a second process is the first one in them, and this one waits for it.
fn run_in_namespaces(plan: &LabPlan, outside: &File, started: Instant) -> Result<LabReport, EnterFailure> {
    let failed = |what: &str, error: io::Error| at_step(EnterStep::Preparation, what, error);
    let has_users = identity::enter_namespaces()?;
    if has_users {
        identity::allow_one_user_namespace();
    }
    let (alive, is_alive) = io::pipe().map_err(|error| failed("cannot make a pipe", error))?;
    match sys::fork().map_err(|error| failed("cannot start a process", error))? {
        ForkSide::Child => {
            drop(is_alive);
            let report = follow_parent(alive).and_then(|()| run_as_first(plan, has_users, outside, started));
            sys::exit_now(answer(outside, report));
        }
        ForkSide::Parent(first) => {
            drop(alive);
            let ended = loop {
                match waitpid(Pid::from_raw(first), None) {
                    Err(Errno::EINTR) => {}
                    ended => break ended,
                }
            };
            // It ended with the namespaces, and said why.
            if matches!(ended, Ok(WaitStatus::Exited(_, 0))) {
                sys::exit_now(0);
            }
            // The kernel ended it, most likely because there was no memory left.
            Ok(LabReport::Ended(EndedCommand::killed()))
        }
    }
}

/// From here on this process ends with its parent.
fn follow_parent(alive: io::PipeReader) -> Result<(), EnterFailure> {
    let failed = |error: io::Error| at_step(EnterStep::Preparation, "cannot follow the parent", error);
    prctl::set_pdeathsig(Signal::SIGKILL).map_err(|error| failed(error.into()))?;
    // The parent holds the other end; without it, it ended before the line above could take effect.
    let mut watched = [nix::poll::PollFd::new(alive.as_fd(), nix::poll::PollFlags::POLLIN)];
    let _ = nix::poll::poll(&mut watched, nix::poll::PollTimeout::ZERO);
    if watched[0].revents().is_some_and(|events| !events.is_empty()) {
        return Err(failed(io::Error::other("it is gone")));
    }
    Ok(())
}

fn run_as_first(plan: &LabPlan, has_users: bool, outside: &File, started: Instant) -> Result<LabReport, EnterFailure> {
    if geteuid().is_root() {
        identity::limit_process_ids(plan.limits.tasks);
    }
    let folders = folders::enter_folders(plan)?;
    sys::start_loopback().map_err(|error| at_step(EnterStep::Network, "cannot start the loopback device", error))?;
    make_edits(plan, &folders)?;
    let processes = RunProcesses::Namespace;
    RunKeeper { plan, folders: &folders, has_users, processes, outside, started }.run_command()
}

fn make_edits(plan: &LabPlan, folders: &KeptFolders) -> Result<(), EnterFailure> {
    let from = folders.edits_path();
    edits::make_edits(&plan.edits, Path::new(plan.root.path()), from.as_deref())
        .map_err(|error| at_step(EnterStep::Edits, "cannot edit the tree", error))
}

/// Gives the answer to the process outside; the code to exit with.
fn answer(mut outside: &File, report: Result<LabReport, EnterFailure>) -> c_int {
    let report = report.unwrap_or_else(|failure| failure.to_report());
    let answer = serde_json::to_vec(&report).unwrap_or_default();
    match outside.write_all(&answer) {
        Ok(()) => 0,
        Err(_) => 1,
    }
}
