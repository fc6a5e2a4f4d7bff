//! What waits to be recorded: spool files and pass logs in the state folder and its fallbacks.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::drained::DrainReport;
use crate::base::clock::Timestamp;
use crate::base::file;
use crate::base::ids::RunId;
use crate::base::private;
use crate::base::text;
use crate::capture::{SpoolError, SpoolHeader};
use crate::config::{Places, StateDir};
use crate::store::free_name;
use crate::store::note::NOTE_SUFFIX;

/// A claimed pass log is kept so long, seconds: a wrapper that had it open may still append its line.
const CLAIM_SECONDS_MIN: u64 = 60;
/// A temporary file that is unfinished is removed after this time, seconds.
const TEMPORARY_SECONDS_MAX: u64 = 3_600;
/// Unparsable spool files kept; they may hold what was never redacted.
const BAD_FILES_MAX: usize = 20;

/// A file that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PendingEntry {
    /// Where it is.
    pub path: PathBuf,
    /// What is in it.
    pub kind: SpoolEntryKind,
}

/// What is in a file that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SpoolEntryKind {
    /// A run with its output.
    Run,
    /// Passing runs, a line each.
    Passes,
    /// An event.
    Note,
}

/// A run to record.
#[derive(Debug)]
pub(super) struct SpoolEntry {
    /// The file it is in.
    pub path: PathBuf,
    /// What the wrapper knew.
    pub header: SpoolHeader,
    /// A spool file of its own with output, else a line of a pass log.
    pub is_spool: bool,
}

/// The runs to record, in the order in which they ended.
#[derive(Debug)]
pub(super) struct Queue {
    pub entries: Vec<SpoolEntry>,
    /// Claimed pass logs, and how many bytes of each were read.
    claimed: Vec<(PathBuf, usize)>,
}

/// Everything that waits, claimed pass logs not counted.
pub(crate) fn pending_entries(places: &Places) -> Vec<PendingEntry> {
    let mut found = Vec::new();
    for dir in state_dirs(places) {
        for path in spool_files(&dir.spool()) {
            let kind = match path.extension().and_then(OsStr::to_str) {
                Some("spool") => SpoolEntryKind::Run,
                Some(NOTE_SUFFIX) => SpoolEntryKind::Note,
                _ => continue,
            };
            found.push(PendingEntry { path, kind });
        }
        let log = dir.pass_log();
        if log.exists() {
            found.push(PendingEntry { path: log, kind: SpoolEntryKind::Passes });
        }
    }
    found
}

/// What the wrappers knew about the runs that aren't recorded yet. Reads only.
pub(crate) fn waiting_headers(places: &Places) -> Vec<SpoolHeader> {
    let mut headers = Vec::new();
    for dir in state_dirs(places) {
        for path in spool_files(&dir.spool()).into_iter().filter(|path| path.extension() == Some(OsStr::new("spool"))) {
            headers.extend(header_line(&path).ok().and_then(|line| SpoolHeader::parse(&line).ok()));
        }
        for path in spool_files(dir).into_iter().filter(|path| StateDir::is_pass_log(path)) {
            let bytes = private::read(&path).unwrap_or_default();
            headers.extend(bytes.split(|&byte| byte == b'\n').filter_map(|line| SpoolHeader::parse(line).ok()));
        }
    }
    headers
}

/// Spool files that were set aside because they could not be parsed.
pub(crate) fn bad_files(places: &Places) -> Vec<PathBuf> {
    state_dirs(places).flat_map(|dir| spool_files(&dir.bad_spool())).collect()
}

fn header_line(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut line = Vec::new();
    BufReader::new(private::reader(path)?).read_until(b'\n', &mut line)?;
    Ok(line)
}

/// The state folder and those of its fallbacks that belong to this user: in a shared temporary folder any user can
/// make one.
fn state_dirs(places: &Places) -> impl Iterator<Item = &StateDir> {
    let user = nix::unistd::geteuid().as_raw();
    // A checkout makes no folder that only the user can read: so a tracked one is not verify-run's.
    let is_ours = move |metadata: fs::Metadata| {
        metadata.is_dir() && metadata.uid() == user && metadata.permissions().mode() & 0o077 == 0
    };
    places.state_dirs().filter(move |dir| **dir == places.state || fs::symlink_metadata(dir).is_ok_and(is_ours))
}

