//! What agents pass to their hooks, and what they understand: one row an agent.
//!
//! Documentation and programs differ, and both change: every field is optional, unknown ones are left alone, and what
//! isn't understood is answered as if there were nothing to say. Shapes and versions: `tests/hosts/` has what each
//! host sends. Sources: Claude Code 2.1.289 to 2.1.330, Codex 0.144 to 0.169, Cursor 2026.10, Gemini CLI 0.62,
//! Copilot CLI 1.0.91, OpenCode 1.18, Cline 3.36 to 4.1; the documentation of Antigravity, Crush, Factory Droid,
//! goose, Kiro, pi and Qwen Code as of October 2026. Windsurf is none of them: its hooks don't learn how a command
//! ended, and what they print does not reach the model.

mod antigravity;
mod claude;
mod cline;
mod codex;
mod copilot;
mod crush;
mod cursor;
mod droid;
mod gemini;
mod goose;
mod kiro;
mod opencode;
mod pi;
mod qwen;

use std::path::PathBuf;

use serde_json::{Map, Value};

pub use claude::model_of_transcript;

/// The point in an agent's work at which a hook is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HookEvent {
    /// A tool is about to be used.
    BeforeTool,
    /// A tool was used.
    AfterTool,
    /// A tool was used and failed, where the host tells the two apart.
    AfterFailure,
    /// A session starts or goes on.
    SessionStart,
    /// A session ends.
    SessionEnd,
    /// A person says what to do.
    Prompt,
    /// The agent ends its turn.
    Stop,
}

impl HookEvent {
    /// By our name for it (`pre-tool`) or any host's (`PreToolUse`, `beforeTool`, `userPromptSubmitted`).
    pub fn named(name: &str) -> Option<Self> {
        let letters: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        Some(match letters.to_ascii_lowercase().as_str() {
            "pretool" | "pretooluse" | "beforetool" => HookEvent::BeforeTool,
            "posttool" | "posttooluse" | "aftertool" | "after" => HookEvent::AfterTool,
            "postfail" | "posttoolusefailure" => HookEvent::AfterFailure,
            "sessionstart" | "taskstart" | "taskresume" => HookEvent::SessionStart,
            "sessionend" | "taskcomplete" | "taskcancel" => HookEvent::SessionEnd,
            "prompt" | "userpromptsubmit" | "userpromptsubmitted" | "beforeagent" | "beforesubmitprompt" => {
                HookEvent::Prompt
            }
            "stop" | "agentstop" | "afteragent" => HookEvent::Stop,
            _ => return None,
        })
    }

    /// The name that Claude Code gave it, which others took over.
    fn claude_name(self) -> &'static str {
        match self {
            HookEvent::BeforeTool => "PreToolUse",
            HookEvent::AfterTool => "PostToolUse",
            HookEvent::AfterFailure => "PostToolUseFailure",
            HookEvent::SessionStart => "SessionStart",
            HookEvent::SessionEnd => "SessionEnd",
            HookEvent::Prompt => "UserPromptSubmit",
            HookEvent::Stop => "Stop",
        }
    }
}

/// What a host says, as far as it is understood.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HookCall {
    /// The host's session.
    pub session: Option<String>,
    /// Where the agent is at work, absolute.
    pub cwd: Option<PathBuf>,
    /// The host's name for this use of a tool.
    pub id: Option<String>,
    /// The tool's input.
    pub action: HookAction,
    /// How a shell command ended.
    pub ended: Option<HostCommandEnd>,
    /// What a person said.
    pub prompt: Option<String>,
    /// The language model at work.
    pub model: Option<String>,
    /// The host's own record of the session, where that names the model.
    pub transcript: Option<PathBuf>,
    /// What happens to a command that no rule of the user allows.
    pub unruled: UnmatchedPolicy,
    /// Nothing is answered, whatever there is to say.
    pub ignored: bool,
}

/// What happens to a command that no rule of the user allows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum UnmatchedPolicy {
    /// A person is asked.
    #[default]
    Asked,
    /// It is run.
    Run,
    /// A model decides, whether a person is there or not.
    Judged,
    /// It is refused, since there is no user to ask.
    Refused,
}

/// A tool's input.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum HookAction {
    /// A line for a POSIX shell.
    Shell(String),
    /// Changes files, as they are named.
    Edit(Vec<PathBuf>),
    /// Anything else.
    #[default]
    Other,
}

/// How a shell command ended, as the host saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostCommandEnd {
    /// The line's exit code.
    pub code: u8,
    /// What it said, both streams as the host joined them; `None` where the host does not pass that on.
    pub output: Option<String>,
    /// How long it took, milliseconds.
    pub duration_ms: Option<u64>,
}

/// What is answered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HookAnswer {
    /// Text for the model; at the end of a turn why it has to go on.
    pub context: Option<String>,
    /// The shell line that is to be run instead.
    pub line: Option<String>,
}

/// Whether a host lets a hook replace a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RewritePolicy {
    /// It asks about the new command as it would about any.
    Asks,
    /// Only where the hook allows the command at the same time: done only where the user said so.
    Allows,
    /// It doesn't.
    Never,
}

/// What hosts call a model that they choose on their own.
const UNNAMED_MODELS: [&str; 2] = ["default", "auto"];

