//! What the agents themselves say of the configuration that we write.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use verify_run::run::Ended;

use super::{done, project, rust};
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
        assert_eq!(ended, Ended::Exit(0), "{said}");
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
        assert_eq!((outcome.ended, outcome.stdout()), (Ended::Exit(0), ""), "{settings}");
    }
    let wrong = sandbox.read(".claude/settings.json").replacen("\"args\"", "\"arguments\"", 1);
    assert!(check(&wrong).stdout().contains("arguments"), "a wrong key is found");
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
        assert_eq!(outcome.ended, Ended::Exit(0), "{}{}", outcome.stdout(), outcome.stderr());
        assert!(outcome.stdout().contains("Validation passed\n"), "{}", outcome.stdout());
    }
}

#[test]
fn the_plugin_calls_what_the_settings_call() {
    let sandbox = rust();
    done(&sandbox, &["hook", "install", "--yes", "claude"]);
    let settings: Value = serde_json::from_str(&sandbox.read(".claude/settings.json")).expect("JSON");
    let plugin = include_str!("../../../hooks/agent/claude-plugin/hooks/hooks.json");
    let mut plugin: Value = serde_json::from_str(plugin).expect("JSON");
    for groups in plugin["hooks"].as_object_mut().expect("events").values_mut() {
        let handler = &mut groups[0]["hooks"][0];
        let line = handler["command"].as_str().expect("a line").to_owned();
        let words =
            line.strip_prefix("command -v verify-run >/dev/null 2>&1 || exit 0; exec verify-run ").expect("guarded");
        handler["args"] = json!(words.split(' ').collect::<Vec<_>>());
        handler["command"] = json!("verify-run");
        // Without the program it says nothing and lets everything go on.
        sandbox.bare("sh").args(["-c", &line]).env("PATH", "/usr/bin:/bin").stdin("{}").expect(Ended::Exit(0), "", "");
    }
    assert_eq!(plugin["hooks"], settings["hooks"]);
    let servers: Value = serde_json::from_str(&sandbox.read(".mcp.json")).expect("JSON");
    let own = include_str!("../../../hooks/agent/claude-plugin/.mcp.json");
    assert_eq!(serde_json::from_str::<Value>(own).expect("JSON"), servers["mcpServers"]);
}

#[test]
fn commands_that_would_refuse_without_the_program_let_everything_go_on() {
    let sandbox = rust();
    done(&sandbox, &["hook", "install", "--yes", "--no-mcp", "gemini", "copilot", "cline"]);
    let lines = |file: &str| {
        let settings: Value = serde_json::from_str(&sandbox.read(file)).expect("JSON");
        let found = verify_run::host::agent::probe::lines(&settings);
        assert!(!found.is_empty(), "{file}");
        found.into_iter().map(|line| line.line).collect::<Vec<_>>()
    };
    for line in lines(".gemini/settings.json") {
        sandbox.bare("bash").args(["-c", &line]).env("PATH", "/usr/bin:/bin").stdin("{}").expect(
            Ended::Exit(0),
            "",
            "",
        );
    }
    for line in lines(".github/hooks/verify-run.json") {
        let outcome = sandbox.bare("bash").args(["-c", &line]).env("PATH", "/usr/bin:/bin").stdin("{}").outcome();
        assert_eq!((outcome.ended, outcome.stdout()), (Ended::Exit(0), ""));
    }
    let script = sandbox.path(".clinerules/hooks/PreToolUse");
    sandbox.bare(&script).env("PATH", "/usr/bin:/bin").stdin("{}").expect(Ended::Exit(0), "{\"cancel\":false}\n", "");
}
