//! Patterns as lists show them: what [`PatternReader`] asks for each of them is asked once for all.

use std::collections::BTreeMap;

use super::pattern_facts::PatternFacts;
use super::pattern_reader::PatternReader;
use super::pattern_remedies;
use crate::base::clock::Timestamp;
use crate::event::AttemptOutcome;
use crate::pattern::confidence::{self, JudgedDelivery};
use crate::pattern::detector::DetectorSubject;
use crate::pattern::history::HistoryPattern;
use crate::pattern::knowledge;
use crate::pattern::{PatternWords, SummaryParts};
use crate::store::{PatternFixesRow, PatternRow, PatternSightings, StoreError, StrategyRow};

/// Patterns whose fixes are asked for at once.
const CHUNK: usize = 100;

/// A pattern in a list.
pub(crate) struct ListedPattern {
    /// As it is recorded; its own tasks are given as those of its family.
    pub row: PatternRow,
    /// Its name, and what is said of it.
    pub words: PatternWords,
    /// Why it happens, as recorded.
    pub cause: Option<String>,
    /// The first time in each task, the oldest first.
    pub first_times: Vec<Timestamp>,
    /// Its confidence: the ledger's last value.
    pub confidence: f64,
    /// The lower bound of the evidence behind that.
    pub lower_bound: f64,
    /// The outcomes of the warnings that were shown, as far as they are known.
    pub told: Vec<JudgedDelivery>,
    /// Fixes that it was in.
    pub fixes: PatternFixesRow,
}

/// What made a pattern go away most reliably.
pub(crate) struct LearntFix {
    /// `k-…` of what was learnt.
    pub id: String,
    /// What a person recognises it by.
    pub fix: String,
}

impl PatternReader {
    /// Patterns that represent their groups, by their row numbers, in this order.
    ///
    /// # Errors
    /// When the store can't be read.
    pub(crate) fn list_patterns(&self, numbers: &[i64]) -> Result<Vec<ListedPattern>, StoreError> {
        // Confidence and its lower bound by the number of tasks, of patterns without a warning.
        let mut unwarned = BTreeMap::new();
        let facts = self.facts.read(&self.index, numbers)?;
        facts.iter().map(|facts| self.list_pattern(facts, &mut unwarned)).collect()
    }

    /// What made the patterns go away most reliably, by their row numbers. What no fix made go away is left out.
    ///
    /// # Errors
    /// When the store can't be read.
    pub(crate) fn learnt_fixes(&self, numbers: &[i64]) -> Result<BTreeMap<i64, LearntFix>, StoreError> {
        let mut found = BTreeMap::new();
        for numbers in numbers.chunks(CHUNK) {
            let groups = self.index.groups_of_patterns(numbers)?;
            for (number, learnt) in self.index.learnt_of_patterns(&groups)? {
                for strategy in knowledge::sort_surest_first(learnt.strategies, &self.settings) {
                    // Of merged patterns one try may be a success against one and a failure against another.
                    if groups.has_several_keys(number) && !self.has_helped(number, &strategy)? {
                        continue;
                    }
                    found.insert(number, LearntFix { id: learnt.entry, fix: strategy.label });
                    break;
                }
            }
        }
        Ok(found)
    }

    /// Whether a try of a strategy made a pattern go away.
    fn has_helped(&self, number: i64, strategy: &StrategyRow) -> Result<bool, StoreError> {
        let tries = self.index.tries_of_strategy(number, strategy)?;
        Ok(tries.iter().any(|tried| tried.outcome == AttemptOutcome::Success))
    }

    fn list_pattern(
        &self,
        facts: &PatternFacts,
        unwarned: &mut BTreeMap<usize, (f64, f64)>,
    ) -> Result<ListedPattern, StoreError> {
        let PatternFacts { row, sightings, fixes, is_warned, is_noted } = facts;
        let number = row.number;
        let PatternSightings { first, newest } = sightings;
        let told = if *is_warned { self.judged_deliveries(number)? } else { Vec::new() };
        let (cause, rule) = if *is_noted {
            pattern_remedies::cause_and_rule(&self.index, &self.segments, number)?
        } else {
            (None, None)
        };
        let patterns = [number];
        let known = BTreeMap::from([(number, HistoryPattern::from(row))]);
        let subject = DetectorSubject { id: &row.id, patterns: &patterns, family: &[], known: &known };
        let example = newest.first();
        let test = example.and_then(|(_, test)| test.clone());
        let parts = SummaryParts {
            findings: self.registry.find_naming(&subject, self.history()?, &self.settings),
            example: example.map(|(message, _)| message.clone()),
            test: test.filter(|test| newest.iter().all(|(_, other)| other.as_ref() == Some(test))),
            cause,
            rule,
            ..SummaryParts::default()
        };
        let (confidence, lower_bound) = if told.is_empty() {
            let known = unwarned.entry(first.len());
            *known.or_insert_with(|| {
                let (value, evidence) = confidence::unwarned_confidence(first.len(), &self.settings.confidence);
                (value, evidence.lower_bound)
            })
        } else {
            let ledger = self.confidence_of(number)?;
            (ledger.value, ledger.evidence.lower_bound)
        };
        Ok(ListedPattern {
            words: PatternWords::new(row, &parts, &self.settings),
            cause: parts.cause,
            first_times: first.clone(),
            fixes: *fixes,
            confidence,
            lower_bound,
            told,
            row: row.clone(),
        })
    }
}
