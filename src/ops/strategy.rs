//! `strategy add`, `attempt`, `suggest` and `list`: fixes for recurring errors.

use anyhow::{Context as _, bail, ensure};
use serde::Serialize;

use super::knowledge::KnowledgeWriter;
use super::reading::StoreReader;
use super::reply::Reply;
use super::report;
use super::request::Request;
use crate::advice::strategy::declared_strategies;
use crate::base::ids;
use crate::base::refusal::Refusal;
use crate::base::text::{ellipsis, one_line, prefix};
use crate::base::tree::EmptyTree;
use crate::config::{Problem, Settings};
use crate::diagnose::{self, DiagnosisInput};
use crate::event::{AttemptOutcome, ErrorMatch, EventBody, Run, StrategyChange, StrategyMatchKind, StrategyNote};
use crate::knowledge::remedy::{
    self, RemedyEscalation, RemedySituation, RemedySuggestion, STEPS_MAX, compile_error_regex,
};
use crate::recorder;
use crate::redact::sanitize_name;
use crate::retrieval::remedy_candidates::{
    DiagnosedText, add_recorded_candidates, declared_candidate, fitting_declared, recoveries_against,
};
use crate::run::CommandEnd;
use crate::store::{Index, StoreError};

/// An error that is looked up, bytes.
const ERROR_BYTES_MAX: usize = 64 << 10;
/// Patterns that an error may be.
const PATTERNS_MAX: usize = 20;
/// A shown line, bytes.
const LINE_BYTES_MAX: usize = 400;

/// A strategy as it is given.
#[derive(Debug, Clone)]
pub(crate) struct StrategyDraft {
    /// How the error is known.
    pub matches: StrategyMatchKind,
    /// The error: a text, a regex, a pattern's id.
    pub error: String,
    /// What to do, in a few words.
    pub technique: String,
    /// Steps in order.
    pub steps: Vec<String>,
    /// The name of a person.
    pub person: Option<String>,
}

/// The outcome of trying one.
#[derive(Debug, Clone)]
pub(crate) struct StrategyAttempt {
    pub outcome: AttemptOutcome,
    /// What kind of task it was (else the task's).
    pub category: Option<String>,
    /// Kind of file.
    pub file_type: Option<String>,
    /// The user's note.
    pub note: Option<String>,
}

/// Against what a strategy is wanted.
#[derive(Debug, Clone)]
pub(crate) enum ErrorSource {
    /// A text.
    Error(String),
    /// A text with what it is as a tool's output.
    Output {
        text: String,
        category: Option<String>,
        /// What it says is wrong.
        items: Vec<diagnose::Diagnostic>,
    },
    /// A recorded run, by an id; `None` for the last one.
    Run(Option<String>),
}

/// What `strategy add` and `attempt --json` print.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct StrategyChangeReply {
    /// The strategy.
    pub strategy: RemedySuggestion,
    /// It has failed in this task too often.
    pub escalation: Option<RemedyEscalation>,
}

/// What `strategy suggest` and `list --json` print.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct StrategyList {
    /// What was asked about, on one line; of `list` nothing.
    pub error: Option<String>,
    /// Best match first.
    pub strategies: Vec<RemedySuggestion>,
    /// One has failed in this task too often.
    pub escalation: Option<RemedyEscalation>,
}

/// Proposes a strategy. The same again changes nothing but the count of those who said it.
///
/// # Errors
/// When the regex is none, there is no such pattern, or the store can't be written.
pub(crate) fn add_strategy(request: &Request, given: &StrategyDraft) -> anyhow::Result<Reply<StrategyChangeReply>> {
    let technique = sanitize_name(&given.technique).context("say what to do: --technique TEXT")?;
    let mut writing = KnowledgeWriter::new(request, given.person.as_deref())?;
    let text = match given.matches {
        StrategyMatchKind::Pattern => writing.index().find_pattern(&given.error)?.key,
        StrategyMatchKind::Regex => {
            compile_error_regex(&given.error).with_context(|| format!("{:?} is not a regex", given.error))?;
            given.error.clone()
        }
        StrategyMatchKind::Substring => sanitize_name(&given.error).context("say against which error: --error TEXT")?,
    };
    let id = ids::said_strategy(given.matches.as_str(), &given.matches.normalize_text(&text), &technique);
    let steps: Vec<String> = given.steps.iter().filter_map(|step| sanitize_name(step)).take(STEPS_MAX).collect();
    let change = StrategyChange::Created { matches: given.matches, text, technique, steps, declared: false };
    writing.record(|by| EventBody::Strategy(StrategyNote { strategy: id.clone(), change, by }))?;
    change_reply(writing, &id)
}

