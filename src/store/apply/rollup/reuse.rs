//! In how many tasks the fix of a learnt gotcha helped, where those are several.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{OptionalExtension, Transaction};

/// Pattern keys with tasks in which what was tried against them may count otherwise now.
pub(in crate::store::apply) type TaskHelp = BTreeSet<(String, String)>;

/// Takes into account that the strategies tried against patterns in tasks may count otherwise now.
pub(in crate::store::apply) fn update_helped_tasks(
    transaction: &Transaction<'_>,
    changed: &TaskHelp,
) -> rusqlite::Result<()> {
    let mut by_task: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (key, task) in changed {
        by_task.entry(task).or_default().insert(key);
    }
    for (task, keys) in by_task {
        // Once for a task, not for each pattern: a task has few tries, a pattern may have many.
        let helped: BTreeSet<String> = transaction
            .prepare_cached(
                "SELECT DISTINCT error_pattern FROM strategy_tries a CROSS JOIN strategies s USING (strategy_no)
                 WHERE a.task = ?1 AND a.counts_as = 'success'",
            )?
            .query_map([task], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        for key in keys {
            let Some(entry) = learnt_entry(transaction, key)? else { continue };
            let keys_of_entry = keys_of_entry(transaction, &entry)?;
            if keys_of_entry.iter().any(|key| helped.contains(key)) {
                add_task(transaction, &entry, &keys_of_entry, task)?;
            } else {
                remove_task(transaction, &entry, task)?;
            }
        }
    }
    Ok(())
}

fn learnt_entry(transaction: &Transaction<'_>, key: &str) -> rusqlite::Result<Option<String>> {
    transaction
        .prepare_cached("SELECT entry_id FROM entries WHERE pattern_key = ?1 AND event_id IS NULL")?
        .query_row([key], |row| row.get(0))
        .optional()
}

/// Short ids may meet: an entry may be about several patterns.
fn keys_of_entry(transaction: &Transaction<'_>, entry: &str) -> rusqlite::Result<Vec<String>> {
    transaction
        .prepare_cached("SELECT pattern_key FROM entries WHERE entry_id = ?1 AND event_id IS NULL")?
        .query_map([entry], |row| row.get(0))?
        .collect()
}

fn add_task(transaction: &Transaction<'_>, entry: &str, keys: &[String], task: &str) -> rusqlite::Result<()> {
    let mut insert = transaction.prepare_cached("INSERT INTO helped_tasks VALUES (?1, ?2) ON CONFLICT DO NOTHING")?;
    let several = "SELECT 1 FROM helped_tasks WHERE entry_id = ?1";
    if transaction.prepare_cached(several)?.exists([entry])? {
        return insert.execute([entry, task]).map(drop);
    }
    let mut others = transaction.prepare_cached(
        "SELECT DISTINCT a.task FROM strategies s CROSS JOIN strategy_tries a USING (strategy_no)
         WHERE s.error_pattern = ?1 AND a.counts_as = 'success' AND a.task <> ?2",
    )?;
    let mut tasks = BTreeSet::new();
    for key in keys {
        for other in others.query_map([key.as_str(), task], |row| row.get(0))? {
            tasks.insert(other?);
        }
    }
    if !tasks.is_empty() {
        tasks.insert(task.to_owned());
    }
    tasks.iter().try_for_each(|task: &String| insert.execute([entry, task]).map(drop))
}

fn remove_task(transaction: &Transaction<'_>, entry: &str, task: &str) -> rusqlite::Result<()> {
    let removed = transaction
        .prepare_cached("DELETE FROM helped_tasks WHERE entry_id = ?1 AND task = ?2")?
        .execute([entry, task])?;
    if removed > 0 {
        transaction
            .prepare_cached(
                "DELETE FROM helped_tasks WHERE entry_id = ?1
                 AND (SELECT count(*) FROM helped_tasks WHERE entry_id = ?1) = 1",
            )?
            .execute([entry])?;
    }
    Ok(())
}
