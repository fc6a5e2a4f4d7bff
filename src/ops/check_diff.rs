//! `check-diff`: what a change weakens, and which fixes it reverts.

use std::collections::HashSet;

use serde::Serialize;

use super::reading;
use crate::base::clock::Timestamp;
use crate::base::lossless::Lossless;
use crate::base::text;
use crate::config::{Places, Settings};
use crate::event::{AttemptMeans, FixState};
use crate::fix::fix_status;
use crate::fix::patch::Patch;
use crate::fix::regression::{Fix, taken_back};
use crate::fix::snapshot::{Compared, Skipped, work_tree_changes};
use crate::fix::weakened::{Mark, RuleSeverity, detect};
use crate::store::{FixFilter, FixRow, StoreError};

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
    /// Fixes that are reverted.
    pub regressions: bool,
}

/// What `check-diff --json` prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct CheckDiffReport {
    /// Version of this shape.
    pub schema: u32,
    /// Where a check was weakened, in the order of the diff.
    pub weakened: Vec<Mark>,
    /// Confirmed fixes that the change reverts.
    pub regressions: Vec<Regression>,
    /// Marks beyond the limit, and files and lines of the diff that were not read.
    pub cut: usize,
    /// Notes for standard error.
    #[serde(skip)]
    pub notes: Vec<String>,
}

/// Where a confirmed fix is reverted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Regression {
    /// `x-…`
    pub fix: String,
    /// `f-…` of the failure that it made go away; `null` when that is not in the store.
    pub failure: Option<String>,
    pub category: Option<String>,
    /// Its first message.
    pub summary: Option<String>,
    /// Why the fix is confirmed.
    pub standing: String,
    /// The file.
    pub path: String,
    /// The first line that comes back, its number now; where none does, the first that goes, its number before.
    pub line: u32,
    /// Whether `line` is one that goes.
    pub deleted: bool,
    pub text: String,
}

impl CheckDiffReport {
    /// Whether there is nothing to say.
    pub(crate) fn is_clean(&self) -> bool {
        self.weakened.is_empty() && self.regressions.is_empty()
    }
}

/// Looks at a change. A store that can't be read is a note: what the change weakens is known without it.
///
/// # Errors
/// What git says when it can't compare.
pub(crate) fn check_diff(
    places: &Places,
    settings: &Settings,
    compared: &Compared,
    wanted: CheckDiffOptions,
) -> Result<CheckDiffReport, Skipped> {
    let patch = work_tree_changes(&places.root, compared)?;
    let mut report =
        CheckDiffReport { schema: 1, weakened: Vec::new(), regressions: Vec::new(), cut: patch.cut, notes: Vec::new() };
    if wanted.weakened {
        let findings = detect(&patch, None);
        (report.weakened, report.cut) = (findings.marks, findings.cut);
        report.weakened.retain(|mark| !wanted.certain || mark.severity == RuleSeverity::Certain);
    }
    if wanted.regressions {
        match find_regressions(places, settings, &patch, &mut report.notes) {
            Ok(found) => report.regressions = found,
            Err(error) => report.notes.push(format!("cannot check for reverted fixes: {error}")),
        }
    }
    Ok(report)
}

fn find_regressions(
    places: &Places,
    settings: &Settings,
    patch: &Patch,
    notes: &mut Vec<String>,
) -> Result<Vec<Regression>, StoreError> {
    if patch.files.is_empty() {
        return Ok(Vec::new());
    }
    let reading = reading::open_for_reading(places)?;
    notes.extend(reading.notes);
    let Some(index) = &reading.index else { return Ok(Vec::new()) };
    let silence = settings.fix.silence();
    let now = Timestamp::now();
    let touched: HashSet<&str> =
        patch.files.iter().flat_map(|file| [file_name(&file.old), file_name(&file.new)]).collect();
    let mut fixes: Vec<Fix> = Vec::new();
    let mut rows: Vec<(FixRow, String)> = Vec::new();
    let filter = FixFilter { state: Some(FixState::Success), limit: FIXES_MAX, ..FixFilter::default() };
    for row in index.list_fixes(&filter)? {
        let Some(standing) = fix_status(&row, now, silence).filter(|standing| standing.confirmed) else { continue };
        let attempts = index.read_attempts(&reading.segments, &row.id)?.into_iter();
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
            rows.push((row, standing.why));
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
            standing: why.clone(),
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
