//! The composite action.

use super::actions::Job;
use super::*;
use crate::sandbox::Invocation;

fn job<'a>(sandbox: &'a Sandbox, artifacts: &'a Path, command: &'a str) -> Job<'a> {
    Job { sandbox, inputs: vec![("command", command)], artifacts, page: String::new(), name: "test", closed: false }
}

/// The same command as a step of its own, as its author would write it.
fn bare_step(sandbox: &Sandbox, command: &str) -> Outcome {
    step_of(sandbox, command).stdin("").outcome()
}

fn step_of<'a>(sandbox: &'a Sandbox, command: &str) -> Invocation<'a> {
    let script = sandbox.tmp().join("step.sh");
    fs::write(&script, command).expect("a script");
    sandbox.bare("bash").args(["--noprofile", "--norc", "-e", "-o", "pipefail"]).arg(script).env("CI", "true")
}

/// The workflow commands in what a step printed, as the runner finds them: name, properties, message.
fn commands(text: &str) -> Vec<(String, String, String)> {
    let mut found = Vec::new();
    for line in text.lines() {
        let Some(command) = line.trim_start().strip_prefix("::") else {
            // The runner takes this anywhere in a line.
            assert!(!line.contains("##["), "{line}");
            continue;
        };
        let (head, message) = command.split_once("::").expect("a command has an end");
        let (name, properties) = head.split_once(' ').unwrap_or((head, ""));
        found.push((name.to_owned(), properties.to_owned(), message.to_owned()));
    }
    found
}

#[test]
fn the_check_is_the_step_and_its_failure_is_told() {
    let sandbox = project(true);
    let artifacts = sandbox.tmp().join("artifacts");
    let command = "echo before >&2\neslint src | cat";
    let done = job(&sandbox, &artifacts, command).run();
    assert_eq!(done.step("check").outcome, bare_step(&sandbox, command), "as the step, as it is bare");
    assert_eq!(done.step("check").outcome.ended, CommandEnd::Exit(1));
    let report = done.step("report");
    let expected = ("error", "file=src/a.js,line=1,col=5,title=eslint%3A no-undef", "'x' is not defined");
    let expected = (expected.0.to_owned(), expected.1.to_owned(), expected.2.to_owned());
    assert_eq!(commands(report.outcome.stdout()), [expected]);
    assert!(
        report.summary.starts_with("### verify-run: 1 of 1 check failed\n\n- **failed**: `bash "),
        "{}",
        report.summary
    );
    assert!(report.summary.contains("`src/a.js:1:5` `no-undef` `'x' is not defined`"), "{}", report.summary);
    assert_eq!((done.outputs["failed"].as_str(), done.outputs["known"].as_str()), ("1", "0"));
    assert_eq!(sandbox.git(["status", "--short"]), "");
    let events = sandbox.events();
    assert_eq!((events.len(), &events[0]["agent"]), (1, &"ci".into()));

    lint(&sandbox, 0, &[]);
    let done = job(&sandbox, &artifacts, command).run();
    assert_eq!(done.step("check").outcome, bare_step(&sandbox, command));
    assert_eq!(commands(done.step("report").outcome.stdout()), []);
    assert!(done.step("report").summary.contains("1 check passed"));
    assert_eq!(done.outputs["failed"], "0");
}

#[test]
fn a_closed_stdin_is_to_the_command_what_it_is_bare() {
    let sandbox = project(true);
    let artifacts = sandbox.tmp().join("artifacts");
    let command = "if read -r line 2>/dev/null; then echo read; else echo $?; fi; eslint src";
    let mut job = job(&sandbox, &artifacts, command);
    job.closed = true;
    let done = job.run();
    assert_eq!(done.step("check").outcome, step_of(&sandbox, command).closed_fd(0).outcome());
    assert_eq!(done.outputs["failed"], "1");
}

#[test]
fn a_step_of_one_s_own_is_reported_by_another() {
    let sandbox = project(true);
    let step = |script: &str| {
        let file = sandbox.tmp().join("step.sh");
        fs::write(&file, script).expect("a script");
        // A step that names no shell.
        let shell = sandbox.bare("bash").arg("-e").arg(file).closed_fd(0).env("CI", "true");
        let page = sandbox.tmp().join("page");
        shell.env("GITHUB_ACTIONS", "true").env("GITHUB_RUN_ID", "5").env("GITHUB_STEP_SUMMARY", page).outcome()
    };
    let failed = step("verify-run eslint src\necho not reached\n");
    assert_eq!((failed.ended, failed.stdout()), (CommandEnd::Exit(1), sandbox.read("out.txt").as_str()));
    assert!(kill_the_rest(&sandbox));
    let told = succeeded(step("verify-run ci\n"));
    assert_eq!(commands(told.stdout()).len(), 1, "{told:?}");
    assert!(fs::read_to_string(sandbox.tmp().join("page")).expect("a page").contains("**failed**: `eslint src`"));
}

