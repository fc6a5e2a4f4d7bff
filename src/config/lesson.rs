//! `[lesson]`: which failures get a lesson file, and where.

use std::path::PathBuf;

use serde::Deserialize;

use crate::base::limits::LESSON_LINES_BYTES_MAX;

/// When a failure gets a lesson file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WriteWhen {
    /// When one of its patterns has none and somebody may read it.
    #[default]
    New,
    /// For every pattern, and none is withdrawn.
    Always,
}

/// `[lesson]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LessonSettings {
    /// `write = "new" | "always"`
    pub write: WriteWhen,
    /// `lines_bytes`: the block of kept output, bytes; at most what a lesson may have in all.
    pub lines_bytes: usize,
    /// `cancelled`: lessons for runs that a signal or a time limit ended, too.
    pub cancelled: bool,
    /// `attempts`: a failure that took so many is worth a lesson once it is fixed.
    pub attempts: u64,
    /// `minutes`: … and one that took longer.
    pub minutes: u64,
    /// `dir`: the lessons folder, relative to the root and inside it. `None` finds one.
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
