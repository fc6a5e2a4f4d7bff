//! Matrices of pipelines: the systems and versions that a check is made with, and that it no longer is.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;

use super::WeakenedCheckCollector;
use super::hit::LineHit;
use super::lazy::compile_regex;
use super::lexis::without_whitespace;
use super::lines::find_hits;
use super::rule::{RuleKind, RuleSeverity};
use super::view::{DiffLine, DiffSide, FileView};
use crate::fix::patch::PatchChange;

/// Keys beside the values of a matrix.
static NO_VALUE: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"(?i)(?:^|\.)(?:exclude|allow_failures|fast_finish|fail-fast|max-parallel|name|experimental|optional|steps|script|run|with|env_vars|artifact\w*|cache\w*|timeout\w*|(?:before|after)_\w+|install|addons|services|branches)(?:\.|$)")
        .expect("a regex")
});
/// What a workflow of another repository takes for its matrix.
static INPUT: LazyLock<Regex> =
    LazyLock::new(|| compile_regex(r"(?:^|\.)with\.[\w-]*(?:matrix|versions|platforms)$").expect("a regex"));
/// Where a project says which versions it supports.
static SUPPORTED: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r#"(?i)requires-python|python_requires|Programming Language ::|"engines"|"node"\s*:|rust-version|\bmsrv\b|required_ruby_version|"php"\s*:|^go\s+[0-9]|target-version|<(?:java\.version|maven\.compiler|TargetFrameworks?)|sourceCompatibility|\bdrop(?:s|ped)?\s+support"#)
        .expect("a regex")
});

/// A value that only one side has.
struct MatrixEntry<'h, 'v, 'p> {
    hit: &'h LineHit<'v, 'p>,
    unit: &'h str,
}

/// Marks values that are gone, and combinations that are taken out.
pub(super) fn mark_matrices(sheet: &mut WeakenedCheckCollector<'_, '_>) {
    let views = sheet.views;
    let of = |side| find_hits(sheet.rules, views, side, &[RuleKind::Matrix]);
    let (old, new) = (of(DiffSide::Old), of(DiffSide::New));
    if old.is_empty() && new.is_empty() {
        return;
    }
    let is_value = |hit: &&LineHit<'_, '_>| {
        hit.rule.text.id.starts_with("matrix-entry")
            && views[hit.file].file.change == PatchChange::Modified
            && (!NO_VALUE.is_match(&hit.line.path) || INPUT.is_match(&hit.line.path))
            && !hit.line.masked.text.trim_end().ends_with(':')
    };
    let (mut removed, added) = only_one_side(old.iter().filter(is_value), new.iter().filter(is_value));
    removed.retain(|entry| !is_kept(entry, new.iter().filter(is_value), views));
    let supported =
        || views.iter().flat_map(|view| view.changed_lines(DiffSide::Old)).any(|line| SUPPORTED.is_match(line.raw));
    let mut places: Vec<(usize, &str)> = Vec::new();
    for entry in &removed {
        let place = (entry.hit.file, matrix_key(entry.hit));
        if places.contains(&place) {
            continue;
        }
        places.push(place);
        let mut gone: Vec<&MatrixEntry<'_, '_, '_>> =
            removed.iter().filter(|other| (other.hit.file, matrix_key(other.hit)) == place).collect();
        let is_expanded = |entry: &MatrixEntry<'_, '_, '_>| {
            (entry.hit.file, matrix_key(entry.hit)) == place
                && entry.hit.line.raw.contains('{')
                && !entry.hit.line.raw.contains("${")
        };
        // tox writes several as one, `py3{12,13}`.
        if views[entry.hit.file].is("ini") && added.iter().any(is_expanded) {
            continue;
        }
        let come: Vec<&str> = added
            .iter()
            .filter(|other| (other.hit.file, matrix_key(other.hit)) == place)
            .map(|entry| entry.unit)
            .collect();
        // A version in place of others is an upgrade, a system in place of another the same check elsewhere.
        let moves_on = !come.is_empty();
        if moves_on {
            let left = count_unpaired(&mut gone, come.clone(), place.1);
            if gone.len() <= left {
                continue;
            }
        }
        // A matrix of one is none: what is there instead is another way to say where it runs.
        let listed = |hits: &[LineHit<'_, '_>]| {
            let here = hits.iter().filter(|hit| (hit.file, matrix_key(hit)) == place && hit.hunk == entry.hit.hunk);
            here.map(|hit| hit.units.len()).sum::<usize>()
        };
        if entry.hit.line.masked.text.contains('[') && listed(&old) == 1 && listed(&new) == 0 {
            continue;
        }
        let is_alias = |word: &&str| place.1.contains("node") && NODE_VERSIONS.contains(word);
        let is_newest = come.iter().any(is_alias);
        let severity = match is_newest || is_oldest(&gone, &views[entry.hit.file]) {
            // The oldest ones go, and newer ones come.
            true if moves_on || supported() => continue,
            true => RuleSeverity::Likely,
            false => RuleSeverity::Certain,
        };
        let names: Vec<&str> = gone.iter().map(|entry| entry.unit).collect();
        sheet.add(entry.hit.rule, (entry.hit.file, DiffSide::Old, entry.hit.line), severity, &names.join(", "));
    }
    mark_excluded(sheet, &old, &new, &added);
}

