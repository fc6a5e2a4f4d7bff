//! One failure: what failed, what was changed before it, and what followed.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Board;
use super::failures::{FailureLine, reproduction};
use crate::base::clock::Timestamp;
use crate::event::AttemptOutcome;
use crate::ops::last::{self, LastRun};
use crate::ops::recent::RecentFailure;
use crate::store::StoreError;

/// Patterns of one failure.
const PATTERNS_MAX: usize = 50;
/// Steps of the way to the fix.
const STEPS_MAX: usize = 100;

/// One failure.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct FailurePage {
    /// The failure as lists have it.
    pub line: FailureLine,
    /// Its run, with what failed and what was changed.
    pub run: LastRun,
    /// Its patterns, with their other failures.
    pub patterns: Vec<PatternInFailure>,
    /// What followed, from the failure to its fix.
    pub timeline: Vec<FailureStep>,
    /// How to run it again: folder and command.
    pub reproduce: String,
    /// Whether its output is kept.
    pub has_output: bool,
}

/// A pattern of a failure.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PatternInFailure {
    /// `p-…` of the one that represents its group.
    pub id: String,
    /// Name for people.
    pub name: String,
    /// Failures that have it, proven flakes left out.
    pub failures: u64,
    /// Distinct tasks.
    pub tasks: u64,
    /// It was never seen before this failure.
    pub is_new: bool,
    /// `f-…` of the failure before this one that has it.
    pub previous: Option<String>,
    /// `f-…` of the next one.
    pub next: Option<String>,
}

/// A step from a failure to its fix.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct FailureStep {
    /// When the run ended.
    pub at: Timestamp,
    /// The run's id.
    pub run: String,
    /// `fail` or `attempt`.
    pub step: &'static str,
    /// Of an attempt, its outcome.
    pub outcome: Option<AttemptOutcome>,
    /// `x-…` of the fix that it belongs to.
    pub fix: Option<String>,
    /// Problems that are gone.
    pub fixed: u64,
    /// Problems that are new.
    pub introduced: u64,
    /// Problems that are still there.
    pub persisted: u64,
    /// Problems that the run did not reach.
    pub not_reached: u64,
}

impl Board<'_> {
    /// The failure whose id starts with `id`.
    ///
    /// # Errors
    /// When there is none or more than one, or the store can't be read.
    pub(crate) fn failure(&self, id: &str) -> Result<FailurePage, StoreError> {
        let row = self.index().find_failure(id)?;
        let run = last::run_by_id(self.request, &row.run)?.data;
        let mut timeline = vec![FailureStep {
            at: row.at,
            run: row.run.clone(),
            step: "fail",
            outcome: None,
            fix: None,
            fixed: 0,
            introduced: 0,
            persisted: row.items,
            not_reached: 0,
        }];
        if let Some(fix) = &row.fix {
            for attempt in self.index().read_attempts(self.segments(), fix)?.into_iter().take(STEPS_MAX) {
                timeline.push(FailureStep {
                    at: attempt.ended_at,
                    run: attempt.run.to_string(),
                    step: "attempt",
                    outcome: Some(attempt.outcome),
                    fix: Some(fix.clone()),
                    fixed: attempt.fixed.count as u64,
                    introduced: attempt.introduced.count as u64,
                    persisted: attempt.persisted.count as u64,
                    not_reached: attempt.not_reached.count as u64,
                });
            }
        }
        let patterns = self.patterns_of_failure(&row.failure, &run, row.started_at)?;
        Ok(FailurePage {
            reproduce: reproduction(&row.argv, &row.dir),
            has_output: self.request.places.state.raw_output(&row.run).exists(),
            line: FailureLine {
                run: row.run.clone(),
                started_at: row.started_at,
                root: row.root.display(),
                not_counted: row.uncounted.clone(),
                failure: RecentFailure::from_row(row),
            },
            run,
            patterns,
            timeline,
        })
    }

    fn patterns_of_failure(
        &self,
        failure: &str,
        run: &LastRun,
        started_at: Timestamp,
    ) -> Result<Vec<PatternInFailure>, StoreError> {
        // Of several that are counted together the one that represents them.
        let mut leaders: BTreeMap<i64, ()> = BTreeMap::new();
        let mut found = Vec::new();
        for item in &run.items {
            let Ok(number) = self.index().find_pattern_number(&item.pattern) else { continue };
            if leaders.insert(number, ()).is_some() || found.len() >= PATTERNS_MAX {
                continue;
            }
            let (summary, _) = self.desk.brief_summary(number)?;
            let [previous, next] = self.index().neighbouring_failures(number, failure)?;
            found.push(PatternInFailure {
                is_new: summary.first_seen >= started_at,
                id: summary.id,
                name: summary.name,
                failures: summary.failures,
                tasks: summary.tasks,
                previous,
                next,
            });
        }
        Ok(found)
    }
}
