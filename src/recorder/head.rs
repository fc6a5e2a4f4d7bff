//! The commit of a run whose branch the wrapper found in no file of its own: git keeps many branches in one file, which
//! is too long to be read on the way to the command.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};

use crate::capture::SpoolHeader;
use crate::config::Repository;

/// Of git's list of references the first N bytes are read.
const PACKED_BYTES_MAX: u64 = 32 << 20;

/// The commit that was checked out, unless the branch moved since: then it is in a file of its own again.
pub(super) fn commit_of_run(header: &SpoolHeader, repository: Option<&Repository>) -> Option<String> {
    if header.repository.commit.is_some() {
        return header.repository.commit.clone();
    }
    let repository = repository?;
    let reference = header.repository.head.as_deref()?.strip_prefix("ref: ")?;
    let is_loose = !reference.split('/').any(|part| part == "..") && repository.common_dir.join(reference).exists();
    if is_loose {
        return None;
    }
    // <https://git-scm.com/docs/git-pack-refs>: `<hash> <reference>` lines, comments with `#`, peeled tags with `^`.
    let file = File::open(repository.common_dir.join("packed-refs")).ok()?;
    for line in BufReader::new(file.take(PACKED_BYTES_MAX)).lines() {
        let line = line.ok()?;
        if let Some((hash, name)) = line.split_once(' ')
            && name == reference
            && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
        {
            return Some(hash.to_owned());
        }
    }
    None
}
