//! `strategy add`, `attempt`, `suggest` and `list`: what to do against an error.

use anyhow::{Context as _, bail, ensure};
use regex::RegexBuilder;
use serde::Serialize;

use super::entry::Writing;
use super::identity::clean;
use super::{reading, record, report};
use crate::advice::similarity::telling_words;
use crate::base::clock::Timestamp;
use crate::base::ids;
use crate::base::limits::DEFINITION_REGEX_BYTES_MAX;
use crate::base::text::{ellipsis, one_line};
use crate::capture::Identity;
use crate::config::{Places, Settings};
use crate::knowledge::duplicate::Words;
use crate::knowledge::recovery::{self, Candidate, Escalation, Situation, Suggestion};
use crate::store::{Body, Index, Matches, Outcome, RecoveryRow, StrategyChange, StrategyNote};

/// Steps of one strategy.
const STEPS_MAX: usize = 30;
/// An error that is looked up, bytes.
const ERROR_BYTES_MAX: usize = 64 << 10;
/// Patterns that an error may be.
const PATTERNS_MAX: usize = 20;
/// Strategies that are ranked.
const CANDIDATES_MAX: usize = 100;
/// A shown line, bytes.
const LINE_BYTES_MAX: usize = 400;

/// A strategy as it is given.
#[derive(Debug, Clone)]
pub struct Given {
    /// How the error is known.
    pub matches: Matches,
    /// The error: a text, a regex, a pattern's id.
    pub error: String,
    /// What to do, in a few words.
    pub technique: String,
    /// How, one after the other.
    pub steps: Vec<String>,
    /// The name of a person.
    pub person: Option<String>,
}

/// What came of trying one.
#[derive(Debug, Clone)]
pub struct Tried {
    /// What came of it.
    pub outcome: Outcome,
    /// What kind of task it was (else the task's).
    pub category: Option<String>,
    /// What kind of file.
    pub file_type: Option<String>,
    /// What somebody noticed.
    pub note: Option<String>,
}

/// Against what a strategy is wanted.
#[derive(Debug, Clone)]
pub enum Against {
    /// A text.
    Error(String),
    /// A recorded run, by an id; `None` for the last one.
    Run(Option<String>),
}

/// What `strategy add` and `attempt --json` print.
#[derive(Debug, Serialize)]
pub struct Changed {
    /// Version of this shape.
    pub schema: u32,
    /// The strategy.
    pub strategy: Suggestion,
    /// It has failed in this task too often.
    pub escalation: Option<Escalation>,
    /// For standard error.
    #[serde(skip)]
    pub notes: Vec<String>,
}

/// What `strategy suggest` and `list --json` print.
#[derive(Debug, Serialize)]
pub struct Suggested {
    /// Version of this shape.
    pub schema: u32,
    /// What was asked about, on one line; of `list` nothing.
    pub error: Option<String>,
    /// The best first.
    pub strategies: Vec<Suggestion>,
    /// One has failed in this task too often.
    pub escalation: Option<Escalation>,
    /// For standard error.
    #[serde(skip)]
    pub notes: Vec<String>,
}

/// Proposes a strategy. The same again changes nothing but the count of those who said it.
///
/// # Errors
/// When the regex is none, there is no such pattern, or the store can't be written.
pub fn add(places: &Places, settings: &Settings, identity: &Identity, given: &Given) -> anyhow::Result<Changed> {
    let technique = clean(&given.technique).context("say what to do: --technique TEXT")?;
    let mut writing = Writing::new(places, settings, identity, given.person.as_deref())?;
    let text = match given.matches {
        Matches::Pattern => writing.index().pattern(&given.error)?.key,
        Matches::Regex => {
            compiled(&given.error).with_context(|| format!("{:?} is no regex", given.error))?;
            given.error.clone()
        }
        Matches::Substring => clean(&given.error).context("say against which error: --error TEXT")?,
    };
    let id = ids::said_strategy(given.matches.as_str(), &given.matches.normal(&text), &technique);
    let steps: Vec<String> = given.steps.iter().filter_map(|step| clean(step)).take(STEPS_MAX).collect();
    let change = StrategyChange::Created { matches: given.matches, text, technique, steps };
    writing.record(|by| Body::Strategy(StrategyNote { strategy: id.clone(), change, by }))?;
    changed(writing, settings, &id)
}

