//! What the recorder does beside recording: the daily backup, and the rotation of raw output.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use crate::base::clock::Timestamp;
use crate::config::{Environment, Places, Settings};
use crate::fix::snapshot::{self, Keep, Pruned};
use crate::store::{Store, backup};

/// Packing the trees may take so long when nobody waits, milliseconds.
const PRUNE_MS_MAX: u64 = 20_000;

/// Does what is due. Trouble is noted, never an error: recording is done by now.
pub(super) fn run(places: &Places, store: &Store, has_new_raw: bool, has_time: bool, notes: &mut Vec<String>) {
    let is_due = snapshot::is_due(&places.state, Timestamp::now(), has_time);
    if has_new_raw || is_due {
        let (settings, _) = Settings::load(places, &Environment::from_process());
        if is_due && let Err(why) = prune_trees(places, store, &settings, has_time) {
            notes.push(format!("cannot prune the snapshots: {why}"));
        }
        rotate_raw(places, settings.raw.bytes, Duration::from_secs(settings.raw.days.saturating_mul(24 * 3600)));
    }
    if let Err(error) = backup::daily(&places.state, store.segments(), &Timestamp::now().local_day()) {
        notes.push(error.to_string());
    }
}

/// Forgets the trees that are too old, or too many.
pub(super) fn prune_trees(
    places: &Places,
    store: &Store,
    settings: &Settings,
    has_time: bool,
) -> Result<Pruned, String> {
    let uses = store.index().trees().map_err(|error| error.to_string())?;
    let keep = Keep {
        age_max: Duration::from_secs(settings.snapshot.days.saturating_mul(24 * 3600)),
        bytes_max: settings.snapshot.bytes,
    };
    let time_max = Duration::from_millis(if has_time { PRUNE_MS_MAX } else { settings.snapshot.time_ms });
    snapshot::prune(places, &uses, keep, time_max).map_err(|skipped| skipped.reason)
}

/// Removes what a killed recorder had half written. Only who holds the lock writes in these folders.
pub(super) fn remove_unfinished(places: &Places) {
    for folder in ["", "events", "raw", "open", "baseline", "unwritten"] {
        let entries = fs::read_dir(places.state.join(folder)).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| entry.file_name().as_bytes().starts_with(b".tmp-")) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Removes raw output that is too old, then the oldest until the rest is small enough.
fn rotate_raw(places: &Places, bytes_max: u64, age_max: Duration) {
    let Ok(entries) = fs::read_dir(places.state.join("raw")) else { return };
    let now = SystemTime::UNIX_EPOCH + Duration::from_micros(u64::try_from(Timestamp::now().0).unwrap_or(0));
    let mut files: Vec<(SystemTime, u64, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| {
            let metadata = entry.metadata().ok()?;
            Some((metadata.modified().ok()?, metadata.len(), entry.path()))
        })
        .collect();
    files.sort();
    let mut total: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
    for (modified, bytes, path) in files {
        let is_old = now.duration_since(modified).is_ok_and(|age| age > age_max);
        if !is_old && total <= bytes_max {
            break;
        }
        if fs::remove_file(path).is_ok() {
            total -= bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_raw_output_goes_first() {
        let dir = tempfile::tempdir().expect("a folder");
        let mut places = Places::find(dir.path(), &Environment::default());
        places.state = dir.path().to_owned();
        let raw = dir.path().join("raw");
        fs::create_dir(&raw).expect("a folder");
        let now = SystemTime::UNIX_EPOCH + Duration::from_micros(u64::try_from(Timestamp::now().0).expect("now"));
        for days in [40u64, 3, 2, 1] {
            let file = fs::File::create(raw.join(format!("{days}.zst"))).expect("a file");
            file.set_len(100).expect("grows");
            file.set_modified(now - Duration::from_secs(days * 24 * 3600)).expect("sets");
        }
        rotate_raw(&places, 200, Duration::from_secs(30 * 24 * 3600));
        let mut left: Vec<_> = fs::read_dir(&raw).expect("reads").flatten().map(|entry| entry.file_name()).collect();
        left.sort();
        assert_eq!(left, ["1.zst", "2.zst"]);
    }
}
