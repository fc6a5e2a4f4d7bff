//! What the recorder and the reading commands ask the index.

mod fix;
pub mod history;
mod open;
mod snapshot;

use std::collections::HashSet;

use rusqlite::{OptionalExtension, Row, params};
use serde::Serialize;

use super::error::StoreError;
use super::index::Index;
use super::json;
use super::segment::{Segments, Span};
use crate::base::clock::Timestamp;
use crate::base::ids::{self, Kind, RunId};
use crate::base::lossless::Lossless;
use crate::run::Ended;
use crate::store::event::{Body, Event, Run};

pub use fix::{Closing, FixFilter, FixRow, FlakeFilter, FlakeRow, RateRow, RecipeRow, SaidRow};
pub use open::{Gap, OpenRun};
pub use snapshot::{PassingTree, SnapshotRow, TreeUse};

/// How many rows of each kind the index has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Counts {
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

/// A pattern with its figures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatternRow {
    /// Row number, for [`Index::occurrences`].
    pub number: i64,
    /// `p-…`.
    pub id: String,
    /// The pattern key.
    pub key: String,
    /// The family key.
    pub family: String,
    /// The tool definition that found it.
    pub tool: String,
    /// Rule or error code.
    pub code: Option<String>,
    /// Masked text, subject kept.
    pub masked: String,
    /// Masked text of the family.
    pub masked_family: String,
    /// First failure.
    pub first_seen: Timestamp,
    /// Last failure.
    pub last_seen: Timestamp,
    /// Failures that have it.
    pub failures: u64,
    /// Distinct tasks.
    pub tasks: u64,
    /// Distinct tasks in which a pattern of its family was seen.
    pub family_tasks: u64,
    /// The most frequent category of its failures.
    pub category: String,
    /// The run whose item gave the texts.
    pub described_by: String,
}

/// A pattern in one failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OccurrenceRow {
    /// `f-…`.
    pub failure: String,
    /// The run.
    pub run: String,
    /// When the run was started.
    pub at: Timestamp,
    /// Its task.
    pub task: String,
    /// Items of this pattern in the run.
    pub items: u64,
    /// The first item's file.
    pub file: Option<String>,
    /// The first item's line.
    pub line: Option<u32>,
    /// The first item's test.
    pub test: Option<String>,
    /// The first item's message, one line.
    pub message: String,
    /// The failure's category.
    pub category: String,
}

/// The last run somewhere.
#[derive(Debug, Clone, PartialEq)]
pub struct LastRun {
    /// Its id.
    pub id: String,
    /// What was run.
    pub argv: Vec<Lossless>,
    /// Directory relative to the root.
    pub dir: Lossless,
    /// Tool, of a recognised check.
    pub tool: Option<String>,
    /// When it was started.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Timestamp,
    /// Wall time, microseconds.
    pub duration_us: u64,
    /// How it ended.
    pub ended: Ended,
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
pub struct LessonRow {
    /// `l-…`.
    pub id: String,
    /// File name.
    pub file: String,
    /// The failure.
    pub failure: String,
    /// The run.
    pub run: String,
    /// Whether it was forgotten.
    pub forgotten: bool,
}

impl Index {
    /// Whether an event is recorded.
    ///
    /// # Errors
    /// SQLite's, as for all methods here.
    pub fn has_event(&self, id: RunId) -> Result<bool, StoreError> {
        let find =
            || self.connection.prepare_cached("SELECT 1 FROM events WHERE event_id = ?1")?.exists([id.to_string()]);
        self.sql("read", find())
    }

    /// An event, from its segment.
    ///
    /// # Errors
    /// SQLite's and I/O.
    pub fn run(&self, segments: &Segments, id: &str) -> Result<Option<Run>, StoreError> {
        Ok(match self.event(segments, id)?.map(|event| event.body) {
            Some(Body::Run(run)) => Some(*run),
            _ => None,
        })
    }

