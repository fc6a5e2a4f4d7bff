//! The input of detectors: recent tasks with the files they touched and what failed in them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, OnceLock, PoisonError};

use foldhash::{HashMap, HashMapExt};

use crate::base::clock::Timestamp;
use crate::base::glob;
use crate::pattern::glob::{candidate_globs, glob_rank};
use crate::store::{HistoryRows, NamedPatternRow, PatternRow, TaskChangeRow, TaskFailureRow, TaskItemRow, TaskRow};

/// Changed files of one task that file patterns are made of.
const CHANGED_MAX: usize = 200;

/// The newest tasks of a store.
#[derive(Debug, Default)]
pub(crate) struct TaskHistory {
    /// The tasks, the oldest first.
    pub tasks: Vec<HistoryTask>,
    /// What is known of the patterns that failed in them, once it was asked for: they are thousands, and a detector that
    /// looks at one pattern is given what is known of it.
    pub patterns: OnceLock<BTreeMap<i64, HistoryPattern>>,
    /// How many categories there are.
    pub categories: u64,
    /// Tasks that are older than the window.
    pub older_tasks: u64,
    /// Where patterns and files are in `tasks`; made when it is first asked for.
    pub places: OnceLock<HistoryPlaces>,
    /// What [`TaskHistory::changed_globs`] gives; made when it is first asked for.
    pub globs: OnceLock<Vec<ChangedGlob>>,
}

/// Positions in [`TaskHistory::changing_tasks`], ascending, with the best of the file patterns of which these tasks changed an
/// example.
pub(crate) type ChangedGlob = (Vec<usize>, String);

/// Where patterns and files are in the tasks of a history: a list asks for each of its patterns.
#[derive(Debug, Default)]
pub(crate) struct HistoryPlaces {
    /// The positions of the tasks that each pattern failed in, ascending.
    tasks: HashMap<i64, Vec<usize>>,
    /// Every file with the number of tasks that touched it.
    touched: BTreeMap<String, u64>,
    /// What share of them a file pattern matches, of those that were asked for: the patterns of a list have most candidates in
    /// common, and lists are asked for again and again.
    shares: Mutex<HashMap<String, f64>>,
}

/// What was worked on.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct HistoryTask {
    pub name: String,
    /// Files that it changed, as far as snapshots tell, and how: of a task in which something failed those that were
    /// changed when it began to fail. What was changed afterwards is the cure.
    pub changed: BTreeMap<String, TaskFileChange>,
    /// Its failures, the oldest first.
    pub failures: Vec<HistoryFailure>,
    /// Checks that ran in it, passed or failed.
    pub runs: u64,
}

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TaskFileChange {
    /// Its content was changed, or it is new.
    Content,
    /// It was moved, or removed: what named it may still do so.
    Place,
}

/// A failed run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HistoryFailure {
    pub run: String,
    /// When it was started.
    pub at: Timestamp,
    pub category: String,
    /// What failed in it, one entry a pattern.
    pub items: Vec<FailurePattern>,
}

/// A pattern in a failure.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FailurePattern {
    /// The pattern's row number.
    pub pattern: i64,
    /// Where the first item of it was.
    pub file: Option<String>,
}

impl HistoryTask {
    /// Every file that it changed or that something failed in, once.
    pub(crate) fn touched_files(&self) -> impl Iterator<Item = &str> {
        let failing = self.failures.iter().flat_map(|failure| &failure.items).filter_map(|seen| seen.file.as_deref());
        let mut files: Vec<&str> = failing.chain(self.changed.keys().map(String::as_str)).collect();
        files.sort_unstable();
        files.dedup();
        files.into_iter()
    }

    /// Its failures that have one of the patterns.
    pub(crate) fn failures_with(&self, patterns: &[i64]) -> impl Iterator<Item = &HistoryFailure> {
        let has = |failure: &&HistoryFailure| failure.items.iter().any(|seen| patterns.contains(&seen.pattern));
        self.failures.iter().filter(has)
    }
}

/// What is known of a pattern by its row number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct HistoryPattern {
    /// `p-…`
    pub id: String,
    /// The tool that reported it.
    pub tool: String,
    /// Rule, error code or exception class.
    pub code: Option<String>,
    /// The masked message, subject kept.
    pub masked: String,
}

impl From<NamedPatternRow> for HistoryPattern {
    fn from(row: NamedPatternRow) -> Self {
        HistoryPattern { id: row.id, tool: row.tool, code: row.code, masked: row.masked }
    }
}

impl From<&PatternRow> for HistoryPattern {
    fn from(row: &PatternRow) -> Self {
        let PatternRow { id, tool, code, masked, .. } = row;
        HistoryPattern { id: id.clone(), tool: tool.clone(), code: code.clone(), masked: masked.clone() }
    }
}

impl TaskHistory {
    /// From the store's rows.
    pub(crate) fn from_rows(rows: HistoryRows) -> Self {
        let mut tasks: BTreeMap<i64, HistoryTask> = BTreeMap::new();
        let order: Vec<i64> = rows.tasks.iter().map(|row| row.number).collect();
        for TaskRow { number, name, runs } in rows.tasks {
            tasks.insert(number, HistoryTask { name, runs, ..HistoryTask::default() });
        }
        for TaskChangeRow { task, path, moved } in rows.changes {
            let change = if moved { TaskFileChange::Place } else { TaskFileChange::Content };
            if let Some(task) = tasks.get_mut(&task) {
                task.changed.insert(path, change);
            }
        }
        let mut items: BTreeMap<i64, Vec<FailurePattern>> = BTreeMap::new();
        for TaskItemRow { failure, pattern, file } in rows.items {
            items.entry(failure).or_default().push(FailurePattern { pattern, file });
        }
        for TaskFailureRow { number, task, run, at, category } in rows.failures {
            // One of which nothing is left was a flake.
            let Some(items) = items.remove(&number) else { continue };
            if let Some(task) = tasks.get_mut(&task) {
                task.failures.push(HistoryFailure { run, at, category, items });
            }
        }
        TaskHistory {
            tasks: order.iter().filter_map(|number| tasks.remove(number)).collect(),
            patterns: OnceLock::new(),
            categories: rows.categories,
            older_tasks: rows.older_tasks,
            places: OnceLock::new(),
            globs: OnceLock::new(),
        }
    }

