//! Where a call works, and for whom.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::capture::{self, Identity};
use crate::config::Environment;
use crate::ops::request::Request;

/// The variables in which hosts name the project's folder.
const FOLDERS: [&str; 2] = ["CLAUDE_PROJECT_DIR", "CURSOR_PROJECT_DIR"];
/// A client's name, bytes.
const CLIENT_BYTES_MAX: usize = 40;
/// Clients by the start of their name, and what the runs of their agents are recorded under. Any other is called as it
/// calls itself.
const CLIENTS: [(&str, &str); 5] = [
    ("cursor", "cursor"),
    ("codex", "codex"),
    ("gemini", "gemini-cli"),
    ("copilot", "copilot"),
    ("github-copilot", "copilot"),
];

/// The project's folder: the one that was given, else the one that the host names, else `cwd`.
pub fn root(given: Option<&Path>, cwd: &Path, variable: impl Fn(&str) -> Option<String>) -> PathBuf {
    let named = || FOLDERS.iter().filter_map(|name| variable(name)).map(|dir| cwd.join(dir)).find(|dir| dir.is_dir());
    given.map(|dir| cwd.join(dir)).or_else(named).unwrap_or_else(|| cwd.to_owned())
}

/// The request of a call: looks for everything again, and makes the folder the working directory, because git looks from
/// there. Calls are made one after the other.
///
/// # Errors
/// When the folder is not there.
#[allow(clippy::disallowed_methods, reason = "no command of the user's inherits it")]
pub(super) fn open_request(root: &Path, client: Option<&str>) -> anyhow::Result<Request> {
    let open = || std::env::set_current_dir(root).and_then(|()| std::env::current_dir());
    let cwd = open().with_context(|| format!("cannot open the project's folder {}", root.display()))?;
    let identity = identify(|name| std::env::var(name).ok(), crate::run::session(), client);
    Ok(Request::new(cwd, Environment::from_process(), identity))
}

/// Who asks: as for a command that the host runs. A host that sets no variable for its servers is known by the client's
/// name.
fn identify(variable: impl Fn(&str) -> Option<String>, session: i32, client: Option<&str>) -> Identity {
    let is_said =
        ["VERIFY_RUN_AGENT", "AI_AGENT"].iter().any(|name| variable(name).is_some_and(|value| !value.is_empty()));
    let known = capture::identify(Identity::default(), variable, session);
    let is_guess = !is_said && matches!(known.agent.as_deref(), Some("human" | "ci"));
    match client.and_then(agent_of).filter(|_| is_guess) {
        Some(agent) => Identity { agent: Some(agent), ..known },
        None => known,
    }
}

/// Small letters, digits and `-`; `None` when nothing is left.
fn agent_of(client: &str) -> Option<String> {
    let name: String = client.chars().take(CLIENT_BYTES_MAX).collect::<String>().to_lowercase();
    if let Some((_, agent)) = CLIENTS.iter().find(|(start, _)| name.starts_with(start)) {
        return Some((*agent).to_owned());
    }
    let words: Vec<&str> = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    (!words.is_empty()).then(|| words.join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(variables: &'static [(&'static str, &'static str)], client: Option<&str>) -> Option<String> {
        let find = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned());
        identify(find, 7, client).agent
    }

    #[test]
    fn the_environment_says_who_asks_and_else_the_client() {
        let claude = &[("CLAUDECODE", "1"), ("CLAUDE_CODE_SESSION_ID", "s-1")];
        assert_eq!(agent(claude, Some("cursor-vscode")).as_deref(), Some("claude-code"));
        assert_eq!(agent(&[], Some("cursor-vscode")).as_deref(), Some("cursor"));
        assert_eq!(agent(&[("CI", "true")], Some("codex-mcp-client")).as_deref(), Some("codex"));
        assert_eq!(agent(&[], Some("Visual Studio  Code\u{1b}[0m")).as_deref(), Some("visual-studio-code-0m"));
        assert_eq!(agent(&[], Some("\u{7}é")).as_deref(), Some("human"), "a name without letters is none");
        assert_eq!(agent(&[], None).as_deref(), Some("human"));
        assert_eq!(agent(&[("VERIFY_RUN_AGENT", "human")], Some("x")).as_deref(), Some("human"), "said, not guessed");
    }

    #[test]
    fn the_folder_is_given_or_named_by_the_host_or_the_working_directory() {
        let dir = tempfile::tempdir().expect("a folder");
        let cwd = dir.path();
        std::fs::create_dir(cwd.join("project")).expect("a folder");
        let none = |_: &str| None;
        let claude = |name: &str| (name == "CLAUDE_PROJECT_DIR").then(|| "project".to_owned());
        let gone = |name: &str| (name == "CURSOR_PROJECT_DIR").then(|| "gone".to_owned());
        assert_eq!(root(None, cwd, none), cwd);
        assert_eq!(root(None, cwd, claude), cwd.join("project"));
        assert_eq!(root(None, cwd, gone), cwd, "a folder that isn't there is not meant");
        assert_eq!(root(Some(Path::new("gone")), cwd, claude), cwd.join("gone"), "what was given holds");
    }
}
