//! Tasks: announcements, runs, and similar tasks.

use rusqlite::{OptionalExtension, Row, params};

use super::words::rarest_words_query;
use super::{row_time, row_unsigned};
use crate::base::clock::Timestamp;
use crate::event::TaskOutcome;
use crate::store::error::StoreError;
use crate::store::index::Index;

/// Files announced of one task.
const FILES_MAX: i64 = 500;
/// Parts of one task's signature.
const PARTS_MAX: i64 = 2_000;
/// Tasks found by one word list, one file, one folder or one tool.
const SIMILAR_MAX: i64 = 60;
/// Open tasks that may be over because of their branch, the newest.
const BRANCHES_MAX: i64 = 20;

/// A task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TaskDetails {
    /// Row number.
    pub number: i64,
    pub name: String,
    /// First run, or when it was announced.
    pub first_at: Timestamp,
    /// The last moment that anything is known of.
    pub last_at: Timestamp,
    /// What it is about, as it was said last.
    pub title: Option<String>,
    /// What kind of work, as it was said last.
    pub category: Option<String>,
    /// When it was said that it begins.
    pub started_at: Option<Timestamp>,
    /// When it was said last that it is over.
    pub done_at: Option<Timestamp>,
    /// How it went.
    pub outcome: Option<TaskOutcome>,
    /// Why it is over, unless its end was reported.
    pub why: Option<String>,
    /// Files that it was going to touch.
    pub files: Vec<String>,
    /// Tasks before it.
    pub depends_on: Vec<String>,
    /// Runs, passed or failed.
    pub runs: u64,
    /// Failed ones.
    pub failures: u64,
}

/// A task on a branch that isn't over yet as far as is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BranchTask {
    /// Its name, which is the branch's.
    pub name: String,
    /// The last moment that anything is known of.
    pub last_at: Timestamp,
    /// The commit of its first run, where it is known.
    pub first_commit: Option<String>,
}

