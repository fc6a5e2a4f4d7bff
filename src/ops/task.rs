//! `task start`, `done`, `show` and `similar`.

use std::path::PathBuf;

use anyhow::{Context as _, bail};
use serde::Serialize;

use super::library::{self, HarvestReply, HarvestRequest};
use super::memory;
use super::reading::StoreReader;
use super::reply::Reply;
use super::request::Request;
use crate::advice::task::{self, TaskEnd};
use crate::base::clock::Timestamp;
use crate::base::refusal::Refusal;
use crate::base::text;
use crate::config::Settings;
use crate::event::{EventAuthor, EventBody, TaskNote, TaskOutcome, TaskStep};
use crate::pattern::signature::TaskSignature;
use crate::redact::sanitize_name;
use crate::retrieval::entry_proposals::{EntryProposal, task_proposals};
use crate::retrieval::question::relative_files;
use crate::retrieval::similar_tasks::{DescribedTask, SimilarTask, tasks_like};
use crate::store::{Index, Store, StoreError, TaskDetails};

/// A task's name, bytes.
const NAME_BYTES_MAX: usize = 200;

/// The description of a task that `task start` begins.
#[derive(Debug, Clone, Default)]
pub(crate) struct TaskAnnouncement {
    /// Its name; else the current one.
    pub name: Option<String>,
    /// Its subject.
    pub title: Option<String>,
    /// Kind of work.
    pub category: Option<String>,
    /// Files that it will touch, as typed.
    pub files: Vec<PathBuf>,
    /// Tasks before it.
    pub depends_on: Vec<String>,
}

/// What `task start`, `done` and `show --json` print.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct TaskPage {
    /// Name of the task.
    pub name: String,
    /// `open` or `done`.
    pub state: &'static str,
    /// When and why it is over.
    pub end: Option<TaskEnd>,
    /// Its outcome, if reported.
    pub outcome: Option<TaskOutcome>,
    /// What it is about.
    pub title: Option<String>,
    /// Kind of work.
    pub category: Option<String>,
    /// Files that it was going to touch.
    pub files: Vec<String>,
    /// Tasks before it.
    pub depends_on: Vec<String>,
    /// First activity.
    pub first_at: Timestamp,
    /// Last activity.
    pub last_at: Timestamp,
    /// Runs, passed or failed.
    pub runs: u64,
    /// Failed ones.
    pub failures: u64,
    /// Distinguishes it from other tasks.
    pub signature: TaskSignature,
    /// Tasks like this one, the most alike first.
    pub similar: Vec<SimilarTask>,
    /// Of a task that is over: patterns that are worth writing down, from fixes that held, until they are written down.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub proposals: Vec<EntryProposal>,
    /// What `task done` queued for the learning pipeline, and what it left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub harvest: Option<HarvestReply>,
}

/// What `task list --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct TaskListReply {
    /// The tasks, most recent first.
    pub tasks: Vec<Reply<TaskPage>>,
}

/// What `task similar --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct SimilarTasks {
    /// The most alike first.
    pub tasks: Vec<SimilarTask>,
}

/// Says that a task begins; the runs of the session belong to it until it is over.
///
/// # Errors
/// When it comes before itself, or the store can't be written.
pub(crate) fn start_task(request: &Request, announced: &TaskAnnouncement) -> anyhow::Result<Reply<TaskPage>> {
    let name = find_named(request, announced.name.as_deref())?;
    let depends_on: Vec<String> = announced.depends_on.iter().filter_map(|task| sanitize_name(task)).collect();
    if depends_on.contains(&name) {
        bail!(Refusal::usage(format!("the task {name:?} can't depend on itself: leave it out of --depends-on")));
    }
    let step = TaskStep::Started {
        title: announced.title.as_deref().and_then(sanitize_name),
        category: announced.category.as_deref().and_then(sanitize_name),
        files: relative_files(&request.places, &request.cwd, &announced.files),
        depends_on,
    };
    announce_step(request, &name, step).map(drop)?;
    show_task(request, Some(&name))
}

