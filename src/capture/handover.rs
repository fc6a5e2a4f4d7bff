//! After the run: what is kept, where, and how it is recorded.
//!
//! A failure is one file, written before the caller gets the status; parsing and storing happen in a detached
//! process. Whatever fails here is lost quietly: the command's status never changes.

use std::ffi::OsString;
use std::fs;
use std::io::{self, IsTerminal, PipeWriter};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::checked_state::CheckedState;
use super::environment::EnvironmentDigest;
use super::passes;
use super::reading::whole_lines;
use super::spool::{self, Identity, RepositoryHead, SPOOL_SCHEMA, SpoolHeader, SpooledRun};
use crate::base::clock::Timestamp;
use crate::base::file::{self, Durability};
use crate::base::ids::RunId;
use crate::base::limits::{SPOOL_SYNC_BYTES_MAX, SYNC_MS_MAX};
use crate::base::lossless::Lossless;
use crate::config::{Places, StateDir};
use crate::redact::{redact_arguments, redact_text};
use crate::run::{self, FileExcerpt, FinishedCommand, Transcript};
use crate::whitelist::Check;

/// File systems on the other side of a network (or of a process), by `statfs`: NFS, SMB in three dialects, FUSE, 9P,
/// Ceph, AFS, Lustre.
#[cfg(target_os = "linux")]
const NETWORK_FILE_SYSTEMS: [i64; 9] =
    [0x6969, 0x517b, 0xff53_4d42, 0xfe53_4d42, 0x6573_5546, 0x0102_1997, 0x00c3_6400, 0x5346_414f, 0x0bd0_0bd0];

/// A pass that took so long starts a recorder, whose cost disappears in it: the sooner its work tree is looked at, the
/// likelier it is what passed. Shorter ones wait for the next recorder.
const SNAPSHOT_PASS_MIN: Duration = Duration::from_millis(500);

/// A command about to run, with everything that its record will say.
pub struct FinishedRun {
    /// The command as typed.
    pub argv: Vec<OsString>,
    /// The working directory, absolute.
    pub cwd: PathBuf,
    /// The recognised check.
    pub check: Option<Check>,
    /// The command key.
    pub key: String,
    /// Who runs it.
    pub identity: Identity,
    /// Where things are.
    pub places: Places,
    /// Record before returning.
    pub sync: bool,
    /// What a receipt of the run is about, if it is to have one.
    pub checked_state: Option<Box<CheckedState>>,
    /// Records everything that is spooled; runs in a process of its own.
    pub record: fn(&Places, RecorderWaiter),
}

/// Keeps a caller that waits for the recorder until this is dropped.
#[derive(Default)]
pub struct RecorderWaiter {
    _end: Option<PipeWriter>,
}

impl FinishedRun {
    /// Keeps what has to be kept of a finished run and starts the recorder if there is something for it to do.
    pub fn hand_over(&self, finished: FinishedCommand) {
        // Without HOME the state itself is in the shared temporary folder.
        if self.places.fallbacks.contains(&self.places.state) && !is_made_by_us(&self.places.state) {
            return;
        }
        if finished.ended.passed() && !self.needs_output() && !self.sync {
            let header = self.header(&finished, &finished.transcript, false);
            if passes::append(&self.places.state, &header).is_ok() {
                // The work tree of a pass is what a later failure is compared with.
                if finished.duration >= SNAPSHOT_PASS_MIN && self.places.repository.is_some() {
                    self.start_recorder(&[], || {});
                }
                return;
            }
        }
        let excerpts: Vec<FileExcerpt> = finished.files.iter().filter_map(run::FileRegion::end).collect();
        let bytes = finished.transcript.kept() + excerpts.iter().map(FileExcerpt::length).sum::<u64>();
        let quick = bytes <= SPOOL_SYNC_BYTES_MAX as u64 && !on_network(&self.places.state);
        if quick {
            self.spool(finished, &excerpts);
            self.start_recorder(&[], || {});
        } else {
            let readers: Vec<RawFd> = excerpts.iter().map(FileExcerpt::fd).collect();
            self.start_recorder(&readers, || self.spool(finished, &excerpts));
            std::mem::forget(excerpts);
        }
    }

