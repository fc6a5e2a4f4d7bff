//! One pattern: how often, where and by whom, what was said of it, and what followed.

use serde::Serialize;

use super::cursor::{cut_page, read_mark, standing_mark};
use super::severity::PatternSeverity;
use super::{Board, PAGE_ROWS_MAX};
use crate::advice::outcome::{DeliveryOutcome, ObservedDelivery, holdout_trial};
use crate::advice::promotion::{compute_effectiveness, count_outcomes};
use crate::advice::ranking::recent_frequency;
use crate::advice::{HoldoutTrial, TrialVerdict};
use crate::base::clock::{Timestamp, UtcDay};
use crate::event::DeliveryArm;
use crate::ops::explain::{self, NearPattern};
use crate::pattern::confidence::JudgedDelivery;
use crate::pattern::statistics::round_to_thousandth;
use crate::pattern::{FailureOccurrence, PatternPage};
use crate::retrieval::pattern_reader::PatternEvidence;
use crate::store::{DayRange, DeliveryOutcomeRow, StoreError};

/// Weeks of the bars.
const WEEKS_MAX: i64 = 26;
/// Folders and agents that are named.
const PLACES_MAX: usize = 10;
/// Warnings that are listed, the newest.
const WARNINGS_MAX: usize = 100;
/// Rows of a page of failures at most.
const OCCURRENCES_MAX: usize = 200;
/// How similar a message is that is shown as similar.
const SIMILARITY_MIN: f64 = 0.5;
const LIST: &str = "occurrences";

/// One pattern.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PatternDetail {
    /// What `pattern show --json` prints.
    #[serde(flatten)]
    pub page: PatternPage,
    /// `open`, `muted`, `deprecated` or `promoted`.
    pub state: String,
    /// How urgent it is; `null` when it is not open.
    pub severity: Option<PatternSeverity>,
    /// Fixes that made it go away …
    pub fixed: u64,
    /// … of those in which it was tried.
    pub fixes_tried: u64,
    /// Failures and tasks of the last weeks, the oldest first; weeks without any are left out.
    pub weeks: Vec<PatternWeek>,
    /// Folders in which it failed, the most frequent first.
    pub folders: Vec<PatternPlace>,
    /// Agents whose runs had it, the most frequent first.
    pub agents: Vec<PatternAgent>,
    /// What was said of it, and what followed.
    pub warned: WarnedOutcomes,
    /// Patterns that read alike and are not counted with it.
    pub similar: Vec<NearPattern>,
}

/// Failures of a week.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PatternWeek {
    /// Its first day.
    pub from: UtcDay,
    /// Failures, proven flakes left out.
    pub failures: u64,
    /// Distinct tasks.
    pub tasks: u64,
}

/// A folder in which a pattern failed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PatternPlace {
    /// The folder; empty for the root.
    pub folder: String,
    /// Failures in it.
    pub failures: u64,
    /// Its part of all failures in files, 0 to 1.
    pub share: f64,
}

/// Failures of an agent.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PatternAgent {
    /// Its name; empty where it isn't known.
    pub agent: String,
    /// Failures of its runs.
    pub failures: u64,
}

/// What was said of a pattern, and what followed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct WarnedOutcomes {
    /// Warned tasks without the mistake.
    pub prevented: u64,
    /// Warned tasks that made it.
    pub failed_anyway: u64,
    /// Prevented ones of both; 0.5 without any. Observed, with no control group.
    pub effectiveness: f64,
    /// Tasks of both arms.
    #[serde(flatten)]
    pub trial: HoldoutTrial,
    /// The evidence against "advice does nothing"; 20 is enough.
    pub e_value: f64,
    /// What the trial says.
    pub verdict: TrialVerdict,
    /// The newest warnings that were shown. What is held out for open tasks is not named.
    pub newest: Vec<WarnedTask>,
}

/// A warning and what followed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct WarnedTask {
    /// `w-…`
    pub warning: String,
    /// The task.
    pub task: String,
    /// When it was due.
    pub at: Timestamp,
    /// `shown` or `holdout`.
    pub arm: &'static str,
    /// What followed.
    pub outcome: DeliveryOutcome,
    /// The run that says so.
    pub run: Option<String>,
}

/// A page of failures that have a pattern.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct OccurrenceLines {
    /// `p-…`
    pub pattern: String,
    /// Newest first.
    pub occurrences: Vec<FailureOccurrence>,
    /// What the next page is asked for with; `null` at the end.
    pub next: Option<String>,
}

