//! `library list` and `library show`: the pages, where they stand, and what they are proven by.

use anyhow::bail;
use serde::Serialize;

use super::standing::LibraryView;
use crate::base::clock::Timestamp;
use crate::base::refusal::Refusal;
use crate::base::text::one_line;
use crate::event::{EvidenceLabel, IsolationLevel, LibraryFolderName};
use crate::learn::job::Job;
use crate::learn::library::{LibraryPage, PageFrontMatter, digest_page, parse_page};
use crate::ops::reply::Reply;
use crate::ops::request::Request;
use crate::store::{Index, StoreError};

/// A page in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PageSummary {
    /// `a-…`
    pub id: String,
    /// One line.
    pub title: String,
    /// The folder that its file is in; absent of a page without a file.
    pub folder: Option<LibraryFolderName>,
    /// Its file, relative to the root.
    pub path: Option<String>,
    /// `fix`, `optimization`, `convention`, `procedure` or `antipattern`.
    pub kind: String,
    /// How sure it is, as its job found here.
    pub evidence: EvidenceLabel,
    /// What another store says of it, whose events were imported. Nothing of that was run here.
    pub claim: Option<EvidenceClaim>,
    /// The isolation of its proof.
    pub level: IsolationLevel,
    /// Whether agents get to read it.
    pub served: bool,
    /// Why agents do not get to read it.
    pub why_not: Option<String>,
    /// `p-…` of the patterns that it is about.
    pub patterns: Vec<String>,
    /// `x-…` of the fixes that it comes from.
    pub fixes: Vec<String>,
    /// `j-…` of the job that wrote it.
    pub job: Option<String>,
    /// When it was written; absent of a page that was not written here.
    pub at: Option<Timestamp>,
}

/// How sure another store says that something is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct EvidenceClaim {
    /// How sure, by its own account.
    pub evidence: EvidenceLabel,
    /// The writer that its events name.
    pub writer: String,
}

impl EvidenceClaim {
    /// For people: `claimed proven by 4k2m…, not run here`
    pub(crate) fn claim_text(&self) -> String {
        format!("claimed {} by {}, not run here", self.evidence, one_line(&self.writer))
    }

    pub(super) fn of_job(job: &Job) -> Option<Self> {
        // What was shown here since then is no claim any more.
        let claim = job.claim.as_ref().filter(|_| job.judgement.is_none())?;
        Some(EvidenceClaim { evidence: claim.evidence, writer: claim.writer.clone() })
    }
}

/// What `library list --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PageList {
    /// The pages, by folder and file name.
    pub pages: Vec<PageSummary>,
    /// Files in the library that are no pages.
    pub unreadable: Vec<UnreadablePage>,
}

/// A file in the library that is no page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct UnreadablePage {
    /// Relative to the root.
    pub path: String,
    /// Why it is none.
    pub why: String,
}

/// What `library show --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PageDetail {
    /// The page.
    #[serde(flatten)]
    pub summary: PageSummary,
    /// Its text.
    pub markdown: String,
    /// `sha256:…` of it.
    pub digest: String,
    /// What people decided about it, the oldest first.
    pub decisions: Vec<PageDecisionRecord>,
    /// `j-…` of the jobs that prove it.
    pub proofs: Vec<String>,
}

/// What a person decided about a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PageDecisionRecord {
    /// Who.
    pub person: String,
    /// When.
    pub at: Timestamp,
    /// `approved`, `rejected`, `deprecated` or `restored`.
    pub decision: &'static str,
    /// Why.
    pub reason: String,
}

/// The pages of these folders (all without).
///
/// # Errors
/// When the store can't be read.
pub(crate) fn list_pages(request: &Request, folder: Option<LibraryFolderName>) -> Result<Reply<PageList>, StoreError> {
    let reading = request.open_for_reading()?;
    let view = LibraryView::read(request, reading.index.as_ref())?;
    let mut pages = Vec::new();
    for found in view.found.iter().filter(|page| folder.is_none_or(|folder| page.file.folder == folder)) {
        let recorded = view.recorded.pages.get(&found.front_matter.id);
        let mut summary = PageSummary::new(&found.front_matter, recorded, reading.index.as_ref())?;
        (summary.folder, summary.path) = (Some(found.file.folder), Some(found.path.to_string_lossy().into_owned()));
        match view.check_served(found) {
            Ok(()) => summary.served = true,
            Err(doubt) => summary.why_not = Some(doubt.reason_text().to_owned()),
        }
        pages.push(summary);
    }
    let unreadable = view
        .unreadable
        .into_iter()
        .map(|(path, why)| UnreadablePage { path: path.to_string_lossy().into_owned(), why });
    Ok(Reply::new(PageList { pages, unreadable: unreadable.collect() }, reading.notes))
}

