//! Delta debugging with counters, and a last pass that makes its result 1-minimal.
//!
//! The rounds are those of CDD ("Deep Dive into Probabilistic Delta Debugging", arXiv 2408.04735): every round cuts what
//! is left into pieces of one size, tries to leave out each of them, and the next round's pieces are smaller. The size comes
//! from the probability that one unit is needed, which starts at [`FIRST_PROBABILITY`] and grows with each round by a
//! constant factor. The rounds alone give no 1-minimal result, so afterwards each unit that is left is tried alone until
//! none can go.

/// The probability that a unit is needed, before anything is known.
const FIRST_PROBABILITY: f64 = 0.1;
/// `1 / (1 - 1/e)`: by this the probability grows when a whole round of pieces was tried.
const GROWTH: f64 = 1.582;
/// Up to this many units every subset is tried, the smallest first.
const EXHAUSTIVE_MAX: usize = 4;

/// What a subset of units does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReductionAnswer {
    /// It still works.
    Works,
    /// It does not, or it can't be said: what was left out is needed.
    Fails,
    /// Nothing more may be tried.
    BudgetOver,
}

/// What is left of the units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reduction {
    /// The units that are needed, ascending.
    pub kept: Vec<usize>,
    /// Whether none of them can go alone.
    pub is_minimal: bool,
}

/// Looks for the smallest subset of `units` that works, given that all of them together do and none at all do not.
/// `ask` gets the units of a subset, ascending; it may be asked for one subset twice and should remember. Units that come
/// first in `units` are tried first.
pub(crate) fn reduce_units(units: &[usize], ask: &mut dyn FnMut(&[usize]) -> ReductionAnswer) -> Reduction {
    if units.len() <= EXHAUSTIVE_MAX {
        return try_subsets(units, ask);
    }
    let mut left = units.to_vec();
    let mut probability = FIRST_PROBABILITY;
    loop {
        let size = piece_size(probability).min(left.len());
        match try_pieces(&mut left, size, ask) {
            RoundEnd::BudgetOver => return end(left, false),
            RoundEnd::Done { .. } if size > 1 => probability *= GROWTH,
            RoundEnd::Done { .. } => break,
        }
    }
    remove_single_units(left, ask)
}

/// Tries each unit alone until none can go: what makes the result 1-minimal.
pub(crate) fn remove_single_units(mut left: Vec<usize>, ask: &mut dyn FnMut(&[usize]) -> ReductionAnswer) -> Reduction {
    loop {
        match try_pieces(&mut left, 1, ask) {
            RoundEnd::BudgetOver => return end(left, false),
            RoundEnd::Done { has_removed: true } => {}
            RoundEnd::Done { has_removed: false } => return end(left, true),
        }
    }
}

enum RoundEnd {
    Done { has_removed: bool },
    BudgetOver,
}

/// Tries to leave out each piece of `size` units once.
fn try_pieces(left: &mut Vec<usize>, size: usize, ask: &mut dyn FnMut(&[usize]) -> ReductionAnswer) -> RoundEnd {
    let mut has_removed = false;
    let pieces: Vec<Vec<usize>> = left.chunks(size.max(1)).map(<[usize]>::to_vec).collect();
    for piece in pieces {
        let rest: Vec<usize> = left.iter().copied().filter(|unit| !piece.contains(unit)).collect();
        if rest.is_empty() {
            continue;
        }
        match ask(&sorted(&rest)) {
            ReductionAnswer::Works => (*left, has_removed) = (rest, true),
            ReductionAnswer::Fails => {}
            ReductionAnswer::BudgetOver => return RoundEnd::BudgetOver,
        }
    }
    RoundEnd::Done { has_removed }
}

/// The number of units that leaves out most on average, if each is needed with this probability: `-1 / ln(1 - p)`.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small positive number")]
fn piece_size(probability: f64) -> usize {
    if probability >= 0.5 { 1 } else { ((-1.0 / (1.0 - probability).ln()).floor() as usize).max(1) }
}

