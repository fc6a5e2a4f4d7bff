//! One search over everything that has an id or a name.

use rapidfuzz::distance::levenshtein;
use serde::Serialize;

use super::Board;
use super::patterns::PatternQuery;
use crate::base::text::{ellipsis, one_line};
use crate::base::words::normalised;
use crate::ops::fix::fix_summary;
use crate::ops::knowledge::find_entries;
use crate::ops::lesson::show_lesson;
use crate::ops::search::search_lessons;
use crate::pattern::wording::brief_pattern_name;
use crate::retrieval::entry_search::{EntryQueryRequest, SimilarTaskLinks};
use crate::store::StoreError;

/// Hits of each kind.
const HITS_MAX: usize = 10;
/// Words that are looked for.
const WORDS_MAX: usize = 20;
/// Recorded words with the same start that are compared with one that nothing has.
const TERMS_MAX: usize = 5_000;
/// Words that are offered where nothing has the ones that were asked for.
const NEAR_MAX: usize = 5;
/// A name, bytes.
const NAME_BYTES_MAX: usize = 200;
const BY_ID: &str = "its id starts so";

/// What has these words, or this id.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct SearchPage {
    /// The only thing whose id starts with what was asked for.
    pub exact: Option<FoundRecord>,
    /// Patterns, lessons, entries, fixes and tasks, in this order; at most ten of each.
    pub found: Vec<FoundRecord>,
    /// Recorded words that read like those that were asked for, where nothing was found.
    pub near: Vec<String>,
}

/// Something that fits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct FoundRecord {
    /// What it is.
    pub kind: FoundKind,
    /// Its id; a task's name.
    pub id: String,
    /// Its name for people, one line.
    pub name: String,
    /// Why it fits.
    pub why: &'static str,
}

/// Kinds of things that a search finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum FoundKind {
    /// `p-…`
    Pattern,
    /// `f-…`
    Failure,
    /// `l-…`
    Lesson,
    /// `k-…`
    Entry,
    /// `x-…`
    Fix,
    /// A task by its name.
    Task,
}

impl FoundRecord {
    fn new(kind: FoundKind, id: &str, name: &str, why: &'static str) -> Self {
        FoundRecord { kind, id: id.to_owned(), name: ellipsis(one_line(name).trim(), NAME_BYTES_MAX), why }
    }
}

