//! What came of warnings that were given from an entry: how often its mistake was made all the same, and what held-out
//! tasks say.

use serde::Serialize;

use super::page::line;
use crate::advice::outcome::{Seen, trial};
use crate::advice::promotion::{effectiveness, outcomes};
use crate::advice::{Lift, Trial, Verdict};
use crate::base::clock::Timestamp;
use crate::config::Settings;
use crate::ops::stats::seen;
use crate::pattern::confidence::Told;
use crate::pattern::statistics::rounded;
use crate::store::{AboutRow, EntryRow, Index, OutcomeRow, StoreError};

/// What came of warnings from an entry.
#[derive(Debug, Clone, Serialize)]
pub struct Measured {
    /// Why nothing can be said of it; `null` when something can.
    pub not_measurable: Option<String>,
    /// `p-…` of the patterns by which it is judged.
    pub patterns: Vec<String>,
    /// Warned tasks that did without the mistake.
    pub prevented: u64,
    /// Warned tasks that made it all the same.
    pub failed_anyway: u64,
    /// `prevented` of both; 0.5 before a warned task told.
    pub effectiveness: f64,
    /// Tasks of both arms in which the mistake could be made.
    #[serde(flatten)]
    pub trial: Trial,
    /// The evidence against "warnings from it do nothing"; 20 is enough.
    pub e_value: f64,
    /// What it says.
    pub verdict: Verdict,
    /// How much less often the mistake comes back with them.
    pub lift: Option<Lift>,
}

/// What came of warnings from an entry that stands for itself and those that were merged with it.
///
/// # Errors
/// SQLite's.
pub(in crate::ops) fn of(
    index: &Index,
    row: &EntryRow,
    settings: &Settings,
    now: Timestamp,
) -> Result<Measured, StoreError> {
    let about = index.about_entry(&row.id)?;
    let rows = index.deliveries_of_entry(&row.id)?;
    let trial = trial(&seen_of(&rows, &row.id, settings, now));
    let told: Vec<Told> = rows.into_iter().filter_map(Told::of).collect();
    let (prevented, failed_anyway) = outcomes(&told);
    let patterns = about.patterns.iter().map(|number| Ok(index.pattern_at(*number)?.id));
    Ok(Measured {
        patterns: patterns.collect::<Result<_, StoreError>>()?,
        not_measurable: not_measurable(row, &about),
        prevented,
        failed_anyway,
        effectiveness: rounded(effectiveness(prevented, failed_anyway)),
        e_value: trial.e_value(),
        verdict: trial.verdict(),
        lift: trial.lift(),
        trial,
    })
}

/// What is known of the deliveries of an entry, as those of one family: a task counts once for the entry.
pub(in crate::ops) fn seen_of(rows: &[OutcomeRow], entry: &str, settings: &Settings, now: Timestamp) -> Vec<Seen> {
    let silence = settings.fix.silence();
    rows.iter().map(|row| Seen { family: entry.to_owned(), ..seen(row, now, silence) }).collect()
}

/// Why nobody can say what comes of warnings from an entry; `None` when it can be measured.
fn not_measurable(row: &EntryRow, about: &AboutRow) -> Option<String> {
    if row.kind != "gotcha" {
        return Some(format!("not measurable: warnings tell gotchas, and it is a {}", line(&row.kind)));
    }
    about
        .patterns
        .is_empty()
        .then(|| "not measurable: no recorded failure is what it comes from, or says what its pitfall says".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_measured_says_why() {
        let row = |kind: &str| EntryRow { kind: kind.into(), ..EntryRow::default() };
        let known = AboutRow { patterns: vec![7], named: true };
        assert_eq!(not_measurable(&row("gotcha"), &known), None);
        let reason = |kind: &str, about: &AboutRow| not_measurable(&row(kind), about).expect("a reason");
        assert!(reason("gotcha", &AboutRow::default()).contains("no recorded failure is what it comes from"));
        assert_eq!(reason("decision", &known), "not measurable: warnings tell gotchas, and it is a decision");
    }
}
