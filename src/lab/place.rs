//! The lab of one caller: its folder on the disk, and what its runs see.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use super::ability::LabAbility;
use super::claim::{ClaimedFolder, remove_left_folders};
use super::folder::LentFolders;
use super::hidden::find_secret_settings;
use super::level::LabLevel;
use super::obstacle::LabObstacle;
use super::tools::{LentTools, MachineSearch};
use super::tree::LabTree;
use super::variables::inside_variables;
use super::view::{LabView, RunFolders};
use crate::base::threads::joined;
use crate::config::{Environment, Places, Settings, StateDir};
use crate::fix::snapshot::{self, SkippedSnapshot, SnapshotOptions};

/// Why there is no lab, or no run in it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LabError {
    /// The machine does not have the walls that are asked for.
    #[error("no isolation at the level {}: {}", .level.as_str(), .obstacle.what)]
    Unavailable {
        /// The walls that are asked for.
        level: LabLevel,
        /// What is in the way.
        obstacle: LabObstacle,
    },
    /// A file of verify-run can't be read or written.
    #[error("{what}: {error}")]
    File {
        /// What was to be done.
        what: String,
        /// Why it was not.
        #[source]
        error: io::Error,
    },
    /// The tree can't be had.
    #[error("cannot check out the tree: {0}")]
    Tree(SkippedSnapshot),
    /// The process inside did not start the command.
    #[error("cannot isolate the command: {0}")]
    Inside(String),
}

/// A failure of a file operation.
pub(super) fn file_error(what: impl Into<String>) -> impl FnOnce(io::Error) -> LabError {
    let what = what.into();
    move |error| LabError::File { what, error }
}

/// What a lab is opened for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LabRequest<'a> {
    /// The project.
    pub places: &'a Places,
    /// The user.
    pub environment: &'a Environment,
    /// The settings in force.
    pub settings: &'a Settings,
    /// What snapshots of the project leave out, and how long git may take.
    pub options: &'a SnapshotOptions,
    /// The walls.
    pub level: LabLevel,
}

/// A lab: trees as files, and runs in them. It must not be dropped before its runs have ended.
#[derive(Debug)]
pub(crate) struct Lab {
    folder: ClaimedFolder,
    level: LabLevel,
    places: Places,
    options: SnapshotOptions,
    view: LabView,
    variables: BTreeMap<OsString, OsString>,
    lent: LentFolders,
    trees: Mutex<BTreeMap<String, LabTree>>,
    runs: AtomicU64,
}

impl Lab {
    /// Opens a lab for a project of which a snapshot was taken.
    ///
    /// # Errors
    /// When the walls can't be had, when git can't be asked, when the state folder can't be written.
    pub(crate) fn open(request: &LabRequest<'_>) -> Result<Self, LabError> {
        let places = request.places;
        let ability = LabAbility::ask(&places.state);
        if ability.level < request.level {
            let obstacle =
                ability.obstacle.unwrap_or_else(|| LabObstacle { what: "unknown".to_owned(), setting: None });
            return Err(LabError::Unavailable { level: request.level, obstacle });
        }
        let folder = ClaimedFolder::claim(&places.state.labs());
        let folder = folder.map_err(file_error("cannot make a folder for the lab"))?;
        let root = places.root.canonicalize().map_err(file_error("cannot find the project"))?;
        let home = request.environment.home.as_ref().map(|home| home.canonicalize().unwrap_or_else(|_| home.clone()));
        let private = private_folders(places, request.environment);
        let search = MachineSearch {
            root: &root,
            home: home.as_deref(),
            private: &private,
            variable: &|name| std::env::var_os(name),
            lend: &request.settings.lab.lend,
        };
        // The machine is looked at while git lists what it ignores.
        let (ignored, tools, secrets) = thread::scope(|scope| {
            let listed = scope.spawn(|| snapshot::list_ignored(places, request.options));
            let secrets = scope.spawn(|| find_secret_settings(Path::new("/etc")));
            let tools = LentTools::find(&search);
            (joined(listed), tools, joined(secrets))
        });
        let lent = LentFolders::choose(&root, &ignored.map_err(LabError::Tree)?, &request.settings.fix.files());
        let view = LabView::find(&places.root, &search, tools, lent.clone(), secrets)
            .map_err(file_error("cannot look at the machine"))?;
        let variables = inside_variables(&view.home, &request.settings.fix.variables());
        Ok(Lab {
            folder,
            level: request.level,
            places: places.clone(),
            options: request.options.clone(),
            view,
            variables,
            lent,
            trees: Mutex::default(),
            runs: AtomicU64::new(0),
        })
    }

    /// Removes what labs of dead processes have left: the next lab does so too, but it may be long until there is one.
    pub(crate) fn remove_left(state: &StateDir) {
        remove_left_folders(&state.labs());
    }

    /// Its walls.
    pub(crate) fn level(&self) -> LabLevel {
        self.level
    }

    /// The project's root, as the caller knows it.
    pub(crate) fn project_root(&self) -> &Path {
        &self.places.root
    }

    /// The project.
    pub(super) fn project_places(&self) -> &Places {
        &self.places
    }

    /// What snapshots leave out, and how long git may take.
    pub(super) fn snapshot_options(&self) -> &SnapshotOptions {
        &self.options
    }

    /// What runs see.
    pub(super) fn view(&self) -> &LabView {
        &self.view
    }

    /// What is lent of the project.
    pub(super) fn lent(&self) -> &LentFolders {
        &self.lent
    }

    /// The variables of every run.
    pub(super) fn variables(&self) -> &BTreeMap<OsString, OsString> {
        &self.variables
    }

    /// The trees that are checked out.
    pub(super) fn trees(&self) -> &Mutex<BTreeMap<String, LabTree>> {
        &self.trees
    }

    /// A folder of the lab.
    pub(super) fn folder(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The folders of a new run.
    pub(super) fn new_run(&self) -> RunFolders {
        let number = self.runs.fetch_add(1, Ordering::Relaxed);
        RunFolders { dir: self.folder.path().join(format!("run-{number}")) }
    }
}

/// Folders that are never lent: those of git, whose settings may hold passwords, and verify-run's own.
fn private_folders(places: &Places, environment: &Environment) -> Vec<PathBuf> {
    let repository = places.repository.iter().flat_map(|it| [it.git_dir.clone(), it.common_dir.clone()]);
    let own = [Some(places.state.to_path_buf()), environment.state_dir(), environment.config_dir()];
    let folders = repository.chain(own.into_iter().flatten());
    folders.map(|folder| folder.canonicalize().unwrap_or(folder)).collect()
}
