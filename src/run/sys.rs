//! System calls in the exact form that the wrapper needs: `nix` where it has a safe form without pitfalls. Every other
//! `unsafe` of a plain call is here, with the reason why.
#![allow(unsafe_code, reason = "calls that have no safe form, each with its reason")]

use std::ffi::{CStr, CString, c_int};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag};
use nix::libc;
use nix::sys::socket::{self, AddressFamily, MsgFlags, SockFlag, SockType, SockaddrLike, SockaddrStorage};
use nix::sys::stat::Mode;
use nix::unistd::{self, AccessFlags, Pid, SysconfVar, Whence};

/// Turns the -1 of a system call into its error.
pub(super) fn check(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// A descriptor for the time of one call. The numbers are those that the command was given (0, 1, 2) or of descriptors
/// that their callers own; where one is closed all the same, the kernel says so.
fn borrowed(fd: RawFd) -> BorrowedFd<'static> {
    debug_assert!(fd >= 0, "no descriptor");
    // SAFETY: `fd` is not -1, and no caller keeps what is returned for longer than one call.
    unsafe { BorrowedFd::borrow_raw(fd) }
}

/// What a file is, through links.
pub(super) fn stat_file(path: &CStr) -> io::Result<libc::stat> {
    Ok(nix::sys::stat::stat(path)?)
}

/// Whether this process may execute the file.
pub(super) fn may_execute(path: &CStr) -> bool {
    unistd::access(path, AccessFlags::X_OK).is_ok()
}

/// `fstat`; `None` when the descriptor is closed.
pub(super) fn stat(fd: RawFd) -> Option<libc::stat> {
    nix::sys::stat::fstat(borrowed(fd)).ok()
}

/// `fcntl`.
pub(super) fn fcntl(fd: RawFd, argument: FcntlArg<'_>) -> io::Result<c_int> {
    Ok(nix::fcntl::fcntl(borrowed(fd), argument)?)
}

/// The flags of an open file: `fcntl` with `F_GETFL`.
pub(super) fn flags(fd: RawFd) -> io::Result<c_int> {
    fcntl(fd, FcntlArg::F_GETFL)
}

/// A pipe, both ends closed on exec: (read end, write end).
pub(super) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    #[cfg(target_os = "linux")]
    return Ok(unistd::pipe2(OFlag::O_CLOEXEC)?);
    #[cfg(not(target_os = "linux"))]
    close_on_exec(unistd::pipe()?)
}

/// A pair of connected Unix stream sockets, closed on exec.
pub(super) fn socket_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let pair = |flags| socket::socketpair(AddressFamily::Unix, SockType::Stream, None, flags);
    #[cfg(target_os = "linux")]
    return Ok(pair(SockFlag::SOCK_CLOEXEC)?);
    #[cfg(not(target_os = "linux"))]
    close_on_exec(pair(SockFlag::empty())?)
}

#[cfg(not(target_os = "linux"))]
fn close_on_exec(ends: (OwnedFd, OwnedFd)) -> io::Result<(OwnedFd, OwnedFd)> {
    for end in [&ends.0, &ends.1] {
        nix::fcntl::fcntl(end, FcntlArg::F_SETFD(nix::fcntl::FdFlag::FD_CLOEXEC))?;
    }
    Ok(ends)
}

/// Whether a descriptor is a stream socket of the Unix family.
pub(super) fn is_unix_stream(fd: RawFd) -> bool {
    let kind = socket::getsockopt(&borrowed(fd), socket::sockopt::SockType);
    let family = || socket::getsockname::<SockaddrStorage>(fd).ok().and_then(|address| address.family());
    kind == Ok(SockType::Stream) && family() == Some(AddressFamily::Unix)
}

/// Opens `path`, closed on exec.
pub(super) fn open(path: &CStr, flags: OFlag) -> io::Result<OwnedFd> {
    Ok(nix::fcntl::open(path, flags | OFlag::O_CLOEXEC, Mode::empty())?)
}

