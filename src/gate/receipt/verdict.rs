//! A verdict of the gate as an in-toto Statement v1 with the predicate `svr/v0.1` (simple verification result).
//!
//! The predicate lists what was verified and has no place for what failed. So that ignoring a part never turns a refusal
//! into an approval (in-toto's monotonic principle), a tree that a person accepted has a property of its own instead of
//! the approval.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::descriptor::{BadStatement, ResourceDescriptor, STATEMENT_TYPE, check_head, sha256_hex};
use super::mismatch::StatementMismatch;
use crate::event::{GateItemStatus, GateStart, GateVerdict};
use crate::gate::report::EvaluationView;

/// Its `predicateType`.
pub(super) const VERIFICATION_RESULT: &str = "https://in-toto.io/attestation/svr/v0.1";
/// Who verified: the gate of verify-run. The number rises when a verdict means something else.
const VERIFIER: &str = "https://crates.io/crates/verify-run#gate/v1";
/// The computed verdict is APPROVE.
pub(crate) const APPROVED: &str = "VERIFY_RUN_GATE_APPROVED";
/// The computed verdict is REJECT, and a person accepted the tree after an escalation.
pub(crate) const ACCEPTED: &str = "VERIFY_RUN_GATE_ACCEPTED";
/// What the properties begin with.
const PREFIX: &str = "VERIFY_RUN_";

/// An in-toto statement about a verdict. Fields that are not listed are left alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct VerdictStatement {
    #[serde(rename = "_type")]
    statement_type: String,
    subject: Vec<ResourceDescriptor>,
    #[serde(rename = "predicateType")]
    predicate_type: String,
    predicate: VerificationResult,
}

/// What `svr/v0.1` says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct VerificationResult {
    verifier: Verifier,
    time_created: String,
    properties: Vec<String>,
    /// An extension: which evaluation it was, and what people decided. It changes the meaning of no other field.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    verify_run_evaluation: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Verifier {
    id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    policy: Option<ResourceDescriptor>,
}

impl VerdictStatement {
    /// The statement of an evaluation; `subject` names the repository.
    pub(crate) fn from_evaluation(view: &EvaluationView<'_>, subject: &str) -> Self {
        let (start, outcome) = (&view.evaluation.start, &view.evaluation.outcome);
        let waived = outcome.items.iter().filter(|item| item.status == GateItemStatus::Waived);
        let waivers: Vec<Value> = waived.map(|item| json!({ "item": item.id, "reason": item.reason })).collect();
        let decisions = view.cycle.decisions.iter();
        let decisions: Vec<Value> =
            decisions.map(|it| json!({ "what": it.what, "by": it.person, "reason": it.reason })).collect();
        let about: [(&str, Value); 6] = [
            ("id", view.evaluation.id.clone().into()),
            ("feature", start.feature.clone().into()),
            ("base", start.base.clone().into()),
            ("changeKind", start.change_kind.clone().into()),
            ("waivers", waivers.into()),
            ("decisions", decisions.into()),
        ];
        let verify_run_evaluation = about.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        VerdictStatement {
            statement_type: STATEMENT_TYPE.to_owned(),
            subject: vec![ResourceDescriptor::with_tree(subject, &outcome.tree)],
            predicate_type: VERIFICATION_RESULT.to_owned(),
            predicate: VerificationResult {
                verifier: Verifier { id: VERIFIER.to_owned(), policy: describe_policy(start) },
                time_created: view.evaluation.at.rfc3339(),
                properties: list_properties(view),
                verify_run_evaluation,
            },
        }
    }

    /// Reads a statement whose predicate is a verification result.
    ///
    /// # Errors
    /// When it isn't one, lacks its tree, or is another verifier's.
    pub(super) fn parse(json: &[u8]) -> Result<Self, BadStatement> {
        let statement: VerdictStatement =
            serde_json::from_slice(json).map_err(|error| BadStatement(error.to_string()))?;
        check_head(&statement.statement_type, &statement.subject)?;
        let verifier = &statement.predicate.verifier.id;
        if verifier != VERIFIER {
            return Err(BadStatement(format!("its verifier is {verifier:?}")));
        }
        Ok(statement)
    }

