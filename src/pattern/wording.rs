//! A pattern's name and its sentence, as a person would write them: from the cause and the rule when somebody said
//! them, from a detector that knows the mistake, else from the masked message and the files.

use super::detector::Finding;
use crate::base::text::{count, ellipsis, one_line};

/// A name, bytes.
const NAME_BYTES_MAX: usize = 110;
/// A quoted message in a sentence, bytes.
const QUOTE_BYTES_MAX: usize = 160;
/// A cause or a rule in a sentence, bytes.
const SAID_BYTES_MAX: usize = 300;
/// The definition of what no definition knows: nobody's name for a tool.
const GENERIC: &str = "generic";

/// What is known of a pattern when it is put into words.
#[derive(Debug, Clone, Copy, Default)]
pub struct Known<'a> {
    /// The definition that found it.
    pub tool: &'a str,
    /// Rule, error code or exception class.
    pub code: Option<&'a str>,
    /// Its category.
    pub category: &'a str,
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
    /// Why it happens, as somebody said.
    pub cause: Option<&'a str>,
    /// What to do about it, as somebody said.
    pub rule: Option<&'a str>,
    /// Failed runs.
    pub failures: u64,
    /// Distinct tasks.
    pub tasks: u64,
}

/// A few words, at most 110 bytes.
pub fn name(known: &Known<'_>, findings: &[Finding]) -> String {
    if let Some(cause) = said(known.cause) {
        return ellipsis(first_sentence(&cause), NAME_BYTES_MAX);
    }
    if let Some(finding) = findings.iter().find(|finding| finding.names_pattern) {
        return finding.title.clone();
    }
    let text = text(known);
    let code = known.code.map(one_line).filter(|code| !code.trim().is_empty());
    let label = label(known);
    let name = match (text, code) {
        (Some(text), Some(code)) if text.contains(&code) => with_label(&text, known.tool),
        (Some(text), Some(code)) if is_exception(&code) => format!("{code}: {text}"),
        (Some(text), _) => with_label(&text, &label),
        (None, Some(code)) if is_exception(&code) => code,
        (None, _) if label.is_empty() => "a failure without a message".to_owned(),
        (None, _) => format!("{label} without a message"),
    };
    match known.test.map(one_line).filter(|test| !test.trim().is_empty()) {
        // The test says where, the message what: there is room for both as long as neither is a novel.
        Some(test) => {
            ellipsis(&format!("{} fails: {name}", shortened(test.trim(), NAME_BYTES_MAX / 2)), NAME_BYTES_MAX)
        }
        None => ellipsis(&name, NAME_BYTES_MAX),
    }
}

/// One or two sentences with what it is, where, how often, why and what to do.
pub fn sentence(known: &Known<'_>, findings: &[Finding]) -> String {
    let seen = format!("{} in {}", count(known.failures, "failure"), count(known.tasks, "task"));
    let place = known.files.map(|files| format!(" in {}", one_line(files))).unwrap_or_default();
    let named = findings.iter().find(|finding| finding.names_pattern);
    let rule = said(known.rule).or_else(|| named.and_then(|finding| finding.rule.clone()));
    let what = match (said(known.cause), named) {
        (Some(cause), _) => format!("{} ({seen}{place})", stop(&cause)),
        (None, Some(finding)) => format!("{} ({seen}{place})", stop(&finding.summary)),
        (None, None) => format!("{}{place}: {seen}", happens(known)),
    };
    let rule = rule.map(|rule| format!(" {}.", stop(&rule))).unwrap_or_default();
    format!("{what}.{rule}")
}

