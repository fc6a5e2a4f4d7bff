//! The half pseudo-terminal: fd 1 and 2 of the command are verify-run's terminal, everything else stays the real one.
//!
//! It is not a controlling terminal, so keys, job control, /dev/tty, type-ahead and the line discipline stay with the
//! kernel, and the real terminal's settings are never ours to restore.
//!
//! Output processing has to happen once. With the usual settings (a newline becomes CR LF) ours does it, so that the
//! command sees the settings it would have seen, the relay takes the CR out again ([`undo_onlcr`]), and the real
//! terminal puts it in. With any other settings ours has its processing off.
#![allow(unsafe_code, reason = "terminal ioctls on settings in the kernel's own form")]

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::PathBuf;

use nix::fcntl::OFlag;
use nix::libc;

use super::sys;

/// What was last seen of the terminal that the command writes to.
pub(super) struct Terminal {
    settings: libc::termios,
    /// Its output processing is that of the real one, to be undone; else it is off.
    processes: bool,
    /// The command has switched it to single keys since the last query.
    switched: bool,
}

/// Opens a half terminal that looks like `real`: (its state, our end, the command's end).
///
/// # Errors
/// When `real` is no terminal, or none is to be had.
pub(super) fn open(real: RawFd) -> io::Result<(Terminal, OwnedFd, OwnedFd)> {
    let mut settings = settings_of(real)?;
    let processes = settings.c_oflag == libc::OPOST | libc::ONLCR;
    if !processes {
        settings.c_oflag &= !libc::OPOST;
    }
    let (master, slave) = open_pair()?;
    // SAFETY: the settings are only read.
    sys::check(unsafe { libc::tcsetattr(slave.as_raw_fd(), libc::TCSANOW, &raw const settings) })?;
    if let Some(size) = size_of_window(real) {
        set_size(slave.as_raw_fd(), &size);
    }
    Ok((Terminal { settings, processes, switched: false }, master, slave))
}

#[cfg(target_os = "linux")]
fn open_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let master = sys::open(c"/dev/ptmx", OFlag::O_RDWR | OFlag::O_NOCTTY | OFlag::O_NONBLOCK)?;
    let unlocked: libc::c_int = 0;
    // SAFETY: reads one integer. The peer is opened by descriptor, so /dev/pts need not be mounted here.
    let slave = unsafe {
        sys::check(libc::ioctl(master.as_raw_fd(), libc::TIOCSPTLCK, &raw const unlocked))?;
        sys::check(libc::ioctl(master.as_raw_fd(), libc::TIOCGPTPEER, libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC))?
    };
    // SAFETY: the descriptor was just returned to us.
    Ok((master, unsafe { std::os::fd::FromRawFd::from_raw_fd(slave) }))
}

#[cfg(not(target_os = "linux"))]
fn open_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    use nix::fcntl::FcntlArg;

    let pair = nix::pty::openpty(None, None)?;
    for end in [&pair.master, &pair.slave] {
        nix::fcntl::fcntl(end, FcntlArg::F_SETFD(nix::fcntl::FdFlag::FD_CLOEXEC))?;
    }
    nix::fcntl::fcntl(&pair.master, FcntlArg::F_SETFL(OFlag::O_RDWR | OFlag::O_NONBLOCK))?;
    Ok((pair.master, pair.slave))
}

impl Terminal {
    /// Carries settings that the command changed through its end over to the real terminal, bit by bit, so that
    /// programs which set up the terminal through fd 1 work. Before what was read is written, so that it meets the
    /// settings under which [`undo_onlcr`] takes it.
    pub(super) fn mirror(&mut self, master: &OwnedFd, real: RawFd) {
        let Ok(now) = settings_of(master.as_raw_fd()) else { return };
        let before = std::mem::replace(&mut self.settings, now);
        if same(&before, &now) {
            return;
        }
        self.switched |= before.c_lflag & !now.c_lflag & libc::ICANON != 0;
        let Ok(mut target) = settings_of(real) else { return };
        let merge = |target: libc::tcflag_t, before: libc::tcflag_t, now: libc::tcflag_t| {
            let changed = before ^ now;
            (target & !changed) | (now & changed)
        };
        target.c_iflag = merge(target.c_iflag, before.c_iflag, now.c_iflag);
        let carried = if self.processes { !0 } else { !libc::OPOST };
        target.c_oflag = merge(target.c_oflag, before.c_oflag & carried, now.c_oflag & carried);
        target.c_cflag = merge(target.c_cflag, before.c_cflag, now.c_cflag);
        target.c_lflag = merge(target.c_lflag, before.c_lflag, now.c_lflag);
        for (index, key) in target.c_cc.iter_mut().enumerate() {
            if before.c_cc[index] != now.c_cc[index] {
                *key = now.c_cc[index];
            }
        }
        // SAFETY: the settings are only read.
        unsafe { libc::tcsetattr(real, libc::TCSANOW, &raw const target) };
    }

    /// Whether the command has switched the terminal to single keys since the last call.
    pub(super) fn take_switched(&mut self) -> bool {
        std::mem::take(&mut self.switched)
    }

