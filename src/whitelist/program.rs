//! A program's name, out of the ways it is written.

use crate::base::bytes;

/// The name in `eslint@9`, `npm:eslint@9`, `@biomejs/biome@1`, `ruff==0.17`, `example.org/cmd/tool@v1`.
pub fn package_name(word: &[u8]) -> &[u8] {
    let word = word.strip_prefix(b"npm:").unwrap_or(word);
    let at = word.iter().skip(1).position(|byte| matches!(byte, b'@' | b'=' | b'<' | b'>' | b'['));
    &word[..at.map_or(word.len(), |at| at + 1)]
}

/// `argv[0]` without folders, and without what systems and languages hang on to a program's name.
pub fn base_name(path: &[u8]) -> &[u8] {
    let base = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    for suffix in [&b".exe"[..], b".cmd", b".bat", b".ps1", b".phar"] {
        if let Some(base) = base.strip_suffix(suffix) {
            return base;
        }
    }
    if bytes::find(path, b"node_modules/").is_some() {
        for suffix in [&b".js"[..], b".mjs", b".cjs"] {
            if let Some(base) = base.strip_suffix(suffix) {
                return base;
            }
        }
    }
    base
}

/// A name without the version at its end: `python3.12`, `clang-16`. `None` if it has none.
pub fn without_version(base: &[u8]) -> Option<&[u8]> {
    let end = base.iter().rposition(|byte| !byte.is_ascii_digit() && *byte != b'.')? + 1;
    let stem = &base[..end];
    let stem = stem.strip_suffix(b"-").unwrap_or(stem);
    (end < base.len() && !stem.is_empty()).then_some(stem)
}

/// Text for people; what is not UTF-8 is replaced.
pub fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
