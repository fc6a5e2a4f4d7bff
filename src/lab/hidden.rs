//! What must not be seen of what is lent: files of the system that not every user may read, and sockets of programs that
//! run outside.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};

/// Folders below `/etc` that are looked at.
const DEPTH_MAX: usize = 3;
/// Entries of `/etc` that are looked at.
const ENTRIES_MAX: usize = 20_000;
/// Columns of `/proc/net/unix` before the path.
const COLUMNS_BEFORE_PATH: usize = 7;

/// What of the system's settings only some users may read, and this one can: passwords, keys. Root reads everything
/// outside, and inside what every user reads.
pub(super) fn find_secret_settings(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut seen = 0;
    let mut folders = vec![(folder.to_owned(), 1)];
    while let Some((folder, depth)) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            seen += 1;
            // The folder says what is a link: most of what is in `/etc` is one.
            if seen > ENTRIES_MAX || entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
                continue;
            }
            let Ok(metadata) = entry.metadata() else { continue };
            let is_open = metadata.permissions().mode() & 0o004 != 0;
            let path = entry.path();
            if !is_open && access(&path, AccessFlags::R_OK).is_ok() {
                found.push(path);
            } else if metadata.is_dir() && depth < DEPTH_MAX {
                folders.push((path, depth + 1));
            }
        }
    }
    found.sort();
    found
}

/// The sockets in folders, by the kernel's list: connecting to one needs no right to write.
pub(super) fn find_sockets() -> BTreeSet<PathBuf> {
    parse_sockets(&fs::read("/proc/net/unix").unwrap_or_default())
}

fn parse_sockets(list: &[u8]) -> BTreeSet<PathBuf> {
    let path = |line: &[u8]| {
        // One blank between columns; a path may have some, too.
        let mut rest = line;
        for _ in 0..COLUMNS_BEFORE_PATH {
            let end = rest.iter().position(|byte| *byte == b' ')?;
            rest = rest[end..].trim_ascii_start();
        }
        rest.starts_with(b"/").then(|| PathBuf::from(OsStr::from_bytes(rest)))
    };
    list.split(|byte| *byte == b'\n').filter_map(path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_not_everyone_reads_is_found() {
        let dir = tempfile::tempdir().expect("a folder");
        let write = |name: &str, mode: u32| {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(&path, "x").expect("a file");
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("a mode");
        };
        write("hosts", 0o644);
        write("shadow", 0o640);
        write("ssl/certs/a", 0o644);
        write("ssl/private/key", 0o644);
        write("ssh/host_key", 0o600);
        fs::set_permissions(dir.path().join("ssl/private"), fs::Permissions::from_mode(0o700)).expect("a mode");
        let found = find_secret_settings(dir.path());
        let names: Vec<&Path> = found.iter().map(|path| path.strip_prefix(dir.path()).expect("inside")).collect();
        assert_eq!(names, ["shadow", "ssh/host_key", "ssl/private"].map(Path::new));
    }

    #[test]
    fn sockets_with_a_path_are_listed() {
        let list = b"Num       RefCount Protocol Flags    Type St Inode Path\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 20404 /run/docker.sock\n\
            0000000000000000: 00000003 00000000 00000000 0001 03 19542\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 17911 @abstract\n\
            0000000000000000: 00000002 00000000 00000000 0002 01  1791 /var/lib/my app/x.sock\n";
        let expected = ["/run/docker.sock", "/var/lib/my app/x.sock"].map(PathBuf::from);
        assert_eq!(parse_sockets(list), BTreeSet::from(expected));
    }
}
