//! `pattern list` and `pattern show`.

use std::cell::OnceCell;
use std::collections::HashSet;

use serde::Serialize;

use super::reading::StoreReader;
use super::reply::Reply;
use super::request::Request;
use crate::pattern::detector::DetectorFinding;
use crate::pattern::{PatternPage, PatternSummary};
use crate::recorder;
use crate::retrieval::pattern_reader::PatternReader;
use crate::store::StoreError;

/// Patterns looked at for a list: a family of many that is one row could be all there is.
const LOOKED_AT_MAX: usize = 2_000;

/// What `pattern list --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PatternList {
    /// Newest sighting first.
    pub patterns: Vec<PatternSummary>,
    /// What detectors find about the newest tasks as a whole.
    pub findings: Vec<DetectorFinding>,
}

/// Which patterns `pattern list` lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PatternFilter {
    /// Maximum number of results.
    pub limit: usize,
    /// Only those of enough tasks (setting `patterns.recurring_tasks`).
    pub recurring: bool,
    /// Muted and deprecated ones too.
    pub all: bool,
}

/// The patterns, the last seen first. A family of many patterns that were each seen in one task is one row.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn list_patterns(request: &Request, filter: PatternFilter) -> Result<Reply<PatternList>, StoreError> {
    let (desk, notes) = open_reader(request)?;
    let Some(desk) = desk else {
        return Ok(Reply::new(PatternList { patterns: Vec::new(), findings: Vec::new() }, notes));
    };
    let PatternFilter { limit, recurring, all } = filter;
    let failures_min = recurring.then_some(desk.settings.patterns.recurring_tasks);
    let (mut patterns, mut collapsed) = (Vec::new(), HashSet::new());
    let mut offset = 0;
    while patterns.len() < limit && offset < LOOKED_AT_MAX {
        let rows = desk.index.list_patterns(offset, limit - patterns.len(), failures_min)?;
        offset += rows.len();
        if rows.is_empty() {
            break;
        }
        for row in rows {
            let is_recurring = row.tasks.max(row.family_tasks) >= desk.settings.patterns.recurring_tasks;
            let is_hidden = (row.muted || row.deprecated) && !all;
            if is_hidden || recurring && !is_recurring || collapsed.contains(&row.family) && desk.is_single(&row) {
                continue;
            }
            let family = row.family.clone();
            let summary = desk.summarize_row(row)?;
            if summary.stands_for.is_some() {
                collapsed.insert(family);
            }
            patterns.push(summary);
        }
    }
    Ok(Reply::new(PatternList { patterns, findings: desk.findings()? }, notes))
}

/// Everything about the pattern whose id starts with `id`.
///
/// # Errors
/// When there is none or more than one, or the store can't be read.
pub(crate) fn show_pattern(request: &Request, id: &str) -> Result<Reply<PatternPage>, StoreError> {
    let (desk, mut notes) = open_reader(request)?;
    let Some(desk) = desk else { return Err(StoreError::NoSuchId { id: id.to_owned() }) };
    let row = desk.index.find_pattern(id)?;
    let asked = desk.index.find_member(id).ok().filter(|member| member.id != row.id);
    notes.extend(asked.map(|member| format!("{} is merged into {}", member.id, row.id)));
    Ok(Reply::new(desk.pattern_page(row)?.0, notes))
}

/// Opens what is needed; `None` when nothing was ever recorded here.
pub(super) fn open_reader(request: &Request) -> Result<(Option<PatternReader>, Vec<String>), StoreError> {
    let StoreReader { index, segments, mut notes } = request.open_for_reading()?;
    let Some(index) = index else { return Ok((None, notes)) };
    let settings = request.settings();
    let files = recorder::definitions::definition_files(&request.places, &request.environment);
    let (registry, faults) = request.kept.detectors.load(files, &settings.categories);
    notes.extend(faults.into_iter().map(|fault| {
        let line = fault.line.map(|line| format!(":{line}")).unwrap_or_default();
        format!("{}{line}: {}; check again with: verify-run whitelist check", fault.file.display(), fault.reason)
    }));
    let reader = PatternReader {
        index,
        segments,
        settings: settings.clone(),
        registry,
        histories: request.kept.histories.clone(),
        facts: request.kept.facts.clone(),
        history: OnceCell::new(),
        now: request.now(),
    };
    Ok((Some(reader), notes))
}
