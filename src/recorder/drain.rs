//! A drain: takes the lock, opens the store, and records what waits until nothing is left.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::context::Recorder;
use super::drained::DrainReport;
use super::in_flight::InFlight;
use super::projects::Projects;
use super::queue::{self, Queue, SpoolEntryKind};
use super::{lessons, log, notes, record, task, upkeep};
use crate::base::clock::Timestamp;
use crate::base::limits::{HOLDER_WAIT_MS_MAX, LOCK_WAIT_MS_MAX, SYNC_MS_MAX};
use crate::base::lock::Lock;
use crate::base::text;
use crate::capture;
use crate::config::Places;
use crate::diagnose;
use crate::store::{Store, StoreError, folder, lock_store};

/// How often a recorder that waits for a lock looks whether there is still something to record.
const HOLDER_LOOKS: Duration = Duration::from_millis(20);

/// Records what waits, unless another process is doing so already: that one looks again before it ends. One that holds the
/// lock for something else is waited for, at most [`HOLDER_WAIT_MS_MAX`].
///
/// For the detached recorder. Nothing waits and nothing fails visibly; what happened is in the recorder's log.
///
/// # Errors
/// When the store can't be opened: it is newer, or its folder can't be written. The spool stays.
pub(crate) fn drain(places: &Places) -> Result<DrainReport, StoreError> {
    let until = Instant::now() + Duration::from_millis(HOLDER_WAIT_MS_MAX);
    let mut drained = drain_within(places, Duration::ZERO, None, || {})?;
    // Not everybody who holds the lock records: a hook that takes over shared lessons, a command that notes one thing.
    while drained.busy && Instant::now() < until && !queue::pending_entries(places).is_empty() {
        drained = drain_within(places, HOLDER_LOOKS, None, || {})?;
    }
    Ok(drained)
}

/// Records before the command returns (`--sync`), within [`SYNC_MS_MAX`], and says so by `recorded`, once: what else
/// a recorder does, as the daily backup and the database's own upkeep, runs in the background.
///
/// # Errors
/// As [`drain`].
pub(crate) fn drain_sync(places: &Places, recorded: impl FnOnce()) -> Result<DrainReport, StoreError> {
    let limit = Duration::from_millis(SYNC_MS_MAX);
    drain_within(places, limit, Some(Instant::now() + limit), recorded)
}

/// Records what waits before something is read.
///
/// # Errors
/// As [`drain`].
pub(crate) fn drain_for_reading(places: &Places) -> Result<DrainReport, StoreError> {
    drain_within(places, Duration::from_millis(LOCK_WAIT_MS_MAX), None, || {})
}

/// Adds to the notes what went wrong and what was left for later.
fn note_result(drained: &mut DrainReport, error: Option<&StoreError>) {
    drained.notes.extend(error.map(ToString::to_string));
    drained.notes.extend(drained.left.iter().map(|(path, why)| format!("left {}: {why}", text::path(path))));
}

fn drain_within(
    places: &Places,
    wait: Duration,
    until: Option<Instant>,
    recorded: impl FnOnce(),
) -> Result<DrainReport, StoreError> {
    let mut drained = DrainReport::default();
    let mut recorded = Some(recorded);
    loop {
        let lock = match lock_store(&places.state, wait) {
            Ok(lock) => lock,
            Err(StoreError::Busy { .. }) => {
                drained.busy = drained.runs == 0;
                return Ok(drained);
            }
            Err(error) => return Err(error),
        };
        let moved = folder::move_foreign_files_aside(&places.state)?;
        if !moved.is_empty() {
            log::append_lines(&places.state, &moved);
            drained.notes.extend(moved);
        }
        if queue::pending_entries(places).iter().any(|pending| pending.kind == SpoolEntryKind::Run) {
            diagnose::prepare_catalog();
        }
        // git looks at the work trees, and the output is diagnosed, while the store is opened.
        let mut prepared =
            match catch_unwind(AssertUnwindSafe(|| PreparedDrain::new(places, &lock, until, &mut drained))) {
                Ok(prepared) => prepared,
                Err(panic) => {
                    log::append_lines(&places.state, &[log::panic_text(&*panic)]);
                    return Ok(drained);
                }
            };
        let mut store = match Store::open(&places.state, lock) {
            Ok(store) => store,
            Err(error) => {
                if !error.is_newer() {
                    log::append_lines(&places.state, &[error.to_string()]);
                }
                return Err(error);
            }
        };
        let known = drained.notes.len();
        drained.notes.extend(store.take_notes());
        let work = AssertUnwindSafe(|| {
            let result = drain_or_rebuild(&mut prepared, &mut store, until, &mut drained);
            if let Some(recorded) = recorded.take() {
                recorded();
            }
            result.and_then(|()| prepared.end_tasks(&mut store))
        });
        let result = match catch_unwind(work) {
            Ok(result) => result,
            Err(panic) => {
                log::append_lines(&places.state, &[log::panic_text(&*panic)]);
                return Ok(drained);
            }
        };
        drop(prepared);
        drained.promotes = store.index().tasks_to_promote(Timestamp::now()).is_ok_and(|tasks| !tasks.is_empty());
        // Nothing waits for a detached recorder.
        let has_time = wait.is_zero() && until.is_none();
        upkeep::run(places, &store, std::mem::take(&mut drained.raw_bytes), has_time, &mut drained.notes);
        drained.notes.extend(store.take_notes());
        note_result(&mut drained, result.as_ref().err());
        log::append_lines(&places.state, &drained.notes[known..]);
        drop(store);
        result?;
        // Another process may have found the lock held just before it was released here, and relied on this process.
        let left: Vec<_> = drained.left.iter().map(|(path, _)| path.as_path()).collect();
        let is_late = until.is_some_and(|until| Instant::now() >= until);
        if is_late || queue::pending_entries(places).iter().all(|pending| left.contains(&pending.path.as_path())) {
            return Ok(drained);
        }
        drained.left.clear();
    }
}

