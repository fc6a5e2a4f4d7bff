//! Subtracts what a check finds in the base: a project with old findings can ask for no new ones.

use std::collections::HashMap;
use std::fs;

use anyhow::Context;

use super::change::gate_snapshot_options;
use super::execute::{GateCommand, failure_reason, folder_in, run_both};
use super::isolated::TriedCommand;
use super::measurement::Measurement;
use super::record::{RecordedCheck, RunTree};
use crate::base::file::create_private_dir;
use crate::base::lossless::Lossless;
use crate::diagnose::Severity;
use crate::event::{DiagnosticRecord, Run};
use crate::fix::atom_of_item;
use crate::fix::snapshot::{CheckoutLimits, check_out_tree};
use crate::gate::adapter::{ToolVerdict, judge_exit};
use crate::ops::last::LastFailure;
use crate::ops::request::Request;
use crate::recorder::RecordedItems;

/// Runs over the base's tree that are looked at, the newest.
const RUNS_MAX: usize = 200;
/// Findings that are listed.
const FINDINGS_MAX: usize = 200;
/// Folders of dependencies and outputs that no tree has, which a check may need: the base has those of the work tree.
const SHARED_FOLDERS: [&str; 5] = ["node_modules", ".venv", "venv", "vendor", "target"];

/// Findings of a check without those that the base has.
#[derive(Debug, Clone, Default)]
pub(super) struct NewFindings {
    /// How many are new.
    pub count: u64,
    /// How many the base has as well.
    pub as_before: u64,
    /// The first new ones.
    pub findings: Vec<LastFailure>,
    /// Whether the old ones do not count.
    pub is_all_that_counts: bool,
}

/// How often each atom is in a run.
type AtomCounts = HashMap<String, u64>;

impl Measurement<'_> {
    /// What of a recorded run the base does not have.
    ///
    /// # Errors
    /// Why the check could not be run on the base, or not all findings are known.
    pub(super) fn subtract_base(&self, now: &Run, command: &GateCommand<'_>, dir: &str) -> Result<NewFindings, String> {
        let now = items_of_run(now);
        let found = relevant_items(&now)?;
        let base =
            self.base_items(command, dir).map_err(|error| format!("the base could not be checked: {error:#}"))?;
        let mut before = AtomCounts::new();
        for item in relevant_items(&base)? {
            let item = DiagnosticRecord { file: item.file.as_deref().map(|it| self.path_now(it)), ..item.clone() };
            *before.entry(atom_of_item(&item).hash).or_default() += u64::from(item.count);
        }
        let mut new = NewFindings::default();
        for item in found {
            let left = before.entry(atom_of_item(item).hash).or_default();
            let count = u64::from(item.count);
            let known = count.min(*left);
            *left -= known;
            new.as_before += known;
            new.count += count - known;
            if known < count && new.findings.len() < FINDINGS_MAX {
                new.findings.push(LastFailure::from_diagnostic(item.clone()));
            }
        }
        Ok(new)
    }

    /// The path that a file of the base has now.
    fn path_now(&self, path: &str) -> String {
        let renamed = self.change.patch.files.iter().find(|file| file.old == path && file.new != path);
        renamed.map_or(path, |file| file.new.as_str()).to_owned()
    }

    /// What the same command finds in the base.
    fn base_items(&self, command: &GateCommand<'_>, dir: &str) -> anyhow::Result<RecordedItems> {
        if let Some(run) = self.recorded_base_run(command, dir) {
            return Ok(items_of_run(&run));
        }
        let base = &self.change.base.tree;
        let TriedCommand { result, items } = match self.lab {
            Some(lab) => lab.try_on(self.request, &lab.lab().check_out(base)?, command)?,
            None => try_on_tree(self.request, base, dir, command)?,
        };
        let tool = command.argv.first().map_or("", |word| word.rsplit('/').next().unwrap_or(word));
        match result.code {
            Some(0) => Ok(RecordedItems::default()),
            Some(code) if judge_exit(tool, code) != ToolVerdict::Failed => Ok(items),
            _ => anyhow::bail!(failure_reason(tool, &result)),
        }
    }

    /// A recorded run of the same command that saw exactly the tree of the base.
    fn recorded_base_run(&self, command: &GateCommand<'_>, dir: &str) -> Option<Run> {
        let reading = self.request.open_for_reading().ok()?;
        let index = reading.index.as_ref()?;
        let runs = index.runs_on_tree(&self.change.base.tree, RUNS_MAX).ok()?;
        let root = Lossless::from(&self.request.places.root);
        runs.iter().find_map(|id| {
            let run = index.read_run(&reading.segments, id).ok()??;
            let is_same = run.root == root
                && run.dir.display() == dir
                && run.argv.iter().map(Lossless::display).eq(command.argv.iter().cloned());
            is_same.then_some(run)
        })
    }
}

