//! What is recorded in numbers for a monitoring system: counts by word, of all that was recorded.

use super::Board;
use super::filter::BoardFilter;
use crate::retrieval::effect::{DeliveryOutcomeCounts, advice_effect};
use crate::store::SumFilter;

/// A word and how many there are of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedCount {
    pub name: String,
    pub count: u64,
}

/// What is recorded in numbers.
#[derive(Debug, Default)]
pub(crate) struct RecordMetrics {
    /// Failures that count, by category.
    pub failures: Vec<NamedCount>,
    /// Runs that count, by outcome.
    pub runs: Vec<NamedCount>,
    /// Fixes by state.
    pub fixes: Vec<NamedCount>,
    /// Patterns by state.
    pub patterns: Vec<NamedCount>,
    /// Shown warnings by outcome.
    pub warnings: Vec<NamedCount>,
    /// Held-out warnings.
    pub held_out: Vec<NamedCount>,
    /// Uses of entries by what was done with them.
    pub uses: Vec<NamedCount>,
    /// Promotions by state.
    pub promotions: Vec<NamedCount>,
    /// The evidence against "advice does nothing".
    pub e_value: f64,
    /// Tokens that reuse saved, estimated.
    pub tokens_saved_estimate: u64,
    /// Events in the store.
    pub events: u64,
}

impl Board<'_> {
    /// What is recorded in numbers.
    ///
    /// # Errors
    /// When the store can't be read.
    pub(crate) fn record_metrics(&self) -> anyhow::Result<RecordMetrics> {
        let index = self.index();
        let (days, all) = (BoardFilter::default().days(), SumFilter::default());
        let runs = index.count_tasks_of_days(days, &all)?;
        let counts = index.count_rows()?;
        let told = self.deliveries(&BoardFilter::default())?;
        let DeliveryOutcomeCounts { held_out, prevented, failed_anyway, no_opportunity, task_incomplete, open, .. } =
            told.stats(self)?.all;
        let mut patterns: std::collections::BTreeMap<String, u64> = std::collections::BTreeMap::new();
        let silenced = index.silenced_patterns()?;
        patterns.insert("open".into(), counts.patterns.saturating_sub(silenced.len() as u64));
        for state in silenced.into_values() {
            *patterns.entry(state).or_default() += 1;
        }
        let categories = index.count_categories(days, &all)?.into_iter();
        Ok(RecordMetrics {
            failures: named(categories.map(|row| (row.category, row.failures))),
            runs: named([
                ("failed".to_owned(), runs.failures),
                ("passed".to_owned(), runs.runs.saturating_sub(runs.failures)),
                ("not_counted".to_owned(), counts.runs.saturating_sub(runs.runs)),
            ]),
            fixes: named(
                index.count_fix_states()?.into_iter().map(|(state, count)| (state.as_str().to_owned(), count)),
            ),
            patterns: named(patterns),
            warnings: named([
                ("prevented".to_owned(), prevented),
                ("failed_anyway".to_owned(), failed_anyway),
                ("no_opportunity".to_owned(), no_opportunity),
                ("task_incomplete".to_owned(), task_incomplete),
                ("open".to_owned(), open),
            ]),
            held_out: named([("held_out".to_owned(), held_out)]),
            uses: named(index.count_entry_uses()?),
            promotions: named(index.promotion_states()?),
            e_value: advice_effect(&told.seen).e_value,
            tokens_saved_estimate: index.total_figures()?.uses.saturating_mul(self.settings().knowledge.reuse_tokens),
            events: counts.events,
        })
    }
}

fn named(counts: impl IntoIterator<Item = (String, u64)>) -> Vec<NamedCount> {
    counts.into_iter().map(|(name, count)| NamedCount { name, count }).collect()
}
