//! After a run: what it says about the failures that were open. Attempts, and what of them is written into
//! lessons and markers. Everything is computed from what is recorded already, under ids that follow from it, so that
//! doing it twice changes nothing.

use std::collections::BTreeSet;
use std::fs;

use super::assemble::is_cancelled;
use super::attribution::{self, Attribution, Failing};
use super::changes::{self, RecordedChange, Weakened};
use super::open::{Stretch, open_failures};
use super::steps::{Projects, mark_open};
use super::{Drained, flakes, lessons};
use crate::base::clock::Timestamp;
use crate::base::file::{self, Durability};
use crate::base::ids::RunId;
use crate::command::KeyParts;
use crate::config::{Places, StateDir};
use crate::event::{
    Attempt, AttemptMeans, AttemptOutcome, Event, EventBody, FileChange, Flake, Run, Scope, UnseenAtoms,
    WeakenedCheckRecord,
};
use crate::fix::{self, Atoms, Reach, Sets, Sight};
use crate::store::{Store, StoreError};

/// A run that is recorded, with its id.
#[derive(Clone, Copy)]
pub(super) struct RecordedRun<'a> {
    pub id: RunId,
    pub run: &'a Run,
}

/// What a run said about one stretch.
struct RunVerdict<'a> {
    outcome: AttemptOutcome,
    parts: Vec<RunComparison<'a>>,
    remaining: Option<Vec<String>>,
    unseen: Vec<UnseenAtoms>,
    weakened: Vec<WeakenedCheckRecord>,
}

/// What a run said about what an earlier one showed: what was done since then is what may have fixed it.
pub(super) struct RunComparison<'a> {
    /// The run that it is compared with.
    pub from: (RunId, &'a Run),
    /// That run, where it isn't the last one.
    shown: Option<RunId>,
    pub sets: Sets,
    pub change: RecordedChange,
    attribution: Attribution,
}

/// The open failures that a run may say something about; none where nothing is learnt from it. Only what the run is
/// counts, not what it said: it needs neither its failure nor to be recorded.
///
/// # Errors
/// When the store can't be read.
pub(super) fn open_at(
    projects: &mut Projects<'_>,
    store: &Store,
    recorded: RecordedRun<'_>,
) -> Result<Vec<Stretch>, StoreError> {
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
    projects: &mut Projects<'_>,
    store: &mut Store,
    recorded: RecordedRun<'_>,
    stretches: Vec<Stretch>,
    drained: &mut Drained,
) -> Result<(), StoreError> {
    let run = recorded.run;
    let Some(scope) = &run.scope else { return mark_open(projects.project_places(), store, &run.key) };
    if !projects.learns_in(run.root.path()) {
        return mark_open(projects.project_places(), store, &run.key);
    }
    let mut closed = Vec::new();
    let mut open = Vec::new();
    // Only now it is known what it said.
    let stretches = if says_nothing(run) { Vec::new() } else { stretches };
    for stretch in stretches {
        match judge_open_failure(projects, store, recorded, &stretch, &mut drained.notes)? {
            Some(verdict) => {
                let is_closed = verdict.outcome == AttemptOutcome::Success;
                write_attempt(projects, store, recorded, &stretch, verdict, drained)?;
                if is_closed { &mut closed } else { &mut open }.push(stretch.scope);
            }
            None => open.push(stretch.scope),
        }
    }
    if !run.ended.passed() && !says_nothing(run) {
        flakes::after_pass(projects, store, recorded)?;
        open.push(scope.clone());
    }
    mark_open(projects.project_places(), store, &run.key)?;
    mark_covering(projects.project_places(), run, &open, &closed);
    Ok(())
}

