//! What the recorder does beside recording: the daily backup, and the rotation of raw output.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use crate::base::clock::Timestamp;
use crate::base::file::{self, Durability};
use crate::base::private;
use crate::config::{Environment, Places, Settings};
use crate::fix::snapshot::{self, PruneLimits, PruneReport};
use crate::store::{Store, backup};

/// Time limit for packing the trees in the background, milliseconds.
const PRUNE_MS_MAX: u64 = 20_000;

/// Does what is due. Trouble is noted, never an error: recording is done by now.
pub(super) fn run(places: &Places, store: &Store, new_raw: u64, has_time: bool, notes: &mut Vec<String>) {
    remove_unfinished(places);
    let is_due = snapshot::is_due(&places.state, Timestamp::now(), has_time);
    if new_raw > 0 || is_due {
        let (settings, _) = Settings::load(places, &Environment::from_process());
        if is_due && let Err(why) = prune_trees(places, store, &settings, has_time) {
            notes.push(format!("cannot prune the snapshots: {why}"));
        }
        let age_max = Duration::from_secs(settings.raw.days.saturating_mul(24 * 3600));
        note_raw(places, new_raw, settings.raw.bytes, age_max);
    }
    let bytes_max = if has_time { u64::MAX } else { backup::WAITED_BYTES_MAX };
    let (segments, listed, today) = (store.segments(), store.listed_segments(), Timestamp::now().local_day());
    if let Err(error) = backup::make_daily_backup(&places.state, segments, listed, &today, bytes_max) {
        notes.push(error.to_string());
    }
}

/// Forgets the trees that are too old, or too many.
pub(super) fn prune_trees(
    places: &Places,
    store: &Store,
    settings: &Settings,
    has_time: bool,
) -> Result<PruneReport, String> {
    let uses = store.index().list_trees().map_err(|error| error.to_string())?;
    let keep = PruneLimits {
        age_max: Duration::from_secs(settings.snapshot.days.saturating_mul(24 * 3600)),
        bytes_max: settings.snapshot.bytes,
    };
    let time_max = Duration::from_millis(if has_time { PRUNE_MS_MAX } else { settings.snapshot.time_ms });
    snapshot::prune_objects(places, &uses, keep, time_max).map_err(|skipped| skipped.reason)
}

/// Removes what a killed recorder had half written. Only who holds the lock writes in these folders.
fn remove_unfinished(places: &Places) {
    for folder in places.state.rewritten_folders() {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        for entry in entries.filter(is_half_written) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn is_half_written(entry: &fs::DirEntry) -> bool {
    entry.file_name().as_bytes().starts_with(b".tmp-")
}

/// Adds to what is known of the folder's size, and looks at the files themselves when that is too large, or once a day:
/// there may be tens of thousands of them.
fn note_raw(places: &Places, new: u64, bytes_max: u64, age_max: Duration) {
    let file = places.state.raw_size();
    let known = private::read_to_string(&file).ok();
    let known = known.as_deref().and_then(|text| text.trim_end().split_once(" "));
    let today = Timestamp::now().local_day();
    let bytes = known.filter(|(day, _)| *day == today).and_then(|(_, bytes)| bytes.parse::<u64>().ok());
    let bytes = match bytes.map(|bytes| bytes.saturating_add(new)) {
        Some(bytes) if bytes <= bytes_max => bytes,
        _ => rotate_raw(places, bytes_max, age_max),
    };
    let _ = file::write_atomic(&file, format!("{today} {bytes}\n").as_bytes(), 0o600, Durability::Cached);
}

/// Removes raw output that is too old, and, when there is too much, the oldest until a tenth less is left. How much is
/// left, bytes.
fn rotate_raw(places: &Places, bytes_max: u64, age_max: Duration) -> u64 {
    let Ok(entries) = fs::read_dir(places.state.raw_outputs()) else { return 0 };
    let now = SystemTime::UNIX_EPOCH + Duration::from_micros(u64::try_from(Timestamp::now().0).unwrap_or(0));
    let mut files: Vec<(SystemTime, u64, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| {
            if is_half_written(&entry) {
                // By a recorder that was killed: only who holds the lock writes here.
                let _ = fs::remove_file(entry.path());
                return None;
            }
            let metadata = entry.metadata().ok()?;
            Some((metadata.modified().ok()?, metadata.len(), entry.path()))
        })
        .collect();
    files.sort();
    let mut total: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
    let enough = if total > bytes_max { bytes_max - bytes_max / 10 } else { bytes_max };
    for (modified, bytes, path) in files {
        let is_old = now.duration_since(modified).is_ok_and(|age| age > age_max);
        if !is_old && total <= enough {
            break;
        }
        if fs::remove_file(path).is_ok() {
            total -= bytes;
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_raw_output_goes_first() {
        let dir = tempfile::tempdir().expect("a folder");
        let mut places = Places::find(dir.path(), &Environment::default());
        places.state = dir.path().into();
        let raw = dir.path().join("raw");
        fs::create_dir(&raw).expect("a folder");
        let now = SystemTime::UNIX_EPOCH + Duration::from_micros(u64::try_from(Timestamp::now().0).expect("now"));
        for days in [40u64, 3, 2, 1] {
            let file = fs::File::create(raw.join(format!("{days}.zst"))).expect("a file");
            file.set_len(100).expect("grows");
            file.set_modified(now - Duration::from_secs(days * 24 * 3600)).expect("sets");
        }
        let left = || {
            let mut left: Vec<_> =
                fs::read_dir(&raw).expect("reads").flatten().map(|entry| entry.file_name()).collect();
            left.sort();
            left
        };
        let month = Duration::from_secs(30 * 24 * 3600);
        note_raw(&places, 100, 250, month);
        assert_eq!(left(), ["1.zst", "2.zst"]);
        // Known from now on, and only added to while it is small enough.
        fs::write(raw.join("new"), [0; 40]).expect("writes");
        note_raw(&places, 40, 250, month);
        assert_eq!(left().len(), 3);
        fs::write(raw.join("newer"), [0; 60]).expect("writes");
        note_raw(&places, 60, 250, month);
        assert_eq!(left(), ["1.zst", "new", "newer"]);
    }
}
