//! Events from elsewhere: segments that another clone, a CI job or a backup holds, merged into this store.
//!
//! Insert-or-ignore by event id, so that any files in any order, once or again, give the same store. What arrives is
//! kept byte for byte in a segment of its writer's name.

use std::collections::{BTreeMap, HashSet};
use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::libc;

use super::error::{StoreError, io_at};
use super::index::is_rebuild_faster;
use super::writer::Store;
use crate::base::clock::Timestamp;
use crate::event::{self, Event, EventBody, EventLine};

/// A line of a segment, bytes: the largest event is a tenth of it.
const LINE_BYTES_MAX: u64 = 64 << 20;
/// Events written and indexed at a time …
const BATCH_EVENTS_MAX: usize = 5_000;
/// … and bytes of them.
const BATCH_BYTES_MAX: usize = 16 << 20;
/// Lines that are named one by one; further ones are counted.
const FAULTS_MAX: usize = 20;
/// How much larger a compressed segment is taken to be.
const PACKED_RATIO: u64 = 8;
/// A segment, bytes unpacked.
const FILE_BYTES_MAX: u64 = 4 << 30;
/// How often its own size a packed segment may unpack to; events of one month pack to a twentieth.
const UNPACKED_RATIO_MAX: u64 = 200;
/// Size that it may always unpack to, bytes.
const UNPACKED_BYTES_MIN: u64 = 16 << 20;
/// How much the clock of another machine may be ahead, seconds. An event of the year 9999 would never grow old.
const AHEAD_SECONDS_MAX: i64 = 24 * 3600;
/// What the names of segments begin with whose texts are shown and not used.
pub(super) const IMPORTED: &str = "imported.";
/// A writer's name, bytes; ours are 9.
const WRITER_BYTES_MAX: usize = 32;
/// The writer of events whose writer is no name for a file.
const STRANGER: &str = "imported";

/// How texts of other people are treated: knowledge, strategies, notes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ImportTrust {
    /// Reading commands show them as imported; agents get them only on request.
    #[default]
    Shown,
    /// As what was written here.
    Used,
}

/// What an import did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ImportedSegments {
    /// Events that were new here.
    pub events: usize,
    /// Events that were here already.
    pub known: usize,
    /// Events of runs that were purged, here or there: left out.
    pub purged: usize,
    /// Lines that were removed here because they were purged there.
    pub removed: usize,
    /// Lines of a newer verify-run: left out until this one is newer, too.
    pub newer: usize,
    /// Lines that are no events.
    pub bad: usize,
    /// The first lines of those two kinds.
    pub faults: Vec<ImportLineError>,
}

/// A line that could not be imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ImportLineError {
    pub file: PathBuf,
    /// The line in it, from 1.
    pub line: usize,
    /// Why not.
    pub reason: String,
}

impl Store {
    /// Merges the segments `files` (`*.jsonl`, also zstd-compressed as `*.jsonl.zst`) into this store.
    ///
    /// # Errors
    /// When a file can't be read or this store can't be written. What was merged by then stays; importing again does
    /// the rest.
    pub(crate) fn import_segments(
        &mut self,
        files: &[PathBuf],
        trust: ImportTrust,
    ) -> Result<ImportedSegments, StoreError> {
        let mut imported = ImportedSegments::default();
        // Known before any run comes by: the text of a purged run is not written anywhere, not even for a moment.
        let mut purged = self.index().purged_runs()?;
        let mut news = false;
        for file in files {
            for id in purged_runs_in_file(file)? {
                news |= purged.insert(id);
            }
        }
        let latest = Timestamp(Timestamp::now().0.saturating_add(AHEAD_SECONDS_MAX * 1_000_000));
        let mut batch = ImportBatch { is_indexed: !self.is_rebuild_faster(files)?, ..ImportBatch::default() };
        for file in files {
            for_each_line(file, |number, line, whole| {
                match whole.then(|| event::parse_event_line(line)) {
                    Some(EventLine::Event(event)) => {
                        if is_purged(&event, &purged) {
                            imported.purged += 1;
                        } else if event.at > latest || event.body.ended_at().is_some_and(|at| at > latest) {
                            imported.bad += 1;
                            imported.add_line_error(file, number, "dated in the future".to_owned());
                        } else if batch.ids.contains(&event.id) || self.is_known_event(&event, trust)? {
                            imported.known += 1;
                        } else {
                            imported.events += 1;
                            batch.push(line, *event, trust);
                        }
                    }
                    Some(EventLine::Newer { v, kind }) => {
                        imported.newer += 1;
                        let kind = crate::base::text::ellipsis(&kind, 40);
                        imported.add_line_error(
                            file,
                            number,
                            format!("of a newer verify-run (version {v}, kind {kind:?})"),
                        );
                    }
                    Some(EventLine::Bad) => {
                        imported.bad += 1;
                        imported.add_line_error(file, number, "not an event".to_owned());
                    }
                    None => {
                        imported.bad += 1;
                        imported.add_line_error(file, number, "truncated".to_owned());
                    }
                }
                if batch.is_full() { self.write_batch(&mut batch) } else { Ok(()) }
            })?;
        }
        self.write_batch(&mut batch)?;
        if news {
            imported.removed = self.remove_purged_lines()?;
        } else if !batch.is_indexed {
            self.rebuild_index("was smaller than the import")?;
        }
        Ok(imported)
    }

