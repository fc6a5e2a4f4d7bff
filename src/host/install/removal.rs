//! `hook uninstall`: every file gets its bytes back. From an edited one only verify-run's entries are removed.

use std::error::Error as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::InstallError;
use super::ledger::{Ledger, LedgerEntry, hash};
use super::plan::ensure_known_hosts;
use super::status::find_unrecorded;
use super::transaction::{mode_of, read_if_present, remove_folders, write_file};
use crate::advice::block;
use crate::config::{Environment, Places, Problem};
use crate::host::document::{self, EditError};
use crate::host::{InstallScope, agent, file};

/// The outcome of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum RemovalOutcome {
    /// It has the bytes from before.
    Restored,
    /// It was ours, and is gone.
    Removed,
    /// It was edited since: our entries are gone, the edits are there.
    TakenOut,
    /// verify-run's entries were already gone.
    Nothing,
    /// It was deleted.
    Gone,
    /// Another host needs it.
    Kept,
}

/// The outcome of one file.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RemovedFile {
    /// Absolute.
    pub path: PathBuf,
    /// For which hosts it was.
    pub hosts: Vec<String>,
    /// Its outcome.
    pub outcome: RemovalOutcome,
}

/// What `hook uninstall --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RemovalReport {
    /// Files that were looked at.
    pub files: Vec<RemovedFile>,
    /// Files that are left alone, with the reason.
    pub problems: Vec<Problem>,
    /// What else is worth knowing.
    pub notes: Vec<String>,
}

/// Takes out what was installed for the hosts of these names; for all of them where none is named.
///
/// # Errors
/// When a name is no host's, or what was installed can't be read.
pub(crate) fn uninstall_hosts(
    places: &Places,
    environment: &Environment,
    scope: InstallScope,
    names: &[String],
) -> Result<RemovalReport, InstallError> {
    ensure_known_hosts(names)?;
    let mut report = RemovalReport { files: Vec::new(), problems: Vec::new(), notes: Vec::new() };
    if !Ledger::open_ledger(places, environment, scope)?.all_entries().is_empty() {
        let mut ledger = Ledger::open_for_change(places, environment, scope)?;
        let entries: Vec<LedgerEntry> = ledger.all_entries().to_vec();
        for entry in entries.into_iter().rev() {
            let left: Vec<String> = entry.hosts.iter().filter(|host| !is_meant(names, host)).cloned().collect();
            if left.len() == entry.hosts.len() {
                continue;
            }
            remove_entry(&mut ledger, entry, left, &mut report)?;
        }
        ledger.save_ledger()?;
    }
    remove_unrecorded(places, environment, scope, names, &mut report)?;
    Ok(report)
}

fn is_meant(names: &[String], host: &str) -> bool {
    names.is_empty() || names.iter().any(|name| name == host)
}

fn remove_entry(
    ledger: &mut Ledger,
    entry: LedgerEntry,
    left: Vec<String>,
    report: &mut RemovalReport,
) -> Result<(), InstallError> {
    let path = entry.path.path().to_owned();
    let mut done = |outcome| report.files.push(RemovedFile { path: path.clone(), hosts: entry.hosts.clone(), outcome });
    if !left.is_empty() {
        done(RemovalOutcome::Kept);
        ledger.set_entry(LedgerEntry { hosts: left, ..entry });
        return Ok(());
    }
    match take_out(ledger, &entry) {
        Ok(outcome) => {
            remove_folders(&entry);
            done(outcome);
            ledger.forget_entry(&path);
        }
        Err(problem) => report.problems.push(*problem),
    }
    Ok(())
}

