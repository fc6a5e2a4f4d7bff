//! Commands of an evaluation in the lab: on a copy of the exact tree, while the work tree may change. Checks are recorded
//! all the same, with the tree that they saw.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::Context;

use super::change::gate_snapshot_options;
use super::execute::{CommandResult, GateCommand};
use super::isolate::open_lab;
use super::record::{RecordedCheck, RunTree, record_run, spool_run};
use crate::base::text;
use crate::capture::{CheckedState, SpooledRun};
use crate::config::Places;
use crate::diagnose;
use crate::fix::snapshot::{SnapshotOptions, without_ignored};
use crate::lab::{Lab, LabCommand, LabLevel, LabLimit, LabLimits, LabOutput, LabRun, LabTree};
use crate::ops::last::LastFailure;
use crate::ops::receipt::{observe_isolated_state, offer_isolated_reuse};
use crate::ops::request::Request;
use crate::recorder::{self, RecordedItems};

/// The walls of an evaluation: tools find the project at its own path only there.
pub(super) const GATE_LEVEL: LabLevel = LabLevel::Namespaces;
/// Changed files that a message names.
const NAMED_FILES_MAX: usize = 5;
/// Runs of one command, where an installer works meanwhile.
const RUNS_MAX: usize = 2;

/// The lab of an evaluation.
#[derive(Debug)]
pub(super) struct GateLab {
    lab: Lab,
    tree: LabTree,
    limits: LabLimits,
    places: Places,
    options: SnapshotOptions,
    changed: Mutex<ChangedFiles>,
}

/// Files that commands changed since they were asked for.
#[derive(Debug, Default)]
struct ChangedFiles {
    paths: BTreeSet<PathBuf>,
    /// Further ones, which were only counted.
    cut: u64,
}

impl GateLab {
    /// A lab with the tree of an evaluation.
    ///
    /// # Errors
    /// When commands can't be isolated here, or the tree can't be checked out.
    pub(super) fn open(request: &Request, tree: &str) -> anyhow::Result<Self> {
        let options = gate_snapshot_options(request);
        let lab = open_lab(request, GATE_LEVEL, &options)?;
        let tree = lab.check_out(tree)?;
        if let Some(missing) = tree.missing.first() {
            let (count, first) = (text::count(tree.missing.len(), "file"), missing.display().to_string());
            anyhow::bail!(
                "{count} of the tree cannot be copied, because git has not their contents: {}",
                text::one_line(&first)
            );
        }
        let limits = LabLimits::from_settings(&request.settings().lab, false);
        Ok(GateLab { lab, tree, limits, places: request.places.clone(), options, changed: Mutex::default() })
    }

    /// The lab.
    pub(super) fn lab(&self) -> &Lab {
        &self.lab
    }

    /// The tree of the evaluation.
    pub(super) fn tree(&self) -> &LabTree {
        &self.tree
    }

    /// What commands changed of the tree since this was asked: `2 files: a.ts, b.ts`.
    pub(super) fn take_changes(&self) -> Option<String> {
        let ChangedFiles { paths, cut } = std::mem::take(&mut *self.lock_changed());
        let named: Vec<String> =
            paths.iter().take(NAMED_FILES_MAX).map(|path| path.to_string_lossy().into_owned()).collect();
        let count = text::count(paths.len() as u64 + cut, "file");
        (!paths.is_empty()).then(|| format!("{count}: {}", named.join(", ")))
    }

    fn lock_changed(&self) -> MutexGuard<'_, ChangedFiles> {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a check, and records it as an ordinary run.
    ///
    /// # Errors
    /// When it was not started.
    pub(super) fn run_check(&self, request: &Request, command: &GateCommand<'_>) -> anyhow::Result<CommandResult> {
        let check = RecordedCheck { path: None, ..RecordedCheck::of_command(request, command) };
        let (inside, checked) = (&check.inside, check.checked());
        let offer = (command.reuses && checked.may_have_receipt())
            .then(|| offer_isolated_reuse(inside, &checked, &self.tree.tree, GATE_LEVEL));
        if let Some(line) = offer.as_ref().and_then(|offer| offer.reused.as_deref()) {
            let receipt = line.strip_prefix("verify-run: reused: ").unwrap_or(line).to_owned();
            return Ok(CommandResult::from_receipt(receipt));
        }
        let mut before = offer.and_then(|offer| offer.before.ok()).map(|observed| observed.state);
        let mut runs = 0;
        let (run, state) = loop {
            runs += 1;
            let run = self.run(command, &check.argv, LabOutput::Both)?;
            let after = before
                .as_ref()
                .and_then(|_| observe_isolated_state(inside, &checked, &self.tree.tree, GATE_LEVEL).ok());
            let after = after.map(|observed| observed.state);
            // An installer that worked meanwhile changed what the run was lent.
            if after.is_some() && after != before && runs < RUNS_MAX {
                before = after;
                continue;
            }
            break (run, after.filter(|after| Some(after) == before.as_ref()));
        };
        let mut result = self.result_of(&run);
        if run.stopped_by.is_none() && check.is_recorded() {
            // A command that changed its own sources passed on no tree that is known.
            let state = state.filter(|_| self.lock_changed().paths.is_empty());
            let spooled = self.spooled(&check, state, &self.tree.tree, &run);
            spool_run(request, &spooled)?;
            result.run = record_run(request, &spooled)?;
            result.failures = result.run.as_ref().map(LastFailure::first_of_run).unwrap_or_default();
        }
        Ok(result)
    }