/// Tells what came of trying a strategy, whoever found it.
///
/// # Errors
/// When the id names none or more than one, or the store can't be written.
pub fn attempt(
    places: &Places,
    settings: &Settings,
    identity: &Identity,
    id: &str,
    tried: &Tried,
) -> anyhow::Result<Changed> {
    let mut writing = Writing::new(places, settings, identity, None)?;
    let id = writing.index().recovery(id)?.id;
    let category = match tried.category.as_deref().and_then(clean) {
        Some(category) => Some(category),
        None => category_of(writing.index(), &writing.task())?,
    };
    let change = StrategyChange::Attempted {
        outcome: tried.outcome,
        category,
        file_type: tried.file_type.as_deref().and_then(clean).map(|kind| kind.trim_start_matches('.').to_lowercase()),
        note: tried.note.as_deref().and_then(clean),
    };
    writing.record(|by| Body::Strategy(StrategyNote { strategy: id.clone(), change, by }))?;
    changed(writing, settings, &id)
}

/// The strategy after a change, and whether it has failed in this task too often: then with the next against the same.
fn changed(writing: Writing, settings: &Settings, id: &str) -> anyhow::Result<Changed> {
    let index = writing.index();
    let row = index.recovery(id)?;
    let others = match row.matches.as_str() {
        "pattern" => index.recoveries_of_patterns(std::slice::from_ref(&row.error))?,
        "substring" => index.recoveries_in_text(&row.error)?,
        _ => index.recoveries_by_regex()?.into_iter().filter(|other| other.error == row.error).collect(),
    };
    let rows = [row].into_iter().chain(others);
    let situation = Situation { task: writing.task(), ..Situation::default() };
    let (found, escalation) = ranked(index, rows, &situation, settings)?;
    let escalation = escalation.filter(|it| it.failed == id);
    let Some(strategy) = found.into_iter().find(|it| it.id == id) else { bail!("the strategy {id} is gone") };
    Ok(Changed { schema: 1, strategy, escalation, notes: writing.into_notes() })
}

/// What to do against an error, the best first, with what speaks for it.
///
/// # Errors
/// When there is no such run, it passed, or the store can't be read.
pub fn suggest(
    places: &Places,
    settings: &Settings,
    identity: &Identity,
    against: &Against,
    file_type: Option<&str>,
    limit: usize,
) -> anyhow::Result<Suggested> {
    let (error, keys, mut kind, mut notes) = match against {
        Against::Error(error) => (error.clone(), Vec::new(), None, Vec::new()),
        Against::Run(id) => {
            let (subject, notes) = report::find(places, id.as_deref())?;
            let subject = subject.context("no run is recorded here yet")?;
            let failure = subject.run.failure.context("that run passed: there is nothing to do")?;
            let messages = failure.items.iter().map(|item| item.message.as_str());
            let text: Vec<&str> = messages.chain(failure.lines.iter().map(String::as_str)).collect();
            let keys: Vec<String> = failure.items.iter().map(|item| item.pattern.clone()).take(PATTERNS_MAX).collect();
            let file = failure.items.iter().find_map(|item| item.file.clone());
            let kind = file.and_then(|file| file.rsplit_once('.').map(|(_, ending)| ending.to_lowercase()));
            (text.join("\n"), keys, kind, notes)
        }
    };
    let error = crate::base::text::prefix(&error, ERROR_BYTES_MAX).to_owned();
    ensure!(!error.trim().is_empty(), "say against which error: --error TEXT, or --run last");
    let shown = ellipsis(one_line(&error).trim(), LINE_BYTES_MAX);
    let reading = reading::open(places)?;
    notes.extend(reading.notes);
    let Some(index) = &reading.index else {
        return Ok(Suggested { schema: 1, error: Some(shown), strategies: Vec::new(), escalation: None, notes });
    };
    let keys = if keys.is_empty() { patterns_like(index, settings, &error)? } else { keys };
    let mut rows = index.recoveries_of_patterns(&keys)?;
    rows.extend(index.recoveries_in_text(&error.to_lowercase())?);
    for row in index.recoveries_by_regex()? {
        if compiled(&row.error).is_ok_and(|regex| regex.is_match(&error)) {
            rows.push(row);
        }
    }
    let hours = settings.fix.silence_hours;
    let task = record::current_task(places, Some(index), identity, Timestamp::now(), hours)?;
    if let Some(given) = file_type {
        kind = Some(given.trim_start_matches('.').to_lowercase());
    }
    let situation = Situation { category: category_of(index, &task)?, file_type: kind, task };
    let (mut strategies, escalation) = ranked(index, rows, &situation, settings)?;
    strategies.truncate(limit);
    Ok(Suggested { schema: 1, error: Some(shown), strategies, escalation, notes })
}

