//! The index: an SQLite database computed from the segments. Deleting it loses nothing.

use std::collections::{HashMap, HashSet};
use std::fs::{self, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior, params};

use super::apply::{ApplyResult, apply_event, recount_marked_fixes};
use super::error::{StoreError, io_at, sql_at};
use super::index_file::{FileState, check_size, damage_error, is_network, uri_path};
use super::journal;
use super::memory;
use super::reader_pool::{PooledConnection, ReaderPool};
use super::schema::{self, APPLICATION_ID, INDEX_VERSION};
use super::segment::{LineSpan, Segment, SegmentFolder};
use super::word::unknown_word;
use crate::base::private;
use crate::event::{self, EVENT_VERSION, Event, EventLine};
use crate::fingerprint::FINGERPRINT_VERSION;

/// How long SQLite waits for a lock. Writers hold the recorder's lock, so only a checkpoint is ever waited for.
const BUSY_MS_MAX: u64 = 5_000;

/// Statements that a connection keeps prepared: what one event needs is more than SQLite's binding keeps by default.
const STATEMENTS_MAX: usize = 128;
/// Pages that a reader keeps. It reads most of them once, and memory that was never used before costs about as much as
/// reading again what the system has at hand.
const READER_PAGES: i64 = 300;
/// Pages that a reader keeps which is asked again and again.
const KEPT_READER_PAGES: i64 = 500;
/// Pages that a connection which writes keeps in memory, KiB; taken as they are needed.
const CACHE_KIB: i64 = 32 << 10;
/// Steps of SQLite after which a reader with little time looks at the clock: less than a millisecond.
const STEPS_BETWEEN: i32 = 10_000;
/// Events that the index doesn't have, bytes, from which on computing it again may be faster than adding them; few in
/// tests, so that they take both ways.
const ANEW_BYTES_MIN: u64 = if cfg!(test) { 12 << 10 } else { 16 << 20 };

/// An open index.
#[derive(Debug)]
pub(crate) struct Index {
    pub(super) connection: PooledConnection,
    pub(super) path: PathBuf,
    /// Whether writing goes through a write-ahead log.
    is_wal: bool,
}

/// What bringing the index up to date found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CatchUpResult {
    /// This many events were added (0: it was up to date), this many lines were not events.
    CaughtUp {
        /// Events applied.
        events: usize,
        /// Lines skipped because they aren't events.
        bad_lines: usize,
    },
    /// The index knows something that the segments don't say (any more): it must be rebuilt.
    Outdated {
        /// For people.
        why: String,
    },
}

/// Opens a database as every connection to an index is.
pub(super) fn open_connection(path: impl AsRef<Path>, flags: OpenFlags) -> rusqlite::Result<Connection> {
    memory::install_allocator();
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    #[cfg(test)]
    let connection = super::tests::steps::watched(connection);
    // Otherwise SQLite looks at the values that are bound and compiles a statement again for each row: half the time of
    // a rebuild. No plan here depends on them.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(connection)
}

impl Index {
    /// Opens for reading and writing; creates it when needed, and empties one of an earlier version. Writers hold the recorder's lock.
    ///
    /// # Errors
    /// [`StoreError::Newer`] without having touched it; damage ([`StoreError::is_damage`]); I/O.
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        check_size(path)?;
        create_file(path)?;
        let connection = open_connection(path, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(sql_at("open", path))?;
        let mut index = Index { connection: connection.into(), path: path.to_owned(), is_wal: false };
        index.prepare_connection(true)?;
        let before = schema::prepare_schema(&mut index.connection).map_err(sql_at("prepare", path))?;
        if before > INDEX_VERSION { Err(index.newer_version_error(before)) } else { Ok(index) }
    }

    /// Opens for reading only. `None` when there is none, or when it is older and has to wait for a writer.
    ///
    /// # Errors
    /// As [`Index::open`].
    pub(crate) fn open_read(path: &Path) -> Result<Option<Self>, StoreError> {
        Index::open_kept(path, &ReaderPool::default())
    }

