//! Detectors: what each looks for in the history, and the registry of those in force.
//!
//! One is added by a type that implements [`Detector`], or without code by a `[[detector]]` table (`declared.rs`).

mod breaks;
mod category;
mod declared;
mod files;
mod recurrence;
mod together;

use std::collections::BTreeMap;
use std::fmt::Debug;

use foldhash::HashSet;
use serde::Serialize;

use crate::config::{CategoryTable, Settings};
use crate::diagnose::{DefinitionFault, DefinitionFile};
use crate::pattern::history::{HistoryFailure, HistoryPattern, HistoryTask, TaskHistory};

/// What a detector looks at when it looks at one pattern.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DetectorSubject<'a> {
    /// `p-…`
    pub id: &'a str,
    /// The row numbers that are this pattern: more than one when others were merged into it.
    pub patterns: &'a [i64],
    /// The row numbers of its family, its own included.
    pub family: &'a [i64],
    /// What is known of `patterns`, and of those that fail together with them where these may be named.
    pub known: &'a BTreeMap<i64, HistoryPattern>,
}

/// What a detector found. The figures are about the window of the history, which is the newest part.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct DetectorFinding {
    /// The detector's name.
    pub detector: String,
    /// A few words.
    pub title: String,
    /// One sentence with its figures.
    pub summary: String,
    /// The file pattern that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<String>,
    /// The category that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// The patterns that it is about, `p-…`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub patterns: Vec<String>,
    /// In how many cases it held …
    pub hits: u64,
    /// … of how many.
    pub of: u64,
    /// The lower bound of the share behind that, where it decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lower_bound: Option<f64>,
    /// How many times as frequent as elsewhere, where it decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lift: Option<f64>,
    /// What to do about it, where the detector knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Whether it is about what follows when `files` are changed.
    #[serde(skip)]
    pub is_about_changes: bool,
    /// Whether its title names the pattern better than the pattern's own message.
    #[serde(skip)]
    pub names_pattern: bool,
}

/// Looks for one thing.
pub(crate) trait Detector: Debug + Send + Sync {
    /// Its name in findings: letters, digits and dashes.
    fn name(&self) -> &str;

    /// What it finds about one pattern.
    fn examine_pattern(
        &self,
        subject: &DetectorSubject<'_>,
        history: &TaskHistory,
        settings: &Settings,
    ) -> Option<DetectorFinding> {
        let _ = (subject, history, settings);
        None
    }

    /// Whether what it finds about a pattern is part of the pattern's name or sentence.
    fn is_naming(&self) -> bool {
        false
    }

    /// Whether what it finds about a pattern has a rule, or a title that says why.
    fn is_advising(&self) -> bool {
        false
    }

    /// What it says to do about such a pattern, whatever the history: from its message and the file it is in.
    fn find_rule(&self, pattern: &HistoryPattern, file: Option<&str>) -> Option<&str> {
        let _ = (pattern, file);
        None
    }

    /// Whether what it finds about the whole history is about what follows when files are changed.
    fn is_about_changes(&self) -> bool {
        false
    }

    /// What it finds about the whole history, the most telling first.
    fn examine_history(&self, history: &TaskHistory, settings: &Settings) -> Vec<DetectorFinding> {
        let _ = (history, settings);
        Vec::new()
    }
}

/// The detectors in force.
#[derive(Debug)]
pub(crate) struct DetectorRegistry {
    detectors: Vec<Box<dyn Detector>>,
}

/// Findings that one detector may have about the whole history.
const OVERALL_MAX: usize = 20;

impl DetectorRegistry {
    /// The shipped ones and those of `files`, which come strongest layer first and may name `categories`. What can't be
    /// used is a fault, and all others hold.
    pub(crate) fn new(files: &[DefinitionFile], categories: &CategoryTable) -> (Self, Vec<DefinitionFault>) {
        let (declared, faults) = declared::load_layered(files, categories);
        let mut detectors: Vec<Box<dyn Detector>> = vec![
            Box::new(recurrence::RecurrenceDetector),
            Box::new(files::FilesDetector),
            Box::new(breaks::AlwaysBreaksDetector),
            Box::new(category::DominatingCategoryDetector),
            Box::new(together::FailsTogetherDetector),
        ];
        detectors.extend(declared.into_iter().map(|detector| Box::new(detector) as Box<dyn Detector>));
        (DetectorRegistry { detectors }, faults)
    }

    /// The names of the detectors in force.
    #[cfg(test)]
    pub(crate) fn detector_names(&self) -> impl Iterator<Item = &str> {
        self.detectors.iter().map(|detector| detector.name())
    }

    /// What they find about one pattern.
    pub(crate) fn examine_pattern(
        &self,
        subject: &DetectorSubject<'_>,
        history: &TaskHistory,
        settings: &Settings,
    ) -> Vec<DetectorFinding> {
        self.detectors.iter().filter_map(|detector| detector.examine_pattern(subject, history, settings)).collect()
    }

    /// Of that, what a list says: names and files.
    pub(crate) fn find_naming(
        &self,
        subject: &DetectorSubject<'_>,
        history: &TaskHistory,
        settings: &Settings,
    ) -> Vec<DetectorFinding> {
        let naming = self.detectors.iter().filter(|detector| detector.is_naming());
        naming.filter_map(|detector| detector.examine_pattern(subject, history, settings)).collect()
    }

    /// Of that, what says why a pattern fails or what to do about it.
    pub(crate) fn find_advice(
        &self,
        subject: &DetectorSubject<'_>,
        history: &TaskHistory,
        settings: &Settings,
    ) -> Vec<DetectorFinding> {
        let advising = self.detectors.iter().filter(|detector| detector.is_advising());
        advising.filter_map(|detector| detector.examine_pattern(subject, history, settings)).collect()
    }

    /// What the first of them that knows says to do about such a pattern.
    pub(crate) fn find_rule(&self, pattern: &HistoryPattern, file: Option<&str>) -> Option<&str> {
        self.detectors.iter().find_map(|detector| detector.find_rule(pattern, file))
    }

    /// What they find about the whole history.
    pub(crate) fn examine_history(&self, history: &TaskHistory, settings: &Settings) -> Vec<DetectorFinding> {
        let found = self.detectors.iter().map(|detector| detector.examine_history(history, settings));
        found.flat_map(|findings| findings.into_iter().take(OVERALL_MAX)).collect()
    }

    /// Of that, what follows when files are changed.
    pub(crate) fn examine_changes(&self, history: &TaskHistory, settings: &Settings) -> Vec<DetectorFinding> {
        let about_changes = self.detectors.iter().filter(|detector| detector.is_about_changes());
        let found = about_changes.map(|detector| detector.examine_history(history, settings));
        found.flat_map(|findings| findings.into_iter().take(OVERALL_MAX)).collect()
    }
}

/// The tasks in which one of the patterns failed, each with those failures.
fn failing_tasks<'a>(history: &'a TaskHistory, patterns: &[i64]) -> Vec<(&'a HistoryTask, Vec<&'a HistoryFailure>)> {
    // A family has thousands of patterns.
    let wanted: HashSet<i64> = patterns.iter().copied().collect();
    let has = |failure: &&HistoryFailure| failure.items.iter().any(|seen| wanted.contains(&seen.pattern));
    history.tasks_with(patterns).map(|task| (task, task.failures.iter().filter(has).collect())).collect()
}

/// `70 %`
fn format_percent(hits: u64, of: u64) -> String {
    format!("{} %", (100 * hits + of / 2).checked_div(of).unwrap_or(0))
}

#[cfg(test)]
mod tests;
