//! A rule's match on a line of a diff.

use super::rule::WeakenedRule;
use super::view::DiffLine;

/// The unit of a suppression that names no rule: all of them.
pub(super) const EVERYTHING: &str = "*";
/// The family of rules on what is left out.
pub(super) const EXCLUDED: &str = "excluded-file";

/// A rule's match on one side.
pub(super) struct LineHit<'v, 'p> {
    pub(super) rule: &'static WeakenedRule,
    pub(super) file: usize,
    pub(super) hunk: usize,
    pub(super) at: usize,
    pub(super) line: &'v DiffLine<'p>,
    pub(super) units: Vec<String>,
}

/// Whether two matches are of one rule.
pub(super) fn same_rule(a: &LineHit<'_, '_>, b: &LineHit<'_, '_>) -> bool {
    a.rule.text.id == b.rule.text.id
}
