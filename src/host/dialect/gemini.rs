//! Gemini CLI: `settings.json` hooks. Text that is no JSON may be taken for a refusal.

use serde_json::{Map, Value};

use super::{Answer, Call, Dialect, Ending, Moment, Rewriting, Unruled, action, code, folder, specific, text};

/// What is answered about the input is merged over it, without a decision.
pub const DIALECT: Dialect = Dialect {
    name: "gemini",
    agent: "gemini-cli",
    rewriting: Rewriting::Asks,
    hears: &[Moment::AfterTool, Moment::SessionStart, Moment::Prompt],
    neutral: "{}",
    read,
    write,
};

fn read(moment: Moment, said: &Value) -> Call {
    let input = said.get("tool_input").unwrap_or(&Value::Null);
    Call {
        session: text(said, &["session_id"]),
        cwd: folder(input, &["dir_path"]).filter(|dir| dir.is_absolute()).or_else(|| folder(said, &["cwd"])),
        id: None,
        action: action(
            (&["run_shell_command"], &["replace", "write_file", "edit"]),
            said.get("tool_name").and_then(Value::as_str),
            input,
        ),
        ended: if moment == Moment::AfterTool { ended(said) } else { None },
        prompt: text(said, &["prompt"]),
        unruled: Unruled::Asked,
    }
}

/// `Output: …`, then `Exit Code: N` where it isn't 0, and `Signal:` or `Error:` where that ended it.
fn ended(said: &Value) -> Option<Ending> {
    let response = said.get("tool_response")?;
    if response.get("error").is_some_and(|error| !error.is_null()) {
        return None;
    }
    let content = response.get("llmContent")?.as_str()?;
    let is = |start: &str| content.lines().any(|line| line.starts_with(start));
    if is("Signal: ") || is("Error: ") || is("Background PIDs: ") {
        return None;
    }
    let number = content.lines().rev().find_map(|line| line.strip_prefix("Exit Code: "));
    let code = match number {
        Some(number) => code(number.trim().parse().ok())?,
        None => 0,
    };
    let start = content.find("Output: ").map(|at| at + "Output: ".len())?;
    let end =
        content.rfind("\nExit Code: ").or_else(|| content.rfind("\nProcess Group PGID: ")).filter(|end| *end >= start);
    Some(Ending { code, output: content[start..end.unwrap_or(content.len())].to_owned(), duration_ms: None })
}

fn write(moment: Moment, _said: &Value, answer: &Answer) -> Value {
    let mut fields = Map::new();
    if let Some(line) = &answer.line {
        fields.insert("tool_input".to_owned(), serde_json::json!({ "command": line }));
    }
    let event = match moment {
        Moment::BeforeTool => "BeforeTool",
        Moment::AfterTool | Moment::AfterFailure => "AfterTool",
        Moment::Prompt => "BeforeAgent",
        Moment::SessionStart => "SessionStart",
        Moment::SessionEnd => "SessionEnd",
    };
    specific(event, answer, fields)
}