/// Tells the outcome of trying a strategy, whoever found it.
///
/// # Errors
/// When the id names none or more than one, or the store can't be written.
pub(crate) fn record_attempt(
    request: &Request,
    id: &str,
    tried: &StrategyAttempt,
) -> anyhow::Result<Reply<StrategyChangeReply>> {
    let mut writing = KnowledgeWriter::new(request, None)?;
    let id = match writing.index().find_remedy(id) {
        Err(StoreError::NoSuchId { .. }) => record_declared_strategy(&mut writing, request.settings(), id)?,
        found => found?.id,
    };
    let category = match tried.category.as_deref().and_then(sanitize_name) {
        Some(category) => Some(category),
        None => task_category(writing.index(), &writing.task_name())?,
    };
    let change = StrategyChange::Attempted {
        outcome: tried.outcome,
        category,
        file_type: tried
            .file_type
            .as_deref()
            .and_then(sanitize_name)
            .map(|kind| kind.trim_start_matches('.').to_lowercase()),
        note: tried.note.as_deref().and_then(sanitize_name),
    };
    writing.record(|by| EventBody::Strategy(StrategyNote { strategy: id.clone(), change, by }))?;
    change_reply(writing, &id)
}

/// Registers an untried strategy of the settings, so that its attempts are counted.
fn record_declared_strategy(
    writing: &mut KnowledgeWriter<'_>,
    settings: &Settings,
    id: &str,
) -> anyhow::Result<String> {
    let full = format!("s-{}", id.strip_prefix("s-").unwrap_or(id));
    let mut named = declared_strategies(settings).0.into_iter().filter(|it| it.id.starts_with(&full) && full != "s-");
    let (Some(found), None) = (named.next(), named.next()) else {
        return Err(StoreError::NoSuchId { id: id.to_owned() }.into());
    };
    let (text, technique, steps) = (found.error_regex().to_owned(), found.technique, found.steps);
    let change = StrategyChange::Created { matches: StrategyMatchKind::Regex, text, technique, steps, declared: true };
    writing.record(|by| EventBody::Strategy(StrategyNote { strategy: found.id.clone(), change, by }))?;
    Ok(found.id)
}

/// The strategy after a change, and whether it has failed in this task too often: then with the next against the same.
fn change_reply(writing: KnowledgeWriter<'_>, id: &str) -> anyhow::Result<Reply<StrategyChangeReply>> {
    let (index, settings) = (writing.index(), writing.settings());
    let row = index.find_remedy(id)?;
    let others = match row.matches {
        ErrorMatch::Pattern => index.remedies_of_patterns(std::slice::from_ref(&row.error))?,
        ErrorMatch::Substring => recoveries_against(index, settings, &row.error, Vec::new())?,
        _ => index.remedies_by_regex()?.into_iter().filter(|other| other.error == row.error).collect(),
    };
    let mut candidates = Vec::new();
    for known in declared_strategies(settings).0 {
        if known.id == row.id || known.match_kind() == row.matches && known.error_regex() == row.error {
            candidates.push(declared_candidate(Some(index), &known, known.as_written())?);
        }
    }
    let others = others.into_iter().filter(|other| !remedy::is_learnt(other) || other.successes > 0);
    add_recorded_candidates(index, [row].into_iter().chain(others), &mut candidates)?;
    let situation = RemedySituation { task: writing.task_name(), ..RemedySituation::default() };
    let (found, escalation) = remedy::rank_remedies(candidates, &situation, settings);
    let escalation = escalation.filter(|it| it.failed == id);
    let Some(strategy) = found.into_iter().find(|it| it.id == id) else { bail!("the strategy {id} is gone") };
    Ok(Reply::new(StrategyChangeReply { strategy, escalation }, writing.into_notes()))
}

/// A text that is diagnosed as a failing check's output: templates of settings are for a category or a tool.
pub(crate) fn diagnose_text(request: &Request, text: &str) -> ErrorSource {
    let loaded =
        recorder::definitions::load_definitions(&request.places, &request.environment, &request.settings().categories);
    let diagnosis = diagnose::diagnose_output(&DiagnosisInput {
        output: prefix(text, ERROR_BYTES_MAX).as_bytes(),
        command: "",
        tool: None,
        kind: None,
        ended: CommandEnd::Exit(1),
        dir: "",
        root: &request.places.root.to_string_lossy(),
        tree: &EmptyTree,
        baseline: None,
        definitions: &loaded.definitions,
    });
    let category = diagnosis.category.map(|category| category.as_str().to_owned());
    ErrorSource::Output { text: text.to_owned(), category, items: diagnosis.items }
}

