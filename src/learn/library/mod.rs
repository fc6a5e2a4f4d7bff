//! The pattern library: pages in folders, who may move them, and which of them agents get to read. The folder says what a
//! page is; events say who put it there and why.

mod front_matter;
mod reintroduced;
mod standing;

pub(crate) use front_matter::{PAGE_BYTES_MAX, PageFrontMatter, PageScope, parse_page, set_status};
pub(crate) use reintroduced::{DeprecatedChange, ReintroducedChange, find_reintroduced};
pub(crate) use standing::{LibraryPage, PageDoubt, PageFile, PagesFold, digest_page};
