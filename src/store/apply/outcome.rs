//! The outcome of advice: the runs that follow it in its task say so.
//!
//! A function of what is in the index, rebuilt for the deliveries that an event may concern: in whichever order
//! events come, the last one finds the same.

mod entry;

use std::collections::BTreeSet;

use rusqlite::{Params, Transaction};

use crate::store::about;

/// Patterns that the delivery `d` is about: those that have its key now, and those merged with them.
const MEMBERS: &str = "
    SELECT pattern_no FROM known_patterns WHERE recorded_key = d.pattern_key
    UNION SELECT other.pattern_no FROM known_patterns k JOIN pattern_groups own USING (pattern_no)
    JOIN pattern_groups other ON other.leader_no = own.leader_no WHERE k.recorded_key = d.pattern_key";

/// Judges deliveries of a task that began before `at`: a run of it is known now.
pub(super) fn judge_deliveries_of_task(transaction: &Transaction<'_>, task: i64, at: &str) -> rusqlite::Result<()> {
    // Most tasks got no advice: that is one look-up.
    let advised = "SELECT 1 FROM deliveries WHERE task_no = ?1 LIMIT 1";
    if !transaction.prepare_cached(advised)?.exists([task])? {
        return Ok(());
    }
    judge_deliveries_where(transaction, "d.task_no = ?1 AND d.delivered_at < ?2", rusqlite::params![task, at])
}

/// Judges deliveries of the task of a run of which more is known now.
pub(super) fn judge_deliveries_of_run(transaction: &Transaction<'_>, run: &str) -> rusqlite::Result<()> {
    judge_deliveries_where(transaction, "d.task_no = (SELECT task_no FROM runs WHERE run_id = ?1)", [run])
}

/// Judges one delivery.
pub(super) fn judge_delivery(transaction: &Transaction<'_>, event: &str) -> rusqlite::Result<()> {
    judge_deliveries_where(transaction, "d.event_id = ?1", [event])
}

/// Judges all deliveries about an entry or one that is one with it: it was written, or merged.
pub(super) fn judge_deliveries_of_entry(transaction: &Transaction<'_>, entry: &str) -> rusqlite::Result<()> {
    judge_deliveries_where(
        transaction,
        "d.entry_id IN (
            SELECT m.entry_id FROM entries own
            JOIN entries m ON m.leader_id = own.leader_id AND m.event_id IS NOT NULL
            WHERE own.entry_id = ?1 AND own.event_id IS NOT NULL)",
        [entry],
    )
}

/// Judges all deliveries about a pattern or one that is counted with it: another check shows it, another key is its own,
/// its message reads otherwise, or it was merged or split.
pub(super) fn judge_deliveries_of_patterns(
    transaction: &Transaction<'_>,
    patterns: &BTreeSet<i64>,
) -> rusqlite::Result<()> {
    let mut entries = BTreeSet::new();
    for pattern in patterns {
        judge_deliveries_where(
            transaction,
            "d.pattern_key IN (
                SELECT recorded_key FROM known_patterns WHERE pattern_no = ?1
                UNION SELECT recorded_key FROM pattern_groups own JOIN pattern_groups other USING (leader_no)
                JOIN known_patterns k ON k.pattern_no = other.pattern_no WHERE own.pattern_no = ?1)",
            [pattern],
        )?;
        entries.extend(about::entries_about_pattern(transaction, *pattern)?);
    }
    for entry in entries {
        judge_deliveries_where(transaction, "d.entry_id = ?1", [entry])?;
    }
    Ok(())
}

fn judge_deliveries_where(
    transaction: &Transaction<'_>,
    which: &str,
    parameters: impl Params + Clone,
) -> rusqlite::Result<()> {
    entry::judge_entry_deliveries(transaction, which, parameters.clone())?;
    // What was asked about files or a command had its opportunity with them; otherwise a file of the pattern has to have
    // been changed.
    let sql = format!(
        "UPDATE deliveries AS d SET {} WHERE d.pattern_key IS NOT NULL AND {which}",
        judged_columns(MEMBERS, &opportunity_condition(MEMBERS))
    );
    if transaction.prepare_cached(&sql)?.execute(parameters.clone())? == 0 {
        return Ok(());
    }
    let concerned = format!(
        "pattern_no IN (SELECT pattern_no FROM deliveries d
                        JOIN known_patterns ON recorded_key = d.pattern_key WHERE {which})"
    );
    count_outcomes(transaction, &concerned, parameters)
}

/// What the runs after a delivery `d` say, when it is about the patterns `members` and had its `opportunity` in a run `r`
/// that passed.
fn judged_columns(members: &str, opportunity: &str) -> String {
    format!(
        "failed_in = (
            SELECT f.run_id FROM occurrences o JOIN failures f USING (failure_no)
            WHERE o.task_no = d.task_no AND o.at > d.delivered_at AND o.pattern_no IN ({members})
              AND NOT EXISTS (SELECT 1 FROM flakes k JOIN flake_patterns USING (event_id)
                              JOIN known_patterns n ON n.recorded_key = flake_patterns.pattern_key
                              WHERE k.fail_run = f.run_id AND k.proof = 'proven' AND n.pattern_no = o.pattern_no)
            ORDER BY o.at, f.run_id LIMIT 1),
        passed_in = (
            SELECT r.run_id FROM runs r
            WHERE r.task_no = d.task_no AND r.started_at > d.delivered_at AND r.passed AND r.own_status
              AND EXISTS (SELECT 1 FROM pattern_checks c WHERE c.pattern_no IN ({members})
                          AND c.class_key = r.class_key
                          AND (c.dir = r.dir AND c.selectors = r.selectors
                               OR r.selectors = '[]' AND r.dir IN ('\"\"', c.dir)))
              AND ({opportunity})
            ORDER BY r.started_at, r.run_id LIMIT 1)"
    )
}

/// It was asked about, or a file of it was changed.
fn opportunity_condition(members: &str) -> String {
    format!(
        "d.files <> '[]' OR d.command IS NOT NULL OR EXISTS (
            SELECT 1 FROM runs t JOIN snapshot_files s USING (run_id)
            WHERE t.task_no = d.task_no AND t.started_at > d.delivered_at AND s.path IN (
                SELECT file FROM occurrences WHERE pattern_no IN ({members})))"
    )
}

/// Counts each task once: if the mistake was made in any of its sessions, it was made.
fn count_outcomes(transaction: &Transaction<'_>, which: &str, parameters: impl Params) -> rusqlite::Result<()> {
    const TASKS: &str = "
        SELECT task_no, max(d.outcome = 'failed_anyway') AS failed FROM known_patterns k
        JOIN deliveries d ON d.pattern_key = k.recorded_key
        WHERE k.pattern_no = p.pattern_no AND d.arm = 'shown' AND d.outcome IS NOT NULL GROUP BY task_no";
    let sql = format!(
        "UPDATE patterns AS p SET
            prevented = (SELECT count(*) FROM ({TASKS}) WHERE NOT failed),
            failed_anyway = (SELECT count(*) FROM ({TASKS}) WHERE failed)
         WHERE {which}"
    );
    transaction.prepare_cached(&sql)?.execute(parameters)?;
    Ok(())
}
