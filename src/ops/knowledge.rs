//! `knowledge add`, `supersede`, `merge`, `confidence`, `pin` and `boost`: what people and agents write down, and what is
//! said of it.

mod proposals;
mod query;

use std::collections::BTreeSet;

use anyhow::{Context as _, bail, ensure};
use serde::Serialize;
use serde_json::Value;

use super::reply::Reply;
use super::request::Request;
use crate::base::ids;
use crate::base::refusal::Refusal;
use crate::base::text::printable;
use crate::config::Settings;
use crate::event::{
    EntryChange, EntryNote, EntryOrigin, EntrySource, EntryUse, Event, EventAuthor, EventBody, KnowledgeEntry,
};
use crate::knowledge::duplicate::{self, EntryLikeness, NormalisedWords};
use crate::knowledge::{EntryDraft, entry, entry_types};
use crate::pattern::statistics::{round_to_thousandth, to_permille};
use crate::redact::{redact_text, sanitize_name};
use crate::retrieval::entry_page::{EntryPage, page_line};
use crate::retrieval::entry_search::learnt_page;
use crate::store::{Index, Store, StoreError};

pub(crate) use proposals::{EntryProposalList, draft_from_fix, list_proposals};
pub(crate) use query::{
    EntryList, KnowledgeLog, browse_entries, export_entries, find_entries, query_entries, read_log, relevant_entries,
    relevant_knowledge, show_entry,
};

/// All properties of an entry, bytes.
const PROPERTIES_BYTES_MAX: usize = 32 << 10;
/// Globs, actions, tags or sources of an entry.
const LABELS_MAX: usize = 50;
/// Duplicates that are suggested.
const SUGGESTED_MAX: usize = 5;

/// What `knowledge add --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct EntryAddReply {
    /// `created`, or `merged` with one that says the same.
    pub result: &'static str,
    /// The entry that represents it: itself, or the one that it was merged with.
    pub entry: EntryPage,
    /// What was written, also when it was merged.
    pub written: String,
    /// Entries that may say the same.
    pub similar: Vec<SimilarEntry>,
}

/// An entry that may say the same.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct SimilarEntry {
    /// `k-…`
    pub id: String,
    /// Its title.
    pub title: String,
    /// Shared words by all words.
    pub similarity: f64,
}

/// What was changed, and the entry after it; what `supersede`, `merge`, `confidence`, `pin` and `boost --json` print.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct EntryChangeReply {
    /// One line: what was done.
    pub done: String,
    /// The entry.
    pub entry: EntryPage,
}

/// Writes an entry down. One that says what another of its type says is written too, and merged with it.
///
/// # Errors
/// When there is no such type, a property doesn't fit its schema, or the store can't be written.
pub(crate) fn add_entry(request: &Request, given: &EntryDraft) -> anyhow::Result<Reply<EntryAddReply>> {
    let entry = build_entry(request, given)?;
    let mut open = KnowledgeWriter::new(request, given.person.as_deref())?;
    let added = open.add_entry(entry)?;
    Ok(Reply::new(added, open.into_notes()))
}

/// The entry for the event, checked, bounded, without secrets; and whether it may be merged.
pub(super) fn build_entry(request: &Request, given: &EntryDraft) -> anyhow::Result<(KnowledgeEntry, bool)> {
    let all = entry_types(&request.settings().knowledge);
    let Some(entry_type) = all.get(given.kind.as_str()) else {
        let known: Vec<&str> = all.keys().map(String::as_str).collect();
        let message = format!("unknown type {:?}; there are {}", given.kind.as_str(), known.join(", "));
        bail!(Refusal::usage(message).then_run("knowledge types"));
    };
    let title = sanitize_name(&given.title).ok_or_else(|| Refusal::usage("an entry needs a title: --title TEXT"))?;
    let properties = clean_value(&Value::Object(given.properties.clone()));
    let faults = entry_type.schema.faults(&properties);
    ensure!(
        faults.is_empty(),
        Refusal::usage(format!("this is no {}: {}", given.kind, faults.join("; "))).then_run("knowledge types")
    );
    ensure!(
        properties.to_string().len() <= PROPERTIES_BYTES_MAX,
        Refusal::usage(format!("the properties have more than {PROPERTIES_BYTES_MAX} bytes"))
    );
    let actions: Vec<String> = clean_labels(&given.actions).into_iter().map(|action| action.to_uppercase()).collect();
    let is_action = |action: &String| action.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    if let Some(bad) = actions.iter().find(|action| !is_action(action)) {
        bail!(Refusal::usage(format!("{bad:?} is not an action: use words such as CREATE, UPDATE, DELETE, VERIFY")));
    }
    let source = given.source.unwrap_or(match request.identity.agent.as_deref() {
        None | Some("human") => EntrySource::Human,
        Some("ci") => EntrySource::Check,
        Some(_) => EntrySource::Agent,
    });
    let entry = KnowledgeEntry {
        entry_type: given.kind.clone(),
        title,
        properties,
        globs: clean_labels(&given.globs).into_iter().map(|glob| glob.trim_start_matches("./").to_owned()).collect(),
        actions,
        tags: clean_labels(&given.tags).into_iter().map(|tag| tag.to_lowercase()).collect(),
        sources: clean_labels(&given.sources),
        origin: EntryOrigin { source, prevented: given.prevented, fix_applied: given.fix_applied },
    };
    Ok((entry, entry_type.merges))
}

