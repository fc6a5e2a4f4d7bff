//! The writing side: events are appended and indexed, then synced, all under the recorder's lock.

use std::collections::HashMap;
use std::fs;
use std::time::Duration;

use super::build::build_index;
use super::error::{StoreError, io_at};
use super::exchange::is_purged;
use super::folder;
use super::index::{self, CatchUpResult, Index, IndexedSegment};
use super::segment::{Segment, SegmentFolder, SegmentRepair, UnsyncedSegment};
use crate::base::clock::Timestamp;
use crate::base::file::{self, Durability};
use crate::base::ids::RunId;
use crate::base::lock::{self as file_lock, Lock};
use crate::base::private;
use crate::base::text::{self, count};
use crate::config::StateDir;
use crate::event::{Event, EventBody};
use crate::store::apply::ApplyResult;

/// The store, open for writing.
#[derive(Debug)]
pub(crate) struct Store {
    state: StateDir,
    segments: SegmentFolder,
    index: Index,
    writer: String,
    notes: Vec<String>,
    /// The whole index was computed from the segments since the store was opened.
    is_rebuilt: bool,
    /// The segments as they were found.
    listed: Vec<Segment>,
    /// What was appended since the last sync, by segment.
    unsynced: HashMap<String, UnsyncedSegment>,
    _lock: Lock,
}

/// Takes the recorder's lock of a state folder (created if needed), waiting at most `wait`.
///
/// # Errors
/// [`StoreError::Busy`] when another process holds it; I/O.
pub(crate) fn lock_store(state: &StateDir, wait: Duration) -> Result<Lock, StoreError> {
    private::check_folder(state).map_err(io_at("use", state))?;
    file::create_private_dir(state).map_err(io_at("create", state))?;
    let path = state.recorder_lock();
    if path.symlink_metadata().is_ok_and(|metadata| !metadata.is_file()) {
        folder::move_aside(&path)?;
    }
    match file_lock::exclusive(&path, wait).map_err(io_at("lock", &path))? {
        Some(lock) => Ok(lock),
        None => Err(StoreError::Busy { path }),
    }
}

impl Store {
    /// Opens the store in `state`: mends torn segments, brings the index up to date, rebuilds it if it must be.
    ///
    /// # Errors
    /// [`StoreError::Newer`] before anything was changed; I/O.
    pub(crate) fn open(state: &StateDir, lock: Lock) -> Result<Self, StoreError> {
        let mut notes = folder::move_foreign_files_aside(state)?;
        let segments = SegmentFolder::new(state.events());
        let path = state.index();
        let existed = fs::metadata(&path).is_ok_and(|metadata| metadata.len() > 0);
        let (index, why) = match Index::open(&path) {
            Ok(index) => (index, (!existed).then(|| "was missing".to_owned())),
            Err(error) if error.is_damage() => {
                let aside = index::move_index_aside(&path)?;
                (Index::open(&path)?, Some(format!("was damaged ({error}; kept as {})", text::path(&aside))))
            }
            Err(error) => return Err(error),
        };
        // What is indexed to its end ends in a whole line. An unreadable index does not tell this of any.
        let known = index.known_segments();
        let is_whole = |segment: &Segment| {
            let known = known.as_ref().ok().and_then(|known| known.get(&segment.name));
            known.is_some_and(|known| known.bytes == segment.bytes)
        };
        let mut listed = segments.list_segments()?;
        let mut mended = Vec::new();
        for segment in listed.iter().filter(|segment| !is_whole(segment)) {
            mended.extend(segments.repair_end(&segment.name)?);
        }
        if !mended.is_empty() {
            notes.extend(mended.iter().map(describe_repair));
            listed = segments.list_segments()?;
        }
        let writer = writer_id(state)?;
        let (state, unsynced) = (state.clone(), HashMap::new());
        let mut store =
            Store { state, segments, index, writer, notes, is_rebuilt: false, listed, unsynced, _lock: lock };
        match known.and_then(|known| store.update_index(&known, why)) {
            Err(error) if error.is_damage() => store.rebuild_damaged_index(&error)?,
            other => other?,
        }
        Ok(store)
    }

    /// Brings the index up to what the segments have. `why` there is nothing in it.
    fn update_index(&mut self, known: &HashMap<String, IndexedSegment>, why: Option<String>) -> Result<(), StoreError> {
        if self.index.is_far_behind(&self.listed, known)? {
            return self.rebuild_index(&why.unwrap_or_else(|| "was far behind".to_owned()));
        }
        match self.index.catch_up(&self.segments, &self.listed, known)? {
            CatchUpResult::CaughtUp { events, bad_lines } => {
                if let Some(why) = why.filter(|_| events > 0) {
                    self.is_rebuilt = true;
                    self.notes.push(format!("the index {why}; rebuilt it from {}", count(events, "event")));
                }
                self.note_bad_lines(bad_lines);
                Ok(())
            }
            CatchUpResult::Outdated { why } => self.rebuild_index(&format!("was out of date ({why})")),
        }
    }