/// Opens the regular file `path` for reading and writing, closed on exec, never through a link. It is made where it
/// isn't there, for its owner alone.
pub(super) fn open_own(path: &CStr) -> io::Result<OwnedFd> {
    let flags = OFlag::O_RDWR | OFlag::O_CREAT | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    let file = nix::fcntl::open(path, flags, Mode::S_IRUSR | Mode::S_IWUSR)?;
    let found = nix::sys::stat::fstat(&file)?;
    let is_own = found.st_mode & libc::S_IFMT == libc::S_IFREG && found.st_uid == unistd::geteuid().as_raw();
    if is_own { Ok(file) } else { Err(Errno::EPERM.into()) }
}

/// `read`, once.
pub(super) fn read(fd: RawFd, buffer: &mut [u8]) -> io::Result<usize> {
    Ok(unistd::read(borrowed(fd), buffer)?)
}

/// `pread`, once.
pub(super) fn read_at(fd: RawFd, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let offset = libc::off_t::try_from(offset).map_err(io::Error::other)?;
    Ok(nix::sys::uio::pread(borrowed(fd), buffer, offset)?)
}

/// `pwrite`, once.
pub(super) fn write_at(fd: RawFd, bytes: &[u8], offset: u64) -> io::Result<usize> {
    let offset = libc::off_t::try_from(offset).map_err(io::Error::other)?;
    Ok(nix::sys::uio::pwrite(borrowed(fd), bytes, offset)?)
}

/// `write`, once. A signal handler calls it too.
pub(super) fn write(fd: RawFd, bytes: &[u8]) -> io::Result<usize> {
    Ok(unistd::write(borrowed(fd), bytes)?)
}

/// Writes everything, or as much as the descriptor takes before it fails.
pub(super) fn write_all(fd: RawFd, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        match write(fd, bytes) {
            Ok(0) => return,
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// Writes to a pipe without blocking and without touching its flags, which its other users share. `nix` has no call with
/// RWF_NOWAIT.
#[cfg(target_os = "linux")]
pub(super) fn write_nowait(fd: RawFd, bytes: &[u8]) -> io::Result<usize> {
    let vector = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    // SAFETY: one vector over bytes that are only read; an offset of -1 means the current position.
    let written = unsafe { libc::pwritev2(fd, &raw const vector, 1, -1, libc::RWF_NOWAIT) };
    usize::try_from(written).map_err(|_| io::Error::last_os_error())
}

/// There is no such call here; the caller takes another way.
#[cfg(not(target_os = "linux"))]
pub(super) fn write_nowait(_fd: RawFd, _bytes: &[u8]) -> io::Result<usize> {
    Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP))
}

/// Sends to a socket without blocking and without SIGPIPE.
pub(super) fn send_nowait(fd: RawFd, bytes: &[u8]) -> io::Result<usize> {
    // `nix` names the second one on fewer systems than have it.
    let flags = MsgFlags::from_bits_retain(libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL);
    Ok(socket::send(fd, bytes, flags)?)
}

/// `lseek` to where the descriptor is.
pub(super) fn position(fd: RawFd) -> Option<u64> {
    unistd::lseek(borrowed(fd), 0, Whence::SeekCur).ok().and_then(|offset| u64::try_from(offset).ok())
}

/// Whether a descriptor is open, and not one that an exec closes.
pub(super) fn stays_open_on_exec(fd: RawFd) -> bool {
    fcntl(fd, FcntlArg::F_GETFD).is_ok_and(|flags| flags == 0)
}

/// `poll`; interruption reads as "nothing yet". `timeout` in milliseconds, -1 waits.
///
/// The entries are numbers, not borrowed descriptors as `nix` wants them: which of them are open is what is asked.
pub(super) fn poll(fds: &mut [libc::pollfd], timeout: c_int) -> io::Result<usize> {
    // SAFETY: the slice is valid for its length.
    match check(unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, timeout) }) {
        Ok(ready) => Ok(usize::try_from(ready).unwrap_or(0)),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => {
            fds.iter_mut().for_each(|fd| fd.revents = 0);
            Ok(0)
        }
        Err(error) => Err(error),
    }
}

/// An entry of [`poll`].
pub(super) fn watch(fd: RawFd, events: i16) -> libc::pollfd {
    libc::pollfd { fd, events, revents: 0 }
}

/// Which process of a [`fork`] this is.
pub(super) enum Fork {
    /// The old one; the child's id.
    Parent(libc::pid_t),
    /// The new one.
    Child,
}

