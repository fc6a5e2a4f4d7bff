//! `uninstall`: what verify-run has put beside the user's files, and its removal.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, bail};
use serde::Serialize;

use crate::base::file::read_start;
use crate::base::limits::{CONFIG_FILE_BYTES_MAX, LOCK_WAIT_MS_MAX};
use crate::config::{Environment, Places, Settings};
use crate::host::install::InstalledFile;
use crate::lesson::LessonFolder;
use crate::ops::init;
use crate::run::SHIMS_MARK;
use crate::store::lock_store;

/// What there is to remove.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct UninstallPlan {
    /// Version of this shape.
    pub schema: u32,
    /// Folders that go with all that is in them.
    pub folders: Vec<PathBuf>,
    /// Whether an older version left a line in git's `info/exclude`; it goes.
    pub hidden: bool,
    /// Files of the project that hosts call verify-run by; they get their bytes back.
    pub installed: Vec<PathBuf>,
    /// The same in the home folder. They stay: they are for all projects.
    pub installed_at_home: Vec<PathBuf>,
    /// The folder of shims. It stays for the same reason.
    pub shims: Option<PathBuf>,
    /// Lines of shells' start-up files that load verify-run, each with its number. They stay: they are the user's.
    pub shell_lines: Vec<(PathBuf, usize)>,
    /// The lessons folder, which stays.
    pub lessons: Option<PathBuf>,
    /// Whether all this was removed.
    pub removed: bool,
}

impl UninstallPlan {
    /// Whether there is nothing to remove.
    pub(crate) fn is_empty(&self) -> bool {
        self.folders.is_empty() && self.installed.is_empty() && !self.hidden
    }
}

/// What `uninstall --purge` would remove here.
///
/// # Errors
/// When what is installed can't be read.
pub(crate) fn plan_removal(places: &Places, environment: &Environment) -> anyhow::Result<UninstallPlan> {
    let (installed_at_home, installed) = init::installation_status(places, environment)?
        .files
        .into_iter()
        .filter(|file| file.recorded)
        .partition::<Vec<_>, _>(|file| file.user);
    let paths = |files: Vec<InstalledFile>| files.into_iter().map(|file| file.path).collect();
    let settings = Settings::load(places, environment).0;
    let folder = LessonFolder::find(places, &settings);
    // Outside of a work tree the lessons are in the state folder and can only go with it.
    let is_inside = folder.dir.starts_with(&places.state);
    Ok(UninstallPlan {
        schema: 1,
        folders: places.state_dirs().filter(|dir| dir.is_dir()).map(PathBuf::from).collect(),
        hidden: LessonFolder::is_excluded(places, &settings),
        installed: paths(installed),
        installed_at_home: paths(installed_at_home),
        shims: environment.shims_dir().filter(|dir| dir.join(SHIMS_MARK).exists()),
        shell_lines: shell_lines(environment),
        lessons: Some(folder.dir).filter(|dir| dir.is_dir() && !is_inside),
        removed: false,
    })
}

/// Where the shells' start-up files are, below the home folder.
const START_UP: [&str; 8] = [
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".profile",
    ".zshrc",
    ".zprofile",
    ".zshenv",
    ".config/fish/config.fish",
];

fn shell_lines(environment: &Environment) -> Vec<(PathBuf, usize)> {
    let files = environment.home.iter().flat_map(|home| START_UP.map(|file| home.join(file)));
    let mut found = Vec::new();
    for path in files {
        let bytes = read_start(&path, CONFIG_FILE_BYTES_MAX).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let is_ours = |line: &str| !line.trim_start().starts_with('#') && line.contains("verify-run init ");
        let lines = text.lines().enumerate().filter(|(_, line)| is_ours(line));
        found.extend(lines.map(|(number, _)| (path.clone(), number + 1)));
    }
    found
}

/// Removes what the plan says. A recorder that is at work is waited for.
///
/// # Errors
/// When something can't be removed; the rest may be gone by then. A file of the user's that an installation can't be taken
/// out of comes first: then nothing is gone.
pub(crate) fn purge_state(
    places: &Places,
    environment: &Environment,
    mut plan: UninstallPlan,
) -> anyhow::Result<UninstallPlan> {
    let report = init::uninstall_hosts(places, environment, false, &[])?;
    if let Some(problem) = report.problems.first() {
        bail!("{}: {}; the records are still there", problem.file.display(), problem.reason);
    }
    let _held = if places.state.is_dir() {
        Some(lock_store(&places.state, Duration::from_millis(LOCK_WAIT_MS_MAX))?)
    } else {
        None
    };
    LessonFolder::remove_exclusions(places, &Settings::load(places, environment).0)?;
    for dir in plan.folders.iter().filter(|dir| dir.is_dir()) {
        fs::remove_dir_all(dir).with_context(|| format!("cannot remove {}", dir.display()))?;
    }
    plan.removed = true;
    Ok(plan)
}
