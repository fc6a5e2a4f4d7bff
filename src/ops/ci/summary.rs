//! The page of a job, in Markdown: what failed, what is known of it, and what was said.

use std::fmt::Write as _;

use super::Told;
use crate::base::markdown::{code, escaped, fence};
use crate::base::text::{count, ellipsis, one_line};
use crate::event::DiagnosticRecord;
use crate::ops::report::{Subject, message, rule};

/// Problems of a run that are listed.
const ITEMS_MAX: usize = 50;
/// A problem's message, and a command, bytes.
const TEXT_BYTES_MAX: usize = 400;
/// Of the lines of output that were kept so many are shown.
const LINES_MAX: usize = 60;
/// Room that is kept for saying that something is left out, bytes.
const CLOSING_BYTES: usize = 120;

/// The page, of at most `room` bytes: empty where there is not enough for anything. What has no room is counted.
pub(super) fn render_markdown(told: &[Told], room: usize) -> String {
    if told.is_empty() {
        return String::new();
    }
    let failed = told.iter().filter(|told| !told.subject.run.ended.passed()).count();
    let checks = count(told.len(), "check");
    let title = match failed {
        0 => format!("{checks} passed"),
        _ => format!("{failed} of {checks} failed"),
    };
    let mut page = format!("### verify-run: {title}\n\n");
    let mut left_out = 0;
    // Those that failed first: there may not be room for all.
    let passed = |told: &&Told| told.subject.run.ended.passed();
    for told in told.iter().filter(|told| !passed(told)).chain(told.iter().filter(passed)) {
        let fits = |part: &String| page.len() + part.len() + CLOSING_BYTES <= room;
        match [true, false].into_iter().map(|is_whole| failure_section(told, is_whole)).find(fits) {
            Some(part) => page.push_str(&part),
            None => left_out += 1,
        }
    }
    if left_out > 0 {
        let _ = writeln!(page, "- {} left out: there is no room here", count(left_out, "more check"));
    }
    page.push('\n');
    if page.len() > room { String::new() } else { page }
}

/// What there is to say of one run; in short: without what was printed.
fn failure_section(told: &Told, is_whole: bool) -> String {
    let Told { subject, known } = told;
    let command = code(&ellipsis(&one_line(&subject.command()), TEXT_BYTES_MAX));
    let seconds = subject.run.duration_us.div_ceil(100_000);
    let time = format!("{}.{} s", seconds / 10, seconds % 10);
    if subject.run.ended.passed() {
        return format!("- passed: {command} ({time})\n");
    }
    let mut text = format!("- **failed**: {command} ({}, {time})\n", subject.ending());
    for known in known {
        let _ = writeln!(text, "  - {}", escaped(known));
    }
    let items = subject.items();
    let listed = if is_whole { ITEMS_MAX } else { 0 };
    for item in items.iter().take(listed) {
        let _ = writeln!(text, "  - {}", problem_line(subject, item));
    }
    let more = items.len().saturating_sub(listed) + subject.cut();
    if more > 0 {
        let _ = writeln!(text, "  - {}", count(more, if is_whole { "more problem" } else { "problem" }));
    }
    if is_whole && let Some(failure) = subject.run.failure.as_ref().filter(|failure| !failure.lines.is_empty()) {
        let lines = failure.lines.iter().take(LINES_MAX).map(String::as_str).collect::<Vec<_>>().join("\n");
        let cut = failure.lines_cut > 0 || failure.lines.len() > LINES_MAX;
        let _ = write!(
            text,
            "\n<details><summary>What it said</summary>\n\n{}\n</details>\n\n",
            fence("text", &lines, cut)
        );
    }
    text
}

/// `src/a.ts:3:5`, the rule, the message: each in a code span, which nothing of a tool's leaves.
fn problem_line(subject: &Subject, item: &DiagnosticRecord) -> String {
    let mut parts = Vec::new();
    if let Some(file) = &item.file {
        let mut place = file.clone();
        for number in [item.line, item.line.and(item.col)].into_iter().flatten() {
            let _ = write!(place, ":{number}");
        }
        parts.push(code(&ellipsis(&one_line(&place), TEXT_BYTES_MAX)));
    }
    if item.code.is_some() {
        parts.push(code(&ellipsis(&one_line(rule(item, subject)), TEXT_BYTES_MAX)));
    }
    parts.push(code(&ellipsis(&one_line(&message(item)), TEXT_BYTES_MAX)));
    parts.join(" ")
}
