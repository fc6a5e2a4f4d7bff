//! Crush: `crush.json`. Only what is asked before a tool is known to every version.

use serde_json::{Map, Value, json};

use super::{Dialect, HookAnswer, HookCall, HookEvent, RewritePolicy, UnmatchedPolicy, action, folder, text};

/// What is answered about the input is merged over it, without a decision. How a command ended is not passed on.
pub(super) const DIALECT: Dialect = Dialect {
    name: "crush",
    agent: "crush",
    rewriting: RewritePolicy::Asks,
    hears: &[HookEvent::BeforeTool],
    model: None,
    neutral: "{}",
    read,
    write,
};

fn read(_moment: HookEvent, said: &Value) -> HookCall {
    HookCall {
        session: text(said, &["session_id"]),
        cwd: folder(said, &["cwd"]),
        id: None,
        action: action(
            (&["bash"], &["edit", "write", "multiedit"]),
            said.get("tool_name").and_then(Value::as_str),
            said.get("tool_input").unwrap_or(&Value::Null),
        ),
        ended: None,
        prompt: None,
        unruled: UnmatchedPolicy::Asked,
        ignored: false,
        ..HookCall::default()
    }
}

fn write(_moment: HookEvent, _said: &Value, answer: &HookAnswer) -> Value {
    let mut fields = Map::new();
    if let Some(line) = &answer.line {
        fields.insert("updated_input".to_owned(), json!({ "command": line }));
    }
    if let Some(context) = &answer.context {
        fields.insert("context".to_owned(), context.as_str().into());
    }
    Value::Object(fields)
}
