//! Lessons, the newest first, page by page.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::cursor::{CursorParts, read_mark};
use super::{Board, PAGE_ROWS_MAX};
use crate::base::clock::{Timestamp, UtcDay};
use crate::lesson::LessonFrontMatter;
use crate::ops::board::BoardFilter;
use crate::ops::lesson::{self, FoundLesson};

const LIST: &str = "lessons";

/// A page of lessons.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct LessonLines {
    /// Newest first.
    pub lessons: Vec<LessonTableRow>,
    /// Files that can't be read as lessons.
    pub broken: Vec<BrokenLesson>,
    /// How many there are in all.
    pub total: u64,
    /// What the next page is asked for with; `null` at the end.
    pub next: Option<String>,
}

/// A file in the folder of lessons that is none.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct BrokenLesson {
    /// The file.
    pub file: PathBuf,
    /// Why it can't be read.
    pub reason: String,
}

/// A lesson in a list.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct LessonTableRow {
    /// The lesson's file.
    pub file: PathBuf,
    /// There is no file.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub withdrawn: bool,
    /// Its heading.
    pub title: String,
    #[serde(flatten)]
    pub front: LessonFrontMatter,
}

/// What `lesson show --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct LessonShowReply {
    /// The lesson.
    pub lesson: LessonReply,
}

/// A lesson with its text.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct LessonReply {
    #[serde(flatten)]
    pub row: LessonTableRow,
    /// The Markdown after the front matter.
    pub body: String,
}

impl LessonTableRow {
    /// Of a lesson that was found.
    pub(crate) fn from_found(found: &FoundLesson) -> Self {
        LessonTableRow {
            file: found.path.clone(),
            withdrawn: found.withdrawn,
            title: found.lesson.title().to_owned(),
            front: found.lesson.front.clone(),
        }
    }
}

impl BrokenLesson {
    /// Of a file and what is wrong with it.
    pub(crate) fn new(file: &Path, reason: &str) -> Self {
        BrokenLesson { file: file.to_owned(), reason: reason.to_owned() }
    }
}

impl LessonReply {
    /// Of a lesson that was found.
    pub(crate) fn from_found(found: &FoundLesson) -> Self {
        LessonReply { row: LessonTableRow::from_found(found), body: found.lesson.body.clone() }
    }
}

impl Board<'_> {
    /// A page of the lessons that have a file, at most `limit` and at most 1,000, that follows the one that gave the
    /// cursor `after`. Agents are not known of lessons.
    ///
    /// # Errors
    /// When the cursor is none.
    pub(crate) fn lessons(
        &self,
        filter: &BoardFilter,
        after: Option<&str>,
        limit: usize,
    ) -> anyhow::Result<LessonLines> {
        let limit = limit.clamp(1, PAGE_ROWS_MAX);
        let after = read_mark(LIST, after)?;
        let listed = lesson::list_lessons(self.request);
        let mut found: Vec<FoundLesson> = listed.lessons;
        let days = filter.asked_days();
        found.retain(|found| {
            let front = &found.lesson.front;
            let is_then = days.is_none_or(|days| (days.from..days.until).contains(&UtcDay::of(front.recorded_at)));
            let is_of = |wanted: &Option<String>, is: &str| wanted.as_deref().is_none_or(|wanted| wanted == is);
            is_then && is_of(&filter.whom.category, &front.category) && is_of(&filter.whom.tool, &front.tool)
        });
        let total = found.len() as u64;
        let key = |found: &FoundLesson| (found.lesson.front.recorded_at, found.lesson.front.id.clone());
        found.sort_by_cached_key(|found| std::cmp::Reverse(key(found)));
        found.retain(|found| after.as_ref().is_none_or(|after| key(found) < *after));
        let next = found.get(limit).map(|_| {
            let (at, id): (Timestamp, String) = key(&found[limit - 1]);
            CursorParts::new(LIST).with(at.0).with(id).encode()
        });
        found.truncate(limit);
        let broken = listed.broken.iter().map(|(file, reason)| BrokenLesson::new(file, reason));
        Ok(LessonLines {
            lessons: found.iter().map(LessonTableRow::from_found).collect(),
            broken: broken.collect(),
            total,
            next,
        })
    }

    /// The lesson whose id starts with `id`, one that was withdrawn too.
    ///
    /// # Errors
    /// When there is none or several.
    pub(crate) fn lesson(&self, id: &str) -> anyhow::Result<LessonShowReply> {
        let found = lesson::show_lesson(self.request, id)?;
        Ok(LessonShowReply { lesson: LessonReply::from_found(&found) })
    }
}
