//! The lessons folder: which one it is, and its files.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::file_name::{is_lesson_name, lesson_id};
use super::git_index;
use super::place::{self, LessonLocation};
use super::shared_lesson::{self, SharedLesson, SharedLessonFile};
use super::{Error, Lesson, LessonFacts, LessonFixSection, conflict, parse_lesson, render_lesson, shared_lesson_text};
use crate::base::clock::Timestamp;
use crate::base::file::{Durability, write_atomic};
use crate::config::{Places, Repository, Settings};

/// A lesson file is read up to this size, bytes; people may have added to it.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// Shared lessons that are learnt from, the first ones by name.
pub(super) const TAUGHT_MAX: usize = 500;

/// The lessons folder. It may not exist yet.
#[derive(Debug, Clone)]
pub struct LessonFolder {
    /// Absolute.
    pub dir: PathBuf,
    /// The block of kept lines, bytes.
    lines_bytes: usize,
    /// Top of the work tree that the folder is in; `None` when it is in the state folder.
    root: Option<PathBuf>,
    /// Knows what is committed.
    git: Option<Repository>,
}

/// What [`LessonFolder::write_lesson`] did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenLesson {
    /// The lesson's file.
    pub path: PathBuf,
    /// `false` when it was there already: then it was left as it is.
    pub new: bool,
}

/// A file of the folder.
#[derive(Debug)]
pub struct LessonFile {
    /// Absolute.
    pub path: PathBuf,
    /// Its content, or why it can't be read.
    pub lesson: Result<Lesson, Error>,
    /// The line of the first conflict marker that a merge left in it.
    pub conflict: Option<usize>,
}

impl LessonFolder {
    /// Finds the folder: in a work tree the setting, `lessons/` where the team shares it, else `.lessons/`; where
    /// a package would take that along, and anywhere else, one in the state folder.
    pub fn find(places: &Places, settings: &Settings) -> Self {
        let LessonLocation { dir, root } = place::find_location(places, settings);
        LessonFolder { dir, lines_bytes: settings.lesson.lines_bytes, root, git: places.repository.clone() }
    }

    /// Puts right what older versions wrote, and moves private lessons out of what is published: for the recorder, before
    /// [`LessonFolder::find`].
    ///
    /// # Errors
    /// When files can't be moved or `info/exclude` can't be written.
    pub fn migrate_lessons(places: &Places, settings: &Settings) -> Result<(), Error> {
        place::migrate_exclude_file(places, settings)?;
        place::move_for_packager(places, settings)
    }

    /// Whether an older version left a line in git's `info/exclude`.
    pub fn is_excluded(places: &Places, settings: &Settings) -> bool {
        place::is_excluded(places, settings)
    }

    /// Removes verify-run's lines from `info/exclude`. `false` when there was nothing.
    ///
    /// # Errors
    /// When `info/exclude` can't be written.
    pub fn remove_exclusions(places: &Places, settings: &Settings) -> Result<bool, Error> {
        place::remove_exclusions(places, settings)
    }

    /// Writes the lesson of `facts`, once: when the folder has a file with its id, that one stays as it is, whatever
    /// its name and content. The first write hides the folder from `git status` until a file in it is tracked.
    ///
    /// # Errors
    /// When the folder or the file can't be written.
    pub fn write_lesson(&self, facts: &LessonFacts) -> Result<WrittenLesson, Error> {
        match self.find_lesson_path(&facts.id, Some(&facts.file_name())) {
            Some(path) => Ok(WrittenLesson { path, new: false }),
            None => self.write_new_lesson(facts),
        }
    }

    fn write_new_lesson(&self, facts: &LessonFacts) -> Result<WrittenLesson, Error> {
        self.ensure_inside_work_tree()?;
        place::make_folder(&self.dir, self.root.is_some())?;
        let path = self.dir.join(facts.file_name());
        let text = render_lesson(facts, self.lines_bytes);
        let text = if self.is_shared() { shared_lesson_text(&text) } else { text };
        write_atomic(&path, text.as_bytes(), 0o644, Durability::Cached).map_err(|source| Error::Io {
            action: "write the lesson",
            path: path.clone(),
            source,
        })?;
        Ok(WrittenLesson { path, new: true })
    }

