//! Failures that are open when a run is recorded: the failing runs of each check since it last passed.

use std::collections::{BTreeMap, HashSet};

use super::assemble::is_cancelled;
use super::changes;
use super::projects::{Projects, RecordedRun};
use crate::base::clock::Timestamp;
use crate::base::ids::{self, RunId};
use crate::event::{Attempt, Run, Scope, UnseenAtoms};
use crate::fix::weakened::TestCounts;
use crate::fix::{self, RunAtoms};
use crate::store::{OpenFailingRun, Store, StoreError};

/// Open failures of one class that a run is compared with; the newest ones.
const OPEN_FAILURES_MAX: usize = 32;
/// Earlier runs of one open failure of which something was not looked at since; the newest ones.
const EARLIER_RUNS_MAX: usize = 8;

/// A failure that is open: the failing runs of one key since it last passed.
pub(super) struct OpenFailure {
    pub key: String,
    /// The oldest first; never empty.
    pub runs: Vec<OpenFailingRun>,
    /// The last of them, as recorded.
    pub before: Run,
    pub scope: Scope,
    base: AttemptBase,
    /// Earlier ones, with what only they showed and no run looked at since.
    pub unseen: Vec<EarlierRun>,
}

/// What the next attempt goes on from: the last failing run, unless a run of another check fixed some of it after that.
#[derive(Default)]
struct AttemptBase {
    attempt: Option<Attempt>,
    /// The attempt's run.
    run: Option<Run>,
}

/// A run, with what of it is looked at.
pub(super) struct EarlierRun {
    pub id: RunId,
    pub run: Run,
    pub atoms: RunAtoms,
}

/// The open failures that this run may say something about, whether it is recorded already or not.
pub(super) fn open_failures(
    projects: &mut Projects,
    store: &Store,
    recorded: RecordedRun<'_>,
) -> Result<Vec<OpenFailure>, StoreError> {
    let RecordedRun { id, run } = recorded;
    let Some(scope) = &run.scope else { return Ok(Vec::new()) };
    let days = projects.fix_settings(run.root.path()).open_days;
    let age = i64::try_from(days.saturating_mul(86_400_000_000)).unwrap_or(i64::MAX);
    let since = Timestamp(run.ended_at.0.saturating_sub(age));
    let mut by_key: BTreeMap<String, Vec<OpenFailingRun>> = BTreeMap::new();
    for open in store.index().open_runs(&scope.class, since, run.ended_at, id)? {
        if !is_cancelled(open.ended) {
            by_key.entry(open.key.clone()).or_default().push(open);
        }
    }
    let mut groups: Vec<_> = by_key.into_iter().collect();
    groups.sort_by_key(|(_, runs)| std::cmp::Reverse(runs.last().map(|run| (run.ended_at, run.run))));
    groups.truncate(OPEN_FAILURES_MAX);
    // Of a team's failures most are open somewhere else.
    if let Some(new) = &run.commit {
        let elsewhere = groups.iter().flat_map(|(_, runs)| runs).filter(|open| open.branch != run.branch);
        let olds: Vec<&str> = elsewhere.filter_map(|open| open.commit.as_deref()).filter(|old| old != new).collect();
        projects.prefetch_ancestry(run.root.path(), &olds, new);
    }
    let mut found = Vec::new();
    for (key, mut runs) in groups {
        runs.retain(|open| {
            changes::is_same_line_of_work(projects, run, open.branch.as_deref(), open.commit.as_deref())
        });
        let Some(last) = runs.last() else { continue };
        let Some(before) = store.index().read_run(store.segments(), &last.run.to_string())? else { continue };
        let Some(scope) = before.scope.clone() else { continue };
        let fix = ids::fix(&key, runs[0].run);
        let attempt = store.index().last_attempt(store.segments(), &fix, (last.ended_at, run.ended_at), id)?;
        let unseen = attempt.as_ref().map_or(Ok(Vec::new()), |attempt| earlier_runs(store, &attempt.unseen))?;
        let attempt = attempt.filter(|attempt| attempt.run != last.run);
        let base = match &attempt {
            Some(attempt) => store.index().read_run(store.segments(), &attempt.run.to_string())?,
            None => None,
        };
        found.push(OpenFailure { key, runs, before, scope, base: AttemptBase { attempt, run: base }, unseen });
    }
    Ok(found)
}

