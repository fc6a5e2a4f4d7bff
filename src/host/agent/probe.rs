//! What agents send, for trying out what is installed: each host's own payloads, and what of an answer it would take.

use std::path::Path;

use serde_json::{Value, json};

use super::{HookWishes, InstructionForm, plan};
use crate::base::text::{ellipsis, one_line};
use crate::host::document::ours;

/// Of an answer that is shown, bytes.
const SHOWN_BYTES_MAX: usize = 120;
/// A check that fails, in the payloads.
const CHECK: &str = "cargo test";
/// What it says.
const OUTPUT: &str = "error[E0425]: cannot find value `probe` in this scope\n --> src/lib.rs:1:1";

/// A command line that a host is configured with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeLine {
    /// The verify-run command that it runs: `hook claude pre-tool`, `mcp`.
    pub runs: String,
    /// The line, for `sh -c`.
    pub line: String,
}

/// verify-run's command lines in a host's settings, in their order.
pub fn lines(settings: &Value) -> Vec<ProbeLine> {
    let mut found = Vec::new();
    collect(settings, &mut found);
    found
}

fn collect(value: &Value, found: &mut Vec<ProbeLine>) {
    if let Some(runs) = ours(value)
        && let Some(line) = line(value)
    {
        found.push(ProbeLine { runs, line });
        return;
    }
    match value {
        Value::Object(object) => object.values().for_each(|value| collect(value, found)),
        Value::Array(list) => list.iter().for_each(|value| collect(value, found)),
        _ => {}
    }
}

fn line(value: &Value) -> Option<String> {
    let words =
        |list: &Value| Some(list.as_array()?.iter().filter_map(|word| word.as_str()?.to_owned().into()).collect());
    let joined = |words: Vec<String>| shell_words::join(words);
    match (value.get("bash").or(value.get("command"))?, value.get("args")) {
        (Value::String(program), Some(arguments)) => {
            let arguments: Vec<String> = words(arguments)?;
            Some(joined([vec![program.clone()], arguments].concat()))
        }
        (Value::String(line), None) => Some(line.clone()),
        (list, None) => words(list).map(joined),
        _ => None,
    }
}

/// The lines that we write for a host, whatever we are called: only these are run by way of trial. A repository that was
/// cloned may have any other.
pub fn known(form: &InstructionForm, agent: &str, programs: &[String]) -> Vec<String> {
    let forms = std::iter::once(form).chain(form.earlier);
    let entries = forms.flat_map(|form| {
        programs.iter().flat_map(|program| HookWishes::ALL.map(|wishes| form.entries(agent, program, wishes)))
    });
    entries.flatten().flat_map(|entry| lines(plan::value(&entry))).map(|line| line.line).collect()
}

/// What a host sends at one of verify-run's moments, from a project at `dir`; `None` for an unknown host.
pub fn payload(agent: &str, moment: &str, dir: &Path) -> Option<Value> {
    let dir = dir.to_string_lossy();
    let session = "verify-run-doctor";
    Some(match agent {
        "claude" | "codex" | "gemini" => grouped(agent, moment, &dir, session),
        "cursor" => cursor(moment, &dir, session),
        "crush" => json!({"event": "PreToolUse", "session_id": session, "cwd": dir, "tool_name": "bash",
            "tool_input": {"command": CHECK}}),
        "droid" | "qwen" => {
            let tool = if agent == "droid" { "Execute" } else { "run_shell_command" };
            let mut said = grouped("claude", moment, &dir, session);
            if said.get("tool_name").is_some() {
                said["tool_name"] = json!(tool);
            }
            said
        }
        "kiro" => kiro(moment, &dir, session),
        "goose" => {
            let event = if moment == "post-fail" { "PostToolUseFailure" } else { "PostToolUse" };
            json!({"event": event, "session_id": session, "matcher_context": "developer__shell",
                "tool_call_id": "call_1", "tool_name": "developer__shell", "tool_input": {"command": CHECK},
                "working_dir": dir})
        }
        "antigravity" => json!({"conversationId": session, "workspacePaths": [dir], "transcriptPath": "",
            "artifactDirectoryPath": "", "modelName": "default", "invocationNum": 0, "initialNumSteps": 1}),
        "pi" => json!({"session": session, "cwd": dir, "callId": "c1", "tool": "bash", "input": {"command": CHECK}}),
        "copilot" => {
            let mut said = json!({"sessionId": session, "timestamp": 1_791_176_774_359_u64, "cwd": dir});
            let arguments = json!({"command": CHECK, "description": "Run tests", "mode": "sync", "initial_wait": 30});
            match moment {
                "pre-tool" | "post-tool" => {
                    said["toolName"] = json!("bash");
                    said["toolArgs"] = arguments;
                }
                "prompt" => said["prompt"] = json!("Run the tests"),
                "session-start" => said["source"] = json!("new"),
                "stop" => said["stopReason"] = json!("end_turn"),
                _ => said["reason"] = json!("complete"),
            }
            if moment == "post-tool" {
                let told = format!("{OUTPUT}\n<shellId: 0 completed with exit code 101>");
                said["toolResult"] = json!({"resultType": "success", "textResultForLlm": told});
            }
            said
        }
        "opencode" => json!({"sessionID": session, "callID": "c1", "cwd": dir, "tool": "bash",
            "args": {"command": CHECK}, "exit": 101, "output": OUTPUT}),
        "cline" => {
            let mut said = json!({"clineVersion": "4.1.0", "timestamp": "1791176774359", "taskId": session,
                "workspaceRoots": [dir], "userId": "u"});
            let tool = json!({"toolName": "execute_command", "parameters": {"command": CHECK}});
            match moment {
                "pre-tool" => (said["hookName"], said["preToolUse"]) = (json!("PreToolUse"), tool),
                "post-tool" => {
                    said["hookName"] = json!("PostToolUse");
                    said["postToolUse"] = tool;
                    said["postToolUse"]["result"] =
                        json!(format!("Command failed with exit code 101.\nOutput:\n{OUTPUT}"));
                }
                "prompt" => said["userPromptSubmit"] = json!({"prompt": "Run the tests", "attachments": []}),
                _ => {
                    said["taskStart"] = json!({"taskMetadata": {"taskId": session, "ulid": "u", "initialTask": "Run"}})
                }
            }
            said
        }
        _ => return None,
    })
}

