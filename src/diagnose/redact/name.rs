//! Values behind a name: `PASSWORD=…`, `"token": "…"`, `secret: …`, `--api-key …`.

use std::ops::Range;

use super::{NAME_BYTES_MAX, Secret, VALUE_BYTES_MAX, run_end, run_start};

/// How much a name alone says about the value behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    /// Almost any value is a secret (`password`).
    Strong,
    /// The value must not be a plain word (`token`).
    Weak,
    /// Only a value that looks random (`key`).
    Hint,
}

/// The names; each must end the identifier it stands in, digits aside, to have its weight. Inside one it is a hint.
pub(super) const NAMES: [(&str, Weight); 32] = [
    ("password", Weight::Strong),
    ("passwd", Weight::Strong),
    ("passphrase", Weight::Strong),
    ("pwd", Weight::Strong),
    ("_pass", Weight::Strong),
    ("secret", Weight::Strong),
    ("secret_key", Weight::Strong),
    ("secret-key", Weight::Strong),
    ("secretkey", Weight::Strong),
    ("secret_key_base", Weight::Strong),
    ("api_key", Weight::Strong),
    ("api-key", Weight::Strong),
    ("apikey", Weight::Strong),
    ("access_key", Weight::Strong),
    ("access-key", Weight::Strong),
    ("accesskey", Weight::Strong),
    ("account_key", Weight::Strong),
    ("accountkey", Weight::Strong),
    ("private_key", Weight::Strong),
    ("privatekey", Weight::Strong),
    ("signing_key", Weight::Strong),
    ("encryption_key", Weight::Strong),
    ("master_key", Weight::Strong),
    ("auth_token", Weight::Strong),
    ("authtoken", Weight::Strong),
    ("access_token", Weight::Strong),
    ("accesstoken", Weight::Strong),
    ("refresh_token", Weight::Strong),
    ("token", Weight::Weak),
    ("_auth", Weight::Weak),
    ("credential", Weight::Weak),
    ("key", Weight::Hint),
];

/// Words behind a name that say something about the value instead of being it: placeholders, types, verdicts.
const NOT_VALUES: [&str; 62] = [
    "null",
    "nil",
    "none",
    "undefined",
    "true",
    "false",
    "string",
    "str",
    "text",
    "number",
    "int",
    "bool",
    "boolean",
    "any",
    "unknown",
    "bytes",
    "object",
    "char",
    "varchar",
    "required",
    "optional",
    "missing",
    "invalid",
    "empty",
    "expired",
    "wrong",
    "incorrect",
    "failed",
    "fail",
    "passed",
    "pass",
    "ok",
    "error",
    "warning",
    "not",
    "is",
    "was",
    "must",
    "should",
    "cannot",
    "can",
    "has",
    "needs",
    "requires",
    "and",
    "or",
    "the",
    "a",
    "an",
    "in",
    "on",
    "to",
    "from",
    "with",
    "for",
    "if",
    "when",
    "argument",
    "option",
    "flag",
    "value",
    "changeme",
];

/// A value behind a hint is judged by at most so many bytes.
const HINT_VALUE_BYTES_MAX: usize = 96;

/// How the name and its value are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Join {
    /// `NAME=value`
    Tight,
    /// `name = value`, `name: value`, `"name": value`, `name => value`
    Loose,
    /// `--name value`
    Space,
}

struct Value {
    range: Range<usize>,
    quoted: bool,
}

/// `[redacted:…`: already replaced.
pub(super) fn is_marker(text: &str) -> bool {
    text.starts_with("[redacted:")
}

/// For `--password`, `--api-key`: what to call the value that follows.
pub(super) fn flag_kind(arg: &str) -> Option<&'static str> {
    let name = arg.strip_prefix('-')?;
    let name = name.strip_prefix('-').unwrap_or(name).to_ascii_lowercase();
    let known = NAMES.iter().filter(|(_, weight)| *weight != Weight::Hint);
    known
        .filter(|(known, _)| name.ends_with(known))
        .max_by_key(|(known, _)| known.len())
        .map(|(known, _)| kind(known.as_bytes()))
}