/// Marks the first combination that is taken out, unless it is of a value that the change adds.
fn mark_excluded(
    sheet: &mut WeakenedCheckCollector<'_, '_>,
    old: &[LineHit<'_, '_>],
    new: &[LineHit<'_, '_>],
    added: &[MatrixEntry<'_, '_, '_>],
) {
    let views = sheet.views;
    let of = |hits: &[LineHit<'_, '_>], side: DiffSide| -> Vec<String> {
        let hits = hits.iter().filter(|hit| hit.rule.text.id == "matrix-excluded");
        hits.map(|hit| matrix_item(hit, &views[hit.file], side)).collect()
    };
    let (before, now) = (of(old, DiffSide::Old), of(new, DiffSide::New));
    if now.len() <= before.len() {
        return;
    }
    let hits = new.iter().filter(|hit| hit.rule.text.id == "matrix-excluded");
    let first = hits.zip(&now).find(|(hit, item)| {
        let words: Vec<&str> = item.split([' ', ',', '"', '\'', '{', '}']).map(plain_unit).collect();
        views[hit.file].file.change == PatchChange::Modified
            && !before.contains(item)
            && !added.iter().any(|entry| !is_included(entry.hit) && words.contains(&entry.unit))
    });
    if let Some((hit, _)) = first {
        sheet.add(hit.rule, (hit.file, DiffSide::New, hit.line), RuleSeverity::Certain, "");
    }
}

/// The text of the item of a list that begins with a match.
fn matrix_item(hit: &LineHit<'_, '_>, view: &FileView<'_>, side: DiffSide) -> String {
    let lines = &view.hunks[hit.hunk].side_lines(side)[hit.at..];
    let rest = lines[1..].iter().take_while(|line| line.indent > hit.line.indent);
    let texts: Vec<&str> = lines.iter().take(1).chain(rest).map(|line| line.masked.text.trim()).collect();
    texts.join(" ")
}

/// The key that a value is of, by its last name.
fn matrix_key<'v>(hit: &LineHit<'v, '_>) -> &'v str {
    match hit.line.path.rsplit('.').next().unwrap_or_default() {
        "env_list" => "envlist",
        key => key,
    }
}

/// The values that the other side lacks, or has less often, of each side.
fn only_one_side<'h, 'v: 'h, 'p: 'h>(
    old: impl Iterator<Item = &'h LineHit<'v, 'p>>,
    new: impl Iterator<Item = &'h LineHit<'v, 'p>>,
) -> (Vec<MatrixEntry<'h, 'v, 'p>>, Vec<MatrixEntry<'h, 'v, 'p>>) {
    let entries =
        |hit: &'h LineHit<'v, 'p>| hit.units.iter().map(move |unit| MatrixEntry { hit, unit: plain_unit(unit) });
    let mut new: Vec<_> = new.flat_map(entries).filter(|entry| !entry.unit.is_empty()).map(Some).collect();
    let mut free: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, entry) in new.iter().enumerate() {
        free.entry(entry.as_ref().map_or("", |entry| entry.unit)).or_default().push(index);
    }
    let mut removed: Vec<MatrixEntry<'h, 'v, 'p>> = Vec::new();
    for entry in old.flat_map(entries).filter(|entry| !entry.unit.is_empty()) {
        match free.get_mut(entry.unit).and_then(Vec::pop) {
            Some(index) => new[index] = None,
            None => removed.push(entry),
        }
    }
    (removed, new.into_iter().flatten().collect())
}

/// Whether a value that is gone from its place is still in the matrix, or in that of another file.
fn is_kept<'h, 'v: 'h, 'p: 'v>(
    entry: &MatrixEntry<'_, '_, '_>,
    mut new: impl Iterator<Item = &'h LineHit<'v, 'p>>,
    views: &[FileView<'_>],
) -> bool {
    let view = &views[entry.hit.file];
    let is_there = |other: &LineHit<'_, '_>| {
        !is_included(other)
            && other.units.iter().any(|unit| plain_unit(unit) == entry.unit)
            && matrix_key(other) == matrix_key(entry.hit)
    };
    let is_item = |line: &DiffLine<'_>| {
        line.masked
            .text
            .trim_start()
            .strip_prefix("- ")
            .is_some_and(|item| item.split(' ').any(|word| plain_unit(word) == entry.unit))
    };
    is_included(entry.hit)
        && (new.any(is_there) || is_listed(entry.hit, view) || view.changed_lines(DiffSide::New).any(is_item))
        || is_elsewhere(entry.hit, views)
        || is_computed(view, matrix_key(entry.hit))
}

