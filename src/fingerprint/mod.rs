//! When are two failures the same? Three keys of an item, from its message with everything masked that changes from
//! run to run or machine to machine. Pure; cannot fail.
//!
//! Tool class and rule code (or exception class) come first: different codes never share a key. Then the message at
//! two levels: `family` masks what it is about, `pattern` keeps it (`Cannot find module 'x'`).

mod bracket;
mod cut_report;
mod explanation;
mod mask;
mod message;
mod near_duplicate;
mod scan;
mod shape;
mod subject;
mod vocabulary;

use crate::base::text::prefix;
use crate::diagnose::Diagnostic;
use mask::MaskedMessage;
use message::{first_line, split_exception, without_hint, without_kind};

pub(crate) use cut_report::{ReportedFailure, is_cut_copy};
pub(crate) use explanation::{CodeOrigin, FingerprintExplanation, explain_fingerprint};
pub(crate) use near_duplicate::{
    CANDIDATES_MAX, MessageComparison, NearDuplicateSketch, PatternLeaders, SimilarityVerdict, comparable_text,
    compare_messages, sketch_message,
};

/// Version of the algorithm, in front of every key: keys of different versions never meet, and a change of the masks
/// re-keys the history.
pub(crate) const FINGERPRINT_VERSION: u32 = 4;
/// A message is keyed by its first N bytes.
const MESSAGE_BYTES_MAX: usize = 1_000;

/// An item's keys: the version, a colon and 32 hex digits of BLAKE3.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fingerprint {
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

/// The version that computed a key; `None` when it is no key.
pub(crate) fn key_version(key: &str) -> Option<u32> {
    key.split_once(':').and_then(|(version, _)| version.parse().ok())
}

/// The keys of `item`.
pub(crate) fn compute_fingerprint(item: &Diagnostic) -> Fingerprint {
    FingerprintSteps::from_diagnostic(item).to_fingerprint()
}

/// What was made of an item on the way to its keys.
struct FingerprintSteps<'a> {
    item: &'a Diagnostic,
    class: &'a str,
    text: String,
    code: Option<String>,
    code_from: CodeOrigin,
    masked: MaskedMessage,
    site: String,
}

impl<'a> FingerprintSteps<'a> {
    fn from_diagnostic(item: &'a Diagnostic) -> Self {
        let first = first_line(prefix(&item.message, MESSAGE_BYTES_MAX));
        let (exception, text) = split_exception(&first);
        let (code, code_from) = match (item.code.as_deref(), exception) {
            (Some(code), _) => (Some(code.to_owned()), CodeOrigin::Code),
            (None, Some(exception)) => (Some(exception.to_owned()), CodeOrigin::Exception),
            (None, None) => (None, CodeOrigin::Neither),
        };
        let text = without_kind(without_hint(text));
        let masked = mask::mask_message(&text);
        // Two failing assertions say the same with different values; then it is the test, or the file, that is the
        // same.
        let site = if masked.is_weak {
            let test = item.test.as_deref().map(|test| mask::mask_message(test).pattern);
            test.or_else(|| item.file.clone()).unwrap_or_default()
        } else {
            String::new()
        };
        FingerprintSteps { item, class: tool_class(&item.tool), text: text.into_owned(), code, code_from, masked, site }
    }

    /// The code, where failures are distinguished by it.
    fn keyed_code(&self) -> &str {
        self.code.as_deref().filter(|code| is_keyed(self.class, code)).unwrap_or_default()
    }

    fn to_fingerprint(&self) -> Fingerprint {
        let (item, masked) = (self.item, &self.masked);
        let code = self.keyed_code();
        let family = hash_parts(&["family", self.class, code, &singular_words(&masked.family.to_lowercase())]);
        let mut parts = vec!["pattern", family.as_str(), self.site.as_str()];
        parts.extend(masked.subjects.iter().map(String::as_str));
        let line = item.line.map(|line| line.to_string()).unwrap_or_default();
        let exact = [
            "exact",
            &item.tool,
            item.code.as_deref().unwrap_or_default(),
            item.file.as_deref().unwrap_or_default(),
            &line,
            item.test.as_deref().unwrap_or_default(),
            &item.message,
        ];
        Fingerprint {
            exact: hash_parts(&exact),
            pattern: hash_parts(&parts),
            family,
            // A failing test without a message is listed by its name.
            masked: if masked.pattern.is_empty() { self.site.clone() } else { masked.pattern.clone() },
            masked_family: masked.family.clone(),
        }
    }
}

/// Whether the code tells failures apart. The compiler's lints are known by what they say: in its short form and in some
/// blocks of the long one it leaves their names out.
fn is_keyed(class: &str, code: &str) -> bool {
    class != "rustc" || !code.starts_with("clippy::")
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

/// One missing argument today, two tomorrow: a word in the plural is the word.
fn singular_words(text: &str) -> String {
    let stem = |word: &str| {
        let letters = word.trim_end_matches(|c: char| c.is_ascii_punctuation());
        match letters.strip_suffix('s') {
            Some(stem) if stem.len() >= 3 && !stem.ends_with(['s', 'i', 'u']) => {
                format!("{stem}{}", &word[letters.len()..])
            }
            _ => word.to_owned(),
        }
    };
    text.split(' ').map(stem).collect::<Vec<_>>().join(" ")
}

fn hash_parts(parts: &[&str]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    format!("{FINGERPRINT_VERSION}:{}", &hasher.finalize().to_hex()[..32])
}

#[cfg(test)]
mod tests;
