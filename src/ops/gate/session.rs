//! What evaluations leave for other programs: `qa-state.json`, the report of each attempt, and a log of status blocks. They
//! are in the state folder, and in `.prp-session` where the work tree has that folder. verify-run reads none of them.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

use anyhow::Context;

use super::change::SESSION_FOLDER;
use super::run::GateStanding;
use crate::base::file::{Durability, create_private_dir, write_atomic};
use crate::base::private;
use crate::base::refusal::Refusal;
use crate::config::Places;
use crate::gate::report::{EvaluationView, render_report, render_session_state, render_status_block};
use crate::ops::request::Request;

/// The state of the last evaluation.
const STATE_FILE: &str = "qa-state.json";
/// Every status block, the oldest first.
const LOG_FILE: &str = "phase-status.log";
/// The log, bytes; nothing is appended to a larger one.
const LOG_BYTES_MAX: u64 = 16 << 20;
/// The line of git's `info/exclude` that hides the session folder, and the line before it that says whose it is.
const EXCLUDE_LINES: [&str; 2] = ["# verify-run: the gate's session files", "/.prp-session/"];

/// The files that an evaluation left.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SessionFiles {
    /// The report in the state folder; `None` when it could not be written.
    pub report: Option<PathBuf>,
    /// What could not be written, a sentence each.
    pub problems: Vec<String>,
}

/// The files of one folder.
struct SessionFolder<'a> {
    folder: &'a Path,
    mode: u32,
    /// What the report is called in the state file.
    report_path: String,
}

/// Writes the files of the last evaluation. What cannot be written is a problem and not an error: the verdict is recorded.
pub(crate) fn write_session(request: &Request, standing: &GateStanding) -> SessionFiles {
    let mut files = SessionFiles::default();
    let Some(view) = standing.view() else { return files };
    let report_name = report_name(&view);
    let own = request.places.state.gate_session(&request.places.root);
    let report = own.join(&report_name);
    let report_path = report.display().to_string();
    let folder = SessionFolder { folder: &own, mode: 0o600, report_path };
    match create_private_dir(&own).and_then(|()| folder.write_files(standing, &view)) {
        Ok(()) => files.report = Some(report),
        Err(error) => files.problems.push(format!("cannot write into {}: {error}", own.display())),
    }
    let shared = request.places.root.join(SESSION_FOLDER);
    if fs::symlink_metadata(&shared).is_ok() {
        let report_path = format!("{SESSION_FOLDER}/{report_name}");
        let folder = SessionFolder { folder: &shared, mode: 0o644, report_path };
        if let Err(error) = folder.write_files(standing, &view) {
            files.problems.push(format!("nothing was written into {SESSION_FOLDER}: {error}"));
        }
    }
    files
}

fn report_name(view: &EvaluationView<'_>) -> String {
    format!("qa-report-{}.md", view.cycle.attempt())
}

impl SessionFolder<'_> {
    fn write_files(&self, standing: &GateStanding, view: &EvaluationView<'_>) -> io::Result<()> {
        private::check_folder(self.folder)?;
        let report_name = report_name(view);
        for name in [STATE_FILE, LOG_FILE, &report_name] {
            self.check_file(name)?;
        }
        let write = |name: &str, text: &str| {
            write_atomic(&self.folder.join(name), text.as_bytes(), self.mode, Durability::Cached)
        };
        write(&report_name, &render_report(view, standing.style))?;
        write(STATE_FILE, &render_session_state(view, &self.report_path))?;
        self.append_to_log(&render_status_block(view))
    }

    /// Checks that a file is a regular one, or not there yet.
    fn check_file(&self, name: &str) -> io::Result<()> {
        let path = self.folder.join(name);
        if fs::symlink_metadata(&path).is_ok() && !private::is_regular(&path) {
            let message = format!("{name} is a link, a folder or a device, not a regular file");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        Ok(())
    }

    fn append_to_log(&self, block: &str) -> io::Result<()> {
        let path = self.folder.join(LOG_FILE);
        let mut log = private::open(&path, OpenOptions::new().append(true).create(true))?;
        if log.metadata()?.len() > LOG_BYTES_MAX {
            let message = format!("{LOG_FILE} is larger than {} MiB: remove it", LOG_BYTES_MAX >> 20);
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        }
        log.write_all(format!("{block}\n").as_bytes())
    }
}

