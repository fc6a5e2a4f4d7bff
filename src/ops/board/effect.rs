//! Does advice help? The trial, what it still needs, what was missed, and what advice costs.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Board;
use super::filter::{AppliedFilter, BoardFilter};
use crate::advice::outcome::{ObservedDelivery, holdout_trial};
use crate::advice::promotion::compute_effectiveness;
use crate::advice::{ArmTally, HoldoutTrial, TrialVerdict};
use crate::base::clock::{Timestamp, UtcDay};
use crate::event::DeliveryArm;
use crate::pattern::confidence::JudgedDelivery;
use crate::pattern::statistics::{correlation, round_to_thousandth, wilson_interval};
use crate::retrieval::effect::{
    AdviceEffect, IgnoredWarning, WarningStats, advice_effect, find_harmful, warning_stats,
};
use crate::store::{
    DayRange, DeliveryOutcomeRow, Index, MissedOpportunityRow, OutcomeCountRow, ShownTextRow, StoreError, SumFilter,
};

/// Half the width of a 95 % interval, in standard deviations.
const Z_95: f64 = 1.959_963_984_540_054;
/// Points of the evidence over time.
const POINTS_MAX: usize = 40;
/// The lift that the needed sample is for.
const LIFT_POINTS: f64 = 0.2;
/// Weeks that the rate of exposures is taken from.
const RATE_WEEKS: i64 = 8;
/// Missed opportunities that are looked at, and shown.
const MISSED_MAX: usize = 500;
const MISSED_SHOWN_MAX: usize = 20;
/// Families of the trial that are shown.
const FAMILIES_MAX: usize = 100;
/// Patterns whose confidence is compared with outcomes.
const CALIBRATED_MAX: usize = 500;
/// Bytes of a token, roughly.
const TOKEN_BYTES: f64 = 4.0;
/// How strongly confidence and outcomes should go together.
const CORRELATION_AIM: f64 = 0.7;

/// Whether advice helps.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct EffectPage {
    /// What it is restricted to. The guarantee of the evidence is for all tasks, not for a part of them.
    pub filter: AppliedFilter,
    /// The trial, its evidence and what it says.
    pub effect: AdviceEffect,
    /// The 95 % interval of the share of warned tasks that made the mistake.
    pub shown_interval: [f64; 2],
    /// That of the held-out ones.
    pub held_out_interval: [f64; 2],
    /// The evidence over time, the oldest first.
    pub history: Vec<EvidencePoint>,
    /// What the trial needs to see a difference of 20 percentage points; `null` before anything can be said.
    pub needed: Option<NeededSample>,
    /// What was observed after warnings, without comparison.
    pub observed: ObservedPrevention,
    /// Patterns and entries whose warnings have stopped, because warned tasks made the mistake more often.
    pub harmful: Vec<String>,
    /// Shown, and the mistake made: the newest.
    pub ignored: Vec<IgnoredWarning>,
    /// Known mistakes that were made with nothing said.
    pub missed: MissedOpportunities,
    /// What advice costs, and what reuse saves.
    pub cost: AdviceCost,
    /// Whether a high confidence goes with prevented mistakes.
    pub calibration: ConfidenceCalibration,
    /// The trial of each family, the strongest evidence first.
    pub families: Vec<FamilyTrial>,
}

/// The evidence up to a moment.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct EvidencePoint {
    /// The moment.
    pub at: Timestamp,
    /// Tasks in which the mistake could be made until then.
    pub exposures: u64,
    /// The evidence against "advice does nothing".
    pub e_value: f64,
}

/// What a trial needs.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct NeededSample {
    /// The difference that it is for, in shares.
    pub points: f64,
    /// Held-out tasks in all.
    pub held_out: u64,
    /// How many more than there are.
    pub missing: u64,
    /// Weeks until then, at the rate of the last eight weeks; `null` when none was held out in them.
    pub weeks: Option<f64>,
}

/// What was observed after warnings.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ObservedPrevention {
    /// A check that would have shown the mistake passed.
    pub prevented: u64,
    /// The mistake was made all the same.
    pub failed_anyway: u64,
    /// Prevented ones of both; 0.5 without any. Observed, with no control group.
    pub effectiveness: f64,
}

/// Known mistakes that were made with nothing said.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct MissedOpportunities {
    /// In all, a task once for each pattern.
    pub total: u64,
    /// Reasons of the newest, at most 500.
    pub reasons: Vec<MissedReasonCount>,
    /// The newest.
    pub newest: Vec<MissedOpportunity>,
}

/// How often a reason holds.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct MissedReasonCount {
    /// The reason.
    pub reason: MissedReason,
    /// How often it holds.
    pub count: u64,
}