    /// An event, from its segment.
    ///
    /// # Errors
    /// SQLite's and I/O.
    pub fn event(&self, segments: &Segments, id: &str) -> Result<Option<Event>, StoreError> {
        let find = || {
            self.connection
                .prepare_cached(
                    "SELECT name, start, len FROM events JOIN segments USING (segment_no) WHERE event_id = ?1",
                )?
                .query_row([id], |row| {
                    Ok((row.get::<_, String>(0)?, Span { start: unsigned(row, 1)?, len: unsigned(row, 2)? }))
                })
                .optional()
        };
        let Some((segment, span)) = self.sql("read", find())? else { return Ok(None) };
        segments.event(&segment, span)
    }

    /// Those of `keys` (pattern keys) for which a lesson was written.
    ///
    /// # Errors
    /// SQLite's.
    pub fn patterns_with_lesson(&self, keys: &[&str]) -> Result<HashSet<String>, StoreError> {
        self.filter_keys(
            keys,
            "SELECT 1 FROM qa_failure_patterns
             JOIN qa_pattern_occurrences USING (pattern_no) JOIN qa_failures USING (failure_no)
             WHERE pattern_key = ?1 AND lesson_id IS NOT NULL LIMIT 1",
        )
    }

    /// Those of `keys` (pattern keys) whose lesson somebody forgot.
    ///
    /// # Errors
    /// SQLite's.
    pub fn forgotten_patterns(&self, keys: &[&str]) -> Result<HashSet<String>, StoreError> {
        const SQL: &str = "SELECT 1 FROM forgotten_patterns WHERE pattern_key = ?1 LIMIT 1";
        let mut forgotten = self.filter_keys(keys, SQL)?;
        // A lesson whose run isn't in this store was forgotten by its patterns' ids.
        for key in keys {
            let id = ids::short(Kind::Pattern, key.as_bytes());
            if !forgotten.contains(*key) && !self.filter_keys(&[&id], SQL)?.is_empty() {
                forgotten.insert((*key).to_owned());
            }
        }
        Ok(forgotten)
    }

    fn filter_keys(&self, keys: &[&str], sql: &str) -> Result<HashSet<String>, StoreError> {
        let filter = || {
            let mut statement = self.connection.prepare_cached(sql)?;
            let mut found = HashSet::new();
            for key in keys {
                if statement.exists([key])? {
                    found.insert((*key).to_owned());
                }
            }
            Ok(found)
        };
        self.sql("read", filter())
    }

    /// Whether the last run of a command key passed; `None` when there is none. Runs from the future as in
    /// [`Index::last_run`].
    ///
    /// # Errors
    /// SQLite's.
    pub fn last_passed(&self, command_key: &str, now: Timestamp) -> Result<Option<bool>, StoreError> {
        let find = || {
            self.connection
                .prepare_cached(
                    "SELECT passed FROM runs WHERE command_key = ?1
                     ORDER BY ended_at <= ?2 DESC, ended_at DESC, run_id DESC LIMIT 1",
                )?
                .query_row(params![command_key, now.rfc3339()], |row| row.get(0))
                .optional()
        };
        self.sql("read", find())
    }

    /// The run under `root` that ended last. Runs from the future (`now` is where they were wrong: the clock was set
    /// back) count only when there is no other.
    ///
    /// # Errors
    /// SQLite's.
    pub fn last_run(&self, root: &Lossless, now: Timestamp) -> Result<Option<LastRun>, StoreError> {
        let find = || {
            self.connection
                .prepare_cached(
                    "SELECT run_id, argv, dir, tool, started_at, ended_at, duration_us, exit_code, signal,
                            failure_id, category, summary, lesson_file, lesson_id, failure_no
                     FROM runs LEFT JOIN qa_failures USING (run_id)
                     WHERE root = ?1 ORDER BY ended_at <= ?2 DESC, ended_at DESC, run_id DESC LIMIT 1",
                )?
                .query_row(params![json(root), now.rfc3339()], |row| {
                    let files = match row.get::<_, Option<i64>>(14)? {
                        Some(failure) => self.files(failure)?,
                        None => Vec::new(),
                    };
                    last_run(row, files)
                })
                .optional()
        };
        self.sql("read", find())
    }

