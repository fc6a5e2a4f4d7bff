//! Reports that the command wrote and named: JUnit, SARIF, Checkstyle, JSON lines, TAP.
//!
//! A file counts when the output or the command line names it, it is inside the project, and it was written while the
//! command ran: not another project's report, nor one of an earlier run.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use crate::base::file::read_start;
use crate::base::limits::{REPORT_BYTES_MAX, REPORT_NAMES_MAX, REPORTS_MAX};
use crate::capture::SpoolHeader;
use crate::diagnose;

/// What a report's name ends in.
const ENDINGS: [&str; 7] = [".xml", ".sarif", ".json", ".jsonl", ".ndjson", ".tap", ".checkstyle"];
/// Largest difference between a file's time and the run's, microseconds: file systems use a coarser clock.
const CLOCK_US: i64 = 20_000;

/// The reports of a run, one after the other as if they had been printed; `None` when there is none.
pub(super) fn read_report(header: &SpoolHeader, output: &[u8]) -> Option<Vec<u8>> {
    let root = header.repository.root.path().canonicalize().ok()?;
    let changed = header.check.as_ref().and_then(|check| check.dir.as_ref());
    let dir = changed.map_or_else(|| header.cwd.path().to_owned(), |dir| header.cwd.path().join(dir));
    let mut names = report_names(&diagnose::plain_text(output));
    names.extend(header.argv.iter().flat_map(|word| self::report_names(&word.display())));
    let mut found: Vec<PathBuf> = Vec::new();
    let mut all = Vec::new();
    for name in names.iter().take(REPORT_NAMES_MAX) {
        for base in [&dir, &root] {
            let Some(file) = path_inside(&root, &base.join(name)) else { continue };
            if found.contains(&file) || found.len() == REPORTS_MAX || !is_of_the_run(&file, header) {
                continue;
            }
            match read_start(&file, REPORT_BYTES_MAX + 1) {
                Ok(bytes) if bytes.len() as u64 <= REPORT_BYTES_MAX => {
                    all.extend(bytes);
                    all.push(b'\n');
                    found.push(file);
                }
                _ => {}
            }
        }
    }
    (!found.is_empty()).then_some(all)
}

/// Words that look like a report's path, without their surroundings.
fn report_names(text: &str) -> Vec<String> {
    let around =
        |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '=' | '(' | ')' | '[' | ']' | '<' | '>' | ',');
    let words = text.split(around).map(|word| word.trim_start_matches("file://").trim_end_matches(['.', ':', ';']));
    let mut names: Vec<String> = Vec::new();
    for word in words.filter(|word| ENDINGS.iter().any(|ending| word.ends_with(ending))) {
        if names.len() < REPORT_NAMES_MAX && !names.iter().any(|name| name == word) {
            names.push(word.to_owned());
        }
    }
    names
}

/// The file behind all links, if it is in the project.
fn path_inside(root: &Path, file: &Path) -> Option<PathBuf> {
    file.canonicalize().ok().filter(|file| file.starts_with(root))
}

fn is_of_the_run(file: &Path, header: &SpoolHeader) -> bool {
    let modified = fs::metadata(file).and_then(|metadata| metadata.modified()).ok();
    let modified = modified.and_then(|time| i64::try_from(time.duration_since(UNIX_EPOCH).ok()?.as_micros()).ok());
    modified.is_some_and(|at| header.started_at.0 - CLOCK_US <= at && at <= header.ended_at.0 + CLOCK_US)
}
