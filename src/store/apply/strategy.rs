//! Applies what an attempt proves about its strategy, for each open pattern, and what later events change about that.

use rusqlite::{Params, Transaction, params};

use super::rollup::{self, TaskHelp};

use crate::base::ids;
use crate::base::text;
use crate::event::{
    Attempt, AttemptMeans, AttemptOutcome, Recipe, RecipeKind, StrategyChange, StrategyNote, Technique,
};
use crate::store::to_json;

/// A strategy's label, bytes.
const LABEL_BYTES_MAX: usize = 200;
/// Patterns of one attempt that count for strategies, in the order of the output.
const PATTERNS_MAX: usize = 20;
/// Hunks of one attempt that are strategies of their own.
const SHAPES_MAX: usize = 4;

/// Why an attempt doesn't count as what it is recorded as. A function of what is in the index, so that the order in
/// which events come doesn't matter: whatever changes it asks for it again.
const DISCOUNTED: &str = "CASE
    WHEN EXISTS (SELECT 1 FROM fix_attempts a JOIN flakes k ON k.fail_run IN (a.before_run, a.opened_by)
                 JOIN flake_patterns p ON p.event_id = k.event_id
                 JOIN strategies r ON r.error_pattern = p.pattern_key
                 WHERE a.event_id = s.event_id AND r.strategy_no = s.strategy_no AND k.proof = 'proven') THEN 'flaky'
    WHEN EXISTS (SELECT 1 FROM strategy_tries o WHERE o.run_id = s.run_id AND o.strategy_no = s.strategy_no
                 AND o.event_id < s.event_id) THEN 'repeated'
    WHEN s.outcome = 'success' AND EXISTS (
        SELECT 1 FROM occurrences o
        WHERE o.task_no = (SELECT task_no FROM tasks WHERE name = s.task) AND o.at > s.at AND o.pattern_no IN (
            SELECT pattern_no FROM strategies JOIN patterns ON pattern_key = error_pattern
            WHERE strategy_no = s.strategy_no
            UNION ALL SELECT pattern_no FROM strategies JOIN recorded_keys ON recorded_key = error_pattern
            WHERE strategy_no = s.strategy_no)) THEN 'recurred'
    END";

