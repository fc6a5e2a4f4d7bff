//! `store status|rebuild|backup|purge`.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::reply::Reply;
use super::request::Request;
use crate::base::ids::RunId;
use crate::fix::snapshot::{self, ObjectFolderStatus};
use crate::recorder;
use crate::store::{Index, SegmentFolder, Store, StoreCounts, StoreError, backup};

/// What `store status --json` prints. Sizes are bytes.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct StoreStatus {
    /// The state folder.
    pub state: PathBuf,
    /// Rows of the index; `None` when there is none.
    pub counts: Option<StoreCounts>,
    /// Segments, by name.
    pub segments: Vec<SegmentStatus>,
    /// The index's size.
    pub index_bytes: u64,
    /// What SQLite's check found wrong with the index.
    pub index_damage: Option<String>,
    /// Files that wait for the recorder.
    pub pending: Vec<PathBuf>,
    /// Spool files that could not be parsed.
    pub bad: Vec<PathBuf>,
    /// Torn lines that were set aside.
    pub torn: Vec<PathBuf>,
    /// Backups, oldest first.
    pub backups: Vec<PathBuf>,
    /// Raw output kept.
    pub raw_bytes: u64,
    /// The work trees at the runs.
    pub snapshots: SnapshotStatus,
    /// The end of the recorder's log.
    pub log: Vec<String>,
}

/// What is kept of work trees.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct SnapshotStatus {
    /// Different trees that runs have; the objects of old ones may be gone.
    pub trees: usize,
    /// Size of their objects.
    pub bytes: u64,
    /// How the last snapshot of each work tree went, by path.
    pub work_trees: Vec<ObjectFolderStatus>,
}

/// One segment.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct SegmentStatus {
    /// File name.
    pub name: String,
    /// Its size.
    pub bytes: u64,
}

/// Lines of the log that are shown.
const LOG_LINES_MAX: usize = 10;

/// How the store is.
///
/// # Errors
/// When it can't be read.
pub(crate) fn store_status(request: &Request) -> Result<Reply<StoreStatus>, StoreError> {
    let reading = request.open_for_reading()?;
    let (counts, index_damage, trees) = match &reading.index {
        Some(index) => (Some(index.count_rows()?), index.check_integrity()?, index.list_trees()?.len()),
        None => (None, None, 0),
    };
    let segments = reading.segments.list_segments()?;
    Ok(Reply::new(
        StoreStatus {
            state: request.places.state.to_path_buf(),
            counts,
            segments: segments.into_iter().map(|s| SegmentStatus { name: s.name, bytes: s.bytes }).collect(),
            index_bytes: fs::metadata(request.places.state.index()).map_or(0, |metadata| metadata.len()),
            index_damage,
            pending: recorder::pending_entries(&request.places).into_iter().map(|pending| pending.path).collect(),
            bad: recorder::bad_files(&request.places),
            torn: reading.segments.torn_files(),
            backups: backup::list_backups(&request.places.state),
            raw_bytes: folder_bytes(&request.places.state.raw_outputs()),
            snapshots: SnapshotStatus {
                trees,
                bytes: snapshot::folder_size(&request.places.state),
                work_trees: snapshot::folder_statuses(&request.places.state),
            },
            log: recorder::recent_log(&request.places.state, LOG_LINES_MAX),
        },
        reading.notes,
    ))
}

/// What was done to the store, for people and as JSON.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct StoreReply {
    /// One line each.
    pub done: Vec<String>,
}

impl StoreReply {
    fn from_lines(done: Vec<String>) -> Reply<Self> {
        Reply::from(StoreReply { done })
    }
}

/// Rebuilds the index from the events, after putting back from `backup` what is missing or shorter now.
///
/// # Errors
/// When the store can't be opened or written.
pub(crate) fn rebuild_index(request: &Request, from: Option<&Path>) -> Result<Reply<StoreReply>, StoreError> {
    let lock = request.lock_store()?;
    let mut done = Vec::new();
    if let Some(from) = from {
        let restored = backup::restore_backup(from, &SegmentFolder::new(request.places.state.events()))?;
        done.extend(restored.into_iter().map(|name| format!("restored {name}")));
    }
    let mut store = Store::open(&request.places.state, lock)?;
    // An index of an older version was computed again by opening it: in a large store that takes minutes.
    if !store.is_rebuilt() {
        store.rebuild_index("")?;
    }
    done.extend(store.take_notes());
    Ok(StoreReply::from_lines(done))
}

/// Moves an index that turned out to be damaged aside, and rebuilds it; what was done.
///
/// # Errors
/// When the store can't be opened or written.
pub(crate) fn heal_index(request: &Request, damage: &str) -> Result<Vec<String>, StoreError> {
    let mut store = request.open_store()?;
    store.rebuild_damaged_index(&damage)?;
    let notes = store.take_notes();
    recorder::note(&request.places, &notes);
    Ok(notes)
}

/// Makes a backup of this moment, in place of the day's.
///
/// # Errors
/// When it can't be written.
pub(crate) fn back_up(request: &Request) -> Result<Reply<StoreReply>, StoreError> {
    let store = request.open_store()?;
    let made = backup::make_backup(&request.places.state, store.segments(), &request.now().local_day())?;
    let kept = backup::list_backups(&request.places.state).len();
    Ok(StoreReply::from_lines(vec![format!("made {} ({kept} kept)", made.display())]))
}

/// Removes the text of every run that `id` represents: events, index, raw output, backups.
///
/// # Errors
/// When there is no such id, or a file can't be written: repeating finishes the job.
pub(crate) fn purge_record(request: &Request, id: &str) -> Result<Reply<StoreReply>, StoreError> {
    let (mut store, mut done) = request.open_for_writing()?;
    let runs = store.index().runs_of_id(id)?;
    let lessons = lessons_of(store.index(), &runs)?;
    for run in &runs {
        let raw = request.places.state.raw_output(run);
        if let Err(error) = fs::remove_file(&raw)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            return Err(crate::store::io_at("remove", &raw)(error));
        }
    }
    backup::remove_all_backups(&request.places.state)?;
    let lines = store.purge_runs(&runs)?;
    if let Err(why) = snapshot::purge_objects(&request.places, &store.index().list_trees()?) {
        done.push(format!("the trees of these runs are still in {}: {why}", request.places.state.objects().display()));
    }
    backup::make_backup(&request.places.state, store.segments(), &request.now().local_day())?;
    let purged = format!(
        "purged {} and {} with their raw output; earlier backups were replaced by a new one",
        crate::base::text::count(runs.len(), "run"),
        crate::base::text::count(lines, "event")
    );
    done.insert(0, purged);
    done.extend(store.take_notes());
    done.extend(lessons.into_iter().map(|(id, file)| {
        format!("the lesson {file} may still have the text; to remove it: verify-run lesson forget {id}")
    }));
    Ok(StoreReply::from_lines(done))
}

fn lessons_of(index: &Index, runs: &[RunId]) -> Result<Vec<(String, String)>, StoreError> {
    let lessons = index.list_lessons()?.into_iter().filter(|lesson| !lesson.forgotten);
    let concerned = lessons.filter(|lesson| runs.iter().any(|run| run.to_string() == lesson.run));
    Ok(concerned.map(|lesson| (lesson.id, lesson.file)).collect())
}

fn folder_bytes(dir: &Path) -> u64 {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).map(|metadata| metadata.len()).sum()
}
