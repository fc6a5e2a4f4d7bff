//! `library approve`, `reject`, `deprecate` and `restore`: what a person decides about a page, by name and with a reason; or
//! an agent that the user made a librarian.

use anyhow::{Context as _, bail, ensure};
use serde::Serialize;

use super::folder::{FoundPage, PageFolders};
use super::page_list::{recorded_evidence, resolve_id};
use super::standing::LibraryView;
use crate::base::refusal::Refusal;
use crate::event::{Event, EventAuthor, EventBody, EvidenceLabel, LibraryFolderName, LibraryNote, LibraryStep};
use crate::learn::library::{digest_page, set_status};
use crate::ops::reply::Reply;
use crate::ops::request::Request;
use crate::redact::sanitize_name;
use crate::store::Index;

/// What is decided about a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageReviewDecision {
    /// Agents get to read it.
    Approve,
    /// It is not wanted.
    Reject,
    /// It is not for agents any more.
    Deprecate,
    /// It is for agents again.
    Restore,
}

impl PageReviewDecision {
    /// The folder that a page has to be in, and the one that it goes to.
    fn folders(self) -> (LibraryFolderName, Option<LibraryFolderName>) {
        match self {
            PageReviewDecision::Approve => (LibraryFolderName::Candidates, Some(LibraryFolderName::Active)),
            PageReviewDecision::Reject => (LibraryFolderName::Candidates, None),
            PageReviewDecision::Deprecate => (LibraryFolderName::Active, Some(LibraryFolderName::Deprecated)),
            PageReviewDecision::Restore => (LibraryFolderName::Deprecated, Some(LibraryFolderName::Active)),
        }
    }
}

/// A decision about a page with who answers for it.
#[derive(Debug, Clone)]
pub(crate) struct PageReview {
    /// What is decided.
    pub decision: PageReviewDecision,
    /// A unique start of its id.
    pub id: String,
    /// The reviewer's name.
    pub person: Option<String>,
    /// Why.
    pub reason: Option<String>,
    /// Approve it though it is not proven.
    pub accept_unproven: bool,
    /// Pages that it replaces: they are deprecated.
    pub supersedes: Vec<String>,
    /// The page that replaces it.
    pub replaced_by: Option<String>,
    /// `sha256:…` of the text that the person was shown; any without.
    pub shown: Option<String>,
}

/// What `library approve`, `reject`, `deprecate` and `restore --json` print.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PageDecisionReply {
    /// `a-…`
    pub id: String,
    /// The folder that it is in now; absent of a page that was rejected.
    pub folder: Option<LibraryFolderName>,
    /// Its file, relative to the root.
    pub path: Option<String>,
    /// Pages that it replaces, now deprecated.
    pub deprecated: Vec<String>,
}

/// Decides about a page.
///
/// # Errors
/// When the name or the reason is missing, the page is not where this can be decided of it, or files or store can't be
/// written.
pub(crate) fn review_page(request: &Request, review: &PageReview) -> anyhow::Result<Reply<PageDecisionReply>> {
    let (person, reason) = reviewer_of(request, review)?;
    let reading = request.open_for_reading()?;
    let Some(index) = &reading.index else { bail!(Refusal::not_found("nothing was recorded here yet")) };
    let view = LibraryView::read(request, Some(index))?;
    let id = resolve_id(&view, Some(index), &review.id)?;
    let (from, to) = review.decision.folders();
    let page = page_to_decide(&view, &id, from, review.decision)?;
    let is_shown = review.shown.as_ref().is_none_or(|shown| *shown == digest_page(page.text.as_bytes()));
    let changed = || Refusal::conflict(format!("{id} changed since it was shown: nothing was decided"));
    ensure!(is_shown, changed().then_run(format!("library show {id}")));
    if review.decision == PageReviewDecision::Approve {
        ensure_approvable(request, index, &view, page, review)?;
    }
    let superseded = find_superseded(&view, index, review)?;
    // From here on there is no other writer.
    let mut store = request.open_store().context("cannot record the decision now")?;
    let folders = PageFolders::of_request(request);
    let text = to.map(|to| set_status(&page.text, to));
    let mut path = None;
    if let (Some(to), Some(text)) = (to, &text) {
        path = Some(folders.write_page(to, &page.file.name, text)?);
    }
    let digest = text.as_deref().map(|text| digest_page(text.as_bytes())).unwrap_or_default();
    let ids: Vec<String> = superseded.iter().map(|page| page.front_matter.id.clone()).collect();
    let (evidence, _) = recorded_evidence(Some(index), view.recorded.pages.get(&id))?;
    let is_unproven = evidence != EvidenceLabel::Proven;
    let step = match review.decision {
        PageReviewDecision::Approve => {
            let (supersedes, unproven) = (ids.clone(), is_unproven);
            LibraryStep::Approved { reason: reason.clone(), digest, supersedes, unproven }
        }
        PageReviewDecision::Reject => LibraryStep::Rejected { reason: reason.clone() },
        PageReviewDecision::Deprecate => {
            let replaced_by = review.replaced_by.as_deref().map(|it| resolve_id(&view, Some(index), it)).transpose()?;
            LibraryStep::Deprecated { reason: reason.clone(), replaced_by }
        }
        PageReviewDecision::Restore => LibraryStep::Restored { reason: reason.clone(), digest },
    };
    let by = EventAuthor { person: Some(person), ..EventAuthor::from_identity(&request.identity, None) };
    let mut steps = vec![(id.clone(), step)];
    for other in &superseded {
        let text = set_status(&other.text, LibraryFolderName::Deprecated);
        folders.write_page(LibraryFolderName::Deprecated, &other.file.name, &text)?;
        let (reason, replaced_by) = (format!("superseded by {id}"), Some(id.clone()));
        steps.push((other.front_matter.id.clone(), LibraryStep::Deprecated { reason, replaced_by }));
    }
    let events: Vec<Event> = steps
        .into_iter()
        .map(|(artifact, step)| {
            let note = LibraryNote { artifact, step, by: by.clone() };
            Event::new(request.now(), store.writer_name(), EventBody::Library(Box::new(note)))
        })
        .collect();
    store.append(&events).context("the page was moved, but the decision was not recorded: decide it again")?;
    for old in superseded.iter().chain([page]) {
        folders.remove_page(&old.path)?;
    }
    let reply = PageDecisionReply {
        id,
        folder: to,
        path: path.map(|path| path.to_string_lossy().into_owned()),
        deprecated: ids,
    };
    let mut notes = reading.notes;
    notes.extend(store.take_notes());
    Ok(Reply::new(reply, notes))
}

