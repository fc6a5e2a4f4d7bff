//! The outcome of advice that was shown, and whether it prevents anything.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::entry_measurement::entry_deliveries;
use crate::advice::outcome::{DeliveryOutcome, ObservedDelivery, holdout_trial};
use crate::advice::{HoldoutTrial, TrialLift, TrialVerdict};
use crate::base::clock::Timestamp;
use crate::config::Settings;
use crate::event::DeliveryArm;
use crate::store::{DeliveryOutcomeRow, Index, StoreError};

/// Ignored warnings listed, the newest.
const LISTED_MAX: usize = 10;

/// The outcome of advice.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct WarningStats {
    /// Of all of it.
    #[serde(flatten)]
    pub all: DeliveryOutcomeCounts,
    /// Outcomes of warnings from written entries.
    pub from_entries: DeliveryOutcomeCounts,
    /// Warnings from entries whose effect can't be measured: they are about no recorded failure.
    pub not_measurable: u64,
    /// Tasks in which a known mistake was made and nothing had been said.
    pub missed_opportunities: u64,
    /// Shown, and the mistake made: the newest.
    pub ignored: Vec<IgnoredWarning>,
    /// Patterns and entries whose warnings have stopped, because warned tasks made the mistake more often; of each
    /// family those that were shown last.
    pub harmful: Vec<String>,
}

/// The outcome of advice that was shown.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct DeliveryOutcomeCounts {
    /// Pieces of advice shown.
    pub shown: u64,
    /// Held out.
    pub held_out: u64,
    /// Shown by the quality gate, which holds nothing out.
    pub by_gate: u64,
    /// A check that would have shown the mistake passed.
    pub prevented: u64,
    /// The mistake was made all the same.
    pub failed_anyway: u64,
    /// The task ended without any check that passed.
    pub task_incomplete: u64,
    /// Nothing that could have had the mistake was changed and checked.
    pub no_opportunity: u64,
    /// The task goes on.
    pub open: u64,
}

impl DeliveryOutcomeCounts {
    fn add_delivery(&mut self, seen: &ObservedDelivery) {
        *match (seen.arm, seen.outcome()) {
            (DeliveryArm::Holdout, _) => &mut self.held_out,
            (DeliveryArm::Gate, _) => &mut self.by_gate,
            (DeliveryArm::Shown, DeliveryOutcome::Prevented) => &mut self.prevented,
            (DeliveryArm::Shown, DeliveryOutcome::FailedAnyway) => &mut self.failed_anyway,
            (DeliveryArm::Shown, DeliveryOutcome::TaskIncomplete) => &mut self.task_incomplete,
            (DeliveryArm::Shown, DeliveryOutcome::NoOpportunity) => &mut self.no_opportunity,
            (DeliveryArm::Shown, DeliveryOutcome::Open) => &mut self.open,
        } += 1;
        self.shown += u64::from(seen.arm == DeliveryArm::Shown);
    }
}

/// A warning that was shown, and the mistake was made anyway.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct IgnoredWarning {
    /// `w-…`
    pub warning: String,
    /// The task.
    pub task: String,
    /// When it was shown.
    pub at: Timestamp,
    /// The run that had the mistake.
    pub run: String,
}

/// What the held-out tasks say.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct AdviceEffect {
    /// Tasks of both arms in which the mistake could be made.
    #[serde(flatten)]
    pub trial: HoldoutTrial,
    /// The evidence against "advice does nothing"; 20 is enough.
    pub e_value: f64,
    /// What it says.
    pub verdict: TrialVerdict,
    /// How much less often mistakes come back with advice.
    pub lift: Option<TrialLift>,
    /// In plain words.
    pub words: String,
}

