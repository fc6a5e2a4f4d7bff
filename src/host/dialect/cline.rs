//! Cline: executables named after the event.

use serde_json::Value;

use super::{
    Dialect, HookAnswer, HookCall, HookEvent, HostCommandEnd, RewritePolicy, UnmatchedPolicy, action, code,
    milliseconds, text,
};

/// Commands can't be replaced.
pub(super) const DIALECT: Dialect = Dialect {
    name: "cline",
    agent: "cline",
    rewriting: RewritePolicy::Never,
    hears: &[HookEvent::BeforeTool, HookEvent::AfterTool, HookEvent::SessionStart, HookEvent::Prompt],
    model: None,
    neutral: r#"{"cancel":false}"#,
    read,
    write,
};

/// What the result of a command begins with where its code is known. Older versions say `Command executed.` of any.
const PASSED: &str = "Command executed successfully (exit code 0).";
const FAILED: &str = "Command failed with exit code ";
/// Before what it printed.
const OUTPUT: &str = "\nOutput:\n";
/// At the end, where only the first and the last lines are kept.
const CUT: &str = "\nFull output saved to: ";

fn read(_moment: HookEvent, said: &Value) -> HookCall {
    let tool = said.get("preToolUse").or_else(|| said.get("postToolUse")).unwrap_or(&Value::Null);
    HookCall {
        session: text(said, &["taskId"]),
        cwd: said.get("workspaceRoots").and_then(|roots| roots.get(0)?.as_str().map(Into::into)),
        id: None,
        action: action(
            (&["execute_command"], &["write_to_file", "replace_in_file", "insert_content"]),
            tool.get("toolName").or_else(|| tool.get("tool")).and_then(Value::as_str),
            tool.get("parameters").unwrap_or(&Value::Null),
        ),
        ended: said.get("postToolUse").and_then(ended),
        prompt: text(said, &["userPromptSubmit", "prompt"]),
        unruled: UnmatchedPolicy::Asked,
        ignored: false,
        ..HookCall::default()
    }
}

fn ended(tool: &Value) -> Option<HostCommandEnd> {
    let result = tool.get("result")?.as_str()?;
    let (number, rest) = match result.strip_prefix(PASSED) {
        Some(rest) => (0, rest),
        None => {
            let (number, rest) = result.strip_prefix(FAILED)?.split_once('.')?;
            (number.parse().ok()?, rest)
        }
    };
    let output = (!rest.contains(CUT)).then(|| rest.strip_prefix(OUTPUT).unwrap_or_default().to_owned());
    Some(HostCommandEnd { code: code(Some(number))?, output, duration_ms: milliseconds(tool, "executionTimeMs") })
}

fn write(_moment: HookEvent, _said: &Value, answer: &HookAnswer) -> Value {
    serde_json::json!({ "cancel": false, "contextModification": answer.context })
}
