//! `warn`: what is known to go wrong here, before it does.
//!
//! Reads the index and nothing else: it waits for no recorder, loads no definitions, and what it has to remember it puts
//! down as a note.

mod candidates;
mod delivery;
mod entries;
mod formats;
mod harm;
mod insight;
#[cfg(test)]
mod replay;
pub(in crate::ops) mod similar;

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::identity::relative_files;
use super::{knowledge, reading};
use crate::advice::ranking::{self, FileReach, RankedWarning, WarningCandidate, WarningConcern};
use crate::advice::similarity::telling_words;
use crate::advice::{Arm, ProvenRemedy, Warning, WarningFacts, mention};
use crate::base::clock::Timestamp;
use crate::base::ids::RunId;
use crate::capture::Identity;
use crate::config::{Environment, Places, Settings};
use crate::event::Event;
use crate::pattern::statistics::share_bound;
use crate::pattern::wording;
use crate::recorder;
use crate::redact::sanitize_name;
use crate::store::{Index, PatternBriefRow, ProvenRemedyRow, SegmentFolder, StoreError};
use crate::whitelist::Whitelist;
use insight::DetectorInsight;

pub(crate) use delivery::record_deliveries;
pub(super) use formats::template_problems;
pub(super) use insight::{detector_advice, detector_rule};

/// Files that a warning names.
const FILES_MAX: usize = 3;
/// Files of a task that nobody named.
const TASK_FILES_MAX: usize = 50;
/// How the session of a terminal begins that nobody named.
const TERMINAL: &str = "tty-";
/// Without a session there is one for each task.
const NO_SESSION: &str = "none";

/// What is asked.
#[derive(Debug, Clone, Default)]
pub(crate) struct WarnRequest {
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
    /// Only what this session hasn't been told yet and hasn't seen itself, and wasn't held out of.
    pub news: bool,
    /// The files are about to be edited, or the command to be run: not only mentioned.
    pub at_hand: bool,
    /// A check that has just failed: what is known of its failure is asked for, and nothing else.
    pub failed: Option<CurrentFailure>,
}

/// A failure of this moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CurrentFailure {
    /// The keys of its patterns, in the order of the output.
    pub keys: Vec<String>,
    /// When the check was started. What is recorded of it already counts for nothing.
    pub started_at: Timestamp,
}

/// What `warn --format json` prints.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct WarnReply {
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
    /// Deliveries that [`record_deliveries`] records once the answer was written.
    #[serde(skip)]
    pub due: Vec<Event>,
    /// For standard error.
    #[serde(skip)]
    pub notes: Vec<String>,
}

/// The question as the index understands it.
struct WarnQuestion {
    task: String,
    session: String,
    files: Vec<String>,
    class: Option<String>,
    title: String,
    category: Option<String>,
    words: Vec<String>,
}

