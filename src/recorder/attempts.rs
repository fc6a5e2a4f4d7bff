//! Matches a finished run against the open failures of its check: records attempts, updates lessons and markers.
//! Everything is computed from what is recorded already, under ids that follow from it, so that doing it twice changes
//! nothing.

use super::assemble::is_cancelled;
use super::comparison::{RunComparison, RunVerdict, judge_open_failure};
use super::context::Recorder;
use super::markers::{mark_covering, mark_open};
use super::open_failures::{OpenFailure, open_failures};
use super::projects::RecordedRun;
use super::{flakes, lessons};
use crate::base::clock::Timestamp;
use crate::base::ids::RunId;
use crate::event::{Attempt, AttemptMeans, AttemptOutcome, Event, EventBody, FileChange, Flake, Run};
use crate::fix;
use crate::store::{Store, StoreError};

/// The open failures that a run may say something about; none where nothing is learnt from it. Only what the run is
/// counts, not what it said: it needs neither its failure nor to be recorded.
///
/// # Errors
/// When the store can't be read.
pub(super) fn open_failures_of(
    recorder: &mut Recorder<'_>,
    recorded: RecordedRun<'_>,
) -> Result<Vec<OpenFailure>, StoreError> {
    let Recorder { projects, store, .. } = recorder;
    let learns = projects.learns_in(recorded.run.root.path());
    if learns && !says_nothing(recorded.run) { open_failures(projects, store, recorded) } else { Ok(Vec::new()) }
}

/// Whether nothing follows from how the run ended.
fn says_nothing(run: &Run) -> bool {
    let has_own_status = run.scope.as_ref().is_none_or(|scope| !scope.foreign_status);
    let is_unwanted = run.failure.as_ref().is_some_and(|failure| failure.lesson.is_uninformative());
    is_cancelled(run.ended) || is_unwanted || (run.ended.passed() && !has_own_status)
}

/// Records what a run says about the failures that were open, and keeps the markers up to date.
///
/// # Errors
/// When the store can't be read or written.
pub(super) fn after_run(
    recorder: &mut Recorder<'_>,
    recorded: RecordedRun<'_>,
    failures: Vec<OpenFailure>,
) -> Result<(), StoreError> {
    let run = recorded.run;
    let learns = recorder.projects.learns_in(run.root.path());
    let Some(scope) = run.scope.as_ref().filter(|_| learns) else {
        return mark_open(recorder.projects.project_places(), recorder.store, &run.key);
    };
    let mut closed = Vec::new();
    let mut open = Vec::new();
    // Only now it is known what it said.
    let failures = if says_nothing(run) { Vec::new() } else { failures };
    for failure in failures {
        match judge_open_failure(recorder, recorded, &failure)? {
            Some(verdict) => {
                let is_closed = verdict.outcome == AttemptOutcome::Success;
                write_attempt(recorder, recorded, &failure, verdict)?;
                if is_closed { &mut closed } else { &mut open }.push(failure.scope);
            }
            None => open.push(failure.scope),
        }
    }
    if !run.ended.passed() && !says_nothing(run) {
        flakes::after_pass(recorder, recorded)?;
        open.push(scope.clone());
    }
    mark_open(recorder.projects.project_places(), recorder.store, &run.key)?;
    mark_covering(recorder.projects.project_places(), run, &open, &closed);
    Ok(())
}

/// Writes the attempts, and the flakes among them; then what follows in lessons.
fn write_attempt(
    recorder: &mut Recorder<'_>,
    recorded: RecordedRun<'_>,
    failure: &OpenFailure,
    verdict: RunVerdict<'_>,
) -> Result<(), StoreError> {
    let store = &mut *recorder.store;
    let (mut events, mut written) = (Vec::new(), Vec::new());
    for part in &verdict.parts {
        let flake = flakes::after_attempt(store, recorded, failure, part)?;
        let attempt = new_attempt(recorded, failure, &verdict, part);
        let shown = part.shown.map(|run| run.to_string());
        let parts = [recorded.id.to_string(), attempt.key.clone()];
        let parts: Vec<&str> = parts.iter().chain(&shown).map(String::as_str).collect();
        let bodies = [
            Some(("attempt", EventBody::Attempt(Box::new(attempt.clone())))),
            flake.clone().map(|flake| ("flake", EventBody::Flake(Box::new(flake)))),
        ];
        for (kind, body) in bodies.into_iter().flatten() {
            let event = Event::with_derived_id(kind, &parts, Timestamp::now(), store.writer_name(), body);
            if !store.index().has_event(RunId(event.id))? {
                events.push(event);
            }
        }
        written.push((attempt, flake));
    }
    store.append_unsynced(&events)?;
    if verdict.outcome != AttemptOutcome::Success || verdict.weakened.iter().any(|mark| mark.certain) {
        return Ok(());
    }
    // Before a lesson says so.
    store.sync()?;
    let runs = runs_by_part(store, failure, &written)?;
    for ((attempt, flake), runs) in written.iter().zip(runs) {
        lessons::close_lessons(recorder, failure, &runs, attempt, flake.as_ref())?;
    }
    Ok(())
}

