//! What a CI system is given about a job: workflow commands, the job's page, step outputs and report files.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::{CiJob, CiSystem};
use crate::base::file::{Durability, write_atomic};
use crate::base::text::ellipsis;
use crate::report::{ReportFormat, ReportedRun, SummarizedRun, render_job_summary, render_report};

/// What GitHub and Buildkite take for a page of a step, bytes; GitHub drops a longer one as a whole.
const SUMMARY_BYTES_MAX: u64 = 1 << 20;
/// A line on standard output, bytes. GitHub cuts a message at 4,096 characters.
const LINE_BYTES_MAX: usize = 4096;
/// The folder for report files where none is named.
const REPORT_DIR: &str = "verify-run-report";

/// The checks of a job, each by its newest run.
pub(crate) struct JobReport<'a> {
    /// Number of checks.
    pub runs: usize,
    /// Number of checks that failed.
    pub failed: usize,
    /// Number of failures that have happened like this before.
    pub known: usize,
    summarized: &'a [SummarizedRun],
    reported: Vec<ReportedRun>,
}

/// What was written.
pub(crate) struct WrittenReports {
    /// Report files.
    pub files: Vec<PathBuf>,
    /// What could not be written, a sentence each.
    pub problems: Vec<String>,
}

/// A report file of a host.
struct ReportFile {
    name: &'static str,
    text: String,
}

impl<'a> JobReport<'a> {
    /// The report of these runs.
    pub(crate) fn new(runs: &'a [SummarizedRun]) -> Self {
        JobReport {
            runs: runs.len(),
            failed: runs.iter().filter(|run| !run.run.record.ended.passed()).count(),
            known: runs.iter().filter(|run| !run.known.is_empty()).count(),
            summarized: runs,
            reported: runs.iter().map(|run| run.run.clone()).collect(),
        }
    }

    /// What the host reads on standard output; empty for all but GitHub.
    pub(crate) fn commands(&self, host: CiSystem) -> String {
        if host != CiSystem::Github {
            return String::new();
        }
        let lines = render_report(&self.reported, ReportFormat::Github).text;
        lines.lines().map(|line| ellipsis(line, LINE_BYTES_MAX) + "\n").collect()
    }

    /// Writes the job's page, its step outputs, and report files into `dir` (without one into the host's folder, of which
    /// GitHub has none).
    pub(crate) fn write_files(&self, job: &CiJob, dir: Option<&Path>) -> WrittenReports {
        let (mut files, mut problems) = (Vec::new(), Vec::new());
        let failure = |file: &Path, error: &io::Error| format!("cannot write {}: {error}", file.display());
        if let Some(file) = &job.summary
            && let Err(error) = append_to_page(file, |room| render_job_summary(self.summarized, room))
        {
            problems.push(failure(file, &error));
        }
        if let Some(file) = &job.outputs {
            let outputs = format!("runs={}\nfailed={}\nknown={}\n", self.runs, self.failed, self.known);
            if let Err(error) = append(file, |_| outputs, u64::MAX) {
                problems.push(failure(file, &error));
            }
        }
        let dir = dir.or((job.host != CiSystem::Github).then_some(Path::new(REPORT_DIR)));
        let Some(dir) = dir else { return WrittenReports { files, problems } };
        for report in self.report_files(job.host) {
            let file = dir.join(report.name);
            match write_report_file(&file, &report.text) {
                Ok(()) => files.push(file),
                Err(error) => problems.push(failure(&file, &error)),
            }
        }
        WrittenReports { files, problems }
    }

    /// The report files that a host reads.
    fn report_files(&self, host: CiSystem) -> Vec<ReportFile> {
        let room = usize::try_from(SUMMARY_BYTES_MAX).unwrap_or(usize::MAX);
        let rendered = |name, format| ReportFile { name, text: render_report(&self.reported, format).text };
        let junit = || rendered("junit.xml", ReportFormat::Junit);
        match host {
            CiSystem::Gitlab => vec![rendered("gl-code-quality-report.json", ReportFormat::Gitlab), junit()],
            CiSystem::Jenkins => vec![junit(), rendered("checkstyle.xml", ReportFormat::Checkstyle)],
            CiSystem::Github => vec![junit(), rendered("report.sarif", ReportFormat::Sarif)],
            CiSystem::Buildkite | CiSystem::Other => {
                vec![junit(), ReportFile { name: "summary.md", text: render_job_summary(self.summarized, room) }]
            }
        }
    }
}

/// Writes a file of a folder; git ignores a folder that this creates.
fn write_report_file(file: &Path, text: &str) -> io::Result<()> {
    if let Some(dir) = file.parent().filter(|dir| !dir.is_dir()) {
        fs::create_dir_all(dir)?;
        write_atomic(&dir.join(".gitignore"), b"*\n", 0o644, Durability::Cached)?;
    }
    write_atomic(file, text.as_bytes(), 0o644, Durability::Cached)
}

/// Appends to a job's page what `text` makes of the room that is left on it, in bytes.
///
/// # Errors
/// The operating system's.
pub(super) fn append_to_page(file: &Path, text: impl FnOnce(usize) -> String) -> io::Result<()> {
    append(file, text, SUMMARY_BYTES_MAX)
}

/// Appends to a file of the host's what `text` makes of the room up to `limit` bytes.
fn append(file: &Path, text: impl FnOnce(usize) -> String, limit: u64) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).create(true).open(file)?;
    let room = limit.saturating_sub(file.metadata()?.len());
    file.write_all(text(usize::try_from(room).unwrap_or(usize::MAX)).as_bytes())
}
