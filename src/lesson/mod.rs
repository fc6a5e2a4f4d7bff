//! The lesson file: Markdown with a YAML front matter that says what happened and, once known, why and what to do.
//!
//! Its text belongs to people: it is written once, never rewritten except for the marked part about the fix, and read
//! back with all edits.

mod body;
mod conflict;
mod facts;
mod file_name;
mod fix;
mod folder;
mod front_matter;
mod git_index;
mod local_machine;
mod place;
mod seal;
mod shared_lesson;

pub use facts::{LessonFacts, lesson_file_name};
pub use fix::{LessonFixFacts, LessonFixSection, has_own_fix_section, set_fix};
pub use folder::{LessonFile, LessonFolder, WrittenLesson};
pub use front_matter::{LESSON_SCHEMA, Lesson, LessonFrontMatter, parse_lesson, set_front_matter_text};
pub use local_machine::LocalMachine;
pub use seal::is_untouched;
pub use shared_lesson::{SharedLesson, SharedLessonFile, SharedLessonFix};

use std::path::PathBuf;

use crate::base::limits::LESSON_BYTES_MAX;

/// What can go wrong with lesson files.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file or folder can't be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The operating system's answer.
        source: std::io::Error,
    },
    /// The text is not a lesson.
    #[error("{}: {reason}", location_text(.path.as_deref(), *.line))]
    Parse {
        /// The file, where it is known.
        path: Option<PathBuf>,
        /// The line in it, from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// A newer verify-run wrote it.
    #[error("{}: written by a newer verify-run (schema {schema}, this one knows {LESSON_SCHEMA})", location_text(.path.as_deref(), 1))]
    Newer {
        /// The file, where it is known.
        path: Option<PathBuf>,
        /// Its schema.
        schema: u32,
    },
}

fn location_text(path: Option<&std::path::Path>, line: usize) -> String {
    path.map_or_else(|| format!("line {line}"), |path| format!("{}:{line}", path.display()))
}

/// What the body gets however long the list of files is, bytes.
const BODY_BYTES_MIN: usize = 4 << 10;

/// The whole file for `facts`: front matter and body, at most [`LESSON_BYTES_MAX`] bytes unless the list of affected files
/// needs more, and at most 64 KiB. Pure: the same facts give the same bytes.
pub fn render_lesson(facts: &LessonFacts, lines_bytes: usize) -> String {
    let front = front_matter::render_front_matter(facts);
    let room = LESSON_BYTES_MAX.saturating_sub(front.len()).max(BODY_BYTES_MIN);
    let body = body::render_body(facts, lines_bytes, room);
    seal::seal_text(&(front + &body))
}

/// A lesson as a team shares it: without what another clone says differently of the same failure (who met it, when, in how
/// many attempts), so that two people who share it have the same file.
pub fn shared_lesson_text(text: &str) -> String {
    let text = fix::shared_fix_text(text);
    let shared = front_matter::shared_front_matter(&text);
    if is_untouched(&text) { seal::renew_seal(&shared) } else { shared }
}

#[cfg(test)]
mod sample;
#[cfg(test)]
mod tests;
