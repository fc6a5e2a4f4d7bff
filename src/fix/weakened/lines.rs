//! The rules that look at lines.

use std::cell::LazyCell;
use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Captures;

use super::asked::{AskingLines, is_renamed};
use super::census::TestInventory;
use super::hit::{EVERYTHING, EXCLUDED, LineHit, same_rule};
use super::language::FileRole;
use super::lazy::LazySet;
use super::lexis::{identifiers_of, without_whitespace};
use super::made_up::find_uncompensated;
use super::rule::{RuleKind, RuleScope, RuleSeverity, WeakenedRule, WeakenedRules};
use super::rule_match::{SKIPPED, applies_to, looked_at, match_rule, untold_rules};
use super::view::{DiffLine, DiffSide, FileView, HunkSides};
use super::{WeakenedCheckCollector, ground, widened};
use crate::fix::patch::PatchChange;

/// Files that configure a linter, a formatter or a type checker and nothing else.
static LINTERS: LazyLock<LazySet> = LazyLock::new(|| {
    LazySet::from_sources(&[
        r"(?:^|/)\.?(?:eslintrc|oxlintrc|tslint|jshintrc|stylelintrc|prettierrc|markdownlint|swiftlint|golangci|pylintrc|flake8|isort\.cfg|pydocstyle|pycodestyle|rubocop|scalafmt|clang-tidy|clang-format|credo|luacheckrc|yamllint|ansible-lint)(?:\.\w+)*$",
        r"(?:^|/)(?:eslint|oxlint|stylelint|prettier|lint-staged|trunk)\.config\.\w+$",
        r"(?:^|/)\.?(?:ruff|biome|rome|mypy|pyrightconfig|clippy|rustfmt|phpstan|psalm|phpcs|detekt|checkstyle|dprint|deno)(?:[.-]\w+)*\.(?:toml|jsonc?|ini|xml|neon|ya?ml|dist)$",
        r"(?:^|/)\.pre-commit-config\.ya?ml$",
    ])
});
/// Files in which several tools have their tables.
const SHARED_FILES: [&str; 5] = ["pyproject.toml", "setup.cfg", "tox.ini", "Cargo.toml", "package.json"];
/// A part of a line that says where it comes from, bytes.
const PART_BYTES_MIN: usize = 6;
/// Lines around a place that say what was there before.
const NEAR_LINES: usize = 8;
/// Lines that brackets hold.
const JOINED_LINES_MAX: usize = 20;
/// Words of conditions that say nothing about what they are of.
const CONDITION_WORDS: [&str; 10] = ["if", "cfg", "not", "and", "or", "let", "self", "elif", "else", "is"];
/// The unit of a skip that holds only under a condition.
const CONDITION: &str = "condition";

