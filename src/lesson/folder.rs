//! The lessons folder: which one it is, and its files.

use std::collections::{HashMap, HashSet};
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::{Error, Facts, FixPart, Lesson, index, parse, render};
use crate::base::file::{Durability, write_atomic};
use crate::config::{Places, Settings};

/// The line in `info/exclude` that says lessons are shared, so that no later write hides them again.
const SHARED_MARK: &str = "# verify-run: lessons are shared";
/// A lesson file is read up to this size, bytes; people may have added to it.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The lessons folder. It may not exist yet.
#[derive(Debug, Clone)]
pub struct Folder {
    /// Absolute.
    pub dir: PathBuf,
    /// The block of kept lines, bytes.
    lines_bytes: usize,
    /// What keeps `git status` clean; `None` outside a work tree.
    git: Option<Git>,
}

#[derive(Debug, Clone)]
struct Git {
    /// Top of the work tree.
    root: PathBuf,
    git_dir: PathBuf,
    common_dir: PathBuf,
    /// The folder relative to the work tree, with a slash at its end.
    prefix: String,
}

/// What [`Folder::write`] did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The lesson's file.
    pub path: PathBuf,
    /// `false` when it was there already: then it was left as it is.
    pub new: bool,
}

/// A file of the folder.
#[derive(Debug)]
pub struct Entry {
    /// Absolute.
    pub path: PathBuf,
    /// Its content, or why it can't be read.
    pub lesson: Result<Lesson, Error>,
}

impl Folder {
    /// Finds the folder: the setting, an existing `.lessons/`, `lessons/` unless it is somebody else's, else
    /// `.lessons/`; in a bare repository one in the state folder.
    pub fn find(places: &Places, settings: &Settings) -> Self {
        let lines_bytes = settings.lesson.lines_bytes;
        let repository = places.repository.as_ref();
        if repository.is_some_and(|repository| repository.worktree.is_none()) {
            return Folder { dir: places.state.join("lessons"), lines_bytes, git: None };
        }
        let name = settings.lesson.dir.clone().unwrap_or_else(|| PathBuf::from(default_name(&places.root)));
        let git = repository.map(|repository| Git {
            root: places.root.clone(),
            git_dir: repository.git_dir.clone(),
            common_dir: repository.common_dir.clone(),
            prefix: format!("{}/", name.display()),
        });
        Folder { dir: places.root.join(name), lines_bytes, git }
    }

    /// Writes the lesson of `facts`, once: when the folder has a file with its id, that one stays as it is, whatever
    /// its name and content. The first write hides the folder from `git status` until a file in it is tracked.
    ///
    /// # Errors
    /// When the folder or the file can't be written.
    pub fn write(&self, facts: &Facts) -> Result<Written, Error> {
        match self.path_of(&facts.id, Some(&facts.file_name())) {
            Some(path) => Ok(Written { path, new: false }),
            None => self.write_new(facts),
        }
    }

    /// As [`Folder::write`], where no file can have the id yet: the folder, which may be large, is not searched for it.
    ///
    /// # Errors
    /// As [`Folder::write`].
    pub fn write_new(&self, facts: &Facts) -> Result<Written, Error> {
        self.stays_inside()?;
        create_dir(&self.dir)?;
        self.hide()?;
        let path = self.dir.join(facts.file_name());
        write_atomic(&path, render(facts, self.lines_bytes).as_bytes(), 0o644, Durability::Cached)
            .map_err(|source| Error::Io { action: "write the lesson", path: path.clone(), source })?;
        Ok(Written { path, new: true })
    }

    /// The file whose name ends with this id: `written`, as it was written, or another one if that was renamed.
    pub fn path_of(&self, id: &str, written: Option<&str>) -> Option<PathBuf> {
        let wanted = [(id.to_owned(), written.map(str::to_owned))];
        self.paths_of(&wanted).remove(id)
    }

