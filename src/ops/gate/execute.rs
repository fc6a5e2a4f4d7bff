//! Runs the commands of an evaluation: checks as ordinary recorded runs, measuring tools bare.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;

use crate::base::clock::Timestamp;
use crate::base::lossless::Lossless;
use crate::capture::GATE_AGENT;
use crate::diagnose::{self, count_ran};
use crate::fix::find_on_search_path;
use crate::host::process::{LongAnswer, OrphanReaper, ProcessCall, ReadStreams, run_long};
use crate::ops::last::{LastFailure, run_by_id};
use crate::ops::receipt::find_typed_receipt;
use crate::ops::request::Request;
use crate::store::RunFilter;

/// Time that processes of a command have to end after it.
const ORPHAN_TIME: Duration = Duration::from_secs(1);
/// Recorded runs that are looked at for the one that just ended.
const RUNS_MAX: usize = 20;
/// What the wrapper says before it names the receipt that replaced a run.
const REUSED: &str = "verify-run: reused: ";

/// A command to run.
#[derive(Debug)]
pub(super) struct GateCommand<'a> {
    /// Program and arguments.
    pub argv: &'a [String],
    /// The program as a file.
    pub program: &'a Path,
    /// The working directory.
    pub dir: PathBuf,
    /// The id of the evaluation.
    pub evaluation: &'a str,
    /// The feature, as data for the command.
    pub feature: &'a str,
    /// How long it may take.
    pub limit: Duration,
    /// Whether a receipt of the same command on the same tree may replace a run.
    pub reuses: bool,
    /// The item, of a command of the checklist's own.
    pub item: Option<&'a str>,
    /// The words as the policy has them, where a package runner was left out: what a person types.
    pub as_written: Option<&'a [String]>,
}

/// A command that ended.
#[derive(Debug)]
pub(super) struct CommandResult {
    /// The exit code; `None` when it was ended by a signal or by its time limit.
    pub code: Option<i32>,
    /// Whether its time was up.
    pub is_late: bool,
    /// What it printed, secrets replaced, without terminal control.
    pub text: String,
    /// The same as raw bytes, for counting.
    pub output: Vec<u8>,
    /// Whether a part of the output was not read.
    pub is_cut: bool,
    /// What failed, as it was recorded; empty of a bare run.
    pub failures: Vec<LastFailure>,
    /// The receipt that replaced the run: `passed 3 min ago on this tree (e-…), 41 tests`.
    pub reused: Option<String>,
}

impl CommandResult {
    /// A pass that a receipt is evidence of.
    fn from_receipt(receipt: String) -> Self {
        let (text, output) = (String::new(), Vec::new());
        let (is_late, is_cut, failures) = (false, false, Vec::new());
        CommandResult { code: Some(0), is_late, text, output, is_cut, failures, reused: Some(receipt) }
    }

    /// Tests that ran, as the runner's closing line or the receipt says.
    pub(super) fn count_tests(&self) -> Option<u64> {
        match &self.reused {
            Some(receipt) => receipt.rsplit(", ").next()?.split(' ').next()?.parse().ok(),
            None => count_ran(&self.output).tests.filter(|_| !self.is_cut),
        }
    }
}

/// Runs a check as if a person had typed it after `verify-run`: it is recorded, diagnosed and learnt from.
///
/// # Errors
/// When it can't be started.
pub(super) fn run_check(request: &Request, command: &GateCommand<'_>) -> anyhow::Result<CommandResult> {
    if let Some(receipt) = command.as_written.filter(|_| command.reuses).and_then(|it| find_typed(request, command, it))
    {
        return Ok(CommandResult::from_receipt(receipt));
    }
    let own = std::env::current_exe().context("cannot find verify-run's own program")?;
    let options = ["--sync", "--record", "--agent", GATE_AGENT];
    let reuse: &[&str] = if command.reuses { &["--reuse", "--"] } else { &["--"] };
    let argv: Vec<OsString> = std::iter::once(own.into_os_string())
        .chain(options.iter().chain(reuse).map(OsString::from))
        .chain(command.argv.iter().map(OsString::from))
        .collect();
    let since = request.now();
    let answer = run_argv(command, &argv, ReadStreams::Both)?;
    let mut result = result_of(answer);
    if command.reuses {
        take_notes_of_reuse(&mut result);
    }
    if result.code != Some(0) {
        result.failures = recorded_failures(request, command, since);
    }
    Ok(result)
}

/// What is said of a receipt of the command as a person types it.
fn find_typed(request: &Request, command: &GateCommand<'_>, words: &[String]) -> Option<String> {
    let argv: Vec<OsString> = words.iter().map(OsString::from).collect();
    let line = find_typed_receipt(&request.clone().with_cwd(command.dir.clone()), &argv)?;
    line.strip_prefix(REUSED).map(str::to_owned)
}

