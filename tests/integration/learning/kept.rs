//! Which tree of a task is kept, and what happens where none can be.

use std::fs;

use serde_json::{Value, json};

use super::{agree, done, fails, job_in, job_page, mend_calc, passes, python_project, work};
use crate::lab::has_namespaces;
use crate::sandbox::{Sandbox, can_mount};

/// The manifest of the one job.
fn manifest(sandbox: &Sandbox) -> Value {
    let folder_in = |dir: std::path::PathBuf| {
        let folders = fs::read_dir(&dir).expect("a folder").flatten().map(|entry| entry.path());
        folders.into_iter().find(|path| path.is_dir()).expect("a folder")
    };
    let job = folder_in(folder_in(sandbox.path(".runs")).join("learn"));
    serde_json::from_slice(&fs::read(job.join("manifest.json")).expect("a manifest")).expect("JSON")
}

#[test]
fn a_file_that_differs_from_what_was_tested_is_named_and_the_approved_one_is_run() {
    let Some(sandbox) = python_project() else { return };
    if !has_namespaces() {
        return;
    }
    fails(&sandbox, &["pytest", "-q"]);
    mend_calc(&sandbox);
    passes(&sandbox, &["pytest", "-q"]);
    sandbox.settle();
    sandbox.write("calc.py", format!("# Approved.\n{}", sandbox.read("calc.py")));
    done(&sandbox);
    agree(&sandbox);
    let job = work(&sandbox);
    assert_eq!(job["state"], "candidate", "{job}");
    let id = job["id"].as_str().expect("an id");
    let page = job_page(&sandbox, id);
    assert_eq!(page["snapshot"]["differing"], json!(["calc.py"]), "{page:#}");
    assert_ne!(page["snapshot"]["tree"], page["trees"]["pass"]);
    assert_eq!(page["trials"][0]["tree"], page["snapshot"]["tree"], "the approved tree is the one that is run");
    let text = sandbox.verify_run(["library", "job", id]).prints();
    assert!(text.contains("differs from what was tested") && text.contains("calc.py"), "{text}");
    assert_eq!(manifest(&sandbox)["learning"]["snapshot"]["differing"], json!(["calc.py"]));
}

/// Seconds from one of these moments to the next.
fn seconds_between(from: &Value, to: &Value) -> f64 {
    let seconds = |at: &Value| {
        let at = at.as_str().expect("a time").to_owned();
        let part = |range: std::ops::Range<usize>| -> f64 { at[range].parse().expect("a number") };
        part(11..13) * 3_600.0 + part(14..16) * 60.0 + part(17..26)
    };
    (seconds(to) - seconds(from)).rem_euclid(86_400.0)
}

#[test]
fn trees_that_cannot_be_kept_are_tried_three_times_and_given_up_with_an_alert() {
    let Some(sandbox) = python_project().filter(|_| can_mount()) else { return };
    let alert = sandbox.tool("alert", "cat >> ../alerts; echo >> ../alerts");
    let folder = sandbox.home().join(".config/verify-run");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("verify-run.toml"), format!("[learn]\nalert = [{alert:?}]\n")).expect("settings");
    fails(&sandbox, &["pytest", "-q"]);
    mend_calc(&sandbox);
    passes(&sandbox, &["pytest", "-q"]);
    sandbox.settle();
    // Where the trees belong is read-only for whatever `task done` starts; a mode would not keep root out.
    let learn = sandbox.state().join("learn");
    fs::create_dir_all(&learn).expect("a folder");
    let mount = format!("mount -t tmpfs -o ro none '{}'", learn.display());
    let page = sandbox.verify_run(["task", "done", "--json"]).after_mounting(&mount).prints_json();
    assert_eq!(page["harvest"]["jobs"].as_array().map(Vec::len), Some(1), "{page}");
    let job = job_in(&sandbox, "dropped");
    let steps: Vec<Value> = sandbox.events().into_iter().filter(|event| event["kind"] == "learn").collect();
    let kinds: Vec<&str> = steps.iter().filter_map(|step| step["step"].as_str()).collect();
    assert_eq!(kinds, ["harvested", "snapshot_failed", "snapshot_failed", "snapshot_failed", "dropped"]);
    let waited = [1, 2].map(|at| seconds_between(&steps[at]["at"], &steps[at + 1]["at"]));
    assert!((2.0..12.0).contains(&waited[0]) && (20.0..40.0).contains(&waited[1]), "{waited:?}");
    sandbox.settle();
    let alerts = sandbox.read("../alerts");
    let alerts: Vec<Value> = alerts.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(alerts.len(), 1, "{alerts:?}");
    assert_eq!((&alerts[0]["state"], &alerts[0]["job"]), (&json!("dropped"), &job["id"]));
    assert!(alerts[0]["why"].as_str().is_some_and(|why| !why.is_empty()));
}
