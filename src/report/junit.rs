//! JUnit XML, valid by Jenkins' schema and by the stricter one of Ant's tasks: a suite a tool, a case an item.

use std::fmt::Write as _;

use super::reported_run::{ReportedRun, message_text, rule_name};
use super::text::escape_xml;
use crate::event::DiagnosticRecord;

pub(super) fn render_junit(runs: &[ReportedRun]) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    let suites = runs.iter().flat_map(|run| run.tools().into_iter().map(move |tool| (run, tool)));
    for (id, (run, tool)) in suites.enumerate() {
        append_suite(&mut out, run, id, &tool);
    }
    out.push_str("</testsuites>\n");
    out
}

fn append_suite(out: &mut String, run: &ReportedRun, id: usize, tool: &str) {
    let items: Vec<&DiagnosticRecord> = run.items().iter().filter(|item| item.tool == tool).collect();
    // Ant's schema has no place for a time zone; the time is UTC.
    let started = run.record.started_at.rfc3339();
    let started = started.get(..19).unwrap_or("1970-01-01T00:00:00");
    let seconds = run.record.duration_us / 1_000_000;
    let micros = run.record.duration_us % 1_000_000;
    let unexplained = run.is_unexplained();
    let (tests, failures) = (items.len().max(1), items.len() + usize::from(unexplained));
    let name = escape_xml(tool);
    let _ = writeln!(
        out,
        "  <testsuite name=\"{name}\" id=\"{id}\" package=\"{name}\" hostname=\"localhost\" timestamp=\"{started}\" \
         tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" time=\"{seconds}.{micros:06}\">"
    );
    let command = escape_xml(&run.command());
    let _ = writeln!(out, "    <properties><property name=\"command\" value=\"{command}\"/></properties>");
    for item in &items {
        append_case(out, run, item);
    }
    if items.is_empty() {
        // Readers take a suite without a case for a broken one.
        let case = format!("<testcase name=\"{command}\" classname=\"{name}\" time=\"{seconds}.{micros:06}\"");
        let _ = if unexplained {
            let (rule, ending) = (escape_xml(run.category()), escape_xml(&run.ending()));
            writeln!(out, "    {case}><failure type=\"{rule}\" message=\"{ending}\">{ending}</failure></testcase>")
        } else {
            writeln!(out, "    {case}/>")
        };
    }
    out.push_str("    <system-out></system-out>\n    <system-err></system-err>\n  </testsuite>\n");
}

fn append_case(out: &mut String, run: &ReportedRun, item: &DiagnosticRecord) {
    let place = location_text(item);
    let rule = rule_name(item, run);
    let name = item
        .test
        .clone()
        .unwrap_or_else(|| if place.is_empty() { rule.to_owned() } else { format!("{rule} at {place}") });
    let class = item.file.as_deref().unwrap_or(&item.tool);
    let body = if place.is_empty() { message_text(item) } else { format!("{place}: {}", message_text(item)) };
    let _ = writeln!(
        out,
        "    <testcase name=\"{}\" classname=\"{}\" time=\"0\"><failure type=\"{}\" message=\"{}\">{}</failure></testcase>",
        escape_xml(&name),
        escape_xml(class),
        escape_xml(rule),
        escape_xml(item.message.lines().next().unwrap_or_default()),
        escape_xml(&body)
    );
}

/// `file:line:col`, as far as it is known.
fn location_text(item: &DiagnosticRecord) -> String {
    let mut place = item.file.clone().unwrap_or_default();
    for number in [item.line, item.line.and(item.col)].into_iter().flatten().filter(|_| item.file.is_some()) {
        let _ = write!(place, ":{number}");
    }
    place
}
