//! Tells at a glance that a work tree is still the one of the last look: the times of every file and folder that git
//! looked at, and of every file that says what it looks at.
//!
//! A folder's time changes when a name in it comes or goes, a file's when its content or its attributes do; so where all
//! of them are as they were, git would list what it listed. That is what git's own untracked cache and its index rely on
//! (`Documentation/technical/racy-git.txt`), and it has the same limits: it needs a file system whose folders have such
//! times, and what changed within the clock's last tick before the look proves nothing. Whatever is unknown counts as
//! changed.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;

use serde::{Deserialize, Serialize};

use super::SnapshotOptions;
use super::git::{Git, GitError, GitView};
use super::taken::{TakenSnapshot, change_time};
use crate::base::clock::Timestamp;
use crate::base::file::{Durability, write_atomic};
use crate::base::folder::has_folder_times;
use crate::base::limits::{SNAPSHOT_INFO_BYTES_MAX, SNAPSHOT_LISTING_BYTES_MAX};
use crate::base::lossless::Lossless;
use crate::base::private;
use crate::redact::redact_text;

/// The file in the folder of a work tree.
const STAMP_FILE: &str = "stamp";
/// Version of its form.
const SCHEMA: u32 = 2;
/// Folders of a larger work tree are not walked through.
const FOLDERS_MAX: usize = 20_000;
/// Times that git is asked what it ignores: folders in folders of which it tracks nothing.
const ROUNDS_MAX: usize = 16;
/// A time without a fraction of a second may be one of a file system that has no better ones, microseconds.
const COARSE_US: i64 = 2_000_000;
/// Bytes of an entry before its path: its kind, and what the file was like.
const HEAD_BYTES: usize = 9;

/// What a work tree was like when git listed it.
#[derive(Debug)]
pub(super) struct WorkTreeStamp {
    header: StampHeader,
    /// The entries as they are in the file.
    entries: Vec<u8>,
}

/// The first line of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct StampHeader {
    schema: u32,
    /// Names this stamp.
    id: String,
    /// The tree of the look.
    tree: String,
    /// When a file of the tree had changed last.
    changed_at: Timestamp,
    /// Whether a folder that was left out had files.
    has_excluded: bool,
    /// Whether files of the index were not checked out.
    has_absent: bool,
    /// The size of the largest file of the tree, bytes.
    largest: u64,
    file_bytes_max: u64,
    excluded: Vec<Lossless>,
    /// Files outside of the work tree that say what git ignores and converts.
    rules: Vec<(Lossless, u64)>,
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StampedKind {
    /// A file or link in the tree.
    File = b'f' as isize,
    /// A folder in which git looks for new files.
    Folder = b'd' as isize,
    /// A file outside of the tree that says what git looks at.
    Rule = b'r' as isize,
}

/// One entry.
#[derive(Debug, Clone, Copy)]
struct StampedEntry<'a> {
    kind: u8,
    /// What the file was like.
    digest: u64,
    /// Relative to the root.
    path: &'a [u8],
}

/// Files as they were when they were looked at last, to be stamped.
#[derive(Debug, Default)]
pub(super) struct SeenFiles {
    /// Path and what it was like.
    files: Vec<(Vec<u8>, u64)>,
    /// The size of the largest, bytes.
    largest: u64,
    newest: NewestChange,
}

/// The newest time among files.
#[derive(Debug, Default, Clone, Copy)]
struct NewestChange {
    at: i64,
    /// Whether one has no fraction of a second.
    is_coarse: bool,
}

impl NewestChange {
    fn add(&mut self, metadata: &Metadata) {
        self.at = self.at.max(change_time(metadata));
        self.is_coarse |= metadata.ctime_nsec() == 0;
    }

    /// Whether all of it was over when a look began, so that a later change has another time.
    fn is_before(self, look: Timestamp, tick: i64) -> bool {
        let margin = if self.is_coarse { COARSE_US } else { tick };
        self.at.saturating_add(margin) < look.0
    }
}

