//! What setting hosts up would write, as a plan that is shown before it is applied.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::ledger::Ledger;
use super::transaction::{FinishedFile, HostedChange, install_changes};
use super::{InstallError, site};
use crate::advice::diff;
use crate::config::{Environment, Places, Problem, Settings};
use crate::host::agent::{self, AGENTS, Agent, HookWishes};
use crate::host::survey::ProjectSurvey;
use crate::host::{ConfigFileChange, InstallScope, InstallSite, PlannedHost, git};
use crate::whitelist::Whitelist;

/// A host that isn't an agent.
pub(super) struct HostPlanner {
    /// As it is named on the command line.
    pub name: &'static str,
    /// What it needs in a project.
    pub plan: fn(&InstallSite, &Places, &Environment) -> PlannedHost,
    /// Whether it is set up without being named.
    pub unasked: bool,
}

/// Hosts that aren't agents, each with what plans it.
pub(super) const PLANNERS: &[HostPlanner] = &[HostPlanner { name: "git", plan: git_hooks, unasked: true }];
/// The name under which the instructions for everybody are a host.
const INSTRUCTIONS: &str = "instructions";
/// What hooks have where commands are replaced although that allows them.
const REWRITES: &str = " pre-tool --rewrite";

/// What to set up.
#[derive(Debug, Clone, Default)]
pub(crate) struct InstallOptions {
    /// Hosts that were named.
    pub hosts: Vec<String>,
    /// Only these; else those that are found here, too.
    pub only: bool,
    /// No MCP server.
    pub no_servers: bool,
    /// No instructions for agents.
    pub no_instructions: bool,
    /// In whose configuration.
    pub scope: InstallScope,
    /// Replace commands also where that allows them.
    pub rewrite: bool,
    /// Ask agents that end their turn to go on while the gate rejects their work.
    pub gate_stop: bool,
    /// Checks that may run without asking.
    pub allow: Vec<String>,
}

/// A file that is written, or would be.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PlannedFile {
    /// For which hosts.
    pub hosts: Vec<String>,
    /// Absolute.
    pub path: PathBuf,
    /// A few words for the person who is asked.
    pub why: String,
    /// There is no such file yet.
    pub is_new: bool,
    /// It is made executable.
    pub executable: bool,
    /// The change, unified.
    pub diff: String,
    #[serde(skip)]
    change: ConfigFileChange,
}

/// What `init --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct InstallPlan {
    /// What paths in the diffs are relative to: the project's top, or the home folder.
    pub top: PathBuf,
    /// What there is here.
    pub found: ProjectSurvey,
    /// Hosts that are set up.
    pub hosts: Vec<String>,
    /// Files to write; those that are as they should be are left out.
    pub files: Vec<PlannedFile>,
    /// Files that are left alone, with the reason.
    pub problems: Vec<Problem>,
    /// What is left for a person to do, and what else is worth knowing.
    pub notes: Vec<String>,
    /// Whether the files were written.
    pub applied: bool,
    /// Agents that would run checks which nothing records, as no agent lets verify-run replace its commands.
    #[serde(skip)]
    pub offers_rewrite: Vec<&'static str>,
    /// Files that are as they should be.
    #[serde(skip)]
    done: Vec<FinishedFile>,
    /// In whose configuration.
    #[serde(skip)]
    scope: InstallScope,
}

impl InstallPlan {
    /// Whether a file could not be set up as it should be.
    pub(crate) fn has_problems(&self) -> bool {
        self.problems.iter().any(|problem| !problem.warning)
    }
}

/// What setting up would write.
///
/// # Errors
/// When a name is no host's, a command to allow is not a check, or there is no home folder.
pub(crate) fn plan_installation(
    places: &Places,
    environment: &Environment,
    wanted: &InstallOptions,
) -> Result<InstallPlan, InstallError> {
    let site = site::find_site(places, environment, wanted.scope);
    let found = ProjectSurvey::of(&site.root, site.home.as_deref());
    let top = site_top(&site, wanted.scope)?;
    let (mut agents, planners) = chosen_hosts(&found, wanted)?;
    let shared: Vec<&Agent> = agents.iter().copied().filter(|it| wanted.is_local() && it.local.is_empty()).collect();
    agents.retain(|agent| !wanted.is_local() || !agent.local.is_empty());
    allowed_commands(places, environment, wanted, &agents)?;
    let ledger = Ledger::open_ledger(places, environment, wanted.scope)?;
    let is_wanted = |name: &str| !wanted.only || wanted.hosts.iter().any(|host| host == name);
    let planned = agent::plan(
        &site,
        &agent::AgentPlanOptions {
            agents: &agents,
            scope: wanted.scope,
            servers: !wanted.no_servers,
            instructions: !wanted.no_instructions && is_wanted(INSTRUCTIONS),
            wishes: HookWishes { rewrite: wanted.rewrite, stop: wanted.gate_stop },
            allow: &wanted.allow,
        },
        &|path| ledger.original_texts(path),
    );
    let mut plan = InstallPlan {
        top: top.clone(),
        found,
        hosts: agents.iter().map(|agent| agent.name.to_owned()).collect(),
        files: Vec::new(),
        problems: planned.problems,
        notes: planned.notes,
        applied: false,
        offers_rewrite: Vec::new(),
        done: Vec::new(),
        scope: wanted.scope,
    };
    for edit in planned.edits {
        let hosts = edit.hosts.iter().map(|host| (*host).to_owned()).collect();
        plan.take_change(&top, hosts, edit.change, edit.is_done);
    }
    for planner in planners {
        let planned = (planner.plan)(&site, places, environment);
        plan.hosts.push(planner.name.to_owned());
        plan.problems.extend(planned.problems);
        // What is in git's own folder is private to it.
        let is_own = |change: &ConfigFileChange| {
            !wanted.is_local() || !change.path.starts_with(&site.root) || is_gits(places, change)
        };
        for change in planned.changes.into_iter().filter(is_own) {
            plan.take_change(&top, vec![planner.name.to_owned()], change, false);
        }
    }
    plan.say_what_is_left(&agents, wanted);
    plan.say_of_local(&shared, places);
    plan.say_of_unrecorded(&agents, wanted, environment);
    plan.say_of_stops(&agents, wanted);
    plan.say_of_holdout(&Settings::load(places, environment).0);
    Ok(plan)
}

