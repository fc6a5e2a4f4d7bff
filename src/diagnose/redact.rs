//! Secrets out, before anything is written: each is replaced by `[redacted:<kind>]` and counted.
//!
//! One aho-corasick pass over literals that every secret has beside or in it; a hit is judged by a small matcher that
//! looks at its neighbourhood only. No regex, so 16 MiB of output cost one linear scan. A secret that has a shape of
//! its own (`ghp_…`, a JWT, a private key) is taken wherever it stands. Anything else needs a name in front of it
//! (`password=`, `"token": `), and the weaker the name, the more the value itself must look like a secret:
//! `Unexpected token: foo` is what parsers print all day.
//!
//! Redacting twice changes nothing: a marker is never a value.

mod name;
mod token;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use memchr::memmem;

use crate::base::literals::{LONG_TEXT_BYTES_MIN, Literals};

/// A private key's text between its header and footer, bytes; more is not one key.
const PEM_BYTES_MAX: usize = 64 << 10;
/// Names and schemes are read this far to either side of a hit, bytes.
const NAME_BYTES_MAX: usize = 128;
/// A value is judged by at most so many bytes; all of it is replaced.
const VALUE_BYTES_MAX: usize = 512;

/// A text is looked at again where something was found in it, so many times.
const ROUNDS_MAX: usize = 4;

/// What a literal announces.
#[derive(Debug, Clone, Copy)]
enum Sign {
    /// A token with a shape of its own: index into [`token::SHAPES`].
    Shape(usize),
    /// `eyJ`, the start of a JSON web token.
    Jwt,
    /// `Bearer` or `Authorization`.
    Bearer,
    Authorization,
    /// `-----BEGIN ` and `-----END `.
    PemBegin,
    PemEnd,
    /// `://`.
    Scheme,
    /// A name that announces a value.
    Name(name::Weight),
}

/// The literals, with what each announces.
static SIGNS: LazyLock<Vec<(&str, Sign)>> = LazyLock::new(|| {
    let mut table: Vec<(&str, Sign)> = vec![
        ("eyJ", Sign::Jwt),
        ("bearer", Sign::Bearer),
        ("authorization", Sign::Authorization),
        ("-----BEGIN ", Sign::PemBegin),
        ("-----END ", Sign::PemEnd),
        ("://", Sign::Scheme),
    ];
    table.extend(token::SHAPES.iter().enumerate().map(|(i, shape)| (shape.prefix, Sign::Shape(i))));
    table.extend(name::NAMES.iter().map(|&(name, weight)| (name, Sign::Name(weight))));
    table
});

/// What finds the literals in a text of so many bytes.
fn finder(bytes: usize) -> &'static Literals {
    let build = |bytes| Literals::new(SIGNS.iter().map(|(literal, _)| literal), true, bytes).expect("a small table");
    static SHORT: OnceLock<Literals> = OnceLock::new();
    static LONG: OnceLock<Literals> = OnceLock::new();
    if bytes < LONG_TEXT_BYTES_MIN { &SHORT } else { &LONG }.get_or_init(|| build(bytes))
}

/// A secret's place and what to call it.
#[derive(Debug)]
struct Secret {
    range: Range<usize>,
    kind: &'static str,
}

/// `text` with every secret replaced by `[redacted:<kind>]`, and how many there were.
///
/// Borrowed when there were none. Give it whole output, not single lines: a private key spans many.
pub fn redact(text: &str) -> (Cow<'_, str>, usize) {
    let (mut redacted, mut count) = once(text);
    // What was taken out may have been what made the next one look like a word of a sentence.
    let mut again = count;
    for _ in 1..ROUNDS_MAX {
        if again == 0 {
            break;
        }
        let (text, more) = once(&redacted);
        again = more;
        if more > 0 {
            redacted = Cow::Owned(text.into_owned());
            count += more;
        }
    }
    (redacted, count)
}

fn once(text: &str) -> (Cow<'_, str>, usize) {
    let bytes = text.as_bytes();
    let mut out = String::new();
    let (mut copied, mut count) = (0, 0);
    finder(bytes.len()).each(bytes, |literal, end| {
        let (literal, sign) = SIGNS[literal];
        let start = end - literal.len();
        if start < copied {
            return;
        }
        let Some(secret) = judge(bytes, copied, sign, start..end) else { return };
        // The matchers cut at ASCII bytes only, so both ends are character boundaries.
        out.push_str(&text[copied..secret.range.start]);
        out.push_str("[redacted:");
        out.push_str(secret.kind);
        out.push(']');
        copied = secret.range.end;
        count += 1;
    });
    if count == 0 {
        return (Cow::Borrowed(text), 0);
    }
    out.push_str(&text[copied..]);
    (Cow::Owned(out), count)
}

/// A command's arguments with their secrets replaced, and how many there were.
///
/// Knows more than [`redact`] does from text alone: the argument after `--password` or `--token` is a value, whatever
/// it looks like.
pub fn redact_args<S: AsRef<str>>(args: &[S]) -> (Vec<String>, usize) {
    let mut count = 0;
    let mut value_of = None;
    let redacted = args
        .iter()
        .map(|arg| {
            let arg = arg.as_ref();
            if let Some(kind) = value_of.take().filter(|_| !arg.starts_with('-') && !name::is_marker(arg)) {
                count += 1;
                return format!("[redacted:{kind}]");
            }
            value_of = name::flag_kind(arg);
            let (text, n) = argument(arg);
            count += n;
            text
        })
        .collect();
    (redacted, count)
}