impl SeenFiles {
    /// Adds a file of the tree.
    pub(super) fn add(&mut self, path: &[u8], metadata: &Metadata) {
        self.files.push((path.to_owned(), digest_of(metadata)));
        self.largest = self.largest.max(metadata.len());
        self.newest.add(metadata);
    }

    /// Adds others.
    pub(super) fn append(&mut self, mut other: SeenFiles) {
        self.files.append(&mut other.files);
        self.largest = self.largest.max(other.largest);
        self.newest.at = self.newest.at.max(other.newest.at);
        self.newest.is_coarse |= other.newest.is_coarse;
    }

    /// Adds one that went away meanwhile.
    pub(super) fn add_missing(&mut self) {
        self.newest.at = i64::MAX;
    }
}

/// A look in which git saw everything.
#[derive(Debug, Clone, Copy)]
pub(super) struct StampedLook<'a> {
    pub options: &'a SnapshotOptions,
    pub taken: &'a TakenSnapshot,
    /// The tick of the clock that file times are made of, microseconds.
    pub tick: i64,
    /// Files outside of the work tree that say what git ignores and converts.
    pub rules: &'a [PathBuf],
    /// Whether files of the index are not checked out.
    pub has_absent: bool,
}

impl WorkTreeStamp {
    /// The stamp of a tree in the folder of its work tree, if it says something about a look with these options.
    pub(super) fn read(dir: &Path, tree: &str, options: &SnapshotOptions) -> Option<Self> {
        WorkTreeStamp::read_any(dir).filter(|stamp| stamp.header.tree == tree && stamp.says_enough(options))
    }

    /// The stamp in the folder of a work tree.
    pub(super) fn read_any(dir: &Path) -> Option<Self> {
        let bytes = private::read_start(&dir.join(STAMP_FILE), 2 * SNAPSHOT_LISTING_BYTES_MAX as u64).ok()?;
        let end = bytes.iter().position(|&byte| byte == b'\n')?;
        let header: StampHeader = serde_json::from_slice(&bytes[..end]).ok()?;
        (header.schema == SCHEMA).then(|| WorkTreeStamp { header, entries: bytes[end + 1..].to_owned() })
    }

    /// Names it.
    pub(super) fn id(&self) -> &str {
        &self.header.id
    }

    /// Whether a folder that was left out had files.
    pub(super) fn has_excluded(&self) -> bool {
        self.header.has_excluded
    }

    /// Whether files of the index were not checked out.
    pub(super) fn has_absent(&self) -> bool {
        self.header.has_absent
    }

    /// Whether an attribute may name a filter: in a list of attributes of the work tree that is as the stamp says, of git's
    /// folder, or among `rules`. Of a file that is not checked out git takes what the index has.
    pub(super) fn may_have_filters(&self, git: &Git, rules: &[PathBuf]) -> bool {
        let inside = self.files_named(".gitattributes").into_iter().map(|path| git.root_path().join(path));
        let mut lists = inside.chain([git.git_dir_path().join("info/attributes")]).chain(rules.iter().cloned());
        self.header.has_absent || lists.any(|list| names_filter(&list))
    }

    /// The files of this name that git may look at, relative to the root.
    pub(super) fn files_named(&self, name: &str) -> Vec<PathBuf> {
        let paths = self.entries().filter(|entry| entry.kind != StampedKind::Folder as u8).map(|entry| entry.path);
        let paths = paths.map(|path| Path::new(OsStr::from_bytes(path)));
        paths.filter(|path| path.file_name() == Some(OsStr::new(name))).map(Path::to_owned).collect()
    }

    /// The snapshot of a work tree that is as the stamp says.
    pub(super) fn as_taken(&self, now: Timestamp) -> TakenSnapshot {
        let StampHeader { id, tree, changed_at, has_excluded, .. } = &self.header;
        TakenSnapshot {
            tree: tree.clone(),
            changed_at: *changed_at,
            blind: false,
            has_unseen: false,
            submodules: Vec::new(),
            left_out: 0,
            has_excluded: *has_excluded,
            at: now,
            stamp: Some(id.clone()),
        }
    }

