//! Asks the user's own command to word a page. It gets facts and gives words; what is not in the facts is the template's.

use std::ffi::OsString;
use std::time::Duration;

use serde_json::json;

use crate::fix::snapshot::TreeVault;
use crate::host::process::{self, ProcessCall};
use crate::learn::crystal::{GroundedWording, PageFacts, WORDED_BYTES_MAX, Wording, ground_wording};
use crate::ops::request::Request;
use crate::recorder;

/// How long the command may take.
const WORDING_TIME: Duration = Duration::from_secs(120);

/// The wording of a page, as far as it holds; the template's without a command, or where that fails. `tree` is the tree whose
/// files it may name.
pub(super) fn word_page(request: &Request, facts: &PageFacts, vault: &TreeVault, tree: &str) -> GroundedWording {
    let words = &request.settings().learn.crystallise.command;
    let Some(program) = words.first() else { return GroundedWording::default() };
    let failed = |what: &str| {
        recorder::note(&request.places, &[format!("the command of `[learn.crystallise]` {what}")]);
        let replaced = ["title", "problem", "solution", "rationale"].map(str::to_owned).to_vec();
        GroundedWording { replaced, ..GroundedWording::default() }
    };
    if program.contains('/') && !std::path::Path::new(program).is_absolute() {
        return failed("is relative to the repository, which could replace it");
    }
    let argv: Vec<OsString> = words.iter().map(OsString::from).collect();
    let input = json!({
        "schema": 1,
        "title": facts.front_matter.title,
        "problem": facts.problem,
        "solution": facts.solution,
        "cause": facts.cause,
        "said": facts.said,
        "notes": facts.notes,
    })
    .to_string();
    let dir = &request.places.root;
    let call = ProcessCall { argv: &argv, dir, variables: &[], input: input.as_bytes(), limit: WORDING_TIME };
    let answer = match process::run(call) {
        Ok(answer) => answer,
        Err(error) => return failed(&format!("cannot be started: {error}")),
    };
    match answer.status {
        Some(status) if status.success() => {}
        Some(status) => return failed(&format!("ended with {status}")),
        None => return failed(&format!("took longer than {} s", WORDING_TIME.as_secs())),
    }
    if answer.stdout.len() > WORDED_BYTES_MAX {
        return failed(&format!("answered with more than {} KiB", WORDED_BYTES_MAX >> 10));
    }
    match serde_json::from_slice::<Wording>(&answer.stdout) {
        Ok(wording) => ground_wording(&wording, facts, &|path| vault.has_file(tree, path)),
        Err(error) => failed(&format!("did not answer with JSON: {error}")),
    }
}
