//! What is wrong with an evaluated tree, as every format lists it.

use super::ReportedEvaluation;
use crate::base::text::count;
use crate::event::{GateFinding, GateItem, GateItemStatus};

/// Something that is wrong, with its place where it has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EvaluationProblem<'a> {
    /// `C2`, or `POLICY`.
    pub rule: &'a str,
    /// Whether it stops an approval.
    pub is_blocking: bool,
    /// Why a person lets it pass.
    pub waived: Option<&'a str>,
    /// The file, relative to the root.
    pub path: Option<&'a str>,
    /// The line, from 1.
    pub line: Option<u32>,
    /// What is wrong, and what helps.
    pub message: String,
    /// Tells it from others of the rule in the same file, without line numbers.
    pub identity: String,
}

/// The problems of an evaluation, in the order of its items.
pub(super) fn list_problems<'a>(evaluation: &ReportedEvaluation<'a>) -> Vec<EvaluationProblem<'a>> {
    let may_block = !evaluation.is_approved();
    let of_items = evaluation.items.iter().flat_map(|item| problems_of_item(item, may_block));
    let of_issues = evaluation.issues.iter().map(|issue| EvaluationProblem {
        rule: issue.kind.as_str(),
        is_blocking: may_block,
        waived: None,
        path: None,
        line: None,
        message: issue.message.clone(),
        identity: issue.message.clone(),
    });
    of_items.chain(of_issues).collect()
}

fn problems_of_item(item: &GateItem, may_block: bool) -> Vec<EvaluationProblem<'_>> {
    let waived = match item.status {
        GateItemStatus::Pass | GateItemStatus::NotApplicable => return Vec::new(),
        GateItemStatus::Waived => Some(item.reason.as_deref().unwrap_or("waived")),
        GateItemStatus::Fail | GateItemStatus::NotEvaluated => None,
    };
    let problem = |message: String, identity: String| EvaluationProblem {
        rule: &item.id,
        is_blocking: item.blocking && may_block && waived.is_none(),
        waived,
        path: None,
        line: None,
        message,
        identity,
    };
    if item.findings.is_empty() || item.status == GateItemStatus::NotEvaluated {
        return vec![problem(describe_item(item), item.id.clone())];
    }
    let mut problems = Vec::with_capacity(item.findings.len());
    for GateFinding { path, line, message, fix, pattern } in &item.findings {
        let help = fix.as_ref().map(|fix| format!(" (fix: {fix})")).unwrap_or_default();
        let identity = pattern.clone().unwrap_or_else(|| message.clone());
        let place = problem(format!("{message}{help}"), identity);
        problems.push(EvaluationProblem { path: path.as_deref(), line: *line, ..place });
    }
    if item.findings_cut > 0 {
        problems.push(problem(format!("{} not listed", count(item.findings_cut, "more finding")), "cut".to_owned()));
    }
    problems
}

/// `100% tests pass: not evaluated: no test ran`
pub(super) fn describe_item(item: &GateItem) -> String {
    let state = match item.status {
        GateItemStatus::NotEvaluated => "not evaluated",
        GateItemStatus::NotApplicable => "not applicable",
        GateItemStatus::Waived => "waived",
        GateItemStatus::Pass | GateItemStatus::Fail => "",
    };
    let parts = [item.criterion.as_str(), state, item.reason.as_deref().unwrap_or_default(), &item.details];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ")
}
