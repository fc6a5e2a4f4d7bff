//! Runs in the lab, in the form in which runs of the work tree are recorded and diagnosed.

use std::path::Path;

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
pub(crate) struct LabRunCommand<'a> {
    /// Program and arguments.
    pub argv: Vec<Lossless>,
    /// The working directory in the work tree.
    pub dir: &'a Path,
    /// The recognised check.
    pub check: Option<Check>,
    /// The command key.
    pub key: String,
}

/// The header of a run, of no one yet and over no tree.
pub(crate) fn header_of_lab_run(places: &Places, command: LabRunCommand<'_>, run: &LabRun) -> SpoolHeader {
    let ended = match run.outcome {
        CommandOutcome::Exited(code) => CommandEnd::Exit(u8::try_from(code & 0xff).unwrap_or(u8::MAX)),
        CommandOutcome::Killed(signal) => CommandEnd::Signal(signal),
    };
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
        ended,
        check: command.check,
        key: command.key,
        identity: Identity::default(),
        kept_bytes: run.transcript.kept(),
        cut_bytes: run.transcript.cut(),
        cut_at: run.transcript.cut_at(),
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