    /// From this moment on nothing more is read: what is asked then ends with an error, as does what is being read.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn give_up_at(&mut self, until: Instant) -> Result<(), StoreError> {
        let is_late = move || Instant::now() >= until;
        self.connection.progress_handler(STEPS_BETWEEN, Some(is_late)).map_err(sql_at("read", &self.path))
    }

    /// As [`Index::open_read`], with a connection that the pool has, and that it gets back.
    ///
    /// # Errors
    /// As [`Index::open`].
    pub(crate) fn open_kept(path: &Path, pool: &ReaderPool) -> Result<Option<Self>, StoreError> {
        // Whatever else has its name, the next writer moves it aside.
        if !private::is_regular(path) {
            return Ok(None);
        }
        // Looked at before it is opened: what changes after that is noticed the next time.
        let state = FileState::of(path);
        if let Some((connection, state)) = state.and_then(|state| Some((pool.take(&state)?, state))) {
            let connection = PooledConnection::of_pool(connection, pool, state);
            let index = Index { connection, path: path.to_owned(), is_wal: false };
            if matches!(index.begin_reading(), Ok(INDEX_VERSION)) {
                return Ok(Some(index));
            }
            drop(index.connection.without_pool());
        }
        check_size(path)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
        let connection = open_connection(path, flags).map_err(sql_at("open", path))?;
        let connection = match state {
            Some(state) => PooledConnection::of_pool(connection, pool, state),
            None => connection.into(),
        };
        let mut index = Index { connection, path: path.to_owned(), is_wal: false };
        match index.prepare_connection(false) {
            Err(StoreError::Sql { source, .. }) if needs_writing(&source) => {
                // A read-only file system: WAL wants a shared-memory file beside the database.
                let uri = format!("file:{}?immutable=1", uri_path(path));
                let flags = flags | OpenFlags::SQLITE_OPEN_URI;
                index.connection = open_connection(uri, flags).map_err(sql_at("open", path))?.into();
                index.prepare_connection(false)?;
            }
            other => other?,
        }
        if pool.is_kept() {
            let pages = index.connection.pragma_update(None, "cache_size", KEPT_READER_PAGES);
            pages.map_err(sql_at("open", path))?;
        }
        let version = index.begin_reading().map_err(sql_at("read", path))?;
        Ok((version == INDEX_VERSION).then_some(index))
    }

    /// Begins one transaction for all that is read: every look-up sees the same, and none takes the locks again. The
    /// version of what is there.
    fn begin_reading(&self) -> rusqlite::Result<u32> {
        self.connection.execute_batch("BEGIN")?;
        schema::schema_version(&self.connection)
    }

    fn prepare_connection(&mut self, write: bool) -> Result<(), StoreError> {
        let connection = &self.connection;
        let is_wal = &mut self.is_wal;
        let mut setup = || -> rusqlite::Result<u32> {
            // First, so that switching to WAL waits for others too.
            connection.busy_timeout(Duration::from_millis(BUSY_MS_MAX))?;
            let version = schema::schema_version(connection)?;
            let application: i32 = connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
            if version > 0 && application != APPLICATION_ID {
                // Another program's database, or one whose header was overwritten: not to be read.
                return Err(damage_error());
            }
            connection.pragma_update(None, "foreign_keys", true)?;
            if write && version <= INDEX_VERSION {
                let mode = if is_network(&self.path) { "DELETE" } else { "WAL" };
                let mode: String =
                    connection.query_row(&format!("PRAGMA journal_mode = {mode}"), [], |row| row.get(0))?;
                *is_wal = mode == "wal";
                connection.pragma_update(None, "synchronous", "NORMAL")?;
                connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
            } else if !write {
                connection.pragma_update(None, "cache_size", READER_PAGES)?;
            }
            Ok(version)
        };
        let version = setup().map_err(sql_at("open", &self.path))?;
        if version > INDEX_VERSION { Err(self.newer_version_error(version)) } else { Ok(()) }
    }

    fn newer_version_error(&self, version: u32) -> StoreError {
        StoreError::Newer { path: self.path.clone(), found: format!("version {version}"), known: INDEX_VERSION }
    }

    /// Adds an action to an SQLite error.
    pub(super) fn sql_result<T>(&self, action: &'static str, result: rusqlite::Result<T>) -> Result<T, StoreError> {
        result.map_err(|source| match unknown_word(&source) {
            Some(word) => {
                let found = word.to_string();
                StoreError::Newer { path: self.path.clone(), found, known: EVENT_VERSION }
            }
            None => sql_at(action, &self.path)(source),
        })
    }

    /// Reads what segments, as `listed`, have beyond what was indexed, in one transaction. All or nothing.
    ///
    /// # Errors
    /// [`StoreError::Newer`] when a line is a newer binary's; I/O and SQLite errors.
    pub(super) fn catch_up(
        &mut self,
        segments: &SegmentFolder,
        listed: &[Segment],
        known: &HashMap<String, IndexedSegment>,
    ) -> Result<CatchUpResult, StoreError> {
        let path = self.path.clone();
        if let Some(version) = self.recorded_fingerprint_version()? {
            if version > FINGERPRINT_VERSION {
                let (path, found) = (path.clone(), format!("fingerprint version {version}"));
                return Err(StoreError::Newer { path, found, known: FINGERPRINT_VERSION });
            }
            if version < FINGERPRINT_VERSION {
                let why = format!("had the keys of fingerprint version {version}, not {FINGERPRINT_VERSION}");
                return Ok(CatchUpResult::Outdated { why });
            }
        } else if !known.is_empty() {
            return Ok(CatchUpResult::Outdated { why: "was computed by an older version".into() });
        }
        let by_name: HashMap<&str, &Segment> = listed.iter().map(|segment| (segment.name.as_str(), segment)).collect();
        for (name, known) in known {
            let found = by_name.get(name.as_str()).copied();
            if let Some(why) = outdated_reason(segments, name, known, found)? {
                return Ok(CatchUpResult::Outdated { why });
            }
            // Touched, copied back: it is read once, not by each recorder.
            if let Some(found) = found.filter(|found| found.bytes == known.bytes && found.stamp != known.stamp) {
                self.sql_result("write", self.update_stamp(name, &found.stamp))?;
            }
        }
        let behind: Vec<_> = listed
            .iter()
            .map(|segment| (segment, known.get(&segment.name).map_or(0, |known| known.bytes)))
            .filter(|(segment, indexed)| segment.bytes > *indexed)
            .collect();
        if behind.is_empty() {
            return Ok(CatchUpResult::CaughtUp { events: 0, bad_lines: 0 });
        }
        let begin = Transaction::new(&mut self.connection, TransactionBehavior::Immediate);
        let transaction = begin.map_err(sql_at("write", &path))?;
        if known.is_empty() {
            prepare_empty_index(&transaction, segments, &path)?;
        }
        let read = read_segments(&transaction, segments, &behind, &path)?;
        if read.applied == ApplyResult::Outdated {
            return Ok(CatchUpResult::Outdated { why: "runs were purged".into() });
        }
        recount_marked_fixes(&transaction).and_then(|()| transaction.commit()).map_err(sql_at("write", &path))?;
        Ok(CatchUpResult::CaughtUp { events: read.events, bad_lines: read.bad_lines })
    }

    /// Whether it has every event of the segments: a process that was killed may have written more.
    ///
    /// # Errors
    /// I/O and SQLite errors.
    pub(crate) fn has_all_of(&self, segments: &SegmentFolder) -> Result<bool, StoreError> {
        let known = self.known_segments()?;
        let is_known = |segment: &Segment| known.get(&segment.name).is_some_and(|known| known.bytes == segment.bytes);
        Ok(segments.list_segments()?.iter().all(is_known))
    }

    /// Whether a rebuild of the index is faster than adding what is missing.
    ///
    /// # Errors
    /// I/O and SQLite errors.
    pub(super) fn is_far_behind(
        &self,
        listed: &[Segment],
        known: &HashMap<String, IndexedSegment>,
    ) -> Result<bool, StoreError> {
        if self.recorded_fingerprint_version()?.is_some_and(|version| version > FINGERPRINT_VERSION) {
            return Ok(false);
        }
        let bytes: u64 = listed.iter().map(|segment| segment.bytes).sum();
        let indexed: u64 = known.values().map(|known| known.bytes).sum();
        Ok(is_rebuild_faster(bytes.saturating_sub(indexed), bytes))
    }

    /// Applies events that were just appended to a segment, in one transaction.
    ///
    /// # Errors
    /// SQLite's.
    pub(super) fn add_events(
        &mut self,
        segments: &SegmentFolder,
        segment: &str,
        events: &[Event],
        spans: &[LineSpan],
    ) -> Result<ApplyResult, StoreError> {
        let (Some(first), Some(last)) = (spans.first(), spans.last()) else { return Ok(ApplyResult::Done) };
        let end = last.start + last.len;
        let (mark, stamp) = (segments.end_mark(segment, end)?, segments.segment_stamp(segment, end)?);
        let add = || -> rusqlite::Result<ApplyResult> {
            let _unsynced = self.is_log_start().then(|| journal::UnsyncedStart::begin(&self.connection)).transpose()?;
            let transaction = Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)?;
            // Written here too: the first events of a store come this way.
            remember_version(&transaction)?;
            let number = segment_number(&transaction, segment)?;
            let indexed: i64 = transaction
                .prepare_cached("SELECT indexed_bytes FROM segments WHERE segment_no = ?1")?
                .query_row([number], |row| row.get(0))?;
            // An earlier append was not indexed; to mark this one as the end would hide it for good.
            if u64::try_from(indexed).ok() != Some(first.start) {
                return Ok(ApplyResult::Outdated);
            }
            for (event, span) in events.iter().zip(spans) {
                if apply_event(&transaction, number, *span, event)? == ApplyResult::Outdated {
                    return Ok(ApplyResult::Outdated);
                }
            }
            recount_marked_fixes(&transaction)?;
            set_indexed(&transaction, number, end, (&mark, &stamp))?;
            transaction.commit()?;
            Ok(ApplyResult::Done)
        };
        add().map_err(sql_at("write", &self.path))
    }

    /// Whether the write-ahead log starts with what is written next: there is none yet. There is no other writer: the
    /// recorder's lock is held.
    fn is_log_start(&self) -> bool {
        self.is_wal && journal::is_log_empty(&self.path)
    }

    /// Closes the file, so that another one can take its place; nothing can be asked until then.
    ///
    /// # Errors
    /// SQLite's.
    pub(super) fn close_connection(&mut self) -> Result<(), StoreError> {
        let nothing = self.sql_result("close", Connection::open_in_memory())?;
        drop(std::mem::replace(&mut self.connection, nothing.into()));
        Ok(())
    }

    /// The fingerprint's version that computed the keys; `None` in an empty index, and in one from before they were
    /// remembered.
    fn recorded_fingerprint_version(&self) -> Result<Option<u32>, StoreError> {
        let find = self.connection.query_row("SELECT max(fingerprint) FROM computed_with", [], |row| row.get(0));
        self.sql_result("read", find)
    }

    /// What is indexed of each segment.
    ///
    /// # Errors
    /// SQLite's.
    pub(super) fn known_segments(&self) -> Result<HashMap<String, IndexedSegment>, StoreError> {
        let read = || {
            let sql = "SELECT name, indexed_bytes, mark, stamp FROM segments";
            let mut statement = self.connection.prepare_cached(sql)?;
            let rows = statement.query_map([], |row| {
                let bytes = u64::try_from(row.get::<_, i64>(1)?).unwrap_or(0);
                Ok((row.get(0)?, IndexedSegment { bytes, mark: row.get(2)?, stamp: row.get(3)? }))
            })?;
            rows.collect()
        };
        self.sql_result("read", read())
    }

    fn update_stamp(&self, name: &str, stamp: &str) -> rusqlite::Result<usize> {
        self.connection.prepare_cached("UPDATE segments SET stamp = ?2 WHERE name = ?1")?.execute([name, stamp])
    }

    /// Ids of all purged runs.
    ///
    /// # Errors
    /// SQLite's.
    pub(super) fn purged_runs(&self) -> Result<HashSet<String>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached("SELECT run_id FROM purged_runs")?;
            statement.query_map([], |row| row.get(0))?.collect()
        };
        self.sql_result("read", read())
    }

    /// SQLite's own check of the whole file; `None` when it is sound.
    ///
    /// # Errors
    /// When it can't be run.
    pub(crate) fn check_integrity(&self) -> Result<Option<String>, StoreError> {
        let answer: String =
            self.sql_result("check", self.connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)))?;
        Ok((answer != "ok").then_some(answer))
    }
}

