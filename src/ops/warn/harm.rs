//! Advice that does harm mutes itself: where held-out tasks show that a family's mistakes come back more often when they
//! are warned of, nobody is warned of them any more.

use std::collections::HashSet;
use std::time::Duration;

use crate::advice::Verdict;
use crate::advice::outcome::{Seen, trial};
use crate::advice::ranking::Candidate;
use crate::base::clock::Timestamp;
use crate::config::Settings;
use crate::ops::stats::seen;
use crate::store::{Index, StoreError};

/// Recurrences below which no trial reaches a verdict, whatever share is held out.
const RECURRENCES_MIN: u64 = 5;

/// Takes out the candidates whose family does harm; how many families those are.
///
/// # Errors
/// When the store can't be read.
pub(super) fn mute(
    index: &Index,
    found: &mut Vec<Candidate>,
    settings: &Settings,
    now: Timestamp,
) -> Result<usize, StoreError> {
    let families: HashSet<&str> = found.iter().map(|candidate| candidate.family.as_str()).collect();
    let silence = Duration::from_secs(settings.fix.silence_hours.saturating_mul(3_600));
    let mut harmful = HashSet::new();
    for family in index.families_that_recurred(families, RECURRENCES_MIN)? {
        let rows = index.deliveries_of(&family)?;
        let told: Vec<Seen> = rows.iter().map(|row| seen(row, now, silence)).collect();
        if trial(&told).verdict() == Verdict::Harms {
            harmful.insert(family);
        }
    }
    found.retain(|candidate| !harmful.contains(&candidate.family));
    Ok(harmful.len())
}