    /// The JSON document.
    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The git tree that it is about, hex.
    pub(crate) fn tree(&self) -> Option<&str> {
        self.subject.first()?.tree()
    }

    /// What was verified.
    pub(crate) fn properties(&self) -> &[String] {
        &self.predicate.properties
    }

    /// Whether it says that these properties hold of this tree, where one is given; without any, that the gate approved it.
    ///
    /// # Errors
    /// [`StatementMismatch`]
    pub(crate) fn prove(&self, tree: Option<&str>, properties: &[String]) -> Result<(), StatementMismatch> {
        let found = self.tree().unwrap_or_default();
        if tree.is_some_and(|tree| tree != found) {
            return Err(StatementMismatch::OtherTree(found.to_owned()));
        }
        let approved = [APPROVED.to_owned()];
        let wanted = if properties.is_empty() { &approved } else { properties };
        match wanted.iter().find(|wanted| !self.predicate.properties.contains(wanted)) {
            Some(missing) => Err(StatementMismatch::NoProperty(missing.clone())),
            None => Ok(()),
        }
    }
}

/// The policy files. The digest is that of the list which `sha256sum` prints of them, sorted by name.
fn describe_policy(start: &GateStart) -> Option<ResourceDescriptor> {
    if start.policy_files.is_empty() {
        return None;
    }
    let files: BTreeMap<&str, &str> =
        start.policy_files.iter().map(|file| (file.name.as_str(), file.sha256.as_str())).collect();
    let list: String = files.iter().map(|(name, digest)| format!("{digest}  {name}\n")).collect();
    Some(ResourceDescriptor::with_sha256("policy", sha256_hex(list.as_bytes()), json!({ "files": files })))
}

/// The approval, and the items that pass. One that is waived, does not apply or was not evaluated has no property.
fn list_properties(view: &EvaluationView<'_>) -> Vec<String> {
    let outcome = &view.evaluation.outcome;
    let is_computed = outcome.verdict == GateVerdict::Approve;
    let verdict = match (is_computed, view.dual_gate().gate_1) {
        (true, _) => Some(APPROVED.to_owned()),
        (false, true) => Some(ACCEPTED.to_owned()),
        (false, false) => None,
    };
    // Items whose names differ in signs only have one property: it holds when all of them pass.
    let mut passed: BTreeMap<String, bool> = BTreeMap::new();
    for item in &outcome.items {
        *passed.entry(property_of_item(&item.id)).or_insert(true) &= item.status == GateItemStatus::Pass;
    }
    let names = outcome.items.iter().map(|item| property_of_item(&item.id));
    let mut properties: Vec<String> = verdict.into_iter().collect();
    for name in names.filter(|name| passed.get(name) == Some(&true)) {
        if !properties.contains(&name) {
            properties.push(name);
        }
    }
    properties
}

