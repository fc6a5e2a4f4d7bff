//! What was taken away makes up for what is added: each unit of a rule that is gone, for one that came.

use std::collections::{HashMap, HashSet, VecDeque};

use super::hit::{EVERYTHING, EXCLUDED, LineHit, same_rule};
use super::lexis::identifiers_of;
use super::renamed::current_name;
use super::rule::{RuleKind, RuleScope};
use super::view::FileView;

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
    let mut pool: HashMap<(&str, String), VecDeque<Suppression<'_, '_, '_>>> = HashMap::new();
    let mut everything: HashMap<(&str, usize), Vec<Suppression<'_, '_, '_>>> = HashMap::new();
    let mut left_out: Vec<(&LineHit<'_, '_>, &str)> = Vec::new();
    for hit in other {
        for unit in &hit.units {
            if hit.rule.text.family == EXCLUDED {
                left_out.push((hit, unit));
            }
            if unit == EVERYTHING {
                everything.entry((hit.rule.group_name(), hit.file)).or_default().push(Suppression::new(hit));
            }
            pool.entry((hit.rule.group_name(), alike(unit))).or_default().push_back(Suppression::new(hit));
        }
    }
    // What has moved or is written in another way comes in the same order, mostly.
    let mut take = |own: &Suppression<'_, '_, '_>, unit: &str, same_file: bool| {
        let places = pool.get_mut(&(own.hit.rule.group_name(), alike(unit)))?;
        let fits = |other: &Suppression<'_, '_, '_>| {
            (!same_file || other.hit.file == own.hit.file) && own.is_of_same_code(other, views)
        };
        let at = places.iter().take(CANDIDATES_MAX).position(fits)?;
        places.remove(at)
    };
    let mut open: Vec<(&LineHit<'_, '_>, Vec<&'h str>)> =
        wanted.iter().map(|hit| (*hit, hit.units.iter().map(String::as_str).collect())).collect();
    for same_file in [true, false] {
        for (hit, units) in &mut open {
            let own = Suppression::new(hit);
            units.retain(|unit| take(&own, unit, same_file).is_none());
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
            let beside = || everything.get(&(hit.rule.group_name(), hit.file)).into_iter().flatten();
            let was_all = || named && beside().take(CANDIDATES_MAX).any(|other| own.is_of_same_code(other, views));
            if !units.is_empty() && (was_all() || take(&own, EVERYTHING, same_file).is_some()) {
                units.clear();
            }
        }
    }
    open.into_iter().filter(|(_, units)| !units.is_empty()).map(|(hit, _)| hit).collect()
}

/// Matches that one of the other side is looked for among.
const CANDIDATES_MAX: usize = 500;

/// A match, and the names on its line.
struct Suppression<'h, 'v, 'p> {
    hit: &'h LineHit<'v, 'p>,
    words: HashSet<&'h str>,
}

impl<'h, 'v, 'p> Suppression<'h, 'v, 'p> {
    fn new(hit: &'h LineHit<'v, 'p>) -> Self {
        let is_comment = hit.rule.text.place == RuleScope::Comment;
        let words = if is_comment { identifiers_of(&hit.line.masked.code).collect() } else { HashSet::new() };
        Suppression { hit, words }
    }

    /// Whether `other`, which is gone, may be the one that the line has now: it is of similar code, or its line was where
    /// this one is. What is no comment is the same wherever it is.
    fn is_of_same_code(&self, other: &Suppression<'_, '_, '_>, views: &[FileView<'_>]) -> bool {
        let least = self.words.len().min(other.words.len());
        let (hit, was) = (self.hit, other.hit);
        let in_place = || {
            let sides = &views[hit.file].hunks[hit.hunk];
            (hit.file, hit.hunk) == (was.file, was.hunk)
                && sides.new.get(hit.at).is_some_and(|line| std::ptr::eq(line, hit.line))
                && sides.removed_in_place(hit.at).any(|line| std::ptr::eq(line, was.line))
        };
        least == 0 || 2 * self.words.intersection(&other.words).count() >= least || in_place()
    }
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