fn items_of_run(run: &Run) -> RecordedItems {
    let Some(failure) = &run.failure else { return RecordedItems::default() };
    RecordedItems { items: failure.items.clone(), is_cut: failure.items_cut > 0 || run.cut_bytes > 0 }
}

/// The items that can be why a check fails: errors where there are any, else all.
fn relevant_items(found: &RecordedItems) -> Result<Vec<&DiagnosticRecord>, String> {
    let RecordedItems { items, is_cut } = found;
    if *is_cut {
        return Err("there are too many findings to compare them with those of the base".to_owned());
    }
    if !items.is_empty() && items.iter().all(DiagnosticRecord::is_uninformative) {
        return Err("the output of the check names no finding".to_owned());
    }
    let is_error = |item: &&DiagnosticRecord| item.severity == Severity::Error;
    let has_errors = items.iter().any(|item| is_error(&item));
    Ok(items.iter().filter(|item| !has_errors || is_error(item)).collect())
}

/// Runs a command on another tree of the work tree: on a checkout in the state folder, with the dependencies of the work
/// tree. It is not recorded.
///
/// # Errors
/// When the tree can't be checked out, or the command can't be started.
fn try_on_tree(request: &Request, tree: &str, dir: &str, command: &GateCommand<'_>) -> anyhow::Result<TriedCommand> {
    let folder = request.places.state.gate_checkout(&request.places.root);
    // One of an evaluation that was killed; no other one runs in this work tree.
    remove_checkout(&folder)?;
    if let Some(parent) = folder.parent() {
        create_private_dir(parent).with_context(|| format!("cannot make {}", parent.display()))?;
    }
    let ran = try_in(request, tree, dir, command, &folder);
    let _ = fs::remove_dir_all(&folder);
    ran
}

fn remove_checkout(folder: &std::path::Path) -> anyhow::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}

fn try_in(
    request: &Request,
    tree: &str,
    dir: &str,
    command: &GateCommand<'_>,
    folder: &std::path::Path,
) -> anyhow::Result<TriedCommand> {
    check_out_tree(&request.places, tree, folder, CheckoutLimits::LARGEST, &gate_snapshot_options(request))
        .map_err(|skipped| anyhow::anyhow!("{skipped}"))?;
    for place in ["", dir] {
        for name in SHARED_FOLDERS {
            let (own, shared) = (folder.join(place).join(name), request.places.root.join(place).join(name));
            if shared.is_dir() && own.symlink_metadata().is_err() && own.parent().is_some_and(|parent| parent.is_dir())
            {
                std::os::unix::fs::symlink(&shared, &own).with_context(|| format!("cannot make {}", own.display()))?;
            }
        }
    }
    let there = folder_in(folder, dir);
    anyhow::ensure!(there.is_dir(), "the base has no folder {dir}");
    let inside = request.in_folder(there.clone());
    let command = GateCommand { dir: there, reuses: false, ..command.clone() };
    let check = RecordedCheck::of_command(&inside, &command);
    let ended = run_both(&command)?;
    let run = ended.unwrapped();
    let result = ended.into_result();
    let spooled = run.map(|run| check.spooled(RunTree::default(), run, result.output.clone()));
    Ok(match spooled {
        Some(spooled) => TriedCommand::of_run(&inside, result, &spooled),
        None => TriedCommand { result, items: RecordedItems::default() },
    })
}
