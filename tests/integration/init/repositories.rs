//! Five repositories: set up, all well, taken out, and as they were.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use verify_run::run::CommandEnd;

use super::{below, done, project, worries};
use crate::sandbox::Sandbox;

/// Sets up, looks, sets up again, takes out: nothing stays but what git ignores in its own folder.
#[track_caller]
fn there_and_back(sandbox: &Sandbox, agents: &[&str], files: usize) {
    let (work, home) = (below(&sandbox.work()), below(&sandbox.home()));
    let status = sandbox.git(["status", "--porcelain", "--ignored"]);
    let mut words = vec!["init", "--yes", "--rewrite"];
    words.extend(agents.iter().flat_map(|name| ["--agent", name]));
    let shown = done(sandbox, &words);
    assert!(shown.contains(&format!("wrote {files} files\n")), "{shown}");
    let written = below(&sandbox.work());
    trust(sandbox);
    let doctor = sandbox.verify_run(["doctor"]).outcome();
    assert_eq!((doctor.ended, worries(&doctor)), (CommandEnd::Exit(0), vec![]), "{}", doctor.stdout());
    distrust(sandbox);
    assert_eq!(below(&sandbox.work()), written, "looking changes nothing");
    assert!(done(sandbox, &words).ends_with("nothing to do\n"));
    assert_eq!(below(&sandbox.work()), written, "once is enough");
    let out = done(sandbox, &["hook", "uninstall"]);
    assert!(!out.contains("edited since"), "{out}");
    assert_eq!(below(&sandbox.work()), work);
    assert_eq!(below(&sandbox.home()), home);
    assert_eq!(sandbox.git(["status", "--porcelain", "--ignored"]), status);
    // The same by the verb that takes everything away.
    done(sandbox, &words);
    done(sandbox, &["uninstall", "--purge"]);
    assert_eq!((below(&sandbox.work()), below(&sandbox.home())), (work, home));
    assert!(!sandbox.state().exists());
}

/// What Codex writes down when a person trusts hooks there.
fn trust(sandbox: &Sandbox) {
    let Ok(text) = fs::read_to_string(sandbox.path(".codex/hooks.json")) else { return };
    let hooks: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let mut states = String::new();
    for (event, groups) in hooks["hooks"].as_object().expect("events") {
        for at in 0..groups.as_array().expect("groups").len() {
            let snake: String = event
                .char_indices()
                .map(|(at, c)| {
                    if c.is_uppercase() && at > 0 {
                        format!("_{}", c.to_lowercase())
                    } else {
                        c.to_lowercase().to_string()
                    }
                })
                .collect();
            let key = format!("{}:{snake}:{at}:0", sandbox.path(".codex/hooks.json").display());
            states.push_str(&format!("[hooks.state.\"{key}\"]\ntrusted_hash = \"sha256:0\"\n"));
        }
    }
    fs::create_dir_all(sandbox.home().join(".codex")).expect("a folder");
    fs::write(sandbox.home().join(".codex/config.toml"), states).expect("written");
}

fn distrust(sandbox: &Sandbox) {
    let _ = fs::remove_dir_all(sandbox.home().join(".codex"));
}

#[test]
fn bare_rust() {
    let sandbox = project(&[
        ("Cargo.toml", b"[package]\nname = \"a\"\nversion = \"0.1.0\"\n"),
        ("src/lib.rs", b"pub fn a() {}\n"),
        (".gitignore", b"/target\n"),
    ]);
    there_and_back(&sandbox, &["claude"], 3);
}

#[test]
fn npm_monorepo() {
    let sandbox = project(&[
        (
            "package.json",
            b"{\"private\": true, \"workspaces\": [\"packages/*\"], \"scripts\": {\"test\": \"vitest\"}}\n",
        ),
        ("packages/a/package.json", b"{\"name\": \"a\"}\n"),
        (".github/workflows/ci.yml", b"on: push\n"),
        (".cursor/rules/style.mdc", b"---\nalwaysApply: true\n---\nBe brief.\n"),
        (
            ".vscode/mcp.json",
            b"{\n\t// ours\n\t\"servers\": {\n\t\t\"db\": { \"command\": \"db\" },\n\t},\n\t\"inputs\": []\n}\n",
        ),
        ("CLAUDE.md", b"# Rules\n\nBe kind."),
    ]);
    there_and_back(&sandbox, &[], 6);
}

#[test]
fn python_with_pre_commit() {
    let sandbox = project(&[
        ("pyproject.toml", b"[project]\nname = \"a\"\n\n[tool.ruff]\n[tool.pytest.ini_options]\n"),
        (".pre-commit-config.yaml", b"repos: []\n"),
        (".aider.conf.yml", b"# mine\nmodel: gpt\nread:\n- CONVENTIONS.md\n"),
        (
            ".gemini/settings.json",
            b"{\"mcpServers\": {}, \"hooks\": {\"BeforeTool\": [{\"matcher\": \"x\", \"hooks\": []}]}}",
        ),
        ("AGENTS.md", b"# Rules\r\n\r\nBe kind.\r\n"),
    ]);
    there_and_back(&sandbox, &[], 3);
}

