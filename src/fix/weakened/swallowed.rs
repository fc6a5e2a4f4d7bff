//! Failures that no longer fail a test: caught, reported as a remark, or of a test that runs only under a condition now.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;

use super::Sheet;
use super::census::{identifiers, squeezed};
use super::language::{Language, Part};
use super::lazy::compile;
use super::lines::{applies, matched};
use super::rule::{Kind, Rules, Severity};
use super::view::{Seen, Side, View};
use crate::fix::patch::Change;

/// Lines of a block that are looked at.
const BLOCK_LINES_MAX: usize = 40;
/// Catches a failure.
static CATCHES: LazyLock<Regex> =
    LazyLock::new(|| compile(r"^\s*(?:\}\s*)?(?:except\b|catch\b|rescue\b)").expect("a regex"));
/// Begins what a failure is caught in.
static TRIES: LazyLock<Regex> = LazyLock::new(|| compile(r"^\s*(?:try\b|begin\s*$)").expect("a regex"));
/// Passes a failure on.
static FAILS: LazyLock<Regex> = LazyLock::new(|| {
    compile(r"\b(?:raise|throw|fail\w*|abort|panic|die|Fatalf?|Errorf?|reject|exit|assert\w*|expect|skip\w*|Skip\w*|xfail)\b|\?;")
        .expect("a regex")
});
/// Says something and goes on.
static REMARKS: LazyLock<Regex> = LazyLock::new(|| {
    compile(r"^\s*(?:\w+\.)*(?:Logf?|warn(?:ing)?|log|info|debug|print(?:ln|f|k)?|eprintln|fprintf|puts|g_test_message|g_message|g_warning|g_printerr|diag|note|echo)\b!?\s*[(\s]")
        .expect("a regex")
});
/// Makes a test fail.
static FAILURES: LazyLock<Regex> = LazyLock::new(|| {
    compile(r"\b(?:fail\w*|Fatalf?|Errorf?|panic|abort|g_error|g_test_fail\w*|errx?|die|raise|throw|assert\w*|ASSERT\w*|EXPECT\w*|expect)\b")
        .expect("a regex")
});
/// Begins a part of a file that is there only sometimes.
static CONDITION: LazyLock<Regex> =
    LazyLock::new(|| compile(r"^\s*(?:#\s*)?(?:if|IF|ifdef|ifndef|ifeq|ifneq)\b").expect("a regex"));
/// Ends it.
static CONDITION_END: LazyLock<Regex> = LazyLock::new(|| {
    compile(r"^\s*(?:#\s*)?(?i:endif|else|elseif|elif|end|fi)\b|^\s*\}").expect("a regex")
});

/// The handler in `body` that lets an assertion fail without a word, which nothing caught before.
pub(super) fn caught<'s, 'p>(
    before: &[&Seen<'_>],
    body: &[&'s Seen<'p>],
    added: &[&'s Seen<'p>],
    language: &Language,
) -> Option<&'s Seen<'p>> {
    let is_added = |line: &Seen<'_>| added.iter().any(|other| std::ptr::eq(*other, line));
    let was = |line: &Seen<'_>| {
        let own = squeezed(&line.masked.text);
        before.iter().any(|old| squeezed(&old.masked.text) == own)
    };
    body.iter().enumerate().find_map(|(at, line)| {
        if !is_added(line) || !CATCHES.is_match(&line.masked.code) {
            return None;
        }
        let handler = body[at + 1..].iter().take_while(|inner| !inner.has_code() || inner.indent > line.indent);
        if FAILS.is_match(&line.masked.code) || handler.into_iter().any(|inner| FAILS.is_match(&inner.masked.code)) {
            return None;
        }
        let opens = body[..at].iter().rposition(|open| open.indent == line.indent && TRIES.is_match(&open.masked.code))?;
        let guarded = || body[opens + 1..at].iter().filter(|inner| language.asserts.is_match(&inner.masked.code));
        (is_added(body[opens]) && guarded().any(|inner| was(inner))).then_some(*line)
    })
}

/// The remark in the place of a failure that said the same.
pub(super) fn remarked<'s, 'p>(
    removed: &[&Seen<'_>],
    added: &[&'s Seen<'p>],
    language: &Language,
) -> Option<&'s Seen<'p>> {
    let fails = |line: &Seen<'_>| {
        let code = &line.masked.code;
        language.asserts.is_match(code) || FAILURES.is_match(code)
    };
    if added.iter().any(|line| fails(line)) {
        return None;
    }
    let words = |line: &Seen<'_>| identifiers(&line.masked.text).map(str::to_owned).collect::<HashSet<_>>();
    added.iter().copied().filter(|line| REMARKS.is_match(&line.masked.code)).find(|line| {
        let now = words(line);
        removed.iter().filter(|old| fails(old)).any(|old| {
            let shared = words(old).intersection(&now).count();
            shared >= 2 && 2 * shared >= now.len()
        })
    })
}

/// Marks conditions that are new and under which a test stands that was there in any case.
pub(super) fn conditions(sheet: &mut Sheet<'_, '_>) {
    let views = sheet.views;
    for (file, view) in views.iter().enumerate() {
        let known = ["build", "cmake", "make", "c", "shell", "python", "perl", "lua"];
        let judged = view.language.is_some_and(|own| known.contains(&own.name.as_str()))
            && view.file.change == Change::Modified
            && !matches!(view.part, Part::Foreign | Part::Snapshot | Part::Document);
        if !judged {
            continue;
        }
        for sides in &view.hunks {
            if sides.old.iter().any(|line| line.changed && CONDITION.is_match(&line.masked.code)) {
                continue;
            }
            let found = sides.new.iter().enumerate().find(|(at, line)| {
                line.changed
                    && CONDITION.is_match(&line.masked.code)
                    && block(&sides.new, *at).any(|inner| {
                        let own = squeezed(&inner.masked.text);
                        registers(sheet.rules, view, inner)
                            && sides.old.iter().any(|old| squeezed(&old.masked.text) == own)
                    })
            });
            if let Some((_, line)) = found {
                sheet.add_named("test-conditional", (file, Side::New, line), Severity::Certain, "");
            }
        }
    }
}

/// The lines under the condition at `at`.
fn block<'s, 'p>(lines: &'s [Seen<'p>], at: usize) -> impl Iterator<Item = &'s Seen<'p>> {
    let indent = lines[at].indent;
    let flat = lines[at + 1..].iter().find(|line| line.has_code()).is_some_and(|line| line.indent <= indent);
    lines[at + 1..]
        .iter()
        .take(BLOCK_LINES_MAX)
        .take_while(move |line| {
            let ends = line.indent <= indent && CONDITION_END.is_match(&line.masked.code);
            !ends && (flat || !line.has_code() || line.indent > indent || line.masked.code.trim() == "{")
        })
        .filter(|line| line.has_code())
}

/// Whether a line says that there is a test.
fn registers(rules: &Rules, view: &View<'_>, line: &Seen<'_>) -> bool {
    let mut candidates = rules.candidates(line.raw).into_iter().map(|index| &rules.rules[index]);
    candidates.any(|rule| {
        rule.text.family == "deleted-test"
            && rule.text.kind == Kind::Removed
            && rule.text.below.is_none()
            && applies(rule, view, Side::New)
            && matched(rule, line).is_some()
            && !rule.excused(line.raw)
    })
}
