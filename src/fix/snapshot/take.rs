//! Taking a snapshot: what changed since our index was made goes into it, and the index becomes a tree.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::git::{Folders, Git, Trouble, View};
use super::place::{self, Place};
use super::{Options, Skipped};
use crate::base::clock::Timestamp;
use crate::base::file::{Durability, write_atomic};
use crate::base::limits::{SNAPSHOT_FILTERED_MAX, SNAPSHOT_NEW_BYTES_MAX};
use crate::config::{Places, Repository};

/// A file may change while git reads it; then everything is looked at again, so many times in all.
const TRIES: usize = 3;

/// A work tree as a git tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// The tree's id, hex.
    pub tree: String,
    /// When a file of the tree changed last, by its content or its attributes; for a removed one, its folder.
    pub changed_at: Timestamp,
    /// Something in the work tree is out of git's sight: a populated submodule, another repository, a file that can't
    /// be read, a known one that is too large.
    pub blind: bool,
    /// Files that are not in the tree.
    pub left_out: u64,
    /// When the snapshot was begun.
    pub at: Timestamp,
}

impl Taken {
    /// Whether a run that was started then saw this tree, so far as times can tell: a file system's clock may be behind
    /// by one tick of the system's.
    pub fn is_exact_for(&self, started_at: Timestamp) -> bool {
        !self.blind && self.changed_at.0.saturating_add(tick_micros()) < started_at.0
    }
}

/// One tick of the clock that file times are made of, microseconds.
#[cfg(target_os = "linux")]
fn tick_micros() -> i64 {
    const USUAL: i64 = 4_000;
    let tick = nix::time::clock_getres(nix::time::ClockId::CLOCK_REALTIME_COARSE);
    tick.map_or(USUAL, |tick| tick.tv_nsec() / 1_000)
}

/// One tick of the clock that file times are made of, microseconds.
#[cfg(not(target_os = "linux"))]
fn tick_micros() -> i64 {
    0
}

/// The work tree of `places` as it is now. The caller holds the recorder's lock.
///
/// # Errors
/// When there is none, with the reason; one that took too long is not tried again for a while.
pub fn take(places: &Places, options: &Options) -> Result<Taken, Skipped> {
    let now = Timestamp::now();
    let until = Instant::now() + options.time_max;
    let repository = repository(places)?;
    let mut place = Place::open(places).map_err(|error| Skipped::because(format!("cannot write: {error}")))?;
    if let Some(skipped) = place.pauses(now) {
        return Err(skipped);
    }
    let mut git = Git::new(folders(places, repository, &place), until)?;
    let taken = take_with(&mut git, &mut place, repository, options, now);
    match taken {
        Ok(taken) => {
            place.succeeded(&taken.tree, now);
            Ok(taken)
        }
        Err(trouble) => {
            let why = Skipped::because(match &trouble {
                Trouble::Late => format!("it took longer than {} s", options.time_max.as_secs_f64()),
                other => other.reason(),
            });
            place.failed(&why, !matches!(trouble, Trouble::Failed(_)), now);
            Err(why)
        }
    }
}

/// The tree of the commit that is checked out; `None` before the first one.
///
/// # Errors
/// When git can't be asked.
pub fn head_tree(places: &Places, commit: Option<&str>, time_max: Duration) -> Result<Option<String>, Skipped> {
    let repository = repository(places)?;
    let place = Place::open(places).map_err(|error| Skipped::because(format!("cannot write: {error}")))?;
    let git = Git::new(folders(places, repository, &place), Instant::now() + time_max)?;
    // From a file that anybody can have written: only a hash is a commit here.
    let commit = commit.filter(|commit| commit.bytes().all(|byte| byte.is_ascii_hexdigit())).unwrap_or("HEAD");
    let tree = format!("{commit}^{{tree}}");
    match git.run(View::User, ["rev-parse", "--quiet", "--verify", &tree], None) {
        Ok(answer) => Ok(Some(String::from_utf8_lossy(&answer).trim().to_owned())),
        Err(Trouble::Failed(why)) if why.ends_with(": exit status: 1") => Ok(None),
        Err(trouble) => Err(Skipped::because(trouble.reason())),
    }
}

