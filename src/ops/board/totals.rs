//! All failures of a filter in numbers: how many, of which category, how many are resolved, which patterns they have.

use serde::Serialize;

use super::Board;
use super::figures::BoardFigure;
use super::filter::{BoardFilter, BoardPeriod};
use super::patterns::{PatternLine, PatternOrder, PatternQuery, PatternScope};
use crate::base::clock::UtcDay;

/// Patterns of the most failures.
const PATTERNS_MAX: usize = 10;

/// All failures of a filter.
#[derive(Debug)]
pub(crate) struct FailureTotals {
    /// Failures that count.
    pub failures: u64,
    /// By category, the most frequent first.
    pub categories: Vec<CategoryTotal>,
    /// The share of them that is resolved; `None` without a failure.
    pub resolution_rate: Option<f64>,
    /// The patterns with the most of them, at most ten.
    pub patterns: Vec<PatternLine>,
    /// The figures of the days that were asked for, else of the last 30.
    pub figures: Vec<BoardFigure>,
}

/// Failures of one category.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CategoryTotal {
    /// Its name.
    pub failure_category: String,
    /// Failures that count.
    pub count: u64,
}

impl Board<'_> {
    /// All failures of a filter; of all days where it has none.
    ///
    /// # Errors
    /// When the store can't be read.
    pub(crate) fn failure_totals(&self, filter: &BoardFilter) -> anyhow::Result<FailureTotals> {
        let days = filter.days();
        let categories = self.index().count_categories(days, &filter.whom)?.into_iter();
        let categories: Vec<CategoryTotal> =
            categories.map(|row| CategoryTotal { failure_category: row.category, count: row.failures }).collect();
        let failures: u64 = categories.iter().map(|total| total.count).sum();
        let open = self.index().count_open_failures(days, &filter.whom)?;
        let patterns = if filter.is_all() {
            let scope = PatternScope::All;
            let query = PatternQuery { scope, order: PatternOrder::Failures, ..PatternQuery::default() };
            self.patterns(&query, None, PATTERNS_MAX)?.patterns
        } else {
            let period = BoardPeriod::new(days.from, UtcDay(days.until.0 - 1));
            self.most_frequent_patterns(filter, &period, PATTERNS_MAX)?
        };
        Ok(FailureTotals {
            failures,
            resolution_rate: (failures > 0).then(|| failures.saturating_sub(open) as f64 / failures as f64),
            figures: self.figures(filter, &self.period(filter))?,
            categories,
            patterns,
        })
    }
}