/// Records what waits; an index with a damaged page, which may not have been read for a while, is rebuilt in between.
/// What was recorded by then is known when it is met again.
fn drain_or_rebuild(
    prepared: &mut PreparedDrain,
    store: &mut Store,
    until: Option<Instant>,
    drained: &mut DrainReport,
) -> Result<(), StoreError> {
    match prepared.record(store, until, drained) {
        Err(damage) if damage.is_damage() => {
            store.rebuild_damaged_index(&damage)?;
            prepared.record(store, until, drained)
        }
        result => result,
    }
}

/// What waits, and what was begun for it before the store is open.
struct PreparedDrain {
    projects: Projects,
    queue: Queue,
    in_flight: InFlight,
    /// As long as git is at work; dropped after the snapshots.
    _lock: Option<Lock>,
}

impl PreparedDrain {
    fn new(places: &Places, lock: &Lock, until: Option<Instant>, report: &mut DrainReport) -> Self {
        let mut projects = Projects::new(places);
        let queue = Queue::collect_entries(places, report);
        let in_flight = InFlight::spawn(&mut projects, &queue.entries, until);
        PreparedDrain { projects, queue, in_flight, _lock: lock.share().ok() }
    }

    /// Ends the tasks that are over with their branch, if a run was recorded: they are looked at only then.
    fn end_tasks(&mut self, store: &mut Store) -> Result<(), StoreError> {
        if self.queue.entries.is_empty() { Ok(()) } else { task::end_with_branches(&mut self.projects, store) }
    }

    fn record(
        &mut self,
        store: &mut Store,
        until: Option<Instant>,
        report: &mut DrainReport,
    ) -> Result<(), StoreError> {
        let PreparedDrain { projects, queue, in_flight, _lock } = self;
        let mut recorder = Recorder { projects, in_flight, store, report };
        record_queue(&mut recorder, queue, until)?;
        recorder.report.notes.extend(recorder.in_flight.snapshots.take_notes());
        queue.release_entries(recorder.report);
        Ok(())
    }
}

fn record_queue(recorder: &mut Recorder<'_>, queue: &Queue, until: Option<Instant>) -> Result<(), StoreError> {
    lessons::retry_lessons(recorder)?;
    // A task that was announced before a run is known when the run is recorded.
    notes::record_notes(recorder)?;
    if let Some(newest) = queue.entries.last() {
        let names = recorder.projects.fix_settings(newest.header.repository.root.path()).variables();
        let kept = capture::remember(&recorder.projects.project_places().state, &names);
        recorder.report.note_error("the names of variables that count", kept);
    }
    let roots: BTreeSet<PathBuf> =
        queue.entries.iter().map(|entry| entry.header.repository.root.path().to_owned()).collect();
    for root in roots {
        recorder.projects.read_shared(recorder.store, &root)?;
    }
    for entries in queue.entries.chunk_by(|a, b| !a.is_spool && !b.is_spool) {
        let first = &entries[0];
        if until.is_some_and(|until| Instant::now() >= until) {
            // Every log of the chunk: one that isn't named here is released as read.
            let mut paths: Vec<_> = entries.iter().map(|entry| &entry.path).collect();
            paths.sort();
            paths.dedup();
            let late = paths.into_iter().map(|path| (path.clone(), "the time limit was reached".into()));
            recorder.report.left.extend(late);
        } else if first.is_spool {
            // A file that makes this version panic would do so again and hold up every later one.
            match catch_unwind(AssertUnwindSafe(|| record::record_spool(recorder, first))) {
                Ok(recorded) => recorded?,
                Err(panic) => queue::set_aside(&first.path, &log::panic_text(&*panic), recorder.report),
            }
        } else {
            record::record_passes(recorder, entries)?;
        }
    }
    Ok(())
}
