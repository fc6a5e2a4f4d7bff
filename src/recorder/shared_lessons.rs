//! What the lessons that a team shares teach: read into the index whenever their folder has changed.
//!
//! They are the project's own content, as CLAUDE.md is: what they say is shown without a request. But anyone may have
//! written them, so it is bounded and cleaned as every text of a tool, and a name of a file is a name, not a glob.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::base::clock::Timestamp;
use crate::base::lossless::Lossless;
use crate::base::text::prefix;
use crate::config::{Environment, Places, Settings};
use crate::event::{EntryOrigin, EntrySource, EntryTypeName, EventAuthor, KnowledgeEntry};
use crate::fix;
use crate::lesson::{LessonFolder, SharedLesson, SharedLessonFile};
use crate::redact::sanitize_name;
use crate::store::{Index, SharedLessonContent, SharedLessonSource, Store, StoreError, lock_store};
use crate::whitelist::Whitelist;

/// Files that are read between two writes: what a hook ran out of time for is not read again by the next one.
const BATCH_FILES: usize = 50;
/// Files, and patterns, that an entry names.
const LABELS_MAX: usize = 50;
/// Patterns of a lesson that it is found by.
const PATTERNS_MAX: usize = 500;
/// A command line that is looked at, bytes.
const COMMAND_BYTES_MAX: usize = 2_000;

/// The index with what shared lessons say now; where a recorder is at work, with what they said last. Hardly anything is
/// done where there are none, or nothing changed.
///
/// # Errors
/// When the store can't be written: the index is then gone, and can be opened again.
pub(crate) fn refreshed_reading(
    index: Option<Index>,
    places: &Places,
    environment: &Environment,
    settings: &Settings,
) -> Result<Option<Index>, StoreError> {
    let folder = LessonFolder::find(places, settings);
    let files = folder.shared_files();
    let known = match &index {
        Some(index) => index.shared_lessons_stamp(&Lossless::from(&places.root))?,
        None => None,
    };
    if known.unwrap_or_default() == stamp_of(&files) {
        return Ok(index);
    }
    // A reader would keep the writer waiting where there is no write-ahead log.
    drop(index);
    match lock_store(&places.state, Duration::ZERO) {
        Ok(lock) => read_lessons(&mut Store::open(&places.state, lock)?, places, environment, &folder, files)?,
        Err(StoreError::Busy { .. }) => {}
        Err(error) => return Err(error),
    }
    Index::open_read(&places.state.index())
}

/// Takes over what shared lessons say now: for a recorder.
///
/// # Errors
/// When the store can't be written.
pub(super) fn refresh_taught(
    store: &mut Store,
    places: &Places,
    environment: &Environment,
    folder: &LessonFolder,
) -> Result<(), StoreError> {
    let files = folder.shared_files();
    let known = store.index().shared_lessons_stamp(&Lossless::from(&places.root))?;
    if known.unwrap_or_default() == stamp_of(&files) {
        Ok(())
    } else {
        read_lessons(store, places, environment, folder, files)
    }
}

/// The state of all of them; nothing where there are none.
fn stamp_of(files: &[SharedLessonFile]) -> String {
    if files.is_empty() {
        return String::new();
    }
    let mut hasher = blake3::Hasher::new();
    for SharedLessonFile { name, stamp, .. } in files {
        hasher.update(name.as_bytes()).update(b"\0").update(stamp.as_bytes()).update(b"\0");
    }
    hasher.finalize().to_hex()[..32].to_owned()
}

fn read_lessons(
    store: &mut Store,
    places: &Places,
    environment: &Environment,
    folder: &LessonFolder,
    files: Vec<SharedLessonFile>,
) -> Result<(), StoreError> {
    let root = Lossless::from(&places.root);
    let stamp = stamp_of(&files);
    let mut known = store.index().shared_lesson_stamps(&root)?;
    let changed: Vec<(String, SharedLessonFile)> = files
        .into_iter()
        .map(|file| (folder.relative_path(&file.name), file))
        .filter(|(path, file)| known.remove(path).is_none_or(|stamp| stamp != file.stamp))
        .collect();
    store.update_shared_lessons(&root, &[], &known.into_keys().collect::<Vec<_>>())?;
    let whitelist = Whitelist::open(places, environment);
    for batch in changed.chunks(BATCH_FILES) {
        let mut read = Vec::with_capacity(batch.len());
        for (path, file) in batch {
            let mut taught =
                SharedLessonSource { path: path.clone(), stamp: file.stamp.clone(), ..SharedLessonSource::default() };
            // What can't be read is the doctor's matter.
            if let Ok(lesson) = folder.read_shared_lesson(&file.name) {
                taught.patterns = pattern_ids(&lesson);
                let teaches = is_news(store.index(), &file.lesson, &lesson)?;
                taught.teaches = teaches.then(|| Box::new(to_shared_lesson_content(&lesson, path, places, &whitelist)));
                taught.lesson = Some(file.lesson.clone());
            }
            read.push(taught);
        }
        store.update_shared_lessons(&root, &read, &[])?;
    }
    store.mark_shared_lessons_read(&root, &stamp)
}

