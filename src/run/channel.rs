//! One relayed stream: from verify-run's end of the object that the command writes to, to the descriptor that the
//! command would have had.

use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use nix::fcntl::OFlag;
use nix::libc;

use super::keys::TerminalKeys;
use super::pty::{self, Terminal};
use super::sys;
use super::transcript::Transcript;

/// Bytes that are never torn apart by other writers of a pipe. POSIX only promises 512, and macOS means it.
#[cfg(target_os = "linux")]
const ATOMIC_BYTES: usize = 4096;
/// Bytes that are never torn apart by other writers of a pipe.
#[cfg(not(target_os = "linux"))]
const ATOMIC_BYTES: usize = 512;
/// Bytes in flight per stream; also the usual capacity of a pipe.
pub(super) const BLOCK_BYTES: usize = 64 << 10;
/// What a channel may still hold for us when the command has ended: no pipe or socket of an ordinary user is larger.
const OWED_BYTES_MAX: usize = 1 << 20;

/// How to write to the outer descriptor without waiting in the call.
enum WriteMethod {
    /// `pwritev2(RWF_NOWAIT)`.
    Pipe,
    /// `send(MSG_DONTWAIT)`.
    Socket,
    /// A description of our own, opened non-blocking.
    Private(OwnedFd),
    /// None is to be had: a write after `poll` said that there is room, of a size that then fits.
    Waiting,
}

/// What the stream is made of.
pub(super) enum ChannelKind {
    /// A pipe or FIFO; the inner one's capacity in bytes.
    Pipe(usize),
    /// A Unix stream socket.
    Socket,
    /// A half pseudo-terminal.
    Terminal(Terminal),
}

/// A stream on its way from the command to the caller.
pub(super) struct Channel {
    /// Our end; `None` once the stream has ended or its reader is gone.
    inner: Option<OwnedFd>,
    /// The caller's descriptor, as it was inherited.
    outer: RawFd,
    kind: ChannelKind,
    way: WriteMethod,
    /// What was read and not written yet lies at `start..end`.
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    /// The last read took everything that was there, so what is pending ends where a write of the command ended.
    whole: bool,
    /// Pending is made of full pages of the inner pipe, whose borders no atomic write crosses.
    pages: bool,
    /// Bytes still to be read since the command has ended; then the rest belongs to `linger`.
    owed: Option<usize>,
    /// The caller closed its end while the command could still write.
    lost: bool,
}

/// What a look at the outer descriptor means.
const GONE: i16 = libc::POLLERR | libc::POLLHUP | libc::POLLNVAL;

impl Channel {
    /// A channel from `inner`, our end, to the inherited descriptor `outer`.
    pub(super) fn new(inner: OwnedFd, outer: RawFd, kind: ChannelKind) -> Self {
        let way = match kind {
            ChannelKind::Pipe(_) => WriteMethod::Pipe,
            ChannelKind::Socket => WriteMethod::Socket,
            ChannelKind::Terminal(_) => private(outer),
        };
        let buffer = vec![0; BLOCK_BYTES].into_boxed_slice();
        Channel {
            inner: Some(inner),
            outer,
            kind,
            way,
            buffer,
            start: 0,
            end: 0,
            whole: true,
            pages: false,
            owed: None,
            lost: false,
        }
    }

    /// Whether the caller stopped reading before the end of the stream.
    pub(super) fn has_lost_reader(&self) -> bool {
        self.lost
    }

    /// Gives a half terminal the real one's size; whether that was a change.
    pub(super) fn follow_size(&mut self) -> bool {
        match (&self.kind, &self.inner) {
            (ChannelKind::Terminal(terminal), Some(master)) => terminal.follow_size(master, self.outer),
            _ => false,
        }
    }

    /// A program that has begun to wait for keys on the half terminal.
    pub(super) fn keys_sought(&mut self) -> Option<TerminalKeys> {
        let (ChannelKind::Terminal(terminal), Some(master)) = (&mut self.kind, &self.inner) else { return None };
        if terminal.take_switched() { TerminalKeys::sought(master, self.outer) } else { None }
    }

    /// Of a terminal, after a read of `count` bytes: takes output processing out of the block. One that ends with a
    /// CR holds it back for the newline that may follow. The part that is new, without what is held; `None` when
    /// this is no terminal.
    fn undo(&mut self, count: usize) -> Option<Range<usize>> {
        self.mirror();
        let ChannelKind::Terminal(terminal) = &self.kind else { return None };
        self.whole = true;
        if terminal.undoes() {
            self.end = pty::undo_onlcr(&mut self.buffer[..self.end]);
            self.whole = count == 0 || self.buffer[self.end - 1] != b'\r';
        }
        Some(0..self.end - usize::from(!self.whole))
    }