/// Checks that a report file below the root of the work tree is not behind a link that leaves it.
///
/// # Errors
/// When it is, or its folder is not there: a usage error.
pub(crate) fn check_report_path(request: &Request, path: &Path) -> anyhow::Result<()> {
    let absolute = lexical_path(&request.cwd.join(path));
    let folder = absolute.parent().unwrap_or(Path::new("/"));
    let cannot_find = |_| Refusal::usage(format!("{}: there is no such folder", folder.display()));
    let real = folder.canonicalize().map_err(cannot_find)?;
    let root = request.places.root.canonicalize().context("cannot find the root of the work tree")?;
    let is_inside = absolute.starts_with(&request.places.root) || absolute.starts_with(&root);
    let is_link = fs::symlink_metadata(&absolute).is_ok_and(|metadata| metadata.is_symlink());
    if is_inside && (!real.starts_with(&root) || is_link) {
        let message = format!("{}: a link leads out of the work tree: nothing is written there", path.display());
        return Err(Refusal::usage(message).into());
    }
    Ok(())
}

/// The path without `.` and `..`, as it reads.
fn lexical_path(path: &Path) -> PathBuf {
    let mut found = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(found.pop()),
            Component::CurDir => {}
            component => found.push(component),
        }
    }
    found
}

/// Makes the session folder, and hides it from git in `info/exclude`. `false` when both were there.
///
/// # Errors
/// When there is no git repository, the folder is a link, or something can't be written.
pub(crate) fn create_session_folder(places: &Places) -> anyhow::Result<bool> {
    let exclude = exclude_file(places).ok_or_else(|| Refusal::conflict("not in a git repository"))?;
    let folder = places.root.join(SESSION_FOLDER);
    private::check_folder(&folder).with_context(|| format!("cannot use {SESSION_FOLDER}"))?;
    let is_new = !folder.exists();
    if is_new {
        create_private_dir(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    let text = read_exclude(&exclude);
    if text.lines().any(|line| line.trim_end() == EXCLUDE_LINES[1]) {
        return Ok(is_new);
    }
    let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    let lines = EXCLUDE_LINES.join("\n");
    if let Some(folder) = exclude.parent() {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    write_exclude(&exclude, &format!("{text}{gap}{lines}\n"))?;
    Ok(true)
}

/// Whether `info/exclude` has the lines of [`create_session_folder`].
pub(crate) fn has_session_exclusion(places: &Places) -> bool {
    exclude_file(places).is_some_and(|file| read_exclude(&file).contains(EXCLUDE_LINES[0]))
}

/// Takes the lines of [`create_session_folder`] out of `info/exclude`, and the files of evaluations out of the session
/// folder, which goes when nothing else is in it.
///
/// # Errors
/// When something can't be written.
pub(crate) fn remove_session_folder(places: &Places) -> anyhow::Result<()> {
    let Some(exclude) = exclude_file(places).filter(|_| has_session_exclusion(places)) else { return Ok(()) };
    let text = read_exclude(&exclude);
    let added = EXCLUDE_LINES.join("\n") + "\n";
    write_exclude(&exclude, &text.replacen(&added, "", 1))?;
    let folder = places.root.join(SESSION_FOLDER);
    if private::check_folder(&folder).is_err() {
        return Ok(());
    }
    let entries = fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok);
    for path in entries.map(|entry| entry.path()).filter(|path| is_session_file(path)) {
        fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
    }
    // Another program's files keep the folder.
    let _ = fs::remove_dir(&folder);
    Ok(())
}

fn is_session_file(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_report = name.strip_prefix("qa-report-").and_then(|rest| rest.strip_suffix(".md"));
    let is_report = is_report.is_some_and(|number| !number.is_empty() && number.bytes().all(|it| it.is_ascii_digit()));
    is_report || name == STATE_FILE || name == LOG_FILE
}

fn exclude_file(places: &Places) -> Option<PathBuf> {
    places.repository.as_ref().map(|repository| repository.common_dir.join("info/exclude"))
}

fn read_exclude(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_default()
}

fn write_exclude(file: &Path, text: &str) -> anyhow::Result<()> {
    write_atomic(file, text.as_bytes(), 0o644, Durability::Cached)
        .with_context(|| format!("cannot write {}", file.display()))
}