/// One argument by itself: `--token=…`, or any text.
fn argument(arg: &str) -> (String, usize) {
    let (mut text, mut count) = (arg.to_owned(), 0);
    // A value that was taken out may have had the first `=`, before that of the flag.
    for _ in 0..ROUNDS_MAX {
        if let Some((flag, value)) = text.split_once('=')
            && let Some(kind) = name::flag_kind(flag)
            && !value.is_empty()
            && !name::is_marker(value)
        {
            // What ends like a flag's name may be a whole address.
            let (flag, n) = redact(flag);
            return (format!("{flag}=[redacted:{kind}]"), count + 1 + n);
        }
        let (redacted, n) = redact(&text);
        if n == 0 {
            break;
        }
        (text, count) = (redacted.into_owned(), count + n);
    }
    (text, count)
}

/// `copied` bytes are out already: no secret starts before.
fn judge(text: &[u8], copied: usize, sign: Sign, hit: Range<usize>) -> Option<Secret> {
    match sign {
        Sign::Shape(i) => token::shape_at(text, hit, &token::SHAPES[i]),
        Sign::Jwt => token::jwt(text, hit),
        Sign::Bearer => bearer(text, hit),
        Sign::Authorization => authorization(text, hit),
        Sign::PemBegin => pem_from_header(text, hit),
        Sign::PemEnd => pem_from_footer(text, copied, hit),
        Sign::Scheme => url_credentials(text, hit),
        Sign::Name(weight) => name::assignment(text, hit, weight),
    }
}

/// The end of the run of bytes that satisfy `keep`, from `start`, at most `max` further.
fn run_end(text: &[u8], start: usize, max: usize, keep: impl Fn(u8) -> bool) -> usize {
    let end = text.len().min(start.saturating_add(max));
    text[start..end].iter().position(|&b| !keep(b)).map_or(end, |n| start + n)
}

/// The start of the run of bytes that satisfy `keep` and end at `end`, at most `max` back.
fn run_start(text: &[u8], end: usize, max: usize, keep: impl Fn(u8) -> bool) -> usize {
    let start = end.saturating_sub(max);
    text[start..end].iter().rposition(|&b| !keep(b)).map_or(start, |n| start + n + 1)
}

fn is_credential(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b"-._~+/=".contains(&b)
}

/// `Bearer <token>` anywhere; the token is long and has a digit, so that "bearer authentication" is left alone.
fn bearer(text: &[u8], hit: Range<usize>) -> Option<Secret> {
    let start = run_end(text, hit.end, 4, |b| b == b' ' || b == b'\t');
    if start == hit.end || text[..hit.start].last().is_some_and(u8::is_ascii_alphanumeric) {
        return None;
    }
    let end = run_end(text, start, usize::MAX, is_credential);
    let token = &text[start..end];
    (token.len() >= 12 && token.iter().any(u8::is_ascii_digit)).then_some(Secret { range: start..end, kind: "bearer" })
}

/// `Authorization: <scheme> <credential>` in headers, JSON and curl arguments.
fn authorization(text: &[u8], hit: Range<usize>) -> Option<Secret> {
    let separator = run_end(text, hit.end, 8, |b| b"\"'\\:= \t".contains(&b));
    if !text[hit.end..separator].iter().any(|b| b":=".contains(b)) {
        return None;
    }
    let scheme_end = run_end(text, separator, 16, |b| b.is_ascii_alphabetic());
    let scheme = &text[separator..scheme_end];
    let known = ["bearer", "basic", "token", "digest", "apikey", "negotiate", "bot"]
        .iter()
        .find(|name| scheme.eq_ignore_ascii_case(name.as_bytes()));
    let start = run_end(text, scheme_end, 4, |b| b == b' ' || b == b'\t');
    if known.is_none() || start == scheme_end {
        // A bare credential: `Authorization: 3f9…`.
        let end = run_end(text, separator, usize::MAX, is_credential);
        let value = &text[separator..end];
        return (value.len() >= 16 && value.iter().any(u8::is_ascii_digit))
            .then_some(Secret { range: separator..end, kind: "authorization" });
    }
    let end = run_end(text, start, usize::MAX, is_credential);
    let kind = if scheme.eq_ignore_ascii_case(b"basic") { "basic" } else { "bearer" };
    (end - start >= 6).then_some(Secret { range: start..end, kind })
}

/// `scheme://user:password@host`: the password; `https://<long token>@host`: the token.
fn url_credentials(text: &[u8], hit: Range<usize>) -> Option<Secret> {
    let scheme = run_start(text, hit.start, 24, |b| b.is_ascii_alphanumeric() || b"+.-".contains(&b));
    if scheme == hit.start {
        return None;
    }
    let stop = run_end(text, hit.end, VALUE_BYTES_MAX, |b| {
        !b.is_ascii_whitespace() && !b.is_ascii_control() && !b"/?#\"'`<>|\\,".contains(&b)
    });
    let at = memchr::memrchr(b'@', &text[hit.end..stop])? + hit.end;
    let user_info = &text[hit.end..at];
    let start = match memchr::memchr(b':', user_info) {
        Some(colon) => hit.end + colon + 1,
        None if user_info.len() >= 20 && user_info.iter().any(u8::is_ascii_digit) => hit.end,
        None => return None,
    };
    let password = &text[start..at];
    let placeholder = password.is_empty()
        || b"$<{[%".contains(&password[0])
        || password.iter().all(|b| b"*xX.".contains(b))
        || memmem::find(user_info, b"[redacted:").is_some();
    (!placeholder).then_some(Secret { range: start..at, kind: "url-password" })
}

/// A private key from its header to its footer, or, cut short, to the last line that can belong to it.
fn pem_from_header(text: &[u8], hit: Range<usize>) -> Option<Secret> {
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
fn pem_from_footer(text: &[u8], copied: usize, hit: Range<usize>) -> Option<Secret> {
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

#[cfg(test)]
mod tests;
