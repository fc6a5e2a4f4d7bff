//! What differs between two trees: the files with their line counts, and the text, bounded and redacted.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

use super::git::{Git, GitError, GitView};
use super::history::open_git;
use super::look::FILTERED;
use super::place::ObjectFolder;
use super::prune::is_hash;
use super::secret_files::is_secret;
use super::take::snapshot_folders;
use super::{SkippedSnapshot, SnapshotOptions};
use crate::base::limits::{
    LINE_KEEP_BYTES_MAX, SNAPSHOT_DIFF_BYTES_MAX, SNAPSHOT_DIFF_FILE_BYTES_MAX, SNAPSHOT_DIFF_FILES_MAX,
};
use crate::base::lossless::Lossless;
use crate::base::text;
use crate::config::Places;
use crate::event::{FileChange, FileChangeKind};
use crate::fix::derived::is_derived;
use crate::fix::patch::{CONTEXT_LINES, Patch};
use crate::redact::redact_text;

/// Bytes of a file's diff that are read for each byte that may be kept: what is redacted must be whole.
const READ_FACTOR: usize = 8;
/// How much of a comparison is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DiffLimits {
    pub files: usize,
    /// Text of one file, bytes; 0 leaves all text out.
    pub file_bytes: usize,
    /// Text in all, bytes.
    pub bytes: usize,
}

impl Default for DiffLimits {
    fn default() -> Self {
        DiffLimits {
            files: SNAPSHOT_DIFF_FILES_MAX,
            file_bytes: SNAPSHOT_DIFF_FILE_BYTES_MAX,
            bytes: SNAPSHOT_DIFF_BYTES_MAX,
        }
    }
}

/// What differs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Diff {
    /// The files, sorted by path.
    pub files: Vec<FileChange>,
    /// Files beyond the limit.
    pub files_cut: u64,
    /// Unified text as `git diff` prints it, whole lines, file after file; redacted, control characters removed. A
    /// redacted key is one line where it was many. For lock files and other generated files only the number of
    /// changed lines, at the end.
    pub text: String,
    /// Bytes of text beyond the limit.
    pub text_cut: u64,
    /// Secrets that were replaced.
    pub redactions: usize,
}

/// Compares two trees of this work tree, `from` the older one. Folders that snapshots leave out are left out.
///
/// # Errors
/// When objects of a tree are gone, when it takes too long, when git can't be started.
pub(crate) fn diff_trees(
    places: &Places,
    from: &str,
    to: &str,
    options: &SnapshotOptions,
    limits: DiffLimits,
) -> Result<Diff, SkippedSnapshot> {
    if from == to {
        return Ok(Diff::default());
    }
    for tree in [from, to] {
        // From an event that may be another machine's: only a hash is a tree here.
        if !is_hash(tree) {
            return Err(SkippedSnapshot::with_reason("not a tree"));
        }
    }
    let Some(repository) = &places.repository else {
        return Err(SkippedSnapshot::with_reason("not in a git repository"));
    };
    let place = ObjectFolder::open_for_reading(places)
        .map_err(|error| SkippedSnapshot::with_reason(format!("cannot write: {error}")))?;
    let until = |time: Duration| Instant::now() + time;
    let mut git = Git::new(snapshot_folders(places, repository, &place), until(options.time_max))?;
    let whole = [OsStr::new("--find-renames"), OsStr::new("--raw"), OsStr::new("--numstat"), OsStr::new("--patch")];
    let printed = match ask_diff(&git, &whole, from, to, options) {
        // Too much for its text: the names at least.
        Err(GitError::Late | GitError::TooMuch) => {
            git.set_deadline(until(options.time_max / 2));
            ask_diff(&git, &[OsStr::new("--no-renames"), OsStr::new("--raw")], from, to, options)
        }
        printed => printed,
    };
    match printed {
        Ok(printed) => Ok(read_diff(&printed, limits)),
        Err(GitError::Failed(why)) if is_loss(&why) => {
            Err(SkippedSnapshot::with_reason("objects of the base are missing"))
        }
        Err(trouble) => Err(SkippedSnapshot::with_reason(trouble.reason_text())),
    }
}

/// The comparison of two trees as values, with [`CONTEXT_LINES`] of context: nothing of it is redacted or cut, so it is
/// not for keeping.
///
/// # Errors
/// As [`diff_trees`].
pub(crate) fn patch_between(
    places: &Places,
    from: &str,
    to: &str,
    options: &SnapshotOptions,
) -> Result<Patch, SkippedSnapshot> {
    if !is_hash(from) || !is_hash(to) {
        return Err(SkippedSnapshot::with_reason("not a tree"));
    }
    let Some(repository) = &places.repository else {
        return Err(SkippedSnapshot::with_reason("not in a git repository"));
    };
    let place = ObjectFolder::open_for_reading(places)
        .map_err(|error| SkippedSnapshot::with_reason(format!("cannot write: {error}")))?;
    let git = Git::new(snapshot_folders(places, repository, &place), Instant::now() + options.time_max)?;
    let context = format!("--unified={CONTEXT_LINES}");
    let what = ["--find-renames", "--patch", "--histogram", &context].map(OsStr::new);
    match ask_diff(&git, &what, from, to, options) {
        Ok(printed) => Ok(Patch::parse(&printed)),
        Err(trouble) => Err(SkippedSnapshot::with_reason(trouble.reason_text())),
    }
}

