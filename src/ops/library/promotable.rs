//! Patterns that the library keeps from a line in CLAUDE.md or AGENTS.md: they have pages, and none of these is for agents.

use std::collections::BTreeMap;

use super::standing::LibraryView;
use crate::event::LibraryFolderName;
use crate::learn::library::{LibraryPage, parse_page};
use crate::ops::request::Request;
use crate::store::{Index, StoreError};

/// Patterns with pages of which agents read none, by `p-…`, each with the reason.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn withheld_patterns(request: &Request, index: &Index) -> Result<BTreeMap<String, String>, StoreError> {
    let view = LibraryView::read(request, Some(index))?;
    let mut withheld: BTreeMap<String, String> = BTreeMap::new();
    for page in view.recorded.pages.values() {
        let Some(written) = &page.written else { continue };
        // What this version cannot read keeps nothing back.
        let Ok((front_matter, _)) = parse_page(&written.text) else { continue };
        for pattern in front_matter.patterns {
            withheld.insert(pattern, withheld_reason(page));
        }
    }
    for found in view.found.iter().filter(|found| view.check_served(found).is_ok()) {
        for pattern in &found.front_matter.patterns {
            withheld.remove(pattern);
        }
    }
    Ok(withheld)
}

/// `its page a-… of the pattern library is a candidate`
fn withheld_reason(page: &LibraryPage) -> String {
    let standing = match page.folder {
        Some(LibraryFolderName::Candidates) => "is a candidate: approve it first",
        Some(LibraryFolderName::Active) => "is not read by agents",
        Some(LibraryFolderName::Deprecated) => "is deprecated",
        None => "was rejected",
    };
    format!("its page {} of the pattern library {standing}", page.id)
}
