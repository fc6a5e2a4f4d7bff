//! Cursor and `cursor-agent`: `hooks.json`.

use serde_json::{Map, Value};

use super::{
    Dialect, HookAnswer, HookCall, HookEvent, HostCommandEnd, RewritePolicy, UnmatchedPolicy, action, code, folder,
    milliseconds, replaced, text,
};

/// Its neutral answer has to be an object. A text before a tool is not passed on.
pub(super) const DIALECT: Dialect = Dialect {
    name: "cursor",
    agent: "cursor",
    rewriting: RewritePolicy::Asks,
    hears: &[HookEvent::AfterTool, HookEvent::AfterFailure, HookEvent::SessionStart, HookEvent::Stop],
    model: Some("model"),
    neutral: "{}",
    read,
    write,
};

/// A failure's exit code is not passed on: this replaces it.
const SOME_FAILURE: u8 = 1;

fn read(moment: HookEvent, said: &Value) -> HookCall {
    let input = said.get("tool_input").unwrap_or(&Value::Null);
    let workspace = || said.get("workspace_roots")?.get(0)?.as_str().map(Into::into);
    HookCall {
        session: text(said, &["conversation_id"]).or_else(|| text(said, &["session_id"])),
        cwd: folder(input, &["cwd"]).or_else(|| folder(said, &["cwd"])).or_else(workspace),
        id: text(said, &["tool_use_id"]),
        action: action(
            (
                &["Shell", "run_terminal_cmd"],
                &["Edit", "Write", "MultiEdit", "edit_file", "search_replace", "StrReplace"],
            ),
            said.get("tool_name").and_then(Value::as_str),
            input,
        ),
        ended: match moment {
            HookEvent::AfterTool => passed(said),
            HookEvent::AfterFailure => failed(said),
            _ => None,
        },
        prompt: text(said, &["prompt"]),
        unruled: UnmatchedPolicy::Asked,
        // A person ended the turn, or it failed.
        ignored: moment == HookEvent::Stop && text(said, &["status"]).is_some_and(|status| status != "completed"),
        ..HookCall::default()
    }
}

/// `tool_output` is JSON in a string.
fn passed(said: &Value) -> Option<HostCommandEnd> {
    let told = said.get("tool_output")?;
    let output: Value = match told {
        Value::String(json) => serde_json::from_str(json).ok()?,
        other => other.clone(),
    };
    Some(HostCommandEnd {
        code: code(output.get("exitCode")?.as_i64())?,
        output: Some(text(&output, &["output"]).unwrap_or_default()),
        duration_ms: milliseconds(said, "duration"),
    })
}

fn failed(said: &Value) -> Option<HostCommandEnd> {
    let is_its_own = said.get("failure_type").and_then(Value::as_str) == Some("error");
    let is_interrupt = said.get("is_interrupt").and_then(Value::as_bool) == Some(true);
    let output = Some(said.get("error_message")?.as_str()?.to_owned());
    let ending = HostCommandEnd { code: SOME_FAILURE, output, duration_ms: milliseconds(said, "duration") };
    (is_its_own && !is_interrupt).then_some(ending)
}

fn write(moment: HookEvent, said: &Value, answer: &HookAnswer) -> Value {
    if moment == HookEvent::Stop {
        return serde_json::json!({ "followup_message": answer.context });
    }
    let mut fields = Map::new();
    if let Some(line) = &answer.line {
        fields.insert("updated_input".to_owned(), replaced(said.get("tool_input").unwrap_or(&Value::Null), line));
    }
    if let Some(context) = &answer.context {
        fields.insert("additional_context".to_owned(), context.as_str().into());
    }
    Value::Object(fields)
}
