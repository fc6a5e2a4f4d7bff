//! Whether the hosts really call us: what is installed, what keeps it from being called, and what it answers when it is
//! sent what the host sends.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::finding::{CheckStatus, Finding, new_finding, with_hint};
use super::shells;
use super::trial::TrialProject;
use crate::base::file::read_start;
use crate::base::limits::CONFIG_FILE_BYTES_MAX;
use crate::base::text::{count, one_line};
use crate::config::{Environment, Places};
use crate::host::InstallScope;
use crate::host::agent::probe::{self, ProbeLine};
use crate::host::agent::{self, AGENTS, Agent, ConfigPart};
use crate::host::document::{self, json as jsonc};
use crate::host::file::quoted;
use crate::host::install::{InstallState, InstalledFile, find_status};

/// From here on it is worth a warning, milliseconds.
const SLOW_MS: u128 = 1_000;

/// What there is to say of the hosts; nothing where none calls us and none could.
pub(crate) fn host_findings(places: &Places, environment: &Environment) -> Vec<Finding> {
    let status = match find_status(places, environment) {
        Ok(status) => status,
        Err(error) => {
            let message = format!("{error:#}");
            return vec![with_hint(
                new_finding("hosts", CheckStatus::Problem, message, None),
                "verify-run hook status",
            )];
        }
    };
    let mut findings = Vec::new();
    for problem in &status.problems {
        let status = if problem.warning { CheckStatus::Warning } else { CheckStatus::Problem };
        let found = with_hint(new_finding("hosts", status, &problem.reason, Some(&problem.file)), &problem.hint);
        findings.push(Finding { line: problem.line, ..found });
    }
    for name in &status.missing {
        let title = Agent::named(name).map_or(*name, |agent| agent.title);
        let message = format!("{title} is used here but does not call verify-run");
        findings.push(with_hint(
            new_finding(name, CheckStatus::Warning, message, None),
            format!("verify-run hook install {name}"),
        ));
    }
    let shims = shells::shims_folder(environment);
    if status.files.is_empty() && shims.is_none() {
        return findings;
    }
    let installed = |name: &&str| status.files.iter().any(|file| file.hosts.iter().any(|host| host == name));
    let agents: Vec<&str> = AGENTS.iter().map(|agent| agent.name).filter(installed).collect();
    let reached = shells::shell_findings(environment, shims.as_deref(), &agents);
    let is_found = reached.iter().all(|finding| finding.status != CheckStatus::Problem);
    findings.extend(reached);
    findings.extend(shells::check_front(environment));
    findings.extend(shells::check_environments(places, environment));
    for agent in AGENTS {
        let files: Vec<&InstalledFile> =
            status.files.iter().filter(|it| it.hosts.iter().any(|host| host == agent.name)).collect();
        if files.is_empty() {
            continue;
        }
        findings.extend(files.iter().filter_map(|file| standing_of(agent, file)));
        findings.extend(check_disabled(agent, places, environment));
        findings.extend(check_doubled(agent, places, environment));
        findings.extend(check_untrusted(agent, &files, environment));
        findings.extend(check_unrecorded(agent, &files, shims.is_some()));
        if is_found {
            findings.extend(check_answers(agent, &files, places, environment));
        }
    }
    findings.extend(check_displaced(&status.files, places));
    findings
}

/// A file that isn't as it was written.
fn standing_of(agent: &Agent, file: &InstalledFile) -> Option<Finding> {
    let repair = format!("verify-run hook install{} {}", file.scope.folder_option(), agent.name);
    let (status, message) = match file.state {
        InstallState::AsWritten | InstallState::FoundHere => return None,
        InstallState::Outdated => {
            (CheckStatus::Warning, "written by an earlier version: prints an error where verify-run is not installed")
        }
        InstallState::Edited => (CheckStatus::Ok, "edited since it was installed; verify-run's entries are complete"),
        InstallState::Incomplete => {
            (CheckStatus::Warning, "edited since it was installed, and entries of verify-run's are missing")
        }
        InstallState::Gone => (CheckStatus::Warning, "it was installed, but is missing"),
    };
    let found = new_finding(agent.name, status, message, Some(&file.path));
    Some(if status == CheckStatus::Ok { found } else { with_hint(found, repair) })
}

