//! goose since 1.38: the hooks of an Open Plugin.

use serde_json::Value;

use super::{
    Dialect, HookAnswer, HookCall, HookEvent, HostCommandEnd, RewritePolicy, UnmatchedPolicy, action, folder, text,
};

/// Commands can't be replaced, and nothing that is printed reaches the model.
pub(super) const DIALECT: Dialect = Dialect {
    name: "goose",
    agent: "goose",
    rewriting: RewritePolicy::Never,
    hears: &[],
    model: None,
    neutral: "",
    read,
    write,
};

/// A failure's exit code is not passed on: this replaces it.
const SOME_FAILURE: u8 = 1;

fn read(moment: HookEvent, said: &Value) -> HookCall {
    HookCall {
        session: text(said, &["session_id"]),
        cwd: folder(said, &["working_dir"]),
        id: text(said, &["tool_call_id"]),
        action: action(
            (&["developer__shell"], &[]),
            said.get("tool_name").and_then(Value::as_str),
            said.get("tool_input").unwrap_or(&Value::Null),
        ),
        ended: match moment {
            HookEvent::AfterTool => Some(0),
            HookEvent::AfterFailure => Some(SOME_FAILURE),
            _ => None,
        }
        .map(|code| HostCommandEnd { code, output: None, duration_ms: None }),
        prompt: None,
        unruled: UnmatchedPolicy::Asked,
        ignored: false,
        ..HookCall::default()
    }
}

/// It hears nothing.
fn write(_moment: HookEvent, _said: &Value, _answer: &HookAnswer) -> Value {
    Value::String(String::new())
}
