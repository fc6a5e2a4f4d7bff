//! `knowledge query`, `relevant`, `show`, `export` and `log`.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use anyhow::bail;
use serde::Serialize;

use super::measurement;
use super::page::EntryPage;
use crate::advice::ranking;
use crate::advice::similarity::telling_words;
use crate::base::clock::Timestamp;
use crate::base::glob;
use crate::base::words::normalised;
use crate::capture::Identity;
use crate::config::{Places, Settings};
use crate::event::{EntryChange, EntryNote, EntryUse, Event, EventBody, derived_id};
use crate::ops::identity::{author_of, relative_files};
use crate::ops::warn::similar;
use crate::ops::{knowledge, reading};
use crate::pattern::statistics::round_to_thousandth;
use crate::recorder;
use crate::store::{EntryFilter, EntryRow, Index, KnowledgeLogRow, SegmentFolder, StoreError, TaskDetails, note};

/// Words of a question that are looked for.
const WORDS_MAX: usize = 20;
/// Found entries that are looked at closely.
const LOOKED_AT_MAX: usize = 200;
/// Entries about one file that are looked at.
const OF_FILE_MAX: usize = 60;
/// Learnt gotchas that are looked at, of those that fit alike the ones with the most failures.
const LEARNT_MAX: usize = 5;
/// Tasks like the one at hand that are looked at.
const ALIKE_MAX: usize = 10;
/// Entries, and patterns, of one of them.
const OF_TASK_MAX: usize = 20;
/// Files of a question.
const FILES_MAX: usize = 30;
/// Entries of an export.
const EXPORTED_MAX: usize = 100_000;
/// Entries read in one go where none is looked for by words or files.
const CHUNK: usize = 100;

/// What is asked.
#[derive(Debug, Clone, Default)]
pub(crate) struct EntryQueryRequest {
    /// Words.
    pub text: String,
    /// Files that it is about, as typed.
    pub files: Vec<PathBuf>,
    /// Type, tag, action, source.
    pub filter: EntryFilter,
    /// Believed at least so far.
    pub min_confidence: f64,
    /// The newest first, instead of the best.
    pub recent: bool,
    /// At most so many (else setting `knowledge.limit`).
    pub limit: Option<usize>,
    /// Which page of so many, from 1.
    pub page: usize,
}

/// What `knowledge query`, `relevant` and `export --json` print.
#[derive(Debug, Serialize)]
pub(crate) struct EntryList {
    /// Version of this shape.
    pub schema: u32,
    /// The entries.
    pub entries: Vec<EntryPage>,
    /// Whether there are more on the next page.
    pub more: bool,
    /// For standard error.
    #[serde(skip)]
    pub notes: Vec<String>,
}

/// What `knowledge log --json` prints.
#[derive(Debug, Serialize)]
pub(crate) struct KnowledgeLog {
    /// Version of this shape.
    pub schema: u32,
    /// The newest first.
    pub events: Vec<KnowledgeLogRecord>,
}

/// A write to what is known.
#[derive(Debug, Serialize)]
pub(crate) struct KnowledgeLogRecord {
    /// `knowledge:created`, `knowledge:promoted`, `pattern:reused`, …
    pub event: String,
    /// The event's id.
    pub id: String,
    /// `k-…`
    pub entry: String,
    /// When.
    pub at: Timestamp,
    /// Which kind of worker.
    pub agent: Option<String>,
    /// Its session.
    pub session: Option<String>,
    /// Its task.
    pub task: Option<String>,
}

/// The entries that fit a question, the best first: how well the words and files fit, times how far it is believed.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn query_entries(
    places: &Places,
    settings: &Settings,
    cwd: &Path,
    identity: &Identity,
    asked: &EntryQueryRequest,
) -> Result<EntryList, StoreError> {
    let mut notes = Vec::new();
    match reading::open_as_it_is(places, &mut notes)? {
        Some(index) => {
            search_entries(places, settings, cwd, identity, asked, (&index, notes, SimilarTaskLinks::default()))
        }
        None => Ok(EntryList { schema: 1, entries: Vec::new(), more: false, notes }),
    }
}

