//! `check-diff`: what a change weakens, and which fixes it reverts.
//!
//! Reads the index as it is and waits for no recorder, because it runs in a pre-commit hook.

use std::collections::HashSet;

use serde::Serialize;

use super::library::find_deprecated_changes;
use super::reply::Reply;
use super::request::Request;
use crate::base::lossless::Lossless;
use crate::base::text;
use crate::event::{AttemptMeans, FixState};
use crate::fix::fix_status;
use crate::fix::patch::Patch;
use crate::fix::regression::{Fix, taken_back};
use crate::fix::snapshot::{ChangesError, DiffScope, work_tree_changes};
use crate::fix::weakened::{RuleSeverity, WeakenedCheck, detect};
use crate::learn::library::ReintroducedChange;
use crate::store::{FixFilter, FixRow, SegmentFolder, StoreError};

/// Fixes that a change is compared with: the last touched ones.
const FIXES_MAX: usize = 500;
/// A failure's message, bytes.
const SUMMARY_BYTES_MAX: usize = 160;

/// Which findings to look for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CheckDiffOptions {
    /// Places where a check is weakened.
    pub weakened: bool,
    /// Of these, only what is certain.
    pub certain: bool,
    /// Fixes that are reverted, and deprecated patterns that come back.
    pub regressions: bool,
}

/// What `check-diff --json` prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CheckDiffReport {
    /// Where a check was weakened, in the order of the diff.
    pub weakened: Vec<WeakenedCheck>,
    /// Confirmed fixes that the change reverts.
    pub regressions: Vec<Regression>,
    /// Deprecated pages of the pattern library whose change comes back.
    pub deprecated: Vec<ReintroducedChange>,
    /// Marks beyond the limit, and files and lines of the diff that were not read.
    pub cut: usize,
}

/// Where a confirmed fix is reverted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Regression {
    /// `x-…`
    pub fix: String,
    /// `f-…` of the failure that it made go away; `null` when that is not in the store.
    pub failure: Option<String>,
    /// Category of the failure.
    pub category: Option<String>,
    /// Its first message.
    pub summary: Option<String>,
    /// Why the fix is confirmed.
    pub status_reason: String,
    /// The file.
    pub path: String,
    /// The first line that comes back, its number now; where none does, the first that goes, its number before.
    pub line: u32,
    /// Whether `line` is one that goes.
    pub deleted: bool,
    /// Text of the line.
    pub text: String,
}

impl CheckDiffReport {
    /// Whether there is nothing to say.
    pub(crate) fn is_clean(&self) -> bool {
        self.weakened.is_empty() && self.regressions.is_empty() && self.deprecated.is_empty()
    }
}

/// Looks at a change. A store that can't be read is a note: what the change weakens is known without it.
///
/// # Errors
/// When git is missing, there is no work tree, or the range names nothing.
pub(crate) fn check_diff(
    request: &Request,
    compared: &DiffScope,
    wanted: CheckDiffOptions,
) -> Result<Reply<CheckDiffReport>, ChangesError> {
    let patch = work_tree_changes(&request.places.root, compared)?;
    let mut report = Reply::from(CheckDiffReport {
        weakened: Vec::new(),
        regressions: Vec::new(),
        deprecated: Vec::new(),
        cut: patch.cut,
    });
    if wanted.weakened {
        let findings = detect(&patch, None);
        (report.data.weakened, report.data.cut) = (findings.marks, findings.cut);
        report.data.weakened.retain(|mark| !wanted.certain || mark.severity == RuleSeverity::Certain);
    }
    if wanted.regressions {
        match find_regressions(request, &patch, &mut report.notes) {
            Ok(found) => report.data.regressions = found,
            Err(error) => report.notes.push(format!("cannot check for reverted fixes: {error}")),
        }
        match find_deprecated(request, &patch) {
            Ok(found) => report.data.deprecated = found,
            Err(error) => report.notes.push(format!("cannot check for deprecated patterns: {error}")),
        }
    }
    Ok(report)
}

