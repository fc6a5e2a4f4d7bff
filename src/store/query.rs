//! Queries of the recorder and of reading commands.

mod about;
mod advice;
pub(super) mod board;
mod family;
mod figures;
mod fix;
mod gate;
mod group;
pub(super) mod history;
pub(super) mod knowledge;
mod learn;
pub(super) mod memory;
mod near;
mod open;
mod outcome;
mod pattern;
mod phase;
mod promotion;
pub(crate) mod receipt;
mod recent;
mod recipe;
pub(super) mod recovery;
mod runs;
mod sightings;
pub(crate) mod signed_receipt;
mod snapshot;
pub(super) mod state;
pub(super) mod strategy;
mod task;
mod words;

use rusqlite::{OptionalExtension, Row, params};
use serde::Serialize;

use super::error::StoreError;
use super::index::Index;
use super::segment::{LineSpan, SegmentFolder};
use super::to_json;
use crate::base::clock::Timestamp;
use crate::base::ids::RunId;
use crate::base::lossless::Lossless;
use crate::event::{Event, EventBody, Run};
use crate::run::CommandEnd;

pub(crate) use about::EntryPatternsRow;
pub(crate) use advice::{AdviceRow, DeliveryRow, ProvenRemedyRow};
pub(crate) use figures::{CheckDayRow, CheckRunRow, DayRange, SolvedFailureRow, SumFilter};
pub(crate) use fix::{FixFilter, FixNoteRow, FixRateRow, FixRow, FlakeFilter, FlakeRow, SolvedFixRow};
pub(crate) use gate::{FailedTestRow, GateStepRow};
pub(crate) use learn::{LearnStepRow, LibraryStepRow};
pub(crate) use open::{OpenFailingRun, WorkTreePeriod};
pub(crate) use outcome::DeliveryOutcomeRow;
pub(crate) use pattern::{GroupMemberRow, OccurrenceRow, PatternMergeRow, PatternReviewRow, PatternRow};
pub(crate) use phase::TaskPhase;
pub(crate) use promotion::{PromotionChangeRow, PromotionRow};
pub(crate) use recent::FailureRow;
pub(crate) use recipe::RecipeRow;
pub(crate) use runs::RunFilter;
pub(crate) use sightings::{PatternBriefRow, ShownDeliveryRow};
pub(crate) use snapshot::TreeUse;
pub(crate) use task::TaskDetails;

/// How many rows of each kind the index has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct StoreCounts {
    /// Events applied.
    pub events: u64,
    /// Runs, passed or failed.
    pub runs: u64,
    /// Failures.
    pub failures: u64,
    /// Patterns.
    pub patterns: u64,
    /// Tasks.
    pub tasks: u64,
    /// Lessons decided on, forgotten ones not counted.
    pub lessons: u64,
}

/// The last run somewhere.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RunRow {
    pub id: String,
    /// What was run.
    pub argv: Vec<Lossless>,
    /// Directory relative to the root.
    pub dir: Lossless,
    /// Tool, of a recognised check.
    pub tool: Option<String>,
    pub started_at: Timestamp,
    pub ended_at: Timestamp,
    /// Wall time, microseconds.
    pub duration_us: u64,
    pub ended: CommandEnd,
    /// `f-…`, when it failed and is recorded.
    pub failure: Option<String>,
    /// Category of the failure.
    pub category: Option<String>,
    /// The failure's first message.
    pub summary: Option<String>,
    /// Affected files.
    pub files: Vec<String>,
    /// The lesson file's name, when one was written for this run.
    pub lesson_file: Option<String>,
    /// The lesson's id.
    pub lesson: Option<String>,
}

/// A lesson that was decided on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LessonRow {
    /// `l-…`.
    pub id: String,
    /// File name.
    pub file: String,
    pub failure: String,
    pub run: String,
    pub forgotten: bool,
    /// Whether it was withdrawn when its failure was gone.
    pub withdrawn: bool,
    /// The fix that ended its failure then.
    pub fix: Option<String>,
}

