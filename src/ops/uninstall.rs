//! `uninstall`: finds and removes everything that verify-run keeps for a project.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use serde::Serialize;

use super::request::Request;
use crate::host::InstallScope;
use crate::host::install::InstalledFile;
use crate::host::shims::find_startup_lines;
use crate::lesson::LessonFolder;
use crate::ops::{gate, init, library};
use crate::run::SHIMS_MARK;

/// What there is to remove.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct UninstallPlan {
    /// Folders that go with all that is in them.
    pub folders: Vec<PathBuf>,
    /// Whether git's `info/exclude` has lines of verify-run, from an older version or from `gate init --session`; they
    /// go.
    pub hidden: bool,
    /// Files of the project that hosts call verify-run by; they get their bytes back.
    pub installed: Vec<PathBuf>,
    /// The same in the home folder. They stay: they are for all projects.
    pub installed_at_home: Vec<PathBuf>,
    /// The folder of shims. It stays for the same reason.
    pub shims: Option<PathBuf>,
    /// Lines of shells' start-up files that load verify-run, each with its number. They stay: they are the user's.
    pub shell_lines: Vec<(PathBuf, usize)>,
    /// Folders of jobs in the project, and candidates of the pattern library that were not edited; they go.
    pub job_files: Vec<PathBuf>,
    /// The lessons folder, which stays.
    pub lessons: Option<PathBuf>,
    /// Whether all this was removed.
    pub removed: bool,
}

impl UninstallPlan {
    /// Whether there is nothing to remove.
    pub(crate) fn is_empty(&self) -> bool {
        self.folders.is_empty() && self.installed.is_empty() && self.job_files.is_empty() && !self.hidden
    }
}

/// What `uninstall --purge` would remove here.
///
/// # Errors
/// When what is installed can't be read.
pub(crate) fn plan_removal(request: &Request) -> anyhow::Result<UninstallPlan> {
    let (installed_at_home, installed) = init::installation_status(request)?
        .data
        .files
        .into_iter()
        .filter(|file| file.recorded)
        .partition::<Vec<_>, _>(|file| file.scope.is_user());
    let paths = |files: Vec<InstalledFile>| files.into_iter().map(|file| file.path).collect();
    let settings = request.settings();
    let folder = LessonFolder::find(&request.places, settings);
    // Outside of a work tree the lessons are in the state folder and can only go with it.
    let is_inside = folder.dir.starts_with(&request.places.state);
    Ok(UninstallPlan {
        folders: request.places.state_dirs().filter(|dir| dir.is_dir()).map(|dir| dir.to_path_buf()).collect(),
        hidden: LessonFolder::is_excluded(&request.places, settings) || gate::has_session_exclusion(&request.places),
        installed: paths(installed),
        installed_at_home: paths(installed_at_home),
        shims: request.environment.shims_dir().filter(|dir| dir.join(SHIMS_MARK).exists()),
        shell_lines: find_startup_lines(&request.environment),
        job_files: library::job_files(request)?,
        lessons: Some(folder.dir).filter(|dir| dir.is_dir() && !is_inside),
        removed: false,
    })
}

/// Removes what the plan says. A recorder that is at work is waited for.
///
/// # Errors
/// When something can't be removed; the rest may be gone by then. A file of the user's that an installation can't be taken
/// out of comes first: then nothing is gone.
pub(crate) fn purge_state(request: &Request, mut plan: UninstallPlan) -> anyhow::Result<UninstallPlan> {
    let report = init::uninstall_hosts(request, InstallScope::Project, &[])?;
    if let Some(problem) = report.data.problems.first() {
        bail!("{}: {}; the records are still there", problem.file.display(), problem.reason);
    }
    library::remove_job_files(request, &plan.job_files)?;
    let _held = if request.places.state.is_dir() { Some(request.lock_store()?) } else { None };
    LessonFolder::remove_exclusions(&request.places, request.settings())?;
    gate::remove_session_folder(&request.places)?;
    library::withdraw_consent(request)?;
    for dir in plan.folders.iter().filter(|dir| dir.is_dir()) {
        fs::remove_dir_all(dir).with_context(|| format!("cannot remove {}", dir.display()))?;
    }
    plan.removed = true;
    Ok(plan)
}
