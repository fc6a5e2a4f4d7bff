//! `memory remember`, `recall`, `validate` and `learn`: an agent's own memory, and its promotion to shared knowledge.

use anyhow::{Context as _, ensure};
use serde::Serialize;
use serde_json::Value;

use super::knowledge::{self, EntryAddReply, KnowledgeWriter};
use super::reply::Reply;
use super::request::Request;
use crate::advice::task::task_end;
use crate::base::clock::Timestamp;
use crate::base::ids;
use crate::base::refusal::Refusal;
use crate::base::text::{ellipsis, one_line, printable};
use crate::capture::Identity;
use crate::event::{EntrySource, Event, EventAuthor, EventBody, KnowledgeEntry, MemoryChange, MemoryNote, MemoryType};
use crate::knowledge::duplicate::NormalisedWords;
use crate::knowledge::{EntryDraft, memory};
use crate::pattern::statistics::to_permille;
use crate::recorder;
use crate::redact::{redact_text, sanitize_name};
use crate::store::{Index, MemoryRow, StoreError, note};

/// A memory, bytes.
const TEXT_BYTES_MAX: usize = 4_000;
/// An hour, microseconds.
const HOUR_US: i64 = 3_600_000_000;
/// Memories of one task that are promoted at its end.
const PROMOTED_MAX: usize = 50;

/// Memory to store.
#[derive(Debug, Clone)]
pub(crate) struct MemoryDraft {
    pub memory_type: MemoryType,
    pub text: String,
    /// How important it is, 0 to 1.
    pub importance: f64,
    /// Forgotten after this many hours; else a task's context after the setting's, the rest never.
    pub hours: Option<u64>,
}

/// Query for memories.
#[derive(Debug, Clone, Default)]
pub(crate) struct RecallRequest {
    /// Words.
    pub text: String,
    /// Only of this kind.
    pub memory_type: Option<MemoryType>,
    /// Maximum number of results.
    pub limit: usize,
}

/// A memory as it is shown.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Memory {
    /// `m-…`
    pub id: String,
    /// `context`, `learning`, `preference`, `error_pattern`, `success_pattern`.
    #[serde(rename = "type")]
    pub memory_type: MemoryType,
    /// What is remembered.
    pub text: String,
    /// How important it is, 0 to 1.
    pub importance: f64,
    /// Since when.
    pub at: Timestamp,
    /// Time after which it is not recalled.
    pub expires_at: Option<Timestamp>,
    /// Its owner.
    pub agent: Option<String>,
    /// The task in which it was recorded.
    pub task: Option<String>,
    /// Number of earlier lookups.
    pub accesses: u64,
    /// It has turned out to be true.
    pub validated: bool,
    /// `k-…` that it became.
    pub entry: Option<String>,
}

/// What `memory remember`, `validate` and `recall --json` print.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct MemoryList {
    /// Highest rank first.
    pub memories: Vec<Memory>,
}

/// What `memory learn --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct LearnReply {
    /// The agent's own.
    pub memory: Memory,
    /// The shared entry.
    pub knowledge: Reply<EntryAddReply>,
}

/// Remembers something for this agent and task.
///
/// # Errors
/// When there is no text, the importance is out of bounds, or the store can't be written.
pub(crate) fn add_memory(request: &Request, given: &MemoryDraft) -> anyhow::Result<Reply<MemoryList>> {
    let change = build_memory(request, given)?;
    let mut writing = KnowledgeWriter::new(request, None)?;
    let id = write_memory(&mut writing, change)?;
    single_memory_reply(writing, &id)
}

/// The memory for the event: checked, bounded, without secrets.
fn build_memory(request: &Request, given: &MemoryDraft) -> anyhow::Result<MemoryChange> {
    let text = ellipsis(printable(&redact_text(&given.text).0).trim(), TEXT_BYTES_MAX);
    ensure!(
        !text.is_empty(),
        Refusal::usage("nothing to remember: the text is empty").then_run("memory remember TEXT")
    );
    ensure!(
        (0.0..=1.0).contains(&given.importance),
        Refusal::usage(format!("an importance is from 0 to 1, not {}", given.importance))
    );
    let hours = given
        .hours
        .or((given.memory_type == MemoryType::Context).then_some(request.settings().knowledge.context_hours));
    let now = request.now();
    let expires = hours.map(|hours| i64::try_from(hours).unwrap_or(i64::MAX).saturating_mul(HOUR_US));
    Ok(MemoryChange::Remembered {
        memory_type: given.memory_type,
        text,
        importance_permille: to_permille(given.importance),
        expires_at: expires.map(|after| Timestamp(now.0.saturating_add(after))),
    })
}

