//! `ci`: what a job of a CI system has to say of the checks that were run in it.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::reading::{self, Reading};
use crate::base::clock::Timestamp;
use crate::base::file::{Durability, write_atomic};
use crate::base::lossless::Lossless;
use crate::base::text::ellipsis;
use crate::config::{Places, Settings};
use crate::event::EventBody;
use crate::host::ci::{Host, Job};
use crate::report::{ReportFormat, ReportedRun, SummarizedRun, render_job_summary, render_report};
use crate::retrieval::hint::{HintSources, hint_lines};
use crate::store::{StoreError, own_writer};

/// What GitHub and Buildkite take for a page of a step, bytes; GitHub drops a longer one as a whole.
const SUMMARY_BYTES_MAX: u64 = 1 << 20;
/// Known failures of one run that are named.
const KNOWN_MAX: usize = 5;
/// A line on standard output, bytes. GitHub cuts a message at 4,096 characters.
const LINE_BYTES_MAX: usize = 4096;

/// What is to be reported, and how.
#[derive(Debug)]
pub(crate) struct Wanted<'a> {
    /// The job.
    pub job: &'a Job,
    /// The job's session: all runs of it are reported on. `None` for the last run alone.
    pub session: Option<&'a str>,
    /// Only runs that were started then or later.
    pub since: Option<Timestamp>,
    /// The folder for report files; `None` for the host's: none on GitHub, else `verify-run-report`.
    pub out: Option<&'a Path>,
}

/// What `ci --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Reported {
    /// Version of this shape.
    pub schema: u32,
    /// The system.
    pub host: Host,
    /// Checks reported on, each by its newest run.
    pub runs: usize,
    /// Those of them that failed.
    pub failed: usize,
    /// Failed ones that have failed like this before.
    pub known: usize,
    /// Files written.
    pub files: Vec<PathBuf>,
    /// For standard output, where the host reads it: workflow commands.
    #[serde(skip)]
    pub commands: String,
    /// For standard error.
    #[serde(skip)]
    pub notes: Vec<String>,
}

/// Says what there is to say to the host. What can't be written is a note: a report must not fail a job.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn report(places: &Places, settings: &Settings, wanted: &Wanted<'_>) -> Result<Reported, StoreError> {
    let mut reading = reading::open_for_reading(places)?;
    let mut notes = std::mem::take(&mut reading.notes);
    let summarized = find_reported_runs(places, settings, &reading, wanted)?;
    let runs: Vec<ReportedRun> = summarized.iter().map(|summarized| summarized.run.clone()).collect();
    let mut reported = Reported {
        schema: 1,
        host: wanted.job.host,
        runs: runs.len(),
        failed: runs.iter().filter(|run| !run.record.ended.passed()).count(),
        known: summarized.iter().filter(|summarized| !summarized.known.is_empty()).count(),
        files: Vec::new(),
        commands: String::new(),
        notes: Vec::new(),
    };
    if wanted.job.host == Host::Github {
        let lines = render_report(&runs, ReportFormat::Github).text;
        reported.commands = lines.lines().map(|line| ellipsis(line, LINE_BYTES_MAX) + "\n").collect();
    }
    if let Some(file) = &wanted.job.summary {
        append(file, |room| render_job_summary(&summarized, room), SUMMARY_BYTES_MAX, &mut notes);
    }
    if let Some(file) = &wanted.job.outputs {
        let Reported { runs, failed, known, .. } = &reported;
        append(file, |_| format!("runs={runs}\nfailed={failed}\nknown={known}\n"), u64::MAX, &mut notes);
    }
    let folder = wanted.out.or((wanted.job.host != Host::Github).then_some(Path::new("verify-run-report")));
    if let Some(folder) = folder {
        for (name, text) in documents(wanted.job.host, &summarized, &runs) {
            match write(folder, name, &text) {
                Ok(file) => reported.files.push(file),
                Err(error) => notes.push(format!("cannot write {}: {error}", folder.join(name).display())),
            }
        }
    }
    reported.notes = notes;
    Ok(reported)
}