/// The warnings that are due. What has to be remembered of them is left to [`record_deliveries`].
///
/// # Errors
/// When the store can't be read.
pub(crate) fn collect_warnings(
    places: &Places,
    environment: &Environment,
    cwd: &Path,
    asked: &WarnRequest,
) -> Result<WarnReply, StoreError> {
    let (settings, _) = Settings::load(places, environment);
    let mut notes = Vec::new();
    let index = reading::open_with_lessons(places, environment, &settings, &mut notes)?;
    let now = Timestamp::now();
    let hours = settings.fix.silence_hours;
    let task = recorder::current_task(places, index.as_ref(), &asked.identity, now, hours)?;
    let session =
        asked.identity.session.as_deref().and_then(sanitize_name).unwrap_or_else(|| format!("{NO_SESSION} {task}"));
    let title = asked.title.clone().unwrap_or_default();
    let mut question = WarnQuestion {
        files: relative_files(places, cwd, &asked.files),
        class: asked
            .command
            .as_deref()
            .and_then(|line| Whitelist::open(places, environment).tool_class(&places.root, cwd, line)),
        words: telling_words(&title),
        category: asked.category.as_deref().and_then(sanitize_name),
        title,
        session,
        task,
    };
    let mut answer = WarnReply {
        schema: 1,
        enabled: settings.advice.warnings,
        task: question.task.clone(),
        session: question.session.clone(),
        files: Vec::new(),
        command: question.class.clone(),
        warnings: Vec::new(),
        held_out: 0,
        harmful: 0,
        due: Vec::new(),
        notes,
    };
    let Some(index) = index.filter(|_| answer.enabled) else { return Ok(answer) };
    complete_question(places, &index, cwd, &mut question, asked)?;
    answer.files.clone_from(&question.files);
    let limit = asked.limit.unwrap_or(usize::try_from(settings.advice.limit).unwrap_or(usize::MAX));
    let insight = DetectorInsight::open_insight(places, environment, &settings, &index)?;
    let desk = WarnContext {
        places,
        index: &index,
        segments: SegmentFolder::new(places.state.events()),
        settings: &settings,
        insight,
        now,
    };
    let mut found = desk.collect_candidates(&question, asked)?;
    let left_out = harm::remove_harmful(&index, &mut found, &settings, now)?;
    answer.harmful = left_out.patterns + left_out.entries;
    answer.notes.extend(left_out.to_notes());
    let due = ranking::rank_warnings(found, limit, &settings.advice, &question.session);
    for ranked in due {
        desk.deliver_warning(&ranked, &question, asked, &mut answer)?;
    }
    Ok(answer)
}

/// What an answer is made with.
struct WarnContext<'a> {
    places: &'a Places,
    index: &'a Index,
    segments: SegmentFolder,
    settings: &'a Settings,
    insight: DetectorInsight,
    now: Timestamp,
}

