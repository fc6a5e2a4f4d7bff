//! What doctor says of hosts: it tries what is installed.

use std::fs;

use verify_run::run::CommandEnd;

use super::{below, done, project, rust, worries};
use crate::sandbox::Sandbox;
use crate::terminal::Terminal;

fn doctor(sandbox: &Sandbox) -> String {
    sandbox.verify_run(["doctor"]).outcome().stdout().to_owned()
}

#[test]
fn where_nothing_is_installed_nothing_is_said() {
    let sandbox = project(&[("Cargo.toml", b"[package]\n")]);
    let said = doctor(&sandbox);
    assert!(!said.contains("shells:") && !said.contains("claude"), "{said}");
    fs::create_dir(sandbox.path(".claude")).expect("a folder");
    let said = doctor(&sandbox);
    assert!(said.contains("warning  claude: Claude Code is used here but does not call verify-run\n"), "{said}");
    assert!(said.contains("hint: verify-run hook install claude\n"), "{said}");
}

#[test]
fn every_agent_answers_and_what_it_is_told_of_is_recorded() {
    let sandbox = rust();
    let agents = ["claude", "cursor", "gemini", "copilot", "opencode", "cline", "kiro", "goose", "antigravity"];
    let mut words = vec!["hook", "install", "--yes", "--no-mcp"];
    words.extend(agents);
    done(&sandbox, &words);
    let said = doctor(&sandbox);
    for agent in agents {
        let line = said
            .lines()
            .find(|line| line.starts_with(&format!("ok       {agent}: ")))
            .unwrap_or_else(|| panic!("{agent}: {said}"));
        assert!(line.contains(" answer, in "), "{line}");
        let records = ["claude", "gemini", "copilot", "opencode", "kiro", "cline"].contains(&agent);
        assert_eq!(line.contains("a check that fails is recorded"), records, "{line}");
    }
    assert!(said.contains("ok       shells: verify-run is found by sh -c, bash -c"), "{said}");
    assert!(sandbox.verify_run(["last"]).outcome().stdout().is_empty(), "nothing of the trial is recorded here");
    let left = fs::read_dir(sandbox.tmp()).expect("a folder").flatten().count();
    assert_eq!(left, 0, "nothing of the trial stays");
}

#[test]
fn a_program_that_is_not_found_is_said_with_what_mends_it() {
    let sandbox = rust();
    done(&sandbox, &["hook", "install", "--yes", "--no-mcp", "claude"]);
    let bin = sandbox.home().parent().expect("a parent").join("bin/verify-run");
    fs::remove_file(bin).expect("removed");
    let outcome = sandbox.verify_run(["doctor"]).outcome();
    assert_eq!(outcome.ended, CommandEnd::Exit(1));
    let said = outcome.stdout();
    assert!(said.contains("problem  shells: `sh -c` doesn't find verify-run ["), "{said}");
    assert!(said.contains("hint: echo 'export PATH="), "{said}");
}

#[test]
fn a_host_that_is_told_to_call_nothing_is_named() {
    let sandbox = project(&[
        (".claude/settings.local.json", b"{\n  \"disableAllHooks\": true\n}\n"),
        (".codex/config.toml", b"[features]\nhooks = false\n"),
    ]);
    done(&sandbox, &["init", "--yes", "--no-mcp"]);
    let outcome = sandbox.verify_run(["doctor"]).outcome();
    assert_eq!(outcome.ended, CommandEnd::Exit(1));
    let worries = worries(&outcome);
    let has = |text: &str| worries.iter().any(|line| line.contains(text));
    assert!(
        has("Claude Code calls no hooks at all: disableAllHooks = true [") && has("settings.local.json:2]"),
        "{worries:?}"
    );
    assert!(has("Codex calls no hooks at all: features.hooks = false [") && has("config.toml:2]"), "{worries:?}");
    assert!(has("Codex ignores 4 hooks until you trust them: type /hooks in Codex"), "{worries:?}");
}

