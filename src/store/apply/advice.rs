//! Applies announced tasks, deliveries and acknowledgements to their tables.

use rusqlite::{OptionalExtension, Transaction, params};

use super::{fix, outcome};

use crate::event::{Acknowledgement, Delivery, TaskNote, TaskStep};
use crate::store::to_json;

pub(super) fn insert_task_note(
    transaction: &Transaction<'_>,
    event_id: &str,
    at: &str,
    note: &TaskNote,
) -> rusqlite::Result<()> {
    let task = upsert_task(transaction, &note.name, at)?;
    let mut insert =
        transaction.prepare_cached("INSERT INTO task_changes VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)")?;
    let (name, by) = (&note.name, &note.by);
    match &note.step {
        TaskStep::Started { title, category, files, depends_on } => {
            let after = to_json(depends_on);
            insert.execute(params![
                event_id,
                name,
                at,
                "started",
                title,
                category,
                after,
                None::<&str>,
                None::<&str>,
                by.session,
                by.agent
            ])?;
            let mut file =
                transaction.prepare_cached("INSERT INTO task_files VALUES (?1, ?2) ON CONFLICT DO NOTHING")?;
            for path in files {
                file.execute([event_id, path])?;
            }
            index_task_words(transaction, task)
        }
        TaskStep::Done { outcome, why } => {
            let outcome = outcome.map(|outcome| outcome.as_str());
            insert.execute(params![
                event_id,
                name,
                at,
                "done",
                None::<&str>,
                None::<&str>,
                "[]",
                outcome,
                why,
                by.session,
                by.agent
            ])?;
            Ok(())
        }
    }
}

/// The row of the task, made if need be, with `at` between its first and last moment.
pub(super) fn upsert_task(transaction: &Transaction<'_>, name: &str, at: &str) -> rusqlite::Result<i64> {
    let task = transaction
        .prepare_cached(
            "INSERT INTO tasks (name, first_at, last_at) VALUES (?1, ?2, ?2)
             ON CONFLICT (name) DO UPDATE SET first_at = min(first_at, ?2), last_at = max(last_at, ?2)
             RETURNING task_no",
        )?
        .query_row([name, at], |row| row.get(0))?;
    if !transaction.prepare_cached("SELECT 1 FROM task_words WHERE rowid = ?1")?.exists([task])? {
        index_task_words(transaction, task)?;
    }
    Ok(task)
}

/// The words of a task's name and of its latest title, and what it was announced with as a hash: the same for two tasks
/// of one title, category and files.
fn index_task_words(transaction: &Transaction<'_>, task: i64) -> rusqlite::Result<()> {
    let name: String =
        transaction.prepare_cached("SELECT name FROM tasks WHERE task_no = ?1")?.query_row([task], |row| row.get(0))?;
    let title: Option<String> = transaction
        .prepare_cached(
            "SELECT title FROM task_changes WHERE name = ?1 AND title IS NOT NULL ORDER BY at DESC, event_id DESC LIMIT 1",
        )?
        .query_row([&name], |row| row.get(0))
        .optional()?;
    transaction
        .prepare_cached("INSERT OR REPLACE INTO task_words (rowid, name, title) VALUES (?1, ?2, ?3)")?
        .execute(params![task, name, title.as_deref().unwrap_or_default()])?;
    write_task_signature(transaction, task, &name, title.as_deref())
}

fn write_task_signature(
    transaction: &Transaction<'_>,
    task: i64,
    name: &str,
    title: Option<&str>,
) -> rusqlite::Result<()> {
    let category: Option<String> = transaction
        .prepare_cached(
            "SELECT category FROM task_changes WHERE name = ?1 AND category IS NOT NULL
             ORDER BY at DESC, event_id DESC LIMIT 1",
        )?
        .query_row([name], |row| row.get(0))
        .optional()?;
    let mut files = transaction.prepare_cached(
        "SELECT DISTINCT path FROM task_changes JOIN task_files USING (event_id) WHERE name = ?1 ORDER BY path",
    )?;
    let files: Vec<String> = files.query_map([name], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let title = title.unwrap_or(name).trim().to_lowercase();
    let mut hasher = blake3::Hasher::new();
    for part in [title, category.unwrap_or_default()].into_iter().chain(files) {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    let hash = hasher.finalize().to_hex();
    transaction
        .prepare_cached("UPDATE tasks SET signature_hash = ?2 WHERE task_no = ?1")?
        .execute(params![task, &hash[..32]])?;
    Ok(())
}

pub(super) fn insert_delivery(
    transaction: &Transaction<'_>,
    event_id: &str,
    at: &str,
    delivery: &Delivery,
) -> rusqlite::Result<()> {
    // A line that says of nothing, or of two things, what it is about: written by hand. Nothing can be said of it.
    if delivery.pattern.is_some() == delivery.entry.is_some() {
        return Ok(());
    }
    if !fix::insert_quoted_runs(transaction, event_id, &delivery.runs)? {
        return Ok(());
    }
    let task = upsert_task(transaction, &delivery.task, at)?;
    let share = |permille: u16| f64::from(permille.min(1_000)) / 1_000.0;
    transaction
        .prepare_cached(
            "INSERT INTO deliveries (event_id, warning_id, task_no, session, agent, pattern_key, entry_id,
                 family_key, rank, score, arm, holdout_share, surface, command, files, delivered_at,
                 text)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
        )?
        .execute(params![
            event_id,
            delivery.warning,
            task,
            delivery.session,
            delivery.by.agent,
            delivery.pattern,
            delivery.entry,
            delivery.family,
            delivery.rank.max(1),
            share(delivery.score_permille),
            delivery.arm.as_str(),
            share(delivery.holdout_permille),
            delivery.surface,
            delivery.command,
            to_json(&delivery.files),
            at,
            delivery.text
        ])?;
    outcome::judge_delivery(transaction, event_id)
}

pub(super) fn insert_ack(
    transaction: &Transaction<'_>,
    event_id: &str,
    at: &str,
    ack: &Acknowledgement,
) -> rusqlite::Result<()> {
    transaction.prepare_cached("INSERT INTO warning_acks VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?.execute(params![
        event_id,
        ack.warning,
        at,
        ack.useful,
        ack.by.agent,
        ack.by.person
    ])?;
    Ok(())
}

/// Counts a failure for the places of a pattern in it.
pub(super) fn count_pattern_places(
    transaction: &Transaction<'_>,
    pattern: i64,
    file: Option<&str>,
    tool_class: Option<&str>,
) -> rusqlite::Result<()> {
    let mut count = transaction.prepare_cached(
        "INSERT INTO pattern_places VALUES (?1, ?2, 1) ON CONFLICT (place, pattern_no) DO UPDATE SET failures = failures + 1",
    )?;
    let places = file.into_iter().flat_map(places_of_file).chain(tool_class.map(|class| format!("t:{class}")));
    for place in places {
        count.execute(params![place, pattern])?;
    }
    Ok(())
}

/// The folder of a file (`d:src/db`, of the top `d:`), and its kind (`e:py`).
pub(in crate::store) fn places_of_file(path: &str) -> impl Iterator<Item = String> {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let kind = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, kind)| format!("e:{kind}"));
    std::iter::once(format!("d:{folder}")).chain(kind)
}
