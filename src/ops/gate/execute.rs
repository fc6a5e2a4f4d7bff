//! Runs the commands of an evaluation.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;

use crate::base::clock::Timestamp;
use crate::base::text;
use crate::diagnose::{self, count_ran};
use crate::event::Run;
use crate::fix::find_on_search_path;
use crate::host::process::{LongAnswer, OrphanReaper, ProcessCall, ReadStreams, run_long};
use crate::ops::last::LastFailure;
use crate::ops::unwrapped::UnwrappedRun;
use crate::run::CommandEnd;

/// Time that processes of a command have to end after it.
const ORPHAN_TIME: Duration = Duration::from_secs(1);

/// A line of a tool that is quoted as a reason, bytes.
const REASON_BYTES_MAX: usize = 200;
/// Words of outputs that say why a tool had nothing to do, each with the reason for people.
pub(super) const NOTHING_DONE: [(&str, &str); 8] = [
    ("no test specified", "no test ran: package.json has no test script"),
    ("Missing script: \"test\"", "no test ran: package.json has no test script"),
    ("No test files found", "no test ran: the runner found no test files"),
    ("No tests found", "no test ran: the runner found no tests"),
    ("no tests ran", "no test ran"),
    ("file or directory not found", "no test ran: a folder of the command does not exist"),
    ("couldn't find an eslint.config", "eslint has no configuration"),
    ("No ESLint configuration found", "eslint has no configuration"),
];

/// A command to run.
#[derive(Debug, Clone)]
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
#[derive(Debug, Default)]
pub(super) struct CommandResult {
    /// The exit code; `None` when it was ended by a signal or by its time limit.
    pub code: Option<i32>,
    /// Whether its time was up.
    pub is_late: bool,
    /// Another limit that ended it, for people.
    pub stopped: Option<String>,
    /// What it printed, secrets replaced, without terminal control.
    pub text: String,
    /// The same as raw bytes, for counting.
    pub output: Vec<u8>,
    /// Whether a part of the output was not read.
    pub is_cut: bool,
    /// The run as it was recorded, where it failed; `None` of a bare run.
    pub run: Option<Run>,
    /// The first things that failed in it.
    pub failures: Vec<LastFailure>,
    /// The receipt that replaced the run: `passed 3 min ago on this tree (e-…), 41 tests`.
    pub reused: Option<String>,
}

impl CommandResult {
    /// The result of a command that need not run: a receipt covers it.
    pub(super) fn from_receipt(receipt: String) -> CommandResult {
        CommandResult { code: Some(0), reused: Some(receipt), ..CommandResult::default() }
    }

    /// Things that failed, also those that are not listed.
    pub(super) fn count_failures(&self) -> u64 {
        let failure = self.run.as_ref().and_then(|run| run.failure.as_ref());
        failure.map_or(0, |failure| (failure.items.len() + failure.items_cut) as u64)
    }

    /// Tests that ran, as the runner's closing line or the receipt says.
    pub(super) fn count_tests(&self) -> Option<u64> {
        match &self.reused {
            Some(receipt) => receipt.rsplit(", ").next()?.split(' ').next()?.parse().ok(),
            None => count_ran(&self.output).tests.filter(|_| !self.is_cut),
        }
    }
}

/// A command that was run, with all that it printed.
#[derive(Debug)]
pub(super) struct EndedCommand {
    started_at: Timestamp,
    answer: LongAnswer,
}

impl EndedCommand {
    /// The run as it would be recorded; `None` of one that was ended by its time limit.
    pub(super) fn unwrapped(&self) -> Option<UnwrappedRun> {
        let LongAnswer { status, output, cut_bytes, cut_at, took } = &self.answer;
        let status = (*status)?;
        let exit = status.code().map(|code| CommandEnd::Exit(u8::try_from(code & 0xff).unwrap_or(u8::MAX)));
        Some(UnwrappedRun {
            ended: exit.or_else(|| status.signal().map(CommandEnd::Signal))?,
            started_at: self.started_at,
            took: *took,
            kept_bytes: output.len() as u64,
            cut_bytes: *cut_bytes,
            cut_at: *cut_at,
        })
    }

