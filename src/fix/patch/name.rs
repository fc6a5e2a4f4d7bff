//! Names of files as a diff writes them: with `a/` and `b/` in front, and in quotes where they have unusual bytes.

/// The two paths of `diff --git a/x b/x`, as far as they can be distinguished: where nothing else is said (a change
/// of mode, an empty file) both are the same.
pub(super) fn split_name_pair(rest: &str) -> Option<(String, String)> {
    if rest.starts_with('"') || rest.ends_with('"') {
        let (old, new) = if let Some(end) = quoted_end(rest) {
            (&rest[..end], rest[end..].trim_start())
        } else {
            let start = rest.find(" \"")?;
            (&rest[..start], &rest[start + 1..])
        };
        return Some((without_prefix(&unquote_name(old)), without_prefix(&unquote_name(new))));
    }
    // `a/x b/x`: both halves name the same file, so the blank between them is in the middle.
    let middle = rest.len() / 2;
    if rest.as_bytes().get(middle) == Some(&b' ') && rest.is_char_boundary(middle) {
        let (old, new) = (without_prefix(&rest[..middle]), without_prefix(&rest[middle + 1..]));
        if old == new {
            return Some((old, new));
        }
    }
    let (old, new) = rest.split_once(" b/").or_else(|| rest.split_once(' '))?;
    Some((without_prefix(old), new.to_owned()))
}

/// The path of a `---` or `+++` line; `None` for `/dev/null`.
pub(super) fn of_side(rest: &str) -> Option<String> {
    // `diff -u` writes the time behind a tab, git a tab alone behind a name with blanks.
    let name = if rest.starts_with('"') { rest } else { rest.split('\t').next().unwrap_or(rest) };
    let name = unquote_name(name.trim_end());
    (name != "/dev/null").then(|| without_prefix(&name))
}

/// Without git's one-letter prefix: `a/ b/`, and `c/ i/ o/ w/` of `diff.mnemonicPrefix`.
fn without_prefix(name: &str) -> String {
    let stripped = ["a/", "b/", "c/", "i/", "o/", "w/"].iter().find_map(|start| name.strip_prefix(start));
    stripped.unwrap_or(name).to_owned()
}

/// Where the quoted name that `text` starts with ends.
fn quoted_end(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 1;
    if bytes.first() != Some(&b'"') {
        return None;
    }
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return Some(at + 1),
            _ => at += 1,
        }
    }
    None
}

/// Resolves C-style quotes; bytes that are not UTF-8 become replacement characters. Anything else stays as it is.
pub(super) fn unquote_name(name: &str) -> String {
    let Some(inside) = name.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else { return name.to_owned() };
    let mut bytes = Vec::with_capacity(inside.len());
    let mut rest = inside.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next() {
            Some(first @ b'0'..=b'3') => {
                let digits = [Some(first), rest.next(), rest.next()].map(|d| d.unwrap_or(b'0').wrapping_sub(b'0') & 7);
                bytes.push(digits[0] << 6 | digits[1] << 3 | digits[2]);
            }
            Some(b'n') => bytes.push(b'\n'),
            Some(b't') => bytes.push(b'\t'),
            Some(b'r') => bytes.push(b'\r'),
            Some(b'a') => bytes.push(7),
            Some(b'b') => bytes.push(8),
            Some(b'v') => bytes.push(11),
            Some(b'f') => bytes.push(12),
            Some(other) => bytes.push(other),
            None => {}
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