impl Board<'_> {
    /// What has all of the words of `text`, or an id that starts with it.
    ///
    /// # Errors
    /// When the store can't be read.
    pub(crate) fn search(&self, text: &str) -> anyhow::Result<SearchPage> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(SearchPage { exact: None, found: Vec::new(), near: Vec::new() });
        }
        let exact = self.find_by_id(text)?;
        let found = match &exact {
            Some(exact) => vec![exact.clone()],
            None => self.find_by_words(text)?,
        };
        let near = if found.is_empty() { self.words_like(text)? } else { Vec::new() };
        Ok(SearchPage { exact, found, near })
    }

    fn find_by_words(&self, text: &str) -> anyhow::Result<Vec<FoundRecord>> {
        let query = PatternQuery { text: Some(text.to_owned()), ..PatternQuery::default() };
        let patterns = self.patterns(&query, None, HITS_MAX)?.patterns;
        let mut found: Vec<FoundRecord> = patterns
            .iter()
            .map(|line| FoundRecord::new(FoundKind::Pattern, &line.id, &line.name, "its message has the words"))
            .collect();
        for hit in search_lessons(self.request, text, HITS_MAX).data.lessons {
            found.push(FoundRecord::new(FoundKind::Lesson, &hit.id, &hit.title, "it has some of the words"));
        }
        let asked = EntryQueryRequest { text: text.to_owned(), limit: Some(HITS_MAX), page: 1, ..Default::default() };
        for entry in find_entries(self.request, &asked, self.index(), SimilarTaskLinks::default())?.entries {
            found.push(FoundRecord::new(FoundKind::Entry, &entry.id, &entry.title, "it has some of the words"));
        }
        let keys: Vec<&str> = patterns.iter().map(|line| line.key.as_str()).collect();
        for row in self.index().fixes_of_keys(&keys, HITS_MAX)? {
            let fix = fix_summary(row, self.settings(), self.now());
            found.push(FoundRecord::new(FoundKind::Fix, &fix.id, &fix.summary, "it solved a pattern with the words"));
        }
        let words: Vec<String> = normalised(text).into_iter().take(WORDS_MAX).collect();
        for (number, _) in self.index().tasks_with_words(&words)?.into_iter().take(HITS_MAX) {
            let name = self.index().task_name(number)?;
            let title = self.index().find_task(&name)?.and_then(|task| task.title).unwrap_or_else(|| name.clone());
            found.push(FoundRecord::new(FoundKind::Task, &name, &title, "its name or title has some of the words"));
        }
        Ok(found)
    }

    /// What the start of an id names, when it is only one thing.
    fn find_by_id(&self, text: &str) -> Result<Option<FoundRecord>, StoreError> {
        let is_id = text.len() > 2 && text.bytes().skip(2).all(|byte| byte.is_ascii_alphanumeric());
        let found = match text.get(..2).filter(|_| is_id) {
            Some("p-") => match only(self.index().find_pattern_number(text))? {
                Some(number) => {
                    let row = self.index().brief_pattern_row(number)?;
                    let name = brief_pattern_name(&self.index().brief_of_pattern(number)?);
                    Some(FoundRecord::new(FoundKind::Pattern, &row.id, &name, BY_ID))
                }
                None => None,
            },
            Some("f-") => only(self.index().find_failure(text))?
                .map(|row| FoundRecord::new(FoundKind::Failure, &row.failure, &row.summary, BY_ID)),
            Some("x-") => only(self.index().find_fix(text))?.map(|row| {
                let fix = fix_summary(row, self.settings(), self.now());
                FoundRecord::new(FoundKind::Fix, &fix.id, &fix.summary, BY_ID)
            }),
            Some("k-") => self.find_entry_by_id(text)?,
            Some("l-") => show_lesson(self.request, text)
                .ok()
                .map(|found| FoundRecord::new(FoundKind::Lesson, &found.lesson.front.id, found.lesson.title(), BY_ID)),
            _ => self.index().find_task(text)?.map(|task| {
                let title = task.title.clone().unwrap_or_else(|| task.name.clone());
                FoundRecord::new(FoundKind::Task, &task.name, &title, "it is its name")
            }),
        };
        Ok(found)
    }

    /// The entry whose id starts with `text`, a written one or a learnt one.
    fn find_entry_by_id(&self, text: &str) -> Result<Option<FoundRecord>, StoreError> {
        if let Some(row) = only(self.index().find_entry(text))? {
            return Ok(Some(FoundRecord::new(FoundKind::Entry, &row.id, &row.title, BY_ID)));
        }
        let Some(id) = only(self.index().learnt_entry(text))?.flatten() else { return Ok(None) };
        let Some(pattern) = self.index().pattern_of_gotcha(&id)? else { return Ok(None) };
        let name = brief_pattern_name(&self.index().brief_of_pattern(pattern)?);
        Ok(Some(FoundRecord::new(FoundKind::Entry, &id, &name, BY_ID)))
    }

    /// Recorded words that read like those of a text, the likest first.
    fn words_like(&self, text: &str) -> Result<Vec<String>, StoreError> {
        let mut near: Vec<(usize, String)> = Vec::new();
        let text = text.to_lowercase();
        let words = text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| word.len() > 2);
        for word in words.take(WORDS_MAX) {
            // A slip is seldom at the start.
            let start: String = word.chars().take(2).collect();
            for term in self.index().pattern_terms(&start, TERMS_MAX)? {
                let distance = levenshtein::distance(term.chars(), word.chars());
                if distance * 3 <= word.chars().count() {
                    near.push((distance, term));
                }
            }
        }
        near.sort();
        near.dedup();
        Ok(near.into_iter().map(|(_, word)| word).take(NEAR_MAX).collect())
    }
}

/// What was found; `None` where nothing or more than one thing was.
fn only<T>(found: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(StoreError::NoSuchId { .. } | StoreError::Ambiguous { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
