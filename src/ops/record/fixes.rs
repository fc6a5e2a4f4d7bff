//! After a run: what it says about the failures that were open. Attempts, and what of them is written into
//! lessons and markers. Everything is computed from what is recorded already, under ids that follow from it, so that
//! doing it twice changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::assemble::is_cancelled;
use super::changes::{self, Change, Weakened};
use super::steps::{Projects, file_name, mark_open};
use super::{Drained, assemble, flakes};
use crate::base::clock::Timestamp;
use crate::base::file::{self, Durability};
use crate::base::ids::{self, RunId};
use crate::command::KeyParts;
use crate::config::Places;
use crate::fix::weakened::Counts;
use crate::fix::{self, Atoms, Reach, Sets};
use crate::lesson::{FixFacts, FixPart};
use crate::store::{
    AtomList, Attempt, Body, Event, FileChange, FixRow, Flake, Mark, Means, OpenRun, Outcome, Proof, Run, Scope, Store,
    StoreError,
};

/// Open failures of one class that a run is compared with; the newest ones.
const STRETCHES_MAX: usize = 32;
/// Lessons that one fix is written into.
const LESSONS_MAX: usize = 10;

/// A run that is recorded, with its id.
#[derive(Clone, Copy)]
pub(super) struct Recorded<'a> {
    pub id: RunId,
    pub run: &'a Run,
}

/// A failure that is open: the failing runs of one key since it last passed.
pub(super) struct Stretch {
    pub key: String,
    /// The oldest first; never empty.
    pub runs: Vec<OpenRun>,
    /// The last of them, as recorded.
    before: Run,
    scope: Scope,
    since: Since,
}

/// What the next attempt goes on from: the last failing run, unless a run of another check fixed some of it after that.
#[derive(Default)]
struct Since {
    attempt: Option<Attempt>,
    /// The attempt's run.
    run: Option<Run>,
}

/// What a run said about one stretch.
pub(super) struct Verdict {
    pub sets: Sets,
    outcome: Outcome,
    pub change: Change,
    weakened: Vec<Mark>,
}

/// Records what a run says about open failures, and keeps the markers up to date.
///
/// # Errors
/// When the store can't be read or written.
pub(super) fn after_run(
    projects: &mut Projects<'_>,
    store: &mut Store,
    recorded: Recorded<'_>,
    drained: &mut Drained,
) -> Result<(), StoreError> {
    let run = recorded.run;
    let Some(scope) = &run.scope else { return mark_open(projects.places(), store, &run.key) };
    if !projects.learns(run.root.path()) {
        return mark_open(projects.places(), store, &run.key);
    }
    let says_nothing = is_cancelled(run.ended) || (run.ended.passed() && scope.foreign_status);
    let mut closed = Vec::new();
    let mut open = Vec::new();
    if !says_nothing {
        for stretch in stretches(projects, store, recorded)? {
            match judge(projects, store, recorded, &stretch, &mut drained.notes)? {
                Some(verdict) => {
                    let is_closed = verdict.outcome == Outcome::Success;
                    write(projects, store, recorded, &stretch, verdict, drained)?;
                    if is_closed { &mut closed } else { &mut open }.push(stretch.scope);
                }
                None => open.push(stretch.scope),
            }
        }
        if !run.ended.passed() {
            flakes::after_pass(projects, store, recorded)?;
            open.push(scope.clone());
        }
    }
    mark_open(projects.places(), store, &run.key)?;
    mark_covering(projects.places(), run, &open, &closed);
    Ok(())
}

