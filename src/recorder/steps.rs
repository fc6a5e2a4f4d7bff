//! The steps of recording one run. Each may have been done by a recorder that was killed: each is repeatable.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use super::diagnosis::{self, DiagnosedFailure};
use super::fixes::{self, RecordedRun};
use super::merges::Merges;
use super::queue::{self, SpoolEntry};
use super::trees::{self, SnapshotBatch};
use super::{Drained, assemble, definitions, head, lessons, observed, shared_lessons, task, unwanted};
use crate::base::clock::Timestamp;
use crate::base::file::{self, Durability};
use crate::base::ids::RunId;
use crate::capture::{Identity, SpoolError, SpoolHeader, Spooled};
use crate::config::{Environment, FixSettings, LessonSettings, Places, Settings, StateDir};
use crate::diagnose::{self, Baseline, Definitions, Ran};
use crate::event::{Event, EventBody, Failure, Run};
use crate::fix;
use crate::fix::snapshot::{self, Diff, DiffLimits, Skipped, SnapshotOptions};
use crate::fix::weakened;
use crate::lesson::{LessonFolder, LocalMachine};
use crate::store::{Store, StoreError};

/// zstd's own default: fast, and small enough for text.
const ZSTD_LEVEL: i32 = 3;

/// The projects whose runs are recorded: usually one, more when work trees share the store.
pub(super) struct Projects<'a> {
    places: &'a Places,
    environment: Environment,
    known: HashMap<PathBuf, ProjectSettings>,
    /// Whether the second commit has the first one in its history, as far as it was asked.
    comes_from: HashMap<(PathBuf, String, String), bool>,
    /// What differs between two trees of a work tree, begun before it is asked for.
    compared: HashMap<(PathBuf, String, String), JoinHandle<Result<Diff, Skipped>>>,
    /// The diagnosis of a spool file, begun before it is asked for.
    diagnosed: Option<(PathBuf, JoinHandle<Option<DiagnosedFailure>>)>,
}

/// What recording needs to know of a work tree.
struct ProjectSettings {
    local: LocalMachine,
    places: Places,
    settings: Settings,
    lessons: LessonFolder,
    definitions: Arc<Definitions>,
}

/// What texts say of this machine.
pub(crate) fn local_machine(places: &Places, environment: &Environment) -> LocalMachine {
    let host = nix::unistd::gethostname().ok().and_then(|host| host.into_string().ok());
    let tops = fs::read_dir("/").into_iter().flatten().flatten();
    let tops = tops.filter_map(|entry| entry.file_name().into_string().ok());
    LocalMachine::new(&places.root, environment.home.as_deref(), host, tops)
}

impl<'a> Projects<'a> {
    pub(super) fn new(places: &'a Places) -> Self {
        Projects {
            places,
            environment: Environment::from_process(),
            known: HashMap::new(),
            comes_from: HashMap::new(),
            compared: HashMap::new(),
            diagnosed: None,
        }
    }

    /// The project at `root`; the recorder's own when that work tree is gone.
    fn project_at(&mut self, root: &Path) -> &ProjectSettings {
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
}

impl Projects<'_> {
    /// Where a snapshot of the work tree at `root` is taken, and what it leaves out; `None` where there are none.
    pub(super) fn snapshot_options(&mut self, root: &Path) -> Option<(Places, SnapshotOptions)> {
        let project = self.project_at(root);
        let wanted = project.settings.snapshot.enabled && trees::is_work_tree(&project.places, root);
        wanted.then(|| {
            (project.places.clone(), trees::snapshot_options(&project.places, &project.settings, &project.lessons))
        })
    }
}

