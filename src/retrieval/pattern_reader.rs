//! Patterns as they are shown: the rows of the index with their words, figures and remedies.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::detectors::detector_advice;
use super::history_cache::HistoryCache;
use super::pattern_facts::{PatternFactsCache, PatternFamily};
use super::pattern_remedies;
use crate::base::clock::Timestamp;
use crate::config::Settings;
use crate::pattern::confidence::{self, Confidence, JudgedDelivery, PatternOccurrence};
use crate::pattern::detector::{DetectorFinding, DetectorRegistry, DetectorSubject};
use crate::pattern::history::{HistoryPattern, TaskHistory};
use crate::pattern::{PatternGroupSummary, PatternPage, PatternSummary, SummaryParts};
use crate::store::{DeliveryOutcomeRow, Index, OccurrenceRow, PatternRow, SegmentFolder, StoreError};

/// Failures, files shown of one pattern.
const SHOWN_MAX: usize = 20;
/// Files of one pattern that its folders are made of.
const FILES_MAX: usize = 500;
/// What "recently" means, microseconds.
const LATELY_US: i64 = 30 * 24 * 3600 * 1_000_000;

/// Everything that words and figures are made of.
pub(crate) struct PatternReader {
    /// What is recorded.
    pub index: Index,
    /// The same in full.
    pub segments: SegmentFolder,
    /// The settings.
    pub settings: Settings,
    /// The detectors in force.
    pub registry: Arc<DetectorRegistry>,
    /// What detectors look at, as it was read before.
    pub histories: HistoryCache,
    /// What lists show of patterns, as it was counted before.
    pub facts: PatternFactsCache,
    /// The history, once it was asked for.
    pub history: OnceCell<Arc<TaskHistory>>,
    /// This moment.
    pub now: Timestamp,
}

/// What the confidence in a pattern is made of.
pub(crate) struct PatternEvidence {
    /// The first sighting in each task, the oldest first.
    pub sightings: Vec<PatternOccurrence>,
    /// The outcomes of the warnings that were shown, as far as they are known.
    pub told: Vec<JudgedDelivery>,
    /// All warnings, the oldest first.
    pub deliveries: Vec<DeliveryOutcomeRow>,
    /// Where it failed, each file with its failures, the most frequent first; at most [`FILES_MAX`].
    pub files: Vec<(String, u64)>,
}

impl PatternReader {
    /// What detectors find about the newest tasks as a whole.
    ///
    /// # Errors
    /// When the store can't be read, as for all methods here.
    pub(crate) fn findings(&self) -> Result<Vec<DetectorFinding>, StoreError> {
        let history = self.history()?;
        history.name_patterns(|patterns| self.index.names_of_patterns(patterns))?;
        Ok(self.registry.examine_history(history, &self.settings))
    }

    /// The newest tasks. Read when something is asked of them: many pages need none.
    pub(super) fn history(&self) -> Result<&TaskHistory, StoreError> {
        if let Some(history) = self.history.get() {
            return Ok(history);
        }
        let history = self.histories.recent_history(&self.index)?;
        Ok(self.history.get_or_init(|| history))
    }

    /// What detectors know of a pattern: why it happens, and what to do about it.
    pub(crate) fn told_by_detectors(&self, number: i64) -> Result<(Option<String>, Option<String>), StoreError> {
        let row = self.index.brief_of_pattern(number)?;
        Ok(detector_advice(&self.registry, self.history()?, &row, &self.settings))
    }

    /// Whether the row belongs into its family's single row: it does not recur on its own.
    pub(crate) fn is_single(&self, row: &PatternRow) -> bool {
        row.tasks < self.settings.patterns.recurring_tasks
    }

    /// Everything about one pattern, and what its confidence is made of.
    pub(crate) fn pattern_page(&self, row: PatternRow) -> Result<(PatternPage, PatternEvidence), StoreError> {
        let index = &self.index;
        let together = PatternGroupSummary::from_rows(
            index.members_of_group(row.number)?,
            index.merges_of_group(row.number)?,
            index.reviews_of_group(row.number)?,
        );
        let all_files = index.pattern_files(row.number, FILES_MAX)?;
        let files = all_files.iter().take(SHOWN_MAX).cloned().collect();
        let lessons = index.pattern_lessons(row.number)?;
        let occurrences = index.occurrences_of_pattern(row.number, SHOWN_MAX)?;
        let deliveries = index.deliveries_of_pattern(row.number)?;
        let told = deliveries.iter().cloned().filter_map(JudgedDelivery::from_outcome_row).collect();
        let mut parts = self.summary_parts(&row, &occurrences, told, true)?;
        let known = pattern_remedies::pattern_remedies(index, &self.segments, &row, &self.settings, self.now)?;
        let family = row.masked_family.clone();
        let summary = PatternSummary::from_row(row, &parts, &self.settings, self.now);
        let findings = std::mem::take(&mut parts.findings);
        let page = PatternPage::from_parts(summary, &family, together, findings, files, lessons, occurrences);
        let page = PatternPage { gotcha: known.gotcha, strategies: known.strategies, ..page };
        Ok((page, PatternEvidence { sightings: parts.sightings, told: parts.told, deliveries, files: all_files }))
    }

