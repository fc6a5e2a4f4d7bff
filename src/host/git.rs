//! Git's hooks: which managers run them here, and checks that they run, recorded.
//!
//! A check is recorded by what is put before it, and nothing else of a file changes. What is put there runs the check
//! all the same where verify-run is missing: a colleague's commit must not need it. The form depends on who reads the
//! command: a shell ([`GUARD`]), or no shell (`precommit`).

mod lefthook;
mod pkl;
mod plain;
mod precommit;
mod script;
#[cfg(test)]
mod tests;
mod yaml;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{ConfigFileChange, InstallSite, PlannedHost};
use crate::base::file::{is_program, read_start};
use crate::base::limits::CONFIG_FILE_BYTES_MAX;
use crate::base::text::{count, one_line};
use crate::config::{HookSettings, Problem, Repository};
use crate::whitelist::Whitelist;

/// Before a command that a POSIX shell reads: `verify-run -- `, and nothing where there is none. It is two words
/// whatever the path to the program has in it, on two lines because scripts that are strict about words split at line
/// ends only (`IFS=$'\n\t'`), and it prints nothing.
pub const GUARD: &str = "$(command -v verify-run >/dev/null && echo verify-run && echo --) ";

const PRE_COMMIT: [&str; 2] = [".pre-commit-config.yaml", ".pre-commit-config.yml"];
const LEFTHOOK: [&str; 8] = [
    "lefthook.yml",
    "lefthook.yaml",
    ".lefthook.yml",
    ".lefthook.yaml",
    ".config/lefthook.yml",
    ".config/lefthook.yaml",
    "lefthook-local.yml",
    ".lefthook-local.yml",
];
/// Of lefthook too, and nothing that is edited here.
const LEFTHOOK_OTHER: [&str; 5] =
    ["lefthook.toml", "lefthook.json", "lefthook.jsonc", ".lefthook.toml", ".lefthook.json"];
const HK: [&str; 2] = ["hk.pkl", ".config/hk.pkl"];
const HUSKY: &str = ".husky";

/// Plans for the hooks of a repository: the recognised checks in the configuration of pre-commit (or prek), lefthook,
/// husky and hk and in plain hooks are recorded, and the commands of `[hooks]` get a hook.
///
/// Nothing is planned for a hooks folder outside of the repository: other repositories use it, too.
pub fn plan(site: &InstallSite, whitelist: &Whitelist, hooks: &HookSettings) -> PlannedHost {
    let mut planning = GitPlanner { site, whitelist, hooks, planned: PlannedHost::default() };
    let mut managers = Vec::new();
    for name in PRE_COMMIT {
        if planning.edit(name, |planning, text| precommit::wrap(text, planning.whitelist)) {
            managers.push(name);
        }
    }
    if let Some(name) = planning.lefthook() {
        managers.push(name);
    }
    if planning.husky() {
        managers.push(HUSKY);
    }
    for name in HK {
        if planning.hk(name) {
            managers.push(name);
        }
    }
    let manager = managers.first().copied();
    planning.plain_hooks(manager.is_some());
    if let Some(manager) = manager {
        planning.settings_in(manager);
    }
    planning.planned
}

/// A user's file with what was put into it.
#[derive(Debug, Default)]
struct EditedFile {
    /// What is in it then; `None` when there is nothing to put.
    text: Option<String>,
    /// What is left alone: the line, and why.
    left: Vec<(usize, String)>,
    /// Hooks whose commands are not in this file.
    elsewhere: usize,
}

/// A user's file before any change.
struct ExistingFile {
    /// Where it is, links followed.
    path: PathBuf,
    text: String,
    /// Git ignores a hook that is not.
    is_executable: bool,
}

/// Collects the changes for git's hooks.
struct GitPlanner<'a> {
    site: &'a InstallSite,
    whitelist: &'a Whitelist,
    hooks: &'a HookSettings,
    planned: PlannedHost,
}

