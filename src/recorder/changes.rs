//! What was done between two runs: files by their snapshots, commands by what is recorded, packages by file times.

use std::collections::BTreeSet;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::thread::{self, JoinHandle};

use super::context::Recorder;
use super::projects::{Projects, RecordedRun};
use crate::base::ids::RunId;
use crate::config::Places;
use crate::event::{AttemptMeans, AttemptTrees as TreePair, FileChange, RecordedCommand, Run, WeakenedCheckRecord};
use crate::fix::patch::Patch;
use crate::fix::snapshot::{self, DiffLimits, HeadMove, SnapshotOptions};
use crate::fix::weakened::{self, TestCounts};
use crate::fix::{self, DependencyChanges};
use crate::store::{Store, StoreError, WorkTreePeriod};

/// Commands kept of one gap.
const COMMANDS_MAX: usize = 20;
/// Marks kept of one change.
const MARKS_MAX: usize = 20;
/// Files that git leaves out of a comparison.
const LEFT_OUT_MAX: usize = 1_000;

/// Files that say which packages there are: a command that installs something changes them with it.
const MANIFESTS: [&str; 26] = [
    "package.json",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "bun.lock",
    "bun.lockb",
    "deno.lock",
    "Cargo.toml",
    "Cargo.lock",
    "go.mod",
    "go.sum",
    "requirements.txt",
    "pyproject.toml",
    "poetry.lock",
    "uv.lock",
    "pdm.lock",
    "Pipfile",
    "Pipfile.lock",
    "Gemfile",
    "Gemfile.lock",
    "composer.json",
    "composer.lock",
    "mix.lock",
    "pubspec.lock",
    "flake.lock",
];

/// What was done between two runs.
#[derive(Debug)]
pub(super) struct RecordedChange {
    pub means: AttemptMeans,
    pub trees: Option<TreePair>,
    pub files: Vec<FileChange>,
    pub files_cut: usize,
    pub diff: String,
    pub diff_cut: usize,
    /// Files that came with another base.
    pub came_with_base: BTreeSet<PathBuf>,
    pub commands: Vec<RecordedCommand>,
    pub commands_cut: usize,
    pub dependency_changes: DependencyChanges,
}

impl RecordedChange {
    /// A command that is not a check passed in between: it may have changed anything.
    pub(super) fn has_changing_command(&self) -> bool {
        self.commands.iter().any(|command| command.passed && !command.check)
    }
}

/// Whether both runs belong to the same line of work: on the same branch, or with the earlier commit in the history of
/// the later one (a branch that was begun meanwhile).
pub(super) fn is_same_line_of_work(
    projects: &mut Projects,
    run: &Run,
    branch: Option<&str>,
    commit: Option<&str>,
) -> bool {
    branch == run.branch.as_deref()
        || match (commit, run.commit.as_deref()) {
            (Some(old), Some(new)) => old == new || projects.is_ancestor(run.root.path(), old, new),
            _ => false,
        }
}

