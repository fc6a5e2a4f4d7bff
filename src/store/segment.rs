//! Event segments: `events/<writer>-<month>.jsonl`, append-only. Every change needs the recorder's lock.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::error::{StoreError, io_at};
use crate::base::file::{self, Durability};
use crate::base::private;
use crate::event::{self, Event, EventLine};

/// Room that is made for an event before it is read, bytes.
const EXPECTED_BYTES: u64 = 64 << 10;

/// The folder of segments.
#[derive(Debug, Clone)]
pub(crate) struct SegmentFolder {
    dir: PathBuf,
}

/// One segment as it is on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Segment {
    /// File name.
    pub name: String,
    /// Size, bytes.
    pub bytes: u64,
    /// Its inode and when content and attributes changed, nanoseconds: the same says that nothing was written since.
    pub stamp: String,
}

fn file_stamp(metadata: &fs::Metadata) -> String {
    let times = [metadata.mtime(), metadata.mtime_nsec(), metadata.ctime(), metadata.ctime_nsec()];
    let [modified, modified_nanos, changed, changed_nanos] = times;
    format!("{}:{modified}.{modified_nanos:09}:{changed}.{changed_nanos:09}", metadata.ino())
}

/// Where a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LineSpan {
    /// Offset of its first byte.
    pub start: u64,
    /// Bytes, newline included.
    pub len: u64,
}

/// A segment with something that isn't synced yet.
#[derive(Debug)]
#[must_use = "what is not synced may be lost with the power"]
pub(crate) struct UnsyncedSegment {
    file: File,
    path: PathBuf,
    is_new: bool,
    /// How long the segment was before, bytes.
    before: u64,
}

impl UnsyncedSegment {
    /// Waits until everything in the segment is on the disk. Where that fails the segment is as long as before: what the
    /// index says beyond it goes when it is opened next.
    ///
    /// # Errors
    /// The operating system's.
    pub(crate) fn sync(&self) -> Result<(), StoreError> {
        self.sync_by(File::sync_data)
    }

    fn sync_by(&self, sync: impl FnOnce(&File) -> io::Result<()>) -> Result<(), StoreError> {
        if let Err(error) = sync(&self.file) {
            let _ = self.file.set_len(self.before);
            return Err(io_at("sync", &self.path)(error));
        }
        if let Some(dir) = self.path.parent().filter(|_| self.is_new) {
            sync_dir(dir);
        }
        Ok(())
    }
}

/// What had to be done to a segment whose last line was not whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SegmentRepair {
    /// The line was whole but for its newline, which was added.
    Completed { segment: String },
    /// The torn line was moved to this file beside the segment.
    SetAside {
        segment: String,
        /// The new file.
        torn: PathBuf,
        /// Its size, bytes.
        bytes: usize,
    },
}

impl SegmentFolder {
    /// The segments in `dir`, which need not exist yet.
    pub(crate) fn new(dir: PathBuf) -> Self {
        SegmentFolder { dir }
    }

    /// The folder.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// A segment's path.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// All segments, by name. None when the folder isn't there.
    ///
    /// # Errors
    /// When the folder can't be read.
    pub(crate) fn list_segments(&self) -> Result<Vec<Segment>, StoreError> {
        let entries = match fs::read_dir(&self.dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(io_at("read", &self.dir)(error)),
        };
        let mut segments = Vec::new();
        for entry in entries {
            let entry = entry.map_err(io_at("read", &self.dir))?;
            let path = entry.path();
            let name = entry.file_name();
            if let Some(name) = name.to_str()
                && path.extension() == Some(OsStr::new("jsonl"))
            {
                let metadata = entry.metadata().map_err(io_at("stat", &path))?;
                segments.push(Segment { name: name.to_owned(), bytes: metadata.len(), stamp: file_stamp(&metadata) });
            }
        }
        segments.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(segments)
    }

    /// The stamp of a segment whose size is `end`; empty when it has another one.
    ///
    /// # Errors
    /// When the file can't be asked.
    pub(crate) fn segment_stamp(&self, segment: &str, end: u64) -> Result<String, StoreError> {
        let path = self.path(segment);
        let metadata = fs::metadata(&path).map_err(io_at("stat", &path))?;
        Ok(if metadata.len() == end { file_stamp(&metadata) } else { String::new() })
    }