    /// The lesson of `facts` as it would be written.
    ///
    /// # Errors
    /// When it can't be read back.
    pub fn preview_lesson(&self, facts: &LessonFacts, fix: Option<&LessonFixSection>) -> Result<Lesson, Error> {
        let text = render_lesson(facts, self.lines_bytes);
        parse_lesson(&fix.and_then(|fix| super::set_fix(&text, fix)).unwrap_or(text), None)
    }

    /// The file whose name ends with this id: `written`, as it was written, or another one if that was renamed.
    pub fn find_lesson_path(&self, id: &str, written: Option<&str>) -> Option<PathBuf> {
        let wanted = [(id.to_owned(), written.map(str::to_owned))];
        self.find_lesson_paths(&wanted).remove(id)
    }

    /// As [`LessonFolder::find_lesson_path`], of several at once, by their ids. The folder may be large: it is listed once, and not at
    /// all where every file has the name that it was written under.
    pub fn find_lesson_paths(&self, wanted: &[(String, Option<String>)]) -> HashMap<String, PathBuf> {
        let mut found = HashMap::new();
        for (id, written) in wanted {
            let named = written.iter().filter(|name| lesson_id(name) == Some(id)).map(|name| self.dir.join(name));
            found.extend(named.filter(|path| path.is_file()).map(|path| (id.clone(), path)));
        }
        let missing: HashSet<&str> =
            wanted.iter().map(|(id, _)| id.as_str()).filter(|id| !found.contains_key(*id)).collect();
        if missing.is_empty() {
            return found;
        }
        for name in self.unsorted_names() {
            let Some(id) = lesson_id(&name).filter(|id| missing.contains(id)) else { continue };
            let path = self.dir.join(&name);
            // Of copies always the same one.
            match found.get(id) {
                Some(known) if *known <= path => {}
                _ => drop(found.insert(id.to_owned(), path)),
            }
        }
        found
    }

    /// All lessons, newest name last, each read when it is asked for: there may be thousands. Files that are no lessons by
    /// name are not looked at.
    pub fn read_lesson_files(&self) -> impl Iterator<Item = LessonFile> {
        self.lesson_names().into_iter().map(|name| read_lesson_file(self.dir.join(name)))
    }

    /// As [`LessonFolder::read_lesson_files`], the `max` whose files were changed last.
    pub fn read_changed_last(&self, max: usize) -> impl Iterator<Item = LessonFile> {
        let mut names = self.lesson_names();
        if names.len() > max {
            // The time of its content is that of its recording where it is shared.
            let changed = |name: &String| {
                fs::symlink_metadata(self.dir.join(name)).map(|file| (file.ctime(), file.ctime_nsec())).ok()
            };
            names.sort_by_cached_key(|name| Reverse(changed(name)));
            names.truncate(max);
            names.sort();
        }
        names.into_iter().map(|name| read_lesson_file(self.dir.join(name)))
    }

    /// Reads one file.
    ///
    /// # Errors
    /// When it can't be read or is no lesson.
    pub fn read_lesson(&self, path: &Path) -> Result<Lesson, Error> {
        parse_lesson_file(&read_text(path)?, path)
    }

    /// Sets texts of a lesson's front matter (`cause`, `resolution`, `corrective_rule`); all else stays byte for byte.
    ///
    /// # Errors
    /// When the file can't be read or written, or is no lesson.
    pub fn annotate_lesson(&self, path: &Path, texts: &[(&str, &str)]) -> Result<Lesson, Error> {
        let mut text = read_text(path)?;
        for (key, value) in texts {
            text = super::set_front_matter_text(&text, key, value).ok_or_else(|| Error::Parse {
                path: Some(path.to_owned()),
                line: 1,
                reason: "no front matter between two lines `---`".to_owned(),
            })?;
        }
        let lesson = parse_lesson_file(&text, path)?;
        write_atomic(path, text.as_bytes(), 0o644, Durability::Synced).map_err(|source| Error::Io {
            action: "write the lesson",
            path: path.to_owned(),
            source,
        })?;
        Ok(lesson)
    }

