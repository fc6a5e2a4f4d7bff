//! The work trees of the runs that are recorded: one snapshot per drain and work tree serves all its runs.

use std::collections::HashMap;
use std::path::PathBuf;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use super::log;
use super::projects::Projects;
use super::queue::SpoolEntry;
use crate::base::clock::Timestamp;
use crate::base::ids::RunId;
use crate::capture::SpoolHeader;
use crate::config::Places;
use crate::event::{Event, Snapshot, SnapshotBase};
use crate::fix::snapshot::{self, Diff, DiffLimits, SkippedSnapshot, SnapshotOptions, TakenSnapshot};
use crate::store::{Store, StoreError};

/// A tree with changes that are younger than the run is taken for its own when the run ended so shortly before, seconds:
/// the recorder is as fast as it can be.
const LATE_SECONDS_MAX: i64 = 10;

/// The snapshots of one drain.
pub(super) struct SnapshotBatch {
    by_root: HashMap<PathBuf, WorkTreeSnapshot>,
    compared: HashMap<(String, String, bool), Result<Diff, SkippedSnapshot>>,
    heads: HashMap<(PathBuf, Option<String>), Option<String>>,
}

/// The tree that a run saw.
struct SeenTree {
    tree: String,
    fit: TreeFit,
    left_out: u64,
}

/// Whether a tree is what a run saw.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TreeFit {
    Exact,
    /// A file changed while the run went on, or so shortly before that file times can't tell.
    Approximate,
    /// A file changed after the run had ended.
    Late,
}

/// What a snapshot of one work tree gave.
struct WorkTreeSnapshot {
    places: Places,
    options: SnapshotOptions,
    /// git takes it while what failed is diagnosed.
    begun: Option<JoinHandle<Result<TakenSnapshot, SkippedSnapshot>>>,
    taken: Result<TakenSnapshot, SkippedSnapshot>,
    /// Comparisons with it have to be done by then.
    until: Instant,
    /// What the thread said when it panicked, for the log.
    panicked: Option<String>,
    /// The run that ended last.
    newest: RunId,
}

impl SnapshotBatch {
    /// Begins a snapshot of every work tree that has a run among `entries`, before anything is diagnosed: the sooner,
    /// the likelier it is what the run saw. Where every run says itself what it saw, none is taken.
    pub(super) fn begin_batch(projects: &mut Projects, entries: &[SpoolEntry], until: Option<Instant>) -> Self {
        let mut batch = SnapshotBatch { by_root: HashMap::new(), compared: HashMap::new(), heads: HashMap::new() };
        for entry in entries.iter().rev() {
            let root = entry.header.repository.root.path();
            if batch.by_root.contains_key(root) {
                continue;
            }
            let Some((places, mut options)) = projects.snapshot_options(root) else { continue };
            if let Some(until) = until {
                options.time_max = options.time_max.min(until.saturating_duration_since(Instant::now()));
            }
            let newest = entry.header.run;
            let is_of_root = |other: &&SpoolEntry| other.header.repository.root.path() == root;
            let is_needed = entries.iter().filter(is_of_root).any(|other| other.header.tree.is_none());
            batch.by_root.insert(root.to_owned(), WorkTreeSnapshot::begin_snapshot(places, options, newest, is_needed));
        }
        batch
    }

    /// What went wrong with the snapshots that were asked for, for the log.
    pub(super) fn take_notes(&mut self) -> Vec<String> {
        self.by_root.values_mut().filter_map(|of| of.panicked.take()).collect()
    }

    /// The snapshot of the run's work tree, exact or approximate; `None` where none was taken.
    pub(super) fn tree_of_run(&mut self, header: &SpoolHeader) -> Option<String> {
        let of = self.by_root.get_mut(header.repository.root.path())?;
        header.tree.clone().or_else(|| of.taken_snapshot().ok().map(|taken| taken.tree))
    }

    /// The event of a run's work tree; `None` where there are no snapshots.
    ///
    /// # Errors
    /// When the store can't be read.
    pub(super) fn snapshot_event(&mut self, store: &Store, header: &SpoolHeader) -> Result<Option<Event>, StoreError> {
        let root = header.repository.root.path();
        let Some(of) = self.by_root.get_mut(root) else { return Ok(None) };
        let seen = match &header.tree {
            Some(tree) => Ok(SeenTree { tree: tree.clone(), fit: TreeFit::Exact, left_out: 0 }),
            None => of.taken_snapshot().and_then(|taken| {
                let fit = of.fit_to_run(&taken, header)?;
                Ok(SeenTree { tree: taken.tree, fit, left_out: taken.left_out })
            }),
        };
        let mut snapshot = Snapshot {
            run: header.run,
            tree: None,
            exact: false,
            late: false,
            skipped: None,
            left_out: 0,
            base: None,
            files: Vec::new(),
            files_cut: 0,
            diff: String::new(),
            diff_cut: 0,
            unavailable: None,
        };
        match seen {
            Ok(seen) => {
                (snapshot.exact, snapshot.late) = (seen.fit == TreeFit::Exact, seen.fit == TreeFit::Late);
                snapshot.left_out = seen.left_out;
                snapshot.base = self.base_of_run(store, header)?;
                self.compare_with_pass(header, &seen.tree, &mut snapshot);
                snapshot.tree = Some(seen.tree);
            }
            Err(skipped) => snapshot.skipped = Some(skipped.reason),
        }
        Ok(Some(Event::from_snapshot(Timestamp::now(), store.writer_name(), snapshot)))
    }