    /// Torn lines that were set aside earlier.
    pub(crate) fn torn_files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let mut torn: Vec<_> = entries
            .map(|entry| entry.path())
            .filter(|path| path.file_name().and_then(OsStr::to_str).is_some_and(|name| name.contains(".jsonl.torn-")))
            .collect();
        torn.sort();
        torn
    }

    /// Appends events in one write and syncs them; on an error the segment is as long as before.
    ///
    /// The segment must be whole ([`Segments::mend`]). Returns where each event is.
    ///
    /// # Errors
    /// The operating system's (a full disk, a read-only file system).
    #[cfg(test)]
    pub(crate) fn append(&self, segment: &str, events: &[Event]) -> Result<Vec<LineSpan>, StoreError> {
        let lines: Vec<Vec<u8>> = events.iter().map(Event::to_line).collect();
        let (spans, appended) = self.append_lines(segment, &lines)?;
        appended.sync()?;
        Ok(spans)
    }

    /// Appends lines as they are, each with its newline, in one write; on an error the segment is as long as before. What
    /// was appended is there for everybody, and after a power failure only once it is synced.
    ///
    /// The segment must be whole ([`SegmentFolder::repair_end`]). Returns where each line is.
    ///
    /// # Errors
    /// The operating system's (a full disk, a read-only file system).
    pub(crate) fn append_lines(
        &self,
        segment: &str,
        lines: &[Vec<u8>],
    ) -> Result<(Vec<LineSpan>, UnsyncedSegment), StoreError> {
        file::create_private_dir(&self.dir).map_err(io_at("create", &self.dir))?;
        let path = self.path(segment);
        let is_new = !path.exists();
        let mut file = private::open(&path, OpenOptions::new().create(true).append(true).mode(0o600))
            .map_err(io_at("open", &path))?;
        let before = file.metadata().map_err(io_at("stat", &path))?.len();
        let mut bytes = Vec::new();
        let mut spans = Vec::with_capacity(lines.len());
        for line in lines {
            spans.push(LineSpan { start: before + bytes.len() as u64, len: line.len() as u64 });
            bytes.extend_from_slice(line);
        }
        if let Err(error) = file.write_all(&bytes) {
            // Half a line would only be set aside by the next recorder; if even this fails, it will be.
            let _ = file.set_len(before);
            return Err(io_at("append to", &path)(error));
        }
        Ok((spans, UnsyncedSegment { file, path, is_new, before }))
    }

    /// Makes the end of a segment whole again after a crash in the middle of an append. `None`: it was whole.
    ///
    /// # Errors
    /// The operating system's.
    pub(crate) fn repair_end(&self, segment: &str) -> Result<Option<SegmentRepair>, StoreError> {
        let path = self.path(segment);
        let mut file = match private::open(&path, OpenOptions::new().read(true).write(true)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io_at("open", &path)(error)),
        };
        let len = file.metadata().map_err(io_at("stat", &path))?.len();
        let is_whole = || -> io::Result<bool> {
            let mut last = [0];
            file.read_exact_at(&mut last, len - 1)?;
            Ok(last == *b"\n")
        };
        // Every recorder asks this of every segment, and there are some for each month and writer.
        if len == 0 || is_whole().map_err(io_at("read", &path))? {
            return Ok(None);
        }
        let whole = whole_len(&mut file, len).map_err(io_at("read", &path))?;
        let mut tail = Vec::new();
        file.seek(SeekFrom::Start(whole)).and_then(|_| file.read_to_end(&mut tail)).map_err(io_at("read", &path))?;
        if !matches!(event::parse_event_line(&tail), EventLine::Bad) {
            file.write_all(b"\n").and_then(|()| file.sync_data()).map_err(io_at("mend", &path))?;
            return Ok(Some(SegmentRepair::Completed { segment: segment.to_owned() }));
        }
        let torn = free_name(|n| self.path(&format!("{segment}.torn-{n}")));
        file::write_atomic(&torn, &tail, 0o600, Durability::Synced).map_err(io_at("write", &torn))?;
        file.set_len(whole).and_then(|()| file.sync_data()).map_err(io_at("mend", &path))?;
        Ok(Some(SegmentRepair::SetAside { segment: segment.to_owned(), torn, bytes: tail.len() }))
    }

    /// Calls `each` with every whole line from offset `from` on (newline not included). Returns the offset after
    /// the last whole line.
    ///
    /// # Errors
    /// When the file can't be read, or what `each` returns.
    pub(crate) fn read_lines(
        &self,
        segment: &str,
        from: u64,
        mut each: impl FnMut(LineSpan, &[u8]) -> Result<(), StoreError>,
    ) -> Result<u64, StoreError> {
        let path = self.path(segment);
        let mut file = private::reader(&path).map_err(io_at("open", &path))?;
        file.seek(SeekFrom::Start(from)).map_err(io_at("read", &path))?;
        let mut reader = BufReader::with_capacity(64 << 10, file);
        let mut offset = from;
        let mut line = Vec::new();
        loop {
            line.clear();
            let len = reader.read_until(b'\n', &mut line).map_err(io_at("read", &path))? as u64;
            if len == 0 || line.last() != Some(&b'\n') {
                return Ok(offset);
            }
            each(LineSpan { start: offset, len }, &line[..line.len() - 1])?;
            offset += len;
        }
    }

    /// The event at `span`.
    ///
    /// # Errors
    /// When the file can't be read.
    pub(crate) fn read_event(&self, segment: &str, span: LineSpan) -> Result<Option<Event>, StoreError> {
        let path = self.path(segment);
        let mut file = private::reader(&path).map_err(io_at("open", &path))?;
        file.seek(SeekFrom::Start(span.start)).map_err(io_at("read", &path))?;
        let mut line = Vec::with_capacity(usize::try_from(span.len.min(EXPECTED_BYTES)).unwrap_or(0));
        file.take(span.len).read_to_end(&mut line).map_err(io_at("read", &path))?;
        match event::parse_event_line(line.strip_suffix(b"\n").unwrap_or(&line)) {
            EventLine::Event(event) => Ok(Some(*event)),
            EventLine::Newer { .. } | EventLine::Bad => Ok(None),
        }
    }

    /// Hash of the last bytes before `end`: tells whether a segment is still the one that was indexed.
    ///
    /// # Errors
    /// When the file can't be read.
    pub(crate) fn end_mark(&self, segment: &str, end: u64) -> Result<String, StoreError> {
        /// The end of a line: one that was rewritten before it has moved it.
        const MARK_BYTES_MAX: u64 = 1 << 10;
        let path = self.path(segment);
        let file = private::reader(&path).map_err(io_at("open", &path))?;
        let start = end.saturating_sub(MARK_BYTES_MAX);
        // In one piece, and what is there of it: every recorder asks this of every segment.
        let mut bytes = vec![0; usize::try_from(end - start).unwrap_or(0)];
        let mut len = 0;
        while len < bytes.len() {
            match file.read_at(&mut bytes[len..], start + len as u64).map_err(io_at("read", &path))? {
                0 => break,
                read => len += read,
            }
        }
        Ok(blake3::hash(&bytes[..len]).to_hex()[..16].to_owned())
    }

    /// Rewrites a segment with only the lines that `keep` wants; the number dropped. The one rewriter: `store purge`.
    ///
    /// # Errors
    /// The operating system's; the segment is then as before.
    pub(crate) fn retain_lines(&self, segment: &str, mut keep: impl FnMut(&[u8]) -> bool) -> Result<usize, StoreError> {
        let mut kept = Vec::new();
        let mut dropped = 0;
        self.read_lines(segment, 0, |_, line| {
            if keep(line) {
                kept.extend_from_slice(line);
                kept.push(b'\n');
            } else {
                dropped += 1;
            }
            Ok(())
        })?;
        if dropped > 0 {
            let path = self.path(segment);
            file::write_atomic(&path, &kept, 0o600, Durability::Synced).map_err(io_at("rewrite", &path))?;
        }
        Ok(dropped)
    }
}