/// What the run says about a stretch; `None` when it didn't look at any of it.
fn judge_open_failure<'a>(
    projects: &mut Projects<'_>,
    store: &Store,
    recorded: RecordedRun<'_>,
    stretch: &'a Stretch,
    notes: &mut Vec<String>,
) -> Result<Option<RunVerdict<'a>>, StoreError> {
    let run = recorded.run;
    let same = stretch.key == run.key;
    let Some((last, earlier)) = compare_with_run(run, stretch, same) else { return Ok(None) };
    let whole = earlier.iter().fold(last.clone(), Sets::merged_with);
    // Another check that fails as well is not an attempt at this one.
    if !same && whole.fixed.is_empty() {
        return Ok(None);
    }
    let outcome = whole.attempt_outcome(same);
    let (first, since) = (stretch.first_run(), (stretch.since_run(), stretch.attempt_base()));
    let (from, counts) = match outcome {
        // Over all attempts: an earlier one may have weakened what passes only now.
        AttemptOutcome::Success => ((first.run, first.commit.as_deref()), stretch.count_attempts(store, run)?),
        // A run that fails may end early.
        _ => ((since.0, since.1.commit.as_deref()), None),
    };
    let weakened =
        if whole.fixed.is_empty() { None } else { Weakened::begin_check(projects, store, from, recorded, counts)? };
    let remaining = (!same && outcome != AttemptOutcome::Success).then(|| {
        let open = last.persisted.0.iter().chain(&last.not_reached.0);
        open.map(|atom| atom.hash.clone()).collect()
    });
    let not_reached: Vec<&Atoms> = earlier.iter().map(|sets| &sets.not_reached).collect();
    let unseen = stretch.still_unseen(same.then_some(&last.not_reached), &not_reached);
    let mut parts = Vec::new();
    if same || !last.fixed.is_empty() {
        parts.push((since, last, None));
    }
    for (shown, sets) in stretch.unseen.iter().zip(earlier).filter(|(_, sets)| !sets.fixed.is_empty()) {
        parts.push(((shown.id, &shown.run), sets, Some(shown.id)));
    }
    let mut looked = Vec::with_capacity(parts.len());
    for (from, sets, shown) in parts {
        let mut change = changes::changes_between(projects, store, from, recorded, notes)?;
        // Between them may be a run of another check, which says nothing of this failure.
        let failed = if from.1.failure.is_some() { from.1 } else { &stretch.before };
        let failing = Failing { run: failed, commit: first.commit.as_deref(), since: first.started_at };
        let attribution = attribution::attribute_changes(projects, store, failing, &sets, &change, notes)?;
        change.diff = fix::related_first(&change.diff, &attribution.related, &change.files);
        looked.push(RunComparison { from, shown, sets, change, attribution });
    }
    let weakened = weakened.map_or_else(Vec::new, |weakened| weakened.end_check(notes));
    Ok(Some(RunVerdict { outcome, parts: looked, remaining, unseen, weakened }))
}

/// What became of what the last failing run showed, and of what only each earlier one did; `None` when the run looked at
/// nothing of it.
fn compare_with_run(run: &Run, stretch: &Stretch, same: bool) -> Option<(Sets, Vec<Sets>)> {
    let reach = if same { Reach::All } else { fix::compare_scopes(run.scope.as_ref()?, &stretch.scope) };
    let open = stretch.open_atoms();
    let unseen = stretch.unseen.iter().flat_map(|shown| &shown.atoms.0);
    let all = Atoms(open.0.iter().chain(unseen).cloned().collect());
    if all.0.iter().all(|atom| !reach.covers_atom(atom)) {
        return None;
    }
    let after = fix::atoms_of_run(run);
    let compare = |shown: &Run, atoms: &Atoms| {
        // It said that something is wrong, not what: that is so as long as anything is.
        if fix::is_silent(shown) && run.failure.is_some() {
            return Sets { persisted: atoms.clone(), ..Sets::default() };
        }
        let category = shown.failure.as_ref().map_or("", |failure| failure.category.as_str());
        let (stops, sight) = (fix::stops_at(run, category), Sight::of_run(shown, run));
        let would_show = |atom: &_| reach.covers_atom(atom) && stops.is_reached(atom) && sight.covers_atom(atom);
        Sets { introduced: Atoms::default(), ..fix::compare_atoms(atoms, &after, would_show) }
    };
    let mut last = compare(&stretch.before, &open);
    if same {
        let new = fix::compare_atoms(&all, &after, |_| true).introduced;
        last.introduced = fix::known_as_new(new, &stretch.before, run);
    }
    Some((last, stretch.unseen.iter().map(|shown| compare(&shown.run, &shown.atoms)).collect()))
}

