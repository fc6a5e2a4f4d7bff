//! The verbs over lesson files. A file owns its text; each change is an event too, so it travels with the store.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, bail};

use super::request::Request;
use crate::base::refusal::Refusal;
use crate::config::Settings;
use crate::event::{AttemptOutcome, EventBody, LessonChange, LessonChangeKind};
use crate::lesson::{Lesson, LessonFacts, LessonFile, LessonFixSection, LessonFolder, LocalMachine};
use crate::recorder;
use crate::recorder::drain_for_reading;
use crate::redact::{redact_text, sanitize_name};
use crate::store::{Index, LessonRow, SegmentFolder};

/// A lesson and its file.
#[derive(Debug)]
pub(crate) struct FoundLesson {
    /// Absolute.
    pub path: PathBuf,
    pub lesson: Lesson,
    /// Whether it was withdrawn when its failure was gone: then there is no file.
    pub withdrawn: bool,
}

/// The lessons, oldest first, and the files that can't be read, each with what is wrong.
#[derive(Debug, Default)]
pub(crate) struct ListedLesson {
    /// Readable ones.
    pub lessons: Vec<FoundLesson>,
    /// The others.
    pub broken: Vec<(PathBuf, String)>,
}

/// What `annotate` sets; `None` leaves a text as it is.
#[derive(Debug, Clone, Default)]
pub(crate) struct LessonAnnotation {
    /// Why it failed.
    pub cause: Option<String>,
    /// What solved it.
    pub resolution: Option<String>,
    /// Rule that follows.
    pub corrective_rule: Option<String>,
    /// Who says so.
    pub by: Option<String>,
}

impl LessonAnnotation {
    /// What is set, by its key in the front matter.
    fn named_texts(&self) -> Vec<(&'static str, &str)> {
        let keys =
            [("cause", &self.cause), ("resolution", &self.resolution), ("corrective_rule", &self.corrective_rule)];
        keys.into_iter().filter_map(|(key, text)| Some((key, text.as_deref()?))).collect()
    }
}

/// Which lessons `prune` removes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LessonPruneOptions {
    /// Those older than N days.
    pub older_than_days: Option<u64>,
    /// All but the newest N.
    pub keep: Option<usize>,
    /// Annotated lessons, too.
    pub annotated: bool,
    /// Say which, remove none.
    pub dry_run: bool,
}

/// What `forget` did.
#[derive(Debug)]
pub(crate) struct ForgetReport {
    /// The lesson's id.
    pub id: String,
    /// Keys of the patterns that get no lesson any more; ids where only those are known.
    pub patterns: Vec<String>,
}

/// Reads all lessons, those of runs that still wait included.
pub(crate) fn list_lessons(request: &Request) -> ListedLesson {
    read_lessons(request, |_| true)
}

/// The folder of the lessons, after those of runs that still wait were written: for who does not need all of them at once.
pub(crate) fn complete_folder(request: &Request) -> LessonFolder {
    // A store that can't be opened is `doctor`'s matter: the files can be read without one.
    let _ = drain_for_reading(&request.places);
    LessonFolder::find(&request.places, request.settings())
}

fn read_lessons(request: &Request, is_wanted: impl Fn(&Lesson) -> bool) -> ListedLesson {
    let mut listed = ListedLesson::default();
    for LessonFile { path, lesson, .. } in complete_folder(request).read_lesson_files() {
        match lesson {
            Ok(lesson) if is_wanted(&lesson) => listed.lessons.push(FoundLesson { path, lesson, withdrawn: false }),
            Ok(_) => {}
            Err(error) => listed.broken.push((path, error.to_string())),
        }
    }
    sort_by_time(&mut listed.lessons);
    listed
}

fn sort_by_time(lessons: &mut [FoundLesson]) {
    lessons.sort_by(|a, b| a.lesson.front.recorded_at.cmp(&b.lesson.front.recorded_at).then(a.path.cmp(&b.path)));
}