impl Index {
    /// The task of this name.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn find_task(&self, name: &str) -> Result<Option<TaskDetails>, StoreError> {
        let read = || {
            let sql = "SELECT task_no, name, first_at, last_at,
                    (SELECT count(*) FROM runs r WHERE r.task_no = t.task_no),
                    (SELECT count(*) FROM runs r JOIN failures USING (run_id) WHERE r.task_no = t.task_no)
                FROM tasks t WHERE name = ?1";
            let row = self.connection.prepare_cached(sql)?.query_row([name], task_row).optional()?;
            row.map(|task| self.add_announcements(task)).transpose()
        };
        self.sql_result("read", read())
    }

    /// The tasks that something is known of last, the newest first.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn list_tasks(&self, limit: usize) -> Result<Vec<TaskDetails>, StoreError> {
        let read = || {
            let sql = "SELECT task_no, name, first_at, last_at,
                    (SELECT count(*) FROM runs r WHERE r.task_no = t.task_no),
                    (SELECT count(*) FROM runs r JOIN failures USING (run_id) WHERE r.task_no = t.task_no)
                FROM tasks t ORDER BY last_at DESC, name LIMIT ?1";
            let mut statement = self.connection.prepare_cached(sql)?;
            let rows = statement.query_map([i64::try_from(limit).unwrap_or(i64::MAX)], task_row)?;
            rows.map(|task| self.add_announcements(task?)).collect()
        };
        self.sql_result("read", read())
    }

    /// Adds what was said of it.
    fn add_announcements(&self, mut task: TaskDetails) -> rusqlite::Result<TaskDetails> {
        let mut statement = self.connection.prepare_cached(
            "SELECT event_id, at, change, title, category, depends_on, outcome, why FROM task_changes
             WHERE name = ?1 ORDER BY at, event_id",
        )?;
        let mut rows = statement.query([&task.name])?;
        while let Some(row) = rows.next()? {
            let at = row_time(row, 1)?;
            if row.get::<_, String>(2)? == "done" {
                (task.done_at, task.outcome, task.why) = (Some(at), row.get(6)?, row.get(7)?);
                continue;
            }
            task.started_at = Some(at);
            task.title = row.get::<_, Option<String>>(3)?.or(task.title);
            task.category = row.get::<_, Option<String>>(4)?.or(task.category);
            let before: Vec<String> = serde_json::from_str(&row.get::<_, String>(5)?).unwrap_or_default();
            task.depends_on.extend(before);
            let mut files = self
                .connection
                .prepare_cached("SELECT path FROM task_files WHERE event_id = ?1 ORDER BY path LIMIT ?2")?;
            let paths = files.query_map(params![row.get::<_, String>(0)?, FILES_MAX], |row| row.get(0))?;
            for path in paths {
                task.files.push(path?);
            }
        }
        task.files.sort();
        task.files.dedup();
        task.depends_on.sort();
        task.depends_on.dedup();
        Ok(task)
    }

    /// The tasks that were announced as this kind of work, the newest first.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn tasks_of_category(&self, category: &str) -> Result<Vec<i64>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT DISTINCT task_no FROM task_changes JOIN tasks USING (name)
                 WHERE change = 'started' AND category = ?1 COLLATE NOCASE ORDER BY last_at DESC, task_no LIMIT ?2",
            )?;
            statement.query_map(params![category, SIMILAR_MAX], |row| row.get(0))?.collect()
        };
        self.sql_result("read", read())
    }

    /// The patterns that failed in a task, each by the row number of the one that represents its group, the most
    /// frequent first.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn patterns_of_task(&self, task: i64) -> Result<Vec<i64>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT leader_no FROM (SELECT failure_no FROM failures JOIN runs USING (run_id) WHERE task_no = ?1
                                        ORDER BY failure_no DESC LIMIT ?2)
                 CROSS JOIN occurrences USING (failure_no) JOIN pattern_leaders USING (pattern_no)
                 GROUP BY leader_no ORDER BY count(*) DESC, leader_no LIMIT ?2",
            )?;
            statement.query_map(params![task, SIMILAR_MAX], |row| row.get(0))?.collect()
        };
        self.sql_result("read", read())
    }

    /// The task that a session was working on at a moment, as it was announced: begun last, not over, and not silent
    /// since before `awake`.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn current_task(
        &self,
        session: &str,
        at: Timestamp,
        awake: Timestamp,
    ) -> Result<Option<String>, StoreError> {
        let read = || {
            self.connection
                .prepare_cached(
                    "SELECT name FROM task_changes s JOIN tasks t USING (name)
                     WHERE change = 'started' AND session = ?1 AND at <= ?2 AND t.last_at >= ?3
                       AND NOT EXISTS (SELECT 1 FROM task_changes d WHERE d.name = s.name AND d.change = 'done'
                                       AND d.at >= s.at AND d.at <= ?2)
                     ORDER BY at DESC, event_id DESC LIMIT 1",
                )?
                .query_row(params![session, at.rfc3339(), awake.rfc3339()], |row| row.get(0))
                .optional()
        };
        self.sql_result("read", read())
    }

    /// Tasks named after the branch of their runs, with activity since `since`, whose end was not announced.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn branch_tasks(&self, since: Timestamp) -> Result<Vec<BranchTask>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT name, last_at, (SELECT commit_id FROM runs r WHERE r.task_no = t.task_no AND branch = name
                                        ORDER BY started_at, run_id LIMIT 1)
                 FROM tasks t WHERE last_at >= ?1
                   AND EXISTS (SELECT 1 FROM runs r WHERE r.task_no = t.task_no AND r.branch = t.name AND commit_id IS NOT NULL)
                   AND NOT EXISTS (SELECT 1 FROM task_changes d WHERE d.name = t.name AND d.change = 'done'
                                   AND d.at >= t.last_at)
                 ORDER BY last_at DESC, name LIMIT ?2",
            )?;
            let rows = statement.query_map(params![since.rfc3339(), BRANCHES_MAX], |row| {
                Ok(BranchTask { name: row.get(0)?, last_at: row_time(row, 1)?, first_commit: row.get(2)? })
            })?;
            rows.collect()
        };
        self.sql_result("read", read())
    }

    /// What a task is known by: pairs of `label`, `kind`, `after`, `tool`, `category` or `file` and its value.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn task_parts(&self, task: i64) -> Result<Vec<(String, String)>, StoreError> {
        let read = || {
            // The view has no order of its own; with one the parts that are cut off are always the same.
            let sql = "SELECT part, value FROM task_parts WHERE task_no = ?1 ORDER BY part, value LIMIT ?2";
            let mut statement = self.connection.prepare_cached(sql)?;
            let rows = statement.query_map([task, PARTS_MAX], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect()
        };
        self.sql_result("read", read())
    }

    /// What tasks are compared by: pairs of `tool` or `file` and its value, some more than once.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn task_profile(&self, task: i64) -> Result<Vec<(String, String)>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT 'tool', tool FROM runs WHERE task_no = ?1 AND tool IS NOT NULL
                 UNION ALL SELECT 'file', path FROM runs CROSS JOIN failures USING (run_id)
                     CROSS JOIN failure_files USING (failure_no) WHERE task_no = ?1
                 UNION ALL SELECT 'file', path FROM runs CROSS JOIN snapshot_files USING (run_id) WHERE task_no = ?1
                 UNION ALL SELECT 'file', path FROM tasks CROSS JOIN task_changes USING (name)
                     CROSS JOIN task_files USING (event_id) WHERE task_no = ?1 LIMIT ?2",
            )?;
            let rows = statement.query_map([task, PARTS_MAX], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect()
        };
        self.sql_result("read", read())
    }

    /// The files that the runs of a task changed or failed in, the newest runs first, at most `limit`.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn files_of_task(&self, task: i64, limit: usize) -> Result<Vec<String>, StoreError> {
        let read = || {
            let sql = "SELECT DISTINCT path FROM (
                    SELECT run_id FROM runs WHERE task_no = ?1 ORDER BY started_at DESC, run_id DESC LIMIT 20)
                JOIN snapshot_files USING (run_id) LIMIT ?2";
            let mut statement = self.connection.prepare_cached(sql)?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            statement.query_map([task, limit], |row| row.get(0))?.collect()
        };
        self.sql_result("read", read())
    }

    /// Tasks with one of these words in their name or title, the likeliest first, each with its BM25 score (higher is
    /// likelier). `words` are letters and digits only.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn tasks_with_words(&self, words: &[String]) -> Result<Vec<(i64, f64)>, StoreError> {
        if words.is_empty() {
            return Ok(Vec::new());
        }
        let read = || {
            let sql = "SELECT rowid, -bm25(task_words, 1.0, 3.0) FROM task_words WHERE task_words MATCH ?1
                ORDER BY bm25(task_words, 1.0, 3.0), rowid LIMIT ?2";
            let question = rarest_words_query(&self.connection, "task_words", words)?;
            let mut statement = self.connection.prepare_cached(sql)?;
            let rows = statement.query_map(params![question, SIMILAR_MAX], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect()
        };
        self.sql_result("read", read())
    }

    /// Tasks whose runs failed in or changed this file, or that announced it; the newest.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn tasks_with_file(&self, path: &str) -> Result<Vec<i64>, StoreError> {
        self.task_numbers(
            "SELECT DISTINCT task_no FROM (
                 SELECT task_no FROM (SELECT failure_no FROM failure_files WHERE path = ?1 ORDER BY failure_no DESC LIMIT ?2)
                 JOIN failures USING (failure_no) JOIN runs USING (run_id)
                 UNION SELECT task_no FROM (SELECT run_id FROM snapshot_files WHERE path = ?1 ORDER BY run_id DESC LIMIT ?2)
                 JOIN runs USING (run_id)
                 UNION SELECT task_no FROM task_files JOIN task_changes USING (event_id) JOIN tasks USING (name)
                 WHERE path = ?1) ORDER BY task_no DESC LIMIT ?2",
            path,
        )
    }

    /// Tasks whose runs failed in or changed a file of this folder, by path; the empty folder has none.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn tasks_with_folder(&self, folder: &str) -> Result<Vec<i64>, StoreError> {
        if folder.is_empty() {
            return Ok(Vec::new());
        }
        // `0` comes after `/`.
        self.task_numbers(
            "SELECT DISTINCT task_no FROM (
                 SELECT task_no FROM (SELECT failure_no FROM failure_files
                                      WHERE path >= ?1 || '/' AND path < ?1 || '0' LIMIT ?2)
                 JOIN failures USING (failure_no) JOIN runs USING (run_id)
                 UNION SELECT task_no FROM (SELECT run_id FROM snapshot_files
                                            WHERE path >= ?1 || '/' AND path < ?1 || '0' LIMIT ?2)
                 JOIN runs USING (run_id)) ORDER BY task_no DESC LIMIT ?2",
            folder,
        )
    }

    fn task_numbers(&self, sql: &str, parameter: &str) -> Result<Vec<i64>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(sql)?;
            statement.query_map(params![parameter, SIMILAR_MAX], |row| row.get(0))?.collect()
        };
        self.sql_result("read", read())
    }

    /// The name of a task by its row number.
    ///
    /// # Errors
    /// SQLite's; also when there is none.
    pub(crate) fn task_name(&self, task: i64) -> Result<String, StoreError> {
        let sql = "SELECT name FROM tasks WHERE task_no = ?1";
        self.sql_result(
            "read",
            self.connection.prepare_cached(sql).and_then(|mut find| find.query_row([task], |row| row.get(0))),
        )
    }
}

fn task_row(row: &Row<'_>) -> rusqlite::Result<TaskDetails> {
    Ok(TaskDetails {
        number: row.get(0)?,
        name: row.get(1)?,
        first_at: row_time(row, 2)?,
        last_at: row_time(row, 3)?,
        title: None,
        category: None,
        started_at: None,
        done_at: None,
        outcome: None,
        why: None,
        files: Vec::new(),
        depends_on: Vec::new(),
        runs: row_unsigned(row, 4)?,
        failures: row_unsigned(row, 5)?,
    })
}
