//! Queries of the recorder about open failures.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use rusqlite::{OptionalExtension, Row, params};

use super::row_time;
use crate::base::clock::Timestamp;
use crate::base::ids::RunId;
use crate::base::lossless::Lossless;
use crate::event::{Attempt, EventBody, RecordedCommand};
use crate::run::CommandEnd;
use crate::store::error::StoreError;
use crate::store::index::Index;
use crate::store::segment::SegmentFolder;
use crate::store::to_json;

/// Failing runs of one class that are looked at, the newest.
const OPEN_RUNS_MAX: u32 = 500;

/// A failing run that nothing closed yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OpenFailingRun {
    pub run: RunId,
    /// Its command key.
    pub key: String,
    pub started_at: Timestamp,
    pub ended_at: Timestamp,
    pub ended: CommandEnd,
    pub branch: Option<String>,
    pub commit: Option<String>,
}

/// A failing run, as far as an index has it.
struct FailedRunRow {
    row: i64,
    key: String,
    branch: Option<String>,
    ended_at: Timestamp,
}

/// When a check was closed last: by its own pass on a branch, or by an attempt.
struct ClosingTimes {
    passes: HashMap<Option<String>, Timestamp>,
    solved: Option<Timestamp>,
}

impl ClosingTimes {
    fn closing_time(&self, run: &FailedRunRow) -> Option<Timestamp> {
        self.passes.get(&run.branch).copied().max(self.solved)
    }
}

/// A stretch of time in one work tree.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WorkTreePeriod<'a> {
    /// The work tree.
    pub root: &'a Lossless,
    /// Its start, not in it.
    pub from: Timestamp,
    /// Its end, in it.
    pub to: Timestamp,
}

