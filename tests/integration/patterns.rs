//! Patterns as people see them: what recurs, the reasons for its confidence, what detectors find, also those of a
//! project.

use verify_run::run::CommandEnd;

use crate::sandbox::Sandbox;

/// A linter that finds one thing in `FILE`, in each of `tasks`.
fn recurring(tasks: &[&str]) -> Sandbox {
    let sandbox = Sandbox::repository();
    sandbox.tool("eslint", "printf '\\n%s\\n  1:1  error  '\\''x'\\'' is not defined  no-undef\\n\\n✖ 1 problem (1 error)\\n' \"$FILE\"; exit 1");
    for (index, task) in tasks.iter().enumerate() {
        let file = format!("web/forms/part{index}.js");
        sandbox.write(&file, "x");
        let path = sandbox.path(&file);
        sandbox.verify_run(["--sync", "--task", task, "eslint", "."]).env("FILE", &path).outcome();
        // Again in the same task: neither a further task nor any more belief.
        sandbox.verify_run(["--sync", "--task", task, "eslint", "."]).env("FILE", &path).outcome();
    }
    sandbox
}

#[test]
fn a_recurring_pattern_has_a_name_a_sentence_and_a_ledger_with_its_events() {
    let sandbox = recurring(&["one", "two", "three", "four"]);
    let list = sandbox.verify_run(["pattern", "list", "--recurring", "--json"]).prints_json();
    let pattern = &list["patterns"][0];
    assert_eq!(pattern["name"], "'x' is not defined (eslint no-undef)");
    assert_eq!(pattern["summary"], "eslint's no-undef finds “'x' is not defined”: 8 failures in 4 tasks.");
    assert_eq!((&pattern["failures"], &pattern["tasks"]), (&8.into(), &4.into()));
    assert_eq!(pattern["frequency"]["tasks_30_days"], 4);
    let id = pattern["id"].as_str().expect("an id");
    let page = sandbox.verify_run(["pattern", "show", id, "--json"]).prints_json();
    let steps = page["ledger"]["steps"].as_array().expect("a ledger");
    let runs: Vec<_> = sandbox.events().into_iter().filter(|event| event["kind"] == "run").collect();
    for (step, (task, after)) in steps.iter().zip([("one", 0.5), ("two", 0.55), ("three", 0.6), ("four", 0.65)]) {
        let run = runs.iter().find(|run| run["task"] == task).expect("the first run of the task");
        assert_eq!(step["event"], run["id"], "{step}");
        assert!((step["after"].as_f64().expect("a number") - after).abs() < 1e-9, "{step}");
    }
    assert_eq!(steps.len(), 4);
    assert!(page["findings"].as_array().expect("a list").iter().any(|finding| finding["detector"] == "recurring"));
    let text = sandbox.verify_run(["pattern", "show", id]).prints();
    assert!(text.contains("\nconfidence: 0.65, from 0.50\n"), "{text}");
    assert_eq!(text.matches("\n  +0.05 seen again in task ").count(), 3, "{text}");

    // The increments are settings.
    sandbox.write("verify-run.toml", "[confidence]\nfurther_task = 0.1\n[patterns]\nrecurring_tasks = 5\n");
    let page = sandbox.verify_run(["pattern", "show", id, "--json"]).prints_json();
    assert!((page["confidence"].as_f64().expect("a number") - 0.8).abs() < 1e-9, "{page}");
    assert_eq!(page["recurring"], false);
    let none = sandbox.verify_run(["pattern", "list", "--recurring"]).outcome();
    assert!(none.stderr().contains("5 tasks"), "{none:?}");
}

#[test]
fn what_is_said_in_a_lesson_of_several_patterns_is_about_the_one_whose_lesson_it_is() {
    let sandbox = Sandbox::repository();
    let found = "src/a.js: line 1, col 1, Error - foo is not defined (no-undef)\\n\
                 src/b.js: line 2, col 1, Error - Unexpected var (no-var)\\n";
    sandbox.tool("eslint", &format!("printf '{found}'; exit 1"));
    sandbox.verify_run(["--sync", "eslint", "src"]).outcome();
    let lesson = sandbox.lesson();
    let id = lesson.field("id").expect("an id");
    sandbox.verify_run(["lesson", "annotate", id, "--cause", "The globals moved"]).prints();
    let list = sandbox.verify_run(["pattern", "list", "--json"]).prints_json();
    let names = list["patterns"].as_array().expect("a list").iter().map(|it| it["name"].as_str().expect("a name"));
    let names: Vec<&str> = names.collect();
    let named = names.iter().filter(|name| **name == "The globals moved").count();
    assert_eq!((names.len(), named), (2, 1), "{names:?}");
}

#[test]
fn what_somebody_said_is_the_name() {
    let sandbox = recurring(&["one"]);
    let lesson = sandbox.lesson();
    let id = lesson.field("id").expect("an id");
    sandbox
        .verify_run([
            "lesson",
            "annotate",
            id,
            "--cause",
            "The global was renamed. No one said so.",
            "--rule",
            "Import it",
        ])
        .prints();
    let list = sandbox.verify_run(["pattern", "list", "--json"]).prints_json();
    assert_eq!(list["patterns"][0]["name"], "The global was renamed");
    assert_eq!(
        list["patterns"][0]["summary"],
        "The global was renamed. No one said so (2 failures in 1 task). Import it."
    );
}

