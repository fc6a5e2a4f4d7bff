//! `fix list`, `fix show` and `fix record`.

use std::collections::HashSet;

use anyhow::{Context as _, bail};
use serde::Serialize;

use super::lesson::{self, LessonAnnotation};
use super::reply::Reply;
use super::request::Request;
use crate::base::clock::Timestamp;
use crate::base::lossless::Lossless;
use crate::base::refusal::Refusal;
use crate::base::text;
use crate::config::Settings;
use crate::event::{Attempt, EventBody, FixNote, FixState, FlakeProof, WeakenedCheckRecord};
use crate::fix::{NumberedAttempt, build_workflow, fix_status};
use crate::pattern::knowledge::{Gotcha, Strategy};
use crate::pattern::statistics::round_to_thousandth;
use crate::redact::redact_text;
use crate::retrieval::pattern_remedies::pattern_remedies;
use crate::store::{
    FixFilter, FixNoteRow, FixRateRow, FixRow, FlakeFilter, FlakeRow, Index, RecipeRow, SegmentFolder, StoreError,
};

/// Recipes shown of one fix.
const RECIPES_MAX: usize = 20;
/// Families of failures that one recipe is looked at against.
const FAMILIES_MAX: usize = 20;
/// A recipe is one from this many tasks on.
const RECIPE_TASKS_MIN: u64 = 2;
/// A title, bytes.
const TITLE_BYTES_MAX: usize = 160;
/// A text of `fix record`, bytes.
const NOTE_BYTES_MAX: usize = 4_000;

/// A fix workflow in a list.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct FixSummary {
    /// `x-…`; any unique start of it works as an argument.
    pub id: String,
    /// `success`, `weakened`, `undone`, `flaky`, `partial` or `failure`.
    pub state: FixState,
    /// Whether the fix held; `null` when there is none.
    pub confirmed: Option<bool>,
    /// Why it is confirmed, or why not.
    pub status_reason: Option<String>,
    /// A job proved it: in isolation the check fails without it and passes with it.
    pub proven: bool,
    /// Solved within the limit of attempts (setting `fix.quick_attempts`).
    pub high_value: bool,
    /// More than one attempt fixed something.
    pub multi_step: bool,
    /// Runs with something changed before them.
    pub attempts: u64,
    /// Runs with nothing changed before them.
    pub reruns: u64,
    /// The first attempt.
    pub first_at: Timestamp,
    /// Time of the last attempt.
    pub last_at: Timestamp,
    /// When the failure was gone.
    pub resolved_at: Option<Timestamp>,
    /// `f-…` of the failure that began it.
    pub failure: Option<String>,
    /// Category of the failure.
    pub category: Option<String>,
    /// Its first message.
    pub summary: String,
    /// What was run, secrets replaced.
    pub command: String,
    /// The work tree.
    pub root: Lossless,
    /// The task of the last attempt.
    pub task: String,
    /// Of a pass that was reached by making the check weaker: by what.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub weakened: Vec<WeakenedCheckRecord>,
}

/// How often failures of a category get fixed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct FixRate {
    /// The counts.
    #[serde(flatten)]
    pub row: FixRateRow,
    /// Fixed ones of all.
    pub success_rate: f64,
}

/// A recipe with its success rate.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RecipeLine {
    /// The counts.
    #[serde(flatten)]
    pub row: RecipeRow,
    /// Successes of attempts.
    pub success_rate: f64,
}

/// What `fix list --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct FixList {
    /// The last touched first.
    pub fixes: Vec<FixSummary>,
    /// By category of the failure; flakes count for nothing.
    pub rates: Vec<FixRate>,
}

/// What `fix list --recipes --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RecipeList {
    /// The most widely tried first; each against one family of failures.
    pub recipes: Vec<RecipeLine>,
}

