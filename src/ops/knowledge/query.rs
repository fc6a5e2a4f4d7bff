//! `knowledge query`, `relevant`, `show`, `export` and `log`.

use std::collections::HashSet;

use anyhow::bail;
use serde::Serialize;

use crate::advice::similarity::telling_words;
use crate::base::clock::Timestamp;
use crate::base::refusal::Refusal;
use crate::event::{EntryChange, EntryNote, EntryUse, Event, EventAuthor, EventBody, derived_id};
use crate::ops::library::{ServedPage, ServedPages};
use crate::ops::reply::Reply;
use crate::ops::request::Request;
use crate::ops::warn;
use crate::retrieval::entry_measurement::measure_entry;
use crate::retrieval::entry_page::EntryPage;
use crate::retrieval::entry_search::{EntryQueryRequest, EntrySearch, SimilarTaskLinks, learnt_page};
use crate::retrieval::question::{WarnRequest, relative_files};
use crate::store::{EntryFilter, Index, KnowledgeLogRow, SegmentFolder, StoreError, note};

/// Words of a question that are looked for.
const WORDS_MAX: usize = 20;
/// Files of a question.
const FILES_MAX: usize = 30;
/// Entries of an export.
const EXPORTED_MAX: usize = 100_000;

/// What `knowledge query`, `relevant` and `export --json` print.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct EntryList {
    /// The entries.
    pub entries: Vec<EntryPage>,
    /// Whether there are more on the next page.
    pub more: bool,
    /// Of `relevant`: approved pages of the pattern library that matter for the task, at most two.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pages: Vec<ServedPage>,
}

/// What `knowledge log --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct KnowledgeLog {
    /// The newest first.
    pub events: Vec<KnowledgeLogRecord>,
}

/// A write to what is known.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct KnowledgeLogRecord {
    /// `knowledge:created`, `knowledge:promoted`, `pattern:reused`, …
    pub event: String,
    /// The event's id.
    pub id: String,
    /// `k-…`
    pub entry: String,
    /// When.
    pub at: Timestamp,
    /// Name of the agent.
    pub agent: Option<String>,
    /// Its session.
    pub session: Option<String>,
    /// Its task.
    pub task: Option<String>,
}

/// The entries that fit a question, the best first: how well the words and files fit, times the confidence.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn query_entries(request: &Request, asked: &EntryQueryRequest) -> Result<Reply<EntryList>, StoreError> {
    let mut notes = Vec::new();
    match request.open_as_it_is(&mut notes)? {
        Some(index) => search_entries(request, asked, (&index, notes, SimilarTaskLinks::default())),
        None => Ok(Reply::new(EntryList::default(), notes)),
    }
}

/// As [`query_entries`], and no use of the entries: a person looks through them.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn browse_entries(request: &Request, asked: &EntryQueryRequest) -> Result<Reply<EntryList>, StoreError> {
    let mut notes = Vec::new();
    let found = match request.open_as_it_is(&mut notes)? {
        Some(index) => find_entries(request, asked, &index, SimilarTaskLinks::default())?,
        None => EntryList::default(),
    };
    Ok(Reply::new(found, notes))
}

fn search_entries(
    request: &Request,
    asked: &EntryQueryRequest,
    (index, notes, alike): (&Index, Vec<String>, SimilarTaskLinks),
) -> Result<Reply<EntryList>, StoreError> {
    let mut found = Reply::new(find_entries(request, asked, index, alike)?, notes);
    let ids: Vec<&str> = found.data.entries.iter().map(|page| page.id.as_str()).collect();
    record_use(request, EntryUse::Queried, &ids, &mut found.notes);
    Ok(found)
}