fn write_memory(writing: &mut KnowledgeWriter<'_>, change: MemoryChange) -> anyhow::Result<String> {
    let id = ids::short(ids::IdKind::Memory, ids::RunId::fresh().0.as_bytes());
    writing.record(|by| EventBody::Memory(MemoryNote { memory: id.clone(), change, by }))?;
    Ok(id)
}

fn single_memory_reply(writing: KnowledgeWriter<'_>, id: &str) -> anyhow::Result<Reply<MemoryList>> {
    let memory = Memory::from_row(writing.index().find_memory(id)?);
    Ok(Reply::new(MemoryList { memories: vec![memory] }, writing.into_notes()))
}

/// Says that a memory of this agent has turned out to be true: it becomes knowledge when its task is done.
///
/// # Errors
/// When the id names none or more than one, it is another agent's, or the store can't be written.
pub(crate) fn validate_memory(request: &Request, id: &str) -> anyhow::Result<Reply<MemoryList>> {
    let mut writing = KnowledgeWriter::new(request, None)?;
    let row = writing.index().find_memory(id)?;
    let own = request.identity.agent.as_deref().and_then(sanitize_name);
    ensure!(row.by.agent == own, Refusal::conflict(format!("{} is another agent's", row.id)));
    writing
        .record(|by| EventBody::Memory(MemoryNote { memory: row.id.clone(), change: MemoryChange::Validated, by }))?;
    single_memory_reply(writing, &row.id)
}

/// What this agent remembers, what most comes to mind first: by words, importance, freshness and how often it was looked
/// up. The context of other tasks is not its business now.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn recall_memories(request: &Request, asked: &RecallRequest) -> Result<Reply<MemoryList>, StoreError> {
    let reading = request.open_for_reading()?;
    let mut found = Reply::new(MemoryList { memories: Vec::new() }, reading.notes);
    let Some(index) = &reading.index else { return Ok(found) };
    let now = request.now();
    let task = request.current_task(Some(index))?;
    let agent = request.identity.agent.as_deref().and_then(sanitize_name);
    let question = NormalisedWords::from_text(&asked.text);
    let rows = index.memories_of_agent(agent.as_deref(), now)?.into_iter();
    let rows = rows.filter(|row| asked.memory_type.is_none_or(|memory_type| row.memory_type == memory_type));
    let rows = rows.filter(|row| row.memory_type != MemoryType::Context || row.by.task.as_deref() == Some(&task));
    let mut weighed: Vec<(f64, MemoryRow)> = rows
        .map(|row| (memory::recall_weight(&row, &question, now), row))
        .filter(|(weight, _)| *weight > 0.0)
        .collect();
    weighed.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.id.cmp(&b.1.id)));
    weighed.truncate(asked.limit);
    found.data.memories = weighed.into_iter().map(|(_, row)| Memory::from_row(row)).collect();
    let mut ids = found.data.memories.iter().map(|memory| memory.id.clone());
    if let Some(first) = ids.next().filter(|_| request.settings().advice.learning) {
        let change = MemoryChange::Recalled { with: ids.collect() };
        let body = EventBody::Memory(MemoryNote {
            memory: first,
            change,
            by: EventAuthor::from_identity(&request.identity, Some(&task)),
        });
        // The writer is the store's that takes it.
        if let Err(error) = note::write_note(&request.places, &Event::new(now, "", body)) {
            found.notes.push(format!("cannot record the lookup: {error}"));
        }
    }
    Ok(found)
}

/// Remembers something that was learnt, and writes it down for everybody at once: about the files of `globs`, from
/// `sources`.
///
/// # Errors
/// As `memory remember` and `knowledge add`.
pub(crate) fn learn_entry(
    request: &Request,
    given: &MemoryDraft,
    globs: &[String],
    sources: &[String],
) -> anyhow::Result<Reply<LearnReply>> {
    ensure!(
        given.memory_type != MemoryType::Preference,
        Refusal::usage("a preference belongs to one agent and is not shared").then_run("memory remember TEXT")
    );
    // Both are checked before one is written.
    let change = build_memory(request, given)?;
    let text = printable(&redact_text(&given.text).0).trim().to_owned();
    let learnt =
        EntryDraft { globs: globs.to_vec(), sources: sources.to_vec(), ..draft_from_memory(given.memory_type, &text) };
    let entry = knowledge::build_entry(request, &learnt)?;
    let mut writing = KnowledgeWriter::new(request, None)?;
    let id = write_memory(&mut writing, change)?;
    let knowledge = promote_memory(&mut writing, &id, entry)?;
    let memory = Memory::from_row(writing.index().find_memory(&id)?);
    let learnt = LearnReply { memory, knowledge: knowledge.into() };
    Ok(Reply::new(learnt, writing.into_notes()))
}

