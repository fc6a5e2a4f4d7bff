//! `pattern list` and `pattern show`.

use std::collections::HashSet;

use serde::Serialize;

use super::definitions;
use super::knowledge;
use super::reading::{self, Reading};
use super::warn;
use crate::base::clock::Timestamp;
use crate::config::{Environment, Places, Settings};
use crate::pattern::confidence::{JudgedDelivery, PatternOccurrence};
use crate::pattern::detector::{DetectorFinding, DetectorRegistry, DetectorSubject};
use crate::pattern::history::TaskHistory;
use crate::pattern::{PatternGroupSummary, PatternPage, PatternSummary, SummaryParts};
use crate::store::{Index, OccurrenceRow, PatternRow, SegmentFolder, StoreError};

/// Failures, files shown of one pattern.
const SHOWN_MAX: usize = 20;
/// Patterns looked at for a list: a family of many that stands as one row could be all there is.
const LOOKED_AT_MAX: usize = 2_000;
/// What "lately" means, microseconds.
const LATELY_US: i64 = 30 * 24 * 3600 * 1_000_000;

/// What `pattern list --json` prints.
#[derive(Debug, Serialize)]
pub(crate) struct PatternList {
    /// Version of this shape.
    pub schema: u32,
    /// The last seen first.
    pub patterns: Vec<PatternSummary>,
    /// What detectors find about the newest tasks as a whole.
    pub findings: Vec<DetectorFinding>,
    /// For standard error.
    #[serde(skip)]
    pub notes: Vec<String>,
}

/// Which patterns `pattern list` lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Filter {
    /// At most so many.
    pub limit: usize,
    /// Only those of enough tasks (setting `patterns.recurring_tasks`).
    pub recurring: bool,
    /// Muted and deprecated ones too.
    pub all: bool,
}

/// Everything that words and figures are made of.
pub(super) struct PatternReader {
    pub index: Index,
    pub segments: SegmentFolder,
    pub settings: Settings,
    registry: DetectorRegistry,
    history: TaskHistory,
    pub now: Timestamp,
}

/// The patterns, the last seen first. A family of many patterns that were each seen in one task stands as one row.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn list_patterns(
    places: &Places,
    environment: &Environment,
    filter: Filter,
) -> Result<PatternList, StoreError> {
    let (desk, notes) = open_reader(places, environment)?;
    let Some(desk) = desk else {
        return Ok(PatternList { schema: 1, patterns: Vec::new(), findings: Vec::new(), notes });
    };
    let Filter { limit, recurring, all } = filter;
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
    Ok(PatternList {
        schema: 1,
        patterns,
        findings: desk.registry.examine_history(&desk.history, &desk.settings),
        notes,
    })
}

/// Everything about the pattern whose id starts with `id`, with notes for standard error.
///
/// # Errors
/// When there is none or more than one, or the store can't be read.
pub(crate) fn show_pattern(
    places: &Places,
    environment: &Environment,
    id: &str,
) -> Result<(PatternPage, Vec<String>), StoreError> {
    let (desk, mut notes) = open_reader(places, environment)?;
    let Some(desk) = desk else { return Err(StoreError::NoSuchId { id: id.to_owned() }) };
    let row = desk.index.find_pattern(id)?;
    let asked = desk.index.find_member(id).ok().filter(|member| member.id != row.id);
    notes.extend(asked.map(|member| format!("{} is counted with {}", member.id, row.id)));
    Ok((desk.pattern_page(row)?, notes))
}

/// Opens what is needed; `None` when nothing was ever recorded here.
pub(super) fn open_reader(
    places: &Places,
    environment: &Environment,
) -> Result<(Option<PatternReader>, Vec<String>), StoreError> {
    let Reading { index, segments, mut notes } = reading::open_for_reading(places)?;
    let Some(index) = index else { return Ok((None, notes)) };
    let (settings, _) = Settings::load(places, environment);
    let files = definitions::load_definitions(places, environment, &settings.categories).files;
    let (registry, faults) = DetectorRegistry::new(&files, &settings.categories);
    notes.extend(faults.into_iter().map(|fault| {
        let line = fault.line.map(|line| format!(":{line}")).unwrap_or_default();
        format!("{}{line}: {}; look again with: verify-run whitelist check", fault.file.display(), fault.reason)
    }));
    let history = TaskHistory::from_rows(index.recent_history()?);
    Ok((Some(PatternReader { index, segments, settings, registry, history, now: Timestamp::now() }), notes))
}