/// Counts an attempt for what was tried in it. One in which nothing was changed, or that passed because the check was
/// made weaker, tried nothing.
pub(super) fn insert_tries(transaction: &Transaction<'_>, id: &str, attempt: &Attempt) -> rusqlite::Result<()> {
    let tried = tried_recipes(attempt);
    if attempt.means == AttemptMeans::None || attempt.is_weakened() || tried.is_empty() {
        return Ok(());
    }
    let mut strategy = transaction.prepare_cached(
        "INSERT INTO strategies
             (strategy_id, match, error_pattern, technique, recipe_key, label, described_by)
         VALUES (?1, 'pattern', ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT (match, error_pattern, technique, recipe_key) DO UPDATE SET
             label = iif(?6 < described_by, ?5, label), described_by = min(described_by, ?6)
         RETURNING strategy_no",
    )?;
    let mut insert = transaction
        .prepare_cached("INSERT INTO strategy_tries VALUES (?1, ?2, ?3, ?4, ?5, ?6, NULL) ON CONFLICT DO NOTHING")?;
    let mut entry = transaction.prepare_cached(
        "INSERT INTO entries (entry_id, type, pattern_key) VALUES (?1, 'gotcha', ?2) ON CONFLICT DO NOTHING",
    )?;
    let (run, at) = (attempt.run.to_string(), attempt.ended_at.rfc3339());
    let mut learnt = TaskHelp::new();
    for (pattern, outcome) in pattern_outcomes(attempt) {
        if outcome == AttemptOutcome::Success && entry.execute([ids::gotcha(pattern).as_str(), pattern])? > 0 {
            learnt.extend(tasks_of_tries(transaction, pattern)?);
        }
        for recipe in &tried {
            let technique = recipe.kind.as_str();
            let label = text::ellipsis(&text::one_line(&recipe.label), LABEL_BYTES_MAX);
            let strategy_id = ids::strategy(pattern, technique, &recipe.key);
            let number: i64 = strategy
                .query_row(params![strategy_id, pattern, technique, recipe.key, label, id], |row| row.get(0))?;
            insert.execute(params![number, id, run, attempt.task, at, outcome.as_str()])?;
            count_reports(transaction, number, &strategy_id)?;
        }
    }
    update_discounts_where(transaction, "s.run_id = ?1", [&run])?;
    rollup::update_helped_tasks(transaction, &learnt)
}

/// The tasks in which something was tried against a pattern.
fn tasks_of_tries(transaction: &Transaction<'_>, pattern: &str) -> rusqlite::Result<TaskHelp> {
    transaction
        .prepare_cached(
            "SELECT DISTINCT error_pattern, task FROM strategies CROSS JOIN strategy_tries USING (strategy_no)
             WHERE error_pattern = ?1",
        )?
        .query_map([pattern], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}

/// Takes a proposed strategy, or the reported outcome of any strategy.
pub(super) fn insert_strategy_note(
    transaction: &Transaction<'_>,
    id: &str,
    at: &str,
    note: &StrategyNote,
) -> rusqlite::Result<()> {
    match &note.change {
        StrategyChange::Created { matches, text, technique, steps, declared } => {
            if text.is_empty() || technique.is_empty() {
                // Written by hand: it is against nothing.
                return Ok(());
            }
            let error = matches.normalize_text(text);
            let (strategy, kind, key) = match declared {
                true => (note.strategy.clone(), Technique::Declared.as_str(), &note.strategy),
                false => (ids::said_strategy(matches.as_str(), &error, technique), Technique::Said.as_str(), technique),
            };
            let label = text::ellipsis(&text::one_line(technique), LABEL_BYTES_MAX);
            let number: i64 = transaction
                .prepare_cached(
                    "INSERT INTO strategies
                         (strategy_id, match, error_pattern, technique, recipe_key, label, described_by, steps)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
                     ON CONFLICT (match, error_pattern, technique, recipe_key) DO UPDATE SET
                         strategy_id = iif(?7 < described_by, ?1, strategy_id),
                         label = iif(?7 < described_by, ?6, label), steps = iif(?7 < described_by, ?8, steps),
                         described_by = min(described_by, ?7)
                     RETURNING strategy_no",
                )?
                .query_row(params![strategy, matches.as_str(), error, kind, key, label, id, to_json(steps)], |row| {
                    row.get(0)
                })?;
            count_reports(transaction, number, &strategy)
        }
        StrategyChange::Attempted { outcome, category, file_type, note: said } => {
            let by = &note.by;
            transaction
                .prepare_cached("INSERT INTO strategy_reports VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")?
                .execute(params![
                    id,
                    note.strategy,
                    at,
                    outcome.as_str(),
                    category,
                    file_type,
                    said,
                    by.agent,
                    by.session,
                    by.task
                ])?;
            let mut find = transaction.prepare_cached("SELECT strategy_no FROM strategies WHERE strategy_id = ?1")?;
            let numbers =
                find.query_map([&note.strategy], |row| row.get(0))?.collect::<rusqlite::Result<Vec<i64>>>()?;
            for number in numbers {
                count_reports(transaction, number, &note.strategy)?;
            }
            Ok(())
        }
    }
}

/// Counts what was said of a strategy, which may have come before it.
fn count_reports(transaction: &Transaction<'_>, number: i64, strategy: &str) -> rusqlite::Result<()> {
    let new = transaction
        .prepare_cached(
            "INSERT INTO strategy_tries
             SELECT ?1, event_id, NULL, coalesce(task, ''), at, outcome, NULL FROM strategy_reports WHERE strategy_id = ?2
             ON CONFLICT DO NOTHING",
        )?
        .execute(params![number, strategy])?;
    if new == 0 {
        return Ok(());
    }
    update_discounts_where(transaction, "s.strategy_no = ?1 AND s.run_id IS NULL", [number])
}

/// The outcome of each pattern: gone, still there, or the one here and the other there.
fn pattern_outcomes(attempt: &Attempt) -> Vec<(&str, AttemptOutcome)> {
    let mut found: Vec<(&str, AttemptOutcome)> = Vec::new();
    for (atoms, outcome) in [(&attempt.fixed, AttemptOutcome::Success), (&attempt.persisted, AttemptOutcome::Failure)] {
        for atom in &atoms.first {
            match found.iter().position(|(pattern, _)| *pattern == atom.pattern) {
                Some(at) if found[at].1 != outcome => found[at].1 = AttemptOutcome::Partial,
                Some(_) => {}
                None if found.len() < PATTERNS_MAX => found.push((&atom.pattern, outcome)),
                None => {}
            }
        }
    }
    found
}

/// The recipes that an attempt tried. Where a command did it, what it wrote into lock files is no technique.
fn tried_recipes(attempt: &Attempt) -> Vec<&Recipe> {
    let is_command = |recipe: &&Recipe| recipe.kind == RecipeKind::Command;
    let only_commands =
        attempt.means == AttemptMeans::Command && attempt.recipes.iter().any(|recipe| is_command(&recipe));
    let recipes = attempt.recipes.iter().filter(|recipe| !only_commands || is_command(recipe));
    let mut shapes = 0;
    recipes
        .filter(|recipe| {
            shapes += usize::from(recipe.kind == RecipeKind::Shape);
            recipe.kind != RecipeKind::Shape || shapes <= SHAPES_MAX
        })
        .collect()
}

/// Judges the attempts at what is a flake now.
pub(super) fn update_discounts_of_flake(transaction: &Transaction<'_>, fail_run: &str) -> rusqlite::Result<()> {
    update_discounts_where(
        transaction,
        "s.event_id IN (SELECT event_id FROM fix_attempts WHERE before_run = ?1
                        UNION SELECT event_id FROM fix_attempts WHERE opened_by = ?1)",
        [fail_run],
    )
}

/// Judges the attempts that a new failure may revert: earlier ones of its task at what is in it. With `any_task` all
/// attempts at that: an older key is known for a pattern's from now on.
pub(super) fn update_discounts_of_failure(
    transaction: &Transaction<'_>,
    failure_no: i64,
    task: &str,
    at: &str,
    any_task: bool,
) -> rusqlite::Result<()> {
    let patterns = "s.outcome = 'success' AND s.strategy_no IN (
        SELECT strategy_no FROM occurrences JOIN patterns USING (pattern_no)
        JOIN strategies ON error_pattern = pattern_key WHERE failure_no = ?1
        UNION SELECT strategy_no FROM occurrences JOIN recorded_keys USING (pattern_no)
        JOIN strategies ON error_pattern = recorded_key WHERE failure_no = ?1)";
    if any_task {
        return update_discounts_where(transaction, patterns, [failure_no]);
    }
    // Most failures come where nothing was tried before: that is one look-up.
    let earlier = "SELECT 1 FROM strategy_tries WHERE task = ?1 AND at < ?2 LIMIT 1";
    if !transaction.prepare_cached(earlier)?.exists([task, at])? {
        return Ok(());
    }
    update_discounts_where(
        transaction,
        &format!("s.task = ?2 AND s.at < ?3 AND {patterns}"),
        params![failure_no, task, at],
    )
}

fn update_discounts_where(
    transaction: &Transaction<'_>,
    which: &str,
    parameters: impl Params + Clone,
) -> rusqlite::Result<()> {
    let sql = format!("UPDATE strategy_tries AS s SET discounted = {DISCOUNTED} WHERE {which}");
    if transaction.prepare_cached(&sql)?.execute(parameters.clone())? == 0 {
        return Ok(());
    }
    let sql = format!(
        "SELECT DISTINCT t.error_pattern, s.task FROM strategy_tries s
         JOIN strategies t ON t.strategy_no = s.strategy_no WHERE {which}"
    );
    let changed: TaskHelp = transaction
        .prepare_cached(&sql)?
        .query_map(parameters, |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    rollup::update_helped_tasks(transaction, &changed)
}
