//! `warn`: what is known to go wrong here, before it does.
//!
//! Reads the index and nothing else: it waits for no recorder, loads no definitions, and what it has to remember it puts
//! down as a note.

mod candidates;
mod entries;
mod formats;
mod harm;
#[cfg(test)]
mod replay;

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::identity::{by, clean, relative_files};
use super::{knowledge, reading, record};
use crate::advice::ranking::{self, Candidate, Ranked};
use crate::advice::similarity::telling_words;
use crate::advice::{Arm, Known, Warning, Worked};
use crate::base::clock::Timestamp;
use crate::base::ids;
use crate::base::ids::RunId;
use crate::capture::Identity;
use crate::config::{Environment, Places, Settings};
use crate::pattern::statistics::{permille, share_bound};
use crate::pattern::wording;
use crate::store::{
    Body, BriefRow, Delivery, DeliveryArm, Event, Index, Segments, StoreError, WorkedRow, derived_id, note,
};
use crate::whitelist::{self, Whitelist};

pub(super) use formats::template_problems;

/// Files of a delivery.
const DELIVERY_FILES_MAX: usize = 20;
/// Files that a warning names.
const FILES_MAX: usize = 3;
/// Files of a task that nobody named.
const TASK_FILES_MAX: usize = 50;
/// Without a session there is one for each task.
const NO_SESSION: &str = "none";

/// What is asked.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// Who asks, and for which task.
    pub identity: Identity,
    /// What the task is about.
    pub title: Option<String>,
    /// What kind of work it is.
    pub category: Option<String>,
    /// Files that it will touch, as typed.
    pub files: Vec<PathBuf>,
    /// A command that is about to run.
    pub command: Option<String>,
    /// At most so many (else setting `advice.limit`).
    pub limit: Option<usize>,
    /// `text`, `markdown`, or the name of a template of the user's.
    pub format: Option<String>,
    /// Where it is shown.
    pub surface: String,
    /// Only what this session hasn't been told yet, and wasn't held out of.
    pub news: bool,
    /// A check that has just failed: what is known of its failure is asked for, and nothing else.
    pub failed: Option<FailedNow>,
}

/// A failure of this moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedNow {
    /// The keys of its patterns, in the order of the output.
    pub keys: Vec<String>,
    /// When the check was started. What is recorded of it already counts for nothing.
    pub started_at: Timestamp,
}

/// What `warn --format json` prints.
#[derive(Debug, Clone, Serialize)]
pub struct Answer {
    /// Version of this shape.
    pub schema: u32,
    /// Warnings are not turned off.
    pub enabled: bool,
    /// The task that they are for.
    pub task: String,
    /// The session.
    pub session: String,
    /// The files that were looked at, relative to the root.
    pub files: Vec<String>,
    /// The tool class of the command.
    pub command: Option<String>,
    /// What is due, the most pressing first.
    pub warnings: Vec<Warning>,
    /// Warnings that were due and not shown, so that it can be known what happens without.
    pub held_out: usize,
    /// Patterns and entries that concern this and are left out: warning of them was shown to do harm.
    pub harmful: usize,
    /// For standard error.
    #[serde(skip)]
    pub notes: Vec<String>,
}

/// The question as the index understands it.
struct Question {
    task: String,
    session: String,
    files: Vec<String>,
    class: Option<String>,
    words: Vec<String>,
}

