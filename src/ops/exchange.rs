//! `store export` and `store import`: moves records between clones as plain files.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::Serialize;

use super::reply::Reply;
use super::request::Request;
use crate::base::clock::Timestamp;
use crate::base::file::{Durability, write_atomic};
use crate::base::refusal::Refusal;
use crate::base::text::count;
use crate::event::{EventLine, parse_event_line};
use crate::store::{ImportLineError, ImportTrust, ImportedSegments, backup, mask_event};

/// What is to be exported.
#[derive(Debug)]
pub(crate) struct ExportOptions<'a> {
    /// The folder; made if needed.
    pub out: &'a Path,
    /// Without what tools printed, what was typed and what was changed.
    pub masked: bool,
    /// Only events from then on.
    pub since: Option<Timestamp>,
}

/// What `store export --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ExportReport {
    /// The files written.
    pub files: Vec<PathBuf>,
    /// Events in them.
    pub events: usize,
    /// Lines that are no events, left out.
    pub bad: usize,
}

/// What `store import --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ImportReport {
    /// The files read.
    pub files: usize,
    /// Events that were new here.
    pub events: usize,
    /// Events that were here already.
    pub known: usize,
    /// Events left out because their run was purged.
    pub purged: usize,
    /// Lines removed here because they were purged there.
    pub removed: usize,
    /// Lines of a newer verify-run, left out.
    pub newer: usize,
    /// Lines that are no events.
    pub bad: usize,
    /// The first lines of these two kinds: file, line, reason.
    pub faults: Vec<ExchangeFault>,
}

/// A line that was left out.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ExchangeFault {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The reason.
    pub reason: String,
}

/// Copies the segments into a folder, each under its own name, whole lines only.
///
/// # Errors
/// When the store can't be read or the folder can't be written.
pub(crate) fn export_events(request: &Request, wanted: &ExportOptions<'_>) -> anyhow::Result<Reply<ExportReport>> {
    let reading = request.open_for_reading()?;
    let out = wanted.out;
    fs::create_dir_all(out).with_context(|| format!("cannot create {}", out.display()))?;
    let mut exported = Reply::new(ExportReport { files: Vec::new(), events: 0, bad: 0 }, reading.notes);
    let day = wanted.since.map(|since| format!(".since-{}", since.rfc3339().split('T').next().unwrap_or_default()));
    let mask = if wanted.masked { ".masked" } else { "" };
    for segment in reading.segments.list_segments()? {
        let (mut bytes, mut events) = (Vec::new(), 0);
        reading.segments.read_lines(&segment.name, 0, |_, line| {
            match parse_event_line(line) {
                EventLine::Event(event) if wanted.since.is_none_or(|since| event.at >= since) => {
                    if !wanted.masked {
                        bytes.extend_from_slice(line);
                        bytes.push(b'\n');
                    } else if let Some(masked) = mask_event(*event) {
                        bytes.extend(masked.to_line());
                    } else {
                        return Ok(());
                    }
                    events += 1;
                }
                EventLine::Event(_) => {}
                EventLine::Newer { .. } | EventLine::Bad => exported.data.bad += 1,
            }
            Ok(())
        })?;
        if events == 0 {
            continue;
        }
        let stem = segment.name.trim_end_matches(".jsonl");
        let file = out.join(format!("{stem}{}{mask}.jsonl", day.as_deref().unwrap_or_default()));
        write_atomic(&file, &bytes, 0o600, Durability::Synced)
            .with_context(|| format!("cannot write {}", file.display()))?;
        exported.data.events += events;
        exported.data.files.push(file);
    }
    Ok(exported)
}

/// Merges segments into this store: files, or all of a folder.
///
/// # Errors
/// When a path can't be read, or the store can't be written.
pub(crate) fn import_events(
    request: &Request,
    paths: &[PathBuf],
    trust: ImportTrust,
) -> anyhow::Result<Reply<ImportReport>> {
    let mut files = Vec::new();
    for path in paths {
        let found = segments_at(path).with_context(|| format!("cannot read {}", path.display()))?;
        if found.is_empty() {
            let message = format!("{} has no segments (*.jsonl)", path.display());
            anyhow::bail!(Refusal::not_found(message).then_run("store export"));
        }
        files.extend(found);
    }
    let (mut store, notes) = request.open_for_writing()?;
    let ImportedSegments { events, known, purged, removed, newer, bad, faults } =
        store.import_segments(&files, trust)?;
    let mut merged = Reply::new(
        ImportReport {
            files: files.len(),
            events,
            known,
            purged,
            removed,
            newer,
            bad,
            faults: faults
                .into_iter()
                .map(|ImportLineError { file, line, reason }| ExchangeFault { file, line, reason })
                .collect(),
        },
        notes,
    );
    if removed > 0 {
        // What was purged elsewhere would go on living in the backups.
        backup::remove_all_backups(&request.places.state)?;
        backup::make_backup(&request.places.state, store.segments(), &request.now().local_day())?;
        merged
            .notes
            .push(format!("removed {} that were purged elsewhere; backups were replaced", count(removed, "event")));
    }
    merged.notes.extend(store.take_notes());
    Ok(merged)
}

/// A segment, or those of a folder, by name. Folders in it are not looked into.
fn segments_at(path: &Path) -> std::io::Result<Vec<PathBuf>> {
    if !fs::metadata(path)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let is_segment = |path: &PathBuf| {
        let name = path.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
        !name.starts_with('.') && (name.ends_with(".jsonl") || name.ends_with(".jsonl.zst"))
    };
    let mut found = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        found.extend(Some(entry.path()).filter(|path| is_segment(path) && path.is_file()));
    }
    found.sort();
    Ok(found)
}