    /// Whether a look with these options sees what the stamped one saw: what either would leave out matters only where
    /// there is something of it.
    fn says_enough(&self, options: &SnapshotOptions) -> bool {
        let StampHeader { file_bytes_max, excluded, has_excluded, largest, .. } = &self.header;
        let is_same = excluded.iter().map(Lossless::path).eq(options.excluded.iter().map(PathBuf::as_path));
        let is_left_out = |path: &[u8]| {
            let path = Path::new(OsStr::from_bytes(path));
            options.excluded.iter().any(|folder| path.starts_with(folder))
        };
        let files = || self.entries().filter(|entry| entry.kind == StampedKind::File as u8);
        (*file_bytes_max == options.file_bytes_max || *largest <= options.file_bytes_max.min(*file_bytes_max))
            && (is_same || !has_excluded && !files().any(|entry| is_left_out(entry.path)))
    }

    fn entries(&self) -> impl Iterator<Item = StampedEntry<'_>> {
        let mut rest = self.entries.as_slice();
        std::iter::from_fn(move || {
            let (head, after) = rest.split_at_checked(HEAD_BYTES)?;
            let end = after.iter().position(|&byte| byte == 0)?;
            rest = &after[end + 1..];
            let digest = u64::from_le_bytes(head[1..].try_into().ok()?);
            Some(StampedEntry { kind: head[0], digest, path: &after[..end] })
        })
    }

    /// The files that are not as they were; `None` where more than contents of files may have changed.
    pub(super) fn changes_inside(&self, root: &Path) -> Option<Vec<&[u8]>> {
        let entries: Vec<StampedEntry<'_>> = self.entries().collect();
        let (one, other) = entries.split_at(entries.len() / 2);
        thread::scope(|scope| {
            let beside = thread::Builder::new().spawn_scoped(scope, || changes_of(root, one));
            let changed = changes_of(root, other);
            let before = match beside {
                Ok(begun) => begun.join().unwrap_or_default(),
                Err(_) => changes_of(root, one),
            };
            Some([before?, changed?].concat())
        })
    }

    /// The listing that git would give of the work tree, where of these files alone the contents may have changed.
    pub(super) fn as_listing(&self, changed: &[&[u8]]) -> Vec<u8> {
        let files = self.entries().filter(|entry| entry.kind == StampedKind::File as u8);
        let known = files.flat_map(|entry| [b"H ", entry.path, b"\0"].concat());
        known.chain(changed.iter().flat_map(|path| [b"C ", *path, b"\0"].concat())).collect()
    }

    /// Whether the files outside of the work tree are those that it names, and as they were.
    pub(super) fn holds_outside(&self, rules: &[PathBuf]) -> bool {
        let now = rules.iter().map(|path| (Lossless::from(path), digest_behind(path)));
        self.header.rules.iter().cloned().eq(now)
    }

    /// Stamps a work tree after a look; the stamp's id. `None` where later changes might not show.
    pub(super) fn write(
        dir: &Path,
        git: &Git,
        look: StampedLook<'_>,
        seen: SeenFiles,
        before: Option<&WorkTreeStamp>,
    ) -> Result<Option<String>, GitError> {
        let (mut newest, began) = (seen.newest, look.taken.at);
        if !newest.is_before(began, look.tick) || !has_folder_times(git.root_path()) {
            return Ok(None);
        }
        look.rules.iter().flat_map(fs::metadata).for_each(|metadata| newest.add(&metadata));
        let rules = look.rules.iter().map(|path| (Lossless::from(path), digest_behind(path))).collect();
        let begin = |before| FolderWalk::begin(git.root_path(), &seen.files, before);
        // A new list of patterns says something else of folders that are as they were.
        let walk = begin(before).and_then(|walk| if walk.has_new_rules() { begin(None) } else { Some(walk) });
        let Some(mut walk) = walk else { return Ok(None) };
        if !walk.finish(git)? {
            return Ok(None);
        }
        if !newest.is_before(began, look.tick) || !walk.newest.is_before(began, look.tick) {
            return Ok(None);
        }
        let header = StampHeader {
            schema: SCHEMA,
            id: uuid::Uuid::now_v7().to_string(),
            tree: look.taken.tree.clone(),
            changed_at: look.taken.changed_at,
            has_excluded: look.taken.has_excluded,
            has_absent: look.has_absent,
            largest: seen.largest,
            file_bytes_max: look.options.file_bytes_max,
            excluded: look.options.excluded.iter().map(Lossless::from).collect(),
            rules,
        };
        let mut bytes = serde_json::to_vec(&header).unwrap_or_default();
        bytes.push(b'\n');
        let mut add = |kind: StampedKind, path: &[u8], digest: u64| {
            bytes.push(kind as u8);
            bytes.extend(digest.to_le_bytes());
            bytes.extend_from_slice(path);
            bytes.push(0);
        };
        // Folders first: where something changed, it is mostly one of these.
        walk.folders.iter().for_each(|(path, digest)| add(StampedKind::Folder, path, *digest));
        walk.rules.iter().for_each(|(path, digest)| add(StampedKind::Rule, path, *digest));
        seen.files.iter().for_each(|(path, digest)| add(StampedKind::File, path, *digest));
        write_atomic(&dir.join(STAMP_FILE), &bytes, 0o600, Durability::Cached)?;
        Ok(Some(header.id))
    }
}