/// The failing runs that each attempt is about: of what only an earlier one showed, those up to it that showed it; the
/// first attempt has all others.
fn runs_by_part(
    store: &Store,
    failure: &OpenFailure,
    written: &[(Attempt, Option<Flake>)],
) -> Result<Vec<Vec<RunId>>, StoreError> {
    let mut runs = vec![Vec::new(); written.len()];
    for open in &failure.runs {
        let mut of = 0;
        if written.len() > 1 {
            let about = store.index().patterns_of_run(open.run)?;
            let is_about = |(attempt, _): &(Attempt, Option<Flake>)| {
                let is_fixed = |pattern: &String| attempt.fixed.first.iter().any(|atom| atom.pattern == *pattern);
                let shown = failure.unseen.iter().find(|shown| shown.id == attempt.before);
                shown.is_some_and(|shown| open.ended_at <= shown.run.ended_at) && about.iter().any(is_fixed)
            };
            of = written.iter().position(is_about).unwrap_or(0);
        }
        if let Some(runs) = runs.get_mut(of) {
            runs.push(open.run);
        }
    }
    Ok(runs)
}

fn new_attempt(
    recorded: RecordedRun<'_>,
    failure: &OpenFailure,
    verdict: &RunVerdict<'_>,
    part: &RunComparison<'_>,
) -> Attempt {
    let RecordedRun { id, run } = recorded;
    let RunComparison { from: (before, earlier), sets, change, attribution, .. } = part;
    let outcome = match verdict.outcome {
        AttemptOutcome::Success => AttemptOutcome::Success,
        _ if sets.fixed.is_empty() => AttemptOutcome::Failure,
        _ => AttemptOutcome::Partial,
    };
    let recipes = match change.means {
        AttemptMeans::None => Vec::new(),
        // What does not say what is wrong cannot be distinguished from other failures.
        _ if attribution.undo || fix::is_silent(earlier) => Vec::new(),
        AttemptMeans::Edit => {
            let is_related = |file: &&FileChange| attribution.related.contains(&file.path);
            let files: Vec<FileChange> = change.files.iter().filter(is_related).cloned().collect();
            let diff = fix::only_related(&change.diff, &attribution.related, &change.files);
            fix::recipes_of_attempt(
                &files,
                change.files_cut,
                &diff,
                &change.commands,
                &change.dependency_changes.changed,
            )
        }
        AttemptMeans::Command | AttemptMeans::Unknown => {
            let by_hand = |file: &&FileChange| !fix::is_derived(&file.path.display());
            let files: Vec<FileChange> = change.files.iter().filter(by_hand).cloned().collect();
            fix::recipes_of_attempt(
                &files,
                change.files_cut,
                &change.diff,
                &change.commands,
                &change.dependency_changes.changed,
            )
        }
    };
    Attempt {
        key: failure.key.clone(),
        run: id,
        opened_by: failure.first_run().run,
        before: *before,
        root: run.root.clone(),
        task: run.task.clone(),
        ended_at: run.ended_at,
        duration_us: run.ended_at.micros_since(earlier.ended_at),
        outcome,
        means: change.means,
        fixed: sets.fixed.to_list(),
        introduced: sets.introduced.to_list(),
        persisted: sets.persisted.to_list(),
        not_reached: sets.not_reached.to_list(),
        remaining: verdict.remaining.clone(),
        unseen: verdict.unseen.clone(),
        trees: change.trees.clone(),
        files: change.files.clone(),
        files_cut: change.files_cut,
        diff: change.diff.clone(),
        diff_cut: change.diff_cut,
        came_with_base: change.came_with_base.len(),
        commands: change.commands.clone(),
        commands_cut: change.commands_cut,
        changed_dependencies: change.dependency_changes.changed.clone(),
        recipes,
        also_changed: attribution.also_changed.clone(),
        undo: attribution.undo,
        weakened: verdict.weakened.clone(),
    }
}
