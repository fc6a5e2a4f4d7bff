//! What is run for a change of which no failing run was recorded: tests of the change, tests near it, what worked recently, what
//! was asked for; else a person is asked.

use serde_json::{Value, json};
use verify_run::run::CommandEnd;

use super::{agree, done, job_in, job_page, mend, mend_calc, passes, python_project, work};
use crate::lab::has_namespaces;
use crate::sandbox::{Sandbox, VERIFY_RUN, need};

const NEW_TEST: &str = "from calc import add\n\n\ndef test_b():\n    assert add(2, 2) == 4\n";

/// A project with a task in which nothing was run.
fn quiet_project() -> Option<Sandbox> {
    let sandbox = python_project()?;
    if !has_namespaces() {
        return None;
    }
    sandbox.verify_run(["task", "start", "next"]).prints();
    Some(sandbox)
}

/// Queues the change of the task on request.
fn learn(sandbox: &Sandbox, more: &[&str]) -> Value {
    let words = [&["library", "learn", "--task", "next", "--json"], more].concat();
    sandbox.verify_run(words).prints_json()
}

/// Runs the one job; its page.
fn worked(sandbox: &Sandbox) -> Value {
    agree(sandbox);
    let job = work(sandbox);
    job_page(sandbox, job["id"].as_str().expect("an id"))
}

