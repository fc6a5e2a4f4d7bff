//! The spool file: one JSON header line, then the captured bytes as they came.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::checked_state::CheckedState;
use super::environment::EnvironmentDigest;
use crate::base::clock::Timestamp;
use crate::base::file::create_private_dir;
use crate::base::ids::RunId;
use crate::base::lossless::Lossless;
use crate::config::StateDir;
use crate::run::CommandEnd;
use crate::whitelist::Check;

/// Version of the spool format; a reader leaves a file with a higher one alone.
pub const SPOOL_SCHEMA: u32 = 2;

/// The first line of a spool file, and (without output) a line of the pass log.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SpoolHeader {
    /// [`SPOOL_SCHEMA`] of the writer.
    pub schema: u32,
    /// The run's id, which is also its event's id: recording is idempotent by it.
    pub run: RunId,
    /// The command as typed, without verify-run and its options.
    pub argv: Vec<Lossless>,
    /// The working directory, absolute.
    pub cwd: Lossless,
    /// Work tree of the run, with what is checked out.
    #[serde(alias = "place")]
    pub repository: RepositoryHead,
    /// When the child was started.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Timestamp,
    /// Wall time by the monotonic clock, microseconds.
    pub duration_us: u64,
    /// How it ended.
    pub ended: CommandEnd,
    /// The recognised check; `None` under `--record`.
    pub check: Option<Check>,
    /// The command key, hex; see DESIGN's "command key".
    pub key: String,
    /// Task, session and agent as far as the wrapper can tell from its options and environment.
    pub identity: Identity,
    /// Bytes of output kept, in the order in which they were relayed.
    pub kept_bytes: u64,
    /// Bytes cut out between head and tail.
    pub cut_bytes: u64,
    /// Offset in the kept bytes where the cut is; meaningful when `cut_bytes` > 0.
    pub cut_at: u64,
    /// Output was a file that other processes may have written to meanwhile.
    #[serde(default)]
    pub shared: bool,
    /// Some output went to a device, or to a reader that left before the end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partly_seen: bool,
    /// A reader of the output left before the end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reader_left: bool,
    /// SIGINT or SIGTERM came while the command ran.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// A failing command read from a terminal.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub on_terminal: bool,
    /// The output was redacted before it was spooled (fallback folders in the work tree).
    #[serde(default)]
    pub redacted: bool,
    /// Environment of the run; in spool files alone.
    #[serde(default, alias = "around", skip_serializing_if = "Option::is_none")]
    pub environment: Option<EnvironmentDigest>,
    /// Who saw it, where no wrapper did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_via: Option<ObservedVia>,
    /// The agent's name for the call that it saw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// What a receipt of the run is about; only under `--reuse`, of a pass that can have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked_state: Option<Box<CheckedState>>,
    /// The git tree that the run saw, where it ran on a copy of one: the work tree may be another one since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
}

/// Who saw a run that no wrapper preceded. What it knows is less: the whole line's exit code, output that was
/// shortened, no environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ObservedVia {
    /// A hook of the agent that ran it.
    Hook,
}

/// A work tree and what is checked out in it: so that a spool file in a fallback folder is recorded in the right store.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RepositoryHead {
    /// [`crate::config::Places::root`].
    pub root: Lossless,
    /// Content of the work tree's `HEAD` (`ref: refs/heads/main` or a hash), trimmed.
    #[serde(default)]
    pub head: Option<String>,
    /// The commit, when `HEAD` or its loose ref gave it.
    #[serde(default)]
    pub commit: Option<String>,
}

/// Who ran it, for what. `None` is filled in by the recorder's rules (DESIGN section 2).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Identity {
    /// `--task` or `VERIFY_RUN_TASK`.
    pub task: Option<String>,
    /// `--session`, `VERIFY_RUN_SESSION`, a host agent's session id, else the terminal session (`tty-<sid>`).
    pub session: Option<String>,
    /// `--agent`, `VERIFY_RUN_AGENT`, else detected (`claude-code`, …), `ci` or `human`.
    pub agent: Option<String>,
    /// `VERIFY_RUN_MODEL`, else the language model that the agent names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// `VERIFY_RUN_PHASE`, as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
}

/// A spool file read back.
#[derive(Debug, Clone)]
pub struct SpooledRun {
    /// Its header.
    pub header: SpoolHeader,
    /// The output, at most head + tail of the capture limits.
    pub output: Vec<u8>,
}

impl SpoolHeader {
    /// The header as the first line of a spool file, with its newline.
    pub fn line(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }
}

/// Writes `<state>/spool/<run>.spool` whole or not at all, readable by the user alone, and creates the folders. Not
/// synced: it has to survive this process, not the machine.
///
/// # Errors
/// The operating system's; nothing stays behind.
pub fn write(state: &StateDir, header: &SpoolHeader, output: &[&[u8]]) -> io::Result<()> {
    let folder = state.spool();
    let name = header.run.to_string();
    let unfinished = folder.join(format!(".tmp-{name}"));
    let result = create(&unfinished, &folder).and_then(|mut file| {
        file.write_all(&header.line())?;
        output.iter().try_for_each(|piece| file.write_all(piece))?;
        fs::rename(&unfinished, folder.join(format!("{name}.spool")))
    });
    if result.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    result
}

fn create(path: &Path, folder: &Path) -> io::Result<fs::File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            create_private_dir(folder)?;
            options.open(path)
        }
        result => result,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    pub(crate) fn header() -> SpoolHeader {
        SpoolHeader {
            schema: SPOOL_SCHEMA,
            run: RunId::fresh(),
            argv: vec![Lossless::from("false")],
            cwd: Lossless::from("/work"),
            repository: RepositoryHead { root: Lossless::from("/work"), head: None, commit: None },
            started_at: Timestamp(0),
            ended_at: Timestamp(1),
            duration_us: 1,
            ended: CommandEnd::Exit(1),
            check: None,
            key: "0".repeat(32),
            identity: Identity::default(),
            kept_bytes: 0,
            cut_bytes: 0,
            cut_at: 0,
            shared: false,
            partly_seen: false,
            reader_left: false,
            interrupted: false,
            on_terminal: false,
            redacted: false,
            environment: None,
            observed_via: None,
            call: None,
            checked_state: None,
            tree: None,
        }
    }

    #[test]
    fn a_spool_file_is_whole_and_private() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let header = SpoolHeader { kept_bytes: 7, ..header() };
        let state = StateDir::from(dir.path());
        write(&state, &header, &[b"a\xff\n", b"", b"bcd\n"]).expect("written");
        let folder = state.spool();
        let names: Vec<_> = fs::read_dir(&folder).expect("folder").flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(names, [format!("{}.spool", header.run).as_str()]);
        let path = folder.join(&names[0]);
        assert_eq!(fs::metadata(&path).expect("metadata").permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(folder).expect("metadata").permissions().mode() & 0o777, 0o700);
        let back = SpooledRun::parse(&fs::read(path).expect("read")).expect("parsed");
        assert_eq!((back.header.run, back.output.as_slice()), (header.run, &b"a\xff\nbcd\n"[..]));
    }
}