/// Says that a task is over.
///
/// # Errors
/// When the store can't be written.
pub(crate) fn end_task(
    request: &Request,
    name: Option<&str>,
    outcome: Option<TaskOutcome>,
) -> anyhow::Result<Reply<TaskPage>> {
    let reading = request.open_for_reading()?;
    let name = named_or_current(request, name, reading.index.as_ref())?;
    let is_known = match &reading.index {
        Some(index) => index.find_task(&name)?.is_some() || index.has_memories(&name)?,
        None => false,
    };
    drop(reading);
    if !is_known {
        bail!(Refusal::not_found(format!("there is no task {name:?}")).then_run("task list"));
    }
    let mut store = announce_step(request, &name, TaskStep::Done { outcome, why: None })?;
    let has_result = !matches!(outcome, Some(TaskOutcome::Failed | TaskOutcome::Abandoned));
    let harvested = (request.settings().learn.harvest && has_result).then(|| {
        let asked = HarvestRequest { task: Some(name.clone()), ..HarvestRequest::default() };
        library::harvest_into(request, &mut store, &asked)
    });
    drop(store);
    // What was learnt in a task that failed may still be true: a user has validated it.
    let mut notes =
        if request.settings().advice.learning { memory::promote_task_memories(request, &name)? } else { Vec::new() };
    let mut page = show_task(request, Some(&name))?;
    page.notes.append(&mut notes);
    match harvested.transpose() {
        Ok(harvest) => page.data.harvest = harvest.filter(|harvest| *harvest != HarvestReply::default()),
        // The task is over whether or not this could be done.
        Err(error) => page.notes.push(format!("cannot queue what was learnt: {error:#}")),
    }
    if page.data.harvest.as_ref().is_some_and(|harvest| !harvest.jobs.is_empty()) {
        library::start_capture(request);
    }
    Ok(page)
}

/// Records a step of a task; the store with it.
fn announce_step(request: &Request, name: &str, step: TaskStep) -> anyhow::Result<Store> {
    let mut store = request.open_store().context("cannot record it now")?;
    store.record_event(EventBody::Task(TaskNote {
        name: name.to_owned(),
        step,
        by: EventAuthor::from_identity(&request.identity, Some(name)),
    }))?;
    Ok(store)
}

/// The task that is meant: as given, else the current one.
fn find_named(request: &Request, name: Option<&str>) -> anyhow::Result<String> {
    let index = if name.is_none() { request.open_for_reading()?.index } else { None };
    named_or_current(request, name, index.as_ref())
}

fn named_or_current(request: &Request, name: Option<&str>, index: Option<&Index>) -> anyhow::Result<String> {
    let Some(name) = name else { return Ok(request.current_task(index)?) };
    let name = sanitize_name(name).filter(|name| name.len() <= NAME_BYTES_MAX);
    Ok(name.ok_or_else(|| Refusal::usage(format!("a task's name has 1 to {NAME_BYTES_MAX} bytes")))?)
}

/// Everything about a task: the one that is named, else the current one.
///
/// # Errors
/// When there is none, or the store can't be read.
pub(crate) fn show_task(request: &Request, name: Option<&str>) -> anyhow::Result<Reply<TaskPage>> {
    let reading = request.open_for_reading()?;
    let (index, task) = find_recorded_task(request, &reading, name)?;
    let name = task.name.clone();
    let parts = index.task_parts(task.number)?;
    let mut page = task_page(task, &parts, request.settings(), request.now());
    let title = page.title.clone().unwrap_or_default();
    let text = format!("{name} {title}");
    let category = page.category.as_deref();
    let described = DescribedTask { parts: &parts, text: &text, category, without: Some(&name) };
    page.similar = tasks_like(index, request.settings(), &described, 5)?;
    if request.settings().advice.learning && page.end.is_some() {
        page.proposals = task_proposals(index, &reading.segments, &name)?;
    }
    Ok(Reply::new(page, reading.notes))
}

/// Looks whether a task is recorded, without what [`show_task`] finds out about it.
///
/// # Errors
/// When it is not, or the store can't be read.
pub(crate) fn check_task(request: &Request, name: &str) -> anyhow::Result<()> {
    let reading = request.open_for_reading()?;
    find_recorded_task(request, &reading, Some(name)).map(drop)
}

