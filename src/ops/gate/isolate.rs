//! `gate isolate`: one command in the lab, as `gate run --isolated` runs its commands.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use super::change::{gate_snapshot_options, read_tree};
use crate::base::refusal::Refusal;
use crate::fix::snapshot::SnapshotOptions;
use crate::lab::{Lab, LabCommand, LabError, LabLevel, LabLimits, LabOutput, LabRequest, LabRun};
use crate::ops::request::Request;

/// What to run isolated.
#[derive(Debug, Clone)]
pub(crate) struct IsolatedCommand {
    /// Program and arguments.
    pub argv: Vec<OsString>,
    /// The walls.
    pub level: LabLevel,
    /// The git tree; the work tree as it is now without one.
    pub tree: Option<String>,
    /// How long it may take; the setting `gate.command_minutes` without one.
    pub time: Option<Duration>,
}

/// Opens a lab for the project of a request, of which a snapshot was taken.
///
/// # Errors
/// When the machine does not have the walls: the setting that decides it is the next step.
pub(in crate::ops) fn open_lab(request: &Request, level: LabLevel, options: &SnapshotOptions) -> anyhow::Result<Lab> {
    let settings = request.settings();
    let wanted = LabRequest { places: &request.places, environment: &request.environment, settings, options, level };
    Lab::open(&wanted).map_err(|error| match error {
        LabError::Unavailable { obstacle, .. } => {
            let refusal = Refusal::conflict(format!("cannot isolate commands here: {}", obstacle.what));
            match obstacle.setting {
                Some(setting) => refusal.then_do(setting).into(),
                None => refusal.then_run("doctor").into(),
            }
        }
        error => error.into(),
    })
}

/// Runs a command in the lab, with the output of this process.
///
/// # Errors
/// When it was not started.
pub(crate) fn run_isolated(request: &Request, command: &IsolatedCommand) -> anyhow::Result<(LabRun, LabLimits)> {
    let options = gate_snapshot_options(request);
    let present = read_tree(request, &options)?.tree;
    let lab = open_lab(request, command.level, &options)?;
    let tree = lab.check_out(command.tree.as_deref().unwrap_or(&present))?;
    let settings = request.settings();
    let limits = LabLimits::from_settings(&settings.lab, false);
    let minutes = Duration::from_secs(settings.gate.command_minutes * 60);
    let dir = request.cwd.strip_prefix(&request.places.root).unwrap_or(Path::new(""));
    let run = lab.run_command(
        &tree,
        &LabCommand {
            argv: &command.argv,
            dir,
            variables: &[],
            output: LabOutput::Inherited,
            time: command.time.unwrap_or(minutes),
            limits,
            is_idle: false,
        },
    )?;
    Ok((run, limits))
}
