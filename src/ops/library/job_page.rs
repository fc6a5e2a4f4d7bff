//! `library jobs` and `library job`: the queue, and one job with everything that was done about it.

use serde::Serialize;

use super::page_list::EvidenceClaim;
use crate::base::clock::Timestamp;
use crate::event::{
    CaptureRecord, HarvestNovelty, HarvestRuns, HarvestTrees, HarvestTrigger, JobState, JudgementRecord, MinimalChange,
    ScenarioRecord, TrialFailureCause, TrialRecord,
};
use crate::learn::job::Job;
use crate::learn::library::digest_page;
use crate::ops::reply::Reply;
use crate::ops::request::Request;
use crate::store::Index;

/// A job in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct JobSummary {
    /// `j-…`
    pub id: String,
    /// Where it is.
    pub state: JobState,
    /// The task that was harvested.
    pub task: String,
    /// `x-…` of the fix.
    pub fix: Option<String>,
    /// What led to the harvest.
    pub trigger: HarvestTrigger,
    /// What failed, one line.
    pub summary: Option<String>,
    /// Why it is in this state.
    pub why: Option<String>,
    /// The root cause, of a job that failed.
    pub cause: Option<TrialFailureCause>,
    /// `a-…` of the page that it wrote or proves.
    pub artifact: Option<String>,
    /// When it was harvested.
    pub first_at: Timestamp,
    /// When it got to its state.
    pub at: Timestamp,
}

/// What `library jobs --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct JobList {
    /// The last changed first.
    pub jobs: Vec<JobSummary>,
}

/// What `library job --json` prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct JobPage {
    /// The job.
    #[serde(flatten)]
    pub summary: JobSummary,
    /// The recorded runs that it is about.
    pub runs: HarvestRuns,
    /// The git trees at these runs.
    pub trees: HarvestTrees,
    /// How new it is here.
    pub novelty: HarvestNovelty,
    /// The kept trees.
    pub snapshot: Option<CaptureRecord>,
    /// What is run.
    pub scenario: Option<ScenarioRecord>,
    /// The runs in the lab, in their order.
    pub trials: Vec<TrialRecord>,
    /// What they show.
    pub judgement: Option<JudgementRecord>,
    /// What another store says that it showed, whose events were imported. Nothing of that was run here.
    pub claim: Option<EvidenceClaim>,
    /// The smallest change that still works.
    pub minimal: Option<MinimalChange>,
    /// The page's file, relative to the root.
    pub path: Option<String>,
    /// What git says of damaged trees.
    pub git_status: Option<String>,
    /// What people decided, the oldest first.
    pub decisions: Vec<JobDecisionPage>,
    /// `sha256:…` of what is run, as far as it is known: a decision by the API names it.
    pub digest: String,
    /// Whether a person may queue it again.
    pub can_requeue: bool,
    /// Whether a person may cancel it.
    pub can_cancel: bool,
}

/// What a person decided about a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct JobDecisionPage {
    /// Who.
    pub person: String,
    /// When.
    pub at: Timestamp,
    /// `requeued` or `cancelled`.
    pub decision: &'static str,
    /// Why.
    pub reason: String,
    /// `sha256:…` of the scenario that was signed.
    pub scenario: Option<String>,
}

impl JobSummary {
    pub(super) fn from_job(job: &Job) -> Self {
        let (harvest, skipped) = (job.harvest.as_ref(), job.skipped.as_ref());
        let task = harvest.map(|it| it.task.clone()).or_else(|| skipped.map(|it| it.task.clone()));
        let fix = harvest.and_then(|it| it.fix.clone()).or_else(|| skipped.and_then(|it| it.fix.clone()));
        let failed = harvest.and_then(|it| it.fixed.first.first()).map(|atom| match &atom.test {
            Some(test) if !atom.text.contains(test.as_str()) => format!("{test}: {}", atom.text),
            _ => atom.text.clone(),
        });
        JobSummary {
            id: job.id.clone(),
            state: job.state,
            task: task.unwrap_or_default(),
            fix,
            trigger: harvest.map(|it| it.trigger).unwrap_or_default(),
            summary: failed,
            why: job.why.clone().or_else(|| skipped.map(|it| it.why.clone())),
            cause: job.cause,
            artifact: job.page.as_ref().map(|page| page.artifact.clone()).or_else(|| job.proves.clone()),
            first_at: job.first_at,
            at: job.at,
        }
    }
}

impl JobPage {
    pub(super) fn from_job(job: &Job) -> Self {
        let harvest = job.harvest.clone().unwrap_or_default();
        let decisions = job.decisions.iter().map(|decision| JobDecisionPage {
            person: decision.person.clone(),
            at: decision.at,
            decision: decision.what,
            reason: decision.reason.clone(),
            scenario: decision.scenario.clone(),
        });
        JobPage {
            summary: JobSummary::from_job(job),
            runs: harvest.runs,
            trees: harvest.trees,
            novelty: harvest.novelty,
            snapshot: job.capture.clone(),
            scenario: known_scenario(job).cloned(),
            trials: job.trials.clone(),
            judgement: job.judgement.clone(),
            claim: EvidenceClaim::of_job(job),
            minimal: job.minimal.clone(),
            path: job.page.as_ref().map(|page| page.path.clone()),
            git_status: job.git_status.clone(),
            decisions: decisions.collect(),
            digest: digest_commands(job),
            can_requeue: job.can_requeue(),
            can_cancel: job.can_cancel(),
        }
    }
}

/// What a job runs: what a person signed, else what was chosen last.
fn known_scenario(job: &Job) -> Option<&ScenarioRecord> {
    job.signed.as_ref().map(|signed| &signed.scenario).or(job.scenario.as_ref())
}

/// The digest of what a job runs.
pub(super) fn digest_commands(job: &Job) -> String {
    digest_page(serde_json::json!(known_scenario(job)).to_string().as_bytes())
}

/// The jobs of this store in any of these states (all without), the last changed first.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn list_jobs(request: &Request, states: &[JobState], limit: usize) -> anyhow::Result<Reply<JobList>> {
    let reading = request.open_for_reading()?;
    let mut jobs = Vec::new();
    if let Some(index) = &reading.index {
        for row in index.list_jobs(states, limit)? {
            jobs.extend(Job::from_steps(&index.job_steps(&row.id)?).as_ref().map(JobSummary::from_job));
        }
    }
    Ok(Reply::new(JobList { jobs }, reading.notes))
}

/// The job whose id starts with `id`.
///
/// # Errors
/// When there is none or more than one, or the store can't be read.
pub(crate) fn show_job(request: &Request, id: &str) -> anyhow::Result<Reply<JobPage>> {
    let reading = request.open_for_reading()?;
    let job = match &reading.index {
        Some(index) => find_job(index, id)?,
        None => anyhow::bail!(crate::store::StoreError::NoSuchId { id: id.to_owned() }),
    };
    Ok(Reply::new(JobPage::from_job(&job), reading.notes))
}

/// The job whose id starts with `id`, folded.
///
/// # Errors
/// When there is none or more than one, or the store can't be read.
pub(super) fn find_job(index: &Index, id: &str) -> anyhow::Result<Job> {
    let id = index.find_job(id)?;
    let job = Job::from_steps(&index.job_steps(&id)?);
    job.ok_or_else(|| crate::store::StoreError::NoSuchId { id }.into())
}
