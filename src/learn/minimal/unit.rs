//! A change cut into units: edit blocks of a line diff, and operations on whole files. The diff is our own, so that any
//! subset of the units can be applied.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Units of one change; a larger one is not reduced.
pub(crate) const UNITS_MAX: usize = 400;
/// A file whose lines are compared, bytes; a larger one is one unit.
const LINE_DIFF_BYTES_MAX: usize = 2 << 20;

/// A file of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileContent {
    /// Its bytes; of a link, its target.
    pub bytes: Vec<u8>,
    /// Its mode in the tree: `100644`, `100755` or `120000`.
    pub mode: String,
}

/// A file before and after a change; absent where it is not there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FileVersions {
    /// Before.
    pub before: Option<FileContent>,
    /// After.
    pub after: Option<FileContent>,
}

/// A part of a change that is there or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChangeUnit {
    /// The file, relative to the root.
    pub path: String,
    /// What is changed in it.
    pub edit: UnitEdit,
}

/// What a unit changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum UnitEdit {
    /// Neighbouring lines: these of the file before become those of the file after.
    Lines {
        /// Before, from 0.
        before: Range<usize>,
        /// After, from 0.
        after: Range<usize>,
    },
    /// The mode.
    Mode,
    /// The file is added, removed, binary, a link, or too large to be compared.
    WholeFile,
    /// The file has another name, and the same content.
    Renamed {
        /// The name before.
        from: String,
    },
}

/// Cuts a change into units, in the order of the paths and lines.
pub(crate) fn split_change(files: &BTreeMap<String, FileVersions>) -> Vec<ChangeUnit> {
    let renames = find_renames(files);
    let sources: BTreeSet<&str> = renames.values().map(String::as_str).collect();
    let mut units = Vec::new();
    for (path, versions) in files {
        if let Some(from) = renames.get(path) {
            units.push(ChangeUnit { path: path.clone(), edit: UnitEdit::Renamed { from: from.clone() } });
        } else if !sources.contains(path.as_str()) {
            units.extend(split_file(path, versions));
        }
    }
    units
}

/// The files of the change with only these units applied, by path; `None` of one that is not there then.
pub(crate) fn apply_units(
    files: &BTreeMap<String, FileVersions>,
    units: &[&ChangeUnit],
) -> BTreeMap<String, Option<FileContent>> {
    let mut result: BTreeMap<String, Option<FileContent>> =
        files.iter().map(|(path, versions)| (path.clone(), versions.before.clone())).collect();
    for (path, versions) in files {
        let own: Vec<&ChangeUnit> = units.iter().copied().filter(|unit| &unit.path == path).collect();
        if own.is_empty() {
            continue;
        }
        if let [ChangeUnit { edit: UnitEdit::Renamed { from }, .. }] = own[..] {
            result.insert(from.clone(), None);
        }
        result.insert(path.clone(), apply_to_file(versions, &own));
    }
    result
}

fn apply_to_file(versions: &FileVersions, units: &[&ChangeUnit]) -> Option<FileContent> {
    if units.iter().any(|unit| matches!(unit.edit, UnitEdit::WholeFile | UnitEdit::Renamed { .. })) {
        return versions.after.clone();
    }
    let (Some(before), Some(after)) = (&versions.before, &versions.after) else { return versions.after.clone() };
    let (old, new) = (split_lines(&before.bytes), split_lines(&after.bytes));
    let mut bytes = Vec::new();
    let mut at = 0;
    let mut mode = before.mode.clone();
    let mut blocks: Vec<(&Range<usize>, &Range<usize>)> = Vec::new();
    for unit in units {
        match &unit.edit {
            UnitEdit::Lines { before, after } => blocks.push((before, after)),
            UnitEdit::Mode => mode.clone_from(&after.mode),
            UnitEdit::WholeFile | UnitEdit::Renamed { .. } => {}
        }
    }
    blocks.sort_by_key(|(before, _)| (before.start, before.end));
    for (before, after) in blocks {
        old[at..before.start].iter().for_each(|line| bytes.extend_from_slice(line));
        new[after.clone()].iter().for_each(|line| bytes.extend_from_slice(line));
        at = before.end;
    }
    old[at..].iter().for_each(|line| bytes.extend_from_slice(line));
    Some(FileContent { bytes, mode })
}