/// Runs a measuring tool: what it prints is read and not recorded.
///
/// # Errors
/// When it can't be started.
pub(super) fn run_tool(command: &GateCommand<'_>) -> anyhow::Result<CommandResult> {
    let argv: Vec<OsString> = command.argv.iter().map(OsString::from).collect();
    Ok(result_of(run_argv(command, &argv, ReadStreams::Stdout)?))
}

fn run_argv(command: &GateCommand<'_>, argv: &[OsString], streams: ReadStreams) -> anyhow::Result<LongAnswer> {
    let path = search_path(command);
    let variables = [
        ("PATH", Some(path.as_os_str())),
        ("VERIFY_RUN_EVALUATION", Some(OsStr::new(command.evaluation))),
        ("VERIFY_RUN_FEATURE", Some(OsStr::new(command.feature))),
        ("VERIFY_RUN_ITEM", command.item.map(OsStr::new)),
        // Redocly would ask the network for updates.
        ("REDOCLY_TELEMETRY", Some(OsStr::new("off"))),
        ("REDOCLY_SUPPRESS_UPDATE_NOTICE", Some(OsStr::new("true"))),
    ];
    let reaper = OrphanReaper::open();
    let call = ProcessCall { argv, dir: &command.dir, variables: &variables, input: b"", limit: command.limit };
    let answer = run_long(call, streams).with_context(|| format!("cannot start {}", command.argv.join(" ")));
    reaper.end_strangers(ORPHAN_TIME);
    answer
}

/// The process's PATH where that leads to the program, so that the run is the one that a person would have typed; else the
/// project's own program comes first, as its package runner would have it.
fn search_path(command: &GateCommand<'_>) -> OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let Some(folder) = command.program.parent().filter(|folder| folder.is_absolute()) else { return path };
    let name = command.argv.first().map_or("", String::as_str);
    let found = find_on_search_path(name, &command.dir, &path);
    let is_it = |found: &PathBuf| found == command.program || is_same_file(found, command.program);
    if name.contains('/') || found.as_ref().is_some_and(is_it) {
        return path;
    }
    let folders = std::iter::once(folder.to_owned()).chain(std::env::split_paths(&path));
    std::env::join_paths(folders).unwrap_or(path)
}

/// Whether two paths in the same folder, or in links to it, lead to one file. Programs of two folders are two programs,
/// though they are links to one: what they find beside themselves differs.
fn is_same_file(one: &Path, other: &Path) -> bool {
    let folder = |path: &Path| path.parent().and_then(|folder| folder.canonicalize().ok());
    one.file_name() == other.file_name() && folder(one).is_some() && folder(one) == folder(other)
}

fn result_of(answer: LongAnswer) -> CommandResult {
    CommandResult {
        code: answer.status.and_then(|status| status.code()),
        is_late: answer.status.is_none(),
        text: diagnose::plain_text(&answer.output),
        output: answer.output,
        is_cut: answer.cut_bytes > 0,
        failures: Vec::new(),
        reused: None,
    }
}

/// Takes verify-run's own line about reuse out of an output; where it is all that there is, a receipt replaced the run.
fn take_notes_of_reuse(result: &mut CommandResult) {
    let is_note = |line: &&str| {
        [REUSED, "verify-run: not reused: ", "verify-run: no receipt: "].iter().any(|it| line.starts_with(it))
    };
    let others: Vec<&str> = result.text.lines().filter(|line| !is_note(line)).collect();
    let note = result.text.lines().find_map(|line| line.strip_prefix(REUSED));
    result.reused = note.filter(|_| others.is_empty() && result.code == Some(0)).map(str::to_owned);
    result.text = others.join("\n");
}

/// What the run that just ended left in the store; nothing where it can't be found.
fn recorded_failures(request: &Request, command: &GateCommand<'_>, since: Timestamp) -> Vec<LastFailure> {
    let find = || {
        let index = request.open_as_it_is(&mut Vec::new()).ok()??;
        let filter = RunFilter { passed: Some(false), since: Some(since), ..RunFilter::default() };
        let rows = index.runs_under(&Lossless::from(&request.places.root), &filter, RUNS_MAX).ok()?;
        let words = command.argv.iter().map(String::as_str);
        let row = rows.into_iter().find(|row| row.argv.iter().map(Lossless::display).eq(words.clone()))?;
        Some(run_by_id(request, &row.id).ok()?.data.items)
    };
    find().unwrap_or_default()
}
