//! OpenCode: what the plugin in `hooks/agent/opencode/` sends.
//!
//! `{"sessionID", "cwd", "tool", "args": {…}, "exit": N|null, "output": "…"}` in, `{"context": "…"}` out. The plugin is
//! ours, the names of the fields are OpenCode's.

use serde_json::Value;

use super::{Dialect, Ending, HookAnswer, HookCall, Moment, Rewriting, Unruled, action, code, folder, text};

/// What a plugin puts into a command's place is not run, so that is left to the shims.
pub(super) const DIALECT: Dialect = Dialect {
    name: "opencode",
    agent: "opencode",
    rewriting: Rewriting::Never,
    hears: &[Moment::BeforeTool, Moment::AfterTool, Moment::SessionStart],
    neutral: "{}",
    read,
    write,
};

fn read(moment: Moment, said: &Value) -> HookCall {
    let input = said.get("args").unwrap_or(&Value::Null);
    HookCall {
        session: text(said, &["sessionID"]),
        cwd: folder(input, &["workdir"]).filter(|dir| dir.is_absolute()).or_else(|| folder(said, &["cwd"])),
        id: text(said, &["callID"]),
        action: action((&["bash"], &["edit", "write", "patch"]), said.get("tool").and_then(Value::as_str), input),
        ended: if moment == Moment::AfterTool { ended(said) } else { None },
        prompt: text(said, &["prompt"]),
        unruled: Unruled::Asked,
        ignored: false,
    }
}

fn ended(said: &Value) -> Option<Ending> {
    let output = Some(text(said, &["output"]).unwrap_or_default());
    Some(Ending { code: code(said.get("exit")?.as_i64())?, output, duration_ms: None })
}

fn write(_moment: Moment, _said: &Value, answer: &HookAnswer) -> Value {
    serde_json::json!({ "context": answer.context })
}
