//! Runs without a wrapper around them, in the lab or by the gate, in the form in which wrapped ones are recorded and
//! diagnosed.

use std::path::Path;
use std::time::Duration;

use crate::base::clock::Timestamp;
use crate::base::ids::RunId;
use crate::base::lossless::Lossless;
use crate::capture::{Identity, RepositoryHead, SPOOL_SCHEMA, SpoolHeader};
use crate::config::Places;
use crate::lab::{CommandOutcome, LabRun};
use crate::run::CommandEnd;
use crate::whitelist::Check;

/// What was run.
#[derive(Debug, Clone)]
pub(crate) struct UnwrappedCommand<'a> {
    /// Program and arguments.
    pub argv: Vec<Lossless>,
    /// The working directory in the work tree.
    pub dir: &'a Path,
    /// The recognised check.
    pub check: Option<Check>,
    /// The command key.
    pub key: String,
}

/// How a run ended, and how much of its output is there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnwrappedRun {
    pub ended: CommandEnd,
    pub started_at: Timestamp,
    pub took: Duration,
    /// Bytes of the output that are kept.
    pub kept_bytes: u64,
    /// Bytes between its start and its end that are not.
    pub cut_bytes: u64,
    /// Where they were.
    pub cut_at: u64,
}

impl From<&LabRun> for UnwrappedRun {
    fn from(run: &LabRun) -> Self {
        let ended = match run.outcome {
            CommandOutcome::Exited(code) => CommandEnd::Exit(u8::try_from(code & 0xff).unwrap_or(u8::MAX)),
            CommandOutcome::Killed(signal) => CommandEnd::Signal(signal),
        };
        UnwrappedRun {
            ended,
            started_at: run.started_at,
            took: run.took,
            kept_bytes: run.transcript.kept(),
            cut_bytes: run.transcript.cut(),
            cut_at: run.transcript.cut_at(),
        }
    }
}

/// The header of a run, of no one yet and over no tree.
pub(crate) fn header_of_run(places: &Places, command: UnwrappedCommand<'_>, run: UnwrappedRun) -> SpoolHeader {
    let micros = u64::try_from(run.took.as_micros()).unwrap_or(u64::MAX);
    SpoolHeader {
        schema: SPOOL_SCHEMA,
        run: RunId::fresh(),
        argv: command.argv,
        cwd: command.dir.into(),
        repository: RepositoryHead::now(places),
        started_at: run.started_at,
        ended_at: Timestamp(run.started_at.0.saturating_add(i64::try_from(micros).unwrap_or(i64::MAX))),
        duration_us: micros,
        ended: run.ended,
        check: command.check,
        key: command.key,
        identity: Identity::default(),
        kept_bytes: run.kept_bytes,
        cut_bytes: run.cut_bytes,
        cut_at: run.cut_at,
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