/// What happens, without a full stop.
fn happens(known: &Known<'_>) -> String {
    let quote = text(known).map(|text| format!("“{}”", shortened(&text, QUOTE_BYTES_MAX)));
    let code = known.code.map(one_line).filter(|code| !code.trim().is_empty());
    let tool =
        if known.tool == GENERIC || known.tool.is_empty() { "the check".to_owned() } else { one_line(known.tool) };
    let test = known.test.map(one_line).filter(|test| !test.trim().is_empty());
    let with = |quote: &Option<String>| quote.as_ref().map(|quote| format!(" with {quote}")).unwrap_or_default();
    let text = match known.category {
        "test_failure" => match test {
            Some(test) => format!("the test {} fails{}", shortened(test.trim(), QUOTE_BYTES_MAX), with(&quote)),
            None => format!("tests of {tool} fail{}", with(&quote)),
        },
        "lint_error" => match code {
            Some(code) => format!("{tool}'s {code} finds {}", quote.unwrap_or_else(|| "something".into())),
            None => format!("{tool} finds {}", quote.unwrap_or_else(|| "something".into())),
        },
        "type_error" => {
            let code = code.map(|code| format!(" {code}")).unwrap_or_default();
            format!(
                "{tool} reports the type error{code}{}",
                quote.map(|quote| format!(": {quote}")).unwrap_or_default()
            )
        }
        "build_error" => {
            let code = code.map(|code| format!(" ({code})")).unwrap_or_default();
            format!("the build stops at {tool}{code}{}", with(&quote))
        }
        "runtime_error" => {
            let code = code.map(|code| format!(" with {code}")).unwrap_or_default();
            format!("the program crashes{code}{}", quote.map(|quote| format!(": {quote}")).unwrap_or_default())
        }
        "missing_dependency" => {
            format!(
                "something that should be installed is missing{}",
                quote.map(|quote| format!(": {quote}")).unwrap_or_default()
            )
        }
        "config_error" => {
            format!("{tool} could not do its job{}", quote.map(|quote| format!(": {quote}")).unwrap_or_default())
        }
        _ => format!("{tool} fails{}", with(&quote)),
    };
    capital(&text)
}

/// The message as a person would quote it; `None` when there are no words in it.
fn text(known: &Known<'_>) -> Option<String> {
    let candidates = [Some(known.masked), Some(known.masked_family), known.example];
    candidates.into_iter().flatten().map(readable).find(|text| has_words(text))
}

/// The first line that says something, with `…` for what was masked, without marks at its ends.
fn readable(masked: &str) -> String {
    let line = masked.lines().map(str::trim).find(|line| has_words(&unmasked(line))).unwrap_or_default();
    let text = unmasked(&one_line(line));
    let mut text = text.trim_start_matches(|c: char| !c.is_alphanumeric() && !"…'\"`([{<@$#/.-".contains(c)).trim();
    // What every tool says before its message is not part of it.
    for lead in ["error:", "Error:", "ERROR:", "fatal:", "warning:"] {
        text = text.strip_prefix(lead).map_or(text, str::trim_start);
    }
    text.trim_end_matches([':', ',', ';', ' ', '.']).to_owned()
}