    /// What is known of its patterns, which `read` is asked for if it is not known yet.
    ///
    /// # Errors
    /// Those of `read`.
    pub(crate) fn name_patterns<E>(
        &self,
        read: impl FnOnce(&BTreeSet<i64>) -> Result<Vec<NamedPatternRow>, E>,
    ) -> Result<(), E> {
        if self.patterns.get().is_none() {
            let failures = self.tasks.iter().flat_map(|task| &task.failures);
            let numbers = failures.flat_map(|failure| &failure.items).map(|seen| seen.pattern).collect();
            let named = read(&numbers)?.into_iter().map(|row| (row.number, HistoryPattern::from(row))).collect();
            self.patterns.get_or_init(|| named);
        }
        Ok(())
    }

    /// The patterns that failed in its tasks, where they are named.
    pub(crate) fn named_patterns(&self) -> impl Iterator<Item = (i64, &HistoryPattern)> {
        self.patterns.get().into_iter().flatten().map(|(pattern, known)| (*pattern, known))
    }

    /// The patterns that failed in at least `runs_min` runs in which this one did, itself included.
    pub(crate) fn patterns_beside(&self, pattern: i64, runs_min: u64) -> BTreeSet<i64> {
        let own = [pattern];
        let mut runs: BTreeMap<i64, u64> = BTreeMap::new();
        for failure in self.tasks_with(&own).flat_map(|task| task.failures_with(&own)) {
            failure.items.iter().for_each(|seen| *runs.entry(seen.pattern).or_default() += 1);
        }
        runs.into_iter().filter(|(_, count)| *count >= runs_min).map(|(beside, _)| beside).chain([pattern]).collect()
    }

    /// What is known of a pattern, where they are named.
    pub(crate) fn named_pattern(&self, pattern: i64) -> Option<&HistoryPattern> {
        self.patterns.get()?.get(&pattern)
    }

    /// The tasks that tell something about changes, the oldest first: those whose changes are known and in which something
    /// was checked.
    pub(crate) fn changing_tasks(&self) -> impl Iterator<Item = &HistoryTask> {
        self.tasks.iter().filter(|task| !task.changed.is_empty() && task.runs > 0)
    }

    /// What was changed, as file patterns; those with the same tasks once. In no order.
    pub(crate) fn changed_globs(&self) -> &[ChangedGlob] {
        self.globs.get_or_init(|| {
            let mut tasks_of: HashMap<String, Vec<usize>> = HashMap::new();
            for (at, task) in self.changing_tasks().enumerate() {
                for candidate in task.changed.keys().take(CHANGED_MAX).flat_map(|file| candidate_globs(file)) {
                    let tasks = tasks_of.entry(candidate).or_default();
                    if tasks.last() != Some(&at) {
                        tasks.push(at);
                    }
                }
            }
            let mut best: HashMap<Vec<usize>, String> = HashMap::new();
            for (candidate, tasks) in tasks_of {
                let known = best.entry(tasks).or_insert_with(|| candidate.clone());
                if glob_rank(&candidate) > glob_rank(known) {
                    *known = candidate;
                }
            }
            best.into_iter().collect()
        })
    }

    /// The tasks in which one of the patterns failed, the oldest first.
    pub(crate) fn tasks_with(&self, patterns: &[i64]) -> impl Iterator<Item = &HistoryTask> {
        let known = &self.places().tasks;
        let mut found: Vec<usize> =
            patterns.iter().filter_map(|pattern| known.get(pattern)).flatten().copied().collect();
        found.sort_unstable();
        found.dedup();
        found.into_iter().filter_map(|at| self.tasks.get(at))
    }

    /// The share of touched files, each counted once a task, that are of a file pattern.
    pub(crate) fn share_of_glob(&self, pattern: &str) -> f64 {
        let places = self.places();
        let mut shares = places.shares.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(share) = shares.get(pattern) {
            return *share;
        }
        let of_it = places.touched.iter().filter(|(file, _)| glob::matches(pattern, file));
        let (of_it, all): (u64, u64) = (of_it.map(|(_, tasks)| tasks).sum(), places.touched.values().sum());
        let share = of_it as f64 / all.max(1) as f64;
        shares.insert(pattern.to_owned(), share);
        share
    }

    fn places(&self) -> &HistoryPlaces {
        self.places.get_or_init(|| {
            let mut places = HistoryPlaces::default();
            for (at, task) in self.tasks.iter().enumerate() {
                for seen in task.failures.iter().flat_map(|failure| &failure.items) {
                    let tasks = places.tasks.entry(seen.pattern).or_default();
                    if tasks.last() != Some(&at) {
                        tasks.push(at);
                    }
                }
                for file in task.touched_files() {
                    match places.touched.get_mut(file) {
                        Some(tasks) => *tasks += 1,
                        None => drop(places.touched.insert(file.to_owned(), 1)),
                    }
                }
            }
            places
        })
    }
}
