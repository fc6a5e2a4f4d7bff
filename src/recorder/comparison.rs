//! Diffs a finished run against the last failing run, and against earlier runs with unverified failures.

use super::attribution::{self, Attribution, FailingRun};
use super::changes::{self, RecordedChange, WeakenedSearch};
use super::context::Recorder;
use super::open_failures::OpenFailure;
use super::projects::RecordedRun;
use crate::base::ids::RunId;
use crate::event::{AttemptOutcome, Run, UnseenAtoms, WeakenedCheckRecord};
use crate::fix::{self, AtomSets, AtomVisibility, FailureCoverage, RunAtoms};
use crate::store::StoreError;

/// What a run said about one open failure.
pub(super) struct RunVerdict<'a> {
    pub outcome: AttemptOutcome,
    pub parts: Vec<RunComparison<'a>>,
    pub remaining: Option<Vec<String>>,
    pub unseen: Vec<UnseenAtoms>,
    pub weakened: Vec<WeakenedCheckRecord>,
}

/// What a run said about what an earlier one showed: what was done since then is what may have fixed it.
pub(super) struct RunComparison<'a> {
    /// The run that it is compared with.
    pub from: (RunId, &'a Run),
    /// That run, where it isn't the last one.
    pub shown: Option<RunId>,
    pub sets: AtomSets,
    pub change: RecordedChange,
    pub attribution: Attribution,
}

/// What the run says about an open failure; `None` when it didn't look at any of it.
pub(super) fn judge_open_failure<'a>(
    recorder: &mut Recorder<'_>,
    recorded: RecordedRun<'_>,
    open: &'a OpenFailure,
) -> Result<Option<RunVerdict<'a>>, StoreError> {
    let run = recorded.run;
    let same = open.key == run.key;
    let Some((last, earlier)) = compare_with_run(run, open, same) else { return Ok(None) };
    let whole = earlier.iter().fold(last.clone(), AtomSets::merged_with);
    // Another check that fails as well is not an attempt at this one.
    if !same && whole.fixed.is_empty() {
        return Ok(None);
    }
    let outcome = whole.attempt_outcome(same);
    let (first, since) = (open.first_run(), (open.attempt_base_id(), open.attempt_base()));
    let (from, counts) = match outcome {
        // Over all attempts: an earlier one may have weakened what passes only now.
        AttemptOutcome::Success => ((first.run, first.commit.as_deref()), open.count_attempts(recorder.store, run)?),
        // A run that fails may end early.
        _ => ((since.0, since.1.commit.as_deref()), None),
    };
    let weakened =
        if whole.fixed.is_empty() { None } else { WeakenedSearch::begin_check(recorder, from, recorded, counts)? };
    let remaining = (!same && outcome != AttemptOutcome::Success).then(|| {
        let atoms = last.persisted.0.iter().chain(&last.not_reached.0);
        atoms.map(|atom| atom.hash.clone()).collect()
    });
    let not_reached: Vec<&RunAtoms> = earlier.iter().map(|sets| &sets.not_reached).collect();
    let unseen = open.still_unseen(same.then_some(&last.not_reached), &not_reached);
    let mut parts = Vec::new();
    if same || !last.fixed.is_empty() {
        parts.push((since, last, None));
    }
    for (shown, sets) in open.unseen.iter().zip(earlier).filter(|(_, sets)| !sets.fixed.is_empty()) {
        parts.push(((shown.id, &shown.run), sets, Some(shown.id)));
    }
    let mut looked = Vec::with_capacity(parts.len());
    for (from, sets, shown) in parts {
        let mut change = changes::changes_between(recorder, from, recorded)?;
        // Between them may be a run of another check, which proves nothing about this failure.
        let failed = if from.1.failure.is_some() { from.1 } else { &open.before };
        let failing = FailingRun { run: failed, commit: first.commit.as_deref(), since: first.started_at };
        let attribution = attribution::attribute_changes(recorder, failing, &sets, &change)?;
        change.diff = fix::related_first(&change.diff, &attribution.related, &change.files);
        looked.push(RunComparison { from, shown, sets, change, attribution });
    }
    let weakened = weakened.map_or_else(Vec::new, |weakened| weakened.end_check(&mut recorder.report.notes));
    Ok(Some(RunVerdict { outcome, parts: looked, remaining, unseen, weakened }))
}

/// Diffs the run against the last failing run, and against each earlier run for what only that one showed; `None` when
/// the run looked at nothing of it.
fn compare_with_run(run: &Run, failure: &OpenFailure, same: bool) -> Option<(AtomSets, Vec<AtomSets>)> {
    let reach = if same { FailureCoverage::All } else { fix::compare_scopes(run.scope.as_ref()?, &failure.scope) };
    let open = failure.open_atoms();
    let unseen = failure.unseen.iter().flat_map(|shown| &shown.atoms.0);
    let all = RunAtoms(open.0.iter().chain(unseen).cloned().collect());
    if all.0.iter().all(|atom| !reach.covers_atom(atom)) {
        return None;
    }
    let after = fix::atoms_of_run(run);
    let compare = |shown: &Run, atoms: &RunAtoms| {
        // It said that something is wrong, not what: that is so as long as anything is.
        if fix::is_silent(shown) && run.failure.is_some() {
            return AtomSets { persisted: atoms.clone(), ..AtomSets::default() };
        }
        let category = shown.failure.as_ref().map_or("", |failure| failure.category.as_str());
        let (stops, sight) = (fix::stops_at(run, category), AtomVisibility::of_run(shown, run));
        let would_show = |atom: &_| reach.covers_atom(atom) && stops.is_reached(atom) && sight.covers_atom(atom);
        AtomSets { introduced: RunAtoms::default(), ..fix::compare_atoms(atoms, &after, would_show) }
    };
    let mut last = compare(&failure.before, &open);
    if same {
        let new = fix::compare_atoms(&all, &after, |_| true).introduced;
        last.introduced = fix::known_as_new(new, &failure.before, run);
    }
    Some((last, failure.unseen.iter().map(|shown| compare(&shown.run, &shown.atoms)).collect()))
}
