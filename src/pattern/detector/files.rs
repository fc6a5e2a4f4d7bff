//! The files that a pattern belongs to: the file pattern that nearly all of its tasks have in common and others
//! don't.

use std::collections::BTreeSet;

use foldhash::{HashMap, HashMapExt, HashSet};

use super::{Detector, DetectorFinding, DetectorSubject, failing_tasks};
use crate::config::Settings;
use crate::pattern::glob;
use crate::pattern::history::TaskHistory;

/// Files of one task that candidates are made of; a task that touched more says little about any of them.
const FILES_MAX: usize = 200;

/// Coverage of the pattern's tasks, and lift over all files that were touched.
#[derive(Debug)]
pub(super) struct FilesDetector;

impl Detector for FilesDetector {
    fn name(&self) -> &str {
        "files"
    }

    fn is_naming(&self) -> bool {
        true
    }

    fn examine_pattern(
        &self,
        subject: &DetectorSubject<'_>,
        history: &TaskHistory,
        settings: &Settings,
    ) -> Option<DetectorFinding> {
        let settings = &settings.patterns;
        let tasks = failing_tasks(history, subject.patterns);
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
        let best = count_covering_globs(&files, settings.files_coverage)
            .into_iter()
            .filter_map(|(candidate, hits)| {
                let share = history.share_of_glob(&candidate);
                let lift = (hits as f64 / of as f64) / share.max(f64::MIN_POSITIVE);
                (share > 0.0 && lift >= settings.files_lift).then_some((candidate, hits, lift))
            })
            .max_by(|a, b| {
                a.2.total_cmp(&b.2).then(a.1.cmp(&b.1)).then_with(|| glob::glob_rank(&a.0).cmp(&glob::glob_rank(&b.0)))
            })?;
        let (files, hits, lift) = best;
        Some(DetectorFinding {
            detector: self.name().into(),
            title: format!("in {files}"),
            summary: format!(
                "{hits} of the {of} tasks had it in {files}: {lift:.1} times the share of these files among all touched files."
            ),
            patterns: vec![subject.id.to_owned()],
            files: Some(files),
            hits,
            of,
            lift: Some(lift),
            ..DetectorFinding::default()
        })
    }
}

/// Candidates with the number of tasks that have an example of it, those that cover enough of them.
fn count_covering_globs(tasks: &[BTreeSet<&str>], coverage: f64) -> HashMap<String, u64> {
    let mut found: HashMap<String, u64> = HashMap::new();
    for files in tasks {
        let of_task: HashSet<String> = files.iter().flat_map(|file| glob::candidate_globs(file)).collect();
        for candidate in of_task {
            *found.entry(candidate).or_default() += 1;
        }
    }
    found.retain(|_, hits| *hits as f64 >= coverage * tasks.len() as f64);
    found
}
