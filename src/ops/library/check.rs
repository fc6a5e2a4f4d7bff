//! `library check`: where files and records of the library disagree, and which active pages should be deprecated. What was
//! moved by hand, and what is proposed, is recorded.

use serde::Serialize;

use super::folder::FoundPage;
use super::page_shapes::page_shapes;
use super::standing::LibraryView;
use crate::base::clock::Timestamp;
use crate::event::{EventAuthor, EventBody, LibraryFolderName, LibraryNote, LibraryStep};
use crate::learn::library::{LibraryPage, PageDoubt};
use crate::ops::reply::Reply;
use crate::ops::request::Request;
use crate::store::{Index, StoreError};

/// Tasks in which a page was applied and its failure came back, from which on it should be deprecated.
const RETURNS_MIN: usize = 2;
/// Days after which a page that was shown nowhere should be deprecated.
const UNUSED_DAYS: i64 = 180;

/// What is wrong with a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum LibraryFindingKind {
    /// It is no page.
    Unreadable,
    /// It is among the active ones, and agents do not get to read it.
    NotServed,
    /// It was moved by hand.
    Moved,
    /// Its file is not what was written.
    Edited,
    /// None of the files that it is about exists.
    NoFiles,
    /// Another page shows the same change.
    Duplicate,
    /// It should be deprecated: a person decides.
    DeprecationProposed,
}

impl LibraryFindingKind {
    /// For people.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            LibraryFindingKind::Unreadable => "unreadable",
            LibraryFindingKind::NotServed => "not served",
            LibraryFindingKind::Moved => "moved",
            LibraryFindingKind::Edited => "edited",
            LibraryFindingKind::NoFiles => "no files",
            LibraryFindingKind::Duplicate => "duplicate",
            LibraryFindingKind::DeprecationProposed => "deprecation proposed",
        }
    }
}

/// Something that is wrong in the library.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct LibraryFinding {
    /// What it is.
    pub kind: LibraryFindingKind,
    /// `a-…`
    pub page: Option<String>,
    /// The file, relative to the root.
    pub path: String,
    /// Why, a lowercase fragment.
    pub why: String,
}

/// What `library check --json` prints.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct LibraryCheck {
    /// By folder and file.
    pub findings: Vec<LibraryFinding>,
}

/// Compares the folders of the library with what was recorded of them.
///
/// # Errors
/// When the store can't be read or written.
pub(crate) fn check_library(request: &Request) -> anyhow::Result<Reply<LibraryCheck>> {
    let reading = request.open_for_reading()?;
    let index = reading.index.as_ref();
    let view = LibraryView::read(request, index)?;
    let mut findings = library_findings_of(request, index, &view)?;
    let mut steps: Vec<(String, LibraryStep)> = Vec::new();
    for found in &view.found {
        let Some(page) = view.recorded.pages.get(&found.front_matter.id) else { continue };
        if let Some(from) = page.folder.filter(|from| *from != found.file.folder) {
            steps.push((page.id.clone(), LibraryStep::Moved { from, to: found.file.folder, commit: None }));
        }
    }
    for found in view.found.iter().filter(|found| found.file.folder == LibraryFolderName::Active) {
        let id = &found.front_matter.id;
        let (Some(index), Some(page)) = (index, view.recorded.pages.get(id)) else { continue };
        let reason = match &page.proposed {
            Some(why) => Some(why.clone()),
            None => deprecation_reason(request, index, found, page)?,
        };
        let Some(why) = reason else { continue };
        findings.push(finding(LibraryFindingKind::DeprecationProposed, found, &why));
        if page.proposed.is_none() {
            steps.push((id.clone(), LibraryStep::DeprecationProposed { why }));
        }
    }
    findings.sort_by(|a, b| a.path.cmp(&b.path));
    if !steps.is_empty() {
        record_steps(request, steps)?;
    }
    Ok(Reply::new(LibraryCheck { findings }, reading.notes))
}

/// What is wrong with files of the library, without what the records propose.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn library_findings(request: &Request) -> Result<Vec<LibraryFinding>, StoreError> {
    let index = request.open_as_it_is(&mut Vec::new())?;
    let view = LibraryView::read(request, index.as_ref())?;
    library_findings_of(request, index.as_ref(), &view)
}

