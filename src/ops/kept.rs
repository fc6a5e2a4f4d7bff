//! What a surface that answers many calls keeps from one to the next: what is read the same way each time, as long as it
//! is known to be as it was.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::config::{Places, Settings};
use crate::lesson::LessonFolder;
use crate::recorder::{self, DrainReport};
use crate::retrieval::detector_cache::DetectorCache;
use crate::retrieval::history_cache::HistoryCache;
use crate::retrieval::pattern_facts::PatternFactsCache;
use crate::store::{ReaderPool, StoreStamp};

/// Connections that are kept: each has its statements and pages, a few MiB.
const READERS_MAX: usize = 1;
/// How long nothing is recorded before a question while nothing waits and nothing changes: a recorder has other work, too,
/// such as what is due after some time.
const QUIET: Duration = Duration::from_secs(60);

/// Lessons that are looked at for each question; a folder with more is known for a while.
const LESSONS_MAX: usize = 1_000;

/// What is kept from one call to the next. Its clones share it; the default keeps nothing but for itself.
#[derive(Debug, Clone, Default)]
pub(crate) struct KeptReads {
    /// What detectors look at.
    pub histories: HistoryCache,
    /// What lists show of patterns.
    pub facts: PatternFactsCache,
    /// The detectors in force.
    pub detectors: DetectorCache,
    /// Connections to the index.
    pub readers: ReaderPool,
    /// The store after everything was recorded; `None` where each question records what waits.
    recorded: Option<Arc<Mutex<Option<RecordedStore>>>>,
    /// The lessons that were taken over last; `None` where each question looks at them.
    lessons: Option<Arc<Mutex<Option<LessonsSeen>>>>,
}

/// A folder of many lessons, all of which the index knows.
#[derive(Debug, PartialEq, Eq)]
struct LessonsSeen {
    dir: PathBuf,
    /// Number, and when a file was added, replaced or removed: seconds, nanoseconds.
    state: (u64, i64, i64),
    at: Instant,
}

/// A store in which everything was recorded.
#[derive(Debug)]
struct RecordedStore {
    stamp: StoreStamp,
    at: Instant,
}

impl KeptReads {
    /// For a surface that answers many calls.
    pub(crate) fn for_many_calls() -> Self {
        KeptReads {
            histories: HistoryCache::default(),
            facts: PatternFactsCache::default(),
            detectors: DetectorCache::default(),
            readers: ReaderPool::new(READERS_MAX),
            recorded: Some(Arc::default()),
            lessons: Some(Arc::default()),
        }
    }

    /// Whether everything was recorded a moment ago, nothing waits, and nothing has changed since.
    pub(crate) fn is_recorded(&self, places: &Places) -> bool {
        let Some(recorded) = &self.recorded else { return false };
        let recorded = recorded.lock().unwrap_or_else(PoisonError::into_inner);
        recorded.as_ref().is_some_and(|known| {
            known.at.elapsed() < QUIET
                && StoreStamp::of(&places.state).as_ref() == Some(&known.stamp)
                && recorder::pending_entries(places).is_empty()
        })
    }

    /// The store before what waits is recorded, for [`KeptReads::note_recorded`].
    pub(crate) fn stamp_before(&self, places: &Places) -> Option<StoreStamp> {
        self.recorded.as_ref().and_then(|_| StoreStamp::of(&places.state))
    }

    /// Remembers that everything was recorded, unless something is left to do.
    pub(crate) fn note_recorded(&self, places: &Places, before: Option<&StoreStamp>, drained: &DrainReport) {
        let Some(recorded) = &self.recorded else { return };
        let is_done = !drained.busy && !drained.promotes && drained.notes.is_empty() && drained.left.is_empty();
        let stamp = StoreStamp::of(&places.state).filter(|_| is_done);
        // What another process appended meanwhile may not be indexed.
        let stamp = stamp.filter(|stamp| before.is_some_and(|before| stamp.has_same_events(before)));
        let known = stamp.map(|stamp| RecordedStore { stamp, at: Instant::now() });
        *recorded.lock().unwrap_or_else(PoisonError::into_inner) = known;
    }

    /// Whether the lessons of a folder with many were taken over a moment ago, and none was added or replaced since. That
    /// one was edited in place is noticed after a minute: to look at each file takes longer than a page.
    pub(crate) fn knows_lessons(&self, places: &Places, settings: &Settings) -> bool {
        let Some(lessons) = &self.lessons else { return false };
        let lessons = lessons.lock().unwrap_or_else(PoisonError::into_inner);
        lessons.as_ref().is_some_and(|known| {
            let dir = LessonFolder::find(places, settings).dir;
            known.at.elapsed() < QUIET && known.dir == dir && folder_state(&dir) == Some(known.state)
        })
    }

    /// The lessons before they are taken over, for [`KeptReads::note_lessons`]; `None` of a folder with few.
    pub(crate) fn lessons_before(&self, places: &Places, settings: &Settings) -> Option<(PathBuf, (u64, i64, i64))> {
        self.lessons.as_ref()?;
        let dir = LessonFolder::find(places, settings).dir;
        let state = folder_state(&dir)?;
        fs::read_dir(&dir).ok()?.nth(LESSONS_MAX)?.ok()?;
        Some((dir, state))
    }

    /// Remembers that the lessons were taken over as they were `before`.
    pub(crate) fn note_lessons(&self, before: Option<(PathBuf, (u64, i64, i64))>) {
        let Some(lessons) = &self.lessons else { return };
        let known = before.map(|(dir, state)| LessonsSeen { dir, state, at: Instant::now() });
        *lessons.lock().unwrap_or_else(PoisonError::into_inner) = known;
    }
}

fn folder_state(dir: &Path) -> Option<(u64, i64, i64)> {
    let found = fs::metadata(dir).ok()?;
    Some((found.ino(), found.mtime(), found.mtime_nsec()))
}