/// The newest run of each check that is reported on, in the order in which they began. Only what was recorded here
/// counts: an imported failure is another job's.
fn find_reported_runs(
    places: &Places,
    settings: &Settings,
    reading: &Reading,
    wanted: &Wanted<'_>,
) -> Result<Vec<SummarizedRun>, StoreError> {
    let (Some(index), Some(own)) = (&reading.index, own_writer(&places.state)) else { return Ok(Vec::new()) };
    let root = Lossless::from(&places.root);
    let ids = match wanted.session {
        Some(session) => index.runs_in_session(&root, session)?,
        None => index.last_run(&root, Timestamp::now())?.map(|run| run.id).into_iter().collect(),
    };
    let mut newest: BTreeMap<String, ReportedRun> = BTreeMap::new();
    for id in ids {
        let event = index.read_event(&reading.segments, &id)?.filter(|event| event.writer == own);
        let Some(EventBody::Run(run)) = event.map(|event| event.body) else { continue };
        if wanted.since.is_none_or(|since| run.started_at >= since) {
            newest.insert(run.key.clone(), ReportedRun { id, record: *run });
        }
    }
    let mut runs: Vec<ReportedRun> = newest.into_values().collect();
    runs.sort_by_key(|run| run.record.started_at);
    let mut summarized = Vec::with_capacity(runs.len());
    let (segments, root) = (&reading.segments, places.root.as_path());
    let sources = HintSources { index, segments, registry: None, settings, root };
    for run in runs {
        let key = |item: &crate::event::DiagnosticRecord| {
            item.recomputed_fingerprint().map_or_else(|| item.pattern.clone(), |keys| keys.pattern)
        };
        let keys: Vec<String> = run.items().iter().map(key).collect();
        let known = hint_lines(&sources, &keys, run.record.started_at, KNOWN_MAX)?;
        summarized.push(SummarizedRun { run, known });
    }
    Ok(summarized)
}

/// The report files that a host reads.
fn documents(host: Host, summarized: &[SummarizedRun], runs: &[ReportedRun]) -> Vec<(&'static str, String)> {
    let room = usize::try_from(SUMMARY_BYTES_MAX).unwrap_or(usize::MAX);
    let junit = ("junit.xml", ReportFormat::Junit);
    let summary = || ("summary.md", render_job_summary(summarized, room));
    let rendered = |(name, format): (&'static str, ReportFormat)| (name, render_report(runs, format).text);
    match host {
        Host::Gitlab => vec![rendered(("gl-code-quality-report.json", ReportFormat::Gitlab)), rendered(junit)],
        Host::Jenkins => vec![rendered(junit), rendered(("checkstyle.xml", ReportFormat::Checkstyle))],
        Host::Github => vec![rendered(junit), rendered(("report.sarif", ReportFormat::Sarif))],
        Host::Buildkite | Host::Other => vec![rendered(junit), summary()],
    }
}

/// Writes a file of a folder; a folder that this makes is one that git leaves alone.
fn write(folder: &Path, name: &str, text: &str) -> io::Result<PathBuf> {
    if !folder.is_dir() {
        fs::create_dir_all(folder)?;
        write_atomic(&folder.join(".gitignore"), b"*\n", 0o644, Durability::Cached)?;
    }
    let file = folder.join(name);
    write_atomic(&file, text.as_bytes(), 0o644, Durability::Cached)?;
    Ok(file)
}

/// Appends to a file of the host's, as much as there is room for in it.
fn append(file: &Path, text: impl FnOnce(usize) -> String, limit: u64, notes: &mut Vec<String>) {
    let appended = OpenOptions::new().append(true).create(true).open(file).and_then(|mut file| {
        let room = limit.saturating_sub(file.metadata()?.len());
        file.write_all(text(usize::try_from(room).unwrap_or(usize::MAX)).as_bytes())
    });
    if let Err(error) = appended {
        notes.push(format!("cannot write {}: {error}", file.display()));
    }
}