/// `<*>` and its typed forms become `…`; several in a row one.
fn unmasked(text: &str) -> String {
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

/// At least one word of two letters that is not only what was masked.
fn has_words(text: &str) -> bool {
    text.split(|c: char| !c.is_alphabetic()).any(|word| word.chars().count() >= 2)
}

/// A class of exceptions says what it is by itself.
fn is_exception(code: &str) -> bool {
    ["Error", "Exception", "Warning", "Failure", "Panic", "Exit", "Interrupt"].iter().any(|end| code.ends_with(end))
        && code.len() > 7
}

fn label(known: &Known<'_>) -> String {
    let code = known.code.map(one_line).unwrap_or_default();
    let tool = if known.tool == GENERIC { "" } else { known.tool };
    [one_line(tool).trim(), code.trim()].iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join(" ")
}

fn with_label(text: &str, label: &str) -> String {
    if label.is_empty() || label == GENERIC {
        return shortened(text, NAME_BYTES_MAX);
    }
    let room = NAME_BYTES_MAX.saturating_sub(label.len() + 3).max(NAME_BYTES_MAX / 2);
    format!("{} ({label})", shortened(text, room))
}

/// Cut at a word's end.
fn shortened(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let cut = &text[..text.floor_char_boundary(max.saturating_sub('…'.len_utf8()))];
    let cut = cut.rfind(' ').filter(|&at| at > max / 2).map_or(cut, |at| &cut[..at]);
    format!("{}…", cut.trim_end_matches(['…', ' ', ',', ':', ';']))
}

/// What somebody said, on one line; `None` when it is nothing.
fn said(text: Option<&str>) -> Option<String> {
    let line = text.map(|text| one_line(text).split_whitespace().collect::<Vec<_>>().join(" "))?;
    (!line.is_empty()).then(|| ellipsis(&line, SAID_BYTES_MAX))
}

fn first_sentence(text: &str) -> &str {
    stop(text.split_once(". ").map_or(text, |(first, _)| first))
}

/// Without the full stop at its end.
fn stop(text: &str) -> &str {
    text.trim_end().trim_end_matches('.')
}

fn capital(text: &str) -> String {
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

    fn known() -> Known<'static> {
        Known {
            tool: "tsc",
            code: Some("TS2307"),
            category: "type_error",
            masked: "Cannot find module './user' or its corresponding type declarations.",
            masked_family: "Cannot find module '<*>' or its corresponding type declarations.",
            failures: 5,
            tasks: 4,
            ..Known::default()
        }
    }

    #[test]
    fn without_more_it_is_the_message_with_its_files() {
        let known = Known { files: Some("src/**"), ..known() };
        let wanted = "Cannot find module './user' or its corresponding type declarations (tsc TS2307)";
        assert_eq!(name(&known, &[]), wanted);
        let wanted = "tsc reports the type error TS2307: “Cannot find module './user' or its corresponding type \
                      declarations” in src/**: 5 failures in 4 tasks.";
        assert_eq!(sentence(&known, &[]), wanted);
    }

    #[test]
    fn what_somebody_said_comes_first_and_then_what_a_detector_knows() {
        let finding = Finding {
            title: "Forgetting to update imports when moving files".into(),
            summary: "4 of the 4 tasks that had it had moved files.".into(),
            rule: Some("Search for the old name.".into()),
            names_pattern: true,
            ..Finding::default()
        };
        assert_eq!(name(&known(), std::slice::from_ref(&finding)), "Forgetting to update imports when moving files");
        let wanted = "4 of the 4 tasks that had it had moved files (5 failures in 4 tasks). Search for the old name.";
        assert_eq!(sentence(&known(), std::slice::from_ref(&finding)), wanted);
        let told = Known {
            cause: Some("The barrel file was\nnot updated. Twice."),
            rule: Some("Run the generator"),
            ..known()
        };
        assert_eq!(name(&told, std::slice::from_ref(&finding)), "The barrel file was not updated");
        let wanted = "The barrel file was not updated. Twice (5 failures in 4 tasks). Run the generator.";
        assert_eq!(sentence(&told, &[finding]), wanted);
    }

    #[test]
    fn no_gibberish() {
        let cases = [
            ("<*> <*>: <*>", "<*>", "tsc TS2307 without a message"),
            ("expected <*> <*> to equal <*>.", "", "expected … to equal … (tsc TS2307)"),
            ("\u{1b}[31m× <num> tests <path>", "", "[31m× … tests … (tsc TS2307)"),
            ("a < b and Vec<T> is wrong", "", "a < b and Vec<T> is wrong (tsc TS2307)"),
            ("", "", "tsc TS2307 without a message"),
            ("error: TS2307 is said", "", "TS2307 is said (tsc)"),
        ];
        for (masked, masked_family, wanted) in cases {
            assert_eq!(name(&Known { masked, masked_family, ..known() }, &[]), wanted);
        }
        let generic = Known { tool: "generic", code: None, masked: "it broke", ..known() };
        assert_eq!(name(&generic, &[]), "it broke");
        let raised = Known { code: Some("ZeroDivisionError"), masked: "division by zero", tool: "pytest", ..known() };
        assert_eq!(name(&raised, &[]), "ZeroDivisionError: division by zero");
        let long = "word ".repeat(100);
        let name = name(&Known { masked: &long, ..known() }, &[]);
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
            let text = sentence(&Known { category, ..known() }, &[]);
            assert!(
                text.contains("Cannot find module './user'") && text.ends_with(": 5 failures in 4 tasks."),
                "{text}"
            );
        }
        let test = Known {
            category: "test_failure",
            test: Some("adds two numbers"),
            masked: "",
            masked_family: "",
            ..known()
        };
        assert_eq!(sentence(&test, &[]), "The test adds two numbers fails: 5 failures in 4 tasks.");
    }
}
