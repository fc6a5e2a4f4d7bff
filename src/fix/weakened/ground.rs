//! What a line of a hunk depends on: whether that was there before, and whether it holds only under a condition.

use std::sync::LazyLock;

use regex::Regex;

use super::census::{TestInventory, is_attribute, is_continued};
use super::hit::LineHit;
use super::language::Language;
use super::lazy::compile_regex;
use super::lexis::without_whitespace;
use super::rule_match::SKIPPED;
use super::view::{DiffLine, DiffSide, FileView, HunkSides};
use crate::fix::patch::PatchChange;

/// Whether what a match belongs to (its test, its function, what it is attached to) is new as well: nothing was
/// stricter before.
pub(super) fn is_new(hit: &LineHit<'_, '_>, census: &TestInventory, views: &[FileView<'_>], side: DiffSide) -> bool {
    let view = &views[hit.file];
    let sides = &view.hunks[hit.hunk];
    let lines = sides.side_lines(side);
    if let Some(test) = census.test_around(side, hit.file, hit.hunk, hit.at) {
        // A condition in its body is of the statement below.
        let is_of_new = || {
            let below = lines[hit.at + 1..].iter().find(|line| line.has_code());
            let conditions = hit.rule.text.family == SKIPPED && hit.at > test.at && is_attribute(hit.line);
            conditions && below.is_some_and(|line| line.changed)
        };
        return test.twin.is_none() || is_of_new();
    }
    if view.is("yaml") && is_in_new_step(sides, hit.at, side) {
        return true;
    }
    if side == DiffSide::New && is_part_of_removed(hit.line, sides) {
        return false;
    }
    // A comment above it explains it.
    let told = |line: &&DiffLine<'_>| line.has_code() || !line.raw.trim().is_empty() && !hit.line.has_code();
    let before = lines[..hit.at].iter().rfind(told);
    let after = lines[hit.at + 1..].iter().find(told);
    // In other words, or at another place of the hunk.
    let code = |line: &DiffLine<'_>| without_whitespace(&line.masked.code);
    let is_old = |line: &DiffLine<'_>| {
        !line.changed || side == DiffSide::New && sides.old.iter().any(|old| old.changed && code(old) == code(line))
    };
    let guarded = if hit.line.has_code() { Some(hit.line) } else { after };
    if side == DiffSide::New && guarded.is_some_and(|line| line.has_code() && is_old(line)) {
        return false;
    }
    if is_attribute(hit.line) && hit.line.has_code() {
        let below = (hit.at + 1..lines.len())
            .find(|&at| lines[at].has_code() && !is_attribute(&lines[at]) && !is_continued(lines, at));
        // Where the hunk ends with it, the attribute above it or the one in whose place it is tells.
        let attributed = |line: &DiffLine<'_>| line.has_code() && is_attribute(line);
        let stands = || {
            before.is_some_and(|line| attributed(line) && is_old(line))
                || sides.old.iter().any(|old| old.changed && attributed(old))
        };
        // Its signature may be another one.
        let is_redefined = |line: &DiffLine<'_>| {
            let name = view.language.and_then(|language| defined_name(language, line));
            let mut others = sides.old.iter().filter(|old| side == DiffSide::New && old.changed);
            name.is_some_and(|name| {
                others.any(|old| view.language.and_then(|language| defined_name(language, old)) == Some(name))
            })
        };
        return below.map_or_else(|| !stands(), |at| !is_old(&lines[at]) && !is_redefined(&lines[at]));
    }
    if hit.line.has_code() && opens_block(hit.line) {
        if side == DiffSide::New && stands_for_removed(sides, hit.at) {
            return false;
        }
        return after.is_none_or(|line| !is_old(line));
    }
    let owner =
        view.language.and_then(|language| lines_above(lines, hit.at).find(|line| defines_function(language, line)));
    if let Some(owner) = owner {
        return !is_old(owner);
    }
    if has_old_surroundings(view, lines, hit) {
        return false;
    }
    let new = |line: Option<&DiffLine<'_>>| line.is_none_or(|line| !is_old(line));
    // What a shell's condition goes for is behind its end.
    let ends = |line: &&DiffLine<'_>| {
        let word = line.masked.code.split_whitespace().next().unwrap_or_default();
        matches!(word, "fi" | "exit" | ";;" | "esac")
    };
    let after = lines[hit.at + 1..].iter().filter(told).find(|line| !ends(line));
    new(before) && new(after)
}

