//! Backups: the event segments, compressed, one folder a day. The index is not in them: it is computed from these.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::error::{StoreError, io_at};
use super::segment::{Segments, sync_dir};
use crate::base::file::{self, Durability};
use crate::base::limits::BACKUPS_MAX;

/// A good ratio for text at a speed that the recorder can afford once a day.
const ZSTD_LEVEL: i32 = 6;

/// The backups there are, oldest first.
pub fn list(state: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(state.join("backup")).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries
        .filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'))
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect();
    found.sort();
    found
}

/// Makes the backup of `day` (`2026-11-21`) unless there is one or nothing to back up; keeps the newest
/// [`BACKUPS_MAX`].
///
/// # Errors
/// When it can't be written.
pub fn daily(state: &Path, segments: &Segments, day: &str) -> Result<Option<PathBuf>, StoreError> {
    let target = state.join("backup").join(day);
    if target.exists() || segments.list()?.is_empty() {
        return Ok(None);
    }
    make(state, segments, day).map(Some)
}

/// Makes or replaces the backup called `name`. A crash leaves the old one or the new one, or a hidden part that the
/// next call removes.
///
/// # Errors
/// When it can't be written.
pub fn make(state: &Path, segments: &Segments, name: &str) -> Result<PathBuf, StoreError> {
    let folder = state.join("backup");
    let part = folder.join(".part");
    remove_dir(&part)?;
    file::create_private_dir(&part).map_err(io_at("create", &part))?;
    for segment in segments.list()? {
        let source = segments.path(&segment.name);
        let bytes = fs::read(&source).map_err(io_at("read", &source))?;
        let target = part.join(format!("{}.zst", segment.name));
        let packed = zstd::encode_all(bytes.as_slice(), ZSTD_LEVEL).map_err(io_at("compress", &source))?;
        file::write_atomic(&target, &packed, 0o600, Durability::Synced).map_err(io_at("write", &target))?;
    }
    let target = folder.join(name);
    remove_dir(&target)?;
    fs::rename(&part, &target).map_err(io_at("rename", &part))?;
    sync_dir(&folder);
    let kept = list(state);
    for old in kept.iter().take(kept.len().saturating_sub(BACKUPS_MAX)) {
        remove_dir(old)?;
    }
    Ok(target)
}

/// Puts the segments of a backup back: those that are missing or shorter now. Nothing that is longer is touched, and
/// no whole line is lost.
/// Returns the names put back.
///
/// # Errors
/// When the backup can't be read or the segments can't be written.
pub fn restore(backup: &Path, segments: &Segments) -> Result<Vec<String>, StoreError> {
    let mut restored = Vec::new();
    for entry in fs::read_dir(backup).map_err(io_at("read", backup))? {
        let path = entry.map_err(io_at("read", backup))?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".zst"))
        else {
            continue;
        };
        let packed = fs::read(&path).map_err(io_at("read", &path))?;
        let bytes = zstd::decode_all(packed.as_slice()).map_err(io_at("decompress", &path))?;
        let target = segments.path(name);
        let now = match fs::read(&target) {
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
pub fn remove_all(state: &Path) -> Result<(), StoreError> {
    remove_dir(&state.join("backup"))
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
    use crate::store::sample;

    #[test]
    fn seven_are_kept_and_the_last_restores_what_was_lost() {
        let dir = tempfile::tempdir().expect("a folder");
        let segments = Segments::new(dir.path().join("events"));
        assert_eq!(daily(dir.path(), &segments, "2026-01-01").expect("nothing to do"), None);
        for day in 1..=9 {
            segments.append("w-2026-01.jsonl", &[sample::passed_run(day, "t")]).expect("appends");
            let day = format!("2026-01-{day:02}");
            assert!(daily(dir.path(), &segments, &day).expect("backs up").is_some());
            assert_eq!(daily(dir.path(), &segments, &day).expect("is done"), None);
        }
        let kept = list(dir.path());
        assert_eq!(kept.len(), BACKUPS_MAX);
        assert!(kept[0].ends_with("2026-01-03") && kept[6].ends_with("2026-01-09"));
        let before = fs::read(segments.path("w-2026-01.jsonl")).expect("reads");
        assert!(restore(&kept[6], &segments).expect("nothing to restore").is_empty());
        fs::write(segments.path("w-2026-01.jsonl"), &before[..50]).expect("damages");
        assert_eq!(restore(&kept[6], &segments).expect("restores"), ["w-2026-01.jsonl"]);
        assert_eq!(fs::read(segments.path("w-2026-01.jsonl")).expect("reads"), before);

        // Written after the segment was lost: stays.
        fs::remove_file(segments.path("w-2026-01.jsonl")).expect("removes");
        segments.append("w-2026-01.jsonl", &[sample::passed_run(10, "t")]).expect("appends");
        let after = fs::read(segments.path("w-2026-01.jsonl")).expect("reads");
        assert_eq!(restore(&kept[6], &segments).expect("restores"), ["w-2026-01.jsonl"]);
        assert_eq!(fs::read(segments.path("w-2026-01.jsonl")).expect("reads"), [before, after].concat());
    }
}
