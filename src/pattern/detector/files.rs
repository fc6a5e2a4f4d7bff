//! Which files a pattern belongs to: the file pattern that nearly all of its tasks have in common and others don't.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{Detector, Finding, Subject, tasks_of};
use crate::base::glob::matches;
use crate::config::Settings;
use crate::pattern::glob;
use crate::pattern::history::{History, Task};

/// Files of one task that candidates are made of; a task that touched more says little about any of them.
const FILES_MAX: usize = 200;

/// Coverage of the pattern's tasks, and lift over all files that were touched.
#[derive(Debug)]
pub(super) struct Files;

impl Detector for Files {
    fn name(&self) -> &str {
        "files"
    }

    fn is_naming(&self) -> bool {
        true
    }

    fn about(&self, subject: &Subject<'_>, history: &History, settings: &Settings) -> Option<Finding> {
        let settings = &settings.patterns;
        let tasks = tasks_of(history, subject.patterns);
        let of = tasks.len() as u64;
        if of < settings.recurring_tasks {
            return None;
        }
        // Where it failed, else what had been changed.
        let files: Vec<BTreeSet<&str>> = tasks
            .iter()
            .map(|(task, failures)| {
                let items = failures.iter().flat_map(|failure| &failure.items);
                let own = items.filter(|seen| subject.patterns.contains(&seen.pattern));
                let failing: BTreeSet<&str> = own.filter_map(|seen| seen.file.as_deref()).take(FILES_MAX).collect();
                if failing.is_empty() {
                    task.changed.keys().map(String::as_str).take(FILES_MAX).collect()
                } else {
                    failing
                }
            })
            .collect();
        let touched = touched(&history.tasks);
        let all: u64 = touched.values().sum();
        let best = covering(&files, settings.files_coverage)
            .into_iter()
            .filter_map(|(candidate, hits)| {
                let share = share_of(&candidate, &touched, all);
                let lift = (hits as f64 / of as f64) / share.max(f64::MIN_POSITIVE);
                (share > 0.0 && lift >= settings.files_lift).then_some((candidate, hits, lift))
            })
            .max_by(|a, b| {
                a.2.total_cmp(&b.2).then(a.1.cmp(&b.1)).then_with(|| glob::rank(&a.0).cmp(&glob::rank(&b.0)))
            })?;
        let (files, hits, lift) = best;
        Some(Finding {
            detector: self.name().into(),
            title: format!("in {files}"),
            summary: format!(
                "{hits} of the {of} tasks had it in {files}: {lift:.1} times the share of these files in all that was touched."
            ),
            patterns: vec![subject.id.to_owned()],
            files: Some(files),
            hits,
            of,
            lift: Some(lift),
            ..Finding::default()
        })
    }
}

/// Candidates with the number of tasks that have an example of it, those that cover enough of them.
fn covering(tasks: &[BTreeSet<&str>], coverage: f64) -> BTreeMap<String, u64> {
    let mut found: BTreeMap<String, u64> = BTreeMap::new();
    for files in tasks {
        let of_task: BTreeSet<String> = files.iter().flat_map(|file| glob::candidates(file)).collect();
        for candidate in of_task {
            *found.entry(candidate).or_default() += 1;
        }
    }
    found.retain(|_, hits| *hits as f64 >= coverage * tasks.len() as f64);
    found
}

/// Every file with the number of tasks that touched it.
pub(super) fn touched(tasks: &[Task]) -> HashMap<&str, u64> {
    let mut touched: HashMap<&str, u64> = HashMap::new();
    for file in tasks.iter().flat_map(Task::touched) {
        *touched.entry(file).or_default() += 1;
    }
    touched
}

/// The share of touched files, each counted once a task, that are of the pattern.
fn share_of(candidate: &str, touched: &HashMap<&str, u64>, all: u64) -> f64 {
    let of_it = touched.iter().filter(|(file, _)| matches(candidate, file));
    of_it.map(|(_, tasks)| tasks).sum::<u64>() as f64 / all.max(1) as f64
}
