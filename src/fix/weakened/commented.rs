//! Code of tests that is a comment now.

use std::cell::LazyCell;
use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;

use super::WeakenedCheckCollector;
use super::census::TestInventory;
use super::language::{FileRole, Language};
use super::lazy::compile_regex;
use super::lexis::without_whitespace;
use super::rule::RuleSeverity;
use super::view::{DiffLine, DiffSide, FileView};

/// Calls something that checks or is a test, by its name.
static CHECKS: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"(?i)\b\w*(?:test|assert|expect|check|verify|should|require|tape|spec|fail|fatal|errorf)\w*!?\s*\(")
        .expect("a regex")
});
/// A test of a list in OCaml, which calls without brackets.
static NAMED_TEST: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r#"^\s*(?:let\s+\(\)\s*=\s*)?(?:\w+\.)?(?:test(?:_\w+)?|\w+_test)\s+""#).expect("a regex")
});
/// A statement that is a check, or adds or runs a test.
static CHECK_CALLED: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"^\s*(?:await\s+)?(?:\w+\.)*(?:(?:assert|expect|check|verify|should)\w*!?|it|ok|(?:not|deep|strict)?[eE]qual|throws)\s*[.(]")
        .expect("a regex")
});
/// Runs a test, by its name.
static TEST_CALLED: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"^\s*(?:await\s+)?(?:\w+\.)*(?:add|run|do|exec)?_?[tT]ests?\w*\s*[.(]").expect("a regex")
});
/// Calls something, for whatever it does.
static STEP: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"^\s+(?:await\s+)?\w+(?:(?:\.|::|->)\w+)*\s*!?\(.*\)\s*;?\s*$|^\s+\w+!\s*$").expect("a regex")
});
/// Calls something whose name says that it checks.
static NAMED: LazyLock<Regex> =
    LazyLock::new(|| compile_regex(r"(?i)^[^(]*(?:test|check|verify|compare|case|expect)\w*\s*\(").expect("a regex"));
/// Calls something that only reports or cleans up, or is no call.
static REPORT: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"(?i)^\s*(?:\w+(?:\.|::|->))*(?:\w*print\w*|\w*log\w*|debug\w*|trace\w*|info|warn\w*|echo|puts|cat|write\w*|dump\w*|\w*sleep\w*|\w*flush|import\w*|require\w*|include\w*|message|show|display|\w*close|\w*free|\w*delete|\w*cleanup|if|for|while|switch|catch|return)\s*!?\(")
        .expect("a regex")
});
/// Brings in another file of tests.
static REQUIRES: LazyLock<Regex> =
    LazyLock::new(|| compile_regex(r#"^\s*(?:require|import)\s*\(?\s*["']\.{1,2}/"#).expect("a regex"));
/// Begins a comment, in any language.
static MARK: LazyLock<Regex> =
    LazyLock::new(|| compile_regex(r"^\s*(?://+|#+|--+|;+|%+|dnl\b|/\*+|\(\*+|\*)[!-]?\s*").expect("a regex"));
/// Is a script or a list of tests, by its folder and a name without an ending.
static AMONG_TESTS: LazyLock<Regex> =
    LazyLock::new(|| compile_regex(r"(?i)(?:^|/)(?:tests?|testsuite|test-suite)/(?:[^/]+/)*[^/.]+$").expect("a regex"));
/// Is data that tests read, by its folder.
static FIXTURE: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(
        r"(?i)(?:^|/)(?:\w*data|fixtures?|resources?|inputs?|golden|expected|corpus|samples?|examples?|conf\w*)/",
    )
    .expect("a regex")
});
/// A row of a table of cases.
static ROW: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r#"^\s*(?:(?:&?\w+)?\{.*\}|\[.*\]|\(.*\)),?\s*$|^\s*[{\[(]\s*["'].*,\s*$|^\s*["']\w+["']\s*(?:=>|:)\s*["'].*,\s*$"#).expect("a regex")
});
/// A command with an argument, or an item of a list of files.
static COMMAND: LazyLock<Regex> =
    LazyLock::new(|| compile_regex(r"^\s*[./$@{}\w-]+(?:\s+[^\s=].*|/\S+|[._-]t\w*)$").expect("a regex"));
