//! A tree as files in a folder of its own, with a small repository of its own: what a run elsewhere than in the work tree
//! needs.
//!
//! Contents are exact. What no object has (files with secrets, files that a filter's program converts) is taken from
//! the work tree if it has the very content that the tree names, and left out else. A file that is the same in the work
//! tree keeps its time, because build tools compare times with those of what they built.

use std::ffi::OsStr;
use std::fs::{self, File, FileTimes, OpenOptions};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};
use std::thread;
use std::time::Instant;

use sha2::{Digest, Sha256};

use super::git::{Git, GitError, GitFolders, GitView};
use super::look::{FILTERED, SECRET};
use super::place::ObjectFolder;
use super::prune::is_hash;
use super::take::{require_repository, snapshot_folders};
use super::{SkippedSnapshot, SnapshotOptions};
use crate::base::file::{Durability, create_private_dir, read_start, write_atomic};
use crate::base::limits::GIT_FILE_BYTES_MAX;
use crate::base::threads::joined;
use crate::config::{Places, Repository};

/// A longer file is no placeholder and no pointer of LFS, bytes.
const PLACEHOLDER_BYTES_MAX: u64 = 512;
/// The first line of a pointer of LFS.
const LFS_POINTER: &str = "version https://git-lfs.github.com/spec/v1\n";
/// What is read of two files at once to compare them, bytes.
const COMPARED_BYTES: usize = 64 << 10;
/// Configuration of the small repository. Times and inodes of its files are those of another file system's view.
const CONFIG: &str =
    "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tcheckStat = minimal\n\ttrustctime = false\n";

/// Why a list is refused that can't be read.
const UNKNOWN_FORM: &str = "git listed the tree in an unknown form";

/// What a checkout may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CheckoutLimits {
    /// Files and links.
    pub files: usize,
    /// Their contents, bytes.
    pub bytes: u64,
}

impl CheckoutLimits {
    /// The largest tree that is checked out.
    pub(crate) const LARGEST: CheckoutLimits = CheckoutLimits { files: 300_000, bytes: 4 << 30 };
}

/// A tree as files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CheckedOutTree {
    /// Files and links of the tree.
    pub files: usize,
    /// Files whose content no object has and the work tree neither: they are not there.
    pub missing: Vec<PathBuf>,
}

/// What git lists of a tree.
#[derive(Debug, PartialEq, Eq)]
struct ListedTree<'a> {
    /// Files, links and submodules.
    entries: Vec<TreeEntry<'a>>,
    /// The ids of its folders, which are trees; of equal folders the same one again.
    folders: Vec<&'a str>,
}

/// An entry of a tree.
#[derive(Debug, PartialEq, Eq)]
struct TreeEntry<'a> {
    path: &'a Path,
    bytes: u64,
    is_file: bool,
}

/// Writes a tree of this work tree into the folder `to`, which does not exist yet. A snapshot of the same work tree was
/// taken before.
///
/// # Errors
/// When an object is gone, a name leads out of the folder or into a `.git`, the tree is beyond the limits, or it takes
/// too long. `to` may hold a part of it then.
pub(crate) fn check_out_tree(
    places: &Places,
    tree: &str,
    to: &Path,
    limits: CheckoutLimits,
    options: &SnapshotOptions,
) -> Result<CheckedOutTree, SkippedSnapshot> {
    if !is_hash(tree) {
        return Err(SkippedSnapshot::with_reason("not a tree"));
    }
    let repository = require_repository(places)?;
    let cannot_write = |error: io::Error| SkippedSnapshot::with_reason(format!("cannot write: {error}"));
    let place = ObjectFolder::open_for_reading(places).map_err(cannot_write)?;
    let own_git = to.join(".git");
    for folder in ["objects/info", "objects/pack", "refs/heads", "info"] {
        create_private_dir(&own_git.join(folder)).map_err(cannot_write)?;
    }
    let folders =
        GitFolders { root: to.to_owned(), scratch: own_git.clone(), ..snapshot_folders(places, repository, &place) };
    let mut git = Git::new(folders, Instant::now() + options.time_max)?;
    git.set_index(own_git.join("index"));
    // Trees of jobs, which the snapshots may have forgotten by now.
    git.add_alternate(&places.state.learn_objects());
    let failed = |trouble: GitError| SkippedSnapshot::with_reason(trouble.reason_text());
    let checkout = Checkout { git: &git, work_tree: &places.root, to };
    // Each of these is a git that has nothing to do with the others.
    let (commit, listed) = thread::scope(|scope| {
        let commit = scope.spawn(|| checkout.find_commit(tree));
        let listed = git.run(GitView::Both, ["ls-tree", "-r", "-t", "-l", "-z", "--full-tree", tree], None);
        (joined(commit), listed)
    });
    let (commit, listed) = (commit.map_err(failed)?, listed.map_err(failed)?);
    let ListedTree { entries, folders } = read_listing(&listed, limits).map_err(SkippedSnapshot::with_reason)?;
    thread::scope(|scope| {
        let packed = scope.spawn(|| checkout.pack_history(&commit, tree, &folders));
        checkout.write_files(tree).map_err(failed)?;
        let missing = checkout.fill_placeholders(&entries).map_err(cannot_write)?;
        checkout.keep_times(&entries);
        checkout.make_repository(repository, tree, &commit).map_err(failed)?;
        joined(packed).map_err(failed)?;
        Ok(CheckedOutTree { files: entries.len(), missing })
    })
}

