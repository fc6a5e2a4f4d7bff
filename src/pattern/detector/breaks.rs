//! Files whose change breaks something nearly every time: "70 % of tasks that modify database/* fail".

use super::{Detector, DetectorFinding, DetectorSubject, format_percent};
use crate::config::Settings;
use crate::pattern::history::{HistoryTask, TaskHistory};
use crate::pattern::statistics::share_bound;

/// From this share on it is worth saying that a change often breaks something, when others do so less.
const OFTEN_MIN: f64 = 0.6;

/// The denominator is every task that changed such a file, passed or failed: without the passes there is no share.
#[derive(Debug)]
pub(super) struct AlwaysBreaksDetector;

impl Detector for AlwaysBreaksDetector {
    fn name(&self) -> &str {
        "always-breaks"
    }

    fn is_about_changes(&self) -> bool {
        true
    }

    fn examine_pattern(
        &self,
        subject: &DetectorSubject<'_>,
        history: &TaskHistory,
        settings: &Settings,
    ) -> Option<DetectorFinding> {
        let failed = |task: &HistoryTask| task.failures_with(subject.patterns).next().is_some();
        let best = find_breakages(history, settings, &failed).into_iter().next()?;
        let BreakageTally { files, hits, of, .. } = &best;
        let summary =
            format!("{} of the tasks that modify {files} had it ({hits} of {of}).", format_percent(*hits, *of));
        Some(DetectorFinding { patterns: vec![subject.id.to_owned()], ..best.into_finding(self.name(), summary) })
    }

    fn examine_history(&self, history: &TaskHistory, settings: &Settings) -> Vec<DetectorFinding> {
        let failed = |task: &HistoryTask| !task.failures.is_empty();
        let found = find_breakages(history, settings, &failed).into_iter().map(|tally| {
            let BreakageTally { files, hits, of, rest_hits, rest_of, .. } = &tally;
            let others = if *rest_of == 0 {
                String::new()
            } else {
                format!("; {} of the others do ({rest_hits} of {rest_of})", format_percent(*rest_hits, *rest_of))
            };
            let summary =
                format!("{} of tasks that modify {files} fail ({hits} of {of}){others}.", format_percent(*hits, *of));
            tally.into_finding(self.name(), summary)
        });
        found.collect()
    }
}

/// How often tasks that changed these files failed, and how often the others did.
struct BreakageTally {
    files: String,
    hits: u64,
    of: u64,
    rest_hits: u64,
    rest_of: u64,
    bound: f64,
    always: bool,
}

impl BreakageTally {
    fn into_finding(self, detector: &str, summary: String) -> DetectorFinding {
        DetectorFinding {
            detector: detector.to_owned(),
            title: format!("changing {} {} breaks", self.files, if self.always { "nearly always" } else { "often" }),
            summary,
            files: Some(self.files),
            hits: self.hits,
            of: self.of,
            lower_bound: Some(self.bound),
            is_about_changes: true,
            ..DetectorFinding::default()
        }
    }
}

fn find_breakages(
    history: &TaskHistory,
    settings: &Settings,
    failed: &dyn Fn(&HistoryTask) -> bool,
) -> Vec<BreakageTally> {
    let tasks: Vec<bool> = history.changing_tasks().map(failed).collect();
    let all_failed = tasks.iter().filter(|failed| **failed).count() as u64;
    let wanted = history.changed_globs().iter().filter(|(of, _)| of.len() as u64 >= settings.patterns.breaks_tasks);
    let mut found: Vec<BreakageTally> = wanted
        .filter_map(|(of, files)| {
            let hits = of.iter().filter(|&&index| tasks[index]).count() as u64;
            let (of, rest_of) = (of.len() as u64, (tasks.len() - of.len()) as u64);
            let rest_hits = all_failed - hits;
            let share = hits as f64 / of as f64;
            let rest = if rest_of == 0 { 0.0 } else { rest_hits as f64 / rest_of as f64 };
            let bound = share_bound(hits, of, settings.confidence.bound);
            let always = bound >= settings.patterns.breaks_bound;
            // Where every task fails, or every task changes them, nothing says that it is these files.
            let others = rest_of >= settings.patterns.breaks_tasks;
            let tells = share > rest && rest_of > 0 && (always || others && share >= OFTEN_MIN && bound > rest);
            tells.then(|| BreakageTally { files: files.clone(), hits, of, rest_hits, rest_of, bound, always })
        })
        .collect();
    found.sort_by(|a, b| {
        b.bound
            .total_cmp(&a.bound)
            .then(b.of.cmp(&a.of))
            .then_with(|| (a.files.len(), &a.files).cmp(&(b.files.len(), &b.files)))
    });
    remove_nested(found)
}

/// Without those that only say again of fewer or more files what a better one says.
fn remove_nested(found: Vec<BreakageTally>) -> Vec<BreakageTally> {
    let mut kept: Vec<BreakageTally> = Vec::new();
    for tally in found {
        let inner = |a: &str, b: &str| a.strip_suffix("**").is_some_and(|folder| b.starts_with(folder));
        let said = kept.iter().any(|other| inner(&other.files, &tally.files) || inner(&tally.files, &other.files));
        if !said {
            kept.push(tally);
        }
    }
    kept
}