fn library_findings_of(
    request: &Request,
    index: Option<&Index>,
    view: &LibraryView,
) -> Result<Vec<LibraryFinding>, StoreError> {
    let mut findings: Vec<LibraryFinding> = Vec::new();
    for (path, why) in &view.unreadable {
        let path = path.to_string_lossy().into_owned();
        findings.push(LibraryFinding { kind: LibraryFindingKind::Unreadable, page: None, path, why: why.clone() });
    }
    for found in &view.found {
        let recorded = view.recorded.pages.get(&found.front_matter.id).filter(|_| index.is_some());
        findings.extend(file_finding(view, found, recorded));
        if found.file.folder != LibraryFolderName::Deprecated && has_no_files(request, found) {
            findings.push(finding(LibraryFindingKind::NoFiles, found, "none of the files that it is about exists"));
        }
        if let Some(other) = find_duplicate(view, found) {
            let why = format!("it shows the same change as {other}");
            findings.push(finding(LibraryFindingKind::Duplicate, found, &why));
        }
    }
    findings.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(findings)
}

fn finding(kind: LibraryFindingKind, found: &FoundPage, why: &str) -> LibraryFinding {
    let (page, path) = (Some(found.front_matter.id.clone()), found.path.to_string_lossy().into_owned());
    LibraryFinding { kind, page, path, why: why.to_owned() }
}

/// Whether a file is where and what the records say.
fn file_finding(view: &LibraryView, found: &FoundPage, page: Option<&LibraryPage>) -> Option<LibraryFinding> {
    if let Some(from) = page.and_then(|page| page.folder).filter(|from| *from != found.file.folder) {
        let why = format!("it was moved from {from} to {} by hand", found.file.folder);
        return Some(finding(LibraryFindingKind::Moved, found, &why));
    }
    match view.check_served(found) {
        Err(doubt @ (PageDoubt::NotApproved | PageDoubt::Edited)) => {
            return Some(finding(LibraryFindingKind::NotServed, found, doubt.reason_text()));
        }
        Err(PageDoubt::NotActive) if found.file.folder == LibraryFolderName::Active => {
            return Some(finding(LibraryFindingKind::NotServed, found, "a person decided against it"));
        }
        _ => {}
    }
    let written = page.and_then(|page| page.written.as_ref());
    let is_edited = found.file.folder == LibraryFolderName::Candidates
        && written.is_some_and(|written| written.digest != found.file.digest);
    is_edited.then(|| finding(LibraryFindingKind::Edited, found, "it is not what was written"))
}

/// Whether every file that a page names is gone. What is named by a pattern with wildcards counts as there.
fn has_no_files(request: &Request, found: &FoundPage) -> bool {
    let globs = &found.front_matter.applies_to.globs;
    let is_gone = |glob: &String| !glob.contains(['*', '?', '[', '{']) && !request.places.root.join(glob).exists();
    !globs.is_empty() && globs.iter().all(is_gone)
}

/// An earlier page with the same change that is not deprecated.
fn find_duplicate(view: &LibraryView, found: &FoundPage) -> Option<String> {
    let change = found.front_matter.change.as_ref()?;
    let is_current = |page: &&FoundPage| page.file.folder != LibraryFolderName::Deprecated;
    let mut others = view.found.iter().filter(is_current).filter(|other| other.path < found.path);
    let other = others.find(|other| other.front_matter.change.as_ref() == Some(change));
    other.filter(|_| is_current(&found)).map(|other| other.front_matter.id.clone())
}

/// Why an active page should be deprecated, if it should.
fn deprecation_reason(
    request: &Request,
    index: &Index,
    found: &FoundPage,
    page: &LibraryPage,
) -> Result<Option<String>, StoreError> {
    let returns = index.tasks_where_shapes_failed(&page_shapes(index, &page.id)?)?;
    if returns.len() >= RETURNS_MIN {
        let (count, named) = (returns.len(), returns[..RETURNS_MIN].join(", "));
        return Ok(Some(format!("its failure came back in {count} tasks in which it was applied ({named})")));
    }
    if page.verified.is_some_and(|(holds, _)| !holds) {
        return Ok(Some("its proof does not hold any more".to_owned()));
    }
    if has_no_files(request, found) {
        return Ok(Some("none of the files that it is about exists".to_owned()));
    }
    let approved_at = page.decisions.last().map(|decision| decision.at);
    let last_shown = index.page_deliveries(&page.id)?.into_iter().map(|row| row.at).max();
    let is_old = |at: Timestamp| request.now().0.saturating_sub(at.0) > UNUSED_DAYS * 86_400 * 1_000_000;
    let is_unused = approved_at.is_some_and(is_old) && last_shown.is_none_or(is_old);
    Ok(is_unused.then(|| format!("no agent was shown it for {UNUSED_DAYS} days")))
}

fn record_steps(request: &Request, steps: Vec<(String, LibraryStep)>) -> anyhow::Result<()> {
    let mut store = request.open_store()?;
    let by = EventAuthor::from_identity(&request.identity, None);
    for (artifact, step) in steps {
        store.record_event(EventBody::Library(Box::new(LibraryNote { artifact, step, by: by.clone() })))?;
    }
    Ok(())
}
