//! The recorder: takes finished runs from the spool into the store, one at a time, in the order in which they ended.
//!
//! Single by the recorder's lock and idempotent by run id, so that it may be killed anywhere. For each run the order
//! is: event, index, what follows from it, markers; all of it synced; lesson, raw output, and last of all the spool
//! file's removal. Whatever was cut off is done by the next recorder, which finds the spool file still there.

mod assemble;
mod attribution;
mod changes;
pub(crate) mod definitions;
mod diagnosis;
mod fixes;
mod flakes;
mod head;
mod lessons;
mod log;
mod merges;
mod notes;
mod observed;
mod open;
mod queue;
mod reports;
pub(crate) mod shared_lessons;
mod steps;
mod task;
#[cfg(test)]
pub(crate) mod tests;
mod trees;
mod unwanted;
mod upkeep;

use std::any::Any;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::base::clock::Timestamp;
use crate::base::limits::{HOLDER_WAIT_MS_MAX, LOCK_WAIT_MS_MAX, SYNC_MS_MAX};
use crate::base::lock::Lock;
use crate::base::text;
use crate::capture;
use crate::config::Places;
use crate::diagnose;
use crate::store::{Store, StoreError, folder, lock_store};
use queue::Queue;
use trees::SnapshotBatch;

pub(crate) use assemble::lesson_facts;
pub(crate) use diagnosis::pattern_keys;
pub(crate) use lessons::fix_facts;
pub(crate) use log::recent_lines as recent_log;
pub(crate) use queue::{Holds, bad_files, pending_entries, waiting_headers};
pub(crate) use steps::local_machine;
pub(crate) use task::current_task;

/// How often a recorder that waits for a lock looks whether there is still something to record.
const HOLDER_LOOKS: Duration = Duration::from_millis(20);

/// What a drain did.
#[derive(Debug, Default, Clone)]
pub(crate) struct Drained {
    /// Runs recorded, passed or failed.
    pub runs: usize,
    /// Failures among them.
    pub failures: usize,
    /// Events taken that commands had put down.
    pub notes_taken: usize,
    /// Raw output written, bytes, that the upkeep doesn't know of yet.
    raw_bytes: u64,
    /// Lesson files written.
    pub lessons: Vec<PathBuf>,
    /// Spool files that could not be parsed, and where they are now.
    pub bad: Vec<PathBuf>,
    /// Spool files left for a newer verify-run, or for later, with the reason.
    pub left: Vec<(PathBuf, String)>,
    /// What was found and put right, or could not be done.
    pub notes: Vec<String>,
    /// Something was learnt in a task that waits for the task's end to be shared.
    pub promotes: bool,
    /// Another process is recording: nothing was done here.
    pub busy: bool,
}

/// Records what waits, unless another process is doing so already: that one looks again before it ends. One that holds the
/// lock for something else is waited for, at most [`HOLDER_WAIT_MS_MAX`].
///
/// For the detached recorder. Nothing waits and nothing fails visibly; what happened is in the recorder's log.
///
/// # Errors
/// When the store can't be opened: it is newer, or its folder can't be written. The spool stays.
pub(crate) fn drain(places: &Places) -> Result<Drained, StoreError> {
    let until = Instant::now() + Duration::from_millis(HOLDER_WAIT_MS_MAX);
    let mut drained = drain_within(places, Duration::ZERO, None, || {})?;
    // Not everybody who holds the lock records: a hook that takes over shared lessons, a command that notes one thing.
    while drained.busy && Instant::now() < until && !pending_entries(places).is_empty() {
        drained = drain_within(places, HOLDER_LOOKS, None, || {})?;
    }
    Ok(drained)
}

/// Records before somebody goes on (`--sync`), within [`SYNC_MS_MAX`], and says so by `recorded`, once: what else a
/// recorder does, as the daily backup and the database's own upkeep, nobody waits for.
///
/// # Errors
/// As [`drain`].
pub(crate) fn drain_sync(places: &Places, recorded: impl FnOnce()) -> Result<Drained, StoreError> {
    let limit = Duration::from_millis(SYNC_MS_MAX);
    drain_within(places, limit, Some(Instant::now() + limit), recorded)
}

/// Records what waits before something is read.
///
/// # Errors
/// As [`drain`].
pub(crate) fn drain_for_reading(places: &Places) -> Result<Drained, StoreError> {
    drain_within(places, Duration::from_millis(LOCK_WAIT_MS_MAX), None, || {})
}