fn find_deprecated(request: &Request, patch: &Patch) -> Result<Vec<ReintroducedChange>, StoreError> {
    let index = request.open_as_it_is(&mut Vec::new())?;
    find_deprecated_changes(request, index.as_ref(), patch)
}

fn find_regressions(request: &Request, patch: &Patch, notes: &mut Vec<String>) -> Result<Vec<Regression>, StoreError> {
    if patch.files.is_empty() {
        return Ok(Vec::new());
    }
    // A commit waits for this, and a run that is not recorded yet confirms no fix.
    let Some(index) = request.open_as_it_is(notes)? else { return Ok(Vec::new()) };
    let segments = SegmentFolder::new(request.places.state.events());
    let silence = request.settings().fix.silence();
    let now = request.now();
    let touched: HashSet<&str> =
        patch.files.iter().flat_map(|file| [file_name(&file.old), file_name(&file.new)]).collect();
    let mut fixes: Vec<Fix> = Vec::new();
    let mut rows: Vec<(FixRow, String)> = Vec::new();
    let filter = FixFilter { state: Some(FixState::Success), limit: FIXES_MAX, ..FixFilter::default() };
    for row in index.list_fixes(&filter)? {
        let Some(status) = fix_status(&row, now, silence).filter(|status| status.confirmed) else { continue };
        let attempts = index.read_attempts(&segments, &row.id)?.into_iter();
        let helped = attempts
            .filter(|attempt| attempt.means == AttemptMeans::Edit && !attempt.undo && !attempt.fixed.is_empty());
        let files = helped.flat_map(|attempt| {
            let also: HashSet<String> = attempt.also_changed.iter().map(Lossless::display).collect();
            let files = Patch::parse(attempt.diff.as_bytes()).files;
            files.into_iter().filter(move |file| !also.contains(&file.new)).collect::<Vec<_>>()
        });
        let files: Vec<_> = files.filter(|file| touched.contains(file_name(&file.new))).collect();
        if !files.is_empty() {
            fixes.push(Fix { id: row.id.clone(), patch: Patch { files, cut: 0 } });
            rows.push((row, status.why));
        }
    }
    let found = taken_back(patch, &fixes).into_iter().filter_map(|place| {
        let (row, why) = rows.iter().find(|(row, _)| row.id == place.id)?;
        let summary = row.summary.as_deref().map(|it| text::ellipsis(&text::one_line(it), SUMMARY_BYTES_MAX));
        Some(Regression {
            fix: place.id,
            failure: row.failure.clone(),
            category: row.category.clone(),
            summary,
            status_reason: why.clone(),
            path: place.path,
            line: place.line,
            deleted: place.deleted,
            text: place.text,
        })
    });
    Ok(found.collect())
}

/// The last part of a path: what a file keeps when its folder is renamed.
fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::config::Environment;
    use crate::recorder;
    use crate::recorder::tests::World;
    use crate::run::CommandEnd;
    use crate::store::lock_store;

    #[test]
    fn the_index_is_read_as_it_is_while_runs_wait_and_a_recorder_is_at_work() {
        let world = World::new();
        world.spool(&world.header(1, "aa", CommandEnd::Exit(1)), "error: a\n");
        recorder::drain(&world.places).expect("drains");
        world.spool(&world.header(2, "bb", CommandEnd::Exit(1)), "error: b\n");
        let patch = Patch::parse(b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n");
        let request = Request::at_places(world.places.clone(), Environment::default());
        let find = || {
            let mut notes = Vec::new();
            let found = find_regressions(&request, &patch, &mut notes).expect("reads");
            (found, notes)
        };
        assert_eq!(find(), (Vec::new(), Vec::new()));
        assert_eq!(recorder::pending_entries(&world.places).len(), 1, "what waits is left to the recorder");
        let _held = lock_store(&world.places.state, Duration::ZERO).expect("free");
        assert_eq!(find(), (Vec::new(), Vec::new()), "and another recorder goes unmentioned");
    }
}
