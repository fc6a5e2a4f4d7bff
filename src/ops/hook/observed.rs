//! A check whose end a hook reported.

use std::ffi::OsString;

use crate::base::clock::Timestamp;
use crate::base::ids::RunId;
use crate::base::lossless::Lossless;
use crate::capture::{ObservedVia, RepositoryHead, SPOOL_SCHEMA, SpoolHeader, SpooledRun};
use crate::command::{LineStep, ShellLine};
use crate::config::is_disabled;
use crate::host::dialect::{HookAction, HookCall, HostCommandEnd};
use crate::ops::request::Request;
use crate::run::CommandEnd;
use crate::whitelist::{self, Check, Whitelist};

/// Output that is kept, bytes; hosts show less.
const OUTPUT_BYTES_MAX: usize = 256 << 10;

/// A check with what the host shows of it.
pub(super) struct ObservedCheck {
    /// As a wrapper would have spooled it.
    pub spooled: SpooledRun,
    /// To be recorded: no wrapper preceded it as far as the line says, and it is worth a record.
    pub is_new: bool,
}

/// The check that has ended, if one has.
pub(super) fn observed_check(request: &Request, call: &HookCall) -> Option<ObservedCheck> {
    let (HookAction::Shell(line), Some(ending)) = (&call.action, &call.ended) else { return None };
    let wrapped = is_wrapped(line);
    let whitelist = Whitelist::open(&request.places, &request.environment);
    let check = whitelist.decide_line(line).into_check().or_else(|| behind_wrapper(&whitelist, line))?;
    let argv: Vec<OsString> = ["sh", "-c", line].map(OsString::from).to_vec();
    let root = request.places.repository.as_ref().and_then(|repository| repository.worktree.clone());
    let key =
        whitelist::command_key(root.as_deref().unwrap_or(&request.places.root), &request.cwd, Some(&check), &argv);
    // A pass says something only where it ends an open failure, and only of a check whose code the line's code is.
    let ends_failure = ending.code == 0 && check.status_is_own && request.places.state.open_marker(&key).exists();
    let is_new = !wrapped && (ending.code != 0 || ends_failure) && !is_disabled();
    let run = (argv, key, call.id.as_deref());
    Some(ObservedCheck { spooled: spool_observed(request, ending, check, run), is_new })
}

fn spool_observed(
    request: &Request,
    ending: &HostCommandEnd,
    check: Check,
    (argv, key, call): (Vec<OsString>, String, Option<&str>),
) -> SpooledRun {
    let ended_at = request.now();
    let duration_us = ending.duration_ms.unwrap_or(0).saturating_mul(1_000);
    let started_at = Timestamp(ended_at.0.saturating_sub(i64::try_from(duration_us).unwrap_or(0)));
    let said = ending.output.as_deref().unwrap_or_default();
    let end = said.floor_char_boundary(OUTPUT_BYTES_MAX);
    let output = said.as_bytes()[..end].to_vec();
    let header = SpoolHeader {
        schema: SPOOL_SCHEMA,
        run: RunId::fresh(),
        argv: argv.iter().map(Lossless::from).collect(),
        cwd: Lossless::from(&request.cwd),
        repository: RepositoryHead::now(&request.places),
        started_at,
        ended_at,
        duration_us,
        ended: CommandEnd::Exit(ending.code),
        check: Some(check),
        key,
        identity: request.identity.clone(),
        kept_bytes: output.len() as u64,
        cut_bytes: (said.len() - end) as u64,
        cut_at: output.len() as u64,
        shared: false,
        partly_seen: ending.output.is_none(),
        reader_left: false,
        interrupted: false,
        on_terminal: false,
        redacted: false,
        environment: None,
        observed_via: Some(ObservedVia::Hook),
        call: call.map(str::to_owned),
        checked_state: None,
        tree: None,
    };
    SpooledRun { header, output }
}

/// Whether a wrapper is in the line.
fn is_wrapped(line: &str) -> bool {
    match ShellLine::parse(line) {
        // What `eval` is given is a line of its own.
        Ok(parsed) if line_words(&parsed).any(|word| word == "eval") => line.contains("verify-run"),
        Ok(parsed) => line_words(&parsed).any(is_us),
        Err(_) => line.contains("verify-run"),
    }
}

/// The check that a wrapper was put before, for what is said about its failure.
fn behind_wrapper(whitelist: &Whitelist, line: &str) -> Option<Check> {
    let parsed = ShellLine::parse(line).ok()?;
    let simple = parsed.steps.iter().find_map(|step| match step {
        LineStep::Run(simple) if simple.words.iter().any(|word| is_us(word)) => Some(simple),
        _ => None,
    })?;
    let start = simple.words.iter().position(|word| is_us(word))? + 1;
    let rest = simple.words[start..].iter().skip_while(|word| word.starts_with('-'));
    let argv: Vec<OsString> = rest.map(OsString::from).collect();
    whitelist.decide_command(&argv).into_check()
}

fn line_words(line: &ShellLine) -> impl Iterator<Item = &str> {
    line.steps
        .iter()
        .flat_map(|step| match step {
            LineStep::Run(simple) => simple.words.as_slice(),
            _ => &[],
        })
        .map(String::as_str)
}

fn is_us(word: &str) -> bool {
    word.rsplit('/').next() == Some("verify-run")
}
