//! What existing tests no longer assert: assertions that are gone, bodies without anything in them, an expectation
//! that was made to fit.

use std::cell::LazyCell;
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use regex::Regex;

use super::census::{Test, TestInventory};
use super::fresh::{AddedAssertions, guard_above};
use super::language::{FileRole, Language};
use super::lazy::compile_regex;
use super::lexis::{identifiers_of, plain_spelling, without_whitespace};
use super::loosened::join_statement;
use super::rule::{RuleSeverity, WeakenedRules};
use super::view::{DiffLine, DiffSide, FileView, HunkSides};
use super::{
    WeakenedCheckCollector, commented, fitted, gone, ground, loosened, matchers, numbers, reworded, rule_match,
    source_changed, swallowed, view,
};
use crate::base::text;

/// What a body may consist of and still do nothing.
const NOTHING: [&str; 16] = [
    "pass",
    "return",
    "return;",
    "...",
    "{",
    "}",
    "});",
    "})",
    "end",
    "Ok(())",
    ");",
    ")",
    "};",
    "return nil",
    "true",
    ":",
];
/// Calls something and keeps what it gives.
static KEEPS_RESULT: LazyLock<Regex> =
    LazyLock::new(|| compile_regex(r"^\s*(?:(?:let|const|var|val)\s+)?\w+\s*=\s*[\w.:]+\(").expect("a regex"));
/// The same for one of several results, or a result that replaces another one.
static ASSIGNS_RESULT: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"^\s*(?:(?:let|const|var|val|auto)\s+)?(?:[\w.]+\s*,\s*)*[\w.]+\s*:?=\s*[\w.:]+\(").expect("a regex")
});
/// A test that leaves without a word.
const RETURNS: [&str; 5] = ["return", "return;", "return nil", "return Ok(());", "return true;"];
/// The same on the line of its condition.
static RETURNS_IF: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"^if\b.*[):{\s]\s*return(?:@\w+)?\s*;?\s*(?:\}|end)?$|^return\s+(?:if|unless)\b").expect("a regex")
});
/// Asks for a version.
static OLD_VERSION: LazyLock<Regex> =
    LazyLock::new(|| compile_regex(r"(?i)version|\bpy[23]\b|\bpypy\b|python2").expect("a regex"));
/// An assertion that goes over lines began at most this many above.
const ASSERTION_LINES_MAX: usize = 12;

/// Marks the outcome of the tests that both sides have.
pub(super) fn mark_assertions(census: &TestInventory, sheet: &mut WeakenedCheckCollector<'_, '_>) {
    let views = sheet.views;
    let subjects = LazyCell::new(|| gone::tested_subjects(views, census));
    let added = AddedAssertions::from_views(views, census);
    commented::mark_commented_out(census, sheet);
    commented::mark_enclosed(sheet);
    for (file, hunk, name) in view::hunks_of_tests(views) {
        let Some(language) = views[file].language else { continue };
        let lines = |side| outside_tests(census, views[file].hunks[hunk].side_lines(side), (file, hunk), side);
        let (before, after) = (lines(DiffSide::Old), lines(DiffSide::New));
        let left = OneSidedLines::from_sides(&before, &after);
        if !left.is_unchanged() && !gone::mentions_subject(&subjects, left.removed.iter().copied()) {
            judge_test(sheet, language, &added, &left, (file, file, name), (&before, &after));
        }
    }
    for old in &census.old {
        let Some(new) = old.twin.map(|twin| &census.new[twin]) else { continue };
        let Some(language) = views[new.file].language else { continue };
        let before = &views[old.file].hunks[old.hunk].old;
        let after = &views[new.file].hunks[new.hunk].new;
        let body: Vec<&DiffLine<'_>> = after[new.at..new.end].iter().collect();
        let was: Vec<&DiffLine<'_>> = before[old.at..old.end].iter().collect();
        // What is above its definition may say which error has to come.
        let above = before[old.start.min(old.at)..old.at].iter().collect::<Vec<_>>();
        let now_above = after[new.start.min(new.at)..new.at].iter().collect::<Vec<_>>();
        let head = OneSidedLines::from_sides(&above, &now_above);
        let weaker = matchers::mark_weaker((&head.removed, &above), (&head.added, &now_above), language);
        if let Some((side, line)) = weaker {
            let file = if side == DiffSide::New { new.file } else { old.file };
            sheet.add_named("assertion-loosened", (file, side, line), RuleSeverity::Certain, &new.name);
        }
        let left = OneSidedLines::from_sides(&was, &body);
        if left.is_unchanged() || gone::mentions_subject(&subjects, &before[old.at..old.end]) {
            continue;
        }
        if find_emptied(new, after, &left) {
            sheet.add_named(
                "test-emptied",
                (new.file, DiffSide::New, &after[new.at]),
                RuleSeverity::Certain,
                &new.name,
            );
            continue;
        }
        if let Some(line) = returns_early(new, after, &left.added, language) {
            sheet.add_named("test-returns-early", (new.file, DiffSide::New, line), RuleSeverity::Certain, &new.name);
        }
        judge_test(sheet, language, &added, &left, (new.file, old.file, &new.name), (&was, &body));
    }
    if !source_changed(views) {
        for (file, view) in views.iter().enumerate().filter(|(_, view)| view.part == FileRole::Test) {
            for (index, hunk) in view.file.hunks.iter().enumerate() {
                fitted::mark_fitted(census, sheet, (file, index), hunk);
            }
        }
    }
}