/// Why nothing was said of a known mistake. What is said is about now: what was so when it was made is not recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum MissedReason {
    /// It is muted, deprecated or promoted.
    Silenced,
    /// Its confidence is below the limit for warnings.
    LowConfidence,
    /// No advice was asked for in the task.
    NotAsked,
    /// Advice was asked for, and other things were more relevant.
    NotRelevant,
}

/// A known mistake that was made with nothing said.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct MissedOpportunity {
    /// The task.
    pub task: String,
    /// `p-…`
    pub pattern: String,
    /// Its name.
    pub name: String,
    /// When it was made.
    pub at: Timestamp,
    /// Why nothing was said.
    pub reason: MissedReason,
}

/// What advice costs.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct AdviceCost {
    /// Warnings that were shown.
    pub warnings: u64,
    /// Tokens of their texts, about four bytes each.
    pub tokens_shown_estimate: u64,
    /// Tokens that reused knowledge saves (setting knowledge.reuse_tokens), of all that was recorded.
    pub tokens_saved_estimate: u64,
}

/// Whether a high confidence goes with prevented mistakes.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ConfidenceCalibration {
    /// Warnings whose outcome is known.
    pub cases: u64,
    /// Pearson's correlation of confidence at the warning and outcome; `null` with too little to say.
    pub correlation: Option<f64>,
    /// What is aimed at.
    pub aim: f64,
    /// By tenths of confidence.
    pub deciles: Vec<ConfidenceDecile>,
}

/// Warnings of a tenth of confidence.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ConfidenceDecile {
    /// Its lower end.
    pub from: f64,
    /// Warnings whose outcome is known.
    pub cases: u64,
    /// Those after which the mistake was not made.
    pub prevented: u64,
}

/// The trial of one family.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct FamilyTrial {
    /// The family's key.
    pub family: String,
    /// `p-…` of the pattern that was due last; `null` of advice from entries alone.
    pub pattern: Option<String>,
    /// Its trial.
    #[serde(flatten)]
    pub trial: HoldoutTrial,
    /// The evidence.
    pub e_value: f64,
    /// What it says.
    pub verdict: TrialVerdict,
}

/// Advice of a filter, and what is known of its outcome.
pub(crate) struct FilteredDeliveries {
    /// The newest first.
    pub rows: Vec<DeliveryOutcomeRow>,
    /// The same in the same order, judged.
    pub seen: Vec<ObservedDelivery>,
}

impl FilteredDeliveries {
    /// The outcome of this advice.
    ///
    /// # Errors
    /// When the store can't be read.
    pub(crate) fn stats(&self, board: &Board<'_>) -> Result<WarningStats, StoreError> {
        let mut warnings = warning_stats(board.index(), &self.rows, &self.seen)?;
        warnings.harmful = find_harmful(board.index(), &self.rows, &self.seen, board.settings(), board.now())?;
        Ok(warnings)
    }
}

/// Outcomes of the warnings of some days, as far as they are known.
pub(super) fn outcomes_of_days(
    board: &Board<'_>,
    range: DayRange,
    filter: &SumFilter,
) -> Result<OutcomeCountRow, StoreError> {
    board.index().count_outcomes_of_days(range, filter)
}