/// A pattern that comes and goes over the same tree.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct FlakyPattern {
    /// `p-…`
    pub pattern: Option<String>,
    /// The command key.
    pub key: String,
    /// Its masked text.
    pub title: String,
    /// `proven` or `suspected`: the strongest proof.
    pub proof: FlakeProof,
    /// Pairs of runs that show it.
    pub pairs: u64,
    /// Distinct failing runs among them.
    pub failures: u64,
    /// Runs of the same checks.
    pub runs: u64,
    /// `failures` of `runs`.
    pub rate: f64,
    /// The first pair.
    pub first_at: Timestamp,
    /// The last pair.
    pub last_at: Timestamp,
    /// What is known of the last pair.
    pub why: String,
    /// The last pair: the run without it, and the run with it.
    pub last_runs: [String; 2],
}

/// What `fix list --flakes --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct FlakeList {
    /// Newest sighting first.
    pub flakes: Vec<FlakyPattern>,
}

/// One attempt of a page.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct FixStep {
    /// From 1; `null` of a run with nothing changed before it.
    pub number: Option<u64>,
    /// The attempt as it is recorded.
    #[serde(flatten)]
    pub attempt: Attempt,
}

/// What `fix show --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct FixPage {
    /// The fix.
    #[serde(flatten)]
    pub summary: FixSummary,
    /// Attempts in their order.
    pub steps: Vec<FixStep>,
    /// Its recipes, with how often they worked in all.
    pub recipes: Vec<RecipeLine>,
    /// What was tried in it as recovery strategies, each against one of the patterns that it made go away.
    pub strategies: Vec<Strategy>,
    /// What was learnt about these patterns.
    pub gotchas: Vec<Gotcha>,
    /// What people say about it, the newest last.
    pub said: Vec<FixNoteRow>,
}

/// What `fix record` says.
#[derive(Debug, Clone, Default)]
pub(crate) struct FixNoteText {
    /// Why it failed.
    pub cause: Option<String>,
    /// Approach that fixed it.
    pub approach: Option<String>,
    /// Rule that follows.
    pub rule: Option<String>,
    /// Author of the statement.
    pub by: Option<String>,
}

/// Fix workflows that pass `filter`; with `confirmed` only those whose fix is, or only those whose isn't.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn list_fixes(
    request: &Request,
    filter: &FixFilter,
    confirmed: Option<bool>,
) -> Result<Reply<FixList>, StoreError> {
    let reading = request.open_for_reading()?;
    let Some(index) = &reading.index else {
        return Ok(Reply::new(FixList { fixes: Vec::new(), rates: Vec::new() }, reading.notes));
    };
    let is_sorted_out = confirmed.is_some() || filter.is_proven;
    let wanted = FixFilter { limit: if is_sorted_out { usize::MAX } else { filter.limit }, ..filter.clone() };
    let proven = index.proven_fixes()?;
    let now = request.now();
    let fixes = index.list_fixes(&wanted)?.into_iter().map(|row| fix_summary(row, request.settings(), now));
    let fixes = fixes.map(|fix| FixSummary { proven: proven.contains(&fix.id), ..fix });
    let fixes = fixes.filter(|fix| confirmed.is_none() || fix.confirmed == confirmed);
    let fixes = fixes.filter(|fix| fix.proven || !filter.is_proven).take(filter.limit);
    let mut fixes: Vec<FixSummary> = fixes.collect();
    add_weakened_checks(index, &reading.segments, &mut fixes)?;
    let rates = index.fix_rates(request.settings().fix.quick_attempts)?;
    let rates = rates.into_iter().map(FixRate::from_row).collect();
    Ok(Reply::new(FixList { fixes, rates }, reading.notes))
}

/// Adds to passes that were reached by making the check weaker by what.
///
/// # Errors
/// When the store can't be read.
pub(super) fn add_weakened_checks(
    index: &Index,
    segments: &SegmentFolder,
    fixes: &mut [FixSummary],
) -> Result<(), StoreError> {
    for fix in fixes.iter_mut().filter(|fix| fix.state == FixState::Weakened) {
        let attempts = index.read_attempts(segments, &fix.id)?.into_iter();
        fix.weakened = attempts.flat_map(|attempt| attempt.weakened).filter(|mark| mark.certain).collect();
    }
    Ok(())
}