/// Claude Code, and those who took its payloads over.
fn grouped(agent: &str, moment: &str, dir: &str, session: &str) -> Value {
    let mut said = json!({"session_id": session, "transcript_path": null, "cwd": dir});
    match agent {
        "claude" => said["permission_mode"] = json!("default"),
        "codex" => {
            said["permission_mode"] = json!("default");
            said["model"] = json!("default");
            said["turn_id"] = json!("1");
        }
        _ => said["timestamp"] = json!("2026-11-23T10:00:00Z"),
    }
    let (shell, failed) = if agent == "gemini" {
        let told = format!(
            "<untrusted_context>\nOutput: {OUTPUT}\nExit Code: 101\nProcess Group PGID: 1\n</untrusted_context>"
        );
        ("run_shell_command", json!({"llmContent": told, "returnDisplay": OUTPUT}))
    } else {
        ("Bash", json!({"stdout": "ok\n", "stderr": "", "interrupted": false, "isImage": false}))
    };
    let event = match (moment, agent == "gemini") {
        ("pre-tool", true) => "BeforeTool",
        ("post-tool", true) => "AfterTool",
        ("prompt", true) => "BeforeAgent",
        ("pre-tool", _) => "PreToolUse",
        ("post-tool", _) => "PostToolUse",
        ("post-fail", _) => "PostToolUseFailure",
        ("prompt", _) => "UserPromptSubmit",
        ("session-start", _) => "SessionStart",
        ("stop", true) => "AfterAgent",
        ("stop", _) => "Stop",
        _ => "SessionEnd",
    };
    said["hook_event_name"] = json!(event);
    if matches!(moment, "pre-tool" | "post-tool" | "post-fail") {
        said["tool_name"] = json!(shell);
        said["tool_input"] = json!({"command": CHECK, "description": "Run tests"});
        said["tool_use_id"] = json!("toolu_01");
    }
    match moment {
        "post-tool" if agent == "codex" => said["tool_response"] = json!(OUTPUT),
        "post-tool" => said["tool_response"] = failed,
        "post-fail" => {
            said["error"] = json!(format!("Exit code 101\n{OUTPUT}"));
            said["is_interrupt"] = json!(false);
        }
        "prompt" => said["prompt"] = json!("Run the tests"),
        "session-start" => said["source"] = json!("startup"),
        "session-end" => said["reason"] = json!("other"),
        "stop" => said["stop_hook_active"] = json!(false),
        _ => {}
    }
    said
}

fn kiro(moment: &str, dir: &str, session: &str) -> Value {
    let mut said = grouped("kiro", moment, dir, session);
    if let Some(said) = said.as_object_mut() {
        said.retain(|key, _| !matches!(key.as_str(), "transcript_path" | "timestamp" | "tool_use_id" | "source"));
    }
    if said.get("tool_name").is_some() {
        said["tool_name"] = json!("execute_bash");
        said["tool_input"] = json!({"command": CHECK, "cwd": dir});
    }
    if moment == "post-tool" {
        said["tool_response"] = json!(format!("Output:\n{OUTPUT}\n\nExit Code: 101"));
    }
    said
}

fn cursor(moment: &str, dir: &str, session: &str) -> Value {
    let mut said = json!({"conversation_id": session, "generation_id": "g", "model": "default", "session_id": session,
        "cursor_version": "2026.10.01", "workspace_roots": [dir], "transcript_path": null});
    let event = match moment {
        "pre-tool" => "preToolUse",
        "post-tool" => "postToolUse",
        "post-fail" => "postToolUseFailure",
        "session-start" => "sessionStart",
        "stop" => "stop",
        _ => "sessionEnd",
    };
    said["hook_event_name"] = json!(event);
    if event.contains("Tool") {
        said["tool_name"] = json!("Shell");
        said["tool_input"] = json!({"command": CHECK, "cwd": dir, "timeout": 30_000});
        said["tool_use_id"] = json!("t1");
        said["cwd"] = json!(dir);
    }
    match moment {
        "post-tool" => said["tool_output"] = json!(json!({"output": "ok\n", "exitCode": 0}).to_string()),
        "stop" => (said["status"], said["loop_count"]) = (json!("completed"), json!(0)),
        "post-fail" => {
            said["error_message"] = json!(OUTPUT);
            said["failure_type"] = json!("error");
            said["is_interrupt"] = json!(false);
        }
        _ => {}
    }
    said
}

