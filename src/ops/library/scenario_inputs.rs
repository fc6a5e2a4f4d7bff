//! What a scenario is chosen from: what was recorded of the task.

use super::scenario_guesses::ScenarioGuesses;
use crate::event::{EventBody, HarvestRecord, Run, ScenarioCommand, ScenarioSource};
use crate::fix::pins_packages;
use crate::fix::snapshot::TreeVault;
use crate::learn::job::Job;
use crate::learn::scenario::{CandidateCommand, ScenarioInputs};
use crate::ops::request::Request;
use crate::store::{Index, SegmentFolder, StoreError, own_writer};

/// What represents a secret in a recorded argument.
const REDACTED: &str = "[redacted:";

/// The commands that may show the change of a job.
///
/// # Errors
/// When objects are gone, or the store can't be read.
pub(super) fn scenario_inputs(
    request: &Request,
    index: &Index,
    segments: &SegmentFolder,
    vault: &TreeVault,
    job: &Job,
) -> anyhow::Result<ScenarioInputs> {
    let Some(harvest) = &job.harvest else { return Ok(ScenarioInputs::default()) };
    let approved = job.capture.as_ref().map(|capture| capture.tree.clone()).unwrap_or_default();
    let mut inputs = ScenarioInputs {
        changes_dependencies: !harvest.changed_dependencies.is_empty() || pins_differ(vault, harvest, &approved)?,
        ..ScenarioInputs::default()
    };
    // The run that closed the failure; where its event is gone, the failing run, which is of the same check.
    for run in [harvest.runs.pass, harvest.runs.before].into_iter().flatten() {
        let Some((run, is_own)) = read_run(request, index, segments, &run.to_string())? else { continue };
        inputs.candidates.push(CandidateCommand {
            is_closing: true,
            is_own: is_own && job.is_own && !run.dir.path().is_absolute(),
            ..candidate_of_run(&run)
        });
        break;
    }
    // Nothing is guessed where something was recorded, even if that may not be run.
    let has_recorded = harvest.runs.pass.is_some() || harvest.runs.before.is_some();
    if job.is_own && !has_recorded {
        let guesses = ScenarioGuesses { request, index, segments, vault };
        inputs.candidates = guesses.find_candidates(harvest, &approved)?;
    }
    Ok(inputs)
}

/// Whether files that pin packages differ between the trees: what is installed fits one of them at most.
fn pins_differ(vault: &TreeVault, harvest: &HarvestRecord, approved: &str) -> anyhow::Result<bool> {
    let Some(before) = &harvest.trees.before else { return Ok(false) };
    let changed = vault.read_change(before, approved).map_err(|skipped| anyhow::anyhow!("{skipped}"))?;
    Ok(changed.keys().any(|path| pins_packages(path)))
}

pub(super) fn candidate_of_run(run: &Run) -> CandidateCommand {
    let argv: Vec<String> = run.argv.iter().map(|word| word.display()).collect();
    CandidateCommand {
        is_redacted: argv.iter().any(|word| word.contains(REDACTED)),
        command: ScenarioCommand { argv, dir: run.dir.display() },
        source: ScenarioSource::ExecutionHistory,
        duration_ms: run.duration_us / 1_000,
        tests: run.tests,
        ..CandidateCommand::default()
    }
}

/// A recorded run, and whether it was recorded here. The writer that an imported event names may be ours.
pub(super) fn read_run(
    request: &Request,
    index: &Index,
    segments: &SegmentFolder,
    id: &str,
) -> Result<Option<(Run, bool)>, StoreError> {
    let Some(EventBody::Run(run)) = index.read_event(segments, id)?.map(|event| event.body) else { return Ok(None) };
    let is_own = match own_writer(&request.places.state) {
        Some(own) => index.is_own_event(id, &own)?,
        None => false,
    };
    Ok(Some((*run, is_own)))
}
