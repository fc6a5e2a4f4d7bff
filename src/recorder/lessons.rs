//! Lessons: which failure gets one, and what happens to it when the failure is fixed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::context::Recorder;
use super::merges::PatternMerges;
use super::open_failures::OpenFailure;
use super::{assemble, shared_lessons};
use crate::base::clock::Timestamp;
use crate::base::file::{self, Durability};
use crate::base::ids::{self, IdKind, RunId};
use crate::base::lossless::Lossless;
use crate::base::text;
use crate::capture::SpoolHeader;
use crate::config::{FixSettings, Settings, WriteWhen};
use crate::event::{
    AtomList, Attempt, AttemptOutcome, DiagnosticRecord, Event, EventBody, FileChange, Flake, FlakeProof, LessonChange,
    LessonChangeKind, LessonDecision, NoLessonReason, Run,
};
use crate::fix;
use crate::lesson::{LessonFixFacts, LessonFixSection, LocalMachine, SharedLessonFix, lesson_file_name};
use crate::store::{FixNoteRow, FixRow, Index, SegmentFolder, SharedLessonRow, Store, StoreError};

/// Lessons that one fix is written into.
const LESSONS_MAX: usize = 10;

/// Whether a failure gets a lesson, and which. A pattern has at most one, under an id that follows from it: the file of a
/// failure with several new ones is that of the first, and lists the others.
///
/// # Errors
/// When the store can't be read.
pub(super) fn decide_lesson(
    store: &Store,
    header: &SpoolHeader,
    items: &[DiagnosticRecord],
    merges: &PatternMerges,
    unwanted: Option<NoLessonReason>,
    settings: &Settings,
) -> Result<LessonDecision, StoreError> {
    if assemble::is_cancelled(header.ended) && !settings.lesson.cancelled {
        return Ok(LessonDecision::Cancelled);
    }
    if let Some(why) = unwanted.filter(|_| settings.lesson.write != WriteWhen::Always) {
        return Ok(LessonDecision::Unwanted { why });
    }
    let keys: Vec<&str> = items.iter().map(|item| merges.known_as(&item.pattern)).collect();
    let forgotten = store.index().forgotten_patterns(&keys)?;
    if keys.iter().all(|key| forgotten.contains(*key)) {
        return Ok(LessonDecision::Forgotten);
    }
    let known = store.index().patterns_with_lesson(&keys)?;
    let taught = shared_lesson_patterns(store, &header.repository.root, &keys)?;
    let is_elsewhere = |key: &str| known.contains(key) || forgotten.contains(key) || taught.contains(&id_of(key));
    let Some((leading, key)) = items.iter().zip(&keys).find(|(_, key)| !is_elsewhere(key)) else {
        return Ok(LessonDecision::Known);
    };
    let elsewhere = items.iter().zip(&keys).filter(|(_, key)| is_elsewhere(key)).map(|(item, _)| item.pattern.clone());
    let id = ids::short(IdKind::Lesson, key.as_bytes());
    let about = assemble::lesson_subject(leading).map_or(assemble::UNNAMED_SUBJECT, String::as_str);
    Ok(LessonDecision::Written {
        file: lesson_file_name(&leading.tool, about, &id),
        id,
        elsewhere: elsewhere.collect::<BTreeSet<_>>().into_iter().collect(),
    })
}

/// Of the patterns with these keys those (`p-…`) that a lesson shared by the team is about.
fn shared_lesson_patterns(store: &Store, root: &Lossless, keys: &[&str]) -> Result<BTreeSet<String>, StoreError> {
    let ids: Vec<String> = keys.iter().map(|key| id_of(key)).collect();
    let rows = store.index().shared_lessons_about(root, &ids)?;
    Ok(rows.into_iter().flat_map(|row| row.patterns).collect())
}

fn id_of(key: &str) -> String {
    ids::short(IdKind::Pattern, key.as_bytes())
}

