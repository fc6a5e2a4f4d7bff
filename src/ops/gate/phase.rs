//! `gate status --phase` and `task phase`: the phases of the work on a task, and their circuit breakers.

use serde::Serialize;

use super::run::read_gate;
use crate::base::clock::Timestamp;
use crate::base::lossless::Lossless;
use crate::base::text::count;
use crate::event::{EventAuthor, EventBody, PhaseNote, PhaseStep, WorkPhase};
use crate::gate::cycle::BreakerState;
use crate::gate::phase::{PhaseRules, PhaseState};
use crate::ops::reply::Reply;
use crate::ops::request::Request;
use crate::store::TaskPhase;

/// What `gate status --phase` prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PhasePage {
    /// The phase.
    pub phase: WorkPhase,
    /// The task.
    pub task: String,
    /// Recorded runs of the phase that count; of QA, evaluations.
    pub runs: u64,
    /// Tests that passed in the newest run that counted them; absent of QA.
    pub passing: Option<u64>,
    /// What fails in the newest run of each check; of QA, blocking issues.
    pub failing: u64,
    /// What fails, up to a limit.
    pub failures: Vec<String>,
    /// `CLOSED`, `HALF_OPEN` or `OPEN`.
    pub circuit_breaker: &'static str,
    /// Runs in a row without progress.
    pub no_progress_count: u64,
    /// From how many on the breaker opens.
    pub no_progress_threshold: u64,
    /// Runs in a row that failed in the same way.
    pub same_error_count: u64,
    /// From how many on the breaker opens.
    pub same_error_threshold: u64,
    /// When the breaker opened.
    pub opened_at: Option<Timestamp>,
    /// What to do next.
    pub recommendation: String,
}

/// What `task phase` prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct TaskPhasePage {
    /// The task.
    pub task: String,
    /// Its phase; absent when it is in none.
    pub phase: Option<WorkPhase>,
}

/// The phase of the current task with its circuit breaker, from its recorded runs in this work tree.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn phase_status(request: &Request, phase: WorkPhase) -> anyhow::Result<Reply<PhasePage>> {
    let reading = request.open_for_reading()?;
    let task = request.current_task(reading.index.as_ref())?;
    let settings = &request.settings().gate;
    let thresholds = settings.breaker.of_phase(phase.as_str());
    if phase == WorkPhase::Qa {
        return Ok(Reply::new(gate_page(request, task)?, reading.notes));
    }
    let root = Lossless::from(&request.places.root);
    let runs = match &reading.index {
        Some(index) => index.phase_runs(&reading.segments, TaskPhase { root: &root, task: &task, phase })?,
        None => Vec::new(),
    };
    let rules = PhaseRules { phase, thresholds, progress_against: settings.progress_against };
    let state = PhaseState::from_runs(runs.iter().map(|(_, run)| run), rules);
    let page = PhasePage {
        phase,
        task,
        runs: state.runs,
        passing: state.passing,
        failing: state.failing,
        failures: state.failures.clone(),
        circuit_breaker: state.breaker.as_str(),
        no_progress_count: state.no_progress,
        no_progress_threshold: thresholds.no_progress,
        same_error_count: state.same_error,
        same_error_threshold: thresholds.same_error,
        opened_at: state.opened_at,
        recommendation: recommend(phase, &state),
    };
    Ok(Reply::new(page, reading.notes))
}