    fn spooled(&self, check: &RecordedCheck, state: Option<CheckedState>, tree: &str, run: &LabRun) -> SpooledRun {
        let of = RunTree { tree: Some(tree.to_owned()), state };
        check.spooled(of, run.into(), run.transcript.pieces().concat())
    }

    /// Runs a measuring tool: what it prints is read and not recorded.
    ///
    /// # Errors
    /// When it was not started.
    pub(super) fn run_tool(&self, command: &GateCommand<'_>) -> anyhow::Result<CommandResult> {
        let argv: Vec<OsString> = command.argv.iter().map(OsString::from).collect();
        Ok(self.result_of(&self.run(command, &argv, LabOutput::Stdout)?))
    }

    /// Runs a check on another tree than that of the evaluation, and reads what fails in it. It is neither recorded nor
    /// reused.
    ///
    /// # Errors
    /// When it was not started.
    pub(super) fn try_on(
        &self,
        request: &Request,
        tree: &LabTree,
        command: &GateCommand<'_>,
    ) -> anyhow::Result<TriedCommand> {
        let check = RecordedCheck::of_command(request, command);
        let run = self.run_on(tree, command, &check.argv, LabOutput::Both)?;
        let spooled = self.spooled(&check, None, &tree.tree, &run);
        Ok(TriedCommand::of_run(request, self.result_of(&run), &spooled))
    }

    /// Runs a command of the evaluation, and notes what it changed of the tree: what git ignores is not a part of it.
    fn run(&self, command: &GateCommand<'_>, argv: &[OsString], output: LabOutput) -> anyhow::Result<LabRun> {
        let run = self.run_on(&self.tree, command, argv, output)?;
        let changed = without_ignored(&self.places, run.changed.clone(), &self.options)
            .map_err(|skipped| anyhow::anyhow!("cannot tell what the command changed: {skipped}"))?;
        let mut noted = self.lock_changed();
        noted.paths.extend(changed);
        noted.cut += run.changed_cut;
        drop(noted);
        Ok(run)
    }

    fn run_on(
        &self,
        tree: &LabTree,
        command: &GateCommand<'_>,
        argv: &[OsString],
        output: LabOutput,
    ) -> anyhow::Result<LabRun> {
        let variables = command.variables();
        let root = self.lab.project_root();
        let dir = command.dir.strip_prefix(root).unwrap_or(Path::new(""));
        let (time, limits) = (command.limit, self.limits);
        let wanted = LabCommand { argv, dir, variables: &variables, output, time, limits, is_idle: false };
        let run = self.lab.run_command(tree, &wanted);
        run.with_context(|| format!("cannot start {}", command.argv.join(" ")))
    }

    fn result_of(&self, run: &LabRun) -> CommandResult {
        let mut output = run.transcript.pieces().concat();
        if output.is_empty() {
            output = run.stderr.pieces().concat();
        }
        let stopped = run.stopped_by.filter(|limit| *limit != LabLimit::Time);
        CommandResult {
            code: run.exit_code(),
            is_late: run.stopped_by == Some(LabLimit::Time),
            stopped: stopped.map(|limit| self.limits.explain_end(limit)),
            text: diagnose::plain_text(&output),
            is_cut: run.transcript.cut() > 0,
            output,
            ..CommandResult::default()
        }
    }
}

/// A command that ran on another tree.
#[derive(Debug)]
pub(super) struct TriedCommand {
    /// How it ended.
    pub result: CommandResult,
    /// What fails in it.
    pub items: RecordedItems,
}

impl TriedCommand {
    /// Reads what fails in a run.
    pub(super) fn of_run(request: &Request, result: CommandResult, spooled: &SpooledRun) -> Self {
        let items = match result.code {
            Some(0) => RecordedItems::default(),
            _ => recorder::diagnose_items(&request.places, &request.environment, request.settings(), spooled),
        };
        TriedCommand { result, items }
    }
}
