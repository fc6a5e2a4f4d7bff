//! An evaluation as SARIF 2.1.0: an item is a rule, what a person waived is suppressed.

use serde_json::{Value, json};

use super::problem::{EvaluationProblem, list_problems};
use super::{ReportedEvaluation, TOOL};
use crate::report::sarif::{artifact_location, sarif_document};
use crate::report::text::bounded_text;

pub(super) fn render_sarif(evaluation: &ReportedEvaluation<'_>) -> String {
    let mut rules: Vec<(&str, Value)> = evaluation.items.iter().map(|item| (item.id.as_str(), rule(item))).collect();
    for issue in evaluation.issues {
        let id = issue.kind.as_str();
        if rules.iter().all(|(known, _)| *known != id) {
            rules.push((id, json!({ "id": id })));
        }
    }
    let results: Vec<Value> = list_problems(evaluation).iter().map(|problem| result(problem, &rules)).collect();
    let rules: Vec<Value> = rules.into_iter().map(|(_, rule)| rule).collect();
    let id = evaluation.id.unwrap_or_default();
    sarif_document(vec![json!({
        "tool": { "driver": { "name": TOOL, "rules": rules } },
        "automationDetails": { "id": format!("verify-run/gate/{}", bounded_text(id)) },
        "originalUriBaseIds": { "%SRCROOT%": { "description": { "text": "The project's root." } } },
        "columnKind": "unicodeCodePoints",
        // A verdict was computed, whatever it is.
        "invocations": [{ "executionSuccessful": true, "endTimeUtc": evaluation.at.rfc3339() }],
        "results": results,
        "properties": { "verdict": evaluation.verdict, "tree": evaluation.tree },
    })])
}

fn rule(item: &crate::event::GateItem) -> Value {
    let level = if item.blocking { "error" } else { "warning" };
    json!({
        "id": bounded_text(&item.id),
        "shortDescription": { "text": bounded_text(&item.criterion) },
        "defaultConfiguration": { "level": level },
        "properties": { "category": bounded_text(&item.category) },
    })
}

fn result(problem: &EvaluationProblem<'_>, rules: &[(&str, Value)]) -> Value {
    let identity = blake3::hash(format!("{}\0{}", problem.path.unwrap_or_default(), problem.identity).as_bytes());
    let mut result = json!({
        "ruleId": bounded_text(problem.rule),
        "ruleIndex": rules.iter().position(|(id, _)| *id == problem.rule),
        "level": if problem.is_blocking { "error" } else { "warning" },
        "message": { "text": bounded_text(&problem.message) },
        "partialFingerprints": { "verifyRunGate/v1": identity.to_hex()[..32] },
    });
    if let Some(path) = problem.path {
        let mut place = json!({ "artifactLocation": artifact_location(path) });
        if let Some(line) = problem.line.filter(|line| *line > 0) {
            place["region"] = json!({ "startLine": line });
        }
        result["locations"] = json!([{ "physicalLocation": place }]);
    }
    if let Some(reason) = problem.waived {
        result["suppressions"] = json!([{ "kind": "external", "justification": bounded_text(reason) }]);
    }
    result
}
