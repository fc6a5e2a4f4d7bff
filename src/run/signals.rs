//! Signals: all of them are blocked and read from a descriptor, and each is judged by who sent it.
//!
//! The command is in our process group, so what the terminal sends reaches it from the kernel; a signal that is sent
//! to verify-run alone has to be passed on. (sudo's rule, exec_nopty.c; forwarding Ctrl-C again makes programs die in
//! the middle of their clean-up, pnpm #7374.)
#![allow(unsafe_code, reason = "signal masks and actions as the C library has them: nix knows no real-time signals")]

use std::ffi::c_int;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};

use nix::libc;

use super::sys;

/// Who sent a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SignalOrigin {
    /// A process, by `kill` or its like.
    Process(libc::pid_t),
    /// The kernel: a key on the terminal, a timer, a closed pipe.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only Linux says so"))]
    Kernel,
    /// The system doesn't say.
    #[cfg_attr(target_os = "linux", allow(dead_code, reason = "Linux always says; macOS does not"))]
    Unknown,
}

/// A signal that was sent to the wrapper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReceivedSignal {
    /// Its number.
    pub number: c_int,
    /// Its sender.
    pub origin: SignalOrigin,
}

/// What to do with a received signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SignalVerdict {
    /// A child changed its state.
    Child,
    /// The command has it already, or it concerns only us.
    Keep,
    /// Pass it on, unless the whole group got it.
    ForwardIfDirect,
    /// Pass it on.
    Forward,
    /// The terminal changed its size.
    Resized,
}

impl ReceivedSignal {
    /// Judges the signal. `command` is the command's process id.
    pub(super) fn verdict(self, command: libc::pid_t) -> SignalVerdict {
        match (self.number, self.origin) {
            (libc::SIGCHLD, _) => SignalVerdict::Child,
            (_, SignalOrigin::Process(pid)) if pid == command || pid == sys::own_id() => SignalVerdict::Keep,
            (_, SignalOrigin::Process(_)) => SignalVerdict::ForwardIfDirect,
            (libc::SIGWINCH, _) => SignalVerdict::Resized,
            // The terminal is gone: the kernel tells only the leader of its session.
            (libc::SIGHUP, SignalOrigin::Kernel) if sys::own_session() == sys::own_id() => SignalVerdict::Forward,
            // A timer that the caller set before it executed us (`perl -e 'alarm 10; exec …'`) is meant for the
            // command, and a fork does not inherit it.
            (libc::SIGALRM | libc::SIGVTALRM | libc::SIGPROF, _) => SignalVerdict::Forward,
            (_, SignalOrigin::Kernel) | (libc::SIGINT | libc::SIGQUIT | libc::SIGTSTP, SignalOrigin::Unknown) => {
                SignalVerdict::Keep
            }
            (_, SignalOrigin::Unknown) => SignalVerdict::ForwardIfDirect,
        }
    }
}

/// The wrapper's hold on signals, with what has to be given back to the command.
pub(super) struct Signals {
    mask: libc::sigset_t,
    children_ignored: bool,
    source: OwnedFd,
}

impl Signals {
    /// Blocks everything and opens the source. Nothing is lost from here on: a blocked signal waits.
    ///
    /// # Errors
    /// When no descriptor is to be had; nothing has changed then.
    pub(super) fn take() -> io::Result<Self> {
        let blocked = all_but_terminal_output();
        let source = source::open(&blocked)?;
        let mask = set_mask(&blocked);
        // With SIGCHLD ignored the kernel would reap the command behind our back.
        let children_ignored = is_ignored(libc::SIGCHLD);
        if children_ignored {
            set_action(libc::SIGCHLD, libc::SIG_DFL);
        }
        Ok(Signals { mask, children_ignored, source })
    }

    /// Gives mask and actions back as they were found.
    pub(super) fn restore(&self) {
        if self.children_ignored {
            set_action(libc::SIGCHLD, libc::SIG_IGN);
        }
        set_mask(&self.mask);
    }

