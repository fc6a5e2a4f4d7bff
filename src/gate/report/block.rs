//! The status block, which other tools parse: lines, order and keys are those of the specification.

use super::EvaluationView;
use crate::base::text;
use crate::event::{GateFinding, GateItem, GateItemStatus, GateOutcome, GateVerdict};
use crate::gate::cycle::{BreakerState, CyclePhase, CycleShipping};

/// The recommendation, bytes.
const RECOMMENDATION_BYTES_MAX: usize = 300;
/// Items that a recommendation names.
const NAMED_ITEMS_MAX: usize = 3;

/// The block, with a line end after its last line.
pub(crate) fn render_status_block(view: &EvaluationView<'_>) -> String {
    let (counts, dual, cycle) = (view.counts(), view.dual_gate(), view.cycle);
    let memory = &view.evaluation.outcome.memory;
    let is_stopped = matches!(cycle.phase, CyclePhase::Escalated | CyclePhase::Halted);
    let status = match dual.can_exit() {
        true => "COMPLETE",
        false if is_stopped && view.says_blocked => "BLOCKED",
        false => "IN_PROGRESS",
    };
    // Seconds and no fraction, as in the specification.
    let time = view.evaluation.at.rfc3339();
    let time = time.split_once('.').map_or(time.clone(), |(seconds, _)| format!("{seconds}Z"));
    format!(
        "---PRP_PHASE_STATUS---
TIMESTAMP: {time}
PHASE: QA
STATUS: {status}
ITERATION: {iteration}
PROGRESS_PERCENT: {progress}

QA_METRICS:
  CHECKS_TOTAL: {total}
  CHECKS_PASSING: {passing}
  CHECKS_FAILING: {failing}
  BLOCKING_ISSUES: {blocking}
  WARNING_ISSUES: {warnings}

MEMORY_CONTEXT:
  QUERIES_EXECUTED: {queries}
  HISTORICAL_BUGS_FOUND: {failures}
  PATTERNS_IDENTIFIED: {patterns}

VERDICT: {verdict}
ATTEMPT: {attempt}

CIRCUIT_BREAKER:
  STATE: {breaker}
  NO_PROGRESS_COUNT: {no_progress}

DUAL_GATE:
  GATE_1: {gate_1}
  GATE_2: {gate_2}
  CAN_EXIT: {can_exit}

EXIT_SIGNAL: {exit_signal}
RECOMMENDATION: {recommendation}
---END_PRP_PHASE_STATUS---
",
        iteration = view.evaluation.start.iteration,
        progress = view.progress(),
        total = counts.total,
        passing = counts.passing,
        failing = counts.failing,
        blocking = if dual.gate_1 { 0 } else { counts.blocking },
        warnings = counts.warnings,
        queries = memory.queries,
        failures = memory.failures,
        patterns = memory.patterns,
        verdict = view.verdict_word(),
        attempt = cycle.attempt(),
        breaker = cycle.breaker.as_str(),
        no_progress = cycle.no_progress,
        gate_1 = dual.gate_1,
        gate_2 = dual.gate_2,
        can_exit = dual.can_exit(),
        exit_signal = dual.exit_signal,
        recommendation = status_recommendation(view),
    )
}

/// What to do next: one line of at most 300 bytes.
pub(crate) fn status_recommendation(view: &EvaluationView<'_>) -> String {
    let dual = view.dual_gate();
    let outcome = &view.evaluation.outcome;
    let said = if let (CyclePhase::Shipped, Some(CycleShipping::Shipped { commit })) =
        (view.cycle.phase, &view.cycle.shipping)
    {
        format!("Shipped as commit {}", commit.get(..12).unwrap_or(commit))
    } else if dual.can_exit() {
        "Ready for SHIP".to_owned()
    } else if dual.gate_1 {
        "Ready for SHIP: say that the work is done with `verify-run gate signal`".to_owned()
    } else {
        let start = match (view.cycle.phase, view.cycle.breaker) {
            (CyclePhase::Escalated, _) => "A person has to decide (`verify-run gate resolve`). ",
            (_, BreakerState::Open) => "A person has to reset the breaker (`verify-run gate reset`). ",
            (_, BreakerState::HalfOpen) => "Two evaluations without progress: change the approach. ",
            _ => "",
        };
        format!("{start}{}", name_blocking_issues(outcome, view.counts().blocking))
    };
    text::ellipsis(&text::one_line(&said), RECOMMENDATION_BYTES_MAX)
}

fn name_blocking_issues(outcome: &GateOutcome, blocking: u64) -> String {
    let items = outcome.items.iter().filter(|item| is_blocking_failure(item)).map(describe_item);
    let issues = outcome.issues.iter().map(|issue| issue.message.clone());
    let reviewed = outcome.review.iter().flat_map(|review| &review.issues).filter(|issue| issue.blocking);
    let reviewed = reviewed.map(|issue| format!("REVIEW {}", issue.message));
    let named: Vec<String> = items.chain(issues).chain(reviewed).take(NAMED_ITEMS_MAX).collect();
    format!("Fix {}: {}", text::count(blocking, "blocking issue"), named.join(", "))
}

/// Whether an item stops an approval.
pub(crate) fn is_blocking_failure(item: &GateItem) -> bool {
    item.blocking && matches!(item.status, GateItemStatus::Fail | GateItemStatus::NotEvaluated)
}

/// `C2 parse_row has 12 (src/rows.py:40)`
fn describe_item(item: &GateItem) -> String {
    let said = match (item.findings.first(), &item.reason) {
        (Some(finding), _) if item.status == GateItemStatus::Fail => describe_finding(finding),
        (_, Some(reason)) => reason.clone(),
        (Some(finding), None) => describe_finding(finding),
        (None, None) => item.details.clone(),
    };
    format!("{} {said}", item.id)
}

/// The message with its place.
pub(super) fn describe_finding(finding: &GateFinding) -> String {
    match finding_place(finding) {
        Some(place) => format!("{} ({place})", finding.message),
        None => finding.message.clone(),
    }
}

/// `src/a.py:40`
pub(super) fn finding_place(finding: &GateFinding) -> Option<String> {
    finding.path.as_ref().map(|path| place_of(path, finding.line))
}

/// `src/a.py:40`
pub(super) fn place_of(path: &str, line: Option<u32>) -> String {
    line.map_or_else(|| path.to_owned(), |line| format!("{path}:{line}"))
}

/// The verdict's word for people.
pub(super) fn verdict_title(view: &EvaluationView<'_>) -> &'static str {
    let is_accepted = view.evaluation.outcome.verdict == GateVerdict::Reject && view.dual_gate().gate_1;
    match (view.dual_gate().gate_1, is_accepted) {
        (true, true) => "✅ APPROVED (accepted by a person)",
        (true, false) => "✅ APPROVED",
        (false, _) => "❌ REJECTED",
    }
}
