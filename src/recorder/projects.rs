//! The projects whose runs are recorded: their settings, and what git says of their history. Starts no threads.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::{definitions, shared_lessons};
use crate::base::ids::RunId;
use crate::config::{Environment, FixSettings, LessonSettings, Places, Settings};
use crate::diagnose::DefinitionSet;
use crate::event::Run;
use crate::fix::snapshot::{self, SnapshotOptions};
use crate::lesson::{LessonFolder, LocalMachine};
use crate::store::{Store, StoreError};

/// A run that is recorded, with its id.
#[derive(Clone, Copy)]
pub(super) struct RecordedRun<'a> {
    pub id: RunId,
    pub run: &'a Run,
}

/// The projects whose runs are recorded: usually one, more when work trees share the store.
pub(super) struct Projects {
    places: Places,
    environment: Environment,
    known: HashMap<PathBuf, ProjectSettings>,
    /// Whether the second commit has the first one in its history, as far as git was asked.
    ancestry: HashMap<(PathBuf, String, String), bool>,
}

/// What recording needs to know of a work tree.
pub(super) struct ProjectSettings {
    local: LocalMachine,
    places: Places,
    pub settings: Settings,
    lessons: LessonFolder,
    definitions: Arc<DefinitionSet>,
}

/// What texts say of this machine.
pub(crate) fn local_machine(places: &Places, environment: &Environment) -> LocalMachine {
    let host = nix::unistd::gethostname().ok().and_then(|host| host.into_string().ok());
    let tops = fs::read_dir("/").into_iter().flatten().flatten();
    let tops = tops.filter_map(|entry| entry.file_name().into_string().ok());
    LocalMachine::new(&places.root, environment.home.as_deref(), host, tops)
}

impl Projects {
    pub(super) fn new(places: &Places) -> Self {
        Projects {
            places: places.clone(),
            environment: Environment::from_process(),
            known: HashMap::new(),
            ancestry: HashMap::new(),
        }
    }

    /// The variables that decide places and settings.
    pub(super) fn environment(&self) -> &Environment {
        &self.environment
    }

    /// The project at `root`; the recorder's own when that work tree is gone.
    pub(super) fn project_at(&mut self, root: &Path) -> &ProjectSettings {
        let environment = &self.environment;
        self.known.entry(root.to_owned()).or_insert_with(|| {
            let places = if root.is_dir() && root != self.places.root {
                Places { state: self.places.state.clone(), ..Places::find(root, environment) }
            } else {
                self.places.clone()
            };
            let (settings, _) = Settings::load(&places, environment);
            let definitions = definitions::load_definitions(&places, environment, &settings.categories).definitions;
            let definitions = Arc::new(definitions);
            // What can't be put right now is tried again by the next recorder.
            let _ = LessonFolder::migrate_lessons(&places, &settings);
            ProjectSettings {
                local: local_machine(&places, environment),
                lessons: LessonFolder::find(&places, &settings),
                settings,
                definitions,
                places,
            }
        })
    }

    /// The recorder's own places.
    pub(super) fn project_places(&self) -> &Places {
        &self.places
    }

    /// Where a snapshot of the work tree at `root` is taken, and what it leaves out; `None` where there are none.
    pub(super) fn snapshot_options(&mut self, root: &Path) -> Option<(Places, SnapshotOptions)> {
        let project = self.project_at(root);
        let is_wanted = project.settings.snapshot.enabled && is_work_tree(&project.places, root);
        is_wanted.then(|| {
            let options = snapshot_options(&project.places, &project.settings, &project.lessons);
            (project.places.clone(), options)
        })
    }

    /// The tool definitions of the work tree at `root`.
    pub(super) fn definitions_at(&mut self, root: &Path) -> Arc<DefinitionSet> {
        Arc::clone(&self.project_at(root).definitions)
    }

    /// Whether anything is learnt from what is recorded in the work tree at `root`.
    pub(super) fn learns_in(&mut self, root: &Path) -> bool {
        self.project_at(root).settings.advice.learning
    }

    /// What counts as a fix in the work tree at `root`.
    pub(super) fn fix_settings(&mut self, root: &Path) -> FixSettings {
        self.project_at(root).settings.fix.clone()
    }

    /// Which lessons are kept in the work tree at `root`.
    pub(super) fn lesson_settings(&mut self, root: &Path) -> LessonSettings {
        self.project_at(root).settings.lesson.clone()
    }

    /// What texts say of this machine, seen from the work tree at `root`.
    pub(super) fn local_machine_at(&mut self, root: &Path) -> &LocalMachine {
        &self.project_at(root).local
    }

    /// Whether the work tree at `root` is still there.
    pub(super) fn has_root(&mut self, root: &Path) -> bool {
        self.project_at(root).places.root.is_dir()
    }

    /// Takes over what the shared lessons of the work tree at `root` say now.
    pub(super) fn read_shared(&mut self, store: &mut Store, root: &Path) -> Result<(), StoreError> {
        self.project_at(root);
        let ProjectSettings { places, lessons, .. } = &self.known[root];
        shared_lessons::refresh_taught(store, places, &self.environment, lessons)
    }

    /// The lessons of the work tree at `root`.
    pub(super) fn lesson_folder_at(&mut self, root: &Path) -> &LessonFolder {
        &self.project_at(root).lessons
    }

    /// Asks git for many commits at once whether `new` has them in its history.
    pub(super) fn prefetch_ancestry(&mut self, root: &Path, olds: &[&str], new: &str) {
        let key = |old: &str| (root.to_owned(), old.to_owned(), new.to_owned());
        let olds: BTreeSet<&str> = olds.iter().copied().filter(|old| !self.ancestry.contains_key(&key(old))).collect();
        // One alone is asked for when it matters.
        if olds.len() < 2 {
            return;
        }
        let Some((places, options)) = self.snapshot_options(root) else { return };
        let olds: Vec<&str> = olds.into_iter().collect();
        let known = snapshot::read_ancestors(&places, &olds, new, &options).unwrap_or_default();
        for old in olds {
            self.ancestry.insert(key(old), known.contains(old));
        }
    }

    /// Whether the commit `new` has `old` in its history. `false` where git can't tell.
    pub(super) fn is_ancestor(&mut self, root: &Path, old: &str, new: &str) -> bool {
        let key = (root.to_owned(), old.to_owned(), new.to_owned());
        if let Some(known) = self.ancestry.get(&key) {
            return *known;
        }
        let options = self.snapshot_options(root);
        let asked = options.map(|(places, options)| snapshot::is_ancestor(&places, old, new, &options));
        let answer = matches!(asked, Some(Ok(true)));
        self.ancestry.insert(key, answer);
        answer
    }
}

/// What snapshots of a project leave out: what verify-run writes itself.
pub(crate) fn snapshot_options(places: &Places, settings: &Settings, lessons: &LessonFolder) -> SnapshotOptions {
    let lessons = places.relative(&lessons.dir).map(PathBuf::from);
    let hidden = PathBuf::from(".lessons");
    let excluded = lessons.into_iter().chain([hidden, settings.patterns.dir.clone()]);
    SnapshotOptions {
        time_max: Duration::from_millis(settings.snapshot.time_ms),
        file_bytes_max: settings.snapshot.file_bytes,
        excluded: excluded.filter(|folder| !folder.as_os_str().is_empty()).collect(),
    }
}

/// Whether these are the places of a work tree at `root`, and not of what is there instead.
fn is_work_tree(places: &Places, root: &Path) -> bool {
    places.root == root && places.repository.as_ref().is_some_and(|repository| repository.worktree.is_some())
}
