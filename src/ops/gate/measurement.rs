//! What every measurement of an evaluation works with, and the commands that it runs.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use super::change::Change;
use super::criteria::{ProjectTests, index_project};
use super::execute::{CommandResult, GateCommand, run_both, run_tool};
use super::isolated::GateLab;
use super::judged_functions::FunctionsByScope;
use super::memory::AskedMemory;
use super::record::{RecordedCheck, RunTree, record_run, spool_run};
use super::tool_output::ToolOutputs;
use super::watch::TreeWatch;
use crate::capture::CheckedState;
use crate::fix::weakened::{WeakenedCheck, detect};
use crate::gate::stack::StackProject;
use crate::ops::last::LastFailure;
use crate::ops::receipt::{ObservedState, state_between};
use crate::ops::recording::record_waiting;
use crate::ops::request::Request;
use crate::run::RecordingName;

/// What every measurement of one evaluation works with.
#[derive(Debug)]
pub(super) struct Measurement<'a> {
    /// The caller's request.
    pub request: &'a Request,
    /// The change.
    pub change: &'a Change,
    /// The id of the evaluation.
    pub evaluation: &'a str,
    /// The feature.
    pub feature: &'a str,
    /// Time of each command.
    pub limit: Duration,
    /// Whether receipts may replace runs.
    pub reuses: bool,
    /// Where commands are isolated; `None` in the work tree.
    pub lab: Option<&'a GateLab>,
    /// What memories are asked meanwhile.
    pub memory: AskedMemory,
    /// What commands may have done to the work tree.
    pub watch: TreeWatch,
    /// What passed in this evaluation.
    passes: Mutex<OwnPasses>,
    /// What measuring tools printed.
    pub outputs: ToolOutputs,
    /// Functions that were measured before, by project and scope.
    pub functions: Mutex<FunctionsByScope>,
    weakened: OnceLock<Vec<WeakenedCheck>>,
    tests: OnceLock<Result<Vec<ProjectTests>, String>>,
}

/// Checks that passed in an evaluation.
#[derive(Debug, Default)]
struct OwnPasses {
    /// Their words and folders.
    commands: Vec<(Vec<OsString>, PathBuf)>,
    /// Whether one of them waits for the recorder.
    wait: bool,
}

impl<'a> Measurement<'a> {
    /// A measurement of `change`.
    pub(super) fn new(
        request: &'a Request,
        change: &'a Change,
        evaluation: &'a str,
        feature: &'a str,
        limit: Duration,
        reuses: bool,
        lab: Option<&'a GateLab>,
    ) -> Self {
        Measurement {
            request,
            change,
            evaluation,
            feature,
            limit,
            reuses,
            lab,
            memory: AskedMemory::default(),
            watch: TreeWatch::default(),
            passes: Mutex::default(),
            outputs: ToolOutputs::default(),
            functions: Mutex::default(),
            weakened: OnceLock::new(),
            tests: OnceLock::new(),
        }
    }

    /// Where the change weakens checks.
    pub(super) fn weakened(&self) -> &[WeakenedCheck] {
        self.weakened.get_or_init(|| {
            let mut marks = detect(&self.change.patch, None).marks;
            marks.retain(WeakenedCheck::decides);
            marks
        })
    }

    /// The tests of the judged projects, which are read once.
    ///
    /// # Errors
    /// When the tree can't be read.
    pub(super) fn tests_of(&self, projects: &[StackProject]) -> Result<&[ProjectTests], String> {
        let read = || {
            let tests = projects.iter().cloned().map(|project| index_project(self.request, self.change, project));
            tests.collect::<anyhow::Result<_>>().map_err(|error| format!("{error:#}"))
        };
        self.tests.get_or_init(read).as_deref().map_err(Clone::clone)
    }

    /// Runs a check, or takes the receipt that covers it.
    ///
    /// # Errors
    /// When it can't be started.
    pub(super) fn run_check(&self, command: &GateCommand<'_>) -> anyhow::Result<CommandResult> {
        if let Some(lab) = self.lab {
            self.memory.finish();
            return lab.run_check(self.request, command);
        }
        let check = RecordedCheck::of_command(self.request, command);
        let before = self.watch.observe(&check.inside, &check.checked()).filter(|_| command.reuses);
        if command.reuses
            && let Some(receipt) = self.find_cover(command, &check, before.as_ref())
        {
            return Ok(CommandResult::from_receipt(receipt));
        }
        self.memory.finish_server();
        self.run_recorded(command, &check, before)
    }

