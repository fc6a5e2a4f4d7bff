//! The order of the runs, and the verdict. The known good tree runs first, so that a lab that cannot run the check at all is
//! not taken for a bad fix. Then the tree before has to fail as it was recorded, twice, and the one after to pass, twice.

use crate::base::text;
use crate::event::{
    Atom, AtomList, EvidenceLabel, JudgementRecord, TrialFailureCause, TrialOutcome, TrialPurpose, TrialRecord,
};

/// A message that is quoted in a reason, bytes.
const QUOTE_BYTES_MAX: usize = 160;

/// What is known of a job apart from its runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TrialFacts<'a> {
    /// What the fix is said to have fixed.
    pub expected: &'a AtomList,
    /// Tests that ran when the check passed in the work tree.
    pub tests_recorded: Option<u64>,
    /// The approved tree is the one in which the check passed.
    pub is_tested_tree: bool,
    /// The change touches tests.
    pub changes_tests: bool,
    /// The change touches something else.
    pub changes_sources: bool,
    /// How the change makes the check weaker for certain, if it does.
    pub weakened: Option<&'a str>,
    /// Files that are not in the kept trees.
    pub left_out: u64,
    /// A failing run was recorded. Else the tests of the change are what has to fail without its sources.
    pub has_recorded_failure: bool,
}

/// What comes next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TrialStep {
    /// This run.
    Run(TrialPurpose),
    /// Nothing more: this is the evidence.
    Judged(JudgementRecord),
    /// Nothing more: there is no evidence.
    Failed {
        /// The root cause.
        cause: TrialFailureCause,
        /// What was seen, a lowercase fragment.
        why: String,
    },
}

/// The next run after these, or the verdict.
pub(crate) fn next_trial(facts: &TrialFacts<'_>, trials: &[TrialRecord]) -> TrialStep {
    match decide(facts, trials) {
        Ok(judged) => TrialStep::Judged(judged),
        Err(step) => step,
    }
}

/// Whether one of these atoms is the expected one: the same, another failure of the same test, or the same pattern.
pub(crate) fn shows_atom(atoms: &AtomList, expected: &Atom) -> bool {
    atoms.first.iter().any(|atom| {
        let is_same_test = atom.test.is_some() && atom.test == expected.test && atom.file == expected.file;
        atom.hash == expected.hash || is_same_test || atom.pattern == expected.pattern
    })
}

fn decide(facts: &TrialFacts<'_>, trials: &[TrialRecord]) -> Result<JudgementRecord, TrialStep> {
    if let Some(how) = facts.weakened {
        return Err(failed(TrialFailureCause::Weakened, format!("the check was made weaker: {how}")));
    }
    if facts.changes_tests && !facts.changes_sources {
        return Err(failed(TrialFailureCause::TestOnly, "only tests were changed".to_owned()));
    }
    let run = |purpose| trials.iter().rev().find(|trial| trial.purpose == purpose).ok_or(TrialStep::Run(purpose));
    let good = run(TrialPurpose::KnownGood)?;
    check_limits(good)?;
    if good.outcome == TrialOutcome::Failed && !facts.is_tested_tree {
        return Err(judge_failing_change(good, run(TrialPurpose::Before)?));
    }
    check_known_good(facts, good)?;
    if !facts.has_recorded_failure {
        return decide_without_failure(facts, &run);
    }
    let before = run(TrialPurpose::Before)?;
    check_limits(before)?;
    if let Some(note) = missing_failure(facts, before) {
        let notes = vec![note];
        return Ok(JudgementRecord { evidence: EvidenceLabel::Replayed, notes, ..JudgementRecord::default() });
    }
    let mut notes = Vec::new();
    if facts.changes_tests {
        let with_tests = run(TrialPurpose::BeforeWithTests)?;
        check_limits(with_tests)?;
        if with_tests.outcome == TrialOutcome::Passed {
            let why = "with the tests of the change the tree before passes: what was mended is in the tests".to_owned();
            return Err(failed(TrialFailureCause::TestOnly, why));
        }
        notes.extend(describe_old_tests(facts, run(TrialPurpose::AfterWithoutTests)?));
    }
    confirm(before, notes, &run)
}