/// The value behind the name at `hit`, if it is one to hide.
pub(super) fn assignment(text: &[u8], hit: Range<usize>, weight: Weight) -> Option<Secret> {
    let is_name = |b: u8| b.is_ascii_alphanumeric() || b"_-.".contains(&b);
    let start = run_start(text, hit.start, NAME_BYTES_MAX, is_name);
    let end = run_end(text, hit.end, NAME_BYTES_MAX, is_name);
    if text[..start].ends_with(b"[redacted:") {
        return None;
    }
    let identifier = &text[start..end];
    // A longer name that ends here, or one further right, judges the same value; one is enough, but each may be first.
    let ends_it = text[hit.end..end].iter().all(u8::is_ascii_digit);
    let weight = if ends_it { weight } else { Weight::Hint };
    let max = if weight == Weight::Hint { HINT_VALUE_BYTES_MAX } else { VALUE_BYTES_MAX };
    let (value, join) = value_behind(text, end, identifier, max)?;
    let shown = &text[value.range.clone()];
    if shown.is_empty()
        || (weight == Weight::Hint && !looks_random(shown))
        || is_placeholder(shown, identifier, value.quoted)
    {
        return None;
    }
    let secret = match weight {
        Weight::Strong => strong(text, start, identifier, &value, join),
        Weight::Weak => weak(text, start, identifier, &value, join),
        Weight::Hint => true,
    };
    let range = value.range.start..whole_value_end(text, &value, max);
    secret.then_some(Secret { range, kind: kind(identifier) })
}

fn kind(name: &[u8]) -> &'static str {
    let has = |part: &str| name.to_ascii_lowercase().windows(part.len()).any(|window| window == part.as_bytes());
    match () {
        () if has("pass") || has("pwd") => "password",
        () if has("token") || has("auth") => "token",
        () if has("key") => "key",
        () => "secret",
    }
}

/// Finds the value after an identifier that ends at `end`.
fn value_behind(text: &[u8], end: usize, identifier: &[u8], max: usize) -> Option<(Value, Join)> {
    let is_space = |b: u8| b == b' ' || b == b'\t';
    let mut at = run_end(text, end, 2, |b| b"\"'`]\\".contains(&b));
    let spaced = run_end(text, at, 8, is_space);
    let join = match text.get(spaced) {
        Some(b'=' | b':') => {
            let after = run_end(text, spaced, 2, |b| b"=:>".contains(&b));
            if &text[spaced..after] == b"==" || &text[spaced..after] == b"::" {
                return None;
            }
            at = run_end(text, after, 8, is_space);
            if spaced == end && at == after && after == spaced + 1 && text[spaced] == b'=' {
                Join::Tight
            } else {
                Join::Loose
            }
        }
        Some(_) if at == end && spaced > end && identifier.starts_with(b"--") => {
            at = spaced;
            Join::Space
        }
        _ => return None,
    };
    if text.get(at).is_none_or(|&b| is_placeholder_start(b)) {
        return None;
    }
    let open = run_end(text, at, 1, |b| b == b'\\');
    if let Some(&quote @ (b'"' | b'\'' | b'`')) = text.get(open) {
        let start = open + 1;
        let end = run_end(text, start, max, |b| b != quote && b != b'\n' && (open == at || b != b'\\'));
        return Some((Value { range: start..end, quoted: true }, join));
    }
    let end = run_end(text, at, max, |b| in_bare_value(b, is_constant(identifier) && join == Join::Tight));
    Some((Value { range: at..end, quoted: false }, join))
}

/// `constant`: behind `DB_PASSWORD=` everything up to the space belongs to the value; elsewhere (`?token=…&x=1`,
/// `Password=…;Server=…`) it ends at punctuation that joins it to more.
fn in_bare_value(b: u8, constant: bool) -> bool {
    !b.is_ascii_whitespace()
        && !b.is_ascii_control()
        && !b"\"'`".contains(&b)
        && (constant || !b"&;,)}]<>".contains(&b))
}

/// The value's end when it is longer than what was judged.
fn whole_value_end(text: &[u8], value: &Value, max: usize) -> usize {
    if value.range.len() < max {
        return value.range.end;
    }
    run_end(text, value.range.end, usize::MAX, |b| !b.is_ascii_whitespace() && !b"\"'`".contains(&b))
}

/// `DB_PASSWORD`: an environment variable's name.
fn is_constant(identifier: &[u8]) -> bool {
    identifier.iter().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || *b == b'_')
}

/// `$VAR`, `<token>`, `{{ token }}`, `***`, and our own marker.
fn is_placeholder_start(b: u8) -> bool {
    b"$<{[%&*(".contains(&b)
}

/// Values that stand for one, are code that gets one, or were hidden already.
fn is_placeholder(value: &[u8], identifier: &[u8], quoted: bool) -> bool {
    if is_placeholder_start(value[0]) || value.iter().all(|b| b"*x.-_?#=>".contains(b)) {
        return true;
    }
    if !quoted && value.iter().any(|b| b"([{".contains(b)) {
        return true;
    }
    // The longest of these words and starts is far shorter.
    let lower = value[..value.len().min(64)].to_ascii_lowercase();
    let code = [&b"process.env"[..], b"os.environ", b"self.", b"this.", b"env.", b"secrets.", b"config."];
    if code.iter().any(|start| lower.starts_with(start)) {
        return true;
    }
    let word = std::str::from_utf8(&lower).unwrap_or("x").trim_end_matches(['.', ',', ';', ':', '!', '?']);
    let plain = word.bytes().all(|b| b.is_ascii_alphabetic() || b == b'_');
    value.len() < 64
        && (word.is_empty()
            || NOT_VALUES.contains(&word)
            || (plain && identifier.to_ascii_lowercase().ends_with(word.as_bytes())))
}

