//! What every measurement of an evaluation works with, and the commands that it runs.

use std::sync::Mutex;
use std::time::Duration;

use super::change::Change;
use super::execute::{CommandResult, GateCommand, run_check, run_tool};
use super::isolated::GateLab;
use super::judged_functions::FunctionsByScope;
use super::memory::AskedMemory;
use super::tool_output::ToolOutputs;
use super::watch::TreeWatch;
use crate::fix::weakened::{WeakenedCheck, detect};
use crate::ops::request::Request;

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
    /// Where the change weakens checks.
    pub weakened: Vec<WeakenedCheck>,
    /// What memories are asked meanwhile.
    pub memory: AskedMemory,
    /// What commands may have done to the work tree.
    pub watch: TreeWatch,
    /// What measuring tools printed.
    pub outputs: ToolOutputs,
    /// Functions that were measured before, by project and scope.
    pub functions: Mutex<FunctionsByScope>,
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
        let mut weakened = detect(&change.patch, None).marks;
        weakened.retain(WeakenedCheck::decides);
        Measurement {
            request,
            change,
            evaluation,
            feature,
            limit,
            reuses,
            lab,
            weakened,
            memory: AskedMemory::default(),
            watch: TreeWatch::default(),
            outputs: ToolOutputs::default(),
            functions: Mutex::default(),
        }
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
        let find_cover = || self.watch.find_cover(self.request, command).filter(|_| command.reuses);
        let find_typed = || self.watch.find_typed_cover(self.request, command).filter(|_| command.reuses);
        if let Some(receipt) = find_cover().or_else(find_typed) {
            return Ok(CommandResult::from_receipt(receipt.text));
        }
        self.memory.finish();
        let result = run_check(self.request, command)?;
        if result.reused.is_none() {
            // A receipt of this run is evidence that the tree after it is the one before it.
            let is_proven = result.code == Some(0) && find_cover().is_some_and(|receipt| receipt.is_own);
            self.watch.note_run(is_proven);
        }
        Ok(result)
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
        self.memory.finish();
        self.watch.note_run(false);
        let result = run_tool(command)?;
        if let Some(key) = key
            && digest().as_ref() == Some(&key)
        {
            self.outputs.note(self.request, key, &result);
        }
        Ok(result)
    }
}
