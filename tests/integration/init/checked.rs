//! What the agents themselves say of the configuration that we write.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use verify_run::run::CommandEnd;

use super::{done, project, rust, worries};
use crate::sandbox::{need, skip, tools};

/// The program is the host's own; it must not talk to anybody, and needs its own home.
#[test]
fn codex_reads_our_hooks_servers_and_rules() {
    let Some(codex) = need("codex") else { return };
    let mut sandbox = project(&[("Cargo.toml", b"[package]\n")]);
    sandbox.add_path(tools());
    done(&sandbox, &["hook", "install", "--yes", "codex", "--allow", "cargo test"]);
    let home = sandbox.home().join(".codex");
    fs::create_dir_all(&home).expect("a folder");
    let trusted = format!("[projects.\"{}\"]\ntrust_level = \"trusted\"\n", sandbox.work().display());
    fs::write(home.join("config.toml"), trusted).expect("written");
    let run = |arguments: &[&str], input: &str| {
        let command = sandbox.bare(&codex).args(arguments).env("CODEX_HOME", &home).stdin(input);
        let outcome = command.outcome();
        (outcome.ended, String::from_utf8_lossy(&outcome.stdout).into_owned())
    };
    let rules = sandbox.path(".codex/rules/verify-run.rules");
    let rules = rules.to_str().expect("UTF-8");
    let decided = |line: &str| {
        let mut words = vec!["execpolicy", "check", "--rules", rules];
        words.extend(line.split(' '));
        let (ended, said) = run(&words, "");
        assert_eq!(ended, CommandEnd::Exit(0), "{said}");
        serde_json::from_str::<Value>(&said).expect("JSON")["decision"].clone()
    };
    assert_eq!(decided("verify-run --only-checks -- cargo test"), "allow");
    assert_eq!(decided("verify-run -- cargo test"), Value::Null);
    assert_eq!(decided("verify-run --only-checks -- rm -rf x"), Value::Null);
    let (_, servers) = run(&["mcp", "list", "--json"], "");
    let servers: Value = serde_json::from_str(&servers).unwrap_or_else(|error| panic!("{error}: {servers}"));
    let ours = servers.as_array().and_then(|list| list.iter().find(|server| server["name"] == "verify-run"));
    assert_eq!(ours.expect("our server")["transport"]["args"], json!(["mcp"]), "{servers}");
    let listed = hooks(&sandbox, &codex, &home);
    let events: Vec<&str> =
        listed["hooks"].as_array().expect("hooks").iter().filter_map(|it| it["eventName"].as_str()).collect();
    assert_eq!(events, ["preToolUse", "postToolUse", "sessionStart", "userPromptSubmit"], "{listed}");
    assert_eq!((&listed["warnings"], &listed["errors"]), (&json!([]), &json!([])));
}

/// What Codex lists as the hooks of the project. Its server reads until its input ends, and then no more.
fn hooks(sandbox: &crate::sandbox::Sandbox, codex: &Path, home: &Path) -> Value {
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Command, Stdio};
    let mut command = Command::new(codex);
    command
        .arg("app-server")
        .current_dir(sandbox.work())
        .env_clear()
        .envs(sandbox.environment())
        .env("CODEX_HOME", home);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the program starts");
    let mut input = child.stdin.take().expect("a pipe");
    let client = json!({"name": "test", "version": "1"});
    for message in [
        json!({"id": 1, "method": "initialize", "params": {"clientInfo": client}}),
        json!({"method": "initialized"}),
        json!({"id": 2, "method": "hooks/list", "params": {"cwds": [sandbox.work()]}}),
    ] {
        writeln!(input, "{message}").expect("it reads");
    }
    let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines().map_while(Result::ok);
    let mut answers = lines.filter_map(|line| serde_json::from_str::<Value>(&line).ok());
    let answer = answers.find(|answer| answer["id"] == 2).expect("an answer");
    drop(input);
    let _ = child.kill();
    let _ = child.wait();
    answer["result"]["data"][0].clone()
}

