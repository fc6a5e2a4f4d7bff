//! Applies entries and their changes to their tables.

use std::collections::BTreeSet;

use rusqlite::{OptionalExtension, Transaction, params};
use serde_json::Value;

use super::outcome;
use crate::base::words::normalised;
use crate::event::{EntryChange, EntryNote, EventAuthor, KnowledgeEntry};
use crate::store::to_json;

/// Folders above a file whose globs are looked for.
const FOLDERS_MAX: usize = 16;

pub(super) fn insert_entry_note(
    transaction: &Transaction<'_>,
    id: &str,
    at: &str,
    note: &EntryNote,
) -> rusqlite::Result<()> {
    let (entry, by) = (note.entry.as_str(), &note.by);
    let change = |change: &str, value: Option<f64>, other: Option<&str>, reason: Option<&str>| {
        let mut insert = transaction
            .prepare_cached("INSERT INTO knowledge_changes VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)")?;
        insert.execute(params![id, entry, at, change, value, other, reason, by.agent, by.session, by.task, by.person])
    };
    match &note.change {
        EntryChange::Created(created) => {
            if insert_entry(transaction, id, at, entry, created, by)? {
                regroup_entry(transaction, entry)?;
            }
        }
        EntryChange::Superseded { with } => drop(change("superseded", None, Some(with), None)?),
        EntryChange::ConfidenceSet { value_permille, reason } => {
            let value = f64::from((*value_permille).min(1_000)) / 1_000.0;
            change("confidence_set", Some(value), None, Some(reason))?;
        }
        EntryChange::Pinned { on } => drop(change(if *on { "pinned" } else { "unpinned" }, None, None, None)?),
        EntryChange::Merged { into } => {
            change("merged", None, Some(into), None)?;
            regroup_entry(transaction, entry)?;
        }
        EntryChange::Used { how, with } => {
            let mut insert = transaction.prepare_cached(
                "INSERT INTO entry_uses VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO NOTHING",
            )?;
            for entry in [&note.entry].into_iter().chain(with) {
                insert.execute(params![id, entry, at, how.as_str(), by.agent, by.session, by.task, by.person])?;
            }
        }
    }
    Ok(())
}

/// Takes an entry out that no event tells of; those that were merged with it represent themselves.
pub(in crate::store) fn forget_entry(transaction: &Transaction<'_>, entry: &str) -> rusqlite::Result<()> {
    let number: Option<i64> = transaction
        .prepare_cached("SELECT entry_no FROM entries WHERE entry_id = ?1 AND event_id IS NOT NULL")?
        .query_row([entry], |row| row.get(0))
        .optional()?;
    let Some(number) = number else { return Ok(()) };
    remove_entry_row(transaction, number)?;
    regroup_entry(transaction, entry)
}

fn remove_entry_row(transaction: &Transaction<'_>, number: i64) -> rusqlite::Result<()> {
    transaction.prepare_cached("DELETE FROM knowledge_words WHERE rowid = ?1")?.execute([number])?;
    transaction.prepare_cached("DELETE FROM entries WHERE entry_no = ?1")?.execute([number]).map(drop)
}

/// Writes the entry; of two events that write one id the smaller holds. Whether it holds.
pub(in crate::store) fn insert_entry(
    transaction: &Transaction<'_>,
    id: &str,
    at: &str,
    entry_id: &str,
    entry: &KnowledgeEntry,
    by: &EventAuthor,
) -> rusqlite::Result<bool> {
    transaction
        .prepare_cached("INSERT INTO knowledge_types VALUES (?1, '') ON CONFLICT DO NOTHING")?
        .execute([&entry.entry_type])?;
    let known: Option<(i64, String)> = transaction
        .prepare_cached("SELECT entry_no, event_id FROM entries WHERE entry_id = ?1 AND event_id IS NOT NULL")?
        .query_row([entry_id], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    if let Some((number, event)) = known {
        if event.as_str() <= id {
            return Ok(false);
        }
        remove_entry_row(transaction, number)?;
    }
    let body = collect_texts(&entry.properties).join("\n");
    let forms = normalised(&format!("{}\n{body}", entry.title)).join(" ");
    let number: i64 = transaction
        .prepare_cached(
            "INSERT INTO entries (entry_id, type, event_id, title, properties, globs, actions, tags, sources,
                 source, prevented, fix_applied, at, agent, session, task, person, forms, leader_id)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?1)
             RETURNING entry_no",
        )?
        .query_row(
            params![
                entry_id,
                entry.entry_type,
                id,
                entry.title,
                to_json(&entry.properties),
                to_json(&entry.globs),
                to_json(&entry.actions),
                to_json(&entry.tags),
                to_json(&entry.sources),
                entry.origin.source.as_str(),
                entry.origin.prevented,
                entry.origin.fix_applied,
                at,
                by.agent,
                by.session,
                by.task,
                by.person,
                forms
            ],
            |row| row.get(0),
        )?;
    insert_labels(transaction, number, entry)?;
    transaction
        .prepare_cached("INSERT INTO knowledge_words (rowid, title, tags, body, forms) VALUES (?1, ?2, ?3, ?4, ?5)")?
        .execute(params![number, entry.title, entry.tags.join(" "), body, forms])?;
    Ok(true)
}

