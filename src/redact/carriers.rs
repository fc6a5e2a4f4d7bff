//! Forms that carry credentials: headers, cookies, addresses, signatures in queries, `.netrc`.

use std::ops::Range;

use super::alphabet::Alphabet;
use super::{MARKER, NAME_BYTES_MAX, Secret, VALUE_BYTES_MAX, cut, run_end, run_start};

/// The words of one machine in `.netrc`.
const NETRC_WORDS_MAX: usize = 10;
/// Names of headers end like this when their value is a credential.
const HEADER_ENDS: [&str; 8] = ["key", "token", "secret", "auth", "password", "signature", "cookie", "authorization"];

fn is_credential(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b"-._~+/=".contains(&b)
}

fn is_blank(b: u8) -> bool {
    b == b' ' || b == b'\t'
}

/// What represents a value or was replaced already.
fn is_placeholder(value: &[u8]) -> bool {
    value.is_empty() || b"$<{[%".contains(&value[0]) || value.iter().all(|b| b"*xX.".contains(b))
}

/// `Bearer <token>` anywhere; the token is long and has a digit, so that "bearer authentication" is left alone.
pub(super) fn find_bearer(text: &[u8], hit: Range<usize>) -> Option<Secret> {
    let start = run_end(text, hit.end, 4, is_blank);
    if start == hit.end || text[..hit.start].last().is_some_and(u8::is_ascii_alphanumeric) {
        return None;
    }
    let end = run_end(text, start, usize::MAX, is_credential);
    let token = &text[start..end];
    (token.len() >= 12 && token.iter().any(u8::is_ascii_digit)).then_some(Secret { range: start..end, kind: "bearer" })
}

/// `Authorization: <scheme> <credential>` in headers, JSON and curl arguments.
pub(super) fn find_authorization(text: &[u8], hit: Range<usize>) -> Option<Secret> {
    let separator = run_end(text, hit.end, 8, |b| b"\"'\\:= \t".contains(&b));
    if !text[hit.end..separator].iter().any(|b| b":=".contains(b)) {
        return None;
    }
    let scheme_end = run_end(text, separator, 16, |b| b.is_ascii_alphabetic() || b == b'-');
    let scheme = &text[separator..scheme_end];
    let known = ["bearer", "basic", "token", "api-token", "digest", "apikey", "api-key", "key", "negotiate", "bot"]
        .iter()
        .find(|name| scheme.eq_ignore_ascii_case(name.as_bytes()));
    let start = run_end(text, scheme_end, 4, is_blank);
    if known.is_none() || start == scheme_end {
        // A bare credential: `Authorization: 3f9…`.
        let end = run_end(text, separator, usize::MAX, is_credential);
        let value = &text[separator..end];
        let is_closed = matches!(text.get(end), None | Some(b'"' | b'\'' | b'\n' | b'\r'));
        let min = if is_closed { 8 } else { 16 };
        return (value.len() >= min && value.iter().any(u8::is_ascii_digit))
            .then_some(Secret { range: separator..end, kind: "authorization" });
    }
    let end = run_end(text, start, usize::MAX, is_credential);
    let kind = if scheme.eq_ignore_ascii_case(b"basic") { "basic" } else { "bearer" };
    (end - start >= 6).then_some(Secret { range: start..end, kind })
}

/// `-H "X-Service-Key: …"`: the quotes say where the value ends, whatever it is made of.
pub(super) fn find_header(text: &[u8], hit: Range<usize>) -> Option<Secret> {
    let quote_at = run_end(text, hit.end, 2, |b| b == b' ' || b == b'=');
    let &quote @ (b'"' | b'\'') = text.get(quote_at)? else { return None };
    let close = run_end(text, quote_at + 1, VALUE_BYTES_MAX, |b| b != quote && b != b'\n');
    let range = header_value(&text[quote_at + 1..close])?;
    let start = quote_at + 1;
    (text.get(close) == Some(&quote))
        .then_some(Secret { range: start + range.start..start + range.end, kind: "header" })
}

