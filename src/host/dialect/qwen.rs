//! Qwen Code: Claude Code's events with Gemini CLI's tools.

use serde_json::{Map, Value};

use super::{
    Dialect, HookAnswer, HookCall, HookEvent, RewritePolicy, UnmatchedPolicy, action, folder, keep_going, replaced,
    specific, text,
};

/// Before a tool every answer needs a decision; how a command ended is not passed on in a documented form.
pub(super) const DIALECT: Dialect = Dialect {
    name: "qwen",
    agent: "qwen-code",
    rewriting: RewritePolicy::Allows,
    hears: &[
        HookEvent::AfterTool,
        HookEvent::AfterFailure,
        HookEvent::SessionStart,
        HookEvent::Prompt,
        HookEvent::Stop,
    ],
    model: Some("model"),
    neutral: "{}",
    read,
    write,
};

/// Why the tool is allowed; that has to be said.
const REASON: &str = "runs the same command under verify-run";

fn read(_moment: HookEvent, said: &Value) -> HookCall {
    let input = said.get("tool_input").unwrap_or(&Value::Null);
    HookCall {
        session: text(said, &["session_id"]),
        cwd: folder(input, &["directory"]).filter(|dir| dir.is_absolute()).or_else(|| folder(said, &["cwd"])),
        id: text(said, &["tool_use_id"]),
        action: action(
            (&["run_shell_command"], &["edit", "replace", "write_file"]),
            said.get("tool_name").and_then(Value::as_str),
            input,
        ),
        ended: None,
        // What a person typed, where that is distinguished from what else goes to the model.
        prompt: text(said, &["submitted_prompt"]).or_else(|| text(said, &["prompt"])),
        unruled: match text(said, &["permission_mode"]).as_deref() {
            Some("yolo") => UnmatchedPolicy::Run,
            _ => UnmatchedPolicy::Asked,
        },
        ignored: false,
        ..HookCall::default()
    }
}

fn write(moment: HookEvent, said: &Value, answer: &HookAnswer) -> Value {
    if moment == HookEvent::Stop {
        return keep_going(answer);
    }
    let mut fields = Map::new();
    if let Some(line) = &answer.line {
        fields.insert("permissionDecision".to_owned(), "allow".into());
        fields.insert("permissionDecisionReason".to_owned(), REASON.into());
        fields.insert("updatedInput".to_owned(), replaced(said.get("tool_input").unwrap_or(&Value::Null), line));
    }
    specific(moment.claude_name(), answer, fields)
}
