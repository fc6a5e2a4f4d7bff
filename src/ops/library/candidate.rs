//! The pattern library: pages about patterns in the repository, written on request.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::Serialize;

use crate::base::file::{Durability, read_start, write_atomic};
use crate::ops::pattern;
use crate::ops::reply::Reply;
use crate::ops::request::Request;
use crate::pattern::library_page;

/// A page is read up to this size, bytes; people may have added to it.
const PAGE_BYTES_MAX: u64 = 1 << 20;

/// The outcome of a candidate page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum CandidatePageOutcome {
    /// There was none.
    Written,
    /// It was as it had been written, and is now as things are.
    Updated,
    /// Edited by a user: left as it is.
    Edited,
    /// It is in another part of the library (`active`, `deprecated`): left there.
    Reviewed,
}

/// What `pattern show --candidate --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CandidatePage {
    /// The page, relative to the root.
    pub path: PathBuf,
    /// The outcome.
    pub outcome: CandidatePageOutcome,
}

/// Writes the candidate page of the pattern whose id starts with `id`.
///
/// # Errors
/// When there is no such pattern, or the library can't be written or leads out of the work tree.
pub(crate) fn write_candidate_page(request: &Request, id: &str) -> anyhow::Result<Reply<CandidatePage>> {
    let Reply { data: page, notes, .. } = pattern::show_pattern(request, id)?;
    let library = &request.settings().patterns.dir;
    let done = |path: PathBuf, outcome| Ok(Reply::new(CandidatePage { path, outcome }, notes.clone()));
    for part in ["active", "deprecated"] {
        if let Some(name) = find_page(&request.places.root.join(library).join(part), &page.summary.id) {
            return done(library.join(part).join(name), CandidatePageOutcome::Reviewed);
        }
    }
    let dir = library.join("candidates");
    let folder = request.places.root.join(&dir);
    ensure_inside_root(&request.places.root, &folder).with_context(|| format!("cannot write {}", folder.display()))?;
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let known = find_page(&folder, &page.summary.id);
    let name = known.clone().unwrap_or_else(|| library_page::file_name(&page));
    let path = folder.join(&name);
    let outcome = match known {
        None => CandidatePageOutcome::Written,
        Some(_) => {
            let bytes = read_start(&path, PAGE_BYTES_MAX).with_context(|| format!("cannot read {}", path.display()))?;
            let untouched = String::from_utf8(bytes).is_ok_and(|text| library_page::is_untouched(&text));
            if untouched { CandidatePageOutcome::Updated } else { CandidatePageOutcome::Edited }
        }
    };
    if outcome != CandidatePageOutcome::Edited {
        write_atomic(&path, library_page::render_page(&page).as_bytes(), 0o644, Durability::Cached)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    done(dir.join(name), outcome)
}

/// The page about a pattern in one folder of the library, whatever follows the id in its name.
fn find_page(folder: &Path, id: &str) -> Option<String> {
    let names =
        fs::read_dir(folder).into_iter().flatten().flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut found: Vec<String> = names
        .filter(|name| name.strip_prefix(id).is_some_and(|rest| rest.starts_with(['-', '.']) && rest.ends_with(".md")))
        .collect();
    found.sort();
    found.into_iter().next()
}

/// A link in a cloned repository must not decide where else we write.
pub(in crate::ops) fn ensure_inside_root(root: &Path, folder: &Path) -> io::Result<()> {
    let existing = folder.ancestors().find(|dir| fs::symlink_metadata(dir).is_ok()).unwrap_or(root);
    if existing.canonicalize()?.starts_with(root.canonicalize()?) {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::PermissionDenied, "a link leads out of the work tree"))
}
