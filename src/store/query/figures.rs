//! The figures that show progress.

use rusqlite::params;
use serde::Serialize;

use super::row_unsigned;
use crate::base::clock::Timestamp;
use crate::store::error::StoreError;
use crate::store::index::Index;

/// What happened in a stretch of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct PeriodRow {
    /// Runs of checks.
    pub runs: u64,
    /// Those that failed.
    pub failed: u64,
    /// First runs of a check in a task.
    pub first_runs: u64,
    /// Those that passed.
    pub first_passed: u64,
    /// Failures that a change made go away.
    pub fixes: u64,
    /// Attempts that these took in all.
    pub attempts: u64,
}

/// Shares of all that was recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct TotalsRow {
    pub failures: u64,
    /// Those of a category other than `other`.
    pub categorised: u64,
    /// Tries of recovery strategies that count.
    pub tries: u64,
    /// Those that helped.
    pub helped: u64,
    /// Tasks in which a pattern came back that an earlier task had seen, and nothing had been said.
    pub missed: u64,
    /// Written entries, where duplicates count once, and gotchas that were learnt.
    pub entries: u64,
    /// Of these those that helped in another session than the one that wrote them, or in a further task.
    pub reused: u64,
    /// How often they did, once for each session.
    pub uses: u64,
}

/// Entries that helped, each with a session that didn't write it; what was learnt, with each further task that its fix
/// helped.
const REUSE: &str = "SELECT coalesce(leader_id, entry_id) AS entry, coalesce(u.session, u.task, '') FROM entry_uses u
    JOIN entries e USING (entry_id)
    WHERE how IN ('applied', 'validated', 'prevented') AND u.session IS NOT e.session
    UNION SELECT entry_id, 'task ' || task FROM (
        SELECT DISTINCT entry_id, a.task, first_value(a.task) OVER (PARTITION BY entry_id ORDER BY a.at, a.event_id) AS first
        FROM entries e JOIN strategies s ON s.error_pattern = e.pattern_key
        JOIN strategy_tries a USING (strategy_no) WHERE e.event_id IS NULL AND counts_as = 'success')
    WHERE task <> first";

impl Index {
    /// The times of the first and the last run; `None` before there is one.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn recorded_period(&self) -> Result<Option<(Timestamp, Timestamp)>, StoreError> {
        let read = || {
            self.connection.query_row("SELECT min(started_at), max(started_at) FROM runs", [], |row| {
                let at = |column| -> rusqlite::Result<Option<Timestamp>> {
                    Ok(row.get::<_, Option<String>>(column)?.and_then(|text| Timestamp::parse(&text)))
                };
                Ok(at(0)?.zip(at(1)?))
            })
        };
        self.sql_result("read", read())
    }

    /// What happened from `since` on and before `until`.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn figures_of_period(&self, since: Timestamp, until: Timestamp) -> Result<PeriodRow, StoreError> {
        let read = || {
            let between = params![since.rfc3339(), until.rfc3339()];
            let runs = "SELECT count(*), count(*) FILTER (WHERE NOT passed) FROM runs
                        WHERE check_kind IS NOT NULL AND started_at >= ?1 AND started_at < ?2";
            let (runs, failed) =
                self.connection.query_row(runs, between, |row| Ok((row_unsigned(row, 0)?, row_unsigned(row, 1)?)))?;
            // The earliest run of each check in each task: SQLite takes the bare column from the row of the minimum.
            let first = "SELECT count(*), count(*) FILTER (WHERE passed) FROM (
                            SELECT passed, min(started_at) AS at FROM runs WHERE check_kind IS NOT NULL
                            GROUP BY task_no, command_key)
                         WHERE at >= ?1 AND at < ?2";
            let (first_runs, first_passed) =
                self.connection.query_row(first, between, |row| Ok((row_unsigned(row, 0)?, row_unsigned(row, 1)?)))?;
            let fixes = "SELECT count(*), coalesce(sum(attempts), 0) FROM fix_states
                         WHERE state = 'success' AND resolved_at >= ?1 AND resolved_at < ?2";
            let (fixes, attempts) =
                self.connection.query_row(fixes, between, |row| Ok((row_unsigned(row, 0)?, row_unsigned(row, 1)?)))?;
            Ok(PeriodRow { runs, failed, first_runs, first_passed, fixes, attempts })
        };
        self.sql_result("read", read())
    }

    /// Shares of all that was recorded.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn total_figures(&self) -> Result<TotalsRow, StoreError> {
        let read = || {
            let sql = format!(
                "SELECT (SELECT count(*) FROM failures),
                        (SELECT count(*) FROM failures WHERE category <> 'other'),
                        (SELECT count(counts_as) FROM strategy_tries),
                        (SELECT count(*) FROM strategy_tries WHERE counts_as = 'success'),
                        (SELECT count(*) FROM (
                            SELECT o.task_no, o.pattern_no, min(o.at) AS at FROM occurrences o
                            GROUP BY o.task_no, o.pattern_no) o
                         JOIN patterns p USING (pattern_no)
                         WHERE p.first_seen < o.at
                           AND EXISTS (SELECT 1 FROM occurrences e
                                       WHERE e.pattern_no = o.pattern_no AND e.task_no <> o.task_no AND e.at < o.at)
                           AND NOT EXISTS (SELECT 1 FROM deliveries d
                                           WHERE d.task_no = o.task_no AND d.pattern_key = p.pattern_key
                                             AND d.delivered_at < o.at)
                           AND NOT EXISTS (SELECT 1 FROM deliveries d
                                           JOIN entries own ON own.entry_id = d.entry_id
                                             AND own.event_id IS NOT NULL
                                           JOIN entries e ON e.leader_id = own.leader_id
                                             AND e.event_id IS NOT NULL
                                           JOIN knowledge_labels l ON l.entry_no = e.entry_no AND l.kind = 'source'
                                           WHERE d.task_no = o.task_no AND l.value IN (p.pattern_id, p.family_key)
                                             AND d.delivered_at < o.at)),
                        (SELECT count(*) FROM entries WHERE event_id IS NULL OR leader_id = entry_id),
                        (SELECT count(DISTINCT entry) FROM ({REUSE})), (SELECT count(*) FROM ({REUSE}))"
            );
            self.connection.query_row(&sql, [], |row| {
                Ok(TotalsRow {
                    failures: row_unsigned(row, 0)?,
                    categorised: row_unsigned(row, 1)?,
                    tries: row_unsigned(row, 2)?,
                    helped: row_unsigned(row, 3)?,
                    missed: row_unsigned(row, 4)?,
                    entries: row_unsigned(row, 5)?,
                    reused: row_unsigned(row, 6)?,
                    uses: row_unsigned(row, 7)?,
                })
            })
        };
        self.sql_result("read", read())
    }
}