/// The outcome of advice, over all deliveries.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn warning_stats(
    index: &Index,
    rows: &[DeliveryOutcomeRow],
    seen: &[ObservedDelivery],
) -> Result<WarningStats, StoreError> {
    let mut warnings = WarningStats::default();
    let mut measurable: BTreeMap<&str, bool> = BTreeMap::new();
    for (row, seen) in rows.iter().zip(seen) {
        warnings.all.add_delivery(seen);
        if let Some(entry) = row.entry.as_deref() {
            warnings.from_entries.add_delivery(seen);
            let is_measurable = match measurable.get(entry) {
                Some(&known) => known,
                None => !index.patterns_of_entry(entry)?.patterns.is_empty(),
            };
            measurable.insert(entry, is_measurable);
            warnings.not_measurable += u64::from(seen.arm == DeliveryArm::Shown && !is_measurable);
        }
        if seen.arm == DeliveryArm::Shown
            && warnings.ignored.len() < LISTED_MAX
            && let Some(run) = &row.failed_in
        {
            let (warning, task) = (row.warning.clone(), row.task.clone());
            warnings.ignored.push(IgnoredWarning { warning, task, at: row.at, run: run.clone() });
        }
    }
    Ok(warnings)
}

/// Of each family whose warnings were shown to do harm, the pattern and the entry that were shown last; and the
/// entries that do harm on their own.
pub(crate) fn find_harmful(
    index: &Index,
    rows: &[DeliveryOutcomeRow],
    seen: &[ObservedDelivery],
    settings: &Settings,
    now: Timestamp,
) -> Result<Vec<String>, StoreError> {
    let mut families: BTreeMap<&str, (Vec<&ObservedDelivery>, [Option<&str>; 2])> = BTreeMap::new();
    let mut entries = BTreeSet::new();
    for (row, seen) in rows.iter().zip(seen) {
        let (told, newest) = families.entry(&row.family).or_default();
        told.push(seen);
        for (newest, subject) in newest.iter_mut().zip([&row.pattern, &row.entry]) {
            *newest = newest.or(subject.as_deref().filter(|_| row.arm == DeliveryArm::Shown));
        }
        // Without a mistake there is no harm.
        if row.failed_in.is_some() {
            entries.extend(row.entry.as_deref());
        }
    }
    let mut found = BTreeSet::new();
    for (told, [pattern, entry]) in families.into_values() {
        if holdout_trial(told).verdict() != TrialVerdict::Harms {
            continue;
        }
        if let Some(key) = pattern {
            found.extend(index.pattern_of_key(key)?.map(|pattern| pattern.id));
        }
        if let Some(id) = entry {
            found.extend(index.leading_entry(id)?.map(|entry| entry.id));
        }
    }
    for id in entries {
        let Some(entry) = index.leading_entry(id)? else { continue };
        let rows = index.deliveries_of_entry(&entry.id)?;
        if holdout_trial(&entry_deliveries(&rows, &entry.id, settings, now)).verdict() == TrialVerdict::Harms {
            found.insert(entry.id);
        }
    }
    Ok(found.into_iter().collect())
}

/// What the held-out tasks say, in figures and words.
pub(crate) fn advice_effect(seen: &[ObservedDelivery]) -> AdviceEffect {
    let trial = holdout_trial(seen);
    let verdict = trial.verdict();
    let counted = format!(
        "{} of {} warned tasks and {} of {} held-out ones made a known mistake again",
        trial.shown.recurrences, trial.shown.exposures, trial.held_out.recurrences, trial.held_out.exposures
    );
    let words = match verdict {
        TrialVerdict::Prevents => format!("warnings prevent mistakes: {counted}"),
        TrialVerdict::Harms => format!("warnings do harm: {counted}"),
        TrialVerdict::NoMeasurableEffect if trial.held_out.exposures == 0 => {
            format!("no measurable effect: no task was held out yet for comparison ({counted})")
        }
        TrialVerdict::NoMeasurableEffect => format!("no measurable effect so far: {counted}"),
    };
    AdviceEffect { trial, e_value: trial.e_value(), verdict, lift: trial.lift(), words }
}
