//! Flakes: runs over one tree with different results. Proven when everything around them is known to be the same, else
//! suspected, and it says why.

use std::collections::BTreeSet;

use super::changes;
use super::comparison::RunComparison;
use super::context::Recorder;
use super::open_failures::OpenFailure;
use super::projects::RecordedRun;
use crate::base::clock::Timestamp;
use crate::base::ids::RunId;
use crate::event::{AttemptMeans, Event, EventBody, Flake, FlakeProof, Run};
use crate::fix::{self, RunAtoms};
use crate::store::{Store, StoreError};

/// Failing runs in a row over one tree that say more for a cause outside of it than for chance.
const REPEATED: usize = 2;

/// The flake that a run shows which found something else than the one before it without anything having changed.
pub(super) fn after_attempt(
    store: &Store,
    recorded: RecordedRun<'_>,
    failure: &OpenFailure,
    part: &RunComparison<'_>,
) -> Result<Option<Flake>, StoreError> {
    let RecordedRun { id, run } = recorded;
    let RunComparison { from: (before, earlier), sets, change, .. } = part;
    if !are_comparable(earlier, run) {
        return Ok(None);
    }
    // What the first one didn't get to is no evidence when the second one shows it.
    let stops = fix::stops_at(earlier, "");
    let introduced = sets.introduced.0.iter().filter(|atom| stops.is_reached(atom));
    let moved = RunAtoms(sets.fixed.0.iter().chain(introduced).cloned().collect());
    let Some(trees) = change.trees.as_ref().filter(|_| change.means == AttemptMeans::None && !moved.is_empty()) else {
        return Ok(None);
    };
    let runs = if sets.fixed.is_empty() { [*before, id] } else { [id, *before] };
    let same_tree = failure.runs.iter().rev().take(REPEATED + 1);
    let mut failed = 0;
    for open in same_tree {
        failed += usize::from(
            store
                .index()
                .snapshot_of_run(&open.run.to_string())?
                .is_some_and(|row| row.tree.as_deref() == Some(&trees.before)),
        );
    }
    let doubts = [
        (!trees.exact, "a file may have changed while one of them ran"),
        (change.dependency_changes.unsure, "installed packages or local settings changed afterwards"),
        (failed >= REPEATED, "it had failed more than once in a row, so something outside the tree may have changed"),
    ];
    let doubts = doubts.into_iter().filter(|(holds, _)| *holds).map(|(_, why)| why);
    let doubts: Vec<&str> = doubts.chain(environment_differences(earlier, run)).collect();
    let what = if run.ended.passed() { "failed, then passed" } else { "failed twice with different results" };
    let tree = &trees.before[..trees.before.len().min(10)];
    let (proof, why) = if doubts.is_empty() {
        (FlakeProof::Proven, format!("{what} over the same tree {tree} with nothing recorded in between"))
    } else {
        (FlakeProof::Suspected, format!("{what} over the same tree {tree}, but {}", doubts.join("; ")))
    };
    Ok(Some(new_flake(recorded, failure.key.clone(), &moved, runs, proof, why)))
}

/// Whether the same tests ran in the same way, and all that both runs printed was seen: only then is a difference in what
/// they report one in what they found.
fn are_comparable(one: &Run, other: &Run) -> bool {
    one.key == other.key
        && fix::is_same_call(one, other)
        && !fix::selects_anew(other)
        && [one, other].into_iter().all(fix::is_seen_whole)
}

fn new_flake(
    recorded: RecordedRun<'_>,
    key: String,
    atoms: &RunAtoms,
    runs: [RunId; 2],
    proof: FlakeProof,
    why: String,
) -> Flake {
    let run = recorded.run;
    let patterns: BTreeSet<&str> = atoms.0.iter().map(|atom| atom.pattern.as_str()).collect();
    Flake {
        key,
        patterns: patterns.into_iter().map(str::to_owned).collect(),
        atoms: atoms.to_list(),
        runs,
        root: run.root.clone(),
        task: run.task.clone(),
        ended_at: run.ended_at,
        proof,
        why,
    }
}