/// What was done between a failing run and a later one.
///
/// # Errors
/// When the store can't be read. What git can't tell stays unknown.
pub(super) fn changes_between(
    recorder: &mut Recorder<'_>,
    before: (RunId, &Run),
    recorded: RecordedRun<'_>,
) -> Result<RecordedChange, StoreError> {
    let RecordedRun { id, run } = recorded;
    let (earlier_id, earlier) = before;
    let Recorder { projects, in_flight, store, report } = recorder;
    let mut change = context_between(store, earlier, run)?;
    let rows =
        [store.index().snapshot_of_run(&earlier_id.to_string())?, store.index().snapshot_of_run(&id.to_string())?];
    let [Some(old), Some(new)] = rows else { return Ok(change) };
    let (Some(old_tree), Some(new_tree)) = (old.tree, new.tree) else { return Ok(change) };
    // An edit was faster than the recorder: the tree of the earlier run has the edit that came after it.
    if old.late && old_tree == new_tree {
        return Ok(change);
    }
    change.trees = Some(TreePair { before: old_tree.clone(), after: new_tree.clone(), exact: old.exact && new.exact });
    if old_tree == new_tree {
        let is_changed = change.has_changing_command() || !change.dependency_changes.changed.is_empty();
        change.means = if is_changed { AttemptMeans::Command } else { AttemptMeans::None };
        return Ok(change);
    }
    change.means = AttemptMeans::Edit;
    let Some((places, mut options)) = projects.snapshot_options(run.root.path()) else { return Ok(change) };
    if let (Some(old), Some(new)) = (&earlier.commit, &run.commit) {
        let moved = HeadMove { branch: run.branch.as_deref(), commits: [old, new], trees: [&old_tree, &new_tree] };
        change.came_with_base = leave_out_base(&places, &mut options, moved, &mut report.notes);
    }
    let begun = if change.came_with_base.is_empty() {
        in_flight.take_diff(run.root.path(), &old_tree, &new_tree)
    } else {
        None
    };
    match begun.unwrap_or_else(|| snapshot::diff_trees(&places, &old_tree, &new_tree, &options, DiffLimits::default()))
    {
        Ok(diff) => {
            let cut = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
            (change.files_cut, change.diff_cut) = (cut(diff.files_cut), cut(diff.text_cut));
            (change.files, change.diff) = (diff.files, diff.text);
        }
        Err(skipped) => report.notes.push(format!("no diff of attempt {id}: {skipped}")),
    }
    let only_packages = !change.files.is_empty() && change.files_cut == 0 && change.files.iter().all(is_manifest);
    if only_packages && (change.has_changing_command() || !change.dependency_changes.changed.is_empty()) {
        change.means = AttemptMeans::Command;
    }
    Ok(change)
}

/// Leaves out of a comparison what a rebase, merge or pull changed; which files that were.
fn leave_out_base(
    places: &Places,
    options: &mut SnapshotOptions,
    moved: HeadMove<'_>,
    notes: &mut Vec<String>,
) -> BTreeSet<PathBuf> {
    match snapshot::came_with_base(places, moved, options) {
        Ok(came) => {
            options.excluded.extend(came.iter().take(LEFT_OUT_MAX).cloned());
            came
        }
        Err(skipped) => {
            notes.push(format!("cannot tell which changes came with another base: {skipped}"));
            BTreeSet::new()
        }
    }
}

/// The search for weakened checks, in a thread of its own, and its messages for the log.
pub(super) enum WeakenedSearch {
    Begun(JoinHandle<(Vec<WeakenedCheckRecord>, Vec<String>)>),
    Found(Vec<WeakenedCheckRecord>, Vec<String>),
}

impl WeakenedSearch {
    /// Begins to look for what made a check weaker between an earlier run, given with its commit, and one in which
    /// something is gone. `counts` are the tests that ran in two runs of the same check. `None` where the
    /// tree is the same.
    ///
    /// # Errors
    /// When the store can't be read.
    pub(super) fn begin_check(
        recorder: &mut Recorder<'_>,
        earlier: (RunId, Option<&str>),
        recorded: RecordedRun<'_>,
        counts: Option<TestCounts>,
    ) -> Result<Option<Self>, StoreError> {
        let RecordedRun { id, run } = recorded;
        let (earlier, commit) = earlier;
        let Recorder { projects, store, .. } = recorder;
        let (check, branch) = (run.check, run.branch.clone());
        let commits = [commit.map(str::to_owned), run.commit.clone()];
        let rows =
            [store.index().snapshot_of_run(&earlier.to_string())?, store.index().snapshot_of_run(&id.to_string())?];
        let is_late = rows[0].as_ref().is_some_and(|row| row.late);
        let trees = rows.map(|row| row.and_then(|row| row.tree));
        let known = match (trees, projects.snapshot_options(run.root.path())) {
            ([Some(old), Some(new)], _) if old == new && is_late => None,
            ([Some(old), Some(new)], _) if old == new => return Ok(None),
            ([Some(old), Some(new)], Some(at)) => Some(([old, new], at)),
            _ => None,
        };
        let look = move || {
            let mut notes = Vec::new();
            let (patch, counts) = match known {
                Some((trees, (places, options))) => {
                    compared_trees(trees, commits, branch.as_deref(), &places, options, counts, &mut notes)
                }
                None => (Patch::default(), counts.filter(|_| commits[0] == commits[1])),
            };
            let marks = weakened::detect(&patch, counts).marks.into_iter().filter(|mark| mark.concerns(check));
            (marks.take(MARKS_MAX).map(to_mark).collect(), notes)
        };
        let alone = look.clone();
        Ok(Some(match thread::Builder::new().spawn(look) {
            Ok(begun) => WeakenedSearch::Begun(begun),
            Err(_) => {
                let (marks, notes) = alone();
                WeakenedSearch::Found(marks, notes)
            }
        }))
    }

