//! When are two failures the same? Three keys of an item, from its message with everything masked that changes from
//! run to run or machine to machine. Pure; cannot fail.
//!
//! Tool class and rule code (or exception class) come first: different codes never share a key. Then the message at
//! two levels: `family` masks what it is about, `pattern` keeps it (`Cannot find module 'x'`).

mod mask;
mod scan;
mod subject;
mod vocabulary;

use crate::base::text::prefix;
use crate::diagnose::Item;

/// Version of the algorithm, in front of every key: keys of different versions never meet, and a change of the masks
/// re-keys the history.
pub const FINGERPRINT_VERSION: u32 = 1;
/// A message is keyed by its first so many bytes.
const MESSAGE_BYTES_MAX: usize = 1_000;

/// An item's keys: `1:` and 32 hex digits of BLAKE3.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keys {
    /// The same message at the same place: for telling repeats inside one run.
    pub exact: String,
    /// The same failure: subject kept.
    pub pattern: String,
    /// The same kind of failure: subject masked.
    pub family: String,
    /// The pattern's text for people: subject kept, placeholders typed.
    pub masked: String,
    /// The family's text.
    pub masked_family: String,
}

/// The keys of `item`.
pub fn keys(item: &Item) -> Keys {
    let class = tool_class(&item.tool);
    let first = first_line(prefix(&item.message, MESSAGE_BYTES_MAX));
    let (exception, text) = split_exception(&first);
    let code = item.code.as_deref().or(exception).unwrap_or_default();
    let masked = mask::mask(text);
    // Two failing assertions say the same with different values; then it is the test, or the file, that is the same.
    let site = if masked.is_weak {
        let test = item.test.as_deref().map(|test| mask::mask(test).pattern);
        test.or_else(|| item.file.clone()).unwrap_or_default()
    } else {
        String::new()
    };
    let family = hash(&["family", class, code, &masked.family.to_lowercase()]);
    let mut parts = vec!["pattern", family.as_str(), site.as_str()];
    parts.extend(masked.subjects.iter().map(String::as_str));
    let line = item.line.map(|line| line.to_string()).unwrap_or_default();
    let place = [item.file.as_deref().unwrap_or_default(), &line, item.test.as_deref().unwrap_or_default()];
    Keys {
        exact: hash(&[
            "exact",
            &item.tool,
            item.code.as_deref().unwrap_or_default(),
            place[0],
            place[1],
            place[2],
            &item.message,
        ]),
        pattern: hash(&parts),
        family,
        // A failing test that says nothing is listed by its name.
        masked: if masked.pattern.is_empty() { site } else { masked.pattern },
        masked_family: masked.family,
    }
}

/// Tools that report the same failures under one name, so that `npm test` and `vitest run` meet.
fn tool_class(tool: &str) -> &str {
    match tool {
        "jest" | "vitest" | "mocha" | "ava" | "jasmine" | "node-test" => "js-test",
        "cargo" | "cargo-build" | "cargo-check" | "cargo-clippy" | "clippy" | "rustc" => "rustc",
        "cargo-test" | "cargo-nextest" | "nextest" => "cargo-test",
        "pytest" | "unittest" => "py-test",
        "gcc" | "clang" | "g++" | "clang++" | "cc" => "cc",
        "go-build" | "go-vet" | "go" => "go",
        other => other,
    }
}

/// The first line with words in it, and the next one when the first ends in a colon. Without `E   ` and `error:`.
fn first_line(message: &str) -> String {
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
fn split_exception(text: &str) -> (Option<&str>, &str) {
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

fn hash(parts: &[&str]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    format!("{FINGERPRINT_VERSION}:{}", &hasher.finalize().to_hex()[..32])
}

#[cfg(test)]
mod tests;
