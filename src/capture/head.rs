//! The checked-out commit and branch, from two small reads and without git.

use std::path::Path;

use super::spool::RepositoryHead;
use crate::base::file::read_start;
use crate::base::limits::GIT_FILE_BYTES_MAX;
use crate::base::lossless::Lossless;
use crate::config::{Places, Repository};

impl RepositoryHead {
    /// The place of a run in `places`, with the commit that is checked out now. A packed reference gives no commit;
    /// the recorder has git to ask.
    pub fn now(places: &Places) -> Self {
        let root = Lossless::from(&places.root);
        let Some(repository) = &places.repository else { return RepositoryHead { root, head: None, commit: None } };
        let head = line(&repository.git_dir.join("HEAD"));
        let commit = head.as_deref().and_then(|head| match head.strip_prefix("ref: ") {
            Some(reference) => loose(repository, reference),
            None => Some(head.to_owned()),
        });
        RepositoryHead { root, head, commit }
    }
}

fn loose(repository: &Repository, reference: &str) -> Option<String> {
    // Text from a file is not a path to follow anywhere.
    let plain = reference.starts_with("refs/") && !reference.split('/').any(|part| part == "..");
    plain.then(|| line(&repository.common_dir.join(reference)))?
}

fn line(path: &Path) -> Option<String> {
    let text = String::from_utf8(read_start(path, GIT_FILE_BYTES_MAX).ok()?).ok()?;
    Some(text.trim_end().to_owned()).filter(|line| !line.is_empty())
}