    fn files(&self, failure_no: i64) -> rusqlite::Result<Vec<String>> {
        self.connection
            .prepare_cached("SELECT path FROM failure_files WHERE failure_no = ?1 ORDER BY path")?
            .query_map([failure_no], |row| row.get(0))?
            .collect()
    }

    /// Patterns, the last seen first, without the first `offset`. With `failures_min` only those that have so many
    /// failures, themselves or their family: fewer failures can't be of more tasks.
    ///
    /// # Errors
    /// SQLite's.
    pub fn patterns(
        &self,
        offset: usize,
        limit: usize,
        failures_min: Option<u64>,
    ) -> Result<Vec<PatternRow>, StoreError> {
        const AT_LEAST: &str = "WHERE failure_count >= ?3 OR family_key IN
            (SELECT family_key FROM qa_failure_patterns GROUP BY family_key HAVING sum(failure_count) >= ?3)";
        let read = || {
            let condition = if failures_min.is_some() { AT_LEAST } else { "WHERE ?3 = 0" };
            let sql = format!("{PATTERN_COLUMNS} {condition} ORDER BY last_seen DESC, pattern_key LIMIT ?1 OFFSET ?2");
            let mut statement = self.connection.prepare_cached(&sql)?;
            let number = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
            let failures_min = i64::try_from(failures_min.unwrap_or(0)).unwrap_or(i64::MAX);
            let rows = statement.query_map([number(limit), number(offset), failures_min], pattern_row)?;
            rows.collect()
        };
        self.sql("read", read())
    }