/// The warnings that are due. Those that are shown and those that are held out are put down for the recorder, once a
/// session.
///
/// # Errors
/// When the store can't be read.
pub fn warn(places: &Places, environment: &Environment, cwd: &Path, asked: &Asked) -> Result<Answer, StoreError> {
    let (settings, _) = Settings::load(places, environment);
    let mut notes = Vec::new();
    let index = reading::open_as_it_is(places, &mut notes)?;
    let now = Timestamp::now();
    let hours = settings.fix.silence_hours;
    let task = record::current_task(places, index.as_ref(), &asked.identity, now, hours)?;
    let session = asked.identity.session.as_deref().and_then(clean).unwrap_or_else(|| format!("{NO_SESSION} {task}"));
    let mut question = Question {
        files: relative_files(places, cwd, &asked.files),
        class: asked.command.as_deref().and_then(|line| class_of(places, environment, cwd, line)),
        words: telling_words(&[&asked.title, &asked.category].map(|text| text.clone().unwrap_or_default()).join(" ")),
        session,
        task,
    };
    let mut answer = Answer {
        schema: 1,
        enabled: settings.advice.warnings,
        task: question.task.clone(),
        session: question.session.clone(),
        files: Vec::new(),
        command: question.class.clone(),
        warnings: Vec::new(),
        held_out: 0,
        harmful: 0,
        notes,
    };
    let Some(index) = index.filter(|_| answer.enabled) else { return Ok(answer) };
    complete(&index, &mut question, asked)?;
    answer.files.clone_from(&question.files);
    let limit = asked.limit.unwrap_or(usize::try_from(settings.advice.limit).unwrap_or(usize::MAX));
    let mut found = candidates(places, &index, &question, asked, (&settings, now))?;
    let left_out = harm::leave_out(&index, &mut found, &settings, now)?;
    answer.harmful = left_out.patterns + left_out.entries;
    answer.notes.extend(left_out.notes());
    let due = ranking::rank(found, limit, &settings.advice, &question.session);
    let segments = Segments::new(places.events());
    for ranked in due {
        let is_pinned = ranked.candidate.is_entry() && index.entry(&ranked.candidate.key)?.pinned;
        let share = if is_pinned { 0.0 } else { settings.advice.held_out() };
        let arm = Arm::of(&question.task, &ranked.candidate.family, share, &settings.advice.salt);
        let id = ids::warning(&question.session, &ranked.candidate.key);
        if settings.advice.learning {
            let event = delivery(&id, &ranked, (arm, share), &question, asked, now);
            if !index.has_event(RunId(event.id))?
                && let Err(error) = note::put(places, &event)
            {
                answer.notes.push(format!("cannot remember that {id} was due: {error}"));
            }
        }
        if arm == Arm::HeldOut {
            answer.held_out += 1;
            continue;
        }
        if let Some(known) = known(&index, &segments, &ranked, &settings, now)? {
            answer.warnings.push(Warning::of(id, &ranked, known));
        }
    }
    Ok(answer)
}

/// What may be worth a warning; of what a session was told already nothing, where only news are asked for.
fn candidates(
    places: &Places,
    index: &Index,
    question: &Question,
    asked: &Asked,
    (settings, now): (&Settings, Timestamp),
) -> Result<Vec<Candidate>, StoreError> {
    let mut found = match &asked.failed {
        Some(failed) => candidates::failed(index, failed, settings, now)?,
        None => candidates::find(index, question, settings, now)?,
    };
    if settings.advice.injection && asked.failed.is_none() {
        found.extend(entries::find(index, question, settings, now)?);
    }
    if !asked.news {
        return Ok(found);
    }
    let mut news = Vec::with_capacity(found.len());
    for candidate in found {
        if !is_told(places, index, &question.session, &candidate.key)? {
            news.push(candidate);
        }
    }
    Ok(news)
}

/// Whether an entry is kept from a task, so that it can be known what happens without.
///
/// # Errors
/// When the store can't be read.
pub(super) fn is_held_out(index: &Index, entry: &str, task: &str, settings: &Settings) -> Result<bool, StoreError> {
    let family = index.entry_family(entry)?.unwrap_or_else(|| entry.to_owned());
    let arm = Arm::of(task, &family, settings.advice.held_out(), &settings.advice.salt);
    Ok(arm == Arm::HeldOut && !index.entry(entry)?.pinned)
}

/// Whether a session was told of something already, or held out of it.
fn is_told(places: &Places, index: &Index, session: &str, key: &str) -> Result<bool, StoreError> {
    let id = derived_id("delivery", &[session, key]);
    Ok(note::waits(places, id) || index.has_event(RunId(id))?)
}

/// The answer as text, by the template of the format and the agent. A template that can't be used is named and the
/// shipped one takes its place.
///
/// # Errors
/// When there is no such format.
pub fn formatted(
    places: &Places,
    environment: &Environment,
    asked: &Asked,
    answer: &mut Answer,
) -> anyhow::Result<String> {
    let agent = asked.identity.agent.as_deref().unwrap_or("human");
    formats::render(places, environment, agent, asked.format.as_deref(), answer)
}

/// What nobody said is taken from the task: its title, its files.
fn complete(index: &Index, question: &mut Question, asked: &Asked) -> Result<(), StoreError> {
    if !question.files.is_empty() && !question.words.is_empty() {
        return Ok(());
    }
    let Some(task) = index.task(&question.task)? else { return Ok(()) };
    if question.words.is_empty()
        && let Some(title) = &task.title
    {
        question.words = telling_words(title);
    }
    if asked.files.is_empty() {
        question.files.clone_from(&task.files);
        // With a command alone the question is what it will find.
        if question.files.is_empty() && asked.command.is_none() {
            question.files = index.files_of_task(task.number, TASK_FILES_MAX)?;
        }
    }
    Ok(())
}

