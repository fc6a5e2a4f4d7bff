//! A pattern in lists and on its page.

use std::collections::BTreeSet;
use std::ops::Add;

use serde::Serialize;

use super::confidence::{self, Confidence, JudgedDelivery, PatternOccurrence};
use super::detector::DetectorFinding;
use super::group::PatternGroupSummary;
use super::knowledge::{Gotcha, Strategy};
use super::wording::{self, PatternWording, WordingFacts};
use crate::base::clock::Timestamp;
use crate::base::text;
use crate::config::Settings;
use crate::store::{LessonRow, OccurrenceRow, PatternRow};

/// A pattern in a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PatternSummary {
    /// `p-…`; any unique start of it works as an argument.
    pub id: String,
    /// The pattern key, with the fingerprint's version.
    pub key: String,
    /// The family key.
    pub family: String,
    /// The tool that reported it.
    pub tool: String,
    /// Rule, error code or exception class.
    pub code: Option<String>,
    /// Name for people.
    pub name: String,
    /// A sentence or two: what, where, how often, why and what to do, as far as that is known.
    pub summary: String,
    /// The masked message, one line.
    pub title: String,
    /// The most frequent category of its failures.
    pub category: String,
    /// Failed runs that had it, proven flakes left out.
    pub failures: u64,
    /// Failed runs in which it was a proven flake.
    pub flaky_failures: u64,
    /// Distinct tasks in which it was seen, proven flakes left out.
    pub tasks: u64,
    /// Distinct tasks in which its family was seen.
    pub family_tasks: u64,
    /// Patterns in its group: others are counted with it when there is more than one.
    pub members: u64,
    /// Muted: no advice is wanted about it.
    pub muted: bool,
    /// Deprecated: it can't happen any more, or is not a mistake.
    pub deprecated: bool,
    /// Seen in this many tasks as the setting `patterns.recurring_tasks` says, itself or its family.
    pub recurring: bool,
    /// Its confidence: the ledger's last value.
    pub confidence: f64,
    /// The lower bound of the evidence behind that.
    pub lower_bound: f64,
    /// How often it was seen recently.
    pub frequency: PatternFrequency,
    /// The file pattern that it belongs to, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files_pattern: Option<String>,
    /// When this row represents a family: how many of its patterns were seen in one task only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stands_for: Option<u64>,
    /// First failure.
    pub first_seen: Timestamp,
    /// Last failure.
    pub last_seen: Timestamp,
}

/// How often, and how recently.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PatternFrequency {
    /// Failures of the last 30 days.
    pub failures_30_days: u64,
    /// Distinct tasks of the last 30 days.
    pub tasks_30_days: u64,
    /// From 0 to 1: t / (t + 3), where t counts distinct tasks, each half as much after every 90 days.
    pub weight: f64,
}

/// A file with the number of failures in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct FileCount {
    /// Relative to the root.
    pub path: String,
    /// Failed runs.
    pub failures: u64,
}

/// A failure that had the pattern.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct FailureOccurrence {
    /// `f-…`
    pub failure: String,
    /// The run's id.
    pub run: String,
    /// When the run was started.
    pub at: Timestamp,
    /// The task of the run.
    pub task: String,
    /// Category of the failure.
    pub category: String,
    /// How many items of the pattern it had.
    pub items: u64,
    /// Where the first one was.
    pub file: Option<String>,
    /// … and in which line.
    pub line: Option<u32>,
    /// The failing test.
    pub test: Option<String>,
    /// The message, unmasked, one line.
    pub message: String,
    /// It is a proven flake there, and does not count.
    pub flaky: bool,
}

/// Everything about one pattern.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PatternPage {
    #[serde(flatten)]
    pub summary: PatternSummary,
    /// The family's masked message.
    pub family_title: String,
    #[serde(flatten)]
    pub together: PatternGroupSummary,
    /// What detectors found about it.
    pub findings: Vec<DetectorFinding>,
    /// The reasons for its confidence: every increment with its event.
    pub ledger: Confidence,
    /// The mistake with what made it go away; `null` when nothing has yet.
    pub gotcha: Option<Gotcha>,
    /// What was tried against it, the most reliable first.
    pub strategies: Vec<Strategy>,
    /// Files, the most frequent first.
    pub files: Vec<FileCount>,
    /// Names of the lesson files about it; forgotten ones are left out.
    pub lessons: Vec<String>,
    /// Failures, newest first.
    pub occurrences: Vec<FailureOccurrence>,
}

