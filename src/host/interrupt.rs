//! A signal that ends this process ends the commands that it started: they have process groups of their own, which the
//! keys of a terminal and the signals of a caller do not reach.

use std::collections::BTreeSet;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

/// Between two looks for a second signal.
const LOOK_EVERY: Duration = Duration::from_millis(50);

static COMMANDS: Mutex<RunningCommands> = Mutex::new(RunningCommands { groups: BTreeSet::new(), is_ending: false });
/// A command ended.
static ENDED: Condvar = Condvar::new();

/// The commands that run.
struct RunningCommands {
    groups: BTreeSet<i32>,
    /// This process is about to end.
    is_ending: bool,
}

/// A command that is ended with this process, until it is dropped.
#[derive(Debug)]
pub(super) struct RunningCommand(i32);

/// From here on, when one of `signals` comes, the process groups of running commands get SIGTERM, and SIGKILL after
/// `patience` or with the second signal; then the signal ends this process as it would have.
///
/// The signals are caught, not blocked: commands inherit what is blocked.
///
/// # Errors
/// When there can be no thread for it, or no descriptor.
pub(crate) fn end_commands_on(signals: &[Signal], patience: Duration) -> io::Result<()> {
    let mut signals = Signals::new(signals.iter().map(|signal| *signal as i32))?;
    let wait = move || {
        if let Some(signal) = signals.forever().next() {
            end_commands(patience, || signals.pending().next().is_some());
            let _ = emulate_default_handler(signal);
        }
    };
    thread::Builder::new().spawn(wait).map(drop)
}

fn lock_commands() -> MutexGuard<'static, RunningCommands> {
    COMMANDS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does not return in a process that is about to end.
fn lock_when_not_ending() -> MutexGuard<'static, RunningCommands> {
    ENDED.wait_while(lock_commands(), |commands| commands.is_ending).unwrap_or_else(PoisonError::into_inner)
}

fn end_commands(patience: Duration, mut is_urgent: impl FnMut() -> bool) {
    let signal_all = |commands: &RunningCommands, signal: Signal| {
        for group in &commands.groups {
            // One that has just ended needs none.
            let _ = killpg(Pid::from_raw(*group), signal);
        }
    };
    let mut commands = lock_commands();
    commands.is_ending = true;
    signal_all(&commands, Signal::SIGTERM);
    let until = Instant::now() + patience;
    while !commands.groups.is_empty() && Instant::now() < until && !is_urgent() {
        commands = ENDED.wait_timeout(commands, LOOK_EVERY).unwrap_or_else(PoisonError::into_inner).0;
    }
    signal_all(&commands, Signal::SIGKILL);
}

impl RunningCommand {
    /// Starts a command that leads a process group. None is started by a process that is about to end.
    ///
    /// # Errors
    /// The operating system's.
    pub(super) fn start(command: &mut Command) -> io::Result<(Child, Self)> {
        let mut commands = lock_when_not_ending();
        #[allow(clippy::disallowed_methods, reason = "called by the one door to the command lines of hosts")]
        let child = command.process_group(0).spawn()?;
        let group = child.id().cast_signed();
        commands.groups.insert(group);
        Ok((child, RunningCommand(group)))
    }

    /// The process group that it leads.
    pub(super) fn group(&self) -> Pid {
        Pid::from_raw(self.0)
    }
}

impl Drop for RunningCommand {
    fn drop(&mut self) {
        lock_commands().groups.remove(&self.0);
        ENDED.notify_all();
    }
}

/// Waits for the end of this process, if it is about to end: nothing is to be learnt from a command that ended with it.
pub(super) fn stop_with_process() {
    drop(lock_when_not_ending());
}
