//! Gemini CLI: `settings.json` hooks. Text that is no JSON may be taken for a refusal.

use serde_json::{Map, Value};

use super::{
    Dialect, HookAnswer, HookCall, HookEvent, HostCommandEnd, RewritePolicy, UnmatchedPolicy, action, code, folder,
    specific, text,
};

/// What is answered about the input is merged over it, without a decision.
pub(super) const DIALECT: Dialect = Dialect {
    name: "gemini",
    agent: "gemini-cli",
    rewriting: RewritePolicy::Asks,
    hears: &[HookEvent::AfterTool, HookEvent::SessionStart, HookEvent::Prompt, HookEvent::Stop],
    model: None,
    neutral: "{}",
    read,
    write,
};

fn read(moment: HookEvent, said: &Value) -> HookCall {
    let input = said.get("tool_input").unwrap_or(&Value::Null);
    HookCall {
        session: text(said, &["session_id"]),
        cwd: folder(input, &["dir_path"]).filter(|dir| dir.is_absolute()).or_else(|| folder(said, &["cwd"])),
        id: None,
        action: action(
            (&["run_shell_command"], &["replace", "write_file", "edit"]),
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

/// What follows the output, in this order, each only where there is something to tell.
const TRAILERS: [&str; 4] = ["Exit Code: ", "Signal: ", "Background PIDs: ", "Process Group PGID: "];

/// `Output: …`, then the trailers. A command that could not be run has `Error: …` before them and an `error` beside the
/// text; without that a line of such a form is the command's own.
fn ended(said: &Value) -> Option<HostCommandEnd> {
    let response = said.get("tool_response")?;
    if response.get("error").is_some_and(|error| !error.is_null()) {
        return None;
    }
    let content = response.get("llmContent")?.as_str()?.trim_end();
    let content = content.strip_suffix("</untrusted_context>").unwrap_or(content).trim_end_matches('\n');
    let start = content.find("Output: ")? + "Output: ".len();
    let mut rest = &content[start..];
    let mut trailers = [None; TRAILERS.len()];
    for (trailer, found) in TRAILERS.iter().zip(&mut trailers).rev() {
        if let Some((output, last)) = rest.rsplit_once('\n')
            && let Some(value) = last.strip_prefix(trailer)
        {
            (rest, *found) = (output, Some(value.trim()));
        }
    }
    let [number, signal, background, _] = trailers;
    if signal.is_some() || background.is_some() {
        return None;
    }
    let code = match number {
        Some(number) => code(number.parse().ok())?,
        None => 0,
    };
    Some(HostCommandEnd { code, output: Some(rest.to_owned()), duration_ms: None })
}

fn write(moment: HookEvent, _said: &Value, answer: &HookAnswer) -> Value {
    if moment == HookEvent::Stop {
        return serde_json::json!({ "decision": "deny", "reason": answer.context });
    }
    let mut fields = Map::new();
    if let Some(line) = &answer.line {
        fields.insert("tool_input".to_owned(), serde_json::json!({ "command": line }));
    }
    let event = match moment {
        HookEvent::BeforeTool => "BeforeTool",
        HookEvent::AfterTool | HookEvent::AfterFailure => "AfterTool",
        HookEvent::Prompt => "BeforeAgent",
        HookEvent::SessionStart => "SessionStart",
        HookEvent::SessionEnd => "SessionEnd",
        HookEvent::Stop => "AfterAgent",
    };
    specific(event, answer, fields)
}
