//! What is kept per work tree: verify-run's git folder with the index, and the result of the last snapshot.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::prune::start_period;
use super::settings::GitSettings;
use super::stamp::WorkTreeStamp;
use super::{SkippedSnapshot, SnapshotOptions};
use crate::base::clock::Timestamp;
use crate::base::file::{self, Durability, read_start};
use crate::base::limits::{SNAPSHOT_INFO_BYTES_MAX, SNAPSHOT_PAUSE_SECONDS_MAX, SNAPSHOT_PAUSE_SECONDS_MIN};
use crate::base::lossless::Lossless;
use crate::base::private;
use crate::config::{Places, Repository, StateDir};

/// The file with [`ObjectFolderStatus`], in the folder of a work tree.
const STATUS_FILE: &str = "status.json";
/// What the file was called before it had its present name.
const STATUS_FILE_BEFORE: &str = "standing.json";

/// State of the snapshots of one work tree.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ObjectFolderStatus {
    /// The work tree.
    pub root: Lossless,
    /// The last tree.
    #[serde(default)]
    pub tree: Option<String>,
    /// Time of the newest snapshot.
    #[serde(default)]
    pub taken_at: Option<Timestamp>,
    /// Why the last try gave none; absent after one that did.
    #[serde(default)]
    pub skipped: Option<String>,
    /// Tries in a row that gave none.
    #[serde(default)]
    pub failed: u32,
    /// None is tried before.
    #[serde(default)]
    pub not_before: Option<Timestamp>,
    /// The user's index that ours is made from; `None` when there was none.
    #[serde(default)]
    pub(super) seed: Option<FileStamp>,
    /// The commit's tree whose folders are all in our objects.
    #[serde(default)]
    pub(super) copied: Option<String>,
    /// Identity of the folder with our objects: in another one, the contents that our index knows are missing. Not its
    /// inode: a folder that is removed and made again often has the same.
    #[serde(default)]
    pub(super) objects_id: String,
}

/// Tells whether a file is still the one it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct FileStamp {
    /// Number of the device.
    device: u64,
    /// Number of the inode.
    inode: u64,
    /// Size in bytes.
    bytes: u64,
    /// Time of the last write, seconds and nanoseconds.
    modified: (i64, i64),
    /// Time of the last change of the inode, seconds and nanoseconds.
    changed: (i64, i64),
}