    /// The same for an item.
    pub(super) fn into_result(self) -> CommandResult {
        result_of(self.answer)
    }
}

/// Runs a check, and reads both its streams in their order.
///
/// # Errors
/// When it can't be started.
pub(super) fn run_both(command: &GateCommand<'_>) -> anyhow::Result<EndedCommand> {
    let argv: Vec<OsString> = command.argv.iter().map(OsString::from).collect();
    let started_at = Timestamp::now();
    Ok(EndedCommand { started_at, answer: run_argv(command, &argv, ReadStreams::Both)? })
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
    let variables = command.variables();
    let variables: Vec<(&str, Option<&OsStr>)> =
        variables.iter().map(|(name, value)| (*name, Some(value.as_os_str()))).collect();
    let reaper = OrphanReaper::open();
    let call = ProcessCall { argv, dir: &command.dir, variables: &variables, input: b"", limit: command.limit };
    let answer = run_long(call, streams).with_context(|| format!("cannot start {}", command.argv.join(" ")));
    reaper.end_strangers(ORPHAN_TIME);
    answer
}

impl GateCommand<'_> {
    /// The variables that the gate sets for its commands.
    pub(super) fn variables(&self) -> Vec<(&'static str, OsString)> {
        vec![
            ("PATH", self.search_path()),
            ("VERIFY_RUN_EVALUATION", self.evaluation.into()),
            ("VERIFY_RUN_FEATURE", self.feature.into()),
            // Redocly would ask the network for updates.
            ("REDOCLY_TELEMETRY", "off".into()),
            ("REDOCLY_SUPPRESS_UPDATE_NOTICE", "true".into()),
        ]
    }

    /// The process's PATH where that leads to the program, so that the run is the one that a person would have typed; else
    /// the project's own program comes first, as its package runner would have it.
    pub(super) fn search_path(&self) -> OsString {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let Some(folder) = self.program.parent().filter(|folder| folder.is_absolute()) else { return path };
        let name = self.argv.first().map_or("", String::as_str);
        let found = find_on_search_path(name, &self.dir, &path);
        let is_it = |found: &PathBuf| found == self.program || is_same_file(found, self.program);
        if name.contains('/') || found.as_ref().is_some_and(is_it) {
            return path;
        }
        let folders = std::iter::once(folder.to_owned()).chain(std::env::split_paths(&path));
        std::env::join_paths(folders).unwrap_or(path)
    }
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
        stopped: None,
        text: diagnose::plain_text(&answer.output),
        output: answer.output,
        is_cut: answer.cut_bytes > 0,
        run: None,
        failures: Vec::new(),
        reused: None,
    }
}

/// A folder below another one. Joined with nothing, a path would end in `/`, and be another one where it is compared.
pub(super) fn folder_in(root: &Path, dir: &str) -> PathBuf {
    if dir.is_empty() { root.to_owned() } else { root.join(dir) }
}

/// Why a tool did not do its job.
pub(super) fn failure_reason(tool: &str, result: &CommandResult) -> String {
    if result.is_late {
        return format!("{tool} was ended by the time limit");
    }
    if let Some(why) = &result.stopped {
        return format!("{tool} was ended: {why}");
    }
    if let Some((_, reason)) = NOTHING_DONE.iter().find(|(words, _)| result.text.contains(words)) {
        return (*reason).to_owned();
    }
    let said = result.text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("it printed nothing");
    let said = text::ellipsis(&text::one_line(said), REASON_BYTES_MAX);
    match result.code {
        Some(code) => format!("{tool} did not do its job (exit code {code}): {said}"),
        None => format!("{tool} was ended by a signal: {said}"),
    }
}