/// Whether what may fail (`php: 7.1`) is a value that the same change adds to what is run.
pub(super) fn is_of_new_value(hit: &LineHit<'_, '_>, view: &FileView<'_>) -> bool {
    let value = |text: &str| text.rsplit(": ").next().unwrap_or(text).trim_matches(['"', '\'', '-', ' ']).to_owned();
    let own = value(&hit.line.masked.text);
    let lists = |side: DiffSide| {
        let lines =
            view.hunks.iter().flat_map(|sides| (0..).zip(sides.side_lines(side)).map(move |pair| (sides, pair)));
        let mut items = lines.filter(|(_, (_, line))| {
            line.masked.text.trim_start().starts_with("- ") && !line.path.contains("allow_failure")
        });
        items.any(|(sides, (at, line))| {
            // A setting of a job is no value of the matrix.
            let owner = lines_above(sides.side_lines(side), at).next();
            value(&line.masked.text) == own && owner.is_none_or(|owner| owner.indent == 0 || owner.changed)
        })
    };
    !own.is_empty() && lists(DiffSide::New) && !lists(DiffSide::Old)
}

/// Whether another new step runs where the one of a match doesn't.
pub(super) fn has_complement(hit: &LineHit<'_, '_>, view: &FileView<'_>) -> bool {
    let bare = |line: &DiffLine<'_>| without_whitespace(&line.masked.text).trim_start_matches('-').to_owned();
    let own = bare(hit.line);
    let other = if own.contains("!=") {
        own.replace("!=", "==")
    } else if own.contains("==") {
        own.replace("==", "!=")
    } else {
        own.replace('!', "")
    };
    own != other && view.changed_lines(DiffSide::New).any(|line| bare(line) == other)
}

/// Whether a line is in something that began above the hunk, and so was there before.
fn has_old_surroundings(view: &FileView<'_>, lines: &[DiffLine<'_>], hit: &LineHit<'_, '_>) -> bool {
    let around = || lines_above(lines, hit.at).filter(|line| !is_preprocessed(line));
    let outermost = around().map(|line| line.indent).min().unwrap_or(hit.line.indent);
    let near = lines[..hit.at].iter().rev().filter(|line| line.has_code() && !is_preprocessed(line));
    let beside_old =
        near.take_while(|line| line.indent >= outermost).any(|line| !line.changed && line.indent == outermost);
    let has_functions = view.language.is_some_and(|language| !language.functions.is_empty());
    // Functions of C begin at the edge: what is deeper is in one.
    let is_within_old = || view.is("c") && around().last().is_some_and(|line| !line.changed);
    let opens = |line: &DiffLine<'_>| line.masked.code.trim_end().ends_with([')', '{']);
    let is_below_head =
        || view.is("c") && around().last().is_some_and(|line| !line.changed && line.indent == 0 && opens(line));
    is_below_head() || has_functions && outermost > 0 && (beside_old || is_within_old())
}

/// Whether a line was a part of a longer one.
fn is_part_of_removed(line: &DiffLine<'_>, sides: &HunkSides<'_>) -> bool {
    let own = without_whitespace(&line.masked.text);
    let own = own.trim_end_matches(',');
    let held = |old: &DiffLine<'_>| old.changed && without_whitespace(&old.masked.text).contains(own);
    own.len() >= REFLOWED_BYTES_MIN && sides.old.iter().any(held)
}

/// The value of a matrix that a condition asks for.
static DIMENSION: LazyLock<Regex> = LazyLock::new(|| compile_regex(r"\bmatrix\.(?P<name>[\w-]+)").expect("a regex"));

/// Whether a condition asks for values of a matrix that all come with the change: the jobs that it leaves out are new.
pub(super) fn is_of_new_dimension(hit: &LineHit<'_, '_>, view: &FileView<'_>) -> bool {
    let is_key = |line: &DiffLine<'_>, name: &str| {
        let text = line.masked.text.trim_start().trim_start_matches("- ");
        text.strip_prefix(name).is_some_and(|rest| rest.trim_start().starts_with(':'))
    };
    let comes = |name: &str| {
        view.changed_lines(DiffSide::New).any(|line| is_key(line, name))
            && !view
                .all_lines(DiffSide::Old)
                .any(|line| is_key(line, name) || line.raw.contains(&format!("matrix.{name}")))
    };
    let mut names = DIMENSION.captures_iter(&hit.line.masked.text).peekable();
    names.peek().is_some() && names.all(|groups| comes(&groups["name"]))
}

