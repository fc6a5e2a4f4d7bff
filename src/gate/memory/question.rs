//! The questions, and the tools of a memory server that answer them.

use serde_json::{Value, json};

use crate::event::GateMemoryQuestion;

/// Results that are asked for: of the first two questions, and of the others.
const RESULTS_MAX: u64 = 5;
const FEW_RESULTS_MAX: u64 = 3;
/// The tool that searches everything.
const REFLECT: &str = "csr_reflect_on_past";
/// The tool for decisions, and what takes its place where a server does not have it, the best first.
const DECISIONS: [&str; 3] = ["csr_search_narratives", "csr_search_insights", REFLECT];

/// What the questions are about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct MemorySubject {
    /// The feature.
    pub feature: String,
    /// The stacks that the change touches.
    pub stacks: Vec<String>,
    /// The changed files, those with the most changed lines first, relative to the root.
    pub files: Vec<String>,
}

/// A call of a memory server's tool.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MemoryCall {
    /// The question that it answers.
    pub question: GateMemoryQuestion,
    /// The tool.
    pub tool: &'static str,
    /// The tool that it takes the place of.
    pub stands_for: Option<&'static str>,
    /// The file that it is about.
    pub file: Option<String>,
    /// The arguments.
    pub arguments: Value,
}

impl MemorySubject {
    /// `python patterns conventions`
    pub(crate) fn pattern_words(&self) -> String {
        format!("{} patterns conventions", self.stacks.join(" ")).trim_start().to_owned()
    }

    /// `architecture decision pagination`
    pub(crate) fn decision_words(&self) -> String {
        format!("architecture decision {}", self.feature)
    }
}

/// The calls that a server with these tools takes, and the questions that it has no tool for.
pub(crate) fn plan_calls(tools: &[String], subject: &MemorySubject) -> (Vec<MemoryCall>, Vec<GateMemoryQuestion>) {
    let has = |name: &str| tools.iter().any(|tool| tool == name);
    let mut calls = Vec::new();
    let mut missing = Vec::new();
    let mut add = |question, names: &[&'static str], arguments: Value, file: Option<String>| {
        let Some(tool) = names.iter().copied().find(|name| has(name)) else {
            missing.push(question);
            return;
        };
        let stands_for = names.first().copied().filter(|name| *name != tool);
        calls.push(MemoryCall { question, tool, stands_for, file, arguments });
    };
    let bugs = json!({"query": format!("bugs errors issues {}", subject.feature), "limit": RESULTS_MAX});
    add(GateMemoryQuestion::Failures, &[REFLECT], bugs, None);
    let concept = json!({"concept": subject.pattern_words(), "limit": RESULTS_MAX});
    add(GateMemoryQuestion::Patterns, &["csr_search_by_concept"], concept, None);
    let decisions = json!({"query": subject.decision_words(), "limit": FEW_RESULTS_MAX});
    add(GateMemoryQuestion::Decisions, &DECISIONS, decisions, None);
    for file in &subject.files {
        let arguments = json!({"file_path": file, "limit": FEW_RESULTS_MAX});
        add(GateMemoryQuestion::Files, &["csr_search_by_file"], arguments, Some(file.clone()));
    }
    missing.dedup();
    (calls, missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(tools: &[&str]) -> (Vec<MemoryCall>, Vec<GateMemoryQuestion>) {
        let tools: Vec<String> = tools.iter().map(|tool| (*tool).to_owned()).collect();
        let subject = MemorySubject {
            feature: "page size".into(),
            stacks: vec!["python".into(), "lua".into()],
            files: vec!["a.py".into(), "b.py".into()],
        };
        plan_calls(&tools, &subject)
    }

    #[test]
    fn the_calls_are_those_of_the_specification() {
        let (calls, missing) =
            plan(&["csr_search_by_file", "csr_search_narratives", "csr_search_by_concept", "csr_reflect_on_past"]);
        assert!(missing.is_empty());
        let said: Vec<(&str, String)> = calls.iter().map(|call| (call.tool, call.arguments.to_string())).collect();
        let expected = [
            ("csr_reflect_on_past", r#"{"limit":5,"query":"bugs errors issues page size"}"#),
            ("csr_search_by_concept", r#"{"concept":"python lua patterns conventions","limit":5}"#),
            ("csr_search_narratives", r#"{"limit":3,"query":"architecture decision page size"}"#),
            ("csr_search_by_file", r#"{"file_path":"a.py","limit":3}"#),
            ("csr_search_by_file", r#"{"file_path":"b.py","limit":3}"#),
        ];
        assert_eq!(said, expected.map(|(tool, arguments)| (tool, arguments.to_owned())));
        assert!(calls.iter().all(|call| call.stands_for.is_none()));
    }

    #[test]
    fn a_missing_tool_has_a_named_substitute_or_is_named_itself() {
        let decision = |tools: &[&str]| {
            let (calls, missing) = plan(tools);
            let call = calls.into_iter().find(|call| call.question == GateMemoryQuestion::Decisions);
            (call.map(|call| (call.tool, call.stands_for)), missing)
        };
        let asked_for = Some("csr_search_narratives");
        let (call, missing) = decision(&["csr_reflect_on_past", "csr_search_insights"]);
        assert_eq!(call, Some(("csr_search_insights", asked_for)));
        assert_eq!(missing, [GateMemoryQuestion::Patterns, GateMemoryQuestion::Files]);
        assert_eq!(decision(&["csr_reflect_on_past"]).0, Some(("csr_reflect_on_past", asked_for)));
        assert_eq!(decision(&["other"]).1.len(), 4);
    }
}
