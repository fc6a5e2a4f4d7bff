//! System calls in the exact form that the wrapper needs. Every `unsafe` of a plain call is here.
#![allow(unsafe_code, reason = "thin safe functions over libc, each call with its reason")]

use std::ffi::{CStr, c_int};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use nix::libc;

/// Turns the -1 of a system call into its error.
pub(super) fn check(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn check_size(result: isize) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

/// What a file is, through links.
pub(super) fn stat_file(path: &CStr) -> io::Result<libc::stat> {
    let mut stat = MaybeUninit::uninit();
    // SAFETY: `path` is a C string; `stat` is valid for writing one `struct stat`, and read only after the call filled it.
    check(unsafe { libc::stat(path.as_ptr(), stat.as_mut_ptr()) }).map(|_| unsafe { stat.assume_init() })
}

/// Whether this process may execute the file.
pub(super) fn may_execute(path: &CStr) -> bool {
    // SAFETY: `path` is a C string.
    unsafe { libc::access(path.as_ptr(), libc::X_OK) == 0 }
}

/// Owns a descriptor that a call just returned.
fn owned(fd: c_int) -> OwnedFd {
    // SAFETY: `fd` was just returned to us by the kernel and nothing else closes it.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

/// `fstat`; `None` when the descriptor is closed.
pub(super) fn stat(fd: RawFd) -> Option<libc::stat> {
    let mut stat = MaybeUninit::uninit();
    // SAFETY: `stat` is valid for writing one `struct stat`, and is read only after the call filled it.
    unsafe { (libc::fstat(fd, stat.as_mut_ptr()) == 0).then(|| stat.assume_init()) }
}

/// `fcntl` with an integer argument.
pub(super) fn fcntl(fd: RawFd, command: c_int, argument: c_int) -> io::Result<c_int> {
    // SAFETY: the commands used take an integer and touch no memory of this process.
    check(unsafe { libc::fcntl(fd, command, argument) })
}

/// A pipe, both ends closed on exec: (read end, write end).
pub(super) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    #[cfg(target_os = "linux")]
    // SAFETY: `ends` has room for two descriptors.
    check(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) })?;
    #[cfg(not(target_os = "linux"))]
    {
        // SAFETY: `ends` has room for two descriptors.
        check(unsafe { libc::pipe(ends.as_mut_ptr()) })?;
        for end in ends {
            fcntl(end, libc::F_SETFD, libc::FD_CLOEXEC)?;
        }
    }
    Ok((owned(ends[0]), owned(ends[1])))
}

/// A pair of connected Unix stream sockets, closed on exec.
pub(super) fn socket_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    #[cfg(target_os = "linux")]
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
    #[cfg(not(target_os = "linux"))]
    let kind = libc::SOCK_STREAM;
    // SAFETY: `ends` has room for two descriptors.
    check(unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()) })?;
    #[cfg(not(target_os = "linux"))]
    for end in ends {
        fcntl(end, libc::F_SETFD, libc::FD_CLOEXEC)?;
    }
    Ok((owned(ends[0]), owned(ends[1])))
}

/// An integer socket option of level `SOL_SOCKET`.
pub(super) fn socket_option(fd: RawFd, name: c_int) -> io::Result<c_int> {
    let mut value: c_int = 0;
    let mut length = size_of::<c_int>() as libc::socklen_t;
    // SAFETY: `value` and `length` describe one integer that is ours to write.
    check(unsafe { libc::getsockopt(fd, libc::SOL_SOCKET, name, (&raw mut value).cast(), &raw mut length) })?;
    Ok(value)
}

/// Whether a socket belongs to the Unix family.
pub(super) fn is_unix_socket(fd: RawFd) -> bool {
    let mut address = MaybeUninit::<libc::sockaddr_storage>::zeroed();
    let mut length = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
    // SAFETY: `address` has the length that is given, and zeroes are a valid `sockaddr_storage`.
    unsafe {
        libc::getsockname(fd, address.as_mut_ptr().cast(), &raw mut length) == 0
            && c_int::from(address.assume_init().ss_family) == libc::AF_UNIX
    }
}

