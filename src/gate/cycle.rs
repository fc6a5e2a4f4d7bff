//! Attempts, the circuit breaker and the dual gate: a fold over the recorded steps of a work tree. Pure.
//!
//! A cycle is the work on one feature in one task. It begins with the first evaluation and ends when its tree is shipped,
//! when a person resets or resolves it, or when another tree is evaluated after an approval. Evaluations of another task
//! or feature that change mostly the same files belong to the cycle as well, so that a new name gives no new attempts.

use std::collections::BTreeSet;

use crate::base::clock::Timestamp;
use crate::config::{BreakerThresholds, GateSettings, ProgressReference};
use crate::event::{
    GateDiversity, GateIssueKind, GateItemStatus, GateOutcome, GateResolution, GateStart, GateStep, GateVerdict,
    GateWaiver,
};
use crate::store::GateStepRow;

/// Cycles of a work tree that are remembered, the newest.
const CYCLES_MAX: usize = 50;

/// How often a cycle may fail before a person has to decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CycleRules {
    /// Rejected trees.
    pub attempts: u64,
    /// When the circuit breaker opens.
    pub thresholds: BreakerThresholds,
    /// What an evaluation must be better than.
    pub progress_against: ProgressReference,
}

impl CycleRules {
    /// The rules of the settings.
    pub(crate) fn from_settings(settings: &GateSettings) -> CycleRules {
        CycleRules {
            attempts: settings.attempts,
            thresholds: settings.breaker.of_phase("QA"),
            progress_against: settings.progress_against,
        }
    }
}

/// The state of the circuit breaker.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum BreakerState {
    /// Work goes on.
    #[default]
    Closed,
    /// Two evaluations without progress: the approach should change.
    HalfOpen,
    /// Nothing is evaluated before a person resets it.
    Open,
}

impl BreakerState {
    /// The state after this many in a row, of a breaker that was not open.
    pub(crate) fn from_counts(no_progress: u64, same_error: u64, thresholds: BreakerThresholds) -> BreakerState {
        if no_progress >= thresholds.no_progress || same_error >= thresholds.same_error {
            BreakerState::Open
        } else if no_progress >= 2 {
            BreakerState::HalfOpen
        } else {
            BreakerState::Closed
        }
    }

    /// The word of the status block.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            BreakerState::Closed => "CLOSED",
            BreakerState::HalfOpen => "HALF_OPEN",
            BreakerState::Open => "OPEN",
        }
    }
}

/// Where a cycle is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum CyclePhase {
    /// Nothing was judged yet, or a person closed what was.
    #[default]
    Idle,
    /// The last evaluation rejected its tree.
    Rejected,
    /// Too many trees were rejected: a person has to decide.
    Escalated,
    /// The circuit breaker is open.
    Halted,
    /// The last evaluation approved its tree.
    Approved,
    /// The approved tree is shipped: the cycle is closed.
    Shipped,
}

impl CyclePhase {
    /// The word in JSON.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            CyclePhase::Idle => "idle",
            CyclePhase::Rejected => "rejected",
            CyclePhase::Escalated => "escalated",
            CyclePhase::Halted => "halted",
            CyclePhase::Approved => "approved",
            CyclePhase::Shipped => "shipped",
        }
    }
}

/// How shipping the approved tree of a cycle went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CycleShipping {
    /// The command began, and nothing says how it ended.
    Started {
        /// When it began.
        at: Timestamp,
    },
    /// The branch has the approved tree.
    Shipped {
        /// The commit.
        commit: String,
    },
    /// The command failed, or left something else than the approved tree.
    Failed {
        /// Why, a lowercase fragment.
        why: String,
    },
}

/// A decision of a person, for reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CycleDecision {
    /// Who decided.
    pub person: String,
    /// What: `reset`, `retry`, `accept`, `abort`.
    pub what: &'static str,
    /// Why.
    pub reason: String,
}