impl FixRate {
    /// From the store's counts.
    pub(super) fn from_row(row: FixRateRow) -> Self {
        FixRate { success_rate: share_of(row.fixed, row.workflows), row }
    }
}

/// Recipes of two tasks or more.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn list_recipes(request: &Request, limit: usize) -> Result<Reply<RecipeList>, StoreError> {
    let reading = request.open_for_reading()?;
    let rows = match &reading.index {
        Some(index) => index.list_recipes(None, RECIPE_TASKS_MIN, limit.saturating_mul(FAMILIES_MAX))?,
        None => Vec::new(),
    };
    let recipes = without_repeats(rows, limit).into_iter().map(recipe_line);
    Ok(Reply::new(RecipeList { recipes: recipes.collect() }, reading.notes))
}

/// Patterns that come and go over the same tree.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn list_flakes(request: &Request, limit: usize) -> Result<Reply<FlakeList>, StoreError> {
    let reading = request.open_for_reading()?;
    let rows = match &reading.index {
        Some(index) => index.list_flakes(&FlakeFilter { pattern: None, limit })?,
        None => Vec::new(),
    };
    Ok(Reply::new(FlakeList { flakes: rows.into_iter().map(flaky_check).collect() }, reading.notes))
}

/// The fix whose id starts with `id`, with all attempts.
///
/// # Errors
/// When there is none or more than one, or the store can't be read.
pub(crate) fn show_fix(request: &Request, id: &str) -> Result<Reply<FixPage>, StoreError> {
    let reading = request.open_for_reading()?;
    let Some(index) = reading.index else { return Err(StoreError::NoSuchId { id: id.to_owned() }) };
    let row = index.find_fix(id)?;
    let attempts = index.read_attempts(&reading.segments, &row.id)?;
    let recipes = without_repeats(index.list_recipes(Some(&row.id), 1, RECIPES_MAX * FAMILIES_MAX)?, RECIPES_MAX);
    let said = index.fix_notes(&row.id)?;
    let now = request.now();
    let (mut strategies, mut gotchas) = (Vec::new(), Vec::new());
    for number in index.patterns_of_fix(&row.id)? {
        let pattern = index.pattern_at(number)?;
        let known = pattern_remedies(&index, &reading.segments, &pattern, request.settings(), now)?;
        strategies.extend(known.strategies_of_fix(&row.id));
        gotchas.extend(known.gotcha);
    }
    let steps = build_workflow(attempts, request.settings().fix.quick_attempts).attempts.into_iter();
    let proven = index.proven_fixes()?.contains(&row.id);
    Ok(Reply::new(
        FixPage {
            summary: FixSummary { proven, ..fix_summary(row, request.settings(), now) },
            steps: steps.map(|NumberedAttempt { number, attempt }| FixStep { number, attempt }).collect(),
            recipes: recipes.into_iter().map(recipe_line).collect(),
            strategies,
            gotchas,
            said,
        },
        reading.notes,
    ))
}

/// Records what a user says about a fix; returns the fix.
///
/// # Errors
/// When there is no such fix, nothing is said, or the store can't be written.
pub(crate) fn record_fix(request: &Request, id: &str, said: FixNoteText) -> anyhow::Result<Reply<FixPage>> {
    let row = show_fix(request, id)?.data.summary;
    let [cause, approach, rule, by] = [said.cause, said.approach, said.rule, said.by].map(trimmed_note);
    if cause.is_none() && approach.is_none() && rule.is_none() {
        bail!(Refusal::usage("nothing to record: give --cause, --approach or --rule"));
    }
    let said = LessonAnnotation {
        cause: cause.clone(),
        resolution: approach.clone(),
        corrective_rule: rule.clone(),
        by: None,
    };
    append_note(request, FixNote { fix: row.id.clone(), cause, approach, rule, by, declined: None })?;
    lesson::tell_of_fix(request, &row.id, &said).context("it is recorded, but not written into the lesson")?;
    Ok(show_fix(request, &row.id)?)
}

