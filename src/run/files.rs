//! Output that goes to a regular file is not copied: the command has the file itself, and what it wrote is read back
//! on request.

use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use nix::fcntl::OFlag;
use nix::libc;

use super::sys;
use super::transcript::Transcript;
use crate::base::limits::{CAPTURE_HEAD_BYTES_MAX, CAPTURE_TAIL_BYTES_MAX};

/// The part of a file that a run wrote.
#[derive(Debug)]
pub struct FileRegion {
    fd: RawFd,
    append: bool,
    start: u64,
    /// There was text before, or may have meanwhile: the file was not empty, or is opened for appending.
    shared: bool,
}

impl FileRegion {
    /// Before the run: remembers where it begins. A description for appending says offset 0 until it has written,
    /// so there the size counts.
    pub fn begin(fd: RawFd) -> Self {
        let append = sys::flags(fd).is_ok_and(|flags| flags & libc::O_APPEND != 0);
        let size = size(fd);
        let start = if append { size } else { sys::position(fd).unwrap_or(size) };
        FileRegion { fd, append, start, shared: append || size > 0 }
    }

    /// After the run: what was written since. `None` when that is nothing, or the file can't be opened again (the
    /// inherited descriptor may be for writing only).
    pub fn end(&self) -> Option<FileExcerpt> {
        let size = size(self.fd);
        let end = if self.append { size } else { sys::position(self.fd).unwrap_or(size).min(size) };
        if end <= self.start {
            return None;
        }
        let path = std::ffi::CString::new(format!("/dev/fd/{}", self.fd)).ok()?;
        let reader = sys::open(&path, OFlag::O_RDONLY | OFlag::O_NOCTTY).ok()?;
        Some(FileExcerpt { reader, range: self.start..end, shared: self.shared })
    }
}

/// What a run wrote to a file, to be read when it is wanted.
#[derive(Debug)]
pub struct FileExcerpt {
    reader: OwnedFd,
    range: Range<u64>,
    shared: bool,
}

impl FileExcerpt {
    /// Whether other processes may have written to it meanwhile.
    pub fn shared(&self) -> bool {
        self.shared
    }

    /// Bytes.
    pub fn length(&self) -> u64 {
        self.range.end - self.range.start
    }

    /// The descriptor it is read with.
    pub fn fd(&self) -> RawFd {
        self.reader.as_raw_fd()
    }

    /// Reads it into `transcript`. The middle of a long one, which would be cut, is not even read.
    pub fn read(&self, transcript: &mut Transcript) {
        let Range { start, end } = self.range;
        let head_end = end.min(start + CAPTURE_HEAD_BYTES_MAX as u64);
        copy(&self.reader, start..head_end, transcript);
        let tail_start = head_end.max(end.saturating_sub(CAPTURE_TAIL_BYTES_MAX as u64));
        transcript.skip(tail_start - head_end);
        copy(&self.reader, tail_start..end, transcript);
    }
}

fn copy(reader: &OwnedFd, range: Range<u64>, transcript: &mut Transcript) {
    let mut buffer = vec![0; 64 << 10];
    let mut at = range.start;
    while at < range.end {
        let wanted = usize::try_from(range.end - at).unwrap_or(usize::MAX).min(buffer.len());
        match sys::read_at(reader.as_raw_fd(), &mut buffer[..wanted], at) {
            Ok(count @ 1..) => {
                transcript.append(&buffer[..count]);
                at += count as u64;
            }
            _ => return,
        }
    }
}

fn size(fd: RawFd) -> u64 {
    sys::stat(fd).and_then(|stat| u64::try_from(stat.st_size).ok()).unwrap_or(0)
}
