//! Sums of runs and failures by day, first runs, and what is left out of them.

use rusqlite::{OptionalExtension, Transaction, params};

use super::pattern::{FailureCell, leaders_of_failure, replace_leaders_of_failure};
use super::{day_of, name_number};
use crate::base::clock::UtcDay;
use crate::event::Run;

/// What a run counts as in the sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store::apply) enum RunCount {
    Passed,
    Failed,
    /// Its result does not depend on the code, it is a proven flake, or a pass of a weakened check.
    Uncounted,
}

/// Where a run is counted: the key of its sums.
pub(in crate::store::apply) struct RunCell {
    pub(super) day: i64,
    pub(super) task: i64,
    pub(super) agent: i64,
    pub(super) tool: i64,
}

impl RunCell {
    /// Of a run that is being recorded.
    pub(in crate::store::apply) fn new(transaction: &Transaction<'_>, task: i64, run: &Run) -> rusqlite::Result<Self> {
        // A run that is no recognised check has no tool.
        let tool = run.check.map(|check| run.tool.as_deref().unwrap_or(check.as_str())).unwrap_or_default();
        Ok(RunCell {
            day: UtcDay::of(run.started_at).0,
            task,
            agent: name_number(transaction, run.agent.as_deref().unwrap_or_default())?,
            tool: name_number(transaction, tool)?,
        })
    }

    /// Of a run that is recorded.
    pub(super) fn of_run(transaction: &Transaction<'_>, run_no: i64) -> rusqlite::Result<Self> {
        let sql = format!(
            "SELECT {}, task_no, coalesce(agent, ''), iif(check_kind IS NULL, '', coalesce(tool, check_kind)) FROM runs
             WHERE run_no = ?1",
            day_of("started_at")
        );
        let (day, task, agent, tool): (i64, i64, String, String) = transaction
            .prepare_cached(&sql)?
            .query_row([run_no], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
        Ok(RunCell { day, task, agent: name_number(transaction, &agent)?, tool: name_number(transaction, &tool)? })
    }
}

/// What a run counts as now; `None` when it is not recorded.
pub(in crate::store::apply) fn count_run(
    transaction: &Transaction<'_>,
    run: &str,
) -> rusqlite::Result<Option<(i64, RunCount)>> {
    transaction
        .prepare_cached(
            "SELECT run_no, passed, iif(passed,
                 EXISTS (SELECT 1 FROM fix_attempts a
                         WHERE a.run_id = r.run_id AND a.outcome = 'success' AND a.weakened > 0),
                 EXISTS (SELECT 1 FROM failures f WHERE f.run_id = r.run_id AND f.uncounted IS NOT NULL))
             FROM runs r WHERE run_id = ?1",
        )?
        .query_row([run], |row| {
            let count = match (row.get(1)?, row.get(2)?) {
                (_, true) => RunCount::Uncounted,
                (true, false) => RunCount::Passed,
                (false, false) => RunCount::Failed,
            };
            Ok((row.get(0)?, count))
        })
        .optional()
}

/// Counts a run that is being recorded, a failed one as its failure `counts`.
pub(in crate::store::apply) fn add_run(
    transaction: &Transaction<'_>,
    run_no: i64,
    cell: &RunCell,
    (run, key): (&str, &str),
    counts: Option<bool>,
) -> rusqlite::Result<()> {
    let count = match counts {
        Some(true) => RunCount::Failed,
        Some(false) => RunCount::Uncounted,
        None => count_run(transaction, run)?.map_or(RunCount::Passed, |(_, count)| count),
    };
    transaction
        .prepare_cached(
            "INSERT INTO run_days VALUES (?1, ?2, ?3, ?4, 1, ?5, ?6) ON CONFLICT DO UPDATE SET
                 runs = runs + 1, failed = failed + excluded.failed, uncounted = uncounted + excluded.uncounted",
        )?
        .execute(params![
            cell.day,
            cell.task,
            cell.agent,
            cell.tool,
            count == RunCount::Failed,
            count == RunCount::Uncounted
        ])?;
    take_first_run(transaction, cell, key, run_no, count)
}

