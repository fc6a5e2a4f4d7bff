//! Keeping the trees of harvested jobs in a repository of their own, so that nothing that the user does afterwards takes
//! them. Runs in the recorder's process: no caller waits for it.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::Context as _;

use super::alert::alert_operator;
use super::idle::start_idle_runner;
use crate::base::clock::Timestamp;
use crate::base::file::create_private_dir;
use crate::base::lock::{self, Lock};
use crate::base::lossless::Lossless;
use crate::capture::RepositoryHead;
use crate::event::{
    CaptureRecord, EventAuthor, EventBody, HarvestRecord, HarvestTrigger, JobState, LearnNote, LearnStep,
};
use crate::fix::snapshot::{KeptTrees, TreeFile, TreeVault, TreesToKeep, take_snapshot};
use crate::learn::job::{CAPTURE_TRIES_MAX, Job};
use crate::lesson::LessonFolder;
use crate::ops::request::Request;
use crate::recorder;
use crate::run;

/// Jobs whose trees are kept in one go.
const JOBS_MAX: usize = 50;
/// Time for one question to git about a job.
const GIT_TIME_MAX: Duration = Duration::from_secs(60);
/// Waiting time before the second and the third try.
const BACKOFF: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(20)];
/// Differing files that a job names.
const DIFFERING_MAX: usize = 50;

/// Keeps the trees of waiting jobs in a process of its own. To be called by a process of one thread.
pub(crate) fn start_capture(request: &Request) {
    // Without a process, the next harvest takes what waits.
    let _ = run::run_detached(&[], || {
        if let Err(error) = keep_waiting_trees(request) {
            recorder::note(&request.places, &[format!("cannot keep the trees of jobs: {error:#}")]);
        }
    });
}

/// As [`start_capture`], by executing this program: to be called where there may be threads.
pub(crate) fn start_capture_process(request: &Request) {
    let words = ["library", "keep"];
    let started = std::env::current_exe().and_then(|own| run::start_detached(&own, &words, &request.places.root));
    if let Err(error) = started {
        recorder::note(&request.places, &[format!("cannot keep the trees of jobs: {error}")]);
    }
}

/// Keeps the trees of waiting jobs, and starts the runner where the user's settings have it start automatically.
///
/// # Errors
/// When the store can't be read or written.
pub(crate) fn keep_waiting_trees(request: &Request) -> anyhow::Result<()> {
    capture_now(request)?;
    start_idle_runner(request);
    Ok(())
}

/// Keeps the trees of every job of this work tree that waits for it; where another process is at it, waits for that.
///
/// # Errors
/// When the store can't be read or written.
pub(super) fn capture_now(request: &Request) -> anyhow::Result<()> {
    if waiting_jobs(request)?.is_empty() {
        return Ok(());
    }
    let _alone = wait_until_alone(request);
    for job in waiting_jobs(request)? {
        capture_with_retries(request, &job)?;
    }
    Ok(())
}

/// The jobs of this work tree whose trees are not kept yet.
fn waiting_jobs(request: &Request) -> anyhow::Result<Vec<Job>> {
    let Some(index) = request.open_as_it_is(&mut Vec::new())? else { return Ok(Vec::new()) };
    let root = Lossless::from(&request.places.root);
    let mut jobs = Vec::new();
    for row in index.list_jobs(&[JobState::Harvested, JobState::SnapshotFailed], JOBS_MAX)? {
        let job = Job::from_steps(&index.job_steps(&row.id)?);
        jobs.extend(job.filter(|job| job.harvest.as_ref().is_some_and(|harvest| harvest.root == root)));
    }
    Ok(jobs)
}

/// Without the lock, trees are kept twice at worst.
fn wait_until_alone(request: &Request) -> Option<Lock> {
    let state = &request.places.state;
    create_private_dir(&state.learn_folder()).ok()?;
    lock::exclusive(&state.learn_lock(), GIT_TIME_MAX).ok().flatten()
}

fn capture_with_retries(request: &Request, job: &Job) -> anyhow::Result<()> {
    let Some(harvest) = &job.harvest else { return Ok(()) };
    for attempt in job.capture_failures + 1..=CAPTURE_TRIES_MAX {
        match capture(request, job, harvest) {
            Ok(capture) => return record(request, job, "captured", LearnStep::Captured(Box::new(capture))),
            Err(error) => {
                let why = crate::base::text::one_line(&format!("{error:#}"));
                let parts = format!("snapshot_failed-{attempt}");
                record(request, job, &parts, LearnStep::SnapshotFailed { why: why.clone(), attempt })?;
                let Some(wait) = usize::try_from(attempt).ok().and_then(|attempt| BACKOFF.get(attempt - 1)) else {
                    record(request, job, "dropped", LearnStep::Dropped { why: why.clone() })?;
                    alert_operator(request, job, JobState::Dropped, &why);
                    return Ok(());
                };
                #[allow(clippy::disallowed_methods, reason = "nothing says when a disk has room again")]
                thread::sleep(*wait);
            }
        }
    }
    Ok(())
}

