//! Ships an approved tree with the user's own command, and compares what the branch has then with what was approved.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;

use super::change::{describe_difference, gate_snapshot_options, read_tree};
use super::own_program::{check_own_program, outside_path};
use super::run::{GateStanding, current_branch, lock_gate, read_gate, record_step};
use crate::base::refusal::Refusal;
use crate::base::text;
use crate::config::Environment;
use crate::event::{GateItemStatus, GateStep};
use crate::fix::snapshot::{changed_paths, find_base, find_default_branch};
use crate::gate::cycle::{CyclePhase, CycleShipping, WorkTreeGate};
use crate::host::process::{ProcessCall, ReadStreams, run_long};
use crate::ops::request::Request;

/// Lines of the command's output that are shown, the last ones.
const OUTPUT_LINES_MAX: usize = 20;

/// How shipping ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ShipEnd {
    /// The branch has a commit with the approved tree.
    Shipped(ShippedCommit),
    /// The command did not begin; why, a lowercase fragment.
    Refused(String),
    /// The command ran, and the approved tree is not shipped.
    Failed(FailedShip),
}

/// A commit that was shipped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShippedCommit {
    /// Its hash.
    pub commit: String,
    /// The branch.
    pub branch: String,
    /// The last lines that the command printed.
    pub output: Vec<String>,
}

/// A command that did not ship what was approved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FailedShip {
    /// Why, a lowercase fragment.
    pub why: String,
    /// The last lines that the command printed.
    pub output: Vec<String>,
}

/// Checks that there is a command to ship with.
///
/// # Errors
/// When the user's settings have none: a usage error that names the missing setting and its file.
pub(crate) fn check_ship_settings(request: &Request) -> anyhow::Result<()> {
    let command = &request.settings().gate.ship.command;
    if command.is_empty() {
        let file = user_settings(&request.environment);
        let message = "no command ships: the setting `command` of [gate.ship] is missing in your own settings";
        return Err(Refusal::usage(message).then_do(format!("set it in {file}; a repository's file cannot")).into());
    }
    check_own_program(command, "[gate.ship]")
}

fn user_settings(environment: &Environment) -> String {
    let file = environment.config_dir().map(|dir| dir.join(crate::config::SETTINGS_FILE));
    file.map_or_else(|| "your settings".to_owned(), |file| file.display().to_string())
}

/// Closes a ship that began and was killed: one sentence for people, and `None` where there is none. It is not repeated,
/// because a part of it may have happened.
///
/// # Errors
/// When the store can't be read or written.
pub(super) fn close_interrupted_ship(request: &Request, gate: &WorkTreeGate) -> anyhow::Result<Option<String>> {
    let Some(cycle) = gate.cycle() else { return Ok(None) };
    let Some(CycleShipping::Started { at }) = cycle.shipping else { return Ok(None) };
    let evaluation = cycle.last.as_ref().map_or(cycle.id.as_str(), |last| last.id.as_str());
    let step = GateStep::ShipFailed { why: "it was interrupted".to_owned() };
    record_step(request, evaluation, &cycle.id, step, None)?;
    Ok(Some(format!("a ship was begun at {} and did not end: look before you try again", at.rfc3339())))
}

/// Ships the tree of the last evaluation.
///
/// # Errors
/// When another evaluation is running, when git can't be asked, or the store can't be written. Once the command has
/// begun, everything is a [`ShipEnd`].
pub(crate) fn ship_tree(request: &Request, standing: &GateStanding, report: Option<&Path>) -> anyhow::Result<ShipEnd> {
    check_ship_settings(request)?;
    let _lock = lock_gate(request)?;
    let Some(last) = &standing.cycle.last else { return Ok(ShipEnd::Refused("nothing was evaluated".to_owned())) };
    if let Some(why) = refusal_of_ship(request, standing, &read_gate(request)?)? {
        return Ok(ShipEnd::Refused(why));
    }
    let command: Vec<OsString> = request.settings().gate.ship.command.iter().map(OsString::from).collect();
    let digest = blake3::hash(command.join(OsStr::new("\0")).as_encoded_bytes()).to_hex()[..32].to_owned();
    let (tree, record) =
        (last.outcome.tree.clone(), |step| record_step(request, &last.id, &standing.cycle.id, step, None));
    record(GateStep::ShipStarted { tree: tree.clone(), command: digest })?;
    let variables = fact_variables(request, standing, report);
    let variables: Vec<(&str, Option<&OsStr>)> =
        variables.iter().map(|(name, value)| (*name, Some(value.as_os_str()))).collect();
    let limit = Duration::from_secs(request.settings().gate.command_minutes * 60);
    let dir = &request.places.root;
    let call = ProcessCall { argv: &command, dir, variables: &variables, input: b"", limit };
    let (ended, output) = match run_long(call, ReadStreams::Both) {
        Ok(answer) => {
            let ended = match answer.status {
                Some(status) if status.success() => Ok(()),
                Some(status) => Err(format!("the command ended with {status}")),
                None => Err(format!("the command took longer than {} minutes", limit.as_secs() / 60)),
            };
            (ended, last_lines(&crate::diagnose::plain_text(&answer.output)))
        }
        Err(error) => (Err(format!("the command cannot be started: {error}")), Vec::new()),
    };
    match ended.and_then(|()| find_shipped_commit(request, &tree).map_err(|error| format!("{error:#}"))) {
        Ok(commit) => {
            record(GateStep::Shipped { commit: commit.clone(), tree })?;
            let branch = current_branch(request).unwrap_or_default();
            Ok(ShipEnd::Shipped(ShippedCommit { commit, branch, output }))
        }
        Err(why) => {
            let why = text::one_line(&why);
            record(GateStep::ShipFailed { why: why.clone() })?;
            Ok(ShipEnd::Failed(FailedShip { why, output }))
        }
    }
}