/// Makes a run the first of its check in its task, unless another one was before it.
fn take_first_run(
    transaction: &Transaction<'_>,
    cell: &RunCell,
    key: &str,
    run_no: i64,
    count: RunCount,
) -> rusqlite::Result<()> {
    let known: Option<(i64, String, bool)> = transaction
        .prepare_cached(
            "SELECT run_no, run_id, (started_at, run_id) < (SELECT started_at, run_id FROM runs WHERE run_no = ?3)
             FROM first_runs JOIN runs USING (run_no) WHERE first_runs.task_no = ?1 AND first_runs.command_key = ?2",
        )?
        .query_row(params![cell.task, key, run_no], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    match known {
        Some((_, _, true)) => return Ok(()),
        Some((other_no, other, false)) => {
            let other_cell = RunCell::of_run(transaction, other_no)?;
            if let Some((_, count)) = count_run(transaction, &other)? {
                add_first_run(transaction, &other_cell, count, -1)?;
            }
        }
        None => {}
    }
    transaction
        .prepare_cached(
            "INSERT INTO first_runs VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET run_no = excluded.run_no",
        )?
        .execute(params![cell.task, key, run_no])?;
    add_first_run(transaction, cell, count, 1)
}

fn add_first_run(transaction: &Transaction<'_>, cell: &RunCell, count: RunCount, by: i64) -> rusqlite::Result<()> {
    if count == RunCount::Uncounted {
        return Ok(());
    }
    let passed = if count == RunCount::Passed { by } else { 0 };
    let key = params![cell.day, cell.agent, cell.tool, by, passed];
    if by > 0 {
        let sql = "INSERT INTO first_run_days VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT DO UPDATE SET runs = runs + ?4, passed = passed + ?5";
        return transaction.prepare_cached(sql)?.execute(key).map(drop);
    }
    let last = "DELETE FROM first_run_days WHERE day = ?1 AND agent_no = ?2 AND tool_no = ?3 AND runs = 1";
    if transaction.prepare_cached(last)?.execute(params![cell.day, cell.agent, cell.tool])? == 0 {
        let sql = "UPDATE first_run_days SET runs = runs + ?4, passed = passed + ?5
             WHERE day = ?1 AND agent_no = ?2 AND tool_no = ?3";
        transaction.prepare_cached(sql)?.execute(key)?;
    }
    Ok(())
}

/// Counts a run as it counts now, after something that was known of it changed. `before` is [`count_run`] from before
/// that.
pub(in crate::store::apply) fn replace_run_count(
    transaction: &Transaction<'_>,
    run: &str,
    before: Option<(i64, RunCount)>,
) -> rusqlite::Result<()> {
    let (Some((run_no, before)), Some((_, now))) = (before, count_run(transaction, run)?) else { return Ok(()) };
    if before == now {
        return Ok(());
    }
    let cell = RunCell::of_run(transaction, run_no)?;
    let change = |count| i64::from(now == count) - i64::from(before == count);
    transaction
        .prepare_cached(
            "UPDATE run_days SET failed = failed + ?5, uncounted = uncounted + ?6
             WHERE day = ?1 AND task_no = ?2 AND agent_no = ?3 AND tool_no = ?4",
        )?
        .execute(params![
            cell.day,
            cell.task,
            cell.agent,
            cell.tool,
            change(RunCount::Failed),
            change(RunCount::Uncounted)
        ])?;
    let first = "SELECT 1 FROM runs JOIN first_runs USING (task_no, command_key, run_no) WHERE run_no = ?1";
    if transaction.prepare_cached(first)?.exists([run_no])? {
        add_first_run(transaction, &cell, before, -1)?;
        add_first_run(transaction, &cell, now, 1)?;
    }
    Ok(())
}

/// Counts a failure of a category.
pub(in crate::store::apply) fn add_failure(
    transaction: &Transaction<'_>,
    cell: &RunCell,
    category: i64,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO failure_days VALUES (?1, ?2, ?3, ?4, ?5, 1) ON CONFLICT DO UPDATE SET failures = failures + 1",
        )?
        .execute([cell.day, cell.task, category, cell.agent, cell.tool])?;
    Ok(())
}

