//! Checks that the gate ran itself, as they would be recorded had a person typed them after `verify-run`.

use std::ffi::OsString;

use anyhow::Context;

use super::execute::GateCommand;
use crate::base::lossless::Lossless;
use crate::capture::{CheckedState, EnvironmentDigest, GATE_AGENT, Identity, SpoolHeader, SpooledRun, write_spool};
use crate::config::is_disabled;
use crate::event::Run;
use crate::ops::receipt::{CheckedCommand, check_finished};
use crate::ops::recording::is_recorded_above;
use crate::ops::request::Request;
use crate::ops::unwrapped::{UnwrappedCommand, UnwrappedRun, header_of_run};
use crate::recorder;
use crate::whitelist::{self, Check, Whitelist};

/// A check of an evaluation, in the folder from which a person would have typed it.
#[derive(Debug)]
pub(super) struct RecordedCheck {
    /// The request as from that folder.
    pub inside: Request,
    /// Program and arguments.
    pub argv: Vec<OsString>,
    /// The recognised check.
    pub check: Option<Check>,
    /// Whether it is an item of the checklist, which a person approved.
    pub is_item: bool,
    /// The PATH that it has; `None` for this process's.
    pub path: Option<OsString>,
}

/// What a run was about, as far as that is known.
#[derive(Debug, Default)]
pub(super) struct RunTree {
    /// The tree that it saw.
    pub tree: Option<String>,
    /// What a receipt of it is about, if it can have one.
    pub state: Option<CheckedState>,
}

impl RecordedCheck {
    /// The check that a command is.
    pub(super) fn of_command(request: &Request, command: &GateCommand<'_>) -> Self {
        let argv: Vec<OsString> = command.argv.iter().map(OsString::from).collect();
        let check = Whitelist::open(&request.places, &request.environment).decide_command(&argv).into_check();
        RecordedCheck {
            // Without a slash at its end, as the command would have found it.
            inside: request.clone().with_cwd(command.dir.components().collect()),
            argv,
            check,
            is_item: command.item.is_some(),
            path: Some(command.search_path()),
        }
    }

    /// The same as receipts know it.
    pub(super) fn checked(&self) -> CheckedCommand<'_> {
        CheckedCommand {
            argv: &self.argv,
            check: self.check.as_ref(),
            is_item: self.is_item,
            has_no_input: true,
            path: self.path.as_deref(),
        }
    }

    /// Whether runs are recorded here, and not by another verify-run around this one.
    pub(super) fn is_recorded(&self) -> bool {
        !is_disabled() && !is_recorded_above(&self.inside.places, &self.inside.environment)
    }

    /// A run of it in the form of the spool.
    pub(super) fn spooled(&self, of: RunTree, run: UnwrappedRun, output: Vec<u8>) -> SpooledRun {
        let (places, cwd) = (&self.inside.places, &self.inside.cwd);
        let worktree = places.repository.as_ref().and_then(|repository| repository.worktree.as_deref());
        let key = whitelist::command_key(worktree.unwrap_or(&places.root), cwd, self.check.as_ref(), &self.argv);
        let argv = self.argv.iter().map(Lossless::from).collect();
        let command = UnwrappedCommand { argv, dir: cwd, check: self.check.clone(), key };
        let header = SpoolHeader {
            identity: Identity { agent: Some(GATE_AGENT.to_owned()), ..self.inside.identity.clone() },
            environment: Some(EnvironmentDigest::now(&places.state)),
            tree: of.tree,
            ..header_of_run(places, command, run)
        };
        let mut spooled = SpooledRun { header, output };
        if check_finished(&self.checked(), &spooled).is_ok() {
            spooled.header.checked_state = of.state.map(Box::new);
        }
        spooled
    }
}

/// Hands a run over to the recorder.
///
/// # Errors
/// When it can't be written.
pub(super) fn spool_run(request: &Request, spooled: &SpooledRun) -> anyhow::Result<()> {
    write_spool(&request.places.state, &spooled.header, &[&spooled.output]).context("cannot record the run")?;
    Ok(())
}

/// Records what waits; the run as it was recorded, where it failed.
///
/// # Errors
/// When the store can't be written or read, or another process is recording.
pub(super) fn record_run(request: &Request, spooled: &SpooledRun) -> anyhow::Result<Option<Run>> {
    let drained = recorder::drain_for_reading(&request.places).context("cannot record the run")?;
    anyhow::ensure!(!drained.busy, "another verify-run is recording, so the run could not be recorded");
    if spooled.header.ended.passed() {
        return Ok(None);
    }
    let reading = request.open_for_reading()?;
    let Some(index) = &reading.index else { return Ok(None) };
    Ok(index.read_run(&reading.segments, &spooled.header.run.to_string())?)
}