/// As [`list_lessons`], with the lessons that were withdrawn when their failure was gone: their text follows from the runs.
pub(crate) fn list_all(request: &Request) -> ListedLesson {
    let mut listed = list_lessons(request);
    // What can't be read from the store is left out, as in `list`.
    let withdrawn = list_withdrawn(request, None).unwrap_or_default();
    let is_new = |found: &WithdrawnLesson| !listed.lessons.iter().any(|known| known.lesson.front.id == found.facts.id);
    let withdrawn: Vec<FoundLesson> = withdrawn.into_iter().filter(is_new).map(|withdrawn| withdrawn.found).collect();
    listed.lessons.extend(withdrawn);
    sort_by_time(&mut listed.lessons);
    listed
}

/// A lesson that has no file any more.
struct WithdrawnLesson {
    facts: LessonFacts,
    part: Option<LessonFixSection>,
    found: FoundLesson,
}

/// The withdrawn lessons whose id starts with `start`, of all runs the last one's.
fn list_withdrawn(request: &Request, start: Option<&str>) -> anyhow::Result<Vec<WithdrawnLesson>> {
    let reading = request.open_for_reading()?;
    let Some(index) = &reading.index else { return Ok(Vec::new()) };
    let (folder, local) = (
        LessonFolder::find(&request.places, request.settings()),
        recorder::local_machine(&request.places, &request.environment),
    );
    let mut rows: BTreeMap<String, LessonRow> = BTreeMap::new();
    for row in index.list_lessons()? {
        if row.withdrawn && !row.forgotten && start.is_none_or(|start| row.id.starts_with(start)) {
            rows.insert(row.id.clone(), row);
        }
    }
    let mut found = Vec::new();
    for row in rows.into_values() {
        let Some(run) = index.read_run(&reading.segments, &row.run)? else { continue };
        let Some(facts) = recorder::lesson_facts(&run, &local) else { continue };
        let part = match &row.fix {
            Some(fix) => fix_part(index, &reading.segments, request.settings(), &local, fix)?,
            None => None,
        };
        let lesson = folder.preview_lesson(&facts, part.as_ref())?;
        let path = folder.dir.join(facts.file_name());
        found.push(WithdrawnLesson { facts, part, found: FoundLesson { path, lesson, withdrawn: true } });
    }
    Ok(found)
}

/// What lessons say of a fix; `None` when nothing made its failure go away.
fn fix_part(
    index: &Index,
    segments: &SegmentFolder,
    settings: &Settings,
    local: &LocalMachine,
    fix: &str,
) -> anyhow::Result<Option<LessonFixSection>> {
    let attempts = index.read_attempts(segments, fix)?;
    let Some(last) = attempts.iter().rev().find(|attempt| attempt.outcome == AttemptOutcome::Success) else {
        return Ok(None);
    };
    let first = index.read_run(segments, &last.opened_by.to_string())?;
    let since = first.map_or(last.ended_at, |first| first.ended_at);
    let facts = recorder::fix_facts(index, segments, &settings.fix, local, since, last)?;
    Ok(Some(LessonFixSection::Fixed(Box::new(facts))))
}

/// Writes a user's annotation of a fix into the lessons of its failure. A withdrawn lesson comes back: now it has a
/// cause.
///
/// # Errors
/// When the store can't be read or a file can't be written.
pub(crate) fn tell_of_fix(request: &Request, fix: &str, said: &LessonAnnotation) -> anyhow::Result<()> {
    let reading = request.open_for_reading()?;
    let Some(index) = &reading.index else { return Ok(()) };
    let local = recorder::local_machine(&request.places, &request.environment);
    let part = fix_part(index, &reading.segments, request.settings(), &local, fix)?;
    let mut lessons = BTreeSet::new();
    for attempt in index.read_attempts(&reading.segments, fix)? {
        for run in [attempt.opened_by, attempt.before] {
            lessons.extend(index.lesson_of_run(run)?.map(|(lesson, _)| lesson));
        }
    }
    let folder = LessonFolder::find(&request.places, request.settings());
    let texts = said.named_texts();
    for lesson in lessons {
        let path = match folder.find_lesson_path(&lesson, None) {
            Some(path) => path,
            None => match list_withdrawn(request, Some(&lesson))?.pop() {
                Some(withdrawn) => folder.write_lesson(&withdrawn.facts)?.path,
                // Forgotten, or pruned.
                None => continue,
            },
        };
        folder.annotate_lesson(&path, &texts)?;
        if let Some(part) = &part {
            folder.set_fix(&path, part)?;
        }
    }
    Ok(())
}