fn insert_labels(transaction: &Transaction<'_>, number: i64, entry: &KnowledgeEntry) -> rusqlite::Result<()> {
    let mut insert =
        transaction.prepare_cached("INSERT INTO knowledge_labels VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING")?;
    let places: Vec<String> = entry.globs.iter().map(|glob| place_of_glob(glob)).collect();
    let labels = [("tag", &entry.tags), ("action", &entry.actions), ("source", &entry.sources), ("place", &places)];
    for (kind, values) in labels {
        for value in values {
            insert.execute(params![kind, value, number])?;
        }
    }
    Ok(())
}

/// The text of properties.
fn collect_texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(collect_texts).collect(),
        Value::Object(fields) => fields.values().flat_map(collect_texts).collect(),
        _ => Vec::new(),
    }
}

/// Lets the oldest of those that were merged with an entry represent them, and judges what was said about any of them: a
/// function of what is in the index. The entry itself may not be there: others were merged by way of it all the same.
fn regroup_entry(transaction: &Transaction<'_>, entry: &str) -> rusqlite::Result<()> {
    let leader: Option<String> = transaction
        .prepare_cached(
            "WITH RECURSIVE members (id) AS (
                 SELECT ?1
                 UNION SELECT other_id FROM members JOIN knowledge_changes ON entry_id = id AND change = 'merged'
                 UNION SELECT entry_id FROM members JOIN knowledge_changes ON other_id = id AND change = 'merged')
             UPDATE entries SET leader_id = (
                 SELECT entry_id FROM entries WHERE entry_id IN members AND event_id IS NOT NULL
                 ORDER BY at, entry_id LIMIT 1)
             WHERE entry_id IN members AND event_id IS NOT NULL
             RETURNING leader_id",
        )?
        .query_row([entry], |row| row.get(0))
        .optional()?;
    leader.map_or(Ok(()), |leader| outcome::judge_deliveries_of_entry(transaction, &leader))
}

/// Where a glob may match: the file that it names (`=src/db/user.py`), else the folder before its first wildcard, and the
/// ending of its files where it says one (`src/db|py`).
fn place_of_glob(glob: &str) -> String {
    if !glob.contains(['*', '?']) {
        return format!("={glob}");
    }
    let (folder, name) = glob.rsplit_once('/').unwrap_or(("", glob));
    let fixed: Vec<&str> = folder.split('/').take_while(|part| !part.contains(['*', '?'])).collect();
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    let extension = extension.filter(|extension| !extension.is_empty() && !extension.contains(['*', '?']));
    format!("{}|{}", fixed.join("/"), extension.unwrap_or("*"))
}

/// Every place whose globs may match a file.
pub(in crate::store) fn places_of_path(path: &str) -> BTreeSet<String> {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let endings = ["*", name.rsplit_once('.').map_or("*", |(_, extension)| extension)];
    let ends = folder.match_indices('/').map(|(at, _)| at).chain((!folder.is_empty()).then_some(folder.len()));
    let folders = [""].into_iter().chain(ends.map(|end| &folder[..end])).take(FOLDERS_MAX);
    let places = folders.flat_map(|folder| endings.map(|ending| format!("{folder}|{ending}")));
    places.chain([format!("={path}")]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_s_place_is_one_of_those_of_every_file_that_it_matches() {
        let pairs = [
            ("src/db/user.py", "src/db/user.py"),
            ("src/db/*.py", "src/db/user.py"),
            ("src/**", "src/db/user.py"),
            ("**/*.py", "src/db/user.py"),
            ("*.py", "setup.py"),
            ("**/Makefile", "a/Makefile"),
            ("src/*/user.py", "src/db/user.py"),
            ("src/d?/**/*.py", "src/db/x/user.py"),
            ("**/.env", "a/.env"),
            (".github/**", ".github/workflows/ci.yml"),
            ("**/test_*", "a/test_b.py"),
        ];
        for (glob, path) in pairs {
            assert!(places_of_path(path).contains(&place_of_glob(glob)), "{glob} {path}");
        }
        assert!(!places_of_path("src/web/a.ts").contains(&place_of_glob("src/db/*.ts")));
        assert!(!places_of_path("src/db/a.ts").contains(&place_of_glob("src/db/*.py")));
    }
}