    fn mirror(&mut self) {
        if let (ChannelKind::Terminal(terminal), Some(master)) = (&mut self.kind, &self.inner) {
            terminal.mirror(master, self.outer);
        }
    }

    /// Descriptors that a process which takes the relay over needs.
    pub(super) fn fds(&self) -> Vec<RawFd> {
        let private = if let WriteMethod::Private(fd) = &self.way { Some(fd.as_raw_fd()) } else { None };
        self.inner.iter().map(AsRawFd::as_raw_fd).chain([self.outer]).chain(private).collect()
    }

    /// Nothing will come any more and nothing is left to write.
    pub(super) fn is_finished(&self) -> bool {
        self.inner.is_none() && self.pending().is_empty()
    }

    /// The stream is open: a process holds the other end.
    pub(super) fn is_open(&self) -> bool {
        self.inner.is_some()
    }

    /// Everything that the command itself wrote is with the caller.
    pub(super) fn is_drained(&self) -> bool {
        self.pending().is_empty() && (self.inner.is_none() || self.owed == Some(0))
    }

    /// The command has ended: from here on only what it has left in the channel is ours to deliver.
    pub(super) fn command_ended(&mut self) {
        self.owed = Some(OWED_BYTES_MAX);
        self.mirror();
    }

    /// A descendant goes on: relay until the last writer is gone.
    pub(super) fn outlive(&mut self) {
        self.owed = None;
    }

    /// The two entries for `poll`: inner and outer. A descriptor that is not to be looked at is -1.
    pub(super) fn watches(&self) -> [libc::pollfd; 2] {
        let inner = match &self.inner {
            Some(fd) if self.wants_input() => fd.as_raw_fd(),
            _ => -1,
        };
        let blocked = self.next_write() > 0;
        let outer = if self.inner.is_some() || blocked { self.outer } else { -1 };
        [sys::watch(inner, libc::POLLIN), sys::watch(outer, if blocked { libc::POLLOUT } else { 0 })]
    }

    /// Acts on what `poll` said about [`Channel::watches`].
    pub(super) fn turn(&mut self, inner: i16, outer: i16, transcript: &mut Transcript) {
        // Room is reported together with an error when both are so; the error decides.
        if outer & GONE != 0 {
            self.reader_gone();
            return;
        }
        if outer & libc::POLLOUT != 0 {
            self.write();
        }
        if (inner != 0 || self.holds()) && self.wants_input() {
            self.read(transcript);
            self.write();
        }
    }

    /// After the command's end: reads what is left without waiting for more.
    pub(super) fn drain(&mut self, transcript: &mut Transcript) {
        while self.owed.is_some_and(|owed| owed > 0) && self.inner.is_some() && self.wants_input() {
            self.read(transcript);
            self.write();
        }
    }

    /// The beginning of a line is kept back for its rest, so the inner end has to be read again without waiting.
    pub(super) fn holds(&self) -> bool {
        self.start < self.end && self.wants_input()
    }

