//! GitLab, Buildkite and Jenkins.

use std::path::PathBuf;

use super::*;
use crate::report::{GITLAB, JSON, XML, validate};
use crate::sandbox::{Invocation, need, tools};

/// A project with `npm test`, which prints what a compiler says and fails as `code` says.
fn npm_project(has_verify_run: bool) -> Option<Sandbox> {
    need("npm")?;
    let mut sandbox = project(has_verify_run);
    sandbox.add_path(tools());
    sandbox.write(
        "package.json",
        r#"{"name": "p", "version": "1.0.0", "scripts": {"test": "cat tsc.txt; exit $(cat code)"}}"#,
    );
    sandbox
        .write("tsc.txt", "src/a.ts(3,5): error TS2322: Type 'string' is not assignable to type 'number' & \"x\".\n");
    sandbox.write("src/a.ts", "x");
    sandbox.commit("A test");
    Some(sandbox)
}

/// The lines of a job's scripts, one after the other.
fn lines(scripts: &[&Value]) -> String {
    let all = scripts.iter().flat_map(|script| script.as_array().expect("a list"));
    all.map(|line| format!("{}\n", line.as_str().expect("a line"))).collect()
}

fn junit_is_valid(sandbox: &Sandbox, path: &str) -> String {
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/jenkins-junit.xsd");
    let text = sandbox.read(path);
    validate(XML, &schema, std::slice::from_ref(&text));
    text
}

#[test]
fn gitlab_gets_its_reports_and_later_jobs_know_the_failure() {
    let template = yaml("hooks/ci/gitlab.yml");
    let job = &template[".verify-run"];
    let script = serde_json::json!(["$(command -v verify-run >/dev/null && echo verify-run && echo --) npm test"]);
    let reports = &job["artifacts"]["reports"];
    assert_eq!(job["artifacts"]["when"], "always");
    for (shell, arguments) in [("sh", &["-e"][..]), ("bash", &["-eo", "pipefail"])] {
        let Some(sandbox) = npm_project(true) else { return };
        let run = |text: &str, id: &str| {
            let file = sandbox.tmp().join("script.sh");
            fs::write(&file, text).expect("a script");
            let shell = sandbox.bare(shell).args(arguments).arg(file).env("CI", "true").env("GITLAB_CI", "true");
            shell.env("CI_JOB_ID", id).env("CI_PROJECT_DIR", sandbox.work()).outcome()
        };
        let outcome = run(&lines(&[&job["before_script"], &script]), "1");
        assert_eq!(outcome.ended, CommandEnd::Exit(1), "{}", outcome.stderr());
        assert_eq!(outcome.stdout(), sandbox.bare("npm").arg("test").outcome().stdout());
        assert!(kill_the_rest(&sandbox));
        succeeded(run(&lines(&[&job["after_script"]]), "1"));
        let junit = junit_is_valid(&sandbox, reports["junit"].as_str().expect("a path"));
        assert!(junit.contains("failures=\"1\"") && junit.contains("TS2322"), "{junit}");
        let quality = sandbox.read(reports["codequality"].as_str().expect("a path"));
        let schema: PathBuf = sandbox.tmp().join("schema.json");
        fs::write(&schema, GITLAB).expect("a schema");
        validate(JSON, &schema, std::slice::from_ref(&quality));
        let issues: Value = serde_json::from_str(&quality).expect("JSON");
        assert_eq!(issues[0]["location"], serde_json::json!({ "path": "src/a.ts", "lines": { "begin": 3 } }));
        assert_eq!(sandbox.git(["status", "--short"]), "", "nothing of it is the project's");

        // The next pipeline, in another clone, gets the cache.
        let Some(next) = npm_project(true) else { return };
        let cached = job["cache"][0]["paths"][0].as_str().expect("a path");
        fs::create_dir_all(next.path(cached)).expect("a folder");
        for file in crate::sandbox::files_in(&sandbox.path(cached)) {
            fs::copy(&file, next.path(cached).join(file.file_name().expect("a name"))).expect("a copy");
        }
        let before = lines(&[&job["before_script"]]);
        let text = succeeded(next.bare(shell).args(arguments).args(["-c", &before]).env("CI", "true").outcome());
        assert!(text.stdout().contains("new event"), "{text:?}");
        next.verify_run(["npm", "test"]).env("CI", "true").outcome();
        let reported =
            succeeded(next.verify_run(["ci", "--json"]).env("CI", "true").env("GITLAB_CI", "true").outcome());
        let reported: Value = serde_json::from_slice(&reported.stdout).expect("JSON");
        assert_eq!((&reported["failed"], &reported["known"]), (&1.into(), &1.into()));
    }
}

#[test]
fn gitlab_s_job_runs_without_verify_run() {
    let template = yaml("hooks/ci/gitlab.yml");
    let job = &template[".verify-run"];
    let Some(sandbox) = npm_project(false) else { return };
    let run = |script: &Value| sandbox.bare("sh").args(["-ec", &lines(&[script])]).env("GITLAB_CI", "true").outcome();
    succeeded(run(&job["before_script"]));
    succeeded(run(&job["after_script"]));
}