impl Projects<'_> {
    /// The recorder's own places.
    pub(super) fn project_places(&self) -> &Places {
        self.places
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

    /// Begins to diagnose what the first of these printed, if it failed, while the store is opened. Of a later one it isn't
    /// known yet what the check printed when it passed.
    pub(super) fn begin_diagnosis(&mut self, entries: &[SpoolEntry]) {
        let first = entries.iter().find(|entry| entry.is_spool);
        let Some(SpoolEntry { path, header, .. }) = first.filter(|first| !first.header.ended.passed()) else { return };
        let definitions = Arc::clone(&self.project_at(header.place.root.path()).definitions);
        let (places, file) = (self.places.clone(), path.clone());
        let work = move || {
            let spooled = Spooled::parse(&fs::read(file).ok()?).ok()?;
            Some(DiagnosedFailure::from_spooled(&places, &definitions, &spooled))
        };
        self.diagnosed = thread::Builder::new().spawn(work).ok().map(|begun| (path.clone(), begun));
    }

    /// The diagnosis of this spool file.
    fn take_diagnosis(&mut self, path: &Path, spooled: &Spooled) -> DiagnosedFailure {
        let begun = self.diagnosed.take_if(|(of, _)| of == path);
        let found = begun.and_then(|(_, begun)| begun.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        found.unwrap_or_else(|| {
            let definitions = Arc::clone(&self.project_at(spooled.header.place.root.path()).definitions);
            DiagnosedFailure::from_spooled(self.places, &definitions, spooled)
        })
    }

    /// Begins to compare the tree of a run with that of the failing one before it, while the run is recorded: what was
    /// tried in between is asked for as soon as it is.
    pub(super) fn begin_comparing(
        &mut self,
        trees: &mut SnapshotBatch,
        store: &Store,
        header: &SpoolHeader,
    ) -> Result<(), StoreError> {
        let root = &header.place.root;
        let Some((places, options)) = self.snapshot_options(root.path()) else { return Ok(()) };
        let before = store.index().last_failing_tree(&header.key, root, header.ended_at, header.run)?;
        let Some(before) = before else { return Ok(()) };
        // While git is at work on the snapshot there is a processor for it.
        weakened::prepare();
        let Some(tree) = trees.tree_of_run(header).filter(|tree| *tree != before) else { return Ok(()) };
        let trees = (before.clone(), tree.clone());
        let compare = move || snapshot::diff_trees(&places, &trees.0, &trees.1, &options, DiffLimits::default());
        if let Ok(begun) = thread::Builder::new().spawn(compare) {
            self.compared.insert((root.path().to_owned(), before, tree), begun);
        }
        Ok(())
    }

    /// That comparison, when it was begun and nothing else is to be left out of it.
    pub(super) fn take_comparison(&mut self, root: &Path, old: &str, new: &str) -> Option<Result<Diff, Skipped>> {
        let begun = self.compared.remove(&(root.to_owned(), old.to_owned(), new.to_owned()))?;
        begun.join().ok()
    }

    /// Asks git for many commits at once whether `new` has them in its history.
    pub(super) fn learn_history(&mut self, root: &Path, olds: &[&str], new: &str) {
        let key = |old: &str| (root.to_owned(), old.to_owned(), new.to_owned());
        let olds: BTreeSet<&str> =
            olds.iter().copied().filter(|old| !self.comes_from.contains_key(&key(old))).collect();
        // One alone is asked for when it matters.
        if olds.len() < 2 {
            return;
        }
        let Some((places, options)) = self.snapshot_options(root) else { return };
        let olds: Vec<&str> = olds.into_iter().collect();
        let known = snapshot::read_ancestors(&places, &olds, new, &options).unwrap_or_default();
        for old in olds {
            self.comes_from.insert(key(old), known.contains(old));
        }
    }

    /// Whether the commit `new` has `old` in its history. `false` where git can't tell.
    pub(super) fn comes_from(&mut self, root: &Path, old: &str, new: &str) -> bool {
        let key = (root.to_owned(), old.to_owned(), new.to_owned());
        if let Some(known) = self.comes_from.get(&key) {
            return *known;
        }
        let options = self.snapshot_options(root);
        let asked = options.map(|(places, options)| snapshot::is_ancestor(&places, old, new, &options));
        let answer = matches!(asked, Some(Ok(true)));
        self.comes_from.insert(key, answer);
        answer
    }
}

/// Records the passes of a log in one append.
///
/// # Errors
/// When the store can't be written.
pub(super) fn record_passes(
    projects: &mut Projects<'_>,
    trees: &mut SnapshotBatch,
    store: &mut Store,
    entries: &[SpoolEntry],
    drained: &mut Drained,
) -> Result<(), StoreError> {
    let mut events = Vec::new();
    for entry in entries {
        let id = entry.header.run;
        if !store.index().has_event(id)? && events.iter().all(|event: &Event| event.id != id.0) {
            let run = new_run(projects, store, &entry.header, None)?;
            events.push(Event::from_run(id, Timestamp::now(), store.writer_name(), run));
            drained.runs += 1;
            events.extend(trees.snapshot_event(store, &entry.header)?);
        }
    }
    store.append_unsynced(&events)?;
    for event in &events {
        if let EventBody::Run(run) = &event.body {
            let recorded = RecordedRun { id: RunId(event.id), run };
            let open = fixes::open_at(projects, store, recorded)?;
            fixes::after_run(projects, store, recorded, open, drained)?;
        }
    }
    store.sync()
}

/// Records the run of a spool file, and removes the file.
///
/// # Errors
/// When the store can't be written: the file stays for the next recorder.
pub(super) fn record_spool(
    projects: &mut Projects<'_>,
    trees: &mut SnapshotBatch,
    store: &mut Store,
    entry: &SpoolEntry,
    drained: &mut Drained,
) -> Result<(), StoreError> {
    let spooled = match fs::read(&entry.path) {
        Ok(bytes) => Spooled::parse(&bytes),
        // Somebody removed it meanwhile.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => {
            drained.left.push((entry.path.clone(), error.to_string()));
            return Ok(());
        }
    };
    let spooled = match spooled {
        Ok(spooled) => spooled,
        Err(error @ SpoolError::Newer(_)) => {
            drained.left.push((entry.path.clone(), error.to_string()));
            return Ok(());
        }
        Err(SpoolError::Bad(why)) => {
            queue::set_aside(&entry.path, &why, drained);
            return Ok(());
        }
    };
    if observed::is_recorded(store, &spooled.header)? {
        let _ = fs::remove_file(&entry.path);
        return Ok(());
    }
    let header = &spooled.header;
    let (id, is_new) = (header.run, !store.index().has_event(header.run)?);
    // By a recorder that was killed before it was done: its decisions stand. A run that was purged meanwhile is none.
    let mut run = if is_new {
        Some(new_run(projects, store, header, Some(&spooled.output))?)
    } else {
        store.index().read_run(store.segments(), &id.to_string())?
    };
    // Looked up while the output is diagnosed.
    let open = run.as_ref().map(|run| fixes::open_at(projects, store, RecordedRun { id, run })).transpose()?;
    if let Some(new) = run.as_mut().filter(|_| is_new) {
        record_new(projects, trees, store, (entry, &spooled), new, drained)?;
        if !store.index().has_event(id)? {
            run = None;
        }
    }
    match (&run, open) {
        (Some(run), Some(open)) => fixes::after_run(projects, store, RecordedRun { id, run }, open, drained)?,
        _ => mark_open(projects.places, store, &header.key)?,
    }
    store.sync()?;
    match &run {
        _ if header.ended.passed() => keep_baseline(projects, &spooled, drained),
        Some(run) => keep_failure(projects, &spooled, run, drained),
        None => {}
    }
    if let Err(error) = fs::remove_file(&entry.path) {
        drained.left.push((entry.path.clone(), format!("recorded, but cannot be removed: {error}")));
    }
    Ok(())
}