/// A check that passed and now fails over the same tree: a flake perhaps, or something outside of the tree broke.
pub(super) fn after_pass(recorder: &mut Recorder<'_>, recorded: RecordedRun<'_>) -> Result<(), StoreError> {
    let RecordedRun { id, run } = recorded;
    let Recorder { projects, store, .. } = recorder;
    let passed = store.index().last_passing_tree(&run.key, &run.root, run.started_at, id)?;
    let mine = store.index().snapshot_of_run(&id.to_string())?;
    let (Some(passed), Some(mine)) = (passed, mine) else { return Ok(()) };
    if mine.tree.as_ref() != Some(&passed.tree) || !mine.exact || !passed.exact {
        return Ok(());
    }
    let Some(before) = store.index().read_run(store.segments(), &passed.run.to_string())? else { return Ok(()) };
    if !are_comparable(&before, run) {
        return Ok(());
    }
    let follows = store.index().is_next_run(&run.key, passed.run, id)?;
    let change = changes::context_between(store, &before, run)?;
    let unchanged = change.dependency_changes.changed.is_empty()
        && !change.dependency_changes.unsure
        && !change.has_changing_command();
    if !follows
        || !unchanged
        || !changes::is_same_line_of_work(projects, run, before.branch.as_deref(), before.commit.as_deref())
    {
        return Ok(());
    }
    let tree = &passed.tree[..passed.tree.len().min(10)];
    let why = format!("passed, then failed over the same tree {tree}; not run again yet");
    let flake =
        new_flake(recorded, run.key.clone(), &fix::atoms_of_run(run), [passed.run, id], FlakeProof::Suspected, why);
    let parts = [id.to_string(), run.key.clone(), "after a pass".to_owned()];
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let event = Event::with_derived_id(
        "flake",
        &parts,
        Timestamp::now(),
        store.writer_name(),
        EventBody::Flake(Box::new(flake)),
    );
    if store.index().has_event(RunId(event.id))? {
        return Ok(());
    }
    store.append_unsynced(&[event])
}

/// What differs around two runs or isn't known of both: variables and programs.
fn environment_differences(before: &Run, after: &Run) -> Vec<&'static str> {
    let environment = match (&before.environment, &after.environment) {
        (Some(before), Some(after)) if before == after => None,
        (Some(_), Some(_)) => Some("environment variables that affect checks differed"),
        _ => Some("whether environment variables were the same is unknown"),
    };
    let program = match (&before.program, &after.program) {
        (Some(before), Some(after)) if before == after => None,
        (Some(_), Some(_)) => Some("its program was changed in between"),
        _ => Some("whether its program was the same is unknown"),
    };
    environment.into_iter().chain(program).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::sample;

    fn run(environment: Option<&str>, program: Option<&str>) -> Run {
        match sample::passed_run(1, "main").body {
            EventBody::Run(run) => {
                let (environment, program) = (environment.map(str::to_owned), program.map(str::to_owned));
                Run { environment, program, ..*run }
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_differs_or_is_not_known_around_two_runs_is_said() {
        let same = run(Some("e"), Some("p"));
        assert_eq!(environment_differences(&same, &same), Vec::<&str>::new());
        let seen = |environment, program| {
            let other = run(environment, program);
            assert_eq!(environment_differences(&same, &other), environment_differences(&other, &same));
            environment_differences(&same, &other).join(", ")
        };
        assert_eq!(seen(Some("f"), Some("p")), "environment variables that affect checks differed");
        assert_eq!(seen(Some("e"), Some("q")), "its program was changed in between");
        assert_eq!(seen(None, Some("p")), "whether environment variables were the same is unknown");
        assert_eq!(seen(Some("e"), None), "whether its program was the same is unknown");
        assert_eq!(environment_differences(&same, &run(None, Some("q"))).len(), 2);
        // Not known of both is not known to be the same.
        assert_eq!(environment_differences(&run(None, None), &run(None, None)).len(), 2);
    }
}
