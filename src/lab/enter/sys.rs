//! System calls that no crate here offers.

#![allow(
    unsafe_code,
    reason = "system calls without a safe form in `nix`; each is one call with its contract beside it"
)]

use std::ffi::CString;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use nix::libc;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

/// `mount_setattr`: read-only, no devices, no privileges of files, for a mount and all below it.
const MOUNT_ATTRIBUTES: u64 = 0x1 | 0x2 | 0x4;
/// Version 3 of the structures of `capset`.
const CAPABILITY_VERSION: u32 = 0x2008_0522;
/// A number that no capability has.
const CAPABILITIES_MAX: libc::c_ulong = 64;
/// Root is a user as any other, and stays so.
const SECURE_BITS: libc::c_ulong = 0x1 | 0x2 | 0x4 | 0x8 | 0x20 | 0x40 | 0x80;
/// `ioprio_set`: this process, in the class that only gets what no other one wants.
const IO_OF_PROCESS: libc::c_int = 1;
const IO_IDLE: libc::c_int = 3 << 13;
/// `keyctl`: a session keyring of its own, without a name.
const JOIN_SESSION_KEYRING: libc::c_int = 1;

/// Which process of a [`fork`] this is.
pub(super) enum ForkSide {
    /// The old one; the child's id.
    Parent(libc::pid_t),
    /// The new one.
    Child,
}

/// `fork`, which no crate can make safe.
pub(super) fn fork() -> io::Result<ForkSide> {
    // SAFETY: the process inside has one thread, so no lock can be held by another one.
    match check(unsafe { libc::fork() }.into())? {
        0 => Ok(ForkSide::Child),
        child => Ok(ForkSide::Parent(libc::pid_t::try_from(child).unwrap_or(-1))),
    }
}

/// `_exit`: nothing of this process runs in between.
pub(super) fn exit_now(code: i32) -> ! {
    // SAFETY: never returns.
    unsafe { libc::_exit(code) }
}

/// Makes a mount and all below it read-only, without devices and privileges of files.
pub(super) fn protect_mount(path: &Path) -> io::Result<()> {
    #[repr(C)]
    struct MountAttributes {
        set: u64,
        clear: u64,
        propagation: u64,
        user_namespace: u64,
    }
    let path = CString::new(path.as_os_str().as_bytes())?;
    let attributes = MountAttributes { set: MOUNT_ATTRIBUTES, clear: 0, propagation: 0, user_namespace: 0 };
    // SAFETY: the path is a C string and the structure has the size that is passed; both live until the call returns.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            libc::AT_RECURSIVE,
            &raw const attributes,
            size_of::<MountAttributes>(),
        )
    };
    check(result).map(drop)
}

/// Switches the loopback device on.
pub(super) fn start_loopback() -> io::Result<()> {
    let socket: OwnedFd = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
    // SAFETY: all zeroes are a valid value of it.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (place, byte) in request.ifr_name.iter_mut().zip(b"lo") {
        *place = byte.cast_signed();
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: the request is valid for reading.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw const request) }.into()).map(drop)
}

/// Gives up every capability. With `no_new_privs` no program that is executed gets one back.
pub(super) fn drop_capabilities() -> io::Result<()> {
    #[repr(C)]
    struct Header {
        version: u32,
        process: libc::c_int,
    }
    #[repr(C)]
    #[derive(Clone, Copy, Default)]
    struct Sets {
        effective: u32,
        permitted: u32,
        inheritable: u32,
    }
    // Without the right to do this (and with none to lose) the last call and `no_new_privs` do.
    // SAFETY: no memory is involved in any of these.
    unsafe {
        for capability in 0..CAPABILITIES_MAX {
            libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0);
        }
        libc::prctl(libc::PR_SET_SECUREBITS, SECURE_BITS, 0, 0, 0);
        libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL as libc::c_ulong, 0, 0, 0);
    }
    let header = Header { version: CAPABILITY_VERSION, process: 0 };
    let sets = [Sets::default(); 2];
    // SAFETY: version 3 reads two sets; both structures live until the call returns.
    check(unsafe { libc::syscall(libc::SYS_capset, &raw const header, sets.as_ptr()) }).map(drop)
}

/// Leaves the keys of the session behind. Without keys in the kernel there are none to leave.
pub(super) fn leave_keyring() {
    // SAFETY: no memory is involved: a null pointer asks for a keyring without a name.
    unsafe { libc::syscall(libc::SYS_keyctl, JOIN_SESSION_KEYRING, std::ptr::null::<libc::c_char>()) };
}

/// Runs before all others, if this user may: what has to be ended may leave no time for the one that ends it. Its children
/// do too, until [`be_ordinary`].
pub(super) fn be_prompt() {
    let mut parameters = zeroed_parameters();
    parameters.sched_priority = 1;
    // SAFETY: the parameters are valid for reading.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_RR, &raw const parameters) };
}

/// Runs as every program does.
pub(super) fn be_ordinary() {
    let parameters = zeroed_parameters();
    // SAFETY: the parameters are valid for reading.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_OTHER, &raw const parameters) };
}

/// Runs only when no other process wants the processor or the disk. What the kernel does not offer is not missed.
pub(super) fn be_idle() {
    let parameters = zeroed_parameters();
    // SAFETY: the parameters are valid for reading; the other call involves no memory.
    unsafe {
        libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const parameters);
        libc::syscall(libc::SYS_ioprio_set, IO_OF_PROCESS, 0, IO_IDLE);
    }
}

fn zeroed_parameters() -> libc::sched_param {
    // SAFETY: all zeroes are a valid value of it; musl has further fields.
    unsafe { std::mem::zeroed() }
}

/// Closes every descriptor above the standard streams: what the process outside was given by others is not for this one.
pub(super) fn close_inherited() {
    // SAFETY: no memory is involved, and no Rust value owns one of them yet.
    unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) };
}

/// Writes to a file of the kernel's, which takes a text as a whole.
pub(super) fn tell_kernel(file: &str, text: &str) -> io::Result<()> {
    OpenOptions::new().write(true).open(file)?.write_all(text.as_bytes())
}

/// The version of Landlock that the kernel has; 0 without it.
pub(super) fn landlock_version() -> i32 {
    const VERSION: libc::c_uint = 1;
    // SAFETY: with this flag the kernel reads no memory: it answers with a number.
    let version = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0_usize, VERSION) };
    i32::try_from(version).unwrap_or(0).max(0)
}

fn check(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