/// Tries every subset, the smallest first.
fn try_subsets(units: &[usize], ask: &mut dyn FnMut(&[usize]) -> ReductionAnswer) -> Reduction {
    let mut subsets: Vec<Vec<usize>> = (1..1_usize << units.len())
        .map(|mask| {
            let has = |at: &usize| mask >> *at & 1 == 1;
            (0..units.len()).filter(has).map(|at| units[at]).collect()
        })
        .collect();
    // Those without the first units come first: they are the ones that are needed least.
    subsets.sort_by_key(|subset| (subset.len(), std::cmp::Reverse(positions(subset, units))));
    for subset in subsets.iter().filter(|subset| subset.len() < units.len()) {
        match ask(&sorted(subset)) {
            ReductionAnswer::Works => return end(subset.clone(), true),
            ReductionAnswer::Fails => {}
            ReductionAnswer::BudgetOver => return end(units.to_vec(), false),
        }
    }
    end(units.to_vec(), true)
}

fn positions(subset: &[usize], units: &[usize]) -> Vec<usize> {
    subset.iter().filter_map(|unit| units.iter().position(|it| it == unit)).collect()
}

fn sorted(units: &[usize]) -> Vec<usize> {
    let mut units = units.to_vec();
    units.sort_unstable();
    units
}

fn end(units: Vec<usize>, is_minimal: bool) -> Reduction {
    Reduction { kept: sorted(&units), is_minimal }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// Reduces `count` units of which `needed` are needed together; the result and the subsets that were tried.
    fn reduce(count: usize, needed: &[usize], budget: usize) -> (Reduction, usize) {
        let mut known: BTreeMap<Vec<usize>, ReductionAnswer> = BTreeMap::new();
        let units: Vec<usize> = (0..count).collect();
        let mut ask = |subset: &[usize]| {
            if let Some(answer) = known.get(subset) {
                return *answer;
            }
            if known.len() == budget {
                return ReductionAnswer::BudgetOver;
            }
            let works = needed.iter().all(|unit| subset.contains(unit));
            let answer = if works { ReductionAnswer::Works } else { ReductionAnswer::Fails };
            known.insert(subset.to_vec(), answer);
            answer
        };
        let reduced = reduce_units(&units, &mut ask);
        (reduced, known.len())
    }

    #[test]
    fn one_of_sixty_four_is_found_in_few_runs() {
        for needed in [0, 17, 63] {
            let (reduced, runs) = reduce(64, &[needed], 64);
            assert_eq!(reduced, Reduction { kept: vec![needed], is_minimal: true });
            assert!(runs <= 40, "{runs}");
        }
    }

    #[test]
    fn one_of_seven_and_two_of_twelve_are_found() {
        for needed in 0..7 {
            let (reduced, runs) = reduce(7, &[needed], 64);
            assert_eq!(reduced.kept, [needed]);
            assert!(runs <= 20, "{runs}");
        }
        assert_eq!(reduce(12, &[2, 9], 64).0, Reduction { kept: vec![2, 9], is_minimal: true });
        assert_eq!(reduce(4, &[1, 3], 64).0, Reduction { kept: vec![1, 3], is_minimal: true });
        assert_eq!(reduce(1, &[0], 64), (Reduction { kept: vec![0], is_minimal: true }, 0));
    }

    #[test]
    fn without_budget_the_smallest_so_far_is_what_is_left() {
        let (reduced, runs) = reduce(64, &[5], 10);
        assert_eq!(runs, 10);
        assert!(!reduced.is_minimal && reduced.kept.contains(&5) && reduced.kept.len() < 64, "{reduced:?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

        #[test]
        fn the_result_works_and_no_unit_of_it_can_go(count in 1..40_usize, picks in prop::collection::vec(0..40_usize, 1..5)) {
            let mut needed: Vec<usize> = picks.into_iter().map(|pick| pick % count).collect();
            needed.sort_unstable();
            needed.dedup();
            let (reduced, _) = reduce(count, &needed, usize::MAX);
            prop_assert_eq!(reduced, Reduction { kept: needed, is_minimal: true });
        }
    }
}
