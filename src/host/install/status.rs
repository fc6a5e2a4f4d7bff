//! `hook status`: what is installed, and whether it is still as it was written.

use std::path::PathBuf;

use serde::Serialize;

use super::InstallError;
use super::ledger::{Ledger, hash};
use super::site;
use super::transaction::read_if_present;
use crate::advice::block;
use crate::config::{Environment, Places, Problem};
use crate::host::InstallScope;
use crate::host::agent::{self, AGENTS, HookWishes};
use crate::host::document::{self, WrittenDocument};

/// The state of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum InstallState {
    /// As it was written.
    AsWritten,
    /// Edited since, with all our entries in it.
    Edited,
    /// Edited since, and verify-run's entries differ from what this version writes.
    Incomplete,
    /// verify-run's entries are as an earlier version wrote them.
    Outdated,
    /// The file is gone.
    Gone,
    /// It has our entries, but was not written from here.
    FoundHere,
}

impl InstallState {
    /// For people.
    pub(crate) fn state_text(self) -> &'static str {
        match self {
            InstallState::AsWritten => "as written",
            InstallState::Edited => "edited since",
            InstallState::Incomplete => "incomplete",
            InstallState::Outdated => "written by an earlier version",
            InstallState::Gone => "gone",
            InstallState::FoundHere => "not written from here",
        }
    }
}

/// A file that is installed.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct InstalledFile {
    /// For which hosts.
    pub hosts: Vec<String>,
    /// Absolute.
    pub path: PathBuf,
    /// Its state.
    pub state: InstallState,
    /// Whether it is in the home folder or in the project, as `user` in JSON.
    #[serde(rename = "user", serialize_with = "serialize_as_user")]
    #[cfg_attr(test, schemars(with = "bool"))]
    pub scope: InstallScope,
    /// It was written from here.
    #[serde(skip)]
    pub recorded: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn serialize_as_user<S: serde::Serializer>(scope: &InstallScope, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bool(scope.is_user())
}

/// What `hook status --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct InstallStatus {
    /// Every file, those of the project first.
    pub files: Vec<InstalledFile>,
    /// Files that can't be read, or take no entries.
    pub problems: Vec<Problem>,
    /// Agents of which something is in the project, but nothing of verify-run.
    pub missing: Vec<&'static str>,
}

/// What is installed in the project and in the home folder.
///
/// # Errors
/// When the record of it can't be read.
pub(crate) fn find_status(places: &Places, environment: &Environment) -> Result<InstallStatus, InstallError> {
    let mut status = InstallStatus { files: Vec::new(), problems: Vec::new(), missing: Vec::new() };
    for scope in [InstallScope::Project, InstallScope::User] {
        if scope.is_user() && environment.home.is_none() {
            continue;
        }
        let ledger = Ledger::open_ledger(places, environment, scope)?;
        let planned = plan_everything(places, environment, scope, &ledger);
        for entry in ledger.all_entries() {
            let path = entry.path.path();
            let is_outdated = planned.edits.iter().any(|edit| edit.change.path == path && edit.is_outdated);
            let state = match read_if_present(path) {
                Ok(None) => InstallState::Gone,
                Ok(Some(_)) if is_outdated => InstallState::Outdated,
                Ok(Some(bytes)) if hash(&bytes) == entry.after.hash => InstallState::AsWritten,
                _ => match planned.edits.iter().find(|edit| edit.change.path == path) {
                    Some(edit) if !edit.is_done => InstallState::Incomplete,
                    _ => InstallState::Edited,
                },
            };
            status.files.push(InstalledFile {
                hosts: entry.hosts.clone(),
                path: path.to_owned(),
                state,
                scope,
                recorded: true,
            });
        }
        let is_foreign = |edit: &&agent::AgentFileEdit| {
            (edit.is_done || edit.is_outdated) && ledger.find_entry(&edit.change.path).is_none()
        };
        for edit in planned.edits.iter().filter(is_foreign) {
            let hosts = edit.hosts.iter().map(|host| (*host).to_owned()).collect();
            let state = if edit.is_outdated { InstallState::Outdated } else { InstallState::FoundHere };
            status.files.push(InstalledFile { hosts, path: edit.change.path.clone(), state, scope, recorded: false });
        }
        if !scope.is_user() {
            let is_in = |name: &str| status.files.iter().any(|file| file.hosts.iter().any(|host| host == name));
            let present = AGENTS.iter().filter(|agent| !agent.project.is_empty() && agent.is_in(&places.root));
            status.missing = present.filter(|agent| !is_in(agent.name)).map(|agent| agent.name).collect();
            let concerned = |problem: &&Problem| problem.file.symlink_metadata().is_ok();
            status.problems = planned.problems.iter().filter(concerned).cloned().collect();
        }
    }
    Ok(status)
}