/// The files in which two trees of this work tree differ. Folders that snapshots leave out are left out.
///
/// # Errors
/// As [`diff_trees`].
pub(crate) fn changed_paths(
    places: &Places,
    from: &str,
    to: &str,
    options: &SnapshotOptions,
) -> Result<Vec<String>, SkippedSnapshot> {
    list_changed(places, [from, to], "--no-renames", options)
}

/// As [`changed_paths`], where a file that was moved is known by its new path alone.
///
/// # Errors
/// As [`diff_trees`].
pub(crate) fn changed_paths_after_moves(
    places: &Places,
    from: &str,
    to: &str,
    options: &SnapshotOptions,
) -> Result<Vec<String>, SkippedSnapshot> {
    list_changed(places, [from, to], "--find-renames", options)
}

fn list_changed(
    places: &Places,
    [from, to]: [&str; 2],
    renames: &str,
    options: &SnapshotOptions,
) -> Result<Vec<String>, SkippedSnapshot> {
    if from == to {
        return Ok(Vec::new());
    }
    if !is_hash(from) || !is_hash(to) {
        return Err(SkippedSnapshot::with_reason("not a tree"));
    }
    let git = open_git(places, options)?;
    let what = [renames, "--name-only"].map(OsStr::new);
    let printed = ask_diff(&git, &what, from, to, options);
    let printed = printed.map_err(|trouble| SkippedSnapshot::with_reason(trouble.reason_text()))?;
    let paths = printed.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    Ok(paths.map(|path| String::from_utf8_lossy(path).into_owned()).collect())
}

fn ask_diff(git: &Git, what: &[&OsStr], from: &str, to: &str, options: &SnapshotOptions) -> Result<Vec<u8>, GitError> {
    let fixed = ["diff-tree", "-r", "-z", "--no-color", "--no-ext-diff", "--no-textconv", "--src-prefix=a/"];
    let mut arguments: Vec<OsString> = fixed.iter().map(OsString::from).collect();
    arguments.push("--dst-prefix=b/".into());
    arguments.extend(what.iter().map(OsString::from));
    arguments.extend([from, to, "--", ":(top)"].map(OsString::from));
    for folder in &options.excluded {
        let mut excluded = OsString::from(":(top,exclude,literal)");
        excluded.push(folder);
        arguments.push(excluded);
    }
    git.run(GitView::Both, arguments, None)
}

/// What git says of an object that it can't find.
fn is_loss(why: &str) -> bool {
    ["unable to read", "bad object", "bad tree", "not a tree", "unable to find", "could not read", "missing"]
        .iter()
        .any(|words| why.contains(words))
}

/// Reads `--raw --numstat --patch -z`: two lists whose fields end in NUL, a NUL, and the text.
fn read_diff(printed: &[u8], limits: DiffLimits) -> Diff {
    let mut fields = DiffFields(printed);
    let mut diff = Diff::default();
    let mut files: Vec<FileChange> = Vec::new();
    while let Some(file) = fields.next_raw() {
        files.push(file);
    }
    let counts: Vec<(u64, u64, bool)> = std::iter::from_fn(|| fields.next_numbers()).collect();
    for (file, (added, removed, opaque)) in files.iter_mut().zip(counts) {
        (file.added, file.removed) = (added, removed);
        file.opaque = opaque;
    }
    let text = fields.0.strip_prefix(b"\0").unwrap_or(fields.0);
    let mut sections = split_sections(text).into_iter().peekable();
    let mut derived: Vec<String> = Vec::new();
    for file in &mut files {
        // A file that became a link is taken out and put in again: two texts.
        let count = if file.kind == FileChangeKind::Retyped { 2 } else { 1 };
        for section in sections.by_ref().take(count) {
            file.opaque |= is_secret(file.path.path()) || memchr::memmem::find(section, FILTERED.as_bytes()).is_some();
            if file.opaque {
                continue;
            }
            if let Some(path) = file.path.0.to_str().filter(|path| is_derived(path)) {
                let lines = text::count(file.added + file.removed, "line");
                derived.push(format!("{}: {lines} changed\n", text::one_line(&redact_text(path).0)));
                continue;
            }
            add_text(&mut diff, section, limits);
        }
    }
    // A path that begins like a line of a diff would be read as one.
    for line in derived.iter().filter(|line| !line.starts_with(['+', '-', '@', ' '])) {
        if diff.text.len() + line.len() <= limits.bytes {
            diff.text.push_str(line);
        }
    }
    diff.files_cut = files.len().saturating_sub(limits.files) as u64;
    files.truncate(limits.files);
    for file in &mut files {
        file.path = clean_path(&file.path);
        file.from = file.from.as_ref().map(clean_path);
        if file.opaque {
            (file.added, file.removed) = (0, 0);
        }
    }
    diff.files = files;
    diff
}