    /// As [`Folder::path_of`], of several at once, by their ids. The folder may be large: it is listed once, and not at
    /// all where every file has the name that it was written under.
    pub fn paths_of(&self, wanted: &[(String, Option<String>)]) -> HashMap<String, PathBuf> {
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
        for name in self.unsorted() {
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

    /// All lessons, newest name last. Files that are no lessons by name are not looked at.
    pub fn entries(&self) -> Vec<Entry> {
        let read = |name: String| {
            let path = self.dir.join(name);
            let lesson = self.read(&path);
            Entry { path, lesson }
        };
        self.names().into_iter().map(read).collect()
    }

    /// Reads one file.
    ///
    /// # Errors
    /// When it can't be read or is no lesson.
    pub fn read(&self, path: &Path) -> Result<Lesson, Error> {
        parse(&read_text(path)?, Some(path))
    }

    /// Sets texts of a lesson's front matter (`cause`, `resolution`, `corrective_rule`); all else stays byte for byte.
    ///
    /// # Errors
    /// When the file can't be read or written, or is no lesson.
    pub fn annotate(&self, path: &Path, texts: &[(&str, &str)]) -> Result<Lesson, Error> {
        let mut text = read_text(path)?;
        for (key, value) in texts {
            text = super::set_text(&text, key, value).ok_or_else(|| Error::Parse {
                path: Some(path.to_owned()),
                line: 1,
                reason: "no front matter between two lines `---`".to_owned(),
            })?;
        }
        let lesson = parse(&text, Some(path))?;
        write_atomic(path, text.as_bytes(), 0o644, Durability::Synced).map_err(|source| Error::Io {
            action: "write the lesson",
            path: path.to_owned(),
            source,
        })?;
        Ok(lesson)
    }

    /// Says in a lesson's own part what made the failure go away. `false`: the part isn't there, or somebody edited it;
    /// then the file stays as it is.
    ///
    /// # Errors
    /// When the file can't be read or written.
    pub fn set_fix(&self, path: &Path, fix: &FixPart) -> Result<bool, Error> {
        let text = read_text(path)?;
        let Some(changed) = super::set_fix(&text, fix) else { return Ok(false) };
        if changed != text {
            write_atomic(path, changed.as_bytes(), 0o644, Durability::Cached).map_err(|source| Error::Io {
                action: "write the lesson",
                path: path.to_owned(),
                source,
            })?;
        }
        Ok(true)
    }

    /// Removes the lesson of `facts` if nobody has touched it since it was written. Whether it was removed.
    ///
    /// # Errors
    /// When the file can't be read or removed.
    pub fn withdraw(&self, facts: &Facts) -> Result<bool, Error> {
        let Some(path) = self.path_of(&facts.id, Some(&facts.file_name())) else { return Ok(false) };
        let is_ours = read_text(&path)? == render(facts, self.lines_bytes);
        if is_ours {
            self.remove(&path)?;
        }
        Ok(is_ours)
    }

    /// Removes a lesson's file.
    ///
    /// # Errors
    /// The operating system's.
    pub fn remove(&self, path: &Path) -> Result<(), Error> {
        fs::remove_file(path).map_err(|source| Error::Io { action: "remove", path: path.to_owned(), source })
    }

    /// Lets git see the folder again, for good. `false` when it did already.
    ///
    /// # Errors
    /// When `info/exclude` can't be written.
    pub fn share(&self) -> Result<bool, Error> {
        let Some(git) = &self.git else { return Ok(false) };
        let text = git.exclude_text()?;
        if text.lines().any(|line| line == SHARED_MARK) {
            return Ok(false);
        }
        let hidden = git.exclude_line();
        let mut kept: String = text.split_inclusive('\n').filter(|line| line.trim_end() != hidden).collect();
        end_line(&mut kept);
        kept.push_str(SHARED_MARK);
        kept.push('\n');
        git.write_exclude(&kept)?;
        Ok(true)
    }

    /// Takes everything of ours out of `info/exclude`. `false` when there was nothing.
    ///
    /// # Errors
    /// When `info/exclude` can't be read or written.
    pub fn unhide(&self) -> Result<bool, Error> {
        let Some(git) = &self.git else { return Ok(false) };
        let text = git.exclude_text()?;
        let hidden = git.exclude_line();
        let is_ours = |line: &str| line.trim_end() == hidden || line.trim_end() == SHARED_MARK;
        let kept: String = text.split_inclusive('\n').filter(|line| !is_ours(line)).collect();
        if kept == text {
            return Ok(false);
        }
        git.write_exclude(&kept)?;
        Ok(true)
    }

    /// Whether git is kept from seeing the folder by us.
    pub fn hidden(&self) -> bool {
        let Some(git) = &self.git else { return false };
        git.exclude_text().is_ok_and(|text| text.lines().any(|line| line.trim_end() == git.exclude_line()))
    }

    /// Refuses a folder that a link in the work tree leads out of it: the link may have come with a clone.
    fn stays_inside(&self) -> Result<(), Error> {
        let Some(git) = &self.git else { return Ok(()) };
        let existing = self.dir.ancestors().find(|dir| fs::symlink_metadata(dir).is_ok()).unwrap_or(&self.dir);
        let fail = |source| Error::Io { action: "write lessons in", path: self.dir.clone(), source };
        let (real, root) = (existing.canonicalize().map_err(fail)?, git.root.canonicalize().map_err(fail)?);
        if real.starts_with(root) {
            return Ok(());
        }
        Err(fail(io::Error::new(io::ErrorKind::PermissionDenied, "a link leads out of the work tree")))
    }

    fn hide(&self) -> Result<(), Error> {
        let Some(git) = &self.git else { return Ok(()) };
        let mut text = git.exclude_text()?;
        let known = |line: &str| line == SHARED_MARK || line.trim_end() == git.exclude_line();
        if text.lines().any(known) || index::tracks(&git.git_dir, &git.common_dir, git.prefix.as_bytes()) {
            return Ok(());
        }
        end_line(&mut text);
        text.push_str(&git.exclude_line());
        text.push('\n');
        git.write_exclude(&text)
    }

    /// Names of lesson files, sorted.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.unsorted().filter(|name| is_lesson_name(name)).collect();
        names.sort();
        names
    }

    /// Names of everything that has a name in UTF-8.
    fn unsorted(&self) -> impl Iterator<Item = String> {
        let entries = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok())
    }
}