/// Marks assertions that are gone, are under a condition, or accept more. `files` are those of the new and the old
/// version, `body` is the new one.
fn judge_test<'v>(
    sheet: &mut WeakenedCheckCollector<'v, '_>,
    language: &Language,
    added: &AddedAssertions,
    left: &OneSidedLines<'v, '_>,
    (new_file, old_file, name): (usize, usize, &str),
    (before, body): (&[&'v DiffLine<'_>], &[&'v DiffLine<'_>]),
) {
    if let Some(line) = loosened::mark_conditional(body, &left.removed, &left.added, language) {
        sheet.add_named("assertion-conditional", (new_file, DiffSide::New, line), RuleSeverity::Certain, name);
    }
    let vaguer = loosened::mark_vaguer(&left.removed, &left.added, language).map(|line| (DiffSide::New, line));
    // A bound that was one before is compared by its number.
    let is_bound = |line: &DiffLine<'_>| numbers::is_threshold(sheet.rules, &sheet.views[new_file], line);
    let is_judged = |line: &DiffLine<'_>| is_bound(line) && left.removed.iter().any(|old| is_bound(old));
    let weaker = || {
        let found = matchers::mark_weaker((&left.removed, before), (&left.added, body), language);
        found.filter(|(_, line)| !is_judged(line) && !calls_new_helper(&sheet.views[new_file], line, language))
    };
    let vaguer = vaguer.or_else(weaker);
    if let Some((side, line)) = vaguer {
        let file = if side == DiffSide::New { new_file } else { old_file };
        sheet.add_named("assertion-loosened", (file, side, line), RuleSeverity::Certain, name);
    }
    // A value that is made equal to more before it is compared.
    let compared = |value: &str| {
        body.iter().any(|line| {
            !line.changed
                && language.asserts.is_match(&line.masked.code)
                && identifiers_of(&line.masked.code).any(|word| word == value)
        })
    };
    let is_normalized =
        |line: &&&DiffLine<'_>| reworded::normalized_value(&line.masked.text).is_some_and(|v| compared(&v));
    if let Some(line) = left.added.iter().find(is_normalized) {
        sheet.add_named("assertion-loosened", (new_file, DiffSide::New, line), RuleSeverity::Certain, name);
    }
    // Where the program says something else now, the text may have to be another one.
    let shorter =
        loosened::mark_shorter_text(&left.removed, &left.added, language).filter(|_| !source_changed(sheet.views));
    if let Some(line) = shorter {
        sheet.add_named("assertion-loosened", (new_file, DiffSide::New, line), RuleSeverity::Certain, name);
    }
    if let Some(line) = loosened::mark_narrowed(body, &left.removed, &left.added, language) {
        sheet.add_named("assertion-loosened", (new_file, DiffSide::New, line), RuleSeverity::Certain, name);
    }
    if let Some(line) = swallowed::mark_caught(before, body, &left.added, language) {
        sheet.add_named("failure-caught", (new_file, DiffSide::New, line), RuleSeverity::Certain, name);
    }
    let (rules, view) = (sheet.rules, &sheet.views[new_file]);
    let is_logged = left.removed.iter().any(|line| FAILS.is_match(&line.masked.code))
        && left.added.iter().any(|line| rule_match::has_rule(rules, view, line, "failure-logged"));
    let remarked = swallowed::mark_remarked(&left.removed, &left.added, language).filter(|_| !is_logged);
    if let Some(line) = remarked {
        sheet.add_named("failure-remarked", (new_file, DiffSide::New, line), RuleSeverity::Certain, name);
    }
    if let Some(line) =
        loosened::skips_more(before, body, |line| loosened::says_skip(line) || rule_match::is_skip(rules, view, line))
    {
        sheet.add_named("skip-widened", (new_file, DiffSide::New, line), RuleSeverity::Certain, name);
    }
    let mut lost: Vec<&DiffLine<'_>> = left.lost_assertions(language, added, before, body);
    let old_view = &sheet.views[old_file];
    let is_idle =
        |line: &DiffLine<'_>| says_nothing(rules, old_view, line) || rule_match::is_skip(rules, old_view, line);
    let is_unused = |line: &DiffLine<'_>| is_in_unused_helper(sheet.views, old_view, line, language);
    lost.retain(|line| !is_logged && remarked.is_none() && !is_idle(line) && !is_unused(line));
    if let Some(first) = lost.first() {
        let count = text::count(lost.len(), "assertion");
        // As many new ones in other tests of the file are where they went, by the look of it.
        let severity =
            if added.count_fresh(new_file) >= lost.len() { RuleSeverity::Likely } else { RuleSeverity::Certain };
        sheet.add_named("assertion-removed", (old_file, DiffSide::Old, first), severity, &count);
    }
}