/// The tests of the change have to fail on the tree before it.
fn decide_without_failure<'a>(
    facts: &TrialFacts<'_>,
    run: &dyn Fn(TrialPurpose) -> Result<&'a TrialRecord, TrialStep>,
) -> Result<JudgementRecord, TrialStep> {
    let replayed = |note: &str| {
        let notes = vec![note.to_owned()];
        Ok(JudgementRecord { evidence: EvidenceLabel::Replayed, notes, ..JudgementRecord::default() })
    };
    if !facts.changes_tests {
        return replayed("no failure was recorded, and the change has no tests");
    }
    let before = run(TrialPurpose::BeforeWithTests)?;
    check_limits(before)?;
    match before.outcome {
        TrialOutcome::Failed => {
            confirm(before, vec!["no failure was recorded: the tests of the change show it".to_owned()], run)
        }
        _ => replayed("no failure was recorded, and the tests of the change pass without it"),
    }
}

/// Both sides once more.
fn confirm<'a>(
    before: &TrialRecord,
    notes: Vec<String>,
    run: &dyn Fn(TrialPurpose) -> Result<&'a TrialRecord, TrialStep>,
) -> Result<JudgementRecord, TrialStep> {
    check_again(run(TrialPurpose::BeforeAgain)?, before)?;
    let again = run(TrialPurpose::AfterAgain)?;
    check_limits(again)?;
    if again.outcome != TrialOutcome::Passed {
        let why = format!("the tree after passed, then failed{}", quote_first(&again.atoms));
        return Err(failed(TrialFailureCause::Flaky, why));
    }
    let quotes = before.quotes.clone();
    Ok(JudgementRecord { evidence: EvidenceLabel::Proven, fixed: before.atoms.clone(), notes, quotes })
}

fn check_limits(trial: &TrialRecord) -> Result<(), TrialStep> {
    let cause = match trial.outcome {
        TrialOutcome::TimedOut => TrialFailureCause::TimedOut,
        TrialOutcome::OverLimits => TrialFailureCause::OverLimits,
        TrialOutcome::Passed | TrialOutcome::Failed | TrialOutcome::NotRun => return Ok(()),
    };
    let why = trial.note.clone().unwrap_or_else(|| format!("the run \"{}\" was ended by a limit", trial.purpose));
    Err(failed(cause, why))
}

/// The approved tree is not the one that passed, and it fails: it breaks something, or mends nothing.
fn judge_failing_change(good: &TrialRecord, before: &TrialRecord) -> TrialStep {
    let introduced = good.atoms.first.iter().find(|atom| !shows_atom(&before.atoms, atom));
    match introduced {
        Some(atom) => failed(TrialFailureCause::Regressed, format!("the approved tree breaks {}", name_atom(atom))),
        None => failed(TrialFailureCause::AfterFails, format!("the approved tree fails{}", quote_first(&good.atoms))),
    }
}

fn check_known_good(facts: &TrialFacts<'_>, good: &TrialRecord) -> Result<(), TrialStep> {
    let unsuitable = |why: String| Err(failed(TrialFailureCause::LabUnsuitable, why));
    if good.outcome != TrialOutcome::Passed {
        let left_out = match facts.left_out {
            0 => String::new(),
            count => format!("; {} not in the kept tree", are_not(count)),
        };
        let seen = good.note.clone().unwrap_or_else(|| format!("the check fails here{}", quote_first(&good.atoms)));
        return unsuitable(format!("{seen}{left_out}"));
    }
    match (good.tests, facts.tests_recorded) {
        (Some(ran), Some(recorded)) if ran < recorded => {
            unsuitable(format!("{ran} of {} ran here", text::count(recorded, "test")))
        }
        _ => Ok(()),
    }
}

fn are_not(count: u64) -> String {
    format!("{} {}", text::count(count, "file"), if count == 1 { "is" } else { "are" })
}

/// Why the tree before does not show the failure, if it does not.
fn missing_failure(facts: &TrialFacts<'_>, before: &TrialRecord) -> Option<String> {
    if before.outcome == TrialOutcome::Passed {
        return Some("the tree before passes here: the failure could not be shown".to_owned());
    }
    if before.outcome == TrialOutcome::NotRun {
        let seen = before.note.as_deref().unwrap_or("the check does not run");
        return Some(format!("on the tree before, {seen}: the failure could not be shown"));
    }
    let missing = facts.expected.first.iter().find(|expected| !shows_atom(&before.atoms, expected))?;
    Some(format!("the tree before fails in another way here: {} is not seen", name_atom(missing)))
}

/// What the approved tree does with the tests from before; a note and no more, since they may ask for what was changed on
/// purpose.
fn describe_old_tests(facts: &TrialFacts<'_>, trial: &TrialRecord) -> Option<String> {
    let still = facts.expected.first.iter().find(|expected| shows_atom(&trial.atoms, expected))?;
    Some(format!("with the tests from before, {} still fails", name_atom(still)))
}