/// The files among some entries that are not as they were; `None` where a folder or a list of patterns is not.
fn changes_of<'a>(root: &Path, entries: &[StampedEntry<'a>]) -> Option<Vec<&'a [u8]>> {
    let mut path = root.as_os_str().as_bytes().to_owned();
    path.push(b'/');
    let length = path.len();
    let mut changed = Vec::new();
    for entry in entries {
        path.truncate(length);
        path.extend_from_slice(entry.path);
        if digest_at(Path::new(OsStr::from_bytes(&path))) != entry.digest {
            let is_content = entry.kind == StampedKind::File as u8 && !is_list(entry.path);
            changed.push(is_content.then_some(entry.path)?);
        }
    }
    Some(changed)
}

/// Whether a file says what git ignores or converts in its folder.
fn is_list(path: &[u8]) -> bool {
    [&b".gitignore"[..], b".gitattributes"].contains(&name_of(path))
}

/// A walk through the folders in which git looks for new files.
struct FolderWalk<'a> {
    root: &'a Path,
    device: u64,
    /// The files of the tree.
    files: HashSet<&'a [u8]>,
    /// Folders of the last stamp that are as they were, with what was in them.
    known: HashMap<&'a [u8], u64>,
    known_rules: Vec<&'a [u8]>,
    folders: HashMap<Vec<u8>, u64>,
    rules: Vec<(Vec<u8>, u64)>,
    newest: NewestChange,
    /// Folders of which nothing is in the tree: git says whether it ignores them.
    doubtful: Vec<Vec<u8>>,
}

impl<'a> FolderWalk<'a> {
    /// Looks at the folders that have files of the tree. `None` where one can't be looked at.
    fn begin(root: &'a Path, files: &'a [(Vec<u8>, u64)], before: Option<&'a WorkTreeStamp>) -> Option<Self> {
        let metadata = fs::symlink_metadata(root).ok()?;
        let mut walk = FolderWalk {
            root,
            device: metadata.dev(),
            files: files.iter().map(|(path, _)| path.as_slice()).collect(),
            known: HashMap::new(),
            known_rules: Vec::new(),
            folders: HashMap::new(),
            rules: Vec::new(),
            newest: NewestChange::default(),
            doubtful: Vec::new(),
        };
        if let Some(before) = before.filter(|before| walk.has_same_rules(before, files)) {
            let of = |kind: StampedKind| before.entries().filter(move |entry| entry.kind == kind as u8);
            walk.known = of(StampedKind::Folder).map(|entry| (entry.path, entry.digest)).collect();
            walk.known_rules = of(StampedKind::Rule).map(|entry| entry.path).collect();
        }
        let mut wanted: HashSet<&[u8]> = HashSet::from([&b""[..]]);
        for (path, _) in files {
            let mut folder = folder_of(path);
            while wanted.insert(folder) && !folder.is_empty() {
                folder = folder_of(folder);
            }
        }
        // A folder that ignores all of itself is known by its list alone.
        let before = walk.known.keys().copied().chain(walk.known_rules.iter().copied().map(folder_of));
        wanted.extend(before.filter(|folder| {
            let metadata = fs::symlink_metadata(root.join(OsStr::from_bytes(folder)));
            metadata.is_ok_and(|metadata| metadata.is_dir())
        }));
        let wanted: Vec<Vec<u8>> = wanted.into_iter().map(<[u8]>::to_owned).collect();
        walk.visit_all(wanted)?;
        Some(walk)
    }