/// `VERIFY_RUN_F1`. An item called `GATE_APPROVED` cannot take the verdict's name.
fn property_of_item(id: &str) -> String {
    let word = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    let name: String = id.chars().map(word).collect();
    let item = if name.starts_with("GATE_") { "ITEM_" } else { "" };
    format!("{PREFIX}{item}{name}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock::Timestamp;
    use crate::config::GateSettings;
    use crate::event::{GateItem, GateOutcome, GatePolicyFile, GateResolution, GateStep, sample};
    use crate::gate::cycle::{CycleEvaluation, CycleRules, CycleState, WorkTreeGate};
    use crate::store::GateStepRow;

    fn item(id: &str, status: GateItemStatus) -> GateItem {
        GateItem {
            id: id.into(),
            category: "c".into(),
            criterion: "c".into(),
            blocking: true,
            status,
            details: String::new(),
            reason: None,
            commands: Vec::new(),
            findings: Vec::new(),
            findings_cut: 0,
        }
    }

    fn evaluation(verdict: GateVerdict, items: Vec<GateItem>) -> CycleEvaluation {
        let policy_files = vec![GatePolicyFile { name: "qa-checklist.yml".into(), sha256: "ab".repeat(32) }];
        CycleEvaluation {
            id: "g-1".into(),
            at: Timestamp(1_000_000),
            start: GateStart { tree: "aa".into(), policy_files, ..GateStart::default() },
            outcome: GateOutcome { tree: "aa".into(), verdict, items, ..GateOutcome::default() },
        }
    }

    fn statement(evaluation: &CycleEvaluation, cycle: &CycleState) -> VerdictStatement {
        let view = EvaluationView { evaluation, cycle, attempts_max: 3, says_blocked: false };
        let statement = VerdictStatement::from_evaluation(&view, "shop");
        VerdictStatement::parse(statement.to_json().as_bytes()).expect("a statement")
    }

    #[test]
    fn only_what_passes_is_a_property() {
        use GateItemStatus::{Fail, NotApplicable, NotEvaluated, Pass, Waived};
        let items = [
            ("F1", Pass),
            ("C1", Waived),
            ("C2", NotEvaluated),
            ("D1", NotApplicable),
            ("D2", Fail),
            ("x-1", Pass),
            ("x_1", Fail),
            ("gate_approved", Pass),
        ];
        let items = items.map(|(id, status)| item(id, status)).to_vec();
        let rejected = statement(&evaluation(GateVerdict::Reject, items.clone()), &CycleState::default());
        assert_eq!(rejected.properties(), ["VERIFY_RUN_F1", "VERIFY_RUN_ITEM_GATE_APPROVED"]);
        assert_eq!(rejected.prove(None, &[]), Err(StatementMismatch::NoProperty(APPROVED.into())));
        assert_eq!(rejected.prove(Some("aa"), &["VERIFY_RUN_F1".into()]), Ok(()));
        let approved = statement(&evaluation(GateVerdict::Approve, items), &CycleState::default());
        assert_eq!(approved.properties()[0], APPROVED);
        assert_eq!(approved.prove(Some("aa"), &[]), Ok(()));
        assert_eq!(approved.prove(Some("bb"), &[]), Err(StatementMismatch::OtherTree("aa".into())));
    }

    #[test]
    fn a_tree_that_a_person_accepted_is_not_called_approved() {
        let step = |n: i64, step: GateStep| {
            let crate::event::EventBody::Gate(note) = sample::gate_step(1).body else { panic!("a step") };
            let by = crate::event::EventAuthor { person: Some("Ada".into()), ..note.by.clone() };
            GateStepRow { at: Timestamp(n), note: crate::event::GateNote { step, by, ..*note } }
        };
        let rejected = evaluation(GateVerdict::Reject, vec![item("F1", GateItemStatus::Fail)]);
        let steps = [
            step(1, GateStep::Started(Box::new(rejected.start.clone()))),
            step(2, GateStep::Verdict(Box::new(rejected.outcome.clone()))),
            step(3, GateStep::Resolved { decision: GateResolution::Accept, reason: "known".into() }),
        ];
        let gate = WorkTreeGate::from_steps(&steps, CycleRules::from_settings(&GateSettings::default()));
        let cycle = gate.cycle().expect("a cycle");
        let statement = statement(cycle.last.as_ref().expect("an evaluation"), cycle);
        assert_eq!(statement.properties(), [ACCEPTED]);
        assert!(statement.prove(None, &[]).is_err());
        assert_eq!(statement.prove(None, &[ACCEPTED.into()]), Ok(()));
        let decision = &statement.predicate.verify_run_evaluation["decisions"][0];
        assert_eq!((&decision["what"], &decision["by"]), (&"accept".into(), &"Ada".into()));
    }
}
