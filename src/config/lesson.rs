//! `[lesson]`: which failures get a lesson file, and where.

use std::path::PathBuf;

use serde::Deserialize;

use crate::base::limits::LESSON_LINES_BYTES_MAX;

/// When a failure gets a lesson file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WriteWhen {
    /// When one of its patterns has none and a reader can use it.
    #[default]
    New,
    /// For every pattern, and none is withdrawn.
    Always,
}

/// `[lesson]`: which failures get a lesson file, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LessonSettings {
    /// `write`: `"new"` writes a file for a failure whose patterns have none; `"always"` for every pattern, and
    /// withdraws none.
    pub write: WriteWhen,
    /// `lines_bytes`: size limit of the quoted output, in bytes.
    pub lines_bytes: usize,
    /// `cancelled`: also write lessons for runs that a signal or a time limit ended.
    pub cancelled: bool,
    /// `attempts`: attempts from which a fixed failure keeps its lesson.
    pub attempts: u64,
    /// `minutes`: minutes from the failure to its fix from which the lesson is kept.
    pub minutes: u64,
    /// `dir`: the lessons folder, relative to the root and inside it; found automatically when not set.
    pub dir: Option<PathBuf>,
}

impl Default for LessonSettings {
    fn default() -> Self {
        LessonSettings {
            write: WriteWhen::New,
            lines_bytes: LESSON_LINES_BYTES_MAX,
            cancelled: false,
            attempts: 3,
            minutes: 30,
            dir: None,
        }
    }
}
