//! The overview: are tasks failing less, on what, and does advice help?

use std::collections::BTreeMap;

use serde::Serialize;

use super::figures::{BoardFigure, FIGURES, FigureCases};
use super::filter::{AppliedFilter, BoardFilter, BoardPeriod};
use super::patterns::PatternLine;
use super::{Board, effect};
use crate::base::clock::{Timestamp, UtcDay};
use crate::store::{SolvedFailureRow, StoreError, UncountedRow};

/// Patterns of the overview.
const PATTERNS_MAX: usize = 10;
/// Marks of a line.
const MARKS_MAX: usize = 50;
/// Decisions that are looked at for marks.
const DECISIONS_MAX: usize = 500;

/// What `stats --json` prints as `overview`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Overview {
    /// The days that it is about.
    pub period: BoardPeriod,
    /// The days that it is compared with.
    pub previous: BoardPeriod,
    /// What it is restricted to.
    pub filter: AppliedFilter,
    /// The figures.
    pub figures: Vec<BoardFigure>,
    /// Failures by category, the most frequent first.
    pub categories: Vec<CategoryShare>,
    /// Tasks that fail, over the days.
    pub trend: TaskTrend,
    /// The patterns that failed most often in these days, at most ten.
    pub patterns: Vec<PatternLine>,
    /// What no figure above counts.
    pub not_counted: NotCounted,
    /// Decisions in these days that may show in the lines, the oldest first.
    pub marks: Vec<TrendMark>,
}

/// Failures of one category.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CategoryShare {
    /// Its name.
    pub category: String,
    /// Failures of the period.
    pub failures: u64,
    /// Its part of all failures of the period, 0 to 1.
    pub share: f64,
    /// Distinct tasks with such a failure.
    pub tasks: u64,
    /// Failures of the period before.
    pub previous_failures: u64,
    /// Distinct tasks of the period before.
    pub previous_tasks: u64,
    /// Failures in each part of the period, as `trend.step_days` divides it.
    pub trend: Vec<u64>,
}

/// Tasks that fail, over time.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct TaskTrend {
    /// Days of one point.
    pub step_days: i64,
    /// Points with a run, the oldest first; what has none is left out.
    pub points: Vec<TrendPoint>,
    /// Those of the period before.
    pub previous: Vec<TrendPoint>,
}

/// What ran in some days.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct TrendPoint {
    /// The first of the days.
    pub day: UtcDay,
    /// Distinct tasks with a run that counts.
    pub tasks: u64,
    /// Distinct tasks with a failure that counts.
    pub tasks_failed: u64,
    /// Runs that count.
    pub runs: u64,
    /// Failures that count.
    pub failures: u64,
}

/// What no rate counts.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct NotCounted {
    /// Failed runs whose result does not depend on the code: cancelled, mistyped, watching.
    pub cancelled: u64,
    /// Failed runs in which everything is a proven flake.
    pub flaky_failures: u64,
    /// Distinct patterns that are a proven flake somewhere.
    pub flaky_patterns: u64,
    /// Passes that were reached by weakening the check.
    pub weakened: u64,
}

/// A decision that may show in a line.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct TrendMark {
    /// When it was made.
    pub day: UtcDay,
    /// What was done: `approved`, `rolled_back`, `merged`, `muted`, …
    pub action: String,
    /// What it is about.
    pub about: String,
}

