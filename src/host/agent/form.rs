//! How each host writes a hook down.

use serde_json::{Map, Value, json};

use crate::host::dialect::{Dialect, RewritePolicy};
use crate::host::document::json::JsonEntry;

/// How long a host waits for an answer, seconds. Ours takes milliseconds; a machine that is asleep must not hold it.
const ANSWER_SECONDS_MAX: u64 = 5;

/// The hooks of a host.
pub struct InstructionForm {
    /// How one is written.
    pub shape: HookShape,
    /// The host's event, ours, and the tools that it is about; an empty matcher is for events without tools.
    pub events: &'static [HookEventEntry],
    /// The hook at the end of a turn, which is written only where the user wants it.
    pub stop: Option<HookEventEntry>,
    /// How earlier versions wrote them. Such an entry is replaced, whoever wrote it.
    pub earlier: &'static [InstructionForm],
}

/// What the user wants of hooks beyond what every installation has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HookWishes {
    /// Commands are replaced even where that allows them.
    pub rewrite: bool,
    /// An agent that ends its turn while the gate rejects its work is asked to go on.
    pub stop: bool,
}

impl HookWishes {
    /// Every combination.
    pub const ALL: [HookWishes; 4] = [
        HookWishes { rewrite: false, stop: false },
        HookWishes { rewrite: true, stop: false },
        HookWishes { rewrite: false, stop: true },
        HookWishes { rewrite: true, stop: true },
    ];
}

/// The host's event, ours, and the tools that it is about.
pub(super) type HookEventEntry = (&'static str, &'static str, &'static str);

/// How a hook is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookShape {
    /// Groups with a matcher; program and arguments apart. Only in earlier versions: a missing program is an error.
    Words,
    /// Groups with a matcher; a bare command line. Only in earlier versions: a missing program is an error.
    BareLine,
    /// Groups with a matcher; a command line that is silent where there is no verify-run.
    Line,
    /// Groups with a matcher; a command line that prints nothing and succeeds without verify-run, milliseconds.
    Guarded,
    /// No groups, and a version number; a bare command line. Only in earlier versions.
    BareFlat,
    /// No groups, and a version number; a command line that gives the neutral answer where there is no verify-run.
    Flat,
    /// No groups; a command line that gives the neutral answer where there is no verify-run.
    Plain,
    /// No groups, and a version number; a command line for each shell, which succeeds where we aren't.
    Shells,
    /// One list for all events, with a version; each hook has a name and its event in it.
    Listed,
    /// No groups; all events under our name.
    Named,
}

impl InstructionForm {
    /// The entries of `agent`, which calls us `program`.
    pub fn entries(&self, agent: &str, program: &str, wishes: HookWishes) -> Vec<JsonEntry> {
        let version = match self.shape {
            HookShape::BareFlat | HookShape::Flat | HookShape::Shells => Some(json!(1)),
            HookShape::Listed => Some(json!("v1")),
            _ => None,
        };
        let version = version.map(|value| JsonEntry::Member { path: Vec::new(), key: "version", value });
        let stop = self.stop.iter().filter(|_| wishes.stop);
        let hooks = self.events.iter().chain(stop).map(|event| {
            let value = self.hook(agent, program, event, wishes.rewrite);
            let of_event = |form: &InstructionForm| -> Vec<Value> {
                let same = form.events.iter().filter(|earlier| (earlier.0, earlier.1) == (event.0, event.1));
                same.map(|earlier| form.hook(agent, program, earlier, wishes.rewrite)).collect()
            };
            let earlier = self.earlier.iter().flat_map(of_event).filter(|earlier| *earlier != value).collect();
            let path = match self.shape {
                HookShape::Listed => vec!["hooks"],
                HookShape::Named => vec!["verify-run", event.0],
                _ => vec!["hooks", event.0],
            };
            JsonEntry::Element { path, value, earlier }
        });
        version.into_iter().chain(hooks).collect()
    }

    fn hook(&self, agent: &str, program: &str, (theirs, ours, matcher): &HookEventEntry, rewrite: bool) -> Value {
        let dialect = Dialect::named(agent);
        let needs_word = dialect.is_some_and(|dialect| dialect.rewriting == RewritePolicy::Allows);
        let mut words = vec!["hook", agent, ours];
        words.extend((rewrite && needs_word && *ours == "pre-tool").then_some("--rewrite"));
        let mut hook = self.shape.hook(program, &words, matcher, dialect.map_or("", |dialect| dialect.neutral));
        if let Some(hook) = hook.as_object_mut().filter(|_| self.shape == HookShape::Listed) {
            hook.insert("name".to_owned(), format!("verify-run {ours}").into());
            hook.insert("trigger".to_owned(), (*theirs).into());
        }
        hook
    }
}