/// Opens `path`, closed on exec.
pub(super) fn open(path: &CStr, flags: c_int) -> io::Result<OwnedFd> {
    // SAFETY: `path` is a C string; without O_CREAT no mode is read.
    check(unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC) }).map(owned)
}

/// Opens the regular file `path` for reading and writing, closed on exec, never through a link. It is made where it
/// isn't there, for its owner alone.
pub(super) fn open_own(path: &CStr) -> io::Result<OwnedFd> {
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC;
    // SAFETY: `path` is a C string; the mode is an integer, as O_CREAT asks.
    let file = check(unsafe { libc::open(path.as_ptr(), flags, 0o600) }).map(owned)?;
    let found = stat(file.as_raw_fd()).ok_or_else(io::Error::last_os_error)?;
    // SAFETY: no memory is involved.
    let is_own = found.st_mode & libc::S_IFMT == libc::S_IFREG && found.st_uid == unsafe { libc::geteuid() };
    if is_own { Ok(file) } else { Err(io::Error::from_raw_os_error(libc::EPERM)) }
}

/// `read`, once.
pub(super) fn read(fd: RawFd, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the buffer is valid for its length.
    check_size(unsafe { libc::read(fd, buffer.as_mut_ptr().cast(), buffer.len()) })
}

/// `pread`, once.
pub(super) fn read_at(fd: RawFd, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let offset = libc::off_t::try_from(offset).map_err(io::Error::other)?;
    // SAFETY: the buffer is valid for its length.
    check_size(unsafe { libc::pread(fd, buffer.as_mut_ptr().cast(), buffer.len(), offset) })
}

/// `pwrite`, once.
pub(super) fn write_at(fd: RawFd, bytes: &[u8], offset: u64) -> io::Result<usize> {
    let offset = libc::off_t::try_from(offset).map_err(io::Error::other)?;
    // SAFETY: the bytes are valid for their length.
    check_size(unsafe { libc::pwrite(fd, bytes.as_ptr().cast(), bytes.len(), offset) })
}

/// `write`, once.
pub(super) fn write(fd: RawFd, bytes: &[u8]) -> io::Result<usize> {
    // SAFETY: the bytes are valid for their length.
    check_size(unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) })
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

/// Writes to a pipe without blocking and without touching its flags, which its other users share.
#[cfg(target_os = "linux")]
pub(super) fn write_nowait(fd: RawFd, bytes: &[u8]) -> io::Result<usize> {
    let vector = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    // SAFETY: one vector over bytes that are only read; an offset of -1 means the current position.
    check_size(unsafe { libc::pwritev2(fd, &raw const vector, 1, -1, libc::RWF_NOWAIT) })
}

/// There is no such call here; the caller takes another way.
#[cfg(not(target_os = "linux"))]
pub(super) fn write_nowait(_fd: RawFd, _bytes: &[u8]) -> io::Result<usize> {
    Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP))
}

/// Sends to a socket without blocking and without SIGPIPE.
pub(super) fn send_nowait(fd: RawFd, bytes: &[u8]) -> io::Result<usize> {
    // SAFETY: the bytes are valid for their length.
    check_size(unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) })
}

/// `lseek` to where the descriptor is.
pub(super) fn position(fd: RawFd) -> Option<u64> {
    // SAFETY: no memory is involved.
    u64::try_from(unsafe { libc::lseek(fd, 0, libc::SEEK_CUR) }).ok()
}

/// Whether a descriptor is open, and not one that an exec closes.
pub(super) fn stays_open_on_exec(fd: RawFd) -> bool {
    // SAFETY: no memory is involved.
    unsafe { libc::fcntl(fd, libc::F_GETFD) == 0 }
}

/// `poll`; interruption reads as "nothing yet". `timeout` in milliseconds, -1 waits.
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

/// `fork`. The process has one thread, so the child may do everything.
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