impl Board<'_> {
    /// The figures of a filter, and what is behind them.
    ///
    /// # Errors
    /// When the store can't be read.
    pub(crate) fn overview(&self, filter: &BoardFilter) -> Result<Overview, StoreError> {
        let period = self.period(filter);
        let previous = period.previous();
        let whom = &filter.whom;
        let points = |period: &BoardPeriod| self.trend_points(period, filter);
        Ok(Overview {
            figures: self.figures(filter, &period)?,
            categories: self.category_shares(filter, &period)?,
            trend: TaskTrend { step_days: period.step(), points: points(&period)?, previous: points(&previous)? },
            patterns: self.most_frequent_patterns(filter, &period, PATTERNS_MAX)?,
            not_counted: NotCounted::from_row(self.index().count_uncounted(period.range(), whom)?),
            marks: self.marks_of(&period)?,
            filter: filter.applied(),
            period,
            previous,
        })
    }

    /// The figures of a filter in a period.
    ///
    /// # Errors
    /// When the store can't be read.
    pub(crate) fn figures(&self, filter: &BoardFilter, period: &BoardPeriod) -> Result<Vec<BoardFigure>, StoreError> {
        let [now, before] = [self.cases_of(filter, period)?, self.cases_of(filter, &period.previous())?];
        let open = FigureCases::count(self.index().count_open_failures(self.open_days(), &filter.whom)?);
        let figures = FIGURES.iter().filter_map(|figure| {
            let cases = match figure.name {
                "open_failures" => [open, FigureCases::default()],
                name => [now.get(name).copied()?, before.get(name).copied()?],
            };
            BoardFigure::new(figure.name, cases, filter, period)
        });
        Ok(figures.collect())
    }

    /// The cases of each figure that is about days.
    fn cases_of(
        &self,
        filter: &BoardFilter,
        period: &BoardPeriod,
    ) -> Result<BTreeMap<&'static str, FigureCases>, StoreError> {
        let (index, whom, range) = (self.index(), &filter.whom, period.range());
        let tasks = index.count_tasks_of_days(range, whom)?;
        let checks = index.check_days(range, whom)?;
        let first_runs: u64 = checks.iter().map(|day| day.first_runs).sum();
        let first_passed: u64 = checks.iter().map(|day| day.first_passed).sum();
        let solved = index.solved_failures(range.from.begins(), range.until.begins(), whom)?;
        let fixes = solved.len() as u64;
        let attempts: u64 = solved.iter().map(|row| row.attempts).sum();
        let mean = (fixes > 0).then(|| attempts as f64 / fixes as f64);
        let timed = solved.iter().filter(|row| row.seconds.is_some()).count() as u64;
        let seen = effect::outcomes_of_days(self, range, whom)?;
        Ok(BTreeMap::from([
            ("failing_tasks", FigureCases::share(tasks.tasks_failed, tasks.tasks)),
            ("failures", FigureCases::count(tasks.failures)),
            ("first_time_pass", FigureCases::share(first_passed, first_runs)),
            ("attempts_to_fix", FigureCases::value(mean, fixes)),
            ("minutes_to_fix", FigureCases::value(median_minutes(&solved), timed)),
            ("warnings_prevent", FigureCases::share(seen.prevented, seen.prevented + seen.failed_anyway)),
        ]))
    }

    fn trend_points(&self, period: &BoardPeriod, filter: &BoardFilter) -> Result<Vec<TrendPoint>, StoreError> {
        let rows = self.index().task_counts_of_days(period.range(), period.step(), &filter.whom)?;
        let points = rows.into_iter().map(|row| TrendPoint {
            day: row.day,
            tasks: row.tasks,
            tasks_failed: row.tasks_failed,
            runs: row.runs,
            failures: row.failures,
        });
        Ok(points.collect())
    }

    fn category_shares(&self, filter: &BoardFilter, period: &BoardPeriod) -> Result<Vec<CategoryShare>, StoreError> {
        let (index, whom, step) = (self.index(), &filter.whom, period.step());
        let now = index.count_categories(period.range(), whom)?;
        let before = index.count_categories(period.previous().range(), whom)?;
        let days = index.category_days(period.range(), step, whom)?;
        let all: u64 = now.iter().map(|row| row.failures).sum();
        let parts = usize::try_from((i64::try_from(period.days).unwrap_or(i64::MAX) + step - 1) / step).unwrap_or(0);
        let mut shares: Vec<CategoryShare> = now
            .into_iter()
            .map(|row| CategoryShare {
                share: if all == 0 { 0.0 } else { row.failures as f64 / all as f64 },
                failures: row.failures,
                tasks: row.tasks,
                previous_failures: 0,
                previous_tasks: 0,
                trend: vec![0; parts],
                category: row.category,
            })
            .collect();
        for row in before {
            match shares.iter_mut().find(|share| share.category == row.category) {
                Some(share) => (share.previous_failures, share.previous_tasks) = (row.failures, row.tasks),
                None => shares.push(CategoryShare {
                    category: row.category,
                    failures: 0,
                    share: 0.0,
                    tasks: 0,
                    previous_failures: row.failures,
                    previous_tasks: row.tasks,
                    trend: vec![0; parts],
                }),
            }
        }
        for row in days {
            let part = usize::try_from((row.day.0 - period.from.0) / step).unwrap_or(0);
            let share = shares.iter_mut().find(|share| share.category == row.category);
            if let Some(failures) = share.and_then(|share| share.trend.get_mut(part)) {
                *failures = row.failures;
            }
        }
        Ok(shares)
    }

    /// Decisions of a period that may show in a line.
    fn marks_of(&self, period: &BoardPeriod) -> Result<Vec<TrendMark>, StoreError> {
        let after = (Timestamp(period.range().until.begins().0), String::new());
        let decisions = self.index().list_decisions(Some(&after), DECISIONS_MAX)?.into_iter();
        let shown = ["approved", "rolled_back", "merged", "split", "muted", "deprecated", "restored"];
        let marks = decisions
            .map(|row| TrendMark { day: UtcDay::of(row.at), action: row.action, about: row.about })
            .take_while(|mark| mark.day >= period.from)
            .filter(|mark| shown.contains(&mark.action.as_str()));
        let mut marks: Vec<TrendMark> = marks.take(MARKS_MAX).collect();
        marks.reverse();
        Ok(marks)
    }
}

impl NotCounted {
    fn from_row(row: UncountedRow) -> Self {
        NotCounted {
            cancelled: row.cancelled,
            flaky_failures: row.flaky,
            flaky_patterns: row.flaky_patterns,
            weakened: row.weakened,
        }
    }
}

/// The median time to the pass, with one digit; `None` when none is known.
fn median_minutes(solved: &[SolvedFailureRow]) -> Option<f64> {
    let mut seconds: Vec<u64> = solved.iter().filter_map(|row| row.seconds).collect();
    seconds.sort_unstable();
    let middle = [seconds.len().checked_sub(1)? / 2, seconds.len() / 2].map(|at| seconds[at]);
    let median = (middle[0] + middle[1]) as f64 / 2.0;
    Some((median / 6.0).round() / 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_one_or_between_the_two_in_the_middle() {
        let of = |seconds: &[Option<u64>]| {
            let rows = seconds.iter().map(|&seconds| SolvedFailureRow { at: Timestamp(0), attempts: 1, seconds });
            median_minutes(&rows.collect::<Vec<_>>())
        };
        assert_eq!(of(&[Some(600), Some(60), None, Some(90)]), Some(1.5));
        assert_eq!(of(&[Some(60), Some(120)]), Some(1.5));
        assert_eq!((of(&[None]), of(&[])), (None, None));
    }
}
