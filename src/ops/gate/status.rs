//! `gate status` and `gate show`: what was evaluated. They evaluate nothing.

use serde::Serialize;

use super::change::{gate_snapshot_options, read_tree};
use super::policy::PolicyFiles;
use super::run::{GateStanding, read_gate};
use crate::base::clock::Timestamp;
use crate::base::refusal::Refusal;
use crate::config::HeadingLanguage;
use crate::event::{GateDiversity, GateIssue, GateItem, GateMemory, GateReview};
use crate::gate::cycle::{CycleRules, CycleShipping, CycleState, WorkTreeGate};
use crate::gate::policy::Checklist;
use crate::gate::report::{EvaluationView, ReportStyle, status_recommendation};
use crate::ops::request::Request;
use crate::store::GateStepRow;

/// What `gate run --json` and `gate status --json` print.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct GateDocument {
    /// `g-…` of the last evaluation.
    pub evaluation: String,
    /// `g-…` of the first evaluation of its cycle.
    pub cycle: String,
    /// End of the evaluation.
    pub at: Timestamp,
    /// The git tree that the verdict is about.
    pub tree: String,
    /// What it was compared with.
    pub base: String,
    /// The feature.
    pub feature: String,
    /// The PRP.
    pub prp: Option<String>,
    /// The kind of the change, and who says so.
    pub change_kind: String,
    /// The policy files, with their digest.
    pub policy: String,
    /// What was chosen in another way than for the evaluation before (policy, base, PRP, kind), each a phrase.
    pub differences: Vec<String>,
    /// How the commands were isolated; absent where they ran in the work tree.
    pub isolation: Option<String>,
    /// `approve` or `reject`; a tree that a person accepted is approved.
    pub verdict: &'static str,
    /// Where the cycle is: `rejected`, `approved`, `shipped`, `escalated`, `halted`, or `idle` after a decision.
    pub phase: &'static str,
    /// The number of the evaluation in its cycle.
    pub iteration: u64,
    /// The current attempt, of 3.
    pub attempt: u64,
    /// Items that apply.
    pub checks_total: u64,
    /// Items that pass.
    pub checks_passing: u64,
    /// Blocking issues.
    pub blocking_issues: u64,
    /// Other issues.
    pub warning_issues: u64,
    /// Progress in percent.
    pub progress_percent: u64,
    /// `CLOSED`, `HALF_OPEN` or `OPEN`.
    pub circuit_breaker: &'static str,
    /// Evaluations in a row without progress.
    pub no_progress_count: u64,
    /// Evaluations in a row that failed in the same way.
    pub same_error_count: u64,
    /// Nothing blocking is left.
    pub gate_1: bool,
    /// Someone says that the work is done, and the tree is approved.
    pub gate_2: bool,
    /// Both.
    pub can_exit: bool,
    /// Someone says that the work is done.
    pub exit_signal: bool,
    /// The commit that has the approved tree, once it is shipped.
    pub shipped_commit: Option<String>,
    /// Why the approved tree was not shipped, the last time that this was tried.
    pub ship_failed: Option<String>,
    /// What to do next.
    pub recommendation: String,
    /// The items.
    pub items: Vec<GateItem>,
    /// What stops an approval beside the items.
    pub issues: Vec<GateIssue>,
    /// What memory had to say.
    pub memory: GateMemory,
    /// Language models that wrote the change, as far as they are known.
    pub implementers: Vec<String>,
    /// How the model of the review compares with them.
    pub diversity: GateDiversity,
    /// The review, where a reviewer is configured.
    pub review: Option<GateReview>,
}

/// The last evaluation of this work tree.
///
/// # Errors
/// When nothing was evaluated, and when the store can't be read.
pub(crate) fn last_evaluation(request: &Request) -> anyhow::Result<GateStanding> {
    let cycle = read_gate(request)?.cycle().cloned().filter(|cycle| cycle.last.is_some());
    let cycle =
        cycle.ok_or_else(|| Refusal::not_found("nothing was evaluated in this work tree").then_run("gate run"))?;
    Ok(GateStanding::new(request, cycle, &read_checklist(request)))
}

/// An evaluation by its id or the start of it, in any work tree.
///
/// # Errors
/// When there is none, when several ids begin so, and when the store can't be read.
pub(crate) fn evaluation_by_id(request: &Request, id: &str) -> anyhow::Result<GateStanding> {
    let missing = || Refusal::not_found(format!("no evaluation {id} is recorded")).then_run("gate status");
    let index = request.open_as_it_is(&mut Vec::new())?.ok_or_else(missing)?;
    let found = index.gate_evaluations(id)?;
    let [evaluation] = &*found else {
        let examples = found.iter().take(3).map(String::as_str).collect::<Vec<_>>().join(", ");
        return Err(match found.len() {
            0 => missing(),
            count => Refusal::usage(format!("{id} is the start of {count} ids: {examples}")),
        }
        .into());
    };
    let steps = index.gate_steps_until(evaluation)?;
    show_evaluation(request, &steps, evaluation).ok_or_else(|| missing().into())
}

