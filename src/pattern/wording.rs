//! A pattern's name and its sentence, as a person would write them: from the recorded cause and rule, from a detector
//! that knows the mistake, else from the masked message and the files.

use std::cell::OnceCell;

use super::detector::DetectorFinding;
use crate::base::text::{count, ellipsis, one_line};
use crate::config::Category;
use crate::store::PatternBriefRow;

/// A title, bytes.
const TITLE_BYTES_MAX: usize = 160;
/// A name, bytes.
const NAME_BYTES_MAX: usize = 110;
/// A quoted message in a sentence, bytes.
const QUOTE_BYTES_MAX: usize = 160;
/// A cause or a rule in a sentence, bytes.
const SAID_BYTES_MAX: usize = 300;
/// The definition for output that no other definition knows: not a tool's name.
const GENERIC: &str = "generic";

/// What is known of a pattern when it is put into words.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WordingFacts<'a> {
    /// The definition that found it.
    pub tool: &'a str,
    /// Rule, error code or exception class.
    pub code: Option<&'a str>,
    pub category: &'a str,
    /// What that means, of one that the settings declare.
    pub meaning: Option<&'a str>,
    /// The masked message, subject kept.
    pub masked: &'a str,
    /// The masked message of the family.
    pub masked_family: &'a str,
    /// A message as it was printed.
    pub example: Option<&'a str>,
    /// The test, when it was always the same.
    pub test: Option<&'a str>,
    /// The file pattern that it belongs to.
    pub files: Option<&'a str>,
    /// Why it happens, as recorded.
    pub cause: Option<&'a str>,
    /// What to do about it, as recorded.
    pub rule: Option<&'a str>,
    /// Failed runs.
    pub failures: u64,
    /// Distinct tasks.
    pub tasks: u64,
    /// Failed runs that a proven flake explains: they are not among the others.
    pub flaky: u64,
}

/// A few words for a pattern, without the detectors: those want definitions.
pub(crate) fn brief_pattern_name(row: &PatternBriefRow) -> String {
    let example = row.newest.first();
    let test = example.and_then(|(_, test)| test.as_deref());
    let is_always_that = row.newest.iter().all(|(_, other)| other.as_deref() == test);
    let known = WordingFacts {
        tool: &row.tool,
        code: row.code.as_deref(),
        masked: &row.masked,
        masked_family: &row.masked_family,
        example: example.map(|(message, _)| message.as_str()),
        test: test.filter(|_| is_always_that),
        ..WordingFacts::default()
    };
    pattern_name(&known, &[])
}

/// A few words, at most 110 bytes, where no sentence is wanted.
pub(crate) fn pattern_name(known: &WordingFacts<'_>, findings: &[DetectorFinding]) -> String {
    PatternWording::new(known, findings).name()
}

/// A pattern's name and its sentence, which quote the same parts.
#[derive(Debug)]
pub(crate) struct PatternWording<'a> {
    known: &'a WordingFacts<'a>,
    findings: &'a [DetectorFinding],
    quotable: OnceCell<QuotableParts>,
}

impl<'a> PatternWording<'a> {
    /// Of what is known, and what detectors found.
    pub(crate) fn new(known: &'a WordingFacts<'a>, findings: &'a [DetectorFinding]) -> Self {
        PatternWording { known, findings, quotable: OnceCell::new() }
    }

    /// A few words, at most 110 bytes.
    pub(crate) fn name(&self) -> String {
        if let Some(cause) = non_empty_line(self.known.cause) {
            return ellipsis(first_sentence(&cause), NAME_BYTES_MAX);
        }
        if let Some(finding) = self.findings.iter().find(|finding| finding.names_pattern) {
            return finding.title.clone();
        }
        let QuotableParts { text, code, tool, test } = self.quotable();
        let label = [tool.as_str(), code.as_deref().unwrap_or_default()].join(" ");
        let label = label.trim();
        let what = match (text, code) {
            // It says itself who says so.
            (Some(text), None) if begins_with(text, tool) => Some(shorten_at_word(text, NAME_BYTES_MAX)),
            (Some(text), Some(code)) if begins_with(text, code) => Some(with_label(text, tool)),
            (Some(text), Some(code)) if is_exception(code) => Some(format!("{code}: {text}")),
            (Some(text), _) if is_path(text) && !tool.is_empty() => Some(format!("{tool} finds something in {text}")),
            (Some(text), _) => Some(with_label(text, label)),
            (None, Some(code)) if is_exception(code) => Some(code.clone()),
            (None, _) if test.is_some() => None,
            (None, _) if label.is_empty() => Some("a failure without a message".to_owned()),
            (None, _) => Some(format!("{label} without a message")),
        };
        let name = match (test, what) {
            // The test says where, the message what: there is room for both as long as neither is a novel.
            (Some(test), Some(what)) => format!("{} fails: {what}", shorten_at_word(test, NAME_BYTES_MAX / 2)),
            (Some(test), None) => with_label(&format!("{test} fails"), label),
            (None, what) => what.unwrap_or_default(),
        };
        ellipsis(&name, NAME_BYTES_MAX)
    }

