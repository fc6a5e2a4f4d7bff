//! The Markdown page of a CI job: what failed, what is known about it, and the output.

#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use super::reported_run::{ReportedRun, message_text, rule_name};
use crate::base::markdown::{code, escaped, fence};
use crate::base::text::{count, ellipsis, one_line};
use crate::event::DiagnosticRecord;

/// Problems of a run that are listed.
const ITEMS_MAX: usize = 50;
/// A problem's message, and a command, bytes.
const TEXT_BYTES_MAX: usize = 400;
/// Lines of output that are shown.
const LINES_MAX: usize = 60;
/// Room that is kept for saying that something is left out, bytes.
const CLOSING_BYTES: usize = 120;

/// A run with what is known about its failure.
pub(crate) struct SummarizedRun {
    /// The run.
    pub run: ReportedRun,
    /// A line per earlier failure that is like this one.
    pub known: Vec<String>,
}

/// The page, of at most `room` bytes: empty if that is too little for anything. What has no room is counted.
pub(crate) fn render_job_summary(runs: &[SummarizedRun], room: usize) -> String {
    if runs.is_empty() {
        return String::new();
    }
    let failed = runs.iter().filter(|run| !run.run.record.ended.passed()).count();
    let checks = count(runs.len(), "check");
    let title = match failed {
        0 => format!("{checks} passed"),
        _ => format!("{failed} of {checks} failed"),
    };
    let mut page = format!("### verify-run: {title}\n\n");
    let mut left_out = 0;
    // Those that failed first: there may not be room for all.
    let passed = |run: &&SummarizedRun| run.run.record.ended.passed();
    for run in runs.iter().filter(|run| !passed(run)).chain(runs.iter().filter(passed)) {
        let fits = |part: &String| page.len() + part.len() + CLOSING_BYTES <= room;
        match [true, false].into_iter().map(|is_whole| failure_section(run, is_whole)).find(fits) {
            Some(part) => page.push_str(&part),
            None => left_out += 1,
        }
    }
    if left_out > 0 {
        let _ = writeln!(page, "- {} left out: the summary is full", count(left_out, "more check"));
    }
    page.push('\n');
    if page.len() > room { String::new() } else { page }
}

/// What there is to say of one run; in short: without what was printed.
fn failure_section(summarized: &SummarizedRun, is_whole: bool) -> String {
    let SummarizedRun { run, known } = summarized;
    let command = code(&ellipsis(&one_line(&run.command()), TEXT_BYTES_MAX));
    let seconds = run.record.duration_us.div_ceil(100_000);
    let time = format!("{}.{} s", seconds / 10, seconds % 10);
    if run.record.ended.passed() {
        return format!("- passed: {command} ({time})\n");
    }
    let mut text = format!("- **failed**: {command} ({}, {time})\n", run.ending());
    for known in known {
        let _ = writeln!(text, "  - {}", escaped(known));
    }
    let items = run.items();
    let listed = if is_whole { ITEMS_MAX } else { 0 };
    for item in items.iter().take(listed) {
        let _ = writeln!(text, "  - {}", problem_line(run, item));
    }
    let more = items.len().saturating_sub(listed) + run.cut();
    if more > 0 {
        let _ = writeln!(text, "  - {}", count(more, if is_whole { "more problem" } else { "problem" }));
    }
    if is_whole && let Some(failure) = run.record.failure.as_ref().filter(|failure| !failure.lines.is_empty()) {
        let lines = failure.lines.iter().take(LINES_MAX).map(String::as_str).collect::<Vec<_>>().join("\n");
        let cut = failure.lines_cut > 0 || failure.lines.len() > LINES_MAX;
        let _ = write!(text, "\n<details><summary>Output</summary>\n\n{}\n</details>\n\n", fence("text", &lines, cut));
    }
    text
}

/// `src/a.ts:3:5`, the rule, the message: each in a code span, which nothing of a tool's leaves.
fn problem_line(run: &ReportedRun, item: &DiagnosticRecord) -> String {
    let mut parts = Vec::new();
    if let Some(file) = &item.file {
        let mut place = file.clone();
        for number in [item.line, item.line.and(item.col)].into_iter().flatten() {
            let _ = write!(place, ":{number}");
        }
        parts.push(code(&ellipsis(&one_line(&place), TEXT_BYTES_MAX)));
    }
    if item.code.is_some() {
        parts.push(code(&ellipsis(&one_line(rule_name(item, run)), TEXT_BYTES_MAX)));
    }
    parts.push(code(&ellipsis(&one_line(&message_text(item)), TEXT_BYTES_MAX)));
    parts.join(" ")
}