/// `fork`, which no crate can make safe. The process has one thread, so the child may do everything.
pub(super) fn fork() -> io::Result<Fork> {
    // SAFETY: no other thread exists that could hold a lock.
    match check(unsafe { libc::fork() })? {
        0 => Ok(Fork::Child),
        child => Ok(Fork::Parent(child)),
    }
}

/// Stack of a process that [`start`] starts, bytes: the C library's search of PATH takes up to 5 KiB of it.
#[cfg(target_os = "linux")]
const START_STACK_BYTES: usize = 64 << 10;

/// Starts a process that executes a command, and returns its id. `child` runs in it, does no more than that, and
/// returns the code to exit with if it could not.
///
/// As `vfork`, it shares this process's memory, which saves copying page tables and the pages that both would write
/// to; this process is suspended until the command is executed. With a stack of its own, as `posix_spawn` of glibc
/// and musl does it, nothing that this process still needs is overwritten.
#[cfg(target_os = "linux")]
pub(super) fn start<F: FnOnce() -> c_int>(child: F) -> io::Result<libc::pid_t> {
    extern "C" fn enter<F: FnOnce() -> c_int>(child: *mut libc::c_void) -> c_int {
        // SAFETY: `start` passes its `child`, which stays where it is while that process is suspended.
        let code = unsafe { child.cast::<Option<F>>().as_mut() }.and_then(Option::take).map(|child| child());
        exit_now(code.unwrap_or(125))
    }
    let mut stack = vec![MaybeUninit::<u128>::uninit(); START_STACK_BYTES / size_of::<u128>()];
    let mut child = Some(child);
    // SAFETY: `stack` is aligned and outlives the sharing, since CLONE_VFORK holds this process until the other one
    // has left this memory; so does `child`. No other thread exists that could hold a lock.
    check(unsafe {
        let top = stack.as_mut_ptr_range().end.cast();
        libc::clone(enter::<F>, top, libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD, (&raw mut child).cast())
    })
}

/// Starts a process that executes a command, and returns its id. `child` runs in it and returns the code to exit with
/// if it could not.
#[cfg(not(target_os = "linux"))]
pub(super) fn start<F: FnOnce() -> c_int>(child: F) -> io::Result<libc::pid_t> {
    match fork()? {
        Fork::Child => exit_now(child()),
        Fork::Parent(pid) => Ok(pid),
    }
}

/// `dup2`: the copy stays open over exec. The target is a number that the command is to have, and it has no owner here.
pub(super) fn duplicate_onto(fd: RawFd, target: RawFd) -> io::Result<()> {
    // SAFETY: no memory is involved; a descriptor that is replaced is not owned by a Rust value.
    check(unsafe { libc::dup2(fd, target) }).map(drop)
}

/// `_exit`: no handler and no buffer of this process runs in between.
pub(super) fn exit_now(code: c_int) -> ! {
    // SAFETY: never returns.
    unsafe { libc::_exit(code) }
}

/// `kill`; errors mean that the process is gone, which the caller learns elsewhere. `nix` knows no real-time signals.
pub(super) fn kill(pid: libc::pid_t, signal: c_int) {
    // SAFETY: no memory is involved.
    unsafe { libc::kill(pid, signal) };
}

/// A new session without a terminal.
pub(super) fn new_session() {
    // It fails only for a group leader, which a fresh child is not.
    let _ = unistd::setsid();
}

/// `chdir("/")`, so that no caller's folder is kept busy.
pub(super) fn leave_folder() {
    let _ = unistd::chdir(c"/");
}

/// Lowers the priority by `by`; `nix` has no such call.
pub(super) fn be_nice(by: c_int) {
    // SAFETY: no memory is involved.
    unsafe { libc::nice(by) };
}

/// This process's id.
pub(super) fn own_id() -> libc::pid_t {
    unistd::getpid().as_raw()
}

/// The parent's id, 0 when it is in another PID namespace.
pub(super) fn parent_id() -> libc::pid_t {
    unistd::getppid().as_raw()
}

/// This process's session.
pub(super) fn own_session() -> libc::pid_t {
    // It cannot fail for oneself.
    unistd::getsid(None).map_or(0, Pid::as_raw)
}