/// Whether a line calls a function that the same change defines and that asserts something.
fn calls_new_helper(view: &FileView<'_>, line: &DiffLine<'_>, language: &Language) -> bool {
    let words: HashSet<&str> = identifiers_of(&line.masked.code).collect();
    let defines = |line: &DiffLine<'_>| {
        let mut names = language.functions.iter().filter_map(|regex| {
            let groups = regex.get()?.captures(&line.masked.text)?;
            Some(groups.name("name")?.as_str().to_owned())
        });
        line.changed && names.any(|name| words.contains(name.as_str()))
    };
    view.hunks.iter().any(|sides| {
        let at = sides.new.iter().position(|other| !std::ptr::eq(other, line) && defines(other));
        let body = at.map_or(&[][..], |at| &sides.new[at + 1..]);
        let indent = at.map_or(0, |at| sides.new[at].indent);
        let mut body = body.iter().take_while(|inner| inner.is_idle() || inner.changed && inner.indent > indent);
        body.any(|inner| language.asserts.is_match(&inner.masked.code))
    })
}

/// A helper that asserts, by its name.
static ASSERTING_HELPER: LazyLock<Regex> =
    LazyLock::new(|| compile_regex(r"(?i)^_*(?:assert|check|verify|expect|compare)").expect("a regex"));