/// Takes a failure of a category out again.
fn remove_failure(transaction: &Transaction<'_>, cell: &RunCell, category: i64) -> rusqlite::Result<()> {
    const CELL: &str = "day = ?1 AND task_no = ?2 AND category_no = ?3 AND agent_no = ?4 AND tool_no = ?5";
    let key = [cell.day, cell.task, category, cell.agent, cell.tool];
    let last = format!("DELETE FROM failure_days WHERE {CELL} AND failures = 1");
    if transaction.prepare_cached(&last)?.execute(key)? == 0 {
        let fewer = format!("UPDATE failure_days SET failures = failures - 1 WHERE {CELL}");
        transaction.prepare_cached(&fewer)?.execute(key)?;
    }
    Ok(())
}

/// Whether anything in a failing run is known as a proven flake.
pub(in crate::store::apply) fn has_flakes(transaction: &Transaction<'_>, run: &str) -> rusqlite::Result<bool> {
    transaction.prepare_cached("SELECT 1 FROM flakes WHERE fail_run = ?1 AND proof = 'proven'")?.exists([run])
}

/// Marks what is a proven flake in a failure, by its row number. Whether the failure counts.
pub(in crate::store::apply) fn mark_flakes(transaction: &Transaction<'_>, failure_no: i64) -> rusqlite::Result<bool> {
    transaction
        .prepare_cached(
            "UPDATE occurrences SET flaky = 1 WHERE failure_no = ?1 AND NOT flaky AND EXISTS (
                 SELECT 1 FROM failures f JOIN flakes k ON k.fail_run = f.run_id AND k.proof = 'proven'
                 JOIN flake_patterns p USING (event_id)
                 WHERE f.failure_no = ?1 AND p.pattern_key IN (
                     SELECT recorded_key FROM known_patterns n WHERE n.pattern_no = occurrences.pattern_no))",
        )?
        .execute([failure_no])?;
    transaction
        .prepare_cached(
            "UPDATE failures SET uncounted = 'flaky' WHERE failure_no = ?1 AND uncounted IS NULL
                 AND EXISTS (SELECT 1 FROM flakes k WHERE k.fail_run = run_id AND k.proof = 'proven')
                 AND NOT EXISTS (SELECT 1 FROM occurrences WHERE failure_no = ?1 AND NOT flaky)",
        )?
        .execute([failure_no])?;
    transaction
        .prepare_cached("SELECT uncounted IS NULL FROM failures WHERE failure_no = ?1")?
        .query_row([failure_no], |row| row.get(0))
}

/// Counts a failure, by its row number, again after more is known of its flakes.
pub(in crate::store::apply) fn recount_flakes(transaction: &Transaction<'_>, failure_no: i64) -> rusqlite::Result<()> {
    let (run, counted): (String, bool) = transaction
        .prepare_cached("SELECT run_id, uncounted IS NULL FROM failures WHERE failure_no = ?1")?
        .query_row([failure_no], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let (count, leaders) = (count_run(transaction, &run)?, leaders_of_failure(transaction, failure_no)?);
    let counts = mark_flakes(transaction, failure_no)?;
    let cell = FailureCell::of_failure(transaction, failure_no)?;
    if counted && !counts {
        remove_failure(transaction, &cell.run, cell.category)?;
    }
    replace_run_count(transaction, &run, count)?;
    replace_leaders_of_failure(transaction, failure_no, &cell, &leaders)
}

/// Counts the failures of a pattern again of which a flake names a key that is the pattern's now.
pub(in crate::store::apply) fn recount_flakes_of_pattern(
    transaction: &Transaction<'_>,
    pattern: i64,
) -> rusqlite::Result<()> {
    let failures: Vec<i64> = transaction
        .prepare_cached(
            "SELECT DISTINCT failure_no FROM known_patterns n JOIN flake_patterns p ON p.pattern_key = n.recorded_key
             JOIN flakes k USING (event_id) JOIN failures f ON f.run_id = k.fail_run
             JOIN occurrences o USING (failure_no)
             WHERE n.pattern_no = ?1 AND o.pattern_no = ?1 AND k.proof = 'proven'",
        )?
        .query_map([pattern], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    failures.into_iter().try_for_each(|failure| recount_flakes(transaction, failure))
}
