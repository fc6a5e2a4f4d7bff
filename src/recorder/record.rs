//! The steps of recording one run. Each may have been done by a recorder that was killed: each is repeatable.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::context::Recorder;
use super::diagnosis::{self, DiagnosedFailure};
use super::markers::mark_open;
use super::merges::PatternMerges;
use super::projects::RecordedRun;
use super::queue::{self, SpoolEntry};
use super::{assemble, attempts, head, lessons, observed, receipts, task, unwanted};
use crate::base::clock::Timestamp;
use crate::base::file::{self, Durability};
use crate::base::ids::RunId;
use crate::capture::{Identity, SpoolError, SpoolHeader, SpooledRun, session_models};
use crate::diagnose::{self, Baseline, RunnerSummary};
use crate::event::{Event, EventBody, Failure, Run};
use crate::fix;
use crate::store::StoreError;

/// zstd's own default: fast, and small enough for text.
const ZSTD_LEVEL: i32 = 3;

/// Records the passes of a log in one append.
///
/// # Errors
/// When the store can't be written.
pub(super) fn record_passes(recorder: &mut Recorder<'_>, entries: &[SpoolEntry]) -> Result<(), StoreError> {
    let mut events = Vec::new();
    for entry in entries {
        let id = entry.header.run;
        if !recorder.store.index().has_event(id)? && events.iter().all(|event: &Event| event.id != id.0) {
            let run = new_run(recorder, &entry.header, None)?;
            events.push(Event::from_run(id, Timestamp::now(), recorder.store.writer_name(), run));
            recorder.report.runs += 1;
            events.extend(recorder.in_flight.snapshots.snapshot_event(recorder.store, &entry.header)?);
        }
    }
    recorder.store.append_unsynced(&events)?;
    for event in &events {
        if let EventBody::Run(run) = &event.body {
            let recorded = RecordedRun { id: RunId(event.id), run };
            let open = attempts::open_failures_of(recorder, recorded)?;
            attempts::after_run(recorder, recorded, open)?;
        }
    }
    recorder.store.sync()
}

/// Records the run of a spool file, and removes the file.
///
/// # Errors
/// When the store can't be written: the file stays for the next recorder.
pub(super) fn record_spool(recorder: &mut Recorder<'_>, entry: &SpoolEntry) -> Result<(), StoreError> {
    let Some(spooled) = read_spooled(recorder, entry) else { return Ok(()) };
    let header = &spooled.header;
    if observed::is_recorded(recorder.store, header)? {
        let _ = fs::remove_file(&entry.path);
        return Ok(());
    }
    let (id, is_new) = (header.run, !recorder.store.index().has_event(header.run)?);
    // Recorded by a recorder that was killed later: its decisions are kept. A run that was purged meanwhile is none.
    let mut run = if is_new {
        Some(new_run(recorder, header, Some(&spooled.output))?)
    } else {
        recorder.store.index().read_run(recorder.store.segments(), &id.to_string())?
    };
    // Looked up while the output is diagnosed.
    let open = match &run {
        Some(run) => Some(attempts::open_failures_of(recorder, RecordedRun { id, run })?),
        None => None,
    };
    if let Some(new) = run.as_mut().filter(|_| is_new) {
        record_new(recorder, &entry.path, &spooled, new)?;
        if !recorder.store.index().has_event(id)? {
            run = None;
        }
    }
    match (&run, open) {
        (Some(run), Some(open)) => attempts::after_run(recorder, RecordedRun { id, run }, open)?,
        _ => mark_open(recorder.projects.project_places(), recorder.store, &header.key)?,
    }
    recorder.store.sync()?;
    match &run {
        _ if header.ended.passed() => keep_baseline(recorder, &spooled),
        Some(run) => keep_failure(recorder, &spooled, run),
        None => {}
    }
    if let Err(error) = fs::remove_file(&entry.path) {
        recorder.report.left.push((entry.path.clone(), format!("recorded, but cannot be removed: {error}")));
    }
    Ok(())
}

/// The whole spool file of an entry; `None` when it can't be recorded now, which is reported.
fn read_spooled(recorder: &mut Recorder<'_>, entry: &SpoolEntry) -> Option<Arc<SpooledRun>> {
    if let Some(spooled) = recorder.in_flight.parsed_spool(&entry.path) {
        return Some(spooled);
    }
    let left = match fs::read(&entry.path) {
        Ok(bytes) => match SpooledRun::parse(&bytes) {
            Ok(spooled) => return Some(Arc::new(spooled)),
            Err(error @ SpoolError::Newer(_)) => error.to_string(),
            Err(SpoolError::Bad(why)) => {
                queue::set_aside(&entry.path, &why, recorder.report);
                return None;
            }
        },
        // It was removed meanwhile.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        Err(error) => error.to_string(),
    };
    recorder.report.left.push((entry.path.clone(), left));
    None
}

