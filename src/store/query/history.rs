//! The input of detectors, limited to the newest part: tasks, what they changed, what failed in them.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Row, params};

use super::pattern::GROUP;
use super::{row_time, row_unsigned};
use crate::base::clock::Timestamp;
use crate::base::ids::{self, IdKind};
use crate::store::error::StoreError;
use crate::store::index::Index;
use crate::store::to_json;

/// Tasks of a window.
const TASKS_MAX: i64 = 500;
/// Failures of a window, the newest.
const FAILURES_MAX: i64 = 5_000;
/// … and when a command waits for the answer.
const BRIEF_TASKS_MAX: i64 = 100;
const BRIEF_FAILURES_MAX: i64 = 500;
/// Patterns in its failures, and files changed in its tasks.
pub(super) const ROWS_MAX: i64 = 100_000;
/// Tasks that a pattern's confidence is folded from, the oldest; far beyond the ledger's upper end.
pub(super) const SIGHTINGS_MAX: i64 = 10_000;

/// What was said of lessons about one pattern, the newest.
const ANNOTATIONS_MAX: i64 = 20;

/// The rows of a window.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct HistoryRows {
    /// Tasks, the oldest first.
    pub tasks: Vec<TaskRow>,
    /// Their failures, the oldest first; cancelled ones say nothing about the code and are left out.
    pub failures: Vec<TaskFailureRow>,
    /// What failed in them, without what was a flake.
    pub items: Vec<TaskItemRow>,
    pub changes: Vec<TaskChangeRow>,
    pub older_tasks: u64,
    /// Categories there are.
    pub categories: u64,
}

/// A task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TaskRow {
    /// Row number.
    pub number: i64,
    pub name: String,
    /// Runs in it, passed or failed.
    pub runs: u64,
}

/// A failure of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TaskFailureRow {
    /// Row number.
    pub number: i64,
    /// Its task's row number.
    pub task: i64,
    pub run: String,
    /// When that was started.
    pub at: Timestamp,
    pub category: String,
}

/// A pattern in a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TaskItemRow {
    /// The failure's row number.
    pub failure: i64,
    /// The pattern's row number.
    pub pattern: i64,
    /// The first item's file.
    pub file: Option<String>,
}

/// A file that was changed in a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TaskChangeRow {
    /// The task's row number.
    pub task: i64,
    /// The file.
    pub path: String,
    /// It was moved or removed.
    pub moved: bool,
}

/// A pattern by its row number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedPatternRow {
    /// Row number.
    pub number: i64,
    /// `p-…`
    pub id: String,
    /// Tool definition.
    pub tool: String,
    /// Rule or error code.
    pub code: Option<String>,
    /// Masked text.
    pub masked: String,
}

/// The first time that a pattern was seen in a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FirstOccurrenceRow {
    pub run: String,
    /// When it was started.
    pub at: Timestamp,
    pub task: String,
}

/// The tasks of the window, and their failures. What is joined to them is looked up: SQLite does not know how few they
/// are, and would rather read the other table whole.
const WINDOW: &str = "
    WITH recent AS MATERIALIZED (
        SELECT task_no, name, last_at,
               EXISTS (SELECT 1 FROM runs WHERE runs.task_no = tasks.task_no AND NOT passed) AS has_failed
        FROM tasks ORDER BY last_at DESC, name DESC LIMIT ?1),
    failed AS MATERIALIZED (
        SELECT failure_no, task_no, run_id, started_at, category FROM recent CROSS JOIN runs USING (task_no)
        CROSS JOIN failures USING (run_id) WHERE NOT passed AND no_lesson IS NOT 'cancelled'
        ORDER BY started_at DESC, run_id DESC LIMIT ?2)";

/// A run `r` whose changed files count for its task: of a task in which something failed, one that began a failure. What
/// was changed after that is the cure. Of a task without a failure every run.
const AT_FAILURE: &str = "(CASE WHEN r.passed THEN NOT recent.has_failed ELSE coalesce((
        SELECT b.passed OR b.task_no <> r.task_no FROM runs b
        WHERE b.command_key = r.command_key AND b.ended_at < r.ended_at ORDER BY b.ended_at DESC LIMIT 1), 1) END)";

