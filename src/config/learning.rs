//! `[patterns]` and `[confidence]`: thresholds of patterns, and the confidence in them.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use crate::base::limits::SIMILARITY_MIN;

/// A figure of the settings, with the values it may have.
pub(super) enum NumericSetting<'a> {
    /// A share or an increment.
    Share(&'a mut f64, RangeInclusive<f64>),
    /// A whole number.
    Count(&'a mut u64, RangeInclusive<u64>),
}

/// `[patterns]`: thresholds of patterns and detectors.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(test, derive(serde::Serialize))]
pub struct PatternSettings {
    /// `dir`: the pattern library, relative to the root and inside it.
    pub dir: PathBuf,
    /// `similarity`: a new pattern with a more similar message is merged with the existing one of the same tool,
    /// code and subjects; 1 merges none.
    pub similarity: f64,
    /// `recurring_tasks`: number of distinct tasks from which a pattern is recurring.
    pub recurring_tasks: u64,
    /// `files_coverage`: share of a pattern's tasks in which a file pattern must hold.
    pub files_coverage: f64,
    /// `files_lift`: how many times more frequent the file pattern must be there than among all touched files.
    pub files_lift: f64,
    /// `category_share`: share of the failures from which a category dominates.
    pub category_share: f64,
    /// `category_failures`: minimum number of failures for a dominant category.
    pub category_failures: u64,
    /// `breaks_bound`: lower bound of the share of failing tasks from which changing a file counts as breaking
    /// something.
    pub breaks_bound: f64,
    /// `breaks_tasks`: minimum number of tasks that changed the file.
    pub breaks_tasks: u64,
    /// `together_similarity`: Jaccard similarity of their runs from which two patterns fail together.
    pub together_similarity: f64,
    /// `together_runs`: minimum number of runs with both patterns.
    pub together_runs: u64,
    /// `collapse_patterns`: a family with this many patterns, each seen in a single task, is listed as one.
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
    pub(super) fn figure(&mut self, key: &str) -> Option<NumericSetting<'_>> {
        const COUNTS: RangeInclusive<u64> = 1..=1_000_000;
        Some(match key {
            "similarity" => NumericSetting::Share(&mut self.similarity, 0.5..=1.0),
            "recurring_tasks" => NumericSetting::Count(&mut self.recurring_tasks, COUNTS),
            "files_coverage" => NumericSetting::Share(&mut self.files_coverage, 0.0..=1.0),
            "files_lift" => NumericSetting::Share(&mut self.files_lift, 1.0..=1_000_000.0),
            "category_share" => NumericSetting::Share(&mut self.category_share, 0.0..=1.0),
            "category_failures" => NumericSetting::Count(&mut self.category_failures, COUNTS),
            "breaks_bound" => NumericSetting::Share(&mut self.breaks_bound, 0.0..=1.0),
            "breaks_tasks" => NumericSetting::Count(&mut self.breaks_tasks, COUNTS),
            "together_similarity" => NumericSetting::Share(&mut self.together_similarity, 0.0..=1.0),
            "together_runs" => NumericSetting::Count(&mut self.together_runs, COUNTS),
            "collapse_patterns" => NumericSetting::Count(&mut self.collapse_patterns, COUNTS),
            _ => return None,
        })
    }
}

/// `[confidence]`: initial confidence, its limits, and what changes it.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(test, derive(serde::Serialize))]
pub struct ConfidenceSettings {
    /// `start`: initial confidence of a pattern, and of an entry without evidence.
    pub start: f64,
    /// `min`: lower limit of a confidence.
    pub min: f64,
    /// `max`: upper limit of a confidence.
    pub max: f64,
    /// `further_task`: added to a pattern for each further distinct task.
    pub further_task: f64,
    /// `prevented`: added to a pattern for each warned task that avoided it.
    pub prevented: f64,
    /// `failed_despite`: subtracted for each warned task that failed with it anyway.
    pub failed_despite: f64,
    /// `from_check`: added to an entry that comes from a recorded check.
    pub from_check: f64,
    /// `fix_applied`: added to an entry whose fix worked.
    pub fix_applied: f64,
    /// `reuse`: added when an entry was used again, once a session.
    pub reuse: f64,
    /// `other_agent`: added when another agent confirmed an entry, once an agent.
    pub other_agent: f64,
    /// `did_not_help`: subtracted when an entry was used and did not help, once a session.
    pub did_not_help: f64,
    /// `unused_month`: subtracted for each month without use.
    pub unused_month: f64,
    /// `unused_days`: days without use after which confidence begins to fade.
    pub unused_days: u64,
    /// `prior`: weight of the initial confidence, in observations.
    pub prior: f64,
    /// `bound`: quantile of the evidence that is used as its lower bound.
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
    pub(super) fn figure(&mut self, key: &str) -> Option<NumericSetting<'_>> {
        let share = |value| NumericSetting::Share(value, 0.0..=1.0);
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
            "unused_days" => NumericSetting::Count(&mut self.unused_days, 0..=36_500),
            "prior" => NumericSetting::Share(&mut self.prior, 0.1..=1_000.0),
            "bound" => NumericSetting::Share(&mut self.bound, 0.001..=0.5),
            _ => return None,
        })
    }
}