/// As [`query_entries`], and no use of the entries: what was asked for is not only knowledge.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn find_entries(
    request: &Request,
    asked: &EntryQueryRequest,
    index: &Index,
    alike: SimilarTaskLinks,
) -> Result<EntryList, StoreError> {
    let files: Vec<String> =
        relative_files(&request.places, &request.cwd, &asked.files).into_iter().take(FILES_MAX).collect();
    let limit = asked.limit.unwrap_or(usize::try_from(request.settings().knowledge.limit).unwrap_or(usize::MAX)).max(1);
    let skip = asked.page.saturating_sub(1).saturating_mul(limit);
    let search = EntrySearch { index, settings: request.settings(), now: request.now(), asked, alike };
    let words = search_words(&asked.text);
    let mut pages = if words.is_empty() && files.is_empty() && search.alike.is_empty() {
        search.newest_pages(
            &SegmentFolder::new(request.places.state.events()),
            skip.saturating_add(limit).saturating_add(1),
        )?
    } else {
        let segments = SegmentFolder::new(request.places.state.events());
        // The newest may fit worst.
        let wanted = if asked.recent { usize::MAX } else { skip.saturating_add(limit).saturating_add(1) };
        let mut pages = search.fitting_pages(&words, &files, wanted)?;
        let learnt = search.learnt_pages(&segments, &words, &files, &pages, wanted)?;
        pages.extend(learnt);
        if asked.recent {
            pages.sort_by(|a, b| b.at.cmp(&a.at).then_with(|| a.id.cmp(&b.id)))
        } else {
            let score = |page: &EntryPage| page.score.unwrap_or(0.0);
            pages.sort_by(|a, b| score(b).total_cmp(&score(a)).then_with(|| a.id.cmp(&b.id)));
        }
        pages
    };
    pages.drain(..skip.min(pages.len()));
    let more = pages.len() > limit;
    pages.truncate(limit);
    // The reasons for its confidence are on the page of one entry.
    pages.iter_mut().for_each(|page| page.ledger = None);
    Ok(EntryList { entries: pages, more, ..EntryList::default() })
}

/// The entries that a task or its files are about, and those that were written or of use in tasks like it. What is
/// not given is taken from the task: its title, its files.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn relevant_entries(
    request: &Request,
    mut asked: EntryQueryRequest,
) -> Result<Reply<EntryList>, StoreError> {
    let mut notes = Vec::new();
    let Some(index) = request.open_as_it_is(&mut notes)? else {
        return Ok(Reply::new(EntryList::default(), notes));
    };
    let task = request.current_task(Some(&index))?;
    let mut alike = SimilarTaskLinks::default();
    if let Some(task) = index.find_task(&task)? {
        alike = SimilarTaskLinks::for_task(&index, &task, request.settings())?;
        if asked.text.is_empty() {
            asked.text = telling_words(task.title.as_deref().unwrap_or_default()).join(" ");
        }
        if asked.files.is_empty() {
            let files = if task.files.is_empty() { index.files_of_task(task.number, FILES_MAX)? } else { task.files };
            asked.files = files.into_iter().map(|file| request.places.root.join(file)).collect();
        }
    }
    if search_words(&asked.text).is_empty() && asked.files.is_empty() && alike.is_empty() {
        return Ok(Reply::new(EntryList::default(), notes));
    }
    search_entries(request, &asked, (&index, notes, alike))
}

/// As [`relevant_entries`], with the approved pages of the pattern library that matter for the task. What has to be remembered
/// of the pages is left to [`warn::record_pages`].
///
/// # Errors
/// When the store can't be read.
pub(crate) fn relevant_knowledge(
    request: &Request,
    asked: EntryQueryRequest,
) -> Result<(Reply<EntryList>, ServedPages), StoreError> {
    let about = WarnRequest {
        identity: request.identity.clone(),
        files: asked.files.clone(),
        surface: "knowledge".to_owned(),
        ..WarnRequest::default()
    };
    let mut found = relevant_entries(request, asked)?;
    let served = warn::collect_pages(request, &about)?;
    found.data.pages.clone_from(&served.pages);
    Ok((found, served))
}