/// Whether a line is in a helper that went as a whole and that nothing that went with it called.
fn is_in_unused_helper(views: &[FileView<'_>], view: &FileView<'_>, line: &DiffLine<'_>, language: &Language) -> bool {
    let place = |sides: &HunkSides<'_>| sides.old.iter().position(|old| std::ptr::eq(old, line));
    let Some((sides, at)) = view.hunks.iter().find_map(|sides| Some((sides, place(sides)?))) else { return false };
    let name_of = |line: &DiffLine<'_>| {
        language
            .functions
            .iter()
            .find_map(|regex| Some(regex.get()?.captures(&line.masked.text)?.name("name")?.as_str().to_owned()))
    };
    let above = sides.old[..at].iter().rev();
    let Some((head, name)) =
        above.filter(|above| above.indent < line.indent).find_map(|above| Some((above, name_of(above)?)))
    else {
        return false;
    };
    let below = sides.old.iter().filter(|inner| inner.number > head.number);
    let body: Vec<&DiffLine<'_>> = below.take_while(|inner| inner.is_idle() || inner.indent > head.indent).collect();
    let calls = |other: &DiffLine<'_>| {
        name_of(other).as_ref() != Some(&name)
            && identifiers_of(&other.masked.code).any(|word| word == name)
            && !body.iter().any(|inner| std::ptr::eq(*inner, other))
    };
    head.changed
        && ASSERTING_HELPER.is_match(&name)
        && !views.iter().flat_map(|view| view.changed_lines(DiffSide::Old)).any(calls)
}

/// Fails a test of Go with a message.
static FAILS: LazyLock<Regex> = LazyLock::new(|| compile_regex(r"\b[tb]\.(?:Error|Fatal)f?\(").expect("a regex"));
/// A shell's condition for what is left out, in the form of an assertion.
static LEAVES_OUT: LazyLock<Regex> =
    LazyLock::new(|| compile_regex(r"(?:&&|\|\|)\s*(?:\{\s*)?(?:continue|break|skip|_notrun)\b").expect("a regex"));

/// Whether an assertion couldn't fail anyway.
fn says_nothing(rules: &WeakenedRules, view: &FileView<'_>, line: &DiffLine<'_>) -> bool {
    let mut candidates = rules.candidate_rules(line.raw, &[]).into_iter().map(|index| &rules.rules[index]);
    reworded::repeated_operand(&line.masked.text).is_some()
        || candidates.any(|rule| {
            rule.text.id.starts_with("assertion-always-true")
                && rule_match::applies_to(rule, view, DiffSide::Old)
                && rule_match::match_rule(rule, line).is_some()
        })
}

/// The lines of a side that belong to no test that the hunk shows the beginning of.
fn outside_tests<'v, 'p>(
    census: &TestInventory,
    lines: &'v [DiffLine<'p>],
    (file, hunk): (usize, usize),
    side: DiffSide,
) -> Vec<&'v DiffLine<'p>> {
    let tests: Vec<&Test> =
        census.tests_of_side(side).iter().filter(|test| test.file == file && test.hunk == hunk).collect();
    let inside = |at: usize| tests.iter().any(|test| test.start <= at && at < test.end);
    lines.iter().enumerate().filter(|(at, _)| !inside(*at)).map(|(_, line)| line).collect()
}

/// The lines that only one of two versions of a test has.
struct OneSidedLines<'s, 'p> {
    removed: Vec<&'s DiffLine<'p>>,
    added: Vec<&'s DiffLine<'p>>,
}

impl<'s, 'p> OneSidedLines<'s, 'p> {
    fn from_sides(before: &[&'s DiffLine<'p>], after: &[&'s DiffLine<'p>]) -> Self {
        OneSidedLines { removed: only_in(before, after), added: only_in(after, before) }
    }

    fn is_unchanged(&self) -> bool {
        self.removed.is_empty() && self.added.is_empty()
    }