pub(super) fn repository(places: &Places) -> Result<&Repository, Skipped> {
    match &places.repository {
        Some(repository) if repository.worktree.is_some() => Ok(repository),
        Some(_) => Err(Skipped::because("a bare repository has no work tree")),
        None => Err(Skipped::because("not in a git repository")),
    }
}

pub(super) fn folders(places: &Places, repository: &Repository, place: &Place) -> Folders {
    Folders {
        root: places.root.clone(),
        git_dir: place.git_dir(),
        objects: place::objects(&places.state),
        user_git_dir: repository.git_dir.clone(),
        user_objects: repository.common_dir.join("objects"),
        scratch: place.scratch().to_owned(),
    }
}

fn take_with(
    git: &mut Git,
    place: &mut Place,
    repository: &Repository,
    options: &Options,
    now: Timestamp,
) -> Result<Taken, Trouble> {
    let format = git.carry_settings()?;
    place.prepare(repository, &format)?;
    let mut tries = 0;
    loop {
        tries += 1;
        let is_new = place.seed(repository)?;
        if is_new {
            // Files that somebody told git to take as unchanged are looked at, too. It fails when something differs.
            match git.run(View::Both, ["update-index", "-q", "--really-refresh"], None) {
                Err(Trouble::Failed(why)) if !why.ends_with(": exit status: 1") => return Err(Trouble::Failed(why)),
                Err(trouble @ (Trouble::Late | Trouble::TooMuch)) => return Err(trouble),
                _ => {}
            }
        }
        let mut look = Look::at(git, options)?;
        let known = place.standing.tree.clone().filter(|_| !is_new && look.is_unchanged());
        let tree = match known {
            Some(tree) => tree,
            None => match look.put_in(git, format.as_str()).and_then(|()| write_tree(git)) {
                Err(Trouble::Failed(_)) if tries < TRIES => continue,
                result => result?,
            },
        };
        let changed_at = look.last_change(git)?;
        return Ok(Taken { tree, changed_at, blind: look.blind, left_out: look.left_out, at: now });
    }
}

fn write_tree(git: &Git) -> Result<String, Trouble> {
    // Without the user's objects: whatever the tree is made of is then written to ours, and nothing of theirs is
    // touched, not even the time of a pack that has the same tree.
    let printed = git.run(View::Own, ["write-tree", "--missing-ok"], None)?;
    Ok(String::from_utf8_lossy(&printed).trim().to_owned())
}

/// What is different from our index, and what to do about it.
struct Look<'a> {
    root: PathBuf,
    options: &'a Options,
    /// In the tree, as far as is known.
    kept: Vec<Vec<u8>>,
    /// To be read again or for the first time.
    changed: Vec<Vec<u8>>,
    /// To be taken out of the index.
    gone: Vec<Vec<u8>>,
    /// Folders of files that were removed from the disk.
    shrunk: HashSet<PathBuf>,
    /// Contents to be read, bytes.
    new_bytes: u64,
    blind: bool,
    left_out: u64,
    /// Folders above a path, and whether each is a real one.
    real_folders: HashMap<PathBuf, bool>,
}

impl<'a> Look<'a> {
    /// Compares the work tree with our index.
    fn at(git: &Git, options: &'a Options) -> Result<Self, Trouble> {
        let arguments =
            ["ls-files", "-z", "-t", "--cached", "--deleted", "--modified", "--others", "--exclude-standard"];
        let listing = git.run(View::Own, arguments, None)?;
        let mut look = Look {
            root: git.root().to_owned(),
            options,
            kept: Vec::new(),
            changed: Vec::new(),
            gone: Vec::new(),
            shrunk: HashSet::new(),
            new_bytes: 0,
            blind: false,
            left_out: 0,
            real_folders: HashMap::new(),
        };
        let mut seen = HashSet::new();
        for entry in listing.split(|&byte| byte == 0).filter(|entry| entry.len() > 2) {
            let (tag, path) = (entry[0], &entry[2..]);
            match tag {
                // Not checked out: as the index has it.
                b'S' => {}
                b'H' if look.is_excluded(path) => look.gone.push(path.to_owned()),
                b'H' => look.kept.push(path.to_owned()),
                // Changed, removed, in conflict, unknown; a path may be several of these.
                b'C' | b'R' | b'M' | b'?' if !look.is_excluded(path) && seen.insert(path) => {
                    look.consider(path, tag == b'?');
                }
                _ => {}
            }
        }
        if look.new_bytes > SNAPSHOT_NEW_BYTES_MAX {
            let mebibytes = look.new_bytes >> 20;
            let count = look.changed.len();
            return Err(Trouble::Unfit(format!(
                "{count} files with {mebibytes} MiB are new to git; have it ignore what is made by tools"
            )));
        }
        Ok(look)
    }

