//! What fixes add up to, one row each.

use rusqlite::{OptionalExtension, Transaction, params};

use super::name_number;

/// Whether what was fixed in the workflow `w`, by a change, is a proven flake of one of its failing runs.
const SUSPECT: &str = "EXISTS (SELECT 1 FROM fix_attempts a JOIN flakes k ON k.fail_run IN (a.before_run, a.opened_by)
                   JOIN flake_patterns h ON h.event_id = k.event_id
                   JOIN attempt_patterns g ON g.event_id = a.event_id AND g.pattern_key = h.pattern_key
                   WHERE a.fix_id = w.fix_id AND a.means <> 'none' AND g.role = 'fixed' AND k.proof = 'proven')";

/// What is known of the failure that a fix began with.
#[derive(Default)]
struct FirstFailure {
    category: String,
    agent: String,
    tool: String,
}

/// Has a fix counted again: one of its attempts is new.
pub(in crate::store::apply) fn mark_fix(transaction: &Transaction<'_>, fix: &str) -> rusqlite::Result<()> {
    transaction.prepare_cached("INSERT OR IGNORE INTO stale_fixes VALUES (?1)")?.execute([fix])?;
    Ok(())
}

/// Has the fixes counted again that began with a failing run: it is recorded now.
pub(in crate::store::apply) fn mark_fixes_of_failure(transaction: &Transaction<'_>, run: &str) -> rusqlite::Result<()> {
    let sql = "INSERT OR IGNORE INTO stale_fixes SELECT fix_id FROM fix_attempts WHERE opened_by = ?1";
    transaction.prepare_cached(sql)?.execute([run])?;
    Ok(())
}

/// Has the fixes counted again that are about a failing run: something in it is a flake.
pub(in crate::store::apply) fn mark_fixes_of_flake(transaction: &Transaction<'_>, run: &str) -> rusqlite::Result<()> {
    let sql = "INSERT OR IGNORE INTO stale_fixes SELECT fix_id FROM fix_attempts WHERE opened_by = ?1
               UNION SELECT fix_id FROM fix_attempts WHERE before_run = ?1";
    transaction.prepare_cached(sql)?.execute([run])?;
    Ok(())
}

/// Counts the fixes again that were marked, before the transaction ends: while an index is built, the rows that they
/// are counted from have no order yet, and each fix would look at all of them.
pub(in crate::store) fn recount_marked_fixes(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    let fixes: Vec<String> = transaction
        .prepare_cached("SELECT fix_id FROM stale_fixes")?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    if fixes.is_empty() {
        return Ok(());
    }
    fixes.iter().try_for_each(|fix| recount_fix(transaction, fix))?;
    list_patterns_of_marked_fixes(transaction)?;
    transaction.prepare_cached("DELETE FROM stale_fixes")?.execute([])?;
    Ok(())
}

fn recount_fix(transaction: &Transaction<'_>, fix: &str) -> rusqlite::Result<()> {
    let first: Option<FirstFailure> = transaction
        .prepare_cached(
            "SELECT coalesce(f.category, ''), coalesce(r.agent, ''),
                    iif(r.check_kind IS NULL, '', coalesce(r.tool, r.check_kind))
             FROM fix_attempts a JOIN runs r ON r.run_id = a.opened_by LEFT JOIN failures f ON f.run_id = a.opened_by
             WHERE a.fix_id = ?1 LIMIT 1",
        )?
        .query_row([fix], |row| Ok(FirstFailure { category: row.get(0)?, agent: row.get(1)?, tool: row.get(2)? }))
        .optional()?;
    let FirstFailure { category, agent, tool } = first.unwrap_or_default();
    let sql = format!(
        "INSERT OR REPLACE INTO fix_figures
         SELECT fix_id, last_at, resolved_at, state, {SUSPECT}, attempts, ?2, ?3, ?4,
                unixepoch(resolved_at) - unixepoch((SELECT started_at FROM runs WHERE run_id = w.opened_by))
         FROM fix_states w WHERE fix_id = ?1"
    );
    transaction.prepare_cached(&sql)?.execute(params![
        fix,
        name_number(transaction, &category)?,
        name_number(transaction, &agent)?,
        name_number(transaction, &tool)?
    ])?;
    Ok(())
}

/// Lists and counts again the patterns that the marked fixes count for, once those are counted: all of them at once, in the
/// order of the table's keys.
fn list_patterns_of_marked_fixes(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    add_marked_fixes_to_patterns(transaction, -1)?;
    let sql = "DELETE FROM pattern_fixes WHERE fix_id IN (SELECT fix_id FROM stale_fixes)";
    transaction.prepare_cached(sql)?.execute([])?;
    let sql = "INSERT INTO pattern_fixes
               SELECT pattern_key, fix_id, max(role = 'fixed') AND state = 'success'
               FROM stale_fixes CROSS JOIN fix_figures USING (fix_id) CROSS JOIN fix_attempts USING (fix_id)
               CROSS JOIN attempt_patterns USING (event_id)
               WHERE role IN ('fixed', 'persisted') AND means <> 'none'
                 AND state NOT IN ('weakened', 'undone', 'flaky') AND NOT suspect GROUP BY pattern_key, fix_id";
    transaction.prepare_cached(sql)?.execute([])?;
    add_marked_fixes_to_patterns(transaction, 1)
}

/// Adds the marked fixes, as they are listed, to the figures of their patterns' groups; with -1 takes them off.
fn add_marked_fixes_to_patterns(transaction: &Transaction<'_>, sign: i64) -> rusqlite::Result<()> {
    let sql = "
        WITH listed AS (
            SELECT pattern_no, fix_id, fixed FROM stale_fixes CROSS JOIN pattern_fixes USING (fix_id)
            CROSS JOIN patterns USING (pattern_key)
            UNION ALL SELECT k.pattern_no, fix_id, fixed FROM stale_fixes CROSS JOIN pattern_fixes p USING (fix_id)
            CROSS JOIN recorded_keys k ON k.recorded_key = p.pattern_key),
        added AS (
            SELECT leader, count(*) AS tried, sum(fixed) AS fixed FROM (
                SELECT coalesce(leader_no, pattern_no) AS leader, max(fixed) AS fixed
                FROM listed LEFT JOIN pattern_groups USING (pattern_no) GROUP BY leader, fix_id)
            GROUP BY leader)
        UPDATE pattern_figures AS f SET tried = f.tried + ?1 * a.tried, fixed = f.fixed + ?1 * a.fixed
        FROM added a WHERE f.pattern_no = a.leader";
    transaction.prepare_cached(sql)?.execute([sign])?;
    Ok(())
}