/// A host's way of asking and understanding.
pub struct Dialect {
    /// As it is named in `verify-run hook NAME`.
    pub name: &'static str,
    /// As its runs are recorded ([`crate::capture::identify`] has the same names).
    pub agent: &'static str,
    /// Whether a command can be replaced.
    pub rewriting: RewritePolicy,
    /// When a text reaches the model.
    pub hears: &'static [HookEvent],
    /// The key under which it names the language model at work.
    pub model: Option<&'static str>,
    /// What it is answered when there is nothing to say. Never understood as a refusal.
    pub neutral: &'static str,
    read: fn(HookEvent, &Value) -> HookCall,
    write: fn(HookEvent, &Value, &HookAnswer) -> Value,
}

/// Every host, by name.
pub const DIALECTS: [&Dialect; 14] = [
    &claude::DIALECT,
    &codex::DIALECT,
    &cursor::DIALECT,
    &gemini::DIALECT,
    &copilot::DIALECT,
    &opencode::DIALECT,
    &cline::DIALECT,
    &crush::DIALECT,
    &droid::DIALECT,
    &pi::DIALECT,
    &qwen::DIALECT,
    &kiro::DIALECT,
    &goose::DIALECT,
    &antigravity::DIALECT,
];

impl Dialect {
    /// The host of this name.
    pub fn named(name: &str) -> Option<&'static Dialect> {
        DIALECTS.into_iter().find(|dialect| dialect.name == name)
    }

    /// What the host says.
    pub fn read(&self, moment: HookEvent, said: &Value) -> HookCall {
        let mut call = (self.read)(moment, said);
        call.cwd = call.cwd.filter(|cwd| cwd.is_absolute());
        call.model = self.model.and_then(|key| text(said, &[key])).filter(|name| !UNNAMED_MODELS.contains(&&**name));
        call
    }

    /// The answer in the host's words, one JSON object, or plain text for Kiro; [`Dialect::neutral`] when there is nothing in it that the host
    /// would understand at this moment.
    pub fn write(&self, moment: HookEvent, said: &Value, answer: &HookAnswer) -> String {
        let context = answer.context.clone().filter(|_| self.hears.contains(&moment));
        let line =
            answer.line.clone().filter(|_| moment == HookEvent::BeforeTool && self.rewriting != RewritePolicy::Never);
        if context.is_none() && line.is_none() {
            return self.neutral.to_owned();
        }
        match (self.write)(moment, said, &HookAnswer { context, line }) {
            Value::String(plain) => plain,
            answer => answer.to_string(),
        }
    }
}

/// The text at a path of keys.
fn text(value: &Value, path: &[&str]) -> Option<String> {
    let found = path.iter().try_fold(value, |value, key| value.get(key))?;
    found.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

fn folder(value: &Value, path: &[&str]) -> Option<PathBuf> {
    text(value, path).map(PathBuf::from)
}

/// The names under which tools take the file that they change.
const FILE_KEYS: [&str; 6] = ["file_path", "filePath", "path", "notebook_path", "absolute_path", "target_file"];

/// What this input asks of a tool of this name. `tools` are those that run a shell line, and those that change files.
fn action(tools: (&[&str], &[&str]), name: Option<&str>, input: &Value) -> HookAction {
    let is = |names: &[&str]| name.is_some_and(|name| names.iter().any(|known| name.eq_ignore_ascii_case(known)));
    if is(tools.0) {
        return text(input, &["command"]).map_or(HookAction::Other, HookAction::Shell);
    }
    if is(tools.1) {
        let files: Vec<_> = FILE_KEYS.iter().filter_map(|key| folder(input, &[key])).collect();
        return if files.is_empty() { HookAction::Other } else { HookAction::Edit(files) };
    }
    HookAction::Other
}

/// A tool's input with another command in it, everything else as it was.
fn replaced(input: &Value, line: &str) -> Value {
    let mut input = input.as_object().cloned().unwrap_or_default();
    input.insert("command".to_owned(), line.into());
    Value::Object(input)
}

/// `{"decision": "block", "reason": …}`: the agent goes on, as Claude Code and those after it have it.
fn keep_going(answer: &HookAnswer) -> Value {
    serde_json::json!({ "decision": "block", "reason": answer.context })
}

/// `{"hookSpecificOutput": {"hookEventName": …, …}}`, as Claude Code and those after it have it.
fn specific(event: &str, answer: &HookAnswer, mut fields: Map<String, Value>) -> Value {
    fields.insert("hookEventName".to_owned(), event.into());
    if let Some(context) = &answer.context {
        fields.insert("additionalContext".to_owned(), context.as_str().into());
    }
    serde_json::json!({ "hookSpecificOutput": fields })
}

fn milliseconds(value: &Value, key: &str) -> Option<u64> {
    let value = value.get(key)?;
    // Some hosts have fractions.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a saturating cast of a duration")]
    value.as_u64().or_else(|| value.as_f64().filter(|ms| ms.is_finite() && *ms >= 0.0).map(|ms| ms as u64))
}

/// An exit code as a host counts it; what doesn't fit is none.
fn code(number: Option<i64>) -> Option<u8> {
    number.and_then(|number| u8::try_from(number).ok())
}
