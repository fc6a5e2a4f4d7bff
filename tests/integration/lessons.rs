//! Lessons from the failure to what people do with them, and the doctor over all of it.

use verify_run::run::Ended;

use crate::sandbox::{Sandbox, files_in};

/// A linter that fails with what `OUTPUT` says.
fn failing() -> Sandbox {
    let sandbox = Sandbox::repository();
    sandbox.tool("eslint", "printf '%b' \"$OUTPUT\"; exit 1");
    sandbox.write("src/a.js", "x");
    sandbox.write("src/b.js", "y");
    sandbox
}

/// What eslint prints for one finding, with `\n` as two characters.
fn finding(sandbox: &Sandbox, file: &str, message: &str) -> String {
    format!("\\n{}\\n  1:1  error  {message}  no-undef\\n\\n✖ 1 problem (1 error)\\n", sandbox.path(file).display())
}

fn fail(sandbox: &Sandbox, output: &str) {
    let printed = output.replace("\\n", "\n");
    sandbox.verify_run(["--sync", "eslint", "."]).env("OUTPUT", output).expect(Ended::Exit(1), &printed, "");
}

#[test]
fn a_lesson_is_listed_shown_and_annotated() {
    let sandbox = failing();
    fail(&sandbox, &finding(&sandbox, "src/a.js", "'x' is not defined"));
    let lesson = sandbox.lesson();
    assert_eq!(lesson.list("files"), ["src/a.js"]);
    let id = lesson.field("id").expect("an id").to_owned();
    let listed = sandbox.verify_run(["lesson", "list", "--json"]).prints_json();
    assert_eq!((&listed["schema"], &listed["lessons"][0]["id"]), (&1.into(), &id.as_str().into()));
    assert!(sandbox.verify_run(["lesson", "show", &id[..5]]).prints().contains("'x' is not defined"));
    sandbox.verify_run(["lesson", "annotate", &id[2..], "--cause", "a: \"typo\"", "--rule", "import it"]).prints();
    let changed = sandbox.lesson();
    let expected = lesson.text.replace("cause: \"\"", "cause: 'a: \"typo\"'");
    assert_eq!(changed.text, expected.replace("corrective_rule: \"\"", "corrective_rule: import it"));
    let shown = sandbox.verify_run(["lesson", "show", &id, "--json"]).prints_json();
    assert_eq!(shown["lesson"]["cause"], "a: \"typo\"");
    assert_eq!(sandbox.git(["status", "--porcelain", ".lessons"]), "");
}

#[test]
fn what_is_known_gets_no_second_lesson_unless_asked() {
    let sandbox = failing();
    fail(&sandbox, &finding(&sandbox, "src/a.js", "'x' is not defined"));
    fail(&sandbox, &finding(&sandbox, "src/a.js", "'x' is not defined"));
    assert_eq!(sandbox.lessons().len(), 1);
    sandbox.write("verify-run.toml", "[lesson]\nwrite = \"always\"\n");
    fail(&sandbox, &finding(&sandbox, "src/a.js", "'x' is not defined"));
    assert_eq!(sandbox.lessons().len(), 2);
}

#[test]
fn what_is_forgotten_stays_forgotten() {
    let sandbox = failing();
    let output = finding(&sandbox, "src/a.js", "'x' is not defined");
    fail(&sandbox, &output);
    let id = sandbox.lesson().field("id").expect("an id").to_owned();
    let said = sandbox.verify_run(["lesson", "forget", &id]).prints();
    assert_eq!(said, format!("forgot {id} and 1 pattern\n"));
    fail(&sandbox, &output);
    assert_eq!(sandbox.lessons().len(), 0);
    sandbox.write("verify-run.toml", "[lesson]\nwrite = \"always\"\n");
    fail(&sandbox, &output);
    assert_eq!(sandbox.lessons().len(), 0);
    fail(&sandbox, &finding(&sandbox, "src/b.js", "'another' is not defined"));
    assert_eq!(sandbox.lessons().len(), 1);
}

