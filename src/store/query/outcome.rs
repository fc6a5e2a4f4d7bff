//! The outcome of advice.

use rusqlite::{Row, params};

use super::pattern::GROUP;
use super::row_time;
use crate::base::clock::Timestamp;
use crate::event::DeliveryArm;
use crate::store::error::StoreError;
use crate::store::index::Index;

/// Deliveries that figures are made of, the newest.
const DELIVERIES_MAX: i64 = 200_000;

/// Advice that was due, and what the runs after it say so far.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DeliveryOutcomeRow {
    /// `w-…`
    pub warning: String,
    pub event: String,
    pub at: Timestamp,
    /// Task of the run.
    pub task: String,
    /// When the task was last heard of: its last run, or what was said of it.
    pub task_last_at: Timestamp,
    /// How the task ended, as announced (`completed`, `failed`, `abandoned`, or just over).
    pub task_done: Option<Option<String>>,
    /// Session of the worker.
    pub session: String,
    /// Agent, the kind of worker.
    pub agent: Option<String>,
    /// The pattern's key, of advice about a pattern.
    pub pattern: Option<String>,
    /// `k-…`, of advice from an entry, as that was called then.
    pub entry: Option<String>,
    /// Group that is held out together.
    pub family: String,
    /// Whether it was shown.
    pub arm: DeliveryArm,
    /// The share of tasks that was held out then.
    pub holdout: f64,
    /// The first run of the task after it that had the mistake.
    pub failed_in: Option<String>,
    /// Time of that run.
    pub failed_at: Option<Timestamp>,
    /// The first run after it that passed where the mistake would have been seen.
    pub passed_in: Option<String>,
    /// Time of that run.
    pub passed_at: Option<Timestamp>,
    /// A check of the task passed after it, whatever its scope.
    pub any_pass: bool,
}

/// What [`outcome_from_row`] reads of a delivery `d` and its task `t`.
pub(super) const DELIVERY_COLUMNS: &str = "
    d.warning_id, d.event_id, d.delivered_at, t.name, t.last_at,
    (SELECT json_array(outcome) FROM task_changes c WHERE c.name = t.name AND change = 'done'
     AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.task_no = t.task_no AND r.started_at > c.at)
     ORDER BY c.at DESC, c.event_id DESC LIMIT 1),
    d.session, d.agent, d.pattern_key, d.family_key, d.arm, d.holdout_share, d.failed_in,
    (SELECT started_at FROM runs WHERE run_id = d.failed_in), d.passed_in,
    (SELECT started_at FROM runs WHERE run_id = d.passed_in),
    EXISTS (SELECT 1 FROM runs r WHERE r.task_no = d.task_no AND r.started_at > d.delivered_at AND r.passed), d.entry_id";

