//! Whole files, written atomically: a temporary file in the same folder, then a rename.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Room that is made for a file before it is read, bytes.
const EXPECTED_BYTES_MAX: u64 = 1 << 20;

/// Whether a write has to survive a power cut before the call returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// In the page cache: survives the death of any process, not of the machine.
    Cached,
    /// Synced to the device before the rename.
    Synced,
}

/// Creates `dir` and its parents, each new one with mode 0700.
///
/// # Errors
/// The operating system's.
pub fn create_private_dir(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// Whether `path` is a regular file that any user may execute.
pub fn is_program(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// The first `max` bytes of a regular file. Never waits: opening a FIFO of that name would, for its writer, and reading
/// a device might never end.
///
/// # Errors
/// The operating system's; `InvalidInput` for anything but a regular file.
pub fn read_start(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    let file = open_regular(path)?;
    let size = file.metadata()?.len();
    read_up_to(file, size.min(max), max)
}

/// The last `max` bytes of a regular file, as [`read_start`].
///
/// # Errors
/// As [`read_start`].
pub fn read_end(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    let mut file = open_regular(path)?;
    let size = file.metadata()?.len();
    file.seek(SeekFrom::Start(size.saturating_sub(max)))?;
    read_up_to(file, size.min(max), max)
}

/// Reads at most `max` bytes, probably `expected`: with room for them the system is asked once.
fn read_up_to(file: File, expected: u64, max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(usize::try_from(expected.min(EXPECTED_BYTES_MAX)).unwrap_or_default() + 1);
    file.take(max).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn open_regular(path: &Path) -> io::Result<File> {
    let flags = nix::libc::O_NONBLOCK | nix::libc::O_NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    Ok(file)
}

/// Writes `bytes` to `path` so that a reader sees the old file or the whole new one, never a part.
///
/// `mode` is the new file's permission bits (0o600 in the state folder, 0o644 in the work tree).
///
/// # Errors
/// The operating system's; the temporary file is removed.
pub fn write_atomic(path: &Path, bytes: &[u8], mode: u32, durability: Durability) -> io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    let mut file =
        tempfile::Builder::new().prefix(".tmp-").permissions(Permissions::from_mode(mode)).tempfile_in(dir)?;
    file.write_all(bytes)?;
    if durability == Durability::Synced {
        file.as_file().sync_data()?;
    }
    file.persist(path).map_err(|error| error.error)?;
    if durability == Durability::Synced {
        // The rename itself is durable only once the folder is; a file system that can't sync folders is accepted.
        let _ = File::open(dir).and_then(|dir| dir.sync_all());
    }
    Ok(())
}