fn buildkite(sandbox: &Sandbox) -> Invocation<'_> {
    let pipeline = yaml("hooks/ci/buildkite.yml");
    let command = pipeline["steps"][0]["command"].as_str().expect("a command").replace("$$", "$");
    sandbox
        .bare("bash")
        .args(["-e", "-c", &command])
        .env("CI", "true")
        .env("BUILDKITE", "true")
        .env("BUILDKITE_JOB_ID", "b1")
}

#[test]
fn buildkite_s_step_ends_as_the_check_and_leaves_its_reports() {
    let Some(sandbox) = npm_project(true) else { return };
    let outcome = buildkite(&sandbox).outcome();
    assert_eq!(outcome.ended, CommandEnd::Exit(1));
    assert!(junit_is_valid(&sandbox, "verify-run-report/junit.xml").contains("TS2322"));
    assert!(sandbox.read("verify-run-report/summary.md").contains("**failed**: `npm test`"));
    assert_eq!(crate::sandbox::files_in(&sandbox.path("verify-run-report/segments")).len(), 1);
    sandbox.write("code", "0");
    succeeded(buildkite(&sandbox).outcome());
    assert!(junit_is_valid(&sandbox, "verify-run-report/junit.xml").contains("failures=\"0\""));

    let Some(bare) = npm_project(false) else { return };
    let outcome = buildkite(&bare).outcome();
    assert_eq!(
        (outcome.ended, outcome.stdout()),
        (CommandEnd::Exit(1), bare.bare("npm").arg("test").outcome().stdout())
    );
}

#[test]
fn jenkins_gets_its_reports_and_kills_nothing_that_matters() {
    let text = own("hooks/ci/Jenkinsfile");
    let scripts: Vec<&str> = text.split("'''").skip(1).step_by(2).collect();
    assert_eq!(scripts.len(), 2);
    for has_verify_run in [true, false] {
        let Some(sandbox) = npm_project(has_verify_run) else { return };
        let run = |script: &str| {
            // durable-task writes the script to a file and starts it like this.
            let file = sandbox.tmp().join("script.sh");
            fs::write(&file, script).expect("a script");
            let shell = sandbox.bare("sh").arg("-xe").arg(file).env("JENKINS_URL", "http://localhost/");
            shell.env("BUILD_TAG", "jenkins-p-1").env("JENKINS_NODE_COOKIE", "c").outcome()
        };
        let outcome = run(scripts[0]);
        assert_eq!(outcome.ended, CommandEnd::Exit(1));
        assert_eq!(outcome.stdout(), sandbox.bare("npm").arg("test").outcome().stdout());
        assert_eq!(kill_the_rest(&sandbox), has_verify_run);
        succeeded(run(scripts[1]));
        if has_verify_run {
            assert!(junit_is_valid(&sandbox, "verify-run-report/junit.xml").contains("TS2322"));
            let checkstyle = sandbox.read("verify-run-report/checkstyle.xml");
            assert!(
                checkstyle.contains("<file name=\"src/a.ts\">") && checkstyle.contains("tsc.TS2322"),
                "{checkstyle}"
            );
        }
    }
}

#[test]
fn each_template_is_valid_by_its_system_s_schema() {
    let Some(check) = need("check-jsonschema") else { return };
    let templates = [
        ("vendor.github-actions", "hooks/ci/github/action.yml"),
        ("vendor.github-workflows", "hooks/ci/github/gate.yml"),
        ("vendor.gitlab-ci", "hooks/ci/gitlab.yml"),
        ("vendor.buildkite", "hooks/ci/buildkite.yml"),
    ];
    let sandbox = Sandbox::new();
    for (schema, template) in templates {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(template);
        succeeded(sandbox.bare(&check).args(["--builtin-schema", schema]).arg(file).outcome());
    }
}

#[test]
fn the_scripts_of_the_templates_are_clean() {
    let Some(shellcheck) = need("shellcheck") else { return };
    let mut scripts = Vec::new();
    let action = yaml("hooks/ci/github/action.yml");
    let steps = action["runs"]["steps"].as_array().expect("steps").iter();
    scripts.extend(steps.filter_map(|step| step["run"].as_str()).map(|script| ("bash", script.to_owned())));
    let gitlab = yaml("hooks/ci/gitlab.yml");
    scripts.push(("sh", lines(&[&gitlab[".verify-run"]["before_script"]])));
    scripts.push(("sh", lines(&[&gitlab[".verify-run"]["after_script"]])));
    let buildkite = yaml("hooks/ci/buildkite.yml");
    scripts.push(("bash", buildkite["steps"][0]["command"].as_str().expect("a command").replace("$$", "$")));
    scripts.extend(own("hooks/ci/Jenkinsfile").split("'''").skip(1).step_by(2).map(|script| ("sh", script.to_owned())));
    let sandbox = Sandbox::new();
    for (shell, script) in scripts {
        let outcome = sandbox.bare(&shellcheck).args(["--shell", shell, "-"]).stdin(script.as_bytes()).outcome();
        assert_eq!((outcome.ended, outcome.stdout()), (CommandEnd::Exit(0), ""), "{script}");
    }
}
