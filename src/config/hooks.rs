//! `[hooks]`: checks that git's hooks run where no hook manager does.

/// Commands of one hook.
pub(super) const COMMANDS_MAX: usize = 32;
/// One of them, bytes.
pub(super) const COMMAND_BYTES_MAX: usize = 4096;

/// `[hooks]`: commands of git hooks, run in order until one fails. `verify-run init` writes them into the hooks; a
/// change of the settings alone changes nothing that runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(test, derive(serde::Serialize))]
pub struct HookSettings {
    /// `pre_commit`: shell lines that run before a commit.
    pub pre_commit: Vec<String>,
    /// `commit_msg`: shell lines that check a commit message; its file is `"$1"`.
    pub commit_msg: Vec<String>,
    /// `pre_push`: shell lines that run before a push.
    pub pre_push: Vec<String>,
}

impl HookSettings {
    /// The hooks by the names that git has for them.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &[String])> {
        [("pre-commit", &self.pre_commit), ("commit-msg", &self.commit_msg), ("pre-push", &self.pre_push)]
            .into_iter()
            .map(|(hook, commands)| (hook, commands.as_slice()))
    }

    /// The commands of a hook, by its name in the settings.
    pub(super) fn commands(&mut self, name: &str) -> Option<&mut Vec<String>> {
        Some(match name {
            "pre_commit" => &mut self.pre_commit,
            "commit_msg" => &mut self.commit_msg,
            "pre_push" => &mut self.pre_push,
            _ => return None,
        })
    }
}

/// A list of shell lines.
///
/// # Errors
/// Why it is none.
pub(super) fn lines(value: &toml::Value) -> Result<Vec<String>, String> {
    let list = value.as_array().filter(|list| list.len() <= COMMANDS_MAX);
    let list = list.ok_or_else(|| format!("not a list of at most {COMMANDS_MAX} commands: {value}"))?;
    let line = |value: &toml::Value| {
        let line = value.as_str().map(str::trim).filter(|line| {
            !line.is_empty() && line.len() <= COMMAND_BYTES_MAX && !line.chars().any(|c| c.is_control() && c != '\t')
        });
        line.map(str::to_owned).ok_or_else(|| format!("not a command on one line: {value}"))
    };
    list.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use crate::config::Settings;

    #[test]
    fn a_hook_has_lines_and_what_is_none_is_named_with_its_place() {
        let text = "[hooks]\npre_commit = [\"npm test\", \" cd web && npx eslint . \"]\npre_push = \"npm test\"\n\
                    commit_msg = [\"a\\nb\"]\npost_commit = [\"x\"]\n";
        let (settings, problems) = Settings::of(text);
        let hooks: Vec<_> = settings.hooks.iter().filter(|(_, commands)| !commands.is_empty()).collect();
        assert_eq!(hooks, [("pre-commit", &["npm test".to_owned(), "cd web && npx eslint .".to_owned()][..])]);
        let mut lines: Vec<_> = problems.iter().map(|problem| (problem.line, problem.warning)).collect();
        lines.sort_unstable();
        assert_eq!(lines, [(Some(3), false), (Some(4), false), (Some(5), true)], "{problems:?}");
    }
}
