//! The quality gate: the work on each feature with its evaluations, and the report of one evaluation.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use super::Board;
use crate::base::clock::{Timestamp, UtcDay};
use crate::base::lossless::Lossless;
use crate::base::refusal::Refusal;
use crate::event::{GateItemStatus, GateOutcome, GateStep, GateVerdict};
use crate::gate::cycle::{CycleDecision, CycleRules, CycleState, GateCounts, WorkTreeGate};
use crate::gate::report::render_report;
use crate::ops::gate::{GateDocument, evaluation_by_id, show_cycle, show_evaluation};
use crate::store::{GateStepRow, StoreError};

/// Cycles of a page, the newest.
const CYCLES_MAX: usize = 200;
/// Evaluations of a cycle that are shown, the newest.
const EVALUATIONS_MAX: usize = 20;
/// Weeks of the rate of first attempts, the newest.
const WEEKS_MAX: usize = 26;

/// The work that the gate judged.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct GateCycleLines {
    /// The last judged first, at most 200.
    pub cycles: Vec<GateCycleLine>,
    /// How many there are in all.
    pub total: u64,
    /// How often the first evaluation approved.
    pub first_attempts: FirstAttempts,
}

/// How often the first evaluation of a cycle approved.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct FirstAttempts {
    /// Cycles with a verdict.
    pub cycles: u64,
    /// Those whose first verdict was APPROVE.
    pub approved: u64,
    /// By the week of the first verdict, the oldest first, at most 26; weeks without a verdict are left out.
    pub weeks: Vec<FirstAttemptWeek>,
}

/// First attempts of a week.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct FirstAttemptWeek {
    /// Its first day, a Monday.
    pub from: UtcDay,
    /// Cycles whose first verdict was in it.
    pub cycles: u64,
    /// Those that were approved at once.
    pub approved: u64,
}

/// The work on a feature.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct GateCycleLine {
    /// `g-…` of its first evaluation.
    pub id: String,
    /// The feature.
    pub feature: String,
    /// The task of its first evaluation.
    pub task: Option<String>,
    /// The work tree; `null` for this one.
    pub work_tree: Option<String>,
    /// Where it is: `rejected`, `approved`, `shipped`, `escalated`, `halted`, or `idle` after a decision.
    pub phase: &'static str,
    /// The current attempt.
    pub attempt: u64,
    /// Rejected trees after which a person has to decide.
    pub attempts_max: u64,
    /// `CLOSED`, `HALF_OPEN` or `OPEN`.
    pub circuit_breaker: &'static str,
    /// When it was last judged.
    pub at: Timestamp,
    /// Its evaluations with a verdict, the oldest first, at most the newest 20.
    pub evaluations: Vec<GateEvaluationLine>,
    /// What people decided, the oldest first.
    pub decisions: Vec<GateDecisionLine>,
}

/// An evaluation.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct GateEvaluationLine {
    /// `g-…`
    pub evaluation: String,
    /// When it ended.
    pub at: Timestamp,
    /// The git tree.
    pub tree: String,
    /// Its verdict.
    pub verdict: GateVerdict,
    /// Items that apply.
    pub checks_total: u64,
    /// Items that pass.
    pub checks_passing: u64,
    /// Blocking issues.
    pub blocking_issues: u64,
    /// The items in the order of the checklist.
    pub items: Vec<GateItemState>,
    /// Items whose state is not the one of the evaluation before.
    pub changed: Vec<GateItemChange>,
    /// Language models that wrote the change, as far as they are known.
    pub implementers: Vec<String>,
    /// The model of the review.
    pub reviewer: Option<String>,
}

/// The state of an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct GateItemState {
    /// `F1`
    pub id: String,
    /// Its state.
    pub status: GateItemStatus,
}

/// An item whose state changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct GateItemChange {
    /// `F1`
    pub id: String,
    /// Its state before.
    pub from: GateItemStatus,
    /// Its state now.
    pub to: GateItemStatus,
}

/// What a person decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct GateDecisionLine {
    /// Who.
    pub person: String,
    /// `reset`, `retry`, `accept` or `abort`.
    pub decision: &'static str,
    /// Why.
    pub reason: String,
}