impl FileStamp {
    fn from_metadata(metadata: &fs::Metadata) -> Self {
        FileStamp {
            device: metadata.dev(),
            inode: metadata.ino(),
            bytes: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

/// Our folder for one work tree.
#[derive(Debug)]
pub(super) struct ObjectFolder {
    dir: PathBuf,
    pub status: ObjectFolderStatus,
}

/// How snapshots stand, of every work tree that shares the state folder, by path.
pub(crate) fn folder_statuses(state: &StateDir) -> Vec<ObjectFolderStatus> {
    let entries = fs::read_dir(state.snapshots()).into_iter().flatten().flatten();
    let mut statuses: Vec<_> = entries.filter_map(|entry| read_status(&entry.path())).collect();
    statuses.sort_by(|a, b| a.root.0.cmp(&b.root.0));
    statuses
}

pub(super) fn read_status(dir: &Path) -> Option<ObjectFolderStatus> {
    let read = |name: &str| private::read_start(&dir.join(name), SNAPSHOT_INFO_BYTES_MAX);
    serde_json::from_slice(&read(STATUS_FILE).or_else(|_| read(STATUS_FILE_BEFORE)).ok()?).ok()
}

/// Forgets the indexes of work trees whose last tree is not one of those.
pub(super) fn forget_unused(state: &StateDir, is_used: impl Fn(&str) -> bool) {
    for entry in fs::read_dir(state.snapshots()).into_iter().flatten().flatten() {
        let Some(status) = read_status(&entry.path()) else { continue };
        if status.tree.as_deref().is_some_and(|tree| !is_used(tree)) {
            let mut place = ObjectFolder { dir: entry.path(), status };
            place.start_anew();
            place.status.copied = None;
            place.save_status();
        }
    }
}

impl ObjectFolder {
    /// The folder of this work tree, for who reads its objects: it is made if needed, and stays as it is. Another thread or
    /// process may be taking the first snapshot.
    ///
    /// # Errors
    /// The operating system's.
    pub(super) fn open_for_reading(places: &Places) -> io::Result<Self> {
        let key = blake3::hash(places.root.as_os_str().as_bytes()).to_hex()[..16].to_owned();
        let dir = places.state.snapshots().join(key);
        for dir in [&places.state.objects(), &dir.join("git/refs"), &dir.join("git/info")] {
            file::create_private_dir(dir)?;
        }
        let root = Lossless::from(&places.root);
        let status = read_status(&dir).filter(|status| status.root == root);
        let status = status.unwrap_or_else(|| ObjectFolderStatus { root, ..ObjectFolderStatus::default() });
        Ok(ObjectFolder { dir, status })
    }

    /// The same for who takes a snapshot and holds the recorder's lock: an index of objects that are gone is forgotten.
    ///
    /// # Errors
    /// The operating system's.
    pub(super) fn open_for_snapshot(places: &Places) -> io::Result<Self> {
        let mut place = ObjectFolder::open_for_reading(places)?;
        start_period(&places.state)?;
        let id = folder_identity(&places.state.objects())?;
        if place.status.objects_id != id {
            place.start_anew();
            (place.status.objects_id, place.status.copied) = (id, None);
        }
        Ok(place)
    }

    /// Our git folder.
    pub(super) fn git_dir(&self) -> PathBuf {
        self.dir.join("git")
    }

    /// A folder for files that are needed for a moment.
    pub(super) fn scratch_path(&self) -> &Path {
        &self.dir
    }

    /// Makes our git folder one with these settings; whether something of that has changed.
    ///
    /// # Errors
    /// The operating system's.
    pub(super) fn prepare_folder(&mut self, repository: &Repository, settings: &GitSettings) -> io::Result<bool> {
        let git_dir = self.git_dir();
        // Whoever held it is dead: there is one recorder.
        let _ = fs::remove_file(git_dir.join("index.lock"));
        // By these git would read settings that are not ours.
        for foreign in ["commondir", "config.worktree"] {
            let _ = fs::remove_file(git_dir.join(foreign));
        }
        for entry in [&self.dir, &git_dir].into_iter().flat_map(fs::read_dir).flatten().flatten() {
            if entry.file_name().as_bytes().starts_with(b".tmp-") {
                let _ = fs::remove_file(entry.path()).or_else(|_| fs::remove_dir_all(entry.path()));
            }
        }
        let is_other = write_if_changed(&git_dir.join("config"), &settings.config_file())?;
        if is_other {
            self.start_anew();
        }
        let mut is_changed = write_if_changed(&git_dir.join("HEAD"), b"ref: refs/heads/none\n")? || is_other;
        for name in ["info/exclude", "info/attributes"] {
            let theirs = read_start(&repository.common_dir.join(name), SNAPSHOT_INFO_BYTES_MAX);
            is_changed |= write_if_changed(&git_dir.join(name), &theirs.unwrap_or_default())?;
        }
        Ok(is_changed)
    }

    /// What the stamp of the last tree says, where it says something about a look with these options.
    pub(super) fn stamp(&self, options: &SnapshotOptions) -> Option<WorkTreeStamp> {
        WorkTreeStamp::read(&self.dir, self.status.tree.as_deref()?, options)
    }

    /// The stamp of this id, if it is still the last one.
    pub(super) fn stamp_of(&self, id: &str) -> Option<WorkTreeStamp> {
        WorkTreeStamp::read_any(&self.dir).filter(|stamp| stamp.id() == id)
    }

    /// Whether the user's index is another one than last time.
    ///
    /// # Errors
    /// The operating system's.
    pub(super) fn is_index_new(&self, repository: &Repository) -> io::Result<bool> {
        let stamp = open_index(repository)?.map(|(_, stamp)| stamp);
        Ok(!self.is_seeded_from(stamp.as_ref()))
    }

    /// Without the user's index, verify-run's is built once and then kept.
    fn is_seeded_from(&self, stamp: Option<&FileStamp>) -> bool {
        stamp == self.status.seed.as_ref() && (stamp.is_none() || self.git_dir().join("index").exists())
    }

    /// Takes over the user's index if it is another one than last time; whether it was.
    ///
    /// # Errors
    /// The operating system's.
    pub(super) fn seed_index(&mut self, repository: &Repository) -> io::Result<bool> {
        let (theirs, stamp) = open_index(repository)?.unzip();
        if self.is_seeded_from(stamp.as_ref()) {
            return Ok(false);
        }
        let ours = self.git_dir().join("index");
        self.start_anew();
        if let Some(mut theirs) = theirs {
            let mut copy = tempfile::Builder::new().prefix(".tmp-").tempfile_in(self.git_dir())?;
            io::copy(&mut theirs, &mut copy)?;
            // A file that changed just before the index was written is recognised by having the index's time:
            // verify-run's must not look younger than it is.
            copy.as_file().set_modified(theirs.metadata()?.modified()?)?;
            copy.persist(ours).map_err(|error| error.error)?;
            for entry in fs::read_dir(&repository.git_dir)?.flatten() {
                if entry.file_name().as_bytes().starts_with(b"sharedindex.") {
                    fs::copy(entry.path(), self.git_dir().join(entry.file_name()))?;
                }
            }
        }
        self.status.seed = stamp;
        Ok(true)
    }

    /// Forgets the index: the next snapshot takes over the user's again.
    pub(super) fn start_anew(&mut self) {
        self.status.seed = None;
        self.status.tree = None;
        let git_dir = self.git_dir();
        let _ = fs::remove_file(git_dir.join("index"));
        for entry in fs::read_dir(&git_dir).into_iter().flatten().flatten() {
            if entry.file_name().as_bytes().starts_with(b"sharedindex.") {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// Why none is to be tried now.
    pub(super) fn pause_reason(&self, now: Timestamp) -> Option<SkippedSnapshot> {
        let status = &self.status;
        // A clock that was set back must not make it wait forever.
        let longest = i64::try_from(SNAPSHOT_PAUSE_SECONDS_MAX).unwrap_or(0) * 1_000_000;
        let not_before = status.not_before.filter(|at| *at > now && at.0 - now.0 <= longest)?;
        let why = status.skipped.as_deref().unwrap_or("the last attempt failed");
        Some(SkippedSnapshot::with_reason(format!("{why}; next attempt after {}", not_before.rfc3339())))
    }

    /// Remembers a tree.
    pub(super) fn note_success(&mut self, tree: &str, now: Timestamp) {
        let status = &mut self.status;
        (status.tree, status.taken_at) = (Some(tree.to_owned()), Some(now));
        (status.skipped, status.failed, status.not_before) = (None, 0, None);
        self.save_status();
    }

    /// Remembers why there was none, and when to try again: the second time at once, then later and later.
    pub(super) fn note_failure(&mut self, why: &SkippedSnapshot, now: Timestamp) {
        let status = &mut self.status;
        status.tree = None;
        status.skipped = Some(why.reason.clone());
        status.failed = status.failed.saturating_add(1);
        let seconds = status.failed.checked_sub(2).map_or(0, |doublings| {
            SNAPSHOT_PAUSE_SECONDS_MIN.saturating_mul(1 << doublings.min(20)).min(SNAPSHOT_PAUSE_SECONDS_MAX)
        });
        let pause = i64::try_from(seconds).unwrap_or(0) * 1_000_000;
        status.not_before = Some(Timestamp(now.0.saturating_add(pause))).filter(|_| seconds > 0);
        self.save_status();
    }

    fn save_status(&self) {
        let json = serde_json::to_vec(&self.status).unwrap_or_default();
        // What can't be written is found out again next time.
        let _ = file::write_atomic(&self.dir.join(STATUS_FILE), &json, 0o600, Durability::Cached);
    }
}

/// The user's index, and which one it is; `None` where there is none.
fn open_index(repository: &Repository) -> io::Result<Option<(File, FileStamp)>> {
    match File::open(repository.git_dir.join("index")) {
        Ok(file) => {
            let stamp = FileStamp::from_metadata(&file.metadata()?);
            Ok(Some((file, stamp)))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// What tells this folder from one that was made in its place: a random word in a file, given once.
fn folder_identity(objects: &Path) -> io::Result<String> {
    let path = objects.join("identity");
    if let Ok(id) =
        private::read_start(&path, SNAPSHOT_INFO_BYTES_MAX).map(|id| String::from_utf8_lossy(&id).into_owned())
        && !id.is_empty()
    {
        return Ok(id);
    }
    let id = uuid::Uuid::now_v7().to_string();
    file::write_atomic(&path, id.as_bytes(), 0o600, Durability::Cached)?;
    Ok(id)
}

/// Makes the file have this content; whether it had another one, or was not there. The file is ours: no reader sees half
/// of it.
fn write_if_changed(path: &Path, content: &[u8]) -> io::Result<bool> {
    let mut found = Vec::new();
    let read = private::reader(path).and_then(|mut file| file.read_to_end(&mut found));
    if read.is_ok() && found == content {
        return Ok(false);
    }
    file::write_atomic(path, content, 0o600, Durability::Cached)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Environment;

    #[test]
    fn who_reads_leaves_a_snapshot_alone_that_is_being_taken() {
        let dir = tempfile::tempdir().expect("a folder");
        let root = dir.path().canonicalize().expect("a path");
        fs::create_dir_all(root.join(".git/objects")).expect("a folder");
        fs::create_dir_all(root.join(".git/refs")).expect("a folder");
        fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").expect("a file");
        let places = Places::find(&root, &Environment::default());
        // Its status is written at its end.
        let taking = ObjectFolder::open_for_snapshot(&places).expect("opens");
        let index = taking.git_dir().join("index");
        fs::write(&index, "DIRC").expect("an index");
        let reading = ObjectFolder::open_for_reading(&places).expect("opens");
        assert_eq!(reading.git_dir(), taking.git_dir());
        assert!(index.exists());
        // One that ended without a status left an index that belongs to no known objects.
        let next = ObjectFolder::open_for_snapshot(&places).expect("opens");
        assert_eq!(next.status.objects_id, taking.status.objects_id);
        assert!(!index.exists());
    }
}