#[test]
fn the_step_ends_as_the_command_does() {
    let commands = [
        ("exit 7", CommandEnd::Exit(7)),
        ("false\ntouch reached", CommandEnd::Exit(1)),
        ("false | true", CommandEnd::Exit(1)),
        ("read -r line || echo closed", CommandEnd::Exit(0)),
        (
            "echo \"$0 $# ${VERIFY_RUN_COMMAND-unset} ${VERIFY_RUN_PROGRAM-unset}\" | sed 's/^[^ ]*//'",
            CommandEnd::Exit(0),
        ),
        ("kill -TERM $$", CommandEnd::Signal(15)),
        ("nosuchcommand 2>/dev/null", CommandEnd::Exit(127)),
        ("cat <<'E'\n${{ not.ours }} `x` $(x) \"\nE\nexit 3", CommandEnd::Exit(3)),
    ];
    let sandbox = project(true);
    let artifacts = sandbox.tmp().join("artifacts");
    for (command, wanted) in commands {
        let mut job = job(&sandbox, &artifacts, command);
        job.inputs.push(("segments", "false"));
        let done = job.run();
        assert_eq!(done.step("check").outcome, bare_step(&sandbox, command), "{command}");
        assert_eq!(done.step("check").outcome.ended, wanted, "{command}");
    }
    assert!(!sandbox.path("reached").exists());
}