    /// One or two sentences with what it is, where, how often, why and what to do.
    pub(crate) fn sentence(&self) -> String {
        let known = self.known;
        let seen = how_often(known.failures, known.tasks, known.flaky);
        let place = known.files.map(|files| format!(" in {}", one_line(files))).unwrap_or_default();
        let named = self.findings.iter().find(|finding| finding.names_pattern);
        let rule = non_empty_line(known.rule).or_else(|| self.findings.iter().find_map(|finding| finding.rule.clone()));
        let what = match (non_empty_line(known.cause), named) {
            (Some(cause), _) => format!("{} ({seen}{place})", trim_full_stop(&cause)),
            (None, Some(finding)) => format!("{} ({seen}{place})", trim_full_stop(&finding.summary)),
            (None, None) => format!("{}{place}: {seen}", describe_failure(known, self.quotable())),
        };
        let rule = rule.map(|rule| format!(" {}.", trim_full_stop(&rule))).unwrap_or_default();
        format!("{what}.{rule}")
    }

    fn quotable(&self) -> &QuotableParts {
        self.quotable.get_or_init(|| QuotableParts::from_facts(self.known))
    }
}

/// How often a pattern was seen. Failures of a proven flake don't count, and are said where there are no others.
pub(crate) fn how_often(failures: u64, tasks: u64, flaky: u64) -> String {
    if failures == 0 && flaky > 0 {
        return format!("{} of a proven flake, not counted", count(flaky, "failure"));
    }
    format!("{} in {}", count(failures, "failure"), count(tasks, "task"))
}

/// The text of a row that represents the `single` patterns of a family, each seen in one task only.
pub(crate) fn family_sentence(name: &str, single: u64, tasks: u64) -> String {
    let tasks = count(tasks, "task");
    format!("{single} failures alike, each in one task only, in {tasks}: {}.", trim_full_stop(name))
}

/// A masked message on one line, as a title.
pub(super) fn message_title(masked: &str) -> String {
    if masked.trim().is_empty() {
        return "(no message)".to_owned();
    }
    ellipsis(&one_line(masked), TITLE_BYTES_MAX)
}

/// What happens, without a full stop.
fn describe_failure(known: &WordingFacts<'_>, quotable: &QuotableParts) -> String {
    let QuotableParts { text, code, tool, test } = quotable;
    if let Some(text) = text.as_ref().filter(|text| code.is_none() && test.is_none() && begins_with(text, tool)) {
        return shorten_at_word(text, QUOTE_BYTES_MAX);
    }
    let category = Category::named(known.category);
    let exception = code.as_ref().filter(|code| is_exception(code) || code.as_str() == "panic");
    let raised = exception.filter(|_| {
        matches!(category, Some(Category::TestFailure | Category::RuntimeError | Category::MissingDependency))
    });
    let quote = match (raised, text) {
        (Some(code), Some(text)) if !begins_with(text, code) => {
            Some(format!("“{code}: {}”", shorten_at_word(text, QUOTE_BYTES_MAX)))
        }
        (Some(code), _) => Some(code.clone()),
        (None, text) => text.as_ref().map(|text| format!("“{}”", shorten_at_word(text, QUOTE_BYTES_MAX))),
    };
    let tool = if tool.is_empty() { "the check" } else { tool };
    let after = |lead: &str| quote.as_ref().map(|quote| format!("{lead}{quote}")).unwrap_or_default();
    let found = || match text {
        Some(path) if is_path(path) => format!("something in {path}"),
        _ => quote.clone().unwrap_or_else(|| "something".into()),
    };
    let in_brackets = || code.as_ref().map(|code| format!(" ({code})")).unwrap_or_default();
    let said = match category {
        Some(Category::TestFailure) => match test {
            Some(test) => format!("the test {} fails{}", shorten_at_word(test, QUOTE_BYTES_MAX), after(" with ")),
            None => format!("tests of {tool} fail{}", after(" with ")),
        },
        Some(Category::LintError) => match code {
            Some(code) => format!("{tool}'s {code} finds {}", found()),
            None => format!("{tool} finds {}", found()),
        },
        Some(Category::TypeError) => {
            let code = code.as_ref().map(|code| format!(" {code}")).unwrap_or_default();
            format!("{tool} reports the type error{code}{}", after(": "))
        }
        Some(Category::BuildError) => format!("the build stops at {tool}{}{}", in_brackets(), after(" with ")),
        Some(Category::RuntimeError) => format!("the program crashes{}", after(" with ")),
        Some(Category::MissingDependency) => format!("something that should be installed is missing{}", after(": ")),
        Some(Category::ConfigError) => format!("{tool} could not do its job{}", after(": ")),
        _ => match known.meaning {
            Some(meaning) => format!("{}{}", trim_full_stop(meaning), after(": ")),
            None => format!("{tool} fails{}", after(" with ")),
        },
    };
    capitalise_first_word(&said)
}