fn entrypoint(page: &Value) -> String {
    let words = page["scenario"]["entrypoint"]["argv"].as_array().cloned().unwrap_or_default();
    words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_tests_of_a_change_show_it_where_nothing_was_run() {
    let Some(sandbox) = quiet_project() else { return };
    mend_calc(&sandbox);
    sandbox.write("tests/test_b.py", NEW_TEST);
    let page = done(&sandbox);
    assert_eq!(page["harvest"]["jobs"][0]["fix"], Value::Null, "{page}");
    assert_eq!(learn(&sandbox, &[])["jobs"], json!([]), "it is queued once");
    let page = worked(&sandbox);
    assert_eq!(
        (&page["scenario"]["source"], entrypoint(&page).as_str()),
        (&json!("diff"), "pytest tests/test_b.py"),
        "{page:#}"
    );
    assert_eq!((&page["state"], &page["judgement"]["evidence"]), (&json!("candidate"), &json!("proven")), "{page:#}");
    assert_eq!((&page["fix"], &page["minimal"]["kept"]), (&Value::Null, &json!(1)));
}

#[test]
fn tests_near_a_change_are_run_and_those_that_were_asked_for_before_them() {
    let Some(sandbox) = quiet_project() else { return };
    mend_calc(&sandbox);
    assert!(done(&sandbox)["harvest"].is_null(), "without tests nothing could fail without the change");
    assert_eq!(learn(&sandbox, &[])["jobs"].as_array().map(Vec::len), Some(1));
    let page = worked(&sandbox);
    assert_eq!(
        (&page["scenario"]["source"], entrypoint(&page).as_str()),
        (&json!("diff"), "pytest tests/test_calc.py"),
        "{page:#}"
    );
    // It passes, and nothing shows that it failed before.
    assert_eq!((&page["state"], &page["judgement"]["evidence"]), (&json!("no_artifact"), &json!("replayed")));
    sandbox.write("tests/test_other.py", "def test_other():\n    assert True\n");
    sandbox.commit("Another test");
    sandbox.write("calc.py", sandbox.read("calc.py") + "\n\nLAST = 1\n");
    let prompt = sandbox.tmp().join("prompt.md");
    std::fs::write(&prompt, "Add LAST, so that tests/test_other.py can use it.").expect("a file");
    let queued = learn(&sandbox, &["--prompt", prompt.to_str().expect("UTF-8")]);
    assert_eq!(queued["jobs"].as_array().map(Vec::len), Some(1), "{queued}");
    let page = worked(&sandbox);
    assert_eq!(
        (&page["scenario"]["source"], entrypoint(&page).as_str()),
        (&json!("prompt"), "pytest tests/test_other.py"),
        "{page:#}"
    );
}

#[test]
fn what_passed_in_the_folder_lately_is_run_before_what_the_files_suggest() {
    let Some(sandbox) = quiet_project() else { return };
    mend_calc(&sandbox);
    sandbox.commit("The fix");
    passes(&sandbox, &["--task", "earlier", "pytest", "-q"]);
    sandbox.settle();
    sandbox.write("calc.py", sandbox.read("calc.py").replace("'calc'", "'calculator'"));
    sandbox.write("tests/test_calc.py", sandbox.read("tests/test_calc.py").replace("'calc'", "'calculator'"));
    sandbox.verify_run(["task", "start", "next"]).prints();
    let page = done(&sandbox);
    assert_eq!(page["harvest"]["jobs"].as_array().map(Vec::len), Some(1), "{page}");
    let page = worked(&sandbox);
    assert_eq!(
        (&page["scenario"]["source"], entrypoint(&page).as_str(), &page["judgement"]["evidence"]),
        (&json!("last_known_good"), "pytest -q", &json!("proven")),
        "{page:#}"
    );
}

#[test]
fn a_change_that_nothing_tests_waits_for_a_scenario_that_a_person_writes() {
    let Some(sandbox) = quiet_project() else { return };
    sandbox.write("tool.py", "import calc\n\nprint(calc.name())\n");
    assert_eq!(learn(&sandbox, &[])["jobs"].as_array().map(Vec::len), Some(1));
    let page = worked(&sandbox);
    let id = page["id"].as_str().expect("an id").to_owned();
    assert_eq!(page["state"], "needs_manual_scenario", "{page:#}");
    let folder = format!(".runs/next/learn/{id}");
    let partial: Value = serde_json::from_str(&sandbox.read(format!("{folder}/scenario.partial.json"))).expect("JSON");
    assert_eq!(partial["entrypoint"]["argv"], json!([]), "{partial}");
    let manifest = sandbox.read(format!("{folder}/manifest.json"));
    assert!(manifest.contains("\"needs_manual_scenario\""), "{manifest}");
    let template = sandbox.verify_run(["library", "scenario", &id, "--json"]).prints_json();
    let path = template["path"].as_str().expect("a path").to_owned();
    let filled = sandbox
        .read(&path)
        .replace("- Entrypoint command:", "- Entrypoint command: `python3 tool.py`")
        .replace("- Approver (name/id):", "- Approver (name/id): Ada")
        .replace("- Date:", "- Date: 2026-11-26")
        .replace("acknowledgement:", "acknowledgement: I have read it");
    sandbox.write(&path, &filled);
    let requeue = ["library", "requeue", &id, "--by", "Ada", "--reason", "written", "--scenario", &path];
    assert_eq!(sandbox.verify_run(requeue).outcome().ended, CommandEnd::Exit(0));
    // What is in the file afterwards is not what was signed.
    sandbox.write(&path, filled.replace("python3 tool.py", "touch pwned"));
    let job = work(&sandbox);
    let page = job_page(&sandbox, &id);
    assert_eq!((&page["scenario"]["source"], entrypoint(&page).as_str()), (&json!("manual"), "python3 tool.py"));
    assert_eq!(
        (&job["state"], &page["judgement"]["evidence"]),
        (&json!("no_artifact"), &json!("replayed")),
        "{page:#}"
    );
}

#[test]
fn a_recorded_command_with_a_secret_waits_for_a_person() {
    let Some(sandbox) = quiet_project() else { return };
    sandbox.git(["rm", "-q", "-r", "tests"]);
    sandbox.write("checks/all.py", "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n");
    sandbox.commit("A check that nothing finds by its name");
    let token = "junit_suite_name=ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    mend(&sandbox, &["pytest", "-q", "-o", token, "checks/all.py"], mend_calc);
    let page = worked(&sandbox);
    assert_eq!(
        (&page["state"], &page["why"]),
        (&json!("needs_manual_scenario"), &json!("a word of the recorded command was a secret")),
        "{page:#}"
    );
    assert!(!page.to_string().contains("ghp_16C7"), "{page:#}");
}

#[test]
fn changed_pins_of_packages_wait_for_a_person() {
    let Some(sandbox) = quiet_project() else { return };
    mend_calc(&sandbox);
    sandbox.write("tests/test_b.py", NEW_TEST);
    sandbox.write("poetry.lock", "[[package]]\nname = \"a-package-that-is-nowhere\"\n");
    assert_eq!(done(&sandbox)["harvest"]["jobs"].as_array().map(Vec::len), Some(1));
    let Some(strace) = need("strace") else { return };
    agree(&sandbox);
    let id = job_in(&sandbox, "queued")["id"].as_str().expect("an id").to_owned();
    sandbox.settle();
    let log = sandbox.tmp().join("strace");
    let traced = ["-f", "-e", "trace=connect", "-o"];
    let work = sandbox.bare(strace).args(traced).arg(&log).args([VERIFY_RUN, "library", "work", "--json"]).outcome();
    assert_eq!(work.ended, CommandEnd::Exit(0), "{}", work.stderr());
    let page = job_page(&sandbox, &id);
    assert_eq!(page["state"], "needs_manual_scenario", "{}\n{page:#}", work.stdout());
    assert!(page["why"].as_str().is_some_and(|why| why.contains("packages")), "{page:#}");
    let log = std::fs::read_to_string(log).expect("a trace");
    assert!(log.contains("exited with 0") && !log.contains("AF_INET"), "{log}");
    let folder = format!(".runs/next/learn/{id}");
    let manifest: Value = serde_json::from_str(&sandbox.read(format!("{folder}/manifest.json"))).expect("JSON");
    assert_eq!(manifest["learning"]["scenario"]["reason"], "dependencies");
}