/// The credential in `Name: value`.
pub(super) fn header_value(line: &[u8]) -> Option<Range<usize>> {
    let colon = memchr::memchr(b':', line)?;
    let name = line[..colon].to_ascii_lowercase();
    let is_name = !name.is_empty() && name.iter().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(b));
    if !is_name || !HEADER_ENDS.iter().any(|end| name.ends_with(end.as_bytes())) || name == b"idempotency-key" {
        return None;
    }
    let start = run_end(line, colon + 1, 8, is_blank);
    // The scheme may be seen.
    let scheme = run_end(line, start, 16, |b| b.is_ascii_alphabetic());
    let value = run_end(line, scheme, 4, is_blank);
    let start = if value > scheme && value < line.len() { value } else { start };
    let shown = &line[start..];
    let is_value = shown.len() >= 8 && !is_placeholder(shown) && memchr::memmem::find(shown, MARKER).is_none();
    is_value.then_some(start..line.len())
}

/// `scheme://user:password@host`: the password; `https://<long token>@host`: the token.
pub(super) fn url_credentials(text: &[u8], hit: Range<usize>) -> Option<Secret> {
    let scheme = run_start(text, hit.start, 24, |b| b.is_ascii_alphanumeric() || b"+.-".contains(&b));
    if scheme == hit.start {
        return None;
    }
    let stop = run_end(text, hit.end, VALUE_BYTES_MAX, |b| {
        !b.is_ascii_whitespace() && !b.is_ascii_control() && !b"/?#\"'`<>|\\,".contains(&b)
    });
    let Some(at) = memchr::memrchr(b'@', &text[hit.end..stop]).map(|at| at + hit.end) else {
        return cut_password(text, hit.end..stop);
    };
    let user_info = &text[hit.end..at];
    let start = match memchr::memchr(b':', user_info) {
        // Two halves of one key.
        Some(8) if user_info.len() == 17 && user_info.iter().all(|&b| b == b':' || b.is_ascii_hexdigit()) => hit.end,
        Some(colon) => hit.end + colon + 1,
        None if user_info.len() >= 20 && user_info.iter().any(u8::is_ascii_digit) => hit.end,
        None => return None,
    };
    let password = &text[start..at];
    let is_replaced = memchr::memmem::find(user_info, MARKER).is_some();
    (!is_placeholder(password) && !is_replaced).then_some(Secret { range: start..at, kind: "url-password" })
}

/// `postgres://app:s3cr3tPassw0r...`: a tool has cut the address within the password.
fn cut_password(text: &[u8], authority: Range<usize>) -> Option<Secret> {
    let colon = authority.start + memchr::memchr(b':', &text[authority.clone()])?;
    let dots = memchr::memmem::find(&text[colon..authority.end], b"...").map_or(authority.end, |at| colon + at);
    let ellipsis = memchr::memmem::find(&text[colon..dots], "…".as_bytes()).map_or(dots, |at| colon + at);
    let password = &text[colon + 1..ellipsis];
    let end = cut::tail_end(text, ellipsis, Alphabet::Word)?;
    let is_port = password.iter().all(u8::is_ascii_digit);
    (password.len() >= 3 && !is_port && !is_placeholder(password) && !password.starts_with(MARKER))
        .then_some(Secret { range: colon + 1..end, kind: "url-password" })
}