/// A pattern's parts as they may be quoted.
#[derive(Debug)]
struct QuotableParts {
    /// The message; `None` when it is empty or only repeats the test's name.
    text: Option<String>,
    /// Rule, error code or class; `None` when it only says that it is an error.
    code: Option<String>,
    /// Empty when it has no name.
    tool: String,
    test: Option<String>,
}

impl QuotableParts {
    fn from_facts(known: &WordingFacts<'_>) -> Self {
        let word = |text: &str| Some(one_line(text).trim().to_owned()).filter(|text| !text.is_empty());
        let code = known.code.and_then(word).filter(|code| !matches!(code.as_str(), "Error" | "Exception" | "error"));
        let tool = known.tool.trim();
        let tool = if tool == GENERIC { String::new() } else { one_line(tool) };
        let test = known.test.and_then(word);
        let text = quotable_message(known, if test.is_some() || code.is_some() { 2 } else { 1 });
        let text = text.filter(|text| test.as_ref().is_none_or(|test| !is_within_test_name(text, test)));
        QuotableParts { text, code, tool, test }
    }
}

/// Whether a text begins with a word.
fn begins_with(text: &str, word: &str) -> bool {
    !word.is_empty() && text.strip_prefix(word).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', ':']))
}

/// Whether all that a text says is in the test's name.
fn is_within_test_name(text: &str, test: &str) -> bool {
    let lower = test.to_lowercase();
    text.split_whitespace().filter(|word| *word != "…").all(|word| lower.contains(&word.to_lowercase()))
}

/// Whether it is a file and nothing else.
fn is_path(text: &str) -> bool {
    let path = text.trim_start_matches(['-', '+', ' ']);
    !path.contains(['“', '(', '\'', '"', '…']) && (path.contains('/') || !path.contains(' ')) && {
        let name = path.rsplit('/').next().unwrap_or_default();
        name.rsplit_once('.').is_some_and(|(_, extension)| {
            (1..=10).contains(&extension.len()) && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
        })
    }
}

/// The message as a person would quote it: the first that has at least `words` words and no half of a bracket, else the
/// first with a word at all, unless more is known than that.
fn quotable_message(known: &WordingFacts<'_>, words: usize) -> Option<String> {
    // What the store says where there is nothing to say is nothing to quote.
    let example = known.example.filter(|example| *example != "a failure without a message");
    let mut halves = Vec::new();
    for candidate in [Some(known.masked), Some(known.masked_family), example].into_iter().flatten() {
        let text = readable_message(candidate);
        let has_words = word_count(&text) >= words;
        if (has_words || is_path(&text)) && is_balanced(&text) {
            return Some(text);
        }
        halves.extend(has_words.then_some(text));
    }
    halves.into_iter().next()
}

fn is_balanced(text: &str) -> bool {
    [('(', ')'), ('[', ']'), ('{', '}')]
        .iter()
        .all(|(open, close)| text.matches(*open).count() == text.matches(*close).count())
}

/// The first line that says something, with `…` for what was masked, without marks at its ends.
fn readable_message(masked: &str) -> String {
    let mut lines = masked.lines().map(|line| (line.trim(), plain_message(line.trim())));
    let (_, text) = lines.find(|(line, text)| word_count(text) > 0 || is_path(line)).unwrap_or_default();
    let mut text = text.trim_start_matches(|c: char| !c.is_alphanumeric() && !"…'\"`([{<@$#/.-".contains(c)).trim();
    // What every tool says before its message is not part of it.
    for lead in ["error:", "Error:", "ERROR:", "fatal:", "warning:"] {
        text = text.strip_prefix(lead).map_or(text, str::trim_start);
    }
    text.trim_end_matches([':', ',', ';', ' ', '.']).to_owned()
}

