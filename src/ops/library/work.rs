//! `library work`: the runner. One on a machine at a time; whatever it was doing when it was killed, the next one does again.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde::Serialize;

use super::capture::capture_now;
use super::consent::require_consent;
use super::course::JobCourse;
use super::harvest::harvest_merged;
use super::idle::{add_used_time, wait_for_quiet};
use super::job_page::JobSummary;
use super::job_writer::JobWriter;
use super::retention::forget_old_trees;
use super::runner::{take_runner_lock, wanted_level};
use crate::base::clock::Timestamp;
use crate::base::lossless::Lossless;
use crate::base::refusal::Refusal;
use crate::config::LearnWork;
use crate::event::{Event, EventAuthor, EventBody, JobState, LearnNote, LearnStep, RunnerLease, TrialFailureCause};
use crate::lab::{Lab, LabAbility, LabLevel};
use crate::learn::job::{INTERRUPTIONS_MAX, Job};
use crate::learn::queue::{JobQueue, WAITING_MAX, WAITING_TIME_MAX};
use crate::ops::reply::Reply;
use crate::ops::request::Request;
use crate::store::Index;

/// Jobs that are looked at.
const JOBS_MAX: usize = 10_000;

/// What `library work` is asked to do.
#[derive(Debug, Clone, Default)]
pub(crate) struct WorkRequest {
    /// Only this job: a unique start of its id.
    pub job: Option<String>,
    /// Only the first job of the queue.
    pub is_once: bool,
    /// No person waits for it: only in quiet moments, and only for the time of a day that the settings leave.
    pub is_background: bool,
}

/// What `library work --json` prints.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct WorkReply {
    /// The jobs that were worked on, in their order, as they are now.
    pub jobs: Vec<JobSummary>,
    /// Jobs that still wait.
    pub waiting: usize,
    /// Why nothing was run, though jobs wait: the isolation that this machine gives.
    pub blocked: Option<String>,
    /// Another process works on jobs.
    pub busy: bool,
}

/// Works on the queue of this work tree until it is empty.
///
/// # Errors
/// Without consent, when the job can't be worked on, or the store can't be read or written.
pub(crate) fn work_on_jobs(request: &Request, asked: &WorkRequest) -> anyhow::Result<Reply<WorkReply>> {
    require_consent(request)?;
    if asked.is_background && request.settings().learn.work != LearnWork::Idle {
        let blocked = Some("jobs do not run automatically here (setting learn.work)".to_owned());
        return Ok(WorkReply { blocked, ..WorkReply::default() }.into());
    }
    let Some(_lock) = take_runner_lock(request)? else {
        return Ok(WorkReply { busy: true, ..WorkReply::default() }.into());
    };
    // A runner that was killed after its last job left its folder, and there may be no further job.
    Lab::remove_left(&request.places.state);
    let mut reply = Reply::from(WorkReply::default());
    if let Err(error) = harvest_merged(request) {
        reply.notes.push(format!("cannot queue what merged branches left: {error:#}"));
    }
    let reading = request.open_for_reading()?;
    reply.notes.extend(reading.notes);
    // Of a task that ended a moment ago, or that was merged.
    capture_now(request)?;
    let Some(index) = reading.index else { return Ok(reply) };
    release_dead_jobs(request, &index)?;
    let index = open_index(request)?;
    let mut waiting = waiting_jobs(request, &index)?;
    if let Some(id) = &asked.job {
        let id = index.find_job(id)?;
        waiting.retain(|job| *job == id);
        anyhow::ensure!(
            !waiting.is_empty(),
            Refusal::conflict(format!("{id} is not queued here")).then_run(format!("library job {id}"))
        );
    }
    let level = wanted_level(request.settings().learn.isolation);
    let ability = LabAbility::ask(&request.places.state);
    if ability.level < level {
        let what = ability.obstacle.map_or_else(|| "unknown".to_owned(), |obstacle| obstacle.what);
        reply.data.blocked = Some(format!("jobs need isolation by {}, and there is none: {what}", level.as_str()));
        reply.data.waiting = waiting.len();
        return Ok(reply);
    }
    let taken = if asked.is_once { 1 } else { waiting.len() };
    for id in waiting.iter().take(taken) {
        if asked.is_background && !wait_for_quiet(request)? {
            break;
        }
        // What the job before it wrote is not in an index that was opened earlier.
        let index = open_index(request)?;
        let started = Instant::now();
        let done = work_on_job(request, &index, id, (level, asked.is_background));
        add_used_time(request, started.elapsed())?;
        reply.data.jobs.extend(done?);
    }
    let index = open_index(request)?;
    let queue = read_queue(request, &index)?;
    reply.data.waiting = queue.waiting.len();
    expire_jobs(request, &queue.expired)?;
    if let Err(error) = forget_old_trees(request, &index) {
        reply.notes.push(format!("cannot forget the trees of old jobs: {error:#}"));
    }
    Ok(reply)
}

