//! `warnings` and `check_diff`: before an edit, a command, a commit.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    COMMAND_CHARS_MAX, NAME_CHARS_MAX, Tool, WholeNumber, boolean, files, integer, object, parsed, some, string,
};
use crate::capture::Identity;
use crate::fix::snapshot::DiffScope;
use crate::fix::weakened::RuleSeverity;
use crate::ops::check_diff::{self, CheckDiffOptions};
use crate::ops::reply::Reply;
use crate::ops::request::Request;
use crate::ops::warn;
use crate::retrieval::question::WarnRequest;
use crate::surface::mcp::answer::{ToolAnswer, quoted};

/// Where warnings are shown, as deliveries say it.
pub(crate) const SURFACE: &str = "mcp";
/// Warnings of one answer.
const WARNINGS_MAX: u64 = 5;
/// Places that a text names.
const PLACES_MAX: usize = 30;

pub(super) const WARNINGS: Tool = Tool {
    name: "warnings",
    title: "Known pitfalls",
    description: "Lists known pitfalls of these files, this command or a similar task: at most five, each with the mistake, its cause, how to avoid it and what fixed it. Call it before you edit files or run a check. Often there is \
                  nothing to report.",
    reads: true,
    input: || {
        object(
            &[],
            json!({
                "files": files("Files that you are about to change, relative to the project's folder or absolute"),
                "command": string("A command line that you are about to run", COMMAND_CHARS_MAX),
                "title": string("What the task is about, in a few words", NAME_CHARS_MAX),
                "category": string("What kind of work it is", NAME_CHARS_MAX),
                "task": string("Name of the task; defaults to the branch", NAME_CHARS_MAX),
                "limit": integer("Maximum number of results", 1, WARNINGS_MAX, WARNINGS_MAX),
            }),
        )
    },
    output: &[
        ("enabled", "boolean"),
        ("task", "string"),
        ("warnings", "array"),
        ("pages", "array"),
        ("held_out", "integer"),
    ],
    call: warnings,
};

pub(super) const CHECK_DIFF: Tool = Tool {
    name: "check_diff",
    title: "Does this change weaken a check?",
    description: "Lists where a change weakens a check (tests skipped or deleted, rules disabled, exit codes ignored, thresholds lowered) or reverts a confirmed fix. Checks all uncommitted changes, the staged changes, or a range of commits. Call before you commit.",
    reads: true,
    input: || {
        object(
            &[],
            json!({
                "staged": boolean("Check only staged changes"),
                "range": string("Range as in git diff: A..B, A...B, A^!, or a commit", NAME_CHARS_MAX),
                "certain": boolean("Omit changes that only probably weaken a check"),
            }),
        )
    },
    output: &[("weakened", "array"), ("regressions", "array"), ("deprecated", "array"), ("cut", "integer")],
    call: check_diff,
};

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct WarningsArguments {
    files: Vec<PathBuf>,
    command: Option<String>,
    title: Option<String>,
    category: Option<String>,
    task: Option<String>,
    limit: Option<WholeNumber>,
}

fn warnings(request: &Request, arguments: Value) -> anyhow::Result<ToolAnswer> {
    let given: WarningsArguments = parsed(arguments)?;
    let task = some(given.task).or_else(|| request.identity.task.clone());
    let asked = WarnRequest {
        identity: Identity { task, ..request.identity.clone() },
        title: some(given.title),
        category: some(given.category),
        files: given.files,
        command: some(given.command),
        limit: given.limit.map(|limit| WholeNumber::of(Some(limit), 0)),
        surface: SURFACE.to_owned(),
        ..WarnRequest::default()
    };
    let (facts, text) = warned(request, &asked)?;
    ToolAnswer::new(&facts, text)
}

/// The warnings that are due, and as a text.
pub(crate) fn warned(request: &Request, asked: &WarnRequest) -> anyhow::Result<(Reply<warn::WarnReply>, String)> {
    let mut facts = warn::collect_warnings(request, asked)?;
    let text = match (facts.data.enabled, facts.data.is_silent()) {
        (false, _) => "Warnings are disabled here.".to_owned(),
        // Nothing may be known, or held out: neither is said.
        (true, true) => "No warnings.".to_owned(),
        (true, false) => warn::format_reply(request, asked, &mut facts)?,
    };
    // The answer goes out next; this protocol does not say whether it arrived.
    warn::record_deliveries(&request.places, &mut facts);
    Ok((facts, text))
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct CheckDiffArguments {
    staged: bool,
    range: Option<String>,
    certain: bool,
}

fn check_diff(request: &Request, arguments: Value) -> anyhow::Result<ToolAnswer> {
    let CheckDiffArguments { staged, range, certain } = parsed(arguments)?;
    let compared = match (some(range), staged) {
        (Some(_), true) => bail!("give staged or a range, not both"),
        (Some(range), false) => DiffScope::Range(range),
        (None, true) => DiffScope::Index,
        (None, false) => DiffScope::WorkTree,
    };
    let wanted = CheckDiffOptions { weakened: true, certain, regressions: true };
    let reply = check_diff::check_diff(request, &compared, wanted).context("cannot read the change")?;
    let report = &reply.data;
    let mut text = String::new();
    for mark in report.weakened.iter().take(PLACES_MAX) {
        let likely = if mark.severity == RuleSeverity::Likely { ", likely" } else { "" };
        let (place, message) = (quoted(&mark.place()), quoted(&mark.message));
        let _ = writeln!(text, "- {place}: {message} [{}{likely}]: {}", mark.rule, quoted(&mark.text));
    }
    for it in report.regressions.iter().take(PLACES_MAX) {
        let place = quoted(&format!("{}:{}", it.path, it.line));
        let what = it.summary.as_deref().map_or_else(|| "a failure".to_owned(), quoted);
        let _ = writeln!(text, "- {place}: reverts {}, which fixed {what} ({})", it.fix, it.status_reason);
    }
    let more = report.weakened.len().saturating_sub(PLACES_MAX) + report.regressions.len().saturating_sub(PLACES_MAX);
    if more > 0 {
        let _ = writeln!(text, "- and {more} more");
    }
    if report.is_clean() {
        text.push_str("No check is weakened and no fix is reverted.\n");
    }
    if report.cut > 0 {
        let _ =
            writeln!(text, "Not checked or not listed: {} (files, lines and places beyond the limits).", report.cut);
    }
    ToolAnswer::new(&reply, text)
}
