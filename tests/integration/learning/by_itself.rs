//! Jobs that run automatically, and what is harvested without `task done`; and that everything goes again.

use std::fs;

use serde_json::{Value, json};
use verify_run::run::CommandEnd;

use super::{agree, fails, job_in, job_page, judge, mend, mend_calc, passes, python_project, work};
use crate::lab::has_namespaces;
use crate::sandbox::{Sandbox, wait_until};

pub(super) fn user_settings(sandbox: &Sandbox, text: &str) {
    let folder = sandbox.home().join(".config/verify-run");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("verify-run.toml"), text).expect("settings");
}

#[test]
fn with_the_users_setting_a_job_runs_by_itself_after_consent() {
    let Some(sandbox) = python_project() else { return };
    if !has_namespaces() {
        return;
    }
    user_settings(&sandbox, "[learn]\nwork = \"idle\"\nidle_load = 1000.0\n");
    agree(&sandbox);
    mend(&sandbox, &["pytest", "-q"], mend_calc);
    let job = job_in(&sandbox, "candidate");
    assert!(job["artifact"].is_string(), "{job}");
    // What it took counts, for all work trees of the machine.
    let path = sandbox.home().join(".local/state/verify-run/runner-day.json");
    wait_until("the time is recorded", || path.is_file());
    let used: Value = serde_json::from_slice(&fs::read(path).expect("a file")).expect("JSON");
    assert!(used["ms"].as_u64().is_some_and(|ms| ms > 0), "{used}");
}

#[test]
fn no_job_runs_by_itself_without_the_users_setting_or_beyond_the_minutes_of_a_day() {
    let Some(sandbox) = python_project() else { return };
    if !has_namespaces() {
        return;
    }
    agree(&sandbox);
    sandbox.write("verify-run.toml", "[learn]\nwork = \"idle\"\nidle_load = 1000.0\nday_minutes = 600\n");
    mend(&sandbox, &["pytest", "-q"], mend_calc);
    job_in(&sandbox, "queued");
    let background = || sandbox.verify_run(["library", "work", "--background", "--json"]).prints_json();
    let blocked = background();
    assert_eq!(blocked["jobs"], json!([]));
    assert!(blocked["blocked"].as_str().is_some_and(|why| why.contains("learn.work")), "{blocked}");
    user_settings(&sandbox, "[learn]\nwork = \"idle\"\nday_minutes = 0\n");
    let idle = background();
    assert_eq!((&idle["jobs"], &idle["waiting"], &idle["blocked"]), (&json!([]), &json!(1), &Value::Null), "{idle}");
}

#[test]
fn an_approving_gate_queues_what_the_task_leaves() {
    let Some(sandbox) = python_project() else { return };
    fails(&sandbox, &["pytest", "-q"]);
    mend_calc(&sandbox);
    passes(&sandbox, &["pytest", "-q"]);
    sandbox.settle();
    let approved = judge(&sandbox, &[]);
    assert_eq!(approved.ended, CommandEnd::Exit(0), "{}", approved.stdout());
    let jobs = sandbox.verify_run(["library", "jobs", "--json"]).prints_json();
    assert_eq!(jobs["jobs"], json!([]), "approved, and the work is not said to be done");
    sandbox.verify_run(["gate", "signal"]).prints();
    assert_eq!(job_in(&sandbox, "queued")["trigger"], "gate_exit");
    judge(&sandbox, &["--exit-signal"]);
    let jobs = sandbox.verify_run(["library", "jobs", "--json"]).prints_json();
    assert_eq!(jobs["jobs"].as_array().map(Vec::len), Some(1), "{jobs}");
}

#[test]
fn what_a_merged_branch_leaves_is_validated_as_it_passed() {
    let Some(sandbox) = python_project() else { return };
    if !has_namespaces() {
        return;
    }
    sandbox.git(["checkout", "-q", "-b", "feature"]);
    fails(&sandbox, &["pytest", "-q"]);
    mend_calc(&sandbox);
    passes(&sandbox, &["pytest", "-q"]);
    sandbox.settle();
    sandbox.commit("The fix");
    sandbox.git(["checkout", "-q", "main"]);
    sandbox.git(["merge", "-q", "feature"]);
    sandbox.write("calc.py", "raise SystemExit\n");
    // The next recorded run notices the merge.
    fails(&sandbox, &["pytest", "-q"]);
    sandbox.settle();
    agree(&sandbox);
    let reply = sandbox.verify_run(["library", "work", "--json"]).prints_json();
    assert_eq!(
        (&reply["jobs"][0]["trigger"], &reply["jobs"][0]["state"]),
        (&json!("merged"), &json!("candidate")),
        "{reply}"
    );
    assert_eq!(reply["jobs"][0]["task"], "feature");
}

#[test]
fn everything_of_a_job_goes_with_the_records_and_comes_back_without_the_index() {
    let Some(sandbox) = python_project() else { return };
    if !has_namespaces() {
        return;
    }
    mend(&sandbox, &["pytest", "-q"], mend_calc);
    let before = sandbox.git(["status", "--short", "--ignored"]);
    agree(&sandbox);
    let job = work(&sandbox);
    let (job, page) = (job["id"].as_str().expect("an id"), job["artifact"].as_str().expect("a page"));
    let title = sandbox.verify_run(["library", "show", page, "--json"]).prints_json()["title"].clone();
    assert!(title.as_str().is_some_and(|title| title.starts_with("Fix test_add: “")), "{title}");
    let lists = || ["list", "jobs"].map(|list| sandbox.verify_run(["library", list, "--json"]).prints_json());
    let listed = lists();
    fs::remove_file(sandbox.state().join("store.db")).expect("the index");
    sandbox.verify_run(["store", "status"]).outcome();
    assert_eq!(lists(), listed, "the index is built again");
    fs::remove_dir_all(sandbox.path(".runs")).expect("removed");
    fs::remove_dir_all(sandbox.path(".agent")).expect("removed");
    assert_eq!(job_page(&sandbox, job)["state"], "candidate");
    assert!(sandbox.verify_run(["library", "show", page]).outcome().stdout().contains("return a + b"));
    // Another job, so that there is something to remove.
    sandbox.write(".runs/0607/cli/run.json", "{}");
    let template = sandbox.verify_run(["library", "scenario", job]).outcome();
    let (folder, _) = template.stdout().split_once("/learn/").expect("a file of the job");
    let plan = sandbox.verify_run(["uninstall"]).outcome();
    assert!(plan.stdout().contains(&format!("would remove {folder}/learn/{job}")), "{}", plan.stdout());
    assert_eq!(sandbox.verify_run(["uninstall", "--purge"]).outcome().ended, CommandEnd::Exit(0));
    assert!(!sandbox.path(folder).exists() && sandbox.path(".runs/0607/cli/run.json").exists());
    fs::remove_dir_all(sandbox.path(".runs")).expect("removed");
    assert_eq!(sandbox.git(["status", "--short", "--ignored"]), before);
    assert_eq!(sandbox.verify_run(["library", "work"]).outcome().ended, CommandEnd::Exit(2), "the consent is gone");
}
