//! Sums of patterns: failures by day, and what each group has in all.

use std::collections::BTreeSet;

use rusqlite::{Transaction, params};

use super::run::RunCell;
use super::{day_of, name_number};
use crate::store::to_json;

/// What a failure that is being recorded changes of patterns. It is counted at the end: until then the rows that are
/// counted are incomplete.
#[derive(Debug, Default)]
pub(in crate::store::apply) struct PatternChanges {
    /// The patterns in it.
    pub seen: Vec<SeenPattern>,
    /// Patterns whose group or leader is another one now.
    pub regrouped: BTreeSet<i64>,
    /// Patterns that have another key now: a flake may name it.
    pub rekeyed: BTreeSet<i64>,
}

/// A pattern in a failure that is being recorded.
#[derive(Debug, Clone, Copy)]
pub(in crate::store::apply) struct SeenPattern {
    /// Its row number.
    pub pattern: i64,
    /// It was never seen before.
    pub is_new: bool,
    /// It was not seen earlier than now.
    pub is_first: bool,
    /// Others are counted with it.
    pub is_grouped: bool,
}

/// A pattern that represents its group, in one failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LeaderInFailure {
    leader: i64,
    /// At least one of the group is no proven flake there.
    counts: bool,
}

/// Where a failure is counted.
pub(in crate::store::apply) struct FailureCell {
    pub run: RunCell,
    pub category: i64,
}