/// Whether what a line says is on the other side as well, over more lines or fewer.
pub(super) fn is_reflowed(hit: &LineHit<'_, '_>, view: &FileView<'_>, side: DiffSide) -> bool {
    let others = view.hunks[hit.hunk].side_lines(if side == DiffSide::New { DiffSide::Old } else { DiffSide::New });
    if others.len() > REFLOWED_LINES_MAX {
        return false;
    }
    let closed = |text: String| [",)", ",]", ",}"].iter().fold(text, |text, end| text.replace(end, &end[1..]));
    let own = closed(without_whitespace(&hit.line.masked.text));
    let changed = || others.iter().filter(|line| line.changed).map(|line| without_whitespace(&line.masked.text));
    let joined: String = changed().collect();
    // What is behind a sign of its own is a comment now.
    let is_comment = |line: String| line.trim_start_matches(['#', '/', ';', '%', '-', '!']) == own && line != own;
    own.len() >= REFLOWED_BYTES_MIN && closed(joined).contains(&own) && !changed().any(is_comment)
}

/// Lines of a hunk that are joined: it is done for every match.
const REFLOWED_LINES_MAX: usize = 1_000;
/// A line that is found in others when those are joined, bytes.
const REFLOWED_BYTES_MIN: usize = 16;

/// Whether a line is among the settings of a rule that comes with the change and asks for something: `Exclude` beside
/// `EnforcedStyle`.
fn is_of_new_rule(lines: &[DiffLine<'_>], at: usize) -> bool {
    let Some(owner) = lines_above(lines, at).last().filter(|owner| owner.changed && owner.indent == 0) else {
        return false;
    };
    let below = lines.iter().skip_while(|line| line.number <= owner.number);
    let settings = below.take_while(|line| !line.has_code() || line.indent > 0).filter(|line| line.has_code());
    let key = |line: &DiffLine<'_>| line.masked.text.trim().split(':').next().unwrap_or_default().to_owned();
    let asks = |line: &DiffLine<'_>| {
        let name = key(line);
        name.starts_with(|c: char| c.is_ascii_uppercase())
            && !["Exclude", "Include", "AllowedMethods", "AllowedPatterns"].contains(&name.as_str())
            && !line.masked.text.contains("false")
    };
    settings.into_iter().any(asks)
}

/// Whether a line belongs to an entry of a list of checks that is new: what it leaves out was never looked at.
pub(super) fn is_of_new_entry(lines: &[DiffLine<'_>], at: usize) -> bool {
    let owner = lines_above(lines, at).find(|line| line.masked.text.trim_start().starts_with("- "));
    is_of_new_rule(lines, at)
        || owner.is_some_and(|owner| owner.changed && owner.masked.text.trim_start().starts_with("- id:"))
}

/// Leaves rules out of a line.
static LEAVES_OUT: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"(?i)\b(?:noqa|nolint\w*|nosec|type:\s*ignore|pylint:\s*disable|rubocop:\s*disable|eslint-disable[\w-]*|shellcheck\s+disable)\b[:=]?(?P<rules>[^#]*)")
        .expect("a regex")
});

/// As many rules as a comment without names leaves out.
const EVERY_RULE: usize = 1_000;