    /// Whether what says what is ignored is as it was at the last stamp.
    fn has_same_rules(&self, before: &WorkTreeStamp, files: &[(Vec<u8>, u64)]) -> bool {
        let is_rule = |path: &[u8]| name_of(path) == b".gitignore";
        let mut now: Vec<(&[u8], u64)> =
            files.iter().filter(|(path, _)| is_rule(path)).map(|(path, digest)| (path.as_slice(), *digest)).collect();
        let of_file = |entry: &StampedEntry<'_>| entry.kind == StampedKind::File as u8 && is_rule(entry.path);
        let mut then: Vec<(&[u8], u64)> =
            before.entries().filter(of_file).map(|entry| (entry.path, entry.digest)).collect();
        now.sort_unstable();
        then.sort_unstable();
        let is_same =
            |entry: StampedEntry<'_>| digest_at(&self.root.join(OsStr::from_bytes(entry.path))) == entry.digest;
        now == then && before.entries().filter(|entry| entry.kind == StampedKind::Rule as u8).all(is_same)
    }

    /// Whether it met a list of patterns, itself ignored, that the last stamp does not have.
    fn has_new_rules(&self) -> bool {
        let is_new = |(path, _): &(Vec<u8>, u64)| !self.known_rules.contains(&path.as_slice());
        !self.known.is_empty() && self.rules.iter().any(is_new)
    }

    fn visit_all(&mut self, folders: Vec<Vec<u8>>) -> Option<()> {
        let fresh: Vec<Vec<u8>> = folders.into_iter().filter(|folder| !self.folders.contains_key(folder)).collect();
        if self.folders.len() + fresh.len() > FOLDERS_MAX {
            return None;
        }
        // All of them first: what is in one is no news then.
        for folder in &fresh {
            let metadata = fs::symlink_metadata(self.root.join(OsStr::from_bytes(folder))).ok()?;
            if !metadata.is_dir() || metadata.dev() != self.device {
                return None;
            }
            self.newest.add(&metadata);
            self.folders.insert(folder.clone(), digest_of(&metadata));
        }
        fresh.iter().try_for_each(|folder| self.visit(folder))
    }

    /// Reads a folder, unless it is as it was: then everything in it is known, and what was ignored still is.
    fn visit(&mut self, folder: &[u8]) -> Option<()> {
        if self.known.get(folder) == self.folders.get(folder) {
            let own: Vec<&[u8]> = self.known_rules.iter().copied().filter(|rule| folder_of(rule) == folder).collect();
            return own.into_iter().try_for_each(|rule| self.add_rule(rule));
        }
        let mut below = Vec::new();
        for entry in fs::read_dir(self.root.join(OsStr::from_bytes(folder))).ok()? {
            let entry = entry.ok()?;
            let name = entry.file_name();
            let path = joined(folder, name.as_bytes());
            if name == ".git" {
                if !folder.is_empty() {
                    return None;
                }
            } else if entry.file_type().ok()?.is_dir() {
                below.push(path);
            } else if name == ".gitignore" || name == ".gitattributes" {
                if !self.files.contains(path.as_slice()) {
                    self.add_rule(&path)?;
                }
                if name == ".gitignore" && ignores_everything(&self.root.join(OsStr::from_bytes(&path))) {
                    // Caches and virtual environments say so of themselves. Nothing new is ever seen in them.
                    self.folders.remove(folder);
                    return Some(());
                }
            }
        }
        let unknown = below.into_iter().filter(|path| !self.folders.contains_key(path));
        self.doubtful.extend(unknown);
        Some(())
    }

