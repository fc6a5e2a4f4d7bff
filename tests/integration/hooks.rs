//! `verify-run hook AGENT EVENT`: every host's payloads and the exact answers, and what no payload may do.

mod chance;
mod hosts;
mod news;
mod observing;
mod rewriting;
mod sessions;

use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};
use verify_run::run::CommandEnd;

use crate::sandbox::{Invocation, Outcome, Sandbox, VERIFY_RUN};

const AGENTS: [&str; 14] = [
    "claude",
    "codex",
    "cursor",
    "gemini",
    "copilot",
    "opencode",
    "cline",
    "crush",
    "droid",
    "pi",
    "qwen",
    "kiro",
    "goose",
    "antigravity",
];
/// A failure that every sandbox here has seen.
const FINDING: &str = "\n$PWD/src/a.js\n  1:1  error  foo is not defined  no-undef\n";
/// Longer than any input that is looked at, bytes.
const LONG: usize = 10_000_000;

/// A repository in which eslint has failed in three tasks, with verify-run on the PATH.
fn scene() -> Sandbox {
    let sandbox = Sandbox::repository();
    sandbox.write("src/a.js", "foo\n");
    sandbox.write("verify-run.toml", "[advice]\nhook_ms = 60000\nholdout = false\n");
    let rule = "[[detector]]\nname = \"undefined\"\ntitle = \"Undefined names\"\nsummary = \"{hits} tasks.\"\n\
                rule = \"Declare a name before it is used.\"\ncode = [\"no-undef\"]\n";
    sandbox.write(".verify-run/tools/own.toml", rule);
    sandbox.commit("The project");
    symlink(VERIFY_RUN, sandbox.tool("verify-run", "").with_file_name("link")).expect("a link");
    let link = sandbox.tool("verify-run", "");
    std::fs::rename(link.with_file_name("link"), &link).expect("a name");
    sandbox.tool("eslint", &format!("printf '%s\\n' \"{FINDING}\"; exit 1"));
    sandbox.tool("cargo", "");
    for task in ["one", "two", "three"] {
        let run = sandbox.verify_run(["--sync", "--task", task, "eslint", "src"]).outcome();
        assert_eq!(run.ended, CommandEnd::Exit(1), "{}", run.stderr());
    }
    sandbox
}

fn hook<'a>(sandbox: &'a Sandbox, agent: &str, event: &str, said: impl Into<Vec<u8>>) -> Invocation<'a> {
    sandbox.verify_run(["hook", agent, event]).stdin(said)
}

/// What it says; it has to end with 0 and say nothing on standard error.
#[track_caller]
fn answer(call: Invocation<'_>) -> String {
    let outcome: Outcome = call.outcome();
    assert_eq!((outcome.ended, outcome.stderr()), (CommandEnd::Exit(0), ""));
    outcome.stdout().to_owned()
}

fn fixtures(agent: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/hosts/{agent}.json"));
    let text = std::fs::read_to_string(path).expect("the fixtures");
    let fixtures: Value = serde_json::from_str(&text).expect("JSON");
    fixtures["cases"].as_array().expect("a list").clone()
}

fn neutral(agent: &str) -> &'static str {
    match agent {
        "claude" | "codex" | "droid" | "kiro" | "goose" => "",
        "cline" => r#"{"cancel":false}"#,
        _ => "{}",
    }
}

/// The payload in this sandbox.
fn placed(said: &Value, sandbox: &Sandbox) -> String {
    said.to_string().replace("/repo", &sandbox.work().to_string_lossy())
}