/// All strategies, those that were tried most often first.
///
/// # Errors
/// When the store can't be read.
pub fn list(places: &Places, settings: &Settings, identity: &Identity, limit: usize) -> anyhow::Result<Suggested> {
    let reading = reading::open(places)?;
    let mut strategies = Vec::new();
    if let Some(index) = &reading.index {
        let hours = settings.fix.silence_hours;
        let task = record::current_task(places, Some(index), identity, Timestamp::now(), hours)?;
        let situation = Situation { task, ..Situation::default() };
        strategies = ranked(index, index.recoveries(limit)?, &situation, settings)?.0;
    }
    Ok(Suggested { schema: 1, error: None, strategies, escalation: None, notes: reading.notes })
}

fn ranked(
    index: &Index,
    rows: impl IntoIterator<Item = RecoveryRow>,
    situation: &Situation,
    settings: &Settings,
) -> anyhow::Result<(Vec<Suggestion>, Option<Escalation>)> {
    let mut candidates: Vec<Candidate> = Vec::new();
    for mut row in rows.into_iter().take(CANDIDATES_MAX) {
        if candidates.iter().any(|known| known.row.id == row.id) {
            continue;
        }
        let attempts = index.recovery_attempts(row.number)?;
        // What was imported may be anybody's text.
        row.label = ellipsis(one_line(&row.label).trim(), LINE_BYTES_MAX);
        row.steps = row.steps.iter().map(|step| ellipsis(one_line(step).trim(), LINE_BYTES_MAX)).collect();
        candidates.push(Candidate { row, attempts });
    }
    Ok(recovery::rank(candidates, situation, settings))
}

/// Keys of known patterns that a text reads like.
fn patterns_like(index: &Index, settings: &Settings, error: &str) -> anyhow::Result<Vec<String>> {
    let asked = Words::of(error);
    let mut keys = Vec::new();
    for (pattern, _) in index.patterns_with_words(&telling_words(error))? {
        let row = index.pattern_at(pattern)?;
        if Words::of(&row.masked).jaccard(&asked) >= settings.knowledge.suggested {
            keys.push(row.key);
        }
    }
    keys.truncate(PATTERNS_MAX);
    Ok(keys)
}

fn category_of(index: &Index, task: &str) -> anyhow::Result<Option<String>> {
    Ok(index.task(task)?.and_then(|task| task.category))
}

fn compiled(text: &str) -> Result<regex::Regex, regex::Error> {
    let limit = DEFINITION_REGEX_BYTES_MAX;
    RegexBuilder::new(text).multi_line(true).size_limit(limit).dfa_size_limit(limit).build()
}
