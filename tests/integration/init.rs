//! Setting up and taking out again: in prepared repositories every file has its bytes afterwards, whatever is in them.

mod checked;
mod edits;
mod repositories;
mod trials;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use verify_run::run::CommandEnd;

use crate::sandbox::{Outcome, Sandbox, VERIFY_RUN};
use crate::terminal::Terminal;

/// Everything below a folder: kind, mode and content of each name. Of `.git` only that it is there.
fn below(top: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut folders = vec![top.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder").flatten() {
            let path = entry.path();
            let metadata = path.symlink_metadata().expect("metadata");
            let content = if metadata.is_symlink() {
                fs::read_link(&path).expect("a link").into_os_string().into_encoded_bytes()
            } else if metadata.is_file() {
                fs::read(&path).expect("a file")
            } else {
                Vec::new()
            };
            if metadata.is_dir() && entry.file_name() != ".git" {
                folders.push(path.clone());
            }
            let relative = path.strip_prefix(top).expect("below").to_owned();
            found.insert(relative, (metadata.permissions().mode(), content));
        }
    }
    found
}

/// A project that is a repository with these files, and a home folder in which every shell finds verify-run.
fn project(files: &[(&str, &[u8])]) -> Sandbox {
    let sandbox = Sandbox::new();
    let bin = sandbox.home().parent().expect("a parent").join("bin");
    symlink(VERIFY_RUN, bin.join("verify-run")).expect("a link");
    let line = format!("export PATH={}:\"$PATH\"\n", bin.display());
    for file in [".profile", ".zshenv", ".zprofile"] {
        fs::write(sandbox.home().join(file), &line).expect("a shell's file");
    }
    for (path, content) in files {
        sandbox.write(path, content);
    }
    sandbox.with_repository()
}

/// Runs `verify-run` with these words; it has to end with 0.
#[track_caller]
fn done(sandbox: &Sandbox, words: &[&str]) -> String {
    let outcome = sandbox.verify_run(words).outcome();
    assert_eq!(outcome.ended, CommandEnd::Exit(0), "{words:?}: {}{}", outcome.stdout(), outcome.stderr());
    outcome.stdout().to_owned()
}

/// The findings of doctor that aren't as they should be.
fn worries(outcome: &Outcome) -> Vec<String> {
    let lines = outcome.stdout().lines().filter(|line| line.starts_with("problem") || line.starts_with("warning"));
    lines.map(str::to_owned).collect()
}

fn rust() -> Sandbox {
    project(&[("Cargo.toml", b"[package]\nname = \"a\"\n"), ("src/lib.rs", b""), (".claude/settings.json", b"{}\n")])
}

#[test]
fn without_a_terminal_it_shows_and_says_what_to_type() {
    let sandbox = rust();
    let before = below(&sandbox.work());
    let shown = done(&sandbox, &["init", "--agent", "codex", "--no-mcp"]);
    assert!(shown.starts_with("made with: Rust; agents: claude\n"), "{shown}");
    assert!(
        shown.contains("\n# Claude Code: hooks\n--- a/.claude/settings.json\n+++ b/.claude/settings.json\n"),
        "{shown}"
    );
    assert!(
        shown.ends_with("nothing was changed; to write this: verify-run init --agent codex --no-mcp --yes\n"),
        "{shown}"
    );
    let shown = done(&sandbox, &["init", "--dry-run"]);
    assert!(shown.contains("+++ b/.mcp.json") && !shown.contains("--yes"), "{shown}");
    assert_eq!(below(&sandbox.work()), before);
    assert!(!sandbox.state().exists(), "not even a record");
}

#[test]
fn on_a_terminal_it_asks() {
    let sandbox = rust();
    let before = below(&sandbox.work());
    let mut terminal = Terminal::start(sandbox.verify_run(["init"]));
    terminal.shows("write 3 files? [y/N] ");
    terminal.types("n\n");
    let (ended, screen) = terminal.ends();
    assert_eq!(ended, CommandEnd::Exit(0));
    assert!(String::from_utf8_lossy(&screen).contains("nothing was changed"));
    assert_eq!(below(&sandbox.work()), before);
    let mut terminal = Terminal::start(sandbox.verify_run(["init"]));
    terminal.shows("write 3 files? [y/N] ");
    terminal.types("yes\n");
    let (ended, screen) = terminal.ends();
    assert_eq!(ended, CommandEnd::Exit(0));
    let screen = String::from_utf8_lossy(&screen).into_owned();
    assert!(screen.contains("wrote 3 files") && screen.contains("to remove it: verify-run hook uninstall"), "{screen}");
    assert!(
        sandbox.read(".claude/settings.json").contains("hook claude pre-tool") && sandbox.path("AGENTS.md").is_file()
    );
}

