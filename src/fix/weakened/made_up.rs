//! What was taken away makes up for what is added: each unit of a rule that is gone, for one that came.

use std::collections::{HashMap, HashSet};

use super::hit::{EVERYTHING, EXCLUDED, LineHit, same_rule};
use super::lexis::identifiers_of;
use super::renamed::current_name;
use super::rule::{RuleKind, RuleScope};
use super::view::{DiffLine, FileView};

/// Those of `wanted` for whose units nothing was taken away on the other side.
pub(super) fn find_uncompensated<'h, 'v: 'h, 'p: 'h>(
    wanted: &[&'h LineHit<'v, 'p>],
    other: impl Iterator<Item = &'h LineHit<'v, 'p>>,
    views: &[FileView<'_>],
) -> Vec<&'h LineHit<'v, 'p>> {
    // Some tools take both signs, and rustc's lints had no tool's name once.
    let alike = |unit: &str| {
        let tools = ["clippy::", "rustdoc::"];
        let unit = current_name(tools.iter().find_map(|tool| unit.strip_prefix(tool)).unwrap_or(unit));
        tools.iter().find_map(|tool| unit.strip_prefix(tool)).unwrap_or(unit).replace('-', "_")
    };
    let mut pool: HashMap<(&str, String), Vec<&LineHit<'_, '_>>> = HashMap::new();
    let mut everything: Vec<&LineHit<'_, '_>> = Vec::new();
    let mut left_out: Vec<(&LineHit<'_, '_>, &str)> = Vec::new();
    for hit in other {
        for unit in &hit.units {
            if hit.rule.text.family == EXCLUDED {
                left_out.push((hit, unit));
            }
            if unit == EVERYTHING {
                everything.push(hit);
            }
            pool.entry((hit.rule.group_name(), alike(unit))).or_default().push(hit);
        }
    }
    let mut take = |hit: &LineHit<'_, '_>, unit: &str, same_file: bool| {
        let places = pool.get_mut(&(hit.rule.group_name(), alike(unit)))?;
        let fits =
            |other: &&LineHit<'_, '_>| (!same_file || other.file == hit.file) && is_of_same_code(hit, other, views);
        let at = places.iter().rposition(fits)?;
        Some(places.swap_remove(at))
    };
    let mut open: Vec<(&LineHit<'_, '_>, Vec<&'h str>)> =
        wanted.iter().map(|hit| (*hit, hit.units.iter().map(String::as_str).collect())).collect();
    for same_file in [true, false] {
        for (hit, units) in &mut open {
            units.retain(|unit| take(hit, unit, same_file).is_none());
            // A part of what was left out before is no more.
            if same_file && hit.rule.text.family == EXCLUDED {
                let is_beside = |other: &LineHit<'_, '_>| {
                    other.file == hit.file && other.rule.group_name() == hit.rule.group_name()
                };
                units.retain(|unit| !left_out.iter().any(|(other, was)| is_beside(other) && is_part_of(unit, was)));
            }
            // What takes the place of a folder's part holds all of it.
            if same_file && hit.rule.text.kind == RuleKind::Removed {
                units.retain(|unit| {
                    !left_out
                        .iter()
                        .any(|(other, now)| other.file == hit.file && same_rule(hit, other) && is_within(unit, now))
                });
            }
            // What was hidden altogether is named now, in as many places as it takes.
            let named = same_file && hit.rule.text.family == "disabled-rule";
            let holds = |other: &&LineHit<'_, '_>| {
                other.file == hit.file
                    && other.rule.group_name() == hit.rule.group_name()
                    && is_of_same_code(hit, other, views)
            };
            let was_all = || named && everything.iter().any(holds);
            if !units.is_empty() && (was_all() || take(hit, EVERYTHING, same_file).is_some()) {
                units.clear();
            }
        }
    }
    open.into_iter().filter(|(_, units)| !units.is_empty()).map(|(hit, _)| hit).collect()
}

/// Whether a suppression that is gone may be the one that a line has now: it is of similar code, or its line was where
/// this one is.
fn is_of_same_code(hit: &LineHit<'_, '_>, other: &LineHit<'_, '_>, views: &[FileView<'_>]) -> bool {
    let (own, was) = (hit.line, other.line);
    if hit.rule.text.place != RuleScope::Comment || !own.has_code() || !was.has_code() {
        return true;
    }
    let words = |line: &DiffLine<'_>| identifiers_of(&line.masked.code).map(str::to_owned).collect::<HashSet<_>>();
    let (now, before) = (words(own), words(was));
    let in_place = || {
        let sides = &views[hit.file].hunks[hit.hunk];
        (hit.file, hit.hunk) == (other.file, other.hunk)
            && sides.removed_in_place(hit.at).any(|line| std::ptr::eq(line, was))
    };
    let shared = now.intersection(&before).count();
    now.len().min(before.len()) == 0 || 2 * shared >= now.len().min(before.len()) || in_place()
}

/// Whether the files of the pattern `unit` are among those of `other`: `config/settings/*` of `config/*`, `^a\/b` of
/// `^a/b`.
fn is_part_of(unit: &str, other: &str) -> bool {
    let plain = |text: &str| text.replace('\\', "").replace('-', "_");
    let (unit, other) = (plain(unit), plain(other));
    let folder = other.trim_end_matches(['|', '$', ')']).trim_end_matches("**").trim_end_matches(['*', '.', '+']);
    let names = folder.bytes().any(|byte| byte.is_ascii_alphanumeric());
    unit == other && unit.contains('/') || names && folder.ends_with('/') && unit.starts_with(folder)
}

/// Whether the folder `now` holds what `unit` names.
fn is_within(unit: &str, now: &str) -> bool {
    let plain = |text: &str| text.trim_matches(['"', '\'']).trim_end_matches('/').to_owned();
    plain(unit).strip_prefix(&plain(now)).is_some_and(|rest| rest.starts_with('/'))
}
