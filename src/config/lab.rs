//! `[lab]`: limits of isolated runs, and what they are lent.

use super::hooks::{COMMAND_BYTES_MAX, COMMANDS_MAX};
use super::layer::SettingsLayer;
use super::learning::NumericSetting;

/// `[lab]`: limits of an isolated run (`gate run --isolated`, `gate isolate`). Keys marked with "user's file" count only
/// there; in a repository's file they are reported and left out.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(test, derive(serde::Serialize))]
pub struct LabSettings {
    /// `processes`: processes and threads of a run at the same time; at least 64 for each processor are allowed.
    pub processes: u64,
    /// `memory_bytes`: memory of a run, in bytes; 0 for half of the machine's memory, or 2 GiB where that is more.
    pub memory_bytes: u64,
    /// `file_bytes`: size limit of each file that a run writes, in bytes.
    pub file_bytes: u64,
    /// `disk_bytes`: size limit of everything that a run writes, in bytes.
    pub disk_bytes: u64,
    /// `lend`: further folders that runs may read, such as `/data/models` or `~/sdk` (user's file).
    pub lend: Vec<String>,
}

impl Default for LabSettings {
    fn default() -> Self {
        LabSettings { processes: 512, memory_bytes: 0, file_bytes: 1 << 30, disk_bytes: 4 << 30, lend: Vec::new() }
    }
}

impl LabSettings {
    /// Takes a value from a layer.
    pub(super) fn apply(&mut self, layer: &mut SettingsLayer<'_>, key: &str, value: &toml::Value) {
        if key != "lend" {
            return layer.set_figure(self.figure(key), "lab", key, value);
        }
        if !layer.is_user {
            return layer.leave_to_user("lab", key);
        }
        match read_folders(value) {
            Ok(folders) => self.lend = folders,
            Err(reason) => layer.refuse("lab", key, &reason),
        }
    }

    /// The figure called `key`.
    fn figure(&mut self, key: &str) -> Option<NumericSetting<'_>> {
        const MEBIBYTE: u64 = 1 << 20;
        const BYTES_MAX: u64 = 1 << 50;
        Some(match key {
            "processes" => NumericSetting::Count(&mut self.processes, 16..=1_000_000),
            "memory_bytes" => NumericSetting::Count(&mut self.memory_bytes, 0..=BYTES_MAX),
            "file_bytes" => NumericSetting::Count(&mut self.file_bytes, MEBIBYTE..=BYTES_MAX),
            "disk_bytes" => NumericSetting::Count(&mut self.disk_bytes, MEBIBYTE..=BYTES_MAX),
            _ => return None,
        })
    }
}

/// A list of absolute folders, or folders below the home folder.
fn read_folders(value: &toml::Value) -> Result<Vec<String>, String> {
    let list = value.as_array().filter(|list| list.len() <= COMMANDS_MAX);
    let list = list.ok_or_else(|| format!("not a list of at most {COMMANDS_MAX} folders: {value}"))?;
    let folder = |value: &toml::Value| {
        let path = value.as_str().filter(|path| path.len() <= COMMAND_BYTES_MAX && !path.contains('\0'));
        path.filter(|path| path.starts_with('/') || path.starts_with("~/"))
            .map(str::to_owned)
            .ok_or_else(|| format!("not an absolute folder or one that begins with ~/: {value}"))
    };
    list.iter().map(folder).collect()
}

#[cfg(test)]
mod tests {
    use crate::config::{Environment, Places, SETTINGS_FILE, Settings};

    #[test]
    fn limits_are_read_and_a_folder_must_be_absolute() {
        let text = "[lab]\nprocesses = 100\nfile_bytes = 5\nlend = [\"/data\", \"~/sdk\"]\n";
        let (settings, problems) = Settings::of(text);
        assert_eq!((settings.lab.processes, settings.lab.file_bytes), (100, 1 << 30));
        assert_eq!(settings.lab.lend, ["/data", "~/sdk"]);
        assert_eq!(problems.iter().map(|problem| problem.line).collect::<Vec<_>>(), [Some(3)]);
        let (settings, problems) = Settings::of("[lab]\nlend = [\"data\"]\n");
        assert!(settings.lab.lend.is_empty() && problems[0].reason.contains("not an absolute folder"), "{problems:?}");
    }

    #[test]
    fn a_repository_lends_nothing() {
        let dir = tempfile::tempdir().expect("a folder");
        let environment = Environment::default();
        std::fs::write(dir.path().join(SETTINGS_FILE), "[lab]\nlend = [\"/secrets\"]\nprocesses = 32\n")
            .expect("a file");
        std::fs::write(dir.path().join("Makefile"), "").expect("a file");
        let (settings, problems) = Settings::load(&Places::find(dir.path(), &environment), &environment);
        assert_eq!((settings.lab.lend.len(), settings.lab.processes), (0, 32));
        assert!(problems[0].reason.contains("counts only in the user's own file"), "{problems:?}");
    }
}