impl Board<'_> {
    /// Whether advice helps.
    ///
    /// # Errors
    /// When the store can't be read.
    pub(crate) fn effect(&self, filter: &BoardFilter) -> Result<EffectPage, StoreError> {
        let told = self.deliveries(filter)?;
        let effect = advice_effect(&told.seen);
        let warnings = told.stats(self)?;
        let totals = self.index().total_figures()?;
        let (prevented, failed_anyway) = (warnings.all.prevented, warnings.all.failed_anyway);
        let days =
            filter.asked_days().unwrap_or(DayRange { from: UtcDay(0), until: UtcDay(UtcDay::of(self.now()).0 + 1) });
        let texts = self.index().count_shown_texts(days.from.begins(), days.until.begins())?;
        Ok(EffectPage {
            filter: filter.applied(),
            shown_interval: interval(effect.trial.shown),
            held_out_interval: interval(effect.trial.held_out),
            history: evidence_history(&told),
            needed: self.needed_sample(&effect.trial, &told),
            observed: ObservedPrevention {
                prevented,
                failed_anyway,
                effectiveness: compute_effectiveness(prevented, failed_anyway),
            },
            missed: self.missed(totals.missed)?,
            cost: AdviceCost {
                warnings: texts.warnings,
                tokens_shown_estimate: estimate_tokens(texts),
                tokens_saved_estimate: totals.uses.saturating_mul(self.settings().knowledge.reuse_tokens),
            },
            calibration: self.calibration(&told)?,
            families: family_trials(self.index(), &told)?,
            harmful: warnings.harmful,
            ignored: warnings.ignored,
            effect,
        })
    }

    /// The advice of a filter. With a category or a tool that about patterns of it.
    ///
    /// # Errors
    /// When the store can't be read.
    pub(crate) fn deliveries(&self, filter: &BoardFilter) -> Result<FilteredDeliveries, StoreError> {
        let mut rows = self.index().list_deliveries()?;
        let (days, whom) = (filter.asked_days(), &filter.whom);
        rows.retain(|row| {
            let is_then = days.is_none_or(|days| (days.from..days.until).contains(&UtcDay::of(row.at)));
            is_then && (whom.agent.is_none() || row.agent == whom.agent)
        });
        if whom.category.is_some() || whom.tool.is_some() {
            let mut labels = BTreeMap::new();
            for row in &rows {
                if let Some(key) = row.pattern.as_ref().filter(|key| !labels.contains_key(*key)) {
                    labels.insert(key.clone(), self.index().label_of_key(key)?);
                }
            }
            rows.retain(|row| {
                let label = row.pattern.as_ref().and_then(|key| labels.get(key)).and_then(Option::as_ref);
                label.is_some_and(|label| {
                    whom.category.as_ref().is_none_or(|category| *category == label.category)
                        && whom.tool.as_ref().is_none_or(|tool| *tool == label.tool)
                })
            });
        }
        let silence = self.settings().fix.silence();
        let seen = rows.iter().map(|row| ObservedDelivery::from_row(row, self.now(), silence)).collect();
        Ok(FilteredDeliveries { rows, seen })
    }

    fn needed_sample(&self, trial: &HoldoutTrial, told: &FilteredDeliveries) -> Option<NeededSample> {
        let held_out = trial.needed_held_out(LIFT_POINTS, self.settings().advice.held_out())?;
        let missing = held_out.saturating_sub(trial.held_out.exposures);
        let since = Timestamp(self.now().0 - RATE_WEEKS * 7 * 86_400_000_000);
        let lately = told.rows.iter().zip(&told.seen).filter(|(row, _)| row.at >= since).map(|(_, seen)| seen);
        let rate = holdout_trial(lately).held_out.exposures as f64 / RATE_WEEKS as f64;
        let weeks = (rate > 0.0).then(|| (missing as f64 / rate * 10.0).round() / 10.0);
        Some(NeededSample { points: LIFT_POINTS, held_out, missing, weeks })
    }

    fn missed(&self, total: u64) -> Result<MissedOpportunities, StoreError> {
        let rows = self.index().missed_opportunities(MISSED_MAX)?;
        let silenced = self.index().silenced_patterns()?;
        let mut believed: BTreeMap<i64, bool> = BTreeMap::new();
        let (mut counts, mut newest): (BTreeMap<MissedReason, u64>, Vec<MissedOpportunity>) = Default::default();
        for MissedOpportunityRow { task, pattern, at, was_advised } in rows {
            let advice = &self.settings().advice;
            let is_believed = match believed.get(&pattern) {
                Some(&known) => known,
                None => {
                    let row = self.index().brief_pattern_row(pattern)?;
                    let confidence = self.desk.confidence_of(pattern)?.value;
                    let is_believed = confidence >= advice.confidence_min && row.failures >= advice.occurrences_min;
                    *believed.entry(pattern).or_insert(is_believed)
                }
            };
            let reason = match () {
                () if silenced.contains_key(&pattern) => MissedReason::Silenced,
                () if !is_believed => MissedReason::LowConfidence,
                () if was_advised => MissedReason::NotRelevant,
                () => MissedReason::NotAsked,
            };
            *counts.entry(reason).or_default() += 1;
            if newest.len() < MISSED_SHOWN_MAX {
                let row = self.index().brief_of_pattern(pattern)?;
                let name = crate::pattern::wording::brief_pattern_name(&row);
                newest.push(MissedOpportunity { task, pattern: row.id, name, at, reason });
            }
        }
        let reasons = counts.into_iter().map(|(reason, count)| MissedReasonCount { reason, count }).collect();
        Ok(MissedOpportunities { total, reasons, newest })
    }

    /// The confidence in a pattern when it was warned of, beside what followed.
    fn calibration(&self, told: &FilteredDeliveries) -> Result<ConfidenceCalibration, StoreError> {
        let mut keys: Vec<&str> = told.rows.iter().filter_map(|row| row.pattern.as_deref()).collect();
        keys.sort_unstable();
        keys.dedup();
        let mut pairs: Vec<(f64, f64)> = Vec::new();
        for key in keys.into_iter().take(CALIBRATED_MAX) {
            let Some(number) = self.index().pattern_number(key)? else { continue };
            let ledger = self.desk.confidence_of(number)?;
            let of_key = told.rows.iter().filter(|row| row.pattern.as_deref() == Some(key)).cloned();
            for told in of_key.filter_map(JudgedDelivery::from_outcome_row) {
                let before = ledger.steps.iter().rev().find(|step| step.at < told.at);
                let confidence = before.map_or(ledger.start, |step| step.after);
                pairs.push((confidence, if told.failed { 0.0 } else { 1.0 }));
            }
        }
        let deciles = (0..10).map(|tenth| {
            let within = |confidence: f64| (confidence * 10.0 + 1e-9).floor().clamp(0.0, 9.0) == f64::from(tenth);
            let of_tenth: Vec<_> = pairs.iter().filter(|(confidence, _)| within(*confidence)).collect();
            ConfidenceDecile {
                from: f64::from(tenth) / 10.0,
                cases: of_tenth.len() as u64,
                prevented: of_tenth.iter().filter(|(_, prevented)| *prevented > 0.5).count() as u64,
            }
        });
        Ok(ConfidenceCalibration {
            cases: pairs.len() as u64,
            correlation: correlation(&pairs).map(round_to_thousandth),
            aim: CORRELATION_AIM,
            deciles: deciles.filter(|decile| decile.cases > 0).collect(),
        })
    }
}

