//! SARIF 2.1.0 (OASIS, 27 March 2020): one `run` a tool, since a run has one driver.

use serde_json::{Value, json};

use super::reported_run::{ReportedRun, message_text, rule_name};
use super::text;
use crate::config::Category;
use crate::diagnose::Severity;
use crate::event::DiagnosticRecord;
use crate::run::CommandEnd;

pub(super) fn render_sarif(runs: &[ReportedRun]) -> String {
    let of_tools = |run: &ReportedRun| run.tools().iter().map(|tool| sarif_run(run, tool)).collect::<Vec<_>>();
    sarif_document(runs.iter().flat_map(of_tools).collect())
}

/// A document of these `run` objects, with a newline at its end.
pub(super) fn sarif_document(runs: Vec<Value>) -> String {
    let document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": runs,
    });
    format!("{document:#}\n")
}

fn sarif_run(run: &ReportedRun, tool: &str) -> Value {
    let items: Vec<&DiagnosticRecord> = run.items().iter().filter(|item| item.tool == tool).collect();
    let mut rules: Vec<&str> = Vec::new();
    for item in &items {
        let id = rule_name(item, run);
        if !rules.contains(&id) {
            rules.push(id);
        }
    }
    let results: Vec<Value> = items.iter().map(|item| sarif_result(run, item, &rules)).collect();
    let rules: Vec<Value> = rules.iter().map(|id| json!({ "id": text::bounded_text(id) })).collect();
    json!({
        "tool": { "driver": { "name": text::bounded_text(tool), "rules": rules } },
        "automationDetails": { "id": format!("verify-run/{}/", text::bounded_text(tool)) },
        "originalUriBaseIds": { "%SRCROOT%": { "description": { "text": "The project's root." } } },
        "columnKind": "unicodeCodePoints",
        "invocations": [sarif_invocation(run)],
        "results": results,
    })
}

fn sarif_invocation(run: &ReportedRun) -> Value {
    let record = &run.record;
    // The standard's word for "the tool did its job", regardless of its findings.
    let did_its_job =
        !matches!(Category::named(run.category()), Some(Category::ConfigError | Category::MissingDependency));
    let mut invocation = json!({
        "commandLine": run.command(),
        "startTimeUtc": record.started_at.rfc3339(),
        "endTimeUtc": record.ended_at.rfc3339(),
        "executionSuccessful": did_its_job && matches!(record.ended, CommandEnd::Exit(_)),
    });
    match record.ended {
        CommandEnd::Exit(code) => invocation["exitCode"] = code.into(),
        CommandEnd::Signal(signal) => invocation["exitSignalNumber"] = signal.into(),
    }
    if run.cut() > 0 {
        let said = format!("{} problems beyond the record's limit are missing here", run.cut());
        invocation["toolExecutionNotifications"] = json!([{ "level": "note", "message": { "text": said } }]);
    }
    invocation
}

fn sarif_result(run: &ReportedRun, item: &DiagnosticRecord, rules: &[&str]) -> Value {
    let id = rule_name(item, run);
    let mut result = json!({
        "ruleId": text::bounded_text(id),
        "ruleIndex": rules.iter().position(|rule| *rule == id),
        "level": match item.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "note",
        },
        "message": { "text": message_text(item) },
        "occurrenceCount": item.count.max(1),
        "partialFingerprints": { "verifyRunExact/v1": item.exact },
    });
    if let Some(file) = &item.file {
        let mut place = json!({ "artifactLocation": artifact_location(file) });
        if let Some(line) = item.line.filter(|line| *line > 0) {
            place["region"] = json!({ "startLine": line });
            if let Some(col) = item.col.filter(|col| *col > 0) {
                place["region"]["startColumn"] = col.into();
            }
        }
        result["locations"] = json!([{ "physicalLocation": place }]);
    }
    result
}

/// Where a file is: relative to the root, or absolute.
pub(super) fn artifact_location(file: &str) -> Value {
    let mut artifact = json!({ "uri": text::percent_encoded_uri(file) });
    if !file.starts_with('/') {
        artifact["uriBaseId"] = "%SRCROOT%".into();
    }
    artifact
}
