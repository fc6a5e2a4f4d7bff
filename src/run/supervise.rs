//! The run itself: one process started, one loop until it has ended and its output is with the caller.

use std::ffi::{CStr, CString, c_int};
use std::io;
use std::time::{Duration, Instant};

use nix::libc;

use super::canary::Canary;
use super::channel::Channel;
use super::child::become_command;
use super::ended::CommandEnd;
use super::files::FileRegion;
use super::keys::TerminalKeys;
use super::linger::{TurnWait, in_turn, relay_on, turn};
use super::plan::StreamPlan;
use super::program::Program;
use super::signals::{self, ReceivedSignal, SignalOrigin, SignalVerdict, Signals};
use super::sys::{self, ChildState};
use super::transcript::Transcript;
use crate::base::clock::Timestamp;

/// The name that a recording wrapper has in `/proc`, so that another one below it knows; the kernel keeps 15 bytes.
pub(super) const RECORDING: &CStr = c"verify-run:rec";
/// How long a command runs before it gets a canary, milliseconds: nearly every check is still running then, and
/// younger groups are hardly ever signalled. For what ends sooner it would be a third of our cost.
const CANARY_AFTER_MS: u64 = 10;
/// Turns of the loop that a stopping command's last output gets, so that it is shown before the shell's prompt.
const TURNS_BEFORE_STOP_MAX: usize = 64;

/// While it is held, this process has the name of a recording wrapper: another verify-run in a command that it runs
/// records nothing of the same repository. To be taken by the first thread of the process; on other systems it does
/// nothing.
#[derive(Debug)]
pub struct RecordingName(CString);

impl RecordingName {
    /// Takes the name.
    pub fn take() -> Self {
        let before = sys::process_name();
        sys::name_process(RECORDING);
        RecordingName(before)
    }
}

impl Drop for RecordingName {
    fn drop(&mut self) {
        sys::name_process(&self.0);
    }
}

/// A command that has ended.
pub struct FinishedCommand {
    /// How.
    pub ended: CommandEnd,
    /// How this process has to end: as the command, unless a signal came while its last output was being delivered.
    pub end_as: CommandEnd,
    /// What was relayed.
    pub transcript: Transcript,
    /// What went to files.
    pub files: Vec<FileRegion>,
    /// Some output went to a device, or to a reader that left before the end: what was kept is not all of it.
    pub partly_seen: bool,
    /// A reader of the output left before the end.
    pub reader_left: bool,
    /// SIGINT or SIGTERM came while it ran: a user pressed Ctrl-C, or its time was up, whatever the command made of it.
    pub interrupted: bool,
    /// When it was started.
    pub started_at: Timestamp,
    /// When it had ended.
    pub ended_at: Timestamp,
    /// Between the two, by the monotonic clock.
    pub duration: Duration,
}

/// Runs the command and relays its output until it has ended. Signals stay blocked afterwards, so that what is still
/// to be done is not interrupted; see [`release_signals`].
///
/// # Errors
/// When it can't be supervised. Nothing was started and nothing has changed: execute it bare.
pub fn supervise(program: &Program) -> io::Result<FinishedCommand> {
    let StreamPlan { channels, ends, files, unseen } = StreamPlan::make()?;
    let signals = Signals::take()?;
    sys::name_process(RECORDING);
    let (started_at, clock) = (Timestamp::now(), Instant::now());
    let wrapper = sys::own_id();
    // What the whole group got while there was no command yet, the command still has to get.
    let early: Vec<ReceivedSignal> = std::iter::from_fn(|| signals.next()).collect();
    let command = match sys::start(|| become_command(program, &ends, &signals, wrapper)) {
        Ok(command) => command,
        Err(error) => {
            signals.restore();
            return Err(error);
        }
    };
    drop(ends);
    signals::stop_late(command);
    for received in early.iter().filter(|received| received.number != libc::SIGCHLD) {
        sys::kill(command, received.number);
    }
    signals.listen();
    let transcript = Transcript::default();
    let mut run = SupervisedRun {
        command,
        signals,
        canary: None,
        channels,
        keys: None,
        transcript,
        late: None,
        interrupted: false,
    };
    let ended = run.until_end(clock);
    let (ended_at, duration) = (Timestamp::now(), clock.elapsed());
    run.canary.iter().for_each(Canary::dismiss);
    let late = run.deliver();
    sys::reap(run.command);
    let reader_left = run.channels.iter().any(Channel::has_lost_reader);
    if late.is_none() {
        relay_on(run.channels, &mut run.transcript);
    }
    let end_as = late.map_or(ended, CommandEnd::Signal);
    let interrupted = run.interrupted;
    Ok(FinishedCommand {
        ended,
        end_as,
        transcript: run.transcript,
        files,
        partly_seen: unseen || reader_left,
        reader_left,
        interrupted,
        started_at,
        ended_at,
        duration,
    })
}

/// Lets signals act on this process as they do by default: before work that may take long.
pub fn release_signals() {
    // What our own writes brought upon us: the command's end is what the caller has to see.
    for number in [libc::SIGPIPE, libc::SIGXFSZ] {
        signals::take_pending(number);
    }
    signals::reset();
}

struct SupervisedRun {
    command: libc::pid_t,
    signals: Signals,
    /// `None` in the first moments, and when there is no process to be had.
    canary: Option<Canary>,
    channels: Vec<Channel>,
    /// A program that waits for keys on a terminal without a user.
    keys: Option<TerminalKeys>,
    transcript: Transcript,
    /// A signal that came when the command had ended and its end was not known yet.
    late: Option<c_int>,
    /// SIGINT came.
    interrupted: bool,
}