#[test]
fn pruning_leaves_what_somebody_wrote_in() {
    let sandbox = failing();
    fail(&sandbox, &finding(&sandbox, "src/a.js", "'x' is not defined"));
    let id = sandbox.lesson().field("id").expect("an id").to_owned();
    sandbox.verify_run(["lesson", "annotate", &id, "--resolution", "import x"]).prints();
    fail(&sandbox, &finding(&sandbox, "src/a.js", "'other' is not defined"));
    assert_eq!(sandbox.lessons().len(), 2);
    let outcome = sandbox.verify_run(["lesson", "prune", "--keep", "0"]).outcome();
    assert_eq!((outcome.ended, outcome.stderr()), (Ended::Exit(0), "removed 1 lesson\n"));
    assert_eq!(sandbox.lesson().field("id"), Some(id.as_str()));
    // Its pattern stays known.
    fail(&sandbox, &finding(&sandbox, "src/a.js", "'other' is not defined"));
    assert_eq!(sandbox.lessons().len(), 1);
}

#[test]
fn a_tool_that_counts_more_than_was_read_is_believed() {
    let sandbox = failing();
    let output = format!(
        "\\n{}\\n  1:1  error  'x' is not defined  no-undef\\n  ?:?  odd  something new\\n\\n✖ 2 problems (2 errors, 0 warnings)\\n",
        sandbox.path("src/a.js").display()
    );
    fail(&sandbox, &output);
    let lesson = sandbox.lesson();
    assert!(lesson.text.contains("`eslint` itself counts 2; 1 of them could be read"), "{}", lesson.text);
    assert!(lesson.text.contains("?:?  odd  something new"), "{}", lesson.text);
    let short = serde_json::json!([{"tool": "eslint", "said": 2, "found": 1}]);
    let events: String = sandbox.events().iter().map(ToString::to_string).collect();
    assert!(events.contains(&format!("\"shortfalls\":{short}")), "{events}");
    sandbox.write("out.txt", output.replace("\\n", "\n"));
    let parsed = sandbox.verify_run(["parse", "--command", "eslint .", "out.txt"]).prints_json();
    assert_eq!(parsed["shortfalls"], short);
}

#[test]
fn what_the_last_passing_run_said_is_not_why_the_next_one_fails() {
    let sandbox = Sandbox::repository();
    sandbox.tool("luacheck", "echo \"ERROR: the cache is cold, $MISSES misses\"\nif [ -f broken ]; then echo \"ERROR: no such user\"; exit 1; fi");
    let check = |misses: &str| sandbox.verify_run(["luacheck", "."]).env("MISSES", misses).outcome();
    assert_eq!(check("12").ended, Ended::Exit(0));
    sandbox.settle();
    sandbox.write("broken", "");
    assert_eq!(check("31").ended, Ended::Exit(1));
    sandbox.settle();
    let output = sandbox.lesson().text.split("## Output").nth(1).unwrap_or_default().to_owned();
    assert!(output.contains("ERROR: no such user"), "{output}");
    assert!(!output.contains("the cache is cold"), "{output}");
}