fn interval(arm: ArmTally) -> [f64; 2] {
    wilson_interval(arm.recurrences, arm.exposures, Z_95).map(round_to_thousandth)
}

/// Tokens of the texts; a warning whose text is not recorded counts as those on average.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
fn estimate_tokens(texts: ShownTextRow) -> u64 {
    if texts.with_text == 0 {
        return 0;
    }
    (texts.bytes as f64 / texts.with_text as f64 * texts.warnings as f64 / TOKEN_BYTES).round() as u64
}

/// The evidence after each of at most 40 parts of the advice, the oldest first.
fn evidence_history(told: &FilteredDeliveries) -> Vec<EvidencePoint> {
    let mut order: Vec<usize> = (0..told.rows.len()).collect();
    order.sort_by_key(|&at| (told.rows[at].at, &told.rows[at].event));
    let part = order.len().div_ceil(POINTS_MAX).max(1);
    let ends = (part..order.len()).step_by(part).chain((!order.is_empty()).then_some(order.len()));
    let points = ends.map(|end| {
        let trial = holdout_trial(order[..end].iter().map(|&at| &told.seen[at]));
        EvidencePoint {
            at: told.rows[order[end - 1]].at,
            exposures: trial.shown.exposures + trial.held_out.exposures,
            e_value: trial.e_value(),
        }
    });
    points.collect()
}

fn family_trials(index: &Index, told: &FilteredDeliveries) -> Result<Vec<FamilyTrial>, StoreError> {
    let mut families: BTreeMap<&str, (Vec<&ObservedDelivery>, Option<&str>)> = BTreeMap::new();
    for (row, seen) in told.rows.iter().zip(&told.seen) {
        let (all, newest) = families.entry(&row.family).or_default();
        all.push(seen);
        *newest = newest.or(row.pattern.as_deref().filter(|_| row.arm == DeliveryArm::Shown));
    }
    let mut trials: Vec<_> = families
        .into_iter()
        .map(|(family, (seen, newest))| (family, newest, holdout_trial(seen)))
        .filter(|(_, _, trial)| trial.shown.exposures + trial.held_out.exposures > 0)
        .collect();
    trials.sort_by(|a, b| b.2.e_value().total_cmp(&a.2.e_value()).then(a.0.cmp(b.0)));
    trials.truncate(FAMILIES_MAX);
    let trial = |(family, newest, trial): (&str, Option<&str>, HoldoutTrial)| {
        let pattern = match newest {
            Some(key) => index.pattern_number(key)?.map(|number| index.brief_pattern_row(number)).transpose()?,
            None => None,
        };
        Ok(FamilyTrial {
            family: family.to_owned(),
            pattern: pattern.map(|row| row.id),
            e_value: trial.e_value(),
            verdict: trial.verdict(),
            trial,
        })
    };
    trials.into_iter().map(trial).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_are_not_recorded_count_as_the_others_on_average() {
        let of = |warnings, with_text, bytes| estimate_tokens(ShownTextRow { warnings, with_text, bytes });
        assert_eq!([of(10, 5, 2_000), of(5, 5, 2_000), of(3, 0, 0)], [1_000, 500, 0]);
    }
}