/// The page whose id starts with `id`. One whose file is gone is as it was written.
///
/// # Errors
/// When there is none or more than one, or the store can't be read.
pub(crate) fn show_page(request: &Request, id: &str) -> anyhow::Result<Reply<PageDetail>> {
    let reading = request.open_for_reading()?;
    let index = reading.index.as_ref();
    let view = LibraryView::read(request, index)?;
    let id = resolve_id(&view, index, id)?;
    let recorded = view.recorded.pages.get(&id);
    let found = view.found.iter().find(|page| page.front_matter.id == id);
    let claimed = || recorded.and_then(|page| page.claimed.as_ref()).map(|(written, _)| written);
    let written = recorded.and_then(|page| page.written.as_ref()).or_else(claimed);
    let (front_matter, markdown) = match (found, written) {
        (Some(found), _) => (found.front_matter.clone(), found.text.clone()),
        (None, Some(written)) => (parse_page(&written.text)?.0, written.text.clone()),
        (None, None) => bail!(Refusal::not_found(format!("there is no page {id}")).then_run("library list")),
    };
    let mut summary = PageSummary::new(&front_matter, recorded, index)?;
    summary.folder = found.map(|found| found.file.folder);
    summary.path = found.map(|found| found.path.to_string_lossy().into_owned());
    match found.map(|found| view.check_served(found)) {
        Some(Ok(())) => summary.served = true,
        Some(Err(doubt)) => summary.why_not = Some(doubt.reason_text().to_owned()),
        None => summary.why_not = Some("its file is gone".to_owned()),
    }
    let mut proofs = Vec::new();
    if let Some(index) = index {
        let steps = index.proofs_of_artifact(&id)?.into_iter().filter(|step| step.is_own);
        proofs = steps.map(|step| step.note.job).collect();
        proofs.dedup();
    }
    let decisions = recorded.map_or(&[][..], |page| &page.decisions).iter().map(|decision| PageDecisionRecord {
        person: decision.person.clone(),
        at: decision.at,
        decision: decision.what,
        reason: decision.reason.clone(),
    });
    let digest = digest_page(markdown.as_bytes());
    let page = PageDetail { decisions: decisions.collect(), summary, digest, markdown, proofs };
    Ok(Reply::new(page, reading.notes))
}

/// The id that starts with `prefix`, of a file or of a record.
pub(super) fn resolve_id(view: &LibraryView, index: Option<&Index>, prefix: &str) -> anyhow::Result<String> {
    let mut ids: Vec<&String> = view.found.iter().map(|page| &page.front_matter.id).collect();
    ids.retain(|id| prefix.len() > 2 && id.starts_with(prefix));
    ids.dedup();
    match (ids.as_slice(), index) {
        ([id], _) => Ok((*id).clone()),
        (_, Some(index)) => Ok(index.find_artifact(prefix)?),
        _ => bail!(Refusal::not_found(format!("there is no page {prefix:?}")).then_run("library list")),
    }
}

impl PageSummary {
    /// What is known of a page without its file. How sure it is says the job, not the file.
    fn new(
        page: &PageFrontMatter,
        recorded: Option<&LibraryPage>,
        index: Option<&Index>,
    ) -> Result<PageSummary, StoreError> {
        let job = recorded.and_then(|it| it.written.as_ref()).and_then(|written| written.job.clone());
        let (evidence, claim) = recorded_evidence(index, recorded)?;
        Ok(PageSummary {
            id: page.id.clone(),
            title: page.title.clone(),
            folder: None,
            path: None,
            kind: page.kind.as_str().to_owned(),
            evidence,
            claim,
            level: page.level,
            served: false,
            why_not: None,
            patterns: page.patterns.clone(),
            fixes: page.fixes.clone(),
            job,
            at: recorded.and_then(|it| it.written_at),
        })
    }
}

/// The evidence for a page that a job found here, and what another store claims of it. What its file says of itself anybody
/// may have written.
pub(super) fn recorded_evidence(
    index: Option<&Index>,
    page: Option<&LibraryPage>,
) -> Result<(EvidenceLabel, Option<EvidenceClaim>), StoreError> {
    let nothing = (EvidenceLabel::Recorded, None);
    let (Some(index), Some(page)) = (index, page) else { return Ok(nothing) };
    let written = page.written.as_ref().or(page.claimed.as_ref().map(|(written, _)| written));
    let Some(id) = written.and_then(|written| written.job.as_ref()) else { return Ok(nothing) };
    let Some(job) = Job::from_steps(&index.job_steps(id)?) else { return Ok(nothing) };
    let claim = EvidenceClaim::of_job(&job);
    // A text from elsewhere may name a job of this store.
    let shown = job.judgement.filter(|_| page.written.is_some());
    Ok((shown.map(|judgement| judgement.evidence).unwrap_or_default(), claim))
}
