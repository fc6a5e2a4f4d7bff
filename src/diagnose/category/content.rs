//! The kind of failure that the words of an output suggest, for any tool.

use std::sync::LazyLock;

use regex::bytes::Regex;

use crate::base::limits::LINE_MATCH_BYTES_MAX;
use crate::base::text::prefix;
use crate::diagnose::Category;
use crate::diagnose::form::{FormedText, TextForm};
use crate::diagnose::rule_regex::constant_regex;
use crate::whitelist::CheckKind;

/// Texts that say what is wrong whoever prints them; the first category that has one wins.
static CONTENT: [(Category, &[TextForm]); 5] = [
    (Category::ConfigError, &CONFIG),
    (Category::TestFailure, &TEST),
    (Category::TypeError, &TYPE),
    (Category::BuildError, &BUILD),
    (Category::RuntimeError, &RUNTIME),
];

static CONFIG: [TextForm; 8] = [
    TextForm::new(&["unknown "], r"(?i)unknown (?:option|argument|flag|rule)"),
    TextForm::new(&["unrecognized "], r"(?i)unrecognized (?:option|argument)"),
    TextForm::new(&["no such option", "invalid option"], r"(?i)no such option|invalid option"),
    TextForm::new(
        &["config"],
        r"(?i)configuration error|(?:invalid|malformed|missing|cannot|can't|could not|couldn't|unable to|fail(?:ed|ure) to|error|no such) (?:[^\n]{0,60}[ '\x22`(])?config|config(?:uration)? (?:file )?[^\n]{0,60}(?:not found|does not exist|is invalid|invalid|missing)|\b(?-i:[A-Za-z]*Config(?:uration)?Error)\b",
    ),
    TextForm::new(
        &["no test", "no files matching", "no rule to make target", "missing script"],
        r"(?i)no tests? (?:files? )?(?:were )?found|no tests ran|no files matching|no rule to make target|missing script",
    ),
    TextForm::new(&["usage:"], r"(?im:^usage:)"),
    TextForm::new(
        &["-parseable pom", "malformed pom", "failed to parse manifest"],
        r"(?i)non-parseable POM|malformed POM|failed to parse manifest",
    ),
    TextForm::new(
        &["invalid", "error", "cannot", "can't", "could not", "failed to", "unable to"],
        r"(?i)(?:invalid|errors?(?: in| parsing| reading)?:?|(?:cannot|can't|could not|failed to|unable to) (?:read|parse|load|decode)) [^\n]{0,80}(?:pyproject\.toml|cargo\.toml|pom\.xml|package\.json|tsconfig[^ /]{0,20}\.json|setup\.cfg|tox\.ini|go\.(?:mod|work)|build\.gradle|cmakelists\.txt|\.[a-z]{2,20}rc)\b",
    ),
];

static TEST: [TextForm; 5] = [
    TextForm::new(&["assertionerror"], r"AssertionError"),
    TextForm::new(
        &["fail"],
        r"(?im:(?:^|[ \t(\[:,|])[1-9][0-9]* (?:tests? |examples? |specs? |scenarios? )?(?:failed|failures?|failing)\b)|(?m:^\s*(?:--- FAIL|FAIL|FAILED)\b)",
    ),
    TextForm::new(&["not ok"], r"(?m:^\s*not ok\b)"),
    TextForm::new(&["::"], r"(?m:^(?:FAILED|ERROR) +\S+::\S)"),
    TextForm::new(&["expected"], r"\bexpected\b.{1,80}\b(?:got|but|actual|received)\b"),
];

static TYPE: [TextForm; 1] = [TextForm::new(&["error ts"], r"error TS[0-9]+")];

static BUILD: [TextForm; 2] = [
    TextForm::new(&["compil"], r"(?i)compil(?:e|ation) (?:failed|error)"),
    TextForm::new(
        &[
            "build failed",
            "could not compile",
            "undefined reference to",
            "ld returned 1",
            "syntax error",
            "not in scope",
            "unbound ",
            "undeclared ",
        ],
        r"(?i)build failed|could not compile|undefined reference to|ld returned 1|syntax error|(?:variable|name|value) not in scope|unbound (?:value|module|type|constructor)|undeclared (?:identifier|variable|name)",
    ),
];

static RUNTIME: [TextForm; 3] = [
    TextForm::new(
        &["goroutine ", "sanitizer", "traceback (most recent"],
        r"(?m:^goroutine [0-9]+ \[)|(?:Address|Memory|Thread|Leak|UndefinedBehavior)Sanitizer|Traceback \(most recent",
    ),
    TextForm::new(
        &[
            "segmentation fault",
            "core dumped",
            "out of memory",
            "panicked at",
            "stack overflow",
            "uncaught ",
            "unhandled ",
        ],
        r"(?i)segmentation fault|core dumped|out of memory|panicked at|stack overflow|uncaught |unhandled ",
    ),
    TextForm::new(&["error", "exception"], r"\b[A-Z][A-Za-z]*(?:Error|Exception)\b"),
];