fn drain_within(
    places: &Places,
    wait: Duration,
    until: Option<Instant>,
    recorded: impl FnOnce(),
) -> Result<Drained, StoreError> {
    let mut drained = Drained::default();
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
        if queue::pending_entries(places).iter().any(|pending| pending.holds == Holds::Run) {
            diagnose::prepare_catalog();
        }
        // git looks at the work trees, and the output is diagnosed, while the store is opened.
        let mut begun = match catch_unwind(AssertUnwindSafe(|| Begun::of(places, &lock, until, &mut drained))) {
            Ok(begun) => begun,
            Err(panic) => {
                log::append_lines(&places.state, &[panicked(&*panic)]);
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
            let result = drain_or_rebuild(places, &mut begun, &mut store, until, &mut drained);
            if let Some(recorded) = recorded.take() {
                recorded();
            }
            result.and_then(|()| begun.end_tasks(&mut store))
        });
        let result = match catch_unwind(work) {
            Ok(result) => result,
            Err(panic) => {
                log::append_lines(&places.state, &[panicked(&*panic)]);
                return Ok(drained);
            }
        };
        drop(begun);
        drained.promotes = store.index().tasks_to_promote(Timestamp::now()).is_ok_and(|tasks| !tasks.is_empty());
        // Nobody waits for a recorder of its own.
        let has_time = wait.is_zero() && until.is_none();
        upkeep::run(places, &store, std::mem::take(&mut drained.raw_bytes), has_time, &mut drained.notes);
        drained.notes.extend(store.take_notes());
        if let Err(error) = &result {
            drained.notes.push(error.to_string());
        }
        drained.notes.extend(drained.left.iter().map(|(path, why)| format!("left {}: {why}", text::path(path))));
        log::append_lines(&places.state, &drained.notes[known..]);
        drop(store);
        result?;
        // Somebody may have found the lock held just before it was released here, and relied on this process.
        let left: Vec<_> = drained.left.iter().map(|(path, _)| path.as_path()).collect();
        let is_late = until.is_some_and(|until| Instant::now() >= until);
        if is_late || queue::pending_entries(places).iter().all(|pending| left.contains(&pending.path.as_path())) {
            return Ok(drained);
        }
        drained.left.clear();
    }
}

/// Records what waits; an index with a damaged page, which nobody may have read for a while, is rebuilt in between. What
/// was recorded by then is known when it is met again.
fn drain_or_rebuild(
    places: &Places,
    begun: &mut Begun<'_>,
    store: &mut Store,
    until: Option<Instant>,
    drained: &mut Drained,
) -> Result<(), StoreError> {
    match drain_locked(places, begun, store, until, drained) {
        Err(damage) if damage.is_damage() => {
            store.rebuild_damaged_index(&damage)?;
            drain_locked(places, begun, store, until, drained)
        }
        result => result,
    }
}

/// Writes what was found and put right elsewhere into the recorder's log.
pub(crate) fn note(places: &Places, lines: &[String]) {
    log::append_lines(&places.state, lines);
}

/// What a panic said, for the log: a defect of ours that nobody sees otherwise.
fn panicked(panic: &(dyn Any + Send)) -> String {
    let message = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    format!("the recorder panicked ({})", message.unwrap_or("without a message"))
}

/// What waits, and the snapshots of its work trees under way.
struct Begun<'a> {
    projects: steps::Projects<'a>,
    queue: Queue,
    trees: SnapshotBatch,
    /// As long as git is at work; dropped after the snapshots.
    _lock: Option<Lock>,
}

impl<'a> Begun<'a> {
    fn of(places: &'a Places, lock: &Lock, until: Option<Instant>, drained: &mut Drained) -> Self {
        let mut projects = steps::Projects::new(places);
        let queue = Queue::collect_entries(places, drained);
        let trees = SnapshotBatch::begin_batch(&mut projects, &queue.entries, until);
        projects.begin_diagnosis(&queue.entries);
        Begun { projects, queue, trees, _lock: lock.share().ok() }
    }

    /// Ends the tasks that are over with their branch, if a run was recorded: they are looked at only then.
    fn end_tasks(&mut self, store: &mut Store) -> Result<(), StoreError> {
        if self.queue.entries.is_empty() { Ok(()) } else { task::end_with_branches(&mut self.projects, store) }
    }
}

fn drain_locked(
    places: &Places,
    begun: &mut Begun<'_>,
    store: &mut Store,
    until: Option<Instant>,
    drained: &mut Drained,
) -> Result<(), StoreError> {
    let Begun { projects, queue, trees, _lock } = begun;
    lessons::retry_lessons(projects, store, drained)?;
    // A task that was announced before a run is known when the run is recorded.
    notes::record_notes(places, store, drained)?;
    if let Some(newest) = queue.entries.last() {
        let names = projects.fix_settings(newest.header.place.root.path()).environment;
        let kept = capture::remember(&places.state, &names);
        steps::note_error(drained, "the names of variables that count", kept);
    }
    let roots: BTreeSet<PathBuf> =
        queue.entries.iter().map(|entry| entry.header.place.root.path().to_owned()).collect();
    for root in roots {
        projects.read_shared(store, &root)?;
    }
    for entries in queue.entries.chunk_by(|a, b| !a.is_spool && !b.is_spool) {
        let first = &entries[0];
        if until.is_some_and(|until| Instant::now() >= until) {
            // Every log of the chunk: one that isn't named here is released as read.
            let mut paths: Vec<_> = entries.iter().map(|entry| &entry.path).collect();
            paths.sort();
            paths.dedup();
            drained.left.extend(paths.into_iter().map(|path| (path.clone(), "the time limit was reached".into())));
        } else if first.is_spool {
            // A file that makes this version panic would do so again and hold up every later one.
            match catch_unwind(AssertUnwindSafe(|| steps::record_spool(projects, trees, store, first, drained))) {
                Ok(recorded) => recorded?,
                Err(panic) => queue::set_aside(&first.path, &panicked(&*panic), drained),
            }
        } else {
            steps::record_passes(projects, trees, store, entries, drained)?;
        }
    }
    drained.notes.extend(trees.take_notes());
    queue.release_entries(drained);
    Ok(())
}
