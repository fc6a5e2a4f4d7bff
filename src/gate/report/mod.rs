//! An evaluation as people and other programs read it: the status block, the report in Markdown, and the state file of a
//! session. Pure.

mod block;
mod markdown;
mod state;

pub(crate) use block::{is_blocking_failure, render_status_block, status_recommendation};
pub(crate) use markdown::{ReportStyle, render_report};
pub(crate) use state::render_session_state;

use crate::event::GateVerdict;
use crate::gate::cycle::{CycleEvaluation, CycleState, GateCounts};

/// An evaluation in its cycle.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EvaluationView<'a> {
    /// The evaluation.
    pub evaluation: &'a CycleEvaluation,
    /// The cycle as it is after it.
    pub cycle: &'a CycleState,
    /// Rejected trees after which a person has to decide.
    pub attempts_max: u64,
    /// The status block of an escalated or halted cycle says so.
    pub says_blocked: bool,
}

/// Whether the work may end, for one tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DualGate {
    /// Nothing blocking is left.
    pub gate_1: bool,
    /// Someone says that the work is done, and the tree is approved.
    pub gate_2: bool,
    /// Someone says that the work is done.
    pub exit_signal: bool,
}

impl DualGate {
    /// Whether the work may end.
    pub(crate) fn can_exit(self) -> bool {
        self.gate_1 && self.gate_2
    }
}

impl EvaluationView<'_> {
    /// The counts over its items.
    pub(crate) fn counts(&self) -> GateCounts {
        GateCounts::from_outcome(&self.evaluation.outcome)
    }

    /// Whether the work may end on the evaluated tree.
    pub(crate) fn dual_gate(&self) -> DualGate {
        let tree = &self.evaluation.outcome.tree;
        let gate_1 = self.evaluation.outcome.verdict == GateVerdict::Approve || self.cycle.is_approved(tree);
        let exit_signal = self.cycle.is_signalled(tree);
        DualGate { gate_1, gate_2: gate_1 && exit_signal, exit_signal }
    }

    /// The verdict's word in the specification; a tree that a person accepted is approved.
    pub(crate) fn verdict_word(&self) -> &'static str {
        if self.dual_gate().gate_1 { "APPROVE" } else { "REJECT" }
    }

    /// Progress in percent: 80 for the checks, 10 for the memory, 10 for the approval.
    pub(crate) fn progress(&self) -> u64 {
        let counts = self.counts();
        let checks = (80 * counts.passing).checked_div(counts.total).unwrap_or(0);
        let memory = 10 * self.evaluation.outcome.memory.queries.min(4) / 4;
        (checks + memory + if self.dual_gate().gate_1 { 10 } else { 0 }).min(100)
    }
}