fn check_again(again: &TrialRecord, before: &TrialRecord) -> Result<(), TrialStep> {
    check_limits(again)?;
    let seen = match again.outcome {
        TrialOutcome::Passed => Some("the tree before failed, then passed".to_owned()),
        TrialOutcome::NotRun => Some("the tree before failed, then did not run".to_owned()),
        _ => {
            let is_other =
                !again.atoms.is_empty() && !again.atoms.first.iter().any(|atom| shows_atom(&before.atoms, atom));
            is_other.then(|| format!("the tree before failed in two ways{}", quote_first(&again.atoms)))
        }
    };
    seen.map_or(Ok(()), |why| Err(failed(TrialFailureCause::Flaky, why)))
}

fn failed(cause: TrialFailureCause, why: String) -> TrialStep {
    TrialStep::Failed { cause, why }
}

/// `: test_rows (test_rows.py): expected 5`
fn quote_first(atoms: &AtomList) -> String {
    atoms.first.first().map_or_else(String::new, |atom| format!(": {}", name_atom(atom)))
}

fn name_atom(atom: &Atom) -> String {
    let name = match (&atom.test, &atom.file) {
        (Some(test), Some(file)) if !test.contains(file.as_str()) => format!("{test} ({file})"),
        (Some(test), _) => test.clone(),
        (None, Some(file)) => format!("{file}: {}", atom.text),
        (None, None) => atom.text.clone(),
    };
    text::ellipsis(&text::one_line(&name), QUOTE_BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn atoms(tests: &[&str]) -> AtomList {
        let atom = |test: &&str| Atom {
            hash: (*test).to_owned(),
            pattern: format!("pattern of {test}"),
            file: Some("t.py".into()),
            test: Some((*test).to_owned()),
            text: "expected 5".into(),
        };
        AtomList { count: tests.len(), first: tests.iter().map(atom).collect() }
    }

    fn ran(purpose: TrialPurpose, failing: &[&str]) -> TrialRecord {
        let outcome = if failing.is_empty() { TrialOutcome::Passed } else { TrialOutcome::Failed };
        TrialRecord { purpose, outcome, atoms: atoms(failing), tests: Some(9), ..TrialRecord::default() }
    }

    fn facts(expected: &AtomList) -> TrialFacts<'_> {
        TrialFacts {
            expected,
            tests_recorded: Some(9),
            is_tested_tree: true,
            changes_tests: false,
            changes_sources: true,
            weakened: None,
            left_out: 0,
            has_recorded_failure: true,
        }
    }

    /// Runs what is asked for, with what fails in each, until there is a verdict; what was run, and the verdict.
    fn judge(
        facts: &TrialFacts<'_>,
        failing: &dyn Fn(TrialPurpose) -> Vec<&'static str>,
    ) -> (Vec<TrialPurpose>, TrialStep) {
        let mut trials: Vec<TrialRecord> = Vec::new();
        loop {
            match next_trial(facts, &trials) {
                TrialStep::Run(purpose) => trials.push(ran(purpose, &failing(purpose))),
                verdict => return (trials.iter().map(|trial| trial.purpose).collect(), verdict),
            }
        }
    }

    fn evidence(step: &TrialStep) -> EvidenceLabel {
        match step {
            TrialStep::Judged(judgement) => judgement.evidence,
            other => panic!("{other:?}"),
        }
    }

    fn cause(step: &TrialStep) -> (TrialFailureCause, &str) {
        match step {
            TrialStep::Failed { cause, why } => (*cause, why),
            other => panic!("{other:?}"),
        }
    }

    use TrialPurpose::{AfterAgain, AfterWithoutTests, Before, BeforeAgain, BeforeWithTests, KnownGood};

    #[test]
    fn what_fails_before_and_passes_after_twice_is_proven() {
        let expected = atoms(&["a"]);
        let fails_before = |purpose| match purpose {
            Before | BeforeAgain | BeforeWithTests => vec!["a"],
            _ => Vec::new(),
        };
        let (runs, verdict) = judge(&facts(&expected), &fails_before);
        assert_eq!(runs, [KnownGood, Before, BeforeAgain, AfterAgain]);
        assert_eq!(evidence(&verdict), EvidenceLabel::Proven);
        let with_tests = TrialFacts { changes_tests: true, ..facts(&expected) };
        let (runs, verdict) = judge(&with_tests, &fails_before);
        assert_eq!(runs, [KnownGood, Before, BeforeWithTests, AfterWithoutTests, BeforeAgain, AfterAgain]);
        assert_eq!(evidence(&verdict), EvidenceLabel::Proven);
    }

    #[test]
    fn a_failure_that_is_not_shown_is_replayed_only() {
        let expected = atoms(&["a", "b"]);
        assert_eq!(evidence(&judge(&facts(&expected), &|_| Vec::new()).1), EvidenceLabel::Replayed);
        let other = judge(&facts(&expected), &|purpose| if purpose == Before { vec!["a"] } else { Vec::new() });
        let TrialStep::Judged(judgement) = other.1 else { panic!("judged") };
        assert_eq!(judgement.evidence, EvidenceLabel::Replayed);
        assert_eq!(judgement.notes, ["the tree before fails in another way here: b (t.py) is not seen"]);
    }

    #[test]
    fn a_check_that_cannot_run_here_says_nothing_of_the_fix() {
        let expected = atoms(&["a"]);
        let fails = judge(&facts(&expected), &|_| vec!["network"]);
        assert_eq!(fails.0, [KnownGood]);
        assert_eq!(cause(&fails.1), (TrialFailureCause::LabUnsuitable, "the check fails here: network (t.py)"));
        let fewer = TrialFacts { tests_recorded: Some(41), ..facts(&expected) };
        let fewer = judge(&fewer, &|_| Vec::new());
        assert_eq!(cause(&fewer.1), (TrialFailureCause::LabUnsuitable, "9 of 41 tests ran here"));
    }

    #[test]
    fn an_approved_tree_that_breaks_something_else_is_a_regression() {
        let expected = atoms(&["a"]);
        let approved = TrialFacts { is_tested_tree: false, ..facts(&expected) };
        let breaks = judge(&approved, &|purpose| if purpose == KnownGood { vec!["b"] } else { vec!["a"] });
        assert_eq!(cause(&breaks.1), (TrialFailureCause::Regressed, "the approved tree breaks b (t.py)"));
        let still = judge(&approved, &|_| vec!["a"]);
        assert_eq!(cause(&still.1).0, TrialFailureCause::AfterFails);
    }

    #[test]
    fn tests_alone_weaker_checks_and_chance_are_no_fix() {
        let expected = atoms(&["a"]);
        let only = TrialFacts { changes_tests: true, changes_sources: false, ..facts(&expected) };
        assert_eq!(judge(&only, &|_| Vec::new()).0, []);
        let in_tests = TrialFacts { changes_tests: true, ..facts(&expected) };
        let in_tests = judge(&in_tests, &|purpose| if purpose == Before { vec!["a"] } else { Vec::new() });
        assert_eq!(cause(&in_tests.1).0, TrialFailureCause::TestOnly);
        let weaker = TrialFacts { weakened: Some("a test was skipped"), ..facts(&expected) };
        assert_eq!(cause(&judge(&weaker, &|_| Vec::new()).1).0, TrialFailureCause::Weakened);
        let once = judge(&facts(&expected), &|purpose| if purpose == Before { vec!["a"] } else { Vec::new() });
        assert_eq!(cause(&once.1), (TrialFailureCause::Flaky, "the tree before failed, then passed"));
        let twice = judge(&facts(&expected), &|purpose| match purpose {
            KnownGood => Vec::new(),
            _ => vec!["a"],
        });
        assert_eq!(cause(&twice.1).0, TrialFailureCause::Flaky);
    }

    #[test]
    fn without_a_recorded_failure_the_tests_of_the_change_show_it() {
        let expected = AtomList::default();
        let whole = TrialFacts { has_recorded_failure: false, changes_tests: true, ..facts(&expected) };
        let fails_before = |purpose| match purpose {
            BeforeWithTests | BeforeAgain => vec!["a"],
            _ => Vec::new(),
        };
        let (runs, verdict) = judge(&whole, &fails_before);
        assert_eq!(runs, [KnownGood, BeforeWithTests, BeforeAgain, AfterAgain]);
        assert_eq!(evidence(&verdict), EvidenceLabel::Proven);
        assert_eq!(evidence(&judge(&whole, &|_| Vec::new()).1), EvidenceLabel::Replayed);
        let without_tests = TrialFacts { changes_tests: false, ..whole };
        assert_eq!(judge(&without_tests, &fails_before).0, [KnownGood]);
    }

    #[test]
    fn a_limit_ends_the_trial() {
        let expected = atoms(&["a"]);
        let late = TrialRecord { outcome: TrialOutcome::TimedOut, ..ran(KnownGood, &[]) };
        let TrialStep::Failed { cause, why } = next_trial(&facts(&expected), &[late]) else { panic!("failed") };
        assert_eq!((cause, why.as_str()), (TrialFailureCause::TimedOut, "the run \"known_good\" was ended by a limit"));
    }
}
