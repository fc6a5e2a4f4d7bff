//! Finds the differences between the work tree and verify-run's index, and adds them.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;

use super::SnapshotOptions;
use super::git::{Git, GitError, GitView, quoted_path};
use super::secret_files::is_secret;
use super::stamp::SeenFiles;
use super::taken::change_time;
use crate::base::clock::Timestamp;
use crate::base::file::{Durability, write_atomic};
use crate::base::limits::{SNAPSHOT_FILTERED_MAX, SNAPSHOT_NEW_BYTES_MAX};

/// What is different from our index, and what to do about it.
pub(super) struct WorkTreeScan<'a> {
    root: PathBuf,
    options: &'a SnapshotOptions,
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
    /// Something is out of git's sight, submodules excepted.
    pub blind: bool,
    /// Submodules that are checked out: what is changed in them doesn't show in the tree.
    pub submodules: Vec<PathBuf>,
    /// Some are marked as unchanged, whatever they are.
    pub is_overlooked: bool,
    /// Files that are not in the tree.
    pub left_out: u64,
    /// A folder that is left out has files.
    pub has_excluded: bool,
    /// Files of the index are not checked out.
    pub has_absent: bool,
    /// Folders above a path, and whether each is a real one.
    real_folders: HashMap<PathBuf, bool>,
}

impl<'a> WorkTreeScan<'a> {
    /// What git says of the work tree and our index.
    pub(super) fn list_files(git: &Git) -> Result<Vec<u8>, GitError> {
        let arguments =
            ["ls-files", "-z", "-v", "--cached", "--deleted", "--modified", "--others", "--exclude-standard"];
        git.run(GitView::Own, arguments, None)
    }

    /// Reads that.
    pub(super) fn read_listing(listing: &[u8], git: &Git, options: &'a SnapshotOptions) -> Result<Self, GitError> {
        let mut look = WorkTreeScan {
            root: git.root_path().to_owned(),
            options,
            kept: Vec::new(),
            changed: Vec::new(),
            gone: Vec::new(),
            shrunk: HashSet::new(),
            new_bytes: 0,
            blind: false,
            submodules: Vec::new(),
            is_overlooked: false,
            left_out: 0,
            has_excluded: false,
            has_absent: false,
            real_folders: HashMap::new(),
        };
        let mut seen = HashSet::new();
        for entry in listing.split(|&byte| byte == 0).filter(|entry| entry.len() > 2) {
            let (tag, path) = (entry[0], &entry[2..]);
            look.is_overlooked |= tag.is_ascii_lowercase();
            look.has_excluded |= look.is_excluded(path);
            match tag.to_ascii_uppercase() {
                // Not checked out: as the index has it.
                b'S' => look.has_absent = true,
                b'H' if look.is_excluded(path) => look.gone.push(path.to_owned()),
                b'H' => look.kept.push(path.to_owned()),
                // Changed, removed, in conflict, unknown; a path may be several of these.
                b'C' | b'R' | b'M' | b'?' if !look.is_excluded(path) && seen.insert(path) => {
                    look.consider_path(path, tag == b'?');
                }
                _ => {}
            }
        }
        if look.new_bytes > SNAPSHOT_NEW_BYTES_MAX {
            let mebibytes = look.new_bytes >> 20;
            let count = look.changed.len();
            return Err(GitError::Unfit(format!(
                "{count} files ({mebibytes} MiB) are new to git; add generated files to .gitignore"
            )));
        }
        Ok(look)
    }

    fn is_excluded(&self, path: &[u8]) -> bool {
        self.options.excluded.iter().any(|folder| Path::new(OsStr::from_bytes(path)).starts_with(folder))
    }

    /// Whether our index is the work tree.
    pub(super) fn is_unchanged(&self) -> bool {
        self.changed.is_empty() && self.gone.is_empty()
    }