/// Whether a lesson adds something that isn't known here: a failure or a fix that was not seen here, or a cause that
/// a user wrote into the file.
fn is_news(index: &Index, lesson: &str, taught: &SharedLesson) -> Result<bool, StoreError> {
    let (is_known, is_annotated) = index.lesson_presence(lesson)?;
    if !is_known || taught.is_explained() && !is_annotated {
        return Ok(true);
    }
    match &taught.fix {
        // As it is shared it doesn't say whose it is.
        Some(fix) => Ok(!fix.id.as_ref().map_or_else(|| index.has_fixed_lesson(lesson), |id| is_own_fix(index, id))?),
        None => Ok(false),
    }
}

/// Whether a fix that a lesson names was made here.
pub(super) fn is_own_fix(index: &Index, id: &str) -> Result<bool, StoreError> {
    match index.find_fix(id) {
        Ok(_) => Ok(true),
        Err(StoreError::NoSuchId { .. } | StoreError::Ambiguous { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

fn pattern_ids(lesson: &SharedLesson) -> Vec<String> {
    let is_id = |id: &&String| {
        id.strip_prefix("p-").is_some_and(|id| id.len() == 8 && id.bytes().all(|b| b.is_ascii_alphanumeric()))
    };
    lesson.front.patterns.iter().filter(is_id).take(PATTERNS_MAX).cloned().collect()
}

/// What a lesson teaches, as an entry: like a gotcha that was learnt here, from the lesson's file.
fn to_shared_lesson_content(
    lesson: &SharedLesson,
    path: &str,
    places: &Places,
    whitelist: &Whitelist,
) -> SharedLessonContent {
    let front = &lesson.front;
    let fix = lesson.fix.clone().unwrap_or_default();
    let first = |said: &Option<String>, other: &Option<String>| {
        said.as_deref().and_then(sanitize_name).or_else(|| other.as_deref().and_then(sanitize_name))
    };
    let recipe = fix::recipes_of_attempt(&[], 0, &fix.diff, &[], &[]).into_iter().next().map(|recipe| recipe.label);
    let pitfall =
        sanitize_name(&lesson.pitfall).or_else(|| sanitize_name(&front.tool)).unwrap_or_else(|| "a failure".to_owned());
    let texts = [
        ("pitfall", Some(pitfall.clone())),
        ("cause", first(&front.cause, &fix.cause)),
        ("rule", first(&front.corrective_rule, &fix.rule)),
        ("fix", first(&front.resolution, &fix.approach).or_else(|| recipe.as_deref().and_then(sanitize_name))),
    ];
    let said = texts.into_iter().filter_map(|(name, text)| Some((name.to_owned(), Value::String(text?))));
    let properties = Value::Object(said.collect::<Map<_, _>>());
    let command = prefix(&front.command, COMMAND_BYTES_MAX);
    let tool = whitelist.tool_class(&places.root, &places.root.join(&front.directory), command);
    let tags = [tool.or_else(|| sanitize_name(&front.tool)), sanitize_name(&front.category)];
    let sources = [path.to_owned()].into_iter().chain(pattern_ids(lesson)).take(LABELS_MAX);
    let origin = EntryOrigin {
        source: if lesson.is_explained() { EntrySource::Human } else { EntrySource::Check },
        prevented: false,
        fix_applied: lesson.fix.is_some(),
    };
    let entry = KnowledgeEntry {
        entry_type: EntryTypeName::GOTCHA,
        title: pitfall,
        properties,
        globs: front.files.iter().filter(|file| is_file(file)).take(LABELS_MAX).cloned().collect(),
        actions: Vec::new(),
        tags: tags.into_iter().flatten().collect(),
        sources: sources.collect(),
        origin,
    };
    let by = EventAuthor { agent: front.agent.as_deref().and_then(sanitize_name), ..EventAuthor::default() };
    // It counts from when it came here.
    SharedLessonContent { entry, at: Timestamp::now(), by }
}

/// Whether a text is the path of one file below the root: not of several, as a glob would be.
fn is_file(text: &str) -> bool {
    let is_part = |part: &str| !part.is_empty() && part != "." && part != "..";
    !text.contains(['*', '?']) && sanitize_name(text).is_some_and(|clean| clean == text) && text.split('/').all(is_part)
}