impl Index {
    /// The newest tasks with what failed and what was changed in them.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn recent_history(&self) -> Result<HistoryRows, StoreError> {
        self.read_history((TASKS_MAX, FAILURES_MAX))
    }

    /// The same of fewer tasks, for those who can't wait.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn brief_history(&self) -> Result<HistoryRows, StoreError> {
        self.read_history((BRIEF_TASKS_MAX, BRIEF_FAILURES_MAX))
    }

    fn read_history(&self, window: (i64, i64)) -> Result<HistoryRows, StoreError> {
        let older_tasks = self.count_tasks()?.saturating_sub(window.0.unsigned_abs());
        let categories = self.sql_result(
            "read",
            self.connection.query_row("SELECT count(*) FROM failure_categories", [], |row| row_unsigned(row, 0)),
        )?;
        let tasks = format!(
            "{WINDOW} SELECT task_no, name, (SELECT count(*) FROM runs r WHERE r.task_no = recent.task_no)
             FROM recent WHERE ?2 > 0 ORDER BY last_at, name"
        );
        let failures = format!(
            "{WINDOW} SELECT failure_no, task_no, run_id, started_at, category FROM failed ORDER BY started_at, run_id"
        );
        // The window is read once; what is in its failures is looked up by their numbers.
        let failures: Vec<TaskFailureRow> = self.query_window(window, &failures, |row| {
            let (number, task, run) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok(TaskFailureRow { number, task, run, at: row_time(row, 3)?, category: row.get(4)? })
        })?;
        let items = self.items_of_failures(&failures.iter().map(|row| row.number).collect::<Vec<_>>())?;
        Ok(HistoryRows {
            tasks: self.query_window(window, &tasks, |row| {
                Ok(TaskRow { number: row.get(0)?, name: row.get(1)?, runs: row_unsigned(row, 2)? })
            })?,
            failures,
            changes: self.query_window(
                window,
                &format!(
                    "{WINDOW} SELECT task_no, path, max(moved) FROM (
                         SELECT task_no, path, change IN ('removed', 'renamed') AS moved FROM recent
                         CROSS JOIN runs r USING (task_no) CROSS JOIN snapshot_files USING (run_id)
                         WHERE {AT_FAILURE})
                     WHERE ?2 > 0 GROUP BY task_no, path LIMIT {ROWS_MAX}"
                ),
                |row| Ok(TaskChangeRow { task: row.get(0)?, path: row.get(1)?, moved: row.get(2)? }),
            )?,
            items,
            older_tasks,
            categories,
        })
    }

    /// What failed in some failures, by their row numbers, without what was a flake.
    fn items_of_failures(&self, failures: &[i64]) -> Result<Vec<TaskItemRow>, StoreError> {
        let sql = format!(
            "SELECT failure_no, coalesce(leader_no, pattern_no), file FROM json_each(?1)
             CROSS JOIN occurrences ON failure_no = value LEFT JOIN pattern_groups USING (pattern_no)
             WHERE NOT flaky LIMIT {ROWS_MAX}"
        );
        let read = || -> rusqlite::Result<Vec<TaskItemRow>> {
            let mut statement = self.connection.prepare_cached(&sql)?;
            let mut rows = statement.query([to_json(&failures)])?;
            let mut first_files: BTreeMap<(i64, i64), Option<String>> = BTreeMap::new();
            while let Some(row) = rows.next()? {
                let file: Option<String> = row.get(2)?;
                let first = first_files.entry((row.get(0)?, row.get(1)?)).or_default();
                *first = first.take().into_iter().chain(file).min();
            }
            Ok(first_files
                .into_iter()
                .map(|((failure, pattern), file)| TaskItemRow { failure, pattern, file })
                .collect())
        };
        self.sql_result("read", read())
    }

    /// What is known of some patterns, by their row numbers.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn names_of_patterns(&self, patterns: &BTreeSet<i64>) -> Result<Vec<NamedPatternRow>, StoreError> {
        let sql = "SELECT pattern_no, pattern_id, tool, code, masked FROM json_each(?1)
            CROSS JOIN patterns ON pattern_no = value ORDER BY pattern_no";
        let read = || {
            let mut statement = self.connection.prepare_cached(sql)?;
            let rows = statement.query_map([to_json(patterns)], |row| {
                let (number, id, tool) = (row.get(0)?, row.get(1)?, row.get(2)?);
                Ok(NamedPatternRow { number, id, tool, code: row.get(3)?, masked: row.get(4)? })
            })?;
            rows.collect()
        };
        self.sql_result("read", read())
    }

    fn query_window<T>(
        &self,
        (tasks, failures): (i64, i64),
        sql: &str,
        row: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let read = || self.connection.prepare_cached(sql)?.query_map(params![tasks, failures], row)?.collect();
        self.sql_result("read", read())
    }

    /// The first sighting of a pattern or one of its group in each task, flakes left out, the oldest first.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn first_occurrences(&self, pattern: i64) -> Result<Vec<FirstOccurrenceRow>, StoreError> {
        self.first_occurrences_until(pattern, i64::MAX)
    }

    /// As [`Index::first_occurrences`], of the failures up to failure number `newest`.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn first_occurrences_until(
        &self,
        pattern: i64,
        newest: i64,
    ) -> Result<Vec<FirstOccurrenceRow>, StoreError> {
        let sql = format!(
            "{GROUP} SELECT run_id, at, name FROM (
                 SELECT f.run_id, o.at, o.task_no,
                        row_number() OVER (PARTITION BY o.task_no ORDER BY o.at, f.run_id) AS nth
                 FROM members CROSS JOIN occurrences o USING (pattern_no) JOIN failures f USING (failure_no)
                 WHERE NOT flaky AND o.failure_no <= ?3)
             JOIN tasks USING (task_no) WHERE nth = 1 ORDER BY at, run_id LIMIT ?2"
        );
        let read = || {
            let mut statement = self.connection.prepare_cached(&sql)?;
            let rows = statement.query_map(params![pattern, SIGHTINGS_MAX, newest], |row| {
                Ok(FirstOccurrenceRow { run: row.get(0)?, at: row_time(row, 1)?, task: row.get(2)? })
            })?;
            rows.collect()
        };
        self.sql_result("read", read())
    }

    /// The events about the lessons of a pattern, the newest first: in a lesson that lists several patterns,
    /// annotations are about the one whose lesson it is.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn annotations_of_pattern(&self, pattern: i64) -> Result<Vec<String>, StoreError> {
        let read = || {
            // People write fewer of them than there are failures of one pattern.
            let mut statement = self.connection.prepare_cached(
                "SELECT event_id FROM lesson_changes c WHERE change = 'annotated'
                 AND NOT EXISTS (SELECT 1 FROM imported_events i WHERE i.event_id = c.event_id) AND EXISTS (
                     SELECT 1 FROM failures f CROSS JOIN occurrences o USING (failure_no)
                     WHERE f.lesson_id = c.lesson_id AND o.pattern_no IN (SELECT value FROM json_each(?1))
                       AND (c.lesson_id IN (SELECT value FROM json_each(?2)) OR NOT EXISTS (
                           SELECT 1 FROM occurrences other WHERE other.failure_no = o.failure_no
                           AND other.pattern_no NOT IN (SELECT value FROM json_each(?1)))))
                 ORDER BY at DESC, event_id DESC LIMIT ?3",
            )?;
            let group = self.group_of(pattern)?;
            let lessons = group.keys.iter().map(|(key, _)| ids::short(IdKind::Lesson, key.as_bytes()));
            let lessons = to_json(&lessons.collect::<Vec<_>>());
            statement.query_map(params![to_json(&group.members), lessons, ANNOTATIONS_MAX], |row| row.get(0))?.collect()
        };
        self.sql_result("read", read())
    }

    /// How often a pattern was seen since `since`, proven flakes left out: failures, distinct tasks.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn count_occurrences_since(&self, pattern: i64, since: Timestamp) -> Result<(u64, u64), StoreError> {
        let read = || {
            self.connection
                .prepare_cached(&format!(
                    "{GROUP} SELECT count(DISTINCT failure_no), count(DISTINCT task_no)
                     FROM members CROSS JOIN occurrences USING (pattern_no) WHERE at >= ?2 AND NOT flaky"
                ))?
                .query_row(params![pattern, since.rfc3339()], |row| Ok((row_unsigned(row, 0)?, row_unsigned(row, 1)?)))
        };
        self.sql_result("read", read())
    }

    /// The newest notes on fixes of a pattern: cause, approach, rule.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn pattern_note(&self, pattern: i64) -> Result<PatternNoteRow, StoreError> {
        let read = || -> rusqlite::Result<PatternNoteRow> {
            let mut statement = self.connection.prepare_cached(&format!(
                "{GROUP} SELECT cause, approach, rule FROM fix_notes WHERE event_id IN
                 (SELECT event_id FROM keys CROSS JOIN note_patterns USING (pattern_key))
                 AND NOT EXISTS (SELECT 1 FROM imported_events i WHERE i.event_id = fix_notes.event_id)
                 ORDER BY at DESC, event_id DESC"
            ))?;
            let mut rows = statement.query([pattern])?;
            let mut note = PatternNoteRow::default();
            // Text by text: a later note replaces only what it says itself.
            while (note.cause.is_none() || note.approach.is_none() || note.rule.is_none())
                && let Some(row) = rows.next()?
            {
                note.cause = note.cause.or(row.get(0)?);
                note.approach = note.approach.or(row.get(1)?);
                note.rule = note.rule.or(row.get(2)?);
            }
            Ok(note)
        };
        self.sql_result("read", read())
    }
}

/// What was said of a pattern's fixes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PatternNoteRow {
    /// Why it failed.
    pub cause: Option<String>,
    /// Approach that fixed it.
    pub approach: Option<String>,
    /// Rule that follows.
    pub rule: Option<String>,
}
