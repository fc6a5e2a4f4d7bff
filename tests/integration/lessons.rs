//! Lessons from the failure to what people do with them, and the doctor over all of it.

mod taught;
mod unwanted;

use verify_run::run::CommandEnd;

use crate::sandbox::{Sandbox, files_in, need, tools};

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
    sandbox.verify_run(["--sync", "eslint", "."]).env("OUTPUT", output).expect(CommandEnd::Exit(1), &printed, "");
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
    let expected = lesson.text.replace("cause:\n", "# prettier-ignore\ncause: 'a: \"typo\"'\n");
    assert_eq!(changed.text, expected.replace("corrective_rule:\n", "corrective_rule: import it\n"));
    let shown = sandbox.verify_run(["lesson", "show", &id, "--json"]).prints_json();
    assert_eq!(shown["lesson"]["cause"], "a: \"typo\"");
    assert_eq!(sandbox.git(["status", "--porcelain", ".lessons"]), "");
}

#[test]
fn what_is_known_gets_no_second_lesson_and_what_is_new_one_for_itself() {
    let sandbox = failing();
    fail(&sandbox, &finding(&sandbox, "src/a.js", "'x' is not defined"));
    fail(&sandbox, &finding(&sandbox, "src/a.js", "'x' is not defined"));
    assert_eq!(sandbox.lessons().len(), 1);
    sandbox.write("verify-run.toml", "[lesson]\nwrite = \"always\"\n");
    fail(&sandbox, &finding(&sandbox, "src/a.js", "'x' is not defined"));
    let first = sandbox.lesson();
    let both = ["'x' is not defined", "'other' has no value"].map(|message| finding(&sandbox, "src/a.js", message));
    fail(&sandbox, &both.concat());
    let lessons = sandbox.lessons();
    assert_eq!(lessons.len(), 2);
    let second = lessons.iter().find(|lesson| lesson.path != first.path).expect("another file");
    assert_eq!(second.list("patterns").len(), 1, "a pattern is in one file: {}", second.text);
    assert_ne!(second.list("patterns"), first.list("patterns"));
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
    assert_eq!((outcome.ended, outcome.stderr()), (CommandEnd::Exit(0), "removed 1 lesson\n"));
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
    assert!(lesson.text.contains("eslint itself reports 2; 1 of them could be parsed"), "{}", lesson.text);
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
    assert_eq!(check("12").ended, CommandEnd::Exit(0));
    sandbox.settle();
    sandbox.write("broken", "");
    assert_eq!(check("31").ended, CommandEnd::Exit(1));
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
    assert_eq!((outcome.ended, outcome.stderr()), (CommandEnd::Exit(1), ""));
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

/// A linter that fails as long as the file `broken` is there.
fn breaking() -> Sandbox {
    let sandbox = Sandbox::repository();
    sandbox.tool("eslint", "if [ -e broken ]; then echo \"src/a.js:1:1: error: $(cat broken)\"; exit 1; fi");
    sandbox.write("src/a.js", "x");
    sandbox.commit("The project");
    sandbox
}

fn check(sandbox: &Sandbox, task: &str) {
    sandbox.verify_run(["--sync", "--task", task, "eslint", "."]).outcome();
    sandbox.settle();
}

/// Breaks and mends it in one task.
fn break_and_mend(sandbox: &Sandbox, task: &str, message: &str) {
    sandbox.write("broken", message);
    check(sandbox, task);
    std::fs::remove_file(sandbox.path("broken")).expect("it was broken");
    check(sandbox, task);
}

#[test]
fn a_lesson_goes_with_its_failure_and_its_text_stays() {
    let sandbox = breaking();
    sandbox.write("broken", "no such variable");
    check(&sandbox, "t1");
    let lesson = sandbox.lesson();
    let id = lesson.field("id").expect("an id").to_owned();
    std::fs::remove_file(sandbox.path("broken")).expect("it was broken");
    check(&sandbox, "t1");
    assert_eq!(sandbox.lessons().len(), 0, "one attempt, one task, not annotated");
    let listed = |all: &[&str]| {
        let words = [&["lesson", "list", "--json"], all].concat();
        sandbox.verify_run(&words).prints_json()["lessons"].as_array().expect("a list").clone()
    };
    assert_eq!(listed(&[]).len(), 0);
    let all = listed(&["--all"]);
    assert_eq!((all.len(), &all[0]["id"], &all[0]["withdrawn"]), (1, &id.as_str().into(), &true.into()));
    let shown = sandbox.verify_run(["lesson", "show", &id[..6]]).prints();
    assert!(shown.contains("no such variable") && shown.contains("Fixed on attempt 1"), "{shown}");
    // It is annotated: it is worth a file again.
    sandbox.verify_run(["lesson", "annotate", &id, "--cause", "a typo"]).prints();
    let annotated = sandbox.lesson();
    assert_eq!((annotated.path.clone(), annotated.field("cause")), (lesson.path, Some("a typo")));
    assert!(annotated.text.contains("Fixed on attempt 1"), "{}", annotated.text);
    break_and_mend(&sandbox, "t1", "no such variable");
    assert_eq!(sandbox.lesson().field("cause"), Some("a typo"));
    // The index computed from the events says the same.
    sandbox.verify_run(["store", "rebuild"]).outcome();
    assert_eq!(listed(&["--all"]).len(), 1);
}

#[test]
fn a_lesson_stays_when_it_recurred_took_long_or_was_edited() {
    // In another task: the same file, with what helped.
    let sandbox = breaking();
    break_and_mend(&sandbox, "t1", "no such variable");
    assert_eq!(sandbox.lessons().len(), 0);
    break_and_mend(&sandbox, "t2", "no such variable");
    let recurred = sandbox.lesson();
    assert!(recurred.text.contains("Fixed on attempt 1"), "{}", recurred.text);
    break_and_mend(&sandbox, "t3", "no such variable");
    assert_eq!(sandbox.lesson().path, recurred.path, "one file per pattern");
    // Three attempts.
    let sandbox = breaking();
    sandbox.write("broken", "no such variable");
    for attempt in 0..3 {
        sandbox.write("src/a.js", format!("attempt {attempt}"));
        check(&sandbox, "t1");
    }
    std::fs::remove_file(sandbox.path("broken")).expect("it was broken");
    check(&sandbox, "t1");
    assert!(sandbox.lesson().text.contains("Fixed on attempt 3"), "{}", sandbox.lesson().text);
    // A person's own words.
    let sandbox = breaking();
    sandbox.write("broken", "no such variable");
    check(&sandbox, "t1");
    let lesson = sandbox.lesson();
    std::fs::write(&lesson.path, lesson.text + "\nI know this one.\n").expect("edits");
    std::fs::remove_file(sandbox.path("broken")).expect("it was broken");
    check(&sandbox, "t1");
    assert!(sandbox.lesson().text.ends_with("I know this one.\n"));
}

#[test]
fn what_is_said_of_a_fix_reaches_the_lesson() {
    let sandbox = breaking();
    break_and_mend(&sandbox, "t1", "no such variable");
    let fix = sandbox.verify_run(["fix", "list", "--json"]).prints_json()["fixes"][0]["id"].clone();
    let fix = fix.as_str().expect("an id");
    sandbox.verify_run(["fix", "record", fix, "--cause", "a typo", "--rule", "run the linter: always"]).prints();
    let lesson = sandbox.lesson();
    assert_eq!(
        (lesson.field("cause"), lesson.field("corrective_rule")),
        (Some("a typo"), Some("run the linter: always"))
    );
    let part = lesson.text.split_once("## Fix\n").expect("the part").1;
    assert!(part.contains("Cause: a typo\n") && part.contains("Rule: run the linter: always\n"), "{part}");
    let hits = sandbox.verify_run(["lesson", "search", "typo", "--json"]).prints_json();
    assert_eq!(hits["lessons"][0]["cause"], "a typo");
}

#[test]
fn a_lesson_names_nothing_of_this_machine() {
    let sandbox = Sandbox::repository();
    let home = sandbox.home();
    sandbox.tool(
        "eslint",
        "echo \"$PWD/src/a.js:1:1: error: cannot read $PWD/src/b.js, $HOME/.cache/x or $TMPDIR/y\"; exit 1",
    );
    sandbox.write("src/a.js", "x");
    let command = format!("{}", sandbox.path("src/a.js").display());
    sandbox.verify_run(["--sync", "eslint", &command]).outcome();
    let text = sandbox.lesson().text;
    assert!(text.contains("cannot read src/b.js, ~/.cache/x or "), "{text}");
    for private in [sandbox.work(), home, sandbox.tmp()] {
        assert!(!text.contains(&*private.to_string_lossy()), "{} is in {text}", private.display());
    }
}

#[test]
fn the_doctor_names_the_line_that_keeps_lessons_out_of_an_sdist_and_it_does() {
    let Some(hatchling) = need("hatchling") else { return };
    let sandbox = failing();
    let wheel = "[tool.hatch.build.targets.wheel]\npackages = [\"src\"]\n";
    let project = format!(
        "[project]\nname = \"demo\"\nversion = \"1\"\n[build-system]\nrequires = []\n\
         build-backend = \"hatchling.build\"\n{wheel}"
    );
    sandbox.write("pyproject.toml", &project);
    fail(&sandbox, &finding(&sandbox, "src/a.js", "'x' is not defined"));
    let packed = || {
        sandbox.bare(&hatchling).args(["build", "-t", "sdist"]).outcome();
        sandbox.bare("tar").args(["tzf", "dist/demo-1.tar.gz"]).prints().contains(".lessons/")
    };
    let warned = || sandbox.verify_run(["doctor"]).outcome().stdout().to_owned();
    assert!(!packed() && warned().contains("hatchling packs .lessons into the sdist"), "{}", warned());
    let listed = sandbox.verify_run(["lesson", "list"]).prints();
    assert!(listed.contains("'x' is not defined") && !sandbox.path(".lessons").exists(), "{listed}");
    let line = "exclude = [\"/.lessons\"]";
    assert!(warned().contains(&format!("hint: write `{line}` under `[tool.hatch.build.targets.sdist]`")));
    sandbox.write("pyproject.toml", format!("{project}[tool.hatch.build.targets.sdist]\n{line}\n"));
    fail(&sandbox, &finding(&sandbox, "src/a.js", "'other' is not defined"));
    assert!(!packed() && !warned().contains("hatchling"));
    assert_eq!(sandbox.lessons().len(), 2, "those of before are there too");
}

#[test]
fn what_a_team_shares_stays_where_it_is_whatever_is_published() {
    let sandbox = failing();
    // The project keeps other things there, so lessons are shared where they were.
    sandbox.write("lessons/piano.md", "# Monday\n");
    fail(&sandbox, &finding(&sandbox, "src/a.js", "'x' is not defined"));
    sandbox.verify_run(["lesson", "share"]).prints();
    sandbox.write("pyproject.toml", "[build-system]\nrequires = []\nbuild-backend = \"hatchling.build\"\n");
    fail(&sandbox, &finding(&sandbox, "src/a.js", "'other' is not defined"));
    let here = || std::fs::read_dir(sandbox.path(".lessons")).expect("the folder").flatten();
    assert_eq!(here().filter(|file| file.path().extension().is_some_and(|end| end == "md")).count(), 2);
}

#[test]
fn a_title_says_the_command_as_it_was_typed_and_the_front_matter_who_found_it() {
    let sandbox = Sandbox::repository();
    sandbox.tool("ruff", "echo 'src/b.py:1:1: F401 `os` imported but unused'; exit 1");
    sandbox.verify_run(["--sync", "ruff", "check"]).outcome();
    let lesson = sandbox.lesson();
    assert!(lesson.text.contains("\n# ruff check failed: "), "{}", lesson.text);
    let npm = failing();
    npm.tool("npm", "echo '> eslint .'; eslint .");
    npm.write("package.json", r#"{"scripts": {"lint": "eslint ."}}"#);
    let output = finding(&npm, "src/a.js", "'x' is not defined");
    npm.verify_run(["--sync", "npm", "run", "lint"]).env("OUTPUT", output).outcome();
    let lesson = npm.lesson();
    assert!(lesson.text.contains("\n# npm run lint failed: "), "{}", lesson.text);
    assert_eq!((lesson.field("tool"), lesson.field("found_by")), (Some("script:lint"), Some("eslint")));
    let listed = npm.verify_run(["lesson", "list", "--json"]).prints_json();
    assert_eq!(listed["lessons"][0]["found_by"], "eslint");
}

#[test]
fn a_lesson_counts_no_problem_where_none_was_named() {
    let sandbox = Sandbox::repository();
    sandbox.keep_lessons();
    sandbox.tool("eslint", "exit 1");
    sandbox.verify_run(["--sync", "eslint", "."]).outcome();
    let lesson = sandbox.lesson();
    assert!(lesson.text.contains("exited with code 1 (") && !lesson.text.contains("problem found"), "{}", lesson.text);
}

#[test]
fn a_pattern_names_a_lesson_once_however_often_it_was_written() {
    let sandbox = breaking();
    for task in ["A", "B", "C"] {
        break_and_mend(&sandbox, task, "the same message");
    }
    let patterns = sandbox.verify_run(["pattern", "list", "--json"]).prints_json();
    let id = patterns["patterns"][0]["id"].as_str().expect("a pattern").to_owned();
    let page = sandbox.verify_run(["pattern", "show", &id, "--json"]).prints_json();
    assert_eq!(page["lessons"].as_array().map(Vec::len), Some(1), "{page}");
}

#[test]
fn a_file_that_pytest_could_not_collect_is_titled_by_what_was_wrong() {
    let Some(_) = need("pytest") else { return };
    let mut sandbox = Sandbox::repository();
    sandbox.add_path(tools());
    sandbox.write("test_a.py", "import nowhere_to_be_found\n");
    sandbox.verify_run(["--sync", "pytest", "-q"]).outcome();
    let lesson = sandbox.lesson();
    let title = lesson.text.lines().find(|line| line.starts_with("# pytest ")).expect("a title");
    assert!(title.contains("No module named 'nowhere_to_be_found'"), "{title}");
}