/// `password` and its like: any value, but not the words of a sentence or of source code.
fn strong(text: &[u8], start: usize, identifier: &[u8], value: &Value, join: Join) -> bool {
    let shown = &text[value.range.clone()];
    let is_path = shown[0] == b'/' || shown.starts_with(b"./") || shown.starts_with(b"~/");
    if identifier.eq_ignore_ascii_case(b"pwd") && (is_path || is_constant(identifier))
        || identifier == b"OLDPWD"
        || identifier.ends_with(b"_pass") && !value.quoted
    {
        return false;
    }
    let word = shown.iter().all(u8::is_ascii_alphabetic);
    match join {
        Join::Tight => true,
        _ if value.quoted => !shown.contains(&b' ') || !in_sentence(text, start),
        Join::Space => !word || shown.len() >= 6 || ends_line(text, value.range.end),
        // In a sentence ("wrong password: hunter2") a plain word says more about the password than it is one, and a
        // capital or a comma after it (`password: String,`) makes it source code.
        Join::Loose if word => {
            !in_sentence(text, start) && shown[0].is_ascii_lowercase() && ends_line(text, value.range.end)
        }
        Join::Loose => !is_path && shown.len() >= 4 && shown.iter().any(u8::is_ascii_alphanumeric),
    }
}

/// `token`: parsers and lexers say it too, so the value has to have letters and digits, and in a sentence to be long.
fn weak(text: &[u8], start: usize, identifier: &[u8], value: &Value, join: Join) -> bool {
    let shown = &text[value.range.clone()];
    let has = |class: fn(&u8) -> bool| shown.iter().any(class);
    let opaque = has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && !shown.starts_with(b"0x")
        && !shown.contains(&b' ')
        && shown.iter().all(|&b| b.is_ascii_alphanumeric() || b"-_+/=.~".contains(&b));
    match join {
        Join::Tight if is_constant(identifier) || identifier.starts_with(b"--") => true,
        Join::Tight => opaque && shown.len() >= 6,
        Join::Loose | Join::Space if in_sentence(text, start) => opaque && looks_random(shown),
        Join::Loose | Join::Space => opaque && shown.len() >= 8,
    }
}

/// A word stands directly before the name: prose, not a key.
fn in_sentence(text: &[u8], start: usize) -> bool {
    let before = run_start(text, start, 4, |b| b == b' ');
    let is_word = |b: &u8| b.is_ascii_alphanumeric() || b"'\")".contains(b);
    before < start && (text[..before].last().is_some_and(is_word) || ends_with_marker(&text[..before]))
}

/// What stood there was a word as well.
fn ends_with_marker(text: &[u8]) -> bool {
    let near = &text[text.len().saturating_sub(MARKER_BYTES_MAX)..];
    near.ends_with(b"]") && memchr::memrchr(b'[', near).is_some_and(|at| near[at..].starts_with(b"[redacted:"))
}

/// Our own marker with the longest kind.
const MARKER_BYTES_MAX: usize = 32;

fn ends_line(text: &[u8], end: usize) -> bool {
    let rest = run_end(text, end, 8, |b| b == b' ' || b == b'\t' || b == b'\r');
    matches!(text.get(rest), None | Some(b'\n'))
}

/// 20 bytes or more of one unbroken run with capitals, small letters and digits, each byte worth 3.5 bits or more.
/// File names, versions and cache keys have separators; commit ids and checksums have one case.
fn looks_random(value: &[u8]) -> bool {
    let has = |class: fn(&u8) -> bool| value.iter().any(class);
    let padding = value.iter().rev().take_while(|&&b| b == b'=').count();
    let body = &value[..value.len() - padding];
    value.len() >= 20
        && padding <= 2
        && body.iter().all(|&b| b.is_ascii_alphanumeric() || b"+/_".contains(&b))
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_lowercase)
        && value.iter().filter(|&&b| b == b'/' || b == b'_').count() * 10 <= value.len()
        && bits_per_byte(value) >= 3.5
}

/// Shannon entropy.
fn bits_per_byte(value: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for &b in value {
        counts[usize::from(b)] += 1;
    }
    let total = value.len() as f64;
    counts.iter().filter(|&&n| n > 0).map(|&n| f64::from(n) / total).map(|p| -p * p.log2()).sum()
}