/// A setting that keeps the host from calling any hook.
fn check_disabled(agent: &Agent, places: &Places, environment: &Environment) -> Vec<Finding> {
    let mut findings = Vec::new();
    for off in agent.off {
        let project = off.files.iter().map(|file| places.root.join(file));
        let home = environment.home.iter().filter_map(|home| Some(home.join(off.files.first()?)));
        for path in project.chain(home) {
            let Some((value, text)) = read_settings(&path) else { continue };
            let found = off.path.iter().try_fold(&value, |value, key| value.get(key));
            if found != Some(&Value::Bool(off.value)) {
                continue;
            }
            let key = off.path.last().copied().unwrap_or_default();
            let line = text.lines().position(|line| line.contains(key)).map(|line| line + 1);
            let message = format!("{} calls no hooks at all: {} = {}", agent.title, off.path.join("."), off.value);
            let at = line.map_or_else(String::new, |line| format!("+{line} "));
            let hint = format!("${{EDITOR:-vi}} {at}{}", quoted(&path));
            let problem = with_hint(new_finding(agent.name, CheckStatus::Problem, message, Some(&path)), hint);
            findings.push(Finding { line, ..problem });
        }
    }
    findings
}

/// What calls us a second time, or replaces commands besides us.
fn check_doubled(agent: &Agent, places: &Places, environment: &Environment) -> Vec<Finding> {
    let mut findings = Vec::new();
    if agent.name != "claude" {
        return findings;
    }
    let project = [".claude/settings.json", ".claude/settings.local.json"].map(|file| places.root.join(file));
    for path in project.into_iter().chain(environment.home.iter().map(|home| home.join(".claude/settings.json"))) {
        let Some((value, _)) = read_settings(&path) else { continue };
        let plugins = value.get("enabledPlugins").and_then(Value::as_object);
        let ours = plugins
            .and_then(|it| it.iter().find(|(name, on)| name.starts_with("verify-run@") && on.as_bool() != Some(false)));
        if let Some((name, _)) = ours {
            let message = "Claude Code calls verify-run twice: as a plugin, and by the settings";
            let hint = format!("claude plugin disable {}", shell_words::quote(name));
            findings.push(with_hint(new_finding(agent.name, CheckStatus::Warning, message, Some(&path)), hint));
        }
        let before = value.get("hooks").and_then(|hooks| hooks.get("PreToolUse"));
        if before
            .is_some_and(|before| before.to_string().contains("rtk hook") || before.to_string().contains("rtk-rewrite"))
        {
            let message = "rtk replaces commands, too: the last hook to answer wins";
            let hint = format!("${{EDITOR:-vi}} {}", quoted(&path));
            findings.push(with_hint(new_finding(agent.name, CheckStatus::Warning, message, Some(&path)), hint));
        }
    }
    findings
}

/// Hooks that Codex ignores until a person trusts them. Only Codex knows whether the trusted hooks are the current
/// ones.
fn check_untrusted(agent: &Agent, files: &[&InstalledFile], environment: &Environment) -> Option<Finding> {
    let home = environment.home.as_ref().filter(|_| agent.name == "codex")?;
    let settings_of_user = read_settings(&home.join(".codex/config.toml")).map(|(value, _)| value).unwrap_or_default();
    let trusted = settings_of_user.get("hooks").and_then(|hooks| hooks.get("state")).and_then(Value::as_object);
    let file = files.iter().find(|file| file.path.ends_with(".codex/hooks.json"))?;
    let (value, _) = read_settings(&file.path)?;
    let mut missing = 0;
    for (event, groups) in value.get("hooks")?.as_object()? {
        for (at, group) in groups.as_array()?.iter().enumerate() {
            let handlers = group.get("hooks").and_then(Value::as_array).into_iter().flatten().enumerate();
            for (nth, _) in handlers.filter(|(_, handler)| document::ours(handler).is_some()) {
                let key = format!("{}:{}:{at}:{nth}", file.path.display(), snake_case(event));
                missing += usize::from(!trusted.is_some_and(|trusted| trusted.contains_key(&key)));
            }
        }
    }
    let message = format!("Codex ignores {} until you trust them: type /hooks in Codex", count(missing, "hook"));
    (missing > 0).then(|| with_hint(new_finding(agent.name, CheckStatus::Warning, message, Some(&file.path)), "codex"))
}

