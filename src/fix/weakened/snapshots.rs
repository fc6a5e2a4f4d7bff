//! Recorded output that was recorded again while nothing else changed: the test now expects whatever comes out.

use super::language::Part;
use super::rule::Severity;
use super::view::Side;
use super::{Sheet, source_changed};
use crate::fix::patch::{Change, Kind};

/// Marks rewritten and deleted snapshots, one mark a file.
pub(super) fn mark(sheet: &mut Sheet<'_, '_>) {
    let views = sheet.views;
    // Where the program or a test changed, its output may well have to.
    let tests_changed = views.iter().any(|view| view.part == Part::Test || view.part == Part::Foreign);
    if source_changed(views) || tests_changed {
        return;
    }
    for (index, view) in views.iter().enumerate().filter(|(_, view)| view.part == Part::Snapshot) {
        let (id, side, kind) = match view.file.change {
            Change::Added | Change::Renamed => continue,
            Change::Deleted => ("snapshot-deleted", Side::Old, Kind::Removed),
            Change::Modified => ("snapshot-rewritten", Side::New, Kind::Added),
        };
        let first = view.file.of(kind).next().or_else(|| view.file.of(Kind::Removed).next());
        let Some(rule) = sheet.rules.named(id) else { continue };
        match first {
            Some(line) => {
                let number = if kind == Kind::Removed { line.old } else { line.new };
                sheet.push(rule, index, side, number, &line.text, Severity::Likely, "");
            }
            None if view.file.binary => sheet.push(rule, index, side, 0, "", Severity::Likely, ""),
            None => {}
        }
    }
}