impl GitPlanner<'_> {
    fn is_check(&self, text: &str) -> bool {
        let program = text.split_whitespace().next().unwrap_or_default();
        program.rsplit('/').next() != Some("verify-run") && self.whitelist.decide_line(text).into_check().is_some()
    }

    /// What a file of the repository holds; `None`, with the problem if it is one, when that is nothing to edit.
    fn read(&mut self, file: &Path) -> Option<ExistingFile> {
        let path = match fs::canonicalize(file) {
            Ok(path) => path,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return None;
            }
            Err(error) => {
                self.left(file, None, &format!("can't be read: {error}"));
                return None;
            }
        };
        if path.is_dir() {
            return None;
        }
        // A file that only is where it seems keeps its name, however the folders above it are called.
        if !self.folders().iter().any(|folder| path.starts_with(folder)) {
            self.left(file, None, &format!("is a link out of the repository, to {}", path.display()));
            return None;
        }
        let path = if file.is_symlink() { path } else { file.to_owned() };
        let bytes = match read_start(&path, CONFIG_FILE_BYTES_MAX + 1) {
            Ok(bytes) => bytes,
            Err(error) => {
                self.left(file, None, &format!("can't be read: {error}"));
                return None;
            }
        };
        if bytes.len() as u64 > CONFIG_FILE_BYTES_MAX {
            self.left(file, None, &format!("is larger than {CONFIG_FILE_BYTES_MAX} bytes"));
            return None;
        }
        match String::from_utf8(bytes) {
            Ok(text) => {
                let is_executable = is_program(&path);
                Some(ExistingFile { path, text, is_executable })
            }
            // A program is not a configuration.
            Err(error) if error.as_bytes().contains(&0) => None,
            Err(_) => {
                self.left(file, None, "is not UTF-8");
                None
            }
        }
    }

    /// The folders whose files are this repository's, links followed.
    fn folders(&self) -> Vec<PathBuf> {
        let common = Repository::find(&self.site.root).map(|repository| repository.common_dir);
        let folders = [Some(self.site.root.clone()), common].into_iter().flatten();
        folders.filter_map(|folder| fs::canonicalize(folder).ok()).collect()
    }

    fn change(&mut self, path: PathBuf, before: Option<String>, after: String, why: &str, executable: bool) {
        if before.as_deref() != Some(&after) {
            let (before, after) = (before.map(String::into_bytes), after.into_bytes());
            self.planned.changes.push(ConfigFileChange { path, why: why.to_owned(), before, after, executable });
        }
    }

    /// Says that something is left alone.
    fn left(&mut self, file: &Path, line: Option<usize>, reason: &str) {
        self.problem(file, line, reason, "put `verify-run -- ` before the checks in it by hand, to record them");
    }

    fn problem(&mut self, file: &Path, line: Option<usize>, reason: &str, hint: &str) {
        let hint = format!("{hint}; check again with: verify-run init");
        let reason = one_line(reason);
        self.planned.problems.push(Problem { file: file.to_owned(), line, reason, hint, used: true, warning: true });
    }

    /// Edits a file of YAML at the root. Whether it is there.
    fn edit(&mut self, name: &str, edit: impl Fn(&Self, &str) -> Result<EditedFile, yaml::YamlFault>) -> bool {
        let file = self.site.root.join(name);
        let Some(kept) = self.read(&file) else { return file.is_file() };
        match edit(self, &kept.text) {
            Ok(EditedFile { text, left, elsewhere }) => {
                if elsewhere > 0 {
                    let reason = format!("{} of other repositories: they are not recorded", count(elsewhere, "hook"));
                    let hint = "to record one, make it a hook of `repo: local` with its command as `entry`";
                    self.problem(&file, None, &reason, hint);
                }
                left.iter().for_each(|(line, reason)| self.left(&file, Some(*line), reason));
                match text {
                    Some(after) if means_the_same(&kept.text, &after) => {
                        self.change(kept.path, Some(kept.text), after, "records the checks in it", false);
                    }
                    Some(_) => self.left(&file, None, "can't be changed without changing its meaning"),
                    None => {}
                }
            }
            Err((line, reason)) => self.left(&file, Some(line), &format!("is not YAML: {reason}")),
        }
        true
    }

    fn lefthook(&mut self) -> Option<&'static str> {
        let mut found = None;
        for name in LEFTHOOK {
            if self.edit(name, |planning, text| lefthook::wrap(text, &|line| planning.is_check(line))) {
                found = found.or(Some(name));
            }
        }
        for name in LEFTHOOK_OTHER {
            let file = self.site.root.join(name);
            if file.is_file() {
                self.left(&file, None, "is not YAML: only lefthook.yml is edited");
                found = found.or(Some(name));
            }
        }
        found
    }

    /// The scripts in `.husky`; what is below `.husky/_` is husky's own.
    fn husky(&mut self) -> bool {
        let folder = self.site.root.join(HUSKY);
        for hook in plain::HOOKS {
            plain::wrap_file(self, &folder.join(hook), GUARD);
        }
        folder.is_dir()
    }

    fn hk(&mut self, name: &str) -> bool {
        let file = self.site.root.join(name);
        let Some(kept) = self.read(&file) else { return file.is_file() };
        match pkl::checks(&kept.text) {
            Some(checks) => {
                let mut after = String::new();
                let mut from = 0;
                for check in checks {
                    for at in
                        script::commands(&kept.text[check.clone()], &|line| self.is_check(line)).unwrap_or_default()
                    {
                        after.push_str(&kept.text[from..check.start + at]);
                        after.push_str(GUARD);
                        from = check.start + at;
                    }
                }
                after.push_str(&kept.text[from..]);
                self.change(kept.path, Some(kept.text), after, "records the checks in it", false);
            }
            None => self.left(
                &file,
                None,
                "uses a shell that is not POSIX-like, or Pkl that verify-run does not understand",
            ),
        }
        true
    }

    fn plain_hooks(&mut self, has_manager: bool) {
        let Some(folder) = self.site.git_hooks.clone() else { return };
        // What husky has there is written by it.
        if folder.starts_with(self.site.root.join(HUSKY)) {
            return;
        }
        let resolved = fs::canonicalize(&folder).unwrap_or_else(|_| folder.clone());
        if self.folders().iter().any(|own| resolved.starts_with(own)) {
            return plain::plan(self, &folder, has_manager);
        }
        let named = self.hooks.iter().any(|(_, commands)| !commands.is_empty());
        let has_hooks = plain::HOOKS.iter().any(|hook| folder.join(hook).is_file());
        if named || has_hooks {
            self.left(
                &folder,
                None,
                "git reads hooks from here, outside the repository: other repositories use them, too",
            );
        }
    }

    /// The commands of `[hooks]`, where a manager runs the hooks: it gets those of a hook that it has none of.
    fn settings_in(&mut self, manager: &str) {
        let wanted: Vec<_> = self.hooks.iter().filter(|(_, commands)| !commands.is_empty()).collect();
        for (hook, commands) in wanted {
            let is_added = match manager {
                HUSKY => self.add_to_husky(hook, commands),
                name if LEFTHOOK.contains(&name) => self.add_to_lefthook(name, hook, commands),
                _ => false,
            };
            if !is_added {
                let file = self.site.root.join(manager);
                let reason = format!("runs the hooks here, so [hooks] has no effect on {hook}");
                let hint = "write its commands there (`hooks/git` of verify-run's repository has examples), or remove them from [hooks]";
                self.problem(&file, None, &reason, hint);
            }
        }
    }

    fn add_to_husky(&mut self, hook: &str, commands: &[String]) -> bool {
        let file = self.site.root.join(HUSKY).join(hook);
        if file.symlink_metadata().is_ok() {
            return self.has_all(&file, commands);
        }
        let mut text = String::new();
        for command in commands {
            let Some(places) = script::commands(command, &|line| self.is_check(line)) else { return false };
            text.push_str(&plain::with(command, &places, GUARD));
            text.push('\n');
        }
        self.change(file, None, text, "runs the checks of [hooks]", true);
        true
    }

    fn add_to_lefthook(&mut self, name: &str, hook: &str, commands: &[String]) -> bool {
        let file = self.site.root.join(name);
        if self.has_all(&file, commands) {
            return true;
        }
        let Some(kept) = self.read(&file) else { return false };
        let at = self.planned.changes.iter().position(|change| change.path == kept.path);
        let now =
            at.map_or(kept.text.clone(), |at| String::from_utf8_lossy(&self.planned.changes[at].after).into_owned());
        let Some(added) = lefthook::add(&now, hook, commands) else { return false };
        let Ok(edited) = lefthook::wrap(&added, &|line| self.is_check(line)) else { return false };
        if let Some(at) = at {
            self.planned.changes.remove(at);
        }
        let after = edited.text.unwrap_or(added);
        self.change(kept.path, Some(kept.text), after, "records the checks in it, runs those of [hooks]", false);
        true
    }

    /// Whether a file has all these commands, recorded or not.
    fn has_all(&mut self, file: &Path, commands: &[String]) -> bool {
        let Some(kept) = self.read(file) else { return false };
        let text = kept.text.replace(GUARD, "");
        commands.iter().all(|command| text.contains(command.as_str()))
    }
}

/// Whether two documents differ in nothing but what records a check.
fn means_the_same(before: &str, after: &str) -> bool {
    let bare = |text: &str| yaml::parse(text).ok().flatten().map(|node| node.map(&|value| bare_command(value)));
    bare(before) == bare(after)
}

fn bare_command(value: &str) -> String {
    value.replace(GUARD, "").replace(precommit::GUARD, "")
}