    /// How many tasks there are; `None` where some are older than what is looked at.
    pub(crate) fn count_tasks(&self) -> Result<Option<u64>, StoreError> {
        let history = self.history()?;
        Ok((history.older_tasks == 0).then_some(history.tasks.len() as u64))
    }

    /// The confidence that a pattern has, and why.
    pub(crate) fn confidence_of(&self, number: i64) -> Result<Confidence, StoreError> {
        let sightings = self.index.first_occurrences(number)?.into_iter();
        let sightings: Vec<_> =
            sightings.map(|row| PatternOccurrence { run: row.run, at: row.at, task: row.task }).collect();
        let told = self.judged_deliveries(number)?;
        Ok(confidence::pattern_confidence(&sightings, &told, &self.settings.confidence))
    }

    /// The outcomes of the warnings about a pattern that were shown, as far as they are known.
    pub(crate) fn judged_deliveries(&self, number: i64) -> Result<Vec<JudgedDelivery>, StoreError> {
        let told = self.index.deliveries_of_pattern(number)?.into_iter();
        Ok(told.filter_map(JudgedDelivery::from_outcome_row).collect())
    }

    /// A pattern by its row number, without a look at its family: what a long list has time for. With what the summary is
    /// made of.
    pub(crate) fn brief_summary(&self, number: i64) -> Result<(PatternSummary, SummaryParts), StoreError> {
        let row = self.index.brief_pattern_row(number)?;
        let occurrences = self.index.occurrences_of_pattern(number, 3)?;
        let parts = self.summary_parts(&row, &occurrences, self.judged_deliveries(number)?, false)?;
        Ok((PatternSummary::from_row(row, &parts, &self.settings, self.now).0, parts))
    }

    /// A row of the list.
    pub(crate) fn summarize_row(&self, row: PatternRow) -> Result<PatternSummary, StoreError> {
        let occurrences = self.index.occurrences_of_pattern(row.number, 3)?;
        let parts = self.summary_parts(&row, &occurrences, self.judged_deliveries(row.number)?, false)?;
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

    /// The family of a pattern.
    pub(crate) fn family_of(&self, row: &PatternRow) -> Result<Arc<PatternFamily>, StoreError> {
        self.facts.family_of(&self.index, row)
    }

    fn summary_parts(
        &self,
        row: &PatternRow,
        occurrences: &[OccurrenceRow],
        told: Vec<JudgedDelivery>,
        all: bool,
    ) -> Result<SummaryParts, StoreError> {
        let index = &self.index;
        let patterns = [row.number];
        let family = all.then(|| self.family_of(row)).transpose()?;
        let family = family.as_ref().map(|family| family.patterns.as_slice()).unwrap_or_default();
        let history = self.history()?;
        let mut known = BTreeMap::from([(row.number, HistoryPattern::from(row))]);
        if all {
            // A group is those that are like one of them: what is beside that is beside this pattern at one remove.
            let runs_min = self.settings.patterns.together_runs;
            let beside = history.patterns_beside(row.number, runs_min).into_iter();
            let beside = beside.flat_map(|pattern| history.patterns_beside(pattern, runs_min)).collect();
            let named = index.names_of_patterns(&beside)?.into_iter();
            known.extend(named.map(|row| (row.number, HistoryPattern::from(row))));
        }
        let subject = DetectorSubject { id: &row.id, patterns: &patterns, family, known: &known };
        let findings = if all {
            self.registry.examine_pattern(&subject, history, &self.settings)
        } else {
            self.registry.find_naming(&subject, history, &self.settings)
        };
        let sightings = index.first_occurrences(row.number)?.into_iter();
        let (cause, rule) = pattern_remedies::cause_and_rule(index, &self.segments, row.number)?;
        let first_test = occurrences.first().and_then(|seen| seen.test.clone());
        let since = Timestamp(self.now.0.saturating_sub(LATELY_US));
        Ok(SummaryParts {
            findings,
            sightings: sightings.map(|row| PatternOccurrence { run: row.run, at: row.at, task: row.task }).collect(),
            told,
            lately: index.count_occurrences_since(row.number, since)?,
            example: occurrences.first().map(|seen| seen.message.clone()),
            test: first_test.filter(|test| occurrences.iter().all(|seen| seen.test.as_ref() == Some(test))),
            cause,
            rule,
        })
    }
}