/// Marks what rules of these kinds find, unless the other side lost the same.
pub(super) fn mark_lines(census: &TestInventory, sheet: &mut WeakenedCheckCollector<'_, '_>) {
    let (rules, views) = (sheet.rules, sheet.views);
    let of = |side| {
        find_hits(rules, views, side, &[RuleKind::Added, RuleKind::Removed, RuleKind::Replaced, RuleKind::Grown])
    };
    let (old, new) = (of(DiffSide::Old), of(DiffSide::New));
    let excepts =
        |hit: &LineHit<'_, '_>| hit.rule.text.kind == RuleKind::Added && hit.rule.text.family == "disabled-rule";
    let asking = LazyCell::new(|| AskingLines::from_views(views));
    for (side, found, other) in [(DiffSide::New, &new, &old), (DiffSide::Old, &old, &new)] {
        let wanted: Vec<&LineHit<'_, '_>> =
            found.iter().filter(|hit| counts_as_weakened(hit, census, views, side)).collect();
        let others = other.iter().filter(|hit| !matches!(hit.rule.text.kind, RuleKind::Replaced));
        let left = find_uncompensated(&wanted, others, views);
        let left: Vec<_> = left.into_iter().filter(|hit| !is_split(hit, other)).collect();
        let others: Vec<&LineHit<'_, '_>> = other.iter().filter(|hit| hit.rule.text.replaceable).collect();
        let fresh = find_uncompensated(&others, found.iter(), views);
        let mut rest = left.as_slice();
        while let Some(hit) = rest.first() {
            let count = if hit.rule.text.new_files { 1 } else { in_a_row(rest) };
            let (together, after) = rest.split_at(count);
            rest = after;
            // One mark says that a list of exceptions got longer.
            if hit.rule.text.kind == RuleKind::Grown {
                rest = &rest[rest.iter().take_while(|next| next.file == hit.file && same_rule(hit, next)).count()..];
            }
            // A tool in place of another.
            if hit.rule.text.replaceable
                && fresh.iter().any(|other| other.file == hit.file && hit.rule.group_name() == other.rule.group_name())
            {
                continue;
            }
            let replaced = |side| {
                views[hit.file].changed_lines(side).filter(|line| hit.rule.is_replaced_by(&line.masked.text)).count()
            };
            // What is added beside it has to be more than before.
            let was = if side == DiffSide::New { replaced(DiffSide::Old) } else { 0 };
            if replaced(DiffSide::New) > was {
                continue;
            }
            if is_listed_now(hit, &views[hit.file])
                || is_extended(hit, &views[hit.file])
                || excepts(hit) && asking.ask_for(hit, other)
                || hit.rule.text.kind == RuleKind::Added && is_renamed(hit, other)
            {
                continue;
            }
            let severity = hit_severity(hit, census, views, side);
            sheet.add(hit.rule, (hit.file, side, hit.line), severity, &hit_names(together));
        }
    }
}

/// Whether the options of a command that are gone from its line are items of a list now.
fn is_listed_now(hit: &LineHit<'_, '_>, view: &FileView<'_>) -> bool {
    let quotes = ['"', '\'', ',', ' '];
    let is_item = |line: &DiffLine<'_>, unit: &str| {
        let item = line.masked.text.trim().trim_start_matches("- ").trim_matches(quotes);
        item.starts_with(unit)
    };
    hit.rule.text.kind == RuleKind::Removed
        && hit.rule.text.along.is_some()
        && hit.units.iter().all(|unit| view.changed_lines(DiffSide::New).any(|line| is_item(line, unit)))
}

/// Whether a plugin's rule of the same name is asked for in the place of one that is off: `ts/no-shadow` for
/// `no-shadow`.
fn is_extended(hit: &LineHit<'_, '_>, view: &FileView<'_>) -> bool {
    let extends = |line: &DiffLine<'_>, unit: &str| {
        let text = &line.masked.text;
        text.contains(&format!("/{unit}")) && (text.contains("error") || text.contains("warn") || text.contains('2'))
    };
    hit.rule.text.id == "eslint-config-off"
        && hit
            .units
            .iter()
            .all(|unit| !unit.contains('/') && view.all_lines(DiffSide::New).any(|line| extends(line, unit)))
}

/// How many of `hits`, which are sorted by place, are on neighbouring lines and are of one rule.
fn in_a_row(hits: &[&LineHit<'_, '_>]) -> usize {
    let follows = |pair: &[&LineHit<'_, '_>]| {
        let (a, b) = (pair[0], pair[1]);
        same_rule(a, b) && (a.file, a.hunk) == (b.file, b.hunk) && a.at + 1 == b.at
    };
    1 + hits.windows(2).take_while(|pair| follows(pair)).count()
}

/// What the units of these are called together.
fn hit_names(hits: &[&LineHit<'_, '_>]) -> String {
    let units: Vec<&str> = hits.iter().flat_map(|hit| &hit.units).map(String::as_str).collect();
    if units.contains(&EVERYTHING) { "every rule".to_owned() } else { units.join(", ") }
}