#[test]
fn agents_with_files_of_their_own() {
    let sandbox = project(&[
        (".kiro/steering/style.md", b"Be kind.\n"),
        (".kiro/settings/mcp.json", b"{\"mcpServers\": {\"db\": {\"command\": \"db\"}}}"),
        (".goosehints", b"Be kind.\n"),
        (".agents/hooks.json", b"{\n  \"lint\": {\n    \"Stop\": [{ \"command\": \"make lint\" }]\n  }\n}\n"),
        ("AGENTS.md", b"# Rules\n"),
    ]);
    there_and_back(&sandbox, &[], 8);
}

#[test]
fn mixed_with_settings_of_the_users() {
    let settings = b"\xef\xbb\xbf// Claude\r\n{\r\n    \"model\": \"opus\", /* best */\r\n    \"hooks\": {\r\n        \"PreToolUse\": [\r\n            { \
                     \"matcher\": \"Bash\", \"hooks\": [{ \"type\": \"command\", \"command\": \"./guard.sh\" }] }, // keep\r\n        ],\r\n    \
                     },\r\n}";
    let sandbox = project(&[
        ("lefthook.yml", b"pre-commit:\n  jobs:\n    - run: make lint\n"),
        ("Makefile", b"lint:\n\ttrue\n"),
        (".claude/settings.json", settings),
        (".mcp.json", b"{ \"mcpServers\": { \"db\": { \"command\": \"db\" } } }"),
        (".codex/config.toml", b"model = \"o\"\n\n[mcp_servers.db]\ncommand = \"db\" # mine"),
        (
            ".codex/hooks.json",
            b"{\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"./done.sh\"}]}]}}\n",
        ),
        ("opencode.jsonc", b"{\n  // models\n  \"model\": \"m\",\n}\n"),
        (".clinerules/style.md", b"Be kind.\n"),
        (".github/copilot-instructions.md", b"Be kind.\n"),
        ("CLAUDE.md", b"@AGENTS.md\n"),
        ("AGENTS.md", b"# Rules\n"),
    ]);
    fs::create_dir_all(sandbox.path(".claude/agents")).expect("a folder");
    there_and_back(&sandbox, &[], 13);
}

#[test]
fn hostile_and_broken_files_are_left_alone_with_a_message() {
    let sandbox = project(&[
        (".claude/settings.json", b"{\n  \"model\": \"opus\"\n  \"hooks\": {}\n}\n"),
        (".cursor/hooks.json", b"{\n  \"version\": 1,\n  \"hooks\": \"none\"\n}\n"),
        (".codex/config.toml", b"model = \"o\"\n[mcp_servers\n"),
        ("opencode.json", b"{\"a\": \"\xff\"}\n"),
        (".clinerules", b"Be kind.\n"),
        ("AGENTS.md", b"# Rules\n<!-- verify-run instructions end -->\n"),
        (".aider.conf.yml", b"- a\n- list\n"),
        ("Cargo.toml", b"[package]\n"),
        (".vscode/mcp.json", b"{}\n"),
    ]);
    let elsewhere = sandbox.tmp().join("elsewhere");
    fs::create_dir_all(&elsewhere).expect("a folder");
    fs::write(elsewhere.join("settings.json"), "{}").expect("written");
    symlink(&elsewhere, sandbox.path(".gemini")).expect("a link");
    fs::write(sandbox.path(".codex/hooks.json"), vec![b' '; 10 << 20]).expect("written");
    fs::set_permissions(sandbox.path(".vscode/mcp.json"), fs::Permissions::from_mode(0o444)).expect("a mode");
    fs::create_dir(sandbox.path(".mcp.json")).expect("a folder");
    let (work, home, away) = (below(&sandbox.work()), below(&sandbox.home()), below(&elsewhere));
    let outcome = sandbox.verify_run(["init", "--yes"]).outcome();
    assert_eq!(outcome.ended, CommandEnd::Exit(1), "{}", outcome.stdout());
    let said = outcome.stdout();
    let wanted = [
        (".claude/settings.json:2", "left alone: this is not JSON: expected comma"),
        (".cursor/hooks.json:3", "left alone: `hooks` is a string, which can't take an entry"),
        (".codex/config.toml:2", "left alone: this is not TOML: "),
        (".codex/hooks.json", "left alone: it has 10485760 bytes"),
        ("opencode.json:1", "left alone: it is not UTF-8"),
        (".clinerules/hooks/PreToolUse", "left alone: "),
        ("AGENTS.md:2", "left alone: an end mark without a begin mark"),
        (".aider.conf.yml:1", "left alone: it is a list, not keys with values"),
        (".gemini/settings.json", "left alone: a link leads out of "),
        (".vscode/mcp.json", "left alone: it is read-only"),
        (".mcp.json", "left alone: it is not a regular file"),
    ];
    for (file, reason) in wanted {
        let start = format!("{}: {reason}", sandbox.path(file).display());
        let at =
            said.lines().position(|line| line.starts_with(&start)).unwrap_or_else(|| panic!("{start}\nin\n{said}"));
        assert!(said.lines().nth(at + 1).is_some_and(|line| line.starts_with("  hint: ")), "{file}");
    }
    // What could be set up was: OpenCode's plugin and Cursor's list of servers have nothing to do with broken files.
    done(&sandbox, &["hook", "uninstall"]);
    assert_eq!((below(&sandbox.work()), below(&sandbox.home()), below(&elsewhere)), (work, home, away));
    let doctor = sandbox.verify_run(["doctor"]).outcome();
    assert_eq!(doctor.ended, CommandEnd::Exit(1));
    assert!(worries(&doctor).iter().any(|line| line.contains(".claude/settings.json:2]")), "{}", doctor.stdout());
}
