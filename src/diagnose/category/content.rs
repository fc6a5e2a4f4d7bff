//! The kind of failure that the words of an output suggest, for any tool.

use std::sync::LazyLock;

use regex::bytes::Regex;

use crate::base::limits::LINE_MATCH_BYTES_MAX;
use crate::base::text::prefix;
use crate::diagnose::Category;
use crate::diagnose::rule_regex::constant_regex;
use crate::whitelist::CheckKind;

/// Texts that say what is wrong whoever prints them; the first that is found wins. Compiled when it is asked.
pub(super) static CONTENT: [(Category, LazyLock<Regex>); 5] = [
    (
        Category::ConfigError,
        LazyLock::new(|| {
            constant_regex(
                r"(?i)unknown (?:option|argument|flag|rule)|unrecognized (?:option|argument)|no such option|invalid (?:option|config)|configuration error|(?:invalid|malformed|missing|cannot|can't|could not|couldn't|unable to|fail(?:ed|ure) to|error|no such) (?:[^\n]{0,60}[ '\x22`(])?config|config(?:uration)? (?:file )?[^\n]{0,60}(?:not found|does not exist|is invalid|invalid|missing)|no tests? (?:files? )?(?:were )?found|no tests ran|no files matching|no rule to make target|missing script|(?m:^usage:)|\b(?-i:[A-Za-z]*Config(?:uration)?Error)\b|non-parseable POM|malformed POM|failed to parse manifest|(?:invalid|errors?(?: in| parsing| reading)?:?|(?:cannot|can't|could not|failed to|unable to) (?:read|parse|load|decode)) [^\n]{0,80}(?:pyproject\.toml|cargo\.toml|pom\.xml|package\.json|tsconfig[^ /]{0,20}\.json|setup\.cfg|tox\.ini|go\.(?:mod|work)|build\.gradle|cmakelists\.txt|\.[a-z]{2,20}rc)\b",
            )
        }),
    ),
    (
        Category::TestFailure,
        LazyLock::new(|| {
            constant_regex(
                r"AssertionError|(?im:(?:^|[ \t(\[:,|])[1-9][0-9]* (?:tests? |examples? |specs? |scenarios? )?(?:failed|failures?|failing)\b)|(?m:^\s*(?:not ok|--- FAIL|FAIL|FAILED)\b)|(?m:^(?:FAILED|ERROR) +\S+::\S)|\bexpected\b.{1,80}\b(?:got|but|actual|received)\b",
            )
        }),
    ),
    (Category::TypeError, LazyLock::new(|| constant_regex(r"error TS[0-9]+"))),
    (
        Category::BuildError,
        LazyLock::new(|| {
            constant_regex(
                r"(?i)compil(?:e|ation) (?:failed|error)|build failed|undefined reference to|ld returned 1|syntax error|unbound (?:value|module|type|constructor)|(?:variable|name|value) not in scope|undeclared (?:identifier|variable|name)|could not compile",
            )
        }),
    ),
    (
        Category::RuntimeError,
        LazyLock::new(|| {
            constant_regex(
                r"(?m:^goroutine [0-9]+ \[)|(?:Address|Memory|Thread|Leak|UndefinedBehavior)Sanitizer|(?i:segmentation fault|core dumped|uncaught |unhandled |out of memory|panicked at|stack overflow)|\b[A-Z][A-Za-z]*(?:Error|Exception)\b|Traceback \(most recent",
            )
        }),
    ),
];

/// The category that a text's words say.
pub(super) fn of_text(text: &str) -> Option<Category> {
    CONTENT.iter().find(|(_, regex)| regex.is_match(text.as_bytes())).map(|(category, _)| category.clone())
}

/// Whether a text has the words of a category.
pub(super) fn names_category(category: &Category, text: &str) -> bool {
    CONTENT.iter().any(|(known, regex)| known == category && regex.is_match(text.as_bytes()))
}

/// Whether the last lines count tests of which some failed (`test cases: 4 | 1 passed | 3 failed`, `1 of 2 tests failed`).
pub(super) fn counts_failed_tests(lines: &[&str]) -> bool {
    static COUNT: LazyLock<Regex> = LazyLock::new(|| {
        constant_regex(
            r"(?i)\b(?:tests?|test cases?|specs?|examples?|scenarios?|assertions|suites?|passed|passing)\b.*\b[1-9][0-9]* fail(?:ed|ures?|ing)?\b|\b[1-9][0-9]* (?:(?:out )?of [0-9]+ )?(?:tests?|test cases?|specs?|examples?|scenarios?) fail|\b[1-9][0-9]* fail(?:ed|ures?|ing)\b.*\b(?:passed|passing)\b|\b(?:tests? run|run):[ \t]+[1-9][0-9]*.*\b(?:failures|errors|failed):[ \t]+[1-9]",
        )
    });
    lines.iter().rev().take(COUNT_LINES_MAX).any(|line| COUNT.is_match(prefix(line, LINE_MATCH_BYTES_MAX).as_bytes()))
}

/// Lines at the end of an output that are asked for counts.
const COUNT_LINES_MAX: usize = 30;

/// Whether a text has the report of a sanitizer, or of a program that broke where it was run and not tested.
pub(super) fn has_crashed(text: &str, kind: Option<CheckKind>) -> bool {
    static SANITIZER: LazyLock<Regex> =
        LazyLock::new(|| constant_regex(r"(?:Address|Memory|Thread|Leak|UndefinedBehavior)Sanitizer:? "));
    static CRASH: LazyLock<Regex> = LazyLock::new(|| {
        constant_regex(
            r"(?m:^goroutine [0-9]+ \[)|(?m:^thread '[^'\n]*' (?:\([0-9]+\) )?panicked at)|[Ss]egmentation fault",
        )
    });
    SANITIZER.is_match(text.as_bytes()) || kind == Some(CheckKind::Build) && CRASH.is_match(text.as_bytes())
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
