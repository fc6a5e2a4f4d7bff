//! An evaluation for CI systems: a document for them to read, and the page of a job.

use super::run::{GateStanding, PartialEvaluation};
use crate::gate::report::{render_report, render_status_block};
use crate::host::ci::{CiJob, CiSystem};
use crate::ops::request::Request;
use crate::report::{EvaluationFormat, ReportedEvaluation, render_evaluation};

impl GateStanding {
    /// The last evaluation in one of the formats; empty before the first one.
    pub(crate) fn render_as(&self, format: EvaluationFormat) -> String {
        let Some(view) = self.view() else { return String::new() };
        let outcome = &view.evaluation.outcome;
        let evaluation = ReportedEvaluation {
            id: Some(&view.evaluation.id),
            tree: Some(&outcome.tree),
            verdict: Some(view.verdict_word()),
            at: view.evaluation.at,
            duration_us: outcome.duration_us,
            items: &outcome.items,
            issues: &outcome.issues,
        };
        render_evaluation(&evaluation, format)
    }

    /// Appends the report to the page of a job of GitHub Actions; nothing elsewhere. Why not, where that fails.
    pub(crate) fn append_to_job_page(&self) -> Option<String> {
        let job = CiJob::of(CiSystem::Github, |name| std::env::var_os(name));
        let (view, page) = (self.view()?, job.summary.as_ref()?);
        let report = render_report(&view, self.style);
        let short = format!("```text\n{}```\n", render_status_block(&view));
        let written = job.append_to_page(&[&report, &short]);
        written.err().map(|error| format!("cannot write {}: {error}", page.display()))
    }
}

impl PartialEvaluation {
    /// Some items in one of the formats.
    pub(crate) fn render_as(&self, request: &Request, format: EvaluationFormat) -> String {
        let evaluation = ReportedEvaluation {
            id: None,
            tree: None,
            verdict: None,
            at: request.now(),
            duration_us: 0,
            items: &self.items,
            issues: &[],
        };
        render_evaluation(&evaluation, format)
    }
}