impl SupervisedRun {
    /// Relays and passes signals on until the command has ended. `clock` is when it was started.
    fn until_end(&mut self, clock: Instant) -> CommandEnd {
        let mut wait = TurnWait::AtMost(CANARY_AFTER_MS);
        loop {
            let signalled = self.turn(wait);
            if let TurnWait::AtMost(_) = wait {
                let left = Duration::from_millis(CANARY_AFTER_MS).saturating_sub(clock.elapsed());
                if left.is_zero() {
                    self.canary = Canary::start().ok();
                    wait = TurnWait::Long;
                }
            }
            if !signalled {
                continue;
            }
            while let Some(received) = self.signals.next() {
                self.receive(received);
            }
            if let Some(ended) = self.look() {
                return ended;
            }
        }
    }

    /// One turn of the channels; whether signals have arrived.
    fn turn(&mut self, wait: TurnWait) -> bool {
        let keys = self.keys.as_ref().map_or(-1, TerminalKeys::fd);
        let mut own = [sys::watch(self.signals.fd(), libc::POLLIN), sys::watch(keys, libc::POLLIN)];
        // A failing poll (no memory) is tried again.
        let _ = turn(&mut self.channels, &mut own, &mut self.transcript, wait);
        if own[1].revents != 0 && !self.keys.as_ref().is_some_and(TerminalKeys::pass_on) {
            self.keys = None;
        }
        if let Some(keys) = self.channels.iter_mut().find_map(Channel::keys_sought) {
            self.keys = Some(keys);
        }
        own[0].revents != 0
    }

    fn receive(&mut self, received: ReceivedSignal) {
        let number = received.number;
        self.interrupted |= matches!(number, libc::SIGINT | libc::SIGTERM);
        match received.verdict(self.command) {
            SignalVerdict::Forward => self.forward(number),
            SignalVerdict::ForwardIfDirect if !self.group_got(number) => self.forward(number),
            SignalVerdict::Resized => self.resize(),
            SignalVerdict::Child | SignalVerdict::Keep | SignalVerdict::ForwardIfDirect => {}
        }
    }

    /// Passes a signal on. One that finds the command ended is for what is still to be delivered of it.
    fn forward(&mut self, number: c_int) {
        match sys::peek_child(self.command) {
            // It got the signal itself: the whole group did.
            Ok(ChildState::Killed(signal)) if signal == number => {}
            Ok(ChildState::Exited(_) | ChildState::Killed(_)) if signals::ends_by_default(number) => {
                self.late = Some(number);
            }
            _ => sys::kill(self.command, number),
        }
    }

    fn group_got(&self, number: c_int) -> bool {
        self.canary.as_ref().is_some_and(|canary| canary.saw(number))
    }

    /// The real terminal has a new size. The kernel informed the group at once, but what fd 1 says is only right now.
    fn resize(&mut self) {
        let mut changed = false;
        for channel in &mut self.channels {
            changed |= channel.follow_size();
        }
        if changed {
            sys::kill(0, libc::SIGWINCH);
            // Ours and the canary's copies mean nothing.
            self.group_got(libc::SIGWINCH);
        }
    }

    /// Looks at the command: follows it into a stop and out of it.
    fn look(&mut self) -> Option<CommandEnd> {
        if super::is_init() {
            sys::reap_others(self.command);
        }
        match sys::peek_child(self.command) {
            Ok(ChildState::Exited(code)) => Some(CommandEnd::Exit(u8::try_from(code & 0xff).unwrap_or(u8::MAX))),
            Ok(ChildState::Killed(signal)) => Some(CommandEnd::Signal(signal)),
            Ok(ChildState::Stopped(signal)) => {
                self.stop(signal);
                None
            }
            Ok(ChildState::Running) => None,
            // Another process reaped it; its status is lost.
            Err(_) => Some(CommandEnd::Exit(125)),
        }
    }

    /// Stops by the same signal, so that the caller's `wait` sees it; goes on when we are continued. If the command
    /// was not continued with us, it is now.
    fn stop(&mut self, signal: c_int) {
        for _ in 0..TURNS_BEFORE_STOP_MAX {
            if !turn(&mut self.channels, &mut [], &mut self.transcript, TurnWait::Not).unwrap_or(false) {
                break;
            }
        }
        signals::act_by_default(signal);
        while let Some(received) = self.signals.next() {
            self.receive(received);
        }
        if matches!(sys::peek_child(self.command), Ok(ChildState::Stopped(_))) {
            sys::kill(self.command, libc::SIGCONT);
        }
    }

    /// After the command's end: delivers what it wrote, however slowly the caller reads. A signal that would have
    /// ended the command in its last write ends us; its number.
    fn deliver(&mut self) -> Option<c_int> {
        for channel in &mut self.channels {
            channel.command_ended();
        }
        loop {
            for at in in_turn(self.channels.len(), &self.transcript) {
                self.channels[at].drain(&mut self.transcript);
            }
            if self.channels.iter().all(Channel::is_drained) {
                return None;
            }
            if self.late.is_some() {
                return self.late;
            }
            if !self.turn(TurnWait::Long) {
                continue;
            }
            while let Some(received) = self.signals.next() {
                match received {
                    ReceivedSignal { origin: SignalOrigin::Process(pid), .. } if pid == sys::own_id() => {}
                    ReceivedSignal { number: libc::SIGTSTP | libc::SIGTTIN, .. } => {
                        signals::act_by_default(received.number)
                    }
                    ReceivedSignal { number, .. } if signals::ends_by_default(number) => return Some(number),
                    _ => {}
                }
            }
        }
    }
}
