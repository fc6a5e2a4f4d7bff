//! Thresholds: numbers that a check compares with, and that were moved towards letting more through.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::WeakenedCheckCollector;
use super::language::FileRole;
use super::lazy::compile_regex;
use super::lexis::without_whitespace;
use super::rule::{RuleKind, RuleSeverity, WeakenedRule, WeakenedRules};
use super::rule_match::{applies_to, looked_at, match_rule, untold_rules};
use super::tolerance::seconds_of;
use super::view::{DiffLine, DiffSide, FileView};
use crate::fix::patch::PatchChange;

/// Lines of one statement.
const STATEMENT_LINES_MAX: usize = 6;

/// A number that a rule found.
struct FoundNumber<'v, 'p> {
    rule: &'static WeakenedRule,
    /// What it is the number of: the group `key`, else the keys above it, else the line without it.
    key: String,
    number: f64,
    line: &'v DiffLine<'p>,
}

/// Marks numbers that went the wrong way, and those that are gone.
pub(super) fn mark_numbers(sheet: &mut WeakenedCheckCollector<'_, '_>) {
    let views = sheet.views;
    let all: Vec<Vec<FoundNumber<'_, '_>>> =
        views.iter().map(|view| find_numbers(sheet, view, DiffSide::New)).collect();
    for (file, view) in views.iter().enumerate() {
        let mut new: Vec<&FoundNumber<'_, '_>> = all[file].iter().collect();
        for old in find_numbers(sheet, view, DiffSide::Old) {
            let twin = new.iter().position(|new| new.rule.text.id == old.rule.text.id && new.key == old.key);
            match twin.map(|at| new.remove(at)) {
                Some(new) => {
                    let weaker = match old.rule.text.kind {
                        RuleKind::Lowered => new.number < old.number,
                        _ => new.number > old.number,
                    };
                    if weaker {
                        let change = format!("{} to {}", old.number, new.number);
                        sheet.add(new.rule, (file, DiffSide::New, new.line), RuleSeverity::Certain, &change);
                    }
                }
                None => {
                    let elsewhere = all.iter().flatten().any(|new| new.rule.text.id == old.rule.text.id);
                    if old.rule.text.gone && !elsewhere && view.file.change != PatchChange::Deleted {
                        let change = format!("{} to none", old.number);
                        sheet.add(old.rule, (file, DiffSide::Old, old.line), RuleSeverity::Certain, &change);
                    }
                }
            }
        }
    }
}

/// Whether a line has a number that a rule judges.
pub(super) fn is_threshold(rules: &WeakenedRules, view: &FileView<'_>, line: &DiffLine<'_>) -> bool {
    let untold = untold_rules(rules, view, DiffSide::New, &[RuleKind::Lowered, RuleKind::Raised]);
    let mut judged = rules.candidate_rules(line.raw, &untold).into_iter().map(|index| &rules.rules[index]);
    judged.any(|rule| {
        matches!(rule.text.kind, RuleKind::Lowered | RuleKind::Raised)
            && rule.text.severity == RuleSeverity::Certain
            && applies_to(rule, view, DiffSide::New)
            && match_rule(rule, line).is_some()
    })
}

/// The numbers on the changed lines of a side.
fn find_numbers<'v, 'p>(
    sheet: &WeakenedCheckCollector<'_, '_>,
    view: &'v FileView<'p>,
    side: DiffSide,
) -> Vec<FoundNumber<'v, 'p>> {
    let mut found = Vec::new();
    if matches!(view.part, FileRole::Foreign | FileRole::Snapshot) {
        return found;
    }
    let rules = sheet.rules;
    let untold = untold_rules(rules, view, side, &[RuleKind::Lowered, RuleKind::Raised]);
    let lines: Vec<&DiffLine<'_>> = view.changed_lines(side).collect();
    for (at, line) in lines.iter().copied().enumerate() {
        for index in rules.candidate_rules(line.raw, &untold) {
            let rule = &rules.rules[index];
            if !matches!(rule.text.kind, RuleKind::Lowered | RuleKind::Raised) || !applies_to(rule, view, side) {
                continue;
            }
            let mut numbers = numbers_of(rule, &lines[at..=at]);
            if numbers.is_empty() && rule.text.severity == RuleSeverity::Likely {
                numbers = numbers_of(rule, split_statement(&lines[at..]));
            }
            found.extend(numbers.into_iter().map(|(key, number)| FoundNumber { rule, key, number, line }));
        }
    }
    found
}

