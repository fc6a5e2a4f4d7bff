//! What happens to descriptors 1 and 2 of the command, decided for each by what it is.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use nix::fcntl::{FcntlArg, OFlag};
use nix::libc;

#[cfg(target_os = "linux")]
use super::channel::BLOCK_BYTES;
use super::channel::{Channel, ChannelKind};
use super::files::FileRegion;
use super::{pty, sys};

/// Descriptors above 2 that are looked at for further copies of the same pipe.
const COPIES_FD_MAX: RawFd = 256;

/// Whether a pipe with these status flags is in packet mode.
#[cfg(target_os = "linux")]
fn is_packet_pipe(flags: i32) -> bool {
    flags & libc::O_DIRECT != 0
}

/// Only Linux has packet mode.
#[cfg(not(target_os = "linux"))]
fn is_packet_pipe(_flags: i32) -> bool {
    false
}

/// What a descriptor is, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DescriptorKind {
    /// A pipe or FIFO.
    Pipe,
    /// A Unix stream socket.
    Socket,
    /// A terminal.
    Terminal,
    /// A regular file: read back afterwards.
    File,
    /// Closed, not writable, or something that tells nothing when copied: the command gets it as it is.
    Inherited,
}

/// A stream of the command with everything that decides about it.
#[derive(Debug, Clone, Copy)]
struct OuterStream {
    fd: RawFd,
    object: DescriptorKind,
    /// Equal for two descriptors of the same object.
    identity: (u64, u64),
    /// Status flags of the description.
    flags: i32,
}

/// The command's ends of the channels, and where each goes.
pub(super) struct ChildEnds(Vec<(OwnedFd, Vec<RawFd>)>);

impl ChildEnds {
    /// In the child: puts the ends in place. They stay open over exec, no other descriptor of verify-run does.
    ///
    /// # Errors
    /// The operating system's, which has no reason to refuse.
    pub(super) fn install(&self) -> io::Result<()> {
        for (end, targets) in &self.0 {
            for target in targets {
                sys::duplicate_onto(end.as_raw_fd(), *target)?;
            }
        }
        Ok(())
    }
}

/// Channels to relay, the command's ends of them, and files to read back.
pub(super) struct StreamPlan {
    /// One per object that is captured by relaying.
    pub channels: Vec<Channel>,
    /// To be installed in the child and closed in the wrapper.
    pub ends: ChildEnds,
    /// One per regular file.
    pub files: Vec<FileRegion>,
    /// A stream goes to the command as it is, to a device such as `/dev/null`: what is written to it is never seen.
    pub unseen: bool,
}

impl StreamPlan {
    /// Looks at the descriptors and opens what is needed. Must come before anything else opens a descriptor.
    ///
    /// # Errors
    /// When a channel can't be set up; nothing has changed then, and the command should be executed bare.
    pub(super) fn make() -> io::Result<Self> {
        let outers: Vec<OuterStream> =
            [libc::STDOUT_FILENO, libc::STDERR_FILENO].iter().filter_map(|fd| look(*fd)).collect();
        let mut plan =
            StreamPlan { channels: Vec::new(), ends: ChildEnds(Vec::new()), files: Vec::new(), unseen: false };
        let mut seen: Vec<(u64, u64)> = Vec::new();
        for outer in &outers {
            if outer.object == DescriptorKind::Inherited {
                plan.unseen |= outer.flags & libc::O_ACCMODE != libc::O_RDONLY;
                continue;
            }
            if seen.contains(&outer.identity) {
                continue;
            }
            seen.push(outer.identity);
            if outer.object == DescriptorKind::File {
                plan.files.push(FileRegion::begin(outer.fd));
                continue;
            }
            let mut targets: Vec<RawFd> =
                outers.iter().filter(|other| other.identity == outer.identity).map(|other| other.fd).collect();
            if outer.object != DescriptorKind::Terminal {
                targets.extend(copies(outer));
            }
            let (channel, end) = open(outer)?;
            plan.channels.push(channel);
            plan.ends.0.push((end, targets));
        }
        Ok(plan)
    }
}

