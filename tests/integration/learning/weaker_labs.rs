//! Machines where no user namespace can be made: jobs wait, or run at the weaker level that a person allows.

use std::fs;

use super::{agree, job_in, job_page, mend, mend_calc, python_project};
use crate::lab::levels::without_namespaces;
use crate::lab::{has_landlock, has_namespaces};
use crate::sandbox::Sandbox;

const NO_NAMESPACES: &str = "`sysctl user.max_user_namespaces` is 0";

/// A project with a queued job, where both levels can be made.
fn queued(more_tests: &str) -> Option<Sandbox> {
    let sandbox = python_project()?;
    if !has_namespaces() || !has_landlock() {
        return None;
    }
    sandbox.write("tests/test_calc.py", format!("{}\n\n{more_tests}", sandbox.read("tests/test_calc.py")));
    sandbox.commit("Tests");
    mend(&sandbox, &["pytest", "-q"], mend_calc);
    agree(&sandbox);
    job_in(&sandbox, "queued");
    Some(sandbox)
}

/// The user allows the weaker level.
fn allow_landlock(sandbox: &Sandbox) {
    let folder = sandbox.home().join(".config/verify-run");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("verify-run.toml"), "[learn]\nisolation = \"landlock\"\n").expect("settings");
}

#[test]
fn without_namespaces_jobs_wait_and_the_weaker_level_is_on_the_page() {
    let Some(sandbox) = queued("") else { return };
    let waits = without_namespaces(&sandbox, &["library", "work", "--json"]).prints_json();
    assert_eq!((&waits["jobs"], &waits["waiting"]), (&serde_json::json!([]), &1.into()), "{waits}");
    assert!(waits["blocked"].as_str().is_some_and(|why| why.contains(NO_NAMESPACES)), "{waits}");
    let doctor = without_namespaces(&sandbox, &["doctor"]).outcome();
    let line = doctor.stdout().lines().find(|line| line.contains("1 job"));
    assert!(line.is_some() && doctor.stdout().contains(NO_NAMESPACES), "{}", doctor.stdout());
    job_in(&sandbox, "queued");
    allow_landlock(&sandbox);
    let worked = without_namespaces(&sandbox, &["library", "work", "--json"]).prints_json();
    assert_eq!(worked["jobs"][0]["state"], "candidate", "{worked}");
    let id = worked["jobs"][0]["artifact"].as_str().expect("a page");
    let page = sandbox.verify_run(["library", "show", id, "--json"]).prints_json();
    assert_eq!((&page["level"], &page["evidence"]), (&"landlock".into(), &"proven".into()));
    let markdown = page["markdown"].as_str().expect("a text");
    assert!(markdown.contains("\nlevel: landlock\n"), "{markdown}");
}

#[test]
fn what_could_not_be_tried_is_tried_again() {
    let Some(sandbox) = queued("") else { return };
    let work = sandbox.verify_run(["library", "work", "--json"]);
    let waits = work.env("TMPDIR", sandbox.tmp().join("gone")).prints_json();
    assert!(waits["blocked"].as_str().is_some_and(|why| why.contains("cannot try it: ")), "{waits}");
    let worked = sandbox.verify_run(["library", "work", "--json"]).prints_json();
    assert_eq!((&worked["jobs"][0]["state"], &worked["blocked"]), (&"candidate".into(), &().into()), "{worked}");
}

#[test]
fn at_the_weaker_level_there_is_no_datagram_either() {
    let test = "def test_datagram():\n    import socket\n    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n    \
                udp.connect(('127.0.0.1', 9))\n";
    let Some(sandbox) = queued(test) else { return };
    allow_landlock(&sandbox);
    let worked = without_namespaces(&sandbox, &["library", "work", "--json"]).prints_json();
    let job = &worked["jobs"][0];
    assert_eq!((&job["state"], &job["cause"]), (&"failed".into(), &"lab_unsuitable".into()), "{worked}");
    assert!(job["why"].as_str().is_some_and(|why| why.contains("test_datagram")), "{job}");
    let page = job_page(&sandbox, job["id"].as_str().expect("an id"));
    assert_eq!(page["trials"].as_array().map(Vec::len), Some(1), "{page:#}");
}