fn split_file(path: &str, versions: &FileVersions) -> Vec<ChangeUnit> {
    let unit = |edit| ChangeUnit { path: path.to_owned(), edit };
    let (Some(before), Some(after)) = (&versions.before, &versions.after) else {
        return vec![unit(UnitEdit::WholeFile)];
    };
    if !is_text(before) || !is_text(after) {
        return vec![unit(UnitEdit::WholeFile)];
    }
    let (old, new) = (split_lines(&before.bytes), split_lines(&after.bytes));
    let blocks = capture_diff_slices(Algorithm::Patience, &old, &new).into_iter().filter_map(|op| match op {
        DiffOp::Equal { .. } => None,
        changed => Some(unit(UnitEdit::Lines { before: changed.old_range(), after: changed.new_range() })),
    });
    let mut units = join_neighbours(blocks.collect());
    if before.mode != after.mode {
        units.push(unit(UnitEdit::Mode));
    }
    units
}

/// A diff may give a removal and an insertion of one place apart: together they are one edit.
fn join_neighbours(units: Vec<ChangeUnit>) -> Vec<ChangeUnit> {
    let mut joined: Vec<ChangeUnit> = Vec::new();
    for unit in units {
        if let (Some(UnitEdit::Lines { before, after }), UnitEdit::Lines { before: next_before, after: next_after }) =
            (joined.last_mut().map(|last| &mut last.edit), &unit.edit)
            && before.end == next_before.start
            && after.end == next_after.start
        {
            (before.end, after.end) = (next_before.end, next_after.end);
            continue;
        }
        joined.push(unit);
    }
    joined
}

/// Two neighbouring edits of a file, cut at another place. The lines between them, which both sides have, may also be found
/// within what the first edit writes; then what comes after that place can go to the second edit. The earliest place is
/// taken: what the first edit writes there is the least. `None` where there is no such place.
///
/// A diff has to choose one of these places, and a change that is smallest for one choice may not be for another.
pub(crate) fn cut_elsewhere(
    versions: &FileVersions,
    first: &ChangeUnit,
    second: &ChangeUnit,
) -> Option<(ChangeUnit, ChangeUnit)> {
    let (UnitEdit::Lines { before, after }, UnitEdit::Lines { before: next_before, after: next_after }) =
        (&first.edit, &second.edit)
    else {
        return None;
    };
    let (old, new) = (versions.before.as_ref()?, versions.after.as_ref()?);
    let (old, new) = (split_lines(&old.bytes), split_lines(&new.bytes));
    let between = old.get(before.end..next_before.start).filter(|lines| !lines.is_empty())?;
    let written = &new[after.clone()];
    let at = after.start + written.windows(between.len()).position(|lines| lines == between)?;
    let unit = |before: &Range<usize>, after| ChangeUnit {
        path: first.path.clone(),
        edit: UnitEdit::Lines { before: before.clone(), after },
    };
    Some((unit(before, after.start..at), unit(next_before, at + between.len()..next_after.end)))
}

fn is_text(content: &FileContent) -> bool {
    content.mode.starts_with("100") && content.bytes.len() <= LINE_DIFF_BYTES_MAX && !content.bytes.contains(&0)
}

/// The lines with their ends.
fn split_lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|&byte| byte == b'\n').collect()
}