impl WarnContext<'_> {
    /// What may be worth a warning; of what a session was told or has seen already nothing, where only news are asked for.
    fn collect_candidates(
        &self,
        question: &WarnQuestion,
        asked: &WarnRequest,
    ) -> Result<Vec<WarningCandidate>, StoreError> {
        let (index, settings, now) = (self.index, self.settings, self.now);
        let mut found = match &asked.failed {
            Some(failed) => candidates::candidates_for_failure(index, failed, settings, now)?,
            None => candidates::find_candidates(index, question, &self.insight, settings, now)?,
        };
        if settings.advice.injection {
            let entries = entries::EntryLookup { index, root: &self.places.root, settings, now };
            found.extend(match &asked.failed {
                Some(failed) => entries.candidates_for_failure(&failed.keys)?,
                None => entries.candidates_for_question(question)?,
            });
        }
        let mut kept = Vec::with_capacity(found.len());
        for mut candidate in found {
            let is_told = delivery::delivery_mark(self.places, index, question, &candidate, asked)?.is_none();
            if !is_told
                && self.is_news_to_session(&mut candidate, question, asked)?
                && self.is_worth_saying(&candidate)?
            {
                kept.push(candidate);
            }
        }
        Ok(kept)
    }

    /// Whether it failed outside of this session, and where only news are asked for, not in it; in the very file if that
    /// is why it is due. At a failure only what others have seen counts: the failure itself may be recorded already.
    fn is_news_to_session(
        &self,
        candidate: &mut WarningCandidate,
        question: &WarnQuestion,
        asked: &WarnRequest,
    ) -> Result<bool, StoreError> {
        // A terminal is open for weeks: what somebody asks for there is not kept from them.
        let is_person = !asked.news && question.session.starts_with(TERMINAL);
        if is_person {
            return Ok(true);
        }
        if candidate.is_entry() {
            return Ok(!asked.news
                || candidate.concern.failed
                || !self.has_session_made_mistake(candidate, question)?);
        }
        let before = asked.failed.as_ref().map(|failed| failed.started_at);
        let file = candidate.concern.file.as_ref().filter(|(_, reach)| *reach == FileReach::File).map(|(file, _)| file);
        let file = file.map(String::as_str);
        let seen = self.index.failures_by_session(&candidate.key, &question.session, before, file)?;
        if candidate.concern.failed {
            candidate.failures = seen.elsewhere;
        }
        Ok(seen.elsewhere > 0 && (seen.here == 0 || !asked.news || candidate.concern.failed))
    }

    /// Whether a candidate is what a shared lesson teaches, and this session has made the mistake itself by now.
    fn has_session_made_mistake(
        &self,
        candidate: &WarningCandidate,
        question: &WarnQuestion,
    ) -> Result<bool, StoreError> {
        if !self.index.find_entry(&candidate.key)?.taught {
            return Ok(false);
        }
        for pattern in self.index.patterns_of_entry(&candidate.key)?.patterns {
            let key = self.index.advice_row(pattern)?.key;
            if self.index.failures_by_session(&key, &question.session, None, None)?.here > 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether there is more to say than the message, or the message alone is worth it: in the very file, or at the
    /// failure itself.
    fn is_worth_saying(&self, candidate: &WarningCandidate) -> Result<bool, StoreError> {
        let WarningConcern { file, failed, similar, finding, .. } = &candidate.concern;
        let is_near = *failed || similar.is_some() || finding.is_some() || matches!(file, Some((_, FileReach::File)));
        if is_near || candidate.is_entry() {
            return Ok(true);
        }
        Ok(self.warning_facts(candidate)?.is_some_and(|known| known.is_actionable()))
    }

    /// Adds a warning that is due to the answer, or holds it out; either is to be remembered.
    fn deliver_warning(
        &self,
        ranked: &RankedWarning,
        question: &WarnQuestion,
        asked: &WarnRequest,
        answer: &mut WarnReply,
    ) -> Result<(), StoreError> {
        let candidate = &ranked.candidate;
        let Some(known) = self.warning_facts(candidate)? else { return Ok(()) };
        let is_pinned = if candidate.is_entry() {
            self.index.find_entry(&candidate.key)?.pinned
        } else {
            match &known.pattern {
                Some(pattern) => knowledge::is_pinned(self.index, self.index.find_pattern(pattern)?.number)?,
                None => false,
            }
        };
        let share = if is_pinned { 0.0 } else { self.settings.advice.held_out() };
        let arm = Arm::draw_for_task(&question.task, &candidate.family, share, &self.settings.advice.salt);
        let mark = delivery::delivery_mark(self.places, self.index, question, candidate, asked)?.unwrap_or_default();
        let event = delivery::delivery_event(ranked, &mark, (arm, share), question, asked, self.now);
        let id = delivery::warning_id(&event);
        if self.settings.advice.learning && !self.index.has_event(RunId(event.id))? {
            answer.due.push(event);
        }
        if arm == Arm::HeldOut {
            answer.held_out += 1;
            return Ok(());
        }
        // Numbered as they are shown: a gap would tell that something was held out.
        let rank = u32::try_from(answer.warnings.len() + 1).unwrap_or(u32::MAX);
        answer.warnings.push(Warning { rank, ..Warning::from_ranked(id, ranked, known) });
        Ok(())
    }

    /// What is known of it; `None` when it is gone meanwhile.
    fn warning_facts(&self, candidate: &WarningCandidate) -> Result<Option<WarningFacts>, StoreError> {
        if candidate.is_entry() {
            return entries::entry_facts(self.index, &self.places.root, &candidate.key).map(Some);
        }
        let Some(row) = self.index.brief_of_key(&candidate.key)? else { return Ok(None) };
        let mut known = WarningFacts {
            pattern: Some(row.id.clone()),
            what: pattern_name(&row),
            files: row.files.iter().take(FILES_MAX).map(|(path, _)| path.clone()).collect(),
            tasks: row.tasks,
            last_seen: Some(row.last_seen),
            ..WarningFacts::default()
        };
        if self.settings.advice.injection {
            (known.cause, known.rule) = knowledge::cause_and_rule(self.index, &self.segments, row.number)?;
            self.insight.complete_facts(&mut known, &row, self.settings);
            known.worked = proven_remedy(self.index, row.number, self.settings, self.now)?;
        }
        Ok(Some(known))
    }
}

/// Whether an entry is kept from a task, so that it can be known what happens without.
///
/// # Errors
/// When the store can't be read.
pub(super) fn is_held_out(index: &Index, entry: &str, task: &str, settings: &Settings) -> Result<bool, StoreError> {
    let family = index.entry_family(entry)?.unwrap_or_else(|| entry.to_owned());
    let arm = Arm::draw_for_task(task, &family, settings.advice.held_out(), &settings.advice.salt);
    Ok(arm == Arm::HeldOut && !index.find_entry(entry)?.pinned)
}

/// The answer as text, by the template of the format and the agent. A template that can't be used is named and the
/// shipped one takes its place.
///
/// # Errors
/// When there is no such format.
pub(crate) fn format_reply(
    places: &Places,
    environment: &Environment,
    asked: &WarnRequest,
    answer: &mut WarnReply,
) -> anyhow::Result<String> {
    let agent = asked.identity.agent.as_deref().unwrap_or("human");
    formats::render_reply(places, environment, agent, asked.format.as_deref(), answer)
}

/// What nobody said is taken from the task: its title, its kind, its files; and files from the title.
fn complete_question(
    places: &Places,
    index: &Index,
    cwd: &Path,
    question: &mut WarnQuestion,
    asked: &WarnRequest,
) -> Result<(), StoreError> {
    let named: Vec<PathBuf> = mention::mentioned_files(&question.title).into_iter().map(PathBuf::from).collect();
    for file in relative_files(places, cwd, &named) {
        let is_known = places.root.join(&file).is_file() || !index.patterns_of_file(&file)?.is_empty();
        if is_known && !question.files.contains(&file) {
            question.files.push(file);
        }
    }
    let Some(task) = index.find_task(&question.task)? else { return Ok(()) };
    // At an edit or a command those are what it is about.
    if question.title.is_empty() && !asked.at_hand {
        question.title = task.title.clone().unwrap_or_default();
        question.words = telling_words(&question.title);
    }
    if question.category.is_none() && !asked.at_hand {
        question.category.clone_from(&task.category);
    }
    if question.files.is_empty() && asked.files.is_empty() && !asked.at_hand {
        question.files.clone_from(&task.files);
        // With a command alone the question is what it will find. What happened to be changed is no news.
        if question.files.is_empty() && asked.command.is_none() && !asked.news {
            question.files = index.files_of_task(task.number, TASK_FILES_MAX)?;
        }
    }
    Ok(())
}

/// What most surely made a pattern go away; nothing that never did. What worked twice is confirmed, what worked once when
/// its fix held.
pub(super) fn proven_remedy(
    index: &Index,
    pattern: i64,
    settings: &Settings,
    now: Timestamp,
) -> Result<Option<ProvenRemedy>, StoreError> {
    let bound = |it: &ProvenRemedyRow| share_bound(it.successes, it.tries, settings.confidence.bound);
    // What was changed says more than where.
    let telling = |it: &ProvenRemedyRow| it.technique != "files";
    let rows = index.proven_remedies(pattern)?.into_iter().rev();
    let surest = rows.max_by(|a, b| bound(a).total_cmp(&bound(b)).then(telling(a).cmp(&telling(b))));
    let Some(it) = surest else { return Ok(None) };
    let confirmed = it.successes > 1
        || match index.last_successful_fix(it.strategy)? {
            Some(fix) => knowledge::is_confirmed(index, &fix, settings, now)?,
            None => false,
        };
    Ok(Some(ProvenRemedy::from_figures(&it.label, &it.technique, (it.successes, it.tries), confirmed)))
}

/// A few words for a pattern, without the detectors: those want definitions.
pub(super) fn pattern_name(row: &PatternBriefRow) -> String {
    let example = row.newest.first();
    let test = example.and_then(|(_, test)| test.as_deref());
    let is_always_that = row.newest.iter().all(|(_, other)| other.as_deref() == test);
    let known = wording::WordingFacts {
        tool: &row.tool,
        code: row.code.as_deref(),
        masked: &row.masked,
        masked_family: &row.masked_family,
        example: example.map(|(message, _)| message.as_str()),
        test: test.filter(|_| is_always_that),
        ..wording::WordingFacts::default()
    };
    wording::pattern_name(&known, &[])
}