/// The numbers in a statement, and what they are the numbers of.
fn numbers_of(rule: &WeakenedRule, lines: &[&DiffLine<'_>]) -> Vec<(String, f64)> {
    let Some(first) = lines.first().filter(|first| rule.is_under(&first.path) && rule.is_along(first.raw)) else {
        return Vec::new();
    };
    let looked: String = lines.iter().map(|line| looked_at(rule, line)).collect();
    let Some(regex) = rule.line_regex() else { return Vec::new() };
    let found = regex.captures_iter(&looked).filter_map(|groups| {
        let text = ["number", "number2", "number3"].iter().find_map(|name| groups.name(name))?;
        let amount = Amount::read(&looked, text.range())?;
        let key = match (groups.name("key").or_else(|| groups.name("key2")), first.path.is_empty()) {
            (Some(key), _) => key.as_str().to_owned(),
            (None, false) => first.path.clone(),
            (None, true) => {
                let whole: String = lines.iter().map(|line| line.masked.text.as_str()).collect();
                without_whitespace(&[whole.get(..amount.text.start)?, whole.get(amount.text.end..)?].concat())
            }
        };
        Some((key, amount.number))
    });
    found.collect()
}

/// A number with its unit.
struct Amount {
    /// Seconds, for a time with a unit.
    number: f64,
    /// Its place, with its unit's.
    text: Range<usize>,
}

impl Amount {
    /// The amount whose number is at `number` of `text`.
    fn read(text: &str, number: Range<usize>) -> Option<Self> {
        let written = &text[number.clone()];
        if let Some(unit) = written.strip_prefix("time.") {
            return Some(Amount { number: seconds_of(unit)?, text: number });
        }
        // `60 * 50` is what comes out.
        let factors = written.split('*').map(|factor| factor.trim().replace('_', "").parse::<f64>());
        let amount = factors.product::<Result<f64, _>>().ok()?;
        if let Some(unit) = UNIT_BEHIND.captures(&text[number.end..]) {
            let end = number.end + unit.get(0)?.end();
            return Some(Amount { number: amount * seconds_of(&unit["unit"])?, text: number.start..end });
        }
        match UNIT_BEFORE.captures(&text[..number.start]) {
            Some(unit) => {
                let end = number.end + usize::from(text[number.end..].starts_with(')'));
                Some(Amount { number: amount * seconds_of(&unit["unit"])?, text: unit.get(0)?.start()..end })
            }
            None => Some(Amount { number: amount, text: number }),
        }
    }
}

/// `* time.Second` (Go), `, TimeUnit.SECONDS` (Java), `.seconds` (Ruby, Kotlin).
static UNIT_BEHIND: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(
        r"^\s*(?:\*\s*time\.|,\s*(?:\w+\.)*|\.)(?P<unit>(?i:nano|micro|milli|second|minute|hour|day)(?i:s|seconds?)?)\b",
    )
    .expect("a regex")
});
/// `Duration.ofSeconds(`, `Duration::from_millis(`, `TimeSpan.FromMinutes(`, `timedelta(seconds=`, `chrono::seconds(`.
static UNIT_BEFORE: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(
        r"(?:\b\w+(?:\.|::))*\b(?:of|from_?|From)?(?P<unit>(?i:nano|micro|milli|sec|min|hour|day)(?i:s|utes?|onds?|seconds?|secs)?)\s*[({=]\s*$",
    )
    .expect("a regex")
});