/// Parts of a summary.
#[derive(Debug, Default)]
pub(crate) struct SummaryParts {
    /// What detectors found.
    pub findings: Vec<DetectorFinding>,
    /// The first sighting in each task.
    pub sightings: Vec<PatternOccurrence>,
    /// The outcome of warnings about it.
    pub told: Vec<JudgedDelivery>,
    /// Failures and distinct tasks of the last 30 days.
    pub lately: (u64, u64),
    /// A message as it was printed.
    pub example: Option<String>,
    /// The test, when it was always the same.
    pub test: Option<String>,
    /// Why it happens, as recorded.
    pub cause: Option<String>,
    /// What to do about it, as recorded.
    pub rule: Option<String>,
}

/// The words for a pattern.
#[derive(Debug)]
pub(crate) struct PatternWords {
    /// Its name for people.
    pub name: String,
    /// The masked message, one line.
    pub title: String,
    /// What happens, a sentence or two.
    pub sentence: String,
    /// The file pattern that it belongs to.
    pub files_pattern: Option<String>,
}

impl PatternWords {
    /// From the store's row and what was found about it.
    pub(crate) fn new(row: &PatternRow, parts: &SummaryParts, settings: &Settings) -> Self {
        let files =
            parts.findings.iter().filter(|finding| finding.detector == "files").find_map(|found| found.files.clone());
        let known = WordingFacts {
            tool: &row.tool,
            code: row.code.as_deref(),
            category: &row.category,
            meaning: settings.categories.meaning(&row.category),
            masked: &row.masked,
            masked_family: &row.masked_family,
            example: parts.example.as_deref(),
            test: parts.test.as_deref(),
            files: files.as_deref(),
            cause: parts.cause.as_deref(),
            rule: parts.rule.as_deref(),
            failures: row.failures,
            tasks: row.tasks,
            flaky: row.flaky,
        };
        let wording = PatternWording::new(&known, &parts.findings);
        PatternWords {
            name: wording.name(),
            sentence: wording.sentence(),
            title: wording::message_title(&row.masked),
            files_pattern: files,
        }
    }
}

impl PatternSummary {
    /// From the store's row and what was found about it. `now` weighs how old its tasks are.
    pub(crate) fn from_row(
        row: PatternRow,
        parts: &SummaryParts,
        settings: &Settings,
        now: Timestamp,
    ) -> (Self, Confidence) {
        let confidence = confidence::pattern_confidence(&parts.sightings, &parts.told, &settings.confidence);
        let PatternWords { name, title, sentence, files_pattern } = PatternWords::new(&row, parts, settings);
        let summary = PatternSummary {
            name,
            summary: sentence,
            recurring: row.tasks.max(row.family_tasks) >= settings.patterns.recurring_tasks,
            confidence: confidence.value,
            lower_bound: confidence.evidence.lower_bound,
            frequency: PatternFrequency::from_occurrences(&parts.sightings, parts.lately, now),
            files_pattern,
            stands_for: None,
            id: row.id,
            key: row.key,
            family: row.family,
            tool: row.tool,
            code: row.code,
            title,
            category: row.category,
            failures: row.failures,
            flaky_failures: row.flaky,
            tasks: row.tasks,
            family_tasks: row.family_tasks,
            members: row.members,
            muted: row.muted,
            deprecated: row.deprecated,
            first_seen: row.first_seen,
            last_seen: row.last_seen,
        };
        (summary, confidence)
    }

    /// Lets the row stand for the `single` patterns of its family that were each seen in one task only.
    pub(crate) fn stand_for_family(&mut self, family: &str, single: u64) {
        let known =
            WordingFacts { tool: &self.tool, code: self.code.as_deref(), masked: family, ..WordingFacts::default() };
        self.name = wording::pattern_name(&known, &[]);
        self.title = text::one_line(family);
        self.summary = wording::family_sentence(&self.name, single, self.family_tasks);
        self.stands_for = Some(single);
    }
}

