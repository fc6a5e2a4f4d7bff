//! `stats`: what was recorded in some days, trends and targets, and whether warnings prevent failures.

mod trends;

use std::collections::BTreeMap;

use serde::Serialize;

use self::trends::{CaseSum, FigureTrend, compare_stretches};
use super::board::figures::{FigureList, FigureUnit};
use super::board::overview::Overview;
use super::board::page_figures::FigurePage;
use super::board::{Board, BoardFilter};
use super::reply::Reply;
use super::request::Request;
use crate::event::PromotionState;
use crate::retrieval::effect::{AdviceEffect, WarningStats, advice_effect};
use crate::store::StoreError;

/// Cases in each stretch below which nothing is compared.
const COMPARED_MIN: u64 = 20;

/// What `stats --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Stats {
    /// Figures of some days, what is behind them, and what they leave out; `null` when nothing is recorded.
    pub overview: Option<Overview>,
    /// Each trend with its target. Those of strategies and of reuse are of all that was recorded: with a filter there are
    /// none.
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
    /// The last 30 days of what was recorded; `null` without any case in them, and where nothing is compared.
    pub now: Option<f64>,
    /// The cases in them.
    pub now_cases: u64,
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

/// What was recorded, as figures.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn collect_stats(request: &Request, filter: &BoardFilter) -> Result<Reply<Stats>, StoreError> {
    let opened = Board::open(request)?;
    let Some(board) = &opened.board else { return Ok(Reply::new(Stats::default(), opened.notes)) };
    let index = board.index();
    let totals = index.total_figures()?;
    let told = board.deliveries(filter)?;
    let mut warnings = told.stats(board)?;
    warnings.missed_opportunities = totals.missed;
    let decided = CaseSum { cases: warnings.all.prevented + warnings.all.failed_anyway, sum: warnings.all.prevented };
    let (cases, sum) = index.count_categorised(filter.days(), &filter.whom)?;
    let categorised = CaseSum { cases, sum };
    let trends = compare_stretches(index, filter.asked_days(), &filter.whom)?;
    let mut figures = vec![
        share("categorised", "failures with a category", categorised, 0.8),
        change("failure_rate", "share of checks that fail", trends.failing, -0.25),
        change("first_time_pass", "checks that pass at the first run of a task", trends.at_once, 0.30),
        attempts(trends.attempts),
        share("warnings_prevent", "warned tasks without the mistake", decided, 0.4),
    ];
    if filter.is_all() {
        let tries = CaseSum { cases: totals.tries, sum: totals.helped };
        figures.push(share("strategies_effective", "strategies that helped when tried", tries, 0.6));
        let reused = CaseSum { cases: totals.entries, sum: totals.reused };
        figures.push(share("reuse", "entries that helped in another session", reused, 0.3));
    }
    let knowledge = KnowledgeUse {
        entries: totals.entries,
        reused: totals.reused,
        uses: totals.uses,
        tokens_saved_estimate: totals.uses.saturating_mul(request.settings().knowledge.reuse_tokens),
    };
    let stats = Stats {
        overview: Some(board.overview(filter)?),
        figures,
        warnings,
        effect: advice_effect(&told.seen),
        knowledge,
        promotions: PromotionCounts::from_states(&index.promotion_states()?),
    };
    Ok(Reply::new(stats, opened.notes))
}

/// The figures of a page, each with its definition; none where nothing is recorded.
///
/// # Errors
/// When there is no such pattern, or the store can't be read.
pub(crate) fn list_page_figures(
    request: &Request,
    page: &FigurePage,
    filter: &BoardFilter,
) -> anyhow::Result<Reply<FigureList>> {
    let opened = Board::open(request)?;
    let figures = opened.board.as_ref().map(|board| board.page_figures(page, filter)).transpose()?;
    Ok(Reply::new(figures.unwrap_or_default(), opened.notes))
}

impl Default for Stats {
    fn default() -> Self {
        Stats {
            overview: None,
            figures: Vec::new(),
            warnings: WarningStats::default(),
            effect: advice_effect(&[]),
            knowledge: KnowledgeUse::default(),
            promotions: PromotionCounts::default(),
        }
    }
}

/// A part of all that was recorded.
fn share(name: &'static str, what: &'static str, all: CaseSum, target: f64) -> StatsFigure {
    StatsFigure {
        name,
        what,
        value: all.some_mean(),
        before: None,
        target,
        unit: FigureUnit::Share,
        cases: all.cases,
        now: None,
        now_cases: 0,
    }
}

/// How much a share of the cases changed.
fn change(name: &'static str, what: &'static str, trend: FigureTrend, target: f64) -> StatsFigure {
    let before = (trend.cases() >= COMPARED_MIN).then(|| trend.first.mean());
    let value = before.filter(|before| *before > 0.0).map(|before| trend.last.mean() / before - 1.0);
    StatsFigure {
        name,
        what,
        value,
        before,
        target,
        unit: FigureUnit::Change,
        cases: trend.cases(),
        now: trend.now.some_mean(),
        now_cases: trend.now.cases,
    }
}

fn attempts(trend: FigureTrend) -> StatsFigure {
    let is_compared = trend.cases() >= COMPARED_MIN;
    StatsFigure {
        name: "attempts",
        what: "attempts until a failure is fixed",
        value: is_compared.then(|| trend.last.mean()),
        before: is_compared.then(|| trend.first.mean()),
        target: 1.5,
        unit: FigureUnit::Number,
        cases: trend.cases(),
        now: trend.now.some_mean(),
        now_cases: trend.now.cases,
    }
}