fn search_entries(
    places: &Places,
    settings: &Settings,
    cwd: &Path,
    identity: &Identity,
    asked: &EntryQueryRequest,
    (index, notes, alike): (&Index, Vec<String>, SimilarTaskLinks),
) -> Result<EntryList, StoreError> {
    let mut found = EntryList { schema: 1, entries: Vec::new(), more: false, notes };
    let files: Vec<String> = relative_files(places, cwd, &asked.files).into_iter().take(FILES_MAX).collect();
    let limit = asked.limit.unwrap_or(usize::try_from(settings.knowledge.limit).unwrap_or(usize::MAX)).max(1);
    let skip = asked.page.saturating_sub(1).saturating_mul(limit);
    let search = EntrySearch { index, settings, now: Timestamp::now(), asked, alike };
    let words = search_words(&asked.text);
    let mut pages = if words.is_empty() && files.is_empty() && search.alike.is_empty() {
        search.newest_pages(&SegmentFolder::new(places.state.events()), skip.saturating_add(limit).saturating_add(1))?
    } else {
        let segments = SegmentFolder::new(places.state.events());
        // The newest may fit worst.
        let wanted = if asked.recent { usize::MAX } else { skip.saturating_add(limit).saturating_add(1) };
        let mut pages = search.fitting_pages(&words, &files, wanted)?;
        let learnt = search.learnt_pages(&segments, &words, &files, (&pages, wanted))?;
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
    found.more = pages.len() > limit;
    pages.truncate(limit);
    // Why each is believed is for the page of one.
    pages.iter_mut().for_each(|page| page.ledger = None);
    found.entries = pages;
    let ids: Vec<&str> = found.entries.iter().map(|page| page.id.as_str()).collect();
    record_use(places, settings, identity, EntryUse::Queried, &ids, &mut found.notes);
    Ok(found)
}

/// The entries that a task or its files are about, and those that were written or of use in tasks like it. What nobody
/// said is taken from the task: its title, its files.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn relevant_entries(
    places: &Places,
    settings: &Settings,
    cwd: &Path,
    identity: &Identity,
    mut asked: EntryQueryRequest,
) -> Result<EntryList, StoreError> {
    let mut notes = Vec::new();
    let Some(index) = reading::open_as_it_is(places, &mut notes)? else {
        return Ok(EntryList { schema: 1, entries: Vec::new(), more: false, notes });
    };
    let hours = settings.fix.silence_hours;
    let task = recorder::current_task(places, Some(&index), identity, Timestamp::now(), hours)?;
    let mut alike = SimilarTaskLinks::default();
    if let Some(task) = index.find_task(&task)? {
        alike = SimilarTaskLinks::for_task(&index, &task, settings)?;
        if asked.text.is_empty() {
            asked.text = telling_words(task.title.as_deref().unwrap_or_default()).join(" ");
        }
        if asked.files.is_empty() {
            let files = if task.files.is_empty() { index.files_of_task(task.number, FILES_MAX)? } else { task.files };
            asked.files = files.into_iter().map(|file| places.root.join(file)).collect();
        }
    }
    if search_words(&asked.text).is_empty() && asked.files.is_empty() && alike.is_empty() {
        return Ok(EntryList { schema: 1, entries: Vec::new(), more: false, notes });
    }
    search_entries(places, settings, cwd, identity, &asked, (&index, notes, alike))
}

/// One entry with its ledger: written, by the start of its id; or learnt, by its id.
///
/// # Errors
/// When there is none or more than one, or the store can't be read.
pub(crate) fn show_entry(
    places: &Places,
    settings: &Settings,
    identity: &Identity,
    id: &str,
) -> anyhow::Result<(EntryPage, Vec<String>)> {
    let mut reading = reading::open_for_reading(places)?;
    let Some(index) = &reading.index else {
        bail!("nothing is written down here yet; type `verify-run knowledge add --help`");
    };
    let now = Timestamp::now();
    let gotcha = index.learnt_entry(id)?.map(|id| index.pattern_of_gotcha(&id)).transpose()?.flatten();
    let page = match gotcha {
        Some(pattern) => learnt_page(index, &reading.segments, pattern, settings, now)?,
        None => None,
    };
    let page = match page {
        Some(page) => page,
        None => {
            let leader = index.find_entry(&index.find_entry(id)?.leader)?;
            let measured = Some(measurement::measure_entry(index, &leader, settings, now)?);
            EntryPage { measured, ..EntryPage::from_row(index, leader, settings, now)? }
        }
    };
    record_use(places, settings, identity, EntryUse::Retrieved, &[&page.id], &mut reading.notes);
    Ok((page, reading.notes))
}