fn is_gits(places: &Places, change: &ConfigFileChange) -> bool {
    places.repository.as_ref().is_some_and(|repository| change.path.starts_with(&repository.common_dir))
}

impl InstallOptions {
    fn is_local(&self) -> bool {
        self.scope == InstallScope::Local
    }
}

impl InstallPlan {
    fn take_change(&mut self, top: &Path, hosts: Vec<String>, change: ConfigFileChange, is_done: bool) {
        let path = change.path.clone();
        if is_done {
            self.done.push(FinishedFile { hosts, path });
            return;
        }
        let name = path.strip_prefix(top).unwrap_or(&path).to_string_lossy().into_owned();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (before, after) = (change.before.as_deref().map(text), text(&change.after));
        let diff = diff::unified_diff(&name, before.as_deref(), Some(&after));
        let (is_new, executable, why) = (before.is_none(), change.executable, change.why.clone());
        self.files.push(PlannedFile { hosts, path, why, is_new, executable, diff, change });
    }

    fn say_what_is_left(&mut self, agents: &[&'static Agent], wanted: &InstallOptions) {
        let new = |name: &str| self.files.iter().any(|file| file.hosts.iter().any(|host| host == name));
        let then: Vec<String> = agents
            .iter()
            .filter(|agent| !agent.then.is_empty() && new(agent.name))
            .map(|agent| agent.then.to_owned())
            .collect();
        self.notes.extend(then);
        if wanted.scope != InstallScope::Project || wanted.only {
            return;
        }
        let elsewhere = self.found.agents_at_home.iter().filter(|name| agents.iter().all(|agent| agent.name != **name));
        let elsewhere: Vec<&str> = elsewhere.copied().collect();
        if !elsewhere.is_empty() {
            let options: Vec<String> = elsewhere.iter().map(|name| format!("--agent {name}")).collect();
            let (list, options) = (elsewhere.join(", "), options.join(" "));
            self.notes.push(format!("also on this machine: {list}; for this project: verify-run init {options}"));
        }
    }
}

impl InstallPlan {
    /// Of uncommitted files: agents that read none, and files that git would take.
    fn say_of_local(&mut self, shared: &[&Agent], places: &Places) {
        for agent in shared {
            let title = agent.title;
            self.notes.push(format!("{title} has no uncommitted project settings: verify-run init --user"));
        }
        let locals: Vec<PathBuf> = AGENTS
            .iter()
            .flat_map(|it| it.local)
            .filter_map(|piece| Some(places.root.join(piece.paths.first()?)))
            .collect();
        for file in self.files.iter().filter(|file| locals.contains(&file.path)) {
            if site::is_ignored(places, &file.path) == Some(false) {
                let name = file.path.strip_prefix(&places.root).unwrap_or(&file.path).display();
                self.notes.push(format!("git does not ignore {name} yet: echo {name} >>.git/info/exclude"));
            }
        }
    }

