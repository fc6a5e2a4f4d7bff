//! The spool file: one JSON header line, then the captured bytes as they came.

use serde::{Deserialize, Serialize};

use crate::base::clock::Timestamp;
use crate::base::ids::RunId;
use crate::base::lossless::Lossless;
use crate::run::Ended;
use crate::whitelist::Check;

/// Version of the spool format; a reader leaves a file with a higher one alone.
pub const SPOOL_SCHEMA: u32 = 1;

/// The first line of a spool file, and (without output) a line of the pass log.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Header {
    /// [`SPOOL_SCHEMA`] of the writer.
    pub schema: u32,
    /// The run's id, which is also its event's id: recording is idempotent by it.
    pub run: RunId,
    /// The command as typed, without verify-run and its options.
    pub argv: Vec<Lossless>,
    /// The working directory, absolute.
    pub cwd: Lossless,
    /// Where the run belongs.
    pub place: Place,
    /// When the child was started.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Timestamp,
    /// Wall time by the monotonic clock, microseconds.
    pub duration_us: u64,
    /// How it ended.
    pub ended: Ended,
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
    /// The output was redacted before it was spooled (fallback folders in the work tree).
    #[serde(default)]
    pub redacted: bool,
}

/// Where a run belongs: so that a spool found in a fallback folder is recorded in the right store.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Place {
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
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Identity {
    /// `--task` or `VERIFY_RUN_TASK`.
    pub task: Option<String>,
    /// `--session`, `VERIFY_RUN_SESSION`, a host agent's session id, else the terminal session (`tty-<sid>`).
    pub session: Option<String>,
    /// `--agent`, `VERIFY_RUN_AGENT`, else detected (`claude-code`, …), `ci` or `human`.
    pub agent: Option<String>,
}

/// A spool file read back.
#[derive(Debug, Clone)]
pub struct Spooled {
    /// Its header.
    pub header: Header,
    /// The output, at most head + tail of the capture limits.
    pub output: Vec<u8>,
}