/// New files that have the content of a removed one, with its name. One name goes to one file.
fn find_renames(files: &BTreeMap<String, FileVersions>) -> BTreeMap<String, String> {
    let mut removed: BTreeMap<&[u8], Vec<&String>> = BTreeMap::new();
    for (path, versions) in files {
        if let (Some(before), None) = (&versions.before, &versions.after)
            && !before.bytes.is_empty()
        {
            removed.entry(&before.bytes).or_default().push(path);
        }
    }
    let mut renames = BTreeMap::new();
    for (path, versions) in files {
        if let (None, Some(after)) = (&versions.before, &versions.after)
            && let Some(from) = removed.get_mut(after.bytes.as_slice()).and_then(Vec::pop)
        {
            renames.insert(path.clone(), from.clone());
        }
    }
    renames
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn file(text: &str) -> Option<FileContent> {
        Some(FileContent { bytes: text.as_bytes().to_vec(), mode: "100644".into() })
    }

    fn change(files: &[(&str, Option<FileContent>, Option<FileContent>)]) -> BTreeMap<String, FileVersions> {
        let versions = |(path, before, after): &(&str, Option<FileContent>, Option<FileContent>)| {
            ((*path).to_owned(), FileVersions { before: before.clone(), after: after.clone() })
        };
        files.iter().map(versions).collect()
    }

    fn apply(files: &BTreeMap<String, FileVersions>, picks: &[usize]) -> BTreeMap<String, Option<FileContent>> {
        let units = split_change(files);
        apply_units(files, &picks.iter().map(|&at| &units[at]).collect::<Vec<_>>())
    }

    #[test]
    fn every_block_is_applied_alone() {
        let files = change(&[("a", file("1\n2\n3\n4\n5"), file("one\n2\n3\n4\n5\n6"))]);
        assert_eq!(split_change(&files).len(), 2);
        assert_eq!(apply(&files, &[])["a"], file("1\n2\n3\n4\n5"));
        assert_eq!(apply(&files, &[0])["a"], file("one\n2\n3\n4\n5"));
        assert_eq!(apply(&files, &[1])["a"], file("1\n2\n3\n4\n5\n6"));
        assert_eq!(apply(&files, &[0, 1])["a"], file("one\n2\n3\n4\n5\n6"));
    }

    #[test]
    fn whole_files_modes_and_names_are_units() {
        let executable = Some(FileContent { mode: "100755".into(), ..file("x\n").expect("a file") });
        let files = change(&[
            ("binary", file("\0a"), file("\0b")),
            ("gone", file("g\n"), None),
            ("mode", file("x\n"), executable.clone()),
            ("new", None, file("n\n")),
            ("to", None, file("moved\n")),
            ("was", file("moved\n"), None),
        ]);
        let units = split_change(&files);
        let edits: Vec<(&str, &UnitEdit)> = units.iter().map(|unit| (unit.path.as_str(), &unit.edit)).collect();
        let renamed = UnitEdit::Renamed { from: "was".into() };
        assert_eq!(
            edits,
            [
                ("binary", &UnitEdit::WholeFile),
                ("gone", &UnitEdit::WholeFile),
                ("mode", &UnitEdit::Mode),
                ("new", &UnitEdit::WholeFile),
                ("to", &renamed)
            ]
        );
        let moved = apply(&files, &[2, 4]);
        assert_eq!((&moved["mode"], &moved["to"], &moved["was"]), (&executable, &file("moved\n"), &None));
        assert_eq!((&moved["gone"], &moved["new"]), (&file("g\n"), &None));
    }

    #[test]
    fn two_edits_are_cut_where_the_first_writes_what_is_between_them() {
        let files = change(&[("f", file("doc\n\nget\nrest\n"), file("text\n\nvalue\n\nfind\nrest\n"))]);
        let edit = |before, after| ChangeUnit { path: "f".into(), edit: UnitEdit::Lines { before, after } };
        let (first, second) = (edit(0..1, 0..3), edit(2..3, 4..5));
        let cut = cut_elsewhere(&files["f"], &first, &second);
        assert_eq!(cut, Some((edit(0..1, 0..1), edit(2..3, 2..5))));
        let (docs, code) = cut.expect("is there");
        assert_eq!(apply_units(&files, &[&docs, &code])["f"], files["f"].after);
        assert_eq!(apply_units(&files, &[&code])["f"], file("doc\n\nvalue\n\nfind\nrest\n"));
        assert_eq!(cut_elsewhere(&files["f"], &docs, &code), None);
    }

    #[test]
    fn the_diff_takes_the_later_place() {
        let before = "head\n\"Adds.\"\n\nreturn len(rows)\n";
        let after = "head\n\"The sum of all.\"\n\nfound = sum(rows)\n\nreturn found\n";
        let files = change(&[("f", file(before), file(after))]);
        let units = split_change(&files);
        let [first, second] = &*units else { panic!("{units:?}") };
        assert!(cut_elsewhere(&files["f"], first, second).is_some(), "{units:?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

        #[test]
        fn all_units_together_are_the_change_and_any_subset_applies(
            before in "[ab\n]{0,40}", after in "[ab\n]{0,40}", mask in any::<u32>()
        ) {
            let files = change(&[("f", file(&before), file(&after))]);
            let units = split_change(&files);
            let all = apply_units(&files, &units.iter().collect::<Vec<_>>());
            prop_assert_eq!(&all["f"], &file(&after));
            prop_assert_eq!(&apply_units(&files, &[])["f"], &file(&before));
            let some: Vec<&ChangeUnit> =
                units.iter().enumerate().filter(|(at, _)| mask >> (at % 32) & 1 == 1).map(|(_, unit)| unit).collect();
            prop_assert!(apply_units(&files, &some)["f"].is_some());
        }
    }
}
