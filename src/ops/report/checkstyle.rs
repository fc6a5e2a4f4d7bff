//! Checkstyle's XML, as its `XMLLogger` writes it: the errors below their files.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::text::escape_xml;
use super::{Subject, items, message, rule};
use crate::event::DiagnosticRecord;

/// Stands for a file where none is known: every error is below one.
const NO_FILE: &str = ".";

pub(super) fn render_checkstyle(subjects: &[Subject]) -> String {
    let mut files: BTreeMap<&str, Vec<(&Subject, &DiagnosticRecord)>> = BTreeMap::new();
    for (subject, item) in items(subjects) {
        files.entry(item.file.as_deref().unwrap_or(NO_FILE)).or_default().push((subject, item));
    }
    // The version whose reader the format is older than; readers look at it to tell Checkstyle's file from others.
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<checkstyle version=\"10.0\">\n");
    for (file, found) in files {
        let _ = writeln!(out, "  <file name=\"{}\">", escape_xml(file));
        for (subject, item) in found {
            let column = item.col.map(|col| format!(" column=\"{col}\"")).unwrap_or_default();
            let _ = writeln!(
                out,
                "    <error line=\"{}\"{column} severity=\"{}\" message=\"{}\" source=\"{}\"/>",
                // What Checkstyle writes for a problem of the whole file.
                item.line.unwrap_or(0),
                item.severity.as_str(),
                escape_xml(&message(item)),
                escape_xml(&format!("{}.{}", item.tool, rule(item, subject)))
            );
        }
        out.push_str("  </file>\n");
    }
    out.push_str("</checkstyle>\n");
    out
}
