//! `qa-state.json`, which other tools read. verify-run never reads it: its own state is computed from events.

use serde::Serialize;

use super::EvaluationView;
use crate::gate::cycle::CyclePhase;

/// The version of the document.
const SCHEMA: u32 = 1;

/// The document. The first three keys are the specification's, the fourth is its repository's.
#[derive(Serialize)]
struct SessionDocument<'a> {
    attempt: u64,
    last_verdict: &'static str,
    report_path: &'a str,
    memory_context: MemoryCounts,
    schema: u32,
    evaluation: &'a str,
    cycle: &'a str,
    tree: &'a str,
    iteration: u64,
    circuit_breaker: BreakerCounts,
    dual_gate: DualGateState,
    escalated: bool,
}

#[derive(Serialize)]
struct MemoryCounts {
    bugs_found: u64,
    patterns_found: u64,
    adrs_found: u64,
    files_reviewed: u64,
}

#[derive(Serialize)]
struct BreakerCounts {
    state: &'static str,
    no_progress_count: u64,
    same_error_count: u64,
}

#[derive(Serialize)]
struct DualGateState {
    gate_1: bool,
    gate_2: bool,
    can_exit: bool,
}

/// The document of an evaluation whose report is at `report_path`, with a line end after its last line.
pub(crate) fn render_session_state(view: &EvaluationView<'_>, report_path: &str) -> String {
    let (evaluation, cycle, dual) = (view.evaluation, view.cycle, view.dual_gate());
    let memory = &evaluation.outcome.memory;
    let document = SessionDocument {
        attempt: cycle.attempt(),
        last_verdict: view.verdict_word(),
        report_path,
        memory_context: MemoryCounts {
            bugs_found: memory.failures,
            patterns_found: memory.patterns,
            adrs_found: memory.decisions,
            files_reviewed: memory.files,
        },
        schema: SCHEMA,
        evaluation: &evaluation.id,
        cycle: &cycle.id,
        tree: &evaluation.outcome.tree,
        iteration: evaluation.start.iteration,
        circuit_breaker: BreakerCounts {
            state: cycle.breaker.as_str(),
            no_progress_count: cycle.no_progress,
            same_error_count: cycle.same_error,
        },
        dual_gate: DualGateState { gate_1: dual.gate_1, gate_2: dual.gate_2, can_exit: dual.can_exit() },
        escalated: cycle.phase == CyclePhase::Escalated,
    };
    // Serialising these types can't fail: no map has keys that aren't strings.
    serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
}