/// Whether computing the index of `all` bytes of events again is faster than adding `missing` of them.
pub(super) fn is_rebuild_faster(missing: u64, all: u64) -> bool {
    missing >= ANEW_BYTES_MIN && missing >= all / 3
}

/// Creates the file if needed: here, so that it and its journal, which takes over the mode, are private.
pub(super) fn create_file(path: &Path) -> Result<(), StoreError> {
    let mut options = OpenOptions::new();
    options.create(true).write(true).truncate(false).mode(0o600);
    private::open(path, &mut options).map_err(io_at("open", path))?;
    Ok(())
}

/// What reading segments gave.
pub(super) struct SegmentReadResult {
    /// Events applied.
    pub events: usize,
    /// Lines that are not events.
    pub bad_lines: usize,
    applied: ApplyResult,
}

/// Writes into an empty index what has to be there before the first event.
pub(super) fn prepare_empty_index(
    transaction: &Transaction<'_>,
    segments: &SegmentFolder,
    path: &Path,
) -> Result<(), StoreError> {
    remember_version(transaction).map_err(sql_at("write", path))?;
    // Everything is read: what was purged must be known before the runs come by.
    insert_purged_runs(transaction, segments, path)
}

/// Applies what segments have beyond an offset each.
pub(super) fn read_segments(
    transaction: &Transaction<'_>,
    segments: &SegmentFolder,
    behind: &[(&Segment, u64)],
    path: &Path,
) -> Result<SegmentReadResult, StoreError> {
    let mut read = SegmentReadResult { events: 0, bad_lines: 0, applied: ApplyResult::Done };
    for &(segment, indexed) in behind {
        let number = segment_number(transaction, &segment.name).map_err(sql_at("write", path))?;
        let end = segments.read_lines(&segment.name, indexed, |span, line| {
            match event::parse_event_line(line) {
                EventLine::Event(event) => {
                    let outcome = apply_event(transaction, number, span, &event).map_err(sql_at("write", path))?;
                    read.applied = if outcome == ApplyResult::Outdated { outcome } else { read.applied };
                    read.events += 1;
                }
                EventLine::Newer { v, kind } => {
                    let found = format!("event version {v}, kind {kind:?}");
                    let path = segments.path(&segment.name);
                    return Err(StoreError::Newer { path, found, known: EVENT_VERSION });
                }
                EventLine::Bad => read.bad_lines += 1,
            }
            Ok(())
        })?;
        let mark = segments.end_mark(&segment.name, end)?;
        let stamp = if end == segment.bytes { segment.stamp.as_str() } else { "" };
        set_indexed(transaction, number, end, (&mark, stamp)).map_err(sql_at("write", path))?;
    }
    Ok(read)
}