/// A change of state of a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChildState {
    /// Exited with this code.
    Exited(c_int),
    /// Killed by this signal.
    Killed(c_int),
    /// Stopped by this signal.
    Stopped(c_int),
    /// Nothing new.
    Running,
}

/// Looks at a child's state without consuming it: a stop stays visible for as long as it lasts.
///
/// `nix` has `waitid` on fewer systems, and reads the death by a real-time signal as an error.
pub(super) fn peek_child(pid: libc::pid_t) -> io::Result<ChildState> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    let flags = libc::WEXITED | libc::WSTOPPED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: `info` is ours to write and all zeroes are a valid value of it; its child fields are read only after
    // a successful waitid, which sets them (or leaves the zeroes when there is nothing to report).
    unsafe {
        check(libc::waitid(libc::P_PID, pid.cast_unsigned(), info.as_mut_ptr(), flags))?;
        let info = info.assume_init();
        Ok(match (info.si_pid(), info.si_code) {
            (0, _) => ChildState::Running,
            (_, libc::CLD_EXITED) => ChildState::Exited(info.si_status()),
            (_, libc::CLD_KILLED | libc::CLD_DUMPED) => ChildState::Killed(info.si_status()),
            (_, libc::CLD_STOPPED) => ChildState::Stopped(info.si_status()),
            _ => ChildState::Running,
        })
    }
}

/// Waits until a child that has ended, or is about to, is gone.
pub(super) fn reap(pid: libc::pid_t) {
    // What it ended with is known, and an error other than an interruption leaves nothing to wait for.
    while nix::sys::wait::waitpid(Pid::from_raw(pid), None) == Err(Errno::EINTR) {}
}

/// Reaps every ended child but `spared`, as PID 1 has to.
pub(super) fn reap_others(spared: libc::pid_t) {
    loop {
        let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
        let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        // SAFETY: as in `peek_child`.
        let pid = unsafe {
            if libc::waitid(libc::P_ALL, 0, info.as_mut_ptr(), flags) < 0 {
                return;
            }
            info.assume_init().si_pid()
        };
        if pid == 0 || pid == spared {
            return;
        }
        reap(pid);
    }
}

/// No core dump from here on: the command has written one if there is to be one.
pub(super) fn forbid_core() {
    let _ = nix::sys::resource::setrlimit(nix::sys::resource::Resource::RLIMIT_CORE, 0, 0);
    // A core pattern that is a pipe ignores the limit.
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_dumpable(false);
}

/// Names this process in `/proc/PID/stat`; at most 15 bytes count.
#[cfg(target_os = "linux")]
pub(super) fn name_process(name: &CStr) {
    let _ = nix::sys::prctl::set_name(name);
}

/// The name that this process has in `/proc/PID/stat`.
#[cfg(target_os = "linux")]
pub(super) fn process_name() -> CString {
    nix::sys::prctl::get_name().unwrap_or_default()
}

/// The kernel has no such name here.
#[cfg(not(target_os = "linux"))]
pub(super) fn process_name() -> CString {
    CString::default()
}

/// The kernel has no such name here.
#[cfg(not(target_os = "linux"))]
pub(super) fn name_process(_name: &CStr) {}

/// Lets the kernel kill this process when its parent (thread) dies.
#[cfg(target_os = "linux")]
pub(super) fn die_with_parent() {
    let _ = nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL);
}

/// The kernel cannot do it here: SIGKILL of the wrapper leaves the command running.
#[cfg(not(target_os = "linux"))]
pub(super) fn die_with_parent() {}

/// The path by which this program was executed, as the one who did it wrote it: links are not followed, and it is
/// relative when it was written so. For a script's interpreter it is the script.
pub(super) fn executed_as() -> Option<Vec<u8>> {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: no memory is involved.
        let path = unsafe { libc::getauxval(libc::AT_EXECFN) } as *const libc::c_char;
        // SAFETY: the kernel's answer, if it has one, is a C string that lives as long as the process.
        (!path.is_null()).then(|| unsafe { CStr::from_ptr(path) }.to_bytes().to_vec())
    }
    #[cfg(target_os = "macos")]
    {
        // `libc` has it too, but deprecated in favour of a crate for nothing else.
        unsafe extern "C" {
            fn _NSGetExecutablePath(path: *mut libc::c_char, size: *mut u32) -> libc::c_int;
        }
        let mut path = vec![0_u8; libc::PATH_MAX as usize];
        let mut size = libc::PATH_MAX as u32;
        // SAFETY: `path` is valid for writing `size` bytes.
        let result = unsafe { _NSGetExecutablePath(path.as_mut_ptr().cast(), &raw mut size) };
        let end = path.iter().position(|byte| *byte == 0)?;
        path.truncate(end);
        (result == 0).then_some(path)
    }
    #[cfg(not(any(target_os = "linux", target_os = "macos")))]
    None
}