/// An evaluation as its cycle was then, of the steps of its work tree, the oldest first; `None` where it has no verdict.
pub(crate) fn show_evaluation(request: &Request, steps: &[GateStepRow], evaluation: &str) -> Option<GateStanding> {
    let rules = CycleRules::from_settings(&request.settings().gate);
    let cycle = WorkTreeGate::cycle_of_evaluation(steps, evaluation, rules)?;
    Some(show_cycle(request, cycle))
}

/// The last evaluation of a cycle, as the settings and the checklist here show it.
pub(crate) fn show_cycle(request: &Request, cycle: CycleState) -> GateStanding {
    GateStanding::new(request, cycle, &read_checklist(request))
}

/// Whether the work may end: the tree as it is now is approved, and someone says that it is done.
///
/// # Errors
/// When the tree or the store can't be read.
pub(crate) fn can_exit(request: &Request, cycle: &CycleState) -> anyhow::Result<bool> {
    if cycle.signal.is_none() {
        return Ok(false);
    }
    let tree = read_tree(request, &gate_snapshot_options(request))?.tree;
    Ok(cycle.is_approved(&tree) && cycle.is_signalled(&tree))
}

/// The checklist of the work tree; an empty one where it can't be read.
fn read_checklist(request: &Request) -> Checklist {
    let policy = PolicyFiles::load(&request.places, &request.environment, None, None, None);
    policy.map(|policy| policy.checklist).unwrap_or_default()
}

impl GateStanding {
    /// The last evaluation of a cycle, to be shown as the settings and the checklist have it.
    pub(super) fn new(request: &Request, cycle: CycleState, checklist: &Checklist) -> GateStanding {
        let settings = &request.settings().gate;
        let is_titled = checklist.categories.iter().any(|category| category.title.is_some());
        let style = match settings.headings {
            HeadingLanguage::Pt if !is_titled => ReportStyle::Appendix,
            HeadingLanguage::Pt | HeadingLanguage::En => ReportStyle::Titled,
        };
        GateStanding { cycle, style, attempts_max: settings.attempts, says_blocked: settings.status_blocked }
    }

    /// The last evaluation for reports; `None` before the first one.
    pub(crate) fn view(&self) -> Option<EvaluationView<'_>> {
        let evaluation = self.cycle.last.as_ref()?;
        let GateStanding { cycle, attempts_max, says_blocked, .. } = self;
        Some(EvaluationView { evaluation, cycle, attempts_max: *attempts_max, says_blocked: *says_blocked })
    }

    /// The last evaluation as a document; `None` before the first one.
    pub(crate) fn to_document(&self) -> Option<GateDocument> {
        let view = self.view()?;
        let (counts, dual) = (view.counts(), view.dual_gate());
        let (start, outcome, cycle) = (&view.evaluation.start, &view.evaluation.outcome, &self.cycle);
        Some(GateDocument {
            evaluation: view.evaluation.id.clone(),
            cycle: cycle.id.clone(),
            at: view.evaluation.at,
            tree: outcome.tree.clone(),
            base: start.base.clone(),
            feature: start.feature.clone(),
            prp: start.prp.clone(),
            change_kind: start.change_kind.clone(),
            policy: start.policy.clone(),
            differences: start.differences.clone(),
            isolation: start.isolation.clone(),
            verdict: if dual.gate_1 { "approve" } else { "reject" },
            phase: cycle.phase.as_str(),
            iteration: start.iteration,
            attempt: cycle.attempt(),
            checks_total: counts.total,
            checks_passing: counts.passing,
            blocking_issues: if dual.gate_1 { 0 } else { counts.blocking },
            warning_issues: counts.warnings,
            progress_percent: view.progress(),
            circuit_breaker: cycle.breaker.as_str(),
            no_progress_count: cycle.no_progress,
            same_error_count: cycle.same_error,
            gate_1: dual.gate_1,
            gate_2: dual.gate_2,
            can_exit: dual.can_exit(),
            exit_signal: dual.exit_signal,
            shipped_commit: match &cycle.shipping {
                Some(CycleShipping::Shipped { commit }) => Some(commit.clone()),
                _ => None,
            },
            ship_failed: match &cycle.shipping {
                Some(CycleShipping::Failed { why }) => Some(why.clone()),
                _ => None,
            },
            recommendation: status_recommendation(&view),
            items: outcome.items.clone(),
            issues: outcome.issues.clone(),
            memory: outcome.memory.clone(),
            implementers: cycle.implementers.iter().cloned().collect(),
            diversity: outcome.models.diversity,
            review: outcome.review.clone(),
        })
    }
}
