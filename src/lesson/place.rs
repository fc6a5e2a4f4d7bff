//! Where lessons are: private ones in a hidden folder with its own ignore file, shared ones in `lessons/`.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::Error;
use super::file_name::is_lesson_name;
use crate::base::file::{Durability, write_atomic};
use crate::config::{Places, Settings, packager};

/// Private lessons.
pub(super) const HIDDEN: &str = ".lessons";
/// Shared ones.
const SHARED: &str = "lessons";
/// Keeps git, and whatever reads its ignore files, from a private folder.
const IGNORE_ALL: &str = "*";
/// The first line of a shared folder's ignore file: the folder is shared though it may have no lesson at the moment.
/// Older versions had it in `info/exclude`.
const SHARED_MARK: &str = "# verify-run: lessons are shared";

/// A folder for lessons.
pub(super) struct LessonLocation {
    /// Absolute.
    pub dir: PathBuf,
    /// Top of the work tree that it is in; `None` when it is in the state folder.
    pub root: Option<PathBuf>,
}

/// The folder for lessons of `places`. It may not exist yet.
pub(super) fn find_location(places: &Places, settings: &Settings) -> LessonLocation {
    if !has_work_tree(places) {
        return LessonLocation { dir: places.state.lessons(), root: None };
    }
    let name = match settings.lesson.dir.clone() {
        Some(name) => name,
        None if is_shared_dir(&places.root.join(SHARED)) => PathBuf::from(SHARED),
        None if is_shared_dir(&places.root.join(HIDDEN)) => PathBuf::from(HIDDEN),
        // Private lessons are in no package.
        None if packager::is_published(&places.root, HIDDEN) => {
            return LessonLocation { dir: places.state.lessons(), root: None };
        }
        None => PathBuf::from(HIDDEN),
    };
    LessonLocation { dir: places.root.join(name), root: Some(places.root.clone()) }
}

pub(super) fn has_work_tree(places: &Places) -> bool {
    places.repository.as_ref().is_some_and(|repository| repository.worktree.is_some())
}

/// Where shared lessons go: the setting, else `lessons/`, unless the project keeps other things there.
pub(super) fn shared_dir(places: &Places, settings: &Settings) -> PathBuf {
    let shared = places.root.join(SHARED);
    let is_free = fs::symlink_metadata(&shared).is_err() || is_real_dir(&shared) && !has_others(&shared);
    match &settings.lesson.dir {
        Some(name) => places.root.join(name),
        None if is_free => shared,
        None => places.root.join(HIDDEN),
    }
}

/// Makes the folder. One in the work tree that is new gets an ignore file first, so that git never sees a lesson in
/// it.
pub(super) fn make_folder(dir: &Path, in_work_tree: bool) -> Result<(), Error> {
    create_dir(dir)?;
    let ignore = dir.join(".gitignore");
    if in_work_tree && fs::symlink_metadata(&ignore).is_err() && !has_lessons(dir) && !has_others(dir) {
        write_ignore(&ignore, &format!("{IGNORE_ALL}\n"))?;
    }
    Ok(())
}

/// Whether the folder's ignore file says that it is shared.
pub(super) fn is_shared(dir: &Path) -> bool {
    let ignored = ignore_text(dir);
    // The names of a large folder take longer to read than a line of its ignore file.
    has_line(&ignored, SHARED_MARK) || !has_line(&ignored, IGNORE_ALL) && has_lessons(dir)
}

/// Whether the folder's own ignore file hides all of it.
pub(super) fn is_hidden(dir: &Path) -> bool {
    has_line(&ignore_text(dir), IGNORE_ALL)
}

/// Moves the lessons of `private` to `shared`, which may be the same folder, and lets git see them there.
pub(super) fn share_lessons(private: &Path, shared: &Path) -> Result<(), Error> {
    create_dir(shared)?;
    // What a recorder leaves for later, or half written, is of no use to others.
    write_ignore(&shared.join(".gitignore"), &format!("{SHARED_MARK}\n.state/\n.tmp-*\n"))?;
    if private != shared {
        move_lessons(private, shared)?;
    }
    Ok(())
}

/// Brings lessons along when the project's packager begins, or stops, to take the hidden folder into its packages.
pub(super) fn move_for_packager(places: &Places, settings: &Settings) -> Result<(), Error> {
    if !has_work_tree(places) || settings.lesson.dir.is_some() {
        return Ok(());
    }
    let (hidden, kept) = (places.root.join(HIDDEN), places.state.lessons());
    let place = find_location(places, settings);
    if place.root.is_none() && is_real_dir(&hidden) && is_hidden(&hidden) && has_lessons(&hidden) {
        create_dir(&kept)?;
        return move_lessons(&hidden, &kept);
    }
    if place.dir == hidden && has_lessons(&kept) {
        make_folder(&hidden, true)?;
        return move_lessons(&kept, &hidden);
    }
    Ok(())
}

