//! Searching short byte strings on the run path, without the vector instructions of `memchr`.
//!
//! At its first search `memchr` asks the processor what it can do. On a virtual machine each such question is
//! answered by the host and takes longer than all the searching before a command starts. Output is another matter:
//! there `memchr` earns its question.

/// Where `byte` first is. Eight bytes at a time: a word has a zero byte exactly where subtracting one from each byte
/// borrows into a high bit that was not set (Hacker's Delight, 6-1).
pub fn find_byte(bytes: &[u8], byte: u8) -> Option<usize> {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGHS: u64 = ONES << 7;
    let wanted = ONES * u64::from(byte);
    let (words, _) = bytes.as_chunks::<8>();
    let without = words.iter().take_while(|word| {
        let difference = u64::from_ne_bytes(**word) ^ wanted;
        difference.wrapping_sub(ONES) & !difference & HIGHS == 0
    });
    let from = without.count() * 8;
    bytes[from..].iter().position(|other| *other == byte).map(|at| from + at)
}

/// Where `needle` first is; the start for an empty one.
pub fn find(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    find_all(bytes, needle).next()
}

/// Every place where `needle` is, overlapping ones too.
pub fn find_all<'a>(bytes: &'a [u8], needle: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let rest = bytes.get(from..)?;
            let at = from + needle.first().map_or(Some(0), |first| find_byte(rest, *first))?;
            from = at + 1;
            if bytes[at..].starts_with(needle) {
                return Some(at);
            }
        }
    })
}

/// The bytes with `by` in place of the absolute path `path` and of the start of each path below it.
pub fn replace_path(bytes: &[u8], path: &[u8], by: &[u8]) -> Vec<u8> {
    let is_of_name = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(byte));
    let mut replaced = Vec::with_capacity(bytes.len());
    let mut from = 0;
    for at in find_all(bytes, path).filter(|_| !path.is_empty()) {
        let before = at.checked_sub(1).and_then(|before| bytes.get(before));
        if at < from || is_of_name(before) || is_of_name(bytes.get(at + path.len())) {
            continue;
        }
        replaced.extend_from_slice(&bytes[from..at]);
        replaced.extend_from_slice(by);
        from = at + path.len();
    }
    replaced.extend_from_slice(&bytes[from..]);
    replaced
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

    #[test]
    fn paths_are_replaced_where_they_are_whole() {
        let replaced = |text: &str| String::from_utf8(replace_path(text.as_bytes(), b"/w/shop", b".")).expect("UTF-8");
        assert_eq!(replaced("/w/shop:/w/shop/src:-I/w/shopping"), ".:./src:-I/w/shopping");
        assert_eq!(replaced("/x/w/shop /w/shop.old A=/w/shop"), "/x/w/shop /w/shop.old A=.");
        assert_eq!(replace_path(b"/a", b"", b"."), b"/a");
    }

    #[test]
    fn eight_bytes_at_a_time_finds_what_one_at_a_time_does() {
        for length in 0..40 {
            for at in 0..length {
                for (wanted, other) in [(b'x', b'y'), (0, 1), (0x80, 0), (0xff, 0x7f), (1, 0)] {
                    let mut bytes = vec![other; length];
                    assert_eq!(find_byte(&bytes, wanted), None);
                    bytes[at] = wanted;
                    assert_eq!(find_byte(&bytes, wanted), Some(at), "{bytes:?}");
                }
            }
        }
    }
}
