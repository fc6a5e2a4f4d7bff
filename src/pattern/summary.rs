//! A pattern as it is listed and shown.

use serde::Serialize;

use crate::base::clock::Timestamp;
use crate::base::text;
use crate::store::{LessonRow, OccurrenceRow, PatternRow};

/// A pattern recurs from so many distinct tasks on: three runs of one task are one mistake.
pub const RECURRING_TASKS_MIN: u64 = 3;
/// A title, bytes.
const TITLE_BYTES_MAX: usize = 160;

/// A pattern in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// `p-…`; any unique start of it works as an argument.
    pub id: String,
    /// The pattern key, with the fingerprint's version.
    pub key: String,
    /// The family key.
    pub family: String,
    /// The tool that reported it.
    pub tool: String,
    /// Rule, error code or exception class.
    pub code: Option<String>,
    /// The masked message, one line.
    pub title: String,
    /// The most frequent category of its failures.
    pub category: String,
    /// Failed runs that had it.
    pub failures: u64,
    /// Distinct tasks in which it was seen.
    pub tasks: u64,
    /// Distinct tasks in which its family was seen.
    pub family_tasks: u64,
    /// Seen in [`RECURRING_TASKS_MIN`] tasks or more, itself or its family.
    pub recurring: bool,
    /// First failure.
    pub first_seen: Timestamp,
    /// Last failure.
    pub last_seen: Timestamp,
}

/// A file with the number of failures in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileCount {
    /// Relative to the root.
    pub path: String,
    /// Failed runs.
    pub failures: u64,
}

/// A failure that had the pattern.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Occurrence {
    /// `f-…`
    pub failure: String,
    /// The run's id.
    pub run: String,
    /// When the run was started.
    pub at: Timestamp,
    /// Its task.
    pub task: String,
    /// Category of the failure.
    pub category: String,
    /// How many items of the pattern it had.
    pub items: u64,
    /// Where the first one was.
    pub file: Option<String>,
    /// … and in which line.
    pub line: Option<u32>,
    /// The failing test.
    pub test: Option<String>,
    /// The message, unmasked, one line.
    pub message: String,
}

/// Everything about one pattern.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Page {
    /// Version of this shape.
    pub schema: u32,
    /// The pattern.
    #[serde(flatten)]
    pub summary: Summary,
    /// The family's masked message.
    pub family_title: String,
    /// Files, the most frequent first.
    pub files: Vec<FileCount>,
    /// Names of the lesson files about it; forgotten ones are left out.
    pub lessons: Vec<String>,
    /// Failures, newest first.
    pub occurrences: Vec<Occurrence>,
}

impl Summary {
    /// From the store's row.
    pub fn of(row: PatternRow) -> Self {
        Summary {
            recurring: row.tasks.max(row.family_tasks) >= RECURRING_TASKS_MIN,
            id: row.id,
            key: row.key,
            family: row.family,
            tool: row.tool,
            code: row.code,
            title: title(&row.masked),
            category: row.category,
            failures: row.failures,
            tasks: row.tasks,
            family_tasks: row.family_tasks,
            first_seen: row.first_seen,
            last_seen: row.last_seen,
        }
    }
}

impl Page {
    /// From the store's rows.
    pub fn of(
        row: PatternRow,
        files: Vec<(String, u64)>,
        lessons: Vec<LessonRow>,
        occurrences: Vec<OccurrenceRow>,
    ) -> Self {
        Page {
            schema: 1,
            family_title: title(&row.masked_family),
            summary: Summary::of(row),
            files: files.into_iter().map(|(path, failures)| FileCount { path, failures }).collect(),
            lessons: lessons.into_iter().filter(|lesson| !lesson.forgotten).map(|lesson| lesson.file).collect(),
            occurrences: occurrences.into_iter().map(Occurrence::of).collect(),
        }
    }
}

impl Occurrence {
    fn of(row: OccurrenceRow) -> Self {
        Occurrence {
            failure: row.failure,
            run: row.run,
            at: row.at,
            task: row.task,
            category: row.category,
            items: row.items,
            file: row.file,
            line: row.line,
            test: row.test,
            message: row.message,
        }
    }
}

fn title(masked: &str) -> String {
    if masked.trim().is_empty() {
        return "(no message)".to_owned();
    }
    text::ellipsis(&text::one_line(masked), TITLE_BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(tasks: u64, family_tasks: u64) -> PatternRow {
        PatternRow {
            number: 1,
            id: "p-1".into(),
            key: "k".into(),
            family: "f".into(),
            tool: "tsc".into(),
            code: None,
            masked: "Cannot find\nmodule 'x'".into(),
            masked_family: "Cannot find module <*>".into(),
            first_seen: Timestamp(1),
            last_seen: Timestamp(2),
            failures: 9,
            tasks,
            family_tasks,
            category: "type_error".into(),
            described_by: "r".into(),
        }
    }

    #[test]
    fn three_tasks_make_it_recurring_at_either_level() {
        assert!(!Summary::of(row(2, 2)).recurring);
        assert!(Summary::of(row(3, 3)).recurring);
        assert!(Summary::of(row(1, 3)).recurring);
        assert_eq!(Summary::of(row(1, 1)).title, "Cannot find module 'x'");
        assert_eq!(Summary::of(PatternRow { masked: String::new(), ..row(1, 1) }).title, "(no message)");
    }
}
