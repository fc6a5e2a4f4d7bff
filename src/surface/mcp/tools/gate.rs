//! `gate_status`: the last verdict of the quality gate. It evaluates nothing.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::{Value, json};

use super::{Tool, object};
use crate::base::refusal::{Refusal, RefusalKind};
use crate::base::text::count;
use crate::event::{GateItem, GateItemStatus};
use crate::ops::gate::{self, GateDocument};
use crate::ops::reply::Reply;
use crate::ops::request::Request;
use crate::surface::mcp::answer::{ToolAnswer, quoted};

/// Items that the text names.
const ITEMS_MAX: usize = 20;

pub(super) const GATE_STATUS: Tool = Tool {
    name: "gate_status",
    title: "Verdict of the quality gate",
    description: "Shows the last evaluation of the quality gate in this work tree: verdict, failing items, attempts, circuit breaker, and what to do next. It evaluates nothing; `verify-run gate run` does. Call it before you say that work is done. The report is the resource verify-run://gate/report.",
    reads: true,
    input: || object(&[], json!({})),
    output: &[("evaluated", "boolean")],
    call: gate_status,
};

/// The structured answer.
#[derive(Serialize)]
struct GateStatusReply {
    /// Whether anything was evaluated in this work tree.
    evaluated: bool,
    /// The last evaluation.
    gate: Option<GateDocument>,
}

fn gate_status(request: &Request, _arguments: Value) -> anyhow::Result<ToolAnswer> {
    let gate = match gate::last_evaluation(request) {
        Ok(standing) => standing.to_document(),
        Err(error) if is_missing(&error) => None,
        Err(error) => return Err(error),
    };
    let text = gate.as_ref().map_or_else(
        || "Nothing was evaluated in this work tree. `verify-run gate run` evaluates the change.\n".to_owned(),
        status_text,
    );
    ToolAnswer::new(&Reply::from(GateStatusReply { evaluated: gate.is_some(), gate }), text)
}

/// Whether there is nothing to show.
fn is_missing(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Refusal>().is_some_and(|refusal| refusal.kind == RefusalKind::NotFound)
}

fn status_text(gate: &GateDocument) -> String {
    let GateDocument { evaluation, phase, attempt, circuit_breaker, tree, .. } = gate;
    let verdict = gate.verdict.to_uppercase();
    let mut text =
        format!("{verdict} ({evaluation}, {phase}, attempt {attempt}, breaker {circuit_breaker}, tree {tree})\n");
    let _ = writeln!(text, "Next: {}\n", quoted(&gate.recommendation));
    let is_failing = |item: &&GateItem| matches!(item.status, GateItemStatus::Fail | GateItemStatus::NotEvaluated);
    let failing: Vec<&GateItem> = gate.items.iter().filter(is_failing).collect();
    for item in failing.iter().take(ITEMS_MAX) {
        let blocking = if item.blocking { "blocking" } else { "warning" };
        let said = item.reason.as_deref().unwrap_or(&item.details);
        let _ =
            writeln!(text, "- {} {} ({blocking}, {}): {}", item.id, quoted(&item.criterion), item.status, quoted(said));
    }
    for issue in &gate.issues {
        let _ = writeln!(text, "- {} (blocking): {}", issue.kind, quoted(&issue.message));
    }
    if failing.len() > ITEMS_MAX {
        let _ = writeln!(text, "- {} more", count(failing.len() - ITEMS_MAX, "item"));
    }
    text
}