/// Whether a rule says something about this side, and nothing speaks against it.
fn counts_as_weakened(hit: &LineHit<'_, '_>, census: &TestInventory, views: &[FileView<'_>], side: DiffSide) -> bool {
    let wanted = match hit.rule.text.kind {
        RuleKind::Removed => DiffSide::Old,
        _ => DiffSide::New,
    };
    let view = &views[hit.file];
    let text = &hit.rule.text;
    // What a new test never did, it doesn't skip.
    let skips = text.family == SKIPPED || text.conditional;
    side == wanted
        && hit.line.changed
        && !hit.rule.is_excused(hit.line.raw)
        && !(text.kind != RuleKind::Structure && is_migrated(hit, views))
        && (text.new_files
            || view.file.change != PatchChange::Added && (side == DiffSide::Old || !is_new_table(hit, view)))
        && !(text.kind == RuleKind::Removed && view.file.change == PatchChange::Deleted && !text.new_files)
        && hit.rule.is_beside(view.all_lines(side).map(|line| line.masked.text.as_str()))
        && !hit.rule.is_made_up_for(view.all_lines(DiffSide::New).map(|line| line.masked.text.as_str()))
        && !(side == DiffSide::New
            && hit
                .rule
                .was_so_before(view.hunks[hit.hunk].old_lines_near(hit.at, NEAR_LINES).iter().map(|line| line.raw)))
        && !(text.place != RuleScope::Comment && ground::is_reflowed(hit, view, side))
        && !(text.owner_stays
            && ground::lines_above(view.hunks[hit.hunk].side_lines(side), hit.at)
                .next()
                .is_none_or(|owner| owner.changed))
        && !(text.id == "step-conditional"
            && (ground::has_complement(hit, view) || ground::is_of_new_dimension(hit, view)))
        && (!text.key_stays || view.all_lines(DiffSide::Old).any(|line| line.path == hit.line.path))
        && (!text.command_stays || had_command(hit, view))
        && !(text.id == "failure-allowed-list" && ground::is_of_new_value(hit, view))
        && !(text.family == SKIPPED
            && side == DiffSide::New
            && (stands_for_return(hit, view)
                || widened::skips_less(&view.hunks[hit.hunk], hit.line)
                || ground::is_of_fresh_test(hit, census, view)))
        && !(text.family == "empty-assertion" && side == DiffSide::New && ground::is_of_fresh_test(hit, census, view))
        && !(skips && is_in_macro(view.hunks[hit.hunk].side_lines(side), hit.at))
        && !(text.family == EXCLUDED && ground::is_of_new_entry(view.hunks[hit.hunk].side_lines(side), hit.at))
        && !(is_comment_for_new_test(hit, census, views, side))
        && !(side == DiffSide::New && ground::is_of_other_code(hit, view))
        && !(text.family == "disabled-rule"
            && hit.line.path.contains("matrix.include")
            && ground::is_in_new_step(&view.hunks[hit.hunk], hit.at, side))
        && !(text.heads
            && census.test_around(side, hit.file, hit.hunk, hit.at).is_none_or(|test| {
                hit.at >= test.at || is_closed(&view.hunks[hit.hunk].side_lines(side)[hit.at..test.at])
            }))
        && !(text.family == "swallowed-status"
            && text.alone
            && !removes(&view.hunks[hit.hunk])
            && ground::is_new(hit, census, views, side))
        && !(text.attached
            && !is_above_module(view, &view.hunks[hit.hunk].side_lines(side)[hit.at + 1..])
            && census.test_around(side, hit.file, hit.hunk, hit.at).is_none())
        && !(skips && ground::is_conditional(hit, view, side) && ground::is_new(hit, census, views, side))
        && !(text.conditional && side == DiffSide::New && had_condition(hit, view))
        && (text.kind != RuleKind::Replaced || was_stricter(hit, view))
        && (text.kind != RuleKind::Removed || text.along.is_none() || is_replaced_along(hit, view))
}

/// Whether the program that has an option now was called before.
fn had_command(hit: &LineHit<'_, '_>, view: &FileView<'_>) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    let begun = || hit.rule.find_along(hit.line.command?);
    let called = hit.rule.find_along(hit.line.raw).or_else(begun).unwrap_or_default();
    let name = called.split(|c| !is_part(c)).find(|word| !word.is_empty()).unwrap_or_default();
    view.all_lines(DiffSide::Old).any(|line| line.raw.split(|c| !is_part(c)).any(|word| word == name))
}

/// Whether what comes next is a module of tests that was there before.
fn is_above_module(view: &FileView<'_>, below: &[DiffLine<'_>]) -> bool {
    let next = below.iter().find(|line| line.has_code());
    let is_module = |code: &str| code.trim_end().ends_with(';') && code.trim_start().starts_with("mod ");
    view.part == FileRole::Test && next.is_some_and(|line| !line.changed && is_module(&line.masked.code))
}

