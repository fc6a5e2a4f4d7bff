//! Warnings are news: about other sessions' failures, in the files and tasks at hand, with what is known to do.

use verify_run::run::CommandEnd;

use super::{UNDEFINED, fail, linter, warn, whats};
use crate::sandbox::Sandbox;

const UNUSED: &str = "'fs' is defined but never used  no-unused-vars";

fn fail_in(sandbox: &Sandbox, session: &str, task: &str, file: &str, message: &str) {
    sandbox.write(file, "x");
    let run = sandbox.verify_run(["--sync", "--task", task, "--session", session, "eslint", "."]);
    let outcome = run.env("FILE", sandbox.path(file)).env("MESSAGE", message).outcome();
    assert_eq!(outcome.ended, CommandEnd::Exit(1));
}

fn pass(sandbox: &Sandbox, task: &str) {
    let run = sandbox.verify_run(["--sync", "--task", task, "--session", task, "eslint", "."]);
    assert_eq!(run.env("FILE", "").env("MESSAGE", "").outcome().ended, CommandEnd::Exit(0));
}

#[test]
fn what_failed_in_this_session_only_is_no_news() {
    let sandbox = linter();
    fail_in(&sandbox, "one", "A", "web/a.js", UNDEFINED);
    assert!(whats(&warn(&sandbox, "one", &["--files", "web/a.js"])).is_empty());
    assert_eq!(whats(&warn(&sandbox, "two", &["--files", "web/a.js"])).len(), 1);
    fail_in(&sandbox, "two", "B", "web/a.js", UNDEFINED);
    assert_eq!(whats(&warn(&sandbox, "one", &["--files", "web/a.js"])).len(), 1, "another session has it now");
}

#[test]
fn a_file_that_happened_to_be_changed_is_not_what_failed() {
    let sandbox = linter();
    sandbox.write("verify-run.toml", "[advice]\nholdout = false\n");
    sandbox.commit("Before");
    sandbox.write("app/pricing.py", "changed");
    fail_in(&sandbox, "one", "A", "web/util.js", UNUSED);
    sandbox.write("web/util.js", "mended");
    sandbox.write("app/pricing.py", "changed again");
    pass(&sandbox, "A");
    let answer = warn(&sandbox, "two", &["--files", "app/pricing.py"]);
    assert!(whats(&answer).is_empty(), "{answer}");
    let answer = warn(&sandbox, "two", &["--files", "web/util.js"]);
    assert_eq!(
        answer["warnings"][0]["avoid"], "Remove what an edit no longer uses",
        "a shipped detector's rule: {answer}"
    );
}

#[test]
fn tasks_like_this_one_and_of_its_kind_choose_warnings() {
    let sandbox = linter();
    for name in ["A", "B", "C", "D", "E"] {
        let title = format!("Validation work {name}");
        let start = ["task", "start", name, "--title", &title, "--category", "feature"];
        assert_eq!(sandbox.verify_run(start).env("VERIFY_RUN_SESSION", name).outcome().ended, CommandEnd::Exit(0));
        fail_in(&sandbox, name, name, "web/form.js", UNDEFINED);
    }
    for name in ["F", "G"] {
        let start = ["task", "start", name, "--title", "Print invoices", "--category", "bugfix"];
        assert_eq!(sandbox.verify_run(start).env("VERIFY_RUN_SESSION", name).outcome().ended, CommandEnd::Exit(0));
        pass(&sandbox, name);
    }
    let by_title = warn(&sandbox, "n", &["--task", "n", "--title", "Validation work Z"]);
    assert_eq!(whats(&by_title), ["'x' is not defined (eslint no-undef)"], "{by_title}");
    assert_eq!(by_title["warnings"][0]["how_often"], "in 5 of 5 tasks like this one");
    assert!(whats(&warn(&sandbox, "n", &["--task", "n", "--title", "Print receipts"])).is_empty());
    let by_kind = warn(&sandbox, "n", &["--task", "n", "--category", "feature"]);
    assert_eq!(whats(&by_kind).len(), 1, "{by_kind}");
    assert!(whats(&warn(&sandbox, "n", &["--task", "n", "--category", "bugfix"])).is_empty());
    let similar = |kind: &str| {
        let found = sandbox.verify_run(["task", "similar", "--category", kind, "--json"]).prints_json();
        let tasks = found["tasks"].as_array().expect("a list").clone();
        tasks.iter().map(|task| task["name"].as_str().expect("a name").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(similar("feature"), ["A", "B", "C", "D", "E"]);
    assert_eq!(similar("bugfix"), ["F", "G"]);
    assert!(similar("refactoring").is_empty());
    let named = warn(&sandbox, "n", &["--task", "n", "--title", "edit `web/form.js:3`, please"]);
    assert_eq!(whats(&named).len(), 1, "{named}");
    assert_eq!(named["files"], serde_json::json!(["web/form.js"]));
}

#[test]
fn a_folder_whose_changes_break_something_is_warned_of_with_its_share() {
    let sandbox = linter();
    sandbox.write("verify-run.toml", "[advice]\nholdout = false\n");
    sandbox.write("check.js", "x");
    sandbox.commit("Before");
    for (number, table) in ["users", "items", "orders", "carts", "bills"].into_iter().enumerate() {
        let task = format!("d{number}");
        sandbox.write(format!("database/{table}.sql"), "create");
        fail_in(&sandbox, &task, &task, "check.js", &format!("table {table} has no migration  migrations"));
        sandbox.write(format!("database/{table}.sql"), "create, with its migration");
        pass(&sandbox, &task);
        sandbox.commit(&task);
        let task = format!("o{number}");
        sandbox.write(format!("docs/{number}.md"), "text");
        pass(&sandbox, &task);
        sandbox.commit(&task);
    }
    let answer = warn(&sandbox, "n", &["--task", "n", "--files", "database/new.sql"]);
    let finding = answer["warnings"][0]["finding"].as_str().unwrap_or_default();
    assert!(finding.contains("of tasks that modify database/") && finding.contains("(5 of 5)"), "{answer}");
    assert!(whats(&answer)[0].contains("has no migration"), "{answer}");
    assert!(whats(&warn(&sandbox, "n", &["--task", "n", "--files", "docs/new.md"])).is_empty());
}

#[test]
fn warnings_are_numbered_as_they_are_shown() {
    let sandbox = linter();
    let rules = ["curly", "eqeqeq", "no-eval", "no-with", "radix"];
    for rule in rules {
        fail(&sandbox, "A", "web/a.js", &format!("Found something wrong with {rule}  {rule}"));
    }
    sandbox.write("verify-run.toml", "[advice]\nholdout_share = 0.5\n");
    let mut has_gap = false;
    for task in 0..8 {
        let task = format!("T{task}");
        let answer = warn(&sandbox, &task, &["--task", &task, "--files", "web/a.js"]);
        let ranks: Vec<u64> =
            answer["warnings"].as_array().expect("a list").iter().filter_map(|it| it["rank"].as_u64()).collect();
        assert_eq!(ranks, (1..=ranks.len() as u64).collect::<Vec<_>>(), "{answer}");
        has_gap |= answer["held_out"] != 0 && !ranks.is_empty();
    }
    assert!(has_gap, "some are held out of half of the tasks");
}
