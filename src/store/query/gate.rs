//! Steps of the quality gate.

use rusqlite::params;

use super::row_time;
use crate::base::clock::Timestamp;
use crate::base::lossless::Lossless;
use crate::event::GateNote;
use crate::store::error::StoreError;
use crate::store::index::Index;
use crate::store::to_json;

/// Steps that are read of a work tree, the newest.
const STEPS_MAX: i64 = 2_000;

/// A step of the quality gate with its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GateStepRow {
    /// When it was recorded.
    pub at: Timestamp,
    /// The step.
    pub note: GateNote,
}

/// A test that failed in a recorded run. Of tests that failed in the same way a run names the first one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FailedTestRow {
    /// The file of the failure, relative to the root where it is below it.
    pub file: Option<String>,
    /// The test, as its runner names it.
    pub test: Option<String>,
    /// Others failed in the same way: the event of the run names them.
    pub has_others: bool,
    /// The run.
    pub run: String,
}

/// Who ran checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WorkerRow {
    /// The language model, where the run named it.
    pub model: Option<String>,
    /// The session.
    pub session: Option<String>,
}

impl Index {
    /// The steps in a work tree, the oldest first, at most the newest 2,000. Imported ones are another machine's, though
    /// its work tree may have the same path.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn gate_steps(&self, work_tree: &Lossless) -> Result<Vec<GateStepRow>, StoreError> {
        self.read_gate_steps(
            "SELECT at, body FROM gate_steps g WHERE work_tree = ?1
                 AND NOT EXISTS (SELECT 1 FROM imported_events i WHERE i.event_id = g.event_id)
             ORDER BY at DESC, event_id DESC LIMIT ?2",
            params![to_json(work_tree), STEPS_MAX],
        )
    }

    /// The evaluations whose id begins with `prefix`, at most 2,000.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn gate_evaluations(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        let read = || -> rusqlite::Result<Vec<String>> {
            let mut statement = self.connection.prepare_cached(
                "SELECT DISTINCT evaluation FROM gate_steps WHERE substr(evaluation, 1, length(?1)) = ?1
                 ORDER BY evaluation LIMIT ?2",
            )?;
            statement.query_map(params![prefix, STEPS_MAX], |row| row.get(0))?.collect()
        };
        self.sql_result("read", read())
    }

    /// The steps in the work tree of an evaluation until the last one about it, the oldest first, at most the newest
    /// 2,000: imported ones if it is imported, else recorded ones.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn gate_steps_until(&self, evaluation: &str) -> Result<Vec<GateStepRow>, StoreError> {
        self.read_gate_steps(
            "SELECT g.at, g.body FROM gate_steps g JOIN (
                 SELECT o.work_tree, max(o.at) AS at, max(i.event_id IS NOT NULL) AS is_imported
                 FROM gate_steps o LEFT JOIN imported_events i USING (event_id) WHERE o.evaluation = ?1
             ) e ON g.work_tree = e.work_tree AND g.at <= e.at
             WHERE EXISTS (SELECT 1 FROM imported_events i WHERE i.event_id = g.event_id) = e.is_imported
             ORDER BY g.at DESC, g.event_id DESC LIMIT ?2",
            params![evaluation, STEPS_MAX],
        )
    }

    /// Whether anything of the quality gate is recorded.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn has_gate_steps(&self) -> Result<bool, StoreError> {
        let find = || self.connection.prepare_cached("SELECT 1 FROM gate_steps LIMIT 1")?.exists([]);
        self.sql_result("read", find())
    }

    /// Whether every step of an evaluation was recorded here by this writer.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn is_own_evaluation(&self, evaluation: &str, writer: &str) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM gate_steps g WHERE evaluation = ?1 AND NOT EXISTS (
            SELECT 1 FROM events e JOIN segments USING (segment_no)
            WHERE e.event_id = g.event_id AND substr(name, 1, length(?2) + 1) = ?2 || '-')";
        let find = || self.connection.prepare_cached(sql)?.exists([evaluation, writer]);
        self.sql_result("read", find()).map(|has_foreign| !has_foreign)
    }

    /// Tests that failed in a task's recorded runs, the newest first, at most 1,000.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn failed_tests(&self, task: &str) -> Result<Vec<FailedTestRow>, StoreError> {
        let read = || -> rusqlite::Result<Vec<FailedTestRow>> {
            let mut statement = self.connection.prepare_cached(
                "SELECT o.file, o.test, o.item_count > 1, f.run_id FROM occurrences o JOIN tasks t USING (task_no)
                 JOIN failures f USING (failure_no) WHERE t.name = ?1 AND (o.test IS NOT NULL OR o.file IS NOT NULL) ORDER BY o.at DESC LIMIT 1000",
            )?;
            let row = |row: &rusqlite::Row<'_>| {
                Ok(FailedTestRow { file: row.get(0)?, test: row.get(1)?, has_others: row.get(2)?, run: row.get(3)? })
            };
            statement.query_map([task], row)?.collect()
        };
        self.sql_result("read", read())
    }

    /// Who ran checks in a task and a work tree, each once; runs of the gate itself are left out.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn workers_of_task(&self, task: &str, work_tree: &Lossless) -> Result<Vec<WorkerRow>, StoreError> {
        let read = || -> rusqlite::Result<Vec<WorkerRow>> {
            let mut statement = self.connection.prepare_cached(
                "SELECT DISTINCT r.model, r.session FROM tasks t JOIN runs r USING (task_no)
                 WHERE t.name = ?1 AND r.root = ?2 AND r.agent IS NOT 'gate' LIMIT 1000",
            )?;
            let row = |row: &rusqlite::Row<'_>| Ok(WorkerRow { model: row.get(0)?, session: row.get(1)? });
            statement.query_map([task, &to_json(work_tree)], row)?.collect()
        };
        self.sql_result("read", read())
    }

    /// Runs a query for `at` and `body`, the newest first; the rows come the oldest first.
    fn read_gate_steps(&self, sql: &str, keys: impl rusqlite::Params) -> Result<Vec<GateStepRow>, StoreError> {
        let read = || -> rusqlite::Result<Vec<(Timestamp, String)>> {
            let mut statement = self.connection.prepare_cached(sql)?;
            statement.query_map(keys, |row| Ok((row_time(row, 0)?, row.get(1)?)))?.collect()
        };
        let rows = self.sql_result("read", read())?;
        // What cannot be read was written by a newer version, and has an event of its own.
        let parse = |(at, body): (Timestamp, String)| Some(GateStepRow { at, note: serde_json::from_str(&body).ok()? });
        Ok(rows.into_iter().rev().filter_map(parse).collect())
    }
}