/// Whether a line is in a macro's definition: what uses the macro says where it holds.
fn is_in_macro(lines: &[DiffLine<'_>], at: usize) -> bool {
    let goes_on = |line: &DiffLine<'_>| line.raw.trim_end().ends_with('\\');
    let above = || lines[..at].iter().rev().take_while(|line| goes_on(line));
    // Its head may be above the hunk.
    let is_cut = goes_on(&lines[at]) && above().count() == at;
    is_cut || above().any(|line| line.raw.trim_start().starts_with("#define"))
}

/// Whether a hunk takes anything away.
fn removes(sides: &HunkSides<'_>) -> bool {
    sides.old.iter().any(|line| line.changed && !line.is_idle())
}

/// Whether what a match makes a test depend on is what a condition within it depended on.
fn had_condition(hit: &LineHit<'_, '_>, view: &FileView<'_>) -> bool {
    let Some(language) = view.language else { return false };
    let own: HashSet<&str> = identifiers_of(&hit.line.masked.code).collect();
    view.hunks[hit.hunk].old.iter().filter(|line| language.guards.is_match(&line.masked.code)).any(|line| {
        let mut words = identifiers_of(&line.masked.code).filter(|word| !CONDITION_WORDS.contains(word)).peekable();
        words.peek().is_some() && words.all(|word| own.contains(word))
    })
}

/// Whether a test that skips here returned here before, so that it ran as little.
fn stands_for_return(hit: &LineHit<'_, '_>, view: &FileView<'_>) -> bool {
    let returns = |line: &DiffLine<'_>| line.masked.code.trim().trim_end_matches(';') == "return";
    view.hunks[hit.hunk].old.iter().any(|line| line.changed && line.indent == hit.line.indent && returns(line))
}

/// Whether a preprocessor's condition ends among these lines.
fn is_closed(lines: &[DiffLine<'_>]) -> bool {
    lines.iter().any(|line| line.masked.code.trim_start().starts_with("#endif"))
}

/// Whether the command that an option is gone from is still there.
fn is_replaced_along(hit: &LineHit<'_, '_>, view: &FileView<'_>) -> bool {
    let goes_on = |line: &DiffLine<'_>| hit.line.command.is_some_and(|command| line.raw == command);
    view.hunks[hit.hunk].new.iter().any(|line| line.changed && hit.rule.is_along(line.raw) || goes_on(line))
}

/// Whether what is suppressed is itself a new test or a new helper of tests: nothing was stricter before, and tests do
/// on purpose what a linter doesn't like.
fn is_comment_for_new_test(
    hit: &LineHit<'_, '_>,
    census: &TestInventory,
    views: &[FileView<'_>],
    side: DiffSide,
) -> bool {
    let text = &hit.rule.text;
    side == DiffSide::New
        && text.family == "disabled-rule"
        && !text.languages.is_empty()
        && views[hit.file].part == FileRole::Test
        // `#![allow(…)]` is about the whole file.
        && !hit.line.masked.code.trim_start().starts_with("#![")
        && (ground::is_new(hit, census, views, side)
            || ground::has_new_owner(hit, &views[hit.file], side)
            || is_new_statement(hit, &views[hit.file]))
}

/// Whether a line says something that no line of the hunk said before, in whatever words.
fn is_new_statement(hit: &LineHit<'_, '_>, view: &FileView<'_>) -> bool {
    let words = |line: &DiffLine<'_>| identifiers_of(&line.masked.code).map(str::to_owned).collect::<HashSet<String>>();
    let own = words(hit.line);
    let same = |line: &DiffLine<'_>| 2 * words(line).intersection(&own).count() >= own.len();
    let code = hit.line.masked.code.trim_start();
    hit.rule.text.place == RuleScope::Comment
        && hit.line.has_code()
        && !code.starts_with("import ")
        && !code.starts_with("from ")
        && !view.hunks[hit.hunk].old.iter().any(|line| line.changed && same(line))
}

/// Whether a file that many tools share has a table for this tool only now: nothing was stricter before.
fn is_new_table(hit: &LineHit<'_, '_>, view: &FileView<'_>) -> bool {
    let name = view.file.new.rsplit('/').next().unwrap_or(&view.file.new);
    if !SHARED_FILES.contains(&name) {
        return false;
    }
    // The table's head is above the hunk.
    if name != "package.json" && !hit.line.path.contains('.') {
        return false;
    }
    // `tool.ruff` of `tool.ruff.lint.ignore`, `flake8` of `flake8.ignore`.
    let lints = hit.line.path.starts_with("workspace.lints.") || hit.line.path.starts_with("lints.");
    // Exceptions to groups that are asked for with them.
    let denies =
        |line: &&DiffLine<'_>| ["\"deny\"", "\"warn\"", "\"forbid\""].iter().any(|word| line.raw.contains(word));
    if lints && !view.hunks[hit.hunk].new.iter().filter(|line| line.changed).any(|line| denies(&line)) {
        return false;
    }
    let depth = match hit.line.path.split('.').next() {
        Some("tool" | "lints") => 2,
        Some("workspace") if lints => 3,
        _ => 1,
    };
    let table: Vec<&str> = hit.line.path.split('.').take(depth).collect();
    let table = table.join(".");
    // `[mypy-cart.*]` is a part of what `[mypy]` says.
    let table = table.split('-').next().unwrap_or(&table);
    let within = |line: &&DiffLine<'_>| {
        line.path.strip_prefix(table).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
    };
    let lines = view.hunks[hit.hunk].new.get(..=hit.at).unwrap_or_default();
    // Every package has a library's table, written or not.
    if table == "lib" {
        return false;
    }
    let opens = |line: &&&DiffLine<'_>| line.raw.trim_start().starts_with('[') || line.path == table;
    let headers: Vec<&DiffLine<'_>> = lines.iter().filter(within).collect();
    let Some(nearest) = headers.iter().rev().find(opens) else { return false };
    // A part that is new may belong to a table that is not.
    let top = nearest.path.strip_suffix(".lint").unwrap_or(&nearest.path) == table
        || headers.iter().any(|line| line.changed && opens(&line) && nearest.path != line.path);
    nearest.changed && top && !view.all_lines(DiffSide::Old).any(|line| within(&line))
}

/// Whether a file that configures nothing but linters comes or goes with the change, so that what this one says may
/// be there, or did.
fn is_migrated(hit: &LineHit<'_, '_>, views: &[FileView<'_>]) -> bool {
    let text = &hit.rule.text;
    let configures = !text.files.is_empty()
        && !text.new_files
        && matches!(text.family.as_str(), "disabled-rule" | "excluded-file" | "removed-check");
    configures
        && views.iter().any(|view| {
            let moves = matches!(view.file.change, PatchChange::Added | PatchChange::Deleted | PatchChange::Renamed);
            moves
                && LINTERS.is_match(view.path_of_side(if view.file.change == PatchChange::Deleted {
                    DiffSide::Old
                } else {
                    DiffSide::New
                }))
        })
}

fn hit_severity(hit: &LineHit<'_, '_>, census: &TestInventory, views: &[FileView<'_>], side: DiffSide) -> RuleSeverity {
    if hit.rule.text.alone && ground::is_new(hit, census, views, side) {
        RuleSeverity::Likely
    } else {
        RuleSeverity::Certain
    }
}

/// The matches of all rules of `kinds` on the changed lines of a side.
pub(super) fn find_hits<'v, 'p>(
    rules: &'static WeakenedRules,
    views: &'v [FileView<'p>],
    side: DiffSide,
    kinds: &[RuleKind],
) -> Vec<LineHit<'v, 'p>> {
    let mut found = Vec::new();
    for (file, view) in views.iter().enumerate() {
        if matches!(view.part, FileRole::Foreign | FileRole::Snapshot) {
            continue;
        }
        let untold = untold_rules(rules, view, side, kinds);
        for (hunk, sides) in view.hunks.iter().enumerate() {
            for (at, line) in sides.side_lines(side).iter().enumerate().filter(|(_, line)| line.changed) {
                for index in rules.candidate_rules(line.raw, &untold) {
                    let rule = &rules.rules[index];
                    // Two words for the same on one line are one.
                    let mut here = found.iter().rev().take_while(|hit: &&LineHit<'_, '_>| std::ptr::eq(hit.line, line));
                    let twice = here.any(|hit| hit.rule.group_name() == rule.group_name());
                    if twice || !kinds.contains(&rule.text.kind) || !applies_to(rule, view, side) {
                        continue;
                    }
                    let heading = view.file.hunks[hunk].heading.as_str();
                    let above = ground::lines_above(sides.side_lines(side), at).map(|line| line.masked.text.as_str());
                    let block = || ground::block_around(sides.side_lines(side), at);
                    if let Some(units) = units_of(rule, sides.side_lines(side), at).and_then(|all| own_units(rule, all))
                        && rule.is_among(block().iter().map(|line| line.masked.text.as_str()))
                        && !(rule.text.kind == RuleKind::Added && is_excused(rule, sides.side_lines(side), at))
                        && rule.is_below(above.chain([heading]))
                    {
                        let mut hit = LineHit { rule, file, hunk, at, line, units };
                        if rule.text.family == SKIPPED
                            && hit.units == [EVERYTHING]
                            && ground::is_conditional(&hit, view, side)
                        {
                            hit.units = vec![CONDITION.to_owned()];
                        }
                        found.push(hit);
                    }
                }
            }
        }
    }
    found
}

/// The units of a match on the line at `at`, or on what its brackets hold.
fn units_of(rule: &WeakenedRule, lines: &[DiffLine<'_>], at: usize) -> Option<Vec<String>> {
    let line = &lines[at];
    if let Some(groups) = match_rule(rule, line) {
        return Some(all_units(rule, line, &groups));
    }
    if !rule.text.joined || !line.masked.code.trim_end().ends_with('(') {
        return None;
    }
    let inside = lines[at + 1..].iter().take_while(|inner| inner.indent > line.indent).take(JOINED_LINES_MAX);
    let text: String = [line].into_iter().chain(inside).map(|line| looked_at(rule, line).trim()).collect();
    let groups = rule.line_regex()?.captures(&text)?;
    Some(hit_units(rule, &groups))
}

/// Those that a rule is about, if there are any.
fn own_units(rule: &WeakenedRule, mut units: Vec<String>) -> Option<Vec<String>> {
    units.retain(|unit| rule.is_unit(unit));
    (!units.is_empty()).then_some(units)
}

/// Whether `unless` speaks against a line, or against it and the one that its arguments begin on.
fn is_excused(rule: &WeakenedRule, lines: &[DiffLine<'_>], at: usize) -> bool {
    let line = lines[at].raw;
    let opens = || line.trim_end().ends_with('(').then(|| lines.get(at + 1)).flatten();
    rule.is_excused(line) || opens().is_some_and(|next| rule.is_excused(&[line.trim_end(), next.raw.trim()].concat()))
}

/// The units of every match on a line: a command may have an option several times.
fn all_units(rule: &WeakenedRule, line: &DiffLine<'_>, first: &Captures<'_>) -> Vec<String> {
    let mut all = hit_units(rule, first);
    let end = first.get(0).map_or(0, |all| all.end());
    if rule.text.unit.is_none()
        && let Some(regex) = rule.line_regex()
        && end < looked_at(rule, line).len()
    {
        let text = looked_at(rule, line);
        all.extend(regex.captures_iter(text).skip(1).flat_map(|groups| hit_units(rule, &groups)));
    }
    all
}

/// What a match turns off: the names in its group `units`, everything where that is there and empty, else the match.
fn hit_units(rule: &WeakenedRule, groups: &Captures<'_>) -> Vec<String> {
    if let Some(unit) = &rule.text.unit {
        return vec![unit.clone()];
    }
    let all = groups.get(0).map_or("", |all| all.as_str());
    let has_group = rule.line_regex().is_some_and(|regex| regex.capture_names().any(|name| name == Some("units")));
    let Some(named) = groups.name("units").or_else(|| groups.name("name")) else {
        return vec![if has_group { EVERYTHING.to_owned() } else { without_whitespace(all) }];
    };
    let words = named.as_str().split([',', ' ', '\t', '|', '"', '\'']);
    let words = words.map(|word| word.trim_end_matches([']', ')', '}', ';']).trim_start_matches(['^', '(']));
    let words = words.filter(|word| word.bytes().any(|b| b.is_ascii_alphanumeric() || b == b'*' || !b.is_ascii()));
    // A reason ends the names; options are names that begin like one.
    let is_option = named.as_str().starts_with("--");
    let ends = |word: &&str| word.starts_with("reason") || word.starts_with("--") && !is_option;
    let units: Vec<String> = words.take_while(|word| !ends(word)).map(str::to_owned).collect();
    if units.is_empty() { vec![EVERYTHING.to_owned()] } else { units }
}

/// Whether a suppression is that of a longer line, of which this one was a part.
fn is_split(hit: &LineHit<'_, '_>, other: &[LineHit<'_, '_>]) -> bool {
    let own = without_whitespace(&hit.line.masked.code);
    let own = own.trim_end_matches([',', ';', ')']);
    hit.rule.text.place == RuleScope::Comment
        && own.len() >= PART_BYTES_MIN
        && other.iter().any(|other| {
            other.line.changed
                && other.rule.group_name() == hit.rule.group_name()
                && hit.units.iter().all(|unit| other.units.contains(unit))
                && without_whitespace(&other.line.masked.code).contains(own)
        })
}

/// Whether the hunk takes away a line that says the same more strictly.
fn was_stricter(hit: &LineHit<'_, '_>, view: &FileView<'_>) -> bool {
    let (Some(before), Some(regex)) = (hit.rule.before_regex(), hit.rule.line_regex()) else { return false };
    let text = |line: &DiffLine<'_>| looked_at(hit.rule, line).to_owned();
    let subject = |groups: &Captures<'_>| groups.name("subject").map(|subject| without_whitespace(subject.as_str()));
    let own = regex.captures(&text(hit.line)).and_then(|groups| subject(&groups));
    let sides = &view.hunks[hit.hunk];
    let same = |line: &DiffLine<'_>| line.changed && text(line).trim() == text(hit.line).trim();
    if sides.old.iter().any(same) {
        return false;
    }
    // Where nothing has to be the same, the place has to be.
    let in_place = own.as_deref().is_some_and(str::is_empty).then(|| sides.removed_in_place(hit.at));
    let anywhere = in_place.is_none().then(|| sides.old.iter().filter(|line| line.changed));
    let mut removed = in_place.into_iter().flatten().chain(anywhere.into_iter().flatten());
    // One that said it no more strictly has only got another ending.
    let is_as_lax = |line: &DiffLine<'_>| regex.captures(&text(line)).is_some_and(|groups| subject(&groups) == own);
    removed.any(|line| before.captures(&text(line)).is_some_and(|groups| subject(&groups) == own) && !is_as_lax(line))
}