impl Queue {
    /// Claims the pass logs and reads all headers. Unparsable files are moved to `bad/` beside them.
    pub(super) fn collect_entries(places: &Places, drained: &mut DrainReport) -> Self {
        let mut queue = Queue { entries: Vec::new(), claimed: Vec::new() };
        for pending in pending_entries(places) {
            if pending.kind == SpoolEntryKind::Run {
                queue.add_spool(&pending.path, drained);
            } else if let Some(dir) = pending.path.parent().filter(|_| pending.kind == SpoolEntryKind::Passes) {
                // From here on wrappers start a new log; a crash leaves the claimed one for the next recorder.
                let claimed = StateDir::from(dir).claimed_pass_log(RunId::fresh());
                if let Err(error) = fs::rename(&pending.path, &claimed) {
                    drained.left.push((pending.path, error.to_string()));
                }
            }
        }
        for dir in state_dirs(places) {
            remove_temporary(&dir.spool());
            // One that could not be claimed is read as well: its lines are recorded once, whenever that is.
            for log in spool_files(dir).into_iter().filter(|path| StateDir::is_pass_log(path)) {
                queue.add_passes(log, drained);
            }
        }
        queue.entries.sort_by_key(|entry| (entry.header.ended_at, entry.header.run));
        queue.entries.dedup_by_key(|entry| (entry.header.run, entry.is_spool));
        queue
    }

    /// Removes claimed pass logs that have no writer any more. What was read of the others is blanked: the command
    /// lines in them are as they were typed, and the next recorder may be days away.
    pub(super) fn release_entries(&self, drained: &DrainReport) {
        for (log, bytes) in &self.claimed {
            if drained.left.iter().any(|(path, _)| path == log) {
                continue;
            }
            if seconds_old(log) >= CLAIM_SECONDS_MIN {
                let _ = fs::remove_file(log);
            } else {
                blank_log(log, *bytes);
            }
        }
    }

    fn add_spool(&mut self, path: &Path, drained: &mut DrainReport) {
        let line = match header_line(path) {
            Ok(line) => line,
            Err(error) => {
                drained.left.push((path.to_owned(), error.to_string()));
                return;
            }
        };
        match SpoolHeader::parse(&line) {
            Ok(header) => self.entries.push(SpoolEntry { path: path.to_owned(), header, is_spool: true }),
            Err(error @ SpoolError::Newer(_)) => drained.left.push((path.to_owned(), error.to_string())),
            Err(SpoolError::Bad(why)) => set_aside(path, &why, drained),
        }
    }

    fn add_passes(&mut self, log: PathBuf, drained: &mut DrainReport) {
        let bytes = match private::read(&log) {
            Ok(bytes) => bytes,
            Err(error) => {
                drained.left.push((log, error.to_string()));
                return;
            }
        };
        for line in bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            match SpoolHeader::parse(line) {
                Ok(header) => self.entries.push(SpoolEntry { path: log.clone(), header, is_spool: false }),
                Err(error @ SpoolError::Newer(_)) => drained.left.push((log.clone(), error.to_string())),
                // A wrapper that was killed, or a full disk: half a line is no sign that others are broken.
                Err(SpoolError::Bad(_)) => {}
            }
        }
        self.claimed.push((log, bytes.len()));
    }
}

/// Overwrites the first bytes of a pass log with line ends. Lines that are appended meanwhile stay.
fn blank_log(log: &Path, bytes: usize) {
    // A change of the content would make the log younger, so a blank one is left alone.
    if private::read(log).is_ok_and(|content| content.iter().take(bytes).all(|&byte| byte == b'\n')) {
        return;
    }
    if let Ok(file) = private::open(log, fs::OpenOptions::new().write(true)) {
        let _ = file.write_all_at(&vec![b'\n'; bytes], 0);
    }
}

/// Moves a spool file that can't be parsed to `bad/`, so that it is not tried again and again.
pub(super) fn set_aside(path: &Path, why: &str, drained: &mut DrainReport) {
    let dir = StateDir::bad_spool_beside(path);
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let target = free_name(|n| dir.join(if n == 1 { name.clone() } else { format!("{name}.{n}") }));
    let moved = file::create_private_dir(&dir).and_then(|()| fs::rename(path, &target));
    match moved {
        Ok(()) => {
            drained.notes.push(format!("moved {} to {}: {why}", text::path(path), text::path(&target)));
            drained.bad.push(target);
        }
        Err(error) => drained.left.push((path.to_owned(), format!("{why}; cannot move it to bad/: {error}"))),
    }
    let kept = spool_files(&dir);
    for old in kept.iter().take(kept.len().saturating_sub(BAD_FILES_MAX)) {
        let _ = fs::remove_file(old);
    }
}

/// Files of wrappers that were killed while they wrote; younger ones may still be written.
fn remove_temporary(spool: &Path) {
    for path in spool_files(spool) {
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        if name.starts_with(".tmp-") && seconds_old(&path) > TEMPORARY_SECONDS_MAX {
            let _ = fs::remove_file(path);
        }
    }
}

/// Seconds since the file's content or name changed. A clock that was set back makes it old.
fn seconds_old(path: &Path) -> u64 {
    let Ok(metadata) = fs::metadata(path) else { return 0 };
    let changed = u64::try_from(metadata.ctime()).unwrap_or(0);
    let now = u64::try_from(Timestamp::now().0 / 1_000_000).unwrap_or(0);
    if changed > now { u64::MAX } else { now - changed }
}

/// The plain files in a folder, by name; none when it can't be read.
fn spool_files(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut files: Vec<_> =
        entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file())).map(|entry| entry.path()).collect();
    files.sort();
    files
}
