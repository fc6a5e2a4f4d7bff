//! What a hook alone saw is recorded, and once.

use serde_json::{Value, json};
use verify_run::run::CommandEnd;

use super::rewriting::rewritten;
use super::{FINDING, answer, hook, scene};
use crate::sandbox::Sandbox;
use crate::shims;

fn failed(sandbox: &Sandbox, call: &str, command: &str, code: u8) -> String {
    let finding = FINDING.replace("$PWD", &sandbox.work().to_string_lossy());
    let said = json!({
        "session_id": "s-1", "cwd": sandbox.work(), "hook_event_name": "PostToolUseFailure", "tool_name": "Bash",
        "tool_input": { "command": command }, "tool_use_id": call, "duration_ms": 40,
        "error": format!("Exit code {code}\n{finding}"),
    });
    said.to_string()
}

fn runs(sandbox: &Sandbox) -> Vec<Value> {
    sandbox.events().into_iter().filter(|event| event["kind"] == "run").collect()
}

#[test]
fn a_failure_without_a_wrapper_is_recorded_with_who_saw_it() {
    let sandbox = scene();
    let before = runs(&sandbox).len();
    answer(hook(&sandbox, "claude", "post-fail", failed(&sandbox, "t-1", "cd src && eslint .", 1)));
    sandbox.settle();
    let runs = runs(&sandbox);
    assert_eq!(runs.len(), before + 1);
    let run = runs.last().expect("a run");
    assert_eq!(run["observed_via"], "hook");
    assert_eq!(
        (&run["session"], &run["agent"], &run["tool"]),
        (&json!("s-1"), &json!("claude-code"), &json!("eslint"))
    );
    assert_eq!(run["failure"]["items"][0]["message"], "foo is not defined");
    let pattern = sandbox.verify_run(["pattern", "list", "--json"]).prints_json();
    assert_eq!(pattern["patterns"].as_array().map(Vec::len), Some(1), "the same mistake: {pattern}");
}

#[test]
fn no_check_no_failure_and_no_answer_of_a_wrapped_run_is_recorded() {
    let sandbox = scene();
    let before = runs(&sandbox).len();
    for command in ["git status", "verify-run -- eslint src", "cd web && verify-run -- eslint src | tail", "./notes.sh"]
    {
        answer(hook(&sandbox, "claude", "post-fail", failed(&sandbox, "t", command, 1)));
    }
    let passed = json!({
        "session_id": "s-1", "cwd": sandbox.work(), "tool_name": "Bash", "tool_input": { "command": "eslint other" },
        "tool_response": { "stdout": "", "stderr": "" },
    });
    answer(hook(&sandbox, "claude", "post-tool", passed.to_string()));
    sandbox.settle();
    assert_eq!(runs(&sandbox).len(), before);
}

