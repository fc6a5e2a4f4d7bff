//! What the gate says to agents through their hooks: at a session's start that a person has to decide, and at the end of a
//! turn, where the user wants it, that the work is not done. It reads what is recorded and evaluates nothing.

use std::collections::BTreeSet;
use std::fs;

use serde::{Deserialize, Serialize};

use super::change::{gate_snapshot_options, take_tree};
use super::run::GateStanding;
use crate::base::file::{Durability, create_private_dir, write_atomic};
use crate::base::lossless::Lossless;
use crate::base::private;
use crate::base::text;
use crate::event::GateVerdict;
use crate::gate::cycle::{CyclePhase, CycleRules, CycleState, WorkTreeGate};
use crate::gate::policy::Checklist;
use crate::gate::report::status_recommendation;
use crate::ops::request::Request;
use crate::store::Index;

/// Version of the file about stops.
const STOPS_SCHEMA: u32 = 1;
/// Its size, bytes.
const STOPS_BYTES_MAX: u64 = 64 << 10;

/// The stops of agents that were answered in one cycle.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct AnsweredStops {
    schema: u32,
    cycle: String,
    /// Decisions of people in the cycle: after one more, stops are answered again.
    decisions: usize,
    trees: BTreeSet<String>,
}

/// The current cycle, without waiting for anybody who holds the store.
fn read_cycle(request: &Request) -> Option<CycleState> {
    let index = Index::open_read(&request.places.state.index()).ok()??;
    let steps = index.gate_steps(&Lossless::from(&request.places.root)).ok()?;
    let gate = WorkTreeGate::from_steps(&steps, CycleRules::from_settings(&request.settings().gate));
    gate.cycle().cloned()
}

/// What an agent has to know at the start of a session: that a person has to decide. `None` where none has to.
pub(crate) fn session_notice(request: &Request) -> Option<String> {
    let cycle = read_cycle(request)?;
    let (why, command) = match cycle.phase {
        CyclePhase::Escalated => ("rejected too many trees", "verify-run gate resolve"),
        CyclePhase::Halted => ("stopped: its circuit breaker is open", "verify-run gate reset"),
        _ => return None,
    };
    let feature = text::ellipsis(&text::one_line(&cycle.feature), 100);
    Some(format!(
        "The quality gate {why} (feature `{}`). Nothing is evaluated before a person runs `{command}`.",
        feature.replace('`', "'")
    ))
}

/// Why an agent that ends its turn is to go on: the gate rejects its work. Once for each tree, and in a cycle as often as the
/// circuit breaker allows evaluations without progress. `None` where the agent may stop.
pub(crate) fn answer_stop(request: &Request) -> Option<String> {
    // A reviewer of the gate, or what an evaluation runs.
    if std::env::var_os("VERIFY_RUN_EVALUATION").is_some_and(|evaluation| !evaluation.is_empty()) {
        return None;
    }
    let cycle = read_cycle(request)?;
    let is_rejected = matches!(cycle.phase, CyclePhase::Rejected | CyclePhase::Idle)
        && cycle.last.as_ref().is_some_and(|last| last.outcome.verdict == GateVerdict::Reject);
    if !is_rejected {
        return None;
    }
    let lock = request.lock_store().ok()?;
    let tree = take_tree(request, &gate_snapshot_options(request), lock).ok()?.tree;
    if !is_first_stop(request, &cycle, &tree) {
        return None;
    }
    let is_judged = cycle.last.as_ref().is_some_and(|last| last.outcome.tree == tree);
    let standing = GateStanding::new(request, cycle, &Checklist::default());
    let view = standing.view()?;
    let todo = status_recommendation(&view);
    let evaluation = &view.evaluation.id;
    Some(if is_judged {
        format!("The quality gate rejects this work ({evaluation}). {todo}. Then run `verify-run gate run` again.")
    } else {
        format!(
            "The quality gate rejected this work before your last edits ({evaluation}: {todo}). Run `verify-run gate run`."
        )
    })
}

/// Whether a stop on this tree was not answered yet and may be; remembers that it is. What can't be remembered is not
/// answered, so that no agent is kept going without a limit.
fn is_first_stop(request: &Request, cycle: &CycleState, tree: &str) -> bool {
    let path = request.places.state.gate_stops(&request.places.root);
    let read =
        || -> Option<AnsweredStops> { serde_json::from_slice(&private::read_start(&path, STOPS_BYTES_MAX).ok()?).ok() };
    let (id, decisions) = (cycle.id.clone(), cycle.decisions.len());
    let is_current =
        |known: &AnsweredStops| known.schema == STOPS_SCHEMA && known.cycle == id && known.decisions == decisions;
    let fresh = || AnsweredStops { schema: STOPS_SCHEMA, cycle: id.clone(), decisions, trees: BTreeSet::new() };
    let mut known = read().filter(is_current).unwrap_or_else(fresh);
    let most = request.settings().gate.breaker.no_progress;
    if known.trees.len() as u64 >= most || !known.trees.insert(tree.to_owned()) {
        return false;
    }
    let write = || -> std::io::Result<()> {
        if let Some(folder) = path.parent() {
            create_private_dir(folder)?;
        }
        if fs::symlink_metadata(&path).is_ok() && !private::is_regular(&path) {
            return Err(std::io::ErrorKind::InvalidInput.into());
        }
        write_atomic(&path, &serde_json::to_vec(&known)?, 0o600, Durability::Cached)
    };
    write().is_ok()
}
