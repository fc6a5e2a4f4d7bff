//! Windows paths as the rules know paths: `C:\proj\src\a.c` is matched as `/C/proj/src/a.c`, which has the same
//! length, so that groups are read from the line as printed.

use std::borrow::Cow;

use memchr::memmem;

/// Whether a text may have a path with a drive.
pub(crate) fn is_in(text: &str) -> bool {
    memmem::find(text.as_bytes(), b":\\").is_some()
}

/// `text` with its paths that begin with a drive as POSIX ones, byte for byte in the same place.
pub(super) fn as_posix(text: &str) -> Cow<'_, [u8]> {
    let bytes = text.as_bytes();
    let mut seen = Cow::Borrowed(bytes);
    for colon in memmem::find_iter(bytes, b":\\") {
        let Some(drive) = colon.checked_sub(1) else { continue };
        let begins = drive == 0 || !bytes[drive - 1].is_ascii_alphanumeric();
        if !begins || !bytes[drive].is_ascii_alphabetic() {
            continue;
        }
        let seen = seen.to_mut();
        seen[drive] = b'/';
        seen[colon] = bytes[drive];
        let path = bytes[colon + 1..].iter().position(|byte| b"\t:\"'`<>|*?".contains(byte));
        let end = path.map_or(bytes.len(), |length| colon + 1 + length);
        seen[colon + 1..end].iter_mut().filter(|byte| **byte == b'\\').for_each(|byte| *byte = b'/');
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_change_and_nothing_moves() {
        let posix = |text| String::from_utf8_lossy(&as_posix(text)).into_owned();
        assert_eq!(posix(r"C:\a b\c.js:3:8: no '\d' in d:\x"), r"/C/a b/c.js:3:8: no '\d' in /d/x");
        assert_eq!(posix(r"(D:\x\y.c(3,4): bad"), "(/D/x/y.c(3,4): bad");
        for same in [r"abc:\d", r":\", "a:b", ""] {
            assert_eq!(posix(same), same);
        }
    }
}
