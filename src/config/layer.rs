//! One file of settings while it is put over the others: its values are checked, and what is wrong is named by line.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;

use super::Problem;
use super::input_name::{is_file_inside, is_variable};
use super::learning::NumericSetting;

/// Names in `fix.environment`.
const VARIABLES_MAX: usize = 64;

/// One file while it is applied.
pub(super) struct SettingsLayer<'a> {
    pub(super) file: &'a Path,
    /// Whether the file is the user's own one, which no repository brings along.
    pub(super) is_user: bool,
    pub(super) text: &'a Arc<str>,
    pub(super) problems: &'a mut Vec<Problem>,
}

impl SettingsLayer<'_> {
    pub(super) fn set<T: for<'de> Deserialize<'de>>(
        &mut self,
        target: &mut T,
        section: &str,
        key: &str,
        value: &toml::Value,
    ) {
        match value.clone().try_into() {
            Ok(value) => *target = value,
            Err(error) => {
                let reason = error.to_string();
                self.refuse(section, key, reason.trim().lines().next().unwrap_or_default());
            }
        }
    }

    pub(super) fn set_figure(
        &mut self,
        figure: Option<NumericSetting<'_>>,
        section: &str,
        key: &str,
        value: &toml::Value,
    ) {
        match figure {
            None => self.unknown(section, key),
            Some(NumericSetting::Share(target, range)) => {
                let number = value.as_float().or_else(|| value.as_integer().map(|number| number as f64));
                match number.filter(|number| range.contains(number)) {
                    Some(number) => *target = number,
                    None => self.refuse(
                        section,
                        key,
                        &format!("not a number from {} to {}: {value}", range.start(), range.end()),
                    ),
                }
            }
            Some(NumericSetting::Count(target, range)) => {
                let number = value.as_integer().and_then(|number| u64::try_from(number).ok());
                match number.filter(|number| range.contains(number)) {
                    Some(number) => *target = number,
                    None => self.refuse(
                        section,
                        key,
                        &format!("not a whole number from {} to {}: {value}", range.start(), range.end()),
                    ),
                }
            }
        }
    }

    /// A word that may be missing.
    pub(super) fn set_option(&mut self, target: &mut Option<String>, section: &str, key: &str, value: &toml::Value) {
        let mut word = String::new();
        self.set(&mut word, section, key, value);
        if !word.is_empty() {
            *target = Some(word);
        }
    }

    /// A value that only the user's file may have.
    pub(super) fn leave_to_user(&mut self, section: &str, key: &str) {
        let line = self.line(section, key);
        let hint = "remove it here, and write it into ~/.config/verify-run/verify-run.toml";
        self.warn(line, format!("{section}.{key} counts only in the user's own file: it is left out"), hint);
    }

    /// A value that can't be: what was in force stays.
    pub(super) fn refuse(&mut self, section: &str, key: &str, reason: &str) {
        self.refuse_with(section, key, reason, "correct it: until then the default applies");
    }

    pub(super) fn refuse_with(&mut self, section: &str, key: &str, reason: &str, hint: &str) {
        let line = self.line(section, key);
        self.problem(line, format!("{section}.{key}: {reason}"), hint);
    }

    /// A folder that has to be inside the repository: a cloned file must not decide where else we write.
    pub(super) fn inside(&mut self, section: &str, key: &str, value: &toml::Value) -> Option<PathBuf> {
        let dir = value.as_str().map(Path::new).filter(|dir| {
            let plain = dir.components().all(|part| matches!(part, Component::Normal(name) if name != ".git"));
            plain && dir.components().next().is_some()
        });
        if dir.is_none() {
            let line = self.line(section, key);
            let reason = format!("{section}.{key} is not a relative path inside the repository: {value}");
            self.problem(line, reason, "write it without `..`, such as \"docs/lessons\"");
        }
        dir.map(Path::to_owned)
    }

    /// Names of environment variables, and of files inside the repository.
    pub(super) fn variables(&mut self, section: &str, key: &str, value: &toml::Value) -> Option<Vec<String>> {
        let is_name = |name: &&str| is_variable(name) || is_file_inside(name);
        let names = value.as_array().filter(|names| names.len() <= VARIABLES_MAX);
        let names = names.and_then(|names| {
            names.iter().map(|name| name.as_str().filter(is_name).map(str::to_owned)).collect::<Option<Vec<_>>>()
        });
        if names.is_none() {
            let reason = format!("not a list of at most {VARIABLES_MAX} names of variables and files: {value}");
            self.refuse(section, key, &reason);
        }
        names
    }

    pub(super) fn unknown(&mut self, section: &str, key: &str) {
        let dot = if section.is_empty() { "" } else { "." };
        let line = self.line(section, key);
        self.warn(line, format!("unknown setting {section}{dot}{key}"), "remove it, or update verify-run");
    }

    /// What works, but not as its writer may think.
    fn warn(&mut self, line: Option<usize>, reason: String, hint: &str) {
        self.problem(line, reason, hint);
        if let Some(problem) = self.problems.last_mut() {
            problem.warning = true;
        }
    }

    pub(super) fn problem(&mut self, line: Option<usize>, reason: String, hint: &str) {
        let hint = format!("{hint}; check again with: verify-run doctor");
        let problem = Problem { file: self.file.to_owned(), line, reason, hint, used: true, warning: false };
        self.problems.push(problem);
    }

    fn line(&self, section: &str, key: &str) -> Option<usize> {
        line_of_key(self.text, section, key)
    }
}

/// The line of a key. Looked up in the text, since the parsed table has no positions.
pub(super) fn line_of_key(text: &str, section: &str, key: &str) -> Option<usize> {
    let mut current = String::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(name) = line.strip_prefix('[') {
            current = name.split(']').next().unwrap_or_default().trim().replace(['"', '\''], "");
            if current == key && section.is_empty() || current == format!("{section}.{key}") {
                return Some(index + 1);
            }
        }
        let name = line.split(['=']).next().unwrap_or_default().replace([' ', '"'], "");
        let full = if current.is_empty() { name } else { format!("{current}.{name}") };
        if full == key && section.is_empty() || full == format!("{section}.{key}") {
            return Some(index + 1);
        }
    }
    None
}
