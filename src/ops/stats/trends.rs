//! Two stretches of what was recorded, side by side: the first and the last 30 days, or where there are fewer days the
//! first and the last half of the cases.

use crate::base::clock::{Timestamp, UtcDay};
use crate::store::{CheckDayRow, CheckRunRow, DayRange, Index, SolvedFailureRow, StoreError, SumFilter};

/// The stretches that are compared.
const PERIOD_DAYS: i64 = 30;
const DAY_US: i64 = 86_400_000_000;

/// Cases of a figure in a stretch, and what they add up to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct CaseSum {
    pub cases: u64,
    pub sum: u64,
}

impl CaseSum {
    /// What a case has on average; 0 without any.
    pub(super) fn mean(self) -> f64 {
        if self.cases == 0 { 0.0 } else { self.sum as f64 / self.cases as f64 }
    }

    /// What a case has on average; `None` without any.
    pub(super) fn some_mean(self) -> Option<f64> {
        (self.cases > 0).then(|| self.mean())
    }

    fn add(&mut self, other: CaseSum) {
        self.cases += other.cases;
        self.sum += other.sum;
    }
}

/// A figure in the stretches that are compared, and in the last 30 days.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct FigureTrend {
    pub first: CaseSum,
    pub last: CaseSum,
    pub now: CaseSum,
}

impl FigureTrend {
    /// The cases of both stretches, of which there are fewer.
    pub(super) fn cases(&self) -> u64 {
        self.first.cases.min(self.last.cases)
    }
}

/// The figures that are compared over time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct FigureTrends {
    /// Failed ones of the checks.
    pub failing: FigureTrend,
    /// Passed ones of the first runs of a check in a task.
    pub at_once: FigureTrend,
    /// Attempts of the fixes.
    pub attempts: FigureTrend,
}

/// Compares the first and the last stretch of what was recorded in `range`.
///
/// # Errors
/// When the store can't be read.
pub(super) fn compare_stretches(
    index: &Index,
    range: Option<DayRange>,
    filter: &SumFilter,
) -> Result<FigureTrends, StoreError> {
    let Some((first, last)) = recorded_between(index, range)? else { return Ok(FigureTrends::default()) };
    let end = Timestamp(last.0.saturating_add(1));
    let checks = CheckReader { index, filter };
    let lately = Timestamp(end.0.saturating_sub(PERIOD_DAYS * DAY_US)).max(first);
    let now = checks.counts_between(lately, end)?;
    let solved_now = sum_attempts(&index.solved_failures(lately, end, filter)?);
    if last.0.saturating_sub(first.0) >= 2 * PERIOD_DAYS * DAY_US {
        let first_end = Timestamp(first.0.saturating_add(PERIOD_DAYS * DAY_US));
        let before = checks.counts_between(first, first_end)?;
        return Ok(FigureTrends {
            failing: FigureTrend { first: before.failing(), last: now.failing(), now: now.failing() },
            at_once: FigureTrend { first: before.at_once(), last: now.at_once(), now: now.at_once() },
            attempts: FigureTrend {
                first: sum_attempts(&index.solved_failures(first, first_end, filter)?),
                last: solved_now,
                now: solved_now,
            },
        });
    }
    let days = index.check_days(days_between(first, end), filter)?;
    let halves = |of_day: fn(&CheckDayRow) -> CaseSum, of_run: fn(&CheckRunRow) -> Option<u64>| {
        let days: Vec<(UtcDay, CaseSum)> = days.iter().map(|day| (day.day, of_day(day))).collect();
        compare_halves(&days, |day| {
            Ok(index.check_runs_of_day(day, filter)?.iter().filter_map(of_run).collect::<Vec<u64>>())
        })
    };
    let failing = halves(CheckDayRow::failing, |run| Some(u64::from(run.failed)))?;
    let at_once = halves(CheckDayRow::at_once, |run| run.first.then_some(u64::from(!run.failed)))?;
    let solved = index.solved_failures(first, end, filter)?;
    let (half, middle) = (solved.len() / 2, solved.len().div_ceil(2));
    Ok(FigureTrends {
        failing: FigureTrend { first: failing.0, last: failing.1, now: now.failing() },
        at_once: FigureTrend { first: at_once.0, last: at_once.1, now: now.at_once() },
        attempts: FigureTrend {
            first: sum_attempts(&solved[..half]),
            last: sum_attempts(&solved[middle..]),
            now: solved_now,
        },
    })
}

/// The first and the last run in a range; `None` before there is one.
fn recorded_between(index: &Index, range: Option<DayRange>) -> Result<Option<(Timestamp, Timestamp)>, StoreError> {
    let Some((first, last)) = index.recorded_period()? else { return Ok(None) };
    let Some(DayRange { from, until }) = range else { return Ok(Some((first, last))) };
    let (from, until) = (from.begins(), Timestamp(until.begins().0 - 1));
    Ok((first <= until && from <= last).then(|| (first.max(from), last.min(until))))
}