impl Index {
    /// Whether an event is recorded.
    ///
    /// # Errors
    /// SQLite's, as for all methods here.
    pub(crate) fn has_event(&self, id: RunId) -> Result<bool, StoreError> {
        let find =
            || self.connection.prepare_cached("SELECT 1 FROM events WHERE event_id = ?1")?.exists([id.to_string()]);
        self.sql_result("read", find())
    }

    /// Whether an event came from elsewhere and is shown, but not used: see [`super::ImportTrust`].
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn is_imported(&self, id: RunId) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM imported_events WHERE event_id = ?1";
        self.sql_result("read", self.connection.prepare_cached(sql).and_then(|mut find| find.exists([id.to_string()])))
    }

    /// Whether this writer recorded an event here. What was imported is not, whatever writer it names.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn is_own_event(&self, id: &str, writer: &str) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM events JOIN segments USING (segment_no)
            WHERE event_id = ?1 AND substr(name, 1, length(?2) + 1) = ?2 || '-'";
        self.sql_result("read", self.connection.prepare_cached(sql).and_then(|mut find| find.exists([id, writer])))
    }

    /// An event, from its segment.
    ///
    /// # Errors
    /// SQLite's and I/O.
    pub(crate) fn read_run(&self, segments: &SegmentFolder, id: &str) -> Result<Option<Run>, StoreError> {
        Ok(match self.read_event(segments, id)?.map(|event| event.body) {
            Some(EventBody::Run(run)) => Some(*run),
            _ => None,
        })
    }

    /// The ids of the runs of a work tree that were recorded between two moments.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn runs_between(
        &self,
        root: &Lossless,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Vec<String>, StoreError> {
        let read = || {
            let sql = "SELECT run_id FROM runs WHERE run_id >= ?1 AND run_id < ?2 AND root = ?3";
            let mut statement = self.connection.prepare_cached(sql)?;
            let bounds = params![RunId::first_at(from).to_string(), RunId::first_at(to).to_string(), to_json(root)];
            statement.query_map(bounds, |row| row.get(0))?.collect()
        };
        self.sql_result("read", read())
    }

    /// An event, from its segment.
    ///
    /// # Errors
    /// SQLite's and I/O.
    pub(crate) fn read_event(&self, segments: &SegmentFolder, id: &str) -> Result<Option<Event>, StoreError> {
        let find = || {
            self.connection
                .prepare_cached(
                    "SELECT name, start, len FROM events JOIN segments USING (segment_no) WHERE event_id = ?1",
                )?
                .query_row([id], |row| {
                    Ok((
                        row.get::<_, String>(0)?,
                        LineSpan { start: row_unsigned(row, 1)?, len: row_unsigned(row, 2)? },
                    ))
                })
                .optional()
        };
        let Some((segment, span)) = self.sql_result("read", find())? else { return Ok(None) };
        segments.read_event(&segment, span)
    }

    /// Whether the last run of a command key passed; `None` when there is none. Runs from the future as in
    /// [`Index::last_run`].
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn last_run_passed(&self, command_key: &str, now: Timestamp) -> Result<Option<bool>, StoreError> {
        self.find_newest(|when| {
            let sql = format!(
                "SELECT passed FROM runs WHERE command_key = ?1 AND {when} ORDER BY ended_at DESC, run_id DESC LIMIT 1"
            );
            let mut statement = self.connection.prepare_cached(&sql)?;
            statement.query_row(params![command_key, now.rfc3339()], |row| row.get(0)).optional()
        })
    }

    /// The run under `root` that ended last. Runs from the future (`now` is where they were wrong: the clock was set
    /// back) count only when there is no other.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn last_run(&self, root: &Lossless, now: Timestamp) -> Result<Option<RunRow>, StoreError> {
        self.find_newest(|when| {
            let sql = format!("{RUN_COLUMNS} WHERE root = ?1 AND {when} ORDER BY ended_at DESC, run_id DESC LIMIT 1");
            let mut statement = self.connection.prepare_cached(&sql)?;
            statement.query_row(params![to_json(root), now.rfc3339()], |row| self.run_row(row)).optional()
        })
    }

    /// A run with its failure's files, from a row of [`RUN_COLUMNS`].
    fn run_row(&self, row: &Row<'_>) -> rusqlite::Result<RunRow> {
        let files = match row.get::<_, Option<i64>>(14)? {
            Some(failure) => self.files_of_failure(failure)?,
            None => Vec::new(),
        };
        run_from_row(row, files)
    }

    /// The runs under `root` in one sitting, in the order in which they ended.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn runs_in_session(&self, root: &Lossless, session: &str) -> Result<Vec<String>, StoreError> {
        let read = || {
            let mut statement = self
                .connection
                .prepare_cached("SELECT run_id FROM runs WHERE root = ?1 AND session = ?2 ORDER BY ended_at, run_id")?;
            statement.query_map(params![to_json(root), session], |row| row.get(0))?.collect()
        };
        self.sql_result("read", read())
    }

    /// What is found up to now (`?2`), else after it: one after the other, so that each is a look into an index.
    fn find_newest<T>(&self, find: impl Fn(&str) -> rusqlite::Result<Option<T>>) -> Result<Option<T>, StoreError> {
        let found = || match find("ended_at <= ?2")? {
            Some(found) => Ok(Some(found)),
            None => find("ended_at > ?2"),
        };
        self.sql_result("read", found())
    }

    fn files_of_failure(&self, failure_no: i64) -> rusqlite::Result<Vec<String>> {
        self.connection
            .prepare_cached("SELECT path FROM failure_files WHERE failure_no = ?1 ORDER BY path")?
            .query_map([failure_no], |row| row.get(0))?
            .collect()
    }

    /// Every lesson that was decided on.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn list_lessons(&self) -> Result<Vec<LessonRow>, StoreError> {
        self.lessons_where("?1 = 0", 0)
    }

    fn lessons_where(&self, condition: &str, parameter: i64) -> Result<Vec<LessonRow>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(&format!(
                "SELECT lesson_id, lesson_file, failure_id, run_id,
                        EXISTS (SELECT 1 FROM lesson_changes c WHERE c.lesson_id = f.lesson_id AND change = 'forgotten'),
                        run_id IN (SELECT run_id FROM withdrawn_lessons),
                        (SELECT fix_id FROM withdrawn_lessons w WHERE w.run_id = f.run_id)
                 FROM failures f WHERE lesson_id IS NOT NULL AND {condition} ORDER BY run_id"
            ))?;
            let rows = statement.query_map([parameter], |row| {
                Ok(LessonRow {
                    id: row.get(0)?,
                    file: row.get(1)?,
                    failure: row.get(2)?,
                    run: row.get(3)?,
                    forgotten: row.get(4)?,
                    withdrawn: row.get(5)?,
                    fix: row.get(6)?,
                })
            })?;
            rows.collect()
        };
        self.sql_result("read", read())
    }

    /// The runs that an id (of a run, failure, pattern or lesson, or the start of one) represents.
    ///
    /// # Errors
    /// [`StoreError::NoSuchId`], [`StoreError::Ambiguous`], SQLite's.
    pub(crate) fn runs_of_id(&self, id: &str) -> Result<Vec<RunId>, StoreError> {
        // The start of every id names none, also where there is only one.
        if matches!(id, "" | "f-" | "l-" | "p-") {
            return Err(StoreError::NoSuchId { id: id.to_owned() });
        }
        if id.starts_with("p-") {
            return self.runs_of_pattern(id);
        }
        let named = match id.get(..2) {
            Some("f-") => "SELECT failure_id, run_id FROM failures WHERE substr(failure_id, 1, length(?1)) = ?1",
            Some("l-") => "SELECT lesson_id, run_id FROM failures WHERE substr(lesson_id, 1, length(?1)) = ?1",
            _ => "SELECT run_id, run_id FROM runs WHERE substr(run_id, 1, length(?1)) = ?1",
        };
        let read = || {
            let mut statement = self.connection.prepare_cached(named)?;
            let rows = statement.query_map([id], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        let found = self.sql_result("read", read())?;
        let mut ids: Vec<&str> = found.iter().map(|(id, _)| id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        match ids.len() {
            0 => Err(StoreError::NoSuchId { id: id.to_owned() }),
            1 => Ok(found.iter().filter_map(|(_, run)| uuid::Uuid::parse_str(run).ok()).map(RunId).collect()),
            count => Err(ambiguous_id(id, count, ids.into_iter())),
        }
    }

    /// Row counts.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn count_rows(&self) -> Result<StoreCounts, StoreError> {
        let read = || {
            self.connection.query_row(
                "SELECT (SELECT count(*) FROM events), (SELECT count(*) FROM runs),
                        (SELECT count(*) FROM failures), (SELECT count(*) FROM patterns),
                        (SELECT count(*) FROM tasks),
                        (SELECT count(DISTINCT lesson_id) FROM failures f WHERE lesson_id IS NOT NULL
                         AND run_id NOT IN (SELECT run_id FROM withdrawn_lessons) AND NOT EXISTS
                         (SELECT 1 FROM lesson_changes c WHERE c.lesson_id = f.lesson_id AND change = 'forgotten'))",
                [],
                |row| {
                    Ok(StoreCounts {
                        events: row_unsigned(row, 0)?,
                        runs: row_unsigned(row, 1)?,
                        failures: row_unsigned(row, 2)?,
                        patterns: row_unsigned(row, 3)?,
                        tasks: row_unsigned(row, 4)?,
                        lessons: row_unsigned(row, 5)?,
                    })
                },
            )
        };
        self.sql_result("read", read())
    }
}

/// What [`Index::run_row`] reads.
const RUN_COLUMNS: &str = "
    SELECT run_id, argv, dir, tool, started_at, ended_at, duration_us, exit_code, signal,
           failure_id, category, summary, lesson_file, lesson_id, failure_no
    FROM runs LEFT JOIN failures USING (run_id)";

fn run_from_row(row: &Row<'_>, files: Vec<String>) -> rusqlite::Result<RunRow> {
    let ended = match row.get::<_, Option<u8>>(7)? {
        Some(code) => CommandEnd::Exit(code),
        None => CommandEnd::Signal(row.get(8)?),
    };
    Ok(RunRow {
        id: row.get(0)?,
        argv: serde_json::from_str(&row.get::<_, String>(1)?).unwrap_or_default(),
        dir: serde_json::from_str(&row.get::<_, String>(2)?).unwrap_or_default(),
        tool: row.get(3)?,
        started_at: row_time(row, 4)?,
        ended_at: row_time(row, 5)?,
        duration_us: row_unsigned(row, 6)?,
        ended,
        failure: row.get(9)?,
        category: row.get(10)?,
        summary: row.get(11)?,
        files,
        lesson_file: row.get(12)?,
        lesson: row.get(13)?,
    })
}

fn row_time(row: &Row<'_>, column: usize) -> rusqlite::Result<Timestamp> {
    Ok(parse_time(&row.get::<_, String>(column)?))
}

fn parse_time(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap_or(Timestamp(0))
}

fn row_unsigned(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    Ok(u64::try_from(row.get::<_, i64>(column)?).unwrap_or(0))
}

fn ambiguous_id<'a>(id: &str, count: usize, found: impl Iterator<Item = &'a str>) -> StoreError {
    let examples = found.take(3).collect::<Vec<_>>().join(", ");
    StoreError::Ambiguous { id: id.to_owned(), count, examples }
}
