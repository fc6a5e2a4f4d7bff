//! `last` and `show`: a run in detail; the last one here also when it isn't recorded yet.

use std::io::{self, Read};

use serde::Serialize;

use super::reply::Reply;
use super::report;
use super::request::Request;
use crate::base::clock::Timestamp;
use crate::base::ids::{self, IdKind, RunId};
use crate::base::limits::{CAPTURE_HEAD_BYTES_MAX, CAPTURE_TAIL_BYTES_MAX};
use crate::base::lossless::Lossless;
use crate::base::private;
use crate::base::refusal::Refusal;
use crate::base::text;
use crate::capture::SpoolHeader;
use crate::config::Places;
use crate::diagnose::coloured::without_colours;
use crate::event::{DiagnosticRecord, Run};
use crate::lesson::LessonFolder;
use crate::pattern::signature::TaskSignature;
use crate::recorder;
use crate::run::CommandEnd;
use crate::store::{Index, RunRow, SegmentFolder, StoreError};

/// Maximum number of items shown of a failure.
const ITEMS_MAX: usize = 200;

/// What is shown of the beginning of an output, and of its end, bytes: escaped, a page has at most 150 KiB.
const OUTPUT_HEAD_BYTES: usize = 8 << 10;
const OUTPUT_TAIL_BYTES: usize = 20 << 10;

/// What a run printed, without colours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RunOutput {
    /// The run's id.
    pub run: String,
    /// All of it, or its beginning.
    pub head: String,
    /// Bytes that are left out after that; `verify-run show RUN --output` prints them.
    pub left_out: u64,
    /// The end, where something is left out.
    pub tail: String,
}

/// What `last --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct LastRun {
    /// The run's id.
    pub run: String,
    /// What was run, secrets replaced.
    pub argv: Vec<Lossless>,
    /// Where, relative to the root.
    pub dir: Lossless,
    /// Task of the run.
    pub task: Option<String>,
    /// The sitting.
    pub session: Option<String>,
    /// Agent, the kind of worker.
    pub agent: Option<String>,
    /// The tool, of a recognised check.
    pub tool: Option<String>,
    /// What it checks: `test`, `lint`, `type`, `format` or `build`.
    pub check: Option<String>,
    /// Start of the run.
    pub started_at: Timestamp,
    /// End of the run.
    pub ended_at: Timestamp,
    /// Wall time, microseconds.
    pub duration_us: u64,
    /// Whether the command exited with 0.
    pub passed: bool,
    /// `{"exit": 1}` or `{"signal": 9}`.
    pub ended: CommandEnd,
    /// What `$?` was: the exit code, or 128 + signal.
    pub exit_code: i32,
    /// `f-…`, when it failed.
    pub failure: Option<String>,
    /// The failure's category.
    pub category: Option<String>,
    /// The failure's first message.
    pub summary: Option<String>,
    /// What failed, in the order of the output, up to 200.
    pub items: Vec<LastFailure>,
    /// Items beyond that, and those that were never kept.
    pub items_cut: usize,
    /// Affected files.
    pub files: Vec<String>,
    /// What was different in the work tree, of a recorded failure: since the check last passed, else since the commit.
    pub changed: Option<WorkTreeChanges>,
    /// What tells the task of a failure from others: words, tools, categories, file patterns.
    pub signature: Option<TaskSignature>,
    /// `l-…`, when a lesson was written for this run.
    pub lesson: Option<String>,
    /// Its file, relative to the root; `None` when it is gone.
    pub lesson_file: Option<String>,
    /// False while the recorder hasn't got to it: then a failure's details are missing.
    pub recorded: bool,
}

/// One thing that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct LastFailure {
    /// `p-…` of its pattern.
    pub pattern: String,
    /// The tool that found it.
    pub tool: String,
    /// Rule, error code or exception class.
    pub code: Option<String>,
    /// The file of the first diagnostic.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The failing test.
    pub test: Option<String>,
    /// The message of the first diagnostic.
    pub message: String,
    /// How many equal ones there were in that file.
    pub count: u32,
}

/// What was different in the work tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct WorkTreeChanges {
    /// `pass`: since this check last passed; `head`: since the commit, because it has not passed yet.
    pub since: String,
    /// The files, sorted, up to 200.
    pub files: Vec<String>,
    /// How many there are in all.
    pub count: u64,
    /// Nothing changed after the run had started.
    pub exact: bool,
    /// The unified diff of text files, secrets replaced, up to a limit.
    pub diff: String,
    /// Bytes of it beyond the limit.
    pub diff_cut: u64,
}