/// The run of a header, with what its output says of the tests that ran; without its failure.
fn new_run(recorder: &mut Recorder<'_>, header: &SpoolHeader, output: Option<&[u8]>) -> Result<Run, StoreError> {
    let silence = recorder.projects.fix_settings(header.repository.root.path()).silence_hours;
    let task = task::announced_task(recorder.store.index(), &header.identity, header.started_at, silence)?;
    let RunnerSummary { tests, stopped_early } =
        output.map(|output| assemble::ran_from_header(header, output)).unwrap_or_default();
    let places = recorder.projects.project_places();
    let commit = head::commit_of_run(header, places.repository.as_ref());
    let model = header.identity.model.clone().or_else(|| model_of_session(recorder, &header.identity));
    let header = &SpoolHeader { identity: Identity { task, model, ..header.identity.clone() }, ..header.clone() };
    let run = assemble::run(header, task::default_branch(places).as_deref());
    let phase = task::phase_of_run(recorder.store.index(), header, &run)?;
    Ok(Run { phase, tests, stopped_early, program: fix::digest_programs(header), commit, ..run })
}

/// The language model at work in the session, as its host named it to a hook.
fn model_of_session(recorder: &Recorder<'_>, identity: &Identity) -> Option<String> {
    session_models(recorder.projects.environment(), identity.session.as_deref()?).pop()
}

/// Appends a run that isn't recorded yet, with its failure if it has one, and its work tree with it.
fn record_new(recorder: &mut Recorder<'_>, path: &Path, spooled: &SpooledRun, run: &mut Run) -> Result<(), StoreError> {
    let Recorder { projects, in_flight, store, report } = recorder;
    let header = &spooled.header;
    // What follows from the run comes first: where the run is, they are.
    let mut events = Vec::new();
    if !header.ended.passed() {
        let DiagnosedFailure { diagnosis, items } = in_flight.take_diagnosis(projects, path, spooled);
        let settings = &projects.project_at(header.repository.root.path()).settings;
        // Above 1 nothing is similar enough: without learning it stays separate.
        let similarity = if settings.advice.learning { settings.patterns.similarity } else { 1.0 };
        let merges = PatternMerges::from_leaders(store, header.run, &items, similarity)?;
        let reason = unwanted::reason_against_lesson(header, &diagnosis);
        let lesson = lessons::decide_lesson(store, header, &items, &merges, reason, settings)?;
        let failure = assemble::assemble_failure(header.run, &diagnosis, items, lesson);
        let category_description = settings.categories.meaning(&failure.category).map(str::to_owned);
        run.failure = Some(Failure { category_description, ..failure });
        events = merges.events;
    }
    in_flight.spawn_diff(projects, store, header)?;
    events.push(Event::from_run(header.run, Timestamp::now(), store.writer_name(), run.clone()));
    events.extend(in_flight.snapshots.snapshot_event(store, header)?);
    let receipt = receipts::receipt_event(header, run, store.writer_name());
    report.asks_versions |=
        receipt.is_some() && header.checked_state.as_ref().is_some_and(|state| state.toolchain.is_some());
    events.extend(receipt);
    store.append_unsynced(&events)?;
    report.runs += 1;
    report.failures += usize::from(run.failure.is_some());
    Ok(())
}

/// What a passing run printed: what is new in the output of the next one that fails is seen by it.
fn keep_baseline(recorder: &mut Recorder<'_>, spooled: &SpooledRun) {
    let json = serde_json::to_vec(&Baseline::from_output(&spooled.output)).unwrap_or_default();
    let path = diagnosis::baseline_path(recorder.projects.project_places(), &spooled.header);
    recorder.report.note_error("the baseline", write_packed(&path, &json));
}

/// The lesson and the output of a failing run.
fn keep_failure(recorder: &mut Recorder<'_>, spooled: &SpooledRun, run: &Run) {
    let id = spooled.header.run;
    lessons::write_lesson(recorder, id, run);
    let path = recorder.projects.project_places().state.raw_output(id);
    if !path.exists() {
        let written = write_packed(&path, diagnose::coloured_text(&spooled.output).as_bytes());
        recorder.report.raw_bytes += fs::metadata(&path).map_or(0, |metadata| metadata.len());
        recorder.report.note_error("the raw output", written);
    }
}

fn write_packed(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    path.parent().map_or(Ok(()), file::create_private_dir)?;
    file::write_atomic(path, &zstd::bulk::compress(bytes, ZSTD_LEVEL)?, 0o600, Durability::Cached)
}
