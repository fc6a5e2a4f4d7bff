//! OpenCode: what the plugin in `hooks/agent/opencode/` sends.
//!
//! `{"sessionID", "cwd", "tool", "args": {…}, "exit": N|null, "output": "…"}` in, `{"context": "…"}` out. The plugin is
//! ours, the names of the fields are OpenCode's.

use serde_json::Value;

use super::{
    Dialect, HookAnswer, HookCall, HookEvent, HostCommandEnd, RewritePolicy, UnmatchedPolicy, action, code, folder,
    text,
};

/// What a plugin puts into a command's place is not run, so that is left to the shims.
pub(super) const DIALECT: Dialect = Dialect {
    name: "opencode",
    agent: "opencode",
    rewriting: RewritePolicy::Never,
    hears: &[HookEvent::BeforeTool, HookEvent::AfterTool, HookEvent::SessionStart],
    model: None,
    neutral: "{}",
    read,
    write,
};

fn read(moment: HookEvent, said: &Value) -> HookCall {
    let input = said.get("args").unwrap_or(&Value::Null);
    HookCall {
        session: text(said, &["sessionID"]),
        cwd: folder(input, &["workdir"]).filter(|dir| dir.is_absolute()).or_else(|| folder(said, &["cwd"])),
        id: text(said, &["callID"]),
        action: action((&["bash"], &["edit", "write", "patch"]), said.get("tool").and_then(Value::as_str), input),
        ended: if moment == HookEvent::AfterTool { ended(said) } else { None },
        prompt: text(said, &["prompt"]),
        unruled: UnmatchedPolicy::Asked,
        ignored: false,
        ..HookCall::default()
    }
}

fn ended(said: &Value) -> Option<HostCommandEnd> {
    let output = Some(text(said, &["output"]).unwrap_or_default());
    Some(HostCommandEnd { code: code(said.get("exit")?.as_i64())?, output, duration_ms: None })
}

fn write(_moment: HookEvent, _said: &Value, answer: &HookAnswer) -> Value {
    serde_json::json!({ "context": answer.context })
}
