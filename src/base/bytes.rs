//! Searching short byte strings on the run path, without the vector instructions of `memchr`.
//!
//! At its first search `memchr` asks the processor what it can do. On a virtual machine each such question is
//! answered by the host and takes longer than all the searching before a command starts. Output is another matter:
//! there `memchr` earns its question.

/// Where `byte` first is.
pub fn find_byte(bytes: &[u8], byte: u8) -> Option<usize> {
    bytes.iter().position(|other| *other == byte)
}

/// Where `needle` first is; the start for an empty one.
pub fn find(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    find_all(bytes, needle).next()
}

/// Every place where `needle` is, overlapping ones too.
pub fn find_all<'a>(bytes: &'a [u8], needle: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    let ends = bytes.len().checked_sub(needle.len()).map_or(0, |last| last + 1);
    (0..ends).filter(move |at| bytes[*at..].starts_with(needle))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_is_there_and_nothing_else() {
        assert_eq!(find(b"abcabc", b"ca"), Some(2));
        assert_eq!(find(b"abc", b"abcd"), None);
        assert_eq!(find(b"", b""), Some(0));
        assert_eq!(find_all(b"aaa", b"aa").collect::<Vec<_>>(), [0, 1]);
        assert_eq!(find_byte(b"a=b", b'='), Some(1));
    }
}
