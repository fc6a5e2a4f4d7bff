//! Recorded output that was recorded again while nothing else changed: the test now expects whatever comes out.

use super::language::FileRole;
use super::rule::RuleSeverity;
use super::view::DiffSide;
use super::{WeakenedCheckCollector, source_changed};
use crate::fix::patch::{PatchChange, PatchKind};

/// Marks rewritten and deleted snapshots, one mark a file.
pub(super) fn mark_snapshots(sheet: &mut WeakenedCheckCollector<'_, '_>) {
    let views = sheet.views;
    // Where the program or a test changed, its output may well have to.
    let tests_changed = views.iter().any(|view| view.part == FileRole::Test || view.part == FileRole::Foreign);
    if source_changed(views) || tests_changed {
        return;
    }
    for (index, view) in views.iter().enumerate().filter(|(_, view)| view.part == FileRole::Snapshot) {
        let (id, side, kind) = match view.file.change {
            PatchChange::Added | PatchChange::Renamed => continue,
            PatchChange::Deleted => ("snapshot-deleted", DiffSide::Old, PatchKind::Removed),
            PatchChange::Modified => ("snapshot-rewritten", DiffSide::New, PatchKind::Added),
        };
        let first = view.file.lines_of_kind(kind).next().or_else(|| view.file.lines_of_kind(PatchKind::Removed).next());
        let Some(rule) = sheet.rules.find_rule(id) else { continue };
        match first {
            Some(line) => {
                let number = if kind == PatchKind::Removed { line.old } else { line.new };
                sheet.push(rule, index, side, number, &line.text, RuleSeverity::Likely, "");
            }
            None if view.file.binary => sheet.push(rule, index, side, 0, "", RuleSeverity::Likely, ""),
            None => {}
        }
    }
}