/// Whether the process gained privileges by being executed (set-user-ID, file capabilities).
pub(super) fn gained_privileges() -> bool {
    #[cfg(target_os = "linux")]
    // SAFETY: no memory is involved.
    return unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
    #[cfg(not(target_os = "linux"))]
    // SAFETY: no memory is involved.
    return unsafe { libc::issetugid() } != 0;
}

/// Closes every descriptor but `keep`. No type can say that none of them is owned any more.
pub(super) fn close_all_but(keep: &[RawFd]) {
    let mut keep: Vec<RawFd> = keep.to_vec();
    keep.sort_unstable();
    let mut first = 0;
    for fd in keep {
        if fd > first {
            close_range(first, fd - 1);
        }
        first = first.max(fd + 1);
    }
    close_range(first, RawFd::MAX);
}

#[cfg(target_os = "linux")]
fn close_range(first: RawFd, last: RawFd) {
    // The raw call, because old C libraries lack the function; a kernel before 5.9 lacks the call.
    // SAFETY: no memory is involved; no Rust value that owns one of these is used afterwards.
    if unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) } != 0 {
        close_each(first, last);
    }
}

#[cfg(not(target_os = "linux"))]
fn close_range(first: RawFd, last: RawFd) {
    close_each(first, last);
}

/// One more than the highest descriptor that is looked at.
fn open_max() -> RawFd {
    let most = unistd::sysconf(SysconfVar::OPEN_MAX).ok().flatten().unwrap_or(0).clamp(256, 65_536);
    RawFd::try_from(most).unwrap_or(256)
}

fn close_each(first: RawFd, last: RawFd) {
    for fd in first..=last.min(open_max()) {
        // SAFETY: no memory is involved; no Rust value that owns one of these is used afterwards.
        unsafe { libc::close(fd) };
    }
}

/// Has a child of this command leave its caller before it executes the program: a session of its own, lower priority, and no
/// descriptor above 2.
pub(super) fn prepare_detached(command: &mut std::process::Command, niceness: c_int) {
    use std::os::unix::process::CommandExt as _;
    let leave = move || {
        new_session();
        be_nice(niceness);
        close_on_exec_from(libc::STDERR_FILENO + 1);
        Ok(())
    };
    // SAFETY: between fork and exec nothing but system calls is made: the caller may have threads.
    unsafe { command.pre_exec(leave) };
}

/// Has descriptors from `first` on end with the program. A kernel before 5.11 lacks the call: what is not marked already is
/// then passed on.
#[cfg(target_os = "linux")]
fn close_on_exec_from(first: RawFd) {
    const CLOSE_RANGE_CLOEXEC: c_int = 4;
    // SAFETY: no memory is involved, and no descriptor is closed before exec.
    unsafe { libc::syscall(libc::SYS_close_range, first, RawFd::MAX, CLOSE_RANGE_CLOEXEC) };
}

/// Has descriptors from `first` on end with the program.
#[cfg(not(target_os = "linux"))]
fn close_on_exec_from(first: RawFd) {
    for fd in first..open_max() {
        // SAFETY: no memory is involved; of a descriptor that is not open the call says so.
        unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
}

/// Makes 0, 1 and 2 of a process that has closed them `/dev/null`.
pub(super) fn null_streams() {
    for _ in 0..3 {
        if let Ok(fd) = open(c"/dev/null", OFlag::O_RDWR) {
            if fd.as_raw_fd() > libc::STDERR_FILENO {
                return;
            }
            // Stays open over exec too: the programs of the recorder expect their three streams.
            let _ = fcntl(fd.as_raw_fd(), FcntlArg::F_SETFD(nix::fcntl::FdFlag::empty()));
            std::mem::forget(fd);
        }
    }
}