/// A masked message on one line, as it may be in a sentence.
pub(crate) fn plain_message(masked: &str) -> String {
    replace_masks(&one_line(masked))
}

/// `<*>` and its typed forms become `…`; several in a row one.
fn replace_masks(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let (before, mask) = rest.split_at(at);
        out.push_str(before);
        let inner = mask[1..].split_once('>').map(|(inner, after)| (inner, &mask[1..][inner.len() + 1..], after));
        match inner {
            Some((inner, after, _)) if inner == "*" || is_mask(inner) => {
                out.push('…');
                rest = after;
            }
            _ => {
                out.push('<');
                rest = &mask[1..];
            }
        }
    }
    out.push_str(rest);
    let mut words: Vec<&str> = Vec::new();
    for word in out.split_whitespace() {
        if word != "…" || words.last() != Some(&"…") {
            words.push(word);
        }
    }
    words.join(" ")
}

fn is_mask(inner: &str) -> bool {
    const MASKS: [&str; 19] = [
        "url", "email", "uuid", "time", "mac", "ip", "path", "hex", "duration", "size", "percent", "version", "num",
        "number", "id", "str", "name", "list", "value",
    ];
    MASKS.contains(&inner)
}

/// Words of at least two letters; what was masked, and the parts of a path, are none.
fn word_count(text: &str) -> usize {
    let words = text.split_whitespace().filter(|word| !word.contains('/'));
    words.flat_map(|word| word.split(|c: char| !c.is_alphabetic())).filter(|word| word.chars().count() >= 2).count()
}

/// A class of exceptions needs no label.
fn is_exception(code: &str) -> bool {
    ["Error", "Exception", "Warning", "Failure", "Panic", "Exit", "Interrupt"].iter().any(|end| code.ends_with(end))
        && code.len() > 7
}

fn with_label(text: &str, label: &str) -> String {
    if label.is_empty() {
        return shorten_at_word(text, NAME_BYTES_MAX);
    }
    let room = NAME_BYTES_MAX.saturating_sub(label.len() + 3).max(NAME_BYTES_MAX / 2);
    format!("{} ({label})", shorten_at_word(text, room))
}

/// Cut at a word's end.
fn shorten_at_word(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let cut = &text[..text.floor_char_boundary(max.saturating_sub('…'.len_utf8()))];
    let cut = cut.rfind(' ').filter(|&at| at > max / 2).map_or(cut, |at| &cut[..at]);
    format!("{}…", cut.trim_end_matches(['…', ' ', ',', ':', ';']))
}

/// The text on one line; `None` when it is empty.
fn non_empty_line(text: Option<&str>) -> Option<String> {
    let line = text.map(|text| one_line(text).split_whitespace().collect::<Vec<_>>().join(" "))?;
    (!line.is_empty()).then(|| ellipsis(&line, SAID_BYTES_MAX))
}

fn first_sentence(text: &str) -> &str {
    trim_full_stop(text.split_once(". ").map_or(text, |(first, _)| first))
}

/// Without the full stop at its end.
fn trim_full_stop(text: &str) -> &str {
    text.trim_end().trim_end_matches('.')
}