/// The work on a feature, with all that the gate said about it.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct GateCyclePage {
    /// The work.
    pub cycle: GateCycleLine,
    /// Where it is now. Of the work that was last judged in this work tree, what `gate status --json` prints.
    pub standing: GateDocument,
    /// What `gate show EVALUATION --format json` prints of each evaluation, the newest first, at most 20.
    pub evaluations: Vec<GateDocument>,
}

/// The report of an evaluation.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct GateReportPage {
    /// What `gate show EVALUATION --format json` prints.
    #[serde(flatten)]
    pub document: GateDocument,
    /// The report in Markdown.
    pub report: String,
}

/// A cycle with the work tree that it is in, and its evaluations.
struct FoundCycle {
    work_tree: Lossless,
    cycle: CycleState,
    line: GateCycleLine,
}

impl Board<'_> {
    /// The work that the gate judged, in all work trees of this store.
    ///
    /// # Errors
    /// When the store can't be read.
    pub(crate) fn gate_cycles(&self) -> Result<GateCycleLines, StoreError> {
        let mut lines: Vec<GateCycleLine> = self.find_cycles()?.into_iter().map(|found| found.line).collect();
        let first_attempts = FirstAttempts::of_cycles(&lines);
        let total = lines.len() as u64;
        lines.truncate(CYCLES_MAX);
        for line in &mut lines {
            line.evaluations.drain(..line.evaluations.len().saturating_sub(EVALUATIONS_MAX));
        }
        Ok(GateCycleLines { cycles: lines, total, first_attempts })
    }

    /// The cycle with an evaluation whose id starts with `id`.
    ///
    /// # Errors
    /// When there is none or more than one, or the store can't be read.
    pub(crate) fn gate_cycle(&self, id: &str) -> anyhow::Result<GateCyclePage> {
        let missing = || Refusal::not_found(format!("no evaluation {id} is recorded")).then_run("gate status");
        let fits = |found: &FoundCycle| found.cycle.judged.iter().any(|evaluation| evaluation.starts_with(id));
        let mut found = self.find_cycles()?.into_iter().filter(fits);
        let (Some(found), None) = (found.next().filter(|_| id.len() > 2), found.next()) else {
            return Err(missing().into());
        };
        let FoundCycle { work_tree, cycle, mut line } = found;
        let standing = show_cycle(self.request, cycle).to_document().ok_or_else(missing)?;
        line.evaluations.drain(..line.evaluations.len().saturating_sub(EVALUATIONS_MAX));
        let steps = self.index().gate_steps(&work_tree)?;
        let show = |line: &GateEvaluationLine| show_evaluation(self.request, &steps, &line.evaluation)?.to_document();
        let evaluations = line.evaluations.iter().rev().filter_map(show).collect();
        Ok(GateCyclePage { cycle: line, standing, evaluations })
    }

    /// The report of the evaluation whose id starts with `id`.
    ///
    /// # Errors
    /// When there is none or more than one, or the store can't be read.
    pub(crate) fn gate_report(&self, id: &str) -> anyhow::Result<GateReportPage> {
        let standing = evaluation_by_id(self.request, id)?;
        let (Some(document), Some(view)) = (standing.to_document(), standing.view()) else {
            return Err(Refusal::not_found(format!("evaluation {id} has no verdict")).then_run("gate status").into());
        };
        Ok(GateReportPage { document, report: render_report(&view, standing.style) })
    }

    /// All cycles with a verdict, the last judged first.
    fn find_cycles(&self) -> Result<Vec<FoundCycle>, StoreError> {
        let settings = &self.settings().gate;
        let rules = CycleRules::from_settings(settings);
        let here = Lossless::from(&self.request.places.root);
        let mut found = Vec::new();
        for tree in self.index().gate_work_trees()? {
            let steps = self.index().gate_steps(&tree)?;
            let evaluations = evaluation_lines(&steps);
            let place = (tree != here).then(|| tree.display().to_string());
            for cycle in WorkTreeGate::from_steps(&steps, rules).cycles() {
                let line = GateCycleLine::new(cycle, place.clone(), settings.attempts, &evaluations);
                found.extend(line.map(|line| FoundCycle { work_tree: tree.clone(), cycle: cycle.clone(), line }));
            }
        }
        found.sort_by(|a, b| b.line.at.cmp(&a.line.at).then_with(|| a.line.id.cmp(&b.line.id)));
        Ok(found)
    }
}

