//! Antigravity: `hooks.json`, called before each of the model's answers (`PreInvocation`).

use std::path::PathBuf;

use serde_json::Value;

use super::{Dialect, HookAnswer, HookCall, HookEvent, RewritePolicy};

/// Commands can't be replaced, and hooks don't get exit codes.
pub(super) const DIALECT: Dialect = Dialect {
    name: "antigravity",
    agent: "antigravity",
    rewriting: RewritePolicy::Never,
    hears: &[HookEvent::SessionStart],
    model: Some("modelName"),
    neutral: "{}",
    read,
    write,
};

/// Steps before the first answer of a session: what the user asked, and at most a note of the host's.
const FIRST_STEPS_MAX: u64 = 2;

/// The hook runs where its file is, so without a workspace it is not known what is worked on.
fn read(_moment: HookEvent, said: &Value) -> HookCall {
    let number = |key: &str| said.get(key).and_then(Value::as_u64);
    let is_first =
        number("invocationNum") == Some(0) && number("initialNumSteps").is_none_or(|steps| steps <= FIRST_STEPS_MAX);
    let cwd = said.get("workspacePaths").and_then(|paths| paths.get(0)?.as_str().map(PathBuf::from));
    HookCall {
        session: super::text(said, &["conversationId"]),
        ignored: !is_first || cwd.is_none(),
        cwd,
        ..HookCall::default()
    }
}

fn write(_moment: HookEvent, _said: &Value, answer: &HookAnswer) -> Value {
    serde_json::json!({ "injectSteps": [{ "ephemeralMessage": answer.context }] })
}
