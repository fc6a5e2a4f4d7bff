//! JUnit XML, valid by Jenkins' schema and by the stricter one of Ant's tasks: a suite per tool, a case per item.

use std::fmt::Write as _;
use std::io;

use quick_xml::events::BytesText;

use super::reported_run::{ReportedRun, message_text, rule_name};
use super::xml::{XmlWriter, render_document, xml_text};
use crate::event::DiagnosticRecord;

/// A failed case, as both schemas have it.
struct JunitFailure<'a> {
    kind: &'a str,
    message: &'a str,
    body: &'a str,
}

pub(super) fn render_junit(runs: &[ReportedRun]) -> String {
    let suites = runs.iter().flat_map(|run| run.tools().into_iter().map(move |tool| (run, tool)));
    render_document("testsuites", &[], |writer| {
        suites.enumerate().try_for_each(|(id, (run, tool))| write_suite(writer, run, id, &tool))
    })
}

fn write_suite(writer: &mut XmlWriter, run: &ReportedRun, id: usize, tool: &str) -> io::Result<()> {
    let items: Vec<&DiagnosticRecord> = run.items().iter().filter(|item| item.tool == tool).collect();
    // Ant's schema has no place for a time zone; the time is UTC.
    let started = run.record.started_at.rfc3339();
    let started = started.get(..19).unwrap_or("1970-01-01T00:00:00");
    let time = format!("{}.{:06}", run.record.duration_us / 1_000_000, run.record.duration_us % 1_000_000);
    let unexplained = run.is_unexplained();
    let (tests, failures) = (items.len().max(1), items.len() + usize::from(unexplained));
    let (name, command) = (xml_text(tool), xml_text(&run.command()));
    let suite = writer.create_element("testsuite").with_attributes([
        ("name", name.as_str()),
        ("id", &id.to_string()),
        ("package", &name),
        ("hostname", "localhost"),
        ("timestamp", started),
        ("tests", &tests.to_string()),
        ("failures", &failures.to_string()),
        ("errors", "0"),
        ("time", &time),
    ]);
    suite.write_inner_content(|writer| {
        writer.create_element("properties").write_inner_content(|writer| {
            let property =
                writer.create_element("property").with_attributes([("name", "command"), ("value", &command)]);
            property.write_empty().map(|_| ())
        })?;
        items.iter().try_for_each(|item| write_item(writer, run, item))?;
        if items.is_empty() {
            // Readers take a suite without a case for a broken one.
            let ending = run.ending();
            let failure = JunitFailure { kind: run.category(), message: &ending, body: &ending };
            let attributes = [("name", command.as_str()), ("classname", &name), ("time", &time)];
            write_case(writer, attributes, unexplained.then_some(&failure))?;
        }
        writer.create_element("system-out").write_empty()?;
        writer.create_element("system-err").write_empty().map(|_| ())
    })?;
    Ok(())
}

fn write_item(writer: &mut XmlWriter, run: &ReportedRun, item: &DiagnosticRecord) -> io::Result<()> {
    let place = location_text(item);
    let rule = rule_name(item, run);
    let name = item
        .test
        .clone()
        .unwrap_or_else(|| if place.is_empty() { rule.to_owned() } else { format!("{rule} at {place}") });
    let class = item.file.as_deref().unwrap_or(&item.tool);
    let body = if place.is_empty() { message_text(item) } else { format!("{place}: {}", message_text(item)) };
    let failure = JunitFailure { kind: rule, message: item.message.lines().next().unwrap_or_default(), body: &body };
    let (name, class) = (xml_text(&name), xml_text(class));
    write_case(writer, [("name", &name), ("classname", &class), ("time", "0")], Some(&failure))
}

fn write_case(
    writer: &mut XmlWriter,
    attributes: [(&str, &str); 3],
    failure: Option<&JunitFailure<'_>>,
) -> io::Result<()> {
    let case = writer.create_element("testcase").with_attributes(attributes);
    let Some(failure) = failure else { return case.write_empty().map(|_| ()) };
    case.write_inner_content(|writer| {
        let (kind, message) = (xml_text(failure.kind), xml_text(failure.message));
        let element =
            writer.create_element("failure").with_attributes([("type", kind.as_str()), ("message", &message)]);
        element.write_text_content(BytesText::new(&xml_text(failure.body))).map(|_| ())
    })?;
    Ok(())
}

/// `file:line:col`, as far as it is known.
fn location_text(item: &DiagnosticRecord) -> String {
    let mut place = item.file.clone().unwrap_or_default();
    for number in [item.line, item.line.and(item.col)].into_iter().flatten().filter(|_| item.file.is_some()) {
        let _ = write!(place, ":{number}");
    }
    place
}