#[test]
fn sharing_lets_git_see_the_lessons() {
    let sandbox = failing();
    fail(&sandbox, &finding(&sandbox, "src/a.js", "'x' is not defined"));
    let seen = || {
        let status = sandbox.git(["status", "--porcelain", "-uall"]);
        status.lines().filter(|line| line.ends_with(".md")).map(|line| line[3..].to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(seen(), [""; 0]);
    sandbox.verify_run(["lesson", "share"]).prints();
    assert!(matches!(seen().as_slice(), [only] if only.starts_with("lessons/")), "{:?}", seen());
    fail(&sandbox, &finding(&sandbox, "src/b.js", "'y' is not defined"));
    assert_eq!(seen().len(), 2);
    assert!(!sandbox.path(".lessons").exists());
}

#[test]
fn a_failure_outside_of_a_repository_leaves_no_file_beside_the_users() {
    let sandbox = Sandbox::new();
    sandbox.tool("eslint", "echo 'src/a.js:1:1: error: no'; exit 1");
    for folder in [sandbox.work(), sandbox.home()] {
        let before = files_in(&folder);
        sandbox.verify_run(["--sync", "eslint", "."]).dir(&folder).outcome();
        assert_eq!(files_in(&folder), before);
        let listed = sandbox.verify_run(["lesson", "list", "--json"]).dir(&folder).prints_json();
        assert_eq!(listed["lessons"].as_array().map(Vec::len), Some(1), "{listed}");
    }
}

#[test]
fn a_secret_reaches_neither_the_lesson_nor_the_store() {
    let sandbox = failing();
    fail(
        &sandbox,
        &finding(&sandbox, "src/a.js", "bad call login(password=\\'hunter2-hunter2\\') to postgres://app:hunter3@db/x"),
    );
    let lesson = sandbox.lesson();
    assert!(lesson.text.contains("[redacted:"), "{}", lesson.text);
    assert_eq!(lesson.field("redactions"), Some("2"));
    for text in [lesson.text, sandbox.events().iter().map(ToString::to_string).collect()] {
        assert!(!text.contains("hunter2") && !text.contains("hunter3"), "{text}");
    }
}

#[test]
fn a_hundred_failures_are_one_bounded_lesson_with_every_file() {
    let sandbox = failing();
    let files: Vec<String> = (0..150).map(|n| format!("src/parts/component-{n:03}.js")).collect();
    for file in &files {
        sandbox.write(file, "x");
    }
    let output: String =
        files.iter().map(|file| finding(&sandbox, file, &format!("'{file}' is not defined"))).collect();
    fail(&sandbox, &output);
    let lesson = sandbox.lesson();
    assert!(lesson.text.len() <= 16 << 10, "{} bytes", lesson.text.len());
    assert_eq!(lesson.list("files"), files);
    assert!(lesson.text.contains("… and "));
}

#[test]
fn the_doctor_names_file_line_and_what_to_type() {
    let sandbox = failing();
    fail(&sandbox, &finding(&sandbox, "src/a.js", "'x' is not defined"));
    let well = sandbox.verify_run(["doctor"]).prints();
    assert!(!well.contains("problem  ") && !well.contains("warning  "), "{well}");
    sandbox.write("verify-run.toml", "[lesson]\nwrite = \"never\"\nnew_key = 1\n");
    sandbox.write(".lessons/2026-01-01-x-l-abcdefgh.md", "---\nschema: [\n---\n");
    let outcome = sandbox.verify_run(["doctor", "--json"]).outcome();
    assert_eq!((outcome.ended, outcome.stderr()), (Ended::Exit(1), ""));
    let report: serde_json::Value = serde_json::from_str(outcome.stdout()).expect("JSON");
    let findings = report["findings"].as_array().expect("a list");
    let bad: Vec<_> = findings.iter().filter(|finding| finding["status"] != "ok").collect();
    assert_eq!(bad.len(), 3, "{bad:#?}");
    for (finding, file, status) in [
        (bad[0], ".lessons/2026-01-01-x-l-abcdefgh.md", "problem"),
        (bad[1], "verify-run.toml", "problem"),
        (bad[2], "verify-run.toml", "warning"),
    ] {
        assert!(finding["file"].as_str().is_some_and(|path| path.ends_with(file)), "{finding}");
        assert!(finding["line"].is_u64() && finding["hint"].is_string(), "{finding}");
        assert_eq!(finding["status"], status, "{finding}");
    }
    // A broken file of people's never keeps the failure from being recorded.
    fail(&sandbox, &finding(&sandbox, "src/b.js", "'y' is not defined"));
    assert_eq!(
        sandbox.verify_run(["lesson", "list", "--json"]).prints_json()["lessons"].as_array().map(Vec::len),
        Some(2)
    );
}
