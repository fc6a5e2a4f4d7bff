//! `[learn]` and `[library]`: what jobs of the learning pipeline may do, and who may decide about pages.

use serde::Deserialize;

use super::gate::read_words;
use super::layer::SettingsLayer;
use super::learning::NumericSetting;

/// Settings that a repository must not decide: what is run, where it may reach, and programs of the user.
const USER_KEYS: [&str; 8] = [
    "learn.isolation",
    "learn.day_minutes",
    "learn.idle_load",
    "learn.alert",
    "learn.validation_runs",
    "learn.minimise_runs",
    "learn.crystallise.command",
    "library.librarians",
];

/// When jobs may run where the user agreed to it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "lowercase")]
pub enum LearnWork {
    /// Never.
    Off,
    /// When a person asks for it.
    #[default]
    Manual,
    /// Also automatically, while the machine has little else to do.
    Idle,
}

/// The isolation that a job needs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "lowercase")]
pub enum LearnIsolation {
    /// Namespaces of its own.
    #[default]
    Namespaces,
    /// Landlock and seccomp.
    Landlock,
    /// Limits only.
    None,
}

/// `[learn]`: jobs of the learning pipeline. Keys marked with "user's file" count only there; in a repository's file they are
/// reported and left out.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(test, derive(serde::Serialize))]
pub struct LearnSettings {
    /// `harvest`: finished tasks leave jobs.
    pub harvest: bool,
    /// `work`: when jobs may run: `off`, `manual` for those that a person starts with `verify-run library work`, or `idle` to
    /// run them also automatically, once the machine has little else to do. `verify-run library init` asks for consent
    /// first; a repository's file can only say `off`.
    pub work: LearnWork,
    /// `idle_load`: the load of the machine below which jobs run automatically, as a share of its cores (user's file).
    pub idle_load: f64,
    /// `day_minutes`: minutes a day that jobs may run automatically, of all work trees together (user's file).
    pub day_minutes: u64,
    /// `isolation`: the isolation that a job needs: `namespaces`, `landlock` or `none` (user's file).
    pub isolation: LearnIsolation,
    /// `snapshot_bytes`: trees of a job that are copied at most, in bytes.
    pub snapshot_bytes: u64,
    /// `retention_days`: days that the trees of an ended job are kept.
    pub retention_days: u64,
    /// `validation_runs`: runs that the validation of one job may take (user's file).
    pub validation_runs: u64,
    /// `minimise_runs`: runs that the search for the smallest change may take (user's file).
    pub minimise_runs: u64,
    /// `job_minutes`: minutes that one job may take.
    pub job_minutes: u64,
    /// `alert`: the words of a command that is started when a job needs a person (user's file).
    pub alert: Vec<String>,
    /// `[learn.crystallise]`
    pub crystallise: CrystalliseSettings,
}

/// `[learn.crystallise]`: a command that words pages (user's file).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(test, derive(serde::Serialize))]
pub struct CrystalliseSettings {
    /// `command`: its words. It reads facts as JSON and answers with a wording.
    pub command: Vec<String>,
}

/// `[library]`: the pattern library.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(test, derive(serde::Serialize))]
pub struct LibrarySettings {
    /// `librarians`: agents that may approve and deprecate proven pages (user's file).
    pub librarians: Vec<String>,
}

impl Default for LearnSettings {
    fn default() -> Self {
        LearnSettings {
            harvest: true,
            work: LearnWork::default(),
            idle_load: 0.7,
            day_minutes: 30,
            isolation: LearnIsolation::default(),
            snapshot_bytes: 1 << 30,
            retention_days: 30,
            validation_runs: 24,
            minimise_runs: 128,
            job_minutes: 15,
            alert: Vec::new(),
            crystallise: CrystalliseSettings::default(),
        }
    }
}

