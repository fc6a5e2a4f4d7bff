//! Which rules look at a line, and what they match on it.

use regex::Captures;

use super::language::FileRole;
use super::rule::{RuleKind, RuleScope, WeakenedRule, WeakenedRules};
use super::view::{DiffLine, DiffSide, FileView};

/// The family of what makes a test not run.
pub(super) const SKIPPED: &str = "skipped-test";

/// Whether a line skips the test that it belongs to.
pub(super) fn is_skip(rules: &WeakenedRules, view: &FileView<'_>, line: &DiffLine<'_>) -> bool {
    let mut candidates = rules.candidate_rules(line.raw, &[]).into_iter().map(|index| &rules.rules[index]);
    candidates.any(|rule| {
        rule.text.family == SKIPPED
            && !rule.text.conditional
            && rule.text.below.is_none()
            && applies_to(rule, view, DiffSide::Old)
            && match_rule(rule, line).is_some()
    })
}

/// Whether the rule `id` matches a line.
pub(super) fn has_rule(rules: &WeakenedRules, view: &FileView<'_>, line: &DiffLine<'_>, id: &str) -> bool {
    rules.find_rule(id).is_some_and(|rule| applies_to(rule, view, DiffSide::New) && match_rule(rule, line).is_some())
}

/// The rules of `kinds` that look at every line of a file.
pub(super) fn untold_rules(
    rules: &WeakenedRules,
    view: &FileView<'_>,
    side: DiffSide,
    kinds: &[RuleKind],
) -> Vec<usize> {
    let looks = |&index: &usize| {
        let rule = &rules.rules[index];
        let headings = view.file.hunks.iter().map(|hunk| hunk.heading.as_str());
        let lines = || view.all_lines(side).map(|line| line.masked.text.as_str()).chain(headings);
        kinds.contains(&rule.text.kind) && applies_to(rule, view, side) && rule.may_be_below(lines())
    };
    rules.untold.iter().copied().filter(looks).collect()
}

/// Whether a rule looks at such files at all.
pub(super) fn applies_to(rule: &WeakenedRule, view: &FileView<'_>, side: DiffSide) -> bool {
    let text = &rule.text;
    let language = text.languages.is_empty() || text.languages.iter().any(|name| view.is(name));
    let file = || text.files.is_empty() || rule.files.is_match(view.folded_text(side));
    let part = match text.tests {
        None => view.part != FileRole::Document || view.is("markdown") || !text.files.is_empty(),
        Some(true) => view.part == FileRole::Test,
        Some(false) => view.part == FileRole::Source,
    };
    language && part && file()
}

/// The match of `rule` on what it looks at of `line`.
pub(super) fn match_rule<'s>(rule: &WeakenedRule, line: &'s DiffLine<'_>) -> Option<Captures<'s>> {
    let groups = rule.line_regex()?.captures(looked_at(rule, line))?;
    let is_along = || rule.is_along(line.raw) || line.command.is_some_and(|command| rule.is_along(command));
    (rule.is_under(&line.path) && is_along()).then_some(groups)
}

/// What `rule` looks at of `line`.
pub(super) fn looked_at<'s>(rule: &WeakenedRule, line: &'s DiffLine<'_>) -> &'s str {
    match rule.text.place {
        RuleScope::Code => line.masked.code.as_str(),
        RuleScope::Text => line.masked.text.as_str(),
        RuleScope::Comment => line.masked.comment.as_str(),
        RuleScope::Line => line.raw,
    }
}