/// The active pages that an approval replaces.
fn find_superseded(view: &LibraryView, index: &Index, review: &PageReview) -> anyhow::Result<Vec<FoundPage>> {
    let find = |other: &String| {
        let other = resolve_id(view, Some(index), other)?;
        page_to_decide(view, &other, LibraryFolderName::Active, PageReviewDecision::Deprecate).cloned()
    };
    review.supersedes.iter().map(find).collect()
}

/// Who decides, and why: a person by name, or a librarian by the name of the agent.
fn reviewer_of(request: &Request, review: &PageReview) -> anyhow::Result<(String, String)> {
    let librarian = librarian_name(request);
    let person = review.person.as_deref().and_then(sanitize_name).or(librarian);
    let reason = review.reason.as_deref().and_then(sanitize_name);
    match (person, reason) {
        (Some(person), Some(reason)) => Ok((person, reason)),
        _ => bail!(Refusal::usage("give the person who decides and the reason: --by NAME --reason TEXT")),
    }
}

/// The agent of the call, if the user made it a librarian.
fn librarian_name(request: &Request) -> Option<String> {
    let agent = request.identity.agent.as_ref()?;
    request.settings().library.librarians.contains(agent).then(|| agent.clone())
}

fn page_to_decide<'a>(
    view: &'a LibraryView,
    id: &str,
    from: LibraryFolderName,
    decision: PageReviewDecision,
) -> anyhow::Result<&'a FoundPage> {
    let mut found = view.found.iter().filter(|page| page.front_matter.id == id);
    if let Some(page) = found.clone().find(|page| page.file.folder == from) {
        return Ok(page);
    }
    let verb = match decision {
        PageReviewDecision::Approve => "approved",
        PageReviewDecision::Reject => "rejected",
        PageReviewDecision::Deprecate => "deprecated",
        PageReviewDecision::Restore => "restored",
    };
    let place = match found.next() {
        Some(page) => format!("it is in {}", page.file.folder),
        None => "it has no file".to_owned(),
    };
    bail!(Refusal::conflict(format!("{id} cannot be {verb}: {place}")).then_run(format!("library show {id}")))
}

fn ensure_approvable(
    request: &Request,
    index: &Index,
    view: &LibraryView,
    page: &FoundPage,
    review: &PageReview,
) -> anyhow::Result<()> {
    /// Active pages of a library.
    const ACTIVE_MAX: usize = 200;
    let id = &page.front_matter.id;
    let (evidence, claim) = recorded_evidence(Some(index), view.recorded.pages.get(id))?;
    let is_person = review.person.is_some();
    if evidence != EvidenceLabel::Proven {
        let claimed = claim.map(|claim| format!(" ({})", claim.claim_text())).unwrap_or_default();
        ensure!(
            review.accept_unproven && is_person,
            Refusal::usage(format!("{id} is not proven: its evidence is {evidence}{claimed}"))
                .then_do("read it, and give --accept-unproven with --by NAME to approve it all the same")
        );
    }
    let written = view.recorded.pages.get(id).and_then(|it| it.written.as_ref());
    let fix_session = written.and_then(|written| written.fix_session.as_deref());
    ensure!(
        is_person || fix_session.is_none() || fix_session != request.identity.session.as_deref(),
        Refusal::usage(format!("{id} comes from a fix of this session, which must not approve it"))
    );
    let active = view.found.iter().filter(|page| page.file.folder == LibraryFolderName::Active).count();
    ensure!(
        active < ACTIVE_MAX,
        Refusal::conflict(format!("there are {active} active pages: deprecate some first"))
            .then_run("library list --active")
    );
    Ok(())
}
