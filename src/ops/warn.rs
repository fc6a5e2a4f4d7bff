//! `warn`: what is known to go wrong here, before it does.
//!
//! Reads the index and nothing else: it waits for no recorder, loads no definitions, and what it has to remember it
//! records as a note.

mod formats;

use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;

use serde::Serialize;

use super::library::{ActivePages, ServedPage, ServedPages, find_served_pages};
use super::reply::Reply;
use super::request::Request;
use crate::advice::similarity::telling_words;
use crate::advice::{Warning, mention};
use crate::config::Places;
use crate::event::{Event, EventBody};
use crate::recorder;
use crate::redact::sanitize_name;
use crate::retrieval::delivery::warning_id;
use crate::retrieval::detectors::{DetectorInsight, PendingInsight};
use crate::retrieval::due::{DueWarnings, WarningSearch};
use crate::retrieval::question::{WarnQuestion, WarnRequest, relative_files};
use crate::store::note::{self, WaitingNotes};
use crate::store::{Index, SegmentFolder, StoreError};
use crate::whitelist::Whitelist;

pub(super) use formats::template_problems;

/// Files of an unnamed task.
const TASK_FILES_MAX: usize = 50;
/// Without a session there is one for each task.
const NO_SESSION: &str = "none";

/// What `warn --format json` prints.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct WarnReply {
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
    /// Approved pages of the pattern library that matter here, at most two.
    pub pages: Vec<ServedPage>,
    /// Warnings and pages that were due and not shown, so that it can be known what happens without.
    pub held_out: usize,
    /// Patterns and entries that concern this and are left out: warning of them was shown to do harm.
    pub harmful: usize,
    /// Deliveries that [`record_deliveries`] records once the answer was written.
    #[serde(skip)]
    pub due: Vec<Event>,
}

impl WarnReply {
    /// Whether there is nothing to say.
    pub(crate) fn is_silent(&self) -> bool {
        self.warnings.is_empty() && self.pages.is_empty()
    }
}

impl Reply<WarnReply> {
    fn add_warnings(&mut self, due: DueWarnings) {
        self.notes.extend(due.harmful.to_notes());
        self.data.harmful = due.harmful.patterns + due.harmful.entries;
        (self.data.warnings, self.data.held_out, self.data.due) = (due.warnings, due.held_out, due.deliveries);
    }
}

/// The warnings that are due. What has to be remembered of them is left to [`record_deliveries`].
///
/// # Errors
/// When the store can't be read.
pub(crate) fn collect_warnings(request: &Request, asked: &WarnRequest) -> Result<Reply<WarnReply>, StoreError> {
    let advice = &request.settings().advice;
    if !advice.warnings || !advice.injection {
        return collect_beside(request, asked, || None, || None);
    }
    thread::scope(|scope| {
        // Beside what can be found without it: what detectors look at, with an index of its own, and then the pages.
        let (send, insight) = mpsc::sync_channel(1);
        let read = move || {
            if let Some(insight) = read_insight(request) {
                let _ = send.send(insight);
            }
            drop(send);
            ActivePages::read(request)
        };
        let beside = thread::Builder::new().spawn_scoped(scope, read).ok();
        collect_beside(request, asked, || insight.recv().ok(), || beside?.join().ok())
    })
}

/// The warnings that are due, while `insight` and `pages` are read; they give nothing where that is not possible.
fn collect_beside(
    request: &Request,
    asked: &WarnRequest,
    insight: impl FnOnce() -> Option<DetectorInsight>,
    pages: impl FnOnce() -> Option<ActivePages>,
) -> Result<Reply<WarnReply>, StoreError> {
    let settings = request.settings();
    let mut notes = Vec::new();
    let waiting = WaitingNotes::read(&request.places);
    let index = request.open_with_lessons(&mut notes)?;
    let mut question = read_question(request, index.as_ref(), asked)?;
    let mut answer = Reply::new(
        WarnReply {
            enabled: settings.advice.warnings,
            task: question.task.clone(),
            session: question.session.clone(),
            files: Vec::new(),
            command: question.class.clone(),
            warnings: Vec::new(),
            pages: Vec::new(),
            held_out: 0,
            harmful: 0,
            due: Vec::new(),
        },
        notes,
    );
    let Some(index) = index.filter(|_| answer.data.enabled) else { return Ok(answer) };
    complete_question(request, &index, &mut question, asked)?;
    answer.data.files.clone_from(&question.files);
    let reads = (&index, &waiting);
    if !settings.advice.injection {
        let nothing = PendingInsight::new(|| Ok(DetectorInsight::default()));
        answer.add_warnings(find_due(request, reads, nothing, &question, asked)?);
        return Ok(answer);
    }
    let insight = PendingInsight::new(|| insight().map_or_else(|| insight_from_index(request, reads.0), Ok));
    answer.add_warnings(find_due(request, reads, insight, &question, asked)?);
    let pages = pages().unwrap_or_else(|| ActivePages::read(request));
    let served = find_served_pages(request, pages, reads, &question, asked)?;
    answer.data.pages = served.pages;
    answer.data.held_out += served.held_out;
    answer.data.due.extend(served.deliveries);
    Ok(answer)
}