#[test]
fn as_json_it_says_the_same() {
    let sandbox = rust();
    let plan = sandbox.verify_run(["init", "--json"]).prints_json();
    assert_eq!((plan["schema"].as_i64(), plan["applied"].as_bool()), (Some(1), Some(false)));
    assert_eq!(plan["found"]["agents"], serde_json::json!(["claude"]));
    assert_eq!(plan["files"][0]["path"], sandbox.path(".claude/settings.json").to_str().expect("UTF-8"));
    let written = sandbox.verify_run(["init", "--json", "--yes"]).prints_json();
    assert_eq!((written["applied"].as_bool(), written["files"].clone()), (Some(true), plan["files"].clone()));
    let status = sandbox.verify_run(["hook", "status", "--json"]).prints_json();
    let states: Vec<_> = status["files"].as_array().expect("files").iter().map(|file| file["state"].clone()).collect();
    assert_eq!(states, ["as_written", "as_written", "as_written"]);
    let report = sandbox.verify_run(["hook", "uninstall", "--json"]).prints_json();
    let outcomes: Vec<_> =
        report["files"].as_array().expect("files").iter().map(|file| file["outcome"].clone()).collect();
    assert_eq!(outcomes, ["removed", "removed", "restored"]);
}

#[test]
fn only_what_was_named_is_set_up_and_taken_out() {
    let sandbox = rust();
    done(&sandbox, &["init", "--agent", "cursor", "--only", "--yes"]);
    assert!(sandbox.path(".cursor/hooks.json").is_file() && !sandbox.path("AGENTS.md").exists());
    done(&sandbox, &["hook", "install", "--yes", "claude", "copilot"]);
    // Both read the same list of servers: it stays until neither needs it.
    assert!(done(&sandbox, &["hook", "uninstall", "claude"]).contains(".mcp.json: another host needs it"));
    assert_eq!(sandbox.read(".claude/settings.json"), "{}\n");
    assert!(sandbox.path(".mcp.json").is_file() && sandbox.path(".cursor/hooks.json").is_file());
    done(&sandbox, &["hook", "uninstall", "copilot", "cursor"]);
    assert!(
        !sandbox.path(".mcp.json").exists() && !sandbox.path(".cursor").exists() && !sandbox.path(".github").exists()
    );
    assert!(!sandbox.path(".git/verify-run/install").exists(), "nothing is left to remember");
    let outcome = sandbox.verify_run(["hook", "install", "emacs"]).outcome();
    assert_eq!(outcome.ended, CommandEnd::Exit(2));
    assert!(outcome.stderr().contains("`emacs` ; known are: claude, codex, "), "{}", outcome.stderr());
}

#[test]
fn rules_are_for_checks_by_name_and_never_come_by_themselves() {
    let sandbox = rust();
    let shown = done(&sandbox, &["init", "--yes", "--agent", "codex"]);
    assert!(!shown.contains("permissions") && !sandbox.path(".codex/rules").exists(), "{shown}");
    for (command, why) in [
        ("rm -rf x", "is not exactly one recognised check"),
        ("cargo test *", "is not exactly one recognised check"),
        ("cargo test && rm -rf x", "is not exactly one recognised check"),
        ("cargo", "is not exactly one recognised check"),
    ] {
        let outcome = sandbox.verify_run(["init", "--yes", "--allow", command]).outcome();
        assert_eq!(outcome.ended, CommandEnd::Exit(2), "{command}");
        assert!(outcome.stderr().contains(why), "{command}: {}", outcome.stderr());
    }
    let shown = done(&sandbox, &["init", "--yes", "--agent", "codex", "--allow", "cargo test"]);
    assert!(shown.contains("this lets agents run without asking: cargo test\n"), "{shown}");
    let settings: serde_json::Value = serde_json::from_str(&sandbox.read(".claude/settings.json")).expect("JSON");
    let rules = serde_json::json!(["Bash(verify-run --only-checks -- cargo test)"]);
    assert_eq!(settings["permissions"]["allow"], rules);
    assert!(
        sandbox
            .read(".codex/rules/verify-run.rules")
            .starts_with("prefix_rule(pattern=[\"verify-run\",\"--only-checks\",")
    );
    assert!(done(&sandbox, &["init", "--yes", "--agent", "codex"]).ends_with("nothing to do\n"), "a rule stays");
    done(&sandbox, &["hook", "uninstall"]);
    assert_eq!(sandbox.read(".claude/settings.json"), "{}\n");
    assert!(!sandbox.path(".codex").exists());
}

#[test]
fn the_home_folder_is_set_up_on_request_only_and_gets_its_bytes_back() {
    let sandbox = rust();
    let home = sandbox.home();
    fs::create_dir_all(home.join(".claude")).expect("a folder");
    fs::write(home.join(".claude/settings.json"), "// mine\n{\"model\": \"opus\"}").expect("written");
    fs::create_dir_all(home.join(".gemini")).expect("a folder");
    let before = below(&home);
    done(&sandbox, &["init", "--yes"]);
    assert_eq!(below(&home), before, "nothing in the home folder");
    let work = below(&sandbox.work());
    let shown = done(&sandbox, &["init", "--yes", "--user", "--agent", "codex"]);
    assert!(!shown.contains("AGENTS.md"), "{shown}");
    assert_eq!(below(&sandbox.work()), work, "nothing in the project");
    for file in [".claude/settings.json", ".codex/hooks.json", ".codex/config.toml", ".gemini/settings.json"] {
        assert!(fs::read_to_string(home.join(file)).expect(file).contains("verify-run"), "{file}");
    }
    assert!(done(&sandbox, &["hook", "status"]).contains("claude\tas written\thome\t"));
    assert!(done(&sandbox, &["init", "--yes", "--user"]).ends_with("nothing to do\n"));
    done(&sandbox, &["hook", "uninstall", "--user"]);
    assert_eq!(below(&home), before);
}