/// A tolerance in an argument of its own, or on top of what is compared with.
static TOLERANCE: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(concat!(
        r"(?i)\s*\b(?:rtol|atol|abs_tol|rel_tol|abs|rel|delta|places|decimal|tolerance|epsilon|eps|max_ulps|maxDiffPixels|maxDiffPixelRatio|failureThreshold)\s*[=:]\s*[^,(){}\s]+",
        r"|\s*[+*-]\s*(?:\w+\.)*\w*(?:toleran|epsilon|slack|leeway|margin|fuzz)\w*"
    ))
    .expect("a regex")
});
/// A number that a tolerance is multiplied with, and what goes with it.
static FACTOR: LazyLock<Regex> = LazyLock::new(|| {
    let tolerance = r"(?:\w+(?:\.|::))*(?:\w*(?:toleran|epsilon|delta|accuracy|precision)\w*|\w*tol|(?:\w*_)?eps)";
    let number = r"[0-9][0-9.]*(?:e[+-]?[0-9]+)?";
    compile_regex(&format!(
        r"(?i)(?P<before>\b(?P<first>{number})\s*\*\s*){tolerance}\b|\b{tolerance}(?P<behind>\s*\*\s*(?P<last>{number})\b)"
    ))
    .expect("a regex")
});
/// How exact R compares numbers where nothing else is said (`all.equal`).
const TOLERANCE_OF_R: f64 = 1.5e-8;
/// Shorter beginnings of statements say nothing, bytes.
const BEGINNING_BYTES_MIN: usize = 16;

/// Whether a tolerance is finer than R's own.
fn is_finer(given: &str) -> bool {
    let value = given.split_once('=').map(|(_, value)| value.trim());
    value.and_then(|value| value.parse().ok()).is_some_and(|value: f64| value < TOLERANCE_OF_R)
}

/// A line without the numbers that its tolerances are multiplied with, if these make them larger.
fn without_factor(text: &str) -> Option<String> {
    let mut rest = String::new();
    let mut end = 0;
    for found in FACTOR.captures_iter(text) {
        let factor = found.name("first").or_else(|| found.name("last"))?.as_str();
        let place = found.name("before").or_else(|| found.name("behind"))?;
        if factor.parse().is_ok_and(|factor: f64| factor <= 1.0) {
            return None;
        }
        rest.push_str(&text[end..place.start()]);
        end = place.end();
    }
    (end > 0).then(|| rest + &text[end..])
}

/// Marks lines of tests that are as they were but for a tolerance.
pub(super) fn mark_leeway(sheet: &mut WeakenedCheckCollector<'_, '_>) {
    let views = sheet.views;
    let bare = |text: &str| without_whitespace(text).replace(',', "").replace("{}", "");
    for (file, view) in views.iter().enumerate().filter(|(_, view)| view.part == FileRole::Test) {
        for sides in &view.hunks {
            let old: Vec<String> =
                sides.old.iter().filter(|line| line.changed).map(|line| bare(&line.masked.text)).collect();
            let is_given = |line: &&DiffLine<'_>| {
                let text = &line.masked.text;
                TOLERANCE.find_iter(text).filter(|given| !(view.is("r") && is_finer(given.as_str()))).any(|given| {
                    let rest = bare(&[&text[..given.start()], &text[given.end()..]].concat());
                    old.iter().any(|old| *old == rest || rest.len() >= BEGINNING_BYTES_MIN && old.starts_with(&rest))
                })
            };
            let added = || sides.new.iter().filter(|line| line.changed);
            if let Some(line) = added().find(is_given) {
                sheet.add_named("tolerance-given", (file, DiffSide::New, line), RuleSeverity::Certain, "");
            }
            let is_scaled =
                |line: &&DiffLine<'_>| without_factor(&line.masked.text).is_some_and(|rest| old.contains(&bare(&rest)));
            if let Some(line) = added().find(is_scaled) {
                sheet.add_named("tolerance-scaled", (file, DiffSide::New, line), RuleSeverity::Certain, "");
            }
        }
    }
}

/// The lines of the statement that the first of `lines` begins: up to where its brackets are closed.
fn split_statement<'s, 'v, 'p>(lines: &'s [&'v DiffLine<'p>]) -> &'s [&'v DiffLine<'p>] {
    let mut open = 0_usize;
    for (at, line) in lines.iter().take(STATEMENT_LINES_MAX).enumerate() {
        open += line.masked.code.matches(['(', '[']).count();
        open = open.saturating_sub(line.masked.code.matches([')', ']']).count());
        if open == 0 {
            return &lines[..=at];
        }
    }
    &[]
}