/// Whether the values of a combination that is gone are all in lists that the matrix has.
fn is_listed(hit: &LineHit<'_, '_>, view: &FileView<'_>) -> bool {
    let lists = || view.all_lines(DiffSide::New).filter(|line| line.masked.text.contains('['));
    let values = hit.line.masked.text.split([',', '{', '}']).filter_map(|part| part.split_once(':'));
    let mut values = values.map(|(_, value)| value.trim().trim_matches(['"', '\''])).filter(|value| !value.is_empty());
    let mut all = values.by_ref().peekable();
    let item = |text: &str, value: &str| {
        text.split(['[', ']', ',']).any(|item| item.trim().trim_matches(['"', '\'']) == value)
    };
    all.peek().is_some() && all.all(|value| lists().any(|line| item(&line.masked.text, value)))
}

/// Whether a line of a matrix has gone to a new file as it is.
fn is_elsewhere(hit: &LineHit<'_, '_>, views: &[FileView<'_>]) -> bool {
    let own = without_whitespace(&hit.line.masked.text);
    let others = views.iter().filter(|view| view.file.change == PatchChange::Added && view.is("yaml"));
    others.flat_map(|view| view.changed_lines(DiffSide::New)).any(|line| without_whitespace(&line.masked.text) == own)
}

/// Whether a value belongs to one combination that is added to the matrix.
fn is_included(hit: &LineHit<'_, '_>) -> bool {
    hit.line.path.split('.').any(|key| key == "include")
}

/// Whether the values of `key` are made when the pipeline runs.
fn is_computed(view: &FileView<'_>, key: &str) -> bool {
    view.all_lines(DiffSide::New).any(|line| {
        let own = line.path.rsplit('.').next().unwrap_or_default();
        own == key && line.path.contains("matrix") && line.masked.text.contains("${{")
    })
}

/// Takes the values out of `gone` that `come` has another version of: `ubuntu-22.04` for `ubuntu-20.04`. How many of
/// `come` are left to be in the place of others: none where versions go back.
fn count_unpaired(gone: &mut Vec<&MatrixEntry<'_, '_, '_>>, mut come: Vec<&str>, key: &str) -> usize {
    // `node` is a version of Node.js as well.
    let stem = |unit| if key.contains("node") && NODE_VERSIONS.contains(&unit) { "" } else { unit_stem(unit) };
    // An older version is no upgrade.
    let newest = come.iter().filter_map(|unit| parse_version(unit)).max();
    let goes_back = |unit| {
        let versions = parse_version(unit).zip(newest.as_ref());
        versions.is_some_and(|(was, newest)| was.len() == newest.len() && was > *newest)
    };
    gone.retain(|entry| match come.iter().position(|other| stem(other) == stem(entry.unit)) {
        Some(at) if !goes_back(entry.unit) => {
            come.swap_remove(at);
            false
        }
        _ => true,
    });
    if gone.iter().any(|entry| goes_back(entry.unit)) { 0 } else { come.len() }
}

/// What a value names without its version: the system, wherever it is said, or else what it begins with.
fn unit_stem(unit: &str) -> &str {
    let mut words = unit.split(|c: char| !c.is_ascii_alphabetic());
    if let Some(system) = words.find(|word| SYSTEMS.contains(word)) {
        return system;
    }
    let end = unit.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(unit.len());
    &unit[..end]
}

/// Words for versions of Node.js.
const NODE_VERSIONS: [&str; 6] = ["node", "stable", "latest", "current", "lts", "active"];
/// Systems in the names of targets.
const SYSTEMS: [&str; 12] = [
    "windows", "linux", "darwin", "macos", "android", "ios", "freebsd", "netbsd", "openbsd", "wasi", "illumos",
    "solaris",
];

fn plain_unit(unit: &str) -> &str {
    unit.trim_matches(|c: char| !c.is_alphanumeric())
}

/// Whether all of these are versions, and a newer one of the same key is still there.
fn is_oldest(gone: &[&MatrixEntry<'_, '_, '_>], view: &FileView<'_>) -> bool {
    let Some(gone) = gone.iter().map(|entry| parse_version(entry.unit)).collect::<Option<Vec<_>>>() else {
        return false;
    };
    let words = view
        .all_lines(DiffSide::New)
        .flat_map(|line| line.masked.text.split([',', ' ', '[', ']', '"', '\'', '{', '}']));
    let mut left = words.filter_map(parse_version).peekable();
    let Some(newest) = gone.iter().max() else { return false };
    left.peek().is_some() && left.any(|version| version.len() == newest.len() && version > *newest)
}

/// `3.12`, as numbers.
fn parse_version(text: &str) -> Option<Vec<u32>> {
    let text = text.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    let parts: Option<Vec<u32>> = text.trim_end_matches(".x").split('.').map(|part| part.parse().ok()).collect();
    parts.filter(|_| !text.is_empty())
}
