//! `verify-run ci` and the templates in `hooks/ci`: their scripts are run as each system runs them.

mod actions;
mod github;
mod others;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::Value;
use verify_run::run::CommandEnd;

use crate::sandbox::{Outcome, Sandbox, VERIFY_RUN};

/// A file of this repository.
fn own(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("a project file")
}

/// A YAML document, as JSON.
fn yaml(path: &str) -> Value {
    serde_saphyr::from_str(&own(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A project with a linter that prints `out.txt` and exits as `code` says; every one has the same.
fn project(has_verify_run: bool) -> Sandbox {
    let sandbox = Sandbox::repository();
    sandbox.tool("eslint", "cat out.txt; exit $(cat code)");
    sandbox.write("src/a.js", "x");
    sandbox.write(".gitignore", "out.txt\ncode\n");
    sandbox.commit("The project");
    lint(&sandbox, 1, &[(1, "'x' is not defined", "no-undef")]);
    if has_verify_run {
        symlink(VERIFY_RUN, sandbox.home().join("../bin/verify-run")).expect("verify-run on PATH");
    }
    sandbox
}

/// Decides what the linter finds: line, message, rule.
fn lint(sandbox: &Sandbox, code: u8, found: &[(usize, &str, &str)]) {
    let mut text = format!("\n{}\n", sandbox.path("src/a.js").display());
    for (line, message, rule) in found {
        text.push_str(&format!("  {line}:5  error  {message}  {rule}\n"));
    }
    let count = found.len();
    text.push_str(&format!("\n✖ {count} problems ({count} errors, 0 warnings)\n"));
    sandbox.write("out.txt", text);
    sandbox.write("code", code.to_string());
}

/// Ends everything that was left behind, as systems do when a step or a job is over. Whether the run that it ended is
/// recorded already.
fn kill_the_rest(sandbox: &Sandbox) -> bool {
    let events = sandbox.state().join("events");
    let is_recorded = fs::read_dir(events).is_ok_and(|mut entries| entries.next().is_some());
    for (id, _) in sandbox.processes() {
        let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(id), nix::sys::signal::Signal::SIGKILL);
    }
    is_recorded
}

#[track_caller]
fn succeeded(outcome: Outcome) -> Outcome {
    assert_eq!(outcome.ended, CommandEnd::Exit(0), "{}{}", outcome.stdout(), outcome.stderr());
    outcome
}

#[test]
fn outside_of_ci_the_system_has_to_be_named_and_then_the_last_run_is_reported() {
    let sandbox = project(true);
    let unknown = sandbox.verify_run(["ci"]).outcome();
    assert_eq!(unknown.ended, CommandEnd::Exit(2));
    assert!(unknown.stderr().contains("verify-run ci --host github"), "{unknown:?}");
    sandbox.verify_run(["--sync", "eslint", "src"]).outcome();
    let reported = sandbox.verify_run(["ci", "--host", "other", "--json"]).prints_json();
    let files = ["verify-run-report/junit.xml", "verify-run-report/summary.md"];
    let expected =
        serde_json::json!({ "schema": 1, "host": "other", "runs": 1, "failed": 1, "known": 0, "files": files });
    assert_eq!(reported, expected);
    assert!(sandbox.read(files[1]).starts_with("### verify-run: 1 of 1 check failed\n"), "{}", sandbox.read(files[1]));
    assert_eq!(sandbox.git(["status", "--short"]), "", "the reports are no part of the project");

    let bad = sandbox.verify_run(["ci", "--since", "soon"]).outcome();
    assert_eq!(bad.ended, CommandEnd::Exit(2));
}

#[test]
fn a_report_that_can_not_be_written_fails_nobody_s_job() {
    let sandbox = project(true);
    sandbox.verify_run(["--sync", "eslint", "src"]).env("CI", "true").outcome();
    sandbox.write("file", "");
    let outcome = sandbox.verify_run(["ci", "--out", "file/below"]).env("CI", "true").outcome();
    assert_eq!(outcome.ended, CommandEnd::Exit(0));
    assert!(outcome.stderr().contains("cannot write file/below/junit.xml"), "{outcome:?}");
    // Where nothing was recorded there is nothing to say.
    let empty = Sandbox::repository();
    let outcome = succeeded(empty.verify_run(["ci"]).env("GITHUB_ACTIONS", "true").outcome());
    assert_eq!((outcome.stdout(), outcome.stderr()), ("", "verify-run: 0 checks reported, 0 failed, 0 seen before\n"));
}

#[test]
fn each_check_of_a_job_is_reported_by_its_newest_run_and_another_job_s_is_not() {
    let sandbox = project(true);
    sandbox.tool("pytest", "exit 5");
    let job =
        |id: &str, arguments: &[&str]| sandbox.verify_run(arguments).env("CI", "true").env("CI_JOB_ID", id).outcome();
    job("1", &["eslint", "src"]);
    job("2", &["eslint", "src"]);
    job("2", &["pytest"]);
    lint(&sandbox, 0, &[]);
    job("2", &["eslint", "src"]);
    let count = |id: &str| {
        let reported: Value = serde_json::from_slice(&job(id, &["ci", "--json"]).stdout).expect("JSON");
        [&reported["runs"], &reported["failed"], &reported["known"]].map(|n| n.as_u64().expect("a number"))
    };
    assert_eq!(count("2"), [2, 1, 0]);
    assert_eq!(count("1"), [1, 1, 0]);
    assert_eq!(count("3"), [0, 0, 0]);
    let since = job("2", &["ci", "--json", "--since", "2100-01-01T00:00:00Z"]);
    assert!(since.stdout().contains("\"runs\":0"), "{since:?}");
}

#[test]
fn in_a_job_a_failure_is_recorded_before_the_wrapper_returns() {
    let variables = ["GITHUB_ACTIONS", "GITLAB_CI", "BUILDKITE", "JENKINS_URL"];
    for variable in variables {
        let sandbox = project(true);
        // More than is written down on the way.
        let long = "line of output\n".repeat(40_000);
        sandbox.write("out.txt", sandbox.read("out.txt") + &long);
        let outcome = sandbox.verify_run(["eslint", "src"]).env(variable, "true").outcome();
        assert_eq!(outcome.ended, CommandEnd::Exit(1));
        assert!(kill_the_rest(&sandbox), "{variable}: recorded when the wrapper returned");
        let last = sandbox.verify_run(["last", "--json"]).prints_json();
        assert_eq!(
            (&last["recorded"], &last["items"][0]["code"]),
            (&true.into(), &"no-undef".into()),
            "{variable}: {last}"
        );
    }
}

#[test]
fn templates_are_the_files_of_this_repository() {
    let files = [
        ("github", "hooks/ci/github/action.yml"),
        ("gitlab", "hooks/ci/gitlab.yml"),
        ("buildkite", "hooks/ci/buildkite.yml"),
        ("jenkins", "hooks/ci/Jenkinsfile"),
    ];
    let sandbox = Sandbox::new();
    for (host, file) in files {
        assert_eq!(sandbox.verify_run(["ci", "--template", host]).prints(), own(file));
    }
    assert_eq!(sandbox.verify_run(["ci", "--template", "other"]).outcome().ended, CommandEnd::Exit(2));
}