/// The evaluations with a verdict among the steps of a work tree, by id.
fn evaluation_lines(steps: &[GateStepRow]) -> HashMap<&str, GateEvaluationLine> {
    let verdicts = steps.iter().filter_map(|step| match &step.note.step {
        GateStep::Verdict(outcome) => Some((step, &**outcome)),
        _ => None,
    });
    let line = |(step, outcome): (&GateStepRow, &GateOutcome)| {
        let counts = GateCounts::from_outcome(outcome);
        GateEvaluationLine {
            evaluation: step.note.evaluation.clone(),
            at: step.at,
            tree: outcome.tree.clone(),
            verdict: outcome.verdict,
            checks_total: counts.total,
            checks_passing: counts.passing,
            blocking_issues: counts.blocking,
            items: outcome.items.iter().map(|it| GateItemState { id: it.id.clone(), status: it.status }).collect(),
            changed: Vec::new(),
            implementers: outcome.models.implementers.to_vec(),
            reviewer: outcome.review.as_ref().and_then(|review| review.model.clone()),
        }
    };
    verdicts.map(|found| (found.0.note.evaluation.as_str(), line(found))).collect()
}

impl GateCycleLine {
    /// `None` before the first verdict.
    fn new(
        cycle: &CycleState,
        work_tree: Option<String>,
        attempts_max: u64,
        known: &HashMap<&str, GateEvaluationLine>,
    ) -> Option<Self> {
        let mut evaluations: Vec<GateEvaluationLine> =
            cycle.judged.iter().filter_map(|id| known.get(id.as_str()).cloned()).collect();
        for number in 1..evaluations.len() {
            evaluations[number].changed = changed_items(&evaluations[number - 1].items, &evaluations[number].items);
        }
        Some(GateCycleLine {
            id: cycle.id.clone(),
            feature: cycle.feature.clone(),
            task: cycle.task.clone(),
            work_tree,
            phase: cycle.phase.as_str(),
            attempt: cycle.attempt(),
            attempts_max,
            circuit_breaker: cycle.breaker.as_str(),
            at: evaluations.last()?.at,
            evaluations,
            decisions: cycle.decisions.iter().map(GateDecisionLine::new).collect(),
        })
    }
}

impl GateDecisionLine {
    fn new(decision: &CycleDecision) -> Self {
        let CycleDecision { person, what, reason } = decision;
        GateDecisionLine { person: person.clone(), decision: what, reason: reason.clone() }
    }
}

fn changed_items(before: &[GateItemState], now: &[GateItemState]) -> Vec<GateItemChange> {
    let change = |item: &GateItemState| {
        let from = before.iter().find(|known| known.id == item.id)?.status;
        (from != item.status).then(|| GateItemChange { id: item.id.clone(), from, to: item.status })
    };
    now.iter().filter_map(change).collect()
}

impl FirstAttempts {
    fn of_cycles(cycles: &[GateCycleLine]) -> Self {
        let mut weeks: BTreeMap<UtcDay, FirstAttemptWeek> = BTreeMap::new();
        for first in cycles.iter().filter_map(|cycle| cycle.evaluations.first()) {
            let day = UtcDay::of(first.at);
            // Day 0 was a Thursday.
            let from = UtcDay(day.0 - (day.0 + 3).rem_euclid(7));
            let week = weeks.entry(from).or_insert(FirstAttemptWeek { from, cycles: 0, approved: 0 });
            week.cycles += 1;
            week.approved += u64::from(first.verdict == GateVerdict::Approve);
        }
        let sum = |count: fn(&FirstAttemptWeek) -> u64| weeks.values().map(count).sum();
        let (cycles, approved) = (sum(|week| week.cycles), sum(|week| week.approved));
        let first_shown = weeks.len().saturating_sub(WEEKS_MAX);
        FirstAttempts { cycles, approved, weeks: weeks.into_values().skip(first_shown).collect() }
    }
}