    /// What was found, which is waited for.
    pub(super) fn end_check(self, notes: &mut Vec<String>) -> Vec<WeakenedCheckRecord> {
        let (marks, said) = match self {
            WeakenedSearch::Begun(begun) => begun.join().unwrap_or_else(|panic| resume_unwind(panic)),
            WeakenedSearch::Found(marks, said) => (marks, said),
        };
        notes.extend(said);
        marks
    }
}

/// What differs between two trees but for what others did, and the tests that ran unless some of those are theirs.
fn compared_trees(
    [old, new]: [String; 2],
    commits: [Option<String>; 2],
    branch: Option<&str>,
    places: &Places,
    mut options: SnapshotOptions,
    mut counts: Option<TestCounts>,
    notes: &mut Vec<String>,
) -> (Patch, Option<TestCounts>) {
    // What others did to their checks is not what this work made of it.
    if let [Some(before), Some(after)] = &commits {
        let came = leave_out_base(
            places,
            &mut options,
            HeadMove { branch, commits: [before, after], trees: [&old, &new] },
            notes,
        );
        counts = counts.filter(|_| came.is_empty());
    }
    let patch = snapshot::patch_between(places, &old, &new, &options).unwrap_or_else(|skipped| {
        notes.push(format!("cannot tell whether the check was weakened: {skipped}"));
        Patch::default()
    });
    (patch, counts)
}

fn to_mark(found: weakened::WeakenedCheck) -> WeakenedCheckRecord {
    WeakenedCheckRecord {
        certain: found.decides(),
        rule: found.rule,
        path: found.path,
        line: (found.line > 0).then_some(found.line),
        deleted: found.deleted,
        text: found.text,
        message: found.message,
    }
}

/// What was done around the files between two runs; the files themselves are unknown.
///
/// # Errors
/// When the store can't be read.
pub(super) fn context_between(store: &Store, earlier: &Run, run: &Run) -> Result<RecordedChange, StoreError> {
    let gap = WorkTreePeriod { root: &run.root, from: earlier.ended_at, to: run.started_at };
    let (commands, commands_cut) = store.index().commands_in_period(gap, &run.key, COMMANDS_MAX)?;
    let dir = run.scope.as_ref().map_or_else(|| run.dir.path(), |scope| scope.dir.path());
    let dependency_changes = fix::dependency_changes(run.root.path(), dir, earlier.ended_at, run.started_at);
    Ok(RecordedChange {
        means: AttemptMeans::Unknown,
        trees: None,
        files: Vec::new(),
        files_cut: 0,
        diff: String::new(),
        diff_cut: 0,
        came_with_base: BTreeSet::new(),
        commands,
        commands_cut,
        dependency_changes,
    })
}

fn is_manifest(file: &FileChange) -> bool {
    let name = file.path.path().file_name().unwrap_or_default();
    MANIFESTS.iter().any(|manifest| name == *manifest)
}