    /// The assertions that went without anything in their place.
    fn lost_assertions(
        &self,
        language: &Language,
        added: &AddedAssertions,
        before: &[&DiffLine<'_>],
        after: &[&DiffLine<'_>],
    ) -> Vec<&'s DiffLine<'p>> {
        let asserts = |line: &&&DiffLine<'_>| {
            language.asserts.is_match(&line.masked.code) && !LEAVES_OUT.is_match(&line.masked.code)
        };
        let mut gone: Vec<&'s DiffLine<'p>> = self.removed.iter().filter(asserts).copied().collect();
        // The same with other values is in an old one's place; any other may be in that of many.
        let ends = [';', ',', ')', ':', '{'];
        for line in self.added.iter().filter(asserts) {
            let shape = code_skeleton(&line.masked.code);
            let own = without_whitespace(&line.masked.text);
            let own = own.trim_end_matches(ends);
            let is_rest_of = |old: &DiffLine<'_>| without_whitespace(&old.masked.text).contains(own);
            let place = gone.iter().position(|old| code_skeleton(&old.masked.code) == shape);
            let place = place.or_else(|| gone.iter().position(|old| is_rest_of(old)));
            let Some(at) = place.or_else(|| gone.iter().position(|old| is_same_call(old, line))) else {
                return Vec::new();
            };
            gone.swap_remove(at);
        }
        let removed: Vec<String> = self.removed.iter().map(|line| without_whitespace(&line.masked.text)).collect();
        let says_only = self.added.iter().any(|line| swallowed::is_remark(line));
        // What is left of an assertion (the call without the comparison) is nothing new.
        let remains = |line: &DiffLine<'_>| {
            let own = without_whitespace(&line.masked.text);
            let own = own.trim_end_matches(ends).trim_start_matches("let_=").trim_start_matches("_=");
            // The call may have other arguments.
            let called = own.find('(').map(|at| &own[..=at]).filter(|called| called.contains('.'));
            own.len() < 3
                || removed.iter().any(|old| old.contains(own) || called.is_some_and(|called| old.contains(called)))
                || says_only && swallowed::is_idle(line)
        };
        if !self.added.iter().all(|line| asserts(&line) || remains(line)) {
            gone.retain(|line| is_cut_out(line, before, after));
        }
        gone.sort_by_key(|line| line.number);
        // Of a head that several assertions have, what is below it says which of them is still there.
        let still = |line: &DiffLine<'_>| {
            let own = without_whitespace(&line.masked.text);
            let whole = |lines: &[&DiffLine<'_>]| -> Vec<String> {
                let heads = lines.iter().filter(|other| without_whitespace(&other.masked.text) == own);
                heads.map(|head| without_whitespace(&join_statement(lines, head))).collect()
            };
            let now = whole(after);
            !now.is_empty()
                && (!own.ends_with(['(', '{', '[', ',']) || whole(before).iter().all(|was| now.contains(was)))
        };
        // The same assertion of what another step did, which is gone as well, is no repetition.
        let had_own_step = |line: &DiffLine<'_>| {
            let above = before.iter().rev().skip_while(|other| other.number >= line.number);
            let mut steps = above.take_while(|other| other.changed).filter(|other| other.indent == line.indent);
            steps.any(|step| {
                let own = without_whitespace(&step.masked.text);
                ASSIGNS_RESULT.is_match(&step.masked.code)
                    && !after.iter().any(|other| without_whitespace(&other.masked.text) == own)
            })
        };
        let is_elsewhere = |line: &DiffLine<'_>| {
            let above = before.iter().copied().filter(|other| other.number < line.number);
            added.has_line(line, guard_above(above, line))
        };
        gone.retain(|line| {
            let is_there = still(line) && !had_own_step(line) || is_elsewhere(line);
            line.changed && !is_there && !is_of_old_version(line, before)
        });
        gone
    }
}

/// Whether two assertions ask the same of the same: only a value differs, and not by much.
fn is_same_call(old: &DiffLine<'_>, new: &DiffLine<'_>) -> bool {
    let (was, is) = (old.masked.text.trim(), new.masked.text.trim());
    let name = |text: &'_ str| text.find([' ', '(']).map(|end| text[..end].to_owned());
    let subject = |text: &'_ str| text.rsplit_once(',').map(|(_, subject)| subject.trim().to_owned());
    name(was).is_some()
        && name(was) == name(is)
        && subject(was).is_some()
        && subject(was) == subject(is)
        && 2 * was.len().abs_diff(is.len()) < was.len()
}

/// Whether a line was below a condition on a version that is gone as well: what no longer is supported isn't tested.
fn is_of_old_version(line: &DiffLine<'_>, before: &[&DiffLine<'_>]) -> bool {
    let above = before.iter().rev().skip_while(|other| other.number >= line.number);
    let guard = above.filter(|other| other.has_code()).find(|other| other.indent < line.indent);
    guard.is_some_and(|guard| {
        let code = &guard.masked.code;
        guard.changed && code.trim_start().starts_with("if") && OLD_VERSION.is_match(code)
    })
}