/// Why a tree is not shipped; `None` when nothing is in the way.
fn refusal_of_ship(request: &Request, standing: &GateStanding, gate: &WorkTreeGate) -> anyhow::Result<Option<String>> {
    let Some(view) = standing.view() else { return Ok(Some("nothing was evaluated".to_owned())) };
    let (dual, outcome) = (view.dual_gate(), &view.evaluation.outcome);
    let is_last = gate.cycle().and_then(|cycle| cycle.last.as_ref()).is_some_and(|last| last.id == view.evaluation.id);
    let fixed = [
        (!is_last, "another evaluation took place since"),
        (standing.cycle.phase == CyclePhase::Shipped, "this tree is shipped already"),
        (!dual.gate_1, "the verdict is REJECT"),
        (!dual.gate_2, "no exit signal: say that the work is done with --exit-signal or `verify-run gate signal`"),
    ];
    if let Some((_, why)) = fixed.into_iter().find(|(applies, _)| *applies) {
        return Ok(Some(why.to_owned()));
    }
    let options = gate_snapshot_options(request);
    if read_tree(request, &options)?.tree != outcome.tree {
        return Ok(Some("the work tree changed since the evaluation".to_owned()));
    }
    let is_open = |item: &str| {
        let passes = |status| matches!(status, GateItemStatus::Pass | GateItemStatus::NotApplicable);
        outcome.items.iter().any(|judged| judged.id == item && !passes(judged.status))
    };
    let now = request.now();
    if let Some((_, waiver)) = gate.waivers.iter().find(|(_, it)| it.until <= now && is_open(&it.item)) {
        return Ok(Some(format!("the waiver of {} ended on {}", waiver.item, waiver.until.rfc3339())));
    }
    let Some(branch) = current_branch(request) else { return Ok(Some("no branch is checked out".to_owned())) };
    let asked = find_default_branch(&request.places, &options);
    let default = asked.map_err(|skipped| anyhow::anyhow!("cannot find the default branch: {skipped}"))?;
    let is_default = default.as_ref() == Some(&branch);
    if is_default && !request.settings().gate.ship.makes_branch {
        let why =
            format!("{branch} is the default branch: switch to another one, or set `makes_branch` in [gate.ship]");
        return Ok(Some(why));
    }
    Ok(None)
}

/// The facts of an evaluation as variables for a command of the user, and a PATH without folders that the repository could
/// fill.
pub(super) fn fact_variables(
    request: &Request,
    standing: &GateStanding,
    report: Option<&Path>,
) -> Vec<(&'static str, OsString)> {
    let Some(last) = &standing.cycle.last else { return Vec::new() };
    let prp = last.start.prp.as_ref().map(|prp| request.places.root.join(prp));
    let path = |path: Option<PathBuf>| path.map(PathBuf::into_os_string).unwrap_or_default();
    // `feature (by default)`
    let kind = last.start.change_kind.split(' ').next().unwrap_or_default().to_owned();
    let excluded: Vec<OsString> =
        gate_snapshot_options(request).excluded.into_iter().map(PathBuf::into_os_string).collect();
    vec![
        ("PATH", outside_path(request)),
        ("VERIFY_RUN_EVALUATION", last.id.clone().into()),
        ("VERIFY_RUN_TREE", last.outcome.tree.clone().into()),
        ("VERIFY_RUN_BRANCH", current_branch(request).unwrap_or_default().into()),
        ("VERIFY_RUN_FEATURE", last.start.feature.clone().into()),
        ("VERIFY_RUN_KIND", kind.into()),
        ("VERIFY_RUN_EXCLUDED", excluded.join(OsStr::new("\n"))),
        ("VERIFY_RUN_REPORT", path(report.map(Path::to_owned))),
        ("VERIFY_RUN_PRP", path(prp)),
    ]
}

/// The commit that is checked out, if it has the approved tree and the work tree is as it was.
fn find_shipped_commit(request: &Request, tree: &str) -> anyhow::Result<String> {
    let options = gate_snapshot_options(request);
    let now = read_tree(request, &options)?.tree;
    if now != tree {
        anyhow::bail!("the command changed {}", describe_difference(request, tree, &now)?);
    }
    let head = find_base(&request.places, Some("HEAD"), &options);
    let head = head.map_err(|skipped| anyhow::anyhow!("cannot read the commit: {skipped}"))?;
    // Folders that no evaluation looks at, such as shared lessons, may be committed.
    let is_same = changed_paths(&request.places, tree, &head.tree, &options)
        .map_err(|skipped| anyhow::anyhow!("cannot compare two trees: {skipped}"))?
        .is_empty();
    if !is_same {
        let difference = describe_difference(request, tree, &head.tree)?;
        anyhow::bail!("the commit has another tree than the approved one: {difference}");
    }
    head.commit.context("there is no commit")
}

fn last_lines(output: &str) -> Vec<String> {
    let lines: Vec<String> = output.lines().map(text::one_line).filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(OUTPUT_LINES_MAX)..].to_vec()
}