    fn consider_path(&mut self, path: &[u8], is_new: bool) {
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
        if kind.is_symlink() || kind.is_dir() && self.root.join(relative).join(".git").exists() {
            // A link, or a submodule at another commit.
            self.changed.push(path.to_owned());
        } else if !kind.is_file() {
            // A folder where a file was, or something that has no content.
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

    /// Puts what is different into our index. `has_filters` is false where no attribute names a filter.
    pub(super) fn put_in(&mut self, git: &Git, format: &str, has_filters: bool) -> Result<(), GitError> {
        let mut filtered = if has_filters { self.filtered_paths(git)? } else { HashSet::new() };
        filtered.extend(self.secret_paths());
        let mut lines = Vec::new();
        let none = "0".repeat(if format == "sha256" { 64 } else { 40 });
        for path in &self.gone {
            lines.extend([format!("0 {none}\t").as_bytes(), path, b"\0"].concat());
        }
        self.stand_in(git, &filtered, &mut lines)?;
        if !lines.is_empty() {
            git.run(GitView::Own, ["update-index", "-z", "--add", "--replace", "--index-info"], Some(&lines))?;
        }
        let read: Vec<u8> = self
            .changed
            .iter()
            .filter(|path| !filtered.contains(*path))
            .flat_map(|path| [path.as_slice(), b"\0"].concat())
            .collect();
        if !read.is_empty() {
            let arguments = ["update-index", "-z", "--add", "--remove", "--replace", "--stdin"];
            git.run(GitView::Own, arguments, Some(&read))?;
        }
        self.kept.append(&mut self.changed);
        Ok(())
    }

    /// Those of the changed files whose content only a filter's program could tell (LFS, encryption).
    fn filtered_paths(&self, git: &Git) -> Result<HashSet<Vec<u8>>, GitError> {
        if self.changed.is_empty() {
            return Ok(HashSet::new());
        }
        let paths: Vec<u8> = self.changed.iter().flat_map(|path| [path.as_slice(), b"\0"].concat()).collect();
        let printed = git.run(GitView::Own, ["check-attr", "-z", "--stdin", "filter"], Some(&paths))?;
        let fields: Vec<&[u8]> = printed.split(|&byte| byte == 0).collect();
        let named = fields.chunks_exact(3).filter(|field| !matches!(field[2], b"unspecified" | b"unset" | b"set"));
        Ok(named.map(|field| field[0].to_owned()).collect())
    }

    /// Those of the changed files that hold secrets. What is committed or staged of them is in the user's objects; what
    /// was only saved goes to none.
    fn secret_paths(&self) -> Vec<Vec<u8>> {
        let path = |name: &Vec<u8>| Path::new(OsStr::from_bytes(name)).to_owned();
        let is_file = |name: &Vec<u8>| fs::symlink_metadata(self.root.join(path(name))).is_ok_and(|it| it.is_file());
        self.changed.iter().filter(|name| is_secret(&path(name)) && is_file(name)).cloned().collect()
    }

    /// For a filtered or secret file a text with the hash of what is in the work tree: a change of it is a change of
    /// the tree, and encrypted text is stored nowhere.
    fn stand_in(&mut self, git: &Git, filtered: &HashSet<Vec<u8>>, lines: &mut Vec<u8>) -> Result<(), GitError> {
        let folder = tempfile::Builder::new().prefix(".tmp-").tempdir_in(git.scratch_path())?;
        let mut names = Vec::new();
        let mut paths = Vec::new();
        let root = self.root.clone();
        let mode = |path: &[u8]| {
            let metadata = fs::metadata(root.join(OsStr::from_bytes(path)));
            if metadata.is_ok_and(|metadata| metadata.mode() & 0o100 != 0) { "100755 " } else { "100644 " }
        };
        for path in filtered {
            git.check_time()?;
            if paths.len() == SNAPSHOT_FILTERED_MAX {
                self.leave_out();
                continue;
            }
            let Ok(content) = fs::read(self.root.join(OsStr::from_bytes(path))) else { continue };
            let hash = blake3::hash(&content).to_hex();
            // A few digits show that the file changed, and do not allow guessing its content.
            let text = if is_secret(Path::new(OsStr::from_bytes(path))) {
                format!("{SECRET}{}\n", &hash[..SECRET_DIGITS])
            } else {
                format!("{FILTERED}{hash}\n")
            };
            let stand_in = folder.path().join(paths.len().to_string());
            write_atomic(&stand_in, text.as_bytes(), 0o600, Durability::Cached)?;
            names.extend([quoted_path(&stand_in).as_bytes(), b"\n"].concat());
            paths.push(path);
        }
        if paths.is_empty() {
            return Ok(());
        }
        let arguments = ["hash-object", "-w", "--no-filters", "--stdin-paths"];
        let printed = git.run(GitView::Own, arguments, Some(&names))?;
        let ids = printed.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
        for (id, path) in ids.zip(paths) {
            lines.extend([mode(path).as_bytes(), id, b"\t", path, b"\0"].concat());
        }
        Ok(())
    }

    /// When anything in the tree changed last, and what each of its files is like. Asked after everything was read: a file
    /// that changes later changes after the run, too.
    pub(super) fn last_change(&mut self, git: &Git) -> Result<(Timestamp, SeenFiles), GitError> {
        let gone: HashSet<&[u8]> = self.gone.iter().map(Vec::as_slice).collect();
        let (one, other) = self.kept.split_at(self.kept.len() / 2);
        let (before, rest) = thread::scope(|scope| {
            let beside = thread::Builder::new().spawn_scoped(scope, || SeenPart::look(git, one, &gone));
            let rest = SeenPart::look(git, other, &gone);
            let before =
                beside.ok().and_then(|begun| begun.join().ok()).unwrap_or_else(|| SeenPart::look(git, one, &gone));
            (before, rest)
        });
        let mut seen = before?;
        seen.append(rest?);
        let above = |folder: &Path| folder.ancestors().find_map(|it| fs::symlink_metadata(self.root.join(it)).ok());
        for metadata in self.shrunk.iter().filter_map(|folder| above(folder)) {
            seen.last = seen.last.max(change_time(&metadata));
        }
        self.submodules.append(&mut seen.submodules);
        Ok((Timestamp(seen.last), seen.files))
    }
}

/// What some of the files of the tree are like.
struct SeenPart {
    /// When one of them changed last, microseconds since the epoch.
    last: i64,
    files: SeenFiles,
    /// Those of them that are submodules which are checked out.
    submodules: Vec<PathBuf>,
}

impl SeenPart {
    /// Looks at files of the tree; `gone` are those that may be missing.
    fn look(git: &Git, names: &[Vec<u8>], gone: &HashSet<&[u8]>) -> Result<Self, GitError> {
        let mut part = SeenPart { last: i64::MIN, files: SeenFiles::default(), submodules: Vec::new() };
        for (number, name) in names.iter().enumerate() {
            if number % 1_024 == 0 {
                git.check_time()?;
            }
            let path = git.root_path().join(OsStr::from_bytes(name));
            match fs::symlink_metadata(&path) {
                Ok(metadata) if metadata.is_dir() => {
                    if path.join(".git").exists() {
                        part.submodules.push(PathBuf::from(OsStr::from_bytes(name)));
                    }
                }
                Ok(metadata) => {
                    part.last = part.last.max(change_time(&metadata));
                    part.files.add(name, &metadata);
                }
                Err(_) if gone.contains(name.as_slice()) => {}
                Err(_) => {
                    part.last = i64::MAX;
                    part.files.add_missing();
                }
            }
        }
        Ok(part)
    }

    /// Adds what others are like.
    fn append(&mut self, mut other: SeenPart) {
        self.last = self.last.max(other.last);
        self.files.append(other.files);
        self.submodules.append(&mut other.submodules);
    }
}

/// First words of the placeholder for a filtered file.
pub(super) const FILTERED: &str = "verify-run: the content of a filtered file, BLAKE3 ";

/// First words of the placeholder for a file with secrets, and the digits of its hash.
pub(super) const SECRET: &str = "verify-run: the content of a file with secrets, BLAKE3 ";
const SECRET_DIGITS: usize = 8;
