//! From what was measured to the state of an item. Pure.

use std::collections::BTreeMap;

use super::policy::{ChecklistItem, ItemSource, MappedCommand, Metric, MetricValue, Truth};
use crate::base::text;
use crate::event::{GateFinding, GateItem, GateItemStatus};

/// Findings of an item that are kept.
const FINDINGS_MAX: usize = 200;
/// A message, the details or the reason of an item, bytes.
const TEXT_BYTES_MAX: usize = 1_000;

/// What was measured for an item, in one project or in the whole work tree.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ItemEvidence {
    /// The project's folder, where the work tree has several.
    pub project: Option<String>,
    /// The metrics.
    pub values: BTreeMap<Metric, MetricValue>,
    /// Figures for people.
    pub details: Vec<String>,
    /// What is wrong.
    pub findings: Vec<GateFinding>,
    /// The commands that ran, as they were executed.
    pub commands: Vec<String>,
    /// Why the item does not apply here.
    pub not_applicable: Option<String>,
}

impl ItemEvidence {
    /// Evidence that the item does not apply.
    pub(crate) fn without_application(reason: impl Into<String>) -> ItemEvidence {
        ItemEvidence { not_applicable: Some(reason.into()), ..ItemEvidence::default() }
    }

    /// Evidence that could not be obtained: each metric of the item is unknown for this reason.
    pub(crate) fn unknown(item: &ChecklistItem, reason: impl Into<String>) -> ItemEvidence {
        let reason = reason.into();
        let metrics = item.expression.metrics().into_iter();
        let values = metrics.map(|metric| (metric, MetricValue::Unknown(reason.clone()))).collect();
        ItemEvidence { values, ..ItemEvidence::default() }
    }
}

/// The judged items of an evaluation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JudgedItems {
    /// The items, in the order of the checklist.
    pub items: Vec<GateItem>,
    /// The git tree of the work tree after the last command.
    pub tree_after: String,
}

/// The state of an item in one project.
struct ProjectState {
    status: GateItemStatus,
    reasons: Vec<String>,
}

/// Judges an item. Over several projects the worst state counts; without evidence it is not evaluated.
pub(crate) fn judge_item(item: &ChecklistItem, category: &str, evidence: Vec<ItemEvidence>) -> GateItem {
    let mut judged = GateItem {
        id: item.id.clone(),
        category: category.to_owned(),
        criterion: item.criterion.clone(),
        blocking: item.blocking,
        status: GateItemStatus::NotApplicable,
        details: String::new(),
        reason: None,
        commands: Vec::new(),
        findings: Vec::new(),
        findings_cut: 0,
    };
    if let Some(statement) = &item.not_applicable {
        judged.reason = Some(format!("{} (says {})", statement.reason, statement.by));
        return judged;
    }
    let mut reasons: Vec<String> = Vec::new();
    let mut details = Vec::new();
    if evidence.is_empty() {
        judged.status = GateItemStatus::NotEvaluated;
        reasons.push("nothing measures it here".to_owned());
    }
    for one in evidence {
        let state = judge_project(item, &one);
        let place = one.project.as_ref().map_or_else(String::new, |project| format!("{project}: "));
        if rank_status(state.status) > rank_status(judged.status) {
            judged.status = state.status;
            reasons.clear();
        }
        if state.status == judged.status {
            reasons.extend(state.reasons.into_iter().map(|reason| format!("{place}{reason}")));
        }
        details.extend(one.details.into_iter().map(|detail| format!("{place}{detail}")));
        judged.commands.extend(one.commands);
        judged.findings.extend(one.findings);
    }
    reasons.dedup();
    judged.findings_cut = judged.findings.len().saturating_sub(FINDINGS_MAX) as u64;
    judged.findings.truncate(FINDINGS_MAX);
    judged.findings.iter_mut().for_each(|finding| finding.message = bounded_line(&finding.message));
    judged.details = bounded_line(&details.join("; "));
    judged.reason = (!reasons.is_empty()).then(|| bounded_line(&reasons.join("; ")));
    judged
}