/// What is known of a cycle.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CycleState {
    /// `g-…` of its first evaluation; empty before that.
    pub id: String,
    /// The task of its first evaluation.
    pub task: Option<String>,
    /// The feature of its first evaluation.
    pub feature: String,
    /// Evaluations that began.
    pub iterations: u64,
    /// Evaluations that ended with a verdict, the oldest first; a decision of a person keeps them.
    pub judged: Vec<String>,
    /// Rejected trees, each once.
    pub rejected: BTreeSet<String>,
    /// Evaluations in a row without progress.
    pub no_progress: u64,
    /// Evaluations in a row that failed in the same way.
    pub same_error: u64,
    /// The circuit breaker.
    pub breaker: BreakerState,
    /// Where it is.
    pub phase: CyclePhase,
    /// The tree that someone says is done.
    pub signal: Option<String>,
    /// The last evaluation that ended with a verdict.
    pub last: Option<CycleEvaluation>,
    /// What people decided, the oldest first.
    pub decisions: Vec<CycleDecision>,
    /// An evaluation that began and did not end.
    pub unfinished: Option<String>,
    /// How shipping went, the last time that it began.
    pub shipping: Option<CycleShipping>,
    /// Language models that wrote the change.
    pub implementers: BTreeSet<String>,
    files: BTreeSet<String>,
    seen: BTreeSet<String>,
    best: Option<CycleScore>,
    accepted: Option<String>,
}

/// An evaluation of a cycle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CycleEvaluation {
    /// `g-…`
    pub id: String,
    /// When it ended.
    pub at: Timestamp,
    /// What it was about.
    pub start: GateStart,
    /// How it ended.
    pub outcome: GateOutcome,
}

/// How good an evaluation is: fewer blocking issues first, then more checks that pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CycleScore {
    blocking: u64,
    passing: u64,
}

impl CycleScore {
    fn from_outcome(outcome: &GateOutcome) -> CycleScore {
        let counts = GateCounts::from_outcome(outcome);
        CycleScore { blocking: counts.blocking, passing: counts.passing }
    }

    fn is_better_than(self, other: CycleScore) -> bool {
        self.blocking < other.blocking || self.blocking == other.blocking && self.passing > other.passing
    }
}

/// Counts over the items of an evaluation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct GateCounts {
    /// Items that apply.
    pub total: u64,
    /// Items that pass or are waived.
    pub passing: u64,
    /// The other ones that apply.
    pub failing: u64,
    /// Blocking items that do not pass, issues beside the items, and blocking issues of a review.
    pub blocking: u64,
    /// Other items that do not pass, and other remarks of a review.
    pub warnings: u64,
}

impl GateCounts {
    /// The counts of an outcome.
    pub(crate) fn from_outcome(outcome: &GateOutcome) -> GateCounts {
        let mut counts = GateCounts { blocking: outcome.issues.len() as u64, ..GateCounts::default() };
        counts.warnings += u64::from(has_unknown_implementer(outcome));
        if let Some(review) = &outcome.review {
            let blocking = review.blocking_issues();
            counts.blocking += blocking;
            counts.warnings += review.issues.len() as u64 - blocking + u64::from(review.warning.is_some());
        }
        for item in &outcome.items {
            let is_passing = matches!(item.status, GateItemStatus::Pass | GateItemStatus::Waived);
            if item.status == GateItemStatus::NotApplicable {
                continue;
            }
            counts.total += 1;
            counts.passing += u64::from(is_passing);
            counts.failing += u64::from(!is_passing);
            counts.blocking += u64::from(!is_passing && item.blocking);
            counts.warnings += u64::from(!is_passing && !item.blocking);
        }
        counts
    }

    /// The verdict.
    pub(crate) fn verdict(&self) -> GateVerdict {
        if self.blocking == 0 { GateVerdict::Approve } else { GateVerdict::Reject }
    }
}