impl PatternReader {
    /// What detectors know of a pattern: why it happens, and what to do about it.
    pub(super) fn told_by_detectors(&self, number: i64) -> Result<(Option<String>, Option<String>), StoreError> {
        let row = self.index.brief_of_pattern(number)?;
        Ok(warn::detector_advice(&self.registry, &self.history, &row, &self.settings))
    }

    /// Whether a row of a family that stands as one is one of those: it does not recur by itself.
    fn is_single(&self, row: &PatternRow) -> bool {
        row.tasks < self.settings.patterns.recurring_tasks
    }

    /// Everything about one pattern.
    pub(super) fn pattern_page(&self, row: PatternRow) -> Result<PatternPage, StoreError> {
        let index = &self.index;
        let together = PatternGroupSummary::from_rows(
            index.members_of_group(row.number)?,
            index.merges_of_group(row.number)?,
            index.reviews_of_group(row.number)?,
        );
        let files = index.pattern_files(row.number, SHOWN_MAX)?;
        let lessons = index.pattern_lessons(row.number)?;
        let occurrences = index.occurrences_of_pattern(row.number, SHOWN_MAX)?;
        let parts = self.summary_parts(&row, &occurrences, true)?;
        let known = knowledge::pattern_remedies(index, &self.segments, &row, &self.settings, self.now)?;
        let family = row.masked_family.clone();
        let summary = PatternSummary::from_row(row, &parts, &self.settings, self.now);
        let page = PatternPage::from_parts(summary, &family, together, parts.findings, files, lessons, occurrences);
        Ok(PatternPage { gotcha: known.gotcha, strategies: known.strategies, ..page })
    }

    /// How many tasks there are; `None` where some are older than what is looked at.
    pub(super) fn count_tasks(&self) -> Option<u64> {
        (self.history.older_tasks == 0).then_some(self.history.tasks.len() as u64)
    }

    /// A row of the list.
    fn summarize_row(&self, row: PatternRow) -> Result<PatternSummary, StoreError> {
        let occurrences = self.index.occurrences_of_pattern(row.number, 3)?;
        let parts = self.summary_parts(&row, &occurrences, false)?;
        let (patterns, single) = if self.is_single(&row) && row.family_tasks > row.tasks {
            self.index.count_family_patterns(&row.family)?
        } else {
            (0, 0)
        };
        let family = row.masked_family.clone();
        let (mut summary, _) = PatternSummary::from_row(row, &parts, &self.settings, self.now);
        if patterns > 1 && single >= self.settings.patterns.collapse_patterns {
            summary.stand_for_family(&family, single);
        }
        Ok(summary)
    }

    fn summary_parts(
        &self,
        row: &PatternRow,
        occurrences: &[OccurrenceRow],
        all: bool,
    ) -> Result<SummaryParts, StoreError> {
        let index = &self.index;
        let patterns = [row.number];
        let family = if all { index.patterns_of_family(&row.family)? } else { Vec::new() };
        let subject = DetectorSubject { id: &row.id, patterns: &patterns, family: &family };
        let findings = if all {
            self.registry.examine_pattern(&subject, &self.history, &self.settings)
        } else {
            self.registry.find_naming(&subject, &self.history, &self.settings)
        };
        let sightings = index.first_occurrences(row.number)?.into_iter();
        let (cause, rule) = knowledge::cause_and_rule(index, &self.segments, row.number)?;
        let first_test = occurrences.first().and_then(|seen| seen.test.clone());
        let since = Timestamp(self.now.0.saturating_sub(LATELY_US));
        Ok(SummaryParts {
            findings,
            sightings: sightings.map(|row| PatternOccurrence { run: row.run, at: row.at, task: row.task }).collect(),
            told: index
                .deliveries_of_pattern(row.number)?
                .into_iter()
                .filter_map(JudgedDelivery::from_outcome_row)
                .collect(),
            lately: index.count_occurrences_since(row.number, since)?,
            example: occurrences.first().map(|seen| seen.message.clone()),
            test: first_test.filter(|test| occurrences.iter().all(|seen| seen.test.as_ref() == Some(test))),
            cause,
            rule,
        })
    }
}