    /// What some agents run is recorded only where their commands are replaced, or shims are called in their place.
    fn say_of_unrecorded(&mut self, agents: &[&'static Agent], wanted: &InstallOptions, environment: &Environment) {
        if wanted.rewrite || environment.shims_dir().is_some_and(|dir| dir.is_dir()) {
            return;
        }
        let written = self.files.iter().map(|file| String::from_utf8_lossy(&file.change.after).into_owned());
        let done = self.done.iter().filter_map(|file| fs::read_to_string(&file.path).ok());
        let texts: Vec<String> = written.chain(done).collect();
        for agent in agents.iter().filter(|agent| agent.tells_no_exit_codes()) {
            let name = agent.name;
            if texts.iter().any(|text| text.contains(&format!("hook {name}{REWRITES}"))) {
                continue;
            }
            self.offers_rewrite.push(agent.title);
            let option = wanted.scope.folder_option();
            self.notes.push(format!(
                "{} tells hooks no exit codes: a check that it runs is recorded only with `verify-run init{option} \
                 --agent {name} --rewrite` (it then runs checks without asking) or `verify-run shims install`",
                agent.title
            ));
        }
    }

    /// Agents that `--gate-stop` cannot be had for.
    fn say_of_stops(&mut self, agents: &[&'static Agent], wanted: &InstallOptions) {
        for agent in agents.iter().filter(|agent| wanted.gate_stop && !agent.can_keep_going()) {
            self.notes.push(format!("{} lets no hook ask it to go on at the end of a turn", agent.title));
        }
    }

    fn say_of_holdout(&mut self, settings: &Settings) {
        let share = settings.advice.held_out();
        if share <= 0.0 || self.files.is_empty() {
            return;
        }
        self.notes.push(format!(
            "{:.0} % of tasks get no warnings, to measure whether they help; to always warn, set `holdout = false` \
             under `[advice]` in verify-run.toml",
            share * 100.0
        ));
    }
}

fn site_top(site: &InstallSite, scope: InstallScope) -> Result<PathBuf, InstallError> {
    if scope.is_user() { site.home.clone().ok_or(InstallError::NoHomeFolder) } else { Ok(site.root.clone()) }
}

/// The checks that git's hooks run.
fn git_hooks(site: &InstallSite, places: &Places, environment: &Environment) -> PlannedHost {
    let settings = Settings::load(places, environment).0;
    git::plan(site, &Whitelist::open(places, environment), &settings.hooks)
}

/// Who is set up: those that were named, and those that are found here.
fn chosen_hosts(
    found: &ProjectSurvey,
    wanted: &InstallOptions,
) -> Result<(Vec<&'static Agent>, Vec<&'static HostPlanner>), InstallError> {
    ensure_known_hosts(&wanted.hosts)?;
    let named = |name: &str| wanted.hosts.iter().any(|host| host == name);
    let present = if wanted.scope.is_user() { &found.agents_at_home } else { &found.agents };
    let is_chosen = |name: &str| named(name) || !wanted.only && present.contains(&name);
    let agents = AGENTS.iter().filter(|agent| is_chosen(agent.name)).collect();
    let planners =
        PLANNERS.iter().filter(|it| !wanted.scope.is_user() && (named(it.name) || it.unasked && !wanted.only));
    Ok((agents, planners.collect()))
}

/// Whether hosts are called by all of `names`.
pub(super) fn ensure_known_hosts(names: &[String]) -> Result<(), InstallError> {
    let agents = AGENTS.iter().map(|agent| agent.name);
    let known: Vec<&str> = agents.chain(PLANNERS.iter().map(|planner| planner.name)).chain([INSTRUCTIONS]).collect();
    match names.iter().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(InstallError::UnknownHost { name: name.clone(), known: known.join(", ") }),
        None => Ok(()),
    }
}

/// Checks that every allowed command is a single check, and that an agent takes such rules.
fn allowed_commands(
    places: &Places,
    environment: &Environment,
    wanted: &InstallOptions,
    agents: &[&Agent],
) -> Result<(), InstallError> {
    if wanted.allow.is_empty() {
        return Ok(());
    }
    let takes_rules = agents.iter().any(|agent| matches!(agent.name, "claude" | "codex"));
    if !takes_rules {
        return Err(InstallError::NoAgentTakesRules);
    }
    let whitelist = Whitelist::load(places, environment).0;
    for command in &wanted.allow {
        let words = shell_words::split(command).unwrap_or_default();
        // Nothing that a shell or a rule reads as anything but itself.
        let is_word = |c: char| c.is_ascii_alphanumeric() || " -_./:@,+=".contains(c);
        let is_plain = words.join(" ") == *command && command.chars().all(is_word);
        let argv: Vec<std::ffi::OsString> = words.iter().map(Into::into).collect();
        let bytes: Vec<&[u8]> = words.iter().map(String::as_bytes).collect();
        let is_alone = || whitelist.decide_command(&argv).into_check().is_some_and(|check| check.alone);
        let is_check = is_plain && is_alone() && whitelist.ensure_confined(&bytes, &places.root).is_ok();
        if !is_check {
            return Err(InstallError::NotACheck { command: command.clone() });
        }
    }
    Ok(())
}

/// Writes what was planned; all of it or none.
///
/// # Errors
/// When a file was changed since it was planned, or can't be written: then nothing is.
pub(crate) fn apply_plan(
    places: &Places,
    environment: &Environment,
    plan: &mut InstallPlan,
) -> Result<(), InstallError> {
    let changes: Vec<HostedChange<'_>> =
        plan.files.iter().map(|file| HostedChange { hosts: &file.hosts, change: &file.change }).collect();
    install_changes(places, environment, plan.scope, &changes, &plan.done)?;
    plan.applied = true;
    Ok(())
}
