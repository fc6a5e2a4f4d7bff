//! Which words of an item are keyed: its first line with words, without the tool's constant prefix.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

/// The first line with words in it, and the next one when the first ends in a colon. Without `E   ` and `error:`.
pub(super) fn first_line(message: &str) -> String {
    let mut lines = message
        .lines()
        .map(str::trim)
        .filter(|line| line.bytes().any(|b| b.is_ascii_alphanumeric()) || !line.is_ascii());
    let Some(first) = lines.next() else { return message.trim().to_owned() };
    let first = first.strip_prefix("E  ").unwrap_or(first).trim_start();
    let lower = first.to_ascii_lowercase();
    let first = ["error: ", "fatal error: ", "fatal: "]
        .iter()
        .find(|start| lower.starts_with(**start))
        .map_or(first, |start| first[start.len()..].trim_start());
    match lines.next().filter(|_| first.ends_with(':')) {
        Some(next) => format!("{first} {next}"),
        None => first.to_owned(),
    }
}

/// `dotted.NameError: text` into its exception class and its text.
pub(super) fn split_exception(text: &str) -> (Option<&str>, &str) {
    let end = text.bytes().position(|b| !(b.is_ascii_alphanumeric() || b == b'_' || b == b'.')).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let named =
        ["Error", "Exception", "Warning", "Panic", "Failure", "Interrupt"].iter().any(|end| name.ends_with(end));
    let capital = name.rsplit('.').next().is_some_and(|last| last.starts_with(|c: char| c.is_ascii_uppercase()));
    if !named || !capital {
        return (None, text);
    }
    match rest.strip_prefix(':') {
        Some(rest) => (Some(name), rest.trim_start()),
        None if rest.is_empty() => (Some(name), ""),
        None => (None, text),
    }
}

/// The text without the remedy that a tool adds at its end when names in reach allow one: the failure is the same without
/// it. `; maybe "x"?`, `. Did you mean: 'x'?`, `(hint: …)`, `(consider … instead)`.
pub(super) fn without_hint(text: &str) -> &str {
    static HINT: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r#"(?i)(?:[;,.]? \(?(?:maybe|did you mean|perhaps you meant)\b[^?]*\?\)?|;? \((?:hint|help|consider|perhaps)\b.*\))\.?$"#)
            .expect("a valid pattern")
    });
    // A regex is compiled by each process that asks it.
    if !text.strip_suffix('.').unwrap_or(text).ends_with(['?', ')']) {
        return text;
    }
    HINT.find(text).filter(|hint| hint.start() > 0).map_or(text, |hint| &text[..hint.start()])
}

/// `"m" has no attribute "x"` of `Module "m" has …` and `'m' object has …`: an owner of another kind is no other failure.
pub(super) fn without_kind(text: &str) -> Cow<'_, str> {
    static KIND: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r#"^(?:(?i:module|type object|class|instance of) )?(['"`][^'"`]+['"`])(?: object)?( has no )"#)
            .expect("a valid pattern")
    });
    if text.contains(" has no ") { KIND.replace(text, "$1$2") } else { Cow::Borrowed(text) }
}

/// A message that is one quoted sentence (`KeyError: 'No message with key 5'`, `('…',)`, `<urlopen error …>`) is that
/// sentence.
pub(super) fn unwrap_repr(text: &str) -> &str {
    let inner = text.strip_prefix('(').and_then(|text| text.strip_suffix(",)").or_else(|| text.strip_suffix(')')));
    let inner = inner.unwrap_or(text).trim();
    let is_sentence = |inside: &&str| inside.split_whitespace().count() >= 3;
    for quote in ['\'', '"', '`'] {
        let inside = inner.strip_prefix(quote).and_then(|inner| inner.strip_suffix(quote));
        if let Some(inside) = inside.filter(is_sentence).filter(|inside| !inside.contains(quote)) {
            return inside;
        }
    }
    let inside = inner.strip_prefix('<').and_then(|inner| inner.strip_suffix('>'));
    inside.filter(is_sentence).filter(|inside| inside.starts_with(char::is_alphabetic)).unwrap_or(text)
}
