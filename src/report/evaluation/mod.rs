//! An evaluation of the quality gate as a document: each item of the checklist is a rule or a case, each finding a result.

mod annotations;
mod cases;
mod problem;
mod results;

use crate::base::clock::Timestamp;
use crate::event::{GateIssue, GateItem};

/// The name of the tool in documents.
const TOOL: &str = "verify-run gate";

/// The format of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EvaluationFormat {
    /// SARIF 2.1.0.
    Sarif,
    /// JUnit XML.
    Junit,
    /// GitHub's workflow commands.
    Github,
}

/// An evaluation to report on; without a verdict when only some items were asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReportedEvaluation<'a> {
    /// `g-…`
    pub id: Option<&'a str>,
    /// The git tree that was judged.
    pub tree: Option<&'a str>,
    /// `APPROVE` or `REJECT`.
    pub verdict: Option<&'a str>,
    /// When it ended.
    pub at: Timestamp,
    /// Wall time, microseconds.
    pub duration_us: u64,
    /// The items, in the order of the checklist.
    pub items: &'a [GateItem],
    /// What stops an approval beside the items.
    pub issues: &'a [GateIssue],
}

impl ReportedEvaluation<'_> {
    /// Whether nothing blocks: a person may have accepted what fails.
    fn is_approved(&self) -> bool {
        self.verdict == Some("APPROVE")
    }
}

/// The document, ending in a newline; empty if the format has nothing to say.
pub(crate) fn render_evaluation(evaluation: &ReportedEvaluation<'_>, format: EvaluationFormat) -> String {
    match format {
        EvaluationFormat::Sarif => results::render_sarif(evaluation),
        EvaluationFormat::Junit => cases::render_junit(evaluation),
        EvaluationFormat::Github => annotations::render_annotations(evaluation),
    }
}
