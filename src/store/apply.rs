//! Applies one event to the index. Commutative: any order of the same events gives the same rows.

mod advice;
mod fix;
mod gate;
mod knowledge;
mod learn;
mod lesson;
mod memory;
mod outcome;
mod pattern;
mod phase;
mod promotion;
mod receipt;
mod rollup;
mod run;
mod snapshot;
mod strategy;

use rusqlite::{Transaction, params};

pub(super) use advice::places_of_file;
pub(super) use knowledge::{forget_entry, insert_entry, places_of_path};
pub(super) use rollup::recount_marked_fixes;

use super::segment::LineSpan;
use crate::base::ids::RunId;
use crate::event::{Event, EventBody, Purge};

/// What applying an event led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ApplyResult {
    /// The index has it.
    Done,
    /// The index misses an event before it, or has counted what it reverts: the index must be rebuilt.
    Outdated,
}

/// Applies `event`, whose line is at `span` of segment `segment_no`. An event that is there already changes nothing.
pub(super) fn apply_event(
    transaction: &Transaction<'_>,
    segment_no: i64,
    span: LineSpan,
    event: &Event,
) -> rusqlite::Result<ApplyResult> {
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
        // What was imported and is imported again as trusted is from then on at its new place.
        transaction
            .prepare_cached(
                "UPDATE events SET segment_no = ?2, start = ?3, len = ?4 WHERE event_id = ?1
                     AND segment_no IN (SELECT segment_no FROM segments WHERE substr(name, 1, 9) = 'imported.')
                     AND ?2 NOT IN (SELECT segment_no FROM segments WHERE substr(name, 1, 9) = 'imported.')",
            )?
            .execute(params![id, segment_no, to_sql(span.start), to_sql(span.len)])?;
        return Ok(ApplyResult::Done);
    }
    match &event.body {
        EventBody::Run(run) => run::insert_run(transaction, &id, run)?,
        EventBody::Lesson(change) => lesson::insert_lesson_change(transaction, &id, &event.at.rfc3339(), change)?,
        EventBody::Attempt(attempt) => fix::insert_attempt(transaction, &id, attempt, &event.body.quoted_runs())?,
        EventBody::Flake(flake) => fix::insert_flake(transaction, &id, flake, &event.body.quoted_runs())?,
        EventBody::FixNote(note) => fix::insert_fix_note(transaction, &id, &event.at.rfc3339(), note)?,
        EventBody::Snapshot(snapshot) => {
            snapshot::insert_snapshot(transaction, &id, &event.at.rfc3339(), snapshot, &event.body.quoted_runs())?;
        }
        EventBody::Merge(merge) => pattern::insert_merge(transaction, &id, &event.at.rfc3339(), merge)?,
        EventBody::Split(split) => pattern::insert_split(transaction, &id, &event.at.rfc3339(), split)?,
        EventBody::Review(review) => pattern::insert_review(transaction, &id, &event.at.rfc3339(), review)?,
        EventBody::Task(note) => advice::insert_task_note(transaction, &id, &event.at.rfc3339(), note)?,
        EventBody::Delivery(delivery) => advice::insert_delivery(transaction, &id, &event.at.rfc3339(), delivery)?,
        EventBody::Ack(ack) => advice::insert_ack(transaction, &id, &event.at.rfc3339(), ack)?,
        EventBody::Knowledge(note) => knowledge::insert_entry_note(transaction, &id, &event.at.rfc3339(), note)?,
        EventBody::Strategy(note) => strategy::insert_strategy_note(transaction, &id, &event.at.rfc3339(), note)?,
        EventBody::Memory(note) => memory::insert_memory_note(transaction, &id, &event.at.rfc3339(), note)?,
        EventBody::Promotion(said) => promotion::insert_promotion(transaction, &id, &event.at.rfc3339(), said)?,
        EventBody::Gate(note) => gate::insert_gate_note(transaction, &id, &event.at.rfc3339(), note)?,
        EventBody::Receipt(receipt) => receipt::insert_receipt(transaction, &id, event, receipt)?,
        EventBody::SignedReceipt(signed) => receipt::insert_signed_receipt(transaction, &id, signed)?,
        EventBody::Phase(note) => phase::insert_phase_note(transaction, &id, &event.at.rfc3339(), note)?,
        EventBody::Learn(note) => learn::insert_learn_note(transaction, &id, event, note)?,
        EventBody::Library(note) => learn::insert_library_note(transaction, &id, event, note)?,
        EventBody::Purge(purge) => return purge_runs(transaction, purge),
    }
    Ok(ApplyResult::Done)
}

/// Remembers purged runs, also for segments that come later and still have them.
fn purge_runs(transaction: &Transaction<'_>, purge: &Purge) -> rusqlite::Result<ApplyResult> {
    let mut applied = ApplyResult::Done;
    for RunId(id) in &purge.runs {
        let id = id.hyphenated().to_string();
        transaction.prepare_cached("INSERT INTO purged_runs VALUES (?1) ON CONFLICT DO NOTHING")?.execute([&id])?;
        let known = "SELECT 1 FROM runs WHERE run_id = ?1 UNION SELECT 1 FROM event_runs WHERE run_id = ?1";
        if transaction.prepare_cached(known)?.exists([&id])? {
            applied = ApplyResult::Outdated;
        }
    }
    Ok(applied)
}

fn to_sql(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
