//! Keys for a program that asks the half terminal for them.
//!
//! A pager whose input is a pipe reads keys from the terminal behind its standard error, which it opens by its name
//! (`ttyname(3)`; less does): that is verify-run's half, where no one types. Once such a program has switched the
//! terminal to single keys, what is typed is passed on to it, until it switches back or is gone. Programs that read
//! from the real terminal, as nearly all do, never come here: only who opened the half by name, for reading alone, is
//! looked for.

use std::fs;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;
use nix::libc;
use nix::unistd::{getpgrp, tcgetpgrp};

use super::{pty, sys};

/// Keys that are passed on at a time; also pasted text.
const KEYS_BYTES: usize = 1024;

/// A program that waits for keys on the half terminal.
pub(super) struct TerminalKeys {
    /// The descriptor that it reads from, in `/proc`.
    reader: PathBuf,
    /// The name of the half terminal.
    half: PathBuf,
    master: OwnedFd,
    /// The real terminal, opened for us alone.
    real: OwnedFd,
}

impl TerminalKeys {
    /// Looks for the program that has opened the half terminal behind `master` for reading. `None` when there is none,
    /// or no `/proc`, or the real terminal can't be read.
    pub(super) fn sought(master: &OwnedFd, real: RawFd) -> Option<Self> {
        let half = pty::name(master)?;
        let reader = processes().find_map(|process| reading(&process, &half))?;
        let flags = OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
        let real = sys::open(&std::ffi::CString::new(format!("/dev/fd/{real}")).ok()?, flags).ok()?;
        Some(TerminalKeys { reader, half, master: master.try_clone().ok()?, real })
    }

    /// What to wait for: something was typed.
    pub(super) fn fd(&self) -> RawFd {
        self.real.as_raw_fd()
    }

    /// Passes on what was typed. False when no program reads it any more: it is left for who reads the real terminal.
    pub(super) fn pass_on(&self) -> bool {
        let in_front = tcgetpgrp(&self.real).is_ok_and(|group| group == getpgrp());
        let is_asked =
            pty::takes_single_keys(&self.master) && fs::read_link(&self.reader).is_ok_and(|it| it == self.half);
        if !in_front || !is_asked {
            return false;
        }
        let mut keys = [0; KEYS_BYTES];
        match sys::read(self.fd(), &mut keys) {
            // Who has that much typed and unread drops the rest, as a terminal does.
            Ok(count @ 1..) => sys::write(self.master.as_raw_fd(), &keys[..count]).is_ok(),
            Ok(0) => false,
            Err(error) => error.kind() == std::io::ErrorKind::WouldBlock,
        }
    }
}

fn processes() -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| path.file_name().is_some_and(|name| name.as_encoded_bytes()[0].is_ascii_digit()))
}

/// The descriptor by which a process reads `half`, opened by that process: what it inherited is open for writing,
/// too.
fn reading(process: &Path, half: &Path) -> Option<PathBuf> {
    let mut descriptors = fs::read_dir(process.join("fd")).ok()?.flatten().map(|entry| entry.path());
    descriptors.find(|descriptor| {
        let only_reads = || {
            let number = descriptor.file_name().unwrap_or_default();
            let info = fs::read_to_string(process.join("fdinfo").join(number)).unwrap_or_default();
            let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
            let flags = flags.and_then(|flags| libc::c_int::from_str_radix(flags.trim(), 8).ok());
            flags.is_some_and(|flags| flags & libc::O_ACCMODE == libc::O_RDONLY)
        };
        fs::read_link(descriptor).is_ok_and(|target| target == half) && only_reads()
    })
}