    /// Whether a CR before a newline is the processing's and has to be taken out.
    pub(super) fn undoes(&self) -> bool {
        let both = libc::OPOST | libc::ONLCR;
        self.processes && self.settings.c_oflag & both == both
    }

    /// Gives the half terminal the real one's size; whether it had another.
    pub(super) fn follow_size(&self, master: &OwnedFd, real: RawFd) -> bool {
        let (Some(now), Some(before)) = (size_of_window(real), size_of_window(master.as_raw_fd())) else {
            return false;
        };
        let same = (now.ws_row, now.ws_col, now.ws_xpixel, now.ws_ypixel)
            == (before.ws_row, before.ws_col, before.ws_xpixel, before.ws_ypixel);
        if !same {
            set_size(master.as_raw_fd(), &now);
        }
        !same
    }
}

/// Takes one CR before every newline out of `bytes`, in place; the new length.
///
/// The exact inverse of ONLCR, which puts one before every newline, whatever else is there.
pub(super) fn undo_onlcr(bytes: &mut [u8]) -> usize {
    let (mut from, mut to) = (0, 0);
    while let Some(newline) = memchr::memchr(b'\n', &bytes[from..]).map(|at| from + at) {
        let end = if newline > from && bytes[newline - 1] == b'\r' { newline - 1 } else { newline };
        bytes.copy_within(from..end, to);
        to += end - from;
        bytes[to] = b'\n';
        to += 1;
        from = newline + 1;
    }
    bytes.copy_within(from.., to);
    to + bytes.len() - from
}

/// Whether the descriptor is a terminal.
pub(super) fn is_terminal(fd: RawFd) -> bool {
    settings_of(fd).is_ok()
}

/// Whether who reads the half terminal gets every key at once, instead of lines.
pub(super) fn takes_single_keys(master: &OwnedFd) -> bool {
    settings_of(master.as_raw_fd()).is_ok_and(|settings| settings.c_lflag & libc::ICANON == 0)
}

/// The name of the half terminal, as the command sees it; `None` where it has none.
pub(super) fn name(master: &OwnedFd) -> Option<PathBuf> {
    #[cfg(target_os = "linux")]
    {
        let mut number: libc::c_uint = 0;
        // SAFETY: writes one unsigned integer.
        let known = unsafe { libc::ioctl(master.as_raw_fd(), libc::TIOCGPTN, &raw mut number) } == 0;
        known.then(|| PathBuf::from(format!("/dev/pts/{number}")))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = master;
        None
    }
}

/// The terminal behind a descriptor: `/dev/tty` and the device it represents are the same one.
pub(super) fn device(fd: RawFd, stat: &libc::stat) -> u64 {
    #[cfg(target_os = "linux")]
    {
        let mut device: libc::c_uint = 0;
        // SAFETY: writes one unsigned integer.
        if unsafe { libc::ioctl(fd, libc::TIOCGDEV, &raw mut device) } == 0 {
            return u64::from(device);
        }
    }
    let _ = fd;
    #[allow(clippy::unnecessary_cast, clippy::cast_sign_loss, reason = "dev_t has other types on other systems")]
    return stat.st_rdev as u64;
}

fn settings_of(fd: RawFd) -> io::Result<libc::termios> {
    let mut settings = MaybeUninit::zeroed();
    // SAFETY: `settings` is ours to write; zeroes are a valid value.
    unsafe {
        sys::check(libc::tcgetattr(fd, settings.as_mut_ptr()))?;
        Ok(settings.assume_init())
    }
}

fn same(a: &libc::termios, b: &libc::termios) -> bool {
    (a.c_iflag, a.c_oflag, a.c_cflag, a.c_lflag, a.c_cc) == (b.c_iflag, b.c_oflag, b.c_cflag, b.c_lflag, b.c_cc)
}

/// Columns of the terminal that standard output is; `None` of anything else, and where it doesn't say.
pub fn columns() -> Option<usize> {
    size_of_window(libc::STDOUT_FILENO).map(|size| usize::from(size.ws_col)).filter(|&columns| columns > 0)
}

fn size_of_window(fd: RawFd) -> Option<libc::winsize> {
    let mut size = MaybeUninit::zeroed();
    // SAFETY: `size` is ours to write; zeroes are a valid value.
    unsafe { (libc::ioctl(fd, libc::TIOCGWINSZ, size.as_mut_ptr()) == 0).then(|| size.assume_init()) }
}

fn set_size(fd: RawFd, size: &libc::winsize) {
    // SAFETY: the size is only read.
    unsafe { libc::ioctl(fd, libc::TIOCSWINSZ, std::ptr::from_ref(size)) };
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::undo_onlcr;

    proptest! {
        #[test]
        fn what_onlcr_did_is_undone(text in "[a\r\n]{0,40}") {
            let mut processed = text.replace('\n', "\r\n").into_bytes();
            let length = undo_onlcr(&mut processed);
            prop_assert_eq!(&processed[..length], text.as_bytes());
        }
    }
}