#[test]
fn what_a_tool_says_gives_the_runner_no_commands() {
    let sandbox = project(true);
    let artifacts = sandbox.tmp().join("artifacts");
    let hostile = [
        (1, "::add-mask::a", "no-a"),
        (2, "x%0A::stop-commands::t ##[add-mask]b", "no-b"),
        (3, "<img src=x onerror=y> ``` </details> | [a](b) \u{1b}]0;t\u{7} \u{202e}", "no-c"),
        (4, "##[error]c", "no-d"),
    ];
    lint(&sandbox, 1, &hostile);
    let mut text = sandbox.read("out.txt");
    text.push_str("::error file=x::y\n::set-output name=failed::9\n::stop-commands::abc\n##[group]z\n</details>\n");
    sandbox.write("out.txt", text);
    let done = job(&sandbox, &artifacts, "eslint src").run();
    assert_eq!(done.step("check").outcome, bare_step(&sandbox, "eslint src"), "passed on as it is");
    for step in done.steps.iter().filter(|step| step.id != "check") {
        let found = commands(step.outcome.stdout());
        let names: Vec<_> = found.iter().map(|(name, ..)| name.as_str()).collect();
        // What it says to the runner itself is a finding, too.
        let wanted: &[&str] = if step.id == "report" { &["error"; 5] } else { &[] };
        assert_eq!(names, wanted, "{}: {found:?}", step.id);
        assert!(!step.outcome.stdout().contains(['\u{1b}', '\u{202e}']));
        commands(step.outcome.stderr());
    }
    let found = commands(done.step("report").outcome.stdout());
    assert_eq!(found[1].2, "x%250A::stop-commands::t ##[add-mask]b", "a line end that is none stays none");
    let page = &done.step("report").summary;
    assert!(!page.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{page}");
    assert!(
        page.contains("``<img src=x onerror=y> ```") || page.contains("<img src=x onerror=y> ``` </details>"),
        "{page}"
    );
    assert!(
        outside_of_code(page).matches("</details>").count() <= 1 && !outside_of_code(page).contains("<img"),
        "{page}"
    );
}

/// Markdown without its code spans and blocks: what is not only text.
fn outside_of_code(page: &str) -> String {
    let mut rest = page;
    let mut outside = String::new();
    while let Some(at) = rest.find('`') {
        outside.push_str(&rest[..at]);
        let ticks = rest[at..].len() - rest[at..].trim_start_matches('`').len();
        let after = &rest[at + ticks..];
        // A span ends with as many backticks as it began with, no more and no fewer.
        let end = after
            .match_indices(&"`".repeat(ticks))
            .map(|(end, _)| end)
            .find(|end| !after[..*end].ends_with('`') && !after[end + ticks..].starts_with('`'));
        rest = &after[end.expect("the end of a code span") + ticks..];
    }
    outside + rest
}

#[test]
fn a_page_that_is_nearly_full_is_not_dropped() {
    let sandbox = project(true);
    let artifacts = sandbox.tmp().join("artifacts");
    let message = "é".repeat(180);
    let many: Vec<_> = (1..=300).map(|line| (line, message.as_str(), "no-undef")).collect();
    lint(&sandbox, 1, &many);
    for (full, wanted) in [((1 << 20) - 20, ""), ((1 << 20) - 700, "### verify-run"), (0, "more problems")] {
        let mut job = job(&sandbox, &artifacts, "eslint src");
        job.page = "x".repeat(full);
        let done = job.run();
        let report = done.step("report");
        assert!(report.summary.contains(wanted) && (wanted.is_empty() == report.summary.is_empty()), "{full}");
        let annotations = commands(report.outcome.stdout());
        assert_eq!(annotations.len(), 10);
        assert!(annotations.iter().all(|(.., message)| message.chars().count() <= 4096));
        assert!(report.outcome.stdout().contains("errors more: a step shows 10 of each kind"));
    }
}

#[test]
fn a_later_job_knows_what_an_earlier_one_failed_with() {
    let (first, second) = (project(true), project(true));
    for project in [&first, &second] {
        lint(project, 1, &[(1, "'x' is not defined", "no-undef"), (2, "Unexpected var", "no-var")]);
    }
    let artifacts = first.tmp().join("artifacts");
    let done = job(&first, &artifacts, "eslint src").run();
    assert_eq!(done.outputs["known"], "0");
    let kept: Vec<_> = fs::read_dir(artifacts.join("verify-run-test-0")).expect("an artifact").flatten().collect();
    assert_eq!(kept.len(), 1, "one segment: {kept:?}");

    let later = Job { name: "later", ..job(&second, &artifacts, "true") };
    assert_eq!(later.run().outputs["failed"], "0", "an imported failure is not this job's");
    let later = Job { name: "later", ..job(&second, &artifacts, "eslint src") };
    let done = later.run();
    assert_eq!((done.outputs["failed"].as_str(), done.outputs["known"].as_str()), ("1", "1"));
    let page = &done.step("report").summary;
    assert_eq!(page.matches("  - seen before: ").count(), 2, "{page}");
    assert!(page.contains("1 time in 1 task"), "{page}");

    // Both are in what it keeps, for whoever comes next.
    let third = project(true);
    let done = Job { name: "third", ..job(&third, &artifacts, "true") }.run();
    assert_eq!(done.step("check").outcome.ended, CommandEnd::Exit(0));
    let status = third.verify_run(["store", "status", "--json"]).prints_json();
    assert_eq!(status["counts"]["failures"], 2, "{status}");
}

#[test]
fn masked_segments_tell_nothing_and_without_segments_there_are_none() {
    let sandbox = project(true);
    let artifacts = sandbox.tmp().join("artifacts");
    let mut masked = job(&sandbox, &artifacts, "eslint src");
    masked.inputs.extend([("masked", "true"), ("annotations", "false"), ("summary", "false")]);
    let done = masked.run();
    assert_eq!((done.step("report").outcome.stdout(), done.step("report").summary.as_str()), ("", ""));
    let file =
        fs::read_dir(artifacts.join("verify-run-test-0")).expect("an artifact").flatten().next().expect("a segment");
    let text = fs::read_to_string(file.path()).expect("a segment");
    assert!(!text.contains("✖ 1 problem") && !text.contains(sandbox.work().to_str().expect("UTF-8")), "{text}");

    let other = project(true);
    let artifacts = other.tmp().join("artifacts");
    let mut none = job(&other, &artifacts, "eslint src");
    none.inputs.push(("segments", "false"));
    none.run();
    assert!(!artifacts.exists());
}

#[test]
fn without_verify_run_the_command_runs_and_it_can_be_installed_on_the_way() {
    let sandbox = project(false);
    let artifacts = sandbox.tmp().join("artifacts");
    let done = job(&sandbox, &artifacts, "eslint src").run();
    assert_eq!(done.step("check").outcome, bare_step(&sandbox, "eslint src"));
    assert!(done.step("setup").outcome.stdout().starts_with("::warning title=verify-run::it is not installed"));
    assert_eq!(done.steps.len(), 2, "nothing else is run");

    let mut failing = job(&sandbox, &artifacts, "eslint src");
    failing.inputs.push(("install", "echo no network; false"));
    let done = failing.run();
    assert!(done.step("setup").outcome.stdout().contains("::warning title=verify-run::it could not be installed"));
    assert_eq!(done.step("check").outcome.ended, CommandEnd::Exit(1));

    let install = format!("mkdir -p tools && ln -sf '{VERIFY_RUN}' tools/vr");
    let mut installing = job(&sandbox, &artifacts, "eslint src");
    installing.inputs.extend([("install", install.as_str()), ("program", "tools/vr"), ("working-directory", "src/..")]);
    let done = installing.run();
    assert_eq!(done.outputs["failed"], "1", "{}", done.step("setup").outcome.stdout());
}
