//! `stats`: measured figures beside their targets, and whether warnings prevent failures.

use std::collections::BTreeMap;

use serde::Serialize;

use super::reply::Reply;
use super::request::Request;
use crate::advice::outcome::ObservedDelivery;
use crate::base::clock::Timestamp;
use crate::event::PromotionState;
use crate::retrieval::effect::{AdviceEffect, WarningStats, advice_effect, find_harmful, warning_stats};
use crate::store::{Index, PeriodRow, StoreError};

/// The stretches that are compared, days: the first and the last of what was recorded, each shorter when less was.
const PERIOD_DAYS: i64 = 30;
/// Runs or cases on each side below which nothing is compared.
const COMPARED_MIN: u64 = 20;
const DAY_US: i64 = 86_400_000_000;

/// What `stats --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Stats {
    /// Each figure with its target.
    pub figures: Vec<StatsFigure>,
    /// The outcome of advice.
    pub warnings: WarningStats,
    /// What the held-out tasks say about it.
    pub effect: AdviceEffect,
    /// What people and agents wrote down, and its outcome.
    pub knowledge: KnowledgeUse,
    /// What was proposed for CLAUDE.md and AGENTS.md.
    pub promotions: PromotionCounts,
}

/// What was written down and learnt, and its outcome.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct KnowledgeUse {
    /// Entries, of which those that say the same are one, and gotchas that were learnt.
    pub entries: u64,
    /// Those that helped in another session than the one that wrote them, or in a further task.
    pub reused: u64,
    /// How often they did, once for each session.
    pub uses: u64,
    /// An estimate, not a measurement: `uses` times what finding out by oneself costs (setting `knowledge.reuse_tokens`).
    pub tokens_saved_estimate: u64,
}

/// A measured figure beside its target.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct StatsFigure {
    /// Its name in JSON.
    pub name: &'static str,
    /// What it is, for people.
    pub what: &'static str,
    /// What was measured; `null` when there is too little to say.
    pub value: Option<f64>,
    /// What it was at first, of a figure that is compared over time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<f64>,
    /// What is aimed at: of a share or a number itself, of a change the change.
    pub target: f64,
    /// How to read `value` and `target`.
    pub unit: FigureUnit,
    /// Cases that it is measured on, of both stretches the smaller.
    pub cases: u64,
}

/// How a figure is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum FigureUnit {
    /// Part of a whole, 0 to 1.
    Share,
    Number,
    /// Relative to `before`: -0.25 is a quarter less.
    Change,
}

/// Lines for CLAUDE.md and AGENTS.md, by what people decided about them.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PromotionCounts {
    /// Lines currently in CLAUDE.md or AGENTS.md.
    pub promoted: u64,
    /// Proposed, not decided yet.
    pub waiting: u64,
    /// Rejected proposals.
    pub rejected: u64,
    /// Were in the file and were removed.
    pub retired: u64,
}

impl PromotionCounts {
    fn from_states(states: &BTreeMap<String, u64>) -> Self {
        let of = |state: PromotionState| states.get(state.as_str()).copied().unwrap_or(0);
        PromotionCounts {
            promoted: of(PromotionState::Approved),
            waiting: of(PromotionState::Pending),
            rejected: of(PromotionState::Rejected),
            retired: of(PromotionState::RolledBack),
        }
    }
}

/// All figures.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn collect_stats(request: &Request) -> Result<Reply<Stats>, StoreError> {
    let reading = request.open_for_reading()?;
    let Some(index) = &reading.index else {
        return Ok(Reply::new(
            Stats {
                figures: Vec::new(),
                warnings: WarningStats::default(),
                effect: advice_effect(&[]),
                knowledge: KnowledgeUse::default(),
                promotions: PromotionCounts::default(),
            },
            reading.notes,
        ));
    };
    let now = request.now();
    let silence = request.settings().fix.silence();
    let rows = index.list_deliveries()?;
    let seen: Vec<ObservedDelivery> = rows.iter().map(|row| ObservedDelivery::from_row(row, now, silence)).collect();
    let totals = index.total_figures()?;
    let mut warnings = warning_stats(index, &rows, &seen)?;
    warnings.missed_opportunities = totals.missed;
    warnings.harmful = find_harmful(index, &rows, &seen, request.settings(), now)?;
    let decided = warnings.all.prevented + warnings.all.failed_anyway;
    let share = |name, what, part, whole, target| {
        let value = (whole > 0).then(|| ratio(part, whole));
        StatsFigure { name, what, value, before: None, target, unit: FigureUnit::Share, cases: whole }
    };
    let mut figures = vec![share("categorised", "failures with a category", totals.categorised, totals.failures, 0.8)];
    figures.extend(compare_periods(index)?);
    figures.push(share("warnings_prevent", "warnings that prevented", warnings.all.prevented, decided, 0.4));
    figures.push(share("strategies_effective", "strategies that helped when tried", totals.helped, totals.tries, 0.6));
    figures.push(share("reuse", "entries that helped in another session", totals.reused, totals.entries, 0.3));
    let knowledge = KnowledgeUse {
        entries: totals.entries,
        reused: totals.reused,
        uses: totals.uses,
        tokens_saved_estimate: totals.uses.saturating_mul(request.settings().knowledge.reuse_tokens),
    };
    let promotions = PromotionCounts::from_states(&index.promotion_states()?);
    Ok(Reply::new(Stats { figures, warnings, effect: advice_effect(&seen), knowledge, promotions }, reading.notes))
}

/// The first and the last stretch of what was recorded, side by side.
fn compare_periods(index: &Index) -> Result<Vec<StatsFigure>, StoreError> {
    let (first, last) = match index.recorded_period()? {
        Some((first, last)) => {
            let length = (PERIOD_DAYS * DAY_US).min(last.0.saturating_sub(first.0) / 2);
            let end = Timestamp(last.0.saturating_add(1));
            let first_end = Timestamp(first.0.saturating_add(length));
            (
                index.figures_of_period(first, first_end)?,
                index.figures_of_period(Timestamp(end.0.saturating_sub(length)), end)?,
            )
        }
        None => (PeriodRow::default(), PeriodRow::default()),
    };
    let pair = |part: fn(&PeriodRow) -> u64, whole: fn(&PeriodRow) -> u64| {
        let cases = whole(&first).min(whole(&last));
        let both =
            (cases >= COMPARED_MIN).then(|| (ratio(part(&first), whole(&first)), ratio(part(&last), whole(&last))));
        (both, cases)
    };
    let change = |name, what, (both, cases): (Option<(f64, f64)>, u64), target| {
        let value = both.filter(|(before, _)| *before > 0.0).map(|(before, now)| now / before - 1.0);
        StatsFigure { name, what, value, before: both.map(|both| both.0), target, unit: FigureUnit::Change, cases }
    };
    let failing = pair(|period| period.failed, |period| period.runs);
    let at_once = pair(|period| period.first_passed, |period| period.first_runs);
    let (attempts, cases) = pair(|period| period.attempts, |period| period.fixes);
    Ok(vec![
        change("failure_rate", "share of checks that fail", failing, -0.25),
        change("first_time_pass", "checks that pass at the first run of a task", at_once, 0.30),
        StatsFigure {
            name: "attempts",
            what: "attempts until a failure is fixed",
            value: attempts.map(|both| both.1),
            before: attempts.map(|both| both.0),
            target: 1.5,
            unit: FigureUnit::Number,
            cases,
        },
    ])
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
