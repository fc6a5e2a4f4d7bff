//! Facts for the tests of this module: an ordinary lesson, and what hostile output would make of one.

use super::LessonFacts;
use crate::base::clock::Timestamp;
use crate::diagnose::{Category, Diagnostic, Severity};
use crate::run::CommandEnd;

pub(super) fn item(file: &str, code: &str, message: &str) -> Diagnostic {
    Diagnostic {
        tool: "eslint".to_owned(),
        code: (!code.is_empty()).then(|| code.to_owned()),
        severity: Severity::Error,
        file: (!file.is_empty()).then(|| file.to_owned()),
        line: Some(3),
        col: Some(7),
        message: message.to_owned(),
        test: None,
        span: (0, 1),
    }
}

pub(super) fn facts() -> LessonFacts {
    LessonFacts {
        id: "l-0123abcd".to_owned(),
        recorded_at: Timestamp::parse("2026-11-21T23:59:59Z").expect("a time"),
        tool: "eslint".to_owned(),
        about: "no-undef".to_owned(),
        command: "npx eslint .".to_owned(),
        dir: String::new(),
        ended: CommandEnd::Exit(1),
        category: Category::LintError,
        files: vec!["src/a.ts".to_owned(), "src/b.ts".to_owned()],
        files_cut: 0,
        items: vec![
            item("src/a.ts", "no-undef", "'x' is not defined."),
            item("src/b.ts", "no-undef", "'y' is not defined."),
        ],
        items_cut: 0,
        problems: 2,
        shortfalls: Vec::new(),
        lines: vec!["src/a.ts".to_owned(), "  3:7  error  'x' is not defined  no-undef".to_owned()],
        patterns: vec!["p-aaaaaaaa".to_owned()],
        patterns_cut: 0,
        task: Some("fix-lint".to_owned()),
        agent: Some("human".to_owned()),
        branch: Some("main".to_owned()),
        commit: Some("3f786850e387550fdab836ed7e6dc881de23001b".to_owned()),
        redactions: 0,
        cut_bytes: 0,
        cause: None,
        resolution: None,
        corrective_rule: None,
    }
}

/// Texts that break out of Markdown, YAML, HTML, terminals or a careless parser.
pub(super) const HOSTILE: [&str; 34] = [
    "no",
    "2026-11-21",
    "12:34:56",
    "1e3",
    "0x10",
    "~",
    "- a: b",
    "a: b # c",
    "{{x}}",
    "'single'",
    "\"double\"",
    "it's \"both\" \\ of them",
    "ends in backslash \\",
    "---",
    "```\n# out\n```",
    "````` five",
    "`a`",
    "``",
    "a | b",
    "<script>alert(1)</script>",
    "[link](http://example.com) https://example.com",
    "*bold* _it_ # no heading",
    "line one\nline two\r\n\ttabbed   \n\n\n\nlast",
    "\u{1b}[31mred\u{1b}[0m \u{7} \u{0}",
    "\u{202e}evil\u{2066} \u{feff}",
    "é 日本 🦀 \u{85} \u{a0}",
    "$ npm test",
    "  leading and trailing  ",
    "1. list",
    "> quote",
    "<!-- markdownlint-enable -->",
    "&amp; &lt;",
    "!important",
    "@user/pkg %TAG",
];

pub(super) fn hostile(text: &str) -> LessonFacts {
    let mut facts = facts();
    facts.tool = text.to_owned();
    facts.about = text.to_owned();
    facts.command = text.to_owned();
    facts.dir = text.to_owned();
    facts.files = vec![text.to_owned(), format!("src/{text}")];
    let test = Diagnostic { test: Some(text.to_owned()), ..item(text, text, &format!("{text}\n- {text}\n+ {text}")) };
    facts.items = vec![test, item(text, text, text), item("", "", text), item("", text, "")];
    facts.lines = text.lines().map(str::to_owned).collect();
    facts.patterns = vec![text.to_owned()];
    for field in [&mut facts.task, &mut facts.agent, &mut facts.branch, &mut facts.commit] {
        *field = Some(text.to_owned());
    }
    facts
}

/// A run with `n` failures, each in its own file.
pub(super) fn many(n: usize) -> LessonFacts {
    let mut facts = facts();
    facts.files = (0..n).map(|i| format!("packages/module-{:02}/src/component-{i}.test.tsx", i % 40)).collect();
    facts.files.sort();
    facts.items = facts
        .files
        .iter()
        .map(|file| {
            let test = Some(format!("{file} renders"));
            Diagnostic { test, ..item(file, "", "expected 1 to be 2\n- 1\n+ 2") }
        })
        .collect();
    facts.items_cut = 7;
    facts.problems = facts.items.len() + 7;
    facts.lines = (0..n * 4).map(|i| format!("line {i} of the output that is worth keeping")).collect();
    facts
}