/// The run of a header, with what its output says of the tests that ran; without its failure.
fn new_run(
    projects: &mut Projects<'_>,
    store: &Store,
    header: &SpoolHeader,
    output: Option<&[u8]>,
) -> Result<Run, StoreError> {
    let places = projects.places;
    let silence = projects.fix_settings(header.place.root.path()).silence_hours;
    let task = task::announced_task(store.index(), &header.identity, header.started_at, silence)?;
    let Ran { tests, stopped_early } =
        output.map(|output| assemble::ran_from_header(header, output)).unwrap_or_default();
    let commit = head::commit_of_run(header, places.repository.as_ref());
    let header = &SpoolHeader { identity: Identity { task, ..header.identity.clone() }, ..header.clone() };
    let run = assemble::run(header, task::default_branch(places).as_deref());
    Ok(Run { tests, stopped_early, program: fix::digest_programs(header), commit, ..run })
}

/// Appends a run that isn't recorded yet, with its failure if it has one, and its work tree with it.
fn record_new(
    projects: &mut Projects<'_>,
    trees: &mut SnapshotBatch,
    store: &mut Store,
    (entry, spooled): (&SpoolEntry, &Spooled),
    run: &mut Run,
    drained: &mut Drained,
) -> Result<(), StoreError> {
    let header = &spooled.header;
    // What follows from the run comes first: where the run is, they are.
    let mut events = Vec::new();
    if !header.ended.passed() {
        let DiagnosedFailure { diagnosis, items } = projects.take_diagnosis(&entry.path, spooled);
        let settings = &projects.project_at(header.place.root.path()).settings;
        // Above 1 nothing is similar enough: what isn't learnt from stays by itself.
        let similarity = if settings.advice.learning { settings.patterns.similarity } else { 1.0 };
        let merges = Merges::from_leaders(store, header.run, &items, similarity)?;
        let lesson = lessons::decide_lesson(
            store,
            header,
            &items,
            &merges,
            unwanted::reason_against_lesson(header, &diagnosis),
            settings,
        )?;
        let failure = assemble::assemble_failure(header.run, &diagnosis, items, lesson);
        let category_means = settings.categories.meaning(&failure.category).map(str::to_owned);
        run.failure = Some(Failure { category_means, ..failure });
        assemble::name_lesson(run);
        events = merges.events;
    }
    projects.begin_comparing(trees, store, header)?;
    events.push(Event::from_run(header.run, Timestamp::now(), store.writer_name(), run.clone()));
    events.extend(trees.snapshot_event(store, header)?);
    store.append_unsynced(&events)?;
    drained.runs += 1;
    drained.failures += usize::from(run.failure.is_some());
    Ok(())
}

