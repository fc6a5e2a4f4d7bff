//! Proofs that can be run again: `library verify`, and `library export` for other machines. The failing tree and the one with
//! the smallest change are kept as two commits for as long as the page is.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use serde::Serialize;

use super::capture::kept_trees;
use super::consent::require_consent;
use super::job_change::TrialTree;
use super::job_folder::manifest_of;
use super::job_trial::{GIT_TIME_MAX, job_snapshot_options};
use super::page_list::resolve_id;
use super::runner::{take_runner_lock, wanted_level};
use super::standing::LibraryView;
use super::trial_lab::TrialLab;
use crate::base::refusal::Refusal;
use crate::event::{
    EventAuthor, EventBody, LibraryNote, LibraryStep, MinimalChange, ScenarioRecord, TrialOutcome, TrialPurpose,
    TrialRecord,
};
use crate::fix::snapshot::{BundleBranch, SkippedSnapshot, TreeFile, TreeVault, TreesToKeep};
use crate::learn::job::Job;
use crate::learn::trial::shows_atom;
use crate::ops::reply::Reply;
use crate::ops::request::Request;
use crate::store::Index;

/// What `library verify --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PageVerification {
    /// `a-…`
    pub id: String,
    /// Whether the failing tree still fails and the smallest change still passes.
    pub holds: bool,
    /// What was seen.
    pub why: String,
    /// The runs: before, after.
    pub trials: Vec<TrialRecord>,
}

/// What `library export --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ExportedProof {
    /// `a-…`
    pub id: String,
    /// The git bundle.
    pub bundle: Option<PathBuf>,
    /// The approved tree as it was kept, a tar archive.
    pub tar: Option<PathBuf>,
    /// `sha256:…` of the archive.
    pub tarball_digest: Option<String>,
    /// The tag in the bundle: its commit passes, the one before it fails.
    pub tag: String,
    /// The words of the check.
    pub command: Vec<String>,
    /// Where it is run, relative to the root.
    pub dir: String,
}

/// The proof of a page.
struct PageProof {
    id: String,
    job: Job,
    minimal: MinimalChange,
    scenario: ScenarioRecord,
}

/// The tag under which the trees of a job's proof are kept.
pub(super) fn proof_tag(job: &str) -> String {
    format!("learning-proof-{job}")
}

/// Keeps the failing tree and the one with the smallest change.
///
/// # Errors
/// When they can't be kept.
pub(super) fn keep_proof(
    request: &Request,
    vault: &TreeVault,
    job: &Job,
    minimal: &MinimalChange,
) -> anyhow::Result<()> {
    let wanted = TreesToKeep {
        tag: &proof_tag(&job.id),
        trees: &[
            ("before: the check fails", &minimal.before),
            ("after: the smallest change, the check passes", &minimal.tree),
        ],
        at: job.first_at,
        message: &format!("Job: {}", job.id),
        bytes_max: request.settings().learn.snapshot_bytes,
    };
    vault.keep_trees(&wanted).map_err(|skipped| anyhow::anyhow!("{skipped}")).context("cannot keep the proof")?;
    Ok(())
}

/// Runs the proof of a page again.
///
/// # Errors
/// Without consent, when the page has no proof here, or the store can't be read or written.
pub(crate) fn verify_page(request: &Request, id: &str) -> anyhow::Result<Reply<PageVerification>> {
    require_consent(request)?;
    let Some(_lock) = take_runner_lock(request)? else {
        bail!(Refusal::conflict("another process runs jobs").then_run("library jobs"));
    };
    let reading = request.open_for_reading()?;
    let proof = find_proof(request, reading.index.as_ref(), id)?;
    let level = wanted_level(request.settings().learn.isolation);
    let key = proof.job.harvest.as_ref().and_then(|harvest| harvest.key.clone()).unwrap_or_default();
    let options = job_snapshot_options(request);
    let lab = TrialLab::open(request, &proof.scenario, &key, (level, false), &options)?;
    let mut trials = Vec::new();
    for (purpose, tree) in
        [(TrialPurpose::Before, &proof.minimal.before), (TrialPurpose::Confirmed, &proof.minimal.tree)]
    {
        let files = lab.lab().check_out(tree).context("the trees of the proof are gone")?;
        trials.push(lab.run(trials.len() as u64, purpose, &TrialTree { id: tree.clone(), files }, None)?);
    }
    let (holds, why) = judge_proof(&proof.job, &trials[0], &trials[1]);
    let by = EventAuthor::from_identity(&request.identity, None);
    let step = LibraryStep::Verified { holds, level: lab.level, why: why.clone() };
    let note = LibraryNote { artifact: proof.id.clone(), step, by };
    request.open_store()?.record_event(EventBody::Library(Box::new(note)))?;
    Ok(Reply::new(PageVerification { id: proof.id, holds, why, trials }, reading.notes))
}

fn judge_proof(job: &Job, before: &TrialRecord, after: &TrialRecord) -> (bool, String) {
    let said = |trial: &TrialRecord| match (&trial.note, trial.atoms.first.first()) {
        (Some(note), _) => format!(": {note}"),
        (None, Some(atom)) => format!(": {}", atom.text),
        (None, None) => String::new(),
    };
    if after.outcome != TrialOutcome::Passed {
        return (false, format!("with the change the check does not pass{}", said(after)));
    }
    if before.outcome != TrialOutcome::Failed {
        return (false, format!("without the change the check does not fail{}", said(before)));
    }
    let fixed = job.judgement.as_ref().map(|it| it.fixed.first.clone()).unwrap_or_default();
    match fixed.iter().find(|atom| !shows_atom(&before.atoms, atom)) {
        Some(atom) => (false, format!("without the change the check fails in another way: {} is not seen", atom.text)),
        None => (true, "without the change the check fails, with it it passes".to_owned()),
    }
}