    fn is_excluded(&self, path: &[u8]) -> bool {
        self.options.excluded.iter().any(|folder| Path::new(OsStr::from_bytes(path)).starts_with(folder))
    }

    fn is_unchanged(&self) -> bool {
        self.changed.is_empty() && self.gone.is_empty()
    }

    fn consider(&mut self, path: &[u8], is_new: bool) {
        // An unknown repository is listed as a folder.
        if path.ends_with(b"/") {
            self.leave_out();
            return;
        }
        let relative = Path::new(OsStr::from_bytes(path));
        let metadata = fs::symlink_metadata(self.root.join(relative));
        let Some(metadata) = metadata.ok().filter(|_| self.is_below_folders(relative)) else {
            if let Some(folder) = relative.parent() {
                self.shrunk.insert(folder.to_owned());
            }
            self.gone.push(path.to_owned());
            return;
        };
        let kind = metadata.file_type();
        if kind.is_dir() || kind.is_symlink() {
            // A submodule at another commit, or a folder where a file was.
            self.changed.push(path.to_owned());
        } else if !kind.is_file() {
            self.gone.push(path.to_owned());
        } else if metadata.len() > self.options.file_bytes_max {
            // A known one stays as it was.
            self.left_out += 1;
            self.blind |= !is_new;
        } else if !self.is_readable(relative) {
            self.leave_out();
        } else {
            self.new_bytes += metadata.len();
            self.changed.push(path.to_owned());
        }
    }

    fn leave_out(&mut self) {
        self.left_out += 1;
        self.blind = true;
    }

    fn is_readable(&self, path: &Path) -> bool {
        use std::os::unix::fs::OpenOptionsExt;
        let flags = nix::libc::O_NONBLOCK | nix::libc::O_NOCTTY;
        fs::OpenOptions::new().read(true).custom_flags(flags).open(self.root.join(path)).is_ok()
    }

    /// Whether no folder above the path is a link: git takes nothing from behind one.
    fn is_below_folders(&mut self, path: &Path) -> bool {
        let folders = path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
        let root = &self.root;
        folders.into_iter().all(|folder| match self.real_folders.get(folder) {
            Some(&is_real) => is_real,
            None => {
                let is_real = fs::symlink_metadata(root.join(folder)).is_ok_and(|it| it.is_dir());
                self.real_folders.insert(folder.to_owned(), is_real);
                is_real
            }
        })
    }

    /// Puts what is different into our index.
    fn put_in(&mut self, git: &Git, format: &str) -> Result<(), Trouble> {
        let filtered = self.filtered(git)?;
        let mut lines = Vec::new();
        let none = "0".repeat(if format == "sha256" { 64 } else { 40 });
        for path in &self.gone {
            lines.extend([format!("0 {none}\t").as_bytes(), path, b"\0"].concat());
        }
        self.stand_in(git, &filtered, &mut lines)?;
        if !lines.is_empty() {
            git.run(View::Own, ["update-index", "-z", "--add", "--replace", "--index-info"], Some(&lines))?;
        }
        let read: Vec<u8> = self
            .changed
            .iter()
            .filter(|path| !filtered.contains(*path))
            .flat_map(|path| [path.as_slice(), b"\0"].concat())
            .collect();
        if !read.is_empty() {
            let arguments = ["update-index", "-z", "--add", "--remove", "--replace", "--stdin"];
            git.run(View::Own, arguments, Some(&read))?;
        }
        self.kept.append(&mut self.changed);
        Ok(())
    }