/// The types are generated from the schema of the settings.
#[test]
fn claude_codes_types_take_our_settings() {
    let types = tools().with_file_name("agents").join("claude/sdk.d.ts");
    let Some(tsc) = need("tsc") else { return };
    let Some(node) = need("node") else { return };
    if !types.is_file() {
        return skip("the types of Claude Code's settings are missing");
    }
    let mut sandbox = rust();
    sandbox.add_path(node.parent().expect("a folder"));
    done(&sandbox, &["hook", "install", "--yes", "claude", "--allow", "cargo test"]);
    let plugin = include_str!("../../../hooks/agent/claude-plugin/hooks/hooks.json");
    let plugin: Value = serde_json::from_str(plugin).expect("JSON");
    sandbox.write("sdk.d.ts", settings_of(&fs::read_to_string(&types).expect("the types").replace("\r\n", "\n")));
    let check = |settings: &str| {
        let source =
            format!("import type {{ Settings }} from \"./sdk\";\nexport const settings: Settings = {settings};\n");
        sandbox.write("check.ts", source);
        sandbox.bare(&tsc).args(["--noEmit", "--strict", "check.ts"]).outcome()
    };
    for settings in [sandbox.read(".claude/settings.json"), json!({"hooks": plugin["hooks"]}).to_string()] {
        let outcome = check(&settings);
        assert_eq!((outcome.ended, outcome.stdout()), (CommandEnd::Exit(0), ""), "{settings}");
    }
    let wrong = sandbox.read(".claude/settings.json").replacen("\"timeout\"", "\"seconds\"", 1);
    assert!(check(&wrong).stdout().contains("seconds"), "a wrong key is found");
}

/// The one interface of the settings: the file imports packages that aren't there.
fn settings_of(types: &str) -> String {
    let start = types.find("export declare interface Settings {").expect("the settings");
    let end = types[start..].find("\n}\n").expect("their end");
    types[start..start + end + 3].to_owned()
}

#[test]
fn claude_code_takes_our_plugin() {
    let Some(claude) = need("claude") else { return };
    let sandbox = rust();
    for folder in ["hooks/agent/claude-plugin", "hooks/agent"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let outcome = sandbox.bare(&claude).args(["plugin", "validate"]).arg(folder).outcome();
        assert_eq!(outcome.ended, CommandEnd::Exit(0), "{}{}", outcome.stdout(), outcome.stderr());
        assert!(outcome.stdout().contains("Validation passed\n"), "{}", outcome.stdout());
    }
}

#[test]
fn the_plugin_calls_what_the_settings_call() {
    let sandbox = rust();
    done(&sandbox, &["hook", "install", "--yes", "claude"]);
    let settings: Value = serde_json::from_str(&sandbox.read(".claude/settings.json")).expect("JSON");
    let plugin = include_str!("../../../hooks/agent/claude-plugin/hooks/hooks.json");
    let plugin: Value = serde_json::from_str(plugin).expect("JSON");
    assert_eq!(plugin["hooks"], settings["hooks"]);
    let servers: Value = serde_json::from_str(&sandbox.read(".mcp.json")).expect("JSON");
    let own = include_str!("../../../hooks/agent/claude-plugin/.mcp.json");
    assert_eq!(serde_json::from_str::<Value>(own).expect("JSON"), servers["mcpServers"]);
}

/// A PATH without verify-run.
const BARE_PATH: &str = "/usr/bin:/bin";

