//! Findings with their rules, as linters print them in their machine formats.

use serde::Deserialize;

use super::Adapter;
use super::complexity::{EslintFile, json_after_noise};

/// Findings of a report; the rest is not read.
const FINDINGS_MAX: usize = 20_000;

/// A finding of a linter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolFinding {
    /// The rule.
    pub rule: String,
    /// The file as the tool names it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// What it says.
    pub message: String,
}

#[derive(Deserialize)]
struct RuffFinding {
    code: Option<String>,
    filename: String,
    location: RuffLocation,
    message: String,
}

#[derive(Deserialize)]
struct RuffLocation {
    row: u32,
}

#[derive(Deserialize)]
struct ReviveFinding {
    #[serde(rename = "RuleName")]
    rule_name: String,
    #[serde(rename = "Failure")]
    failure: String,
    #[serde(rename = "Position")]
    position: RevivePosition,
}

#[derive(Deserialize)]
struct RevivePosition {
    #[serde(rename = "Start")]
    start: ReviveStart,
}

#[derive(Deserialize)]
struct ReviveStart {
    #[serde(rename = "Filename")]
    filename: String,
    #[serde(rename = "Line")]
    line: u32,
}

#[derive(Deserialize)]
struct CargoLine {
    message: Option<RustcMessage>,
}

#[derive(Deserialize)]
struct RustcMessage {
    message: String,
    code: Option<RustcCode>,
    spans: Vec<RustcSpan>,
}

#[derive(Deserialize)]
struct RustcCode {
    code: String,
}

#[derive(Deserialize)]
struct RustcSpan {
    file_name: String,
    line_start: u32,
    is_primary: bool,
}

/// The findings of a report. Of other adapters than linters' there are none.
///
/// # Errors
/// When it is no such report.
pub(crate) fn read_findings(adapter: Adapter, output: &str) -> Result<Vec<ToolFinding>, String> {
    let no_report = || format!("{} printed no JSON report", adapter.name());
    let mut found: Vec<ToolFinding> = match adapter {
        Adapter::Eslint => {
            let files: Vec<EslintFile> = json_after_noise(output, '[').ok_or_else(no_report)?;
            let messages = files.into_iter().flat_map(|file| {
                let path = file.file_path;
                file.messages.into_iter().map(move |message| (path.clone(), message))
            });
            messages
                .map(|(file, message)| ToolFinding {
                    rule: message.rule_id.unwrap_or_default(),
                    file,
                    line: message.line,
                    message: message.message,
                })
                .collect()
        }
        Adapter::Ruff => {
            let findings: Vec<RuffFinding> = json_after_noise(output, '[').ok_or_else(no_report)?;
            let to_finding = |it: RuffFinding| ToolFinding {
                rule: it.code.unwrap_or_default(),
                file: it.filename,
                line: it.location.row,
                message: it.message,
            };
            findings.into_iter().map(to_finding).collect()
        }
        Adapter::Revive => {
            // `null` where there is nothing.
            let findings: Option<Vec<ReviveFinding>> = match output.trim() {
                "null" | "" => None,
                _ => Some(json_after_noise(output, '[').ok_or_else(no_report)?),
            };
            let to_finding = |it: ReviveFinding| ToolFinding {
                rule: it.rule_name,
                file: it.position.start.filename,
                line: it.position.start.line,
                message: it.failure,
            };
            findings.unwrap_or_default().into_iter().map(to_finding).collect()
        }
        Adapter::Rustc => output.lines().filter_map(rustc_finding).collect(),
        _ => Vec::new(),
    };
    found.truncate(FINDINGS_MAX);
    Ok(found)
}

fn rustc_finding(line: &str) -> Option<ToolFinding> {
    let line: CargoLine = serde_json::from_str(line).ok()?;
    let message = line.message?;
    let span = message.spans.iter().find(|span| span.is_primary)?;
    Some(ToolFinding {
        rule: message.code?.code,
        file: span.file_name.clone(),
        line: span.line_start,
        message: message.message,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn brief(adapter: Adapter, output: &str) -> Vec<String> {
        let found = read_findings(adapter, output).expect("a report");
        found.iter().map(|it| format!("{}:{} {} {}", it.file, it.line, it.rule, it.message)).collect()
    }

    #[test]
    fn each_linter_s_report_gives_rule_and_place() {
        let eslint = r#"[{"filePath":"a.js","messages":[{"ruleId":"camelcase","message":"m","line":4}]}]"#;
        assert_eq!(brief(Adapter::Eslint, eslint), ["a.js:4 camelcase m"]);
        let ruff = r#"[{"code":"N802","filename":"a.py","location":{"row":3,"column":5},"message":"m"}]"#;
        assert_eq!(brief(Adapter::Ruff, ruff), ["a.py:3 N802 m"]);
        let revive = r#"[{"RuleName":"var-naming","Failure":"m","Position":{"Start":{"Filename":"a.go","Line":7}}}]"#;
        assert_eq!(brief(Adapter::Revive, revive), ["a.go:7 var-naming m"]);
        assert!(brief(Adapter::Revive, "null\n").is_empty());
        let rustc = concat!(
            r#"{"reason":"compiler-artifact"}"#,
            "\n",
            r#"{"reason":"compiler-message","message":{"message":"m","code":{"code":"non_snake_case"},"#,
            r#""spans":[{"file_name":"src/a.rs","line_start":2,"is_primary":true}]}}"#
        );
        assert_eq!(brief(Adapter::Rustc, rustc), ["src/a.rs:2 non_snake_case m"]);
        assert!(read_findings(Adapter::Ruff, "ruff failed\n").is_err());
    }
}