/// The gate's own breaker, in the words of the other phases.
fn gate_page(request: &Request, task: String) -> anyhow::Result<PhasePage> {
    let gate = read_gate(request)?;
    let cycle = gate.cycle().cloned().unwrap_or_default();
    let thresholds = request.settings().gate.breaker.of_phase(WorkPhase::Qa.as_str());
    let outcome = cycle.last.as_ref().map(|last| &last.outcome);
    let items = outcome.into_iter().flat_map(|outcome| &outcome.items);
    let blocking = items.filter(|item| crate::gate::report::is_blocking_failure(item));
    let failures: Vec<String> = blocking.map(|item| format!("{} {}", item.id, item.criterion)).collect();
    let recommendation = match (cycle.breaker, cycle.iterations) {
        (BreakerState::Open, _) => "A person has to reset the breaker (`verify-run gate reset`)".to_owned(),
        (BreakerState::HalfOpen, _) => "Two evaluations without progress: change the approach".to_owned(),
        (BreakerState::Closed, 0) => "Nothing was evaluated: run `verify-run gate run`".to_owned(),
        (BreakerState::Closed, _) => "See `verify-run gate status`".to_owned(),
    };
    Ok(PhasePage {
        phase: WorkPhase::Qa,
        task,
        runs: cycle.iterations,
        passing: None,
        failing: failures.len() as u64,
        failures,
        circuit_breaker: cycle.breaker.as_str(),
        no_progress_count: cycle.no_progress,
        no_progress_threshold: thresholds.no_progress,
        same_error_count: cycle.same_error,
        same_error_threshold: thresholds.same_error,
        opened_at: (cycle.breaker == BreakerState::Open).then(|| cycle.last.as_ref().map(|last| last.at)).flatten(),
        recommendation,
    })
}

fn recommend(phase: WorkPhase, state: &PhaseState) -> String {
    match (state.breaker, phase) {
        (BreakerState::Open, _) => {
            format!("A person has to reset the breaker (`verify-run gate reset --phase {phase}`): try another approach")
        }
        (BreakerState::HalfOpen, _) => "Two runs without progress: change the approach".to_owned(),
        (BreakerState::Closed, _) if state.runs == 0 => {
            format!("No run of this phase is recorded: set VERIFY_RUN_PHASE, or run `verify-run task phase {phase}`")
        }
        (BreakerState::Closed, WorkPhase::Red) if state.failing > 0 => {
            format!("{} as wanted: go on to GREEN when every criterion has one", count(state.failing, "failure"))
        }
        (BreakerState::Closed, WorkPhase::Red) => "Nothing fails: write a test that does".to_owned(),
        (BreakerState::Closed, _) => match state.failures.first() {
            Some(first) => format!("{} left, the first: {first}", count(state.failing, "failure")),
            None => "All checks of this phase pass".to_owned(),
        },
    }
}

/// Closes the circuit breaker of a phase of the current task, in the name of a person.
///
/// # Errors
/// When the store can't be written.
pub(crate) fn reset_phase(request: &Request, phase: WorkPhase, person: &str, reason: &str) -> anyhow::Result<()> {
    record_note(request, PhaseStep::Reset { phase, reason: reason.to_owned() }, Some(person.to_owned())).map(|_| ())
}

/// Says which phase the current task is in from now on; `None` for none.
///
/// # Errors
/// When the store can't be written.
pub(crate) fn announce_phase(request: &Request, phase: Option<WorkPhase>) -> anyhow::Result<TaskPhasePage> {
    let step = phase.map_or(PhaseStep::Ended, |phase| PhaseStep::Began { phase });
    let task = record_note(request, step, None)?;
    Ok(TaskPhasePage { task, phase })
}

/// The phase that the current task is in: by `VERIFY_RUN_PHASE`, else as it was announced.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn current_phase(request: &Request) -> anyhow::Result<Reply<TaskPhasePage>> {
    let reading = request.open_for_reading()?;
    let task = request.current_task(reading.index.as_ref())?;
    let root = Lossless::from(&request.places.root);
    let announced = match &reading.index {
        Some(index) => index.announced_phase(&root, &task, request.now())?,
        None => None,
    };
    let named = request.identity.phase.as_deref().and_then(WorkPhase::from_name);
    Ok(Reply::new(TaskPhasePage { task, phase: named.or(announced) }, reading.notes))
}

/// Records a statement about the current task; its name.
fn record_note(request: &Request, step: PhaseStep, person: Option<String>) -> anyhow::Result<String> {
    let mut store = request.open_store()?;
    let task = request.current_task(Some(store.index()))?;
    let by = EventAuthor { person, ..EventAuthor::from_identity(&request.identity, Some(&task)) };
    let work_tree = Lossless::from(&request.places.root);
    store.record_event(EventBody::Phase(PhaseNote { work_tree, task: task.clone(), step, by }))?;
    Ok(task)
}