#[test]
fn without_the_program_every_host_goes_on_and_nothing_is_said() {
    let sandbox = rust();
    let agents = [
        "claude",
        "codex",
        "cursor",
        "gemini",
        "copilot",
        "cline",
        "crush",
        "droid",
        "qwen",
        "kiro",
        "goose",
        "antigravity",
    ];
    done(&sandbox, &["hook", "install", "--yes", "--no-mcp"].iter().chain(&agents).copied().collect::<Vec<_>>());
    let lines = |settings: &str| {
        let settings: Value = serde_json::from_str(settings).expect("JSON");
        let found = verify_run::host::agent::probe::lines(&settings);
        assert!(!found.is_empty(), "{settings}");
        found.into_iter().map(|line| line.line).collect::<Vec<_>>()
    };
    let plugin = include_str!("../../../hooks/agent/claude-plugin/hooks/hooks.json").to_owned();
    // Where a host takes an empty answer for an error it gets its neutral one.
    let hosts = [
        (plugin, ""),
        (sandbox.read(".claude/settings.json"), ""),
        (sandbox.read(".codex/hooks.json"), ""),
        (sandbox.read(".cursor/hooks.json"), "{}\n"),
        (sandbox.read(".gemini/settings.json"), ""),
        (sandbox.read("crush.json"), "{}\n"),
        (sandbox.read(".factory/settings.json"), ""),
        (sandbox.read(".qwen/settings.json"), ""),
        (sandbox.read(".kiro/hooks/verify-run.json"), ""),
        (sandbox.read(".agents/plugins/verify-run/hooks/hooks.json"), ""),
        (sandbox.read(".agents/hooks.json"), "{}\n"),
    ];
    for (settings, neutral) in &hosts {
        for line in lines(settings) {
            let call = sandbox.bare("bash").args(["-c", &line]).env("PATH", BARE_PATH).stdin("{}");
            call.expect(CommandEnd::Exit(0), neutral, "");
        }
    }
    for line in lines(&sandbox.read(".github/hooks/verify-run.json")) {
        let outcome = sandbox.bare("bash").args(["-c", &line]).env("PATH", BARE_PATH).stdin("{}").outcome();
        assert_eq!((outcome.ended, outcome.stdout()), (CommandEnd::Exit(0), ""));
    }
    let script = sandbox.path(".clinerules/hooks/PreToolUse");
    sandbox.bare(&script).env("PATH", BARE_PATH).stdin("{}").expect(CommandEnd::Exit(0), "{\"cancel\":false}\n", "");
}

/// What earlier versions wrote for Claude Code, Codex and Cursor, as a colleague may have committed it.
fn bare(agent: &str) -> (&'static str, String) {
    let words = |event: &str| json!({"type": "command", "command": "verify-run", "args": ["hook", "claude", event], "timeout": 5});
    let line =
        |event: &str| json!({"type": "command", "command": format!("verify-run hook codex {event}"), "timeout": 5});
    let (path, settings) = match agent {
        "claude" => (
            ".claude/settings.json",
            json!({"hooks": {
                "PreToolUse": [{"matcher": "Bash|PowerShell|Edit|Write|MultiEdit|NotebookEdit", "hooks": [words("pre-tool")]}],
                "SessionStart": [{"hooks": [{"type": "command", "command": "mine"}]}, {"hooks": [words("session-start")]}],
            }}),
        ),
        "codex" => (
            ".codex/hooks.json",
            json!({"hooks": {"PreToolUse": [{"matcher": "^(Bash|apply_patch)$", "hooks": [line("pre-tool")]}]}}),
        ),
        _ => (
            ".cursor/hooks.json",
            json!({"version": 1, "hooks": {"preToolUse": [
                {"matcher": "Shell|Write", "command": "verify-run hook cursor pre-tool", "timeout": 5}]}}),
        ),
    };
    (path, format!("{settings:#}\n"))
}