/// The lesson whose id starts with `id`, with or without its `l-`.
///
/// # Errors
/// When there is none or several.
pub(crate) fn show_lesson(request: &Request, id: &str) -> anyhow::Result<FoundLesson> {
    let start = full_id(id);
    let missing = match find_by_id(read_lessons(request, |lesson| lesson.front.id.starts_with(&start)), id) {
        Ok(found) => return Ok(found),
        Err(missing) => missing,
    };
    let mut withdrawn = list_withdrawn(request, Some(&start))?;
    match (withdrawn.pop(), withdrawn.is_empty()) {
        (Some(only), true) => Ok(only.found),
        _ => Err(missing),
    }
}

/// The only one of those whose ids start with `id`.
fn find_by_id(listed: ListedLesson, id: &str) -> anyhow::Result<FoundLesson> {
    let start = full_id(id);
    let mut found = listed.lessons;
    if found.len() > 1 && !found.iter().any(|found| found.lesson.front.id == start) {
        let ids: Vec<&str> = found.iter().take(5).map(|found| found.lesson.front.id.as_str()).collect();
        let message = format!("{id} is the start of {} ids: {}", found.len(), ids.join(", "));
        bail!(Refusal::usage(message).then_do("type more of the id"));
    }
    if let Some(exact) = found.iter().position(|found| found.lesson.front.id == start) {
        return Ok(found.swap_remove(exact));
    }
    if let Some(only) = found.pop() {
        return Ok(only);
    }
    let broken = listed.broken.iter().find(|(path, _)| path.to_string_lossy().contains(&start));
    match broken {
        Some((_, reason)) => bail!("{reason}"),
        None => bail!(Refusal::not_found(format!("no lesson has the id {id}")).then_run("lesson list")),
    }
}

fn full_id(id: &str) -> String {
    let id = id.to_ascii_lowercase();
    if id.starts_with("l-") { id } else { format!("l-{id}") }
}

/// Writes cause, resolution or rule into a lesson's front matter and records that it was done.
///
/// # Errors
/// When the lesson isn't found or the file can't be written. A store that can't be written is an error too, after the
/// file was: annotating again repeats it.
pub(crate) fn annotate_lesson(
    request: &Request,
    id: &str,
    annotation: LessonAnnotation,
) -> anyhow::Result<FoundLesson> {
    let FoundLesson { path, lesson, withdrawn: is_withdrawn } = show_lesson(request, id)?;
    // The event of it can't be purged, so no secret may get into it.
    let clean = |text: Option<String>| text.map(|text| redact_text(&text).0.into_owned());
    let [cause, resolution, corrective_rule] =
        [annotation.cause, annotation.resolution, annotation.corrective_rule].map(clean);
    let by = annotation.by.as_deref().and_then(sanitize_name);
    let annotation = LessonAnnotation { cause, resolution, corrective_rule, by };
    if annotation.named_texts().is_empty() {
        bail!(Refusal::usage("nothing to set: give --cause, --resolution or --rule"));
    }
    let folder = LessonFolder::find(&request.places, request.settings());
    if is_withdrawn && let Some(withdrawn) = list_withdrawn(request, Some(&lesson.front.id))?.pop() {
        folder.write_lesson(&withdrawn.facts)?;
        if let Some(part) = &withdrawn.part {
            folder.set_fix(&path, part)?;
        }
    }
    let changed = folder.annotate_lesson(&path, &annotation.named_texts())?;
    let LessonAnnotation { cause, resolution, corrective_rule, by } = annotation;
    let change = LessonChangeKind::Annotated { cause, resolution, corrective_rule };
    let mut store = request.open_store().with_context(|| format!("{} is written, but not recorded", path.display()))?;
    store.record_event(EventBody::Lesson(LessonChange { lesson: lesson.front.id, change, by }))?;
    Ok(FoundLesson { path, lesson: changed, withdrawn: false })
}

