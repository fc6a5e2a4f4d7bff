//! What people and agents say to the gate: the exit signal, waivers, resets, and decisions after an escalation.

use super::change::{gate_snapshot_options, read_tree};
use super::run::{read_gate, record_step};
use crate::base::clock::Timestamp;
use crate::base::refusal::Refusal;
use crate::event::{GateResolution, GateStep, GateWaiver};
use crate::gate::cycle::{CyclePhase, CycleState};
use crate::ops::request::Request;

/// Says that the work on the evaluated tree is done, or withdraws that.
///
/// # Errors
/// When nothing was evaluated, or the tree changed since.
pub(crate) fn signal_exit(request: &Request, is_withdrawn: bool) -> anyhow::Result<()> {
    let cycle = current_cycle(request)?;
    let Some(last) = &cycle.last else { return Err(nothing_evaluated()) };
    let tree = last.outcome.tree.clone();
    let now = read_tree(request, &gate_snapshot_options(request))?.tree;
    if now != tree && !is_withdrawn {
        return Err(Refusal::conflict("the work tree changed since the last evaluation").then_run("gate run").into());
    }
    record_step(request, &last.id, &cycle.id, GateStep::Signal { tree, withdrawn: is_withdrawn }, None)
}

/// Lets an item pass until a date, in the name of a person.
///
/// # Errors
/// When the end is over already, and when the store can't be written.
pub(crate) fn waive_item(request: &Request, person: &str, waiver: GateWaiver) -> anyhow::Result<()> {
    if !waiver.withdrawn && waiver.until <= request.now() {
        return Err(Refusal::usage("the end of a waiver must be in the future").into());
    }
    record_step(request, "", "", GateStep::Waiver(waiver), Some(person.to_owned()))
}

/// The waivers of this work tree with the people who answer for them, the oldest first.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn list_waivers(request: &Request) -> anyhow::Result<Vec<(String, GateWaiver)>> {
    Ok(read_gate(request)?.waivers)
}

/// Closes the circuit breaker and begins a new count of attempts.
///
/// # Errors
/// When nothing was evaluated, and when the store can't be written.
pub(crate) fn reset_gate(request: &Request, person: &str, reason: &str) -> anyhow::Result<()> {
    let cycle = current_cycle(request)?;
    let Some(last) = &cycle.last else { return Err(nothing_evaluated()) };
    if cycle.phase == CyclePhase::Escalated {
        return Err(Refusal::conflict("the work is escalated: a reset does not end that")
            .then_run("gate resolve --by NAME --decision retry --reason WHY")
            .into());
    }
    record_step(request, &last.id, &cycle.id, GateStep::Reset { reason: reason.to_owned() }, Some(person.to_owned()))
}

/// Decides after an escalation.
///
/// # Errors
/// When nothing is escalated, and when the store can't be written.
pub(crate) fn resolve_escalation(
    request: &Request,
    person: &str,
    decision: GateResolution,
    reason: &str,
) -> anyhow::Result<()> {
    let cycle = current_cycle(request)?;
    let last = cycle.last.as_ref().filter(|_| cycle.phase == CyclePhase::Escalated);
    let Some(last) = last else {
        return Err(Refusal::conflict("nothing is escalated here").then_run("gate status").into());
    };
    let step = GateStep::Resolved { decision, reason: reason.to_owned() };
    record_step(request, &last.id, &cycle.id, step, Some(person.to_owned()))
}

/// Midnight UTC after a day that is written `2026-12-31`.
///
/// # Errors
/// When it is no such day.
pub(crate) fn end_of_day(day: &str) -> anyhow::Result<Timestamp> {
    Timestamp::end_of_day(day)
        .ok_or_else(|| Refusal::usage(format!("{day:?} is no date: write it as 2026-12-31")).into())
}

fn current_cycle(request: &Request) -> anyhow::Result<CycleState> {
    Ok(read_gate(request)?.cycle().cloned().unwrap_or_default())
}

fn nothing_evaluated() -> anyhow::Error {
    Refusal::conflict("nothing was evaluated in this work tree").then_run("gate run").into()
}