/// Single lines without secrets, each once.
fn clean_labels(given: &[String]) -> Vec<String> {
    let unique: BTreeSet<String> = given.iter().filter_map(|label| sanitize_name(label)).collect();
    unique.into_iter().take(LABELS_MAX).collect()
}

/// Sources by their whole ids, with the patterns that were seen in them: those are what the entry is about, and its
/// effect is measured by them. An id without a record stays as given.
fn resolve_sources(index: &Index, sources: Vec<String>) -> Result<Vec<String>, StoreError> {
    let mut found = BTreeSet::new();
    let mut patterns = BTreeSet::new();
    for source in sources {
        match index.find_source(&source)? {
            Some(row) => {
                found.insert(row.id);
                patterns.extend(row.patterns);
            }
            None => drop(found.insert(source)),
        }
    }
    let room = LABELS_MAX.saturating_sub(found.len());
    let further: Vec<String> = patterns.into_iter().filter(|id| !found.contains(id)).take(room).collect();
    found.extend(further);
    Ok(found.into_iter().collect())
}

/// A value without secrets and control characters in its texts.
fn clean_value(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(printable(&redact_text(text).0).trim().to_owned()),
        Value::Array(items) => items.iter().map(clean_value).collect(),
        Value::Object(fields) => fields.iter().map(|(name, field)| (printable(name), clean_value(field))).collect(),
        other => other.clone(),
    }
}

/// Entries of the type that say the same or may, the most alike first.
fn find_duplicates(
    index: &Index,
    settings: &Settings,
    new: &KnowledgeEntry,
) -> anyhow::Result<Vec<(SimilarEntry, EntryLikeness)>> {
    let words = NormalisedWords::from_text(&entry::entry_text(&new.title, &new.properties));
    let shared = words.min_shared_words(settings.knowledge.suggested);
    let mut found: Vec<(i64, f64, EntryLikeness)> = Vec::new();
    for (number, forms) in index.similar_entries(&new.entry_type, words.as_slice(), shared)? {
        let (jaccard, likeness) =
            duplicate::compare_entries(&words, &NormalisedWords::from_forms(forms), &settings.knowledge);
        if likeness != EntryLikeness::Different {
            found.push((number, jaccard, likeness));
        }
    }
    let rank = |likeness: EntryLikeness| likeness != EntryLikeness::Same;
    found.sort_by(|a, b| rank(a.2).cmp(&rank(b.2)).then(b.1.total_cmp(&a.1)).then(a.0.cmp(&b.0)));
    let mut seen = BTreeSet::new();
    found.retain(|(number, _, _)| seen.insert(*number));
    found.truncate(SUGGESTED_MAX);
    let mut similar = Vec::new();
    for (number, jaccard, likeness) in found {
        let row = index.entry_at(number)?;
        let (title, similarity) = (page_line(&row.title), round_to_thousandth(jaccard));
        similar.push((SimilarEntry { id: row.id, title, similarity }, likeness));
    }
    Ok(similar)
}

