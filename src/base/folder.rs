//! Folders whose content is known by their times.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use super::clock::Timestamp;

/// File systems whose folders have a new time when a name in them comes or goes, by `statfs`: ext2 to ext4, XFS, Btrfs,
/// tmpfs, overlays, ZFS, F2FS.
#[cfg(target_os = "linux")]
const KNOWN_FILE_SYSTEMS: [i64; 7] =
    [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0x794c_7630, 0x2fc1_2fc1, 0xf2f5_2010];
/// A folder that changed within this time may change once more without getting another time, microseconds.
const SETTLED_US: i64 = 2_000_000;

/// Device, inode, and the times of the last write and of the last change of the inode.
type FolderStamp = [i64; 6];

/// A folder as it was read.
struct ReadFolder {
    stamp: FolderStamp,
    content: FolderContent,
}

/// What is known of a folder's content.
enum FolderContent {
    /// All names, sorted.
    Names(Vec<Vec<u8>>),
    /// It has more names than this.
    MoreThan(usize),
}

/// Folders that were read in this process.
static READ: LazyLock<Mutex<HashMap<PathBuf, ReadFolder>>> = LazyLock::new(Mutex::default);

/// The names in a folder, sorted, at most `max`; more are an error of the kind `FileTooLarge`. A folder that this process
/// has read is not read again while its times are the same.
///
/// # Errors
/// The operating system's.
pub fn entry_names(folder: &Path, max: usize) -> io::Result<Vec<Vec<u8>>> {
    let before = stamp_of(folder);
    let read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    let known = read.get(folder).filter(|known| before.as_ref().ok() == Some(&known.stamp));
    match known.map(|known| &known.content) {
        Some(FolderContent::Names(names)) if names.len() <= max => return Ok(names.clone()),
        Some(FolderContent::Names(_)) => return Err(io::ErrorKind::FileTooLarge.into()),
        Some(FolderContent::MoreThan(number)) if *number >= max => return Err(io::ErrorKind::FileTooLarge.into()),
        _ => drop(read),
    }
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        names.push(entry?.file_name().as_bytes().to_owned());
        if names.len() > max {
            keep(folder, before, FolderContent::MoreThan(max));
            return Err(io::ErrorKind::FileTooLarge.into());
        }
    }
    names.sort_unstable();
    keep(folder, before, FolderContent::Names(names.clone()));
    Ok(names)
}

/// Keeps what was read of a folder that was as `before`, where its times will tell of a change.
fn keep(folder: &Path, before: io::Result<FolderStamp>, content: FolderContent) {
    if let Ok(stamp) = before
        && is_settled(&stamp)
        && has_folder_times(folder)
    {
        let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
        read.insert(folder.to_owned(), ReadFolder { stamp, content });
    }
}

fn stamp_of(folder: &Path) -> io::Result<FolderStamp> {
    let metadata = fs::metadata(folder)?;
    let place = [metadata.dev(), metadata.ino()].map(u64::cast_signed);
    let times = [metadata.mtime(), metadata.mtime_nsec(), metadata.ctime(), metadata.ctime_nsec()];
    Ok([place[0], place[1], times[0], times[1], times[2], times[3]])
}

fn is_settled(stamp: &FolderStamp) -> bool {
    let newest = stamp[2].max(stamp[4]).saturating_mul(1_000_000);
    newest.saturating_add(SETTLED_US) < Timestamp::now().0
}

/// Whether the folders of a file system get a new time when a name in them comes or goes.
#[cfg(target_os = "linux")]
pub fn has_folder_times(place: &Path) -> bool {
    // The type of the magic number differs between C libraries.
    #[allow(clippy::unnecessary_cast, clippy::cast_possible_wrap, reason = "a magic number has 32 bits")]
    let kind = nix::sys::statfs::statfs(place).map(|about| about.filesystem_type().0 as i64 & 0xffff_ffff);
    kind.is_ok_and(|kind| KNOWN_FILE_SYSTEMS.contains(&kind))
}

/// Whether the folders of a file system get a new time when a name in them comes or goes: on this machine's own disks they
/// do.
#[cfg(not(target_os = "linux"))]
pub fn has_folder_times(place: &Path) -> bool {
    nix::sys::statfs::statfs(place).is_ok_and(|about| about.flags().contains(nix::mount::MntFlags::MNT_LOCAL))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_into_a_folder_is_seen_at_once() {
        let folder = tempfile::tempdir().expect("a folder");
        for number in 0..50 {
            assert_eq!(entry_names(folder.path(), 100).expect("names").len(), number);
            fs::write(folder.path().join(number.to_string()), "").expect("a file");
        }
        let too_many = entry_names(folder.path(), 49).expect_err("more than that");
        assert_eq!(too_many.kind(), io::ErrorKind::FileTooLarge);
    }

    #[test]
    fn an_old_folder_is_read_again_when_its_time_is_another() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().join("old");
        fs::create_dir(&place).expect("a folder");
        fs::write(place.join("a"), "").expect("a file");
        let stamp = stamp_of(&place).expect("a stamp");
        assert!(!is_settled(&stamp), "it may change within the same tick");
        let known = vec![b"known".to_vec()];
        let content = FolderContent::Names(known.clone());
        READ.lock().expect("no panic").insert(place.clone(), ReadFolder { stamp, content });
        assert_eq!(entry_names(&place, 9).expect("names"), known, "what was read is not read again");
        let content = FolderContent::MoreThan(5);
        READ.lock().expect("no panic").insert(place.clone(), ReadFolder { stamp, content });
        for max in [4, 5] {
            assert_eq!(entry_names(&place, max).expect_err("more than that").kind(), io::ErrorKind::FileTooLarge);
        }
        assert_eq!(entry_names(&place, 6).expect("names"), [b"a".to_vec()], "it may have no more than 6");
        fs::write(place.join("b"), "").expect("a file");
        assert_eq!(entry_names(&place, 9).expect("names"), [b"a".to_vec(), b"b".to_vec()]);
    }
}
