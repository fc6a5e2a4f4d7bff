//! What a lesson that the team shares teaches: its front matter, and what its own part says of the fix.

use std::fs::{self, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use super::file_name::lesson_id;
use super::{Error, LessonFrontMatter, conflict, fix, parse_lesson};
use crate::base::private;

/// A file that is read, bytes: what is written has at most half of it.
const FILE_BYTES_MAX: u64 = 128 << 10;

/// A file of a shared folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedLessonFile {
    /// Its name.
    pub name: String,
    /// `l-…` in it.
    pub lesson: String,
    /// Another one after every change.
    pub stamp: String,
}

impl SharedLessonFile {
    /// The file of this name; `None` of a link and whatever else is no regular file.
    pub(super) fn from_name(dir: &Path, name: String) -> Option<Self> {
        let lesson = lesson_id(&name)?.to_owned();
        let metadata = fs::symlink_metadata(dir.join(&name)).ok().filter(Metadata::is_file)?;
        let stamp = [metadata.ctime(), metadata.ctime_nsec(), metadata.mtime(), metadata.mtime_nsec()].map(as_text);
        let stamp = format!("{} {} {}", stamp.join(" "), metadata.ino(), metadata.len());
        Some(SharedLessonFile { name, lesson, stamp })
    }
}

fn as_text(number: i64) -> String {
    number.to_string()
}

/// What a lesson teaches whoever did not see its failure. Anybody may have written it: nothing of it is clean.
#[derive(Debug, Clone, PartialEq)]
pub struct SharedLesson {
    /// Its front matter.
    pub front: LessonFrontMatter,
    /// What went wrong: the message in its title, else the title.
    pub pitfall: String,
    /// What its own part says of the fix; `None` where nothing is known, or a person edited the part.
    pub fix: Option<SharedLessonFix>,
}

/// What a lesson's own part says of the fix.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SharedLessonFix {
    /// `x-…`; a lesson that was shared has none.
    pub id: Option<String>,
    /// Why it failed.
    pub cause: Option<String>,
    /// What was done.
    pub approach: Option<String>,
    /// What to do from now on.
    pub rule: Option<String>,
    /// The unified diff.
    pub diff: String,
}

impl SharedLesson {
    /// Whether a person or an agent says why it happens or what to do.
    pub fn is_explained(&self) -> bool {
        let front = &self.front;
        [&front.cause, &front.resolution, &front.corrective_rule].into_iter().any(|text| has_text(text.as_deref()))
    }
}

/// Whether there is anything in a text.
fn has_text(text: Option<&str>) -> bool {
    text.is_some_and(|text| !text.trim().is_empty())
}

/// Reads a file of a shared folder. It comes from a repository: no link is followed, and no FIFO waited for.
pub(super) fn read_shared_lesson(path: &Path) -> Result<SharedLesson, Error> {
    let fail = |source| Error::Io { action: "read the lesson", path: path.to_owned(), source };
    let text = read_shared_text(path).map_err(fail)?;
    let lesson = parse_lesson(&text, Some(path))?;
    let title = lesson.title();
    let message = title.split_once('`').and_then(|(_, rest)| rest.rsplit_once('`'));
    let fix = match conflict::parse_conflict(&text) {
        Some(conflict) => conflict.sides.iter().find_map(|side| fix::parse_shared_fix(side)),
        None => fix::parse_shared_fix(&text),
    };
    let pitfall = message.map_or(title, |(message, _)| message).trim().trim_matches('`').trim();
    Ok(SharedLesson { pitfall: pitfall.to_owned(), fix, front: lesson.front })
}

fn read_shared_text(path: &Path) -> io::Result<String> {
    let file = OpenOptions::new().read(true).custom_flags(private::FLAGS).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.len() > FILE_BYTES_MAX {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "not a regular file of at most 128 KiB"));
    }
    let mut text = String::new();
    file.take(FILE_BYTES_MAX).read_to_string(&mut text)?;
    Ok(text)
}