#[test]
fn entries_of_an_earlier_version_are_upgraded_and_uninstall_gives_the_bytes_back() {
    for agent in ["claude", "codex", "cursor"] {
        let (path, old) = bare(agent);
        let sandbox = project(&[(path, old.as_bytes())]);
        let outcome = sandbox.verify_run(["doctor"]).outcome();
        let worries = worries(&outcome);
        let is_named = |line: &String| line.contains(&format!("{agent}: written by an earlier version"));
        assert!(worries.iter().any(is_named), "{worries:?}");
        done(&sandbox, &["hook", "install", "--yes", "--no-mcp", agent]);
        let new = sandbox.read(path);
        assert_eq!(new.matches(&format!("exec verify-run hook {agent} pre-tool")).count(), 1, "{new}");
        assert_eq!(new.matches("pre-tool").count(), 1, "{new}");
        assert_eq!(new.contains("\"mine\""), agent == "claude", "{new}");
        let settings: Value = serde_json::from_str(&new).expect("JSON");
        let lines = verify_run::host::agent::probe::lines(&settings);
        assert!(lines.iter().all(|line| line.line.starts_with("command -v verify-run ")), "{lines:?}");
        done(&sandbox, &["hook", "uninstall"]);
        assert_eq!(sandbox.read(path), old);
    }
}

#[test]
fn what_an_earlier_version_wrote_for_copilot_is_told_of_patches_too() {
    let hook = |matcher: &str| {
        json!({"type": "command", "bash": "verify-run hook copilot pre-tool || true",
        "powershell": "verify-run hook copilot pre-tool; exit 0", "timeoutSec": 5, "matcher": matcher})
    };
    let file = ".github/hooks/verify-run.json";
    let before = hook("bash|edit|create|write|str_replace_editor");
    let old = format!("{:#}\n", json!({"version": 1, "hooks": {"preToolUse": [before]}}));
    let sandbox = project(&[(file, old.as_bytes())]);
    done(&sandbox, &["hook", "install", "--yes", "--no-mcp", "copilot"]);
    let settings: Value = serde_json::from_str(&sandbox.read(file)).expect("JSON");
    let after = hook("bash|edit|create|write|str_replace_editor|apply_patch");
    assert_eq!(settings["hooks"]["preToolUse"], json!([after]));
    done(&sandbox, &["hook", "uninstall"]);
    assert_eq!(sandbox.read(file), old);
}

#[test]
fn the_extension_of_pi_puts_the_wrapper_before_checks_and_is_silent_without_it() {
    let (Some(tsc), Some(node)) = (need("tsc"), need("node")) else { return };
    let mut sandbox = project(&[("verify-run.toml", b"[advice]\nhook_ms = 60000\n")]);
    sandbox.add_path(node.parent().expect("a folder"));
    sandbox.tool("eslint", "");
    done(&sandbox, &["hook", "install", "--yes", "pi"]);
    let words = ["--module", "esnext", "--target", "es2022", "--noCheck", "--ignoreConfig", "--outDir", "built"];
    let built = sandbox.bare(&tsc).args(words).arg(".pi/extensions/verify-run.ts").outcome();
    assert_eq!(built.ended, CommandEnd::Exit(0), "{}", built.stdout());
    fs::rename(sandbox.path("built/verify-run.js"), sandbox.path("built/extension.mjs")).expect("a name");
    sandbox.write(
        "call.mjs",
        "import extension from './built/extension.mjs'\n\
         const on = {}, ctx = { cwd: process.cwd() }, input = { command: 'eslint src', timeout: 60 }\n\
         extension({ on: (event, run) => (on[event] = run) })\n\
         await on.tool_call({ toolName: 'bash', toolCallId: 'c1', input }, ctx)\n\
         const result = await on.tool_result({ toolName: 'bash', toolCallId: 'c1', input, content: [] }, ctx)\n\
         console.log(JSON.stringify([input, result ?? null]))\n",
    );
    let call = || sandbox.bare(&node).arg("call.mjs");
    assert_eq!(call().prints(), "[{\"command\":\"verify-run -- eslint src\",\"timeout\":60},null]\n");
    let bare = call().env("PATH", BARE_PATH).prints();
    assert_eq!(bare, "[{\"command\":\"eslint src\",\"timeout\":60},null]\n");
}
