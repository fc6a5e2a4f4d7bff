//! Values behind a name: `PASSWORD=…`, `"token": "…"`, `secret: …`, `--api-key …`, `<password>…</password>`.

use std::ops::Range;

use super::alphabet::{is_opaque, looks_random};
use super::names::{BEFORE_KEY, HARMLESS_KEYS, NAMES, NOT_VALUES, NameWeight};
use super::{MARKER, NAME_BYTES_MAX, Secret, VALUE_BYTES_MAX, run_end, run_start};

/// A value behind a hint is judged by at most this many bytes.
const HINT_VALUE_BYTES_MAX: usize = 192;
/// Words between a name and what joins it to its value (`key for staging: …`), bytes.
const BETWEEN_BYTES_MAX: usize = 20;
/// What precedes `key` on its line is looked at for this many bytes.
const CONTEXT_BYTES_MAX: usize = 40;

/// How the name and its value are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NameValueJoin {
    /// `NAME=value`
    Tight,
    /// `name = value`, `name: value`, `"name": value`, `name => value`, `<name>value`, `"name", "value"`
    Loose,
    /// `--name value`
    Space,
    /// `name value`, `name of it: value`
    Prose,
}

struct NamedValue {
    range: Range<usize>,
    quoted: bool,
}

/// A name in a text.
struct SecretName<'a> {
    text: &'a [u8],
    start: usize,
    end: usize,
}

impl<'a> SecretName<'a> {
    fn identifier_bytes(&self) -> &'a [u8] {
        &self.text[self.start..self.end]
    }

    fn is_option(&self) -> bool {
        self.identifier_bytes().starts_with(b"-")
    }

    /// `?key=…`, `&key=…`
    fn is_query(&self) -> bool {
        matches!(self.text[..self.start].last(), Some(b'?' | b'&')) || self.text[..self.start].ends_with(b"&amp;")
    }
}

fn is_name(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b"_-.".contains(&b)
}

fn is_space(b: u8) -> bool {
    b == b' ' || b == b'\t'
}

fn contains_part(text: &[u8], part: &str) -> bool {
    memchr::memmem::find(text, part.as_bytes()).is_some()
}

/// `[redacted:…`: already replaced.
pub(super) fn is_marker(text: &str) -> bool {
    text.as_bytes().starts_with(MARKER)
}

/// For `--password`, `--api-key`: what to call the value that follows.
pub(super) fn flag_kind(arg: &str) -> Option<&'static str> {
    let name = arg.strip_prefix('-')?;
    let name = name.strip_prefix('-').unwrap_or(name).to_ascii_lowercase();
    let known = NAMES.iter().filter(|(_, weight)| matches!(weight, NameWeight::Strong | NameWeight::Weak));
    known
        .filter(|(known, _)| name.ends_with(known))
        .max_by_key(|(known, _)| known.len())
        .map(|(known, _)| kind_of_name(known.as_bytes()))
}

/// For `--key` and `--signing-key`: what to call the value that follows if it looks like one.
pub(super) fn is_key_flag(arg: &str) -> bool {
    arg.starts_with('-') && arg.to_ascii_lowercase().trim_start_matches('-').ends_with("key")
}

/// The value behind the name at `hit`, if it is one to hide.
pub(super) fn find_assignment(text: &[u8], hit: Range<usize>, weight: NameWeight) -> Option<Secret> {
    let start = run_start(text, hit.start, NAME_BYTES_MAX, is_name);
    let end = run_end(text, hit.end, NAME_BYTES_MAX, is_name);
    if text[..start].ends_with(MARKER) {
        return None;
    }
    let name = SecretName { text, start, end };
    let identifier = name.identifier_bytes();
    // A longer name that ends here, or one further right, judges the same value; one is enough, but each may be first.
    let ends_it = text[hit.end..end].iter().all(u8::is_ascii_digit);
    let weight = match weight {
        NameWeight::Key if !ends_it || !begins_a_word(text, start, hit.start) => NameWeight::Hint,
        weight if ends_it => weight,
        _ => NameWeight::Hint,
    };
    let max = if weight == NameWeight::Hint { HINT_VALUE_BYTES_MAX } else { VALUE_BYTES_MAX };
    let (value, join) = value_behind(&name, max, weight)?;
    let shown = &text[value.range.clone()];
    if shown.is_empty()
        || (weight == NameWeight::Hint && !looks_random(shown))
        || is_digest(shown)
        || is_placeholder(shown, identifier, value.quoted)
    {
        return None;
    }
    let is_secret = match (weight, join) {
        (NameWeight::Hint, _) => !is_public(identifier),
        (_, NameValueJoin::Prose) => is_prose_value(&name, shown, weight),
        (NameWeight::Strong, _) => is_strong_value(&name, &value, join),
        (NameWeight::Weak, _) => is_weak_value(&name, &value, join),
        (NameWeight::Key, _) => is_key_value(&name, &value, join),
    };
    let range = value.range.start..whole_value_end(text, &value, max);
    is_secret.then_some(Secret { range, kind: kind_of_name(identifier) })
}

