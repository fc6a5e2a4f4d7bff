//! The circuit breaker of a phase of the work, from the recorded runs of its task: the fold of the gate's own breaker, over
//! what the wrapper saw. Pure.
//!
//! A run is compared with the earlier ones of the same check, because counts of two checks cannot be compared. The
//! first one is what later ones are compared with. In RED a run that shows a failing test for the first time is progress,
//! since that is what the phase is for; in the others fewer failures are, or more tests that pass.

use std::collections::{BTreeMap, BTreeSet};

use super::cycle::BreakerState;
use crate::base::clock::Timestamp;
use crate::config::{BreakerThresholds, ProgressReference};
use crate::event::{Run, WorkPhase};
use crate::fix::atoms_of_run;

/// How often a phase may fail before a person has to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PhaseRules {
    /// The phase.
    pub phase: WorkPhase,
    /// When its breaker opens.
    pub thresholds: BreakerThresholds,
    /// What a run must be better than.
    pub progress_against: ProgressReference,
}

/// What is known of a phase.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PhaseState {
    /// Runs that count.
    pub runs: u64,
    /// Tests that passed in the newest run that counted them.
    pub passing: Option<u64>,
    /// What failed in the newest runs of all checks.
    pub failing: u64,
    /// What fails, the first words of each.
    pub failures: Vec<String>,
    /// Runs in a row without progress.
    pub no_progress: u64,
    /// Runs in a row that failed in the same way.
    pub same_error: u64,
    /// The circuit breaker.
    pub breaker: BreakerState,
    /// When it opened.
    pub opened_at: Option<Timestamp>,
    checks: BTreeMap<String, CheckHistory>,
}

/// The runs of one check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct CheckHistory {
    best: CheckScore,
    last: CheckScore,
    /// What has failed, by hash.
    seen: BTreeSet<String>,
    /// What failed last, by hash; empty after a pass.
    error: BTreeSet<String>,
    /// The same in words.
    failures: Vec<String>,
}

/// How good a run was. What is not known is never better.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct CheckScore {
    failing: Option<u64>,
    passing: Option<u64>,
}

impl CheckScore {
    fn is_better_than(self, other: CheckScore) -> bool {
        let is_less =
            |one: Option<u64>, other: Option<u64>| matches!((one, other), (Some(one), Some(other)) if one < other);
        is_less(self.failing, other.failing) || is_less(other.passing, self.passing)
    }

    /// The better figure of each.
    fn best_of(self, other: CheckScore) -> CheckScore {
        let min = |one: Option<u64>, other: Option<u64>| one.into_iter().chain(other).min();
        let max = |one: Option<u64>, other: Option<u64>| one.into_iter().chain(other).max();
        CheckScore { failing: min(self.failing, other.failing), passing: max(self.passing, other.passing) }
    }
}

/// Failures that are named.
const FAILURES_MAX: usize = 5;