/// Writes the lesson that the run's event speaks of. One that can't be written is noted and tried again later.
pub(super) fn write_lesson(recorder: &mut Recorder<'_>, id: RunId, run: &Run) {
    let Recorder { projects, report, .. } = recorder;
    let root = run.root.path();
    let Some(facts) = assemble::lesson_facts(run, projects.local_machine_at(root)) else { return };
    let waiting = projects.project_places().state.unwritten_lessons().join(id.to_string());
    if !projects.has_root(root) {
        // Do not recreate a lessons folder in a deleted work tree.
        report.notes.push(format!("no lesson for {id}: {} is gone", text::path(root)));
        let _ = fs::remove_file(waiting);
        return;
    }
    match projects.lesson_folder_at(root).write_lesson(&facts) {
        Ok(written) => {
            if written.new {
                report.lessons.push(written.path);
            }
            let _ = fs::remove_file(waiting);
        }
        Err(error) => {
            report.notes.push(format!("{error}; the next run tries again"));
            let made = waiting.parent().map_or(Ok(()), file::create_private_dir);
            let kept = made.and_then(|()| file::write_atomic(&waiting, b"", 0o600, Durability::Cached));
            report.note_error("a lesson for later", kept);
        }
    }
}

/// Tries again to write lessons whose folder could not be written.
///
/// # Errors
/// When the store can't be read.
pub(super) fn retry_lessons(recorder: &mut Recorder<'_>) -> Result<(), StoreError> {
    for entry in
        fs::read_dir(recorder.projects.project_places().state.unwritten_lessons()).into_iter().flatten().flatten()
    {
        let id = entry.file_name().to_str().and_then(|name| uuid::Uuid::parse_str(name).ok()).map(RunId);
        let run = match id {
            Some(id) => {
                recorder.store.index().read_run(recorder.store.segments(), &id.to_string())?.map(|run| (id, run))
            }
            None => None,
        };
        match run {
            Some((id, run)) if !is_forgotten(recorder.store, &run)? && !recorder.store.index().is_withdrawn(id)? => {
                write_lesson(recorder, id, &run);
            }
            // Purged, forgotten or withdrawn meanwhile.
            _ => {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
    Ok(())
}

fn is_forgotten(store: &Store, run: &Run) -> Result<bool, StoreError> {
    let items = run.failure.as_ref().map_or(&[][..], |failure| &failure.items);
    let keys: Vec<&str> = items.iter().map(|item| item.pattern.as_str()).collect();
    let forgotten = store.index().forgotten_patterns(&keys)?;
    Ok(keys.iter().all(|key| forgotten.contains(*key)))
}

/// Writes the fix into the lessons of failures that are fixed now, and withdraws those without further use.
///
/// # Errors
/// When the store can't be read or written.
pub(super) fn close_lessons(
    recorder: &mut Recorder<'_>,
    failure: &OpenFailure,
    runs: &[RunId],
    attempt: &Attempt,
    flake: Option<&Flake>,
) -> Result<(), StoreError> {
    let root = attempt.root.path();
    let Recorder { projects, store, .. } = recorder;
    let lessons = lessons_of(store, runs, &attempt.fixed)?;
    let mut taught = shared_lessons_of(store, runs, attempt)?;
    taught.retain(|row| lessons.iter().all(|(lesson, _)| *lesson != row.lesson));
    if lessons.is_empty() && taught.is_empty() || !projects.has_root(root) {
        return Ok(());
    }
    let (fix_settings, local) = (projects.fix_settings(root), projects.local_machine_at(root).clone());
    let since = failure.first_run().ended_at;
    let facts = fix_facts(store.index(), store.segments(), &fix_settings, &local, since, attempt)?;
    let fix = facts.id.clone();
    let settings = projects.lesson_settings(root);
    let is_proven = flake.is_some_and(|flake| flake.proof == FlakeProof::Proven);
    let took_long = facts.attempt >= settings.attempts || facts.seconds > settings.minutes.saturating_mul(60);
    let is_worth = is_proven || took_long || settings.write == WriteWhen::Always;
    let part = match flake {
        Some(flake) => LessonFixSection::Flake { proof: flake.proof.as_str().to_owned(), why: flake.why.clone() },
        None => LessonFixSection::Fixed(Box::new(facts)),
    };
    let mut written = Vec::with_capacity(lessons.len());
    for (lesson, run) in &lessons {
        written.push((lesson.clone(), store.index().lesson_of_run(*run)?.map(|(_, file)| file)));
    }
    let paths = projects.lesson_folder_at(root).find_lesson_paths(&written);
    for (lesson, run) in lessons {
        let path = paths.get(&lesson).map(PathBuf::as_path);
        if !is_worth && !has_recurred(recorder.store, run)? {
            match withdraw_lesson(recorder, root, &lesson, path, &fix) {
                Ok(true) => continue,
                Ok(false) => {}
                Err(WithdrawalError::Store(error)) => return Err(error),
                Err(WithdrawalError::File(error)) => recorder.report.notes.push(error.to_string()),
            }
        }
        let Some(path) = path else { continue };
        if let Err(error) = recorder.projects.lesson_folder_at(root).set_fix(path, &part) {
            recorder.report.notes.push(error.to_string());
        }
    }
    for row in taught {
        update_taught(recorder, root, &row.path, &part)?;
    }
    Ok(())
}

/// The shared lessons that others wrote about what is gone now, and about nothing that failed here beside it.
fn shared_lessons_of(store: &Store, runs: &[RunId], attempt: &Attempt) -> Result<Vec<SharedLessonRow>, StoreError> {
    let fixed: Vec<String> = attempt.fixed.first.iter().map(|atom| id_of(&atom.pattern)).collect();
    let mut rows = store.index().shared_lessons_about(&attempt.root, &fixed)?;
    let mut failed = BTreeSet::new();
    for run in runs {
        failed.extend(store.index().patterns_of_run(*run)?.iter().map(|key| id_of(key)));
    }
    rows.retain(|row| row.patterns.iter().all(|pattern| fixed.contains(pattern) || !failed.contains(pattern)));
    rows.truncate(LESSONS_MAX);
    Ok(rows)
}

/// Says in a shared lesson what made its failure go away here, unless it says already what did elsewhere: this store knows
/// nothing of that, so it would be lost.
fn update_taught(
    recorder: &mut Recorder<'_>,
    root: &Path,
    path: &str,
    part: &LessonFixSection,
) -> Result<(), StoreError> {
    let Recorder { projects, store, report, .. } = recorder;
    let (folder, path) = (projects.lesson_folder_at(root), root.join(path));
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let set = match folder.read_shared_lesson(&name).map(|taught| taught.fix) {
        Ok(Some(SharedLessonFix { id: None, .. })) => return Ok(()),
        Ok(Some(SharedLessonFix { id: Some(id), .. })) if !shared_lessons::is_own_fix(store.index(), &id)? => {
            return Ok(());
        }
        Ok(_) => folder.set_fix(&path, part).map(drop),
        Err(error) => Err(error),
    };
    if let Err(error) = set {
        report.notes.push(error.to_string());
    }
    Ok(())
}

/// Whether something that the lesson of this run is about was seen in another task.
fn has_recurred(store: &Store, run: RunId) -> Result<bool, StoreError> {
    let Some(recorded) = store.index().read_run(store.segments(), &run.to_string())? else { return Ok(false) };
    let Some(failure) = &recorded.failure else { return Ok(false) };
    let elsewhere = match &failure.lesson {
        LessonDecision::Written { elsewhere, .. } => elsewhere.as_slice(),
        _ => &[],
    };
    let own =
        failure.items.iter().map(|item| item.pattern.as_str()).filter(|key| !elsewhere.iter().any(|at| at == key));
    let own: BTreeSet<&str> = own.collect();
    store.index().is_seen_in_several_tasks(&own.into_iter().collect::<Vec<_>>())
}

/// Why a lesson could not be withdrawn.
enum WithdrawalError {
    Store(StoreError),
    File(crate::lesson::Error),
}

/// Withdraws a lesson, unless a person edited or committed it. The event comes first: an interruption leaves a file that
/// the next recorder, which does the run again, removes.
fn withdraw_lesson(
    recorder: &mut Recorder<'_>,
    root: &Path,
    lesson: &str,
    path: Option<&Path>,
    fix: &str,
) -> Result<bool, WithdrawalError> {
    let Recorder { projects, store, .. } = recorder;
    let folder = projects.lesson_folder_at(root);
    if let Some(path) = path
        && !folder.is_own_lesson(path).map_err(WithdrawalError::File)?
    {
        return Ok(false);
    }
    let runs = store.index().runs_of_id(lesson).map_err(WithdrawalError::Store)?;
    let change = LessonChangeKind::Withdrawn { runs: runs.clone(), fix: Some(fix.to_owned()) };
    let change = LessonChange { lesson: lesson.to_owned(), change, by: None };
    let parts: Vec<String> = std::iter::once(lesson.to_owned()).chain(runs.iter().map(ToString::to_string)).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let event =
        Event::with_derived_id("withdrawn", &parts, Timestamp::now(), store.writer_name(), EventBody::Lesson(change));
    if !store.index().has_event(RunId(event.id)).map_err(WithdrawalError::Store)? {
        store.append_unsynced(&[event]).and_then(|()| store.sync()).map_err(WithdrawalError::Store)?;
    }
    if let Some(path) = path {
        folder.remove(path).map_err(WithdrawalError::File)?;
    }
    Ok(true)
}

/// The lessons of these runs, and those of earlier ones about nothing but what was fixed; none that was withdrawn.
fn lessons_of(store: &Store, runs: &[RunId], fixed: &AtomList) -> Result<Vec<(String, RunId)>, StoreError> {
    let patterns: BTreeSet<&str> = fixed.first.iter().map(|atom| atom.pattern.as_str()).collect();
    let keys: Vec<&str> = patterns.iter().copied().collect();
    let mut found: Vec<(String, RunId)> = Vec::new();
    for run in runs {
        let lesson = store.index().lesson_of_run(*run)?.map(|(lesson, _)| lesson);
        if let Some(lesson) = lesson.filter(|lesson| found.iter().all(|(known, _)| known != lesson)) {
            found.push((lesson, *run));
        }
    }
    for row in store.index().lessons_of_patterns(&keys, LESSONS_MAX)? {
        let Ok(run) = uuid::Uuid::parse_str(&row.run).map(RunId) else { continue };
        let is_new = found.iter().all(|(lesson, _)| *lesson != row.lesson);
        let about = store.index().patterns_of_run(run)?;
        if is_new && about.iter().all(|pattern| patterns.contains(pattern.as_str())) {
            found.push((row.lesson, run));
        }
    }
    found.truncate(LESSONS_MAX);
    Ok(found)
}

/// What a lesson says of the fix of a failure that was open since then: `attempt` is the one that ended it.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn fix_facts(
    index: &Index,
    segments: &SegmentFolder,
    settings: &FixSettings,
    local: &LocalMachine,
    since: Timestamp,
    attempt: &Attempt,
) -> Result<LessonFixFacts, StoreError> {
    let id = ids::fix(&attempt.key, attempt.opened_by);
    let row: FixRow = index.find_fix(&id)?;
    let status = fix::fix_status(&row, attempt.ended_at, settings.silence());
    let workflow = fix::build_workflow(index.read_attempts(segments, &id)?, settings.quick_attempts);
    let number = workflow.attempts.iter().filter_map(|attempt| attempt.number).max().unwrap_or(1);
    let final_files: BTreeSet<String> = attempt.files.iter().map(|file| file.path.display()).collect();
    let tried = workflow.attempts.iter().filter(|numbered| numbered.attempt.outcome == AttemptOutcome::Failure);
    let tried: BTreeSet<String> = tried
        .flat_map(|numbered| numbered.attempt.files.iter().map(|file| file.path.display()))
        .filter(|path| !final_files.contains(path))
        .collect();
    let said = index.fix_notes(&id)?;
    let last = |text: fn(&FixNoteRow) -> &Option<String>| said.iter().rev().find_map(|row| text(row).clone());
    let commands = attempt.commands.iter().filter(|command| !command.check);
    Ok(LessonFixFacts {
        id,
        attempt: number,
        seconds: attempt.ended_at.micros_since(since) / 1_000_000,
        confirmed: status.as_ref().is_some_and(|status| status.confirmed),
        status_reason: match (attempt.undo, attempt.has_unknown_cause(), status) {
            (true, ..) => "the files returned to an earlier state, which is an undo, not a fix".to_owned(),
            (_, false, Some(status)) => status.why,
            _ => "cause of the fix unknown".to_owned(),
        },
        files: attempt.related_files().map(changed_lines).collect(),
        also_changed: attempt.also_changed.iter().map(|path| local.strip_local_names(&path.display())).collect(),
        files_cut: attempt.files_cut,
        came_with_base: attempt.came_with_base,
        commands: commands.map(|command| local.strip_local_names(&command.line)).collect(),
        changed_dependencies: attempt.changed_dependencies.iter().map(|name| local.strip_local_names(name)).collect(),
        diff: local.strip_local_names(&attempt.diff),
        diff_cut: attempt.diff_cut,
        tried: tried.into_iter().collect(),
        cause: last(|row| &row.cause),
        approach: last(|row| &row.approach),
        rule: last(|row| &row.rule),
    })
}

fn changed_lines(file: &FileChange) -> (String, Option<u64>, Option<u64>) {
    let lines = |count: u64| (!file.opaque).then_some(count);
    (file.path.display(), lines(file.added), lines(file.removed))
}