    fn pending(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// All is written, but for the beginning of a line whose rest is still in the pipe.
    fn wants_input(&self) -> bool {
        self.inner.is_some() && self.owed != Some(0) && self.next_write() == 0
    }

    fn read(&mut self, transcript: &mut Transcript) {
        let Some(inner) = &self.inner else { return };
        let held = self.end - self.start;
        self.buffer.copy_within(self.start..self.end, 0);
        let result = sys::read(inner.as_raw_fd(), &mut self.buffer[held..]);
        let count = *result.as_ref().unwrap_or(&0);
        (self.start, self.end) = (0, held + count);
        self.whole = self.end < BLOCK_BYTES;
        let fresh = self.undo(count).unwrap_or(held..self.end);
        transcript.append(&self.buffer[fresh]);
        self.pages = held == 0 && count == BLOCK_BYTES && matches!(self.kind, ChannelKind::Pipe(BLOCK_BYTES));
        if let Some(owed) = &mut self.owed {
            *owed = owed.saturating_sub(count);
        }
        match result {
            Ok(1..) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                // The command is gone and its channel is empty.
                self.owed = self.owed.map(|_| 0);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // The end; a terminal reports it as an error.
            Ok(0) | Err(_) => self.inner = None,
        }
    }

    /// Writes as much as the outer descriptor takes now.
    fn write(&mut self) {
        loop {
            let count = self.next_write();
            if count == 0 {
                break;
            }
            let bytes = &self.buffer[self.start..self.start + count];
            let result = match &self.way {
                WriteMethod::Pipe => sys::write_nowait(self.outer, bytes),
                WriteMethod::Socket => sys::send_nowait(self.outer, bytes),
                WriteMethod::Private(fd) => sys::write(fd.as_raw_fd(), bytes),
                WriteMethod::Waiting if has_room(self.outer) => sys::write(self.outer, bytes),
                WriteMethod::Waiting => break,
            };
            match result {
                Ok(written) => self.start += written,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if matches!(self.way, WriteMethod::Pipe) && cannot_nowait(&error) => {
                    self.way = private(self.outer)
                }
                Err(_) => return self.reader_gone(),
            }
        }
    }

    fn next_write(&self) -> usize {
        let pending = self.pending();
        let at_end = self.whole || self.inner.is_none() || self.owed == Some(0);
        match (&self.kind, &self.way) {
            (ChannelKind::Terminal(_), way) => {
                let ready = if at_end { pending } else { pending.strip_suffix(b"\r").unwrap_or(pending) };
                if matches!(way, WriteMethod::Waiting) { ready.len().min(ATOMIC_BYTES) } else { ready.len() }
            }
            // More than an atomic write could wait in the call.
            (_, WriteMethod::Waiting) => line_cut(pending, at_end).min(ATOMIC_BYTES),
            _ if self.pages => pending.len(),
            _ => line_cut(pending, at_end),
        }
    }

    /// The caller closed its end: so do we, at once, and the command's next write fails as it would have bare.
    fn reader_gone(&mut self) {
        self.lost |= self.inner.is_some() || !self.pending().is_empty();
        self.inner = None;
        self.start = self.end;
    }
}

/// Length of the next write to something that other processes write to as well: at most [`ATOMIC_BYTES`], so that it
/// is not torn, and up to the end of a line, so that no other text gets into one. A longer line is written alone in
/// one piece: it was never whole.
///
/// 0 asks for more input: `pending` is the beginning of a line and (not `at_end`) its rest is already there.
fn line_cut(pending: &[u8], at_end: bool) -> usize {
    if at_end && pending.len() <= ATOMIC_BYTES {
        return pending.len();
    }
    let (window, beyond) = pending.split_at(pending.len().min(ATOMIC_BYTES));
    match memchr::memrchr(b'\n', window) {
        Some(newline) => newline + 1,
        None if window.len() == ATOMIC_BYTES => {
            memchr::memchr(b'\n', beyond).map_or(pending.len(), |newline| ATOMIC_BYTES + newline + 1)
        }
        None => 0,
    }
}

/// A description of our own for the same terminal or pipe: only its flags are ours to set.
fn private(outer: RawFd) -> WriteMethod {
    let path = std::ffi::CString::new(format!("/dev/fd/{outer}")).unwrap_or_default();
    match sys::open(&path, OFlag::O_WRONLY | OFlag::O_NONBLOCK | OFlag::O_NOCTTY) {
        // On macOS /dev/fd hands out the same description: its flags are not ours, and O_NONBLOCK was not set.
        Ok(fd) if cfg!(target_os = "linux") => WriteMethod::Private(fd),
        _ => WriteMethod::Waiting,
    }
}

fn cannot_nowait(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOSYS | libc::EINVAL | libc::ESPIPE))
}

fn has_room(fd: RawFd) -> bool {
    let mut watch = [sys::watch(fd, libc::POLLOUT)];
    sys::poll(&mut watch, 0).is_ok_and(|ready| ready > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(length: usize) -> Vec<u8> {
        let mut line = vec![b'x'; length - 1];
        line.push(b'\n');
        line
    }

    #[test]
    fn what_arrived_whole_and_fits_goes_out_as_it_came() {
        assert_eq!(line_cut(b"no newline", true), 10);
        assert_eq!(line_cut(&line(ATOMIC_BYTES), true), ATOMIC_BYTES);
    }

    #[test]
    fn a_block_is_cut_after_its_last_line_that_fits() {
        let pending = line(100).repeat(50);
        assert_eq!(line_cut(&pending, true), ATOMIC_BYTES / 100 * 100);
    }

    #[test]
    fn the_beginning_of_a_line_waits_for_the_rest_that_is_already_there() {
        assert_eq!(line_cut(b"whole\nhalf", false), 6);
        assert_eq!(line_cut(b"half", false), 0);
        assert_eq!(line_cut(b"half", true), 4);
    }

    #[test]
    fn a_line_that_was_never_whole_goes_out_by_itself() {
        assert_eq!(line_cut(&vec![b'x'; 3 * ATOMIC_BYTES], false), 3 * ATOMIC_BYTES);
        let pending = [line(2 * ATOMIC_BYTES), line(10)].concat();
        assert_eq!(line_cut(&pending, true), 2 * ATOMIC_BYTES);
    }
}
