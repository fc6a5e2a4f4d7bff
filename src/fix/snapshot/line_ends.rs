//! Line ends of files that git converts: two work trees can differ in them and have one tree.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::SkippedSnapshot;
use super::git::{Git, GitError, GitView};
use super::place::ObjectFolder;
use super::stamp::WorkTreeStamp;
use super::take::{require_repository, snapshot_folders};
use super::taken::TakenSnapshot;
use crate::base::file::{Durability, write_atomic};
use crate::base::limits::SNAPSHOT_INFO_BYTES_MAX;
use crate::base::private;
use crate::config::Places;

/// Attributes by which git converts contents.
const CONVERTING: [&str; 5] = ["text", "eol", "crlf", "ident", "working-tree-encoding"];

/// The answer of the last time, in the folder of a work tree.
const ANSWER_FILE: &str = "line-ends.json";

/// An answer, and for which work tree it holds.
#[derive(Debug, Serialize, Deserialize)]
struct LineEndsAnswer {
    /// The stamp of the work tree.
    stamp: String,
    digest: Option<String>,
}

/// Digest of the files whose line ends are others than those in the tree, 32 hex digits; `None` where git converts
/// nothing. To be asked after a snapshot of the same work tree, with the recorder's lock.
///
/// # Errors
/// When git can't be asked, and of a file with both line ends, whose content no answer tells.
pub(crate) fn digest_line_ends(
    places: &Places,
    taken: &TakenSnapshot,
    time_max: Duration,
) -> Result<Option<String>, SkippedSnapshot> {
    let repository = require_repository(places)?;
    let place = ObjectFolder::open_for_reading(places)
        .map_err(|error| SkippedSnapshot::with_reason(format!("cannot write: {error}")))?;
    let file = place.scratch_path().join(ANSWER_FILE);
    let known = private::read_start(&file, SNAPSHOT_INFO_BYTES_MAX).ok();
    let known = known.and_then(|json| serde_json::from_slice::<LineEndsAnswer>(&json).ok());
    if let Some(known) = known.filter(|known| Some(&known.stamp) == taken.stamp.as_ref()) {
        return Ok(known.digest);
    }
    let git = Git::new(snapshot_folders(places, repository, &place), Instant::now() + time_max)?;
    let stamp = taken.stamp.as_deref().and_then(|id| place.stamp_of(id));
    let digest = ask_line_ends(&git, stamp.as_ref())
        .map_err(|trouble| SkippedSnapshot::with_reason(trouble.reason_text()))?
        .transpose()?;
    if let Some(stamp) = taken.stamp.clone() {
        let answer = LineEndsAnswer { stamp, digest: digest.clone() };
        let json = serde_json::to_vec(&answer).unwrap_or_default();
        // What can't be written is found out again next time.
        let _ = write_atomic(&file, &json, 0o600, Durability::Cached);
    }
    Ok(digest)
}

fn ask_line_ends(
    git: &Git,
    stamp: Option<&WorkTreeStamp>,
) -> Result<Option<Result<String, SkippedSnapshot>>, GitError> {
    if !has_conversion(git, stamp)? {
        return Ok(None);
    }
    let listed = git.run(GitView::Own, ["ls-files", "--eol", "-z"], None)?;
    Ok(Some(digest_listing(&listed)))
}

/// Whether a setting or an attribute makes git convert contents.
fn has_conversion(git: &Git, stamp: Option<&WorkTreeStamp>) -> Result<bool, GitError> {
    let settings = ["config", "--null", "--get-regexp", "^core\\.(autocrlf|attributesfile)$"];
    let answer = match git.run(GitView::Own, settings, None) {
        Ok(answer) => answer,
        Err(GitError::Failed(why)) if why.ends_with(": exit status: 1") => Vec::new(),
        Err(trouble) => return Err(trouble),
    };
    if answer.split(|&byte| byte == 0).any(|setting| !setting.is_empty() && !setting.ends_with(b"\nfalse")) {
        return Ok(true);
    }
    let files = match stamp {
        Some(stamp) => stamp.files_named(".gitattributes"),
        None => {
            let named = ["ls-files", "-z", "--cached", "--others", "--", ".gitattributes", "**/.gitattributes"];
            let listed = git.run(GitView::Own, named, None)?;
            let paths = listed.split(|&byte| byte == 0).filter(|path| !path.is_empty());
            paths.map(|path| PathBuf::from(OsStr::from_bytes(path))).collect()
        }
    };
    let files = files.into_iter().map(|path| git.root_path().join(path));
    Ok(files.chain([git.git_dir_path().join("info/attributes")]).any(|file| converts(&file)))
}

fn converts(attributes: &Path) -> bool {
    match fs::metadata(attributes) {
        Ok(metadata) if metadata.len() <= SNAPSHOT_INFO_BYTES_MAX => {
            let text = fs::read(attributes).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            // `binary` only takes conversions away.
            text.lines().any(|line| {
                let mut words = line.split_whitespace().skip(1).map(|word| word.split('=').next().unwrap_or(word));
                words.any(|word| CONVERTING.contains(&word))
            })
        }
        Ok(_) => true,
        Err(_) => false,
    }
}

/// Reads `i/lf w/crlf attr/text`, a tab, the path, a NUL, and so on.
fn digest_listing(listed: &[u8]) -> Result<String, SkippedSnapshot> {
    let mut hasher = blake3::Hasher::new();
    for entry in listed.split(|&byte| byte == 0) {
        let Some(tab) = entry.iter().position(|&byte| byte == b'\t') else { continue };
        let columns = String::from_utf8_lossy(&entry[..tab]);
        let mut columns = columns.split_whitespace();
        let (index, work) = (columns.next().unwrap_or_default(), columns.next().unwrap_or_default());
        // Whatever its line ends are, it has them in the tree.
        if columns.next() == Some("attr/-text") {
            continue;
        }
        let (index, work) = (index.trim_start_matches("i/"), work.trim_start_matches("w/"));
        if index == work {
            continue;
        }
        if work == "mixed" {
            let path = String::from_utf8_lossy(&entry[tab + 1..]).into_owned();
            return Err(SkippedSnapshot::with_reason(format!("{path} has lines with both kinds of ends")));
        }
        hasher.update(&(entry.len() as u64).to_le_bytes());
        hasher.update(entry);
    }
    Ok(hasher.finalize().to_hex()[..32].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_other_line_ends_than_its_tree_changes_the_digest() {
        let of = |listing: &str| digest_listing(listing.as_bytes());
        let plain = of("i/lf    w/lf    attr/text=auto      \ta\0i/-text w/-text attr/ \tb\0");
        assert_eq!(plain, of(""));
        assert_ne!(plain, of("i/lf    w/crlf  attr/text=auto      \ta\0"));
        assert!(of("i/lf    w/mixed attr/text=auto      \ta\0").is_err());
        assert!(of("i/mixed w/mixed attr/      \ta\0").is_ok());
        assert_eq!(of("i/      w/mixed attr/-text      \ta\0i/ w/crlf attr/-text \tb\0"), plain);
    }
}