/// Every entry of a filter, the newest first.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn export_entries(
    places: &Places,
    settings: &Settings,
    filter: &EntryFilter,
) -> Result<EntryList, StoreError> {
    let reading = reading::open_for_reading(places)?;
    let mut found = EntryList { schema: 1, entries: Vec::new(), more: false, notes: reading.notes };
    let Some(index) = reading.index else { return Ok(found) };
    let asked = EntryQueryRequest { filter: filter.clone(), ..EntryQueryRequest::default() };
    let search = EntrySearch {
        index: &index,
        settings,
        now: Timestamp::now(),
        asked: &asked,
        alike: SimilarTaskLinks::default(),
    };
    found.entries = search.newest_pages(&reading.segments, EXPORTED_MAX)?;
    found.entries.iter_mut().for_each(|page| page.ledger = None);
    Ok(found)
}

/// The last writes to what is known.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn read_log(places: &Places, limit: usize) -> Result<(KnowledgeLog, Vec<String>), StoreError> {
    let reading = reading::open_for_reading(places)?;
    let rows = match &reading.index {
        Some(index) => index.knowledge_log(limit)?,
        None => Vec::new(),
    };
    let events = rows.into_iter().map(|row| {
        let KnowledgeLogRow { name, entry, event, at, agent, session, task } = row;
        KnowledgeLogRecord { event: name, id: event, entry, at, agent, session, task }
    });
    Ok((KnowledgeLog { schema: 1, events: events.collect() }, reading.notes))
}

/// Letters and digits only, lower case.
fn search_words(text: &str) -> Vec<String> {
    let parts = text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    let mut seen = HashSet::new();
    parts.map(str::to_lowercase).filter(|word| seen.insert(word.clone())).take(WORDS_MAX).collect()
}

/// Puts down who found or read what, once a session: a note, nobody waits for it.
fn record_use(
    places: &Places,
    settings: &Settings,
    identity: &Identity,
    how: EntryUse,
    ids: &[&str],
    notes: &mut Vec<String>,
) {
    let Some((first, others)) = ids.split_first().filter(|_| settings.advice.learning) else { return };
    let with: Vec<String> = others.iter().map(|&id| id.to_owned()).collect();
    let by = author_of(identity, identity.task.as_deref());
    let session = by.session.clone().unwrap_or_default();
    let id = derived_id("knowledge_use", &[how.as_str(), &session, &ids.join(" ")]);
    let entry = EntryNote { entry: (*first).to_owned(), change: EntryChange::Used { how, with }, by };
    // The writer is the store's that takes it.
    let event = Event { id, ..Event::new(Timestamp::now(), "", EventBody::Knowledge(entry)) };
    if let Err(error) = note::write_note(places, &event) {
        notes.push(format!("cannot remember who used it: {error}"));
    }
}

/// The page of what was learnt about a pattern.
pub(super) fn learnt_page(
    index: &Index,
    segments: &SegmentFolder,
    pattern: i64,
    settings: &Settings,
    now: Timestamp,
) -> Result<Option<EntryPage>, StoreError> {
    let row = index.brief_of_pattern(pattern)?;
    let Some((gotcha, history)) = knowledge::learnt_gotcha(index, segments, &row, settings, now)? else {
        return Ok(None);
    };
    Ok(Some(EntryPage::from_gotcha(gotcha, &history.uses, row.files.into_iter().map(|(path, _)| path).collect())))
}

/// The scores of the best pages so far.
struct BestScores {
    wanted: usize,
    /// The best first.
    scores: Vec<f64>,
}

impl BestScores {
    fn from_pages(wanted: usize, pages: &[EntryPage]) -> Self {
        let mut scores: Vec<f64> = pages.iter().filter_map(|page| page.score).collect();
        scores.sort_by(|a, b| b.total_cmp(a));
        BestScores { wanted, scores }
    }

    fn add_page(&mut self, page: EntryPage) -> EntryPage {
        let score = page.score.unwrap_or(0.0);
        self.scores.insert(self.scores.partition_point(|better| *better >= score), score);
        page
    }

    /// Whether what fits so well, or worse, can't be among them: nothing is believed more than fully.
    fn can_exclude(&self, fit: f64) -> bool {
        self.scores.get(self.wanted.saturating_sub(1)).is_some_and(|worst| round_to_thousandth(fit) < *worst)
    }
}

/// What tasks like the one at hand had to do with, each with how much like it they are.
#[derive(Default)]
struct SimilarTaskLinks {
    /// Entries that were written there or of use.
    entries: HashMap<i64, f64>,
    /// Patterns that failed there.
    patterns: HashMap<i64, f64>,
}

