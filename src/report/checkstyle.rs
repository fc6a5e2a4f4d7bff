//! Checkstyle's XML, as its `XMLLogger` writes it: the errors below their files.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::reported_run::{ReportedRun, items_of_runs, message_text, rule_name};
use super::text::escape_xml;
use crate::event::DiagnosticRecord;

/// Placeholder where no file is known: every error is below one.
const NO_FILE: &str = ".";

pub(super) fn render_checkstyle(runs: &[ReportedRun]) -> String {
    let mut files: BTreeMap<&str, Vec<(&ReportedRun, &DiagnosticRecord)>> = BTreeMap::new();
    for (run, item) in items_of_runs(runs) {
        files.entry(item.file.as_deref().unwrap_or(NO_FILE)).or_default().push((run, item));
    }
    // The version whose reader the format is older than; readers look at it to tell Checkstyle's file from others.
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<checkstyle version=\"10.0\">\n");
    for (file, found) in files {
        let _ = writeln!(out, "  <file name=\"{}\">", escape_xml(file));
        for (run, item) in found {
            let column = item.col.map(|col| format!(" column=\"{col}\"")).unwrap_or_default();
            let _ = writeln!(
                out,
                "    <error line=\"{}\"{column} severity=\"{}\" message=\"{}\" source=\"{}\"/>",
                // What Checkstyle writes for a problem of the whole file.
                item.line.unwrap_or(0),
                item.severity.as_str(),
                escape_xml(&message_text(item)),
                escape_xml(&format!("{}.{}", item.tool, rule_name(item, run)))
            );
        }
        out.push_str("  </file>\n");
    }
    out.push_str("</checkstyle>\n");
    out
}