#[test]
fn every_payload_of_every_host_has_its_exact_answer() {
    let sandbox = scene();
    for agent in AGENTS {
        for case in fixtures(agent) {
            let event = case["event"].as_str().expect("an event");
            let options = case["options"].as_array().cloned().unwrap_or_default();
            let options: Vec<&str> = options.iter().filter_map(Value::as_str).collect();
            let call = hook(&sandbox, agent, event, placed(&case["said"], &sandbox)).args(options);
            let said = answer(call).replace(&*sandbox.work().to_string_lossy(), "/repo");
            let expected = match &case["answer"] {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            assert_eq!(said, expected, "{agent}: {}", case["name"]);
        }
    }
}

#[test]
fn what_a_session_was_told_it_is_not_told_again() {
    let sandbox = scene();
    let edit = |session: &str| {
        let input = json!({ "file_path": sandbox.path("src/a.js") });
        let said = json!({ "session_id": session, "cwd": sandbox.work(), "tool_name": "Edit", "tool_input": input });
        answer(hook(&sandbox, "claude", "pre-tool", said.to_string()))
    };
    assert!(edit("one").contains("foo"));
    assert_eq!(edit("one"), "");
    assert!(edit("two").contains("foo"));
    // The recorder has taken the notes meanwhile.
    sandbox.verify_run(["last"]).outcome();
    assert_eq!(edit("one"), "");
    let failed = json!({
        "session_id": "one", "cwd": sandbox.work(), "tool_name": "Bash", "duration_ms": 5,
        "tool_input": { "command": "verify-run -- eslint src" },
        "error": format!("Exit code 1\n{}", FINDING.replace("$PWD", &sandbox.work().to_string_lossy())),
    });
    assert_eq!(answer(hook(&sandbox, "claude", "post-fail", failed.to_string())), "", "it was shown before the edit");
}

#[test]
fn a_session_starts_with_what_is_written_down_about_its_task_and_that_counts_as_a_use() {
    let sandbox = scene();
    let said = |session: &str| json!({ "session_id": session, "cwd": sandbox.work(), "source": "startup" }).to_string();
    let add = ["knowledge", "add", "pattern", "--title", "Parsers close before they reopen", "--files", "src/a.js"];
    let text = r#"{"description": "close it first", "template": "close(); open()", "usage": "in parsers"}"#;
    let added = sandbox.verify_run(add).args(["--source", "human", "--properties", text]).outcome();
    assert_eq!(added.ended, CommandEnd::Exit(0), "{}", added.stderr());
    let task = ["task", "start", "parsers", "--title", "parsers reopen", "--files", "src/a.js"];
    let started = sandbox.verify_run(task).outcome();
    assert_eq!(started.ended, CommandEnd::Exit(0), "{}", started.stderr());
    sandbox.verify_run(["last"]).outcome();
    let call = hook(&sandbox, "claude", "session-start", said("s")).env("VERIFY_RUN_TASK", "parsers");
    let text = answer(call);
    assert!(text.contains("close it first"), "{text}");
    sandbox.verify_run(["last"]).outcome();
    let page = sandbox.verify_run(["knowledge", "query", "parsers", "--json"]).prints_json();
    assert_eq!(page["entries"][0]["title"], "Parsers close before they reopen");
    assert!(page["entries"][0]["uses"]["queried"].as_u64() >= Some(1), "{page}");
}

#[test]
fn antigravity_is_told_before_the_first_answer_of_a_session_only() {
    let sandbox = scene();
    let add = ["knowledge", "add", "pattern", "--title", "Parsers close before they reopen", "--files", "src/a.js"];
    let text = r#"{"description": "close it first", "template": "close(); open()", "usage": "in parsers"}"#;
    sandbox.verify_run(add).args(["--source", "human", "--properties", text]).prints();
    let task = ["task", "start", "parsers", "--title", "parsers reopen", "--files", "src/a.js"];
    sandbox.verify_run(task).prints();
    let asked = |invocation: u32, steps: u32| {
        let said = json!({
            "conversationId": "c-1", "workspacePaths": [sandbox.work()], "invocationNum": invocation,
            "initialNumSteps": steps,
        });
        let call = hook(&sandbox, "antigravity", "session-start", said.to_string());
        answer(call.env("VERIFY_RUN_TASK", "parsers"))
    };
    let told: Value = serde_json::from_str(&asked(0, 1)).expect("JSON");
    let text = told["injectSteps"][0]["ephemeralMessage"].as_str().expect("a text");
    assert!(text.contains("close it first"), "{told}");
    // A second answer, and what the user asks next.
    assert_eq!((asked(1, 4), asked(0, 6)), ("{}".to_owned(), "{}".to_owned()));
}

#[test]
fn shims_are_put_in_front_for_a_claude_session() {
    let sandbox = scene();
    let shims = sandbox.home().join(".local/share/verify-run/shims");
    let file = sandbox.tmp().join("session.env");
    let said = || json!({ "session_id": "s", "cwd": sandbox.work(), "source": "startup" }).to_string();
    let start = || answer(hook(&sandbox, "claude", "session-start", said()).env("CLAUDE_ENV_FILE", &file));
    start();
    assert!(!file.exists(), "there are no shims");
    std::fs::create_dir_all(&shims).expect("a folder");
    std::fs::write(&file, "export OTHER=1\n").expect("written");
    start();
    start();
    let script = format!(". '{}'; echo \"$OTHER $PATH\"", file.display());
    let path = sandbox.bare("sh").args(["-c", &script]).prints();
    assert_eq!(path.matches(&*shims.to_string_lossy()).count(), 1, "{path}");
    assert!(path.starts_with(&format!("1 {}:", shims.display())), "{path}");
}

/// A payload without most of it, with more than there is, and cut off, of the wrong types, and too long.
#[test]
fn payloads_that_are_not_as_they_should_be_are_answered_as_if_there_were_nothing_to_say() {
    let sandbox = scene();
    for agent in AGENTS {
        for case in fixtures(agent) {
            let event = case["event"].as_str().expect("an event");
            let whole = placed(&case["said"], &sandbox);
            let name = format!("{agent}: {}", case["name"]);
            for end in [0, 1, whole.len() / 2, whole.len() - 1] {
                let cut = &whole[..whole.floor_char_boundary(end)];
                assert_eq!(answer(hook(&sandbox, agent, event, cut)), neutral(agent), "{name}, cut off at {end}");
            }
            let said: Value = serde_json::from_str(&whole).expect("JSON");
            let wrong = wrong_types(&said).to_string();
            assert_eq!(answer(hook(&sandbox, agent, event, wrong)), neutral(agent), "{name}, of wrong types");
            assert_eq!(answer(hook(&sandbox, agent, event, "{}")), neutral(agent), "{name}, empty");
        }
        let long = json!({ "session_id": "s", "cwd": sandbox.work(), "padding": "x".repeat(LONG) }).to_string();
        assert_eq!(answer(hook(&sandbox, agent, "pre-tool", long)), neutral(agent), "{agent}, too long");
        assert_eq!(answer(hook(&sandbox, agent, "no-such-event", "{}")), neutral(agent), "{agent}, unknown event");
    }
    assert_eq!(answer(hook(&sandbox, "unknown", "pre-tool", "{}")), "");
}

#[test]
fn fields_that_nobody_knows_change_nothing() {
    let sandbox = scene();
    for agent in AGENTS {
        for case in fixtures(agent) {
            let event = case["event"].as_str().expect("an event");
            let mut said: Value = serde_json::from_str(&placed(&case["said"], &sandbox)).expect("JSON");
            said["something_new"] = json!({ "deep": [1, null, { "er": true }] });
            let options = case["options"].as_array().cloned().unwrap_or_default();
            let options: Vec<&str> = options.iter().filter_map(Value::as_str).collect();
            let call = hook(&sandbox, agent, event, said.to_string()).args(options);
            let said = answer(call).replace(&*sandbox.work().to_string_lossy(), "/repo");
            let expected = match &case["answer"] {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            assert_eq!(said, expected, "{agent}: {}", case["name"]);
        }
    }
}

/// The same keys with values of another type.
fn wrong_types(value: &Value) -> Value {
    match value {
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), wrong_types(value))).collect(),
        Value::String(_) => json!(7),
        Value::Array(_) => json!("list"),
        Value::Number(_) => json!({ "a": [] }),
        Value::Bool(_) | Value::Null => json!(["x"]),
    }
}
