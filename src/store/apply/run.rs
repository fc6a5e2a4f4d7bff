//! Runs, failures and occurrences into their tables.

use rusqlite::{Transaction, params};

use super::to_sql;
use crate::base::ids::{self, Kind};
use crate::base::text;
use crate::run::Ended;
use crate::store::event::{Failure, Item, LessonDecision, Run};
use crate::store::json;
use crate::whitelist::CheckKind;

/// A failure's summary and an occurrence's message, bytes.
const SUMMARY_BYTES_MAX: usize = 300;

pub(super) fn insert_run(transaction: &Transaction<'_>, id: &str, run: &Run) -> rusqlite::Result<()> {
    if transaction.prepare_cached("SELECT 1 FROM purged_runs WHERE run_id = ?1")?.exists([id])? {
        return Ok(());
    }
    let started = run.started_at.rfc3339();
    let task: i64 = transaction
        .prepare_cached(
            "INSERT INTO tasks (name, first_at, last_at) VALUES (?1, ?2, ?2)
             ON CONFLICT (name) DO UPDATE SET first_at = min(first_at, ?2), last_at = max(last_at, ?2)
             RETURNING task_no",
        )?
        .query_row(params![run.task, started], |row| row.get(0))?;
    let (exit_code, signal) = match run.ended {
        Ended::Exit(code) => (Some(code), None),
        Ended::Signal(signal) => (None, Some(signal)),
    };
    transaction
        .prepare_cached(
            "INSERT INTO runs (run_id, task_no, session, agent, tool, check_kind, argv, root, dir, command_key,
                               started_at, ended_at, duration_us, exit_code, signal, branch, commit_id, class_key,
                               own_status)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)",
        )?
        .execute(params![
            id,
            task,
            run.session,
            run.agent,
            run.tool,
            run.check.map(CheckKind::as_str),
            json(&run.argv),
            json(&run.root),
            json(&run.dir),
            run.key,
            started,
            run.ended_at.rfc3339(),
            to_sql(run.duration_us),
            exit_code,
            signal,
            run.branch,
            run.commit,
            run.scope.as_ref().map(|scope| &scope.class),
            !run.scope.as_ref().is_some_and(|scope| scope.foreign_status),
        ])?;
    match &run.failure {
        Some(failure) => insert_failure(transaction, id, task, &started, failure),
        None => Ok(()),
    }
}

fn insert_failure(
    transaction: &Transaction<'_>,
    run_id: &str,
    task: i64,
    at: &str,
    failure: &Failure,
) -> rusqlite::Result<()> {
    // A user's own category comes with the event of whoever defined it.
    transaction
        .prepare_cached("INSERT INTO failure_categories VALUES (?1, '') ON CONFLICT DO NOTHING")?
        .execute([&failure.category])?;
    let (lesson, file, none) = match &failure.lesson {
        LessonDecision::Written { id, file } => (Some(id), Some(file), None),
        LessonDecision::Known => (None, None, Some("known")),
        LessonDecision::Forgotten => (None, None, Some("forgotten")),
        LessonDecision::Cancelled => (None, None, Some("cancelled")),
    };
    let items: usize = failure.items.iter().map(|item| item.count as usize).sum::<usize>() + failure.items_cut;
    let summary = failure.items.first().map_or("", said);
    let failure_no: i64 = transaction
        .prepare_cached(
            "INSERT INTO qa_failures (failure_id, run_id, category, summary, item_count, redactions, lesson_id,
                                      lesson_file, no_lesson)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) RETURNING failure_no",
        )?
        .query_row(
            params![
                failure.id,
                run_id,
                failure.category,
                bounded(summary),
                to_sql(items as u64),
                to_sql(failure.redactions as u64),
                lesson,
                file,
                none
            ],
            |row| row.get(0),
        )?;
    let mut insert_file =
        transaction.prepare_cached("INSERT INTO failure_files VALUES (?1, ?2) ON CONFLICT DO NOTHING")?;
    for file in &failure.files {
        insert_file.execute(params![failure_no, file])?;
    }
    for (index, item) in failure.items.iter().enumerate() {
        if failure.items[..index].iter().all(|earlier| earlier.pattern != item.pattern) {
            let same = failure.items[index..].iter().filter(|other| other.pattern == item.pattern);
            let count = same.map(|item| u64::from(item.count)).sum();
            insert_occurrence(transaction, run_id, failure_no, task, at, item, count)?;
        }
    }
    Ok(())
}

fn insert_occurrence(
    transaction: &Transaction<'_>,
    run_id: &str,
    failure_no: i64,
    task: i64,
    at: &str,
    item: &Item,
    count: u64,
) -> rusqlite::Result<()> {
    // The texts come from the run with the smallest id, so that they don't depend on the order of events.
    let pattern: i64 = transaction
        .prepare_cached(
            "INSERT INTO qa_failure_patterns (pattern_id, pattern_key, family_key, tool, code, masked, masked_family,
                                              described_by, first_seen, last_seen, failure_count)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9, 1)
             ON CONFLICT (pattern_key) DO UPDATE SET
                 failure_count = failure_count + 1,
                 first_seen = min(first_seen, ?9),
                 last_seen = max(last_seen, ?9),
                 family_key = iif(?8 < described_by, ?3, family_key),
                 tool = iif(?8 < described_by, ?4, tool),
                 code = iif(?8 < described_by, ?5, code),
                 masked = iif(?8 < described_by, ?6, masked),
                 masked_family = iif(?8 < described_by, ?7, masked_family),
                 described_by = min(described_by, ?8)
             RETURNING pattern_no",
        )?
        .query_row(
            params![
                ids::short(Kind::Pattern, item.pattern.as_bytes()),
                item.pattern,
                item.family,
                item.tool,
                item.code,
                bounded(&item.masked),
                bounded(&item.masked_family),
                run_id,
                at
            ],
            |row| row.get(0),
        )?;
    transaction
        .prepare_cached("INSERT INTO qa_pattern_occurrences VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")?
        .execute(params![
            pattern,
            failure_no,
            task,
            at,
            to_sql(count),
            item.file,
            item.line.filter(|&line| line > 0),
            item.test,
            bounded(said(item))
        ])?;
    Ok(())
}

/// What an item says: its message, else the test's name, else the code.
fn said(item: &Item) -> &str {
    let texts = [Some(item.message.as_str()), item.test.as_deref(), item.code.as_deref()];
    texts.into_iter().flatten().find(|text| !text.trim().is_empty()).unwrap_or("a failure without a message")
}

fn bounded(message: &str) -> String {
    text::ellipsis(&text::one_line(message), SUMMARY_BYTES_MAX)
}