/// Whether a comment leaves out as many rules of its line as one did before: a rule, or a linter, has the place of
/// another one.
pub(super) fn is_of_other_code(hit: &LineHit<'_, '_>, view: &FileView<'_>) -> bool {
    // A reason may be behind the names.
    let rules = |line: &DiffLine<'_>| -> usize {
        let named = LEAVES_OUT.captures_iter(&line.masked.comment).map(|groups| {
            let named = &groups["rules"];
            let end = [" --", " //"].iter().filter_map(|sign| named.find(sign)).min();
            let names = &named[..end.unwrap_or(named.len())];
            let count = names.split([',', ' ', '[', ']', '(', ')']).filter(|name| !name.trim().is_empty()).count();
            let all = names.split([',', ' ', '[', ']', '(', ')']).any(|name| name.eq_ignore_ascii_case("all"));
            if count == 0 || all { EVERY_RULE } else { count }
        });
        named.sum()
    };
    let sides = &view.hunks[hit.hunk];
    // A comment on a line of its own is about the statement below.
    let about = |lines: &[DiffLine<'_>], at: usize| {
        lines[at..].iter().find(|line| line.has_code()).map(|line| without_whitespace(&line.masked.text))
    };
    let same = |at: usize| {
        let old = &sides.old[at];
        old.changed && old.indent == hit.line.indent && about(&sides.old, at) == about(&sides.new, hit.at)
    };
    let quoted = |line: &DiffLine<'_>| line.masked.text.matches('"').count();
    if hit.rule.text.family == "disabled-rule" && is_attribute(hit.line) && quoted(hit.line) == 2 {
        let head = |line: &DiffLine<'_>| line.masked.text.split('"').next().unwrap_or_default().trim().to_owned();
        let mut was = sides.old.iter().filter(|old| old.changed && old.indent == hit.line.indent);
        let all = hit.line.masked.text.contains("\"all\"");
        return !all && was.any(|old| head(old) == head(hit.line) && quoted(old) == 2);
    }
    // `#[allow(a)]` has the place of `#[allow(b)]`.
    if hit.rule.text.family == "disabled-rule" && is_attribute(hit.line) && quoted(hit.line) == 0 {
        let parts = |line: &DiffLine<'_>| {
            let (head, names) = line.masked.text.trim().split_once('(')?;
            Some((head.to_owned(), names.split(',').count()))
        };
        let own = parts(hit.line);
        return own.is_some() && sides.removed_in_place(hit.at).any(|old| parts(old) == own);
    }
    let own = rules(hit.line);
    let in_place = || sides.removed_in_place(hit.at).any(|old| old.has_code() && rules(old) == own);
    let elsewhere = || (0..sides.old.len()).any(|at| same(at) && rules(&sides.old[at]) == own);
    own > 0 && (own < EVERY_RULE && hit.line.has_code() && in_place() || elsewhere())
}

/// Whether a match is of a test that comes with the change, with something in it, and in nothing's place: nothing that
/// ran before runs less.
pub(super) fn is_of_fresh_test(hit: &LineHit<'_, '_>, census: &TestInventory, view: &FileView<'_>) -> bool {
    let Some(test) = census.test_around(DiffSide::New, hit.file, hit.hunk, hit.at) else { return false };
    let sides = &view.hunks[hit.hunk];
    // In a new file, and no test has gone.
    if view.file.change == PatchChange::Added
        && census.tests_of_side(DiffSide::Old).iter().all(|test| test.twin.is_some())
    {
        return true;
    }
    let says = |line: &&DiffLine<'_>| line.has_code() && line.masked.code.trim() != "pass";
    test.twin.is_none()
        && sides.new[test.at].changed
        && test.body_lines(&sides.new).iter().filter(says).count() >= BODY_LINES_MIN
        && (!sides.old.iter().any(|line| line.changed && line.has_code())
            || census.tests_of_side(DiffSide::Old).iter().all(|old| old.file != hit.file || old.twin.is_some())
                && !sides.removed_in_place(test.at).any(DiffLine::has_code))
}

/// Lines of a test that does something.
const BODY_LINES_MIN: usize = 2;

/// Whether a line belongs to an argument that holds what was there alone before: `param("a", marks=…)` for `"a"`.
fn stands_for_removed(sides: &HunkSides<'_>, at: usize) -> bool {
    let lines = &sides.new;
    let Some(owner) = lines_above(lines, at).take_while(|line| line.changed).last() else { return false };
    let inside = lines.iter().skip_while(|line| line.number <= owner.number);
    let inside = inside.take_while(|line| line.changed && line.indent > owner.indent);
    let text = |line: &DiffLine<'_>| without_whitespace(&line.masked.text);
    let mut removed = sides.old.iter().filter(|line| line.changed).map(text).filter(|text| text.len() > 2);
    let values: Vec<String> = inside.map(text).collect();
    removed.any(|old| values.contains(&old))
}

