//! A recorded run, or an evaluation of the quality gate, as a document that CI systems and editors read.
//!
//! The formats, and the specification that each follows: SARIF 2.1.0 (OASIS), JUnit XML (the schemas of Jenkins' and of
//! Ant's tasks, both), GitLab's code quality report, GitHub's workflow commands, Checkstyle's XML, and the Markdown page
//! of a CI job.

mod checkstyle;
mod evaluation;
mod github;
mod gitlab;
mod job_summary;
mod junit;
mod reported_run;
mod sarif;
#[cfg(test)]
mod tests;
mod text;
mod xml;

use crate::base::text::count;

pub(crate) use evaluation::{EvaluationFormat, ReportedEvaluation, render_evaluation};
pub(crate) use job_summary::{SummarizedRun, render_job_summary};
pub(crate) use reported_run::ReportedRun;

/// The format of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReportFormat {
    /// SARIF 2.1.0, one run per tool.
    Sarif,
    /// JUnit XML.
    Junit,
    /// GitLab's code quality report.
    Gitlab,
    /// GitHub's workflow commands.
    Github,
    /// Checkstyle's XML.
    Checkstyle,
}

/// A document in one of the formats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReportDocument {
    /// The document, ending in a newline; empty if the format has nothing to say about a run that passed.
    pub text: String,
    /// What the document leaves out, for standard error.
    pub notes: Vec<String>,
}

/// Writes all `runs` into one document.
pub(crate) fn render_report(runs: &[ReportedRun], format: ReportFormat) -> ReportDocument {
    let mut notes = Vec::new();
    let text = match format {
        ReportFormat::Sarif => sarif::render_sarif(runs),
        ReportFormat::Junit => junit::render_junit(runs),
        ReportFormat::Gitlab => gitlab::render_code_quality(runs),
        ReportFormat::Github => github::render_annotations(runs),
        ReportFormat::Checkstyle => checkstyle::render_checkstyle(runs),
    };
    let cut: usize = runs.iter().map(ReportedRun::cut).sum();
    if cut > 0 {
        notes.push(format!("{} beyond the record's limit are missing here", count(cut, "problem")));
    }
    ReportDocument { text, notes }
}