/// `sort_key`, `sortKey`, `key`, but not `monkey`.
fn begins_a_word(text: &[u8], start: usize, at: usize) -> bool {
    let Some(before) = text[start..at].last() else { return true };
    b"_-.".contains(before) || before.is_ascii_lowercase() && text[at].is_ascii_uppercase()
}

fn kind_of_name(name: &[u8]) -> &'static str {
    let name = name.to_ascii_lowercase();
    let has = |part: &str| contains_part(&name, part);
    match () {
        () if has("pass") || has("pwd") => "password",
        () if has("jwt") => "jwt",
        () if has("sess") || has("sid") => "cookie",
        () if has("token") || has("auth") => "token",
        () if has("key") => "key",
        () => "secret",
    }
}

/// Finds the value after an identifier.
fn value_behind(name: &SecretName<'_>, max: usize, weight: NameWeight) -> Option<(NamedValue, NameValueJoin)> {
    let (text, end) = (name.text, name.end);
    if text.get(end) == Some(&b'>') && text[..name.start].ends_with(b"<") {
        let stop = run_end(text, end + 1, max, |b| b != b'<' && b != b'\n');
        let is_element = text.get(stop) == Some(&b'<') && !text.get(end + 1).is_none_or(|&b| is_placeholder_start(b));
        return is_element.then_some((NamedValue { range: end + 1..stop, quoted: true }, NameValueJoin::Loose));
    }
    let closed = run_end(text, end, 2, |b| b"\"'`]\\".contains(&b));
    let spaced = run_end(text, closed, 8, is_space);
    let (at, join) = match text.get(spaced) {
        Some(b'=' | b':' | b'?' | b'|') => behind_sign(text, end, spaced)?,
        // `setItem("token", "…")`
        Some(b',') if closed > end && closed == spaced => {
            let at = run_end(text, spaced + 1, 2, is_space);
            text.get(at).filter(|&&b| b == b'"' || b == b'\'')?;
            (at, NameValueJoin::Loose)
        }
        // `key="password" value="…"`
        Some(b'v') if closed > end && text[spaced..].starts_with(b"value=") => (spaced + 6, NameValueJoin::Loose),
        Some(_) if closed == end && spaced > end && name.is_option() => (spaced, NameValueJoin::Space),
        Some(_) if closed == end && spaced > end => (behind_words(text, end, spaced, weight)?, NameValueJoin::Prose),
        _ => return None,
    };
    if text.get(at).is_none_or(|&b| is_placeholder_start(b)) {
        return None;
    }
    let open = run_end(text, at, 1, |b| b == b'\\');
    if let Some(&quote @ (b'"' | b'\'' | b'`')) = text.get(open) {
        let start = open + 1;
        let end = run_end(text, start, max, |b| b != quote && b != b'\n' && (open == at || b != b'\\'));
        return Some((NamedValue { range: start..end, quoted: true }, join));
    }
    let is_whole = is_constant(name.identifier_bytes()) && join == NameValueJoin::Tight;
    let end = run_end(text, at, max, |b| in_bare_value(b, is_whole));
    Some((NamedValue { range: at..end, quoted: false }, join))
}

/// Where the value begins behind `=`, `:`, `=>`, `:=`, `?=` or `||=`.
fn behind_sign(text: &[u8], end: usize, sign: usize) -> Option<(usize, NameValueJoin)> {
    let after = run_end(text, sign, 3, |b| b"=:>?|".contains(&b));
    let shown = &text[sign..after];
    if [&b"=="[..], b"===", b"::", b"?", b"??", b"|", b"||", b"?:", b"?."].contains(&shown) {
        return None;
    }
    let at = run_end(text, after, 8, is_space);
    let is_tight = sign == end && at == after && shown == b"=";
    Some((at, if is_tight { NameValueJoin::Tight } else { NameValueJoin::Loose }))
}