impl LearnSettings {
    /// Takes a value of `section` (`learn`, or a table below it) from a layer.
    pub(super) fn apply(&mut self, layer: &mut SettingsLayer<'_>, section: &str, key: &str, value: &toml::Value) {
        if let (toml::Value::Table(keys), "crystallise") = (value, key) {
            return keys.iter().for_each(|(name, value)| self.apply(layer, "learn.crystallise", name, value));
        }
        let full = format!("{section}.{key}");
        let turns_on = full == "learn.work" && value.as_str() != Some("off");
        if !layer.is_user && (turns_on || USER_KEYS.contains(&full.as_str())) {
            return layer.leave_to_user(section, key);
        }
        match full.as_str() {
            "learn.harvest" => layer.set(&mut self.harvest, section, key, value),
            "learn.work" => layer.set(&mut self.work, section, key, value),
            "learn.isolation" => layer.set(&mut self.isolation, section, key, value),
            "learn.alert" => set_words(&mut self.alert, layer, section, key, value),
            "learn.crystallise.command" => set_words(&mut self.crystallise.command, layer, section, key, value),
            name => layer.set_figure(self.figure(name), section, key, value),
        }
    }

    /// The figure called `name`, with its section.
    fn figure(&mut self, name: &str) -> Option<NumericSetting<'_>> {
        Some(match name {
            "learn.snapshot_bytes" => NumericSetting::Count(&mut self.snapshot_bytes, 0..=1 << 50),
            "learn.retention_days" => NumericSetting::Count(&mut self.retention_days, 1..=3_650),
            "learn.validation_runs" => NumericSetting::Count(&mut self.validation_runs, 6..=1_000),
            "learn.minimise_runs" => NumericSetting::Count(&mut self.minimise_runs, 0..=10_000),
            "learn.day_minutes" => NumericSetting::Count(&mut self.day_minutes, 0..=1_440),
            "learn.idle_load" => NumericSetting::Share(&mut self.idle_load, 0.0..=1_000.0),
            "learn.job_minutes" => NumericSetting::Count(&mut self.job_minutes, 1..=1_440),
            _ => return None,
        })
    }
}

impl LibrarySettings {
    /// Takes a value from a layer.
    pub(super) fn apply(&mut self, layer: &mut SettingsLayer<'_>, key: &str, value: &toml::Value) {
        match key {
            "librarians" if !layer.is_user => layer.leave_to_user("library", key),
            "librarians" => set_words(&mut self.librarians, layer, "library", key, value),
            _ => layer.unknown("library", key),
        }
    }
}

fn set_words(target: &mut Vec<String>, layer: &mut SettingsLayer<'_>, section: &str, key: &str, value: &toml::Value) {
    match read_words(value) {
        Ok(words) => *target = words,
        Err(reason) => layer.refuse(section, key, &reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;

    #[test]
    fn a_repository_can_only_turn_jobs_off() {
        let (settings, problems) =
            Settings::of_repository("[learn]\nwork = \"manual\"\nisolation = \"none\"\nharvest = false\n");
        assert_eq!((settings.learn.work, settings.learn.isolation), (LearnWork::Manual, LearnIsolation::Namespaces));
        assert!(!settings.learn.harvest);
        assert_eq!(problems.iter().map(|problem| problem.line).collect::<Vec<_>>(), [Some(2), Some(3)]);
        assert!(problems.iter().all(|problem| problem.warning));
        assert_eq!(Settings::of_repository("[learn]\nwork = \"off\"\n").0.learn.work, LearnWork::Off);
        let (settings, problems) =
            Settings::of_repository("[learn]\nwork = \"idle\"\nday_minutes = 1000\nidle_load = 9.0\n");
        assert_eq!((settings.learn.work, settings.learn.day_minutes), (LearnWork::Manual, 30));
        assert_eq!(problems.len(), 3);
        let (settings, problems) =
            Settings::of_repository("[learn.crystallise]\ncommand = [\"x\"]\n[library]\nlibrarians = [\"x\"]\n");
        assert!(settings.learn.crystallise.command.is_empty() && settings.library.librarians.is_empty());
        assert_eq!(problems.len(), 2);
    }
}