fn find_due<'a>(
    request: &'a Request,
    (index, waiting): (&'a Index, &'a WaitingNotes<'a>),
    insight: PendingInsight<'a>,
    question: &WarnQuestion,
    asked: &WarnRequest,
) -> Result<DueWarnings, StoreError> {
    let settings = request.settings();
    let limit = asked.limit.unwrap_or(usize::try_from(settings.advice.limit).unwrap_or(usize::MAX));
    let segments = SegmentFolder::new(request.places.state.events());
    let search =
        WarningSearch { places: &request.places, waiting, index, segments, settings, insight, now: request.now() };
    search.find_due_warnings(question, asked, limit)
}

/// What detectors know, by an index that is opened for it; `None` where there is none yet or it can't be read.
fn read_insight(request: &Request) -> Option<DetectorInsight> {
    insight_from_index(request, &request.open_index().ok()??).ok()
}

fn insight_from_index(request: &Request, index: &Index) -> Result<DetectorInsight, StoreError> {
    let files = recorder::definitions::definition_files(&request.places, &request.environment);
    DetectorInsight::from_index(&files, request.settings(), index)
}

/// The approved pages of the pattern library that matter for what is asked about, without warnings. What has to be
/// remembered of them is left to [`record_pages`].
///
/// # Errors
/// When the store can't be read.
pub(crate) fn collect_pages(request: &Request, asked: &WarnRequest) -> Result<ServedPages, StoreError> {
    let advice = &request.settings().advice;
    if !advice.warnings || !advice.injection {
        return Ok(ServedPages::default());
    }
    let waiting = WaitingNotes::read(&request.places);
    let Some(index) = request.open_as_it_is(&mut Vec::new())? else { return Ok(ServedPages::default()) };
    let mut question = read_question(request, Some(&index), asked)?;
    complete_question(request, &index, &mut question, asked)?;
    find_served_pages(request, ActivePages::read(request), (&index, &waiting), &question, asked)
}

/// What is asked, as far as the call says it.
fn read_question(request: &Request, index: Option<&Index>, asked: &WarnRequest) -> Result<WarnQuestion, StoreError> {
    let hours = request.settings().fix.silence_hours;
    let task = recorder::current_task(&request.places, index, &asked.identity, request.now(), hours)?;
    let session =
        asked.identity.session.as_deref().and_then(sanitize_name).unwrap_or_else(|| format!("{NO_SESSION} {task}"));
    let title = asked.title.clone().unwrap_or_default();
    Ok(WarnQuestion {
        files: relative_files(&request.places, &request.cwd, &asked.files),
        class: asked.command.as_deref().and_then(|line| {
            Whitelist::open(&request.places, &request.environment).tool_class(&request.places.root, &request.cwd, line)
        }),
        words: telling_words(&title),
        category: asked.category.as_deref().and_then(sanitize_name),
        title,
        session,
        task,
    })
}

/// The answer as text, by the template of the format and the agent. A template that can't be used is named and the
/// shipped one takes its place.
///
/// # Errors
/// When there is no such format.
pub(crate) fn format_reply(
    request: &Request,
    asked: &WarnRequest,
    answer: &mut Reply<WarnReply>,
) -> anyhow::Result<String> {
    let agent = asked.identity.agent.as_deref().unwrap_or("human");
    formats::render_reply(request, agent, asked.format.as_deref(), answer)
}

/// What is not given is taken from the task: its title, its kind, its files; and files from the title.
fn complete_question(
    request: &Request,
    index: &Index,
    question: &mut WarnQuestion,
    asked: &WarnRequest,
) -> Result<(), StoreError> {
    let named: Vec<PathBuf> = mention::mentioned_files(&question.title).into_iter().map(PathBuf::from).collect();
    for file in relative_files(&request.places, &request.cwd, &named) {
        let is_known = request.places.root.join(&file).is_file() || !index.patterns_of_file(&file)?.is_empty();
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

/// Records what was due, for the recorder to take. To be called once the answer was written to whoever asked: an
/// answer that was not received neither counts nor silences anything.
pub(crate) fn record_deliveries(places: &Places, answer: &mut Reply<WarnReply>) {
    for mut event in std::mem::take(&mut answer.data.due) {
        if let EventBody::Delivery(delivery) = &mut event.body {
            let shown = answer.data.warnings.iter().find(|warning| warning.id == delivery.warning);
            let page = answer.data.pages.iter().find(|page| delivery.entry.as_ref() == Some(&page.id));
            delivery.text = shown.map(Warning::to_line).or_else(|| page.map(|page| page.title.clone()));
        }
        write_delivery(places, &event, &mut answer.notes);
    }
}

/// As [`record_deliveries`], of pages that were shown without warnings.
pub(crate) fn record_pages(places: &Places, served: &mut ServedPages, notes: &mut Vec<String>) {
    for mut event in std::mem::take(&mut served.deliveries) {
        if let EventBody::Delivery(delivery) = &mut event.body {
            let page = served.pages.iter().find(|page| delivery.entry.as_ref() == Some(&page.id));
            delivery.text = page.map(|page| page.title.clone());
        }
        write_delivery(places, &event, notes);
    }
}

fn write_delivery(places: &Places, event: &Event, notes: &mut Vec<String>) {
    if let Err(error) = note::write_note(places, event) {
        notes.push(format!("cannot record that {} was shown: {error}", warning_id(event)));
    }
}
