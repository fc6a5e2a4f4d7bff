//! What a change brings back of deprecated pages.

use std::path::Path;

use super::standing::LibraryView;
use crate::event::LibraryFolderName;
use crate::fix::patch::Patch;
use crate::learn::library::{DeprecatedChange, LibraryPage, ReintroducedChange, find_reintroduced, parse_page};
use crate::ops::request::Request;
use crate::store::{Index, StoreError};

/// Where a change brings back what a deprecated page shows. The library's own files are left out.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn find_deprecated_changes(
    request: &Request,
    index: Option<&Index>,
    patch: &Patch,
) -> Result<Vec<ReintroducedChange>, StoreError> {
    if patch.files.is_empty() {
        return Ok(Vec::new());
    }
    let deprecated = deprecated_changes(request, index)?;
    let dir = &request.settings().patterns.dir;
    let files = patch.files.iter().filter(|file| !Path::new(&file.new).starts_with(dir)).cloned().collect();
    Ok(find_reintroduced(&Patch { files, cut: 0 }, &deprecated))
}

/// The changes of pages in the folder of deprecated ones, and of those that a person deprecated and whose file is gone.
fn deprecated_changes(request: &Request, index: Option<&Index>) -> Result<Vec<DeprecatedChange>, StoreError> {
    let view = LibraryView::read_folders(request, index, &[LibraryFolderName::Deprecated])?;
    let reason = |page: Option<&LibraryPage>| {
        let last = page?.decisions.iter().rev().find(|decision| decision.what == "deprecated")?;
        Some(last.reason.clone())
    };
    let mut found: Vec<DeprecatedChange> = Vec::new();
    for page in &view.found {
        let recorded = view.recorded.pages.get(&page.front_matter.id);
        let (id, title) = (&page.front_matter.id, &page.front_matter.title);
        found.extend(DeprecatedChange::from_page(id, title, reason(recorded), &page.text));
    }
    for page in view.recorded.pages.values() {
        let is_known = view.found.iter().any(|found| found.front_matter.id == page.id);
        if page.folder != Some(LibraryFolderName::Deprecated) || is_known {
            continue;
        }
        let Some(written) = &page.written else { continue };
        let Ok((front_matter, _)) = parse_page(&written.text) else { continue };
        found.extend(DeprecatedChange::from_page(&page.id, &front_matter.title, reason(Some(page)), &written.text));
    }
    Ok(found)
}