    /// What the run's tree is compared with: the tree of the last pass, else the commit's.
    fn base_of_run(&mut self, store: &Store, header: &SpoolHeader) -> Result<Option<SnapshotBase>, StoreError> {
        let root = &header.repository.root;
        if let Some(pass) = store.index().last_passing_tree(&header.key, root, header.ended_at, header.run)? {
            return Ok(Some(SnapshotBase::Pass { run: pass.run, tree: pass.tree }));
        }
        let Some(of) = self.by_root.get(root.path()) else { return Ok(None) };
        let commit = header.repository.commit.clone();
        let head = self.heads.entry((root.path().to_owned(), commit.clone())).or_insert_with(|| {
            snapshot::head_tree(&of.places, commit.as_deref(), of.options.time_max).unwrap_or_default()
        });
        Ok(head.clone().map(|tree| SnapshotBase::Head { tree }))
    }

    fn compare_with_pass(&mut self, header: &SpoolHeader, tree: &str, snapshot: &mut Snapshot) {
        let (Some(base), Some(of)) = (&snapshot.base, self.by_root.get(header.repository.root.path())) else { return };
        // What a pass changed is asked for its files alone.
        let with_text = !header.ended.passed();
        let key = (base.tree_id().to_owned(), tree.to_owned(), with_text);
        let compared = self.compared.entry(key).or_insert_with(|| {
            let left = of.until.saturating_duration_since(Instant::now()).min(of.options.time_max);
            let options = SnapshotOptions { time_max: left, ..of.options.clone() };
            let limits =
                if with_text { DiffLimits::default() } else { DiffLimits { bytes: 0, ..DiffLimits::default() } };
            snapshot::diff_trees(&of.places, base.tree_id(), tree, &options, limits)
        });
        match compared {
            Ok(diff) => {
                (snapshot.files, snapshot.files_cut) = (diff.files.clone(), diff.files_cut);
                snapshot.diff.clone_from(&diff.text);
                snapshot.diff_cut = if with_text { diff.text_cut } else { 0 };
            }
            Err(why) => snapshot.unavailable = Some(why.reason.clone()),
        }
    }
}

/// No other process may take a snapshot in the same folder before this one is done, so it is waited for with the
/// recorder's lock.
impl Drop for WorkTreeSnapshot {
    fn drop(&mut self) {
        let _ = self.taken_snapshot();
    }
}

impl WorkTreeSnapshot {
    /// Begins a snapshot if one is needed; `newest` is the run of this work tree that ended last.
    fn begin_snapshot(places: Places, options: SnapshotOptions, newest: RunId, is_needed: bool) -> Self {
        let (of, limits) = (places.clone(), options.clone());
        let until = Instant::now() + 2 * options.time_max;
        if !is_needed {
            let taken = Err(SkippedSnapshot { reason: "no run needs one".to_owned() });
            return WorkTreeSnapshot { places, options, begun: None, taken, until, panicked: None, newest };
        }
        let begun = thread::Builder::new().spawn(move || snapshot::take_snapshot(&of, &limits));
        let (begun, taken) = match begun {
            Ok(begun) => (Some(begun), Err(failed_snapshot())),
            Err(_) => (None, snapshot::take_snapshot(&places, &options)),
        };
        WorkTreeSnapshot { places, options, begun, taken, until, panicked: None, newest }
    }

    /// What the snapshot gave, which is waited for.
    fn taken_snapshot(&mut self) -> Result<TakenSnapshot, SkippedSnapshot> {
        if let Some(begun) = self.begun.take() {
            self.taken = begun.join().unwrap_or_else(|panic| {
                self.panicked = Some(log::panic_text(&*panic));
                Err(failed_snapshot())
            });
            self.until = Instant::now() + 2 * self.options.time_max;
        }
        self.taken.clone()
    }

    /// Whether the tree is what the run saw.
    ///
    /// # Errors
    /// When files changed after a run that ended too long ago, or that others followed.
    fn fit_to_run(&self, taken: &TakenSnapshot, header: &SpoolHeader) -> Result<TreeFit, SkippedSnapshot> {
        if taken.is_exact_for(header.started_at) {
            return Ok(TreeFit::Exact);
        }
        if taken.changed_at <= header.ended_at {
            return Ok(TreeFit::Approximate);
        }
        let delay = taken.at.0.saturating_sub(header.ended_at.0);
        if self.newest == header.run && delay <= LATE_SECONDS_MAX * 1_000_000 {
            return Ok(TreeFit::Late);
        }
        Err(SkippedSnapshot { reason: "files changed before the run was recorded".to_owned() })
    }
}

fn failed_snapshot() -> SkippedSnapshot {
    SkippedSnapshot { reason: "verify-run failed internally".to_owned() }
}