impl Index {
    /// Failing runs of a class ([`crate::event::Scope::class`]) that ended between `since` and `until` and that no pass
    /// on the same branch and no successful attempt closed up to then; the oldest first, of the newest 500. `run` itself
    /// counts for nothing.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn open_runs(
        &self,
        class: &str,
        since: Timestamp,
        until: Timestamp,
        run: RunId,
    ) -> Result<Vec<OpenFailingRun>, StoreError> {
        let read = || {
            let since = since.rfc3339();
            let mut failed = self.failed_runs(class, (&since, until), run)?;
            let mut closed: HashMap<String, ClosingTimes> = HashMap::new();
            for failed in failed.iter().rev() {
                // The oldest of each comes first: its time bounds what has to be looked at.
                if let Entry::Vacant(place) = closed.entry(failed.key.clone()) {
                    place.insert(self.closing_times(failed, until, run)?);
                }
            }
            failed.retain(|it| {
                closed.get(&it.key).and_then(|closed| closed.closing_time(it)).is_none_or(|at| it.ended_at > at)
            });
            let mut statement = self.connection.prepare_cached(
                "SELECT run_id, command_key, started_at, ended_at, exit_code, signal, branch, commit_id,
                        EXISTS (SELECT 1 FROM failures f WHERE f.run_id = runs.run_id AND no_lesson = 'cancelled')
                 FROM runs WHERE rowid = ?1",
            )?;
            let open =
                failed.iter().filter_map(|failed| statement.query_row([failed.row], open_run_from_row).transpose());
            let mut open: Vec<OpenFailingRun> = open.collect::<rusqlite::Result<_>>()?;
            open.sort_by_key(|open| (open.ended_at, open.run));
            Ok(open)
        };
        self.sql_result("read", read())
    }

    /// The failing runs of a class in a time, the newest [`OPEN_RUNS_MAX`], the newest first.
    fn failed_runs(
        &self,
        class: &str,
        (since, until): (&str, Timestamp),
        run: RunId,
    ) -> rusqlite::Result<Vec<FailedRunRow>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT rowid, command_key, branch, ended_at FROM runs INDEXED BY runs_by_class_and_time
             WHERE class_key = ?1 AND passed = 0 AND ended_at >= ?2 AND ended_at <= ?3
               AND rowid IS NOT (SELECT rowid FROM runs WHERE run_id = ?4)
             ORDER BY ended_at DESC LIMIT ?5",
        )?;
        let parameters = params![class, since, until.rfc3339(), run.to_string(), OPEN_RUNS_MAX];
        let rows = statement.query_map(parameters, |row| {
            Ok(FailedRunRow { row: row.get(0)?, key: row.get(1)?, branch: row.get(2)?, ended_at: row_time(row, 3)? })
        })?;
        rows.collect()
    }

    /// When a check was closed last, from `failed` on.
    fn closing_times(&self, failed: &FailedRunRow, until: Timestamp, run: RunId) -> rusqlite::Result<ClosingTimes> {
        let parameters = (&failed.key, failed.ended_at.rfc3339(), until.rfc3339(), run.to_string());
        let mut passes = self.connection.prepare_cached(
            "SELECT branch, max(ended_at) FROM runs INDEXED BY passes_by_key
             WHERE command_key = ?1 AND ended_at >= ?2 AND ended_at <= ?3 AND passed AND own_status
               AND rowid IS NOT (SELECT rowid FROM runs WHERE run_id = ?4)
             GROUP BY branch",
        )?;
        let rows = passes.query_map(parameters.clone(), |row| Ok((row.get(0)?, row_time(row, 1)?)))?;
        let mut attempts = self.connection.prepare_cached(
            "SELECT at FROM fix_attempts
             WHERE command_key = ?1 AND at >= ?2 AND at <= ?3 AND run_id <> ?4 AND outcome = 'success'
             ORDER BY at DESC LIMIT 1",
        )?;
        let solved = attempts.query_row(parameters, |row| row_time(row, 0)).optional()?;
        Ok(ClosingTimes { passes: rows.collect::<rusqlite::Result<_>>()?, solved })
    }

    /// The newest attempt of a fix that ended from `since` to `until` and isn't `run`'s: what a later one goes on from.
    ///
    /// # Errors
    /// SQLite's and I/O.
    pub(crate) fn last_attempt(
        &self,
        segments: &SegmentFolder,
        fix: &str,
        (since, until): (Timestamp, Timestamp),
        run: RunId,
    ) -> Result<Option<Attempt>, StoreError> {
        let find = || {
            self.connection
                .prepare_cached(
                    "SELECT event_id FROM fix_attempts
                     WHERE fix_id = ?1 AND at >= ?2 AND at <= ?3 AND run_id <> ?4
                     ORDER BY at DESC, event_id DESC LIMIT 1",
                )?
                .query_row(params![fix, since.rfc3339(), until.rfc3339(), run.to_string()], |row| {
                    row.get::<_, String>(0)
                })
                .optional()
        };
        match self.sql_result("read", find())? {
            Some(id) => self.read_attempt(segments, &id),
            None => Ok(None),
        }
    }

    /// An attempt, from its event.
    ///
    /// # Errors
    /// SQLite's and I/O.
    pub(crate) fn read_attempt(&self, segments: &SegmentFolder, id: &str) -> Result<Option<Attempt>, StoreError> {
        Ok(match self.read_event(segments, id)?.map(|event| event.body) {
            Some(EventBody::Attempt(attempt)) => Some(*attempt),
            _ => None,
        })
    }

    /// Whether no run of a key ended between the end of `earlier` and `run`.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn is_next_run(&self, key: &str, earlier: RunId, run: RunId) -> Result<bool, StoreError> {
        let find = || {
            self.connection
                .prepare_cached(
                    "SELECT run_id FROM runs WHERE command_key = ?1 AND run_id <> ?2
                       AND ended_at <= (SELECT ended_at FROM runs WHERE run_id = ?2)
                     ORDER BY ended_at DESC, run_id DESC LIMIT 1",
                )?
                .query_row(params![key, run.to_string()], |row| row.get::<_, String>(0))
                .optional()
        };
        Ok(self.sql_result("read", find())?.is_some_and(|found| found == earlier.to_string()))
    }

    /// Whether the lesson of a run was withdrawn.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn is_withdrawn(&self, run: RunId) -> Result<bool, StoreError> {
        let find = || {
            self.connection
                .prepare_cached("SELECT 1 FROM withdrawn_lessons WHERE run_id = ?1")?
                .exists([run.to_string()])
        };
        self.sql_result("read", find())
    }

    /// The lesson that was written for a run: its id, and its file's name then.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn lesson_of_run(&self, run: RunId) -> Result<Option<(String, String)>, StoreError> {
        let find = || {
            let sql = "SELECT lesson_id, lesson_file FROM failures WHERE run_id = ?1 AND lesson_id IS NOT NULL";
            self.connection
                .prepare_cached(sql)?
                .query_row([run.to_string()], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()
        };
        self.sql_result("read", find())
    }

    /// Keys of the patterns of a run's failure.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn patterns_of_run(&self, run: RunId) -> Result<Vec<String>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT pattern_key FROM failures JOIN occurrences USING (failure_no)
                 JOIN patterns USING (pattern_no) WHERE run_id = ?1 ORDER BY pattern_key",
            )?;
            let rows = statement.query_map([run.to_string()], |row| row.get(0))?;
            rows.collect()
        };
        self.sql_result("read", read())
    }

    /// Runs of other keys than `key` that ended in a gap, the newest `limit` of them, the oldest first; and how many
    /// there are beyond the limit.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn commands_in_period(
        &self,
        gap: WorkTreePeriod<'_>,
        key: &str,
        limit: usize,
    ) -> Result<(Vec<RecordedCommand>, usize), StoreError> {
        let read = || {
            let (root, from, to) = (to_json(gap.root), gap.from.rfc3339(), gap.to.rfc3339());
            let mut statement = self.connection.prepare_cached(
                "SELECT run_id, argv, passed, tool IS NOT NULL FROM runs
                 WHERE root = ?1 AND ended_at > ?2 AND ended_at <= ?3 AND command_key <> ?4
                 ORDER BY ended_at DESC, run_id DESC",
            )?;
            let mut rows = statement.query(params![root, from, to, key])?;
            let (mut commands, mut cut) = (Vec::new(), 0);
            while let Some(row) = rows.next()? {
                if commands.len() == limit {
                    cut += 1;
                    continue;
                }
                let argv: Vec<Lossless> = serde_json::from_str(&row.get::<_, String>(1)?).unwrap_or_default();
                let Ok(run) = uuid::Uuid::parse_str(&row.get::<_, String>(0)?) else { continue };
                let line = shell_words::join(argv.iter().map(Lossless::display));
                commands.push(RecordedCommand { run: RunId(run), line, passed: row.get(2)?, check: row.get(3)? });
            }
            commands.reverse();
            Ok((commands, cut))
        };
        self.sql_result("read", read())
    }
}

/// `None` of a run whose result does not depend on the code.
fn open_run_from_row(row: &Row<'_>) -> rusqlite::Result<Option<OpenFailingRun>> {
    if row.get(8)? {
        return Ok(None);
    }
    let ended = match row.get::<_, Option<u8>>(4)? {
        Some(code) => CommandEnd::Exit(code),
        None => CommandEnd::Signal(row.get(5)?),
    };
    let Ok(run) = uuid::Uuid::parse_str(&row.get::<_, String>(0)?) else { return Ok(None) };
    Ok(Some(OpenFailingRun {
        run: RunId(run),
        key: row.get(1)?,
        started_at: row_time(row, 2)?,
        ended_at: row_time(row, 3)?,
        ended,
        branch: row.get(6)?,
        commit: row.get(7)?,
    }))
}
