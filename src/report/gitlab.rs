//! GitLab's code quality report: an array of issues, each with description, `check_name`, a unique fingerprint,
//! severity and location (docs.gitlab.com, "Code Quality", report format).

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::reported_run::{ReportedRun, items_of_runs, message_text, rule_name};
use super::text;
use crate::diagnose::Severity;
use crate::event::DiagnosticRecord;

/// Placeholder where no file is known: every issue must have a place.
const NO_FILE: &str = ".";

pub(super) fn render_code_quality(runs: &[ReportedRun]) -> String {
    let mut issues: Vec<Value> = items_of_runs(runs).map(|(run, item)| code_quality_issue(run, item)).collect();
    // Two checks may have run the same tool over the same files.
    let mut known = BTreeSet::new();
    issues.retain(|issue| known.insert(issue["fingerprint"].to_string()));
    format!("{:#}\n", Value::from(issues))
}

fn code_quality_issue(run: &ReportedRun, item: &DiagnosticRecord) -> Value {
    let file = item.file.as_deref().unwrap_or(NO_FILE);
    // Two issues of one fingerprint are one to GitLab, and the item's key does not hold its file's place in the tree.
    let fingerprint = blake3::hash(format!("{}\0{}\0{file}", item.tool, item.exact).as_bytes()).to_hex();
    json!({
        "description": message_text(item),
        "check_name": text::bounded_text(&format!("{}/{}", item.tool, rule_name(item, run))),
        "fingerprint": fingerprint[..32],
        "severity": match item.severity {
            Severity::Error => "major",
            Severity::Warning => "minor",
            Severity::Info => "info",
        },
        "location": {
            "path": text::bounded_text(file),
            "lines": { "begin": item.line.unwrap_or(1).max(1) },
        },
    })
}