    /// Writes into a lesson's own part what made the failure go away. `false`: the part is missing or was edited;
    /// then the file stays as it is.
    ///
    /// # Errors
    /// When the file can't be read or written.
    pub fn set_fix(&self, path: &Path, fix: &LessonFixSection) -> Result<bool, Error> {
        let text = read_text(path)?;
        let Some(mut changed) = super::set_fix(&text, fix) else { return Ok(false) };
        if self.is_shared() {
            changed = super::fix::shared_fix_text(&changed);
        }
        if changed != text {
            write_atomic(path, changed.as_bytes(), 0o644, Durability::Cached).map_err(|source| Error::Io {
                action: "write the lesson",
                path: path.to_owned(),
                source,
            })?;
        }
        Ok(true)
    }

    /// Whether a lesson's file is unedited and not committed.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn is_own_lesson(&self, path: &Path) -> Result<bool, Error> {
        Ok(super::is_untouched(&read_text(path)?) && !self.is_tracked(path))
    }

    fn is_tracked(&self, path: &Path) -> bool {
        let Some(git) = self.git.as_ref().filter(|_| !self.is_hidden()) else { return false };
        let relative = self.root.as_ref().and_then(|root| path.strip_prefix(root).ok());
        relative.is_some_and(|relative| {
            git_index::is_tracked(&git.git_dir, &git.common_dir, relative.as_os_str().as_bytes())
        })
    }

    /// The lessons that the team shares, by name; none of a private folder, or one that a link leads to elsewhere.
    pub fn shared_files(&self) -> Vec<SharedLessonFile> {
        if !self.is_shared() || self.ensure_inside_work_tree().is_err() {
            return Vec::new();
        }
        let files = self.lesson_names().into_iter().take(TAUGHT_MAX);
        files.filter_map(|name| SharedLessonFile::from_name(&self.dir, name)).collect()
    }

    /// What one of them teaches.
    ///
    /// # Errors
    /// When it can't be read or is no lesson.
    pub fn read_shared_lesson(&self, name: &str) -> Result<SharedLesson, Error> {
        shared_lesson::read_shared_lesson(&self.dir.join(name))
    }

    /// The path of one of its files, relative to the root.
    pub fn relative_path(&self, name: &str) -> String {
        let path = self.dir.join(name);
        let relative = self.root.as_ref().and_then(|root| path.strip_prefix(root).ok()).unwrap_or(&path);
        relative.to_string_lossy().into_owned()
    }

    /// Removes a lesson's file.
    ///
    /// # Errors
    /// The operating system's.
    pub fn remove(&self, path: &Path) -> Result<(), Error> {
        fs::remove_file(path).map_err(|source| Error::Io { action: "remove", path: path.to_owned(), source })
    }

    /// Lets git see the lessons, for good: `lessons/` from now on, unless a setting says where or the project has a
    /// folder of that name. `None` when git sees them already; the folder that has them now otherwise.
    ///
    /// # Errors
    /// When the files can't be moved or the ignore file can't be written.
    pub fn share_lessons(&self, places: &Places, settings: &Settings) -> Result<Option<PathBuf>, Error> {
        if self.root.is_none() || self.is_shared() {
            return Ok(None);
        }
        let shared = place::shared_dir(places, settings);
        self.ensure_inside_work_tree()?;
        for name in self.lesson_names() {
            share_file(&self.dir.join(name))?;
        }
        place::share_lessons(&self.dir, &shared)?;
        Ok(Some(shared))
    }

    /// Whether git sees the lessons.
    fn is_shared(&self) -> bool {
        self.root.is_some() && place::is_shared(&self.dir)
    }

    /// Whether git is kept from seeing the folder by us.
    pub fn is_hidden(&self) -> bool {
        self.root.is_some() && place::is_hidden(&self.dir)
    }

    /// The folder in the work tree, relative to its root, while lessons are private; also before there are any, and where
    /// they are kept out of it.
    pub fn private_dir(places: &Places, settings: &Settings) -> Option<String> {
        let folder = LessonFolder::find(places, settings);
        let Some(root) = &folder.root else { return place::has_work_tree(places).then(|| place::HIDDEN.to_owned()) };
        let relative = folder.dir.strip_prefix(root).ok()?;
        let is_private = folder.is_hidden() || !folder.dir.exists();
        is_private.then(|| relative.to_string_lossy().into_owned())
    }

    /// Refuses a folder that a link in the work tree leads out of it: the link may have come with a clone.
    fn ensure_inside_work_tree(&self) -> Result<(), Error> {
        let Some(root) = &self.root else { return Ok(()) };
        let existing = self.dir.ancestors().find(|dir| fs::symlink_metadata(dir).is_ok()).unwrap_or(&self.dir);
        let fail = |source| Error::Io { action: "write lessons in", path: self.dir.clone(), source };
        let (real, root) = (existing.canonicalize().map_err(fail)?, root.canonicalize().map_err(fail)?);
        if real.starts_with(root) {
            return Ok(());
        }
        Err(fail(io::Error::new(io::ErrorKind::PermissionDenied, "a link leads out of the work tree")))
    }

    /// Names of lesson files, sorted.
    fn lesson_names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.unsorted_names().filter(|name| is_lesson_name(name)).collect();
        names.sort();
        names
    }

    /// Names of everything that has a name in UTF-8.
    fn unsorted_names(&self) -> impl Iterator<Item = String> {
        let entries = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok())
    }
}

