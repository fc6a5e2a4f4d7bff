//! What a scenario is chosen from: what was recorded of the task.

use crate::base::ids::RunId;
use crate::event::{EventBody, Run, ScenarioCommand, ScenarioSource};
use crate::learn::job::Job;
use crate::learn::scenario::{CandidateCommand, ScenarioInputs};
use crate::ops::request::Request;
use crate::store::{Index, SegmentFolder, StoreError, own_writer};

/// What represents a secret in a recorded argument.
const REDACTED: &str = "[redacted:";

/// The commands that may show the change of a job.
///
/// # Errors
/// When the store can't be read.
pub(super) fn scenario_inputs(
    request: &Request,
    index: &Index,
    segments: &SegmentFolder,
    job: &Job,
) -> Result<ScenarioInputs, StoreError> {
    let Some(harvest) = &job.harvest else { return Ok(ScenarioInputs::default()) };
    let own = own_writer(&request.places.state);
    let mut inputs =
        ScenarioInputs { changes_dependencies: !harvest.changed_dependencies.is_empty(), ..ScenarioInputs::default() };
    // The run that closed the failure; where its event is gone, the failing run, which is of the same check.
    for run in [harvest.runs.pass, harvest.runs.before].into_iter().flatten() {
        let Some((run, writer)) = read_run(index, segments, run)? else { continue };
        let is_own = own.as_deref() == Some(writer.as_str()) && own.as_deref() == Some(job.writer.as_str());
        inputs.candidates.push(CandidateCommand {
            is_closing: true,
            is_own: is_own && !run.dir.path().is_absolute(),
            ..candidate_of_run(&run)
        });
        break;
    }
    Ok(inputs)
}

fn candidate_of_run(run: &Run) -> CandidateCommand {
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

/// A recorded run, and who recorded it.
fn read_run(index: &Index, segments: &SegmentFolder, id: RunId) -> Result<Option<(Run, String)>, StoreError> {
    Ok(index.read_event(segments, &id.to_string())?.and_then(|event| match event.body {
        EventBody::Run(run) => Some((*run, event.writer)),
        _ => None,
    }))
}
