//! The folder of a job in the work tree: `.runs/<task>/learn/<job>/`. It is written for people and other programs and is
//! never read: what is planted there does nothing.

use std::fs;
use std::path::PathBuf;

use anyhow::Context as _;
use serde_json::{Value, json};

use super::candidate::ensure_inside_root;
use crate::base::file::{Durability, write_atomic};
use crate::event::{EvidenceLabel, JobState};
use crate::learn::job::Job;
use crate::ops::request::Request;
use crate::recorder;

/// A task's name as a folder, bytes.
const TASK_BYTES_MAX: usize = 80;
/// Where folders of jobs are, relative to the root.
pub(super) const RUNS: &str = ".runs";
/// The file there that hides it from git.
pub(super) const RUNS_IGNORED: &[u8] = b"*\n";

/// Writes the manifest of a job and the files that it names. What can't be written is in the recorder's log: the job is
/// recorded whatever happens here.
pub(super) fn write_job_folder(request: &Request, job: &Job) {
    if let Err(error) = write_files(request, job) {
        recorder::note(&request.places, &[format!("cannot write the folder of {}: {error:#}", job.id)]);
    }
}

/// Writes a file into the folder of a job; its path, relative to the root.
///
/// # Errors
/// When the folder leads out of the work tree or can't be written.
pub(super) fn write_job_file(request: &Request, job: &Job, name: &str, text: &str) -> anyhow::Result<PathBuf> {
    let root = &request.places.root;
    let dir = folder_of(job);
    let runs = root.join(RUNS);
    ensure_inside_root(root, &root.join(&dir)).with_context(|| format!("cannot write {}", dir.display()))?;
    fs::create_dir_all(root.join(&dir)).with_context(|| format!("cannot create {}", dir.display()))?;
    let ignore = runs.join(".gitignore");
    if !ignore.exists() {
        write_atomic(&ignore, RUNS_IGNORED, 0o644, Durability::Cached).context("cannot hide .runs from git")?;
    }
    let path = dir.join(name);
    write_atomic(&root.join(&path), text.as_bytes(), 0o644, Durability::Cached)
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

/// The folder of a job, relative to the root.
pub(super) fn folder_of(job: &Job) -> PathBuf {
    let task = job.harvest.as_ref().map(|harvest| harvest.task.as_str()).unwrap_or_default();
    [RUNS, &folder_name(task), "learn", &job.id].iter().collect()
}

/// A task's name as one folder: what may mean something in a path becomes a dash, and a digest tells such names apart.
fn folder_name(task: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let mut name: String = task.chars().map(|c| if is_plain(c) { c } else { '-' }).take(TASK_BYTES_MAX).collect();
    name = name.trim_start_matches('.').to_owned();
    if name != task || name.is_empty() {
        let digest = blake3::hash(task.as_bytes()).to_hex();
        name = format!("{name}-{}", &digest[..8]);
    }
    name
}

fn write_files(request: &Request, job: &Job) -> anyhow::Result<()> {
    let write = |name: &str, value: &Value| {
        let text = serde_json::to_string_pretty(value)? + "\n";
        write_job_file(request, job, name, &text)
    };
    if let Some(scenario) = &job.scenario {
        write("scenario.json", &json!(scenario))?;
    }
    if let Some(partial) = job.missing.as_ref().and_then(|missing| missing.partial.as_ref()) {
        write("scenario.partial.json", &json!(partial))?;
    }
    if let Some(status) = &job.git_status {
        write_job_file(request, job, "git-status.txt", &format!("{status}\n"))?;
    }
    write("manifest.json", &manifest_of(job))?;
    Ok(())
}

/// The manifest, with the keys of the specification's own implementation.
pub(super) fn manifest_of(job: &Job) -> Value {
    let dir = folder_of(job);
    let file = |name: &str| dir.join(name).to_string_lossy().into_owned();
    let harvest = job.harvest.clone().unwrap_or_default();
    let capture = job.capture.as_ref();
    let runs = job.current_trials().iter().map(|trial| {
        json!({
            "n": trial.n, "purpose": trial.purpose, "tree": trial.tree, "outcome": trial.outcome, "exit": trial.exit,
            "tests": trial.tests, "ms": trial.duration_ms, "note": trial.note,
        })
    });
    let fixed = job.judgement.iter().flat_map(|it| &it.fixed.first);
    let fixed: Vec<&str> = fixed.map(|atom| atom.test.as_deref().unwrap_or(&atom.text)).collect();
    let minimal = job.minimal.as_ref();
    json!({
        "schema": 1,
        "task_id": harvest.task,
        "job_id": job.id,
        "state": job.state,
        "learning": {
            "snapshot": {
                "tag": capture.map(|it| &it.tag),
                "commit_sha": capture.map(|it| &it.commit),
                "tree": capture.map(|it| &it.tree),
                "tarball_path": null,
                "tarball_digest": capture.map(|it| &it.tarball_digest),
                "differing": capture.map(|it| &it.differing),
                "status": if capture.is_some() { "captured" } else { "pending" },
                "attempts": job.capture_failures + 1,
                "last_error": job.why.as_ref().filter(|_| job.state == JobState::StalledSnapshot),
            },
            "queue": { "manifest_path": file("manifest.json"), "enqueued_at": job.first_at.rfc3339(), "status": job.state },
            "scenario": {
                "path": job.scenario.as_ref().map(|_| file("scenario.json")),
                "source": job.scenario.as_ref().map(|it| it.source),
                "partial_path": job.missing.as_ref().and_then(|it| it.partial.as_ref()).map(|_| file("scenario.partial.json")),
                "approver": job.signed.as_ref().map(|it| &it.approver),
                "reason": job.missing.as_ref().map(|it| it.reason),
            },
            "validation": {
                "mode": "per-task",
                "status": validation_status(job),
                "evidence": job.judgement.as_ref().map(|it| it.evidence),
                "reason": job.cause,
                "git_status_path": job.git_status.as_ref().map(|_| file("git-status.txt")),
                "last_error": job.why,
                "level": job.lease.as_ref().map(|it| it.level),
                "runs": runs.collect::<Vec<_>>(),
                "fail_to_pass": fixed,
                "minimal": minimal.map(|it| json!({ "units": it.units, "kept": it.kept })),
                "robust": minimal.map(|it| format!("{}/{}", it.robust, it.perturbed)),
            },
            "crystalizer": {
                "candidate_path": job.page.as_ref().map(|it| &it.path),
                "model": job.page.as_ref().and_then(|it| it.model.as_ref()),
                "status": crystalizer_status(job),
            },
            "approvals": job.decisions.iter().map(|decision| json!({
                "name": decision.person, "at": decision.at.rfc3339(), "decision": decision.what,
                "reason": decision.reason, "scenario": decision.scenario,
            })).collect::<Vec<_>>(),
        },
    })
}

fn validation_status(job: &Job) -> &'static str {
    let has_evidence = job.judgement.as_ref().is_some_and(|it| it.evidence >= EvidenceLabel::Replayed);
    match job.state {
        JobState::SnapshotFailed | JobState::Dropped => "snapshot_failed",
        JobState::StalledSnapshot => "stalled_snapshot",
        JobState::NeedsManualScenario => "needs_manual_scenario",
        JobState::Failed => "failed",
        _ if has_evidence => "validated",
        _ => "pending",
    }
}

fn crystalizer_status(job: &Job) -> &'static str {
    match &job.page {
        Some(page) if page.replaced.is_empty() => "succeeded",
        Some(_) => "partly",
        None if job.state == JobState::NoArtifact => "none",
        None => "pending",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_one_folder_whatever_its_name() {
        assert_eq!(folder_name("fix-login_2.0"), "fix-login_2.0");
        for task in ["../../x", "a/b", "..", "", ".git", "x y"] {
            let name = folder_name(task);
            assert!(!name.contains('/') && !name.starts_with('.') && name.len() > 8, "{task}: {name}");
        }
        assert_ne!(folder_name("a/b"), folder_name("a b"));
        assert!(folder_name(&"x".repeat(300)).len() < 100);
    }
}
