//! Ids of what is recorded, for completions: the index as it is, and without waiting.

use super::request::Request;
use crate::base::lossless::Lossless;
use crate::config::Places;
use crate::store::{EntryFilter, FixFilter, Index, RunFilter, StoreError};

use super::lesson;

/// Maximum number of ids of a kind.
const IDS_MAX: usize = 100;

/// What an id is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordKind {
    /// `l-…`
    Lesson,
    /// `p-…`
    Pattern,
    /// `x-…`
    Fix,
    /// `k-…`
    Entry,
    Run,
    Task,
}

/// The ids of this kind, each with what it is about; the newest first. Empty where nothing can be read.
pub(crate) fn list_ids(request: &Request, kind: RecordKind) -> Vec<(String, String)> {
    if kind == RecordKind::Lesson {
        let lessons = lesson::list_lessons(request).lessons.into_iter().rev().take(IDS_MAX);
        return lessons.map(|it| (it.lesson.front.id.clone(), it.lesson.title().to_owned())).collect();
    }
    let index = Index::open_read(&request.places.state.index()).ok().flatten();
    index.and_then(|index| of_index(&index, &request.places, kind).ok()).unwrap_or_default()
}

fn of_index(index: &Index, places: &Places, kind: RecordKind) -> Result<Vec<(String, String)>, StoreError> {
    Ok(match kind {
        RecordKind::Lesson => Vec::new(),
        RecordKind::Pattern => {
            let rows = index.list_patterns(0, IDS_MAX, None)?.into_iter();
            rows.map(|row| (row.id, format!("{} {}", row.tool, row.masked))).collect()
        }
        RecordKind::Fix => {
            let filter = FixFilter { limit: IDS_MAX, ..FixFilter::default() };
            index.list_fixes(&filter)?.into_iter().map(|row| (row.id, row.key)).collect()
        }
        RecordKind::Entry => {
            let numbers = index.newest_entries(&EntryFilter::default(), 0, IDS_MAX)?.into_iter();
            numbers.filter_map(|number| index.entry_at(number).ok()).map(|row| (row.id, row.title)).collect()
        }
        RecordKind::Run => {
            let rows = index.runs_under(&Lossless::from(&places.root), &RunFilter::default(), IDS_MAX)?;
            rows.into_iter()
                .map(super::last::LastRun::from_run)
                .map(|run| (run.run, command_words(&run.argv)))
                .collect()
        }
        RecordKind::Task => {
            let tasks = index.list_tasks(IDS_MAX)?.into_iter();
            tasks.map(|task| (task.name, task.title.unwrap_or_default())).collect()
        }
    })
}

fn command_words(argv: &[Lossless]) -> String {
    argv.iter().map(Lossless::display).collect::<Vec<_>>().join(" ")
}
