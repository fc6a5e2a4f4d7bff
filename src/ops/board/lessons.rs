//! Lessons, the newest first, page by page.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::cursor::{cut_page, read_mark, standing_mark};
use super::{Board, PAGE_ROWS_MAX};
use crate::base::clock::{Timestamp, UtcDay};
use crate::base::first_few::FirstFew;
use crate::lesson::{LessonFile, LessonFrontMatter};
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
        let days = filter.asked_days();
        let is_listed = |front: &LessonFrontMatter| {
            let is_then = days.is_none_or(|days| (days.from..days.until).contains(&UtcDay::of(front.recorded_at)));
            let is_of = |wanted: &Option<String>, is: &str| wanted.as_deref().is_none_or(|wanted| wanted == is);
            is_then && is_of(&filter.whom.category, &front.category) && is_of(&filter.whom.tool, &front.tool)
        };
        let mut newest = FirstFew::new(limit + 1);
        let (mut broken, mut total) = (Vec::new(), 0);
        for LessonFile { path, lesson, .. } in lesson::complete_folder(self.request).read_lesson_files() {
            match lesson {
                Ok(lesson) if is_listed(&lesson.front) => {
                    total += 1;
                    let place: (Timestamp, String) = (lesson.front.recorded_at, lesson.front.id.clone());
                    if after.as_ref().is_none_or(|after| place < *after) {
                        let found = FoundLesson { path, lesson, withdrawn: false };
                        newest.push(Reverse(place), LessonTableRow::from_found(&found));
                    }
                }
                Ok(_) => {}
                Err(error) => broken.push(BrokenLesson::new(&path, &error.to_string())),
            }
        }
        let mut rows: Vec<_> = newest.into_sorted().collect();
        let next = cut_page(&mut rows, limit, |(Reverse((at, id)), _)| standing_mark(LIST, (*at, id)));
        Ok(LessonLines { lessons: rows.into_iter().map(|(_, row)| row).collect(), broken, total, next })
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
