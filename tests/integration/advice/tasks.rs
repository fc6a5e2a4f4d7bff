//! Tasks: announced or not, over in one way or another, like one another.

use serde_json::Value;
use verify_run::run::CommandEnd;

use super::{UNDEFINED, fail, linter};
use crate::sandbox::Sandbox;

fn run(sandbox: &Sandbox, session: &str) {
    let run = sandbox.verify_run(["--sync", "eslint", "."]).env("VERIFY_RUN_SESSION", session);
    run.env("FILE", sandbox.path("web/a.js")).env("MESSAGE", UNDEFINED).outcome();
}

fn show(sandbox: &Sandbox, task: &str) -> Value {
    sandbox.verify_run(["task", "show", task, "--json"]).prints_json()
}

#[test]
fn an_announced_task_takes_the_session_s_runs_until_it_is_done() {
    let sandbox = linter();
    sandbox.write("web/a.js", "x");
    let task = |arguments: &[&str]| {
        let outcome = sandbox.verify_run(["task"].iter().chain(arguments)).env("VERIFY_RUN_SESSION", "s").outcome();
        assert_eq!(outcome.ended, CommandEnd::Exit(0), "{}", outcome.stderr());
        outcome.stdout().to_owned()
    };
    let shown = task(&[
        "start",
        "LOGIN-1",
        "--title",
        "Mend the login form",
        "--category",
        "bugfix",
        "--files",
        "web/a.js,web/b.js",
        "--depends-on",
        "LOGIN-0",
    ]);
    assert!(shown.starts_with("LOGIN-1: Mend the login form\nopen since: "), "{shown}");
    run(&sandbox, "s");
    run(&sandbox, "other");
    let page = show(&sandbox, "LOGIN-1");
    assert_eq!((&page["schema"], &page["runs"], &page["failures"]), (&1.into(), &1.into(), &1.into()), "{page}");
    assert_eq!((&page["state"], &page["title"]), (&"open".into(), &"Mend the login form".into()));
    assert_eq!(page["files"], serde_json::json!(["web/a.js", "web/b.js"]));
    assert_eq!(page["depends_on"], serde_json::json!(["LOGIN-0"]));
    assert_eq!(page["category"], "bugfix");
    let signature = &page["signature"];
    assert!(signature["words"].as_array().is_some_and(|words| words.contains(&"login".into())), "{signature}");
    assert!(signature["globs"].as_array().is_some_and(|globs| globs.contains(&"web/**".into())), "{signature}");
    // The announced files are what is asked about when none are named.
    let asked = sandbox.verify_run(["warn", "--json"]).env("VERIFY_RUN_SESSION", "s").prints_json();
    assert_eq!((&asked["task"], asked["warnings"].as_array().map(Vec::len)), (&"LOGIN-1".into(), Some(1)), "{asked}");

    let done = task(&["done", "--outcome", "completed"]);
    assert!(done.contains("\ndone: ") && done.contains("said to be completed"), "{done}");
    run(&sandbox, "s");
    assert_eq!(show(&sandbox, "LOGIN-1")["runs"], 1, "runs are the branch's again");
    let itself = sandbox.verify_run(["task", "start", "a", "--depends-on", "a"]).outcome();
    assert_eq!(itself.ended, CommandEnd::Exit(2));
    assert!(
        sandbox.verify_run(["task", "show", "nobody"]).outcome().stderr().contains("hint: run `verify-run task list`")
    );
    let long = sandbox.verify_run(["task", "show", &"x".repeat(201)]).outcome();
    assert_eq!((long.ended, long.stderr()), (CommandEnd::Exit(2), "verify-run: a task's name has 1 to 200 bytes\n"));
}

#[test]
fn an_unattended_task_is_the_branch_and_ends_when_it_is_merged_or_gone() {
    let sandbox = linter();
    sandbox.write("verify-run.toml", "[advice]\nholdout = false\n");
    sandbox.write("web/a.js", "x");
    sandbox.commit("Before");
    for branch in ["merged", "gone", "kept"] {
        sandbox.git(["checkout", "-q", "-b", branch, "main"]);
        run(&sandbox, branch);
        sandbox.write("web/a.js", format!("{branch}\n"));
        sandbox.commit(branch);
        run(&sandbox, branch);
    }
    sandbox.git(["checkout", "-q", "main"]);
    sandbox.git(["merge", "-q", "--ff-only", "merged"]);
    sandbox.git(["branch", "-q", "-D", "gone"]);
    assert_eq!(show(&sandbox, "gone")["state"], "open", "not looked at yet");
    run(&sandbox, "main");
    for (branch, state, why) in
        [("merged", "done", "its branch was merged"), ("gone", "done", "its branch is gone"), ("kept", "open", "")]
    {
        let page = show(&sandbox, branch);
        assert_eq!(page["state"], state, "{page}");
        assert_eq!(page["end"]["why"].as_str().unwrap_or_default(), why);
    }
    let list = sandbox.verify_run(["task", "list", "--json"]).prints_json();
    assert_eq!(list["tasks"].as_array().map(Vec::len), Some(4), "{list}");
}

#[test]
fn tasks_like_this_one_are_found_by_paths_words_and_commands() {
    let sandbox = linter();
    fail(&sandbox, "login form", "src/login/form.js", UNDEFINED);
    fail(&sandbox, "login page", "src/login/page.js", UNDEFINED);
    fail(&sandbox, "invoices", "src/billing/invoice.js", UNDEFINED);
    let similar = |arguments: &[&str]| {
        let found = sandbox.verify_run(["task", "similar", "--json"].iter().chain(arguments)).prints_json();
        let tasks = found["tasks"].as_array().expect("a list").clone();
        tasks.iter().map(|task| task["name"].as_str().expect("a name").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(similar(&["--files", "src/login/form.js"])[..2], ["login form", "login page"]);
    assert_eq!(similar(&["--title", "Print an invoices list"]), ["invoices"]);
    assert_eq!(similar(&["login form", "--limit", "1"]), ["login page"]);
    assert_eq!(similar(&["--title", "something else"]), Vec::<String>::new());
    let page = show(&sandbox, "login form");
    let first = &page["similar"][0];
    assert_eq!((&first["name"], &first["commands"]), (&"login page".into(), &1.0.into()), "{page}");
    assert!(first["paths"].as_f64().is_some_and(|share| share > 0.2 && share < 1.0), "{first}");
}