    /// The segments as they were when the store was opened.
    pub(crate) fn listed_segments(&self) -> &[Segment] {
        &self.listed
    }

    /// Whether opening the store, or what came after it, computed the whole index from the segments.
    pub(crate) fn is_rebuilt(&self) -> bool {
        self.is_rebuilt
    }

    /// Computes the index again from the segments. `why` follows "the index"; empty when nothing is wrong with it.
    ///
    /// # Errors
    /// I/O and SQLite errors; the index is then as before.
    pub(crate) fn rebuild_index(&mut self, why: &str) -> Result<(), StoreError> {
        let path = self.state.index();
        // Closed before its file is replaced: its journal would be written into the new one.
        self.index.close_connection()?;
        let built = build_index(&path, &self.segments);
        let opened = Index::open(&path);
        let built = built?;
        self.index = opened?;
        self.is_rebuilt = true;
        let events = count(built.events, "event");
        self.notes.push(match why {
            "" => format!("rebuilt the index from {events}"),
            why => format!("the index {why}; rebuilt it from {events}"),
        });
        self.note_bad_lines(built.bad_lines);
        Ok(())
    }

    /// Moves a damaged index aside, and rebuilds it.
    ///
    /// # Errors
    /// As [`Store::rebuild_index`].
    pub(crate) fn rebuild_damaged_index(&mut self, damage: &dyn std::fmt::Display) -> Result<(), StoreError> {
        self.index.close_connection()?;
        let aside = index::move_index_aside(&self.state.index())?;
        self.rebuild_index(&format!("was damaged ({damage}; kept as {})", text::path(&aside)))
    }

    fn note_bad_lines(&mut self, bad_lines: usize) {
        if bad_lines > 0 {
            self.notes.push(format!(
                "skipped {} in {}: not an event",
                count(bad_lines, "line"),
                text::path(self.segments.dir())
            ));
        }
    }

    /// Appends events to this writer's segment of the month, indexes them, and syncs.
    ///
    /// Runs that are recorded already must be left out by the caller ([`Index::has_event`]): this appends what it gets.
    ///
    /// # Errors
    /// When the events could not be appended: then none is. An index that could not be written is behind, which the
    /// next opening heals; that error is returned too.
    pub(crate) fn append(&mut self, events: &[Event]) -> Result<(), StoreError> {
        self.append_unsynced(events)?;
        self.sync()
    }

    /// As [`Store::append`], for several in a row: they are there for everybody, and outlive the process. What they were
    /// made of may go, and what follows from them may be written elsewhere, after [`Store::sync`].
    ///
    /// The database may have them before the segment has: in its log, which is synced when it gets long. Then a power
    /// failure before the sync leaves a segment that is shorter than what was indexed, and the index is rebuilt.
    ///
    /// # Errors
    /// As [`Store::append`].
    pub(crate) fn append_unsynced(&mut self, events: &[Event]) -> Result<(), StoreError> {
        let Some(first) = events.first() else { return Ok(()) };
        let segment = format!("{}-{}.jsonl", self.writer, first.at.month());
        let lines: Vec<Vec<u8>> = events.iter().map(Event::to_line).collect();
        self.append_lines(&segment, &lines, events)
    }

    /// Waits until everything that was appended is on the disk.
    ///
    /// # Errors
    /// The operating system's.
    pub(crate) fn sync(&mut self) -> Result<(), StoreError> {
        self.unsynced.drain().try_for_each(|(_, appended)| appended.sync())
    }

    /// Appends lines as they are (each with its newline), unsynced, to a segment, and indexes their events.
    ///
    /// # Errors
    /// As [`Store::append`].
    pub(super) fn append_lines(
        &mut self,
        segment: &str,
        lines: &[Vec<u8>],
        events: &[Event],
    ) -> Result<(), StoreError> {
        let (spans, appended) = self.segments.append_lines(segment, lines)?;
        // The first one knows whether the segment is new.
        self.unsynced.entry(segment.to_owned()).or_insert(appended);
        match self.index.add_events(&self.segments, segment, events, &spans) {
            Ok(ApplyResult::Done) => Ok(()),
            Ok(ApplyResult::Outdated) => self.rebuild_index("was behind or had runs that were purged"),
            Err(error) if error.is_damage() => self.rebuild_damaged_index(&error),
            Err(error) => Err(error),
        }
    }

