//! Tokens that have a shape of their own, wherever they are.

use std::ops::Range;

use super::alphabet::{Alphabet, bits_per_byte};
use super::cut;
use super::formats::{BodyRequirement, EmbeddedFormat, PrefixedFormat};
use super::{Secret, VALUE_BYTES_MAX, run_end, run_start};

/// A body is judged by at most this many bytes; all of it is replaced.
const BODY_BYTES_MAX: usize = 1 << 10;
/// Parts of a token behind its payload: a signature; of an encrypted one three.
const JWT_PARTS_MAX: usize = 3;
/// One part of a JSON web token, bytes.
const JWT_BYTES_MAX: usize = 16 << 10;
/// A body that a tool has cut is recognised by fewer bytes, at least this many.
const CUT_BODY_BYTES_MIN: usize = 4;
/// Names of a JSON web token's first field, encoded: `{"alg`, `{"typ`, `{"kid`, `{"enc`, `{"cty`, `{"x5t`, `{"jku`.
const JWT_STARTS: [&[u8]; 7] =
    [b"eyJhbGci", b"eyJ0eXAi", b"eyJraWQi", b"eyJlbmMi", b"eyJjdHki", b"eyJ4NXQ", b"eyJqa3Ui"];

impl BodyRequirement {
    pub(super) fn are_met(self, body: &[u8]) -> bool {
        let has = |class: fn(&u8) -> bool| body.iter().any(class);
        match self {
            BodyRequirement::Nothing => true,
            BodyRequirement::Digit => has(u8::is_ascii_digit),
            BodyRequirement::Mixed => {
                has(u8::is_ascii_digit) && has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase)
            }
            BodyRequirement::Percent => body.contains(&b'%'),
            BodyRequirement::Dots(count) => body.iter().filter(|&&b| b == b'.').count() >= usize::from(count),
        }
    }
}

/// The token that starts with this hit of `format`'s prefix.
pub(super) fn with_prefix(text: &[u8], hit: Range<usize>, format: &PrefixedFormat) -> Option<Secret> {
    // The automaton ignores case, issuers don't.
    if &text[hit.clone()] != format.prefix.as_bytes() || !may_start(text, hit.start, format.prefix) {
        return None;
    }
    let judged = run_end(text, hit.end, format.max.min(BODY_BYTES_MAX).saturating_add(1), |b| format.body.has_byte(b));
    let body = &text[hit.end..judged];
    let is_whole = (format.min..=format.max).contains(&body.len()) && format.needs.are_met(body);
    let end = if is_whole { run_end(text, judged, usize::MAX, |b| format.body.has_byte(b)) } else { judged };
    let end =
        if is_whole { cut::tail_end(text, end, format.body).unwrap_or(end) } else { cut_end(text, &hit, end, format)? };
    Some(Secret { range: hit.start..end, kind: format.kind })
}

/// `disk-…` is no `sk-…`; but a long prefix that ends in a mark may follow `test_` or `my-`.
fn may_start(text: &[u8], start: usize, prefix: &str) -> bool {
    let Some(&before) = text[..start].last() else { return true };
    let is_marked = prefix.len() >= 4 && prefix.ends_with(['_', '-', '.']);
    prefix.contains('/') || !(before.is_ascii_alphanumeric() || !is_marked && (before == b'_' || before == b'-'))
}

/// Where a token ends of which a tool shows only the start (`ghp_a1B2c3...`) or both ends (`ghp_a1B2...q7R8`).
fn cut_end(text: &[u8], hit: &Range<usize>, end: usize, format: &PrefixedFormat) -> Option<usize> {
    // Dots may count as the body's.
    let dots = memchr::memmem::find(&text[hit.end..end], b"...").map_or(end, |at| hit.end + at);
    let body = &text[hit.end..dots];
    let is_telling = body.iter().any(|b| b.is_ascii_digit() || b.is_ascii_uppercase());
    let min = if format.prefix.len() < 4 { 2 * CUT_BODY_BYTES_MIN } else { CUT_BODY_BYTES_MIN };
    if format.prefix.len() < 3 || format.prefix == "pat" || body.len() < min || !is_telling {
        return None;
    }
    cut::tail_end(text, dots, format.body)
}

/// The token around this hit of `format`'s literal.
pub(super) fn token_around(text: &[u8], hit: Range<usize>, format: &EmbeddedFormat) -> Option<Secret> {
    if &text[hit.clone()] != format.literal.as_bytes() {
        return None;
    }
    let max = format.before_max;
    let start = run_start(text, hit.start, max + 1, |b| format.before.has_byte(b));
    let end = run_end(text, hit.end, format.after_max.saturating_add(1), |b| format.after.has_byte(b));
    let (before, after) = (hit.start - start, end - hit.end);
    let goes_on = format.after_max != usize::MAX && text.get(end).is_some_and(u8::is_ascii_alphanumeric);
    let fits = (format.before_min..=max).contains(&before) && (format.after_min..=format.after_max).contains(&after);
    let is_met = format.needs.are_met(&text[start..hit.start]);
    (fits && is_met && !goes_on).then_some(Secret { range: start..end, kind: format.kind })
}