impl SimilarTaskLinks {
    fn for_task(index: &Index, task: &TaskDetails, settings: &Settings) -> Result<Self, StoreError> {
        let title = task.title.as_deref().unwrap_or_default();
        let mut alike = SimilarTaskLinks::default();
        let found = similar::similar_tasks(index, (title, task.category.as_deref(), &task.name), settings)?;
        for other in found.into_iter().take(ALIKE_MAX) {
            let score = other.similarity.score;
            let Some(other) = index.find_task(&other.name)? else { continue };
            let entries = index.entries_of_task(&other.name, OF_TASK_MAX)?;
            let patterns = index.patterns_of_task(other.number)?;
            for (known, numbers) in [(&mut alike.entries, entries), (&mut alike.patterns, patterns)] {
                for number in numbers.into_iter().take(OF_TASK_MAX) {
                    let best = known.entry(number).or_default();
                    *best = best.max(score);
                }
            }
        }
        Ok(alike)
    }

    fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.patterns.is_empty()
    }
}

/// How well something fits that does in several ways.
fn combined_fit(ways: [f64; 3]) -> f64 {
    1.0 - ways.into_iter().map(|way| 1.0 - way).product::<f64>()
}

/// One search.
struct EntrySearch<'a> {
    index: &'a Index,
    settings: &'a Settings,
    now: Timestamp,
    asked: &'a EntryQueryRequest,
    alike: SimilarTaskLinks,
}

