//! `ci`: the checks of a job, reported to its CI system.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::reading::StoreReader;
use super::reply::Reply;
use super::request::Request;
use crate::base::clock::Timestamp;
use crate::base::lossless::Lossless;
use crate::event::EventBody;
use crate::host::ci::{CiJob, CiSystem, JobReport};
use crate::report::{ReportedRun, SummarizedRun};
use crate::retrieval::hint::{HintSources, hint_lines};
use crate::store::{StoreError, own_writer};

/// Known failures of one run that are named.
const KNOWN_MAX: usize = 5;

/// The checks to report, and where to.
#[derive(Debug)]
pub(crate) struct CiRequest<'a> {
    /// The job.
    pub job: &'a CiJob,
    /// The job's session: all runs of it are reported on. `None` for the last run alone.
    pub session: Option<&'a str>,
    /// Only runs that were started then or later.
    pub since: Option<Timestamp>,
    /// The folder for report files; `None` for the host's: none on GitHub, else `verify-run-report`.
    pub out: Option<&'a Path>,
}

/// What `ci --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CiReply {
    /// The system.
    pub host: CiSystem,
    /// Checks reported on, each by its newest run.
    pub runs: usize,
    /// Those of them that failed.
    pub failed: usize,
    /// Failed ones that have failed like this before.
    pub known: usize,
    /// Files written.
    pub files: Vec<PathBuf>,
    /// For standard output, where the host reads it: workflow commands.
    #[serde(skip)]
    pub commands: String,
}

/// Reports the checks of a job to its CI system. What can't be written is a note: a report must not fail a job.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn report_job(request: &Request, asked: &CiRequest<'_>) -> Result<Reply<CiReply>, StoreError> {
    let mut reading = request.open_for_reading()?;
    let notes = std::mem::take(&mut reading.notes);
    let runs = find_reported_runs(request, &reading, asked)?;
    let report = JobReport::new(&runs);
    let written = report.write_files(asked.job, asked.out);
    Ok(Reply::new(
        CiReply {
            host: asked.job.host,
            runs: report.runs,
            failed: report.failed,
            known: report.known,
            files: written.files,
            commands: report.commands(asked.job.host),
        },
        notes.into_iter().chain(written.problems).collect(),
    ))
}

/// The newest run of each check that is reported on, in the order in which they began. Only what was recorded here
/// counts: an imported failure is another job's.
fn find_reported_runs(
    request: &Request,
    reading: &StoreReader,
    asked: &CiRequest<'_>,
) -> Result<Vec<SummarizedRun>, StoreError> {
    let (Some(index), Some(own)) = (&reading.index, own_writer(&request.places.state)) else { return Ok(Vec::new()) };
    let root = Lossless::from(&request.places.root);
    let ids = match asked.session {
        Some(session) => index.runs_in_session(&root, session)?,
        None => index.last_run(&root, request.now())?.map(|run| run.id).into_iter().collect(),
    };
    let mut newest: BTreeMap<String, ReportedRun> = BTreeMap::new();
    for id in ids {
        let event = index.read_event(&reading.segments, &id)?.filter(|event| event.writer == own);
        let Some(EventBody::Run(run)) = event.map(|event| event.body) else { continue };
        if asked.since.is_none_or(|since| run.started_at >= since) {
            newest.insert(run.key.clone(), ReportedRun { id, record: *run });
        }
    }
    let mut runs: Vec<ReportedRun> = newest.into_values().collect();
    runs.sort_by_key(|run| run.record.started_at);
    let mut summarized = Vec::with_capacity(runs.len());
    let (segments, root) = (&reading.segments, request.places.root.as_path());
    let sources = HintSources { index, segments, registry: None, settings: request.settings(), root };
    for run in runs {
        let key = |item: &crate::event::DiagnosticRecord| {
            item.recomputed_fingerprint().map_or_else(|| item.pattern.clone(), |keys| keys.pattern)
        };
        let keys: Vec<String> = run.items().iter().map(key).collect();
        let known = hint_lines(&sources, &keys, run.record.started_at, KNOWN_MAX)?;
        summarized.push(SummarizedRun { run, known });
    }
    Ok(summarized)
}