    /// [`Self::restore`] in the process that is about to execute the command.
    ///
    /// Ctrl-Z must not stop it before it has: the wrapper is suspended until then and could not report it to the
    /// shell. So the key is caught up to the execution, which undoes the catching, and repeated by [`stop_late`].
    pub(super) fn restore_for_command(&self) {
        // (Where memory is not shared the wrapper is not suspended either.)
        if cfg!(target_os = "linux") && action_of(libc::SIGTSTP).sa_sigaction == libc::SIG_DFL {
            set_action(libc::SIGTSTP, note_stop as *const () as libc::sighandler_t);
        }
        self.restore();
    }

    /// To be called once the command is started: where signals are caught by handlers, these may run now.
    pub(super) fn listen(&self) {
        #[cfg(not(target_os = "linux"))]
        set_mask(&self.mask);
    }

    /// What to poll for [`Signals::next`].
    pub(super) fn fd(&self) -> RawFd {
        self.source.as_raw_fd()
    }

    /// The next signal that has arrived.
    pub(super) fn next(&self) -> Option<ReceivedSignal> {
        source::next(self.fd())
    }
}

/// The terminal asked the command to stop while it was not yet executed.
static STOP_WAITS: AtomicBool = AtomicBool::new(false);

extern "C" fn note_stop(_signal: c_int) {
    STOP_WAITS.store(true, Ordering::Relaxed);
}

/// Stops the command if the terminal asked for that before it was executed.
pub(super) fn stop_late(command: libc::pid_t) {
    if STOP_WAITS.swap(false, Ordering::Relaxed) {
        sys::kill(command, libc::SIGTSTP);
    }
}

/// Every signal but SIGTTOU: under `stty tostop` our own write to the terminal must stop the job, as the command's
/// would.
fn all_but_terminal_output() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: sigfillset initialises the set, sigdelset changes it.
    unsafe {
        libc::sigfillset(set.as_mut_ptr());
        libc::sigdelset(set.as_mut_ptr(), libc::SIGTTOU);
        set.assume_init()
    }
}

fn only(signal: c_int) -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: sigemptyset initialises the set, sigaddset changes it.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), signal);
        set.assume_init()
    }
}

fn set_mask(set: &libc::sigset_t) -> libc::sigset_t {
    let mut old = MaybeUninit::zeroed();
    // SAFETY: `set` is only read, `old` is ours to write, and zeroes are a valid set.
    unsafe {
        libc::sigprocmask(libc::SIG_SETMASK, set, old.as_mut_ptr());
        old.assume_init()
    }
}

fn action_of(signal: c_int) -> libc::sigaction {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: a null new action only asks; zeroes are a valid action.
    unsafe {
        libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr());
        action.assume_init()
    }
}

/// Whether this process was started with the signal ignored, as by nohup(1).
pub fn is_ignored(signal: c_int) -> bool {
    action_of(signal).sa_sigaction == libc::SIG_IGN
}

fn set_action(signal: c_int, handler: libc::sighandler_t) {
    // SAFETY: zeroes are a valid action (no flags, empty mask); SIG_DFL and SIG_IGN need no function.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler;
        libc::sigaction(signal, &raw const action, std::ptr::null_mut());
    }
}

/// Sends `signal` to ourselves and lets it do what it does by default: end or stop this process. Returns when it
/// did neither, or after the stop.
pub(super) fn act_by_default(signal: c_int) {
    let before = action_of(signal);
    set_action(signal, libc::SIG_DFL);
    sys::kill(sys::own_id(), signal);
    let set = only(signal);
    let mut mask = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: the sets are valid; the action is the one that was there.
    unsafe {
        libc::sigprocmask(libc::SIG_UNBLOCK, &raw const set, mask.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, mask.as_ptr(), std::ptr::null_mut());
        libc::sigaction(signal, &raw const before, std::ptr::null_mut());
    }
}

/// Whether `signal` would end a process that has not ignored it.
pub(super) fn ends_by_default(signal: c_int) -> bool {
    let harmless = matches!(
        signal,
        libc::SIGCHLD
            | libc::SIGCONT
            | libc::SIGURG
            | libc::SIGWINCH
            | libc::SIGTSTP
            | libc::SIGTTIN
            | libc::SIGTTOU
            | libc::SIGSTOP
    );
    !harmless && !is_ignored(signal)
}