/// `None` when the descriptor is closed.
fn look(fd: RawFd) -> Option<OuterStream> {
    let stat = sys::stat(fd)?;
    let flags = sys::flags(fd).ok()?;
    let mut outer = OuterStream { fd, object: DescriptorKind::Inherited, identity: file_identity(&stat), flags };
    if flags & libc::O_ACCMODE == libc::O_RDONLY {
        return Some(outer);
    }
    outer.object = match stat.st_mode & libc::S_IFMT {
        // A relay would lose the borders of packets.
        libc::S_IFIFO if !is_packet_pipe(flags) => DescriptorKind::Pipe,
        // Only these can be replaced by a pair without the command seeing another family or losing borders.
        libc::S_IFSOCK if sys::is_unix_stream(fd) => DescriptorKind::Socket,
        libc::S_IFREG => DescriptorKind::File,
        libc::S_IFCHR if pty::is_terminal(fd) => {
            // Two names of one terminal (/dev/tty and its device) have to share one half terminal.
            outer.identity = (u64::MAX, pty::device(fd, &stat));
            DescriptorKind::Terminal
        }
        _ => DescriptorKind::Inherited,
    };
    Some(outer)
}

#[allow(clippy::unnecessary_cast, clippy::cast_sign_loss, reason = "dev_t and ino_t differ between systems")]
fn file_identity(stat: &libc::stat) -> (u64, u64) {
    (stat.st_dev as u64, stat.st_ino as u64)
}

/// Other writable descriptors of the same pipe or socket (`3>&1`): they have to go through the channel too, or what
/// is written to them overtakes.
fn copies(outer: &OuterStream) -> Vec<RawFd> {
    let mut watches: Vec<libc::pollfd> = (3..COPIES_FD_MAX).map(|fd| sys::watch(fd, 0)).collect();
    // One call tells which are open. With a lower limit on descriptors it fails, and a shorter list doesn't.
    while sys::poll(&mut watches, 0).is_err() && !watches.is_empty() {
        watches.truncate(watches.len() / 2);
    }
    let open = watches.iter().filter(|watch| watch.revents & libc::POLLNVAL == 0).map(|watch| watch.fd);
    let same = |fd: &RawFd| {
        sys::stat(*fd).is_some_and(|stat| file_identity(&stat) == outer.identity)
            && sys::flags(*fd).is_ok_and(|flags| flags & libc::O_ACCMODE != libc::O_RDONLY)
    };
    open.filter(same).collect()
}

/// Opens an object of the same kind: (the channel with our end, the command's end).
fn open(outer: &OuterStream) -> io::Result<(Channel, OwnedFd)> {
    let (inner, end, kind) = match outer.object {
        DescriptorKind::Terminal => {
            let (terminal, inner, end) = pty::open(outer.fd)?;
            (inner, end, ChannelKind::Terminal(terminal))
        }
        DescriptorKind::Socket => {
            let (inner, end) = sys::socket_pair()?;
            (inner, end, ChannelKind::Socket)
        }
        _ => {
            let (inner, end) = sys::pipe()?;
            let capacity = same_capacity(outer.fd, &end);
            (inner, end, ChannelKind::Pipe(capacity))
        }
    };
    if outer.object != DescriptorKind::Terminal {
        sys::fcntl(inner.as_raw_fd(), FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        // The command sees the flags that its own descriptor would have had.
        let visible = OFlag::from_bits_truncate(outer.flags) & (OFlag::O_NONBLOCK | OFlag::O_APPEND);
        if !visible.is_empty() {
            sys::fcntl(end.as_raw_fd(), FcntlArg::F_SETFL(visible))?;
        }
    }
    Ok((Channel::new(inner, outer.fd, kind), end))
}

/// Gives the inner pipe the outer one's capacity, so that back-pressure begins where it would have bare.
#[cfg(target_os = "linux")]
fn same_capacity(outer: RawFd, end: &OwnedFd) -> usize {
    let capacity = sys::fcntl(outer, FcntlArg::F_GETPIPE_SZ).ok();
    let wanted = capacity.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(BLOCK_BYTES);
    if wanted == BLOCK_BYTES {
        return BLOCK_BYTES;
    }
    let size = i32::try_from(wanted).unwrap_or(i32::MAX);
    sys::fcntl(end.as_raw_fd(), FcntlArg::F_SETPIPE_SZ(size))
        .ok()
        .and_then(|bytes| usize::try_from(bytes).ok())
        .unwrap_or(BLOCK_BYTES)
}

/// The capacity is the kernel's business here.
#[cfg(not(target_os = "linux"))]
fn same_capacity(_outer: RawFd, _end: &OwnedFd) -> usize {
    0
}