/// Counts of tests of which some failed.
static COUNT: [TextForm; 2] = [
    TextForm::new(
        &[" fail"],
        r"(?i)\b(?:tests?|test cases?|specs?|examples?|scenarios?|assertions|suites?|passed|passing)\b.*\b[1-9][0-9]* fail(?:ed|ures?|ing)?\b|\b[1-9][0-9]* (?:(?:out )?of [0-9]+ )?(?:tests?|test cases?|specs?|examples?|scenarios?) fail|\b[1-9][0-9]* fail(?:ed|ures?|ing)\b.*\b(?:passed|passing)\b",
    ),
    TextForm::new(
        &["failures", "errors", "failed"],
        r"(?i)\b(?:tests? run|run):[ \t]+[1-9][0-9]*.*\b(?:failures|errors|failed):[ \t]+[1-9]",
    ),
];

/// The report of a sanitizer.
static SANITIZER: [TextForm; 1] =
    [TextForm::new(&["sanitizer"], r"(?:Address|Memory|Thread|Leak|UndefinedBehavior)Sanitizer:? ")];

/// That of a program that broke.
static CRASH: [TextForm; 1] = [TextForm::new(
    &["goroutine ", "panicked at", "segmentation fault"],
    r"(?m:^goroutine [0-9]+ \[)|(?m:^thread '[^'\n]*' (?:\([0-9]+\) )?panicked at)|[Ss]egmentation fault",
)];

/// The category that a text's words say.
pub(super) fn of_text(text: &FormedText<'_>) -> Option<Category> {
    CONTENT.iter().find(|(_, forms)| text.has_any(forms)).map(|(category, _)| category.clone())
}

/// Whether a text has the words of a category.
pub(super) fn names_category(category: &Category, text: &str) -> bool {
    let forms = CONTENT.iter().find(|(known, _)| known == category);
    forms.is_some_and(|(_, forms)| FormedText::new(text).has_any(forms))
}

/// Whether the last lines count tests of which some failed (`test cases: 4 | 1 passed | 3 failed`, `1 of 2 tests failed`).
pub(super) fn counts_failed_tests(lines: &[&str]) -> bool {
    let mut last = lines.iter().rev().take(COUNT_LINES_MAX);
    last.any(|line| FormedText::new(prefix(line, LINE_MATCH_BYTES_MAX)).has_any(&COUNT))
}

/// Lines at the end of an output that are asked for counts.
const COUNT_LINES_MAX: usize = 30;

/// Whether a text has the report of a sanitizer, or of a program that broke where it was run and not tested.
pub(super) fn has_crashed(text: &FormedText<'_>, kind: Option<CheckKind>) -> bool {
    text.has_any(&SANITIZER) || kind == Some(CheckKind::Build) && text.has_any(&CRASH)
}

/// Whether a path is that of a file in which a project says what it is made of.
pub(super) fn is_manifest(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let known = [
        "Cargo.toml",
        "pyproject.toml",
        "setup.cfg",
        "tox.ini",
        "package.json",
        "go.mod",
        "go.work",
        "pom.xml",
        "build.gradle",
        "build.gradle.kts",
        "composer.json",
        "mix.exs",
        "Gemfile",
    ];
    known.contains(&name)
}

/// Whether an output is a list of findings by its form: each begins with a letter for how bad it is, or a heading says of what
/// it is the list (`Unused files (1)`).
pub(super) fn lists_findings(lines: &[&str]) -> bool {
    static FINDING: LazyLock<Regex> = LazyLock::new(|| {
        constant_regex(
            r"^[EWCI]: [^ ]+: |(?i:^[ \t]*(?:unused|unlisted|unresolved|duplicated?|outdated|vulnerable|orphaned|circular) [a-z ]{3,40}(?:\([0-9]+\)|found|:|detected))",
        )
    });
    lines.iter().take(LIST_LINES_MAX).any(|line| FINDING.is_match(prefix(line, LINE_MATCH_BYTES_MAX).as_bytes()))
}

/// Lines of an output that are asked whether it is a list.
const LIST_LINES_MAX: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::form::has_its_words;

    #[test]
    fn every_category_has_words_that_say_it() {
        let texts = [
            "error: unknown option --x",
            "3 tests failed",
            "a.ts(1,2): error TS2304: x",
            "x.c:1: undefined reference to `y'",
            "Traceback (most recent call last):",
        ];
        assert_eq!(texts.len(), CONTENT.len());
        for (text, (category, _)) in texts.iter().zip(&CONTENT) {
            assert_eq!(of_text(&FormedText::new(text)).as_ref(), Some(category), "{text}");
        }
    }

    #[test]
    fn whatever_a_form_matches_has_its_words() {
        let lists = CONTENT.iter().map(|(_, forms)| *forms).chain([&COUNT[..], &SANITIZER, &CRASH]);
        for form in lists.flatten() {
            assert!(has_its_words(form), "{form:?}");
        }
    }
}
