//! What was begun before it is asked for: the snapshots of a drain, a comparison of two of them, the first diagnosis.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use super::diagnosis::DiagnosedFailure;
use super::projects::Projects;
use super::queue::SpoolEntry;
use super::snapshots::SnapshotBatch;
use crate::capture::{SpoolHeader, SpooledRun};
use crate::fix::snapshot::{self, Diff, DiffLimits, SkippedSnapshot};
use crate::fix::weakened;
use crate::store::{Store, StoreError};

/// The threads of one drain, and the snapshots that most of them are about.
pub(super) struct InFlight {
    pub snapshots: SnapshotBatch,
    /// What differs between two trees of a work tree.
    diffs: HashMap<(PathBuf, String, String), JoinHandle<Result<Diff, SkippedSnapshot>>>,
    diagnosis: Option<SpawnedDiagnosis>,
}

/// The diagnosis of a spool file.
struct SpawnedDiagnosis {
    path: PathBuf,
    /// The parsed file, before it is diagnosed. Nothing comes where it could not be read or parsed.
    spooled: Receiver<Arc<SpooledRun>>,
    diagnosed: JoinHandle<Option<DiagnosedFailure>>,
}

impl InFlight {
    /// Begins the snapshots of the work trees of `entries`, and the diagnosis of the first of them.
    pub(super) fn spawn(projects: &mut Projects, entries: &[SpoolEntry], until: Option<Instant>) -> Self {
        let snapshots = SnapshotBatch::begin_batch(projects, entries, until);
        InFlight { snapshots, diffs: HashMap::new(), diagnosis: spawn_diagnosis(projects, entries) }
    }

    /// A spool file that a thread reads already, as soon as it is parsed.
    pub(super) fn parsed_spool(&self, path: &Path) -> Option<Arc<SpooledRun>> {
        self.diagnosis.as_ref().filter(|spawned| spawned.path == path)?.spooled.recv().ok()
    }

    /// The diagnosis of this spool file.
    pub(super) fn take_diagnosis(
        &mut self,
        projects: &mut Projects,
        path: &Path,
        spooled: &SpooledRun,
    ) -> DiagnosedFailure {
        let spawned = self.diagnosis.take_if(|spawned| spawned.path == path);
        let found = spawned
            .and_then(|spawned| spawned.diagnosed.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        found.unwrap_or_else(|| {
            let definitions = projects.definitions_at(spooled.header.repository.root.path());
            DiagnosedFailure::from_spooled(projects.project_places(), &definitions, spooled)
        })
    }

    /// Begins to compare the tree of a run with that of the failing one before it, while the run is recorded: what was
    /// tried in between is asked for as soon as it is.
    pub(super) fn spawn_diff(
        &mut self,
        projects: &mut Projects,
        store: &Store,
        header: &SpoolHeader,
    ) -> Result<(), StoreError> {
        let root = &header.repository.root;
        let Some((places, options)) = projects.snapshot_options(root.path()) else { return Ok(()) };
        let before = store.index().last_failing_tree(&header.key, root, header.ended_at, header.run)?;
        let Some(before) = before else { return Ok(()) };
        // Compile these rules now: this thread is idle while git takes the snapshot.
        weakened::prepare();
        let Some(tree) = self.snapshots.tree_of_run(header).filter(|tree| *tree != before) else { return Ok(()) };
        let trees = (before.clone(), tree.clone());
        let compare = move || snapshot::diff_trees(&places, &trees.0, &trees.1, &options, DiffLimits::default());
        if let Ok(spawned) = thread::Builder::new().spawn(compare) {
            self.diffs.insert((root.path().to_owned(), before, tree), spawned);
        }
        Ok(())
    }

    /// That comparison, when it was begun and nothing else is to be left out of it.
    pub(super) fn take_diff(&mut self, root: &Path, old: &str, new: &str) -> Option<Result<Diff, SkippedSnapshot>> {
        let spawned = self.diffs.remove(&(root.to_owned(), old.to_owned(), new.to_owned()))?;
        spawned.join().ok()
    }
}

/// Begins to diagnose what the first of these printed, if it failed, while the store is opened. Of a later one it isn't
/// known yet what the check printed when it passed.
fn spawn_diagnosis(projects: &mut Projects, entries: &[SpoolEntry]) -> Option<SpawnedDiagnosis> {
    let first = entries.iter().find(|entry| entry.is_spool)?;
    if first.header.ended.passed() {
        return None;
    }
    let definitions = projects.definitions_at(first.header.repository.root.path());
    let (places, file) = (projects.project_places().clone(), first.path.clone());
    let (sender, spooled) = mpsc::sync_channel(1);
    let work = move || {
        let spooled = Arc::new(SpooledRun::parse(&fs::read(file).ok()?).ok()?);
        // The recorder goes on with it while it is diagnosed here.
        let _ = sender.send(Arc::clone(&spooled));
        Some(DiagnosedFailure::from_spooled(&places, &definitions, &spooled))
    };
    let diagnosed = thread::Builder::new().spawn(work).ok()?;
    Some(SpawnedDiagnosis { path: first.path.clone(), spooled, diagnosed })
}