/// The tool class of a command line; `None` of one that is no check.
fn class_of(places: &Places, environment: &Environment, cwd: &Path, line: &str) -> Option<String> {
    let check = Whitelist::open(places, environment).decide_line(line).check()?;
    let argv: Vec<_> = shell_words::split(line).ok()?.into_iter().map(Into::into).collect();
    Some(whitelist::key_parts(&places.root, cwd, Some(&check), &argv).subject)
}

fn delivery(
    id: &str,
    ranked: &Ranked,
    (arm, held_out): (Arm, f64),
    question: &Question,
    asked: &Asked,
    now: Timestamp,
) -> Event {
    let candidate = &ranked.candidate;
    let delivery = Delivery {
        warning: id.to_owned(),
        task: question.task.clone(),
        session: question.session.clone(),
        pattern: (!candidate.is_entry()).then(|| candidate.key.clone()),
        entry: candidate.is_entry().then(|| candidate.key.clone()),
        family: candidate.family.clone(),
        rank: ranked.rank,
        score_permille: permille(ranked.score),
        arm: if arm == Arm::Shown { DeliveryArm::Shown } else { DeliveryArm::Holdout },
        holdout_permille: permille(held_out),
        surface: asked.surface.clone(),
        files: question.files.iter().take(DELIVERY_FILES_MAX).cloned().collect(),
        command: question.class.clone(),
        by: by(&asked.identity, Some(&question.task)),
    };
    let event_id = derived_id("delivery", &[&question.session, &candidate.key]);
    // The writer is the store's that takes it.
    Event { id: event_id, ..Event::new(now, "", Body::Delivery(Box::new(delivery))) }
}

/// What is known of the pattern; `None` when it is gone meanwhile.
fn known(
    index: &Index,
    segments: &Segments,
    ranked: &Ranked,
    settings: &Settings,
    now: Timestamp,
) -> Result<Option<Known>, StoreError> {
    if ranked.candidate.is_entry() {
        return entries::known(index, &ranked.candidate.key).map(Some);
    }
    let Some(row) = index.brief_of_key(&ranked.candidate.key)? else { return Ok(None) };
    let mut known = Known {
        pattern: Some(row.id.clone()),
        what: name(&row),
        files: row.files.into_iter().take(FILES_MAX).map(|(path, _)| path).collect(),
        tasks: row.tasks,
        last_seen: Some(row.last_seen),
        ..Known::default()
    };
    if settings.advice.injection {
        (known.cause, known.rule) = knowledge::said(index, segments, row.number)?;
        known.worked = worked(index, row.number, settings, now)?;
    }
    Ok(Some(known))
}

/// What most surely made a pattern go away; nothing that never did. What worked twice is confirmed, what worked once when
/// its fix held.
pub(super) fn worked(
    index: &Index,
    pattern: i64,
    settings: &Settings,
    now: Timestamp,
) -> Result<Option<Worked>, StoreError> {
    let bound = |it: &WorkedRow| share_bound(it.successes, it.tries, settings.confidence.bound);
    // What was changed says more than where.
    let telling = |it: &WorkedRow| it.technique != "files";
    let rows = index.what_worked(pattern)?.into_iter().rev();
    let surest = rows.max_by(|a, b| bound(a).total_cmp(&bound(b)).then(telling(a).cmp(&telling(b))));
    let Some(it) = surest else { return Ok(None) };
    let confirmed = it.successes > 1
        || match index.last_worked_in(it.strategy)? {
            Some(fix) => knowledge::is_confirmed(index, &fix, settings, now)?,
            None => false,
        };
    Ok(Some(Worked::of(&it.label, &it.technique, (it.successes, it.tries), confirmed)))
}

/// A few words for a pattern, without the detectors: those want definitions.
pub(super) fn name(row: &BriefRow) -> String {
    let example = row.newest.first();
    let test = example.and_then(|(_, test)| test.as_deref());
    let is_always_that = row.newest.iter().all(|(_, other)| other.as_deref() == test);
    let known = wording::Known {
        tool: &row.tool,
        code: row.code.as_deref(),
        masked: &row.masked,
        masked_family: &row.masked_family,
        example: example.map(|(message, _)| message.as_str()),
        test: test.filter(|_| is_always_that),
        ..wording::Known::default()
    };
    wording::name(&known, &[])
}
