//! Tells the operator that a job needs a person: by the user's own command, if there is one. The record says it in any case.

use std::ffi::OsString;
use std::time::Duration;

use serde_json::json;

use crate::event::JobState;
use crate::host::process::{self, ProcessCall};
use crate::learn::job::Job;
use crate::ops::request::Request;
use crate::recorder;

/// How long the command may take.
const ALERT_TIME: Duration = Duration::from_secs(10);

/// Runs the command of `[learn] alert` with the job as JSON on its standard input, without a shell. What goes wrong is in
/// the recorder's log: an alert changes no job.
pub(super) fn alert_operator(request: &Request, job: &Job, state: JobState, why: &str) {
    let words = &request.settings().learn.alert;
    let Some(program) = words.first() else { return };
    let argv: Vec<OsString> = words.iter().map(OsString::from).collect();
    let task = job.harvest.as_ref().map(|harvest| harvest.task.clone());
    let facts = json!({ "schema": 1, "job": job.id, "state": state, "task": task, "why": why });
    let input = facts.to_string();
    let dir = &request.places.root;
    let call = ProcessCall { argv: &argv, dir, variables: &[], input: input.as_bytes(), limit: ALERT_TIME };
    let trouble = if program.contains('/') && !std::path::Path::new(program).is_absolute() {
        "is relative to the repository, which could replace it".to_owned()
    } else {
        match process::run(call) {
            Err(error) => format!("cannot be started: {error}"),
            Ok(answer) => match answer.status {
                Some(status) if status.success() => return,
                Some(status) => format!("ended with {status}"),
                None => format!("took longer than {} s", ALERT_TIME.as_secs()),
            },
        }
    };
    recorder::note(&request.places, &[format!("the command of `[learn] alert` {trouble}")]);
}