fn read_lesson_file(path: PathBuf) -> LessonFile {
    let text = read_text(&path);
    let conflict = text.as_ref().ok().and_then(|text| conflict::parse_conflict(text)).map(|conflict| conflict.line);
    let lesson = text.and_then(|text| parse_lesson_file(&text, &path));
    LessonFile { path, lesson, conflict }
}

/// Takes out of a file what is not for others, and leaves its time. What is no lesson stays as it is.
fn share_file(path: &Path) -> Result<(), Error> {
    let Ok(text) = read_text(path) else { return Ok(()) };
    let shared = shared_lesson_text(&text);
    let Ok(lesson) = parse_lesson(&text, Some(path)) else { return Ok(()) };
    if shared == text {
        return Ok(());
    }
    let fail = |source| Error::Io { action: "write the lesson", path: path.to_owned(), source };
    write_atomic(path, shared.as_bytes(), 0o644, Durability::Cached).map_err(fail)?;
    let time = lesson.front.recorded_at.system_time();
    fs::File::options().append(true).open(path).and_then(|file| file.set_modified(time)).map_err(fail)
}

/// The lesson of a file: one that is shared does not say when it was recorded.
fn parse_lesson_file(text: &str, path: &Path) -> Result<Lesson, Error> {
    let mut lesson = parse_lesson(text, Some(path))?;
    if lesson.front.recorded_at == Timestamp::default()
        && let Ok(written) = fs::metadata(path).and_then(|metadata| metadata.modified())
    {
        lesson.front.recorded_at = Timestamp::from(written);
    }
    Ok(lesson)
}

fn read_text(path: &Path) -> Result<String, Error> {
    let fail = |source| Error::Io { action: "read the lesson", path: path.to_owned(), source };
    let metadata = fs::metadata(path).map_err(fail)?;
    if !metadata.is_file() || metadata.len() > FILE_BYTES_MAX {
        return Err(fail(io::Error::new(io::ErrorKind::InvalidData, "not a regular file of at most 1 MiB")));
    }
    fs::read_to_string(path).map_err(fail)
}