impl Board<'_> {
    /// The pattern whose id starts with `id`.
    ///
    /// # Errors
    /// When there is none or more than one, or the store can't be read.
    pub(crate) fn pattern(&self, id: &str) -> Result<PatternDetail, StoreError> {
        let mut row = self.index().brief_pattern_row(self.index().find_pattern_number(id)?)?;
        row.family_tasks = self.desk.family_of(&row)?.tasks;
        let (number, id) = (row.number, row.id.clone());
        let (page, PatternEvidence { sightings, told, deliveries, files }) = self.desk.pattern_page(row)?;
        let state = self.index().silenced_patterns()?.remove(&number);
        let ages = sightings.iter().map(|seen| self.now().micros_since(seen.at));
        let frequency = recent_frequency(ages, &self.settings().advice);
        let severity = PatternSeverity::of_frequency(frequency, &self.settings().dashboard.severity);
        let fixes = self.index().count_pattern_fixes(number)?;
        let today = UtcDay::of(self.now());
        let weeks = DayRange { from: UtcDay(today.0 + 1 - 7 * WEEKS_MAX), until: UtcDay(today.0 + 1) };
        let weeks = self.index().pattern_days(number, weeks, 7)?.into_iter();
        // Where the message is not recorded any more, nothing is known to be like it.
        let similar = explain::explain_recorded(self.index(), self.segments(), &id, SIMILARITY_MIN);
        let agents = self.index().pattern_agents(number, PLACES_MAX)?.into_iter();
        Ok(PatternDetail {
            severity: state.is_none().then_some(severity),
            state: state.unwrap_or_else(|| "open".to_owned()),
            fixed: fixes.fixed,
            fixes_tried: fixes.tried,
            weeks: weeks.map(|row| PatternWeek { from: row.day, failures: row.failures, tasks: row.tasks }).collect(),
            folders: folders_of(&files),
            agents: agents.map(|(agent, failures)| PatternAgent { agent, failures }).collect(),
            warned: self.warned_outcomes(&told, &deliveries),
            similar: similar.map(|explained| explained.near).unwrap_or_default(),
            page,
        })
    }

    fn warned_outcomes(&self, told: &[JudgedDelivery], rows: &[DeliveryOutcomeRow]) -> WarnedOutcomes {
        let silence = self.settings().fix.silence();
        let seen: Vec<ObservedDelivery> =
            rows.iter().map(|row| ObservedDelivery::from_row(row, self.now(), silence)).collect();
        let (prevented, failed_anyway) = count_outcomes(told);
        let trial = holdout_trial(&seen);
        // Looking at what is held out for a task that goes on would spoil the comparison.
        let is_shown = |seen: &ObservedDelivery| seen.arm == DeliveryArm::Shown || seen.over;
        let newest = rows.iter().zip(&seen).rev().filter(|(_, seen)| is_shown(seen)).take(WARNINGS_MAX);
        let newest = newest.map(|(row, seen)| WarnedTask {
            warning: row.warning.clone(),
            task: row.task.clone(),
            at: row.at,
            arm: row.arm.as_str(),
            outcome: seen.outcome(),
            run: row.failed_in.clone().or_else(|| row.passed_in.clone()),
        });
        WarnedOutcomes {
            prevented,
            failed_anyway,
            effectiveness: compute_effectiveness(prevented, failed_anyway),
            e_value: trial.e_value(),
            verdict: trial.verdict(),
            newest: newest.collect(),
            trial,
        }
    }

    /// A page of the failures that have a pattern, at most `limit` and at most 200, flakes too, that follows the one that
    /// gave the cursor `after`.
    ///
    /// # Errors
    /// When the id or the cursor is none, or the store can't be read.
    pub(crate) fn occurrences(&self, id: &str, after: Option<&str>, limit: usize) -> anyhow::Result<OccurrenceLines> {
        let row = self.index().brief_pattern_row(self.index().find_pattern_number(id)?)?;
        let limit = limit.clamp(1, OCCURRENCES_MAX.min(PAGE_ROWS_MAX));
        let after = read_mark(LIST, after)?;
        let mut rows = self.index().pattern_failures(row.number, after.as_ref(), limit + 1)?;
        let next = cut_page(&mut rows, limit, |row| standing_mark(LIST, (row.at, &row.run)));
        let occurrences = rows.into_iter().map(FailureOccurrence::from_row).collect();
        Ok(OccurrenceLines { pattern: row.id, occurrences, next })
    }
}

/// The folders of files with their failures, the most frequent first.
fn folders_of(files: &[(String, u64)]) -> Vec<PatternPlace> {
    let all: u64 = files.iter().map(|(_, failures)| failures).sum();
    let mut folders: std::collections::BTreeMap<&str, u64> = std::collections::BTreeMap::new();
    for (file, failures) in files {
        *folders.entry(file.rsplit_once('/').map_or("", |(folder, _)| folder)).or_default() += failures;
    }
    let mut places: Vec<PatternPlace> = folders
        .into_iter()
        .map(|(folder, failures)| PatternPlace {
            folder: folder.to_owned(),
            failures,
            share: round_to_thousandth(failures as f64 / all.max(1) as f64),
        })
        .collect();
    places.sort_by(|a, b| b.failures.cmp(&a.failures).then_with(|| a.folder.cmp(&b.folder)));
    places.truncate(PLACES_MAX);
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_counted_with_all_their_files() {
        let files = [("src/a.py", 3), ("src/b.py", 2), ("setup.py", 5), ("src/db/c.py", 1)];
        let files: Vec<(String, u64)> = files.map(|(file, failures)| (file.to_owned(), failures)).into();
        let places = folders_of(&files);
        let read: Vec<_> = places.iter().map(|place| (place.folder.as_str(), place.failures)).collect();
        assert_eq!(read, [("", 5), ("src", 5), ("src/db", 1)]);
        assert_eq!(places[0].share, 0.455);
        assert!(folders_of(&[]).is_empty());
    }
}