/// Whether it is not known which model wrote what a model reviewed, where that alone does not stop an approval.
pub(crate) fn has_unknown_implementer(outcome: &GateOutcome) -> bool {
    let is_issue = outcome.issues.iter().any(|issue| issue.kind == GateIssueKind::Model);
    outcome.models.diversity == GateDiversity::UnknownImplementer && !is_issue
}

impl CycleState {
    /// The number of the current attempt: rejected trees, and at least 1.
    pub(crate) fn attempt(&self) -> u64 {
        (self.rejected.len() as u64).max(1)
    }

    /// Whether the last evaluation approved this tree, or a person accepted it.
    pub(crate) fn is_approved(&self, tree: &str) -> bool {
        let is_last = self.last.as_ref().is_some_and(|last| last.outcome.tree == tree);
        let is_approved = matches!(self.phase, CyclePhase::Approved | CyclePhase::Shipped);
        is_approved && (is_last || self.accepted.as_deref() == Some(tree))
    }

    /// Whether someone says that the work on this tree is done.
    pub(crate) fn is_signalled(&self, tree: &str) -> bool {
        self.signal.as_deref() == Some(tree)
    }

    /// Whether an evaluation of this belongs to the cycle.
    fn includes(&self, task: Option<&str>, start: &GateStart) -> bool {
        let is_over = match self.phase {
            CyclePhase::Shipped => true,
            CyclePhase::Approved => !self.seen.contains(&start.tree),
            _ => false,
        };
        if self.id.is_empty() || is_over {
            return false;
        }
        let is_same = self.task.as_deref() == task && self.feature == start.feature;
        let shared = start.files.iter().filter(|file| self.files.contains(*file)).count();
        is_same || shared > 0 && shared * 2 >= start.files.len().min(self.files.len())
    }

    fn begin(&mut self, evaluation: &str, start: &GateStart) {
        self.iterations += 1;
        self.files.extend(start.files.iter().cloned());
        self.implementers.extend(start.implementers.iter().cloned());
        self.unfinished = Some(evaluation.to_owned());
    }

    fn judge(&mut self, evaluation: CycleEvaluation, rules: CycleRules) {
        let outcome = &evaluation.outcome;
        let score = CycleScore::from_outcome(outcome);
        if outcome.verdict == GateVerdict::Approve {
            (self.no_progress, self.same_error, self.breaker) = (0, 0, BreakerState::Closed);
            self.phase = CyclePhase::Approved;
        } else {
            let is_progress = match rules.progress_against {
                // Better than the best so far, on a tree that is new: going back and forth is no progress.
                ProgressReference::Best => {
                    !self.seen.contains(&outcome.tree) && self.best.is_none_or(|best| score.is_better_than(best))
                }
                ProgressReference::Last => {
                    self.last.as_ref().is_none_or(|last| score.is_better_than(CycleScore::from_outcome(&last.outcome)))
                }
            };
            let is_same_error = self.last.as_ref().is_some_and(|last| last.outcome.error == outcome.error);
            self.no_progress = if is_progress { 0 } else { self.no_progress + 1 };
            self.same_error = if is_same_error { self.same_error + 1 } else { 1 };
            self.breaker = BreakerState::from_counts(self.no_progress, self.same_error, rules.thresholds);
            self.rejected.insert(outcome.tree.clone());
            self.phase = if self.rejected.len() as u64 >= rules.attempts {
                CyclePhase::Escalated
            } else if self.breaker == BreakerState::Open {
                CyclePhase::Halted
            } else {
                CyclePhase::Rejected
            };
        }
        if self.best.is_none_or(|best| score.is_better_than(best)) {
            self.best = Some(score);
        }
        self.seen.insert(outcome.tree.clone());
        self.judged.push(evaluation.id.clone());
        self.implementers.extend(outcome.models.implementers.iter().cloned());
        self.unfinished = None;
        self.last = Some(evaluation);
    }

