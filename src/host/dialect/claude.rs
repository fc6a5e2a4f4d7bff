//! Claude Code: `settings.json` hooks and plugins.

use serde_json::{Map, Value};

use super::{
    Dialect, HookAnswer, HookCall, HookEvent, HostCommandEnd, RewritePolicy, UnmatchedPolicy, action, code, folder,
    keep_going, milliseconds, replaced, specific, text,
};

/// Without a decision about permission: a command that is replaced is asked about as any other.
pub(super) const DIALECT: Dialect = Dialect {
    name: "claude",
    agent: "claude-code",
    rewriting: RewritePolicy::Asks,
    hears: &[
        HookEvent::BeforeTool,
        HookEvent::AfterTool,
        HookEvent::AfterFailure,
        HookEvent::SessionStart,
        HookEvent::Prompt,
        HookEvent::Stop,
    ],
    model: Some("model"),
    neutral: "",
    read,
    write,
};

/// Tools that run a line in bash or zsh (`PowerShell` is another language), and those that change a file.
pub(super) const TOOLS: (&[&str], &[&str]) = (&["Bash"], &["Edit", "Write", "MultiEdit", "NotebookEdit"]);

/// Lines of a transcript that may name a model and are looked at, the last ones.
const TRANSCRIPT_LINES_MAX: usize = 50;

fn read(moment: HookEvent, said: &Value) -> HookCall {
    let input = said.get("tool_input").unwrap_or(&Value::Null);
    HookCall {
        session: text(said, &["session_id"]),
        cwd: folder(said, &["cwd"]),
        id: text(said, &["tool_use_id"]),
        action: action(TOOLS, said.get("tool_name").and_then(Value::as_str), input),
        ended: match moment {
            HookEvent::AfterTool => passed(said),
            HookEvent::AfterFailure => failed(said),
            _ => None,
        },
        prompt: text(said, &["prompt"]),
        unruled: match text(said, &["permission_mode"]).as_deref() {
            Some("bypassPermissions") => UnmatchedPolicy::Run,
            Some("auto") => UnmatchedPolicy::Judged,
            Some("dontAsk") => UnmatchedPolicy::Refused,
            _ => UnmatchedPolicy::Asked,
        },
        ignored: false,
        transcript: folder(said, &["transcript_path"]),
        ..HookCall::default()
    }
}

/// The model of the last answer in the end of a session's transcript, which has a JSON document a line. Without a terminal
/// no hook is given the model.
pub fn model_of_transcript(end: &[u8]) -> Option<String> {
    let lines = end.rsplit(|byte| *byte == b'\n').filter(|line| memchr::memmem::find(line, b"\"model\"").is_some());
    let model = |line: &[u8]| {
        let entry: Value = serde_json::from_slice(line).ok()?;
        let is_answer = text(&entry, &["type"]).as_deref() == Some("assistant");
        // What the host itself says has a name in angle brackets.
        text(&entry, &["message", "model"]).filter(|model| is_answer && !model.starts_with('<'))
    };
    lines.take(TRANSCRIPT_LINES_MAX).find_map(model)
}

/// Called only where the tool succeeded. A command in the background has only been started, and a code other than 0
/// that the host takes for a success is not passed on.
fn passed(said: &Value) -> Option<HostCommandEnd> {
    let response = said.get("tool_response")?.as_object()?;
    let is_set = |key: &str| response.get(key).is_some_and(|value| !value.is_null() && value != &Value::Bool(false));
    if ["backgroundTaskId", "interrupted", "timedOutAfterMs", "returnCodeInterpretation"].into_iter().any(is_set) {
        return None;
    }
    let stream = |key: &str| response.get(key).and_then(Value::as_str).unwrap_or_default();
    let output = format!("{}{}", stream("stdout"), stream("stderr"));
    Some(HostCommandEnd { code: 0, output: Some(output), duration_ms: milliseconds(said, "duration_ms") })
}

/// `Exit code N` in the first line of the error, then what the command said.
fn failed(said: &Value) -> Option<HostCommandEnd> {
    if said.get("is_interrupt").and_then(Value::as_bool) == Some(true) {
        return None;
    }
    let error = said.get("error")?.as_str()?;
    let (first, rest) = error.split_once('\n').unwrap_or((error, ""));
    let number = first.trim().strip_prefix("Exit code ")?.trim().parse().ok();
    Some(HostCommandEnd {
        code: code(number)?,
        output: Some(rest.to_owned()),
        duration_ms: milliseconds(said, "duration_ms"),
    })
}

fn write(moment: HookEvent, said: &Value, answer: &HookAnswer) -> Value {
    if moment == HookEvent::Stop {
        return keep_going(answer);
    }
    let mut fields = Map::new();
    if let Some(line) = &answer.line {
        fields.insert("updatedInput".to_owned(), replaced(said.get("tool_input").unwrap_or(&Value::Null), line));
    }
    specific(moment.claude_name(), answer, fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transcript_names_the_model_of_its_last_answer() {
        let transcript = br#"half a line", "model": "x"}
{"type":"assistant","message":{"model":"claude-opus-4-1","content":[]}}
{"type":"user","message":{"content":"{\"model\": \"claude-haiku-4\"}"}}
{"type":"assistant","message":{"model":"claude-sonnet-5","content":[]}}
{"type":"assistant","message":{"model":"<synthetic>","content":[]}}
"#;
        assert_eq!(model_of_transcript(transcript).as_deref(), Some("claude-sonnet-5"));
        assert_eq!(model_of_transcript(b""), None);
        assert_eq!(model_of_transcript(b"{\"type\":\"user\",\"model\":\"x\"}"), None);
    }
}
