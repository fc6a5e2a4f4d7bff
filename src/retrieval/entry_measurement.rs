//! The outcome of warnings that were given from an entry: how often its mistake was made all the same, and what
//! held-out tasks say.

use serde::Serialize;

use super::entry_page::page_line;
use crate::advice::outcome::{ObservedDelivery, holdout_trial};
use crate::advice::promotion::{compute_effectiveness, count_outcomes};
use crate::advice::{HoldoutTrial, TrialLift, TrialVerdict};
use crate::base::clock::Timestamp;
use crate::config::Settings;
use crate::event::EntryTypeName;
use crate::pattern::confidence::JudgedDelivery;
use crate::pattern::statistics::round_to_thousandth;
use crate::store::{DeliveryOutcomeRow, EntryPatternsRow, EntryRow, Index, StoreError};

/// The outcome of warnings from an entry.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct EntryMeasurement {
    /// Why nothing can be said of it; `null` when something can.
    pub not_measurable: Option<String>,
    /// `p-…` of the patterns by which it is judged.
    pub patterns: Vec<String>,
    /// Warned tasks that did without the mistake.
    pub prevented: u64,
    /// Warned tasks that made it all the same.
    pub failed_anyway: u64,
    /// `prevented` of both; 0.5 before the first result of a warned task. Observed, with no
    /// control group.
    pub effectiveness: f64,
    /// Tasks of both arms in which the mistake could be made.
    #[serde(flatten)]
    pub trial: HoldoutTrial,
    /// The evidence against "warnings from it do nothing"; 20 is enough.
    pub e_value: f64,
    /// What it says.
    pub verdict: TrialVerdict,
    /// How much less often the mistake comes back with them.
    pub lift: Option<TrialLift>,
}

/// The outcome of warnings from an entry that represents itself and those that were merged with it.
///
/// # Errors
/// SQLite's.
pub(crate) fn measure_entry(
    index: &Index,
    row: &EntryRow,
    settings: &Settings,
    now: Timestamp,
) -> Result<EntryMeasurement, StoreError> {
    let about = index.patterns_of_entry(&row.id)?;
    let rows = index.deliveries_of_entry(&row.id)?;
    let trial = holdout_trial(&entry_deliveries(&rows, &row.id, settings, now));
    let told: Vec<JudgedDelivery> = rows.into_iter().filter_map(JudgedDelivery::from_outcome_row).collect();
    let (prevented, failed_anyway) = count_outcomes(&told);
    let patterns = about.patterns.iter().map(|number| Ok(index.pattern_at(*number)?.id));
    Ok(EntryMeasurement {
        patterns: patterns.collect::<Result<_, StoreError>>()?,
        not_measurable: unmeasurable_reason(row, &about),
        prevented,
        failed_anyway,
        effectiveness: round_to_thousandth(compute_effectiveness(prevented, failed_anyway)),
        e_value: trial.e_value(),
        verdict: trial.verdict(),
        lift: trial.lift(),
        trial,
    })
}

/// What is known of the deliveries of an entry, as those of one family: a task counts once for the entry.
pub(crate) fn entry_deliveries(
    rows: &[DeliveryOutcomeRow],
    entry: &str,
    settings: &Settings,
    now: Timestamp,
) -> Vec<ObservedDelivery> {
    let silence = settings.fix.silence();
    rows.iter()
        .map(|row| ObservedDelivery { family: entry.to_owned(), ..ObservedDelivery::from_row(row, now, silence) })
        .collect()
}

/// Why the effect of warnings from an entry is unknown; `None` when it can be measured.
fn unmeasurable_reason(row: &EntryRow, about: &EntryPatternsRow) -> Option<String> {
    if row.kind != EntryTypeName::GOTCHA {
        return Some(format!(
            "not measurable: warnings are about gotchas, and this is a {}",
            page_line(row.kind.as_str())
        ));
    }
    about
        .patterns
        .is_empty()
        .then(|| "not measurable: no recorded failure is its source or has the message of its pitfall".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_measured_says_why() {
        let row = |kind: &str| EntryRow { kind: kind.into(), ..EntryRow::default() };
        let known = EntryPatternsRow { patterns: vec![7], named: true };
        assert_eq!(unmeasurable_reason(&row("gotcha"), &known), None);
        let reason = |kind: &str, about: &EntryPatternsRow| unmeasurable_reason(&row(kind), about).expect("a reason");
        assert!(reason("gotcha", &EntryPatternsRow::default()).contains("no recorded failure is its source"));
        assert_eq!(reason("decision", &known), "not measurable: warnings are about gotchas, and this is a decision");
    }
}
