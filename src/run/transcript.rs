//! The bounded copy of the output: its beginning and its end, with the cut between them counted.

use crate::base::limits::{CAPTURE_HEAD_BYTES_MAX, CAPTURE_TAIL_BYTES_MAX};

/// The first and the last bytes of a stream of any length.
///
/// Both parts are reserved when their first byte arrives and touched as they fill, so a short output costs little.
/// Without the memory for a part its bytes are counted as cut.
#[derive(Debug)]
pub struct Transcript {
    head: TranscriptPart,
    tail: TranscriptPart,
    /// Where the oldest byte of a full tail is.
    oldest: usize,
    total: u64,
    /// The channel of the last bytes.
    last_from: usize,
}

#[derive(Debug)]
struct TranscriptPart {
    bytes: Vec<u8>,
    max: usize,
}

impl TranscriptPart {
    /// Takes as much of `bytes` as there is room for; the rest.
    fn take<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        if self.bytes.capacity() == 0 && !bytes.is_empty() && self.bytes.try_reserve_exact(self.max).is_err() {
            self.max = 0;
        }
        let (now, rest) = bytes.split_at(bytes.len().min(self.max - self.bytes.len()));
        self.bytes.extend_from_slice(now);
        rest
    }
}

impl Default for Transcript {
    fn default() -> Self {
        Transcript::with_limits(CAPTURE_HEAD_BYTES_MAX, CAPTURE_TAIL_BYTES_MAX)
    }
}

impl Transcript {
    /// An empty one that keeps the first `head` and the last `tail` bytes.
    pub fn with_limits(head: usize, tail: usize) -> Self {
        let part = |max| TranscriptPart { bytes: Vec::new(), max };
        Transcript { head: part(head), tail: part(tail), oldest: 0, total: 0, last_from: 0 }
    }

    /// Adds what was relayed.
    pub fn append(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let mut rest = self.head.take(bytes);
        if rest.is_empty() {
            return;
        }
        rest = self.tail.take(rest);
        let ring = &mut self.tail.bytes;
        // Of what is longer than the ring only the end would survive.
        rest = &rest[rest.len().saturating_sub(ring.len())..];
        while !rest.is_empty() {
            let count = rest.len().min(ring.len() - self.oldest);
            ring[self.oldest..self.oldest + count].copy_from_slice(&rest[..count]);
            self.oldest = (self.oldest + count) % ring.len();
            rest = &rest[count..];
        }
    }

    /// Bytes appended so far, kept or cut.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Notes which channel what was appended last came from.
    pub fn came_from(&mut self, channel: usize) {
        self.last_from = channel;
    }

    /// The channel that was noted last, at first the first.
    pub fn last_from(&self) -> usize {
        self.last_from
    }

    /// Counts bytes that were never copied as cut. They lie between what was appended before and after.
    pub fn skip(&mut self, bytes: u64) {
        self.total += bytes;
    }

    /// The kept bytes in their order: head, then the tail in up to two pieces.
    pub fn pieces(&self) -> [&[u8]; 3] {
        let (newer, older) = self.tail.bytes.split_at(self.oldest);
        [&self.head.bytes, older, newer]
    }

    /// Bytes kept.
    pub fn kept(&self) -> u64 {
        (self.head.bytes.len() + self.tail.bytes.len()) as u64
    }

    /// Bytes cut out.
    pub fn cut(&self) -> u64 {
        self.total - self.kept()
    }

    /// Offset in the kept bytes where the cut is.
    pub fn cut_at(&self) -> u64 {
        self.head.bytes.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn joined(transcript: &Transcript) -> Vec<u8> {
        transcript.pieces().concat()
    }

    #[test]
    fn a_short_output_is_kept_whole() {
        let mut transcript = Transcript::with_limits(4, 4);
        transcript.append(b"abc");
        transcript.append(b"defg");
        assert_eq!(joined(&transcript), b"abcdefg");
        assert_eq!((transcript.kept(), transcript.cut()), (7, 0));
    }

    #[test]
    fn a_long_output_loses_its_middle() {
        let mut transcript = Transcript::with_limits(3, 4);
        transcript.append(b"0123456789abcdef");
        assert_eq!(joined(&transcript), b"012cdef");
        assert_eq!((transcript.cut(), transcript.cut_at()), (9, 3));
    }

    #[test]
    fn without_a_tail_the_rest_is_counted() {
        let mut transcript = Transcript::with_limits(2, 0);
        transcript.append(b"abcdef");
        assert_eq!(joined(&transcript), b"ab");
        assert_eq!(transcript.cut(), 4);
    }

    proptest! {
        #[test]
        fn keeps_the_first_and_the_last_bytes_however_they_arrive(
            chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..20),
            head in 0..30_usize,
            tail in 0..30_usize,
        ) {
            let mut transcript = Transcript::with_limits(head, tail);
            for chunk in &chunks {
                transcript.append(chunk);
            }
            let all = chunks.concat();
            let first = head.min(all.len());
            let last = tail.min(all.len() - first);
            let mut expected = all[..first].to_vec();
            expected.extend(&all[all.len() - last..]);
            prop_assert_eq!(joined(&transcript), expected);
            prop_assert_eq!(transcript.cut(), (all.len() - first - last) as u64);
        }
    }
}