/// What is indexed of a segment.
pub(super) struct IndexedSegment {
    /// This many bytes.
    pub(super) bytes: u64,
    /// [`SegmentFolder::end_mark`] of its end.
    mark: String,
    /// [`Segment::stamp`] of then; empty in an index from before there were any.
    stamp: String,
}

/// Why an indexed segment is not the one on disk.
fn outdated_reason(
    segments: &SegmentFolder,
    name: &str,
    known: &IndexedSegment,
    found: Option<&Segment>,
) -> Result<Option<String>, StoreError> {
    Ok(match found {
        None => Some(format!("the event segment {name} is gone")),
        Some(found) if found.bytes < known.bytes => {
            Some(format!("the event segment {name} is shorter than what was indexed"))
        }
        // Most are of past months or other writers: hundreds, none of which has to be opened.
        Some(found) if found.stamp == known.stamp && found.bytes == known.bytes => None,
        Some(_) if segments.end_mark(name, known.bytes)? != known.mark => {
            Some(format!("the event segment {name} was rewritten"))
        }
        Some(_) => None,
    })
}

fn insert_purged_runs(transaction: &Transaction<'_>, segments: &SegmentFolder, path: &Path) -> Result<(), StoreError> {
    for id in purged_runs_of_segments(segments)? {
        transaction
            .execute("INSERT INTO purged_runs VALUES (?1) ON CONFLICT DO NOTHING", [id])
            .map_err(sql_at("write", path))?;
    }
    Ok(())
}