    /// Whether the index is sooner rebuilt than brought up to date with these files.
    fn is_rebuild_faster(&self, files: &[PathBuf]) -> Result<bool, StoreError> {
        let size = |file: &PathBuf| {
            let bytes = std::fs::metadata(file).map_or(0, |metadata| metadata.len());
            if is_packed(file) { bytes.saturating_mul(PACKED_RATIO) } else { bytes }
        };
        let (new, old) = (
            files.iter().map(size).sum::<u64>(),
            self.segments().list_segments()?.iter().map(|s| s.bytes).sum::<u64>(),
        );
        Ok(is_rebuild_faster(new, new.saturating_add(old)))
    }

    /// Whether it is here already, and as much to be trusted.
    fn is_known_event(&self, event: &Event, trust: ImportTrust) -> Result<bool, StoreError> {
        let id = crate::base::ids::RunId(event.id);
        match trust {
            ImportTrust::Used if !is_evidence(event) => {
                Ok(self.index().has_event(id)? && !self.index().is_imported(id)?)
            }
            _ => self.index().has_event(id),
        }
    }

    fn write_batch(&mut self, batch: &mut ImportBatch) -> Result<(), StoreError> {
        for (segment, (lines, events)) in std::mem::take(&mut batch.segments) {
            if batch.is_indexed {
                self.append_lines(&segment, &lines, &events)?;
            } else {
                // An import that is cut off here leaves an index that is far behind, which the next opening sees.
                self.segments().append_lines(&segment, &lines)?.1.sync()?;
            }
        }
        self.sync()?;
        if batch.is_indexed {
            batch.ids.clear();
        }
        (batch.events, batch.bytes) = (0, 0);
        Ok(())
    }
}

impl ImportedSegments {
    fn add_line_error(&mut self, file: &Path, line: usize, reason: String) {
        if self.faults.len() < FAULTS_MAX {
            self.faults.push(ImportLineError { file: file.to_owned(), line, reason });
        }
    }
}

/// Events that are written together, by segment.
#[derive(Debug, Default)]
struct ImportBatch {
    segments: BTreeMap<String, (Vec<Vec<u8>>, Vec<Event>)>,
    /// Events that the index doesn't have yet.
    ids: HashSet<uuid::Uuid>,
    events: usize,
    bytes: usize,
    /// Each batch is indexed; else the index is rebuilt when all are written.
    is_indexed: bool,
}

impl ImportBatch {
    fn push(&mut self, line: &[u8], event: Event, trust: ImportTrust) {
        let mut line = line.to_vec();
        line.push(b'\n');
        self.bytes += line.len();
        self.events += 1;
        self.ids.insert(event.id);
        let (lines, events) = self.segments.entry(segment_name(&event, trust)).or_default();
        lines.push(line);
        if self.is_indexed {
            events.push(event);
        }
    }