    fn record_shipping(&mut self, at: Timestamp, step: &GateStep) {
        self.shipping = match step {
            GateStep::ShipStarted { .. } => Some(CycleShipping::Started { at }),
            GateStep::Shipped { commit, .. } => Some(CycleShipping::Shipped { commit: commit.clone() }),
            GateStep::ShipFailed { why } => Some(CycleShipping::Failed { why: why.clone() }),
            _ => return,
        };
        if matches!(step, GateStep::Shipped { .. }) {
            self.phase = CyclePhase::Shipped;
        }
    }

    /// Forgets what was counted, after a person decided.
    fn restart(&mut self, phase: CyclePhase) {
        let decisions = std::mem::take(&mut self.decisions);
        let last = self.last.take();
        *self = CycleState {
            id: std::mem::take(&mut self.id),
            task: self.task.take(),
            feature: std::mem::take(&mut self.feature),
            iterations: self.iterations,
            judged: std::mem::take(&mut self.judged),
            files: std::mem::take(&mut self.files),
            implementers: std::mem::take(&mut self.implementers),
            phase,
            last,
            decisions,
            ..CycleState::default()
        };
    }

    fn decide(&mut self, decision: CycleDecision, phase: CyclePhase) {
        let tree = self.last.as_ref().map(|last| last.outcome.tree.clone());
        self.decisions.push(decision);
        self.restart(phase);
        self.accepted = tree.filter(|_| phase == CyclePhase::Approved);
    }
}

/// The gate of a work tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct WorkTreeGate {
    /// The cycles, the one that was worked on last at the end.
    cycles: Vec<CycleState>,
    /// The cycles whose work was given up, the oldest first.
    aborted: Vec<CycleState>,
    /// Waivers that were not withdrawn, the oldest first; some may be over.
    pub waivers: Vec<(String, GateWaiver)>,
}

