//! Applies runs, failures and occurrences to their tables.

use std::collections::{BTreeSet, HashMap};

use rusqlite::{Transaction, params};

use super::rollup::{self, CheckEnd, FailureCell, PatternChanges, RunCell, SeenPattern};
use super::{advice, outcome, pattern, strategy, to_sql};
use crate::base::ids::{self, IdKind};
use crate::base::text;
use crate::config::Category;
use crate::event::{DiagnosticRecord, Failure, LessonDecision, NoLessonReason, Run};
use crate::fingerprint::{self, Fingerprint};
use crate::run::CommandEnd;
use crate::store::to_json;
use crate::whitelist::CheckKind;

/// A failure's summary and an occurrence's message, bytes.
const SUMMARY_BYTES_MAX: usize = 300;

pub(super) fn insert_run(transaction: &Transaction<'_>, id: &str, run: &Run) -> rusqlite::Result<()> {
    if transaction.prepare_cached("SELECT 1 FROM purged_runs WHERE run_id = ?1")?.exists([id])? {
        return Ok(());
    }
    let started = run.started_at.rfc3339();
    let task = advice::upsert_task(transaction, &run.task, &started)?;
    let (exit_code, signal) = match run.ended {
        CommandEnd::Exit(code) => (Some(code), None),
        CommandEnd::Signal(signal) => (None, Some(signal)),
    };
    let run_no = transaction
        .prepare_cached(
            "INSERT INTO runs (run_id, task_no, session, agent, tool, check_kind, argv, root, dir, command_key,
                               started_at, ended_at, duration_us, exit_code, signal, branch, commit_id, class_key,
                               own_status, selectors, model, phase)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21,
                     ?22)",
        )?
        .insert(params![
            id,
            task,
            run.session,
            run.agent,
            run.tool,
            run.check.map(CheckKind::as_str),
            to_json(&run.argv),
            to_json(&run.root),
            to_json(&run.dir),
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
            run.scope.as_ref().map(|scope| to_json(&scope.selectors)),
            run.model,
            run.phase.map(|phase| phase.as_str()),
        ])?;
    let cell = RunCell::new(transaction, task, run)?;
    let end = CheckEnd { key: &run.key, branch: run.branch.as_deref(), at: &run.ended_at.rfc3339() };
    if run.ended.passed() && !run.scope.as_ref().is_some_and(|scope| scope.foreign_status) {
        rollup::close_by_pass(transaction, &end)?;
    }
    let Some(failure) = &run.failure else {
        let counts = (!run.ended.passed()).then_some(true);
        rollup::add_run(transaction, run_no, &cell, (id, &run.key), counts)?;
        return outcome::judge_deliveries_of_task(transaction, task, &started);
    };
    let context = FailureContext { task, run, at: &started };
    let inserted = insert_failure(transaction, id, &context, failure)?;
    count_failure(transaction, id, (run_no, cell), &run.key, &inserted)?;
    if !run.ended.passed() {
        rollup::add_open_failure(transaction, inserted.number, &end)?;
    }
    outcome::judge_deliveries_of_task(transaction, task, &started)
}

/// Counts a failing run and what it changed.
fn count_failure(
    transaction: &Transaction<'_>,
    run_id: &str,
    (run_no, cell): (i64, RunCell),
    key: &str,
    inserted: &InsertedFailure,
) -> rusqlite::Result<()> {
    let InsertedFailure { number, category, has_flakes, counts, changes } = inserted;
    let cell = FailureCell { run: cell, category: rollup::name_number(transaction, category.as_str())? };
    rollup::add_run(transaction, run_no, &cell.run, (run_id, key), Some(*counts))?;
    if *counts {
        rollup::add_failure(transaction, &cell.run, cell.category)?;
    }
    rollup::add_failure_to_patterns(transaction, *number, &cell, changes, *has_flakes)?;
    for &pattern in &changes.rekeyed {
        rollup::recount_flakes_of_pattern(transaction, pattern)?;
    }
    rollup::mark_fixes_of_failure(transaction, run_id)
}

/// A failure that is in the index now, as it is counted.
struct InsertedFailure {
    /// Its row number.
    number: i64,
    category: Category,
    /// Something in it is known as a proven flake.
    has_flakes: bool,
    /// Rates count it.
    counts: bool,
    changes: PatternChanges,
}

/// Where a failure belongs.
struct FailureContext<'a> {
    task: i64,
    run: &'a Run,
    /// When it was started.
    at: &'a str,
}

impl FailureContext<'_> {
    /// The tool class.
    fn tool_class(&self) -> Option<&str> {
        self.run.scope.as_ref().map(|scope| &scope.subject).or(self.run.tool.as_ref()).map(String::as_str)
    }
}