#[test]
fn a_detector_is_added_by_a_file_alone() {
    let sandbox = recurring(&["one", "two", "three"]);
    let text = "[[detector]]\nname = \"globals\"\ntitle = \"Globals that are gone\"\n\
                summary = \"{hits} tasks used a global that is gone, most often in {file}.\"\nrule = \"Import it.\"\n\
                code = [\"no-undef\"]\nfile = [\"web/**\"]\n";
    sandbox.write(".verify-run/tools/mine.toml", text);
    let findings = sandbox.verify_run(["pattern", "list", "--findings"]).prints();
    assert!(
        findings.contains("globals\t3 tasks used a global that is gone, most often in web/forms/part0.js."),
        "{findings}"
    );
    sandbox.verify_run(["whitelist", "check"]).prints();

    sandbox.write(".verify-run/tools/mine.toml", text.replace("no-undef\"]", "no-undef\"]\nmin_share = 7.0"));
    let answer = sandbox.verify_run(["whitelist", "check"]).outcome();
    assert!(answer.stdout().contains("min_share is not from 0 to 1"), "{answer:?}");
    assert!(answer.stdout().contains("mine.toml:1"), "{answer:?}");
}

#[test]
fn a_candidate_page_is_written_on_request_and_never_over_somebody_s_words() {
    let sandbox = recurring(&["one", "two", "three"]);
    let list = sandbox.verify_run(["pattern", "list", "--json"]).prints_json();
    let id = list["patterns"][0]["id"].as_str().expect("an id").to_owned();
    assert!(!sandbox.path(".agent").exists(), "only on request");
    let path = sandbox.verify_run(["pattern", "show", &id, "--candidate"]).prints();
    let path = path.trim_end();
    assert!(path.starts_with(&format!(".agent/patterns/candidates/{id}-")), "{path}");
    let text = sandbox.read(path);
    assert!(text.starts_with("# Pattern `'x' is not defined (eslint no-undef)`\n"), "{text}");
    assert!(text.contains("6 failures in 3 tasks, recurring"), "{text}");
    // A page of the library weakens no check, whatever it quotes.
    sandbox.write(path, format!("{text}\n<!-- markdownlint-disable MD013 -->\n"));
    sandbox.git(["add", "--all"]);
    sandbox.verify_run(["check-diff", "--staged"]).expect(CommandEnd::Exit(0), "", "");
    sandbox.write(path, &text);

    // Written again while it is ours, left alone once it isn't.
    let again = sandbox.verify_run(["pattern", "show", &id, "--candidate", "--json"]).prints_json();
    assert_eq!(again["outcome"], "updated");
    sandbox.write(path, format!("{text}\nWe know why now.\n"));
    let answer = sandbox.verify_run(["pattern", "show", &id, "--candidate"]).outcome();
    assert!(answer.stderr().contains("it was edited and is left as it is"), "{answer:?}");
    assert!(sandbox.read(path).ends_with("We know why now.\n"));
    let active = path.replace("candidates", "active");
    sandbox.write(&active, "ours");
    let again = sandbox.verify_run(["pattern", "show", &id, "--candidate", "--json"]).prints_json();
    assert_eq!((again["outcome"].as_str(), again["path"].as_str()), (Some("reviewed"), Some(active.as_str())));
}

#[test]
fn a_library_behind_a_link_is_not_written() {
    let sandbox = recurring(&["one"]);
    let elsewhere = sandbox.tmp().join("elsewhere");
    std::fs::create_dir(&elsewhere).expect("a folder");
    std::os::unix::fs::symlink(&elsewhere, sandbox.path(".agent")).expect("a link");
    let list = sandbox.verify_run(["pattern", "list", "--json"]).prints_json();
    let answer = sandbox
        .verify_run(["pattern", "show", list["patterns"][0]["id"].as_str().expect("an id"), "--candidate"])
        .outcome();
    assert!(answer.stderr().contains("a link leads out of the work tree"), "{answer:?}");
    assert_eq!(std::fs::read_dir(&elsewhere).expect("a folder").count(), 0);
}

#[test]
fn a_run_that_names_no_problem_is_recorded_and_is_no_pattern() {
    let sandbox = Sandbox::repository();
    sandbox.write("verify-run.toml", "[advice]\nholdout_share = 0\n");
    sandbox.tool("pytest", "exit $CODE");
    for task in ["one", "two", "three", "four", "five", "six"] {
        sandbox.verify_run(["--sync", "--task", task, "pytest", "-q"]).env("CODE", "1").outcome();
    }
    let failed = sandbox.events().iter().filter(|event| event["kind"] == "run").count();
    assert_eq!(failed, 6, "each of them is recorded");
    let list = sandbox.verify_run(["pattern", "list", "--json"]).prints_json();
    assert_eq!(list["patterns"], serde_json::json!([]));
    let hinted = sandbox
        .verify_run(["--sync", "--hint", "stderr", "--task", "seven", "pytest", "-q"])
        .env("CODE", "1")
        .outcome();
    assert!(!hinted.stderr().contains("seen before"), "{}", hinted.stderr());
    let warned = sandbox.verify_run(["warn", "--files", "test_a.py", "--json"]).prints_json();
    assert_eq!(warned["warnings"], serde_json::json!([]), "{warned}");
    // The index made from the events is the same.
    sandbox.verify_run(["store", "rebuild"]).outcome();
    let list = sandbox.verify_run(["pattern", "list", "--json"]).prints_json();
    assert_eq!(list["patterns"], serde_json::json!([]));
}

#[test]
fn what_a_script_fails_with_is_named_by_the_command_as_typed() {
    let sandbox = Sandbox::repository();
    sandbox.write("package.json", r#"{"name": "a", "scripts": {"test": "vitest run"}}"#);
    sandbox.tool("npm", "exit 1");
    sandbox.verify_run(["--sync", "npm", "test"]).outcome();
    let last = sandbox.verify_run(["last"]).outcome();
    assert!(last.stdout().contains("npm test ended with exit code 1"), "{}", last.stdout());
    assert!(!last.stdout().contains("script:test"), "{}", last.stdout());
}