/// Writes the attempts, and the flakes among them; then what follows in lessons.
fn write_attempt(
    projects: &mut Projects<'_>,
    store: &mut Store,
    recorded: RecordedRun<'_>,
    stretch: &Stretch,
    verdict: RunVerdict<'_>,
    drained: &mut Drained,
) -> Result<(), StoreError> {
    let (mut events, mut written) = (Vec::new(), Vec::new());
    for part in &verdict.parts {
        let flake = flakes::after_attempt(store, recorded, stretch, part)?;
        let attempt = new_attempt(recorded, stretch, &verdict, part);
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
    let runs = runs_by_part(store, stretch, &written)?;
    for ((attempt, flake), runs) in written.iter().zip(runs) {
        lessons::close_lessons(projects, store, (stretch, &runs), attempt, flake.as_ref(), drained)?;
    }
    Ok(())
}

/// The failing runs that each attempt is about: of what only an earlier one showed, those up to it that showed it; the
/// first attempt has all others.
fn runs_by_part(
    store: &Store,
    stretch: &Stretch,
    written: &[(Attempt, Option<Flake>)],
) -> Result<Vec<Vec<RunId>>, StoreError> {
    let mut runs = vec![Vec::new(); written.len()];
    for open in &stretch.runs {
        let mut of = 0;
        if written.len() > 1 {
            let about = store.index().patterns_of_run(open.run)?;
            let is_about = |(attempt, _): &(Attempt, Option<Flake>)| {
                let is_fixed = |pattern: &String| attempt.fixed.first.iter().any(|atom| atom.pattern == *pattern);
                let shown = stretch.unseen.iter().find(|shown| shown.id == attempt.before);
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
    stretch: &Stretch,
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
        // What says not what is wrong can't be told from anything else that is.
        _ if attribution.undo || fix::is_silent(earlier) => Vec::new(),
        AttemptMeans::Edit => {
            let is_related = |file: &&FileChange| attribution.related.contains(&file.path);
            let files: Vec<FileChange> = change.files.iter().filter(is_related).cloned().collect();
            let diff = fix::only_related(&change.diff, &attribution.related, &change.files);
            fix::recipes_of_attempt(&files, change.files_cut, &diff, &change.commands, &change.surroundings.changed)
        }
        AttemptMeans::Command | AttemptMeans::Unknown => {
            let by_hand = |file: &&FileChange| !fix::is_derived(&file.path.display());
            let files: Vec<FileChange> = change.files.iter().filter(by_hand).cloned().collect();
            fix::recipes_of_attempt(
                &files,
                change.files_cut,
                &change.diff,
                &change.commands,
                &change.surroundings.changed,
            )
        }
    };
    Attempt {
        key: stretch.key.clone(),
        run: id,
        opened_by: stretch.first_run().run,
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
        surroundings: change.surroundings.changed.clone(),
        recipes,
        also_changed: attribution.also_changed.clone(),
        undo: attribution.undo,
        weakened: verdict.weakened.clone(),
    }
}

/// Markers of the checks whose pass would close an open failure too: the wrapper then keeps their output and starts a
/// recorder at once.
fn mark_covering(places: &Places, run: &Run, open: &[Scope], closed: &[Scope]) {
    let keys = |scopes: &[Scope]| -> BTreeSet<String> {
        let covering = scopes.iter().flat_map(fix::covering_scopes);
        covering.map(|scope| key_of(run, &scope)).filter(|key| *key != run.key).collect()
    };
    let wanted = keys(open);
    let own: BTreeSet<String> = open.iter().map(|scope| key_of(run, scope)).collect();
    let (folder, marker) =
        (places.state.open_markers(), |key: &str| places.state.open_marker(&StateDir::key_name(key)));
    for key in keys(closed).iter().chain(&closed.iter().map(|scope| key_of(run, scope)).collect::<Vec<_>>()) {
        if !wanted.contains(key) && !own.contains(key) && *key != run.key {
            let _ = fs::remove_file(marker(key));
        }
    }
    for key in wanted {
        let marker = marker(&key);
        if !marker.exists() {
            let made = file::create_private_dir(&folder);
            // Nothing depends on it but the wrapper's choice of what to keep.
            let _ = made.and_then(|()| file::write_atomic(&marker, b"", 0o600, Durability::Cached));
        }
    }
}

/// The command key of a scope in the work tree of a run and of its kind.
fn key_of(run: &Run, scope: &Scope) -> String {
    let mut selectors: Vec<String> = scope.selectors.iter().chain(&scope.sub).cloned().collect();
    if run.tool.is_some() {
        selectors.sort();
    }
    let parts = KeyParts {
        worktree: run.root.path().to_owned(),
        subject: scope.subject.clone(),
        kind: run.check.map(|kind| kind.as_str().to_owned()).unwrap_or_default(),
        directory: scope.dir.path().to_owned(),
        selectors: selectors.into_iter().map(Into::into).collect(),
    };
    parts.hash()
}
