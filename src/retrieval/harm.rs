//! Harmful advice is suppressed automatically: where held-out tasks show that a family's mistakes, or an entry's,
//! come back more often with warnings, the warnings stop.

use std::collections::HashSet;

use super::entry_measurement::entry_deliveries;
use crate::advice::TrialVerdict;
use crate::advice::outcome::{ObservedDelivery, holdout_trial};
use crate::advice::ranking::WarningCandidate;
use crate::base::clock::Timestamp;
use crate::config::Settings;
use crate::store::{Index, StoreError};

/// Recurrences below which no trial reaches a verdict, whatever share is held out (nine of ten at most).
const RECURRENCES_MIN: u64 = 2;

/// What was left out.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct HarmfulExclusions {
    /// Patterns.
    pub patterns: usize,
    /// Written entries.
    pub entries: usize,
}

impl HarmfulExclusions {
    /// What is said of it, for people.
    pub(crate) fn to_notes(&self) -> impl Iterator<Item = String> {
        let counted = [(self.patterns, "pattern", "patterns"), (self.entries, "entry", "entries")];
        counted.into_iter().filter(|(harmful, ..)| *harmful > 0).map(|(harmful, one, several)| {
            format!(
                "{harmful} {} suppressed: warnings increased failures; see verify-run stats",
                if harmful == 1 { one } else { several }
            )
        })
    }
}

/// Takes out the candidates whose family does harm, and entries that do harm on their own; how many those were.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn remove_harmful(
    index: &Index,
    found: &mut Vec<WarningCandidate>,
    settings: &Settings,
    now: Timestamp,
) -> Result<HarmfulExclusions, StoreError> {
    let families: HashSet<&str> = found.iter().map(|candidate| candidate.family.as_str()).collect();
    let silence = settings.fix.silence();
    let mut harmful = HashSet::new();
    for family in index.families_that_recurred(families, RECURRENCES_MIN)? {
        let rows = index.deliveries_of_family(&family)?;
        let told: Vec<ObservedDelivery> =
            rows.iter().map(|row| ObservedDelivery::from_row(row, now, silence)).collect();
        if holdout_trial(&told).verdict() == TrialVerdict::Harms {
            harmful.insert(family);
        }
    }
    let entries = found.iter().filter(|candidate| candidate.is_entry() && candidate.exposures > 0);
    for entry in index.entries_that_recurred(entries.map(|entry| entry.key.as_str()), RECURRENCES_MIN)? {
        let rows = index.deliveries_of_entry(&entry)?;
        if holdout_trial(&entry_deliveries(&rows, &entry, settings, now)).verdict() == TrialVerdict::Harms {
            harmful.insert(entry);
        }
    }
    let mut left_out = HarmfulExclusions::default();
    found.retain(|candidate| {
        let stays = !harmful.contains(&candidate.family) && !harmful.contains(&candidate.key);
        if candidate.is_entry() {
            left_out.entries += usize::from(!stays)
        } else {
            left_out.patterns += usize::from(!stays)
        }
        stays
    });
    Ok(left_out)
}