/// The runs with the atoms that no later one looked at; none of one that was purged.
fn earlier_runs(store: &Store, unseen: &[UnseenAtoms]) -> Result<Vec<EarlierRun>, StoreError> {
    let mut found = Vec::new();
    for UnseenAtoms { run: id, atoms: hashes } in unseen {
        let Some(run) = store.index().read_run(store.segments(), &id.to_string())? else { continue };
        let hashes: HashSet<&String> = hashes.iter().collect();
        let mut atoms = fix::atoms_of_run(&run);
        atoms.0.retain(|atom| hashes.contains(&atom.hash));
        found.push(EarlierRun { id: *id, run, atoms });
    }
    Ok(found)
}

impl OpenFailure {
    pub(super) fn first_run(&self) -> &OpenFailingRun {
        &self.runs[0]
    }

    fn last_run(&self) -> &OpenFailingRun {
        &self.runs[self.runs.len() - 1]
    }

    /// The most tests that ran in a run of the failure that is looked at, and how many ran in `pass`. `None` where one
    /// of them doesn't say, where another check ran, which may well have fewer, and where the same command chooses
    /// others from run to run.
    pub(super) fn count_attempts(&self, store: &Store, pass: &Run) -> Result<Option<TestCounts>, StoreError> {
        if self.key != pass.key || fix::selects_anew(pass) {
            return Ok(None);
        }
        let Some(after) = pass.tests else { return Ok(None) };
        let first = if self.first_run().run == self.last_run().run {
            None
        } else {
            store.index().read_run(store.segments(), &self.first_run().run.to_string())?
        };
        let before = first.and_then(|first| first.tests).max(self.before.tests);
        Ok(before.map(|before| TestCounts { before, after }))
    }

    /// What is open of the last failing run.
    pub(super) fn open_atoms(&self) -> RunAtoms {
        let mut open = fix::atoms_of_run(&self.before);
        let remaining = self.base.attempt.as_ref().and_then(|attempt| attempt.remaining.as_ref());
        if let Some(remaining) = remaining {
            open.0.retain(|atom| remaining.contains(&atom.hash));
        }
        open
    }

    /// What no run has looked at since it was shown, the newest last: of the last failing run, where the same check followed,
    /// and of earlier ones.
    pub(super) fn still_unseen(&self, after_last: Option<&RunAtoms>, after_earlier: &[&RunAtoms]) -> Vec<UnseenAtoms> {
        let earlier = self.unseen.iter().map(|shown| shown.id).zip(after_earlier.iter().copied());
        let of = |(run, atoms): (RunId, &RunAtoms)| UnseenAtoms {
            run,
            atoms: atoms.0.iter().map(|atom| atom.hash.clone()).collect(),
        };
        let mut unseen: Vec<UnseenAtoms> =
            earlier.chain(after_last.map(|atoms| (self.last_run().run, atoms))).map(of).collect();
        unseen.retain(|unseen| !unseen.atoms.is_empty());
        unseen.drain(..unseen.len().saturating_sub(EARLIER_RUNS_MAX));
        unseen
    }

    /// The run that the next attempt goes on from.
    pub(super) fn attempt_base(&self) -> &Run {
        self.base.run.as_ref().unwrap_or(&self.before)
    }

    pub(super) fn attempt_base_id(&self) -> RunId {
        match (&self.base.attempt, &self.base.run) {
            (Some(attempt), Some(_)) => attempt.run,
            _ => self.last_run().run,
        }
    }
}