impl HookShape {
    fn hook(self, program: &str, words: &[&str], matcher: &str, neutral: &str) -> Value {
        let line = format!("{} {}", shell_words::quote(program), words.join(" "));
        let seconds = ANSWER_SECONDS_MAX;
        let handler = match self {
            HookShape::Words => json!({"type": "command", "command": program, "args": words, "timeout": seconds}),
            HookShape::BareLine => json!({"type": "command", "command": line, "timeout": seconds}),
            HookShape::Line | HookShape::Named => {
                json!({"type": "command", "command": silent(program, &line, neutral), "timeout": seconds})
            }
            HookShape::Listed => {
                let action = json!({"type": "command", "command": silent(program, &line, neutral)});
                json!({"action": action, "timeout": seconds})
            }
            // A command that isn't there, or an answer that is no JSON, is a refusal to this host.
            HookShape::Guarded => {
                let line = format!("{line} 2>/dev/null || true");
                json!({"name": "verify-run", "type": "command", "command": line, "timeout": seconds * 1_000})
            }
            HookShape::BareFlat => json!({"command": line, "timeout": seconds}),
            HookShape::Flat | HookShape::Plain => {
                json!({"command": silent(program, &line, neutral), "timeout": seconds})
            }
            // The same to this one for any exit code but 0.
            HookShape::Shells => json!({"type": "command", "bash": format!("{line} || true"),
                "powershell": format!("{line}; exit 0"), "timeoutSec": seconds}),
        };
        let mut hook = match self {
            HookShape::Words | HookShape::BareLine | HookShape::Line | HookShape::Guarded => {
                json!({ "hooks": [handler] })
            }
            HookShape::BareFlat
            | HookShape::Flat
            | HookShape::Plain
            | HookShape::Shells
            | HookShape::Listed
            | HookShape::Named => handler,
        };
        if let Some(hook) = hook.as_object_mut().filter(|_: &&mut Map<String, Value>| !matcher.is_empty()) {
            hook.insert("matcher".to_owned(), matcher.into());
        }
        hook
    }
}

/// A command line for sh, bash, zsh and fish that runs `line` where there is such a program. Elsewhere it reads what the
/// host sends, since some take a closed pipe for a failure, gives the neutral answer and succeeds.
pub(super) fn silent(program: &str, line: &str, neutral: &str) -> String {
    let answer = if neutral.is_empty() { String::new() } else { format!("; echo {}", shell_words::quote(neutral)) };
    format!("command -v {} >/dev/null 2>&1 && exec {line}; cat >/dev/null{answer}", shell_words::quote(program))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use super::*;
    use crate::host::agent::{AGENTS, ConfigPart, plan};

    /// Larger than a pipe's buffer, so that a line that doesn't read it closes the pipe on the host.
    const PAYLOAD_BYTES: usize = 200_000;

    #[test]
    fn every_line_is_silent_where_there_is_no_such_program() {
        for agent in AGENTS {
            let neutral = Dialect::named(agent.name).map_or("", |dialect| dialect.neutral);
            for piece in agent.project {
                let ConfigPart::Hooks(form) = &piece.what else { continue };
                let entries =
                    form.entries(agent.name, "verify-run-that-is-not-there", HookWishes { rewrite: true, stop: true });
                for line in entries.iter().flat_map(|entry| lines(plan::value(entry))) {
                    // Gemini CLI and Copilot start bash, look at the exit code, and show no errors.
                    let is_posix = matches!(form.shape, HookShape::Guarded | HookShape::Shells);
                    let shells: &[&str] = if is_posix { &["sh", "bash"] } else { &["sh", "bash", "zsh", "fish"] };
                    for shell in shells {
                        let Some((status, printed, said, took)) = run(shell, &line) else { continue };
                        let name = format!("{} in {shell}: {line}", agent.name);
                        assert!(status, "{name}");
                        assert!(said.is_empty() || is_posix, "{name}: {said}");
                        assert!(printed.is_empty() || printed.trim() == neutral, "{name}: {printed}");
                        assert!(took || is_posix, "{name} closes the pipe");
                    }
                }
            }
        }
    }

    fn lines(value: &Value) -> Vec<String> {
        let value = value.get("action").unwrap_or(value);
        let handlers = value.get("hooks").and_then(Value::as_array).cloned().unwrap_or_else(|| vec![value.clone()]);
        let line = |handler: &Value| Some(handler.get("command").or(handler.get("bash"))?.as_str()?.to_owned());
        handlers.iter().filter_map(line).collect()
    }

    /// Whether it succeeded, what it printed and said, and whether it read everything; `None` without such a shell.
    fn run(shell: &str, line: &str) -> Option<(bool, String, String, bool)> {
        let mut child = Command::new(shell)
            .args(["-c", line])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .ok()?;
        let took = child.stdin.take().expect("a pipe").write_all(&vec![b' '; PAYLOAD_BYTES]).is_ok();
        let output = child.wait_with_output().expect("it ends");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Some((output.status.success(), text(output.stdout), text(output.stderr), took))
    }
}