impl FailureCell {
    pub(super) fn of_failure(transaction: &Transaction<'_>, failure_no: i64) -> rusqlite::Result<Self> {
        let (run_no, category): (i64, String) = transaction
            .prepare_cached("SELECT run_no, category FROM failures JOIN runs USING (run_id) WHERE failure_no = ?1")?
            .query_row([failure_no], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(FailureCell { run: RunCell::of_run(transaction, run_no)?, category: name_number(transaction, &category)? })
    }
}

/// The groups that have a pattern in a failure, by its row number.
pub(super) fn leaders_of_failure(
    transaction: &Transaction<'_>,
    failure_no: i64,
) -> rusqlite::Result<Vec<LeaderInFailure>> {
    transaction
        .prepare_cached(
            "SELECT leader_no, max(NOT flaky) FROM occurrences JOIN pattern_leaders USING (pattern_no)
             WHERE failure_no = ?1 GROUP BY leader_no",
        )?
        .query_map([failure_no], |row| Ok(LeaderInFailure { leader: row.get(0)?, counts: row.get(1)? }))?
        .collect()
}

/// Counts a failure that is being recorded, by its row number, for its patterns; those of which more has changed are
/// counted again.
pub(in crate::store::apply) fn add_failure_to_patterns(
    transaction: &Transaction<'_>,
    failure_no: i64,
    cell: &FailureCell,
    changes: &PatternChanges,
    has_flakes: bool,
) -> rusqlite::Result<()> {
    let recounted = recount_patterns(transaction, &changes.regrouped)?;
    let is_simple = !has_flakes && changes.seen.iter().all(|seen| !seen.is_grouped);
    if !is_simple {
        for LeaderInFailure { leader, counts } in leaders_of_failure(transaction, failure_no)? {
            if !recounted.contains(&leader) {
                let is_further = counts && is_only_failure_of_task(transaction, leader, failure_no, cell.run.task)?;
                count_leader(transaction, leader, cell, counts, is_further)?;
            }
        }
    }
    for seen in &changes.seen {
        // Most failures come this way: each pattern is its own group.
        let is_further = seen.is_new || !is_seen_in_task(transaction, seen.pattern, failure_no, cell.run.task)?;
        if !seen.is_new && (is_further || seen.is_first) {
            mark_comeback(transaction, seen, cell.run.task)?;
        }
        if is_simple && !recounted.contains(&seen.pattern) {
            count_leader(transaction, seen.pattern, cell, true, is_further)?;
        }
    }
    // A fix may have been recorded before the pattern, or with a key that is known for it only now.
    let new = changes.seen.iter().filter(|seen| seen.is_new).map(|seen| seen.pattern);
    for pattern in new.chain(changes.rekeyed.iter().copied()) {
        recount_fixes_of_group(transaction, leader_of(transaction, pattern)?)?;
    }
    Ok(())
}

fn leader_of(transaction: &Transaction<'_>, pattern: i64) -> rusqlite::Result<i64> {
    transaction
        .prepare_cached("SELECT leader_no FROM pattern_leaders WHERE pattern_no = ?1")?
        .query_row([pattern], |row| row.get(0))
}

/// Counts a failure as it counts now, where it counted as `before` says.
pub(super) fn replace_leaders_of_failure(
    transaction: &Transaction<'_>,
    failure_no: i64,
    cell: &FailureCell,
    before: &[LeaderInFailure],
) -> rusqlite::Result<()> {
    let now = leaders_of_failure(transaction, failure_no)?;
    for LeaderInFailure { leader, .. } in now.iter().filter(|leader| !before.contains(leader) && !leader.counts) {
        let fewer = i64::from(is_only_failure_of_task(transaction, *leader, failure_no, cell.run.task)?);
        transaction
            .prepare_cached(
                "UPDATE pattern_figures SET failures = failures - 1, tasks = tasks - ?2, flaky = flaky + 1
                 WHERE pattern_no = ?1",
            )?
            .execute([*leader, fewer])?;
        remove_from_day(transaction, *leader, cell)?;
    }
    Ok(())
}

/// Counts a failure for a group, unless it `counts` for nothing there; `is_further`: its task had none that counts.
fn count_leader(
    transaction: &Transaction<'_>,
    leader: i64,
    cell: &FailureCell,
    counts: bool,
    is_further: bool,
) -> rusqlite::Result<()> {
    let category: i64 = transaction
        .prepare_cached(
            "INSERT INTO pattern_figures
             SELECT ?1, ?2, ?3, ?4, ?5, tie, 0, 0 FROM patterns WHERE pattern_no = ?1
             ON CONFLICT DO UPDATE SET failures = failures + ?3, tasks = tasks + ?4, flaky = flaky + ?5
             RETURNING category_no",
        )?
        .query_row(params![leader, cell.category, counts, is_further, !counts], |row| row.get(0))?;
    if counts {
        transaction
            .prepare_cached(
                "INSERT INTO pattern_days VALUES (?1, ?2, ?3, ?4, ?5, 1)
                 ON CONFLICT DO UPDATE SET failures = failures + 1",
            )?
            .execute([cell.run.day, leader, cell.category, cell.run.agent, cell.run.tool])?;
    }
    if category == cell.category { Ok(()) } else { update_category(transaction, leader) }
}

fn remove_from_day(transaction: &Transaction<'_>, leader: i64, cell: &FailureCell) -> rusqlite::Result<()> {
    const CELL: &str = "day = ?1 AND pattern_no = ?2 AND category_no = ?3 AND agent_no = ?4 AND tool_no = ?5";
    let key = params![cell.run.day, leader, cell.category, cell.run.agent, cell.run.tool];
    let last = format!("DELETE FROM pattern_days WHERE {CELL} AND failures = 1");
    if transaction.prepare_cached(&last)?.execute(key)? == 0 {
        let fewer = format!("UPDATE pattern_days SET failures = failures - 1 WHERE {CELL}");
        transaction.prepare_cached(&fewer)?.execute(key)?;
    }
    Ok(())
}

/// Whether a pattern was seen in another failure of a task, in which it is no flake.
fn is_seen_in_task(transaction: &Transaction<'_>, pattern: i64, failure_no: i64, task: i64) -> rusqlite::Result<bool> {
    transaction
        .prepare_cached(
            "SELECT 1 FROM occurrences WHERE task_no = ?1 AND pattern_no = ?2 AND failure_no <> ?3 AND NOT flaky",
        )?
        .exists([task, pattern, failure_no])
}

/// Whether a group has no other failure in a task that counts.
fn is_only_failure_of_task(
    transaction: &Transaction<'_>,
    leader: i64,
    failure_no: i64,
    task: i64,
) -> rusqlite::Result<bool> {
    for member in members_with(transaction, leader)? {
        if is_seen_in_task(transaction, member, failure_no, task)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The patterns of the group that `leader` represents.
fn members_with(transaction: &Transaction<'_>, leader: i64) -> rusqlite::Result<BTreeSet<i64>> {
    let mut members: BTreeSet<i64> = transaction
        .prepare_cached("SELECT pattern_no FROM pattern_groups WHERE leader_no = ?1")?
        .query_map([leader], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    members.insert(leader);
    Ok(members)
}

const MEMBERS: &str = "SELECT value FROM json_each(?2)";

/// The most frequent category of a group's failures, flakes and all; of several the first one by name.
fn update_category(transaction: &Transaction<'_>, leader: i64) -> rusqlite::Result<()> {
    let sql = format!(
        "UPDATE pattern_figures SET category_no = (
             SELECT name_no FROM (SELECT DISTINCT failure_no FROM occurrences WHERE pattern_no IN ({MEMBERS}))
             JOIN failures USING (failure_no) JOIN names ON name = category
             GROUP BY category ORDER BY count(*) DESC, category LIMIT 1)
         WHERE pattern_no = ?1"
    );
    let members = to_json(&members_with(transaction, leader)?);
    transaction.prepare_cached(&sql)?.execute(params![leader, members]).map(drop)
}

/// Counts the groups of these patterns again from their failures. All patterns of these groups, now and before.
pub(in crate::store::apply) fn recount_patterns(
    transaction: &Transaction<'_>,
    patterns: &BTreeSet<i64>,
) -> rusqlite::Result<BTreeSet<i64>> {
    if patterns.is_empty() {
        return Ok(BTreeSet::new());
    }
    let leaders: BTreeSet<i64> =
        patterns.iter().map(|pattern| leader_of(transaction, *pattern)).collect::<rusqlite::Result<_>>()?;
    let mut all = patterns.clone();
    for &leader in &leaders {
        all.extend(members_with(transaction, leader)?);
    }
    let listed = to_json(&all);
    transaction
        .prepare_cached("DELETE FROM pattern_figures WHERE pattern_no IN (SELECT value FROM json_each(?1))")?
        .execute([&listed])?;
    let days = format!(
        "DELETE FROM pattern_days WHERE pattern_no IN (SELECT value FROM json_each(?1)) AND day IN (
             SELECT DISTINCT {} FROM occurrences WHERE pattern_no IN (SELECT value FROM json_each(?1)))",
        day_of("at")
    );
    transaction.prepare_cached(&days)?.execute([&listed])?;
    for &leader in &leaders {
        recount_group(transaction, leader)?;
    }
    Ok(all)
}

fn recount_group(transaction: &Transaction<'_>, leader: i64) -> rusqlite::Result<()> {
    let members = to_json(&members_with(transaction, leader)?);
    let figures = format!(
        "INSERT INTO pattern_figures
         SELECT ?1, 0, count(*) FILTER (WHERE counts), count(DISTINCT iif(counts, task_no, NULL)),
                count(*) FILTER (WHERE NOT counts), (SELECT tie FROM patterns WHERE pattern_no = ?1), 0, 0
         FROM (SELECT failure_no, task_no, max(NOT flaky) AS counts FROM occurrences
               WHERE pattern_no IN ({MEMBERS}) GROUP BY failure_no)"
    );
    transaction.prepare_cached(&figures)?.execute(params![leader, members])?;
    update_category(transaction, leader)?;
    recount_fixes_of_group(transaction, leader)?;
    let days = format!(
        "INSERT INTO pattern_days
         SELECT {}, ?1, c.name_no, a.name_no, t.name_no, count(*)
         FROM (SELECT DISTINCT failure_no FROM occurrences WHERE pattern_no IN ({MEMBERS}) AND NOT flaky)
         CROSS JOIN failures USING (failure_no) CROSS JOIN runs r USING (run_id)
         JOIN names c ON c.name = category JOIN names a ON a.name = coalesce(agent, '')
         JOIN names t ON t.name = iif(check_kind IS NULL, '', coalesce(r.tool, check_kind))
         GROUP BY 1, 3, 4, 5",
        day_of("started_at")
    );
    transaction.prepare_cached(&days)?.execute(params![leader, members])?;
    Ok(())
}

/// Counts the fixes of a group again, from those that are listed for its keys.
fn recount_fixes_of_group(transaction: &Transaction<'_>, leader: i64) -> rusqlite::Result<()> {
    let sql = format!(
        "UPDATE pattern_figures SET (tried, fixed) = (
             SELECT count(*), coalesce(sum(fixed), 0) FROM (
                 SELECT max(fixed) AS fixed FROM (
                     SELECT pattern_key FROM patterns WHERE pattern_no IN ({MEMBERS})
                     UNION SELECT recorded_key FROM recorded_keys WHERE pattern_no IN ({MEMBERS}))
                 CROSS JOIN pattern_fixes USING (pattern_key) GROUP BY fix_id))
         WHERE pattern_no = ?1"
    );
    let members = to_json(&members_with(transaction, leader)?);
    transaction.prepare_cached(&sql)?.execute(params![leader, members]).map(drop)
}

/// Takes into account that a pattern that others have had is seen in a task.
fn mark_comeback(transaction: &Transaction<'_>, seen: &SeenPattern, task: i64) -> rusqlite::Result<()> {
    let pattern = seen.pattern;
    if !seen.is_first {
        transaction
            .prepare_cached(
                "INSERT INTO comebacks SELECT ?2, ?1 WHERE NOT EXISTS (
                     SELECT 1 FROM occurrences WHERE task_no = ?2 AND pattern_no = ?1
                     AND at <= (SELECT first_seen FROM patterns WHERE pattern_no = ?1)) ON CONFLICT DO NOTHING",
            )?
            .execute([pattern, task])?;
        return Ok(());
    }
    // What was the first time is none any more, or there are two.
    transaction
        .prepare_cached(
            "DELETE FROM comebacks WHERE pattern_no = ?1
             AND task_no IN (SELECT task_no FROM occurrences WHERE pattern_no = ?1)",
        )?
        .execute([pattern])?;
    transaction
        .prepare_cached(
            "INSERT INTO comebacks SELECT task_no, ?1 FROM occurrences WHERE pattern_no = ?1 GROUP BY task_no
             HAVING min(at) > (SELECT first_seen FROM patterns WHERE pattern_no = ?1)",
        )?
        .execute([pattern])?;
    Ok(())
}