/// Reads `MODE TYPE ID BYTES<tab>PATH`, ended by NUL each.
///
/// # Errors
/// Why the tree is refused.
fn read_listing(listed: &[u8], limits: CheckoutLimits) -> Result<ListedTree<'_>, String> {
    let (mut entries, mut folders) = (Vec::new(), Vec::new());
    let mut bytes = 0_u64;
    for line in listed.split(|&byte| byte == 0).filter(|line| !line.is_empty()) {
        let tab = line.iter().position(|&byte| byte == b'\t').ok_or(UNKNOWN_FORM)?;
        let about = std::str::from_utf8(&line[..tab]).map_err(|_| UNKNOWN_FORM)?;
        let path = Path::new(OsStr::from_bytes(&line[tab + 1..]));
        if !is_inside(path) {
            return Err(format!("the tree has a file called {}", path.display()));
        }
        let words: Vec<&str> = about.split_ascii_whitespace().collect();
        let [mode, kind, id, size] = words[..] else { return Err(UNKNOWN_FORM.to_owned()) };
        if kind == "tree" {
            folders.push(id);
            continue;
        }
        let size = size.parse().unwrap_or(0);
        bytes += size;
        entries.push(TreeEntry { path, bytes: size, is_file: mode.starts_with("100") });
    }
    if entries.len() > limits.files || bytes > limits.bytes {
        let (files, mebibytes) = (entries.len(), bytes >> 20);
        return Err(format!("the tree is too large ({files} files, {mebibytes} MiB)"));
    }
    Ok(ListedTree { entries, folders })
}

/// Whether a path is relative, leads nowhere else, and has no part that git or a file system takes for `.git`.
fn is_inside(path: &Path) -> bool {
    let is_plain = |part: Component<'_>| match part {
        Component::Normal(name) => !name.as_bytes().eq_ignore_ascii_case(b".git"),
        _ => false,
    };
    // `components` leaves `a//b` and `a/./b` out.
    let has_empty_part =
        path.as_os_str().as_bytes().split(|&byte| byte == b'/').any(|part| part.is_empty() || part == b".");
    !has_empty_part && path.components().all(is_plain)
}

/// A checkout on its way.
struct Checkout<'a> {
    /// git with the new folder as its work tree.
    git: &'a Git,
    work_tree: &'a Path,
    to: &'a Path,
}