/// `eyJ….eyJ….…` around a hit of `.ey`: header and payload are JSON objects, so both start the same; the signature may
/// be empty.
pub(super) fn find_jwt(text: &[u8], hit: Range<usize>) -> Option<Secret> {
    let start = run_start(text, hit.start, VALUE_BYTES_MAX, |b| Alphabet::Url.has_byte(b));
    let header = &text[start..hit.start];
    if !header.starts_with(b"ey") || header.len() < 10 {
        return None;
    }
    let payload = jwt_part_end(text, hit.start + 1);
    let usual = header.starts_with(b"eyJ") && text[hit.start..].starts_with(b".eyJ");
    let other = header.len() >= 19 && payload - hit.start >= 20 && text.get(payload) == Some(&b'.');
    if !(usual || other && header.iter().any(u8::is_ascii_uppercase)) {
        return None;
    }
    let mut end = payload;
    for _ in 0..JWT_PARTS_MAX {
        if text.get(end) != Some(&b'.') {
            break;
        }
        let next = jwt_part_end(text, end + 1);
        if next == end + 1 {
            break;
        }
        end = next;
    }
    let end = cut::tail_end(text, end, Alphabet::Url).unwrap_or(end);
    Some(Secret { range: start..end, kind: "jwt" })
}

/// The end of one part of a token; `\n` in an encoded text ends it.
fn jwt_part_end(text: &[u8], start: usize) -> usize {
    let end = run_end(text, start, JWT_BYTES_MAX, |b| Alphabet::Url.has_byte(b) || b"/\\=".contains(&b));
    let part = text.get(start..end).unwrap_or_default();
    let escape =
        part.iter().zip(part.iter().skip(1).chain([&b'n'])).position(|(a, b)| *a == b'\\' && b"nrt\"".contains(b));
    escape.map_or(end, |at| start + at)
}

/// The start of such a token that a tool has cut within its header.
pub(super) fn jwt_start(text: &[u8], hit: Range<usize>) -> Option<Secret> {
    let inside_a_word = text[..hit.start].last().is_some_and(|&b| Alphabet::Url.has_byte(b));
    if inside_a_word || !JWT_STARTS.iter().any(|start| text[hit.start..].starts_with(start)) {
        return None;
    }
    let end = run_end(text, hit.end, VALUE_BYTES_MAX, |b| Alphabet::Url.has_byte(b));
    let end = cut::tail_end(text, end, Alphabet::Url)?;
    Some(Secret { range: hit.start..end, kind: "jwt" })
}

/// `ZXlK…`: a JSON web token, encoded once more.
pub(super) fn encoded_jwt(text: &[u8], hit: Range<usize>) -> Option<Secret> {
    // `=` ends another such word, or follows a name.
    let inside_a_word = text[..hit.start].last().is_some_and(|&b| Alphabet::Base64.has_byte(b) && b != b'=');
    if inside_a_word || &text[hit.clone()] != b"ZXlK" {
        return None;
    }
    let end = run_end(text, hit.end, JWT_BYTES_MAX, |b| Alphabet::Base64.has_byte(b) || b == b'_' || b == b'-');
    let is_token = |at: usize| {
        let group = text.get(at..at + 12)?;
        let decoded = data_encoding::BASE64.decode(group).ok()?;
        Some(decoded.iter().all(|&b| Alphabet::Url.has_byte(b) || b == b'.'))
    };
    let secret = end - hit.start >= 48 && is_token(hit.start) == Some(true);
    secret.then_some(Secret { range: hit.start..end, kind: "jwt" })
}

/// `Basic dXNlcjpwYXNz`: what it encodes is a user and a password.
pub(super) fn find_basic(text: &[u8], hit: Range<usize>) -> Option<Secret> {
    let end = run_end(text, hit.end, VALUE_BYTES_MAX, |b| Alphabet::Base64.has_byte(b));
    let value = &text[hit.end..end];
    let decoded = data_encoding::BASE64.decode(value).ok()?;
    let is_pair = value.len() >= 8
        && decoded.contains(&b':')
        && decoded.iter().all(|b| b.is_ascii_graphic())
        && bits_per_byte(value) > 2.0;
    is_pair.then_some(Secret { range: hit.end..end, kind: "basic" })
}
