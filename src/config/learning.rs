//! `[patterns]` and `[confidence]`: the figures by which failures become patterns and patterns are believed.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use crate::base::limits::SIMILARITY_MIN;

/// A figure of the settings, with the values it may have.
pub(super) enum Figure<'a> {
    /// A share or an increment.
    Share(&'a mut f64, RangeInclusive<f64>),
    /// A whole number.
    Count(&'a mut u64, RangeInclusive<u64>),
}

/// `[patterns]`: the pattern library, and from when on something is a pattern.
#[derive(Debug, Clone, PartialEq)]
pub struct PatternSettings {
    /// `dir`: the pattern library, relative to the root and inside it.
    pub dir: PathBuf,
    /// `similarity`: a new pattern is merged with one of the same tool, code and subjects whose text is more similar
    /// than this; 1 merges none.
    pub similarity: f64,
    /// `recurring_tasks`: a pattern recurs from so many distinct tasks on; three runs of one task are one mistake.
    pub recurring_tasks: u64,
    /// `files_coverage`: a file pattern has to hold in this share of a pattern's tasks.
    pub files_coverage: f64,
    /// `files_lift`: … and be so many times as frequent there as among all files that were touched.
    pub files_lift: f64,
    /// `category_share`: a category dominates from this share of the failures on.
    pub category_share: f64,
    /// `category_failures`: … when there are so many.
    pub category_failures: u64,
    /// `breaks_bound`: changing a file always breaks something when the lower bound of the share of tasks that failed
    /// is this high.
    pub breaks_bound: f64,
    /// `breaks_tasks`: … and so many tasks changed it.
    pub breaks_tasks: u64,
    /// `together_similarity`: patterns fail together when so much of the runs in which either was seen had both
    /// (Jaccard).
    pub together_similarity: f64,
    /// `together_runs`: … and so many runs had both.
    pub together_runs: u64,
    /// `collapse_patterns`: a family with so many patterns, each seen in one task only, is listed as one.
    pub collapse_patterns: u64,
}

impl Default for PatternSettings {
    fn default() -> Self {
        PatternSettings {
            dir: PathBuf::from(".agent/patterns"),
            similarity: SIMILARITY_MIN,
            recurring_tasks: 3,
            files_coverage: 0.8,
            files_lift: 2.0,
            category_share: 0.6,
            category_failures: 5,
            breaks_bound: 0.6,
            breaks_tasks: 3,
            together_similarity: 0.7,
            together_runs: 3,
            collapse_patterns: 8,
        }
    }
}

impl PatternSettings {
    /// The figure called `key`.
    pub(super) fn figure(&mut self, key: &str) -> Option<Figure<'_>> {
        const COUNTS: RangeInclusive<u64> = 1..=1_000_000;
        Some(match key {
            "similarity" => Figure::Share(&mut self.similarity, 0.5..=1.0),
            "recurring_tasks" => Figure::Count(&mut self.recurring_tasks, COUNTS),
            "files_coverage" => Figure::Share(&mut self.files_coverage, 0.0..=1.0),
            "files_lift" => Figure::Share(&mut self.files_lift, 1.0..=1_000_000.0),
            "category_share" => Figure::Share(&mut self.category_share, 0.0..=1.0),
            "category_failures" => Figure::Count(&mut self.category_failures, COUNTS),
            "breaks_bound" => Figure::Share(&mut self.breaks_bound, 0.0..=1.0),
            "breaks_tasks" => Figure::Count(&mut self.breaks_tasks, COUNTS),
            "together_similarity" => Figure::Share(&mut self.together_similarity, 0.0..=1.0),
            "together_runs" => Figure::Count(&mut self.together_runs, COUNTS),
            "collapse_patterns" => Figure::Count(&mut self.collapse_patterns, COUNTS),
            _ => return None,
        })
    }
}

/// `[confidence]`: where the ledger starts, what is added for what, and how far it goes.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfidenceSettings {
    /// `start`: of a pattern, and of knowledge before anything is known for it.
    pub start: f64,
    /// `min`: it never gets lower.
    pub min: f64,
    /// `max`: it never gets higher.
    pub max: f64,
    /// `further_task`: added to a pattern for every further distinct task.
    pub further_task: f64,
    /// `prevented`: added to a pattern for every warned task that did without it.
    pub prevented: f64,
    /// `failed_despite`: taken away for every warned task that made it all the same.
    pub failed_despite: f64,
    /// `from_check`: added to knowledge that comes from a recorded check.
    pub from_check: f64,
    /// `fix_applied`: added to knowledge whose fix was seen to work.
    pub fix_applied: f64,
    /// `reuse`: added when it was used again, once a session.
    pub reuse: f64,
    /// `other_agent`: added when another agent found it to work, once an agent.
    pub other_agent: f64,
    /// `did_not_help`: taken away when it was used and did not help, once a session.
    pub did_not_help: f64,
    /// `unused_month`: taken away for every month without use …
    pub unused_month: f64,
    /// `unused_days`: … after so many days.
    pub unused_days: u64,
    /// `prior`: how many observations the start is worth beside the evidence.
    pub prior: f64,
    /// `bound`: the quantile of the evidence that is its lower bound.
    pub bound: f64,
}

impl Default for ConfidenceSettings {
    fn default() -> Self {
        ConfidenceSettings {
            start: 0.5,
            min: 0.10,
            max: 0.95,
            further_task: 0.05,
            prevented: 0.10,
            failed_despite: 0.05,
            from_check: 0.10,
            fix_applied: 0.10,
            reuse: 0.05,
            other_agent: 0.10,
            did_not_help: 0.10,
            unused_month: 0.01,
            unused_days: 30,
            prior: 4.0,
            bound: 0.05,
        }
    }
}

impl ConfidenceSettings {
    /// The figure called `key`.
    pub(super) fn figure(&mut self, key: &str) -> Option<Figure<'_>> {
        let share = |value| Figure::Share(value, 0.0..=1.0);
        Some(match key {
            "start" => share(&mut self.start),
            "min" => share(&mut self.min),
            "max" => share(&mut self.max),
            "further_task" => share(&mut self.further_task),
            "prevented" => share(&mut self.prevented),
            "failed_despite" => share(&mut self.failed_despite),
            "from_check" => share(&mut self.from_check),
            "fix_applied" => share(&mut self.fix_applied),
            "reuse" => share(&mut self.reuse),
            "other_agent" => share(&mut self.other_agent),
            "did_not_help" => share(&mut self.did_not_help),
            "unused_month" => share(&mut self.unused_month),
            "unused_days" => Figure::Count(&mut self.unused_days, 0..=36_500),
            "prior" => Figure::Share(&mut self.prior, 0.1..=1_000.0),
            "bound" => Figure::Share(&mut self.bound, 0.001..=0.5),
            _ => return None,
        })
    }
}
