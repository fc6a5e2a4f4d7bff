//! Codex CLI: Claude Code's shapes, checked strictly: a key that it doesn't know makes it drop the answer.

use std::path::PathBuf;

use serde_json::{Map, Value};

use super::{
    Dialect, HookAction, HookAnswer, HookCall, HookEvent, RewritePolicy, UnmatchedPolicy, action, folder, keep_going,
    replaced, specific, text,
};

/// It tells no exit code, and calls nothing for a failure.
pub(super) const DIALECT: Dialect = Dialect {
    name: "codex",
    agent: "codex",
    rewriting: RewritePolicy::Allows,
    hears: &[HookEvent::BeforeTool, HookEvent::AfterTool, HookEvent::SessionStart, HookEvent::Prompt, HookEvent::Stop],
    model: Some("model"),
    neutral: "",
    read,
    write,
};

/// What a line of a patch begins with that names a file.
const PATCHED: [&str; 4] = ["*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: "];
/// Files of one patch.
const FILES_MAX: usize = 50;

fn read(_moment: HookEvent, said: &Value) -> HookCall {
    let name = said.get("tool_name").and_then(Value::as_str);
    let input = said.get("tool_input").unwrap_or(&Value::Null);
    let patch = (name == Some("apply_patch")).then(|| text(input, &["command"]).or_else(|| text(input, &["patch"])));
    HookCall {
        session: text(said, &["session_id"]),
        cwd: folder(said, &["cwd"]),
        id: text(said, &["tool_use_id"]),
        action: match patch.flatten() {
            Some(patch) => patched(&patch),
            None => action((&["Bash", "shell", "local_shell"], &["Edit", "Write"]), name, input),
        },
        ended: None,
        prompt: text(said, &["prompt"]),
        unruled: UnmatchedPolicy::Asked,
        ignored: false,
        ..HookCall::default()
    }
}

/// The files that a patch names.
pub(super) fn patched(patch: &str) -> HookAction {
    let named =
        |line: &str| PATCHED.iter().find_map(|start| line.strip_prefix(start)).map(|file| file.trim().to_owned());
    let files: Vec<PathBuf> = patch.lines().filter_map(named).take(FILES_MAX).map(PathBuf::from).collect();
    if files.is_empty() { HookAction::Other } else { HookAction::Edit(files) }
}

fn write(moment: HookEvent, said: &Value, answer: &HookAnswer) -> Value {
    if moment == HookEvent::Stop {
        return keep_going(answer);
    }
    let mut fields = Map::new();
    if let Some(line) = &answer.line {
        fields.insert("permissionDecision".to_owned(), "allow".into());
        fields.insert("updatedInput".to_owned(), replaced(said.get("tool_input").unwrap_or(&Value::Null), line));
    }
    specific(moment.claude_name(), answer, fields)
}