    fn add_rule(&mut self, path: &[u8]) -> Option<()> {
        let metadata = fs::symlink_metadata(self.root.join(OsStr::from_bytes(path))).ok()?;
        if !metadata.is_file() {
            return None;
        }
        self.newest.add(&metadata);
        self.rules.push((path.to_owned(), digest_of(&metadata)));
        Some(())
    }

    /// Looks at the folders of which nothing is in the tree and that git does not ignore; whether all could be looked at.
    fn finish(&mut self, git: &Git) -> Result<bool, GitError> {
        for _ in 0..ROUNDS_MAX {
            if self.doubtful.is_empty() {
                return Ok(true);
            }
            let doubtful = std::mem::take(&mut self.doubtful);
            // With a slash behind it, git would ask the folder's own list.
            let input: Vec<u8> = doubtful.iter().flat_map(|path| [path.as_slice(), b"\0"].concat()).collect();
            let ignored = match git.run(GitView::Own, ["check-ignore", "-z", "--stdin"], Some(&input)) {
                Ok(listed) => listed,
                // None of them is.
                Err(GitError::Failed(why)) if why.ends_with(": exit status: 1") => Vec::new(),
                Err(trouble) => return Err(trouble),
            };
            let ignored: HashSet<&[u8]> = ignored.split(|&byte| byte == 0).collect();
            let seen: Vec<Vec<u8>> = doubtful.into_iter().filter(|path| !ignored.contains(path.as_slice())).collect();
            // Names of files are in the tree. One that is nowhere else may be a secret.
            let has_secret = |path: &Vec<u8>| redact_text(&String::from_utf8_lossy(path)).1 > 0;
            if seen.iter().any(has_secret) || self.visit_all(seen).is_none() {
                return Ok(false);
            }
        }
        Ok(self.doubtful.is_empty())
    }
}

fn folder_of(path: &[u8]) -> &[u8] {
    path.iter().rposition(|&byte| byte == b'/').map_or(b"", |slash| &path[..slash])
}

fn name_of(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or_default()
}

fn joined(folder: &[u8], name: &[u8]) -> Vec<u8> {
    if folder.is_empty() { name.to_owned() } else { [folder, b"/", name].concat() }
}

/// Whether a list of patterns says of everything beside it that it is ignored.
fn ignores_everything(list: &Path) -> bool {
    let text = fs::read(list).unwrap_or_default();
    let lines = text.split(|&byte| byte == b'\n');
    lines.filter(|line| !line.is_empty() && !line.starts_with(b"#")).eq([&b"*"[..]])
}

/// Whether a list of attributes, if it is there, has the word.
fn names_filter(list: &Path) -> bool {
    match fs::metadata(list) {
        Ok(metadata) if metadata.len() <= SNAPSHOT_INFO_BYTES_MAX => {
            fs::read(list).map_or(true, |text| memchr::memmem::find(&text, b"filter").is_some())
        }
        Ok(_) => true,
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

/// What a file is like, as far as its folder tells; 0 of one that is not there.
fn digest_at(path: &Path) -> u64 {
    fs::symlink_metadata(path).map_or(0, |metadata| digest_of(&metadata))
}

/// As [`digest_at`], of what a link leads to.
fn digest_behind(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| digest_of(&metadata))
}

fn digest_of(metadata: &Metadata) -> u64 {
    let size = if metadata.is_dir() { 0 } else { metadata.len() };
    let numbers = [metadata.dev(), metadata.ino(), size, u64::from(metadata.mode())];
    let times = [metadata.mtime(), metadata.mtime_nsec(), metadata.ctime(), metadata.ctime_nsec()];
    let mut bytes = [0; 64];
    for (place, number) in bytes.chunks_exact_mut(8).zip(numbers.into_iter().chain(times.map(i64::cast_unsigned))) {
        place.copy_from_slice(&number.to_le_bytes());
    }
    let digest = blake3::hash(&bytes);
    u64::from_le_bytes(std::array::from_fn(|at| digest.as_bytes()[at])).max(1)
}

#[cfg(test)]
mod tests;
