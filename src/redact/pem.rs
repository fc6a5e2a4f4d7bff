//! Private keys in PEM armour, whole or with an end cut off.

use std::ops::Range;

use memchr::memmem;

use super::Secret;

/// A private key's text between its header and footer, bytes; more is not one key.
const PEM_BYTES_MAX: usize = 64 << 10;

/// A private key from its header to its footer, or, cut short, to the last line that can belong to it.
pub(super) fn from_header(text: &[u8], hit: Range<usize>) -> Option<Secret> {
    let label_end = hit.end + memmem::find(&text[hit.end..text.len().min(hit.end + 64)], b"-----")?;
    memmem::find(&text[hit.end..label_end], b"PRIVATE KEY")?;
    let body = label_end + 5;
    let limit = text.len().min(body + PEM_BYTES_MAX);
    // The next dashes are its footer, or, where that was cut off, another key's header.
    if let Some(dashes) = memmem::find(&text[body..limit], b"-----").map(|n| body + n)
        && text[dashes..].starts_with(b"-----END ")
    {
        let footer = dashes + 9;
        if let Some(n) = memmem::find(&text[footer..text.len().min(footer + 64)], b"-----") {
            return Some(Secret { range: hit.start..footer + n + 5, kind: "private-key" });
        }
    }
    let mut end = body;
    let mut line = body;
    while line < limit {
        let next = memchr::memchr(b'\n', &text[line..limit]).map_or(limit, |n| line + n);
        if line != body && !is_key_line(&text[line..next]) {
            break;
        }
        end = next;
        line = next + 1;
    }
    // The limit may lie inside a character.
    while end < text.len() && text[end] & 0xc0 == 0x80 {
        end += 1;
    }
    Some(Secret { range: hit.start..end, kind: "private-key" })
}

/// The rest of a private key whose header was cut off.
pub(super) fn from_footer(text: &[u8], copied: usize, hit: Range<usize>) -> Option<Secret> {
    let label_end = hit.end + memmem::find(&text[hit.end..text.len().min(hit.end + 64)], b"-----")?;
    memmem::find(&text[hit.end..label_end], b"PRIVATE KEY")?;
    let floor = copied.max(hit.start.saturating_sub(PEM_BYTES_MAX));
    let mut start = hit.start;
    // The line of the footer itself holds nothing else; then line by line upwards.
    let mut line_end = memchr::memrchr(b'\n', &text[floor..start]).map(|n| floor + n);
    while let Some(end) = line_end {
        let before = memchr::memrchr(b'\n', &text[floor..end]).map(|n| floor + n);
        let line = before.map_or(floor, |n| n + 1);
        if !is_key_line(&text[line..end]) || (before.is_none() && floor != copied) {
            break;
        }
        (start, line_end) = (line, before);
    }
    Some(Secret { range: start..label_end + 5, kind: "private-key" })
}

/// Whether a line can be inside an armoured key: base64 after whatever prefix the tool printed.
fn is_key_line(line: &[u8]) -> bool {
    let word = line.trim_ascii().rsplit(|&b| b == b' ' || b == b'\t').next().unwrap_or_default();
    word.len() >= 16 && word.iter().all(|&b| b.is_ascii_alphanumeric() || b"+/=".contains(&b))
}