    /// Those of the changed files whose content only a filter's program could tell (LFS, encryption).
    fn filtered(&self, git: &Git) -> Result<HashSet<Vec<u8>>, Trouble> {
        if self.changed.is_empty() {
            return Ok(HashSet::new());
        }
        let paths: Vec<u8> = self.changed.iter().flat_map(|path| [path.as_slice(), b"\0"].concat()).collect();
        let printed = git.run(View::Own, ["check-attr", "-z", "--stdin", "filter"], Some(&paths))?;
        let fields: Vec<&[u8]> = printed.split(|&byte| byte == 0).collect();
        let named = fields.chunks_exact(3).filter(|field| !matches!(field[2], b"unspecified" | b"unset" | b"set"));
        Ok(named.map(|field| field[0].to_owned()).collect())
    }

    /// For a filtered file a text with the hash of what is in the work tree: a change of it is a change of the tree, and
    /// what somebody encrypts is stored nowhere.
    fn stand_in(&mut self, git: &Git, filtered: &HashSet<Vec<u8>>, lines: &mut Vec<u8>) -> Result<(), Trouble> {
        let folder = tempfile::Builder::new().prefix(".tmp-").tempdir_in(git.scratch())?;
        let mut names = String::new();
        let mut paths = Vec::new();
        for path in filtered {
            git.check_time()?;
            if paths.len() == SNAPSHOT_FILTERED_MAX {
                self.leave_out();
                continue;
            }
            let Ok(content) = fs::read(self.root.join(OsStr::from_bytes(path))) else { continue };
            let text = format!("{FILTERED}{}\n", blake3::hash(&content).to_hex());
            let name = paths.len().to_string();
            write_atomic(&folder.path().join(&name), text.as_bytes(), 0o600, Durability::Cached)?;
            names.push_str(&name);
            names.push('\n');
            paths.push(path);
        }
        if paths.is_empty() {
            return Ok(());
        }
        let arguments = ["hash-object", "-w", "--no-filters", "--stdin-paths"];
        let printed = git.run_in(View::Own, folder.path(), arguments, Some(names.as_bytes()))?;
        let ids = printed.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
        for (id, path) in ids.zip(paths) {
            lines.extend([b"100644 ", id, b"\t", path, b"\0"].concat());
        }
        Ok(())
    }

    /// When anything in the tree changed last. Asked after everything was read: a file that changes later changes
    /// after the run, too.
    fn last_change(&mut self, git: &Git) -> Result<Timestamp, Trouble> {
        let mut last = i64::MIN;
        let gone: HashSet<&[u8]> = self.gone.iter().map(Vec::as_slice).collect();
        for (number, name) in self.kept.iter().enumerate() {
            if number % 1_024 == 0 {
                git.check_time()?;
            }
            let path = self.root.join(OsStr::from_bytes(name));
            match fs::symlink_metadata(&path) {
                // A submodule: what is changed in it doesn't show in the tree.
                Ok(metadata) if metadata.is_dir() => self.blind |= path.join(".git").exists(),
                Ok(metadata) => last = last.max(changed(&metadata)),
                Err(_) if gone.contains(name.as_slice()) => {}
                Err(_) => last = i64::MAX,
            }
        }
        let above = |folder: &Path| folder.ancestors().find_map(|it| fs::symlink_metadata(self.root.join(it)).ok());
        for metadata in self.shrunk.iter().filter_map(|folder| above(folder)) {
            last = last.max(changed(&metadata));
        }
        Ok(Timestamp(last))
    }
}

/// How a stand-in for a filtered file begins.
pub(super) const FILTERED: &str = "verify-run: the content of a filtered file, BLAKE3 ";

/// When a file changed last in any way, microseconds since the epoch.
fn changed(metadata: &Metadata) -> i64 {
    let micros = |seconds: i64, nanos: i64| seconds.saturating_mul(1_000_000).saturating_add(nanos / 1_000);
    micros(metadata.mtime(), metadata.mtime_nsec()).max(micros(metadata.ctime(), metadata.ctime_nsec()))
}