/// The open failures that this run may say something about.
fn stretches(projects: &mut Projects<'_>, store: &Store, recorded: Recorded<'_>) -> Result<Vec<Stretch>, StoreError> {
    let Recorded { id, run } = recorded;
    let Some(scope) = &run.scope else { return Ok(Vec::new()) };
    let days = projects.fix_settings(run.root.path()).open_days;
    let age = i64::try_from(days.saturating_mul(86_400_000_000)).unwrap_or(i64::MAX);
    let since = Timestamp(run.ended_at.0.saturating_sub(age));
    let mut by_key: BTreeMap<String, Vec<OpenRun>> = BTreeMap::new();
    for open in store.index().open_runs(&scope.class, since, run.ended_at, id)? {
        if !is_cancelled(open.ended) {
            by_key.entry(open.key.clone()).or_default().push(open);
        }
    }
    let mut groups: Vec<_> = by_key.into_iter().collect();
    groups.sort_by_key(|(_, runs)| std::cmp::Reverse(runs.last().map(|run| (run.ended_at, run.run))));
    groups.truncate(STRETCHES_MAX);
    // Of a team's failures most are open somewhere else.
    if let Some(new) = &run.commit {
        let elsewhere = groups.iter().flat_map(|(_, runs)| runs).filter(|open| open.branch != run.branch);
        let olds: Vec<&str> = elsewhere.filter_map(|open| open.commit.as_deref()).filter(|old| old != new).collect();
        projects.learn_history(run.root.path(), &olds, new);
    }
    let mut found = Vec::new();
    for (key, mut runs) in groups {
        runs.retain(|open| changes::continues(projects, run, open.branch.as_deref(), open.commit.as_deref()));
        let Some(last) = runs.last() else { continue };
        let Some(before) = store.index().run(store.segments(), &last.run.to_string())? else { continue };
        let Some(scope) = before.scope.clone() else { continue };
        let fix = ids::fix(&key, runs[0].run);
        let attempt = store.index().last_attempt(store.segments(), &fix, last.ended_at, id)?;
        let attempt = attempt.filter(|attempt| attempt.run != last.run);
        let since = match &attempt {
            Some(attempt) => store.index().run(store.segments(), &attempt.run.to_string())?,
            None => None,
        };
        found.push(Stretch { key, runs, before, scope, since: Since { attempt, run: since } });
    }
    Ok(found)
}

/// What the run says about a stretch; `None` when it didn't look at any of it.
fn judge(
    projects: &mut Projects<'_>,
    store: &Store,
    recorded: Recorded<'_>,
    stretch: &Stretch,
    notes: &mut Vec<String>,
) -> Result<Option<Verdict>, StoreError> {
    let run = recorded.run;
    let Some(scope) = &run.scope else { return Ok(None) };
    let same = stretch.key == run.key;
    let reach = if same { Reach::All } else { fix::reach(scope, &stretch.scope) };
    let mut before = fix::atoms_of_run(&stretch.before);
    let remaining = stretch.since.attempt.as_ref().and_then(|attempt| attempt.remaining.as_ref());
    if let Some(remaining) = remaining {
        before.0.retain(|atom| remaining.contains(&atom.hash));
    }
    if before.0.iter().all(|atom| !reach.covers(atom)) {
        return Ok(None);
    }
    let category = stretch.before.failure.as_ref().map_or("", |failure| failure.category.as_str());
    let stops = fix::stops_at(run, category);
    let after = fix::atoms_of_run(run);
    let mut sets = fix::compare(&before, &after, |atom| reach.covers(atom) && stops.is_reached(atom));
    if !same {
        sets.introduced = Atoms::default();
    }
    let outcome = sets.outcome(same);
    // Another check that fails as well is not an attempt at this one.
    if !same && sets.fixed.is_empty() {
        return Ok(None);
    }
    let first = stretch.first();
    let since = (stretch.since_run(), stretch.since());
    let (from, counts) = match outcome {
        // Over all attempts: an earlier one may have weakened what passes only now.
        Outcome::Success => ((first.run, first.commit.as_deref()), stretch.counts(store, run)?),
        // A run that fails may end early.
        _ => ((since.0, since.1.commit.as_deref()), None),
    };
    let weakened = match sets.fixed.is_empty() {
        true => None,
        false => Weakened::begin(projects, store, from, recorded, counts)?,
    };
    let change = changes::between(projects, store, since, recorded, notes)?;
    let weakened = weakened.map_or_else(Vec::new, |weakened| weakened.end(notes));
    Ok(Some(Verdict { sets, outcome, change, weakened }))
}

impl Stretch {
    fn first(&self) -> &OpenRun {
        &self.runs[0]
    }

    fn last(&self) -> &OpenRun {
        &self.runs[self.runs.len() - 1]
    }

    /// The most tests that ran in a run of the stretch that is looked at, and how many ran in `pass`. `None` where one
    /// of them doesn't say, where another check ran, which may well have fewer, and where the same command chooses
    /// others from run to run.
    fn counts(&self, store: &Store, pass: &Run) -> Result<Option<Counts>, StoreError> {
        if self.key != pass.key || fix::selects_anew(pass) {
            return Ok(None);
        }
        let Some(after) = pass.tests else { return Ok(None) };
        let first = match self.first().run == self.last().run {
            true => None,
            false => store.index().run(store.segments(), &self.first().run.to_string())?,
        };
        let before = first.and_then(|first| first.tests).max(self.before.tests);
        Ok(before.map(|before| Counts { before, after }))
    }