/// Removes a lesson's file; its patterns get none any more. Works for a lesson whose file is gone already.
///
/// The tombstone comes first: an interruption leaves a file, which forgetting again removes.
///
/// # Errors
/// When nothing has this id, or store or file can't be written.
pub(crate) fn forget_lesson(request: &Request, id: &str) -> anyhow::Result<ForgetReport> {
    let found = show_lesson(request, id);
    let mut store = request.open_store()?;
    let asked = found.as_ref().map_or_else(|_| full_id(id), |found| found.lesson.front.id.clone());
    let runs = store.index().runs_of_id(&asked);
    let (id, path, mut patterns) = match found {
        Ok(FoundLesson { path, lesson, withdrawn }) => {
            // Of a run that isn't in this store (a colleague's, a purged one) the file's ids are all there is.
            let patterns = if runs.is_ok() { Vec::new() } else { lesson.front.patterns };
            (lesson.front.id, Some(path).filter(|_| !withdrawn), patterns.into_iter().collect::<BTreeSet<_>>())
        }
        Err(error) => {
            if runs.is_err() {
                return Err(error);
            }
            let rows = store.index().list_lessons()?;
            let row = rows.into_iter().find(|row| row.id.starts_with(&asked)).context("no such lesson")?;
            (row.id, None, BTreeSet::new())
        }
    };
    for run in runs.unwrap_or_default() {
        let run = store.index().read_run(store.segments(), &run.to_string())?;
        let items = run.and_then(|run| run.failure).map(|failure| failure.items).unwrap_or_default();
        patterns.extend(items.into_iter().map(|item| item.pattern));
    }
    let patterns: Vec<String> = patterns.into_iter().collect();
    let change = LessonChangeKind::Forgotten { patterns: patterns.clone() };
    store.record_event(EventBody::Lesson(LessonChange { lesson: id.clone(), change, by: None }))?;
    if let Some(path) = &path {
        LessonFolder::find(&request.places, request.settings()).remove(path)?;
    }
    Ok(ForgetReport { id, patterns })
}

/// Removes old lesson files. Their patterns stay known, so none is written again for them.
///
/// # Errors
/// When a file can't be removed, or nothing says which ones to remove.
pub(crate) fn prune_lessons(request: &Request, prune: LessonPruneOptions) -> anyhow::Result<Vec<PathBuf>> {
    if prune.older_than_days.is_none() && prune.keep.is_none() {
        bail!(Refusal::usage("nothing to remove: give --older-than DAYS, --keep N, or both"));
    }
    let now = request.now();
    let folder = LessonFolder::find(&request.places, request.settings());
    let lessons = list_lessons(request).lessons;
    let surplus = lessons.len().saturating_sub(prune.keep.unwrap_or(0));
    let old = |found: &FoundLesson| {
        let age = Duration::from_micros(now.micros_since(found.lesson.front.recorded_at));
        prune.older_than_days.is_none_or(|days| age > Duration::from_secs(days.saturating_mul(86_400)))
    };
    let front_says_more = |found: &FoundLesson| {
        let front = &found.lesson.front;
        [&front.cause, &front.resolution, &front.corrective_rule]
            .into_iter()
            .any(|text| text.as_deref().is_some_and(|text| !text.trim().is_empty()))
    };
    let mut removed = Vec::new();
    for found in lessons.into_iter().take(surplus) {
        if old(&found) && (prune.annotated || !front_says_more(&found)) {
            if !prune.dry_run {
                folder.remove(&found.path)?;
            }
            removed.push(found.path);
        }
    }
    Ok(removed)
}

/// Lets git see the lessons from now on; the folder, and whether anything changed.
///
/// # Errors
/// When files can't be moved or the ignore file can't be written, or there is no work tree.
pub(crate) fn share_lessons(request: &Request) -> anyhow::Result<(PathBuf, bool)> {
    if request.places.repository.as_ref().is_none_or(|repository| repository.worktree.is_none()) {
        bail!(Refusal::conflict(format!(
            "{} is no git work tree: lessons can't be shared",
            request.places.root.display()
        )));
    }
    // A recorder must not write to the folder that is left behind.
    let _ = drain_for_reading(&request.places);
    let _lock = request.lock_store()?;
    LessonFolder::migrate_lessons(&request.places, request.settings())?;
    let folder = LessonFolder::find(&request.places, request.settings());
    let shared = folder.share_lessons(&request.places, request.settings())?;
    let is_new = shared.is_some();
    Ok((shared.unwrap_or(folder.dir), is_new))
}
