//! Checkstyle's XML, as its `XMLLogger` writes it: the errors below their files.

use std::collections::BTreeMap;
use std::io;

use super::reported_run::{ReportedRun, items_of_runs, message_text, rule_name};
use super::xml::{XmlWriter, render_document, xml_text};
use crate::event::DiagnosticRecord;

/// Placeholder where no file is known: every error is below one.
const NO_FILE: &str = ".";
/// The version whose reader the format is older than; readers look at it to tell Checkstyle's file from others.
const VERSION: &str = "10.0";

pub(super) fn render_checkstyle(runs: &[ReportedRun]) -> String {
    let mut files: BTreeMap<&str, Vec<(&ReportedRun, &DiagnosticRecord)>> = BTreeMap::new();
    for (run, item) in items_of_runs(runs) {
        files.entry(item.file.as_deref().unwrap_or(NO_FILE)).or_default().push((run, item));
    }
    render_document("checkstyle", &[("version", VERSION)], |writer| {
        for (file, found) in files {
            let element = writer.create_element("file").with_attribute(("name", xml_text(file).as_str()));
            element.write_inner_content(|writer| {
                found.into_iter().try_for_each(|(run, item)| write_error(writer, run, item))
            })?;
        }
        Ok(())
    })
}

fn write_error(writer: &mut XmlWriter, run: &ReportedRun, item: &DiagnosticRecord) -> io::Result<()> {
    // Line 0 is what Checkstyle writes for a problem of the whole file.
    let (line, column) = (item.line.unwrap_or(0).to_string(), item.col.map(|column| column.to_string()));
    let message = xml_text(&message_text(item));
    let source = xml_text(&format!("{}.{}", item.tool, rule_name(item, run)));
    let error = writer
        .create_element("error")
        .with_attribute(("line", line.as_str()))
        .with_attributes(column.as_deref().map(|column| ("column", column)))
        .with_attributes([("severity", item.severity.as_str()), ("message", &message), ("source", &source)]);
    error.write_empty().map(|_| ())
}
