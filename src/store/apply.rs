//! One event into the index. Commutative: any order of the same events gives the same rows.

use rusqlite::{Transaction, params};

use super::event::{Body, Change, Event, Failure, Item, LessonChange, LessonDecision, Purge, Run};
use super::segment::Span;
use crate::base::ids::{self, Kind, RunId};
use crate::base::text;
use crate::run::Ended;
use crate::whitelist::CheckKind;

/// A failure's summary and an occurrence's message, bytes.
const SUMMARY_BYTES_MAX: usize = 300;

/// What applying an event led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Applied {
    /// The index has it.
    Done,
    /// The index misses an event before it, or has counted what it takes back: the index must be rebuilt.
    Outdated,
}

/// Applies `event`, whose line is at `span` of segment `segment_no`. An event that is there already changes nothing.
pub(super) fn apply(
    transaction: &Transaction<'_>,
    segment_no: i64,
    span: Span,
    event: &Event,
) -> rusqlite::Result<Applied> {
    let id = event.id.hyphenated().to_string();
    let new = transaction
        .prepare_cached("INSERT INTO events VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING")?
        .execute(params![
            id,
            event.body.kind(),
            event.at.rfc3339(),
            segment_no,
            to_sql(span.start),
            to_sql(span.len)
        ])?;
    if new == 0 {
        return Ok(Applied::Done);
    }
    match &event.body {
        Body::Run(run) => insert_run(transaction, &id, run)?,
        Body::Lesson(change) => insert_lesson_change(transaction, &id, &event.at.rfc3339(), change)?,
        Body::Purge(purge) => return purge_runs(transaction, purge),
    }
    Ok(Applied::Done)
}

fn insert_run(transaction: &Transaction<'_>, id: &str, run: &Run) -> rusqlite::Result<()> {
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
                               started_at, ended_at, duration_us, exit_code, signal, branch, commit_id)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
        )?
        .execute(params![
            id,
            task,
            run.session,
            run.agent,
            run.tool,
            run.check.map(CheckKind::as_str),
            super::json(&run.argv),
            super::json(&run.root),
            super::json(&run.dir),
            run.key,
            started,
            run.ended_at.rfc3339(),
            to_sql(run.duration_us),
            exit_code,
            signal,
            run.branch,
            run.commit,
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

fn insert_lesson_change(
    transaction: &Transaction<'_>,
    event_id: &str,
    at: &str,
    change: &LessonChange,
) -> rusqlite::Result<()> {
    let name = match &change.change {
        Change::Forgotten { .. } => "forgotten",
        Change::Annotated { .. } => "annotated",
        Change::Edited { .. } => "edited",
    };
    transaction.prepare_cached("INSERT INTO lesson_changes VALUES (?1, ?2, ?3, ?4)")?.execute(params![
        event_id,
        change.lesson,
        name,
        at
    ])?;
    if let Change::Forgotten { patterns } = &change.change {
        let mut forget =
            transaction.prepare_cached("INSERT INTO forgotten_patterns VALUES (?1, ?2) ON CONFLICT DO NOTHING")?;
        for pattern in patterns {
            forget.execute(params![pattern, event_id])?;
        }
    }
    Ok(())
}

/// Remembers purged runs, also for segments that come later and still have them.
fn purge_runs(transaction: &Transaction<'_>, purge: &Purge) -> rusqlite::Result<Applied> {
    let mut applied = Applied::Done;
    for RunId(id) in &purge.runs {
        let id = id.hyphenated().to_string();
        transaction.prepare_cached("INSERT INTO purged_runs VALUES (?1) ON CONFLICT DO NOTHING")?.execute([&id])?;
        if transaction.prepare_cached("SELECT 1 FROM runs WHERE run_id = ?1")?.exists([&id])? {
            applied = Applied::Outdated;
        }
    }
    Ok(applied)
}

/// What an item says: its message, else the test's name, else the code.
fn said(item: &Item) -> &str {
    let texts = [Some(item.message.as_str()), item.test.as_deref(), item.code.as_deref()];
    texts.into_iter().flatten().find(|text| !text.trim().is_empty()).unwrap_or("a failure without a message")
}

fn bounded(message: &str) -> String {
    text::ellipsis(&text::one_line(message), SUMMARY_BYTES_MAX)
}

fn to_sql(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
