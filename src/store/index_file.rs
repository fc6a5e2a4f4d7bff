//! The file of an index, as it is before SQLite opens it.

use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::error::{StoreError, sql_at};
use super::journal;
use crate::base::private;

/// What tells one content of a file from another, without its journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileState {
    /// Device and number.
    file: [u64; 2],
    bytes: u64,
    /// When it was changed: seconds, nanoseconds.
    changed: [i64; 2],
}

impl FileState {
    /// Of a file; `None` when there is none.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let found = fs::symlink_metadata(path).ok()?;
        Some(FileState {
            file: [found.dev(), found.ino()],
            bytes: found.len(),
            changed: [found.mtime(), found.mtime_nsec()],
        })
    }
}

/// Refuses a file that is shorter than its header says: SQLite would notice only when it gets to the missing pages.
pub(super) fn check_size(path: &Path) -> Result<(), StoreError> {
    let mut header = [0; 100];
    let Ok(mut file) = private::reader(path) else { return Ok(()) };
    let Ok(size) = file.metadata().map(|metadata| metadata.len()) else { return Ok(()) };
    // With a journal the file is allowed to be behind its header: a checkpoint may be going on.
    if size == 0 || !journal::is_log_empty(path) {
        return Ok(());
    }
    let damaged = || sql_at("open", path)(damage_error());
    if file.read_exact(&mut header).is_err() || !header.starts_with(b"SQLite format 3\0") {
        return Err(damaged());
    }
    let page_size = match u16::from_be_bytes([header[16], header[17]]) {
        1 => 65_536,
        size => u64::from(size),
    };
    let pages = u64::from(u32::from_be_bytes([header[28], header[29], header[30], header[31]]));
    if size < page_size * pages { Err(damaged()) } else { Ok(()) }
}

/// What SQLite would say of a file that is none of its own.
pub(super) fn damage_error() -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(
        rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_NOTADB),
        Some("the file is not a whole verify-run index".into()),
    )
}

/// A path inside a `file:` URI.
pub(super) fn uri_path(path: &Path) -> String {
    use std::fmt::Write;
    use std::os::unix::ffi::OsStrExt;
    let mut text = String::new();
    for &byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

/// Whether `path` is on a network file system, where WAL's shared memory does not work.
#[cfg(target_os = "linux")]
pub(super) fn is_network(path: &Path) -> bool {
    /// 9p, AFS, Ceph, CIFS, Coda, FUSE (may be sshfs), GFS2, GPFS, Lustre, NFS, SMB, SMB2.
    const MAGIC: [u32; 12] = [
        0x0102_1997,
        0x5346_414f,
        0x00c3_6400,
        0xff53_4d42,
        0x7375_7245,
        0x6573_5546,
        0x0116_1970,
        0x4750_4653,
        0x0bd0_0bd0,
        0x6969,
        0x517b,
        0xfe53_4d42,
    ];
    nix::sys::statfs::statfs(path).is_ok_and(|fs| {
        // The type is signed or unsigned by platform; the low 32 bits are the magic number.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the low 32 bits are meant")]
        let magic = fs.filesystem_type().0 as u32;
        MAGIC.contains(&magic)
    })
}

/// Whether `path` is on a network file system, where WAL's shared memory does not work.
#[cfg(not(target_os = "linux"))]
pub(super) fn is_network(path: &Path) -> bool {
    nix::sys::statfs::statfs(path).is_ok_and(|fs| !fs.flags().contains(nix::mount::MntFlags::MNT_LOCAL))
}