/// The index as it is now.
fn open_index(request: &Request) -> anyhow::Result<Index> {
    request.open_as_it_is(&mut Vec::new())?.context("the index is gone")
}

fn work_on_job(
    request: &Request,
    index: &Index,
    id: &str,
    (level, is_idle): (LabLevel, bool),
) -> anyhow::Result<Option<JobSummary>> {
    let mut writer = JobWriter::open(request, index, id)?;
    if writer.job.state != JobState::Queued || !is_here(request, &writer.job) {
        return Ok(None);
    }
    let minutes = request.settings().learn.job_minutes;
    let until = Instant::now() + Duration::from_secs(minutes * 60);
    writer.record(LearnStep::Claimed(new_lease(request, level, minutes)))?;
    JobCourse::new(request, index, writer, (level, is_idle), until).run().map(Some)
}

fn new_lease(request: &Request, level: LabLevel, minutes: u64) -> RunnerLease {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let micros = i64::try_from(minutes * 60_000_000).unwrap_or(i64::MAX);
    RunnerLease {
        pid: std::process::id(),
        boot: boot.trim().to_owned(),
        level: super::trial_lab::isolation_level(level),
        until: Timestamp(request.now().0.saturating_add(micros)),
    }
}

/// Puts jobs back into the queue whose runner is gone: this process holds the lock that theirs held.
fn release_dead_jobs(request: &Request, index: &Index) -> anyhow::Result<()> {
    let running = [JobState::Preparing, JobState::Validating, JobState::Validated, JobState::Crystallising];
    for row in index.list_jobs(&running, JOBS_MAX)? {
        let mut writer = JobWriter::open(request, index, &row.id)?;
        if !is_here(request, &writer.job) {
            continue;
        }
        if writer.job.interruptions + 1 >= INTERRUPTIONS_MAX {
            let why = format!("its runner ended {INTERRUPTIONS_MAX} times without a result");
            writer.record(LearnStep::Failed { cause: TrialFailureCause::Interrupted, why })?;
        } else {
            writer.record(LearnStep::Interrupted)?;
        }
    }
    Ok(())
}

/// The jobs of this work tree that may wait, the next one first: thousands may be queued, and a claim is about the first.
fn waiting_jobs(request: &Request, index: &Index) -> anyhow::Result<Vec<String>> {
    Ok(index.queued_jobs(&Lossless::from(&request.places.root), waiting_since(request), WAITING_MAX)?)
}

fn read_queue(request: &Request, index: &Index) -> anyhow::Result<JobQueue> {
    let (root, since) = (Lossless::from(&request.places.root), waiting_since(request));
    Ok(JobQueue::new(index.queued_jobs(&root, since, usize::MAX)?, index.jobs_queued_before(&root, since)?))
}

/// What was queued before has waited for too long.
fn waiting_since(request: &Request) -> Timestamp {
    let age = i64::try_from(WAITING_TIME_MAX.as_micros()).unwrap_or(i64::MAX);
    Timestamp(request.now().0.saturating_sub(age))
}

/// Records that these jobs are not waited for any more, all at once: there may be thousands.
fn expire_jobs(request: &Request, ids: &[String]) -> anyhow::Result<()> {
    if ids.is_empty() {
        return Ok(());
    }
    let by = EventAuthor::from_identity(&request.identity, None);
    let mut store = request.open_store().context("the jobs that expired cannot be recorded now")?;
    let event = |id: &String| {
        let note = LearnNote { job: id.clone(), step: LearnStep::Expired, by: by.clone() };
        Event::new(request.now(), store.writer_name(), EventBody::Learn(Box::new(note)))
    };
    let events: Vec<Event> = ids.iter().map(event).collect();
    store.append(&events)?;
    Ok(())
}

/// Whether a job was harvested in this work tree.
fn is_here(request: &Request, job: &Job) -> bool {
    job.harvest.as_ref().is_some_and(|harvest| harvest.root == Lossless::from(&request.places.root))
}

/// How many jobs of this work tree wait for isolation that the machine does not give, and the level that they need; `None` of
/// work trees where no job may run or waits.
pub(crate) fn jobs_without_isolation(request: &Request) -> Option<(usize, LabLevel)> {
    require_consent(request).ok()?;
    let level = wanted_level(request.settings().learn.isolation);
    let waiting = waiting_jobs(request, &open_index(request).ok()?).ok()?.len();
    (waiting > 0 && LabAbility::ask(&request.places.state).level < level).then_some((waiting, level))
}
