//! `last`: what the last run here was, also when it isn't recorded yet.

use serde::Serialize;

use super::{reading, record};
use crate::base::clock::Timestamp;
use crate::base::lossless::Lossless;
use crate::capture::Header;
use crate::config::{Environment, Places, Settings};
use crate::lesson::Folder;
use crate::run::Ended;
use crate::store::{Index, LastRun, StoreError};

/// What `last --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Last {
    /// Version of this shape.
    pub schema: u32,
    /// The run's id.
    pub run: String,
    /// What was run, secrets replaced.
    pub argv: Vec<Lossless>,
    /// Where, relative to the root.
    pub dir: Lossless,
    /// The tool, of a recognised check.
    pub tool: Option<String>,
    /// When it was started.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Timestamp,
    /// Wall time, microseconds.
    pub duration_us: u64,
    /// Whether it passed.
    pub passed: bool,
    /// `{"exit": 1}` or `{"signal": 9}`.
    pub ended: Ended,
    /// What `$?` was: the exit code, or 128 + signal.
    pub exit_code: i32,
    /// `f-…`, when it failed.
    pub failure: Option<String>,
    /// The failure's category.
    pub category: Option<String>,
    /// The failure's first message.
    pub summary: Option<String>,
    /// Affected files.
    pub files: Vec<String>,
    /// What was different in the work tree, of a recorded failure: since the check last passed, else since the commit.
    pub changed: Option<Changed>,
    /// `l-…`, when a lesson was written for this run.
    pub lesson: Option<String>,
    /// Its file, relative to the root; `None` when it is gone.
    pub lesson_file: Option<String>,
    /// False while the recorder hasn't got to it: then a failure's details are missing.
    pub recorded: bool,
}

/// What was different in the work tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Changed {
    /// `pass`: since this check last passed; `head`: since the commit, because it has not passed yet.
    pub since: String,
    /// The files, sorted, up to 200.
    pub files: Vec<String>,
    /// How many there are in all.
    pub count: u64,
    /// Nothing changed after the run had started.
    pub exact: bool,
}

/// The last run of this work tree, with notes for standard error. `None` when there is none.
///
/// # Errors
/// When the store can't be read.
pub fn last(places: &Places, environment: &Environment) -> Result<(Option<Last>, Vec<String>), StoreError> {
    let root = Lossless::from(&places.root);
    let reading = reading::open(places);
    let now = Timestamp::now();
    // Before the index is asked: a run that is recorded meanwhile is then found twice, else it would not be at all.
    let waiting = record::waiting(places).into_iter().filter(|header| header.place.root == root);
    let waiting = waiting.max_by_key(|header| (header.ended_at <= now, header.ended_at, header.run));
    // What can't be recorded now (another recorder, a full disk, a newer store) is still an answer.
    let (recorded, notes) = match reading {
        Ok(reading) => match &reading.index {
            Some(index) => {
                let last = index.last_run(&root, now)?.map(Last::of);
                let last = last.map(|last| with_changes(index, last)).transpose()?;
                (last, reading.notes)
            }
            None => (None, reading.notes),
        },
        Err(error) if error.is_newer() => return Err(error),
        Err(error) => (None, vec![error.to_string()]),
    };
    let mut newest = match (recorded, waiting) {
        (Some(recorded), Some(waiting)) if recorded.ended_at < waiting.ended_at => Last::waiting(waiting),
        (Some(recorded), _) => recorded,
        (None, Some(waiting)) => Last::waiting(waiting),
        (None, None) => return Ok((None, notes)),
    };
    if let Some(id) = &newest.lesson {
        let folder = Folder::find(places, &Settings::load(places, environment).0);
        let path = folder.path_of(id).map(|path| places.relative(&path).unwrap_or_else(|| path.into_os_string()));
        newest.lesson_file = path.map(|path| path.to_string_lossy().into_owned());
    }
    Ok((Some(newest), notes))
}

fn with_changes(index: &Index, last: Last) -> Result<Last, StoreError> {
    let snapshot = if last.failure.is_some() { index.snapshot(&last.run)? } else { None };
    let changed = snapshot.and_then(|snapshot| {
        let since = snapshot.base.filter(|_| snapshot.unavailable.is_none())?;
        Some(Changed { since, files: snapshot.files, count: snapshot.file_count, exact: snapshot.exact })
    });
    Ok(Last { changed, ..last })
}

impl Last {
    fn of(run: LastRun) -> Self {
        Last {
            schema: 1,
            run: run.id,
            argv: run.argv,
            dir: run.dir,
            tool: run.tool,
            started_at: run.started_at,
            ended_at: run.ended_at,
            duration_us: run.duration_us,
            passed: run.ended.passed(),
            ended: run.ended,
            exit_code: run.ended.shell_code(),
            failure: run.failure,
            category: run.category,
            summary: run.summary,
            files: run.files,
            changed: None,
            lesson: run.lesson,
            lesson_file: run.lesson_file,
            recorded: true,
        }
    }

    fn waiting(header: Header) -> Self {
        let dir = header.cwd.path().strip_prefix(header.place.root.path());
        Last {
            schema: 1,
            run: header.run.to_string(),
            dir: dir.map_or_else(|_| header.cwd.clone(), Lossless::from),
            argv: record::redacted(&header.argv),
            tool: header.check.map(|check| check.tool),
            started_at: header.started_at,
            ended_at: header.ended_at,
            duration_us: header.duration_us,
            passed: header.ended.passed(),
            ended: header.ended,
            exit_code: header.ended.shell_code(),
            failure: None,
            category: None,
            summary: None,
            files: Vec::new(),
            changed: None,
            lesson: None,
            lesson_file: None,
            recorded: false,
        }
    }
}