impl PatternFrequency {
    fn from_occurrences(sightings: &[PatternOccurrence], lately: (u64, u64), now: Timestamp) -> Self {
        let half_life = 90.0 * 24.0 * 3600.0 * 1e6;
        let ages = sightings.iter().map(|seen| now.micros_since(seen.at) as f64);
        // The sum of nothing would be -0.
        let tasks = ages.map(|age| (-age / half_life).exp2()).fold(0.0, Add::add);
        PatternFrequency { failures_30_days: lately.0, tasks_30_days: lately.1, weight: tasks / (tasks + 3.0) }
    }
}

impl PatternPage {
    /// From the store's rows, without what helps.
    pub(crate) fn from_parts(
        (summary, ledger): (PatternSummary, Confidence),
        family: &str,
        together: PatternGroupSummary,
        findings: Vec<DetectorFinding>,
        files: Vec<(String, u64)>,
        lessons: Vec<LessonRow>,
        occurrences: Vec<OccurrenceRow>,
    ) -> Self {
        let mut seen = BTreeSet::new();
        let lessons = lessons.into_iter().filter(|lesson| !lesson.forgotten).map(|lesson| lesson.file);
        PatternPage {
            family_title: wording::message_title(family),
            summary,
            together,
            findings,
            ledger,
            gotcha: None,
            strategies: Vec::new(),
            files: files.into_iter().map(|(path, failures)| FileCount { path, failures }).collect(),
            lessons: lessons.filter(|file| seen.insert(file.clone())).collect(),
            occurrences: occurrences.into_iter().map(FailureOccurrence::from_row).collect(),
        }
    }
}

impl FailureOccurrence {
    /// From the store's row.
    pub(crate) fn from_row(row: OccurrenceRow) -> Self {
        FailureOccurrence {
            failure: row.failure,
            run: row.run,
            at: row.at,
            task: row.task,
            category: row.category,
            items: row.items,
            file: row.file,
            line: row.line,
            test: row.test,
            message: row.message,
            flaky: row.flaky,
        }
    }
}

/// A row for tests.
#[cfg(test)]
pub(super) fn sample(tasks: u64, family_tasks: u64) -> PatternRow {
    PatternRow {
        number: 1,
        id: "p-1".into(),
        key: "k".into(),
        family: "f".into(),
        tool: "tsc".into(),
        code: None,
        masked: "Cannot find\nmodule 'x'".into(),
        masked_family: "Cannot find module <*>".into(),
        first_seen: Timestamp(1),
        last_seen: Timestamp(2),
        failures: 9,
        flaky: 0,
        tasks,
        family_tasks,
        category: "type_error".into(),
        members: 1,
        muted: false,
        deprecated: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_tasks_make_it_recurring_at_either_level() {
        let of = |row| PatternSummary::from_row(row, &SummaryParts::default(), &Settings::default(), Timestamp(9)).0;
        assert!(!of(sample(2, 2)).recurring);
        assert!(of(sample(3, 3)).recurring);
        assert!(of(sample(1, 3)).recurring);
        assert_eq!(of(sample(1, 1)).title, "Cannot find module 'x'");
        assert_eq!(of(PatternRow { masked: String::new(), ..sample(1, 1) }).title, "(no message)");
    }

    #[test]
    fn old_tasks_weigh_less() {
        let day = 24 * 3600 * 1_000_000;
        let seen = |at| PatternOccurrence { run: "r".into(), at: Timestamp(at), task: "t".into() };
        let weight =
            |seen: &[PatternOccurrence]| PatternFrequency::from_occurrences(seen, (0, 0), Timestamp(200 * day)).weight;
        assert!((weight(&[seen(200 * day)]) - 0.25).abs() < 1e-9);
        assert!((weight(&[seen(110 * day)]) - 0.5 / 3.5).abs() < 1e-9);
        assert_eq!(weight(&[]), 0.0);
    }
}