/// Writes the entry that a memory becomes, and that it did.
fn promote_memory(
    writing: &mut KnowledgeWriter<'_>,
    memory: &str,
    entry: (KnowledgeEntry, bool),
) -> anyhow::Result<EntryAddReply> {
    let added = writing.add_entry(entry)?;
    let change = MemoryChange::Promoted { entry: added.written.clone() };
    writing.record(|by| EventBody::Memory(MemoryNote { memory: memory.to_owned(), change, by }))?;
    Ok(added)
}

/// Makes knowledge of what was learnt in a task and has turned out to be true; the outcome of each, for people.
///
/// # Errors
/// When the store can't be read or written.
pub(super) fn promote_task_memories(request: &Request, task: &str) -> anyhow::Result<Vec<String>> {
    let Some(index) = Index::open_read(&request.places.state.index())? else { return Ok(Vec::new()) };
    let mut notes = Vec::new();
    for row in index.memories_to_promote(task, request.now())?.into_iter().take(PROMOTED_MAX) {
        let given = EntryDraft { sources: vec![row.id.clone()], ..draft_from_memory(row.memory_type, &row.text) };
        // It is whose it was, whoever ended the task.
        let owner = Identity {
            task: Some(task.to_owned()),
            session: row.by.session.clone().or_else(|| request.identity.session.clone()),
            agent: row.by.agent.clone(),
            ..Identity::default()
        };
        let request = &request.with_identity(owner);
        let entry = knowledge::build_entry(request, &given).context("cannot promote what was learnt")?;
        let mut writing = KnowledgeWriter::new(request, None)?;
        let added = promote_memory(&mut writing, &row.id, entry).context("cannot promote what was learnt")?;
        let title = one_line(&added.entry.title);
        notes.push(format!("{} is shared knowledge now: {} {title}", row.id, added.entry.id));
    }
    Ok(notes)
}

/// The same for every task that is over by now, whoever or whatever ended it, also without `task done`. For a
/// recorder that has finished.
///
/// # Errors
/// As [`promote_task_memories`].
pub(super) fn promote_ended_tasks(request: &Request) -> anyhow::Result<()> {
    let Some(index) = Index::open_read(&request.places.state.index())? else { return Ok(()) };
    let now = request.now();
    let waiting = index.tasks_to_promote(now)?;
    if waiting.is_empty() {
        return Ok(());
    }
    let request = &request.with_identity(Identity::default());
    let settings = request.settings();
    let silence = settings.fix.silence();
    for (task, last_at) in waiting {
        let is_silent = u128::from(now.micros_since(last_at)) >= silence.as_micros();
        let is_over = match index.find_task(&task)? {
            Some(known) => {
                let is_later = is_silent || known.done_at.is_some_and(|done| done >= last_at);
                is_later && task_end(&known, now, silence).is_some()
            }
            None => is_silent,
        };
        if is_over && settings.advice.learning {
            recorder::note(&request.places, &promote_task_memories(request, &task)?);
        }
    }
    Ok(())
}

fn draft_from_memory(memory_type: MemoryType, text: &str) -> EntryDraft {
    let (kind, title, properties) = memory::promoted_entry(memory_type, text);
    let properties = match properties {
        Value::Object(properties) => properties,
        _ => serde_json::Map::new(),
    };
    EntryDraft { kind, title, properties, source: Some(EntrySource::Agent), ..EntryDraft::default() }
}

impl Memory {
    fn from_row(row: MemoryRow) -> Self {
        let line = |text: &str| ellipsis(one_line(text).trim(), TEXT_BYTES_MAX);
        Memory {
            id: line(&row.id),
            text: ellipsis(&printable(&row.text), TEXT_BYTES_MAX),
            agent: row.by.agent.as_deref().map(line),
            task: row.by.task.as_deref().map(line),
            memory_type: row.memory_type,
            importance: row.importance,
            at: row.at,
            expires_at: row.expires_at,
            accesses: row.accesses,
            validated: row.validated,
            entry: row.entry,
        }
    }
}