#[test]
fn a_check_that_a_wrapper_saw_inside_of_the_line_is_one_run() {
    let sandbox = scene();
    sandbox.write("package.json", r#"{"scripts": {"lint": "verify-run eslint src"}}"#);
    let before = runs(&sandbox).len();
    // Seen by the wrapper of the script, then by the hook of the agent, which doesn't see into the script.
    let wrapped = sandbox.verify_run(["eslint", "src"]).env("VERIFY_RUN_SESSION", "s-1").outcome();
    assert_eq!(wrapped.ended, CommandEnd::Exit(1));
    answer(hook(&sandbox, "claude", "post-fail", failed(&sandbox, "t-1", "npm run lint", 1)));
    // And configured twice: in the settings and by a plugin.
    answer(hook(&sandbox, "claude", "post-fail", failed(&sandbox, "t-1", "npm run lint", 1)));
    sandbox.settle();
    assert_eq!(runs(&sandbox).len(), before + 1);
}

#[test]
fn one_check_seen_by_a_shim_a_prefix_and_a_hook_is_one_run() {
    let sandbox = scene();
    shims::install(&sandbox, &["eslint"]);
    let path = shims::path_with(&sandbox, &[]);
    let prefixed = rewritten(&sandbox, "eslint src").expect("a line with the prefix");
    assert_eq!(prefixed, "verify-run -- eslint src");
    // Under the prefix the shim is what is found; by its own name the shim alone records.
    for (call, line) in [("t-1", prefixed.as_str()), ("t-2", "eslint src"), ("t-3", "cd src && eslint .")] {
        let before = runs(&sandbox).len();
        let ran = sandbox.bare("bash").args(["-c", line]).env("PATH", &path).outcome();
        assert_eq!(ran.ended, CommandEnd::Exit(1), "{}", ran.stderr());
        // A host tells the line as it was asked for, or as it was run; and two configurations tell it twice.
        let asked = line.trim_start_matches("verify-run -- ");
        for told in [asked, line, asked] {
            answer(hook(&sandbox, "claude", "post-fail", failed(&sandbox, call, told, 1)).env("PATH", &path));
        }
        sandbox.settle();
        let runs = runs(&sandbox);
        assert_eq!(runs.len(), before + 1, "{line}");
        assert_eq!(runs.last().expect("a run")["observed_via"], Value::Null, "the wrapper has the output: {line}");
    }
}

#[test]
fn a_hook_that_is_configured_twice_records_once_and_two_failures_in_a_row_are_two() {
    let sandbox = scene();
    let before = runs(&sandbox).len();
    for call in ["t-1", "t-1", "t-2"] {
        answer(hook(&sandbox, "claude", "post-fail", failed(&sandbox, call, "eslint lib", 1)));
    }
    sandbox.settle();
    assert_eq!(runs(&sandbox).len(), before + 2);
}

/// What goose says of a command of its shell.
fn of_goose(sandbox: &Sandbox, call: &str, command: &str) -> String {
    let said = json!({
        "event": "PostToolUse", "session_id": "s-1", "matcher_context": "developer__shell", "tool_call_id": call,
        "tool_name": "developer__shell", "tool_input": { "command": command }, "working_dir": sandbox.work(),
    });
    said.to_string()
}

#[test]
fn of_a_failure_whose_output_is_not_told_nothing_is_learnt() {
    let sandbox = scene();
    let known = || {
        let listed = sandbox.verify_run(["pattern", "list", "--json"]).prints_json();
        listed["patterns"].as_array().expect("a list").iter().map(|it| it["id"].clone()).collect::<Vec<_>>()
    };
    let before = (runs(&sandbox).len(), known());
    sandbox.tool("ruff", "exit 1");
    answer(hook(&sandbox, "goose", "post-fail", of_goose(&sandbox, "t-1", "ruff check .")));
    sandbox.settle();
    let failed = runs(&sandbox);
    assert_eq!(failed.len(), before.0 + 1);
    let run = failed.last().expect("a run");
    assert_eq!(
        (&run["tool"], &run["agent"], &run["ended"]["exit"]),
        (&json!("ruff-check"), &json!("goose"), &json!(1))
    );
    assert_eq!((&run["partly_seen"], &run["observed_via"]), (&json!(true), &json!("hook")), "{run}");
    sandbox.write("src/a.py", "print()\n");
    answer(hook(&sandbox, "goose", "post-tool", of_goose(&sandbox, "t-2", "ruff check .")));
    sandbox.settle();
    assert_eq!(known(), before.1);
    let fixes = sandbox.verify_run(["fix", "list", "--json"]).prints_json();
    let of_it = fixes["fixes"].as_array().expect("a list").iter().find(|fix| fix["command"] == "sh -c 'ruff check .'");
    let fix = of_it.expect("it passes again");
    assert_eq!(
        (&fix["status_reason"], &fix["high_value"]),
        (&json!("cause of the fix unknown"), &json!(false)),
        "{fix}"
    );
    assert!(!sandbox.verify_run(["lesson", "list"]).outcome().stdout().contains("ruff"));
}

#[test]
fn a_pass_that_is_told_without_output_ends_a_failure_that_was_seen() {
    let sandbox = scene();
    sandbox.write("src/a.js", "let foo\nfoo\n");
    answer(hook(&sandbox, "goose", "post-tool", of_goose(&sandbox, "t-1", "eslint src")));
    sandbox.settle();
    let run = runs(&sandbox).pop().expect("a run");
    assert_eq!((&run["ended"]["exit"], &run["observed_via"]), (&json!(0), &json!("hook")));
}

#[test]
fn kiro_tells_how_a_command_ended_and_what_it_printed() {
    let sandbox = scene();
    let before = runs(&sandbox).len();
    let finding = FINDING.replace("$PWD", &sandbox.work().to_string_lossy());
    let said = json!({
        "session_id": "s-1", "hook_event_name": "PostToolUse", "cwd": sandbox.work(), "tool_name": "execute_bash",
        "tool_input": { "command": "eslint lib" }, "tool_response": format!("Output:\n{finding}\n\nExit Code: 1"),
    });
    answer(hook(&sandbox, "kiro", "post-tool", said.to_string()));
    let unnamed = json!({
        "session_id": "s-1", "hook_event_name": "PostToolUse", "cwd": sandbox.work(), "tool_name": "execute_bash",
        "tool_input": {}, "tool_response": format!("Output:\n{finding}\n\nExit Code: 1"),
    });
    answer(hook(&sandbox, "kiro", "post-tool", unnamed.to_string()));
    sandbox.settle();
    let runs = runs(&sandbox);
    assert_eq!(runs.len(), before + 1, "a command that is not named is not a check");
    let run = runs.last().expect("a run");
    assert_eq!((&run["agent"], &run["partly_seen"]), (&json!("kiro"), &Value::Null), "{run}");
    assert_eq!(run["failure"]["items"][0]["message"], "foo is not defined");
}

#[test]
fn cline_tells_how_a_command_ended_and_what_it_printed() {
    let sandbox = scene();
    let before = runs(&sandbox).len();
    let finding = FINDING.replace("$PWD", &sandbox.work().to_string_lossy());
    let told = |command: &str, result: String| {
        let tool = json!({
            "toolName": "execute_command", "parameters": { "command": command }, "result": result, "success": true,
            "executionTimeMs": 40,
        });
        let said = json!({
            "clineVersion": "4.1.0", "hookName": "PostToolUse", "taskId": "s-1", "workspaceRoots": [sandbox.work()],
            "postToolUse": tool,
        });
        answer(hook(&sandbox, "cline", "post-tool", said.to_string()));
    };
    told("eslint lib", format!("Command failed with exit code 1.\nOutput:\n{finding}"));
    // Without a code, of a command that goes on, and of one that was ended.
    told("eslint docs", format!("Command executed.\nOutput:\n{finding}"));
    told(
        "eslint web",
        format!("Command is still running in the user's terminal.\nHere's the output so far:\n{finding}"),
    );
    told("eslint app", "Command terminated by signal SIGINT.".to_owned());
    sandbox.settle();
    let found = runs(&sandbox);
    assert_eq!(found.len(), before + 1);
    let run = found.last().expect("a run");
    assert_eq!((&run["agent"], &run["ended"]["exit"], &run["partly_seen"]), (&json!("cline"), &json!(1), &Value::Null));
    assert_eq!(run["failure"]["items"][0]["message"], "foo is not defined");
    // Cline keeps the middle of a long output in a file.
    told("eslint all", format!("Command failed with exit code 1.\nOutput:\n{finding}\nFull output saved to: /tmp/log"));
    sandbox.settle();
    assert_eq!(runs(&sandbox).last().expect("a run")["partly_seen"], true);
}

#[test]
fn a_pass_that_ends_an_open_failure_is_recorded_too() {
    let sandbox = scene();
    let before = runs(&sandbox).len();
    let passed = |command: &str| {
        json!({
            "session_id": "s-1", "cwd": sandbox.work(), "tool_name": "Bash", "tool_input": { "command": command },
            "tool_response": { "stdout": "", "stderr": "", "interrupted": false }, "duration_ms": 20,
        })
    };
    sandbox.write("src/a.js", "let foo\nfoo\n");
    answer(hook(&sandbox, "claude", "post-tool", passed("eslint src | tail -3").to_string()));
    sandbox.settle();
    assert_eq!(runs(&sandbox).len(), before, "tail has passed");
    answer(hook(&sandbox, "claude", "post-tool", passed("eslint src").to_string()));
    sandbox.settle();
    assert_eq!(runs(&sandbox).len(), before + 1);
    let fixes = sandbox.verify_run(["fix", "list", "--json"]).prints_json();
    assert_eq!(fixes["fixes"].as_array().map(Vec::len), Some(1), "{fixes}");
}