impl Checkout<'_> {
    /// Reads the tree into the index and writes its files, whatever a sparse checkout of the user's leaves out.
    fn write_files(&self, tree: &str) -> Result<(), GitError> {
        let read = ["read-tree", "--reset", "-u", "--no-sparse-checkout", "--no-recurse-submodules", tree];
        self.git.run(GitView::Both, ["-c", "checkout.workers=0"].into_iter().chain(read), None).map(|_| ())
    }

    /// Replaces placeholders by the contents that they represent, and removes the others; those.
    fn fill_placeholders(&self, entries: &[TreeEntry<'_>]) -> io::Result<Vec<PathBuf>> {
        let mut missing = Vec::new();
        for entry in entries.iter().filter(|entry| entry.is_file && entry.bytes <= PLACEHOLDER_BYTES_MAX) {
            let file = self.to.join(entry.path);
            let content = read_start(&file, PLACEHOLDER_BYTES_MAX)?;
            let Ok(text) = std::str::from_utf8(&content) else { continue };
            let original = self.work_tree.join(entry.path);
            let is_same = if let Some(hash) = text.strip_prefix(FILTERED) {
                has_blake3(&original, hash.trim_end())
            } else if text.starts_with(SECRET) {
                false
            } else if let Some(pointer) = text.strip_prefix(LFS_POINTER) {
                let hash = pointer.lines().find_map(|line| line.strip_prefix("oid sha256:"));
                hash.is_some_and(|hash| has_sha256(&original, hash))
            } else {
                continue;
            };
            fs::remove_file(&file)?;
            if is_same {
                fs::copy(&original, &file)?;
            } else {
                missing.push(entry.path.to_owned());
            }
        }
        Ok(missing)
    }

    /// Gives files that are the same in the work tree the time that they have there.
    fn keep_times(&self, entries: &[TreeEntry<'_>]) {
        let workers = thread::available_parallelism().map_or(1, usize::from).min(8);
        let files: Vec<&Path> = entries.iter().filter(|entry| entry.is_file).map(|entry| entry.path).collect();
        let share = files.len().div_ceil(workers).max(1);
        thread::scope(|scope| {
            for part in files.chunks(share) {
                let keep = move || part.iter().for_each(|path| self.keep_time(path));
                if thread::Builder::new().spawn_scoped(scope, keep).is_err() {
                    keep();
                }
            }
        });
    }

    /// A file of another time is built again, which costs time and nothing else.
    fn keep_time(&self, path: &Path) {
        let keep = || -> Option<()> {
            let (original, copy) = (open_file(&self.work_tree.join(path))?, open_file(&self.to.join(path))?);
            let metadata = original.metadata().ok().filter(fs::Metadata::is_file)?;
            if metadata.len() != copy.metadata().ok()?.len() || !is_same_content(original, &copy)? {
                return None;
            }
            copy.set_times(FileTimes::new().set_modified(metadata.modified().ok()?)).ok()
        };
        let _ = keep();
    }

    /// Packs the commit with the tree and its folders, without any contents.
    fn pack_history(&self, commit: &str, tree: &str, folders: &[&str]) -> Result<(), GitError> {
        let objects: String = [commit, tree].iter().chain(folders).flat_map(|id| [id, "\n"]).collect();
        let base = self.to.join(".git/objects/pack/pack");
        let pack = ["pack-objects", "--quiet", "--window=0"].map(OsStr::new);
        self.git.run(GitView::Both, pack.into_iter().chain([base.as_os_str()]), Some(objects.as_bytes())).map(drop)
    }

    /// A repository whose commit has the tree: programs find the root and the files of a project by it. It has no
    /// remote, no hook, no history and no contents.
    fn make_repository(&self, repository: &Repository, tree: &str, commit: &str) -> Result<(), GitError> {
        let own = self.to.join(".git");
        let head = read_start(&repository.git_dir.join("HEAD"), GIT_FILE_BYTES_MAX).unwrap_or_default();
        let head = String::from_utf8_lossy(&head);
        let branch = head.trim().strip_prefix("ref: refs/heads/").filter(|name| is_inside(Path::new(name)));
        let write =
            |name: &str, text: String| write_atomic(&own.join(name), text.as_bytes(), 0o644, Durability::Cached);
        match branch {
            Some(branch) => {
                let file = own.join("refs/heads").join(branch);
                create_private_dir(file.parent().unwrap_or(&own))?;
                write(&format!("refs/heads/{branch}"), format!("{commit}\n"))?;
                write("HEAD", format!("ref: refs/heads/{branch}\n"))?;
            }
            None => write("HEAD", format!("{commit}\n"))?,
        }
        write("config", config_file(tree))?;
        // Its parents are not there.
        write("shallow", format!("{commit}\n"))?;
        match self.git.run(GitView::Both, ["update-index", "-q", "--refresh"], None) {
            // That a file is missing.
            Err(GitError::Failed(why)) if why.ends_with(": exit status: 1") => Ok(()),
            refreshed => refreshed.map(|_| ()),
        }
    }

    /// The commit that is checked out if it has the tree, else a new one.
    fn find_commit(&self, tree: &str) -> Result<String, GitError> {
        let head = ["rev-parse", "--quiet", "HEAD^{commit}", "HEAD^{tree}"];
        if let Ok(answer) = self.git.run(GitView::User, head, None)
            && let [commit, of_commit] = String::from_utf8_lossy(&answer).lines().collect::<Vec<_>>()[..]
            && of_commit == tree
        {
            return Ok(commit.to_owned());
        }
        let who = "verify-run <verify-run@localhost> 0 +0000";
        let text = format!("tree {tree}\nauthor {who}\ncommitter {who}\n\nSnapshot of the work tree\n");
        let made =
            self.git.run(GitView::Own, ["hash-object", "-t", "commit", "-w", "--stdin"], Some(text.as_bytes()))?;
        Ok(String::from_utf8_lossy(&made).trim().to_owned())
    }
}

fn config_file(tree: &str) -> String {
    if tree.len() == 64 {
        return CONFIG.replace("repositoryformatversion = 0", "repositoryformatversion = 1")
            + "[extensions]\n\tobjectformat = sha256\n";
    }
    CONFIG.to_owned()
}

/// A file that can be read at once; links are not followed.
fn open_file(path: &Path) -> Option<File> {
    let flags = nix::libc::O_NOFOLLOW | nix::libc::O_NONBLOCK | nix::libc::O_NOCTTY;
    OpenOptions::new().read(true).custom_flags(flags).open(path).ok()
}

fn is_same_content(mut one: File, mut other: &File) -> Option<bool> {
    let mut pieces = [vec![0; COMPARED_BYTES], vec![0; COMPARED_BYTES]];
    loop {
        let [first, second] = &mut pieces;
        let count = one.read(first).ok()?;
        other.read_exact(&mut second[..count]).ok()?;
        if first[..count] != second[..count] {
            return Some(false);
        }
        if count == 0 {
            return Some(true);
        }
    }
}

/// Gives a regular file to a digest, piece by piece.
fn feed_file(path: &Path, mut feed: impl FnMut(&[u8])) -> Option<()> {
    let mut file = open_file(path).filter(|file| file.metadata().is_ok_and(|it| it.is_file()))?;
    let mut piece = vec![0; COMPARED_BYTES];
    loop {
        match file.read(&mut piece).ok()? {
            0 => return Some(()),
            count => feed(&piece[..count]),
        }
    }
}

fn has_blake3(path: &Path, hash: &str) -> bool {
    let mut digest = blake3::Hasher::new();
    feed_file(path, |piece| {
        digest.update(piece);
    })
    .is_some()
        && digest.finalize().to_hex().as_str() == hash
}

fn has_sha256(path: &Path, hash: &str) -> bool {
    let mut digest = Sha256::new();
    feed_file(path, |piece| digest.update(piece)).is_some()
        && data_encoding::HEXLOWER.encode(&digest.finalize()) == hash
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: CheckoutLimits = CheckoutLimits { files: 2, bytes: 100 };

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for path in ["a", "a/b", ".gitignore", "a/.github/b", "..a", "git"] {
            assert!(is_inside(Path::new(path)), "{path}");
        }
        for path in ["", "/a", "../a", "a/../b", ".git/config", "a/.GIT/b", "a//b", "a/./b", "./a", "a/", ".."] {
            assert!(!is_inside(Path::new(path)), "{path}");
        }
        for listed in [&b"100644 blob 0a       7\t../../x\0"[..], b"040000 tree 0a       -\t../../x\0"] {
            assert_eq!(read_listing(listed, LIMITS), Err("the tree has a file called ../../x".to_owned()));
        }
    }

    #[test]
    fn folders_are_no_files() {
        let listed = b"040000 tree 1a       -\tb\x00100755 blob 0a      60\tb/a\n1\x00120000 blob 0b      30\tc\0";
        let listing = read_listing(listed, LIMITS).expect("within the limits");
        let entry = |path, bytes, is_file| TreeEntry { path: Path::new(path), bytes, is_file };
        assert_eq!(listing.entries, [entry("b/a\n1", 60, true), entry("c", 30, false)]);
        assert_eq!(listing.folders, ["1a"]);
    }

    #[test]
    fn a_tree_beyond_the_limits_is_refused() {
        let many = b"100644 blob 0a 1\ta\x00100644 blob 0a 1\tb\x00100644 blob 0a 1\tc\0";
        assert_eq!(read_listing(many, LIMITS), Err("the tree is too large (3 files, 0 MiB)".to_owned()));
        assert!(read_listing(b"100644 blob 0a 101\ta\0", LIMITS).is_err());
        assert_eq!(read_listing(b"100644 blob 0a\ta\0", LIMITS), Err(UNKNOWN_FORM.to_owned()));
    }
}
