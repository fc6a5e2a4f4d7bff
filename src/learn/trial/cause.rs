//! Whether a fix only reverts what brought the failure.

use std::collections::BTreeMap;

use crate::learn::minimal::{ChangeUnit, FileContent, FileVersions, UnitEdit};

/// Lines of one file that a change takes away and brings, blanks at their ends aside, with how often each occurs.
#[derive(Debug, Default)]
struct FileLines {
    removed: BTreeMap<Vec<u8>, usize>,
    added: BTreeMap<Vec<u8>, usize>,
}

/// Whether these units of a fix revert parts of `cause`, the change from the last pass to the failure, and do nothing
/// else: what they add was removed there, and what they remove was added there, file by file.
pub(crate) fn is_undo(
    fix: &BTreeMap<String, FileVersions>,
    units: &[&ChangeUnit],
    cause: &BTreeMap<String, FileVersions>,
) -> bool {
    if units.is_empty() {
        return false;
    }
    let mut by_file: BTreeMap<&str, FileLines> = BTreeMap::new();
    for unit in units {
        let Some(versions) = fix.get(&unit.path) else { return false };
        match &unit.edit {
            UnitEdit::Lines { before, after } => {
                let lines = by_file.entry(&unit.path).or_default();
                count_lines(&mut lines.removed, lines_in(versions.before.as_ref(), before.clone()));
                count_lines(&mut lines.added, lines_in(versions.after.as_ref(), after.clone()));
            }
            UnitEdit::WholeFile | UnitEdit::Mode => {
                let is_back = cause.get(&unit.path).is_some_and(|it| it.before == versions.after);
                if !is_back {
                    return false;
                }
            }
            UnitEdit::Renamed { from } => {
                let was_there = cause.get(&unit.path).is_some_and(|it| it.before.is_some() && it.after.is_none());
                if !was_there || cause.get(from).is_none_or(|it| it.before.is_some()) {
                    return false;
                }
            }
        }
    }
    by_file.iter().all(|(path, lines)| {
        let Some(versions) = cause.get(*path) else { return false };
        let before = count_all(versions.before.as_ref());
        let after = count_all(versions.after.as_ref());
        // What the cause removed of a line is how much less often it occurs afterwards.
        let went = |line: &Vec<u8>| times(&before, line).saturating_sub(times(&after, line));
        let came = |line: &Vec<u8>| times(&after, line).saturating_sub(times(&before, line));
        // A line that is on both sides has other blanks at most.
        let (added, removed) =
            (without_common(&lines.added, &lines.removed), without_common(&lines.removed, &lines.added));
        !(added.is_empty() && removed.is_empty())
            && added.iter().all(|(line, count)| went(line) >= *count)
            && removed.iter().all(|(line, count)| came(line) >= *count)
    })
}

fn without_common(lines: &BTreeMap<Vec<u8>, usize>, others: &BTreeMap<Vec<u8>, usize>) -> BTreeMap<Vec<u8>, usize> {
    let more = |(line, count): (&Vec<u8>, &usize)| Some((line.clone(), count.checked_sub(times(others, line))?));
    lines.iter().filter_map(more).filter(|(_, count)| *count > 0).collect()
}

fn times(counts: &BTreeMap<Vec<u8>, usize>, line: &[u8]) -> usize {
    counts.get(line).copied().unwrap_or(0)
}

fn count_all(content: Option<&FileContent>) -> BTreeMap<Vec<u8>, usize> {
    let mut counts = BTreeMap::new();
    count_lines(&mut counts, lines_in(content, 0..usize::MAX));
    counts
}

fn lines_in(content: Option<&FileContent>, range: std::ops::Range<usize>) -> Vec<Vec<u8>> {
    let bytes = content.map_or(&[][..], |content| &content.bytes);
    let lines = bytes.split_inclusive(|&byte| byte == b'\n').skip(range.start).take(range.end - range.start);
    lines.map(|line| line.trim_ascii().to_vec()).filter(|line| !line.is_empty()).collect()
}

fn count_lines(counts: &mut BTreeMap<Vec<u8>, usize>, lines: Vec<Vec<u8>>) {
    lines.into_iter().for_each(|line| *counts.entry(line).or_default() += 1);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::minimal::split_change;

    fn change(before: Option<&str>, after: Option<&str>) -> BTreeMap<String, FileVersions> {
        let file = |text: &str| FileContent { bytes: text.as_bytes().to_vec(), mode: "100644".into() };
        [("a".to_owned(), FileVersions { before: before.map(file), after: after.map(file) })].into()
    }

    fn takes_back(fix: &BTreeMap<String, FileVersions>, cause: &BTreeMap<String, FileVersions>) -> bool {
        is_undo(fix, &split_change(fix).iter().collect::<Vec<_>>(), cause)
    }

    #[test]
    fn a_slip_that_is_taken_back_is_an_undo() {
        let slip = change(Some("one\ntwo\n"), Some("one\ntow\nthree\n"));
        assert!(takes_back(&change(Some("one\ntow\nthree\n"), Some("one\ntwo\nthree\n")), &slip), "a part of it");
        assert!(takes_back(&change(Some("one\ntow\nthree\n"), Some("  one\ntwo\n")), &slip), "blanks aside");
        assert!(!takes_back(&change(Some("one\ntow\nthree\n"), Some("one\n2\nthree\n")), &slip));
        let fresh = change(Some("other\n"), Some("mended\n"));
        assert!(!takes_back(&fresh, &slip) && !takes_back(&fresh, &BTreeMap::new()));
    }

    #[test]
    fn a_file_that_came_and_goes_is_an_undo() {
        assert!(takes_back(&change(Some("x\n"), None), &change(None, Some("x\n"))));
        assert!(!takes_back(&change(Some("x\n"), None), &change(Some("y\n"), Some("x\n"))));
    }
}