/// Writes the proof of a page as a git bundle, for another machine, and the approved tree as a tar archive.
///
/// # Errors
/// When the page has no proof here, or the file can't be written.
pub(crate) fn export_proof(
    request: &Request,
    id: &str,
    bundle: Option<&Path>,
    tar: Option<&Path>,
) -> anyhow::Result<Reply<ExportedProof>> {
    let reading = request.open_for_reading()?;
    let proof = find_proof(request, reading.index.as_ref(), id)?;
    let vault = TreeVault::open(&request.places, GIT_TIME_MAX).map_err(|skipped| anyhow::anyhow!("{skipped}"))?;
    let tag = proof_tag(&proof.job.id);
    let bundle = bundle.map(|bundle| request.cwd.join(bundle));
    if let Some(bundle) = &bundle {
        let branch = readme_branch(&tag);
        let message = format!("How to run it\n\nJob: {}", proof.job.id);
        let files = explain_proof(&proof, &tag)?;
        let explained = BundleBranch { branch: &branch, message: &message, at: proof.job.first_at, files };
        written(vault.write_bundle(&tag, &explained, bundle), bundle)?;
    }
    let tar = tar.map(|tar| request.cwd.join(tar));
    let mut tarball_digest = None;
    if let Some(tar) = &tar {
        let Some(capture) = &proof.job.capture else {
            bail!(Refusal::not_found(format!("the trees of {} are not on this machine", proof.id)));
        };
        let kept = kept_trees(capture);
        vault
            .check_kept(&capture.tag, &capture.commit, &capture.tree, &kept)
            .map_err(|damage| Refusal::conflict(format!("the kept tree of {} is damaged: {}", proof.id, damage.why)))?;
        written(vault.write_archive(&kept, tar), tar)?;
        tarball_digest = Some(kept.tarball_digest);
    }
    let (command, dir) = (proof.scenario.entrypoint.argv, proof.scenario.entrypoint.dir);
    let exported = ExportedProof { id: proof.id, bundle, tar, tarball_digest, tag, command, dir };
    Ok(Reply::new(exported, reading.notes))
}

/// The branch of a bundle that explains it, beside the tag of the proof.
pub(crate) fn readme_branch(tag: &str) -> String {
    format!("{tag}-readme")
}

/// What shows a proof in a clone of its bundle: the check before the change, and after it.
pub(crate) fn proof_commands(tag: &str, command: &[String], dir: &str) -> [String; 2] {
    let dir = if dir.is_empty() { ".".into() } else { shell_words::quote(dir) };
    let check = shell_words::join(command);
    [
        format!("git checkout --quiet {tag}~1 && (cd {dir} && {check})  # fails"),
        format!("git checkout --quiet {tag} && (cd {dir} && {check})  # passes"),
    ]
}

/// The files of the branch that explains a bundle.
fn explain_proof(proof: &PageProof, tag: &str) -> anyhow::Result<BTreeMap<String, Option<TreeFile>>> {
    let entrypoint = &proof.scenario.entrypoint;
    let [red, green] = proof_commands(tag, &entrypoint.argv, &entrypoint.dir);
    let readme = format!(
        "# Proof of a fix\n\n\
         Two commits: the check fails in the first, and passes in the second, which has the smallest change that does it. \
         Install the\npackages that the project needs, then run in this clone:\n\n\
         ```sh\n{red}\n{green}\n```\n\n\
         `git diff {tag}~1 {tag}` is the change. `scenario.json` has the check as it was run in isolation, `manifest.json` each \
         run of it.\n",
    );
    let scenario = serde_json::to_string_pretty(&proof.scenario)? + "\n";
    let manifest = serde_json::to_string_pretty(&manifest_of(&proof.job))? + "\n";
    let files = [("README.md", readme), ("manifest.json", manifest), ("scenario.json", scenario)];
    Ok(files.map(|(name, text)| (name.to_owned(), Some(("100644".to_owned(), text.into_bytes())))).into())
}

fn written(done: Result<(), SkippedSnapshot>, file: &Path) -> anyhow::Result<()> {
    done.map_err(|skipped| anyhow::anyhow!("{skipped}")).with_context(|| format!("cannot write {}", file.display()))
}

fn find_proof(request: &Request, index: Option<&Index>, id: &str) -> anyhow::Result<PageProof> {
    let view = LibraryView::read(request, index)?;
    let id = resolve_id(&view, index, id)?;
    let written = view.recorded.pages.get(&id).and_then(|page| page.written.as_ref());
    let no_proof = || Refusal::not_found(format!("{id} has no proof on this machine"));
    let (Some(index), Some(job)) = (index, written.and_then(|written| written.job.clone())) else {
        bail!(no_proof().then_run(format!("library show {id}")));
    };
    let job = Job::from_steps(&index.job_steps(&job)?).ok_or_else(no_proof)?;
    let (Some(minimal), Some(scenario)) = (job.minimal.clone(), job.scenario.clone()) else {
        bail!(no_proof().then_run(format!("library job {}", job.id)));
    };
    Ok(PageProof { id, job, minimal, scenario })
}