/// One entry with its ledger: written, by the start of its id; or learnt, by its id.
///
/// # Errors
/// When there is none or more than one, or the store can't be read.
pub(crate) fn show_entry(request: &Request, id: &str) -> anyhow::Result<Reply<EntryPage>> {
    let mut reading = request.open_for_reading()?;
    let Some(index) = &reading.index else {
        bail!(Refusal::not_found("no entries are recorded here yet").then_run("knowledge add --help"));
    };
    let now = request.now();
    let gotcha = index.learnt_entry(id)?.map(|id| index.pattern_of_gotcha(&id)).transpose()?.flatten();
    let page = match gotcha {
        Some(pattern) => learnt_page(index, &reading.segments, pattern, request.settings(), now)?,
        None => None,
    };
    let page = match page {
        Some(page) => page,
        None => {
            let leader = index.find_entry(&index.find_entry(id)?.leader)?;
            let measured = Some(measure_entry(index, &leader, request.settings(), now)?);
            EntryPage { measured, ..EntryPage::from_row(index, leader, request.settings(), now)? }
        }
    };
    record_use(request, EntryUse::Retrieved, &[&page.id], &mut reading.notes);
    Ok(Reply::new(page, reading.notes))
}

/// Every entry of a filter, the newest first.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn export_entries(request: &Request, filter: &EntryFilter) -> Result<Reply<EntryList>, StoreError> {
    let reading = request.open_for_reading()?;
    let mut found = Reply::new(EntryList::default(), reading.notes);
    let Some(index) = reading.index else { return Ok(found) };
    let asked = EntryQueryRequest { filter: filter.clone(), ..EntryQueryRequest::default() };
    let search = EntrySearch {
        index: &index,
        settings: request.settings(),
        now: request.now(),
        asked: &asked,
        alike: SimilarTaskLinks::default(),
    };
    found.data.entries = search.newest_pages(&reading.segments, EXPORTED_MAX)?;
    found.data.entries.iter_mut().for_each(|page| page.ledger = None);
    Ok(found)
}

/// The last writes to what is known.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn read_log(request: &Request, limit: usize) -> Result<Reply<KnowledgeLog>, StoreError> {
    let reading = request.open_for_reading()?;
    let rows = match &reading.index {
        Some(index) => index.knowledge_log(limit)?,
        None => Vec::new(),
    };
    let events = rows.into_iter().map(|row| {
        let KnowledgeLogRow { name, entry, event, at, agent, session, task } = row;
        KnowledgeLogRecord { event: name, id: event, entry, at, agent, session, task }
    });
    Ok(Reply::new(KnowledgeLog { events: events.collect() }, reading.notes))
}

/// Letters and digits only, lower case.
fn search_words(text: &str) -> Vec<String> {
    let parts = text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    let mut seen = HashSet::new();
    parts.map(str::to_lowercase).filter(|word| seen.insert(word.clone())).take(WORDS_MAX).collect()
}

/// Records who found or read what, once a session: a note, so the command does not wait for it.
fn record_use(request: &Request, how: EntryUse, ids: &[&str], notes: &mut Vec<String>) {
    let Some((first, others)) = ids.split_first().filter(|_| request.settings().advice.learning) else { return };
    let with: Vec<String> = others.iter().map(|&id| id.to_owned()).collect();
    let by = EventAuthor::from_identity(&request.identity, request.identity.task.as_deref());
    let session = by.session.clone().unwrap_or_default();
    let id = derived_id("knowledge_use", &[how.as_str(), &session, &ids.join(" ")]);
    let entry = EntryNote { entry: (*first).to_owned(), change: EntryChange::Used { how, with }, by };
    // The writer is the store's that takes it.
    let event = Event { id, ..Event::new(request.now(), "", EventBody::Knowledge(entry)) };
    if let Err(error) = note::write_note(&request.places, &event) {
        notes.push(format!("cannot record the use: {error}"));
    }
}
