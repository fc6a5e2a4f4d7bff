//! Backups: the event segments, compressed, one folder a day. The index is not in them: it is computed from these.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::error::{StoreError, io_at};
use super::segment::{Segment, SegmentFolder, sync_dir};
use crate::base::file::{self, Durability};
use crate::base::limits::BACKUPS_MAX;
use crate::base::private;
use crate::config::StateDir;

/// A good ratio for text at a speed that the recorder can afford once a day.
const ZSTD_LEVEL: i32 = 6;

/// Bytes that a recorder packs while a command waits for it; more is left to a recorder in the background.
pub(crate) const WAITED_BYTES_MAX: u64 = 32 << 20;
/// A frame's header, bytes (RFC 8878, section 3.1.1.1), with the magic number before it.
const FRAME_HEADER_BYTES_MAX: u64 = 18;

/// The backups there are, oldest first.
pub(crate) fn list_backups(state: &StateDir) -> Vec<PathBuf> {
    let entries = fs::read_dir(state.backups()).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries
        .filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'))
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect();
    found.sort();
    found
}

/// Makes the backup of `day` (`2026-11-21`) unless there is one, nothing to back up, or, of the segments as `listed`, more
/// than `bytes_max` of what no backup has; keeps the newest [`BACKUPS_MAX`].
///
/// # Errors
/// When it can't be written.
pub(crate) fn make_daily_backup(
    state: &StateDir,
    segments: &SegmentFolder,
    listed: &[Segment],
    day: &str,
    bytes_max: u64,
) -> Result<Option<PathBuf>, StoreError> {
    let target = state.backups().join(day);
    if target.exists() {
        return Ok(None);
    }
    // The store's first events may be younger.
    let first = if listed.is_empty() { segments.list_segments()? } else { Vec::new() };
    let (last, listed) = (list_backups(state).pop(), if listed.is_empty() { &first } else { listed });
    let new = listed.iter().filter(|segment| find_same_segment(last.as_deref(), segments, segment).is_none());
    if listed.is_empty() || new.map(|segment| segment.bytes).sum::<u64>() > bytes_max {
        return Ok(None);
    }
    make_backup(state, segments, day).map(Some)
}

/// Makes or replaces the backup called `name`. A crash leaves the old one or the new one, or a hidden part that the
/// next call removes.
///
/// # Errors
/// When it can't be written.
pub(crate) fn make_backup(state: &StateDir, segments: &SegmentFolder, name: &str) -> Result<PathBuf, StoreError> {
    let folder = state.backups();
    let part = folder.join(".part");
    remove_dir(&part)?;
    file::create_private_dir(&part).map_err(io_at("create", &part))?;
    let last = list_backups(state).pop();
    for segment in segments.list_segments()? {
        let source = segments.path(&segment.name);
        let target = part.join(packed_name(&segment.name));
        // Past months don't change any more, and are most of it.
        if let Some(same) = find_same_segment(last.as_deref(), segments, &segment)
            && fs::hard_link(same, &target).is_ok()
        {
            continue;
        }
        let packed = compress_file(&source, segment.bytes).map_err(io_at("compress", &source))?;
        file::write_atomic(&target, &packed, 0o600, Durability::Synced).map_err(io_at("write", &target))?;
    }
    let target = folder.join(name);
    remove_dir(&target)?;
    fs::rename(&part, &target).map_err(io_at("rename", &part))?;
    sync_dir(&folder);
    let kept = list_backups(state);
    for old in kept.iter().take(kept.len().saturating_sub(BACKUPS_MAX)) {
        remove_dir(old)?;
    }
    Ok(target)
}

fn packed_name(segment: &str) -> String {
    format!("{segment}.zst")
}

/// The first `len` bytes of a file, with their number in the frame's header.
fn compress_file(source: &Path, len: u64) -> io::Result<Vec<u8>> {
    let mut encoder = zstd::Encoder::new(Vec::new(), ZSTD_LEVEL)?;
    encoder.set_pledged_src_size(Some(len))?;
    encoder.include_contentsize(true)?;
    io::copy(&mut private::reader(source)?.take(len), &mut encoder)?;
    encoder.finish()
}

/// The packed segment in a backup, if it is of all that the segment has now: as long, and not changed since.
fn find_same_segment(backup: Option<&Path>, segments: &SegmentFolder, segment: &Segment) -> Option<PathBuf> {
    let path = backup?.join(packed_name(&segment.name));
    let mut header = Vec::new();
    let file = private::reader(&path).ok()?;
    let packed_at = file.metadata().ok()?.modified().ok()?;
    file.take(FRAME_HEADER_BYTES_MAX).read_to_end(&mut header).ok()?;
    let bytes = zstd::zstd_safe::get_frame_content_size(&header).ok()??;
    let changed_at = fs::metadata(segments.path(&segment.name)).ok()?.modified().ok()?;
    (bytes == segment.bytes && changed_at < packed_at).then_some(path)
}

