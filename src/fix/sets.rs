//! A failure and a later run as sets: fixed, introduced, persisted, not reached.

use std::collections::HashSet;

use super::atom::RunAtoms;
use crate::event::{Atom, AttemptOutcome};

/// The outcome of the atoms of a failure. `fixed`, `persisted` and `not_reached` are the failure's, each in one of
/// them; `introduced` are new.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct AtomSets {
    /// Looked at and gone.
    pub fixed: RunAtoms,
    /// Not in the failure.
    pub introduced: RunAtoms,
    /// Still there. A test that fails with another message now is still failing.
    pub persisted: RunAtoms,
    /// Not looked at by the later run, or it didn't get there.
    pub not_reached: RunAtoms,
}

impl AtomSets {
    /// The outcome of the failure. What is new doesn't count against it when the later run was another check: then it
    /// is that one's failure.
    pub(crate) fn attempt_outcome(&self, same_check: bool) -> AttemptOutcome {
        let open = !self.persisted.is_empty() || !self.not_reached.is_empty();
        match (self.fixed.is_empty(), open || (same_check && !self.introduced.is_empty())) {
            (true, true) => AttemptOutcome::Failure,
            (false, true) => AttemptOutcome::Partial,
            (_, false) => AttemptOutcome::Success,
        }
    }

    /// Those of two failures together.
    #[must_use]
    pub(crate) fn merged_with(mut self, other: &AtomSets) -> AtomSets {
        let ours = [&mut self.fixed, &mut self.introduced, &mut self.persisted, &mut self.not_reached];
        let others = [&other.fixed, &other.introduced, &other.persisted, &other.not_reached];
        for (ours, others) in ours.into_iter().zip(others) {
            ours.0.extend(others.0.iter().cloned());
        }
        self
    }
}

/// Compares the open atoms `before` with those of a later run. `is_reached` says of an atom that is gone whether the
/// later run would have shown it.
pub(crate) fn compare_atoms(before: &RunAtoms, after: &RunAtoms, is_reached: impl Fn(&Atom) -> bool) -> AtomSets {
    let hashes = |atoms: &RunAtoms| -> HashSet<String> { atoms.0.iter().map(|atom| atom.hash.clone()).collect() };
    let (before_hashes, after_hashes) = (hashes(before), hashes(after));
    let test = |atom: &Atom| atom.test.clone().map(|test| (atom.file.clone(), test));
    let failing_before: HashSet<_> = before.0.iter().filter_map(test).collect();
    let failing_after: HashSet<_> = after.0.iter().filter_map(test).collect();
    let among = |tests: &HashSet<_>, atom: &Atom| test(atom).is_some_and(|test| tests.contains(&test));
    let mut sets = AtomSets::default();
    for atom in &before.0 {
        let set = if after_hashes.contains(&atom.hash) || among(&failing_after, atom) {
            &mut sets.persisted
        } else if is_reached(atom) {
            &mut sets.fixed
        } else {
            &mut sets.not_reached
        };
        set.0.push(atom.clone());
    }
    let is_new = |atom: &&Atom| !before_hashes.contains(&atom.hash) && !among(&failing_before, atom);
    sets.introduced.0.extend(after.0.iter().filter(is_new).cloned());
    sets
}