/// What a passing run printed: what is new in the output of the next one that fails is seen by it.
fn keep_baseline(projects: &Projects<'_>, spooled: &Spooled, drained: &mut Drained) {
    let json = serde_json::to_vec(&Baseline::from_output(&spooled.output)).unwrap_or_default();
    let kept = write_packed(&diagnosis::baseline_path(projects.places, &spooled.header), &json);
    note_error(drained, "the baseline", kept);
}

/// The lesson and the output of a failing run.
fn keep_failure(projects: &mut Projects<'_>, spooled: &Spooled, run: &Run, drained: &mut Drained) {
    let id = spooled.header.run;
    lessons::write_lesson(projects, id, run, drained);
    let path = projects.places.state.raw_output(id);
    if !path.exists() {
        let written = write_packed(&path, diagnose::coloured_text(&spooled.output).as_bytes());
        drained.raw_bytes += fs::metadata(&path).map_or(0, |metadata| metadata.len());
        note_error(drained, "the raw output", written);
    }
}

/// `open/<command key>` exists while the last run of the key failed: the wrapper keeps the output of the next pass.
pub(super) fn mark_open(places: &Places, store: &Store, key: &str) -> Result<(), StoreError> {
    let marker = places.state.open_marker(&StateDir::key_name(key));
    match store.index().last_run_passed(key, Timestamp::now())? {
        Some(false) => {
            let made = marker.parent().map_or(Ok(()), file::create_private_dir);
            // Nothing depends on it but the wrapper's choice of what to keep.
            let _ = made.and_then(|()| file::write_atomic(&marker, b"", 0o600, Durability::Cached));
        }
        _ => {
            let _ = fs::remove_file(marker);
        }
    }
    Ok(())
}

fn write_packed(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    path.parent().map_or(Ok(()), file::create_private_dir)?;
    file::write_atomic(path, &zstd::bulk::compress(bytes, ZSTD_LEVEL)?, 0o600, Durability::Cached)
}

pub(super) fn note_error(drained: &mut Drained, what: &str, result: std::io::Result<()>) {
    if let Err(error) = result {
        drained.notes.push(format!("cannot keep {what}: {error}"));
    }
}
