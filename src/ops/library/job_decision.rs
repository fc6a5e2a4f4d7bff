//! `library requeue` and `library cancel`: what a person decides about a job, by name and with a reason.

use std::path::PathBuf;

use anyhow::{Context as _, bail, ensure};

use super::consent::read_consent;
use super::job_folder::write_job_folder;
use super::job_page::{JobPage, digest_commands, find_job};
use super::job_writer::JobWriter;
use super::manual::read_signed_scenario;
use crate::base::refusal::Refusal;
use crate::event::LearnStep;
use crate::ops::reply::Reply;
use crate::ops::request::Request;
use crate::redact::sanitize_name;

/// What a person decides about a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JobReviewDecision {
    /// It is run again.
    Requeue,
    /// It ends.
    Cancel,
}

/// A decision about a job with who answers for it.
#[derive(Debug, Clone)]
pub(crate) struct JobReview {
    /// What is decided.
    pub decision: JobReviewDecision,
    /// A unique start of its id.
    pub id: String,
    /// The person's name.
    pub person: String,
    /// Why.
    pub reason: String,
    /// A scenario that the person signed, as typed.
    pub scenario: Option<PathBuf>,
    /// The digest of the commands that the person was shown; any without.
    pub shown: Option<String>,
}

/// Decides about a job.
///
/// # Errors
/// When the name or the reason is missing, the job's state does not allow it, or the store can't be written.
pub(crate) fn review_job(request: &Request, review: &JobReview) -> anyhow::Result<Reply<JobPage>> {
    let (Some(person), Some(reason)) = (sanitize_name(&review.person), sanitize_name(&review.reason)) else {
        bail!(Refusal::usage("give the person who decides and the reason: --by NAME --reason TEXT"));
    };
    let reading = request.open_for_reading()?;
    let index = reading.index.as_ref().context("nothing was recorded here yet")?;
    let job = find_job(index, &review.id)?;
    let (id, state) = (job.id.clone(), job.state);
    let step = match review.decision {
        JobReviewDecision::Requeue => {
            ensure!(
                job.can_requeue(),
                Refusal::conflict(format!("{id} is {state}: it does not wait for a person"))
                    .then_run(format!("library job {id}"))
            );
            let signed =
                review.scenario.as_ref().map(|file| read_signed_scenario(request, file, &person)).transpose()?;
            LearnStep::Requeued { reason, scenario: signed.map(Box::new) }
        }
        JobReviewDecision::Cancel => {
            ensure!(
                job.can_cancel(),
                Refusal::conflict(format!("{id} is {state}: there is nothing to cancel"))
                    .then_run(format!("library job {id}"))
            );
            LearnStep::Cancelled { reason }
        }
    };
    let mut writer = JobWriter::open(request, index, &id)?;
    ensure!(
        review.shown.as_ref().is_none_or(|shown| *shown == digest_commands(&writer.job)),
        Refusal::conflict(format!("what {id} runs changed since it was shown: nothing was decided"))
            .then_run(format!("library job {id}"))
    );
    writer.record_by(step, Some(&person))?;
    if read_consent(request)?.may_run {
        write_job_folder(request, &writer.job);
    }
    Ok(Reply::new(JobPage::from_job(&writer.job), reading.notes))
}