fn take_out(ledger: &Ledger, entry: &LedgerEntry) -> Result<RemovalOutcome, Box<Problem>> {
    let path = entry.path.path();
    let failed = |reason: String| Box::new(file::troubled(path, EditError { line: None, reason, by_hand: false }));
    let current = read_if_present(path).map_err(|error| failed(format!("it can't be read: {error}")))?;
    let Some(current) = current else { return Ok(RemovalOutcome::Gone) };
    let digest = hash(&current);
    if entry.before.as_ref().is_some_and(|before| before.hash == digest) {
        return Ok(RemovalOutcome::Nothing);
    }
    let put = |bytes: Option<&[u8]>, mode: u32| match bytes {
        Some(bytes) => write_file(path, bytes, mode).map_err(|error| failed(format!("it can't be written: {error}"))),
        None => fs::remove_file(path).map_err(|error| failed(format!("it can't be removed: {error}"))),
    };
    if digest == entry.after.hash {
        let Some(before) = &entry.before else { return put(None, 0).map(|()| RemovalOutcome::Removed) };
        let bytes = ledger.content_bytes(before).map_err(|error| failed(with_source(&error)))?;
        return put(Some(&bytes), before.mode).map(|()| RemovalOutcome::Restored);
    }
    let rest = text_without_own(ledger, entry, &current).map_err(|trouble| {
        let hint = format!("${{EDITOR:-vi}} {}", file::quoted(path));
        Box::new(Problem { hint, ..file::troubled(path, trouble) })
    })?;
    if rest.trim().is_empty() && entry.before.is_none() {
        return put(None, 0).map(|()| RemovalOutcome::Removed);
    }
    if rest.as_bytes() == current {
        return Ok(RemovalOutcome::Nothing);
    }
    put(Some(rest.as_bytes()), mode_of(path).unwrap_or(entry.after.mode)).map(|()| RemovalOutcome::TakenOut)
}

/// The error with its cause.
fn with_source(error: &InstallError) -> String {
    error.source().map_or_else(|| error.to_string(), |source| format!("{error}: {source}"))
}

/// A file that was edited since, without what we wrote.
fn text_without_own(ledger: &Ledger, entry: &LedgerEntry, current: &[u8]) -> Result<String, EditError> {
    let lost = |reason: &str| EditError { line: None, reason: reason.to_owned(), by_hand: false };
    let current = std::str::from_utf8(current).map_err(|_| lost("it is not UTF-8 any more"))?;
    let path = entry.path.path();
    if is_markdown(path) {
        return block::without_instructions(current).map_err(|error| agent::of(&error));
    }
    let written = ledger.original_texts(path).ok_or_else(|| lost("its earlier content is lost"))?;
    document::take_out(path, written.borrowed(), current)
}

fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|kind| kind == "md")
}

/// verify-run's entries that came with the repository. They are removed where their host was named.
fn remove_unrecorded(
    places: &Places,
    environment: &Environment,
    scope: InstallScope,
    names: &[String],
    report: &mut RemovalReport,
) -> Result<(), InstallError> {
    for there in find_unrecorded(places, environment, scope)? {
        let handled = report.files.iter().any(|file| file.path == there.path)
            || report.problems.iter().any(|problem| problem.file == there.path);
        if handled || !there.hosts.iter().any(|host| is_meant(names, host)) {
            continue;
        }
        if names.is_empty() {
            let (path, host) = (there.path.display(), &there.hosts[0]);
            let how = format!("verify-run hook uninstall {host}");
            report.notes.push(format!("{path} calls verify-run, but was not written from here; to remove that: {how}"));
            continue;
        }
        let outcome = match &there.rest {
            Some(rest) => {
                write_file(&there.path, rest.as_bytes(), mode_of(&there.path).unwrap_or(0o644))
                    .map_err(InstallError::file("write", &there.path))?;
                RemovalOutcome::TakenOut
            }
            None => {
                fs::remove_file(&there.path).map_err(InstallError::file("remove", &there.path))?;
                RemovalOutcome::Removed
            }
        };
        report.files.push(RemovedFile { path: there.path, hosts: there.hosts, outcome });
    }
    Ok(())
}