/// The last run of this work tree. `None` when there is none.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn last_run(request: &Request) -> Result<Option<Reply<LastRun>>, StoreError> {
    let root = Lossless::from(&request.places.root);
    let reading = request.open_for_reading();
    let now = request.now();
    // Before the index is asked: a run that is recorded meanwhile is then found twice, else it would not be at all.
    let waiting =
        recorder::waiting_headers(&request.places).into_iter().filter(|header| header.repository.root == root);
    let waiting = waiting.max_by_key(|header| (header.ended_at <= now, header.ended_at, header.run));
    // What can't be recorded now (another recorder, a full disk, a newer store) is still an answer.
    let (recorded, notes) = match reading {
        Ok(reading) => match &reading.index {
            Some(index) => {
                let last = index.last_run(&root, now)?.map(LastRun::from_run);
                let last = last.map(|last| with_details(index, &reading.segments, last)).transpose()?;
                (last, reading.notes)
            }
            None => (None, reading.notes),
        },
        Err(error) if error.is_newer() => return Err(error),
        Err(error) => (None, vec![error.to_string()]),
    };
    let mut newest = match (recorded, waiting) {
        (Some(recorded), Some(waiting)) if recorded.ended_at < waiting.ended_at => LastRun::from_waiting(waiting),
        (Some(recorded), _) => recorded,
        (None, Some(waiting)) => LastRun::from_waiting(waiting),
        (None, None) => return Ok(None),
    };
    newest.find_lesson(request);
    Ok(Some(Reply::new(newest, notes)))
}

/// The run that `id` names: a run, or that of a failure or lesson, or the start of such an id; of a pattern the newest.
/// With notes for standard error.
///
/// # Errors
/// No such id, an ambiguous one, or the store can't be read.
pub(crate) fn run_by_id(request: &Request, id: &str) -> Result<Reply<LastRun>, StoreError> {
    let (subject, notes) = report::find_reported_run(request, Some(id))?;
    let unknown = || StoreError::NoSuchId { id: id.to_owned() };
    let run = subject.ok_or_else(unknown)?.id;
    let reading = request.open_for_reading()?;
    let index = reading.index.as_ref().ok_or_else(unknown)?;
    let summary = match uuid::Uuid::parse_str(&run) {
        Ok(run) => index.run_summary(RunId(run))?,
        Err(_) => None,
    };
    let mut last = with_details(index, &reading.segments, LastRun::from_run(summary.ok_or_else(unknown)?))?;
    last.find_lesson(request);
    Ok(Reply::new(last, notes))
}

/// What a failed run printed, redacted, its beginning and its end.
///
/// # Errors
/// When there is no such run, its output is not kept, or the store can't be read.
pub(crate) fn read_run_output(request: &Request, run: &str) -> anyhow::Result<Reply<RunOutput>> {
    let Reply { data: last, notes, .. } = run_by_id(request, run)?;
    let text = without_colours(&kept_output(&request.places, &last)?);
    Ok(Reply::new(RunOutput::from_text(last.run, &text), notes))
}

impl RunOutput {
    fn from_text(run: String, text: &str) -> Self {
        if text.len() <= OUTPUT_HEAD_BYTES + OUTPUT_TAIL_BYTES {
            return RunOutput { run, head: text.to_owned(), left_out: 0, tail: String::new() };
        }
        let head = text::prefix(text, OUTPUT_HEAD_BYTES);
        let tail = &text[text.ceil_char_boundary(text.len() - OUTPUT_TAIL_BYTES)..];
        let left_out = (text.len() - head.len() - tail.len()) as u64;
        RunOutput { run, head: head.to_owned(), left_out, tail: tail.to_owned() }
    }
}

/// The kept output of a failed run: redacted, with the colours that it had.
///
/// # Errors
/// When none is kept: the run passed, or its output was rotated out (30 days, 200 MB) or purged; when it can't be read.
pub(crate) fn kept_output(places: &Places, last: &LastRun) -> anyhow::Result<String> {
    let run = &last.run;
    let read = || -> io::Result<String> {
        let packed = private::read(&places.state.raw_output(run))?;
        // Replacing invalid UTF-8 may triple it.
        let max = 3 * (CAPTURE_HEAD_BYTES_MAX + CAPTURE_TAIL_BYTES_MAX) as u64;
        let mut text = Vec::new();
        zstd::Decoder::new(packed.as_slice())?.take(max).read_to_end(&mut text)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    };
    match read() {
        Ok(text) => Ok(text),
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            anyhow::bail!("cannot read the output of run {run}: {error}")
        }
        Err(_) if last.passed => {
            anyhow::bail!(Refusal::not_found(format!("the output of run {run} is not kept: it passed")))
        }
        Err(_) => {
            let message = format!("the output of run {run} is not kept any more");
            anyhow::bail!(Refusal::not_found(message).then_run("again"))
        }
    }
}

/// The last run with what only its events say.
fn with_details(index: &Index, segments: &SegmentFolder, mut last: LastRun) -> Result<LastRun, StoreError> {
    let Some(run) = index.read_run(segments, &last.run)? else { return Ok(last) };
    let id = uuid::Uuid::parse_str(&last.run).map(RunId);
    last.check = run.check.map(|check| check.as_str().to_owned());
    if let (Some(failure), Ok(id)) = (run.failure, id) {
        last.items_cut = failure.items_cut + failure.items.len().saturating_sub(ITEMS_MAX);
        last.items = failure.items.into_iter().take(ITEMS_MAX).map(LastFailure::from_diagnostic).collect();
        let parts = index.task_signature(&run.task)?;
        last.signature =
            Some(TaskSignature::from_parts(parts.iter().map(|(part, value)| (part.as_str(), value.as_str()))));
        last.changed = changed_since_pass(index, segments, id)?;
    }
    (last.task, last.session, last.agent) = (Some(run.task), run.session, run.agent);
    Ok(last)
}