impl WorkTreeGate {
    /// Computes the state from the steps of one work tree, the oldest first.
    pub(crate) fn from_steps<'a>(steps: impl IntoIterator<Item = &'a GateStepRow>, rules: CycleRules) -> WorkTreeGate {
        let mut gate = WorkTreeGate::default();
        let mut started: Option<(&str, &GateStart)> = None;
        let mut nothing = CycleState::default();
        for GateStepRow { at, note } in steps {
            let person = note.by.person.clone().unwrap_or_default();
            match &note.step {
                GateStep::Started(start) => {
                    gate.prepare(note.by.task.as_deref(), start, &note.evaluation);
                    gate.current(&mut nothing).begin(&note.evaluation, start);
                    started = Some((&note.evaluation, start));
                }
                GateStep::Verdict(outcome) => {
                    let Some((_, start)) = started.filter(|(id, _)| *id == note.evaluation) else { continue };
                    let (id, start, outcome) = (note.evaluation.clone(), start.clone(), (**outcome).clone());
                    gate.current(&mut nothing).judge(CycleEvaluation { id, at: *at, start, outcome }, rules);
                }
                GateStep::Abandoned { .. } => gate.current(&mut nothing).unfinished = None,
                GateStep::Signal { tree, withdrawn } => {
                    gate.current(&mut nothing).signal = (!withdrawn).then(|| tree.clone());
                }
                GateStep::Waiver(waiver) => gate.add_waiver(person, waiver),
                GateStep::Reset { reason } => {
                    let decision = CycleDecision { person, what: "reset", reason: reason.clone() };
                    gate.current(&mut nothing).decide(decision, CyclePhase::Idle);
                }
                GateStep::Resolved { decision, reason } => {
                    let (what, phase) = match decision {
                        GateResolution::Retry => ("retry", CyclePhase::Idle),
                        GateResolution::Accept => ("accept", CyclePhase::Approved),
                        GateResolution::Abort => ("abort", CyclePhase::Idle),
                    };
                    gate.current(&mut nothing).decide(CycleDecision { person, what, reason: reason.clone() }, phase);
                    if *decision == GateResolution::Abort {
                        gate.aborted.extend(gate.cycles.pop());
                    }
                }
                GateStep::ShipStarted { .. } | GateStep::Shipped { .. } | GateStep::ShipFailed { .. } => {
                    gate.current(&mut nothing).record_shipping(*at, &note.step);
                }
            }
        }
        gate
    }

    /// The cycle of an evaluation as it was when that ended, with what was said about that evaluation since. `steps` are
    /// those of its work tree, the oldest first; `None` where its verdict is not among them.
    pub(crate) fn cycle_of_evaluation(
        steps: &[GateStepRow],
        evaluation: &str,
        rules: CycleRules,
    ) -> Option<CycleState> {
        let is_about = |row: &&GateStepRow| row.note.evaluation == evaluation;
        let end = steps.iter().position(|row| is_about(&row) && matches!(row.note.step, GateStep::Verdict(_)))?;
        let (until, since) = steps.split_at(end + 1);
        let WorkTreeGate { cycles, aborted, .. } =
            WorkTreeGate::from_steps(until.iter().chain(since.iter().filter(is_about)), rules);
        let is_last = |cycle: &CycleState| cycle.last.as_ref().is_some_and(|last| last.id == evaluation);
        cycles.into_iter().chain(aborted).find(is_last)
    }

    /// The cycle that was worked on last.
    pub(crate) fn cycle(&self) -> Option<&CycleState> {
        self.cycles.last()
    }

    /// All cycles, also those whose work was given up, in no order.
    pub(crate) fn cycles(&self) -> impl Iterator<Item = &CycleState> {
        self.cycles.iter().chain(&self.aborted)
    }

    /// Makes the cycle that an evaluation of this belongs to the current one; begins a new one where there is none.
    pub(crate) fn prepare(&mut self, task: Option<&str>, start: &GateStart, evaluation: &str) {
        let known = self.cycles.iter().rposition(|cycle| cycle.includes(task, start));
        let cycle = known.map_or_else(
            || CycleState {
                id: evaluation.to_owned(),
                task: task.map(str::to_owned),
                feature: start.feature.clone(),
                ..CycleState::default()
            },
            |at| self.cycles.remove(at),
        );
        self.cycles.push(cycle);
        if self.cycles.len() > CYCLES_MAX {
            self.cycles.remove(0);
        }
    }

    /// The current cycle; `nothing` for a step whose evaluation is not known.
    fn current<'a>(&'a mut self, nothing: &'a mut CycleState) -> &'a mut CycleState {
        self.cycles.last_mut().unwrap_or(nothing)
    }

    fn add_waiver(&mut self, person: String, waiver: &GateWaiver) {
        self.waivers.retain(|(_, known)| known.item != waiver.item || known.file != waiver.file);
        if !waiver.withdrawn {
            self.waivers.push((person, waiver.clone()));
        }
    }
}

/// What of an evaluation the caller chose in another way than for the last one of the cycle, each a phrase.
pub(crate) fn differences_from_last(last: Option<&GateStart>, now: &GateStart) -> Vec<String> {
    let Some(last) = last else { return Vec::new() };
    // Commits may have been added to the base: its name is what was chosen.
    let chosen = |base: &str| base.rsplit_once(", ").map_or(base.to_owned(), |(name, _)| name.to_owned());
    let prp = |start: &GateStart| start.prp.clone().unwrap_or_else(|| "none".to_owned());
    let pairs = [
        ("the policy", last.policy.clone(), now.policy.clone()),
        ("the base", chosen(&last.base), chosen(&now.base)),
        ("the PRP", prp(last), prp(now)),
        ("the kind of the change", last.change_kind.clone(), now.change_kind.clone()),
    ];
    let differing = pairs.into_iter().filter(|(_, before, now)| before != now);
    differing.map(|(what, before, now)| format!("{what} was {before}, and is {now}")).collect()
}
