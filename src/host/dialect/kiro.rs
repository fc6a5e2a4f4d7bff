//! Kiro: hooks of `.kiro/hooks/` (IDE 1.0, CLI 3.0). What a hook prints is added to the context as it is.

use serde_json::Value;

use super::{
    Dialect, HookAnswer, HookCall, HookEvent, HostCommandEnd, RewritePolicy, UnmatchedPolicy, action, code, folder,
    text,
};

/// Commands can't be replaced. What is printed after a tool is not passed on.
pub(super) const DIALECT: Dialect = Dialect {
    name: "kiro",
    agent: "kiro",
    rewriting: RewritePolicy::Never,
    hears: &[HookEvent::BeforeTool, HookEvent::SessionStart, HookEvent::Prompt],
    model: None,
    neutral: "",
    read,
    write,
};

/// Between the output of a command and its code. Some versions have no such end, or no `tool_input`.
const CODE: &str = "\nExit Code: ";

fn read(moment: HookEvent, said: &Value) -> HookCall {
    let input = said.get("tool_input").unwrap_or(&Value::Null);
    HookCall {
        session: text(said, &["session_id"]),
        cwd: folder(input, &["cwd"]).filter(|dir| dir.is_absolute()).or_else(|| folder(said, &["cwd"])),
        id: None,
        action: action(
            (&["execute_bash", "shell"], &["fs_write", "fs_append", "str_replace", "write"]),
            said.get("tool_name").and_then(Value::as_str),
            input,
        ),
        ended: if moment == HookEvent::AfterTool { ended(said) } else { None },
        prompt: text(said, &["prompt"]),
        unruled: UnmatchedPolicy::Asked,
        ignored: false,
        ..HookCall::default()
    }
}

fn ended(said: &Value) -> Option<HostCommandEnd> {
    let response = said.get("tool_response")?.as_str()?.trim_end();
    let (output, number) = response.rsplit_once(CODE)?;
    let output = output.strip_prefix("Output:\n").unwrap_or(output).trim_end_matches('\n');
    Some(HostCommandEnd { code: code(number.trim().parse().ok())?, output: Some(output.to_owned()), duration_ms: None })
}

fn write(_moment: HookEvent, _said: &Value, answer: &HookAnswer) -> Value {
    answer.context.as_deref().unwrap_or_default().into()
}