/// Whether nothing is between the unchanged lines around a line now that it is gone.
fn is_cut_out(line: &DiffLine<'_>, before: &[&DiffLine<'_>], after: &[&DiffLine<'_>]) -> bool {
    let told = |lines: &[&DiffLine<'_>]| -> Vec<(bool, String)> {
        let told = lines.iter().filter(|line| line.has_code());
        told.map(|line| (line.changed, without_whitespace(&line.masked.text))).collect()
    };
    let Some(at) = before.iter().position(|other| other.number == line.number) else { return false };
    let (above, below, now) = (told(&before[..at]), told(&before[at + 1..]), told(after));
    // What is around it may be gone as well.
    let above = above.iter().rev().find(|(changed, _)| !changed);
    let below = below.iter().find(|(changed, _)| !changed);
    let (Some((_, above)), Some((_, below))) = (above, below) else { return false };
    now.windows(2).any(|pair| pair.iter().all(|(changed, _)| !changed) && pair[0].1 == *above && pair[1].1 == *below)
}

/// The lines with code of `lines` that `other` has not, or not as often; neither blanks nor the kind of quotes matter.
fn only_in<'s, 'p>(lines: &[&'s DiffLine<'p>], other: &[&DiffLine<'_>]) -> Vec<&'s DiffLine<'p>> {
    let spelling = |line: &DiffLine<'_>| plain_spelling(&line.masked.text);
    let mut there: HashMap<String, usize> = HashMap::new();
    for line in other {
        *there.entry(spelling(line)).or_default() += 1;
    }
    let lines = lines.iter().filter(|line| line.has_code());
    lines
        .filter(|line| match there.get_mut(&spelling(line)) {
            Some(count) if *count > 0 => {
                *count -= 1;
                false
            }
            _ => true,
        })
        .copied()
        .collect()
}

/// Whether a test that did something does nothing any more.
fn find_emptied(new: &Test, after: &[DiffLine<'_>], left: &OneSidedLines<'_, '_>) -> bool {
    let idle = |line: &DiffLine<'_>| {
        let code = line.masked.text.trim();
        !line.has_code() || NOTHING.contains(&code)
    };
    // A definition with its whole body on one line is not looked into.
    let open = ["{", ":", "do", "(", "=>"].iter().any(|end| after[new.at].masked.code.trim_end().ends_with(end));
    // A single call may be all that it did.
    let did = left.removed.len() > 1
        || left.removed.iter().any(|line| line.changed && KEEPS_RESULT.is_match(&line.masked.code));
    new.complete && open && did && new.body_lines(after).iter().all(idle)
}

/// A return that is new, with more behind it: at once, or under a condition that is new as well.
fn returns_early<'s, 'p>(
    new: &Test,
    after: &'s [DiffLine<'p>],
    added: &[&DiffLine<'_>],
    language: &Language,
) -> Option<&'s DiffLine<'p>> {
    let body = new.body_lines(after);
    // One that says that it skips is found as such, and one that fails first ends nothing early.
    let fails = |at: usize| {
        let before = body[..at].iter().rfind(|line| line.has_code());
        before.is_some_and(|line| line.changed && language.asserts.is_match(&line.masked.code))
    };
    let skips = |at: usize| {
        let before = body[..at].iter().rfind(|line| line.has_code());
        before.is_some_and(|line| {
            let code = line.masked.code.trim_start();
            line.changed && !code.starts_with("if") && code.to_ascii_lowercase().contains("skip")
        })
    };
    let indent = body.iter().find(|line| line.has_code())?.indent;
    let is_added = |line: &DiffLine<'_>| added.iter().any(|other| std::ptr::eq(*other, line));
    let at = body.iter().enumerate().position(|(at, line)| {
        let code = line.masked.code.trim();
        let guards = || ground::lines_above(body, at).filter(|guard| guard.indent >= indent);
        let all_added = || guards().all(is_added);
        let guarded = || guards().next().is_some_and(|guard| guard.masked.code.trim_start().starts_with("if"));
        is_added(line)
            && !skips(at)
            && !fails(at)
            && if RETURNS.contains(&code) {
                line.indent == indent || guarded() && all_added()
            } else {
                RETURNS_IF.is_match(code) && all_added()
            }
    })?;
    let more = body[at + 1..].iter().any(|line| line.has_code() && !line.changed && line.indent >= indent);
    more.then(|| &body[at])
}

/// Marks new assertions that compare a thing with itself.
pub(super) fn same_operands(sheet: &mut WeakenedCheckCollector<'_, '_>) {
    let views = sheet.views;
    for (file, view) in views.iter().enumerate() {
        let Some(language) = view.language.filter(|_| !matches!(view.part, FileRole::Foreign | FileRole::Document))
        else {
            continue;
        };
        for sides in &view.hunks {
            for (at, line) in sides.new.iter().enumerate().filter(|(_, line)| line.changed) {
                let asserts = |line: &DiffLine<'_>| language.asserts.is_match(&line.masked.code);
                let Some(operand) = reworded::repeated_operand(&line.masked.text).filter(|_| asserts(line)) else {
                    continue;
                };
                let literal = operand.starts_with(|c: char| c.is_ascii_digit() || c == '"' || c == '\'')
                    || matches!(operand, "true" | "false" | "True" | "False" | "nil" | "null" | "None");
                // What is new may test how things are compared.
                let is_weaker =
                    |old: &DiffLine<'_>| asserts(old) && reworded::repeated_operand(&old.masked.text).is_none();
                if literal {
                    sheet.add_named("assertion-of-itself", (file, DiffSide::New, line), RuleSeverity::Certain, operand);
                } else if sides.removed_in_place(at).any(is_weaker) {
                    sheet.add_named("assertion-of-itself", (file, DiffSide::New, line), RuleSeverity::Likely, operand);
                }
            }
        }
    }
}

/// Code without blanks and literals.
pub(super) fn code_skeleton(code: &str) -> String {
    let mut out = String::new();
    for c in without_whitespace(code).chars() {
        match c {
            '0'..='9' if out.ends_with('0') => {}
            '0'..='9' => out.push('0'),
            '.' | '_' if out.ends_with('0') => {}
            c => out.push(c),
        }
    }
    ["true", "false", "True", "False", "None", "null", "nil"].iter().fold(out, |out, word| out.replace(word, "0"))
}

/// Whether a line is the condition under which the test fails: `if got != 3 {` above `t.Error(got)`.
pub(super) fn guards_failure(lines: &[DiffLine<'_>], at: usize, language: &Language) -> bool {
    lines[at].masked.code.trim_start().starts_with("if")
        && lines.get(at + 1).is_some_and(|next| language.asserts.is_match(&next.masked.code))
}

/// Whether a line is an assertion or inside one that began above.
pub(super) fn in_assertion(lines: &[DiffLine<'_>], at: usize, language: &Language) -> bool {
    let mut open = 0_i32;
    for line in lines[..=at].iter().rev().take(ASSERTION_LINES_MAX) {
        let code = &line.masked.code;
        let asserts = language.asserts.is_match(code);
        let count = |signs: [char; 3]| i32::try_from(code.matches(signs).count()).unwrap_or(i32::MAX);
        let balance = count(['(', '[', '{']) - count([')', ']', '}']);
        if std::ptr::eq(line, &raw const lines[at]) {
            if asserts {
                return true;
            }
            continue;
        }
        open += balance;
        if open > 0 {
            return asserts;
        }
    }
    false
}