/// Puts right what older versions wrote: verify-run's line in git's `info/exclude` goes, and what it hid is hidden by
/// the folder itself.
pub(super) fn migrate_exclude_file(places: &Places, settings: &Settings) -> Result<(), Error> {
    if !has_work_tree(places) {
        return Ok(());
    }
    let text = exclude_text(places);
    let is_shared = has_line(&text, SHARED_MARK);
    for name in old_dir_names(settings).filter(|name| has_line(&text, &exclude_line(name))) {
        let dir = places.root.join(&name);
        if !is_real_dir(&dir) || !has_lessons(&dir) {
            continue;
        }
        let hidden = if name == Path::new(SHARED) { places.root.join(HIDDEN) } else { dir.clone() };
        make_folder(&hidden, true)?;
        match hidden == dir {
            true if fs::symlink_metadata(dir.join(".gitignore")).is_err() && !has_others(&dir) => {
                write_ignore(&dir.join(".gitignore"), &format!("{IGNORE_ALL}\n"))?;
            }
            true => {}
            false => move_lessons(&dir, &hidden)?,
        }
    }
    let shared = places.root.join(SHARED);
    if is_shared && is_real_dir(&shared) && has_lessons(&shared) {
        share_lessons(&shared, &shared)?;
    }
    // The line is for all work trees: each moves its own lessons first.
    let is_alone = places.repository.as_ref().is_some_and(|repository| {
        fs::read_dir(repository.common_dir.join("worktrees")).map_or(true, |mut trees| trees.next().is_none())
    });
    if is_alone { remove_exclusions(places, settings).map(drop) } else { Ok(()) }
}

/// Removes verify-run's lines from `info/exclude`. `false` when there was nothing.
pub(super) fn remove_exclusions(places: &Places, settings: &Settings) -> Result<bool, Error> {
    if !is_excluded(places, settings) {
        return Ok(false);
    }
    let text = exclude_text(places);
    let kept: String = text.split_inclusive('\n').filter(|line| !is_exclude_line(line, settings)).collect();
    let path = exclude_file(places).unwrap_or_default();
    write_atomic(&path, kept.as_bytes(), 0o644, Durability::Cached).map_err(|source| Error::Io {
        action: "write",
        path,
        source,
    })?;
    Ok(true)
}

/// Whether an older version left a line in `info/exclude`.
pub(super) fn is_excluded(places: &Places, settings: &Settings) -> bool {
    exclude_text(places).lines().any(|line| is_exclude_line(line, settings))
}

fn is_exclude_line(line: &str, settings: &Settings) -> bool {
    let line = line.trim_end();
    line == SHARED_MARK || old_dir_names(settings).any(|name| line == exclude_line(&name))
}

/// Folders that older versions may have hidden.
fn old_dir_names(settings: &Settings) -> impl Iterator<Item = PathBuf> {
    [SHARED, HIDDEN].into_iter().map(PathBuf::from).chain(settings.lesson.dir.clone())
}

/// `/lessons/`: anchored, so that a folder of that name elsewhere was not meant.
fn exclude_line(name: &Path) -> String {
    let mut line = String::from("/");
    for c in name.display().to_string().chars() {
        if "*?[\\!#".contains(c) {
            line.push('\\');
        }
        line.push(c);
    }
    line + "/"
}

fn has_line(text: &str, wanted: &str) -> bool {
    text.lines().any(|line| line.trim_end() == wanted)
}

fn exclude_file(places: &Places) -> Option<PathBuf> {
    places.repository.as_ref().map(|repository| repository.common_dir.join("info/exclude"))
}

fn exclude_text(places: &Places) -> String {
    exclude_file(places).and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default()
}

/// Moves lesson files; the folder that they leave goes when it has nothing else.
fn move_lessons(from: &Path, to: &Path) -> Result<(), Error> {
    for name in file_names(from).filter(|name| name.to_str().is_some_and(is_lesson_name)) {
        let (old, new) = (from.join(&name), to.join(&name));
        if fs::symlink_metadata(&new).is_err() {
            fs::rename(&old, &new).map_err(|source| Error::Io { action: "move", path: old, source })?;
        }
    }
    if file_names(from).all(|name| name == ".gitignore") {
        let _ = fs::remove_file(from.join(".gitignore"));
        let _ = fs::remove_dir(from);
    }
    Ok(())
}

/// Whether `lessons/` is the team's: it says so, or has lessons that git does not ignore.
fn is_shared_dir(dir: &Path) -> bool {
    is_real_dir(dir) && is_shared(dir)
}

/// A link may lead out of the repository.
fn is_real_dir(dir: &Path) -> bool {
    fs::symlink_metadata(dir).is_ok_and(|metadata| metadata.is_dir())
}

fn has_lessons(dir: &Path) -> bool {
    file_names(dir).any(|name| name.to_str().is_some_and(is_lesson_name))
}

/// Whether the folder has something that is neither a lesson nor neutral: course material, say.
fn has_others(dir: &Path) -> bool {
    file_names(dir).any(|name| {
        let neutral = matches!(name.as_bytes(), b".state" | b".gitignore" | b".gitkeep" | b"README.md" | b".DS_Store");
        !neutral && !name.as_bytes().starts_with(b".tmp-") && !name.to_str().is_some_and(is_lesson_name)
    })
}

fn file_names(dir: &Path) -> impl Iterator<Item = std::ffi::OsString> {
    fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.file_name())
}

fn ignore_text(dir: &Path) -> String {
    fs::read_to_string(dir.join(".gitignore")).unwrap_or_default()
}

fn write_ignore(path: &Path, text: &str) -> Result<(), Error> {
    write_atomic(path, text.as_bytes(), 0o644, Durability::Cached).map_err(|source| Error::Io {
        action: "write",
        path: path.to_owned(),
        source,
    })
}

#[allow(clippy::disallowed_methods, reason = "a folder of the work tree, not of the private state folder")]
fn create_dir(dir: &Path) -> Result<(), Error> {
    DirBuilder::new().recursive(true).create(dir).map_err(|source: io::Error| Error::Io {
        action: "create the folder",
        path: dir.to_owned(),
        source,
    })
}