/// Says that no entry is to be made of a fix: it is not proposed any more. Its whole id.
///
/// # Errors
/// When there is no such fix, or the store can't be written.
pub(crate) fn decline_pattern(
    request: &Request,
    id: &str,
    reason: Option<String>,
    by: Option<String>,
) -> anyhow::Result<String> {
    let fix = show_fix(request, id)?.data.summary.id;
    let declined = Some(trimmed_note(reason).unwrap_or_default());
    append_note(request, FixNote { fix: fix.clone(), declined, by: trimmed_note(by), ..FixNote::default() })?;
    Ok(fix)
}

/// A text as it may be recorded: its event can't be purged, so no secret may get into it.
fn trimmed_note(text: Option<String>) -> Option<String> {
    let text = text.map(|text| text::printable(&redact_text(&text).0)).filter(|text| !text.trim().is_empty());
    text.map(|text| text::ellipsis(text.trim(), NOTE_BYTES_MAX))
}

fn append_note(request: &Request, said: FixNote) -> anyhow::Result<()> {
    request.open_store().context("cannot record it now")?.record_event(EventBody::FixNote(said))?;
    Ok(())
}

pub(super) fn fix_summary(row: FixRow, settings: &Settings, now: Timestamp) -> FixSummary {
    let silence = settings.fix.silence();
    let status = fix_status(&row, now, silence);
    let summary = row.summary.as_deref().unwrap_or("its failure is not in the store");
    FixSummary {
        confirmed: status.as_ref().map(|status| status.confirmed),
        status_reason: status.map(|status| status.why),
        high_value: row.state == FixState::Success
            && row.attempts <= settings.fix.quick_attempts
            && !row.suspect
            && !row.unknown_cause,
        multi_step: row.state == FixState::Success && row.steps > 1,
        summary: text::ellipsis(&text::one_line(summary), TITLE_BYTES_MAX),
        command: shell_words::join(row.argv.iter().map(Lossless::display)),
        proven: false,
        id: row.id,
        state: row.state,
        attempts: row.attempts,
        reruns: row.reruns,
        first_at: row.first_at,
        last_at: row.last_at,
        resolved_at: row.resolved_at,
        failure: row.failure,
        category: row.category,
        root: row.root,
        task: row.task,
        weakened: Vec::new(),
    }
}

/// Each recipe once, against the family that it was tried against most: one change may fix several.
fn without_repeats(rows: Vec<RecipeRow>, limit: usize) -> Vec<RecipeRow> {
    let mut known = HashSet::new();
    let mut rows: Vec<RecipeRow> = rows.into_iter().filter(|row| known.insert((row.kind, row.key.clone()))).collect();
    rows.truncate(limit);
    rows
}

fn recipe_line(row: RecipeRow) -> RecipeLine {
    RecipeLine { success_rate: share_of(row.successes, row.attempts), row }
}

fn flaky_check(row: FlakeRow) -> FlakyPattern {
    FlakyPattern {
        pattern: row.pattern_id,
        key: row.pattern,
        title: text::ellipsis(&text::one_line(row.title.as_deref().unwrap_or_default()), TITLE_BYTES_MAX),
        proof: row.proof,
        pairs: row.pairs,
        failures: row.failures,
        runs: row.runs,
        rate: share_of(row.failures, row.runs),
        first_at: row.first_at,
        last_at: row.last_at,
        why: row.why,
        last_runs: row.last_runs,
    }
}

/// A share with three digits, so that it reads the same everywhere.
#[allow(clippy::cast_precision_loss, reason = "counts of events")]
fn share_of(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { round_to_thousandth(part as f64 / whole as f64) }
}