/// Says that another entry is better.
///
/// # Errors
/// When an id names none or more than one, it would supersede itself, or the store can't be written.
pub(crate) fn supersede_entry(request: &Request, id: &str, with: &str) -> anyhow::Result<Reply<EntryChangeReply>> {
    let open = KnowledgeWriter::new(request, None)?;
    let (old, new) = (open.leader_id(id)?, open.leader_id(with)?);
    ensure!(old != new, Refusal::conflict(format!("{id} and {with} are the same entry: it can't supersede itself")));
    let mut next = open.entry_page(&new)?.superseded_by;
    let mut seen = BTreeSet::new();
    while let Some(id) = next.filter(|id| seen.insert(id.clone())) {
        ensure!(id != old, Refusal::conflict(format!("{new} is already superseded by {old}")));
        next = open.entry_page(&id).ok().and_then(|page| page.superseded_by);
    }
    let done = format!("{old} is superseded by {new}");
    open.apply_change(&old, EntryChange::Superseded { with: new }, done)
}

/// Says that two entries say the same.
///
/// # Errors
/// When an id names none or more than one, their type is never merged, or the store can't be written.
pub(crate) fn merge_entries(request: &Request, id: &str, into: &str) -> anyhow::Result<Reply<EntryChangeReply>> {
    let open = KnowledgeWriter::new(request, None)?;
    for id in [id, into] {
        let is_learnt = open.index().find_entry(id).is_err() && open.index().learnt_entry(id)?.is_some();
        ensure!(
            !is_learnt,
            Refusal::conflict(format!("{id} was learnt and follows from fixes: it can't be merged"))
                .then_run(format!("knowledge supersede {id} --with ID"))
        );
    }
    let (one, other) = (open.store.index().find_entry(id)?, open.store.index().find_entry(into)?);
    ensure!(one.leader != other.leader, Refusal::conflict(format!("{} and {} are already merged", one.id, other.id)));
    ensure!(
        one.kind == other.kind,
        Refusal::conflict(format!("{} is a {} and {} is a {}", one.id, one.kind, other.id, other.kind))
    );
    let may =
        entry_types(&request.settings().knowledge).get(one.kind.as_str()).is_none_or(|entry_type| entry_type.merges);
    ensure!(
        may,
        Refusal::conflict(format!("a {} is never merged", one.kind))
            .then_run(format!("knowledge supersede {} --with {}", one.id, other.id))
    );
    let done = format!("{} and {} are merged", one.id, other.id);
    open.apply_change(&one.id, EntryChange::Merged { into: other.id }, done)
}

/// Sets the confidence of an entry.
///
/// # Errors
/// When the value is out of bounds, without a reason, the id names none or more than one, or the store can't be
/// written.
pub(crate) fn set_confidence(
    request: &Request,
    id: &str,
    value: f64,
    said: (&str, Option<&str>),
) -> anyhow::Result<Reply<EntryChangeReply>> {
    let (min, max) = (request.settings().confidence.min, request.settings().confidence.max);
    ensure!(
        (min..=max).contains(&value),
        Refusal::usage(format!("confidence must be from {min:.2} to {max:.2}, not {value}"))
    );
    let reason = sanitize_name(said.0).ok_or_else(|| Refusal::usage("give the reason: --reason TEXT"))?;
    let open = KnowledgeWriter::new(request, said.1)?;
    let leader = open.leader_id(id)?;
    let done = format!("the confidence of {leader} is {value:.2}");
    open.apply_change(&leader, EntryChange::ConfidenceSet { value_permille: to_permille(value), reason }, done)
}

/// Pins an entry: it never fades and is never held out; or takes the pin off.
///
/// # Errors
/// When the id names none or more than one, or the store can't be written.
pub(crate) fn pin_entry(request: &Request, id: &str, on: bool) -> anyhow::Result<Reply<EntryChangeReply>> {
    let open = KnowledgeWriter::new(request, None)?;
    let leader = open.leader_id(id)?;
    let done = format!("{leader} is {}pinned", if on { "" } else { "no longer " });
    open.apply_change(&leader, EntryChange::Pinned { on }, done)
}

/// Says the outcome of an entry.
///
/// # Errors
/// When the id names none or more than one, or the store can't be written.
pub(crate) fn boost_entry(request: &Request, id: &str, how: EntryUse) -> anyhow::Result<Reply<EntryChangeReply>> {
    let open = KnowledgeWriter::new(request, None)?;
    let leader = open.leader_id(id)?;
    let done = format!("{leader} {}", how.as_str().replace('_', " "));
    open.apply_change(&leader, EntryChange::Used { how, with: Vec::new() }, done)
}

