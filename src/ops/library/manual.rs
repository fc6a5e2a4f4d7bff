//! `library scenario`: the template of a scenario for a job that needs a person to write one, and what comes back signed.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use serde::Serialize;

use super::job_folder::{folder_of, write_job_file};
use super::job_page::find_job;
use crate::base::file::read_start;
use crate::base::refusal::Refusal;
use crate::event::{ManualReason, MissingScenario, SignedScenario};
use crate::learn::job::Job;
use crate::learn::library::digest_page;
use crate::learn::scenario::{MANUAL_BYTES_MAX, ManualScenario, render_manual_template};
use crate::ops::reply::Reply;
use crate::ops::request::Request;

/// The template's name in the folder of its job.
const TEMPLATE: &str = "manual-scenario.md";

/// What `library scenario --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ScenarioTemplate {
    /// `j-…`
    pub job: String,
    /// The template, relative to the root.
    pub path: PathBuf,
    /// Whether it was written now; one that is there is left as it is.
    pub is_new: bool,
}

/// Writes the template for a job, filled in as far as it is known.
///
/// # Errors
/// When there is no such job, or its folder can't be written.
pub(crate) fn write_scenario_template(request: &Request, id: &str) -> anyhow::Result<Reply<ScenarioTemplate>> {
    let reading = request.open_for_reading()?;
    let job = find_job(reading.index.as_ref().context("nothing was recorded here yet")?, id)?;
    let path = folder_of(&job).join(TEMPLATE);
    let is_new = !request.places.root.join(&path).exists();
    if is_new {
        write_job_file(request, &job, TEMPLATE, &template_of(&job))?;
    }
    Ok(Reply::new(ScenarioTemplate { job: job.id, path, is_new }, reading.notes))
}

fn template_of(job: &Job) -> String {
    let task = job.harvest.as_ref().map(|harvest| harvest.task.clone()).unwrap_or_default();
    let manifest = folder_of(job).join("manifest.json").to_string_lossy().into_owned();
    let snapshot = job.capture.as_ref().map_or_else(String::new, |capture| {
        format!("{} / {} / {}", capture.tag, capture.commit, capture.tarball_digest)
    });
    let missing = job.missing.clone().unwrap_or(MissingScenario {
        reason: ManualReason::NothingFound,
        why: String::new(),
        partial: job.scenario.clone(),
    });
    render_manual_template(&crate::base::text::one_line(&task), &manifest, &snapshot, &missing)
}

/// Reads a scenario that a person wrote and signed.
///
/// # Errors
/// What is wrong with it, at its line; or that another person signed it.
pub(super) fn read_signed_scenario(request: &Request, file: &Path, person: &str) -> anyhow::Result<SignedScenario> {
    let path = request.cwd.join(file);
    let bytes =
        read_start(&path, MANUAL_BYTES_MAX as u64 + 1).with_context(|| format!("cannot read {}", path.display()))?;
    if bytes.len() > MANUAL_BYTES_MAX {
        bail!(Refusal::usage(format!("{} has more than {} KiB", file.display(), MANUAL_BYTES_MAX >> 10)));
    }
    let text = String::from_utf8(bytes).with_context(|| format!("{} is not UTF-8", file.display()))?;
    let manual =
        ManualScenario::parse(&text).map_err(|error| Refusal::usage(format!("{}: {error}", file.display())))?;
    if manual.approver != person {
        let refused = format!("{} is signed by {:?}, not by {person:?}", file.display(), manual.approver);
        bail!(Refusal::usage(refused));
    }
    Ok(SignedScenario {
        digest: digest_page(text.as_bytes()),
        path: file.to_string_lossy().into_owned(),
        scenario: manual.scenario,
        approver: manual.approver,
        date: manual.date,
    })
}