/// Unblocks every signal and sets none aside: the state in which a fresh process of our own runs.
pub(super) fn reset() {
    let mut set = MaybeUninit::uninit();
    // SAFETY: sigemptyset initialises the set.
    let none = unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        set.assume_init()
    };
    set_action(libc::SIGCHLD, libc::SIG_DFL);
    set_mask(&none);
}

/// Drops every signal that is blocked and waiting.
pub(super) fn forget_pending() {
    for signal in 1..=libc::SIGSYS {
        take_pending(signal);
    }
}

/// Blocks every signal, so that each stays pending.
pub(super) fn block() {
    set_mask(&all_but_terminal_output());
}

/// Ignores SIGPIPE, in a process that learns from the failing write instead.
pub fn ignore_broken_pipes() {
    set_action(libc::SIGPIPE, libc::SIG_IGN);
}

/// Waits for nothing: takes `signal` from what is pending; whether it was there.
#[cfg(target_os = "linux")]
pub(super) fn take_pending(signal: c_int) -> bool {
    let set = only(signal);
    let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the set and the time are only read; a null info is allowed.
    unsafe { libc::sigtimedwait(&raw const set, std::ptr::null_mut(), &raw const at_once) == signal }
}

/// Waits for nothing: takes `signal` from what is pending; whether it was there.
#[cfg(not(target_os = "linux"))]
pub(super) fn take_pending(signal: c_int) -> bool {
    let mut pending = MaybeUninit::uninit();
    let set = only(signal);
    let mut taken = 0;
    // SAFETY: `pending` is initialised by sigpending; sigwait returns at once for a signal that is pending.
    unsafe {
        libc::sigpending(pending.as_mut_ptr()) == 0
            && libc::sigismember(pending.as_ptr(), signal) == 1
            && libc::sigwait(&raw const set, &raw mut taken) == 0
    }
}

#[cfg(target_os = "linux")]
mod source {
    //! signalfd: the blocked signals are read as records.

    use super::*;

    pub(super) fn open(set: &libc::sigset_t) -> io::Result<OwnedFd> {
        // SAFETY: the set is only read.
        let fd = sys::check(unsafe { libc::signalfd(-1, set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) })?;
        // SAFETY: the descriptor was just returned to us.
        Ok(unsafe { std::os::fd::FromRawFd::from_raw_fd(fd) })
    }

    pub(super) fn next(fd: RawFd) -> Option<ReceivedSignal> {
        let mut record = MaybeUninit::<libc::signalfd_siginfo>::zeroed();
        // SAFETY: the bytes of the record, which are ours to write and initialised.
        let bytes = unsafe { std::slice::from_raw_parts_mut(record.as_mut_ptr().cast::<u8>(), size_of_val(&record)) };
        let count = sys::read(fd, bytes).ok()?;
        if count != bytes.len() {
            return None;
        }
        // SAFETY: zeroed at first and then filled by the kernel.
        let record = unsafe { record.assume_init() };
        let origin = match record.ssi_code {
            code if code > 0 => SignalOrigin::Kernel,
            _ => SignalOrigin::Process(record.ssi_pid.cast_signed()),
        };
        Some(ReceivedSignal { number: record.ssi_signo.cast_signed(), origin })
    }
}

#[cfg(not(target_os = "linux"))]
mod source {
    //! A self-pipe: handlers write what arrived into it, once [`Signals::listen`] lets them run.

    use std::sync::atomic::{AtomicI32, Ordering};

    use super::*;

    static WRITE_END: AtomicI32 = AtomicI32::new(-1);
    /// Signals whose default action is not left to the system: everything that can be caught but the faults,
    /// terminal output, and what is ignored already.
    const CAUGHT: [c_int; 18] = [
        libc::SIGHUP,
        libc::SIGINT,
        libc::SIGQUIT,
        libc::SIGABRT,
        libc::SIGPIPE,
        libc::SIGALRM,
        libc::SIGTERM,
        libc::SIGURG,
        libc::SIGTSTP,
        libc::SIGCONT,
        libc::SIGCHLD,
        libc::SIGTTIN,
        libc::SIGVTALRM,
        libc::SIGPROF,
        libc::SIGWINCH,
        libc::SIGUSR1,
        libc::SIGUSR2,
        libc::SIGINFO,
    ];