fn insert_failure(
    transaction: &Transaction<'_>,
    run_id: &str,
    context: &FailureContext<'_>,
    failure: &Failure,
) -> rusqlite::Result<InsertedFailure> {
    // A user-defined category comes with the event: which ones are declared here makes no difference.
    let category = Category::named(&failure.category).unwrap_or(Category::Other);
    transaction
        .prepare_cached(
            "INSERT INTO failure_categories VALUES (?1, ?2)
             ON CONFLICT DO UPDATE SET description = max(description, excluded.description)",
        )?
        .execute([category.as_str(), failure.category_description.as_deref().unwrap_or_default()])?;
    let (lesson, file, none) = match &failure.lesson {
        LessonDecision::Written { id, file, .. } => (Some(id), Some(file), None),
        LessonDecision::Known => (None, None, Some("known")),
        LessonDecision::Forgotten => (None, None, Some("forgotten")),
        LessonDecision::Cancelled => (None, None, Some("cancelled")),
        // The first three say nothing about the code, like cancelled ones.
        LessonDecision::Unwanted {
            why: NoLessonReason::UsageError | NoLessonReason::Interrupted | NoLessonReason::Watch,
        } => (None, None, Some("cancelled")),
        LessonDecision::Unwanted { why: NoLessonReason::Unseen | NoLessonReason::Formatter } => {
            (None, None, Some("known"))
        }
    };
    let items: usize = failure.items.iter().map(|item| item.count as usize).sum::<usize>() + failure.items_cut;
    let summary = failure.items.first().map_or("", diagnostic_text);
    let failure_no: i64 = transaction
        .prepare_cached(
            "INSERT INTO failures (failure_id, run_id, category, summary, item_count, redactions, lesson_id,
                                      lesson_file, no_lesson, uncounted)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) RETURNING failure_no",
        )?
        .query_row(
            params![
                failure.id,
                run_id,
                category.as_str(),
                bound_text(summary),
                to_sql(items as u64),
                to_sql(failure.redactions as u64),
                lesson,
                file,
                none,
                none.filter(|&none| none == "cancelled")
            ],
            |row| row.get(0),
        )?;
    let mut insert_file =
        transaction.prepare_cached("INSERT INTO failure_files VALUES (?1, ?2) ON CONFLICT DO NOTHING")?;
    for file in &failure.files {
        insert_file.execute(params![failure_no, file])?;
    }
    let (mut has_older_keys, mut shown_anew) = (false, BTreeSet::new());
    let mut changes = PatternChanges::default();
    for seen in pattern_occurrences(failure) {
        has_older_keys |= !seen.recorded.is_empty();
        let (pattern, reads_anew) = insert_occurrence(transaction, run_id, failure_no, context, &seen, &mut changes)?;
        if insert_pattern_check(transaction, pattern, context.run)? || reads_anew {
            shown_anew.insert(pattern);
        }
    }
    let has_flakes = rollup::has_flakes(transaction, run_id)?;
    let counts = if has_flakes { rollup::mark_flakes(transaction, failure_no)? } else { none != Some("cancelled") };
    outcome::judge_deliveries_of_patterns(transaction, &shown_anew)?;
    strategy::update_discounts_of_failure(transaction, failure_no, &context.run.task, context.at, has_older_keys)?;
    Ok(InsertedFailure { number: failure_no, category, has_flakes, counts, changes })
}

/// A pattern in one failure.
struct RecordedOccurrence<'a> {
    /// Its first item.
    item: &'a DiagnosticRecord,
    /// The item's keys and texts, where the event has those of another version.
    rekeyed: Option<Fingerprint>,
    /// The keys that the event has for the pattern, if they aren't this version's.
    recorded: BTreeSet<&'a str>,
    /// How many items it has.
    count: u64,
}

impl RecordedOccurrence<'_> {
    /// Pattern key, family key, masked, masked family.
    fn keys_and_texts(&self) -> [&str; 4] {
        match &self.rekeyed {
            Some(keys) => [&keys.pattern, &keys.family, &keys.masked, &keys.masked_family],
            None => [&self.item.pattern, &self.item.family, &self.item.masked, &self.item.masked_family],
        }
    }
}

/// The failure's patterns in the order of their first items. What names no problem is none, and what a tool says when a
/// user interrupts it is none either.
fn pattern_occurrences(failure: &Failure) -> Vec<RecordedOccurrence<'_>> {
    let mut found: Vec<RecordedOccurrence<'_>> = Vec::new();
    if failure.lesson.is_interrupted() {
        return found;
    }
    let mut by_key: HashMap<String, usize> = HashMap::new();
    for item in failure.items.iter().filter(|item| !item.is_uninformative()) {
        let rekeyed = item.recomputed_fingerprint();
        let recorded = rekeyed.is_some().then_some(item.pattern.as_str());
        let key = rekeyed.as_ref().map_or(&item.pattern, |keys| &keys.pattern).clone();
        let index = *by_key.entry(key).or_insert(found.len());
        if index == found.len() {
            found.push(RecordedOccurrence { item, rekeyed, recorded: BTreeSet::new(), count: 0 });
        }
        found[index].count += u64::from(item.count);
        found[index].recorded.extend(recorded);
    }
    found
}