fn changed_since_pass(
    index: &Index,
    segments: &SegmentFolder,
    run: RunId,
) -> Result<Option<WorkTreeChanges>, StoreError> {
    let Some(row) = index.snapshot_of_run(&run.to_string())?.filter(|row| row.unavailable.is_none()) else {
        return Ok(None);
    };
    let Some(since) = row.base else { return Ok(None) };
    let (diff, diff_cut) =
        index.snapshot_event(segments, run)?.map(|snapshot| (snapshot.diff, snapshot.diff_cut)).unwrap_or_default();
    Ok(Some(WorkTreeChanges { since, files: row.files, count: row.file_count, exact: row.exact, diff, diff_cut }))
}

impl LastFailure {
    /// The first things that failed in a run, up to 200.
    pub(super) fn first_of_run(run: &Run) -> Vec<LastFailure> {
        let items = run.failure.iter().flat_map(|failure| &failure.items);
        items.take(ITEMS_MAX).cloned().map(LastFailure::from_diagnostic).collect()
    }

    pub(super) fn from_diagnostic(item: DiagnosticRecord) -> Self {
        let key = item.recomputed_fingerprint().map_or(item.pattern, |keys| keys.pattern);
        LastFailure {
            pattern: ids::short(IdKind::Pattern, key.as_bytes()),
            tool: item.tool,
            code: item.code,
            file: item.file,
            line: item.line,
            test: item.test,
            message: item.message,
            count: item.count,
        }
    }
}

impl LastRun {
    /// Where its lesson is now.
    fn find_lesson(&mut self, request: &Request) {
        let Some(id) = &self.lesson else { return };
        let folder = LessonFolder::find(&request.places, request.settings());
        let path = folder
            .find_lesson_path(id, self.lesson_file.as_deref())
            .map(|path| request.places.relative(&path).unwrap_or_else(|| path.into_os_string()));
        self.lesson_file = path.map(|path| path.to_string_lossy().into_owned());
    }

    pub(super) fn from_run(run: RunRow) -> Self {
        LastRun {
            run: run.id,
            argv: run.argv,
            dir: run.dir,
            task: None,
            session: None,
            agent: None,
            tool: run.tool,
            check: None,
            started_at: run.started_at,
            ended_at: run.ended_at,
            duration_us: run.duration_us,
            passed: run.ended.passed(),
            ended: run.ended,
            exit_code: run.ended.shell_code(),
            failure: run.failure,
            category: run.category,
            summary: run.summary,
            items: Vec::new(),
            items_cut: 0,
            files: run.files,
            changed: None,
            signature: None,
            lesson: run.lesson,
            lesson_file: run.lesson_file,
            recorded: true,
        }
    }

    fn from_waiting(header: SpoolHeader) -> Self {
        let dir = header.cwd.path().strip_prefix(header.repository.root.path());
        LastRun {
            run: header.run.to_string(),
            dir: dir.map_or_else(|_| header.cwd.clone(), Lossless::from),
            argv: crate::redact::redact_arguments(&header.argv),
            task: header.identity.task,
            session: header.identity.session,
            agent: header.identity.agent,
            check: header.check.as_ref().map(|check| check.kind.as_str().to_owned()),
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
            items: Vec::new(),
            items_cut: 0,
            files: Vec::new(),
            changed: None,
            signature: None,
            lesson: None,
            lesson_file: None,
            recorded: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::config::Environment;
    use crate::recorder::tests::World;
    use crate::run::CommandEnd;
    use crate::store::lock_store;

    #[test]
    fn while_somebody_records_the_last_run_is_read_from_the_spool() {
        let world = World::new();
        let held = lock_store(&world.places.state, Duration::ZERO).expect("free");
        world.spool(&world.header(1, "aa", CommandEnd::Exit(1)), "error\n");
        assert!(recorder::drain(&world.places).expect("is no error").busy);
        let mut second = world.header(2, "aa", CommandEnd::Exit(3));
        second.argv.push(Lossless::from("--token=ghp_0123456789abcdefghijklmnopqrstuvwxyzAB"));
        world.spool(&second, "error\n");
        let waiting = recorder::waiting_headers(&world.places);
        assert_eq!(waiting.len(), 2);
        drop(held);
        let run = last_run(&Request::at_places(world.places.clone(), Environment::default())).expect("reads");
        let run = run.expect("is there").data;
        assert_eq!((run.exit_code, run.recorded), (3, true));
        assert!(!format!("{:?}", run.argv).contains("ghp_0123"), "{:?}", run.argv);
    }
}
