//! Records the steps of one job, and keeps its fold up to date.

use anyhow::Context as _;

use crate::base::refusal::Refusal;
use crate::event::{EventAuthor, EventBody, LearnNote, LearnStep};
use crate::learn::job::Job;
use crate::ops::request::Request;
use crate::store::{Index, LearnStepRow, Store, StoreError};

/// A job that is being worked on or decided about.
pub(super) struct JobWriter<'a> {
    request: &'a Request,
    steps: Vec<LearnStepRow>,
    /// The job as its steps tell it.
    pub job: Job,
}

impl<'a> JobWriter<'a> {
    /// The job of this whole id.
    ///
    /// # Errors
    /// When there is none, or the store can't be read.
    pub(super) fn open(request: &'a Request, index: &Index, id: &str) -> anyhow::Result<Self> {
        let steps = index.job_steps(id)?;
        let job = Job::from_steps(&steps).ok_or_else(|| StoreError::NoSuchId { id: id.to_owned() })?;
        Ok(JobWriter { request, steps, job })
    }

    /// Records a step in the name of no person.
    ///
    /// # Errors
    /// When the store can't be written.
    pub(super) fn record(&mut self, step: LearnStep) -> anyhow::Result<()> {
        self.record_by(step, None)
    }

    /// Records a step in the name of a person.
    ///
    /// # Errors
    /// When the store can't be written.
    pub(super) fn record_by(&mut self, step: LearnStep, person: Option<&str>) -> anyhow::Result<()> {
        let task = self.job.harvest.as_ref().map(|harvest| harvest.task.as_str());
        let by = EventAuthor {
            person: person.map(str::to_owned),
            ..EventAuthor::from_identity(&self.request.identity, task)
        };
        let mut store: Store = self.request.open_store().context("the job cannot be recorded now")?;
        // Another process may have decided about it meanwhile: what was read is not what is there.
        let recorded = store.index().job_steps(&self.job.id)?.len();
        if recorded != self.steps.len() {
            let refused = Refusal::conflict(format!("{} was changed by another process meanwhile", self.job.id));
            return Err(refused.then_run(format!("library job {}", self.job.id)).into());
        }
        let note = LearnNote { job: self.job.id.clone(), step, by };
        let number = self.steps.len().to_string();
        let parts = [self.job.id.as_str(), note.step.kind(), &number];
        store.record_derived("learn", &parts, EventBody::Learn(Box::new(note)))?;
        self.steps = store.index().job_steps(&self.job.id)?;
        if let Some(job) = Job::from_steps(&self.steps) {
            self.job = job;
        }
        Ok(())
    }
}