/// `dup2`: the copy stays open over exec.
pub(super) fn duplicate_onto(fd: RawFd, target: RawFd) -> io::Result<()> {
    // SAFETY: no memory is involved; a descriptor that is replaced is not owned by a Rust value.
    check(unsafe { libc::dup2(fd, target) }).map(drop)
}

/// `_exit`: no handler and no buffer of this process runs in between.
pub(super) fn exit_now(code: c_int) -> ! {
    // SAFETY: never returns.
    unsafe { libc::_exit(code) }
}

/// `kill`; errors mean that the process is gone, which the caller learns elsewhere.
pub(super) fn kill(pid: libc::pid_t, signal: c_int) {
    // SAFETY: no memory is involved.
    unsafe { libc::kill(pid, signal) };
}

/// A new session without a terminal.
pub(super) fn new_session() {
    // SAFETY: no memory is involved; it fails only for a group leader, which a fresh child is not.
    unsafe { libc::setsid() };
}

/// `chdir("/")`, so that no caller's folder is kept busy.
pub(super) fn leave_folder() {
    // SAFETY: a constant C string.
    unsafe { libc::chdir(c"/".as_ptr()) };
}

/// Lowers the priority by `by`.
pub(super) fn be_nice(by: c_int) {
    // SAFETY: no memory is involved.
    unsafe { libc::nice(by) };
}

/// This process's id.
pub(super) fn own_id() -> libc::pid_t {
    // SAFETY: no memory is involved; cannot fail.
    unsafe { libc::getpid() }
}

/// The parent's id, 0 when it is in another PID namespace.
pub(super) fn parent_id() -> libc::pid_t {
    // SAFETY: no memory is involved; cannot fail.
    unsafe { libc::getppid() }
}

/// This process's session.
pub(super) fn own_session() -> libc::pid_t {
    // SAFETY: no memory is involved; cannot fail for oneself.
    unsafe { libc::getsid(0) }
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
    // SAFETY: a null status is allowed.
    while unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) } < 0
        && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
    {}
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
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the limit is only read.
    unsafe { libc::setrlimit(libc::RLIMIT_CORE, &raw const none) };
    #[cfg(target_os = "linux")]
    // SAFETY: no memory is involved. (A core pattern that is a pipe ignores the limit.)
    unsafe {
        libc::prctl(libc::PR_SET_DUMPABLE, 0)
    };
}

/// Names this process in `/proc/PID/stat`; at most 15 bytes count.
#[cfg(target_os = "linux")]
pub(super) fn name_process(name: &CStr) {
    // SAFETY: the kernel reads at most 16 bytes of a C string.
    unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) };
}

/// The kernel has no such name here.
#[cfg(not(target_os = "linux"))]
pub(super) fn name_process(_name: &CStr) {}

/// Lets the kernel kill this process when its parent (thread) dies.
#[cfg(target_os = "linux")]
pub(super) fn die_with_parent() {
    // SAFETY: no memory is involved.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
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

/// Closes every descriptor but `keep`.
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

fn close_each(first: RawFd, last: RawFd) {
    // SAFETY: no memory is involved; no Rust value that owns one of these is used afterwards.
    let most = unsafe { libc::sysconf(libc::_SC_OPEN_MAX) }.clamp(256, 65_536);
    for fd in first..=last.min(RawFd::try_from(most).unwrap_or(256)) {
        // SAFETY: as above.
        unsafe { libc::close(fd) };
    }
}

/// Makes 0, 1 and 2 of a process that has closed them `/dev/null`.
pub(super) fn null_streams() {
    for _ in 0..3 {
        if let Ok(fd) = open(c"/dev/null", libc::O_RDWR) {
            if fd.as_raw_fd() > libc::STDERR_FILENO {
                return;
            }
            // Stays open over exec too: the programs of the recorder expect their three streams.
            let _ = fcntl(fd.as_raw_fd(), libc::F_SETFD, 0);
            std::mem::forget(fd);
        }
    }
}
