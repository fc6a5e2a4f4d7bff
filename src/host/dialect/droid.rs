//! Factory Droid: Claude Code's shapes with tools of its own.

use serde_json::{Map, Value};

use super::codex::patched;
use super::{
    Dialect, HookAnswer, HookCall, HookEvent, RewritePolicy, UnmatchedPolicy, action, folder, keep_going, replaced,
    specific, text,
};

/// Its documentation has another input only beside a decision, and no text before a tool; how a command ended is not
/// passed on.
pub(super) const DIALECT: Dialect = Dialect {
    name: "droid",
    agent: "droid",
    rewriting: RewritePolicy::Allows,
    hears: &[HookEvent::AfterTool, HookEvent::SessionStart, HookEvent::Prompt, HookEvent::Stop],
    model: None,
    neutral: "",
    read,
    write,
};

fn read(_moment: HookEvent, said: &Value) -> HookCall {
    let name = said.get("tool_name").and_then(Value::as_str);
    let input = said.get("tool_input").unwrap_or(&Value::Null);
    let patch = text(input, &["input"]).or_else(|| text(input, &["patch"])).filter(|_| name == Some("ApplyPatch"));
    HookCall {
        session: text(said, &["session_id"]),
        cwd: folder(said, &["cwd"]),
        id: text(said, &["tool_use_id"]),
        action: match patch {
            Some(patch) => patched(&patch),
            None => action((&["Execute"], &["Edit", "MultiEdit", "Create"]), name, input),
        },
        ended: None,
        prompt: text(said, &["prompt"]),
        unruled: match text(said, &["permission_mode"]).as_deref() {
            Some("bypassPermissions") => UnmatchedPolicy::Run,
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
        fields.insert("updatedInput".to_owned(), replaced(said.get("tool_input").unwrap_or(&Value::Null), line));
    }
    specific(moment.claude_name(), answer, fields)
}
