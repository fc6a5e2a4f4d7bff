//! The outcome of advice from written entries: judged by the patterns that it is about.
//!
//! Where these are named as its source, the rules are those of advice about a pattern. Where only the messages say what
//! its pitfall says, its opportunity is a task that changed files of its globs, as its actions say, and checked them
//! afterwards. Of an entry that is about no recorded pattern nothing is claimed.

use rusqlite::{Params, Transaction, params};

use super::{judged_columns, opportunity_condition};
use crate::base::glob;
use crate::store::about::{self, EntrySubject};
use crate::store::to_json;

/// The patterns, as a list of numbers.
const LISTED: &str = "SELECT value FROM json_each(?2)";

/// Judges the deliveries about entries among those of `which`.
pub(super) fn judge_entry_deliveries(
    transaction: &Transaction<'_>,
    which: &str,
    parameters: impl Params,
) -> rusqlite::Result<()> {
    let sql = format!(
        "SELECT d.event_id, d.entry_id, d.task_no, d.delivered_at FROM deliveries d
         WHERE d.entry_id IS NOT NULL AND {which}"
    );
    let found: Vec<(String, String, i64, String)> = transaction
        .prepare_cached(&sql)?
        .query_map(parameters, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?
        .collect::<rusqlite::Result<_>>()?;
    for (event, entry, task, at) in found {
        let about = about::subject_of_entry(transaction, &entry)?;
        let members = to_json(&about.patterns);
        if about.named {
            let judged = judged_columns(LISTED, &opportunity_condition(LISTED));
            let sql = format!("UPDATE deliveries AS d SET {judged} WHERE d.event_id = ?1");
            transaction.prepare_cached(&sql)?.execute([&event, &members])?;
        } else {
            let judged = judged_columns(LISTED, "r.started_at >= ?3");
            let sql = format!("UPDATE deliveries AS d SET {judged} WHERE d.event_id = ?1");
            // Nothing is later than what never was.
            let changed = first_change_seen_at(transaction, task, &at, &about)?;
            transaction.prepare_cached(&sql)?.execute(params![event, members, changed])?;
        }
    }
    Ok(())
}

/// When the first run of a task after `at` was started that saw a change of the files that an entry is about.
fn first_change_seen_at(
    transaction: &Transaction<'_>,
    task: i64,
    at: &str,
    about: &EntrySubject,
) -> rusqlite::Result<Option<String>> {
    if about.patterns.is_empty() {
        return Ok(None);
    }
    let mut statement = transaction.prepare_cached(
        "SELECT r.started_at, s.path, s.change FROM runs r JOIN snapshot_files s USING (run_id)
         WHERE r.task_no = ?1 AND r.started_at > ?2 ORDER BY r.started_at",
    )?;
    let mut rows = statement.query(params![task, at])?;
    while let Some(row) = rows.next()? {
        let (path, change): (String, String) = (row.get(1)?, row.get(2)?);
        if is_change_of_actions(&about.actions, &change) && about.globs.iter().any(|glob| glob::matches(glob, &path)) {
            return row.get(0).map(Some);
        }
    }
    Ok(None)
}

/// Whether a change is what the actions of an entry say; those that are no change of a file say nothing of it.
fn is_change_of_actions<'a>(actions: impl IntoIterator<Item = &'a String>, change: &str) -> bool {
    let changes = actions.into_iter().filter_map(|action| match action.as_str() {
        "CREATE" => Some(&["added"][..]),
        "UPDATE" => Some(&["modified", "renamed", "retyped"][..]),
        "DELETE" => Some(&["removed"][..]),
        _ => None,
    });
    let mut changes = changes.peekable();
    changes.peek().is_none() || changes.any(|changes| changes.contains(&change))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_action_says_which_changes_matter() {
        let of = |actions: &[&str], change: &str| {
            let actions: Vec<String> = actions.iter().map(|&action| action.to_owned()).collect();
            is_change_of_actions(&actions, change)
        };
        assert!(of(&[], "removed") && of(&["VERIFY"], "added"), "they ask for no change");
        assert!(of(&["CREATE"], "added") && !of(&["CREATE"], "modified"));
        assert!(of(&["UPDATE"], "renamed") && !of(&["UPDATE", "VERIFY"], "removed"));
        assert!(of(&["CREATE", "DELETE"], "removed") && !of(&["CREATE", "DELETE"], "modified"));
    }
}
