//! Failures whose result does not depend on the project: a lesson about one would be useless.

use std::path::Path;

use crate::capture::SpoolHeader;
use crate::command::KeyParts;
use crate::diagnose::{Diagnosis, Diagnostic};
use crate::event::NoLessonReason;
use crate::whitelist::CheckKind;

/// What a tool says of an option that it does not have.
const OF_OPTIONS: [&str; 11] = [
    "unknown",
    "unrecognized",
    "unrecognised",
    "unexpected",
    "invalid option",
    "bad option",
    "illegal option",
    "no such option",
    "not defined",
    "unsupported option",
    "wasn't expected",
];
/// What a tool says of a file or test that was named and is not there.
const OF_FILES: [&str; 10] = [
    "not found",
    "no such file",
    "no files matching",
    "no files",
    "does not exist",
    "doesn't exist",
    "cannot find",
    "can't find",
    "could not find",
    "no match",
];
/// What a runner says when what was chosen is nothing.
const OF_NOTHING: [&str; 4] = ["no test files found", "no tests found", "no tests ran", "no tests to run"];
/// Words of a command line that are looked for.
const WORDS_MAX: usize = 64;
/// Lines of output in which they are.
const LINES_MAX: usize = 200;

/// Why this failure gets no lesson; `None` if it gets one.
pub(super) fn reason_against_lesson(header: &SpoolHeader, diagnosis: &Diagnosis) -> Option<NoLessonReason> {
    if header.interrupted {
        return Some(NoLessonReason::Interrupted);
    }
    if is_watch(header) {
        return Some(NoLessonReason::Watch);
    }
    // `2>/dev/null` hides nothing that eslint says.
    let is_located = |item: &Diagnostic| item.file.is_some() && item.line.is_some();
    if header.reader_left || header.partly_seen && !diagnosis.items.iter().any(is_located) {
        return Some(NoLessonReason::Unseen);
    }
    if header.check.as_ref().is_some_and(|check| check.kind == CheckKind::Format) || is_formatting(diagnosis) {
        return Some(NoLessonReason::Formatter);
    }
    is_usage_error(header, diagnosis).then_some(NoLessonReason::UsageError)
}

/// Whether the tool stays until a user ends it: vitest on a terminal, unless it is asked to run once.
fn is_watch(header: &SpoolHeader) -> bool {
    let is_vitest = header.check.as_ref().is_some_and(|check| check.tool == "vitest");
    let once = ["run", "--run", "--watch=false", "--no-watch", "bench", "related", "list", "--typecheck.only"];
    let is_once = header.argv.iter().any(|word| once.contains(&word.display().as_str()));
    is_vitest && header.on_terminal && !is_once && header.identity.agent.as_deref() != Some("ci")
}

/// Whether everything that was found comes from formatters, though another check ran them (`npm run lint`).
fn is_formatting(diagnosis: &Diagnosis) -> bool {
    const FORMATTERS: [&str; 6] = ["prettier", "rustfmt", "black", "ruff-format", "gofmt", "isort"];
    !diagnosis.items.is_empty() && diagnosis.items.iter().all(|item| FORMATTERS.contains(&item.tool.as_str()))
}

/// Whether the tool complains about what was typed: an option that it doesn't have, a file that isn't there.
fn is_usage_error(header: &SpoolHeader, diagnosis: &Diagnosis) -> bool {
    let root = header.repository.root.path();
    let changed = header.check.as_ref().and_then(|check| check.dir.as_ref()).map(Path::new);
    let dir = root.join(KeyParts::directory(root, header.cwd.path(), changed));
    let words: Vec<UsageWord> = header
        .argv
        .iter()
        .skip(1)
        .take(WORDS_MAX)
        .filter_map(|word| UsageWord::from_word(&word.display(), &dir))
        .collect();
    // What has a place in a file that is there was found in it.
    let is_in_source = |file: Option<&str>| file.is_some_and(|file| !words.iter().any(|word| word.text == file));
    if diagnosis.items.iter().any(|item| item.line.is_some() && is_in_source(item.file.as_deref())) {
        return false;
    }
    let messages = diagnosis.items.iter().map(|item| item.message.as_str());
    let lines = messages.chain(diagnosis.lines.iter().map(String::as_str)).flat_map(str::lines).take(LINES_MAX);
    let has_selector = words.iter().any(|word| !word.is_option);
    lines.into_iter().any(|line| {
        let line = line.to_lowercase();
        let says = |phrases: &[&str]| phrases.iter().any(|phrase| line.contains(phrase));
        has_selector && says(&OF_NOTHING) || words.iter().any(|word| word.is_in(&line) && says(word.usage_phrases()))
    })
}

/// A word of the command line that may have been mistyped.
struct UsageWord {
    text: String,
    is_option: bool,
}

impl UsageWord {
    /// `None` of a word that can't be: a file that is there.
    fn from_word(word: &str, dir: &Path) -> Option<Self> {
        let is_option = word.starts_with('-') && word.len() > 1;
        let text = if is_option { word.split('=').next().unwrap_or(word) } else { word };
        // A chosen test has its file before it (`a.py::test_x`).
        let is_there = !is_option && dir.join(text).exists();
        (!is_there && text.len() > 1).then(|| UsageWord { text: text.to_owned(), is_option })
    }

    fn usage_phrases(&self) -> &'static [&'static str] {
        if self.is_option { &OF_OPTIONS } else { &OF_FILES }
    }

    /// Whether a line in lower case names it. Tools spell options with one dash or two.
    fn is_in(&self, line: &str) -> bool {
        let word = self.text.to_lowercase();
        let name = if self.is_option { format!("-{}", word.trim_start_matches('-')) } else { word };
        line.match_indices(&name).any(|(at, _)| {
            let is_end = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '-' && c != '_');
            is_end(line[at + name.len()..].chars().next())
                && (self.is_option || is_end(line[..at].chars().next_back()) || line[..at].ends_with('/'))
        })
    }
}
