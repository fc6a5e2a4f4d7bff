//! An evaluation as GitHub's workflow commands: what blocks is an error, the rest a warning; what is waived is not listed.

use std::fmt::Write as _;

use super::problem::{EvaluationProblem, list_problems};
use super::{ReportedEvaluation, TOOL};
use crate::base::text::{count, one_line};
use crate::report::github::{ANNOTATIONS_MAX, escape_data, escape_property};
use crate::report::text::bounded_text;

pub(super) fn render_annotations(evaluation: &ReportedEvaluation<'_>) -> String {
    let problems = list_problems(evaluation);
    let mut out = String::new();
    for (command, is_blocking) in [("error", true), ("warning", false)] {
        let of_kind = |problem: &&EvaluationProblem<'_>| problem.is_blocking == is_blocking && problem.waived.is_none();
        let problems: Vec<&EvaluationProblem<'_>> = problems.iter().filter(of_kind).collect();
        for problem in problems.iter().take(ANNOTATIONS_MAX) {
            let path = problem.path.map(|path| format!("file={},", escape_property(&bounded_text(&one_line(path)))));
            let line = problem.line.filter(|line| *line > 0 && path.is_some());
            let line = line.map(|line| format!("line={line},")).unwrap_or_default();
            let title = escape_property(&bounded_text(&one_line(&format!("{TOOL}: {}", problem.rule))));
            let message = escape_data(&bounded_text(&problem.message));
            let _ = writeln!(out, "::{command} {}{line}title={title}::{message}", path.unwrap_or_default());
        }
        if let Some(more) = problems.len().checked_sub(ANNOTATIONS_MAX).filter(|more| *more > 0) {
            let _ =
                writeln!(out, "verify-run: {} more: a step shows {ANNOTATIONS_MAX} of each kind", count(more, command));
        }
    }
    out
}