/// The store, open for writing after what waited was recorded, and who writes.
pub(super) struct KnowledgeWriter<'a> {
    request: &'a Request,
    store: Store,
    by: EventAuthor,
    notes: Vec<String>,
}

impl<'a> KnowledgeWriter<'a> {
    pub(super) fn new(request: &'a Request, person: Option<&str>) -> anyhow::Result<Self> {
        let (store, notes) = request.open_for_writing().context("cannot record it now")?;
        let task = request.current_task(Some(store.index()))?;
        let by = EventAuthor {
            person: person.and_then(sanitize_name),
            ..EventAuthor::from_identity(&request.identity, Some(&task))
        };
        Ok(KnowledgeWriter { request, store, by, notes })
    }

    /// Writes an entry, and where it `merges` and says the same as another that it is merged with it.
    pub(super) fn add_entry(&mut self, (mut entry, merges): (KnowledgeEntry, bool)) -> anyhow::Result<EntryAddReply> {
        entry.sources = resolve_sources(self.store.index(), entry.sources)?;
        let found =
            if merges { find_duplicates(self.store.index(), self.request.settings(), &entry)? } else { Vec::new() };
        let mut event = self.entry_event(String::new(), EntryChange::Created(Box::new(entry)));
        let id = ids::short(ids::IdKind::Knowledge, event.id.as_bytes());
        if let EventBody::Knowledge(note) = &mut event.body {
            note.entry.clone_from(&id);
        }
        let mut events = vec![event];
        let same =
            found.iter().find(|(_, likeness)| *likeness == EntryLikeness::Same).map(|(similar, _)| similar.id.clone());
        let result = match &same {
            Some(into) => {
                events.push(self.entry_event(id.clone(), EntryChange::Merged { into: into.clone() }));
                "merged"
            }
            None => "created",
        };
        self.store.append(&events)?;
        let similar =
            found.into_iter().map(|(similar, _)| similar).filter(|it| same.as_ref() != Some(&it.id)).collect();
        let entry = self.entry_page(&id)?;
        Ok(EntryAddReply { result, entry, written: id, similar })
    }

    /// The id of what represents the entry whose id starts with this: written, or learnt.
    fn leader_id(&self, id: &str) -> Result<String, StoreError> {
        match (self.index().find_entry(id), self.index().learnt_entry(id)?) {
            (Ok(row), _) => Ok(row.leader),
            (Err(StoreError::NoSuchId { .. }), Some(learnt)) => Ok(learnt),
            (Err(error), _) => Err(error),
        }
    }

    /// The page of the entry that represents the one with this id.
    fn entry_page(&self, id: &str) -> anyhow::Result<EntryPage> {
        let (index, settings, now) = (self.store.index(), self.request.settings(), self.request.now());
        if let Some(pattern) = index.pattern_of_gotcha(id)?
            && let Some(page) = learnt_page(index, self.store.segments(), pattern, settings, now)?
        {
            return Ok(page);
        }
        let leader = index.find_entry(&index.find_entry(id)?.leader)?;
        Ok(EntryPage::from_row(index, leader, settings, now)?)
    }

    /// The settings in force.
    pub(super) fn settings(&self) -> &'a Settings {
        self.request.settings()
    }

    /// The index.
    pub(super) fn index(&self) -> &Index {
        self.store.index()
    }

    /// The task that is being worked on.
    pub(super) fn task_name(&self) -> String {
        self.by.task.clone().unwrap_or_default()
    }

    /// Writes an annotation.
    pub(super) fn record(&mut self, body: impl FnOnce(EventAuthor) -> EventBody) -> anyhow::Result<()> {
        Ok(self.store.record_event(body(self.by.clone()))?)
    }

    /// For standard error.
    pub(super) fn into_notes(mut self) -> Vec<String> {
        self.notes.extend(self.store.take_notes());
        self.notes
    }

    fn entry_event(&self, entry: String, change: EntryChange) -> Event {
        let note = EntryNote { entry, change, by: self.by.clone() };
        Event::new(self.request.now(), self.store.writer_name(), EventBody::Knowledge(note))
    }

    fn apply_change(mut self, id: &str, change: EntryChange, done: String) -> anyhow::Result<Reply<EntryChangeReply>> {
        let event = self.entry_event(id.to_owned(), change);
        self.store.append(&[event])?;
        let entry = self.entry_page(id)?;
        Ok(Reply::new(EntryChangeReply { done, entry }, self.into_notes()))
    }
}
