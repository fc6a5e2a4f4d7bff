//! Relays output after the command has ended: a descendant may hold the channel for any time.
//!
//! Closing would kill it with SIGPIPE, waiting would hang the caller. So a small process stays behind, holding
//! nothing but the channels, until the last writer or the reader is gone.

use nix::libc;

use super::channel::Channel;
use super::transcript::Transcript;
use super::{signals, sys};

/// Hands the open channels over to a process of their own, which has no use for the transcript's memory.
pub(super) fn relay_on(mut channels: Vec<Channel>, transcript: &mut Transcript) {
    channels.retain(Channel::is_open);
    // Without a process to be had the channels close, as they do when the wrapper is killed.
    if channels.is_empty() || !matches!(sys::fork(), Ok(sys::Fork::Child)) {
        return;
    }
    sys::new_session();
    sys::leave_folder();
    let fds: Vec<_> = channels.iter().flat_map(Channel::fds).collect();
    sys::close_all_but(&fds);
    signals::ignore_broken_pipes();
    // As in `run_detached`: the end of a session reaches the group until we have left it.
    signals::forget_pending();
    signals::reset();
    channels.iter_mut().for_each(Channel::outlive);
    *transcript = Transcript::with_limits(0, 0);
    while !channels.iter().all(Channel::is_finished) {
        if turn(&mut channels, &mut [], transcript, TurnWait::Long).is_err() {
            break;
        }
    }
    sys::exit_now(0)
}

/// How long a [`turn`] waits for something to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TurnWait {
    /// Not at all: it serves what is ready.
    Not,
    /// Milliseconds.
    AtMost(u64),
    /// Until there is something.
    Long,
}

/// Waits for one of the channels (or `others`, whose answers are left in place) and serves every channel once; whether there
/// was anything to do.
///
/// # Errors
/// When `poll` fails, which only a lack of memory makes it do.
pub(super) fn turn(
    channels: &mut [Channel],
    others: &mut [libc::pollfd],
    transcript: &mut Transcript,
    wait: TurnWait,
) -> std::io::Result<bool> {
    let mut watches: Vec<libc::pollfd> = others.to_vec();
    watches.extend(channels.iter().flat_map(Channel::watches));
    let holds = channels.iter().any(Channel::holds);
    let timeout = match wait {
        TurnWait::Long if !holds => -1,
        TurnWait::AtMost(ms) if !holds => i32::try_from(ms).unwrap_or(i32::MAX),
        _ => 0,
    };
    let ready = sys::poll(&mut watches, timeout)?;
    let (first, rest) = watches.split_at(others.len());
    others.copy_from_slice(first);
    for at in in_turn(channels.len(), transcript) {
        let before = transcript.total();
        channels[at].turn(rest[2 * at].revents, rest[2 * at + 1].revents, transcript);
        if transcript.total() > before {
            transcript.came_from(at);
        }
    }
    Ok(holds || ready > 0)
}

/// The order in which channels are served: the one that was read last comes first. What a program writes to one stream in
/// several calls, a title and then the message, stays together where another stream has something, too.
pub(super) fn in_turn(channels: usize, transcript: &Transcript) -> impl Iterator<Item = usize> + use<> {
    let first = transcript.last_from();
    (0..channels).map(move |at| (first + at) % channels)
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;
    use crate::run::channel::{BLOCK_BYTES, ChannelKind};

    #[test]
    fn what_is_written_to_one_stream_in_two_calls_stays_together() {
        let [(out, to_out), (err, to_err), (_out, caller_out), (_err, caller_err)] =
            std::array::from_fn(|_| sys::pipe().expect("a pipe"));
        let channel = |inner, outer: &std::os::fd::OwnedFd| {
            Channel::new(inner, outer.as_raw_fd(), ChannelKind::Pipe(BLOCK_BYTES))
        };
        let mut channels = vec![channel(out, &caller_out), channel(err, &caller_err)];
        let mut transcript = Transcript::default();
        let mut relay = |writes: &[(&std::os::fd::OwnedFd, &str)]| {
            for (fd, text) in writes {
                sys::write_all(fd.as_raw_fd(), text.as_bytes());
            }
            turn(&mut channels, &mut [], &mut transcript, TurnWait::Not).expect("polls");
            transcript.pieces().concat()
        };
        relay(&[(&to_err, "FAIL a.test.js > adds\n")]);
        let kept = relay(&[(&to_out, "1 failed\n"), (&to_err, "AssertionError: 2 is not 3\n")]);
        assert_eq!(String::from_utf8_lossy(&kept), "FAIL a.test.js > adds\nAssertionError: 2 is not 3\n1 failed\n");
    }
}