/// The moment at which a host tells how a check failed, if it does: what is sent then has to be recorded.
pub fn telling(agent: &str) -> Option<&'static str> {
    match agent {
        "claude" => Some("post-fail"),
        "gemini" | "copilot" | "opencode" | "kiro" | "cline" => Some("post-tool"),
        _ => None,
    }
}

/// Whether a host would take `printed` for an answer.
///
/// # Errors
/// What it would make of it instead.
pub fn judge(agent: &str, neutral: &str, printed: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(printed);
    let text = text.trim();
    let shown = || one_line(&ellipsis(text, SHOWN_BYTES_MAX));
    if text.is_empty() {
        return if neutral.is_empty() { Ok(()) } else { Err("there was no answer".to_owned()) };
    }
    // It adds whatever is printed to the context.
    if agent == "kiro" {
        return Ok(());
    }
    let Ok(Value::Object(answer)) = serde_json::from_str::<Value>(text) else {
        return Err(format!("the answer is not a JSON object: {}", shown()));
    };
    if agent == "codex" {
        // A key too many, and the hook counts as failed.
        let known =
            ["continue", "decision", "hookSpecificOutput", "reason", "stopReason", "suppressOutput", "systemMessage"];
        let specific =
            ["hookEventName", "permissionDecision", "permissionDecisionReason", "updatedInput", "additionalContext"];
        let inner = answer.get("hookSpecificOutput").and_then(Value::as_object);
        let strange = answer.keys().find(|key| !known.contains(&key.as_str()));
        let strange = strange.or_else(|| inner?.keys().find(|key| !specific.contains(&key.as_str())));
        if let Some(key) = strange {
            return Err(format!("Codex doesn't know `{}`: {}", one_line(key), shown()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::agent::{AGENTS, ConfigPart};
    use crate::host::dialect::{Dialect, HookAction, HookEvent};

    #[test]
    fn every_hook_of_the_table_has_a_payload_that_is_understood() {
        let dir = Path::new("/project");
        for agent in AGENTS {
            for piece in agent.project {
                let moments: Vec<&str> = match &piece.what {
                    ConfigPart::Hooks(form) => form.events.iter().chain(&form.stop).map(|(_, ours, _)| *ours).collect(),
                    ConfigPart::Script(moment) => vec![*moment],
                    _ => continue,
                };
                let dialect = Dialect::named(agent.name).expect("a dialect");
                for name in moments {
                    let moment = HookEvent::named(name).expect("a moment");
                    let call = dialect.read(moment, &payload(agent.name, name, dir).expect("a payload"));
                    assert_eq!(call.session.as_deref(), Some("verify-run-doctor"), "{} {name}", agent.name);
                    if name == "pre-tool" {
                        assert_eq!(call.action, HookAction::Shell(CHECK.into()), "{}", agent.name);
                    }
                    if telling(agent.name) == Some(name) {
                        let ended = call.ended.expect("how it ended");
                        let output = ended.output.expect("what it printed");
                        assert_eq!((ended.code, output.contains("E0425")), (101, true), "{}", agent.name);
                    }
                }
            }
        }
    }

    #[test]
    fn answers_are_judged_as_the_host_would() {
        assert_eq!(judge("claude", "", b""), Ok(()));
        assert_eq!(judge("cursor", "{}", b" {} \n"), Ok(()));
        assert_eq!(judge("cursor", "{}", b"\n"), Err("there was no answer".into()));
        assert_eq!(judge("gemini", "{}", b"oops"), Err("the answer is not a JSON object: oops".into()));
        assert!(judge("claude", "", b"[]").is_err());
        let strange = br#"{"hookSpecificOutput": {"hookEventName": "PreToolUse", "more": 1}}"#;
        assert!(judge("codex", "", strange).expect_err("strict").starts_with("Codex doesn't know `more`"));
        assert_eq!(judge("claude", "", strange), Ok(()));
    }

    #[test]
    fn only_lines_that_we_write_are_known() {
        for agent in AGENTS {
            for piece in agent.project {
                let ConfigPart::Hooks(form) = &piece.what else { continue };
                let known = known(form, agent.name, &["verify-run".into(), "/opt/my tools/verify-run".into()]);
                assert!(known.iter().any(|line| line.contains("verify-run hook ")), "{known:?}");
                assert!(known.iter().any(|line| line.contains("'/opt/my tools/verify-run' hook ")), "{known:?}");
            }
        }
        let other = json!({"hooks": [{"command": "verify-run hook claude pre-tool; rm -rf ~"}]});
        assert_eq!(lines(&other)[0].runs, "hook claude pre-tool");
    }
}