    /// What a finished run said, with its header, for looking at it at once: the first and the last of the output.
    pub fn copy(&self, finished: &FinishedCommand) -> SpooledRun {
        let mut transcript = Transcript::with_limits(SPOOL_SYNC_BYTES_MAX / 2, SPOOL_SYNC_BYTES_MAX / 2);
        finished.transcript.pieces().into_iter().for_each(|piece| transcript.append(piece));
        for excerpt in finished.files.iter().filter_map(run::FileRegion::end) {
            excerpt.read(&mut transcript);
        }
        let header = self.header(finished, &transcript, false);
        SpooledRun { header, output: transcript.pieces().concat() }
    }

    /// A pass is worth its output when it ends an open failure, when it is to have a receipt, or when it is the first of
    /// the day: the recorder compares later failures with it.
    fn needs_output(&self) -> bool {
        let state = &self.places.state;
        if self.checked_state.is_some() || state.open_marker(&self.key).exists() {
            return true;
        }
        let Ok(baseline) = fs::metadata(state.baseline(&self.key)) else { return true };
        !same_day(baseline.mtime(), Timestamp::now())
    }

    fn header(&self, finished: &FinishedCommand, transcript: &Transcript, shared: bool) -> SpoolHeader {
        SpoolHeader {
            schema: SPOOL_SCHEMA,
            run: RunId::fresh(),
            argv: self.argv.iter().map(Lossless::from).collect(),
            cwd: Lossless::from(&self.cwd),
            repository: RepositoryHead::now(&self.places),
            started_at: finished.started_at,
            ended_at: finished.ended_at,
            duration_us: u64::try_from(finished.duration.as_micros()).unwrap_or(u64::MAX),
            ended: finished.ended,
            check: self.check.clone(),
            key: self.key.clone(),
            identity: self.identity.clone(),
            kept_bytes: transcript.kept(),
            cut_bytes: transcript.cut(),
            cut_at: transcript.cut_at(),
            shared,
            partly_seen: finished.partly_seen,
            reader_left: finished.reader_left,
            interrupted: finished.interrupted,
            on_terminal: !finished.ended.passed() && io::stdin().is_terminal(),
            redacted: false,
            environment: None,
            observed_via: None,
            call: None,
            checked_state: self.checked_state.clone(),
            tree: None,
        }
    }

    /// Writes the spool file to the first place that takes it.
    fn spool(&self, mut finished: FinishedCommand, excerpts: &[FileExcerpt]) {
        let mut transcript = std::mem::take(&mut finished.transcript);
        excerpts.iter().for_each(|excerpt| excerpt.read(&mut transcript));
        let header = self.header(&finished, &transcript, excerpts.iter().any(FileExcerpt::shared));
        let header = SpoolHeader { environment: Some(EnvironmentDigest::now(&self.places.state)), ..header };
        if spool::write(&self.places.state, &header, &transcript.pieces()).is_ok() {
            return;
        }
        for place in &self.places.fallbacks {
            if self.spool_to_fallback(place, &header, &transcript).is_ok() {
                return;
            }
        }
    }

    fn spool_to_fallback(&self, place: &StateDir, header: &SpoolHeader, transcript: &Transcript) -> io::Result<()> {
        prepare_fallback(&self.places.root, place)?;
        if !place.starts_with(&self.places.root) {
            return spool::write(place, header, &transcript.pieces());
        }
        let text = |bytes: &[u8]| redact_text(&String::from_utf8_lossy(bytes)).0.into_owned();
        let [head, older, newer] = transcript.pieces();
        let (first, second) = match transcript.cut() {
            0 => (String::new(), text(&[head, older, newer].concat())),
            _ => {
                let tail = [older, newer].concat();
                let (head, tail) = whole_lines(head, &tail);
                (text(head), text(tail))
            }
        };
        let (cut_at, kept_bytes) = (first.len() as u64, (first.len() + second.len()) as u64);
        let header = SpoolHeader { kept_bytes, cut_at, redacted: true, ..Self::without_secrets(header) };
        spool::write(place, &header, &[first.as_bytes(), second.as_bytes()])
    }