/// The first of `name(1)`, `name(2)`, … that doesn't exist.
pub(crate) fn free_name(name: impl Fn(u32) -> PathBuf) -> PathBuf {
    (1..).map(name).find(|path| fs::symlink_metadata(path).is_err()).unwrap_or_default()
}

/// Makes a new or removed name durable; a file system that can't sync folders is accepted.
pub(super) fn sync_dir(dir: &Path) {
    let _ = File::open(dir).and_then(|dir| dir.sync_all());
}

/// Offset after the last newline, looking back from the end in blocks.
fn whole_len(file: &mut File, len: u64) -> io::Result<u64> {
    const BLOCK: u64 = 64 << 10;
    let mut end = len;
    let mut block = Vec::new();
    while end > 0 {
        let start = end.saturating_sub(BLOCK);
        file.seek(SeekFrom::Start(start))?;
        block.clear();
        Read::by_ref(file).take(end - start).read_to_end(&mut block)?;
        if let Some(at) = block.iter().rposition(|&byte| byte == b'\n') {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::sample;

    fn segments() -> (tempfile::TempDir, SegmentFolder) {
        let dir = sample::folder();
        let segments = SegmentFolder::new(dir.path().join("events"));
        (dir, segments)
    }

    fn ids(segments: &SegmentFolder, name: &str) -> Vec<uuid::Uuid> {
        let mut ids = Vec::new();
        segments
            .read_lines(name, 0, |_, line| {
                if let EventLine::Event(event) = event::parse_event_line(line) {
                    ids.push(event.id);
                }
                Ok(())
            })
            .expect("reads");
        ids
    }

    #[test]
    fn what_was_appended_is_read_back_at_its_span() {
        let (_dir, segments) = segments();
        let first = [sample::failed_run(1, "t", &["a"]), sample::passed_run(2, "t")];
        let second = [sample::passed_run(3, "t")];
        let mut spans = segments.append("w-2026-01.jsonl", &first).expect("appends");
        spans.extend(segments.append("w-2026-01.jsonl", &second).expect("appends"));
        for (span, event) in spans.iter().zip(first.iter().chain(&second)) {
            assert_eq!(segments.read_event("w-2026-01.jsonl", *span).expect("reads").as_ref(), Some(event));
        }
        let listed = segments.list_segments().expect("lists");
        assert_eq!(listed.len(), 1);
        assert_eq!(listed[0].bytes, spans[2].start + spans[2].len);
    }

    #[test]
    fn a_torn_line_is_set_aside_at_every_length() {
        let (_dir, segments) = segments();
        let name = "w-2026-01.jsonl";
        segments.append(name, &[sample::passed_run(1, "t")]).expect("appends");
        let whole = fs::read(segments.path(name)).expect("reads");
        let next = sample::failed_run(2, "t", &["a"]).to_line();
        for cut in 1..next.len() {
            let mut torn = whole.clone();
            torn.extend_from_slice(&next[..cut]);
            fs::write(segments.path(name), &torn).expect("writes");
            let mended = segments.repair_end(name).expect("mends").expect("was torn");
            if cut == next.len() - 1 {
                assert!(matches!(mended, SegmentRepair::Completed { .. }), "{mended:?}");
                assert_eq!(ids(&segments, name).len(), 2);
            } else {
                let SegmentRepair::SetAside { torn, bytes, .. } = mended else { panic!("{mended:?}") };
                assert_eq!(bytes, cut);
                assert_eq!(fs::read(torn).expect("is there"), next[..cut]);
                assert_eq!(fs::read(segments.path(name)).expect("reads"), whole);
            }
            assert_eq!(segments.repair_end(name).expect("mends"), None);
        }
        assert_eq!(segments.torn_files().len(), next.len() - 2);
    }

    #[test]
    fn a_failed_append_leaves_the_segment_as_it_was() {
        let (_dir, segments) = segments();
        let name = "w-2026-01.jsonl";
        fs::create_dir_all(segments.path(name)).expect("a folder in its place");
        assert!(segments.append(name, &[sample::passed_run(1, "t")]).is_err());
    }

    #[test]
    fn what_cannot_be_synced_is_not_there() {
        let (_dir, segments) = segments();
        let name = "w-2026-01.jsonl";
        segments.append(name, &[sample::passed_run(1, "t")]).expect("appends");
        let before = fs::read(segments.path(name)).expect("reads");
        let (_, appended) = segments.append_lines(name, &[sample::passed_run(2, "t").to_line()]).expect("appends");
        assert!(appended.sync_by(|_| Err(io::Error::from_raw_os_error(nix::libc::EIO))).is_err());
        assert_eq!(fs::read(segments.path(name)).expect("reads"), before);
    }

    #[test]
    fn rewriting_drops_only_what_it_was_told_to() {
        let (_dir, segments) = segments();
        let name = "w-2026-01.jsonl";
        let events = [sample::passed_run(1, "t"), sample::passed_run(2, "t"), sample::passed_run(3, "t")];
        segments.append(name, &events).expect("appends");
        let gone = events[1].id.to_string();
        let dropped =
            segments.retain_lines(name, |line| !String::from_utf8_lossy(line).contains(&gone)).expect("rewrites");
        assert_eq!(dropped, 1);
        assert_eq!(ids(&segments, name), [events[0].id, events[2].id]);
    }
}