/// A command of the shell, or one that prepares something.
static SHELL_WORD: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"^\s*(?:echo|printf|cd|rm|mkdir|cp|mv|ln|chmod|export|set|local|source|\.|if|then|elif|else|fi|for|do|done|while|until|case|esac|return|exit|sleep|trap|cat|touch|unset|eval|shift|wait|ulimit|umask|kill|declare|readonly|let|use|require|import|include|from|package|module|function|def|set_\w+|setup\w*)\b")
        .expect("a regex")
});
/// What makes the function below it a test.
static MARKER: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"^\s*(?:@(?:Test|ParameterizedTest|RepeatedTest|DataProvider)\b|#\[(?:\w+::)?test\]|\[(?:Fact|Theory|Test|TestMethod|TestCase)\b)")
        .expect("a regex")
});
/// Adds to a list of tests in Meson.
static LISTS_TEST: LazyLock<Regex> = LazyLock::new(|| compile_regex(r"^\s*\w*tests?\s*\+=\s*\S").expect("a regex"));
/// A row of a list that names a test, or a file of tests.
static LISTED_TEST: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r#"^\s*[\[({]?\s*["'][^"']*\btests?[-_/.][^"']*["'].*,\s*$|^\s*,?\s*test_\w+\s*,?\s*$"#)
        .expect("a regex")
});

/// Marks assertions of which a comment is left.
pub(super) fn mark_commented_out(census: &TestInventory, sheet: &mut WeakenedCheckCollector<'_, '_>) {
    let views = sheet.views;
    let judged = |view: &FileView<'_>| matches!(view.part, FileRole::Source | FileRole::Test);
    for (file, view) in views.iter().enumerate().filter(|(_, view)| judged(view)) {
        let checks = |line: &DiffLine<'_>| view.language.is_some_and(|language| is_check(view, language, line));
        for (hunk, line) in commented_lines(view, checks, |hunk, at| goes_with_test(census, file, hunk, at)) {
            let sides = &view.hunks[hunk];
            let comes = |line: &DiffLine<'_>| line.changed && line.has_code() && checks(line);
            let replaces = |at: usize| {
                let mut removed = sides.removed_in_place(at);
                removed.any(|old| std::ptr::eq(old, line)) && called(&sides.new[at]) == called(line)
            };
            // The same is called in its place.
            if (0..sides.new.len()).any(|at| comes(&sides.new[at]) && replaces(at)) {
                continue;
            }
            // Others that came with it may say as much.
            let severity = if sides.new.iter().any(comes) { RuleSeverity::Likely } else { RuleSeverity::Certain };
            sheet.add_named("assertion-commented-out", (file, DiffSide::Old, line), severity, "");
        }
    }
}

/// What a line calls: all in front of its first bracket.
fn called<'l>(line: &'l DiffLine<'_>) -> &'l str {
    let code = line.masked.code.trim_start();
    &code[..code.find(['(', ' ']).unwrap_or(code.len())]
}

/// Marks other lines of tests of which a comment is left, where nothing else is marked.
pub(super) fn mark_commented_steps(census: &TestInventory, sheet: &mut WeakenedCheckCollector<'_, '_>) {
    let views = sheet.views;
    let in_tests = |path: &str| AMONG_TESTS.is_match(path) && !FIXTURE.is_match(path);
    let judged = |view: &FileView<'_>| match view.part {
        FileRole::Test => true,
        FileRole::Source => view.language.is_none() && in_tests(view.path_of_side(DiffSide::New)),
        _ => false,
    };
    for (file, view) in views.iter().enumerate().filter(|(_, view)| judged(view)) {
        // What checks something is judged as such.
        let checks = |line: &DiffLine<'_>| view.language.is_some_and(|language| is_check(view, language, line));
        let is_step = |line: &DiffLine<'_>| is_step(view, line) && !checks(line);
        for (hunk, line) in commented_lines(view, is_step, |hunk, at| goes_with_test(census, file, hunk, at)) {
            if !view.hunks[hunk].old.iter().any(|line| sheet.has_mark(file, DiffSide::Old, line)) {
                sheet.add_named("test-step-commented-out", (file, DiffSide::Old, line), RuleSeverity::Likely, "");
            }
        }
    }
}

/// Whether a line is in a test that is gone as a whole.
fn goes_with_test(census: &TestInventory, file: usize, hunk: usize, at: usize) -> bool {
    census.test_around(DiffSide::Old, file, hunk, at).is_some_and(|test| test.twin.is_none())
}