/// `Cookie: a=…; b=…` and `Set-Cookie: a=…; Path=/`, as headers and in JSON: what the cookies are.
pub(super) fn find_cookie(text: &[u8], hit: Range<usize>) -> Option<Secret> {
    let is_set = ends_with(&text[..hit.start], b"set-");
    let start = run_end(text, hit.end, 8, |b| b"\"'\\:=[ \t".contains(&b));
    if !text[hit.end..start].contains(&b':') {
        return None;
    }
    let name_end = run_end(text, start, NAME_BYTES_MAX, |b| b.is_ascii_alphanumeric() || b"_-.".contains(&b));
    if name_end == start || text.get(name_end) != Some(&b'=') {
        return None;
    }
    let is_end = |b: u8| b"\"'`\n\r\\".contains(&b) || is_set && b"; ,".contains(&b);
    let end = run_end(text, name_end + 1, VALUE_BYTES_MAX, |b| !is_end(b));
    let value = &text[name_end + 1..end];
    let is_secret = value.len() >= 4 && !is_placeholder(value);
    let end = if is_secret { run_end(text, end, usize::MAX, |b| !is_end(b)) } else { end };
    is_secret.then_some(Secret { range: name_end + 1..end, kind: "cookie" })
}

/// Whether `text` ends with `end`, in any case.
fn ends_with(text: &[u8], end: &[u8]) -> bool {
    text.len() >= end.len() && text[text.len() - end.len()..].eq_ignore_ascii_case(end)
}

/// `?sig=…`, `&X-Amz-Signature=…`: the signature of an address that anybody may use who knows it.
pub(super) fn find_signature(text: &[u8], hit: Range<usize>) -> Option<Secret> {
    let start = run_start(text, hit.start, NAME_BYTES_MAX, |b| b.is_ascii_alphanumeric() || b == b'-');
    let name = &text[start..hit.start];
    let is_query = matches!(text[..start].last(), Some(b'?' | b'&' | b';'));
    if !is_query && !ends_with(name, b"x-amz-") && !ends_with(name, b"x-goog-") {
        return None;
    }
    let end = run_end(text, hit.end, VALUE_BYTES_MAX, |b| is_credential(b) || b == b'%');
    let value = &text[hit.end..end];
    (value.len() >= 16 && value.iter().any(u8::is_ascii_digit))
        .then_some(Secret { range: hit.end..end, kind: "signature" })
}

/// `machine <host> login <user> password <password>`, on one line or several.
pub(super) fn find_netrc(text: &[u8], hit: Range<usize>) -> Option<Secret> {
    if text[..hit.start].last().is_some_and(|&b| is_credential(b)) {
        return None;
    }
    let mut at = hit.end;
    let mut before: &[u8] = b"";
    let mut is_entry = false;
    for number in 0..NETRC_WORDS_MAX {
        let start = run_end(text, at, 16, |b| b.is_ascii_whitespace());
        let end = run_end(text, start, VALUE_BYTES_MAX, |b| !b.is_ascii_whitespace() && b != b'"' && b != b'\\');
        let word = &text[start..end];
        if before == b"password" && is_entry {
            let end = run_end(text, end, usize::MAX, |b| !b.is_ascii_whitespace() && b != b'"' && b != b'\\');
            return (!is_placeholder(word)).then_some(Secret { range: start..end, kind: "password" });
        }
        is_entry |= number == 1 && [&b"login"[..], b"password", b"account"].contains(&word);
        (before, at) = (word, end);
        if word.is_empty() || number == 1 && !is_entry {
            return None;
        }
    }
    None
}

/// `PuTTY-User-Key-File`'s `Private-Lines: <n>` and the lines behind it.
pub(super) fn private_lines(text: &[u8], hit: Range<usize>) -> Option<Secret> {
    let number_end = run_end(text, hit.end, 4, |b| b.is_ascii_digit() || b == b' ');
    let mut end = number_end;
    let lines: usize = std::str::from_utf8(&text[hit.end..number_end]).ok()?.trim().parse().ok()?;
    for _ in 0..lines.min(64) {
        let start = run_end(text, end, 2, |b| b == b'\n' || b == b'\r');
        let line_end = run_end(text, start, 128, |b| Alphabet::Base64.has_byte(b));
        if line_end - start < 4 {
            break;
        }
        end = line_end;
    }
    let start = run_end(text, number_end, 2, |b| b == b'\n' || b == b'\r');
    (end > start).then_some(Secret { range: start..end, kind: "private-key" })
}