/// Puts the segments of a backup back: those that are missing or shorter now. Nothing that is longer is touched, and
/// no whole line is lost.
/// Returns the names put back.
///
/// # Errors
/// When the backup can't be read or the segments can't be written.
pub(crate) fn restore_backup(backup: &Path, segments: &SegmentFolder) -> Result<Vec<String>, StoreError> {
    let mut restored = Vec::new();
    for entry in fs::read_dir(backup).map_err(io_at("read", backup))? {
        let path = entry.map_err(io_at("read", backup))?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".zst"))
        else {
            continue;
        };
        let packed = private::read(&path).map_err(io_at("read", &path))?;
        let bytes = zstd::decode_all(packed.as_slice()).map_err(io_at("decompress", &path))?;
        let target = segments.path(name);
        let now = match private::read(&target) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(io_at("read", &target)(error)),
            read => read.unwrap_or_default(),
        };
        if now.len() < bytes.len() {
            // What was written after the backup, a purge for one, comes after what the backup has.
            let saved: HashSet<&[u8]> = bytes.split_inclusive(|&byte| byte == b'\n').collect();
            let newer = now.split_inclusive(|&byte| byte == b'\n').filter(|line| line.ends_with(b"\n"));
            let newer: Vec<&[u8]> = newer.filter(|line| !saved.contains(line)).collect();
            let bytes = [bytes.as_slice(), &newer.concat()].concat();
            file::create_private_dir(segments.dir()).map_err(io_at("create", segments.dir()))?;
            file::write_atomic(&target, &bytes, 0o600, Durability::Synced).map_err(io_at("write", &target))?;
            restored.push(name.to_owned());
        }
    }
    restored.sort();
    Ok(restored)
}

/// Removes all backups: after a purge they would still hold what was purged.
///
/// # Errors
/// When one can't be removed.
pub(crate) fn remove_all_backups(state: &StateDir) -> Result<(), StoreError> {
    remove_dir(&state.backups())
}

fn remove_dir(dir: &Path) -> Result<(), StoreError> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(io_at("remove", dir)(error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::sample;

    #[test]
    fn seven_are_kept_and_the_last_restores_what_was_lost() {
        let dir = tempfile::tempdir().expect("a folder");
        let segments = SegmentFolder::new(dir.path().join("events"));
        let daily =
            |day: &str| make_daily_backup(&dir.path().into(), &segments, &segments.list_segments()?, day, u64::MAX);
        assert_eq!(daily("2026-01-01").expect("nothing to do"), None);
        for day in 1..=9 {
            segments.append("w-2026-01.jsonl", &[sample::passed_run(day, "t")]).expect("appends");
            let day = format!("2026-01-{day:02}");
            assert!(daily(&day).expect("backs up").is_some());
            assert_eq!(daily(&day).expect("is done"), None);
        }
        let kept = list_backups(&dir.path().into());
        assert_eq!(kept.len(), BACKUPS_MAX);
        assert!(kept[0].ends_with("2026-01-03") && kept[6].ends_with("2026-01-09"));
        let before = fs::read(segments.path("w-2026-01.jsonl")).expect("reads");
        assert!(restore_backup(&kept[6], &segments).expect("nothing to restore").is_empty());
        fs::write(segments.path("w-2026-01.jsonl"), &before[..50]).expect("damages");
        assert_eq!(restore_backup(&kept[6], &segments).expect("restores"), ["w-2026-01.jsonl"]);
        assert_eq!(fs::read(segments.path("w-2026-01.jsonl")).expect("reads"), before);

        // Written after the segment was lost: stays.
        fs::remove_file(segments.path("w-2026-01.jsonl")).expect("removes");
        segments.append("w-2026-01.jsonl", &[sample::passed_run(10, "t")]).expect("appends");
        let after = fs::read(segments.path("w-2026-01.jsonl")).expect("reads");
        assert_eq!(restore_backup(&kept[6], &segments).expect("restores"), ["w-2026-01.jsonl"]);
        assert_eq!(fs::read(segments.path("w-2026-01.jsonl")).expect("reads"), [before, after].concat());
    }

    #[test]
    fn a_segment_that_did_not_change_is_packed_once_and_a_large_one_when_there_is_time() {
        use std::os::unix::fs::MetadataExt;
        let dir = tempfile::tempdir().expect("a folder");
        let segments = SegmentFolder::new(dir.path().join("events"));
        let listed = || segments.list_segments().expect("lists");
        let daily = |day: &str, bytes_max| {
            make_daily_backup(&dir.path().into(), &segments, &listed(), day, bytes_max).expect("backs up")
        };
        let inode = |backup: &Path, name: &str| fs::metadata(backup.join(name)).expect("is there").ino();
        segments.append("w-2026-01.jsonl", &[sample::passed_run(1, "t")]).expect("appends");
        segments.append("w-2026-02.jsonl", &[sample::passed_run(2, "t")]).expect("appends");
        let past = std::time::SystemTime::now() - std::time::Duration::from_secs(9);
        for segment in segments.list_segments().expect("lists") {
            fs::File::options()
                .write(true)
                .open(segments.path(&segment.name))
                .and_then(|file| file.set_modified(past))
                .expect("sets");
        }
        let all: u64 = segments.list_segments().expect("lists").iter().map(|segment| segment.bytes).sum();
        assert_eq!(daily("2026-02-01", all - 1), None);
        let first = daily("2026-02-01", all).expect("is made");
        segments.append("w-2026-02.jsonl", &[sample::passed_run(3, "t")]).expect("appends");
        assert_eq!(daily("2026-02-02", 10), None);
        let second = daily("2026-02-02", all).expect("is made");
        assert_eq!(inode(&first, "w-2026-01.jsonl.zst"), inode(&second, "w-2026-01.jsonl.zst"));
        assert_ne!(inode(&first, "w-2026-02.jsonl.zst"), inode(&second, "w-2026-02.jsonl.zst"));
        fs::remove_dir_all(segments.dir()).expect("removes");
        assert_eq!(restore_backup(&second, &segments).expect("restores").len(), 2);
        assert_eq!(ids(&segments), 3);
    }

    fn ids(segments: &SegmentFolder) -> usize {
        let mut lines = 0;
        for segment in segments.list_segments().expect("lists") {
            segments
                .read_lines(&segment.name, 0, |_, _| {
                    lines += 1;
                    Ok(())
                })
                .expect("reads");
        }
        lines
    }
}
