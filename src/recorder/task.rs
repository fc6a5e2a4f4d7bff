//! Which task a run or a question belongs to, and which tasks are over because of their branch.

use std::fs;
use std::path::Path;

use super::assemble;
use super::projects::Projects;
use crate::base::clock::Timestamp;
use crate::capture::{GATE_AGENT, Identity, RepositoryHead, SpoolHeader};
use crate::config::Places;
use crate::event::{Event, EventAuthor, EventBody, Run, TaskNote, TaskStep, WorkPhase};
use crate::store::{Index, Store, StoreError};

/// An hour, microseconds.
const HOUR_US: i64 = 3_600_000_000;
/// git's list of references, bytes read.
const PACKED_BYTES_MAX: u64 = 32 << 20;

/// The current task: as given, else what the session announced and didn't end, else by branch and day.
///
/// # Errors
/// SQLite's.
pub(crate) fn current_task(
    places: &Places,
    index: Option<&Index>,
    identity: &Identity,
    at: Timestamp,
    silence_hours: u64,
) -> Result<String, StoreError> {
    let head = RepositoryHead::now(places).head;
    let branch = head.as_deref().and_then(|head| head.strip_prefix("ref: refs/heads/"));
    let given = match index {
        Some(index) => announced_task(index, identity, at, silence_hours)?,
        None => identity.task.clone(),
    };
    Ok(assemble::without_secret(&assemble::task_of_run(
        given.as_deref(),
        branch,
        default_branch(places).as_deref(),
        at,
    )))
}

/// The task that was given, else the one that the session announced and didn't end.
///
/// # Errors
/// SQLite's.
pub(super) fn announced_task(
    index: &Index,
    identity: &Identity,
    at: Timestamp,
    silence_hours: u64,
) -> Result<Option<String>, StoreError> {
    if identity.task.as_ref().is_some_and(|task| !task.trim().is_empty()) {
        return Ok(identity.task.clone());
    }
    let Some(session) = &identity.session else { return Ok(None) };
    let silence = i64::try_from(silence_hours).unwrap_or(i64::MAX).saturating_mul(HOUR_US);
    index.current_task(&assemble::without_secret(session), at, Timestamp(at.0.saturating_sub(silence)))
}

/// The phase of a run: as its variable says, else as it was announced for the task. The gate's own runs have none.
///
/// # Errors
/// SQLite's.
pub(super) fn phase_of_run(index: &Index, header: &SpoolHeader, run: &Run) -> Result<Option<WorkPhase>, StoreError> {
    if run.agent.as_deref() == Some(GATE_AGENT) {
        return Ok(None);
    }
    match header.identity.phase.as_deref().and_then(WorkPhase::from_name) {
        Some(phase) => Ok(Some(phase)),
        None => index.announced_phase(&run.root, &run.task, run.started_at),
    }
}

/// Ends the tasks whose branch was merged into the default one, or is gone.
///
/// # Errors
/// When the store can't be read or written.
pub(super) fn end_with_branches(projects: &mut Projects, store: &mut Store) -> Result<(), StoreError> {
    let places = projects.project_places().clone();
    let Some(repository) = &places.repository else { return Ok(()) };
    let hours = projects.fix_settings(&places.root).silence_hours;
    let now = Timestamp::now();
    let since = now.0.saturating_sub(i64::try_from(hours).unwrap_or(i64::MAX).saturating_mul(HOUR_US));
    let tasks = store.index().branch_tasks(Timestamp(since))?;
    let Some(default) = default_tip(&places).filter(|_| !tasks.is_empty()) else { return Ok(()) };
    let mut events = Vec::new();
    for task in tasks {
        let why = match branch_tip(&repository.common_dir, &task.name) {
            None => "its branch is gone",
            // A branch without a commit of its own is in every history.
            Some(tip)
                if task.first_commit.as_ref().is_some_and(|first| *first != tip)
                    && projects.is_ancestor(&places.root, &tip, &default) =>
            {
                "its branch was merged"
            }
            Some(_) => continue,
        };
        let step = TaskStep::Done { outcome: None, why: Some(why.to_owned()) };
        let last = task.last_at.rfc3339();
        let body = EventBody::Task(TaskNote { name: task.name.clone(), step, by: EventAuthor::default() });
        events.push(Event::with_derived_id("task_done", &[&task.name, &last], now, store.writer_name(), body));
    }
    store.append(&events)
}

/// The repository's default branch as its remote names it.
pub(super) fn default_branch(places: &Places) -> Option<String> {
    let head = places.repository.as_ref()?.common_dir.join("refs/remotes/origin/HEAD");
    let text = fs::read_to_string(head).ok()?;
    text.trim().strip_prefix("ref: refs/remotes/origin/").map(str::to_owned)
}

/// The commit of the default branch.
pub(crate) fn default_tip(places: &Places) -> Option<String> {
    let common = &places.repository.as_ref()?.common_dir;
    match default_branch(places) {
        Some(branch) => branch_tip(common, &branch),
        None => assemble::DEFAULT_BRANCHES.iter().find_map(|branch| branch_tip(common, branch)),
    }
}

/// The commit of a branch; `None` when there is no such branch.
fn branch_tip(common_dir: &Path, branch: &str) -> Option<String> {
    if branch.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return None;
    }
    let reference = format!("refs/heads/{branch}");
    if let Ok(hash) = fs::read_to_string(common_dir.join(&reference)) {
        return Some(hash.trim().to_owned());
    }
    // <https://git-scm.com/docs/git-pack-refs>: `<hash> <reference>` lines.
    let packed = crate::base::file::read_start(&common_dir.join("packed-refs"), PACKED_BYTES_MAX).ok()?;
    let packed = String::from_utf8_lossy(&packed);
    let mut lines = packed.lines().filter_map(|line| line.split_once(' '));
    lines.find(|(_, name)| *name == reference).map(|(hash, _)| hash.to_owned())
}