#[test]
fn a_command_line_that_is_not_ours_is_never_run() {
    let sandbox = rust();
    done(&sandbox, &["hook", "install", "--yes", "--no-mcp", "claude"]);
    let settings = sandbox.read(".claude/settings.json");
    let mark = sandbox.path("ran");
    let evil =
        settings.replacen("command -v verify-run ", &format!("touch {}; command -v verify-run ", mark.display()), 1);
    sandbox.write(".claude/settings.json", &evil);
    let said = doctor(&sandbox);
    assert!(said.contains("warning  claude: not tried: verify-run would write it differently: touch "), "{said}");
    assert!(!mark.exists());
}

#[test]
fn what_went_missing_is_put_back_by_the_command_that_is_named() {
    let sandbox = rust();
    done(&sandbox, &["hook", "install", "--yes", "--no-mcp", "claude"]);
    sandbox.write(".claude/settings.json", "{\"hooks\": {}}\n");
    let said = doctor(&sandbox);
    assert!(
        said.contains("warning  claude: edited since it was installed, and entries of verify-run's are missing ["),
        "{said}"
    );
    assert!(said.contains("hint: verify-run hook install claude\n"), "{said}");
    done(&sandbox, &["hook", "install", "--yes", "claude"]);
    assert!(sandbox.read(".claude/settings.json").contains("hook claude pre-tool"));
    done(&sandbox, &["hook", "uninstall"]);
    assert_eq!(sandbox.read(".claude/settings.json"), "{\"hooks\": {}}\n");
}

#[test]
fn what_codex_does_not_record_is_said_and_offered() {
    let sandbox = rust();
    let shown = done(&sandbox, &["init", "--agent", "codex", "--no-mcp", "--yes"]);
    assert!(
        shown.contains("next: Codex tells hooks no exit codes: a check that it runs is recorded only with"),
        "{shown}"
    );
    assert!(shown.contains("init --agent codex --rewrite"), "{shown}");
    let said = doctor(&sandbox);
    assert!(said.contains("warning  codex: checks that Codex runs are not recorded"), "{said}");
    done(&sandbox, &["init", "--agent", "codex", "--no-mcp", "--rewrite", "--yes"]);
    assert!(sandbox.read(".codex/hooks.json").contains("hook codex pre-tool --rewrite;"));
    assert!(!doctor(&sandbox).contains("are not recorded"));
    let again = done(&sandbox, &["init", "--agent", "codex", "--no-mcp", "--yes"]);
    assert!(!again.contains("Codex tells hooks"), "{again}");
}

#[test]
fn on_a_terminal_codex_is_asked_about() {
    let sandbox = project(&[("Cargo.toml", b"[package]\n")]);
    let mut terminal = Terminal::start(sandbox.verify_run(["init", "--agent", "codex", "--no-mcp"]));
    terminal.shows("to record them? [y/N] ");
    terminal.types("y\n");
    terminal.shows("files? [y/N] ");
    terminal.types("y\n");
    assert_eq!(terminal.ends().0, CommandEnd::Exit(0));
    assert!(sandbox.read(".codex/hooks.json").contains("hook codex pre-tool --rewrite;"));
}

#[test]
fn the_holdout_is_named_where_there_is_one() {
    let sandbox = rust();
    let shown = done(&sandbox, &["init", "--no-mcp", "--yes"]);
    assert!(shown.contains("next: 10 % of tasks get no warnings"), "{shown}");
    let sandbox = rust();
    sandbox.write("verify-run.toml", "[advice]\nholdout = false\n");
    let shown = done(&sandbox, &["init", "--no-mcp", "--yes"]);
    assert!(!shown.contains("get no warnings"), "{shown}");
}

