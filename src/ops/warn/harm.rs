//! Advice that does harm stops by itself: where held-out tasks show that a family's mistakes come back more often when they
//! are warned of, nobody is warned of them any more.

use std::collections::HashSet;

use crate::advice::Verdict;
use crate::advice::outcome::{Seen, trial};
use crate::advice::ranking::Candidate;
use crate::base::clock::Timestamp;
use crate::config::Settings;
use crate::ops::stats::seen;
use crate::store::{Index, StoreError};

/// Recurrences below which no trial reaches a verdict, whatever share is held out (nine of ten at most).
const RECURRENCES_MIN: u64 = 2;

/// Takes out the candidates whose family does harm; how many those were.
///
/// # Errors
/// When the store can't be read.
pub(super) fn leave_out(
    index: &Index,
    found: &mut Vec<Candidate>,
    settings: &Settings,
    now: Timestamp,
) -> Result<usize, StoreError> {
    let families: HashSet<&str> = found.iter().map(|candidate| candidate.family.as_str()).collect();
    let silence = settings.fix.silence();
    let mut harmful = HashSet::new();
    for family in index.families_that_recurred(families, RECURRENCES_MIN)? {
        let rows = index.deliveries_of(&family)?;
        let told: Vec<Seen> = rows.iter().map(|row| seen(row, now, silence)).collect();
        if trial(&told).verdict() == Verdict::Harms {
            harmful.insert(family);
        }
    }
    let all = found.len();
    found.retain(|candidate| !harmful.contains(&candidate.family));
    Ok(all - found.len())
}
