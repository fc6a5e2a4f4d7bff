//! Applies attempts, flakes and notes to their tables.

use std::collections::BTreeSet;

use rusqlite::{OptionalExtension, Transaction, params};

use super::{outcome, rollup, strategy, to_sql};
use crate::base::ids::{self, RunId};
use crate::base::text;
use crate::event::{AtomList, Attempt, AttemptOutcome, FixNote, Flake, FlakeProof};
use crate::store::to_json;

/// A recipe's label, bytes.
const LABEL_BYTES_MAX: usize = 200;

/// Remembers which runs an event quotes. `false`: one of them was purged, and the event with it.
pub(super) fn insert_quoted_runs(transaction: &Transaction<'_>, id: &str, runs: &[RunId]) -> rusqlite::Result<bool> {
    let runs: BTreeSet<String> = runs.iter().map(ToString::to_string).collect();
    let mut purged = transaction.prepare_cached("SELECT 1 FROM purged_runs WHERE run_id = ?1")?;
    for run in &runs {
        if purged.exists([run])? {
            return Ok(false);
        }
    }
    let mut insert = transaction.prepare_cached("INSERT INTO event_runs VALUES (?1, ?2)")?;
    for run in &runs {
        insert.execute([id, run])?;
    }
    Ok(true)
}

pub(super) fn insert_attempt(
    transaction: &Transaction<'_>,
    id: &str,
    attempt: &Attempt,
    quoted: &[RunId],
) -> rusqlite::Result<()> {
    if !insert_quoted_runs(transaction, id, quoted)? {
        return Ok(());
    }
    let (run, fix) = (attempt.run.to_string(), ids::fix(&attempt.key, attempt.opened_by));
    let count = rollup::count_run(transaction, &run)?;
    let (added, removed) =
        attempt.files.iter().fold((0, 0), |(added, removed), file| (added + file.added, removed + file.removed));
    transaction
        .prepare_cached(
            "INSERT INTO fix_attempts VALUES
             (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22)",
        )?
        .execute(params![
            id,
            fix,
            attempt.key,
            to_json(&attempt.root),
            run,
            attempt.opened_by.to_string(),
            attempt.before.to_string(),
            attempt.task,
            attempt.ended_at.rfc3339(),
            to_sql(attempt.duration_us),
            attempt.outcome.as_str(),
            attempt.means.as_str(),
            attempt.trees.as_ref().map(|trees| trees.exact),
            to_sql(attempt.fixed.count as u64),
            to_sql(attempt.introduced.count as u64),
            to_sql(attempt.persisted.count as u64),
            to_sql(attempt.not_reached.count as u64),
            to_sql((attempt.files.len() + attempt.files_cut) as u64),
            to_sql(added),
            to_sql(removed),
            to_sql(attempt.weakened.iter().filter(|mark| mark.certain).count() as u64),
            attempt.undo
        ])?;
    let roles = [
        ("fixed", &attempt.fixed),
        ("introduced", &attempt.introduced),
        ("persisted", &attempt.persisted),
        ("not_reached", &attempt.not_reached),
    ];
    let mut insert =
        transaction.prepare_cached("INSERT INTO attempt_patterns VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING")?;
    for (role, atoms) in roles {
        for pattern in pattern_keys(atoms) {
            insert.execute([id, role, pattern])?;
        }
    }
    let mut insert = transaction.prepare_cached("INSERT INTO attempt_files VALUES (?1, ?2) ON CONFLICT DO NOTHING")?;
    for file in attempt.related_files() {
        insert.execute([id, &file.path.display()])?;
    }
    let mut insert =
        transaction.prepare_cached("INSERT INTO attempt_recipes VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING")?;
    for recipe in &attempt.recipes {
        let label = text::ellipsis(&text::one_line(&recipe.label), LABEL_BYTES_MAX);
        insert.execute([id, recipe.kind.as_str(), &recipe.key, &label])?;
    }
    rollup::replace_run_count(transaction, &run, count)?;
    rollup::mark_fix(transaction, &fix)?;
    if attempt.outcome == AttemptOutcome::Success {
        rollup::close_by_attempt(transaction, &attempt.key, &attempt.ended_at.rfc3339())?;
    }
    strategy::insert_tries(transaction, id, attempt)
}

/// Pattern keys, each once.
fn pattern_keys(atoms: &AtomList) -> BTreeSet<&str> {
    atoms.first.iter().map(|atom| atom.pattern.as_str()).collect()
}

pub(super) fn insert_flake(
    transaction: &Transaction<'_>,
    id: &str,
    flake: &Flake,
    quoted: &[RunId],
) -> rusqlite::Result<()> {
    if !insert_quoted_runs(transaction, id, quoted)? {
        return Ok(());
    }
    let [without, with] = flake.runs;
    transaction.prepare_cached("INSERT INTO flakes VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")?.execute(
        params![
            id,
            flake.key,
            to_json(&flake.root),
            flake.task,
            flake.ended_at.rfc3339(),
            without.to_string(),
            with.to_string(),
            flake.proof.as_str(),
            flake.why,
            to_sql(flake.atoms.count as u64)
        ],
    )?;
    let mut insert = transaction.prepare_cached("INSERT INTO flake_patterns VALUES (?1, ?2) ON CONFLICT DO NOTHING")?;
    for pattern in &flake.patterns {
        insert.execute([id, pattern])?;
    }
    if flake.proof == FlakeProof::Proven {
        recount_failure(transaction, &with.to_string())?;
    }
    strategy::update_discounts_of_flake(transaction, &with.to_string())?;
    outcome::judge_deliveries_of_run(transaction, &with.to_string())
}

/// Counts a failing run and its fixes again: something in it is a proven flake.
fn recount_failure(transaction: &Transaction<'_>, run: &str) -> rusqlite::Result<()> {
    let failure: Option<i64> = transaction
        .prepare_cached("SELECT failure_no FROM failures WHERE run_id = ?1")?
        .query_row([run], |row| row.get(0))
        .optional()?;
    if let Some(failure) = failure {
        rollup::recount_flakes(transaction, failure)?;
    }
    rollup::mark_fixes_of_flake(transaction, run)
}

pub(super) fn insert_fix_note(
    transaction: &Transaction<'_>,
    id: &str,
    at: &str,
    note: &FixNote,
) -> rusqlite::Result<()> {
    transaction.prepare_cached("INSERT INTO fix_notes VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?.execute(params![
        id,
        note.fix,
        at,
        note.cause,
        note.approach,
        note.rule,
        note.by,
        note.declined
    ])?;
    Ok(())
}
