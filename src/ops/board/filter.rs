//! What figures and lists are restricted to, and the days that they are about.

use std::fmt::Write;

use serde::Serialize;

use super::Board;
use crate::base::clock::UtcDay;
use crate::store::{DayRange, SumFilter};

/// The days that figures are about, unless asked otherwise.
const PERIOD_DAYS: i64 = 30;
/// Points of a line.
const POINTS_MAX: i64 = 90;
/// The lengths that a point may have, days.
const STEPS: [i64; 3] = [1, 7, 30];

/// What figures and lists are restricted to. Absent fields match all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct BoardFilter {
    pub from: Option<UtcDay>,
    /// In it.
    pub to: Option<UtcDay>,
    pub whom: SumFilter,
}

/// Days in UTC, both ends in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct BoardPeriod {
    /// The first day.
    pub from: UtcDay,
    /// The last day.
    pub to: UtcDay,
    /// How many.
    pub days: u64,
}

/// What figures were restricted to; `null` matches all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct AppliedFilter {
    /// Category of the failures.
    pub category: Option<String>,
    /// Agent of the runs.
    pub agent: Option<String>,
    /// Tool of the runs.
    pub tool: Option<String>,
}

impl BoardFilter {
    /// Whether the last day comes before the first.
    pub(crate) fn is_empty(&self) -> bool {
        self.from.zip(self.to).is_some_and(|(from, to)| to < from)
    }

    /// Whether nothing is restricted.
    pub(crate) fn is_all(&self) -> bool {
        *self == BoardFilter::default()
    }

    /// The filter as documents have it.
    pub(crate) fn applied(&self) -> AppliedFilter {
        let SumFilter { category, agent, tool } = self.whom.clone();
        AppliedFilter { category, agent, tool }
    }

    /// The days that were asked for, where an end may be open; `None` when both are.
    pub(crate) fn asked_days(&self) -> Option<DayRange> {
        (self.from.is_some() || self.to.is_some()).then(|| DayRange {
            from: self.from.unwrap_or(UtcDay(0)),
            until: self.to.map_or(UtcDay::LAST, |to| UtcDay(to.0.min(UtcDay::LAST.0 - 1) + 1)),
        })
    }

    /// The days that were asked for; all where none were.
    pub(crate) fn days(&self) -> DayRange {
        self.asked_days().unwrap_or(DayRange { from: UtcDay(0), until: UtcDay::LAST })
    }

    /// The options of a command that asks the same of a period.
    pub(super) fn options(&self, period: &BoardPeriod) -> String {
        BoardFilter { from: Some(period.from), to: Some(period.to), whom: self.whom.clone() }.asked_options()
    }

    /// The options of a command that asks the same.
    pub(super) fn asked_options(&self) -> String {
        let mut options = String::new();
        let days = [("from", self.from), ("to", self.to)].map(|(name, day)| (name, day.map(|day| day.to_string())));
        let SumFilter { category, agent, tool } = self.whom.clone();
        let texts = [("category", category), ("agent", agent), ("tool", tool)];
        for (name, value) in days.into_iter().chain(texts) {
            if let Some(value) = value {
                let _ = write!(options, " --{name} {}", shell_words::quote(&value));
            }
        }
        options
    }
}

impl BoardPeriod {
    /// From one day to another.
    pub(crate) fn new(from: UtcDay, to: UtcDay) -> Self {
        BoardPeriod { from, to, days: u64::try_from(to.0 - from.0 + 1).unwrap_or(0) }
    }

    /// As the store asks for it.
    pub(crate) fn range(&self) -> DayRange {
        DayRange { from: self.from, until: UtcDay(self.to.0 + 1) }
    }

    /// The equally long period before it.
    pub(crate) fn previous(&self) -> Self {
        let days = self.to.0 - self.from.0 + 1;
        BoardPeriod::new(UtcDay(self.from.0 - days), UtcDay(self.from.0 - 1))
    }

    /// Days of one point of a line over it: at most 90 points.
    pub(super) fn step(&self) -> i64 {
        let days = self.to.0 - self.from.0 + 1;
        STEPS.into_iter().find(|step| days <= step * POINTS_MAX).unwrap_or((days + POINTS_MAX - 1) / POINTS_MAX)
    }
}

impl Board<'_> {
    /// The days that figures of a filter are about: as asked, else the last 30.
    pub(crate) fn period(&self, filter: &BoardFilter) -> BoardPeriod {
        let to = filter.to.unwrap_or_else(|| UtcDay::of(self.now()).max(filter.from.unwrap_or_default()));
        let from = filter.from.unwrap_or(UtcDay(to.0 - PERIOD_DAYS + 1));
        BoardPeriod::new(from, to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_has_one_before_it_and_at_most_ninety_points() {
        let day = |text: &str| UtcDay::parse(text, crate::base::clock::Timestamp(0)).expect("a day");
        let period = BoardPeriod::new(day("2026-11-01"), day("2026-11-30"));
        assert_eq!((period.days, period.step()), (30, 1));
        let before = period.previous();
        assert_eq!((before.from, before.to, before.days), (day("2026-10-02"), day("2026-10-31"), 30));
        let points = |days: i64| {
            let period = BoardPeriod::new(UtcDay(0), UtcDay(days - 1));
            (period.step(), (days + period.step() - 1) / period.step())
        };
        assert_eq!([points(90), points(91), points(730)], [(1, 90), (7, 13), (30, 25)]);
        assert!(points(10_000).1 <= 90, "{:?}", points(10_000));
        assert_eq!(UtcDay::LAST.to_string(), "9999-12-31");
    }

    #[test]
    fn a_filter_is_written_as_the_options_that_ask_for_it() {
        let whom = SumFilter { agent: Some("codex".into()), tool: Some("a b".into()), category: None };
        let filter = BoardFilter { whom, ..BoardFilter::default() };
        let period = BoardPeriod::new(UtcDay(20_000), UtcDay(20_001));
        assert_eq!(filter.options(&period), " --from 2024-10-04 --to 2024-10-05 --agent codex --tool 'a b'");
        let backwards = BoardFilter { from: Some(UtcDay(2)), to: Some(UtcDay(1)), ..BoardFilter::default() };
        assert!(backwards.is_empty() && !BoardFilter::default().is_empty());
    }
}