/// What to do against an error, the best first, with what speaks for it.
///
/// # Errors
/// When there is no such run, it passed, or the store can't be read.
pub(crate) fn suggest_strategies(
    request: &Request,
    against: &ErrorSource,
    file_type: Option<&str>,
    limit: usize,
) -> anyhow::Result<Reply<StrategyList>> {
    let ResolvedError { text: error, run, found, mut notes } = resolve_error(request, against)?;
    let shown = ellipsis(one_line(&error).trim(), LINE_BYTES_MAX);
    let reading = request.open_for_reading()?;
    notes.extend(reading.notes);
    let index = reading.index.as_ref();
    let failure = run.as_ref().and_then(|run| run.failure.as_ref());
    let items = failure.map_or(&[][..], |failure| &failure.items);
    let (mut candidates, problems) = fitting_declared(index, request.settings(), &error, run.as_ref(), found)?;
    notes.extend(problems.iter().map(problem_note));
    let mut situation = RemedySituation::default();
    if let Some(index) = index {
        let keys: Vec<String> = items.iter().map(|item| item.pattern.clone()).take(PATTERNS_MAX).collect();
        add_recorded_candidates(index, recoveries_against(index, request.settings(), &error, keys)?, &mut candidates)?;
        situation.task = request.current_task(Some(index))?;
        situation.category = task_category(index, &situation.task)?;
    }
    let file = items.iter().find_map(|item| item.file.as_deref());
    let kind = file_type.or_else(|| Some(file?.rsplit_once('.')?.1));
    situation.file_type = kind.map(|kind| kind.trim_start_matches('.').to_lowercase());
    let (mut strategies, escalation) = remedy::rank_remedies(candidates, &situation, request.settings());
    strategies.truncate(limit);
    Ok(Reply::new(StrategyList { error: Some(shown), strategies, escalation }, notes))
}

/// An error, and the run that it is of.
struct ResolvedError {
    text: String,
    run: Option<Run>,
    /// What a text is found to be.
    found: Option<DiagnosedText>,
    notes: Vec<String>,
}

fn resolve_error(request: &Request, against: &ErrorSource) -> anyhow::Result<ResolvedError> {
    let mut found = None;
    let (text, run, notes) = match against {
        ErrorSource::Error(error) => (error.clone(), None, Vec::new()),
        ErrorSource::Output { text, category, items } => {
            found = Some((category.clone(), items.clone()));
            (text.clone(), None, Vec::new())
        }
        ErrorSource::Run(id) => {
            let (subject, notes) = report::find_reported_run(request, id.as_deref())?;
            let run = subject.context("no run is recorded here yet")?.record;
            let failure = run.failure.as_ref().context("that run passed: there is nothing to do")?;
            let messages = failure.items.iter().map(|item| item.message.as_str());
            let text: Vec<&str> = messages.chain(failure.lines.iter().map(String::as_str)).collect();
            (text.join("\n"), Some(run), notes)
        }
    };
    let text = prefix(&text, ERROR_BYTES_MAX).to_owned();
    ensure!(!text.trim().is_empty(), Refusal::usage("give the error: --error TEXT, or --run last"));
    Ok(ResolvedError { text, run, found, notes })
}

/// What is wrong with the strategies of the settings; `None` when they have none.
pub(super) fn settings_problems(settings: &Settings) -> Option<Vec<Problem>> {
    (!settings.strategies.is_empty()).then(|| declared_strategies(settings).1)
}

fn problem_note(problem: &Problem) -> String {
    let line = problem.line.map(|line| format!(":{line}")).unwrap_or_default();
    format!("{}{line}: {}; {}", problem.file.display(), problem.reason, problem.hint)
}

/// All strategies, those that were tried most often first.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn list_strategies(request: &Request, limit: usize) -> anyhow::Result<Reply<StrategyList>> {
    let StoreReader { index, mut notes, .. } = request.open_for_reading()?;
    let (known, problems) = declared_strategies(request.settings());
    notes.extend(problems.iter().map(problem_note));
    let mut candidates = Vec::new();
    for known in &known {
        candidates.push(declared_candidate(index.as_ref(), known, known.as_written())?);
    }
    let mut situation = RemedySituation::default();
    if let Some(index) = &index {
        let mut rows = index.list_remedies(limit)?;
        rows.retain(|row| !remedy::is_learnt(row) || row.successes + row.failures + row.partials > 0);
        add_recorded_candidates(index, rows, &mut candidates)?;
        situation.task = request.current_task(Some(index))?;
    }
    let (mut strategies, _) = remedy::rank_remedies(candidates, &situation, request.settings());
    strategies.truncate(limit);
    Ok(Reply::new(StrategyList { error: None, strategies, escalation: None }, notes))
}

fn task_category(index: &Index, task: &str) -> anyhow::Result<Option<String>> {
    Ok(index.find_task(task)?.and_then(|task| task.category))
}
