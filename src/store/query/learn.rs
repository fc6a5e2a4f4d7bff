//! Jobs of the learning pipeline and pages of the pattern library.

use std::collections::BTreeSet;

use rusqlite::{Params, params};
use serde::de::DeserializeOwned;

use super::{ambiguous_id, row_time};
use crate::base::clock::Timestamp;
use crate::base::lossless::Lossless;
use crate::config::StateDir;
use crate::event::{JobState, LearnNote, LibraryNote};
use crate::store::error::StoreError;
use crate::store::index::Index;
use crate::store::to_json;
use crate::store::writer::own_writer;

/// Steps that are read of one job, the oldest first.
const STEPS_MAX: i64 = 2_000;
/// Steps that are read of all pages: a page has about five.
const PAGE_STEPS_MAX: i64 = 50_000;

/// When, who, whether it is this store's own, and the step.
type StepRow<N> = (Timestamp, String, bool, N);

/// A step of a job with its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LearnStepRow {
    /// When it was recorded.
    pub at: Timestamp,
    /// Who recorded it, as the event says.
    pub writer: String,
    /// This store recorded it itself. What was imported is not its own, whatever writer it names.
    pub is_own: bool,
    /// The step.
    pub note: LearnNote,
}

/// A step of a page with its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LibraryStepRow {
    /// When it was recorded.
    pub at: Timestamp,
    /// Who recorded it, as the event says.
    pub writer: String,
    /// As [`LearnStepRow::is_own`].
    pub is_own: bool,
    /// The step.
    pub note: LibraryNote,
}

/// A job with its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JobRow {
    /// `j-…`
    pub id: String,
    /// Where it is.
    pub state: JobState,
    /// When it was harvested.
    pub first_at: Timestamp,
    /// When it got there.
    pub at: Timestamp,
}

/// A task that a page was due in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PageDeliveryRow {
    /// The task.
    pub task: String,
    /// It was shown there, not held out.
    pub is_shown: bool,
    /// The last time.
    pub at: Timestamp,
}

/// A job about a change of a shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShapeJobRow {
    /// `j-…`
    pub job: String,
    /// `a-…` of the page that it wrote or proves.
    pub artifact: Option<String>,
}