/// Adds the text of one file.
fn add_text(diff: &mut Diff, section: &[u8], limits: DiffLimits) {
    let left = limits.bytes.saturating_sub(diff.text.len()).min(limits.file_bytes);
    let read = whole_lines(section, left.saturating_mul(READ_FACTOR));
    let lossy = String::from_utf8_lossy(read);
    let (redacted, count) = redact_text(&lossy);
    let mut kept = 0;
    let mut cut = section.len() - read.len();
    for line in text::printable(&redacted).split_inclusive('\n') {
        let line = match line.strip_suffix('\n') {
            Some(line) if line.len() > LINE_KEEP_BYTES_MAX => text::ellipsis(line, LINE_KEEP_BYTES_MAX) + "\n",
            _ => line.to_owned(),
        };
        if cut > section.len() - read.len() || kept + line.len() > left {
            cut += line.len();
        } else {
            kept += line.len();
            diff.text.push_str(&line);
        }
    }
    diff.redactions += count;
    diff.text_cut += cut as u64;
}

/// The whole lines at the start of `text`, at most `max` bytes.
fn whole_lines(text: &[u8], max: usize) -> &[u8] {
    if text.len() <= max {
        return text;
    }
    &text[..memchr::memrchr(b'\n', &text[..max]).map_or(0, |end| end + 1)]
}

/// The text of each file: from one `diff --git` to the next. No line of a content begins with it, because one of `
/// +-\` precedes each.
fn split_sections(text: &[u8]) -> Vec<&[u8]> {
    let finder = memchr::memmem::Finder::new(b"\ndiff --git ");
    let mut starts: Vec<usize> = text.starts_with(b"diff --git ").then_some(0).into_iter().collect();
    starts.extend(finder.find_iter(text).map(|at| at + 1));
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    starts.iter().zip(ends).map(|(&start, end)| &text[start..end]).collect()
}

/// A path without the secret that may be in it.
fn clean_path(path: &Lossless) -> Lossless {
    match path.0.to_str().map(redact_text) {
        Some((text, count)) if count > 0 => Lossless::from(text.as_ref()),
        _ => path.clone(),
    }
}

/// What is left to read.
struct DiffFields<'a>(&'a [u8]);

impl<'a> DiffFields<'a> {
    fn next(&mut self) -> Option<&'a [u8]> {
        let end = self.0.iter().position(|&byte| byte == 0)?;
        let field = &self.0[..end];
        self.0 = &self.0[end + 1..];
        Some(field)
    }

    fn next_path(&mut self) -> Option<Lossless> {
        self.next().map(|bytes| Lossless::from(OsStr::from_bytes(bytes)))
    }

    /// `:100644 100644 <id> <id> M`, the path; of a renamed one both.
    fn next_raw(&mut self) -> Option<FileChange> {
        if !self.0.starts_with(b":") {
            return None;
        }
        let head = self.next()?;
        let letter = head.rsplit(|&byte| byte == b' ').next()?.first()?;
        let kind = match letter {
            b'A' => FileChangeKind::Added,
            b'D' => FileChangeKind::Removed,
            b'R' | b'C' => FileChangeKind::Renamed,
            b'T' => FileChangeKind::Retyped,
            _ => FileChangeKind::Modified,
        };
        let first = self.next_path()?;
        let (from, path) = match kind {
            FileChangeKind::Renamed => (Some(first), self.next_path()?),
            _ => (None, first),
        };
        Some(FileChange { path, kind, from, added: 0, removed: 0, opaque: false })
    }

    /// `3\t1\tpath`, `-\t-\tpath` of a binary one, `3\t1\t` and two paths of a renamed one.
    fn next_numbers(&mut self) -> Option<(u64, u64, bool)> {
        if !self.0.first().is_some_and(|&byte| byte == b'-' || byte.is_ascii_digit()) {
            return None;
        }
        let head = self.next()?;
        let mut parts = head.splitn(3, |&byte| byte == b'\t');
        let mut number = || std::str::from_utf8(parts.next()?).ok()?.parse().ok();
        let (added, removed): (Option<u64>, Option<u64>) = (number(), number());
        if parts.next().is_some_and(<[u8]>::is_empty) {
            self.next()?;
            self.next()?;
        }
        Some((added.unwrap_or(0), removed.unwrap_or(0), added.is_none()))
    }
}