#[test]
fn local_settings_are_not_committed() {
    let sandbox = project(&[
        ("Cargo.toml", b"[package]\n"),
        (".claude/settings.json", b"{}\n"),
        (".claude/settings.local.json", b"{ \"mine\": true }\n"),
        (".husky/pre-push", b"cargo test\n"),
    ]);
    let shown = done(&sandbox, &["init", "--local", "--agent", "codex", "--yes"]);
    assert!(shown.contains("Codex has no uncommitted project settings: verify-run init --user"), "{shown}");
    assert!(
        shown
            .contains("next: git does not ignore .claude/settings.local.json yet: echo .claude/settings.local.json >>"),
        "{shown}"
    );
    assert_eq!(sandbox.read(".claude/settings.json"), "{}\n");
    assert_eq!(sandbox.read(".husky/pre-push"), "cargo test\n");
    for file in ["AGENTS.md", ".mcp.json", ".codex"] {
        assert!(!sandbox.path(file).exists(), "{file}");
    }
    assert!(sandbox.read(".claude/settings.local.json").contains("exec verify-run hook claude pre-tool"));
    let status = done(&sandbox, &["hook", "status"]);
    assert!(status.contains("settings.local.json") && status.contains("as written"), "{status}");
    let said = doctor(&sandbox);
    assert!(said.contains("ok       claude: 6 hooks of "), "{said}");
    assert_eq!(done(&sandbox, &["init", "--local", "--yes"]).lines().last(), Some("nothing to do"));
    done(&sandbox, &["hook", "uninstall"]);
    assert_eq!(sandbox.read(".claude/settings.local.json"), "{ \"mine\": true }\n");
}

#[test]
fn the_hook_at_the_end_of_a_turn_is_written_on_request_and_kept_and_taken_out_again() {
    let settings =
        "{\n  // mine\n  \"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"true\"}]}]}\n}\n";
    let sandbox = project(&[
        ("Cargo.toml", b"[package]\nname = \"a\"\n"),
        ("src/lib.rs", b""),
        (".claude/settings.json", settings.as_bytes()),
    ]);
    let before = below(&sandbox.work());
    let agents = ["claude", "codex", "cursor", "gemini", "copilot", "droid", "qwen"];
    let install = |more: &[&str]| {
        let words = ["hook", "install", "--yes", "--no-mcp", "--no-instructions"].iter().chain(&agents).chain(more);
        done(&sandbox, &words.copied().collect::<Vec<_>>())
    };
    install(&[]);
    assert!(!sandbox.read(".claude/settings.json").contains("hook claude stop"), "only on request");
    let shown = install(&["kiro", "--gate-stop"]);
    assert!(shown.contains("Kiro lets no hook ask it to go on at the end of a turn"), "{shown}");
    for (agent, file, event) in [
        ("claude", ".claude/settings.json", "Stop"),
        ("codex", ".codex/hooks.json", "Stop"),
        ("cursor", ".cursor/hooks.json", "stop"),
        ("gemini", ".gemini/settings.json", "AfterAgent"),
        ("copilot", ".github/hooks/verify-run.json", "agentStop"),
        ("droid", ".factory/settings.json", "Stop"),
        ("qwen", ".qwen/settings.json", "Stop"),
    ] {
        let text = sandbox.read(file);
        assert!(
            text.contains(&format!("hook {agent} stop")) && text.contains(&format!("\"{event}\"")),
            "{file}: {text}"
        );
    }
    let written = sandbox.read(".claude/settings.json");
    assert!(written.contains("// mine") && written.contains("\"true\""), "{written}");
    install(&[]);
    assert_eq!(sandbox.read(".claude/settings.json"), written, "whoever wanted it once wants it still");
    let said = doctor(&sandbox);
    for agent in agents {
        assert!(said.lines().any(|line| line.starts_with(&format!("ok       {agent}: "))), "{agent}: {said}");
    }
    done(&sandbox, &["hook", "uninstall"]);
    let mut after = below(&sandbox.work());
    after.retain(|path, _| before.contains_key(path) || !path.starts_with(".git"));
    assert_eq!(after, before);
}