impl Index {
    /// Advice about a pattern and those that are counted with it, the oldest first.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn deliveries_of_pattern(&self, pattern: i64) -> Result<Vec<DeliveryOutcomeRow>, StoreError> {
        let sql = format!(
            "{GROUP} SELECT {DELIVERY_COLUMNS} FROM keys CROSS JOIN deliveries d USING (pattern_key)
             JOIN tasks t USING (task_no) GROUP BY d.event_id ORDER BY d.delivered_at, d.event_id LIMIT ?2"
        );
        let read = || {
            let mut statement = self.connection.prepare_cached(&sql)?;
            statement.query_map(params![pattern, DELIVERIES_MAX], outcome_from_row)?.collect()
        };
        self.sql_result("read", read())
    }

    /// Advice from an entry and those that were merged with it, the oldest first.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn deliveries_of_entry(&self, leader: &str) -> Result<Vec<DeliveryOutcomeRow>, StoreError> {
        self.deliveries_of_entry_where(leader, "TRUE")
    }

    /// Those of which it is known what came: the mistake was made, or a check passed that would have shown it.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn judged_deliveries_of_entry(&self, leader: &str) -> Result<Vec<DeliveryOutcomeRow>, StoreError> {
        self.deliveries_of_entry_where(leader, "(d.failed_in IS NOT NULL OR d.passed_in IS NOT NULL)")
    }

    fn deliveries_of_entry_where(&self, leader: &str, condition: &str) -> Result<Vec<DeliveryOutcomeRow>, StoreError> {
        let sql = format!(
            "SELECT {DELIVERY_COLUMNS} FROM entries e CROSS JOIN deliveries d USING (entry_id)
             JOIN tasks t USING (task_no) WHERE e.leader_id = ?1 AND e.event_id IS NOT NULL AND {condition}
             ORDER BY d.delivered_at, d.event_id LIMIT ?2"
        );
        let read = || {
            let mut statement = self.connection.prepare_cached(&sql)?;
            statement.query_map(params![leader, DELIVERIES_MAX], outcome_from_row)?.collect()
        };
        self.sql_result("read", read())
    }

    /// Those of `families` whose mistakes were made at least `least` times after advice about them was due.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn families_that_recurred<'a>(
        &self,
        families: impl IntoIterator<Item = &'a str>,
        least: u64,
    ) -> Result<Vec<String>, StoreError> {
        self.names_that_recurred(
            "SELECT f.value FROM json_each(?1) f CROSS JOIN deliveries d
                 ON d.family_key = f.value AND d.failed_in IS NOT NULL
             GROUP BY f.value HAVING count(*) >= ?2",
            families.into_iter().collect(),
            least,
        )
    }

    /// The same of entries, with what was merged with them.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn entries_that_recurred<'a>(
        &self,
        leaders: impl IntoIterator<Item = &'a str>,
        least: u64,
    ) -> Result<Vec<String>, StoreError> {
        self.names_that_recurred(
            "SELECT e.leader_id FROM json_each(?1) f
             CROSS JOIN entries e ON e.leader_id = f.value AND e.event_id IS NOT NULL
             CROSS JOIN deliveries d ON d.entry_id = e.entry_id
             WHERE (d.failed_in IS NOT NULL OR d.passed_in IS NOT NULL) AND d.failed_in IS NOT NULL
             GROUP BY e.leader_id HAVING count(*) >= ?2",
            leaders.into_iter().collect(),
            least,
        )
    }

    fn names_that_recurred(&self, sql: &str, names: Vec<&str>, least: u64) -> Result<Vec<String>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(sql)?;
            let least = i64::try_from(least).unwrap_or(i64::MAX);
            statement.query_map(params![serde_json::json!(names).to_string(), least], |row| row.get(0))?.collect()
        };
        self.sql_result("read", read())
    }

    /// All advice about a family, the newest first.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn deliveries_of_family(&self, family: &str) -> Result<Vec<DeliveryOutcomeRow>, StoreError> {
        let sql = format!(
            "SELECT {DELIVERY_COLUMNS} FROM deliveries d JOIN tasks t USING (task_no) WHERE family_key = ?1
             ORDER BY d.delivered_at DESC, d.event_id LIMIT ?2"
        );
        let read = || {
            let mut statement = self.connection.prepare_cached(&sql)?;
            statement.query_map(params![family, DELIVERIES_MAX], outcome_from_row)?.collect()
        };
        self.sql_result("read", read())
    }

    /// All advice, the newest first.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn list_deliveries(&self) -> Result<Vec<DeliveryOutcomeRow>, StoreError> {
        let sql = format!(
            "SELECT {DELIVERY_COLUMNS} FROM deliveries d JOIN tasks t USING (task_no)
             ORDER BY d.delivered_at DESC, d.event_id LIMIT ?1"
        );
        let read = || {
            let mut statement = self.connection.prepare_cached(&sql)?;
            statement.query_map([DELIVERIES_MAX], outcome_from_row)?.collect()
        };
        self.sql_result("read", read())
    }
}

pub(super) fn outcome_from_row(row: &Row<'_>) -> rusqlite::Result<DeliveryOutcomeRow> {
    let moment = |column: usize| -> rusqlite::Result<Option<Timestamp>> {
        row.get::<_, Option<String>>(column)?.map(|_| row_time(row, column)).transpose()
    };
    let done: Option<String> = row.get(5)?;
    let done = done.and_then(|json| serde_json::from_str::<[Option<String>; 1]>(&json).ok()).map(|[outcome]| outcome);
    Ok(DeliveryOutcomeRow {
        warning: row.get(0)?,
        event: row.get(1)?,
        at: row_time(row, 2)?,
        task: row.get(3)?,
        task_last_at: row_time(row, 4)?,
        task_done: done,
        session: row.get(6)?,
        agent: row.get(7)?,
        pattern: row.get(8)?,
        family: row.get(9)?,
        arm: row.get(10)?,
        holdout: row.get(11)?,
        failed_in: row.get(12)?,
        failed_at: moment(13)?,
        passed_in: row.get(14)?,
        passed_at: moment(15)?,
        any_pass: row.get(16)?,
        entry: row.get(17)?,
    })
}