/// What is run by an agent that tells no exit codes is recorded where we replace its commands, or by shims.
fn check_unrecorded(agent: &Agent, files: &[&InstalledFile], has_shims: bool) -> Option<Finding> {
    if has_shims || !agent.tells_no_exit_codes() {
        return None;
    }
    let call = format!("hook {} pre-tool", agent.name);
    let has_call = |file: &&&InstalledFile| read_settings(&file.path).is_some_and(|(_, text)| text.contains(&call));
    let file = files.iter().find(has_call)?;
    if read_settings(&file.path)?.1.contains(&format!("{call} --rewrite")) {
        return None;
    }
    let title = agent.title;
    let message = format!("checks that {title} runs are not recorded: its hooks get no exit codes");
    let hint = format!(
        "verify-run hook install {} --rewrite (it then runs checks without asking), or: verify-run shims install",
        agent.name
    );
    Some(with_hint(new_finding(agent.name, CheckStatus::Warning, message, Some(&file.path)), hint))
}

/// `PreToolUse` as `pre_tool_use`.
fn snake_case(event: &str) -> String {
    let mut name = String::new();
    for (at, letter) in event.char_indices() {
        if letter.is_ascii_uppercase() && at > 0 {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

/// Instructions that Claude Code doesn't read.
fn check_displaced(files: &[InstalledFile], places: &Places) -> Option<Finding> {
    let told = files.iter().find(|file| file.path == places.root.join("AGENTS.md"))?;
    let claude = agent::displacing(&places.root)?;
    if files.iter().any(|file| file.hosts.iter().any(|host| host == "claude"))
        || !told.hosts.iter().any(|it| it == "instructions")
    {
        return None;
    }
    let message = "Claude Code reads this instead of AGENTS.md, so it misses the instructions there";
    Some(with_hint(
        new_finding("instructions", CheckStatus::Warning, message, Some(&claude)),
        "verify-run hook install claude",
    ))
}

/// What a settings file says, and its text.
fn read_settings(path: &Path) -> Option<(Value, String)> {
    let text = String::from_utf8(read_start(path, CONFIG_FILE_BYTES_MAX).ok()?).ok()?;
    let value = if path.extension().is_some_and(|kind| kind == "toml") {
        document::of_toml(&text)?
    } else {
        jsonc::value(&text).ok()?
    };
    Some((value, text))
}

/// Sends each installed command line what the host sends.
fn check_answers(agent: &Agent, files: &[&InstalledFile], places: &Places, environment: &Environment) -> Vec<Finding> {
    let mut findings = Vec::new();
    for scope in [InstallScope::Project, InstallScope::User] {
        let lines = installed_lines(agent, files, scope);
        if lines.is_empty() {
            continue;
        }
        let trial = match TrialProject::new(environment) {
            Ok(trial) => trial,
            Err(error) => {
                findings.push(new_finding(agent.name, CheckStatus::Warning, format!("can't be tried: {error}"), None));
                continue;
            }
        };
        let known = known_versions(agent, places, environment);
        let (strange, lines): (Vec<_>, Vec<_>) = lines.into_iter().partition(|(_, it)| !known.contains(&it.line));
        for (path, line) in strange {
            let message = format!("not tried: verify-run would write it differently: {}", one_line(&line.line));
            findings.push(new_finding(agent.name, CheckStatus::Warning, message, Some(&path)));
        }
        let repair = format!("verify-run hook install{} {}", scope.folder_option(), agent.name);
        let mut took = BTreeMap::new();
        for (path, line) in &lines {
            match trial.try_hook(agent, line) {
                Ok(ms) => {
                    took.insert(line.runs.clone(), ms);
                }
                Err(message) => {
                    let message = format!("{}: {message}", line.runs);
                    findings
                        .push(with_hint(new_finding(agent.name, CheckStatus::Problem, message, Some(path)), &repair));
                }
            }
        }
        findings.extend(summarize_host(agent, scope, &took, &trial, places));
    }
    findings
}

/// All that answered, in one line.
fn summarize_host(
    agent: &Agent,
    scope: InstallScope,
    took: &BTreeMap<String, u128>,
    trial: &TrialProject,
    places: &Places,
) -> Option<Finding> {
    let slowest = *took.values().max()?;
    let recorded = probe::telling(agent.name)
        .filter(|moment| took.contains_key(&format!("hook {} {moment}", agent.name)))
        .map(|_| trial.is_recorded());
    let place = if scope.is_user() { "the home folder".to_owned() } else { places.root.display().to_string() };
    let hooks = count(took.iter().filter(|(runs, _)| *runs != "mcp").count(), "hook");
    let server = if took.contains_key("mcp") { " and the MCP server" } else { "" };
    let mut message = format!("{hooks}{server} of {place} answer, in {slowest} ms at most");
    message.push_str(match recorded {
        Some(true) => "; a check that fails is recorded",
        Some(false) => "; a check that failed was not recorded",
        None => "",
    });
    let status = match recorded {
        Some(false) => CheckStatus::Problem,
        _ if slowest >= SLOW_MS => CheckStatus::Warning,
        _ => CheckStatus::Ok,
    };
    let found = new_finding(agent.name, status, message, None);
    Some(match status {
        CheckStatus::Problem => with_hint(found, "verify-run store status"),
        CheckStatus::Warning => with_hint(found, "VERIFY_RUN_DISABLE=1 verify-run doctor"),
        CheckStatus::Ok => found,
    })
}

/// verify-run's command lines in the files of an agent, with the file.
fn installed_lines(agent: &Agent, files: &[&InstalledFile], scope: InstallScope) -> Vec<(PathBuf, ProbeLine)> {
    let mut found = Vec::new();
    for file in files.iter().filter(|file| file.scope == scope) {
        let path = file.path.clone();
        let is_script = |piece: &&agent::ConfigPiece| {
            matches!(piece.what, ConfigPart::Script(_)) && piece.paths.iter().any(|it| path.ends_with(it))
        };
        let pieces = agent.pieces(scope);
        if let Some(ConfigPart::Script(moment)) = pieces.iter().find(is_script).map(|piece| &piece.what) {
            // Only as verify-run wrote it: anything else is another program.
            if matches!(file.state, InstallState::AsWritten | InstallState::FoundHere) {
                let line = quoted(&path);
                found.push((path, ProbeLine { runs: format!("hook {} {moment}", agent.name), line }));
            }
            continue;
        }
        if path.extension().is_some_and(|kind| kind == "ts") {
            let moment = "post-tool";
            let runs = format!("hook {} {moment}", agent.name);
            found.push((path, ProbeLine { line: format!("verify-run {runs}"), runs }));
            continue;
        }
        let Some((value, _)) = read_settings(&path) else { continue };
        let is_own = |line: &ProbeLine| line.runs == "mcp" || line.runs.starts_with(&format!("hook {} ", agent.name));
        found.extend(probe::lines(&value).into_iter().filter(is_own).map(|line| (path.clone(), line)));
    }
    found
}

/// The lines that may be run: as we write them, whatever we are called here.
fn known_versions(agent: &Agent, places: &Places, environment: &Environment) -> Vec<String> {
    let own = std::env::current_exe().ok().and_then(|own| own.into_os_string().into_string().ok());
    let programs: Vec<String> = std::iter::once("verify-run".to_owned()).chain(own).collect();
    let mut known: Vec<String> = programs.iter().map(|program| shell_words::join([program, "mcp"])).collect();
    let tops: Vec<&PathBuf> = std::iter::once(&places.root).chain(&environment.home).collect();
    for piece in agent.project.iter().chain(agent.home) {
        match &piece.what {
            ConfigPart::Hooks(form) => known.extend(probe::known(form, agent.name, &programs)),
            ConfigPart::Plugin(_) => known.push(format!("verify-run hook {} post-tool", agent.name)),
            // Their content was looked at.
            ConfigPart::Script(_) => {
                known.extend(tops.iter().flat_map(|top| piece.paths.iter().map(|path| quoted(&top.join(path)))));
            }
            ConfigPart::Server(_) | ConfigPart::Checks => {}
        }
    }
    known
}