/// Ids of all purged runs.
pub(super) fn purged_runs_of_segments(segments: &SegmentFolder) -> Result<HashSet<String>, StoreError> {
    let mut ids = HashSet::new();
    for segment in segments.list_segments()? {
        segments.read_lines(&segment.name, 0, |_, line| {
            ids.extend(event::purged_runs_in_line(line).iter().map(ToString::to_string));
            Ok(())
        })?;
    }
    Ok(ids)
}

fn remember_version(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    transaction
        .prepare_cached("INSERT INTO computed_with SELECT ?1 WHERE NOT EXISTS (SELECT 1 FROM computed_with)")?
        .execute([FINGERPRINT_VERSION])?;
    Ok(())
}

fn segment_number(transaction: &Transaction<'_>, name: &str) -> rusqlite::Result<i64> {
    transaction
        .prepare_cached(
            "INSERT INTO segments (name, indexed_bytes, mark) VALUES (?1, 0, '')
             ON CONFLICT (name) DO UPDATE SET name = name RETURNING segment_no",
        )?
        .query_row([name], |row| row.get(0))
}

fn set_indexed(
    transaction: &Transaction<'_>,
    number: i64,
    end: u64,
    (mark, stamp): (&str, &str),
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached("UPDATE segments SET indexed_bytes = ?2, mark = ?3, stamp = ?4 WHERE segment_no = ?1")?
        .execute(params![number, i64::try_from(end).unwrap_or(i64::MAX), mark, stamp])?;
    Ok(())
}

/// Moves a damaged index and its journal out of the way; where the database is now.
///
/// # Errors
/// The operating system's.
pub(super) fn move_index_aside(path: &Path) -> Result<PathBuf, StoreError> {
    let aside = path.with_extension("db.damaged");
    journal::remove_journal(path);
    fs::rename(path, &aside).map_err(io_at("move aside", path))?;
    Ok(aside)
}

/// Removes the index, its journal first: an old journal must never meet a new database.
///
/// # Errors
/// The operating system's.
pub(super) fn remove_index(path: &Path) -> Result<(), StoreError> {
    journal::remove_journal(path);
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(io_at("remove", path)(error)),
        _ => Ok(()),
    }
}

fn needs_writing(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{CannotOpen, ReadOnly};
    matches!(error.sqlite_error_code(), Some(CannotOpen | ReadOnly))
}