/// Where the value begins behind words: `token is …`, `key for staging: …`.
fn behind_words(text: &[u8], end: usize, spaced: usize, weight: NameWeight) -> Option<usize> {
    let between = run_end(text, end, BETWEEN_BYTES_MAX, |b| is_name(b) || is_space(b));
    if let Some(b'=' | b':') = text.get(between) {
        let (at, _) = behind_sign(text, end, between)?;
        return Some(at);
    }
    let is_named = weight == NameWeight::Strong || weight == NameWeight::Weak || weight == NameWeight::Key;
    let verb = [&b"is "[..], b"was "].into_iter().find(|verb| text[spaced..].starts_with(verb));
    is_named.then(|| spaced + verb.map_or(0, |verb| verb.len()))
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
fn whole_value_end(text: &[u8], value: &NamedValue, max: usize) -> usize {
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

/// `sha512-…`, `sha256:…`: what a content's hash looks like.
fn is_digest(value: &[u8]) -> bool {
    let starts = [&b"sha1-"[..], b"sha1:", b"sha256-", b"sha256:", b"sha384-", b"sha512-", b"sha512:", b"md5:"];
    starts.iter().any(|start| value.starts_with(start))
}

/// Values that represent one, are code that gets one, or were hidden already.
fn is_placeholder(value: &[u8], identifier: &[u8], quoted: bool) -> bool {
    if is_placeholder_start(value[0]) || value.iter().all(|b| b"*xX.-_?#=>".contains(b)) {
        return true;
    }
    if !quoted && (value.iter().any(|b| b"([{".contains(b)) || contains_part(value, "::")) {
        return true;
    }
    // The name of a variable (`password: GITHUB_TOKEN`).
    if is_constant(value) && value.contains(&b'_') && !value.iter().any(u8::is_ascii_digit) {
        return true;
    }
    // The longest of these words and starts is far shorter.
    let lower = value[..value.len().min(64)].to_ascii_lowercase();
    let code = [&b"process.env"[..], b"os.environ", b"self.", b"this.", b"env.", b"secrets.", b"config.", b"your"];
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
fn is_strong_value(name: &SecretName<'_>, value: &NamedValue, join: NameValueJoin) -> bool {
    let (text, identifier) = (name.text, name.identifier_bytes());
    let shown = &text[value.range.clone()];
    let is_path = shown[0] == b'/' || shown.starts_with(b"./") || shown.starts_with(b"~/");
    if identifier.eq_ignore_ascii_case(b"pwd") && (is_path || is_constant(identifier) && !looks_random(shown))
        || identifier == b"OLDPWD"
        || identifier.ends_with(b"_pass") && !value.quoted
        || is_public(identifier)
    {
        return false;
    }
    let word = shown.iter().all(u8::is_ascii_alphabetic);
    match join {
        NameValueJoin::Tight => true,
        _ if value.quoted => !shown.contains(&b' ') || !in_sentence(text, name.start),
        NameValueJoin::Space => !word || shown.len() >= 6 || ends_line(text, value.range.end),
        // In a sentence ("wrong password: hunter2") a plain word says more about the password than it is one, and a
        // capital or a comma after it (`password: String,`) makes it source code.
        NameValueJoin::Loose | NameValueJoin::Prose if word => {
            !in_sentence(text, name.start) && shown[0].is_ascii_lowercase() && ends_line(text, value.range.end)
        }
        // `const SECRET: c_long = 447`: a type.
        NameValueJoin::Loose if text[value.range.end..].starts_with(b" =") => false,
        NameValueJoin::Loose | NameValueJoin::Prose => {
            !is_path && shown.len() >= 4 && shown.iter().any(u8::is_ascii_alphanumeric)
        }
    }
}

/// `token`: parsers and lexers say it too, so the value has to have letters and digits, and in a sentence to be long.
fn is_weak_value(name: &SecretName<'_>, value: &NamedValue, join: NameValueJoin) -> bool {
    let (text, identifier) = (name.text, name.identifier_bytes());
    let shown = &text[value.range.clone()];
    if is_public(identifier) || !value.quoted && is_field(shown) {
        return false;
    }
    let has = |class: fn(&u8) -> bool| shown.iter().any(class);
    let opaque = has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && !shown.starts_with(b"0x")
        && !shown.contains(&b' ')
        && shown.iter().all(|&b| b.is_ascii_alphanumeric() || b"-_+/=.~%:|".contains(&b));
    match join {
        NameValueJoin::Tight if is_constant(identifier) || identifier.starts_with(b"--") => true,
        NameValueJoin::Tight => opaque && shown.len() >= 6,
        _ if in_sentence(text, name.start) => opaque && (looks_random(shown) || is_opaque(shown, 20)),
        _ => opaque && shown.len() >= 8,
    }
}

/// `node.colon2_token`, `messages_1.UnexpectedToken`: source code that names what has it.
fn is_field(value: &[u8]) -> bool {
    let is_word = |part: &[u8]| part.first().is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_');
    let is_plain = |b: &u8| b.is_ascii_alphanumeric() || b"_.".contains(b);
    value.contains(&b'.')
        && value.iter().all(is_plain)
        && value.split(|&b| b == b'.').all(is_word)
        && !looks_random(value)
}

/// `key`: maps, caches and databases have keys too, and `CACHE_KEY=…` is as long as a secret.
fn is_key_value(name: &SecretName<'_>, value: &NamedValue, join: NameValueJoin) -> bool {
    let identifier = name.identifier_bytes().to_ascii_lowercase();
    let shown = &name.text[value.range.clone()];
    if HARMLESS_KEYS.iter().any(|part| contains_part(&identifier, part)) {
        return false;
    }
    let is_bare = identifier.trim_ascii_start() == b"key" && !name.is_query();
    if is_bare && !is_key_of(name) {
        return looks_random(shown) || is_opaque(shown, 32) && is_one_run(shown) && !is_harmless_here(name);
    }
    let is_argument = matches!(join, NameValueJoin::Tight | NameValueJoin::Space)
        && (name.is_option() || is_constant(name.identifier_bytes()));
    is_opaque(shown, if is_argument || value.quoted { 10 } else { 12 })
}

/// Without the separators of a name that ends in a hash (`go-mod-eca089…`).
fn is_one_run(value: &[u8]) -> bool {
    value.iter().all(|b| b.is_ascii_alphanumeric() || b"+/=".contains(b))
}

/// `API key`, `access key`: the word before says what it is.
fn is_key_of(name: &SecretName<'_>) -> bool {
    let end = run_start(name.text, name.start, 2, is_space);
    let start = run_start(name.text, end, NAME_BYTES_MAX, |b| b.is_ascii_alphanumeric());
    let word = name.text[start..end].to_ascii_lowercase();
    end < name.start && BEFORE_KEY.iter().any(|before| word == before.as_bytes())
}

/// Whether the words before `key` on its line say that it is one of a cache or a table.
fn is_harmless_here(name: &SecretName<'_>) -> bool {
    let start = run_start(name.text, name.start, CONTEXT_BYTES_MAX, |b| b != b'\n');
    let before = name.text[start..name.start].to_ascii_lowercase();
    HARMLESS_KEYS.iter().any(|part| contains_part(&before, part))
}

/// `token 3f9…`, `key for staging: 3f9…`: nothing but the value says that it is one.
fn is_prose_value(name: &SecretName<'_>, shown: &[u8], weight: NameWeight) -> bool {
    if weight == NameWeight::Key {
        let identifier = name.identifier_bytes().to_ascii_lowercase();
        let harmless = HARMLESS_KEYS.iter().any(|part| contains_part(&identifier, part)) || is_harmless_here(name);
        return !harmless && (looks_random(shown) || is_key_of(name) && is_opaque(shown, 20));
    }
    looks_random(shown) || is_opaque(shown, 20)
}

/// What anybody may see, however random it looks.
fn is_public(identifier: &[u8]) -> bool {
    let identifier = identifier.to_ascii_lowercase();
    contains_part(&identifier, "public")
        || contains_part(&identifier, "pubkey")
        || contains_part(&identifier, "pub_key")
}

/// A word directly before the name: prose, not a key.
fn in_sentence(text: &[u8], start: usize) -> bool {
    let before = run_start(text, start, 4, |b| b == b' ');
    let is_word = |b: &u8| b.is_ascii_alphanumeric() || b"'\")".contains(b);
    before < start && (text[..before].last().is_some_and(is_word) || ends_with_marker(&text[..before]))
}

/// That was a word as well.
fn ends_with_marker(text: &[u8]) -> bool {
    let near = &text[text.len().saturating_sub(MARKER_BYTES_MAX)..];
    near.ends_with(b"]") && memchr::memrchr(b'[', near).is_some_and(|at| near[at..].starts_with(MARKER))
}

/// Our own marker with the longest kind.
const MARKER_BYTES_MAX: usize = 40;

fn ends_line(text: &[u8], end: usize) -> bool {
    let rest = run_end(text, end, 8, |b| b == b' ' || b == b'\t' || b == b'\r');
    matches!(text.get(rest), None | Some(b'\n'))
}
