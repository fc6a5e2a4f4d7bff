//! GitHub Copilot CLI and cloud agent, in both of its dialects: camelCase, and the one of VS Code.

use serde_json::{Map, Value};

use super::codex::patched;
use super::{
    Dialect, HookAnswer, HookCall, HookEvent, HostCommandEnd, RewritePolicy, UnmatchedPolicy, action, code, folder,
    keep_going, replaced, text,
};

/// A command that fails is a tool that succeeded. An exit code of verify-run other than 0 would be a refusal.
pub(super) const DIALECT: Dialect = Dialect {
    name: "copilot",
    agent: "copilot",
    rewriting: RewritePolicy::Asks,
    hears: &[
        HookEvent::BeforeTool,
        HookEvent::AfterTool,
        HookEvent::AfterFailure,
        HookEvent::SessionStart,
        HookEvent::Prompt,
        HookEvent::Stop,
    ],
    model: None,
    neutral: "{}",
    read,
    write,
};

/// Tools that run a line in bash, and those that change a file named in their arguments.
const TOOLS: (&[&str], &[&str]) = (&["bash"], &["edit", "create", "write", "str_replace_editor"]);
/// The tool that changes files with OpenAI's models; its argument is the patch.
const PATCH: &str = "apply_patch";

fn read(moment: HookEvent, said: &Value) -> HookCall {
    let tool = said.get("toolName").or_else(|| said.get("tool_name")).and_then(Value::as_str);
    HookCall {
        session: text(said, &["sessionId"]).or_else(|| text(said, &["session_id"])),
        cwd: folder(said, &["cwd"]),
        id: None,
        action: if tool == Some(PATCH) { patched(&patch(said)) } else { action(TOOLS, tool, &input(said)) },
        ended: if moment == HookEvent::AfterTool { ended(said) } else { None },
        prompt: text(said, &["prompt"]),
        unruled: UnmatchedPolicy::Asked,
        ignored: false,
        ..HookCall::default()
    }
}

fn arguments(said: &Value) -> &Value {
    said.get("toolArgs").or_else(|| said.get("tool_input")).unwrap_or(&Value::Null)
}

/// The text of a patch: the argument itself, or in a field of it.
fn patch(said: &Value) -> String {
    let input = input(said);
    let field = ["input", "patch", "command"].iter().find_map(|key| text(&input, &[key]));
    field.or_else(|| Some(arguments(said).as_str()?.to_owned())).unwrap_or_default()
}

/// The arguments; some versions send them as JSON in a string.
fn input(said: &Value) -> Value {
    match arguments(said) {
        Value::String(json) => serde_json::from_str(json).unwrap_or_default(),
        other => other.clone(),
    }
}

/// `<shellId: 0 completed with exit code 1>` at the end of the result.
fn ended(said: &Value) -> Option<HostCommandEnd> {
    let result = said.get("toolResult").or_else(|| said.get("tool_result"))?;
    let told = text(result, &["textResultForLlm"]).or_else(|| text(result, &["text_result_for_llm"]))?;
    let (output, mark) = told.trim_end().rsplit_once("<shellId: ")?;
    let number = mark.strip_suffix('>')?.split_once(" completed with exit code ")?.1.parse().ok();
    Some(HostCommandEnd { code: code(number)?, output: Some(output.to_owned()), duration_ms: None })
}

fn write(moment: HookEvent, said: &Value, answer: &HookAnswer) -> Value {
    if moment == HookEvent::Stop {
        return keep_going(answer);
    }
    let mut fields = Map::new();
    if let Some(line) = &answer.line {
        fields.insert("modifiedArgs".to_owned(), replaced(&input(said), line));
    }
    if let Some(context) = &answer.context {
        fields.insert("additionalContext".to_owned(), context.as_str().into());
    }
    Value::Object(fields)
}
