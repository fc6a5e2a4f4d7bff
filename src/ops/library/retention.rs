//! Forgets the kept trees of jobs that ended long ago, unless a page needs them for its proof.

use std::time::Duration;

use super::proof::proof_tag;
use super::standing::LibraryView;
use crate::event::{JobState, LibraryFolderName};
use crate::fix::snapshot::TreeVault;
use crate::learn::job::Job;
use crate::ops::request::Request;
use crate::store::Index;

/// Jobs that are looked at.
const JOBS_MAX: usize = 10_000;
/// Time for git.
const GIT_TIME_MAX: Duration = Duration::from_secs(60);
/// States of jobs that are over.
const OVER: [JobState; 7] = [
    JobState::Dropped,
    JobState::Candidate,
    JobState::FurtherProof,
    JobState::NoArtifact,
    JobState::Failed,
    JobState::Cancelled,
    JobState::Expired,
];

/// Forgets what is older than the setting `learn.retention_days`; the number of forgotten jobs.
///
/// # Errors
/// When the store can't be read, or git can't be asked.
pub(super) fn forget_old_trees(request: &Request, index: &Index) -> anyhow::Result<usize> {
    let age_max = Duration::from_secs(request.settings().learn.retention_days * 24 * 3_600);
    let now = request.now();
    let rows = index.list_jobs(&OVER, JOBS_MAX)?;
    let mut old = rows.iter().filter(|row| Duration::from_micros(now.micros_since(row.at)) > age_max).peekable();
    if old.peek().is_none() {
        return Ok(0);
    }
    let view = LibraryView::read(request, Some(index))?;
    let needed = [LibraryFolderName::Candidates, LibraryFolderName::Active];
    let is_needed = |job: &str| {
        let mut pages = view.recorded.pages.values();
        pages.any(|page| {
            page.folder.is_some_and(|folder| needed.contains(&folder))
                && page.written.as_ref().is_some_and(|written| written.job.as_deref() == Some(job))
        })
    };
    let vault = TreeVault::open(&request.places, GIT_TIME_MAX).map_err(|skipped| anyhow::anyhow!("{skipped}"))?;
    let kept = vault.list_tags().map_err(|skipped| anyhow::anyhow!("{skipped}"))?;
    let (mut tags, mut jobs) = (Vec::new(), 0);
    for row in old.filter(|row| !is_needed(&row.id)) {
        let Some(job) = Job::from_steps(&index.job_steps(&row.id)?) else { continue };
        let own = job.capture.map(|capture| capture.tag).into_iter().chain([proof_tag(&job.id)]);
        let own: Vec<String> = own.filter(|tag| kept.contains(tag)).collect();
        jobs += usize::from(!own.is_empty());
        tags.extend(own);
    }
    vault.forget_tags(&tags).map_err(|skipped| anyhow::anyhow!("{skipped}"))?;
    Ok(jobs)
}
