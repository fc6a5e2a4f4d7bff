//! GitHub's workflow commands: `::error file=…,line=…,col=…,title=…::message`. The escaping is that of
//! `@actions/core` (`toolkit/packages/core/src/command.ts`).

use std::fmt::Write as _;

use super::reported_run::{ReportedRun, items_of_runs, message_text, rule_name};
use super::text;
use crate::base::text::{count, one_line};
use crate::diagnose::Severity;
use crate::event::DiagnosticRecord;

/// Annotations of one kind that GitHub shows of a step; it drops the others without a word.
pub(super) const ANNOTATIONS_MAX: usize = 10;

pub(super) fn render_annotations(runs: &[ReportedRun]) -> String {
    let mut out = String::new();
    let unexplained = runs.iter().filter(|run| run.is_unexplained());
    for run in unexplained.clone().take(ANNOTATIONS_MAX) {
        let title = escape_property(&text::bounded_text(&one_line(&run.tool())));
        let message = escape_data(&one_line(&format!("{}: {}", run.command(), run.ending())));
        let _ = writeln!(out, "::error title={title}::{message}");
    }
    let mut taken = unexplained.count();
    for (severity, command) in [(Severity::Error, "error"), (Severity::Warning, "warning"), (Severity::Info, "notice")]
    {
        let items: Vec<_> = items_of_runs(runs).filter(|(_, item)| item.severity == severity).collect();
        for (run, item) in items.iter().take(ANNOTATIONS_MAX.saturating_sub(taken)) {
            append_annotation(&mut out, command, run, item);
        }
        let all = items.len() + std::mem::take(&mut taken);
        if let Some(more) = all.checked_sub(ANNOTATIONS_MAX).filter(|more| *more > 0) {
            let _ =
                writeln!(out, "verify-run: {} more: a step shows {ANNOTATIONS_MAX} of each kind", count(more, command));
        }
    }
    out
}

fn append_annotation(out: &mut String, command: &str, run: &ReportedRun, item: &DiagnosticRecord) {
    let title = format!("{}: {}", item.tool, rule_name(item, run));
    let file = item.file.as_deref().map(one_line);
    let number = |number: Option<u32>| number.filter(|number| *number > 0).map(|number| number.to_string());
    let line = number(item.line).filter(|_| file.is_some());
    let col = number(item.col).filter(|_| line.is_some());
    let properties = [("file", file), ("line", line), ("col", col), ("title", Some(one_line(&title)))];
    let properties: Vec<String> = properties
        .into_iter()
        .filter_map(|(name, value)| Some(format!("{name}={}", escape_property(&text::bounded_text(&value?)))))
        .collect();
    let _ = writeln!(out, "::{command} {}::{}", properties.join(","), escape_data(&message_text(item)));
}

pub(super) fn escape_data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

pub(super) fn escape_property(text: &str) -> String {
    escape_data(text).replace(':', "%3A").replace(',', "%2C")
}
