//! Pages with what was decided about them: which of them agents get to read, and why the others are not read.

use std::path::PathBuf;

use super::folder::{FOLDERS, FoundPage, PageFolders};
use crate::event::LibraryFolderName;
use crate::fix::snapshot::GitObjectReader;
use crate::learn::library::{LibraryPage, PAGE_BYTES_MAX, PageDoubt, PagesFold};
use crate::lesson::LessonFolder;
use crate::ops::request::Request;
use crate::recorder;
use crate::store::{Index, StoreError};

/// The pages of a work tree as files and as recorded.
#[derive(Debug, Default)]
pub(super) struct LibraryView {
    /// The files, by folder and name.
    pub found: Vec<FoundPage>,
    /// Files that are no pages, with the reason.
    pub unreadable: Vec<(PathBuf, String)>,
    /// What was recorded, by id.
    pub recorded: PagesFold,
}

impl LibraryView {
    /// Reads everything.
    ///
    /// # Errors
    /// When the store can't be read.
    pub(super) fn read(request: &Request, index: Option<&Index>) -> Result<Self, StoreError> {
        LibraryView::read_folders(request, index, &FOLDERS)
    }

    /// As [`LibraryView::read`], of some folders.
    pub(super) fn read_folders(
        request: &Request,
        index: Option<&Index>,
        wanted: &[LibraryFolderName],
    ) -> Result<Self, StoreError> {
        let mut view = LibraryView::read_files(request, wanted);
        if let Some(index) = index {
            view.look_into_record(index)?;
        }
        view.look_into_default_branch(request, |_| true);
        Ok(view)
    }

    /// The files of some folders alone: neither the store nor git is asked about them.
    pub(super) fn read_files(request: &Request, wanted: &[LibraryFolderName]) -> Self {
        let folders = PageFolders::of_request(request);
        let mut view = LibraryView::default();
        for &folder in wanted {
            let (pages, unreadable) = folders.read_pages(folder);
            view.found.extend(pages);
            view.unreadable.extend(unreadable);
        }
        view
    }

    /// Adds what was recorded.
    ///
    /// # Errors
    /// When the store can't be read.
    pub(super) fn look_into_record(&mut self, index: &Index) -> Result<(), StoreError> {
        self.recorded = PagesFold::from_steps(&index.library_steps()?);
        Ok(())
    }

    /// Asks git for those of the wanted pages that are active and that no person approved here. A page that git can't be asked about is not there.
    pub(super) fn look_into_default_branch(&mut self, request: &Request, is_wanted: impl Fn(&FoundPage) -> bool) {
        let recorded = &self.recorded;
        let is_open = |page: &&mut FoundPage| {
            page.file.folder == LibraryFolderName::Active
                && is_wanted(page)
                && LibraryPage::check_served(recorded.pages.get(&page.front_matter.id), &page.file).is_err()
        };
        let mut open: Vec<&mut FoundPage> = self.found.iter_mut().filter(is_open).collect();
        let Some(tip) = (!open.is_empty()).then(|| recorder::default_tip(&request.places)).flatten() else { return };
        let settings = request.settings();
        let lessons = LessonFolder::find(&request.places, settings);
        let options = recorder::snapshot_options(&request.places, settings, &lessons);
        let Ok(git) = GitObjectReader::open_blobs(&request.places, &options) else { return };
        let paths: Vec<String> = open.iter().map(|page| path_in_repository(request, &page.path)).collect();
        let names: Vec<(String, &str)> = paths.iter().map(|path| (tip.clone(), path.as_str())).collect();
        let texts = git.read_few_texts(&names, PAGE_BYTES_MAX as u64);
        for (page, text) in open.iter_mut().zip(texts.unwrap_or_default()) {
            page.file.is_in_default_branch = text.as_deref() == Some(page.text.as_str());
        }
    }

    /// Whether agents get to read a page.
    ///
    /// # Errors
    /// Why not.
    pub(super) fn check_served(&self, page: &FoundPage) -> Result<(), PageDoubt> {
        LibraryPage::check_served(self.recorded.pages.get(&page.front_matter.id), &page.file)
    }
}

/// The path as git names it: from the top of the work tree, which may be above the root.
fn path_in_repository(request: &Request, path: &std::path::Path) -> String {
    let top = request.places.repository.as_ref().and_then(|repository| repository.worktree.as_deref());
    let full = request.places.root.join(path);
    let relative = top.and_then(|top| full.strip_prefix(top).ok()).unwrap_or(path);
    relative.to_string_lossy().into_owned()
}