/// The first line of each hunk that is `wanted` and a comment now, with the hunk's index.
fn commented_lines<'v, 'p>(
    view: &'v FileView<'p>,
    wanted: impl Fn(&DiffLine<'_>) -> bool,
    excused: impl Fn(usize, usize) -> bool,
) -> Vec<(usize, &'v DiffLine<'p>)> {
    let is_comment = |line: &&DiffLine<'_>| view.language.is_none() || !line.has_code();
    let comment_of = |line: &DiffLine<'_>| Some(without_whitespace(&line.raw[MARK.find(line.raw)?.end()..]));
    let mut comments: Vec<String> =
        view.changed_lines(DiffSide::New).filter(is_comment).filter_map(comment_of).collect();
    comments.sort_unstable();
    let counts = LazyCell::new(|| {
        let mut counts: HashMap<String, (usize, usize)> = HashMap::new();
        for line in view.all_lines(DiffSide::Old) {
            counts.entry(without_whitespace(&line.masked.text)).or_default().0 += 1;
        }
        for line in view.all_lines(DiffSide::New) {
            counts.entry(without_whitespace(&line.masked.text)).or_default().1 += 1;
        }
        counts
    });
    let commented = |line: &DiffLine<'_>| {
        let own = without_whitespace(&line.masked.text);
        // What begins with a text comes right behind it in the order.
        let at = comments.partition_point(|comment| *comment < own);
        comments.get(at).is_some_and(|comment| comment.starts_with(&own))
            && counts.get(&own).is_some_and(|(was, is)| is < was)
    };
    let hunks = view.hunks.iter().enumerate().filter(|_| !comments.is_empty());
    let found = hunks.filter_map(|(hunk, sides)| {
        let mut lines = sides.old.iter().enumerate().filter(|(_, line)| line.changed && line.has_code());
        let (_, line) = lines.find(|(at, line)| wanted(line) && commented(line) && !excused(hunk, *at))?;
        Some((hunk, line))
    });
    found.collect()
}

/// Whether a line of a test does or lists something that the test is about, as far as its form says.
fn is_step(view: &FileView<'_>, line: &DiffLine<'_>) -> bool {
    let (code, text) = (&line.masked.code, &line.masked.text);
    // Most calls of a test in C are about memory.
    let is_call = || STEP.is_match(code) && !REPORT.is_match(code) && (!view.is("c") || NAMED.is_match(code));
    let is_script = || view.is("shell") || view.is("test-script") || view.language.is_none();
    let is_command = || is_script() && COMMAND.is_match(text) && !SHELL_WORD.is_match(text);
    REQUIRES.is_match(text) || is_call() || ROW.is_match(text) || is_command()
}

/// Whether a line checks something, or makes a test of what is below it.
fn is_check(view: &FileView<'_>, language: &Language, line: &DiffLine<'_>) -> bool {
    let code = &line.masked.code;
    // The calls of tests that a C program no longer makes have a rule of their own.
    let is_test = view.part == FileRole::Test
        && (CHECK_CALLED.is_match(code)
            || !view.is("c") && (TEST_CALLED.is_match(code) || LISTED_TEST.is_match(&line.masked.text)));
    let is_listed = view.is("build") && LISTS_TEST.is_match(&line.masked.text);
    is_test || is_listed || MARKER.is_match(code) || language.asserts.is_match(code)
}

/// Marks code of tests that a comment has been put around: the lines are the same, and are no code any more.
pub(super) fn mark_enclosed(sheet: &mut WeakenedCheckCollector<'_, '_>) {
    let views = sheet.views;
    let judged = |view: &FileView<'_>| view.part == FileRole::Test || view.is("build");
    for (file, view) in views.iter().enumerate().filter(|(_, view)| judged(view)) {
        let mut opened = false;
        for sides in &view.hunks {
            let kept =
                |lines: &'_ [DiffLine<'_>]| (0..lines.len()).filter(|&at| !lines[at].changed).collect::<Vec<_>>();
            // A text that nothing takes is as good as a comment.
            let is_text = |line: &DiffLine<'_>| view.is("build") && line.raw.trim() == "'''";
            let opens = |line: &DiffLine<'_>| {
                line.changed && !line.has_code() && (!line.masked.comment.trim().is_empty() || is_text(line))
            };
            // One that began in a hunk above.
            let closes = |line: &DiffLine<'_>| line.changed && !line.has_code() && line.raw.trim_end().ends_with("*/");
            let opens_text = sides.new.iter().any(|line| line.changed && is_text(line));
            let found = kept(&sides.old).into_iter().zip(kept(&sides.new)).find(|&(old, new)| {
                let now = &sides.new[new];
                let code = &sides.old[old].masked.code;
                (CHECKS.is_match(code) || view.is("ocaml") && NAMED_TEST.is_match(code))
                    && !now.has_code()
                    && (opens_text || !now.masked.comment.trim().is_empty())
                    && (sides.new[..new].iter().any(opens) || opened && sides.new[new..].iter().any(closes))
            });
            opened |= sides.new.iter().any(opens);
            if let Some((_, at)) = found {
                sheet.add_named(
                    "assertion-commented-out",
                    (file, DiffSide::New, &sides.new[at]),
                    RuleSeverity::Certain,
                    "",
                );
            }
        }
    }
}