fn days_between(from: Timestamp, until: Timestamp) -> DayRange {
    DayRange { from: UtcDay::of(from), until: UtcDay(UtcDay::of(Timestamp(until.0 - 1)).0 + 1) }
}

fn sum_attempts(solved: &[SolvedFailureRow]) -> CaseSum {
    CaseSum { cases: solved.len() as u64, sum: solved.iter().map(|row| row.attempts).sum() }
}

impl CheckDayRow {
    fn failing(&self) -> CaseSum {
        CaseSum { cases: self.runs, sum: self.failed }
    }

    fn at_once(&self) -> CaseSum {
        CaseSum { cases: self.first_runs, sum: self.first_passed }
    }

    fn add(&mut self, other: &CheckDayRow) {
        self.runs += other.runs;
        self.failed += other.failed;
        self.first_runs += other.first_runs;
        self.first_passed += other.first_passed;
    }
}

/// Reads checks between two moments: whole days from the sums, the rest run by run.
struct CheckReader<'a> {
    index: &'a Index,
    filter: &'a SumFilter,
}

impl CheckReader<'_> {
    /// The checks that were started from `since` on and before `until`.
    fn counts_between(&self, since: Timestamp, until: Timestamp) -> Result<CheckDayRow, StoreError> {
        let mut counts = CheckDayRow::default();
        if until <= since {
            return Ok(counts);
        }
        let is_start = UtcDay::of(since).begins() == since;
        let whole = DayRange { from: UtcDay(UtcDay::of(since).0 + i64::from(!is_start)), until: UtcDay::of(until) };
        if whole.from.0 < whole.until.0 {
            self.index.check_days(whole, self.filter)?.iter().for_each(|day| counts.add(day));
        }
        let mut rest: Vec<UtcDay> = Vec::new();
        if !is_start {
            rest.push(UtcDay::of(since));
        }
        if UtcDay::of(until).begins() != until && !rest.contains(&UtcDay::of(until)) {
            rest.push(UtcDay::of(until));
        }
        for day in rest {
            for run in self.index.check_runs_of_day(day, self.filter)? {
                if run.at >= since && run.at < until {
                    counts.runs += 1;
                    counts.failed += u64::from(run.failed);
                    counts.first_runs += u64::from(run.first);
                    counts.first_passed += u64::from(run.first && !run.failed);
                }
            }
        }
        Ok(counts)
    }
}

/// The first and the last half of the cases of some days in their order; of an odd number the middle one is left out.
/// `read_day` gives what each case of a day has, in its order: it is asked about the days in which a half ends.
fn compare_halves(
    days: &[(UtcDay, CaseSum)],
    mut read_day: impl FnMut(UtcDay) -> Result<Vec<u64>, StoreError>,
) -> Result<(CaseSum, CaseSum), StoreError> {
    let half = days.iter().map(|(_, day)| day.cases).sum::<u64>() / 2;
    let mut take = |days: &mut dyn Iterator<Item = &(UtcDay, CaseSum)>, from_end: bool| {
        let mut taken = CaseSum::default();
        for (day, sum) in days {
            let left = half - taken.cases;
            if sum.cases <= left {
                taken.add(*sum);
                continue;
            }
            let mut cases = read_day(*day)?;
            if from_end {
                cases.reverse();
            }
            let cases = &cases[..cases.len().min(usize::try_from(left).unwrap_or(usize::MAX))];
            taken.add(CaseSum { cases: cases.len() as u64, sum: cases.iter().sum() });
            break;
        }
        Ok::<_, StoreError>(taken)
    };
    Ok((take(&mut days.iter(), false)?, take(&mut days.iter().rev(), true)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_have_the_same_number_of_cases_whatever_day_they_are_of() {
        let cases = [(1, vec![1, 1]), (5, vec![1, 0, 0, 1, 0]), (9, vec![0, 0])];
        let sums = cases
            .clone()
            .map(|(day, cases)| (UtcDay(day), CaseSum { cases: cases.len() as u64, sum: cases.iter().sum() }));
        let mut asked = Vec::new();
        let (first, last) = compare_halves(&sums, |day| {
            asked.push(day.0);
            Ok(cases.iter().find(|(known, _)| *known == day.0).expect("a day").1.clone())
        })
        .expect("reads");
        assert_eq!(first, CaseSum { cases: 4, sum: 3 });
        assert_eq!(last, CaseSum { cases: 4, sum: 1 }, "the middle one of nine is left out");
        assert_eq!(asked, [5, 5], "whole days are not read");
        assert_eq!(compare_halves(&[], |_| Ok(Vec::new())).expect("reads"), Default::default());
    }
}