/// Whether the item of a list that a line belongs to is one more than there were: a step of a pipeline, a job of a list.
pub(super) fn is_in_new_step(sides: &HunkSides<'_>, at: usize, side: DiffSide) -> bool {
    let begins = |line: &DiffLine<'_>| line.masked.code.trim_start().starts_with("- ");
    let lines = sides.side_lines(side);
    let own = Some(&lines[at]).filter(|line| begins(line));
    let Some(item) = own.or_else(|| lines_above(lines, at).find(|line| begins(line))) else { return false };
    let count = |lines: &[DiffLine<'_>]| {
        lines.iter().filter(|line| line.changed && line.indent == item.indent && begins(line)).count()
    };
    item.changed && side == DiffSide::New && count(&sides.new) > count(&sides.old)
}

/// Whether a match is in a function that is new, even within an old one.
pub(super) fn has_new_owner(hit: &LineHit<'_, '_>, view: &FileView<'_>, side: DiffSide) -> bool {
    let lines = view.hunks[hit.hunk].side_lines(side);
    let owner =
        view.language.and_then(|language| lines_above(lines, hit.at).find(|line| defines_function(language, line)));
    owner.is_some_and(|owner| owner.changed)
}

/// Whether a match counts only under a condition: on its own, by words on its line, or below a line that is one.
pub(super) fn is_conditional(hit: &LineHit<'_, '_>, view: &FileView<'_>, side: DiffSide) -> bool {
    let code = hit.line.masked.code.as_str();
    let mut words = code.split(|c: char| !c.is_alphanumeric() && c != '_');
    if hit.rule.text.conditional
        || words.any(|word| matches!(word, "if" | "unless" | "when"))
        || ["||", "&&", " ? "].iter().any(|sign| code.contains(sign))
    {
        return true;
    }
    let Some(language) = view.language else { return false };
    let lines = view.hunks[hit.hunk].side_lines(side);
    for line in lines_above(lines, hit.at) {
        if language.guards.is_match(&line.masked.code) {
            return true;
        }
        if defines_function(language, line) {
            return false;
        }
    }
    false
}

/// The lines above that a line is deeper than, the nearest first.
pub(super) fn lines_above<'s, 'p>(
    lines: &'s [DiffLine<'p>],
    at: usize,
) -> impl Iterator<Item = &'s DiffLine<'p>> + Clone {
    let mut indent = lines[at].indent;
    lines[..at].iter().rev().filter(|line| line.has_code()).filter(move |line| {
        let is_above = line.indent < indent;
        // A preprocessor's lines are at the edge wherever they are.
        if !is_preprocessed(line) {
            indent = indent.min(line.indent);
        }
        is_above
    })
}

/// The block that the line at `at` is a key or a statement of: what is beside it and deeper, and what it is under.
pub(super) fn block_around<'s, 'p>(lines: &'s [DiffLine<'p>], at: usize) -> &'s [DiffLine<'p>] {
    // The keys of an item stand behind its dash.
    let column = |line: &DiffLine<'_>| {
        let text = line.masked.text.trim_start();
        line.indent + text.len() - text.trim_start_matches("- ").len()
    };
    let own = column(&lines[at]);
    let is_item = |line: &DiffLine<'_>| line.indent < own && column(line) == own;
    let idle = |line: &DiffLine<'_>| line.raw.trim().is_empty();
    let mut start = at;
    while start > 0 && !is_item(&lines[start]) && (idle(&lines[start]) || lines[start].indent >= own) {
        start -= 1;
    }
    let inside = lines[at + 1..].iter().take_while(|line| idle(line) || line.indent >= own).count();
    &lines[start..=at + inside]
}

fn is_preprocessed(line: &DiffLine<'_>) -> bool {
    line.masked.code.starts_with('#') && !line.masked.code.starts_with("#[")
}

/// Whether a line leaves a block open.
fn opens_block(line: &DiffLine<'_>) -> bool {
    line.masked.code.trim_end().ends_with(['{', '(', '[', ':', '>']) || line.masked.code.trim_end().ends_with(" do")
}

/// The name of the function that a line defines.
fn defined_name<'l>(language: &Language, line: &'l DiffLine<'_>) -> Option<&'l str> {
    let mut functions = language.functions.iter().filter_map(|regex| regex.get()?.captures(&line.masked.text));
    functions.find_map(|groups| Some(groups.name("name")?.as_str()))
}

/// Whether a line defines a test or a function.
fn defines_function(language: &Language, line: &DiffLine<'_>) -> bool {
    language.defines_test(&line.masked.text) || language.functions.iter().any(|regex| regex.is_match(&line.masked.text))
}