    fn is_full(&self) -> bool {
        self.events >= BATCH_EVENTS_MAX || self.bytes >= BATCH_BYTES_MAX
    }
}

/// Whether it is evidence that a check passed, or that a fix was shown again. That counts only where it was recorded,
/// however much the rest of an import is trusted.
fn is_evidence(event: &Event) -> bool {
    matches!(event.body, EventBody::Receipt(_) | EventBody::Learn(_) | EventBody::Library(_))
}

/// The segment that an event belongs to. Its writer's name comes from a file: it is not trusted to be one.
fn segment_name(event: &Event, trust: ImportTrust) -> String {
    let writer = event.writer.as_str();
    let is_name = (1..=WRITER_BYTES_MAX).contains(&writer.len()) && writer.bytes().all(|b| b.is_ascii_alphanumeric());
    let start = if trust == ImportTrust::Shown || is_evidence(event) { IMPORTED } else { "" };
    format!("{start}{}-{}.jsonl", if is_name { writer } else { STRANGER }, event.at.month())
}

/// Whether an event is a purged run's, or quotes one.
pub(super) fn is_purged(event: &Event, purged: &HashSet<String>) -> bool {
    match &event.body {
        EventBody::Run(_) => purged.contains(&event.id.to_string()),
        body => body.quoted_runs().iter().any(|run| purged.contains(&run.to_string())),
    }
}

fn purged_runs_in_file(file: &Path) -> Result<HashSet<String>, StoreError> {
    let mut ids = HashSet::new();
    for_each_line(file, |_, line, _| {
        ids.extend(event::purged_runs_in_line(line).iter().map(ToString::to_string));
        Ok(())
    })?;
    Ok(ids)
}

/// Calls `each` with the number of every line, the line without its end, and whether it is whole: a last line without
/// an end is, if it is an event all the same; one that is too long is not. Empty lines are left out.
fn for_each_line(
    file: &Path,
    mut each: impl FnMut(usize, &[u8], bool) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut reader = open_segment(file).map_err(io_at("read", file))?;
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let mut part = Read::take(&mut reader, LINE_BYTES_MAX);
        if part.read_until(b'\n', &mut line).map_err(io_at("read", file))? == 0 {
            break;
        }
        let ended = line.last() == Some(&b'\n');
        if ended {
            line.pop();
        } else if line.len() as u64 == LINE_BYTES_MAX {
            skip_line(&mut reader).map_err(io_at("read", file))?;
            each(number, b"", false)?;
            continue;
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let whole = ended || !matches!(event::parse_event_line(&line), EventLine::Bad);
        each(number, &line, whole)?;
    }
    Ok(())
}

fn skip_line(reader: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = reader.fill_buf()?;
        let (used, end) = match memchr::memchr(b'\n', buffer) {
            Some(at) => (at + 1, true),
            None => (buffer.len(), buffer.is_empty()),
        };
        reader.consume(used);
        if end {
            return Ok(());
        }
    }
}

fn is_packed(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "zst")
}

fn open_segment(file: &Path) -> io::Result<Box<dyn BufRead>> {
    // A FIFO is not waited for.
    let opened = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(file)?;
    if !opened.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    let bytes = opened.metadata()?.len();
    if !is_packed(file) {
        let room = FILE_BYTES_MAX;
        return Ok(Box::new(BufReader::with_capacity(64 << 10, BoundedReader { inner: opened, room })));
    }
    let room = bytes.saturating_mul(UNPACKED_RATIO_MAX).clamp(UNPACKED_BYTES_MIN, FILE_BYTES_MAX);
    Ok(Box::new(BufReader::new(BoundedReader { inner: zstd::Decoder::new(opened)?, room })))
}

/// A reader that fails beyond a limit: a few bytes can unpack to any number.
struct BoundedReader<R> {
    inner: R,
    room: u64,
}

impl<R: Read> Read for BoundedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.room = self.room.checked_sub(read as u64).ok_or_else(|| {
            io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than a segment may be, or compressed too much")
        })?;
        Ok(read)
    }
}

#[cfg(test)]
mod tests;
