//! How each host writes a hook down.

use serde_json::{Map, Value, json};

use crate::host::dialect::{Dialect, Rewriting};
use crate::host::document::json::Entry;

/// How long a host waits for an answer, seconds. Ours takes milliseconds; a machine that is asleep must not hold it.
const ANSWER_SECONDS_MAX: u64 = 5;

/// The hooks of a host.
pub struct Form {
    /// How one is written.
    pub shape: Shape,
    /// The host's event, ours, and the tools that it is about; an empty matcher is for events without tools.
    pub events: &'static [(&'static str, &'static str, &'static str)],
}

/// How a hook is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Groups with a matcher; program and arguments apart, so that no shell is needed.
    Words,
    /// Groups with a matcher; a command line.
    Line,
    /// Groups with a matcher; a command line that says nothing and succeeds where we aren't, milliseconds.
    Guarded,
    /// No groups, and a version number; a command line.
    Flat,
    /// No groups, and a version number; a command line for each shell, which succeeds where we aren't.
    Shells,
}

impl Form {
    /// The entries of `agent`, which calls us `program`; with `rewrite` the user wants commands replaced even where that
    /// allows them.
    pub fn entries(&self, agent: &str, program: &str, rewrite: bool) -> Vec<Entry> {
        let version = matches!(self.shape, Shape::Flat | Shape::Shells);
        let version = version.then(|| Entry::Member { path: Vec::new(), key: "version", value: json!(1) });
        let needs_word = Dialect::named(agent).is_some_and(|dialect| dialect.rewriting == Rewriting::Allows);
        let hooks = self.events.iter().map(|(event, ours, matcher)| {
            let mut words = vec!["hook", agent, ours];
            words.extend((rewrite && needs_word && *ours == "pre-tool").then_some("--rewrite"));
            Entry::Element { path: vec!["hooks", event], value: self.shape.hook(program, &words, matcher) }
        });
        version.into_iter().chain(hooks).collect()
    }
}

impl Shape {
    fn hook(self, program: &str, words: &[&str], matcher: &str) -> Value {
        let line = format!("{} {}", shell_words::quote(program), words.join(" "));
        let seconds = ANSWER_SECONDS_MAX;
        let handler = match self {
            Shape::Words => json!({"type": "command", "command": program, "args": words, "timeout": seconds}),
            Shape::Line => json!({"type": "command", "command": line, "timeout": seconds}),
            // A command that isn't there, or an answer that is no JSON, is a refusal to this host.
            Shape::Guarded => {
                let line = format!("{line} 2>/dev/null || true");
                json!({"name": "verify-run", "type": "command", "command": line, "timeout": seconds * 1_000})
            }
            Shape::Flat => json!({"command": line, "timeout": seconds}),
            // The same to this one for any exit code but 0.
            Shape::Shells => json!({"type": "command", "bash": format!("{line} || true"),
                "powershell": format!("{line}; exit 0"), "timeoutSec": seconds}),
        };
        let mut hook = match self {
            Shape::Words | Shape::Line | Shape::Guarded => json!({ "hooks": [handler] }),
            Shape::Flat | Shape::Shells => handler,
        };
        if let Some(hook) = hook.as_object_mut().filter(|_: &&mut Map<String, Value>| !matcher.is_empty()) {
            hook.insert("matcher".to_owned(), matcher.into());
        }
        hook
    }
}