    /// The run that the next attempt goes on from.
    pub fn since(&self) -> &Run {
        self.since.run.as_ref().unwrap_or(&self.before)
    }

    pub fn since_run(&self) -> RunId {
        match (&self.since.attempt, &self.since.run) {
            (Some(attempt), Some(_)) => attempt.run,
            _ => self.last().run,
        }
    }
}

/// Writes the attempt, and the flake if it is one; then what follows in lessons.
fn write(
    projects: &mut Projects<'_>,
    store: &mut Store,
    recorded: Recorded<'_>,
    stretch: &Stretch,
    verdict: Verdict,
    drained: &mut Drained,
) -> Result<(), StoreError> {
    let flake = flakes::after_attempt(store, recorded, stretch, &verdict)?;
    let attempt = attempt(recorded, stretch, verdict);
    let mut events = Vec::new();
    let parts = [recorded.id.to_string(), attempt.key.clone()];
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let mut add = |store: &Store, kind: &str, body: Body| -> Result<(), StoreError> {
        let event = Event::derived(kind, &parts, Timestamp::now(), store.writer(), body);
        if !store.index().has_event(RunId(event.id))? {
            events.push(event);
        }
        Ok(())
    };
    add(store, "attempt", Body::Attempt(Box::new(attempt.clone())))?;
    if let Some(flake) = flake.clone() {
        add(store, "flake", Body::Flake(Box::new(flake)))?;
    }
    store.append(&events)?;
    if attempt.outcome == Outcome::Success && !attempt.is_weakened() {
        fill_lessons(projects, store, stretch, &attempt, flake.as_ref(), drained)?;
    }
    Ok(())
}

fn attempt(recorded: Recorded<'_>, stretch: &Stretch, verdict: Verdict) -> Attempt {
    let Recorded { id, run } = recorded;
    let Verdict { sets, outcome, change, weakened } = verdict;
    let stays_open = stretch.key != run.key && outcome != Outcome::Success;
    let remaining = stays_open.then(|| {
        let open = sets.persisted.0.iter().chain(&sets.not_reached.0);
        open.map(|atom| atom.hash.clone()).collect()
    });
    let recipes = match change.means {
        Means::None => Vec::new(),
        _ => {
            fix::recipes(&change.files, change.files_cut, &change.diff, &change.commands, &change.surroundings.changed)
        }
    };
    Attempt {
        key: stretch.key.clone(),
        run: id,
        opened_by: stretch.first().run,
        before: stretch.since_run(),
        root: run.root.clone(),
        task: run.task.clone(),
        ended_at: run.ended_at,
        duration_us: run.ended_at.micros_since(stretch.since().ended_at),
        outcome,
        means: change.means,
        fixed: sets.fixed.list(),
        introduced: sets.introduced.list(),
        persisted: sets.persisted.list(),
        not_reached: sets.not_reached.list(),
        remaining,
        trees: change.trees,
        files: change.files,
        files_cut: change.files_cut,
        diff: change.diff,
        diff_cut: change.diff_cut,
        came_with_base: change.came_with_base.len(),
        commands: change.commands,
        commands_cut: change.commands_cut,
        surroundings: change.surroundings.changed,
        recipes,
        weakened,
    }
}

/// Says in the lessons of what is gone now what made it go away. A flake's lesson is none: it is withdrawn if nobody
/// has touched it.
fn fill_lessons(
    projects: &mut Projects<'_>,
    store: &Store,
    stretch: &Stretch,
    attempt: &Attempt,
    flake: Option<&Flake>,
    drained: &mut Drained,
) -> Result<(), StoreError> {
    let root = attempt.root.path();
    let runs: Vec<RunId> = stretch.runs.iter().map(|open| open.run).collect();
    let lessons = lessons_of(store, &runs, &attempt.fixed)?;
    if lessons.is_empty() || !root.is_dir() {
        return Ok(());
    }
    let part = match flake {
        Some(flake) => FixPart::Flake { proof: flake.proof.as_str().to_owned(), why: flake.why.clone() },
        None => FixPart::Fixed(Box::new(facts(projects, store, stretch, attempt)?)),
    };
    let is_proven = flake.is_some_and(|flake| flake.proof == Proof::Proven);
    let mut written = Vec::with_capacity(lessons.len());
    for (lesson, run) in &lessons {
        written.push((lesson.clone(), store.index().lesson_of(*run)?.map(|(_, file)| file)));
    }
    let folder = projects.lessons(root);
    let paths = folder.paths_of(&written);
    for (lesson, run) in lessons {
        let Some(path) = paths.get(&lesson) else { continue };
        let mut done = Ok(false);
        if is_proven && runs.contains(&run) {
            let recorded = store.index().run(store.segments(), &run.to_string())?;
            done = recorded.and_then(|run| assemble::facts(&run)).map_or(Ok(false), |facts| folder.withdraw(&facts));
        }
        if !matches!(done, Ok(true)) {
            done = done.and_then(|_| folder.set_fix(path, &part));
        }
        if let Err(error) = done {
            drained.notes.push(error.to_string());
        }
    }
    Ok(())
}