impl Git {
    fn exclude(&self) -> PathBuf {
        self.common_dir.join("info/exclude")
    }

    /// `/lessons/`: anchored, so that a folder of that name elsewhere is not meant.
    fn exclude_line(&self) -> String {
        let mut line = String::from("/");
        for c in self.prefix.chars() {
            if "*?[\\!#".contains(c) {
                line.push('\\');
            }
            line.push(c);
        }
        line
    }

    fn exclude_text(&self) -> Result<String, Error> {
        match fs::read(self.exclude()) {
            Ok(bytes) => String::from_utf8(bytes).map_err(|error| {
                let source = io::Error::new(io::ErrorKind::InvalidData, error.utf8_error());
                Error::Io { action: "read", path: self.exclude(), source }
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
            Err(source) => Err(Error::Io { action: "read", path: self.exclude(), source }),
        }
    }

    fn write_exclude(&self, text: &str) -> Result<(), Error> {
        let path = self.exclude();
        create_dir(path.parent().unwrap_or(&self.common_dir))?;
        write_atomic(&path, text.as_bytes(), 0o644, Durability::Cached).map_err(|source| Error::Io {
            action: "write",
            path,
            source,
        })
    }
}

/// `lessons` or `.lessons`.
fn default_name(root: &Path) -> &'static str {
    let is_dir = |name: &str| fs::symlink_metadata(root.join(name)).is_ok_and(|metadata| metadata.is_dir());
    if is_dir(".lessons") {
        return ".lessons";
    }
    match fs::symlink_metadata(root.join("lessons")) {
        Err(_) => "lessons",
        Ok(metadata) if metadata.is_dir() && is_ours(&root.join("lessons")) => "lessons",
        // Somebody's course material, a file, or a link that may lead out of the repository.
        Ok(_) => ".lessons",
    }
}

/// Whether a folder holds lessons, or nothing that could be anybody's.
fn is_ours(dir: &Path) -> bool {
    let mut others = false;
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name.to_str().is_some_and(is_lesson_name) {
            return true;
        }
        let neutral = matches!(name.as_bytes(), b".state" | b".gitignore" | b".gitkeep" | b"README.md" | b".DS_Store");
        others |= !neutral && !name.as_bytes().starts_with(b".tmp-");
    }
    !others
}

fn is_lesson_name(name: &str) -> bool {
    lesson_id(name).is_some()
}

/// The id in `<anything>-l-<8 base32 characters>.md`.
fn lesson_id(name: &str) -> Option<&str> {
    let stem = name.strip_suffix(".md")?;
    let (before, id) = stem.rsplit_once("l-")?;
    let is_id = (before.is_empty() || before.ends_with('-'))
        && id.len() == 8
        && id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    is_id.then(|| &stem[before.len()..])
}

fn read_text(path: &Path) -> Result<String, Error> {
    let fail = |source| Error::Io { action: "read the lesson", path: path.to_owned(), source };
    let metadata = fs::metadata(path).map_err(fail)?;
    if !metadata.is_file() || metadata.len() > FILE_BYTES_MAX {
        return Err(fail(io::Error::new(io::ErrorKind::InvalidData, "not a regular file of at most 1 MiB")));
    }
    fs::read_to_string(path).map_err(fail)
}

#[allow(clippy::disallowed_methods, reason = "a folder of the work tree, not of the private state folder")]
fn create_dir(dir: &Path) -> Result<(), Error> {
    DirBuilder::new().recursive(true).create(dir).map_err(|source| Error::Io {
        action: "create the folder",
        path: dir.to_owned(),
        source,
    })
}

fn end_line(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}