fn bounded_line(line: &str) -> String {
    text::ellipsis(&text::one_line(line), TEXT_BYTES_MAX)
}

/// Higher is worse.
fn rank_status(status: GateItemStatus) -> u8 {
    match status {
        GateItemStatus::NotApplicable => 0,
        GateItemStatus::Pass | GateItemStatus::Waived => 1,
        GateItemStatus::NotEvaluated => 2,
        GateItemStatus::Fail => 3,
    }
}

fn judge_project(item: &ChecklistItem, evidence: &ItemEvidence) -> ProjectState {
    if let Some(reason) = &evidence.not_applicable {
        return ProjectState { status: GateItemStatus::NotApplicable, reasons: vec![reason.clone()] };
    }
    let is_check = matches!(item.source, ItemSource::Mapped(MappedCommand::Test | MappedCommand::Lint));
    let is_weakened = evidence.values.get(&Metric::Weakened) == Some(&MetricValue::Fact(true));
    if is_check && item.has_guards && is_weakened {
        return ProjectState { status: GateItemStatus::Fail, reasons: Vec::new() };
    }
    match item.expression.evaluate(&evidence.values) {
        Truth::True => ProjectState { status: GateItemStatus::Pass, reasons: Vec::new() },
        Truth::False => ProjectState { status: GateItemStatus::Fail, reasons: Vec::new() },
        Truth::Unknown(reasons) => ProjectState { status: GateItemStatus::NotEvaluated, reasons },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::policy::{Checklist, SHIPPED_CHECKLIST};

    fn judge(id: &str, evidence: Vec<ItemEvidence>) -> GateItem {
        let checklist = Checklist::parse(SHIPPED_CHECKLIST, "c").expect("the shipped checklist");
        let item = checklist.items().find(|item| item.id == id).expect("the item");
        judge_item(item, "Functionality", evidence)
    }

    fn tests_ended(code: f64, weakened: bool) -> ItemEvidence {
        let values = [(Metric::ExitCode, MetricValue::Number(code)), (Metric::Weakened, MetricValue::Fact(weakened))];
        ItemEvidence { values: values.into(), ..ItemEvidence::default() }
    }

    #[test]
    fn a_pass_with_a_weakened_check_fails() {
        assert_eq!(judge("F1", vec![tests_ended(0.0, false)]).status, GateItemStatus::Pass);
        assert_eq!(judge("F1", vec![tests_ended(0.0, true)]).status, GateItemStatus::Fail);
        assert_eq!(judge("F1", vec![tests_ended(1.0, false)]).status, GateItemStatus::Fail);
    }

    #[test]
    fn over_several_projects_the_worst_state_counts_with_its_reasons() {
        let unknown = ItemEvidence {
            project: Some("web".into()),
            values: [(Metric::ExitCode, MetricValue::Unknown("no test ran".into()))].into(),
            ..ItemEvidence::default()
        };
        let absent = ItemEvidence::without_application("no tests here");
        let judged = judge("F1", vec![absent.clone(), unknown.clone(), tests_ended(0.0, false)]);
        assert_eq!((judged.status, judged.reason.as_deref()), (GateItemStatus::NotEvaluated, Some("web: no test ran")));
        let failed = judge("F1", vec![unknown, tests_ended(2.0, false)]);
        assert_eq!((failed.status, failed.reason), (GateItemStatus::Fail, None));
        assert_eq!(judge("F1", vec![absent]).status, GateItemStatus::NotApplicable);
    }

    #[test]
    fn nothing_is_passed_without_evidence() {
        let judged = judge("F1", Vec::new());
        assert_eq!(
            (judged.status, judged.reason.as_deref()),
            (GateItemStatus::NotEvaluated, Some("nothing measures it here"))
        );
    }
}
