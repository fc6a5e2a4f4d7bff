//! An expectation that was made to fit: its value changed, and nothing else.

use std::collections::HashSet;

use super::assertions::{code_skeleton, guards_failure, in_assertion};
use super::census::TestInventory;
use super::lexis::without_whitespace;
use super::rule::RuleSeverity;
use super::view::{DiffLine, DiffSide, HunkSides};
use super::{WeakenedCheckCollector, numbers};
use crate::fix::patch::{Hunk, PatchKind, PatchLine};

/// Marks expectations that changed, where a hunk has no other change.
pub(super) fn mark_fitted(
    census: &TestInventory,
    sheet: &mut WeakenedCheckCollector<'_, '_>,
    (file, index): (usize, usize),
    hunk: &Hunk,
) {
    let view = &sheet.views[file];
    let Some(language) = view.language else { return };
    let sides = &view.hunks[index];
    let Some(pairs) = replaced_values(hunk, sides) else { return };
    let find =
        |lines: &[DiffLine<'_>], number: u32| lines.iter().position(|line| line.changed && line.number == number);
    let mut fitted: Vec<(usize, &str)> = Vec::new();
    for (old, new) in pairs {
        let (Some(old), Some(new)) = (find(&sides.old, old), find(&sides.new, new)) else { return };
        let (before, after) = (&sides.old[old], &sides.new[new]);
        if code_skeleton(&before.masked.code) != code_skeleton(&after.masked.code) {
            return;
        }
        let same = without_whitespace(&before.masked.text) == without_whitespace(&after.masked.text);
        if same || numbers::is_threshold(sheet.rules, view, after) {
            continue;
        }
        // What goes in changed as well: then something else has to come out.
        if !in_assertion(&sides.new, new, language) && !guards_failure(&sides.new, new, language) {
            return;
        }
        if let Some(test) = census.test_around(DiffSide::New, file, index, new) {
            fitted.push((new, test.name.as_str()));
        }
    }
    fitted.dedup_by_key(|(_, name)| *name);
    for (at, name) in fitted {
        sheet.add_named("expectation-changed", (file, DiffSide::New, &sides.new[at]), RuleSeverity::Likely, name);
    }
}

/// The line numbers of the changed lines of a hunk, in pairs; `None` where lines of code were only added or removed. Blank
/// lines and comments change nothing.
fn replaced_values(hunk: &Hunk, sides: &HunkSides<'_>) -> Option<Vec<(u32, u32)>> {
    let idle = |lines: &[DiffLine<'_>]| -> HashSet<u32> {
        lines.iter().filter(|line| line.changed && line.is_idle()).map(|line| line.number).collect()
    };
    let (idle_old, idle_new) = (idle(&sides.old), idle(&sides.new));
    let is_code = |line: &&PatchLine| match line.kind {
        PatchKind::Removed => !idle_old.contains(&line.old),
        PatchKind::Added => !idle_new.contains(&line.new),
        PatchKind::Context => true,
    };
    let mut pairs = Vec::new();
    let (mut old, mut new) = (Vec::new(), Vec::new());
    for line in hunk.lines.iter().filter(is_code).map(Some).chain([None]) {
        match line.map(|line| (line.kind, line)) {
            Some((PatchKind::Removed, line)) if new.is_empty() => old.push(line.old),
            Some((PatchKind::Added, line)) => new.push(line.new),
            other => {
                if old.len() != new.len() {
                    return None;
                }
                pairs.extend(old.drain(..).zip(new.drain(..)));
                if let Some((PatchKind::Removed, line)) = other {
                    old.push(line.old);
                }
            }
        }
    }
    Some(pairs)
}
