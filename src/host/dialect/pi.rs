//! pi: what the extension in `hooks/agent/pi/` sends.
//!
//! `{"session", "cwd", "callId", "tool", "input": {…}, "prompt"}` in, `{"context": "…", "command": "…"}` out. The extension
//! is ours, the names of the tools are pi's.

use serde_json::{Map, Value};

use super::{Dialect, HookAnswer, HookCall, HookEvent, RewritePolicy, UnmatchedPolicy, action, folder, text};

/// It asks about no command: one that is replaced is run as any other.
pub(super) const DIALECT: Dialect = Dialect {
    name: "pi",
    agent: "pi",
    rewriting: RewritePolicy::Asks,
    hears: &[HookEvent::AfterTool, HookEvent::Prompt],
    model: None,
    neutral: "{}",
    read,
    write,
};

fn read(_moment: HookEvent, said: &Value) -> HookCall {
    HookCall {
        session: text(said, &["session"]),
        cwd: folder(said, &["cwd"]),
        id: text(said, &["callId"]),
        action: action(
            (&["bash"], &["edit", "write"]),
            said.get("tool").and_then(Value::as_str),
            said.get("input").unwrap_or(&Value::Null),
        ),
        ended: None,
        prompt: text(said, &["prompt"]),
        unruled: UnmatchedPolicy::Run,
        ignored: false,
        ..HookCall::default()
    }
}

fn write(_moment: HookEvent, _said: &Value, answer: &HookAnswer) -> Value {
    let mut fields = Map::new();
    if let Some(line) = &answer.line {
        fields.insert("command".to_owned(), line.as_str().into());
    }
    if let Some(context) = &answer.context {
        fields.insert("context".to_owned(), context.as_str().into());
    }
    Value::Object(fields)
}