    extern "C" fn note(signal: c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
        // SAFETY: the kernel passes a valid siginfo.
        let pid = unsafe { if info.is_null() { 0 } else { (*info).si_pid() } };
        let mut record = [0; 8];
        record[..4].copy_from_slice(&signal.to_ne_bytes());
        record[4..].copy_from_slice(&pid.to_ne_bytes());
        let _ = sys::write(WRITE_END.load(Ordering::Relaxed), &record);
    }

    pub(super) fn open(set: &libc::sigset_t) -> io::Result<OwnedFd> {
        let _ = set;
        let (read_end, write_end) = sys::pipe()?;
        for end in [read_end.as_raw_fd(), write_end.as_raw_fd()] {
            sys::fcntl(end, nix::fcntl::FcntlArg::F_SETFL(nix::fcntl::OFlag::O_NONBLOCK))?;
        }
        WRITE_END.store(std::os::fd::IntoRawFd::into_raw_fd(write_end), Ordering::Relaxed);
        for signal in CAUGHT {
            if signal == libc::SIGCHLD || !is_ignored(signal) {
                let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut libc::c_void) = note;
                // SAFETY: zeroes are a valid action; the handler only calls write.
                unsafe {
                    let mut action: libc::sigaction = std::mem::zeroed();
                    action.sa_sigaction = handler as libc::sighandler_t;
                    action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
                    libc::sigaction(signal, &raw const action, std::ptr::null_mut());
                }
            }
        }
        Ok(read_end)
    }

    pub(super) fn next(fd: RawFd) -> Option<ReceivedSignal> {
        let mut record = [0; 8];
        if sys::read(fd, &mut record).ok()? != record.len() {
            return None;
        }
        let number = c_int::from_ne_bytes(record[..4].try_into().ok()?);
        let origin = match libc::pid_t::from_ne_bytes(record[4..].try_into().ok()?) {
            0 => SignalOrigin::Unknown,
            pid => SignalOrigin::Process(pid),
        };
        Some(ReceivedSignal { number, origin })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(number: c_int, origin: SignalOrigin) -> SignalVerdict {
        ReceivedSignal { number, origin }.verdict(4_000_000)
    }

    #[test]
    fn keys_of_the_terminal_are_not_sent_twice() {
        for number in [libc::SIGINT, libc::SIGQUIT, libc::SIGTSTP] {
            assert_eq!(verdict(number, SignalOrigin::Kernel), SignalVerdict::Keep);
            assert_eq!(verdict(number, SignalOrigin::Unknown), SignalVerdict::Keep);
            assert_eq!(verdict(number, SignalOrigin::Process(1)), SignalVerdict::ForwardIfDirect);
        }
    }

    #[test]
    fn what_the_command_or_we_ourselves_sent_stays_here() {
        assert_eq!(verdict(libc::SIGTERM, SignalOrigin::Process(4_000_000)), SignalVerdict::Keep);
        assert_eq!(verdict(libc::SIGPIPE, SignalOrigin::Process(sys::own_id())), SignalVerdict::Keep);
    }

    #[test]
    fn a_timer_set_before_the_exec_reaches_the_command() {
        assert_eq!(verdict(libc::SIGALRM, SignalOrigin::Kernel), SignalVerdict::Forward);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_stop_before_the_command_is_executed_stops_it_afterwards() {
        let program = crate::run::Program::new(&["sleep".into(), "60".into()]).expect("words");
        let signals = Signals::take().expect("a descriptor");
        let command = sys::start(|| {
            signals.restore_for_command();
            sys::kill(sys::own_id(), libc::SIGTSTP);
            program.replace_process()
        });
        // Being here at all means that the new process has not stopped in our memory.
        let command = command.expect("a process");
        assert_eq!(sys::peek_child(command).expect("a child"), sys::ChildState::Running);
        stop_late(command);
        // (Another thread of the test runner may have got the signal that says so.)
        let stopped = (0..1_000).any(|_| {
            sys::poll(&mut [], 10).expect("a pause");
            sys::peek_child(command).expect("a child") == sys::ChildState::Stopped(libc::SIGTSTP)
        });
        assert!(stopped);
        sys::kill(command, libc::SIGKILL);
        sys::reap(command);
    }
}
