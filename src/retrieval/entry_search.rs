//! The entries that fit a question: by words, by files, and by what tasks like the one at hand had to do with.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use super::entry_page::EntryPage;
use super::pattern_remedies;
use super::similar_tasks::similar_tasks;
use crate::advice::ranking;
use crate::base::clock::Timestamp;
use crate::base::glob;
use crate::base::words::normalised;
use crate::config::Settings;
use crate::event::EntryTypeName;
use crate::pattern::statistics::round_to_thousandth;
use crate::store::{EntryFilter, EntryRow, Index, SegmentFolder, StoreError, TaskDetails};

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
    /// Lowest confidence.
    pub min_confidence: f64,
    /// The newest first, instead of the best.
    pub recent: bool,
    /// Maximum number of results (else setting `knowledge.limit`).
    pub limit: Option<usize>,
    /// Which page of this many, from 1.
    pub page: usize,
}

/// The page of what was learnt about a pattern.
pub(crate) fn learnt_page(
    index: &Index,
    segments: &SegmentFolder,
    pattern: i64,
    settings: &Settings,
    now: Timestamp,
) -> Result<Option<EntryPage>, StoreError> {
    let row = index.brief_of_pattern(pattern)?;
    let Some((gotcha, history)) = pattern_remedies::learnt_gotcha(index, segments, &row, settings, now)? else {
        return Ok(None);
    };
    let example =
        row.newest.into_iter().next().map(|(message, _)| message).filter(|message| !message.trim().is_empty());
    let gotcha = crate::pattern::knowledge::Gotcha { example, ..gotcha };
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

    /// Whether what fits so well, or worse, can't be among them: confidence is at most 1.
    fn can_exclude(&self, fit: f64) -> bool {
        self.scores.get(self.wanted.saturating_sub(1)).is_some_and(|worst| round_to_thousandth(fit) < *worst)
    }
}

/// What tasks like the one at hand had to do with, each with how much like it they are.
#[derive(Default)]
pub(crate) struct SimilarTaskLinks {
    /// Entries that were written there or of use.
    entries: HashMap<i64, f64>,
    /// Patterns that failed there.
    patterns: HashMap<i64, f64>,
}

impl SimilarTaskLinks {
    pub(crate) fn for_task(index: &Index, task: &TaskDetails, settings: &Settings) -> Result<Self, StoreError> {
        let title = task.title.as_deref().unwrap_or_default();
        let mut alike = SimilarTaskLinks::default();
        let found = similar_tasks(index, title, task.category.as_deref(), &task.name, settings)?;
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

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.patterns.is_empty()
    }
}

/// How well something fits that does in several ways.
fn combined_fit(ways: [f64; 3]) -> f64 {
    1.0 - ways.into_iter().map(|way| 1.0 - way).product::<f64>()
}

/// One search.
pub(crate) struct EntrySearch<'a> {
    /// What is recorded.
    pub index: &'a Index,
    /// The settings.
    pub settings: &'a Settings,
    /// This moment.
    pub now: Timestamp,
    /// What is asked.
    pub asked: &'a EntryQueryRequest,
    /// What tasks like the one at hand had to do with.
    pub alike: SimilarTaskLinks,
}

impl EntrySearch<'_> {
    /// The newest entries that pass, up to `limit`: written ones, and gotchas that were learnt.
    pub(crate) fn newest_pages(&self, segments: &SegmentFolder, limit: usize) -> Result<Vec<EntryPage>, StoreError> {
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
        kind.as_ref().is_none_or(|kind| *kind == EntryTypeName::GOTCHA) && tag.is_none() && action.is_none()
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
    pub(crate) fn fitting_pages(
        &self,
        words: &[String],
        files: &[String],
        wanted: usize,
    ) -> Result<Vec<EntryPage>, StoreError> {
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
    pub(crate) fn learnt_pages(
        &self,
        segments: &SegmentFolder,
        words: &[String],
        files: &[String],
        others: &[EntryPage],
        wanted: usize,
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
        let learnt = self.index.filter_learnt(&fits.keys().copied().collect::<Vec<_>>())?;
        fits.retain(|pattern, _| learnt.contains(pattern));
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