impl PhaseState {
    /// Computes the state from the runs of a phase, the oldest first.
    pub(crate) fn from_runs<'a>(runs: impl Iterator<Item = &'a Run>, rules: PhaseRules) -> PhaseState {
        let mut state = PhaseState::default();
        // A mistyped or interrupted command is no attempt at the work.
        let counts = |run: &&Run| run.failure.as_ref().is_none_or(|failure| !failure.lesson.is_uninformative());
        runs.filter(counts).for_each(|run| state.add(run, rules));
        state
    }

    fn add(&mut self, run: &Run, rules: PhaseRules) {
        self.runs += 1;
        let atoms = atoms_of_run(run).0;
        // Of a run that stopped early it is not known how much fails.
        let failing = (!run.stopped_early).then_some(atoms.len() as u64);
        let passing = run.tests.map(|tests| tests.saturating_sub(atoms.len() as u64));
        let score = CheckScore { failing, passing };
        let is_first = !self.checks.contains_key(&run.key);
        let history = self.checks.entry(run.key.clone()).or_default();
        let reference = match rules.progress_against {
            ProgressReference::Best => history.best,
            ProgressReference::Last => history.last,
        };
        let hashes: BTreeSet<String> = atoms.iter().map(|atom| atom.hash.clone()).collect();
        let is_progress = !is_first
            && match rules.phase {
                WorkPhase::Red => hashes.iter().any(|hash| !history.seen.contains(hash)),
                _ => score.is_better_than(reference),
            };
        let is_same_error = !hashes.is_empty() && hashes == history.error;
        history.best = if is_first { score } else { history.best.best_of(score) };
        history.last = score;
        history.seen.extend(hashes.iter().cloned());
        history.error = hashes;
        history.failures = atoms.iter().map(|atom| atom.text.clone()).collect();
        self.passing = passing.or(self.passing);
        self.count(run, (is_first, is_progress, is_same_error), rules);
        self.failing = self.checks.values().map(|check| check.failures.len() as u64).sum();
        self.failures = self.checks.values().flat_map(|check| check.failures.clone()).take(FAILURES_MAX).collect();
    }

    fn count(&mut self, run: &Run, (is_first, is_progress, is_same_error): (bool, bool, bool), rules: PhaseRules) {
        let has_passed = run.ended.passed();
        let is_all_green = self.checks.values().all(|check| check.failures.is_empty());
        // What passes is no step back; in RED it is no step at all.
        let is_done = has_passed && is_all_green && rules.phase != WorkPhase::Red;
        if is_done {
            (self.no_progress, self.same_error) = (0, 0);
        } else {
            self.no_progress = match (is_progress, is_first || has_passed && rules.phase != WorkPhase::Red) {
                (true, _) => 0,
                (false, true) => self.no_progress,
                (false, false) => self.no_progress + 1,
            };
            if !has_passed {
                self.same_error = if is_same_error { self.same_error + 1 } else { 1 };
            }
        }
        // Once open, only a person closes it.
        if self.breaker != BreakerState::Open {
            self.breaker = BreakerState::from_counts(self.no_progress, self.same_error, rules.thresholds);
            self.opened_at = (self.breaker == BreakerState::Open).then_some(run.ended_at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::GateSettings;
    use crate::event::{EventBody, sample};

    /// A run of a check: the patterns that fail, and tests that ran.
    fn run(key: &str, failing: &[&str], tests: Option<u64>) -> Run {
        let event = if failing.is_empty() { sample::passed_run(1, "t") } else { sample::failed_run(1, "t", failing) };
        match event.body {
            EventBody::Run(run) => Run { key: key.into(), tests, ..*run },
            other => panic!("{other:?}"),
        }
    }

    fn state_against(phase: WorkPhase, runs: &[Run], progress_against: ProgressReference) -> PhaseState {
        let thresholds = GateSettings::default().breaker.of_phase(phase.as_str());
        PhaseState::from_runs(runs.iter(), PhaseRules { phase, thresholds, progress_against })
    }

    fn state(phase: WorkPhase, runs: &[Run]) -> (u64, u64, BreakerState) {
        let state = state_against(phase, runs, ProgressReference::Best);
        (state.no_progress, state.same_error, state.breaker)
    }

    #[test]
    fn green_opens_after_two_runs_without_progress_and_stays_open() {
        use BreakerState::{Closed, Open};
        let fails = |patterns: &[&str]| run("k", patterns, Some(10));
        let mut runs = vec![fails(&["a", "b", "c"])];
        assert_eq!(state(WorkPhase::Green, &runs), (0, 1, Closed), "the first run is what others are compared with");
        runs.push(fails(&["a", "b"]));
        assert_eq!(state(WorkPhase::Green, &runs), (0, 1, Closed), "one less fails");
        runs.push(fails(&["a", "c"]));
        assert_eq!(state(WorkPhase::Green, &runs), (1, 1, Closed), "another one, and not less");
        runs.push(fails(&["b", "c"]));
        assert_eq!(state(WorkPhase::Green, &runs), (2, 1, Open));
        runs.push(run("k", &[], Some(10)));
        let after = state_against(WorkPhase::Green, &runs, ProgressReference::Best);
        assert_eq!((after.no_progress, after.breaker, after.failing), (0, Open, 0), "only a person closes it");
        assert!(after.opened_at.is_some());
    }

    #[test]
    fn more_tests_that_pass_are_progress_and_going_back_and_forth_is_none() {
        let more = |tests| run("k", &["a"], Some(tests));
        assert_eq!(state(WorkPhase::Green, &[more(5), more(6), more(9)]).0, 0);
        let ways = [more(5), run("k", &["a", "b"], Some(5)), more(5), run("k", &["a", "b"], Some(5))];
        assert_eq!(state(WorkPhase::Refactor, &ways).0, 3);
        let literal = state_against(WorkPhase::Refactor, &ways, ProgressReference::Last);
        assert_eq!(literal.no_progress, 1, "against the last one the third run is better");
        let unknown = [run("k", &["a"], None), run("k", &["a"], None)];
        assert_eq!(state(WorkPhase::Refactor, &unknown).0, 1, "what is not counted is not better");
        let early = Run { stopped_early: true, ..run("k", &["a"], None) };
        assert_eq!(state(WorkPhase::Refactor, &[run("k", &["a", "b"], None), early]).0, 1, "-x shows less");
    }

    #[test]
    fn the_same_error_counts_on_its_own() {
        use BreakerState::{HalfOpen, Open};
        let same = run("k", &["a"], Some(3));
        let times = |n: usize| vec![same.clone(); n];
        assert_eq!(state(WorkPhase::Refactor, &times(3)), (2, 3, HalfOpen));
        assert_eq!(state(WorkPhase::Refactor, &times(5)), (4, 5, Open));
        let mut broken = times(4);
        broken.insert(3, run("k", &["b"], Some(3)));
        assert_eq!(state(WorkPhase::Refactor, &broken).1, 1);
    }

    #[test]
    fn checks_are_compared_with_themselves_and_another_one_hides_nothing() {
        let tests = || run("tests", &["a"], Some(3));
        let lint = || run("lint", &[], None);
        // A pass of another check is no progress, and takes nothing back while the tests fail.
        assert_eq!(state(WorkPhase::Refactor, &[tests(), lint(), tests(), lint(), tests(), lint()]).0, 2);
        let other_words = [tests(), run("tests a", &["a"], Some(1)), tests()];
        assert_eq!(state(WorkPhase::Refactor, &other_words).0, 1, "other words of the check are a first run");
        let done = [tests(), tests(), run("tests", &[], Some(3))];
        assert_eq!(state(WorkPhase::Refactor, &done), (0, 0, BreakerState::Closed), "everything passes");
    }

    #[test]
    fn in_red_a_new_failing_test_is_progress_and_a_pass_is_none() {
        let fails = |patterns: &[&str]| run("k", patterns, Some(3));
        assert_eq!(state(WorkPhase::Red, &[run("k", &[], Some(3)), fails(&["a"]), fails(&["a", "b"])]).0, 0);
        assert_eq!(state(WorkPhase::Red, &[fails(&["a"]), fails(&["a"])]).0, 1);
        assert_eq!(state(WorkPhase::Red, &[run("k", &[], None), run("k", &[], None), run("k", &[], None)]).0, 2);
        assert_eq!(state(WorkPhase::Green, &[run("k", &[], None), run("k", &[], None), run("k", &[], None)]).0, 0);
    }
}
