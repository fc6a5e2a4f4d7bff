//! Questions about the phases of tasks.

use rusqlite::{OptionalExtension, params};

use crate::base::clock::Timestamp;
use crate::base::ids::RunId;
use crate::base::lossless::Lossless;
use crate::event::{Run, WorkPhase};
use crate::store::error::StoreError;
use crate::store::index::Index;
use crate::store::segment::SegmentFolder;
use crate::store::to_json;

/// Runs of a phase that are read, the newest.
const RUNS_MAX: i64 = 500;

/// The phase of a task in a work tree.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TaskPhase<'a> {
    /// The work tree.
    pub root: &'a Lossless,
    /// The task's name.
    pub task: &'a str,
    /// The phase.
    pub phase: WorkPhase,
}

impl Index {
    /// The phase that was announced last for a task in a work tree, by this moment.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn announced_phase(
        &self,
        root: &Lossless,
        task: &str,
        at: Timestamp,
    ) -> Result<Option<WorkPhase>, StoreError> {
        let sql = "SELECT phase FROM phase_notes n WHERE work_tree = ?1 AND task = ?2 AND step <> 'reset' AND at <= ?3
                AND NOT EXISTS (SELECT 1 FROM imported_events i WHERE i.event_id = n.event_id)
            ORDER BY at DESC, event_id DESC LIMIT 1";
        let find = || {
            let mut statement = self.connection.prepare_cached(sql)?;
            statement
                .query_row(params![to_json(root), task, at.rfc3339()], |row| row.get::<_, Option<WorkPhase>>(0))
                .optional()
        };
        self.sql_result("read", find()).map(Option::flatten)
    }

    /// The runs of a phase since a person reset its circuit breaker, the oldest first, at most the newest 500. Imported
    /// ones are another machine's.
    ///
    /// # Errors
    /// SQLite's and I/O.
    pub(crate) fn phase_runs(
        &self,
        segments: &SegmentFolder,
        wanted: TaskPhase<'_>,
    ) -> Result<Vec<(RunId, Run)>, StoreError> {
        let sql = "SELECT run_id FROM runs JOIN tasks USING (task_no)
            WHERE tasks.name = ?1 AND root = ?2 AND phase = ?3
                AND NOT EXISTS (SELECT 1 FROM imported_events i WHERE i.event_id = run_id)
                AND ended_at > coalesce((SELECT max(at) FROM phase_notes n
                    WHERE n.work_tree = ?2 AND n.task = ?1 AND n.step = 'reset' AND n.phase = ?3
                        AND NOT EXISTS (SELECT 1 FROM imported_events i WHERE i.event_id = n.event_id)), '')
            ORDER BY started_at DESC, run_id DESC LIMIT ?4";
        let find = || -> rusqlite::Result<Vec<String>> {
            let mut statement = self.connection.prepare_cached(sql)?;
            let values = params![wanted.task, to_json(wanted.root), wanted.phase.as_str(), RUNS_MAX];
            statement.query_map(values, |row| row.get(0))?.collect()
        };
        let mut runs = Vec::new();
        for id in self.sql_result("read", find())?.into_iter().rev() {
            if let (Ok(parsed), Some(run)) = (id.parse(), self.read_run(segments, &id)?) {
                runs.push((RunId(parsed), run));
            }
        }
        Ok(runs)
    }
}