impl Index {
    /// Jobs in any of these states (all without), the last changed first.
    ///
    /// # Errors
    /// SQLite's, and a state that this version does not know.
    pub(crate) fn list_jobs(&self, states: &[JobState], limit: usize) -> Result<Vec<JobRow>, StoreError> {
        let wanted: Vec<&str> = states.iter().map(|state| state.as_str()).collect();
        let wanted = serde_json::to_string(&wanted).unwrap_or_default();
        let read = || -> rusqlite::Result<Vec<JobRow>> {
            let condition = match states {
                [] => "?1 = '[]'",
                _ => "state IN (SELECT value FROM json_each(?1))",
            };
            let mut statement = self.connection.prepare_cached(&format!(
                "SELECT job_id, state, first_at, at FROM learn_jobs WHERE {condition} ORDER BY at DESC, job_id LIMIT ?2"
            ))?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let row = |row: &rusqlite::Row<'_>| {
                Ok(JobRow { id: row.get(0)?, state: row.get(1)?, first_at: row_time(row, 2)?, at: row_time(row, 3)? })
            };
            statement.query_map(params![wanted, limit], row)?.collect()
        };
        self.sql_result("read", read())
    }

    /// The ids of the queued jobs of a work tree that were queued since a moment, in their order: recurring failures first,
    /// then new families, then the oldest. A change that has a page waits behind the others. At most `limit`.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn queued_jobs(
        &self,
        root: &Lossless,
        since: Timestamp,
        limit: usize,
    ) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT job_id FROM learn_jobs WHERE state = 'queued' AND root = ?1 AND at >= ?2
            ORDER BY is_known, tasks DESC, is_new_family DESC, first_at, job_id LIMIT ?3";
        self.job_ids(sql, root, since, limit)
    }

    /// The ids of the jobs of a work tree that were queued before a moment, and still are.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn jobs_queued_before(&self, root: &Lossless, before: Timestamp) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT job_id FROM learn_jobs WHERE state = 'queued' AND at < ?2 AND root = ?1 ORDER BY at, job_id LIMIT ?3";
        self.job_ids(sql, root, before, usize::MAX)
    }

    fn job_ids(&self, sql: &str, root: &Lossless, at: Timestamp, limit: usize) -> Result<Vec<String>, StoreError> {
        let read = || -> rusqlite::Result<Vec<String>> {
            let mut statement = self.connection.prepare_cached(sql)?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            statement.query_map(params![to_json(root), at.rfc3339(), limit], |row| row.get(0))?.collect()
        };
        self.sql_result("read", read())
    }

    /// Whether any job or page is recorded.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn has_library_steps(&self) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM learn_steps UNION ALL SELECT 1 FROM library_steps LIMIT 1";
        let find = || self.connection.prepare_cached(sql)?.exists([]);
        self.sql_result("read", find())
    }

    /// The id of the job that starts with `prefix`.
    ///
    /// # Errors
    /// [`StoreError::NoSuchId`], [`StoreError::Ambiguous`], SQLite's.
    pub(crate) fn find_job(&self, prefix: &str) -> Result<String, StoreError> {
        self.find_learnt(
            "SELECT DISTINCT job_id FROM learn_steps WHERE substr(job_id, 1, length(?1)) = ?1",
            "j-",
            prefix,
        )
    }

    /// The id of the page that starts with `prefix`.
    ///
    /// # Errors
    /// As [`Index::find_job`].
    pub(crate) fn find_artifact(&self, prefix: &str) -> Result<String, StoreError> {
        let sql = "SELECT DISTINCT artifact_id FROM library_steps WHERE substr(artifact_id, 1, length(?1)) = ?1";
        self.find_learnt(sql, "a-", prefix)
    }

    fn find_learnt(&self, sql: &str, kind: &str, prefix: &str) -> Result<String, StoreError> {
        let no_such_id = || StoreError::NoSuchId { id: prefix.to_owned() };
        if !prefix.starts_with(kind) || prefix.len() <= kind.len() {
            return Err(no_such_id());
        }
        let read = || -> rusqlite::Result<Vec<String>> {
            self.connection.prepare_cached(&format!("{sql} LIMIT 10"))?.query_map([prefix], |row| row.get(0))?.collect()
        };
        let mut found = self.sql_result("read", read())?;
        match found.len() {
            0 | 1 => found.pop().ok_or_else(no_such_id),
            count => Err(ambiguous_id(prefix, count, found.iter().map(String::as_str))),
        }
    }

    /// The steps of a job, the oldest first.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn job_steps(&self, job: &str) -> Result<Vec<LearnStepRow>, StoreError> {
        self.read_learn_steps("job_id = ?1", job)
    }

    /// The jobs about a fix.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn jobs_of_fix(&self, fix: &str) -> Result<Vec<LearnStepRow>, StoreError> {
        self.read_learn_steps("fix_id = ?1", fix)
    }

    /// Jobs about changes with one of these shapes, each with the page that it wrote or proves.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn jobs_of_shapes(&self, shapes: &[String]) -> Result<Vec<ShapeJobRow>, StoreError> {
        let wanted = serde_json::to_string(shapes).unwrap_or_default();
        let read = || -> rusqlite::Result<Vec<ShapeJobRow>> {
            let mut statement = self.connection.prepare_cached(
                "SELECT DISTINCT job_id, (SELECT artifact_id FROM learn_steps s
                     WHERE s.job_id = learn_shapes.job_id AND artifact_id IS NOT NULL LIMIT 1)
                 FROM learn_shapes WHERE shape_key IN (SELECT value FROM json_each(?1)) ORDER BY job_id LIMIT ?2",
            )?;
            let row = |row: &rusqlite::Row<'_>| Ok(ShapeJobRow { job: row.get(0)?, artifact: row.get(1)? });
            statement.query_map(params![wanted, STEPS_MAX], row)?.collect()
        };
        self.sql_result("read", read())
    }

    /// The steps of jobs that wrote or prove a page.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn proofs_of_artifact(&self, artifact: &str) -> Result<Vec<LearnStepRow>, StoreError> {
        self.read_learn_steps("artifact_id = ?1", artifact)
    }

    /// The fixes that a job of this store proved, by id. What others claim to have proven is not among them.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn proven_fixes(&self) -> Result<BTreeSet<String>, StoreError> {
        let sql = format!(
            "SELECT harvested.fix_id FROM learn_steps judged JOIN learn_steps harvested USING (job_id)
             WHERE judged.step = 'judged' AND judged.body ->> 'evidence' = 'proven' AND harvested.fix_id IS NOT NULL
                 AND {} AND {}",
            is_own_step("judged", "?1"),
            is_own_step("harvested", "?1")
        );
        let read = || -> rusqlite::Result<BTreeSet<String>> {
            self.connection.prepare_cached(&sql)?.query_map([self.own_name()], |row| row.get(0))?.collect()
        };
        self.sql_result("read", read())
    }

    /// Whether a job of this store proved a fix in which a strategy worked.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn is_strategy_proven(&self, strategy: i64) -> Result<bool, StoreError> {
        // Of thousands of jobs about one fix few are proven: whose harvest it is, is asked of these alone.
        let sql = format!(
            "SELECT EXISTS (SELECT 1 FROM strategy_tries
                JOIN fix_attempts USING (event_id)
                CROSS JOIN learn_steps harvested USING (fix_id)
                CROSS JOIN learn_steps judged ON judged.job_id = harvested.job_id AND judged.step = 'judged'
            WHERE strategy_no = ?1 AND counts_as = 'success' AND judged.body ->> 'evidence' = 'proven'
                AND {} AND CASE WHEN judged.event_id <> '' THEN {} END)",
            is_own_step("judged", "?2"),
            is_own_step("harvested", "?2")
        );
        let read =
            || self.connection.prepare_cached(&sql)?.query_row(params![strategy, self.own_name()], |row| row.get(0));
        self.sql_result("read", read())
    }

    /// Tasks that are over because their branch was merged and that left fixes, but no job; the last ended first.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn merged_tasks_without_jobs(&self, limit: usize) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT name FROM task_changes WHERE change = 'done' AND why = 'its branch was merged'
                AND EXISTS (SELECT 1 FROM fix_attempts WHERE fix_attempts.task = task_changes.name)
                AND NOT EXISTS (SELECT 1 FROM learn_steps WHERE learn_steps.task = task_changes.name)
            GROUP BY name ORDER BY max(at) DESC, name LIMIT ?1";
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let read = || -> rusqlite::Result<Vec<String>> {
            self.connection.prepare_cached(sql)?.query_map([limit], |row| row.get(0))?.collect()
        };
        self.sql_result("read", read())
    }

    /// Tasks in which a change of one of these shapes was made and its failure was back afterwards.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn tasks_where_shapes_failed(&self, shapes: &[String]) -> Result<Vec<String>, StoreError> {
        self.tasks_that_tried(shapes, "discounted = 'recurred'")
    }

    /// Tasks in which a change of one of these shapes made its failure go away.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn tasks_where_shapes_helped(&self, shapes: &[String]) -> Result<Vec<String>, StoreError> {
        self.tasks_that_tried(shapes, "counts_as = 'success'")
    }

    fn tasks_that_tried(&self, shapes: &[String], condition: &str) -> Result<Vec<String>, StoreError> {
        let wanted = serde_json::to_string(shapes).unwrap_or_default();
        let sql = format!(
            "SELECT DISTINCT task FROM strategy_tries JOIN strategies USING (strategy_no)
             WHERE technique = 'shape' AND recipe_key IN (SELECT value FROM json_each(?1)) AND {condition}
             ORDER BY task"
        );
        let read = || -> rusqlite::Result<Vec<String>> {
            self.connection.prepare_cached(&sql)?.query_map([wanted], |row| row.get(0))?.collect()
        };
        self.sql_result("read", read())
    }

    /// Tasks that a page was shown in, and those that it was held out from, each with the last time.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn page_deliveries(&self, artifact: &str) -> Result<Vec<PageDeliveryRow>, StoreError> {
        let sql = "SELECT name, max(arm = 'shown'), max(delivered_at) FROM deliveries JOIN tasks USING (task_no)
            WHERE entry_id = ?1 AND arm IN ('shown', 'holdout') GROUP BY name ORDER BY name";
        let row = |row: &rusqlite::Row<'_>| {
            Ok(PageDeliveryRow { task: row.get(0)?, is_shown: row.get(1)?, at: row_time(row, 2)? })
        };
        let read = || -> rusqlite::Result<Vec<PageDeliveryRow>> {
            self.connection.prepare_cached(sql)?.query_map([artifact], row)?.collect()
        };
        self.sql_result("read", read())
    }

    fn read_learn_steps(&self, condition: &str, key: &str) -> Result<Vec<LearnStepRow>, StoreError> {
        let is_own = is_own_step("learn_steps", "?3");
        let sql = format!(
            "SELECT at, writer, {is_own}, body FROM learn_steps WHERE {condition} ORDER BY at, event_id LIMIT ?2"
        );
        let rows = self.read_steps(&sql, params![key, STEPS_MAX, self.own_name()])?;
        Ok(rows.into_iter().map(|(at, writer, is_own, note)| LearnStepRow { at, writer, is_own, note }).collect())
    }

    /// The steps of all pages, the oldest first: at most [`PAGE_STEPS_MAX`], those recorded here before those of others,
    /// and the newest of them.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn library_steps(&self) -> Result<Vec<LibraryStepRow>, StoreError> {
        let is_own = is_own_step("library_steps", "?2");
        let sql = format!(
            "SELECT at, writer, is_own, body FROM (
                 SELECT at, writer, {is_own} AS is_own, body, event_id FROM library_steps
                 ORDER BY is_own DESC, at DESC, event_id DESC LIMIT ?1)
             ORDER BY at, event_id"
        );
        let rows = self.read_steps(&sql, params![PAGE_STEPS_MAX, self.own_name()])?;
        Ok(rows.into_iter().map(|(at, writer, is_own, note)| LibraryStepRow { at, writer, is_own, note }).collect())
    }

    fn read_steps<N: DeserializeOwned>(&self, sql: &str, of: impl Params) -> Result<Vec<StepRow<N>>, StoreError> {
        let row = |row: &rusqlite::Row<'_>| {
            let body: String = row.get(3)?;
            let (at, writer, is_own) = (row_time(row, 0)?, row.get(1)?, row.get(2)?);
            // What cannot be read was written by a newer version.
            Ok(serde_json::from_str(&body).ok().map(|note| (at, writer, is_own, note)))
        };
        let read = || -> rusqlite::Result<Vec<Option<StepRow<N>>>> {
            self.connection.prepare_cached(sql)?.query_map(of, row)?.collect()
        };
        Ok(self.sql_result("read", read())?.into_iter().flatten().collect())
    }

    /// The writer of this store, as a parameter; empty where nothing was recorded yet, or elsewhere.
    pub(in crate::store::query) fn own_name(&self) -> String {
        self.path.parent().and_then(|dir| own_writer(&StateDir::from(dir.to_path_buf()))).unwrap_or_default()
    }
}

/// Whether a step is in a segment of the writer in this parameter: the segments of an import have other names, whatever
/// writer its events name.
pub(in crate::store::query) fn is_own_step(table: &str, parameter: &str) -> String {
    format!(
        "EXISTS (SELECT 1 FROM events JOIN segments USING (segment_no) WHERE events.event_id = {table}.event_id
             AND {parameter} <> '' AND substr(segments.name, 1, length({parameter}) + 1) = {parameter} || '-')"
    )
}
