//! Cline: executables named after the event.

use serde_json::Value;

use super::{Answer, Call, Dialect, Moment, Rewriting, Unruled, action, text};

/// Commands can't be replaced, and how they ended is not told.
pub const DIALECT: Dialect = Dialect {
    name: "cline",
    agent: "cline",
    rewriting: Rewriting::Never,
    hears: &[Moment::BeforeTool, Moment::AfterTool, Moment::SessionStart, Moment::Prompt],
    neutral: r#"{"cancel":false}"#,
    read,
    write,
};

fn read(_moment: Moment, said: &Value) -> Call {
    let tool = said.get("preToolUse").or_else(|| said.get("postToolUse")).unwrap_or(&Value::Null);
    Call {
        session: text(said, &["taskId"]),
        cwd: said.get("workspaceRoots").and_then(|roots| roots.get(0)?.as_str().map(Into::into)),
        id: None,
        action: action(
            (&["execute_command"], &["write_to_file", "replace_in_file", "insert_content"]),
            tool.get("toolName").or_else(|| tool.get("tool")).and_then(Value::as_str),
            tool.get("parameters").unwrap_or(&Value::Null),
        ),
        ended: None,
        prompt: text(said, &["userPromptSubmit", "prompt"]),
        unruled: Unruled::Asked,
    }
}

fn write(_moment: Moment, _said: &Value, answer: &Answer) -> Value {
    serde_json::json!({ "cancel": false, "contextModification": answer.context })
}