fn record(request: &Request, job: &Job, part: &str, step: LearnStep) -> anyhow::Result<()> {
    let by = EventAuthor::from_identity(&request.identity, job.harvest.as_ref().map(|harvest| harvest.task.as_str()));
    let note = LearnNote { job: job.id.clone(), step, by };
    let mut store = request.open_store().context("the job cannot be recorded")?;
    store.record_derived("learn", &[&job.id, part], EventBody::Learn(Box::new(note)))?;
    Ok(())
}

fn capture(request: &Request, job: &Job, harvest: &HarvestRecord) -> anyhow::Result<CaptureRecord> {
    let settings = request.settings();
    let lessons = LessonFolder::find(&request.places, settings);
    let mut options = recorder::snapshot_options(&request.places, settings, &lessons);
    options.time_max = options.time_max.max(GIT_TIME_MAX);
    let lock = request.lock_store()?;
    let taken = take_snapshot(&request.places, &options).map_err(|skipped| anyhow::anyhow!("{skipped}"))?;
    drop(lock);
    let vault = TreeVault::open(&request.places, GIT_TIME_MAX).map_err(|skipped| anyhow::anyhow!("{skipped}"))?;
    let tree = approved_tree(request, &vault, harvest, &taken.tree, taken.changed_at, job.first_at)?;
    let recorded = [("base", &harvest.trees.base), ("before", &harvest.trees.before), ("pass", &harvest.trees.pass)];
    let mut trees: Vec<(&str, &str)> =
        recorded.into_iter().filter_map(|(what, tree)| Some((what, tree.as_deref()?))).collect();
    trees.push(("approved", &tree));
    trees.dedup_by(|later, earlier| later.1 == earlier.1);
    let tag = format!("learning-snapshot-{}", uuid::Uuid::now_v7().hyphenated());
    let head = RepositoryHead::now(&request.places).commit.unwrap_or_else(|| "none".to_owned());
    let message = format!("Job: {}\nChecked out: {head}", job.id);
    let wanted = TreesToKeep {
        tag: &tag,
        trees: &trees,
        at: job.first_at,
        message: &message,
        bytes_max: settings.learn.snapshot_bytes,
    };
    let kept = vault.keep_trees(&wanted).map_err(|skipped| anyhow::anyhow!("{skipped}"))?;
    let mut differing = Vec::new();
    if let Some(pass) = harvest.trees.pass.as_ref().filter(|pass| **pass != tree) {
        let changed = vault.read_change(pass, &tree).map_err(|skipped| anyhow::anyhow!("{skipped}"))?;
        differing = changed.into_keys().take(DIFFERING_MAX).collect();
    }
    Ok(CaptureRecord {
        tag,
        commit: kept.commit,
        tree,
        tarball_digest: kept.tarball_digest,
        left_out: taken.left_out,
        is_blind: taken.blind,
        is_copied: kept.is_copied,
        differing,
    })
}

/// What a record says of the trees that were kept.
pub(super) fn kept_trees(capture: &CaptureRecord) -> KeptTrees {
    let CaptureRecord { commit, tarball_digest, is_copied, .. } = capture.clone();
    KeptTrees { commit, tarball_digest, is_copied }
}

/// The tree of the moment of approval. It is taken a little later: what was changed in between is taken from the run that
/// passed. A file that was also edited between that run and the approval is then as it was tested, not as it was approved.
fn approved_tree(
    request: &Request,
    vault: &TreeVault,
    harvest: &HarvestRecord,
    now: &str,
    changed_at: Timestamp,
    approved_at: Timestamp,
) -> anyhow::Result<String> {
    let pass = match &harvest.trees.pass {
        // The work tree has gone on since the task's branch was merged.
        Some(pass) if harvest.trigger == HarvestTrigger::Merged => return Ok(pass.clone()),
        Some(pass) if changed_at > approved_at && pass != now => pass,
        _ => return Ok(now.to_owned()),
    };
    let changed = vault.read_change(pass, now).map_err(|skipped| anyhow::anyhow!("{skipped}"))?;
    let later: BTreeMap<String, Option<TreeFile>> = changed
        .into_iter()
        .filter(|(path, _)| is_changed_after(&request.places.root.join(path), approved_at))
        .map(|(path, change)| (path, change.before))
        .collect();
    if later.is_empty() {
        return Ok(now.to_owned());
    }
    vault.write_tree(now, &later).map_err(|skipped| anyhow::anyhow!("{skipped}"))
}

/// Whether a file, or the folder that it was removed from, changed after a moment.
fn is_changed_after(path: &Path, moment: Timestamp) -> bool {
    let metadata = path.symlink_metadata().or_else(|_| path.parent().unwrap_or(path).symlink_metadata());
    let changed_at =
        |metadata: std::fs::Metadata| metadata.ctime().saturating_mul(1_000_000) + metadata.ctime_nsec() / 1_000;
    metadata.map_or(true, |metadata| changed_at(metadata) > moment.0)
}
