//! What Claude Code's settings say about shell commands: which ones run unasked, which ones never.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::base::file::read_start;

/// Settings that are read, bytes.
const SETTINGS_BYTES_MAX: u64 = 1 << 20;

/// The organisation's settings, on Linux and macOS.
const MANAGED: [&str; 2] =
    ["/etc/claude-code/managed-settings.json", "/Library/Application Support/ClaudeCode/managed-settings.json"];

/// Rules for the tool `Bash`: `npm test`, `npm test:*`, `npm *`; an empty one is for everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Permissions {
    allow: Vec<String>,
    /// Asked about always, or refused.
    against: Vec<String>,
}

impl Permissions {
    /// The rules of the project, of its private settings, of the user, and of the organisation. What can't be read is
    /// left out.
    pub fn read(root: &Path, home: Option<&Path>) -> Self {
        let mut found = Permissions::default();
        let project = [".claude/settings.json", ".claude/settings.local.json"].map(|name| root.join(name));
        let user = home.map(|home| home.join(".claude/settings.json"));
        for file in project.into_iter().chain(user).chain(MANAGED.map(PathBuf::from)) {
            found.add(&file);
        }
        found
    }

    fn add(&mut self, file: &PathBuf) {
        if !fs::metadata(file).is_ok_and(|metadata| metadata.is_file()) {
            return;
        }
        let bytes = read_start(file, SETTINGS_BYTES_MAX).unwrap_or_default();
        let Ok(settings) = serde_json::from_slice::<Value>(&bytes) else { return };
        let rules = |kind: &str| -> Vec<String> {
            let listed = settings.get("permissions").and_then(|rules| rules.get(kind)?.as_array());
            listed.into_iter().flatten().filter_map(|rule| of_bash(rule.as_str()?)).collect()
        };
        self.allow.extend(rules("allow"));
        self.against.extend(rules("deny"));
        self.against.extend(rules("ask"));
    }

    /// Whether a rule lets this command run unasked.
    pub fn allows(&self, command: &str) -> bool {
        self.allow.iter().any(|rule| matches(rule, command))
    }

    /// Whether a rule is against it: another one that runs it would get around that.
    pub fn is_against(&self, command: &str) -> bool {
        self.against.iter().any(|rule| matches(rule, command))
    }
}

/// The part between the parentheses of `Bash(…)`; empty for `Bash` itself. `None` for other tools.
fn of_bash(rule: &str) -> Option<String> {
    match rule.trim().strip_prefix("Bash")? {
        "" => Some(String::new()),
        rest => rest.strip_prefix('(')?.strip_suffix(')').map(str::to_owned),
    }
}

fn matches(rule: &str, command: &str) -> bool {
    if rule.is_empty() {
        return true;
    }
    // `npm test:*`: the words themselves, or with more behind them.
    if let Some(start) = rule.strip_suffix(":*") {
        let rest = command.strip_prefix(start);
        return rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
    }
    let mut parts = rule.split('*');
    let Some(mut rest) = command.strip_prefix(parts.next().unwrap_or_default()) else {
        // `npm test *` is for `npm test`, too.
        return rule.strip_suffix(" *") == Some(command);
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_the_hosts() {
        for (rule, command, expected) in [
            ("npm test", "npm test", true),
            ("npm test", "npm test -- x", false),
            ("npm test:*", "npm test", true),
            ("npm test:*", "npm test -- x", true),
            ("npm test:*", "npm tester", false),
            ("npm *", "npm test", true),
            ("npm test *", "npm test", true),
            ("npm *st", "npm run test", true),
            ("npm *x", "npm run test", false),
            ("", "anything", true),
            ("*", "anything", true),
        ] {
            assert_eq!(matches(rule, command), expected, "{rule} {command}");
        }
        assert_eq!(of_bash("Bash(npm test)").as_deref(), Some("npm test"));
        assert_eq!(of_bash("Bash").as_deref(), Some(""));
        assert_eq!(of_bash("Read(src/**)"), None);
        assert_eq!(of_bash("BashOutput"), None);
    }

    #[test]
    fn what_cannot_be_read_says_nothing() {
        let dir = tempfile::tempdir().expect("a folder");
        fs::create_dir(dir.path().join(".claude")).expect("a folder");
        let settings = dir.path().join(".claude/settings.json");
        fs::write(&settings, r#"{"permissions": {"allow": ["Bash(npm test)", 7], "deny": "x"}}"#).expect("written");
        let rules = Permissions::read(dir.path(), None);
        assert!(rules.allows("npm test") && !rules.is_against("npm test"));
        fs::write(settings, "{").expect("written");
        assert_eq!(Permissions::read(dir.path(), None), Permissions::default());
    }
}
