//! Files of the state folder: opened without following links, regular, and the user's own.
//!
//! A cloned or unpacked project may bring a state folder along. A link in it would make verify-run append to, read or
//! overwrite any file of the user's; a FIFO would block it forever.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use nix::libc;

/// Flags for every file of the state folder: a link is an error, and a FIFO is not waited for. Without a further system
/// call, for the way to the command.
pub const FLAGS: i32 = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;

/// Opens a file that is regular and ours.
///
/// # Errors
/// The operating system's; `InvalidInput` for a link or anything but a regular file, `PermissionDenied` for a file of
/// another user.
pub fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let file = options.custom_flags(FLAGS).open(path).map_err(|error| match error.raw_os_error() {
        Some(libc::ELOOP | libc::EMLINK) => not_regular(),
        _ => error,
    })?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(not_regular());
    }
    if is_ours(&metadata) { Ok(file) } else { Err(not_ours()) }
}

/// Opens a file for reading.
///
/// # Errors
/// As [`open`].
pub fn reader(path: &Path) -> io::Result<File> {
    open(path, OpenOptions::new().read(true))
}

/// All of a file.
///
/// # Errors
/// As [`open`].
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The first `max` bytes of a file.
///
/// # Errors
/// As [`open`].
pub fn read_start(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader(path)?.take(max).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// All of a file that holds UTF-8.
///
/// # Errors
/// As [`open`]; `InvalidData` for other bytes.
pub fn read_to_string(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path)?).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Whether this is a regular file, and no link to one.
pub fn is_regular(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file())
}

/// Checks that a folder is one, no link to one, and ours. One that isn't there is fine.
///
/// # Errors
/// As [`open`], for a folder.
pub fn check_folder(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if !metadata.is_dir() => {
            Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a link or a file, not a folder"))
        }
        Ok(metadata) if !is_ours(&metadata) => Err(not_ours()),
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Whether a file belongs to this user or to root. Root takes any: in a container, or with sudo, it works in a folder of
/// another user.
fn is_ours(metadata: &Metadata) -> bool {
    let user = nix::unistd::geteuid().as_raw();
    user == 0 || metadata.uid() == user || metadata.uid() == 0
}

fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "it is a link, a folder or a device, not a regular file")
}

fn not_ours() -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, "it belongs to another user")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_regular_file_is_opened() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = |name: &str| dir.path().join(name);
        fs::write(path("file"), "text").expect("a file");
        std::os::unix::fs::symlink("file", path("link")).expect("a link");
        std::os::unix::fs::symlink("loop", path("loop")).expect("a link");
        nix::unistd::mkfifo(&path("fifo"), nix::sys::stat::Mode::S_IRWXU).expect("a FIFO");
        fs::create_dir(path("folder")).expect("a folder");
        assert_eq!(read_to_string(&path("file")).expect("reads"), "text");
        for name in ["link", "loop", "fifo", "folder"] {
            let error = reader(&path(name)).expect_err(name);
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{name}: {error}");
            let append = open(&path(name), OpenOptions::new().append(true).create(true));
            assert!(append.is_err(), "{name}");
        }
        assert_eq!(fs::read_to_string(path("file")).expect("reads"), "text");
        assert_eq!(reader(&path("none")).expect_err("none").kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_link_to_a_folder_is_no_folder() {
        let dir = tempfile::tempdir().expect("a folder");
        std::os::unix::fs::symlink(dir.path(), dir.path().join("link")).expect("a link");
        assert!(check_folder(&dir.path().join("link")).is_err());
        assert!(check_folder(dir.path()).is_ok() && check_folder(&dir.path().join("none")).is_ok());
    }
}
