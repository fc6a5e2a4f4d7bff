//! A signal that ends this process ends the commands that it started: they have process groups of their own, which the
//! keys of a terminal and the signals of a caller do not reach.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{SigSet, Signal, killpg, raise};
use nix::unistd::Pid;

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
/// `patience`; then the signal ends this process as it would have. To be called before there are other threads.
///
/// # Errors
/// When there can be no thread for it.
pub(crate) fn end_commands_on(signals: &[Signal], patience: Duration) -> io::Result<()> {
    let signals: SigSet = signals.iter().copied().collect();
    signals.thread_block()?;
    let wait = move || {
        let Ok(signal) = signals.wait() else { return };
        end_commands(patience);
        let _ = signals.thread_unblock();
        let _ = raise(signal);
    };
    let begun = thread::Builder::new().spawn(wait);
    if begun.is_err() {
        signals.thread_unblock()?;
    }
    begun.map(drop)
}

fn lock_commands() -> MutexGuard<'static, RunningCommands> {
    COMMANDS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn end_commands(patience: Duration) {
    let signal_all = |commands: &RunningCommands, signal: Signal| {
        for group in &commands.groups {
            // One that has just ended needs none.
            let _ = killpg(Pid::from_raw(*group), signal);
        }
    };
    let mut commands = lock_commands();
    commands.is_ending = true;
    signal_all(&commands, Signal::SIGTERM);
    let waited = ENDED.wait_timeout_while(commands, patience, |commands| !commands.groups.is_empty());
    let (commands, _) = waited.unwrap_or_else(PoisonError::into_inner);
    signal_all(&commands, Signal::SIGKILL);
}

impl RunningCommand {
    /// The command that leads this group.
    pub(super) fn enter(group: Pid) -> Self {
        let mut commands = lock_commands();
        commands.groups.insert(group.as_raw());
        if commands.is_ending {
            let _ = killpg(group, Signal::SIGKILL);
        }
        RunningCommand(group.as_raw())
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
    while lock_commands().is_ending {
        thread::park();
    }
}