impl EntrySearch<'_> {
    /// The newest entries that pass, up to `limit`: written ones, and gotchas that were learnt.
    fn newest_pages(&self, segments: &SegmentFolder, limit: usize) -> Result<Vec<EntryPage>, StoreError> {
        let mut pages = self.newest_written(limit)?;
        if self.can_include_learnt() {
            for pattern in self.index.patterns_with_gotcha(limit)? {
                let page = learnt_page(self.index, segments, pattern, self.settings, self.now)?;
                pages.extend(page.filter(|page| self.passes_filter(page)));
            }
        }
        pages.sort_by(|a, b| b.at.cmp(&a.at).then_with(|| a.id.cmp(&b.id)));
        pages.truncate(limit);
        Ok(pages)
    }

    /// Whether what was learnt passes the filter at all: it has no tags and no actions.
    fn can_include_learnt(&self) -> bool {
        let EntryFilter { kind, tag, action, .. } = &self.asked.filter;
        kind.as_ref().is_none_or(|kind| kind == "gotcha") && tag.is_none() && action.is_none()
    }

    /// Whether a page passes what is asked of all of them.
    fn passes_filter(&self, page: &EntryPage) -> bool {
        let EntryFilter { source, superseded, .. } = &self.asked.filter;
        page.confidence >= self.asked.min_confidence
            && (*superseded || page.superseded_by.is_none())
            && source.as_ref().is_none_or(|source| page.sources.contains(source))
    }

    /// The newest written entries that pass, up to `limit`.
    fn newest_written(&self, limit: usize) -> Result<Vec<EntryPage>, StoreError> {
        let (mut pages, mut skip) = (Vec::new(), 0);
        loop {
            let numbers = self.index.newest_entries(&self.asked.filter, skip, CHUNK)?;
            for number in &numbers {
                pages.extend(self.entry_page(self.index.entry_at(*number)?, None)?);
                if pages.len() >= limit {
                    return Ok(pages);
                }
            }
            if numbers.len() < CHUNK {
                return Ok(pages);
            }
            skip += CHUNK;
        }
    }

    /// Entries that fit the words and the files; where both are asked about either. The `wanted` best are among them.
    fn fitting_pages(&self, words: &[String], files: &[String], wanted: usize) -> Result<Vec<EntryPage>, StoreError> {
        let forms = normalised(&self.asked.text);
        let forms: Vec<String> = forms.into_iter().filter(|form| form.chars().all(char::is_alphanumeric)).collect();
        let mut by_words = self.index.entries_with_words(words, &forms, true)?;
        if by_words.is_empty() {
            by_words = self.index.entries_with_words(words, &forms, false)?;
        }
        let mut fits: BTreeMap<i64, [f64; 3]> =
            self.alike.entries.iter().map(|(number, score)| (*number, [0.0, 0.0, *score])).collect();
        let mut rows: HashMap<i64, EntryRow> = HashMap::new();
        for (number, share) in ranking::score_shares(&by_words).into_iter().take(LOOKED_AT_MAX) {
            fits.entry(number).or_default()[0] = share;
        }
        for file in files {
            for number in self.index.entries_of_file(file, OF_FILE_MAX)? {
                let reach = fits.entry(number).or_default();
                let row = match rows.entry(number) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(place) => place.insert(self.index.entry_at(number)?),
                };
                let mut globs = row.globs.clone();
                if row.occurrences > 1 {
                    globs.extend(self.index.merged_entries(&row.id)?.into_iter().flat_map(|row| row.globs));
                }
                let best = globs.iter().filter(|glob| glob::matches(glob, file)).map(|glob| self.glob_weight(glob));
                reach[1] = best.fold(reach[1], f64::max);
            }
        }
        let fits = fits.into_iter().map(|(number, ways)| (number, combined_fit(ways)));
        let mut fits: Vec<(i64, f64)> = fits.filter(|(_, fit)| *fit > 0.0).collect();
        fits.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let (mut pages, mut best) = (Vec::new(), BestScores::from_pages(wanted, &[]));
        for (number, fit) in fits {
            if best.can_exclude(fit) {
                break;
            }
            let row = match rows.remove(&number) {
                Some(row) => row,
                None => self.index.entry_at(number)?,
            };
            pages.extend(self.entry_page(row, Some(fit))?.map(|page| best.add_page(page)));
        }
        Ok(pages)
    }

    /// How much a glob says of a file that it matches.
    fn glob_weight(&self, glob: &str) -> f64 {
        let advice = &self.settings.advice;
        match glob {
            exact if !exact.contains(['*', '?']) => 1.0,
            anywhere if anywhere.starts_with('*') => advice.extension,
            _ => advice.folder,
        }
    }

    /// Gotchas that were learnt from fixes; those that may be among the `wanted` best, beside what was found before.
    fn learnt_pages(
        &self,
        segments: &SegmentFolder,
        words: &[String],
        files: &[String],
        (others, wanted): (&[EntryPage], usize),
    ) -> Result<Vec<EntryPage>, StoreError> {
        if !self.can_include_learnt() {
            return Ok(Vec::new());
        }
        let mut fits: BTreeMap<i64, [f64; 3]> =
            self.alike.patterns.iter().map(|(pattern, score)| (*pattern, [0.0, 0.0, *score])).collect();
        for (pattern, share) in ranking::score_shares(&self.index.patterns_with_words(words)?) {
            fits.entry(pattern).or_default()[0] = share;
        }
        for file in files {
            self.index.patterns_of_file(file)?.into_iter().for_each(|it| fits.entry(it).or_default()[1] = 1.0);
        }
        let mut ranked: Vec<(i64, f64)> =
            fits.into_iter().map(|(pattern, ways)| (pattern, combined_fit(ways))).collect();
        let numbers: Vec<i64> = ranked.iter().map(|(pattern, _)| *pattern).collect();
        let frequent = self.index.most_frequent_patterns(&numbers, numbers.len())?;
        let rank: HashMap<i64, usize> = frequent.into_iter().zip(0..).collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(rank.get(&a.0).cmp(&rank.get(&b.0))));
        let mut best = BestScores::from_pages(wanted, others);
        let mut pages = Vec::new();
        for (pattern, fit) in ranked {
            if pages.len() >= LEARNT_MAX || best.can_exclude(fit) {
                break;
            }
            if self.index.gotcha_of_pattern(pattern)?.is_none() {
                continue;
            }
            let page = learnt_page(self.index, segments, pattern, self.settings, self.now)?;
            let page = page.filter(|page| self.passes_filter(page));
            pages.extend(page.map(|page| {
                best.add_page(EntryPage { score: Some(round_to_thousandth(fit * page.confidence)), ..page })
            }));
        }
        Ok(pages)
    }

    /// The page of an entry that passes every filter.
    fn entry_page(&self, row: EntryRow, fit: Option<f64>) -> Result<Option<EntryPage>, StoreError> {
        let EntryFilter { kind, tag, action, superseded, .. } = &self.asked.filter;
        if kind.as_ref().is_some_and(|kind| row.kind != *kind) || row.superseded_by.is_some() && !superseded {
            return Ok(None);
        }
        let page = EntryPage::from_row(self.index, row, self.settings, self.now)?;
        let has = |values: &[String], wanted: &Option<String>| wanted.as_ref().is_none_or(|it| values.contains(it));
        let is_labelled = has(&page.tags, tag) && has(&page.actions, action);
        let page = Some(page).filter(|page| is_labelled && self.passes_filter(page));
        Ok(page.map(|page| EntryPage { score: fit.map(|fit| round_to_thousandth(fit * page.confidence)), ..page }))
    }
}