/// What would be written for every agent that there is something of.
fn plan_everything(
    places: &Places,
    environment: &Environment,
    scope: InstallScope,
    ledger: &Ledger,
) -> agent::AgentPlan {
    let site = site::find_site(places, environment, scope);
    let named = |name: &str| ledger.all_entries().iter().any(|entry| entry.hosts.iter().any(|host| host == name));
    let is_there = |agent: &&agent::Agent| {
        named(agent.name)
            || if scope.is_user() {
                site.home.as_deref().is_some_and(|home| agent.is_at_home(home))
            } else {
                agent.is_in(&site.root)
            }
    };
    let agents: Vec<&'static agent::Agent> = AGENTS.iter().filter(is_there).collect();
    let plan = |scope| {
        let wanted = agent::AgentPlanOptions {
            agents: &agents,
            scope,
            servers: true,
            instructions: true,
            wishes: HookWishes::default(),
            allow: &[],
        };
        agent::plan(&site, &wanted, &|path| ledger.original_texts(path))
    };
    if scope.is_user() {
        return plan(scope);
    }
    let mut planned = plan(InstallScope::Project);
    let mentions_us = |edit: &agent::AgentFileEdit| {
        let finds = |bytes: &Vec<u8>| memchr::memmem::find(bytes, b"verify-run").is_some();
        ledger.find_entry(&edit.change.path).is_some() || edit.change.before.as_ref().is_some_and(finds)
    };
    planned.edits.extend(plan(InstallScope::Local).edits.into_iter().filter(mentions_us));
    planned
}

/// A file with verify-run's entries that was not written from here.
pub(super) struct UnrecordedFile {
    pub hosts: Vec<String>,
    pub path: PathBuf,
    /// What is left without them; `None`: nothing.
    pub rest: Option<String>,
}

/// Files with verify-run's entries that were not written from here.
pub(super) fn find_unrecorded(
    places: &Places,
    environment: &Environment,
    scope: InstallScope,
) -> Result<Vec<UnrecordedFile>, InstallError> {
    let ledger = Ledger::open_ledger(places, environment, scope)?;
    let planned = plan_everything(places, environment, scope, &ledger);
    let mut found = Vec::new();
    for edit in planned.edits.iter().filter(|edit| ledger.find_entry(&edit.change.path).is_none()) {
        let Some(current) = edit.change.before.as_deref().and_then(|bytes| std::str::from_utf8(bytes).ok()) else {
            continue;
        };
        let alone = edit.alone.as_str();
        let kind = edit.change.path.extension().and_then(|kind| kind.to_str()).unwrap_or_default();
        let rest = match kind {
            _ if current == alone => Some(String::new()),
            "md" => block::without_instructions(current).ok(),
            "json" | "jsonc" | "toml" => {
                document::take_out(&edit.change.path, WrittenDocument { before: "", after: alone }, current).ok()
            }
            _ => None,
        };
        if let Some(rest) = rest.filter(|rest| rest != current) {
            let hosts = edit.hosts.iter().map(|host| (*host).to_owned()).collect();
            let rest = (!rest.trim().is_empty()).then_some(rest);
            found.push(UnrecordedFile { hosts, path: edit.change.path.clone(), rest });
        }
    }
    Ok(found)
}