    /// Appends one new event of this moment.
    ///
    /// # Errors
    /// As [`Store::append`].
    pub(crate) fn record_event(&mut self, body: EventBody) -> Result<(), StoreError> {
        let event = Event::new(Timestamp::now(), &self.writer, body);
        self.append(&[event])
    }

    /// As [`Store::record_event`], for one that follows from `parts`: recorded again, it is the same event.
    ///
    /// # Errors
    /// As [`Store::append`].
    pub(crate) fn record_derived(&mut self, kind: &str, parts: &[&str], body: EventBody) -> Result<(), StoreError> {
        let event = Event::with_derived_id(kind, parts, Timestamp::now(), &self.writer, body);
        if self.index.has_event(RunId(event.id))? {
            return Ok(());
        }
        self.append(&[event])
    }

    /// Removes every line of these runs from every segment, and remembers that they were purged. The events of the
    /// purge come first, so that an interruption leaves nothing visible and a repetition finishes the job.
    ///
    /// Returns the number of lines removed.
    ///
    /// # Errors
    /// I/O and SQLite errors.
    pub(crate) fn purge_runs(&mut self, runs: &[RunId]) -> Result<usize, StoreError> {
        self.record_event(EventBody::Purge(crate::event::Purge { runs: runs.to_vec() }))?;
        self.remove_purged_lines()
    }

    /// Removes every line of a purged run from every segment, and whatever may hold its text beside them.
    ///
    /// # Errors
    /// I/O and SQLite errors.
    pub(super) fn remove_purged_lines(&mut self) -> Result<usize, StoreError> {
        let purged = index::purged_runs_of_segments(&self.segments)?;
        let mut dropped = 0;
        for segment in self.segments.list_segments()? {
            dropped += self.segments.retain_lines(&segment.name, |line| {
                // The id is the line's own only if it parses; a line that merely mentions it stays.
                match crate::event::parse_event_line(line) {
                    crate::event::EventLine::Event(event) => !is_purged(&event, &purged),
                    _ => true,
                }
            })?;
        }
        for torn in self.segments.torn_files() {
            fs::remove_file(&torn).map_err(io_at("remove", &torn))?;
        }
        let damaged = self.state.damaged_index();
        let _ = fs::remove_file(damaged);
        self.rebuild_index("held purged text")?;
        Ok(dropped)
    }

    /// For reading.
    pub(crate) fn index(&self) -> &Index {
        &self.index
    }

    #[cfg(test)]
    pub(super) fn index_mut(&mut self) -> &mut Index {
        &mut self.index
    }

    /// The segments.
    pub(crate) fn segments(&self) -> &SegmentFolder {
        &self.segments
    }

    /// This store's writer: the start of its segments' names.
    pub(crate) fn writer_name(&self) -> &str {
        &self.writer
    }

    /// What was found and put right, for people. Emptied by this call.
    pub(crate) fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }
}

fn describe_repair(mended: &SegmentRepair) -> String {
    match mended {
        SegmentRepair::Completed { segment } => format!("the last line of {segment} lacked its newline; added it"),
        SegmentRepair::SetAside { segment, torn, bytes } => {
            format!("the last line of {segment} was torn ({}); moved it to {}", count(*bytes, "byte"), text::path(torn))
        }
    }
}

/// This state folder's writer on this machine, made up on first use.
///
/// A folder that was copied to another machine (a CI cache) gets another writer there: two writers never append to
/// segments of one name.
fn writer_id(state: &StateDir) -> Result<String, StoreError> {
    if let Some(id) = own_writer(state) {
        return Ok(id);
    }
    let (path, host) = (state.writer(), own_host());
    let random = blake3::hash(RunId::fresh().0.as_bytes());
    let id = format!("w{}", data_encoding::BASE32_DNSCURVE.encode(&random.as_bytes()[..5]));
    let text = format!("{id} {host}\n");
    file::write_atomic(&path, text.as_bytes(), 0o600, Durability::Synced).map_err(io_at("write", &path))?;
    Ok(id)
}

/// The writer of what is recorded here; `None` where nothing was yet. What others recorded (`store import`) has another.
pub(crate) fn own_writer(state: &StateDir) -> Option<String> {
    let known = private::read_to_string(&state.writer()).ok()?;
    let (id, host) = known.trim_end().split_once(' ')?;
    let is_id = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (is_id && host == own_host()).then(|| id.to_owned())
}

fn own_host() -> String {
    let host = nix::unistd::gethostname().unwrap_or_default();
    blake3::hash(host.as_encoded_bytes()).to_hex()[..8].to_owned()
}