fn capitalise_first_word(text: &str) -> String {
    let mut letters = text.chars();
    let word = text.split(' ').next().unwrap_or_default();
    // A tool's name is written as it is.
    if !matches!(word, "the" | "tests" | "something") {
        return text.to_owned();
    }
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern_sentence(known: &WordingFacts<'_>, findings: &[DetectorFinding]) -> String {
        PatternWording::new(known, findings).sentence()
    }

    fn known() -> WordingFacts<'static> {
        WordingFacts {
            tool: "tsc",
            code: Some("TS2307"),
            category: "type_error",
            masked: "Cannot find module './user' or its corresponding type declarations.",
            masked_family: "Cannot find module '<*>' or its corresponding type declarations.",
            failures: 5,
            tasks: 4,
            ..WordingFacts::default()
        }
    }

    #[test]
    fn without_more_it_is_the_message_with_its_files() {
        let known = WordingFacts { files: Some("src/**"), ..known() };
        let wanted = "Cannot find module './user' or its corresponding type declarations (tsc TS2307)";
        assert_eq!(pattern_name(&known, &[]), wanted);
        let wanted = "tsc reports the type error TS2307: “Cannot find module './user' or its corresponding type \
                      declarations” in src/**: 5 failures in 4 tasks.";
        assert_eq!(pattern_sentence(&known, &[]), wanted);
    }

    #[test]
    fn what_somebody_said_comes_first_and_then_what_a_detector_knows() {
        let finding = DetectorFinding {
            title: "Forgetting to update imports when moving files".into(),
            summary: "4 of the 4 tasks that had it had moved files.".into(),
            rule: Some("Search for the old name.".into()),
            names_pattern: true,
            ..DetectorFinding::default()
        };
        assert_eq!(
            pattern_name(&known(), std::slice::from_ref(&finding)),
            "Forgetting to update imports when moving files"
        );
        let wanted = "4 of the 4 tasks that had it had moved files (5 failures in 4 tasks). Search for the old name.";
        assert_eq!(pattern_sentence(&known(), std::slice::from_ref(&finding)), wanted);
        let told = WordingFacts {
            cause: Some("The barrel file was\nnot updated. Twice."),
            rule: Some("Run the generator"),
            ..known()
        };
        assert_eq!(pattern_name(&told, std::slice::from_ref(&finding)), "The barrel file was not updated");
        let wanted = "The barrel file was not updated. Twice (5 failures in 4 tasks). Run the generator.";
        assert_eq!(pattern_sentence(&told, &[finding]), wanted);
    }

    #[test]
    fn no_gibberish() {
        let cases = [
            ("<*> <*>: <*>", "<*>", "tsc TS2307 without a message"),
            ("expected <*> <*> to equal <*>.", "", "expected … to equal … (tsc TS2307)"),
            ("\u{1b}× <num> broken tests <path>", "", "… broken tests … (tsc TS2307)"),
            ("half a bracket (<num>% sure", "half of it", "half of it (tsc TS2307)"),
            ("src/a b.rs", "", "tsc finds something in src/a b.rs"),
            ("src/ab.rs", "", "tsc finds something in src/ab.rs"),
            ("a < b and Vec<T> is wrong", "", "a < b and Vec<T> is wrong (tsc TS2307)"),
            ("", "", "tsc TS2307 without a message"),
            ("error: TS2307 is said", "", "TS2307 is said (tsc)"),
        ];
        for (masked, masked_family, wanted) in cases {
            assert_eq!(pattern_name(&WordingFacts { masked, masked_family, ..known() }, &[]), wanted);
        }
        let generic = WordingFacts { tool: "generic", code: None, masked: "it broke", ..known() };
        assert_eq!(pattern_name(&generic, &[]), "it broke");
        let raised =
            WordingFacts { code: Some("ZeroDivisionError"), masked: "division by zero", tool: "pytest", ..known() };
        assert_eq!(pattern_name(&raised, &[]), "ZeroDivisionError: division by zero");
        let long = "word ".repeat(100);
        let name = pattern_name(&WordingFacts { masked: &long, ..known() }, &[]);
        assert!(name.len() <= NAME_BYTES_MAX && name.ends_with("word… (tsc TS2307)"), "{name}");
    }

    #[test]
    fn each_category_has_its_sentence() {
        for category in [
            "test_failure",
            "lint_error",
            "build_error",
            "runtime_error",
            "missing_dependency",
            "config_error",
            "other",
            "mine",
        ] {
            let text = pattern_sentence(&WordingFacts { category, ..known() }, &[]);
            assert!(
                text.contains("Cannot find module './user'") && text.ends_with(": 5 failures in 4 tasks."),
                "{text}"
            );
        }
        let own =
            WordingFacts { category: "security_issue", meaning: Some("A scanner found a vulnerability."), ..known() };
        assert!(
            pattern_sentence(&own, &[]).starts_with("A scanner found a vulnerability: “"),
            "{}",
            pattern_sentence(&own, &[])
        );
        let test = WordingFacts {
            category: "test_failure",
            test: Some("adds two numbers"),
            masked: "",
            masked_family: "",
            ..known()
        };
        assert_eq!(pattern_sentence(&test, &[]), "The test adds two numbers fails: 5 failures in 4 tasks.");
        for (failures, tasks, flaky, seen) in
            [(0, 0, 2, "2 failures of a proven flake, not counted"), (1, 1, 1, "1 failure in 1 task")]
        {
            let flaky = WordingFacts { failures, tasks, flaky, ..test };
            assert_eq!(pattern_sentence(&flaky, &[]), format!("The test adds two numbers fails: {seen}."));
        }
    }
}
