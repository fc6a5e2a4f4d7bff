//! `hook status`: what is installed, and whether it is still as it was written.

use std::path::PathBuf;

use serde::Serialize;

use super::ledger::{Ledger, hash};
use super::site;
use super::transaction::read_if_present;
use crate::advice::block;
use crate::config::{Environment, Places, Problem};
use crate::host::agent::{self, AGENTS, InstallScope};
use crate::host::document::{self, Written};

/// How a file stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum InstallState {
    /// As it was written.
    AsWritten,
    /// Edited since, with all our entries in it.
    Edited,
    /// Edited since, and entries of ours are not as this version writes them.
    Incomplete,
    /// Entries of ours stand as an earlier version wrote them.
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
    /// How it stands.
    pub state: InstallState,
    /// In the home folder instead of in the project.
    pub user: bool,
    /// It was written from here.
    #[serde(skip)]
    pub recorded: bool,
}

/// What `hook status --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct InstallStatus {
    /// Version of this shape.
    pub schema: u32,
    /// Every file, those of the project first.
    pub files: Vec<InstalledFile>,
    /// Files that can't be read, or take no entries.
    pub problems: Vec<Problem>,
    /// Agents of which something is in the project, but nothing of ours.
    pub missing: Vec<&'static str>,
}

/// What is installed in the project and in the home folder.
///
/// # Errors
/// When the record of it can't be read.
pub(crate) fn find_status(places: &Places, environment: &Environment) -> anyhow::Result<InstallStatus> {
    let mut status = InstallStatus { schema: 1, files: Vec::new(), problems: Vec::new(), missing: Vec::new() };
    for user in [false, true] {
        if user && environment.home.is_none() {
            continue;
        }
        let ledger = Ledger::open_ledger(places, environment, user)?;
        let planned = plan_everything(places, environment, user, &ledger);
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
                user,
                recorded: true,
            });
        }
        let is_foreign =
            |edit: &&agent::Edit| (edit.is_done || edit.is_outdated) && ledger.find_entry(&edit.change.path).is_none();
        for edit in planned.edits.iter().filter(is_foreign) {
            let hosts = edit.hosts.iter().map(|host| (*host).to_owned()).collect();
            let state = if edit.is_outdated { InstallState::Outdated } else { InstallState::FoundHere };
            status.files.push(InstalledFile { hosts, path: edit.change.path.clone(), state, user, recorded: false });
        }
        if !user {
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
fn plan_everything(places: &Places, environment: &Environment, user: bool, ledger: &Ledger) -> agent::AgentPlan {
    let site = site::find_site(places, environment, user);
    let named = |name: &str| ledger.all_entries().iter().any(|entry| entry.hosts.iter().any(|host| host == name));
    let is_there = |agent: &&agent::Agent| {
        named(agent.name)
            || if user {
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
            rewrite: false,
            allow: &[],
        };
        agent::plan(&site, &wanted, &|path| ledger.original_texts(path))
    };
    if user {
        return plan(InstallScope::Home);
    }
    let mut planned = plan(InstallScope::Project);
    let mentions_us = |edit: &agent::Edit| {
        let finds = |bytes: &Vec<u8>| memchr::memmem::find(bytes, b"verify-run").is_some();
        ledger.find_entry(&edit.change.path).is_some() || edit.change.before.as_ref().is_some_and(finds)
    };
    planned.edits.extend(plan(InstallScope::Local).edits.into_iter().filter(mentions_us));
    planned
}

/// A file with entries of ours that was not written from here.
pub(super) struct Unrecorded {
    pub hosts: Vec<String>,
    pub path: PathBuf,
    /// What is left without them; `None`: nothing.
    pub rest: Option<String>,
}

/// Files with entries of ours that were not written from here.
pub(super) fn find_unrecorded(
    places: &Places,
    environment: &Environment,
    user: bool,
) -> anyhow::Result<Vec<Unrecorded>> {
    let ledger = Ledger::open_ledger(places, environment, user)?;
    let planned = plan_everything(places, environment, user, &ledger);
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
                document::take_out(&edit.change.path, Written { before: "", after: alone }, current).ok()
            }
            _ => None,
        };
        if let Some(rest) = rest.filter(|rest| rest != current) {
            let hosts = edit.hosts.iter().map(|host| (*host).to_owned()).collect();
            let rest = (!rest.trim().is_empty()).then_some(rest);
            found.push(Unrecorded { hosts, path: edit.change.path.clone(), rest });
        }
    }
    Ok(found)
}
