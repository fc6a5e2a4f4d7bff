//! Reads from git's index whether a file is tracked, without running git.

use std::fs;
use std::path::Path;

/// Whether `wanted` is tracked. `true` where the index can't be understood: then a lesson too many stays.
pub(super) fn is_tracked(git_dir: &Path, common_dir: &Path, wanted: &[u8]) -> bool {
    let Ok(bytes) = fs::read(git_dir.join("index")) else { return false };
    let sha256 = fs::read(common_dir.join("config"))
        .is_ok_and(|config| memchr::memmem::find(&config.to_ascii_lowercase(), b"objectformat = sha256").is_some());
    any_indexed_path(&bytes, if sha256 { 32 } else { 20 }, |path| path == wanted).unwrap_or(true)
}

/// Walks the entries (gitformat-index); `None` when the format is not one of versions 2 to 4.
fn any_indexed_path(bytes: &[u8], hash_len: usize, mut matches: impl FnMut(&[u8]) -> bool) -> Option<bool> {
    let number = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let version = number(4)?;
    if bytes.get(..4)? != b"DIRC" || !(2..=4).contains(&version) {
        return None;
    }
    let mut at = 12;
    let mut path = Vec::new();
    for _ in 0..number(8)? {
        let flags_at = at + 40 + hash_len;
        let flags = u16::from_be_bytes(bytes.get(flags_at..flags_at + 2)?.try_into().ok()?);
        let mut name_at = flags_at + if flags & 0x4000 != 0 { 4 } else { 2 };
        if version == 4 {
            let (strip, used) = decode_offset(bytes.get(name_at..)?)?;
            name_at += used;
            path.truncate(path.len().checked_sub(strip)?);
        } else {
            path.clear();
        }
        let name_len = memchr::memchr(0, bytes.get(name_at..)?)?;
        path.extend_from_slice(&bytes[name_at..name_at + name_len]);
        if matches(&path) {
            return Some(true);
        }
        // Versions 2 and 3 pad an entry with 1 to 8 NULs to a multiple of eight bytes.
        let end = name_at + name_len;
        at = if version == 4 { end + 1 } else { at + ((end - at) / 8 + 1) * 8 };
    }
    Some(false)
}

/// The offset encoding of packs: seven bits a byte, and one more for every byte that follows.
fn decode_offset(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value = 0_usize;
    for (n, &b) in bytes.iter().enumerate().take(8) {
        value = (value << 7) | usize::from(b & 0x7f);
        if b & 0x80 == 0 {
            return Some((value, n + 1));
        }
        value += 1;
    }
    None
}