fn find_recorded_task<'a>(
    request: &Request,
    reading: &'a StoreReader,
    name: Option<&str>,
) -> anyhow::Result<(&'a Index, TaskDetails)> {
    // A recorded name may have characters that a given one can't.
    let recorded = match (&reading.index, name) {
        (Some(index), Some(name)) => match index.find_task(name)? {
            Some(task) => Some(task.name),
            None => index.find_task_where(|recorded| shown_name(recorded) == name)?,
        },
        _ => None,
    };
    let name = match recorded {
        Some(name) => name,
        None => find_named(request, name)?,
    };
    let found = match &reading.index {
        Some(index) => index.find_task(&name)?.map(|task| (index, task)),
        None => None,
    };
    found.ok_or_else(|| Refusal::not_found(format!("there is no task {name:?}")).then_run("task list").into())
}

/// The tasks that something is known of last, the newest first.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn list_tasks(request: &Request, limit: usize) -> Result<Reply<TaskListReply>, StoreError> {
    let reading = request.open_for_reading()?;
    let Some(index) = reading.index else { return Ok(Reply::new(TaskListReply { tasks: Vec::new() }, reading.notes)) };
    let now = request.now();
    let mut tasks = Vec::new();
    for task in index.list_tasks(limit)? {
        let parts = index.task_parts(task.number)?;
        tasks.push(task_page(task, &parts, request.settings(), now).into());
    }
    Ok(Reply::new(TaskListReply { tasks }, reading.notes))
}

/// The tasks that are most like what is described.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn similar_tasks(
    request: &Request,
    described: &TaskAnnouncement,
    commands: &[String],
    limit: usize,
) -> Result<Reply<SimilarTasks>, StoreError> {
    let reading = request.open_for_reading()?;
    let Some(index) = reading.index else { return Ok(Reply::new(SimilarTasks { tasks: Vec::new() }, reading.notes)) };
    let known = match &described.name {
        Some(name) => index.find_task(name)?,
        None => None,
    };
    let mut parts = match &known {
        Some(task) => index.task_parts(task.number)?,
        None => Vec::new(),
    };
    let files = relative_files(&request.places, &request.cwd, &described.files)
        .into_iter()
        .map(|file| ("file".to_owned(), file));
    parts.extend(files.chain(commands.iter().map(|command| ("tool".to_owned(), command.clone()))));
    let title = described.title.clone().or_else(|| known.as_ref().and_then(|task| task.title.clone()));
    let text = format!("{} {}", described.name.as_deref().unwrap_or_default(), title.unwrap_or_default());
    let category =
        described.category.as_deref().and_then(sanitize_name).or_else(|| known.and_then(|task| task.category));
    let without = described.name.as_deref();
    let described = DescribedTask { parts: &parts, text: &text, category: category.as_deref(), without };
    let tasks = tasks_like(&index, request.settings(), &described, limit)?;
    Ok(Reply::new(SimilarTasks { tasks }, reading.notes))
}

/// A name as lists show it: without the characters that a screen doesn't show.
fn shown_name(name: &str) -> String {
    text::ellipsis(&text::one_line(name), NAME_BYTES_MAX)
}

fn task_page(task: TaskDetails, parts: &[(String, String)], settings: &Settings, now: Timestamp) -> TaskPage {
    let silence = settings.fix.silence();
    let end = task::task_end(&task, now, silence);
    TaskPage {
        state: if end.is_some() { "done" } else { "open" },
        end,
        signature: TaskSignature::from_parts(parts.iter().map(|(part, value)| (part.as_str(), value.as_str()))),
        name: task.name,
        outcome: task.outcome,
        title: task.title,
        category: task.category,
        files: task.files,
        depends_on: task.depends_on,
        first_at: task.first_at,
        last_at: task.last_at,
        runs: task.runs,
        failures: task.failures,
        similar: Vec::new(),
        proposals: Vec::new(),
        harvest: None,
    }
}
