//! Git's hooks, with git itself and the managers that run them: a commit fails, is mended, and goes through, wrapped as
//! it does bare.

mod managers;
mod plain;
mod scripts;
mod snippets;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use regex::bytes::Regex;
use verify_run::config::{HookSettings, Problem};
use verify_run::host::InstallSite;
use verify_run::host::git::{self, GUARD};
use verify_run::run::CommandEnd;
use verify_run::whitelist::Whitelist;

use crate::sandbox::{Invocation, Sandbox, VERIFY_RUN, tools};
use crate::terminal::Terminal;

/// A Python file that ruff has something against, and one that it hasn't.
const WRONG: &str = "print(x)\n";
const RIGHT: &str = "print(1)\n";

/// A repository whose hooks are run, with the real tools on PATH, and verify-run if wanted.
fn repository(has_verify_run: bool) -> Sandbox {
    let mut sandbox = Sandbox::repository();
    sandbox.add_path(tools());
    // Everybody else's sandbox has no hooks at all.
    let config = sandbox.home().join(".config/git/config");
    let text = fs::read_to_string(&config).expect("git's configuration");
    fs::write(&config, text.replace("\thooksPath = /dev/null\n", "")).expect("git's configuration");
    if has_verify_run {
        install(&sandbox);
    }
    sandbox
}

fn bin(sandbox: &Sandbox) -> PathBuf {
    sandbox.home().join("../bin/verify-run")
}

fn install(sandbox: &Sandbox) {
    symlink(VERIFY_RUN, bin(sandbox)).expect("verify-run on PATH");
}

fn uninstall(sandbox: &Sandbox) {
    fs::remove_file(bin(sandbox)).expect("verify-run gone");
}

/// Writes what is planned for the hooks here; planned again there is nothing left.
#[track_caller]
fn apply(sandbox: &Sandbox, hooks: &HookSettings) -> Vec<Problem> {
    let folder = sandbox.git(["rev-parse", "--git-path", "hooks"]);
    let site = InstallSite {
        root: sandbox.work(),
        home: Some(sandbox.home()),
        git_hooks: Some(sandbox.path(folder.trim())),
        program: "verify-run".into(),
    };
    let planned = git::plan(&site, &Whitelist::shipped_only(), hooks);
    for change in &planned.changes {
        fs::create_dir_all(change.path.parent().expect("a folder")).expect("a folder");
        fs::write(&change.path, &change.after).expect("the changed file");
        if change.executable {
            fs::set_permissions(&change.path, fs::Permissions::from_mode(0o755)).expect("a script");
        }
    }
    let again: Vec<_> =
        git::plan(&site, &Whitelist::shipped_only(), hooks).changes.into_iter().map(|it| it.path).collect();
    assert!(again.is_empty(), "planned twice: {again:?}");
    planned.problems
}

/// Writes an executable hook of git's own.
fn write_hook(sandbox: &Sandbox, path: impl AsRef<Path>, text: &str) {
    let path = sandbox.write(path, text);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a script");
}

fn commit(sandbox: &Sandbox) -> Invocation<'_> {
    sandbox.bare("git").args(["commit", "--quiet", "--message", "Change"])
}

/// How it ended and what it said, on a terminal or not, without what differs from one time to the next.
fn said(invocation: Invocation<'_>, on_terminal: bool) -> (CommandEnd, String) {
    let (ended, bytes) = if on_terminal {
        Terminal::start(invocation).ends()
    } else {
        let outcome = invocation.outcome();
        (outcome.ended, [outcome.stdout, b"\n-- stderr --\n".to_vec(), outcome.stderr].concat())
    };
    let times = Regex::new(r"[0-9]+(\.[0-9]+)? ?(ms|s|seconds?)\b").expect("a regex");
    let text = String::from_utf8(times.replace_all(&bytes, &b"TIME"[..]).into_owned()).expect("UTF-8");
    // A manager that shows what it runs shows all of it.
    (ended, text.replace(GUARD, ""))
}

/// The runs that were recorded: what was run, and whether it passed.
fn runs(sandbox: &Sandbox) -> Vec<(String, bool)> {
    let runs = sandbox.events().into_iter().filter(|event| event["kind"] == "run");
    let mut runs: Vec<_> = runs
        .map(|run| {
            let words: Vec<_> =
                run["argv"].as_array().expect("words").iter().filter_map(|word| word.as_str()).collect();
            (words.join(" "), run["ended"]["exit"] == 0)
        })
        .collect();
    runs.sort();
    runs
}

/// The one fix that is known.
fn fix(sandbox: &Sandbox) -> serde_json::Value {
    let list = sandbox.verify_run(["fix", "list", "--json"]).prints_json();
    assert_eq!(list["fixes"].as_array().map(Vec::len), Some(1), "{list}");
    list["fixes"][0].clone()
}
