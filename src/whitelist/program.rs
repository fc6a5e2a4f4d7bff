//! A program's name from its different spellings.

use crate::base::bytes;

/// The name in `eslint@9`, `npm:eslint@9`, `@biomejs/biome@1`, `ruff==0.17`, `example.org/cmd/tool@v1`.
pub fn package_name(word: &[u8]) -> &[u8] {
    let word = word.strip_prefix(b"npm:").unwrap_or(word);
    let at = word.iter().skip(1).position(|byte| matches!(byte, b'@' | b'=' | b'<' | b'>' | b'['));
    &word[..at.map_or(word.len(), |at| at + 1)]
}

/// What precedes a program's name, or for it, in scripts and templates: `${PREFIX}black`, `$(MAKE)`, `{envpython}`,
/// `${PYTHON:-python3}`. The variable's name, its default, and what follows it.
pub(super) fn split_variable(path: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let inner = |start: usize, end: &[u8]| {
        let length = bytes::find(&path[start..], end)?;
        Some((&path[start..start + length], &path[start + length + end.len()..]))
    };
    let (inside, rest) = match path {
        [b'$', b'{', b'{', ..] => inner(3, b"}}")?,
        [b'$', b'{', ..] => inner(2, b"}")?,
        [b'$', b'(', ..] => inner(2, b")")?,
        [b'%', ..] => inner(1, b"%")?,
        [b'{', ..] => inner(1, b"}")?,
        [b'$', name @ ..] => name.split_at(name.iter().position(|byte| !is_name_byte(*byte)).unwrap_or(name.len())),
        _ => return None,
    };
    let (name, default) = match bytes::find(inside, b":-") {
        Some(end) => (&inside[..end], &inside[end + 2..]),
        None => (inside, &b""[..]),
    };
    let name = name.trim_ascii();
    let is_name =
        name.len() > 1 && name[0].is_ascii_alphabetic() && name.iter().all(|byte| is_name_byte(*byte) || *byte == b'.');
    is_name.then_some((name, default, rest.strip_prefix(b"/").unwrap_or(rest)))
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The program that a variable is named for: `PYTHON`, `GOLANGCI_LINT`, `envpython`, `RUFF_BIN`.
pub(super) fn program_of_variable(variable: &[u8]) -> Vec<u8> {
    /// Names of variables that are those of programs by chance.
    const OTHERS: [&[u8]; 10] =
        [b"cmd", b"command", b"script", b"env", b"time", b"exec", b"run", b"test", b"task", b"act"];
    let last = variable.rsplit(|byte| *byte == b'.').next().unwrap_or(variable);
    let name: Vec<u8> = last.iter().map(|byte| if *byte == b'_' { b'-' } else { byte.to_ascii_lowercase() }).collect();
    let mut name = name.as_slice();
    for start in [&b"env"[..], b"base", b"venv-", b"host-"] {
        name = name.strip_prefix(start).filter(|rest| !rest.is_empty()).unwrap_or(name);
    }
    for end in [&b"bin"[..], b"cmd", b"exe", b"executable", b"command", b"path"] {
        name = name.strip_suffix(end).filter(|rest| !rest.is_empty()).unwrap_or(name);
    }
    let name = name.strip_suffix(b"-").unwrap_or(name);
    if OTHERS.contains(&name) { Vec::new() } else { name.to_vec() }
}

/// The program in `$(which luacheck)`, as an interpreter is given one that is not in the project.
pub(super) fn looked_up_program(word: &[u8]) -> Option<&[u8]> {
    let inside = word.strip_prefix(b"$(").and_then(|rest| rest.strip_suffix(b")"));
    let inside = inside.or_else(|| word.strip_prefix(b"`").and_then(|rest| rest.strip_suffix(b"`")))?;
    let looks = [&b"which "[..], b"command -v ", b"type -p "];
    let name = looks.iter().find_map(|look| inside.strip_prefix(*look))?;
    (!name.is_empty() && name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(byte))).then_some(name)
}

/// `argv[0]` without folders, and without what systems and languages hang on to a program's name.
pub fn base_name(path: &[u8]) -> &[u8] {
    let base = path.rsplit(|byte| matches!(byte, b'/' | b'\\')).next().unwrap_or(path);
    for suffix in [&b".exe"[..], b".cmd", b".bat", b".ps1", b".phar"] {
        if let Some(base) = base.strip_suffix(suffix) {
            return base;
        }
    }
    // `checkstyle-10.12-all.jar`; the version goes as that of any program does.
    if let Some(base) = base.strip_suffix(b".jar") {
        return base.strip_suffix(b"-all").unwrap_or(base);
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
pub(super) fn without_version(base: &[u8]) -> Option<&[u8]> {
    let end = base.iter().rposition(|byte| !byte.is_ascii_digit() && *byte != b'.')? + 1;
    let stem = &base[..end];
    let stem = stem.strip_suffix(b"-").unwrap_or(stem);
    (end < base.len() && !stem.is_empty()).then_some(stem)
}

/// Text for people; what is not UTF-8 is replaced.
pub(super) fn lossy_text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