/// The lessons of these runs, and those of earlier ones about nothing but what was fixed.
fn lessons_of(store: &Store, runs: &[RunId], fixed: &AtomList) -> Result<Vec<(String, RunId)>, StoreError> {
    let patterns: BTreeSet<&str> = fixed.first.iter().map(|atom| atom.pattern.as_str()).collect();
    let keys: Vec<&str> = patterns.iter().copied().collect();
    let mut found = Vec::new();
    for run in runs {
        found.extend(store.index().lesson_of(*run)?.map(|(lesson, _)| (lesson, *run)));
    }
    for row in store.index().lessons_of_patterns(&keys, LESSONS_MAX)? {
        let Ok(run) = uuid::Uuid::parse_str(&row.run).map(RunId) else { continue };
        let is_new = found.iter().all(|(lesson, _)| *lesson != row.lesson);
        let about = store.index().patterns_of(run)?;
        if is_new && about.iter().all(|pattern| patterns.contains(pattern.as_str())) {
            found.push((row.lesson, run));
        }
    }
    found.truncate(LESSONS_MAX);
    Ok(found)
}

fn facts(
    projects: &mut Projects<'_>,
    store: &Store,
    stretch: &Stretch,
    attempt: &Attempt,
) -> Result<FixFacts, StoreError> {
    let id = ids::fix(&attempt.key, attempt.opened_by);
    let settings = projects.fix_settings(attempt.root.path());
    let quickly = settings.quick_attempts;
    let row: FixRow = store.index().fix(&id)?;
    let silence = settings.silence();
    let standing = fix::standing(&row, attempt.ended_at, silence);
    let workflow = fix::workflow(store.index().attempts(store.segments(), &id)?, quickly);
    let number = workflow.attempts.iter().filter_map(|attempt| attempt.number).max().unwrap_or(1);
    let final_files: BTreeSet<String> = attempt.files.iter().map(|file| file.path.display()).collect();
    let tried = workflow.attempts.iter().filter(|numbered| numbered.attempt.outcome == Outcome::Failure);
    let tried: BTreeSet<String> = tried
        .flat_map(|numbered| numbered.attempt.files.iter().map(|file| file.path.display()))
        .filter(|path| !final_files.contains(path))
        .collect();
    Ok(FixFacts {
        id,
        attempt: number,
        seconds: attempt.ended_at.micros_since(stretch.first().ended_at) / 1_000_000,
        confirmed: standing.as_ref().is_some_and(|standing| standing.confirmed),
        standing: standing.map_or_else(|| "nobody knows what made it go away".to_owned(), |standing| standing.why),
        files: attempt.files.iter().map(changed_lines).collect(),
        files_cut: attempt.files_cut,
        came_with_base: attempt.came_with_base,
        commands: attempt
            .commands
            .iter()
            .filter(|command| !command.check)
            .map(|command| command.line.clone())
            .collect(),
        surroundings: attempt.surroundings.clone(),
        diff: attempt.diff.clone(),
        diff_cut: attempt.diff_cut,
        tried: tried.into_iter().collect(),
    })
}

fn changed_lines(file: &FileChange) -> (String, Option<u64>, Option<u64>) {
    let lines = |count: u64| (!file.opaque).then_some(count);
    (file.path.display(), lines(file.added), lines(file.removed))
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
    let folder = places.state.join("open");
    for key in keys(closed).iter().chain(&closed.iter().map(|scope| key_of(run, scope)).collect::<Vec<_>>()) {
        if !wanted.contains(key) && !own.contains(key) && *key != run.key {
            let _ = fs::remove_file(folder.join(file_name(key)));
        }
    }
    for key in wanted {
        let marker = folder.join(file_name(&key));
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