    fn without_secrets(header: &SpoolHeader) -> SpoolHeader {
        let text = |text: &String| redact_text(text).0.into_owned();
        let Identity { task, session, agent, model, phase } = &header.identity;
        let identity = Identity {
            task: task.as_ref().map(text),
            session: session.as_ref().map(text),
            agent: agent.as_ref().map(text),
            model: model.as_ref().map(text),
            phase: phase.as_ref().map(text),
        };
        let argv = redact_arguments(&header.argv);
        let line = argv.iter().map(Lossless::display).collect::<Vec<_>>().join(" ");
        // Words of the command line: one that isn't in it any more was a secret or had one in it.
        let check = header.check.as_ref().map(|check| Check {
            why: text(&check.why),
            dir: check.dir.clone().filter(|dir| line.contains(dir.as_str())),
            selectors: check.selectors.iter().filter(|word| line.contains(word.as_str())).cloned().collect(),
            ..check.clone()
        });
        let repository =
            RepositoryHead { head: header.repository.head.as_ref().map(text), ..header.repository.clone() };
        let environment = header.environment.clone().map(|environment| EnvironmentDigest {
            path: environment.path.filter(|path| redact_text(&path.display()).1 == 0),
            ..environment
        });
        SpoolHeader { argv, identity, check, repository, environment, ..header.clone() }
    }

    /// Starts the recorder in a process that has nothing of the caller's but `keep`, and does `before` in it.
    fn start_recorder(&self, keep: &[RawFd], before: impl FnOnce()) {
        let wait = self.sync || run::is_init();
        // The recorder holds one end until it has recorded.
        let Ok((done, working)) = std::io::pipe() else { return };
        let mut keep = keep.to_vec();
        if wait {
            keep.push(working.as_raw_fd());
        }
        let started = run::run_detached(&keep, move || {
            let waiting = if wait {
                RecorderWaiter { _end: Some(working) }
            } else {
                // It is closed already.
                std::mem::forget(working);
                RecorderWaiter::default()
            };
            before();
            (self.record)(&self.places, waiting);
        });
        if started.is_ok() && wait {
            run::release_signals();
            run::wait_for_end(done.as_raw_fd(), Duration::from_millis(SYNC_MS_MAX));
        }
    }
}

/// By UTC: looking the local zone up would cost every passing run a file read.
fn same_day(seconds: i64, now: Timestamp) -> bool {
    const DAY_SECONDS: i64 = 86_400;
    seconds.div_euclid(DAY_SECONDS) == (now.0 / 1_000_000).div_euclid(DAY_SECONDS)
}

/// Makes one of [`Places::fallbacks`] ready to be written to. What gets into one below `root` must hold no secret: in
/// the work tree other tools read along.
///
/// # Errors
/// When it can't be made, or another user made it.
pub fn prepare_fallback(root: &Path, place: &Path) -> io::Result<()> {
    let is_in_tree = place.starts_with(root);
    if is_in_tree && let Some(lessons) = place.parent() {
        // Only what is inside is private to the user; the lessons' folder is the project's.
        #[allow(clippy::disallowed_methods, reason = "a folder of the work tree")]
        if fs::create_dir(lessons).is_ok() {
            file::write_atomic(&lessons.join(".gitignore"), b"*\n", 0o644, Durability::Cached)?;
        }
    }
    if !is_made_by_us(place) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    if is_in_tree {
        // A commit of everything would take it with it.
        file::write_atomic(&place.join(".gitignore"), b"*\n", 0o600, Durability::Cached)?;
    }
    Ok(())
}

/// A fallback folder may be in a shared temporary folder, where another user may have made it first.
fn is_made_by_us(place: &Path) -> bool {
    let is_ours = |metadata: fs::Metadata| {
        metadata.is_dir() && metadata.uid() == nix::unistd::geteuid().as_raw() && metadata.mode() & 0o022 == 0
    };
    file::create_private_dir(place).is_ok() && fs::symlink_metadata(place).is_ok_and(is_ours)
}

/// Whether writing there may take long for reasons that have nothing to do with this machine.
#[cfg(target_os = "linux")]
fn on_network(state: &Path) -> bool {
    let existing = state.ancestors().find_map(|dir| nix::sys::statfs::statfs(dir).ok());
    // The type of the magic number differs between C libraries.
    #[allow(clippy::unnecessary_cast, clippy::cast_possible_wrap, reason = "a magic number has 32 bits")]
    existing.is_some_and(|stat| NETWORK_FILE_SYSTEMS.contains(&(stat.filesystem_type().0 as i64)))
}

/// Not asked on other systems.
#[cfg(not(target_os = "linux"))]
fn on_network(_state: &Path) -> bool {
    false
}