    /// The pattern whose id starts with `id` (`p-` may be left out).
    ///
    /// # Errors
    /// [`StoreError::NoSuchId`], [`StoreError::Ambiguous`], SQLite's.
    pub fn pattern(&self, id: &str) -> Result<PatternRow, StoreError> {
        let full = if id.starts_with("p-") { id.to_owned() } else { format!("p-{id}") };
        let read = || {
            let sql = format!("{PATTERN_COLUMNS} WHERE substr(pattern_id, 1, length(?1)) = ?1 LIMIT 20");
            let mut statement = self.connection.prepare_cached(&sql)?;
            let rows = statement.query_map([&full], pattern_row)?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        let mut found = self.sql("read", read())?;
        match found.len() {
            0 => Err(StoreError::NoSuchId { id: id.to_owned() }),
            1 => Ok(found.remove(0)),
            count => Err(ambiguous(id, count, found.iter().map(|row| row.id.as_str()))),
        }
    }

    /// The pattern with this key.
    ///
    /// # Errors
    /// SQLite's.
    pub fn pattern_of_key(&self, key: &str) -> Result<Option<PatternRow>, StoreError> {
        let sql = format!("{PATTERN_COLUMNS} WHERE pattern_key = ?1");
        let find = || self.connection.prepare_cached(&sql)?.query_row([key], pattern_row).optional();
        self.sql("read", find())
    }

    /// A pattern's failures, the newest first.
    ///
    /// # Errors
    /// SQLite's.
    pub fn occurrences(&self, pattern: i64, limit: usize) -> Result<Vec<OccurrenceRow>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT failure_id, run_id, at, name, o.item_count, file, line, test, message, category
                 FROM qa_pattern_occurrences o JOIN qa_failures USING (failure_no) JOIN tasks USING (task_no)
                 WHERE pattern_no = ?1 ORDER BY at DESC, run_id DESC LIMIT ?2",
            )?;
            let rows = statement.query_map(params![pattern, i64::try_from(limit).unwrap_or(i64::MAX)], |row| {
                Ok(OccurrenceRow {
                    failure: row.get(0)?,
                    run: row.get(1)?,
                    at: time(row, 2)?,
                    task: row.get(3)?,
                    items: unsigned(row, 4)?,
                    file: row.get(5)?,
                    line: row.get(6)?,
                    test: row.get(7)?,
                    message: row.get(8)?,
                    category: row.get(9)?,
                })
            })?;
            rows.collect()
        };
        self.sql("read", read())
    }

    /// Files in which a pattern's items were, with the number of failures; the most frequent first.
    ///
    /// # Errors
    /// SQLite's.
    pub fn pattern_files(&self, pattern: i64, limit: usize) -> Result<Vec<(String, u64)>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT file, count(*) FROM qa_pattern_occurrences WHERE pattern_no = ?1 AND file IS NOT NULL
                 GROUP BY file ORDER BY count(*) DESC, file LIMIT ?2",
            )?;
            let rows = statement.query_map(params![pattern, i64::try_from(limit).unwrap_or(i64::MAX)], |row| {
                Ok((row.get(0)?, unsigned(row, 1)?))
            })?;
            rows.collect()
        };
        self.sql("read", read())
    }

    /// Lessons that were decided on for failures with this pattern.
    ///
    /// # Errors
    /// SQLite's.
    pub fn pattern_lessons(&self, pattern: i64) -> Result<Vec<LessonRow>, StoreError> {
        self.lessons_where(
            "failure_no IN (SELECT failure_no FROM qa_pattern_occurrences WHERE pattern_no = ?1)",
            pattern,
        )
    }

    /// Every lesson that was decided on.
    ///
    /// # Errors
    /// SQLite's.
    pub fn lessons(&self) -> Result<Vec<LessonRow>, StoreError> {
        self.lessons_where("?1 = 0", 0)
    }

    fn lessons_where(&self, condition: &str, parameter: i64) -> Result<Vec<LessonRow>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(&format!(
                "SELECT lesson_id, lesson_file, failure_id, run_id,
                        EXISTS (SELECT 1 FROM lesson_changes c WHERE c.lesson_id = f.lesson_id AND change = 'forgotten')
                 FROM qa_failures f WHERE lesson_id IS NOT NULL AND {condition} ORDER BY run_id"
            ))?;
            let rows = statement.query_map([parameter], |row| {
                Ok(LessonRow {
                    id: row.get(0)?,
                    file: row.get(1)?,
                    failure: row.get(2)?,
                    run: row.get(3)?,
                    forgotten: row.get(4)?,
                })
            })?;
            rows.collect()
        };
        self.sql("read", read())
    }

    /// The runs that an id (of a run, failure, pattern or lesson, or the start of one) stands for.
    ///
    /// # Errors
    /// [`StoreError::NoSuchId`], [`StoreError::Ambiguous`], SQLite's.
    pub fn runs_of(&self, id: &str) -> Result<Vec<RunId>, StoreError> {
        // The start of every id names none, also where there is only one.
        if matches!(id, "" | "f-" | "l-" | "p-") {
            return Err(StoreError::NoSuchId { id: id.to_owned() });
        }
        let named = match id.get(..2) {
            Some("f-") => "SELECT failure_id, run_id FROM qa_failures WHERE substr(failure_id, 1, length(?1)) = ?1",
            Some("l-") => "SELECT lesson_id, run_id FROM qa_failures WHERE substr(lesson_id, 1, length(?1)) = ?1",
            Some("p-") => {
                "SELECT pattern_id, run_id FROM qa_failure_patterns JOIN qa_pattern_occurrences USING (pattern_no)
                 JOIN qa_failures USING (failure_no) WHERE substr(pattern_id, 1, length(?1)) = ?1"
            }
            _ => "SELECT run_id, run_id FROM runs WHERE substr(run_id, 1, length(?1)) = ?1",
        };
        let read = || {
            let mut statement = self.connection.prepare_cached(named)?;
            let rows = statement.query_map([id], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        let found = self.sql("read", read())?;
        let mut ids: Vec<&str> = found.iter().map(|(id, _)| id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        match ids.len() {
            0 => Err(StoreError::NoSuchId { id: id.to_owned() }),
            1 => Ok(found.iter().filter_map(|(_, run)| uuid::Uuid::parse_str(run).ok()).map(RunId).collect()),
            count => Err(ambiguous(id, count, ids.into_iter())),
        }
    }

    /// Row counts.
    ///
    /// # Errors
    /// SQLite's.
    pub fn counts(&self) -> Result<Counts, StoreError> {
        let read = || {
            self.connection.query_row(
                "SELECT (SELECT count(*) FROM events), (SELECT count(*) FROM runs),
                        (SELECT count(*) FROM qa_failures), (SELECT count(*) FROM qa_failure_patterns),
                        (SELECT count(*) FROM tasks),
                        (SELECT count(*) FROM qa_failures f WHERE lesson_id IS NOT NULL AND NOT EXISTS
                         (SELECT 1 FROM lesson_changes c WHERE c.lesson_id = f.lesson_id AND change = 'forgotten'))",
                [],
                |row| {
                    Ok(Counts {
                        events: unsigned(row, 0)?,
                        runs: unsigned(row, 1)?,
                        failures: unsigned(row, 2)?,
                        patterns: unsigned(row, 3)?,
                        tasks: unsigned(row, 4)?,
                        lessons: unsigned(row, 5)?,
                    })
                },
            )
        };
        self.sql("read", read())
    }
}

const PATTERN_COLUMNS: &str = "
    SELECT pattern_no, pattern_id, pattern_key, family_key, tool, code, masked, masked_family, first_seen, last_seen,
           failure_count,
           (SELECT count(DISTINCT task_no) FROM qa_pattern_occurrences o WHERE o.pattern_no = p.pattern_no),
           (SELECT category FROM qa_pattern_occurrences o JOIN qa_failures USING (failure_no)
            WHERE o.pattern_no = p.pattern_no GROUP BY category ORDER BY count(*) DESC, category LIMIT 1),
           (SELECT count(DISTINCT task_no) FROM qa_pattern_occurrences o
            JOIN qa_failure_patterns q USING (pattern_no) WHERE q.family_key = p.family_key),
           described_by
    FROM qa_failure_patterns p";

fn pattern_row(row: &Row<'_>) -> rusqlite::Result<PatternRow> {
    Ok(PatternRow {
        number: row.get(0)?,
        id: row.get(1)?,
        key: row.get(2)?,
        family: row.get(3)?,
        tool: row.get(4)?,
        code: row.get(5)?,
        masked: row.get(6)?,
        masked_family: row.get(7)?,
        first_seen: time(row, 8)?,
        last_seen: time(row, 9)?,
        failures: unsigned(row, 10)?,
        tasks: unsigned(row, 11)?,
        category: row.get::<_, Option<String>>(12)?.unwrap_or_default(),
        family_tasks: unsigned(row, 13)?,
        described_by: row.get(14)?,
    })
}

fn last_run(row: &Row<'_>, files: Vec<String>) -> rusqlite::Result<LastRun> {
    let ended = match row.get::<_, Option<u8>>(7)? {
        Some(code) => Ended::Exit(code),
        None => Ended::Signal(row.get(8)?),
    };
    Ok(LastRun {
        id: row.get(0)?,
        argv: serde_json::from_str(&row.get::<_, String>(1)?).unwrap_or_default(),
        dir: serde_json::from_str(&row.get::<_, String>(2)?).unwrap_or_default(),
        tool: row.get(3)?,
        started_at: time(row, 4)?,
        ended_at: time(row, 5)?,
        duration_us: unsigned(row, 6)?,
        ended,
        failure: row.get(9)?,
        category: row.get(10)?,
        summary: row.get(11)?,
        files,
        lesson_file: row.get(12)?,
        lesson: row.get(13)?,
    })
}

fn time(row: &Row<'_>, column: usize) -> rusqlite::Result<Timestamp> {
    Ok(Timestamp::parse(&row.get::<_, String>(column)?).unwrap_or(Timestamp(0)))
}

fn unsigned(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    Ok(u64::try_from(row.get::<_, i64>(column)?).unwrap_or(0))
}

fn ambiguous<'a>(id: &str, count: usize, found: impl Iterator<Item = &'a str>) -> StoreError {
    let examples = found.take(3).collect::<Vec<_>>().join(", ");
    StoreError::Ambiguous { id: id.to_owned(), count, examples }
}