/// The pattern's number, and whether a key of it or its text is new.
fn insert_occurrence(
    transaction: &Transaction<'_>,
    run_id: &str,
    failure_no: i64,
    context: &FailureContext<'_>,
    seen: &RecordedOccurrence<'_>,
    changes: &mut PatternChanges,
) -> rusqlite::Result<(i64, bool)> {
    let (item, at) = (seen.item, context.at);
    let UpsertedPattern { number, is_new, is_first, is_described } = upsert_pattern(transaction, run_id, at, seen)?;
    transaction.prepare_cached("INSERT INTO occurrences VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 0)")?.execute(
        params![
            number,
            failure_no,
            context.task,
            at,
            to_sql(seen.count),
            item.file,
            item.line.filter(|&line| line > 0),
            item.test,
            bound_text(diagnostic_text(item))
        ],
    )?;
    advice::count_pattern_places(transaction, number, item.file.as_deref(), context.tool_class())?;
    let mut is_new_key = is_new;
    for key in &seen.recorded {
        let new = transaction
            .prepare_cached("INSERT INTO recorded_keys VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING")?
            .execute(params![key, number, ids::short(IdKind::Pattern, key.as_bytes())])?;
        is_new_key |= new > 0;
    }
    if is_new_key && !is_new {
        changes.rekeyed.insert(number);
    }
    let is_grouped = pattern::update_pattern_group(transaction, number, is_new_key, changes)?;
    changes.seen.push(SeenPattern { pattern: number, is_new, is_first, is_grouped });
    Ok((number, is_new_key || is_described))
}

/// Remembers where a pattern was seen; whether that is new.
fn insert_pattern_check(transaction: &Transaction<'_>, pattern: i64, run: &Run) -> rusqlite::Result<bool> {
    let Some(scope) = &run.scope else { return Ok(false) };
    let new = transaction
        .prepare_cached("INSERT INTO pattern_checks VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING")?
        .execute(params![pattern, scope.class, to_json(&run.dir), to_json(&scope.selectors)])?;
    Ok(new > 0)
}

/// A pattern that has an occurrence more.
struct UpsertedPattern {
    /// Its row number.
    number: i64,
    is_new: bool,
    /// It was not seen earlier than in this run.
    is_first: bool,
    /// Its text is that of this run now.
    is_described: bool,
}

fn upsert_pattern(
    transaction: &Transaction<'_>,
    run_id: &str,
    at: &str,
    seen: &RecordedOccurrence<'_>,
) -> rusqlite::Result<UpsertedPattern> {
    let [key, family, masked, masked_family] = seen.keys_and_texts();
    // The texts come from the run with the smallest id, so that they don't depend on the order of events.
    let upserted = transaction
        .prepare_cached(
            "INSERT INTO patterns (pattern_id, pattern_key, family_key, tool, code, masked, masked_family,
                                              described_by, first_seen, last_seen, failure_count, tie)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9, 1, ?10)
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
             RETURNING pattern_no, failure_count = 1, first_seen = ?9, described_by = ?8",
        )?
        .query_row(
            params![
                ids::short(IdKind::Pattern, key.as_bytes()),
                key,
                family,
                seen.item.tool,
                seen.item.code,
                bound_text(masked),
                bound_text(masked_family),
                run_id,
                at,
                order_among_equals(key)
            ],
            |row| {
                let (number, is_new, is_first) = (row.get(0)?, row.get(1)?, row.get(2)?);
                Ok(UpsertedPattern { number, is_new, is_first, is_described: row.get(3)? })
            },
        )?;
    let pattern = upserted.number;
    if upserted.is_described {
        transaction
            .prepare_cached(
                "INSERT OR REPLACE INTO pattern_words (rowid, masked, family, code) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute(params![pattern, bound_text(masked), bound_text(masked_family), seen.item.code])?;
    }
    // The same for every item with this key: scope and sketch are made of what the key is made of.
    if upserted.is_new
        && let Some(near) = fingerprint::sketch_message(&seen.item.to_diagnostic())
    {
        transaction
            .prepare_cached("UPDATE patterns SET near_scope = ?2 WHERE pattern_no = ?1")?
            .execute(params![pattern, near.scope])?;
        let mut insert = transaction.prepare_cached("INSERT INTO near_bands VALUES (?1, ?2) ON CONFLICT DO NOTHING")?;
        for band in near.bands {
            insert.execute(params![band, pattern])?;
        }
    }
    Ok(upserted)
}

/// Where a pattern comes among those that are equal in everything that a list is ordered by: row numbers differ between
/// indexes of the same events.
fn order_among_equals(key: &str) -> i64 {
    let hash = blake3::hash(key.as_bytes());
    hash.as_bytes()[..6].iter().fold(0, |number, &byte| number << 8 | i64::from(byte))
}

/// What an item says: its message, else the test's name, else the code.
fn diagnostic_text(item: &DiagnosticRecord) -> &str {
    let texts = [Some(item.message.as_str()), item.test.as_deref(), item.code.as_deref()];
    texts.into_iter().flatten().find(|text| !text.trim().is_empty()).unwrap_or("a failure without a message")
}

fn bound_text(message: &str) -> String {
    text::ellipsis(&text::one_line(message), SUMMARY_BYTES_MAX)
}