    /// The receipt that covers a check, as it is run or as a person types it.
    fn find_cover(
        &self,
        command: &GateCommand<'_>,
        check: &RecordedCheck,
        before: Option<&ObservedState>,
    ) -> Option<String> {
        let is_it = |(argv, cwd): &(Vec<OsString>, PathBuf)| *argv == check.argv && *cwd == check.inside.cwd;
        if self.lock_passes().commands.iter().any(is_it) {
            self.record_waiting();
        } else if !self.watch.has_receipts() {
            return None;
        }
        let find = |check: &RecordedCheck, state: &ObservedState| {
            self.watch.find_cover(&check.inside, &check.checked(), state)
        };
        before.and_then(|before| find(check, before)).or_else(|| {
            let typed = GateCommand { argv: command.as_written?, item: None, ..command.clone() };
            let typed = RecordedCheck { path: None, ..RecordedCheck::of_command(self.request, &typed) };
            find(&typed, &self.watch.observe(&typed.inside, &typed.checked())?)
        })
    }

    /// Runs a check as if a person had typed it after `verify-run`: it is recorded, diagnosed and learnt from. The look at
    /// the tree after it tells what it was about, so the recorder needs none of its own.
    fn run_recorded(
        &self,
        command: &GateCommand<'_>,
        check: &RecordedCheck,
        before: Option<ObservedState>,
    ) -> anyhow::Result<CommandResult> {
        let (request, watch) = (self.request, &self.watch);
        let ended = {
            // Another verify-run in the command is not to record it once more.
            let _named = RecordingName::take();
            run_both(command)?
        };
        let is_unchanged = watch.look_after_run(request);
        let run = ended.unwrapped();
        let mut result = ended.into_result();
        let Some(run) = run.filter(|_| check.is_recorded()) else { return Ok(result) };
        let mut seen = RunTree::default();
        if is_unchanged {
            seen.tree = Some(self.change.tree.clone());
            seen.state = before.and_then(|before| self.state_after(check, before));
        }
        let spooled = check.spooled(seen, run, result.output.clone());
        spool_run(request, &spooled)?;
        if is_unchanged && result.code == Some(0) {
            let mut passes = self.lock_passes();
            passes.commands.push((check.argv.clone(), check.inside.cwd.clone()));
            passes.wait = true;
        } else {
            // Only now is the tree what the run left, and the caller wants to know what failed.
            self.memory.finish();
            result.run = record_run(request, &spooled).unwrap_or_default();
            result.failures = result.run.as_ref().map(LastFailure::first_of_run).unwrap_or_default();
        }
        Ok(result)
    }

    /// What a run that left the tree as it was is evidence about.
    fn state_after(&self, check: &RecordedCheck, before: ObservedState) -> Option<CheckedState> {
        let after = self.watch.observe(&check.inside, &check.checked())?;
        state_between(&check.inside, before, after).ok()
    }

    /// Records the passes of this evaluation that wait for it.
    pub(super) fn record_waiting(&self) {
        if std::mem::take(&mut self.lock_passes().wait) {
            self.memory.finish();
            record_waiting(self.request);
        }
    }

    fn lock_passes(&self) -> MutexGuard<'_, OwnPasses> {
        self.passes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a measuring tool, or takes what it printed over the same tree.
    ///
    /// # Errors
    /// When it can't be started.
    pub(super) fn run_tool(&self, command: &GateCommand<'_>) -> anyhow::Result<CommandResult> {
        if let Some(lab) = self.lab {
            self.memory.finish();
            return lab.run_tool(command);
        }
        let digest = || self.watch.digest_surroundings(self.request, command, None);
        let key = digest();
        let known = key.as_ref().filter(|_| command.reuses && !self.watch.is_changed());
        if let Some(result) = known.and_then(|key| self.outputs.find(self.request, key, &self.change.tree)) {
            return Ok(result);
        }
        self.memory.finish_server();
        self.watch.note_run();
        let result = run_tool(command)?;
        if let Some(key) = key
            && digest().as_ref() == Some(&key)
        {
            self.outputs.note(self.request, key, &result);
        }
        Ok(result)
    }
}
