//! From a failure to what made it go away, with real git and real tools.

mod attribution;
mod flakes;

use serde_json::Value;
use verify_run::run::CommandEnd;

use crate::sandbox::{Invocation, Outcome, Sandbox, need, tools, wait_until};

/// A repository with a Python module and its test, and pytest on PATH.
fn python() -> Option<Sandbox> {
    need("pytest")?;
    let mut sandbox = Sandbox::repository();
    sandbox.add_path(tools());
    sandbox.write(".gitignore", "__pycache__\n.pytest_cache\n.ruff_cache\n");
    sandbox.write("shop.py", "def total(prices):\n    return sum(prices) + 1\n");
    sandbox.write("test_shop.py", "import shop\n\n\ndef test_total():\n    assert shop.total([1, 2]) == 3\n");
    sandbox.write("notes.txt", "nothing\n");
    sandbox.keep_lessons();
    sandbox.commit("A shop");
    Some(sandbox)
}

/// Runs a check and waits until it is recorded: what was written before it is older than the run, by more than a file
/// time can be off, and the next change is younger.
pub(crate) fn check(sandbox: &Sandbox, command: &[&str]) -> Outcome {
    tick(sandbox);
    let outcome = quiet(sandbox.verify_run(command)).outcome();
    sandbox.settle();
    tick(sandbox);
    outcome
}

/// Waits until a file that is written now has a later time than everything before: file times come from a clock that
/// ticks, and on a busy machine not often.
fn tick(sandbox: &Sandbox) {
    let now = std::time::SystemTime::now();
    let probe = sandbox.tmp().join("probe");
    wait_until("file times go on", || {
        std::fs::write(&probe, "").expect("a file");
        std::fs::metadata(&probe).and_then(|metadata| metadata.modified()).expect("its time") > now
    });
}

/// Python takes a cached module for fresh when size and second of its source agree.
fn quiet(invocation: Invocation<'_>) -> Invocation<'_> {
    invocation.env("PYTHONDONTWRITEBYTECODE", "1").env("CI", "true").env("VERIFY_RUN_SESSION", "s")
}

#[track_caller]
fn fails(sandbox: &Sandbox, command: &[&str]) {
    let outcome = check(sandbox, command);
    assert!(!outcome.ended.passed(), "{}{}", outcome.stdout(), outcome.stderr());
}

#[track_caller]
fn passes(sandbox: &Sandbox, command: &[&str]) {
    let outcome = check(sandbox, command);
    assert_eq!(outcome.ended, CommandEnd::Exit(0), "{}{}", outcome.stdout(), outcome.stderr());
}

fn fixes(sandbox: &Sandbox) -> Vec<Value> {
    let list = sandbox.verify_run(["fix", "list", "--json"]).prints_json();
    assert_eq!(list["schema"], 1);
    list["fixes"].as_array().expect("a list").clone()
}

/// The one fix, with its attempts.
#[track_caller]
fn fix(sandbox: &Sandbox) -> Value {
    let fixes = fixes(sandbox);
    assert_eq!(fixes.len(), 1, "{fixes:?}");
    let id = fixes[0]["id"].as_str().expect("an id");
    sandbox.verify_run(["fix", "show", &id[..6], "--json"]).prints_json()
}

fn steps(fix: &Value) -> Vec<(Option<u64>, &str, &str)> {
    let steps = fix["steps"].as_array().expect("attempts");
    let word = |value: &'_ Value| -> &'static str {
        let word = value.as_str().expect("a word").to_owned();
        Box::leak(word.into_boxed_str())
    };
    steps.iter().map(|step| (step["number"].as_u64(), word(&step["outcome"]), word(&step["means"]))).collect()
}

fn paths(step: &Value) -> Vec<&str> {
    let files = step["files"].as_array().map_or(&[][..], Vec::as_slice);
    files.iter().map(|file| file["path"].as_str().expect("a path")).collect()
}

#[test]
fn fail_edit_pass_gives_a_resolved_failure_the_exact_diff_and_a_lesson_with_its_fix() {
    let Some(sandbox) = python() else { return };
    fails(&sandbox, &["pytest", "-q"]);
    assert!(sandbox.lesson().text.contains("Not known yet."));
    sandbox.write("shop.py", "def total(prices):\n    return sum(prices)\n");
    passes(&sandbox, &["pytest", "-q"]);
    let fix = fix(&sandbox);
    assert_eq!(
        (fix["state"].as_str(), fix["high_value"].as_bool(), fix["confirmed"].as_bool()),
        (Some("success"), Some(true), Some(false))
    );
    assert_eq!(fix["status_reason"], "its task is not over yet");
    assert_eq!(steps(&fix), [(Some(1), "success", "edit")]);
    let step = &fix["steps"][0];
    assert_eq!(paths(step), ["shop.py"]);
    let diff = step["diff"].as_str().expect("a diff");
    let expected = "@@ -1,2 +1,2 @@\n def total(prices):\n-    return sum(prices) + 1\n+    return sum(prices)\n";
    assert!(diff.ends_with(expected), "{diff}");
    assert_eq!(step["trees"]["exact"], true);
    assert_eq!(step["fixed"]["count"], 1);
    assert_eq!(step["fixed"]["first"][0]["test"].as_str().map(|test| test.contains("test_total")), Some(true));
    let lesson = sandbox.lesson();
    assert!(lesson.text.contains("-    return sum(prices) + 1\n+    return sum(prices)\n"), "{}", lesson.text);
    assert!(lesson.text.contains("Unconfirmed when this was written"), "{}", lesson.text);
    let id = fix["id"].as_str().expect("an id");
    assert!(lesson.text.contains(&format!("verify-run fix show {id}")), "{}", lesson.text);
    assert_eq!(sandbox.git(["status", "--short"]), " M shop.py\n");
    // The strategy and the gotcha that it makes.
    let (strategy, gotcha) = (&fix["strategies"][0], &fix["gotchas"][0]);
    assert_eq!((&strategy["technique"], &strategy["label"]), (&"shape".into(), &"+return sum(prices)".into()));
    assert_eq!(
        (&strategy["successes"], &strategy["tries"], &strategy["high_value"]),
        (&1.into(), &1.into(), &true.into())
    );
    assert_eq!((&gotcha["strategy"], &gotcha["confirmed"]), (&strategy["id"], &false.into()));
    assert_eq!(gotcha["confidence"]["value"].as_f64().map(|value| (value * 100.0).round()), Some(70.0));
    let pattern = gotcha["pattern"].as_str().expect("an id");
    sandbox.verify_run(["fix", "record", id, "--cause", "One too many", "--rule", "Sum nothing else."]).prints();
    let page = sandbox.verify_run(["pattern", "show", pattern, "--json"]).prints_json();
    assert_eq!((&page["gotcha"]["rule"], &page["gotcha"]["id"]), (&"Sum nothing else.".into(), &gotcha["id"]));
    assert_eq!(page["strategies"][0]["id"], strategy["id"]);
    let page = sandbox.verify_run(["pattern", "show", pattern]).prints();
    let line = "\n  fix: +return sum(prices) (worked 1 of 1 time, unconfirmed)\n";
    assert!(page.contains("\ngotcha: k-") && page.contains(line), "{page}");
    let shown = sandbox.verify_run(["fix", "show", id]).prints();
    assert!(shown.contains("\ngotcha: k-") && shown.contains("\n  rule: Sum nothing else.\n"), "{shown}");
    assert!(shown.contains(": fixed after 1 attempt, unconfirmed"), "{shown}");
    assert!(std::fs::read_dir(sandbox.state().join("open")).map_or(0, Iterator::count) == 0, "no failure is open");
}

#[test]
fn an_edit_without_effect_and_the_right_one_are_two_attempts_in_order() {
    let Some(sandbox) = python() else { return };
    fails(&sandbox, &["pytest", "-q"]);
    sandbox.write("notes.txt", "something else\n");
    fails(&sandbox, &["pytest", "-q"]);
    fails(&sandbox, &["pytest", "-q"]);
    sandbox.write("shop.py", "def total(prices):\n    return sum(prices)\n");
    passes(&sandbox, &["pytest", "-q"]);
    let fix = fix(&sandbox);
    assert_eq!(steps(&fix), [(Some(1), "failure", "edit"), (None, "failure", "none"), (Some(2), "success", "edit")]);
    assert_eq!(paths(&fix["steps"][0]), ["notes.txt"]);
    assert_eq!(paths(&fix["steps"][2]), ["shop.py"]);
    assert_eq!((fix["attempts"].as_u64(), fix["reruns"].as_u64()), (Some(2), Some(1)));
    let lesson = sandbox.lesson();
    assert!(lesson.text.contains("Changed before without effect:\n  notes.txt\n"), "{}", lesson.text);
    assert!(
        fixes(&sandbox).len() == 1 && sandbox.verify_run(["fix", "list", "--flakes"]).outcome().stdout().is_empty()
    );
}

#[test]
fn of_a_hundred_failing_tests_sixty_that_are_fixed_are_a_partial_outcome() {
    let Some(sandbox) = python() else { return };
    let tests: String =
        (0..100).map(|n| format!("def test_{n:03}():\n    assert shop.price({n}) == {n}\n\n\n")).collect();
    sandbox.write("test_shop.py", format!("import shop\n\n\n{tests}"));
    sandbox.write("shop.py", "def price(n):\n    return -1\n");
    sandbox.commit("A hundred tests");
    fails(&sandbox, &["pytest", "-q"]);
    sandbox.write("shop.py", "def price(n):\n    return n if n < 60 else -1\n");
    fails(&sandbox, &["pytest", "-q"]);
    let partial = fix(&sandbox);
    assert_eq!(steps(&partial), [(Some(1), "partial", "edit")]);
    let count = |step: &Value, set: &str| step[set]["count"].as_u64().unwrap_or(0);
    let counts = |step: &Value| ["fixed", "persisted", "introduced", "not_reached"].map(|set| count(step, set));
    assert_eq!(counts(&partial["steps"][0]), [60, 40, 0, 0]);
    let names = |step: &Value, set: &str| -> Vec<String> {
        let atoms = step[set]["first"].as_array().expect("atoms").iter();
        let tests =
            atoms.map(|atom| atom["test"].as_str().expect("a test").rsplit("test_").next().expect("a name").to_owned());
        let mut names: Vec<String> = tests.collect();
        names.sort();
        names
    };
    let numbers = |range: std::ops::Range<u32>| range.map(|n| format!("{n:03}")).collect::<Vec<_>>();
    assert_eq!(names(&partial["steps"][0], "fixed"), numbers(0..60));
    assert_eq!(names(&partial["steps"][0], "persisted"), numbers(60..100));
    sandbox.write("shop.py", "def price(n):\n    return n if n != 7 else 8\n");
    fails(&sandbox, &["pytest", "-q"]);
    sandbox.write("shop.py", "def price(n):\n    return n\n");
    passes(&sandbox, &["pytest", "-q"]);
    let whole = fix(&sandbox);
    assert_eq!(
        steps(&whole),
        [(Some(1), "partial", "edit"), (Some(2), "partial", "edit"), (Some(3), "success", "edit")]
    );
    assert_eq!(counts(&whole["steps"][1]), [40, 0, 1, 0]);
    assert_eq!(names(&whole["steps"][1], "introduced"), ["007"]);
    assert_eq!((whole["multi_step"].as_bool(), whole["high_value"].as_bool()), (Some(true), Some(false)));
}

#[test]
fn a_larger_pass_closes_a_smaller_failure_and_a_smaller_pass_only_its_part() {
    let Some(sandbox) = python() else { return };
    sandbox.write("test_other.py", "import shop\n\n\ndef test_other():\n    assert shop.total([]) == 0\n");
    sandbox.commit("Another test");
    fails(&sandbox, &["pytest", "-q", "test_shop.py"]);
    fails(&sandbox, &["pytest", "-q"]);
    sandbox.write("shop.py", "def total(prices):\n    return sum(prices) if prices else 1\n");
    passes(&sandbox, &["pytest", "-q", "test_shop.py"]);
    let states = || -> Vec<(String, String)> {
        let mut states: Vec<_> = fixes(&sandbox)
            .iter()
            .map(|fix| {
                (fix["command"].as_str().expect("a line").to_owned(), fix["state"].as_str().expect("a word").to_owned())
            })
            .collect();
        states.sort();
        states
    };
    let state = |command: &str, state: &str| (command.to_owned(), state.to_owned());
    assert_eq!(states(), [state("pytest -q", "partial"), state("pytest -q test_shop.py", "success")]);
    fails(&sandbox, &["pytest", "-q", "test_shop.py", "test_other.py"]);
    sandbox.write("shop.py", "def total(prices):\n    return sum(prices)\n");
    passes(&sandbox, &["pytest", "-q", "."]);
    let expected = [
        state("pytest -q", "success"),
        state("pytest -q test_shop.py", "success"),
        state("pytest -q test_shop.py test_other.py", "success"),
    ];
    assert_eq!(states(), expected);
    assert!(std::fs::read_dir(sandbox.state().join("open")).map_or(0, Iterator::count) == 0, "no failure is open");
}

#[test]
fn a_pass_in_a_line_counts_only_when_everything_is_joined_by_and() {
    let Some(sandbox) = python() else { return };
    fails(&sandbox, &["pytest", "-q"]);
    sandbox.write("shop.py", "def total(prices):\n    return sum(prices) + 2\n");
    for line in ["pytest -q || true", "pytest -q; true", "pytest -q | cat"] {
        passes(&sandbox, &["--shell", line]);
        assert_eq!(fixes(&sandbox), [] as [Value; 0], "{line}");
    }
    sandbox.write("shop.py", "def total(prices):\n    return sum(prices)\n");
    passes(&sandbox, &["--shell", "true && pytest -q"]);
    assert_eq!(steps(&fix(&sandbox)), [(Some(1), "success", "edit")]);
}

#[test]
fn a_command_between_a_failure_and_a_pass_over_the_same_tree_is_the_fix() {
    for recorded in [true, false] {
        if need("npm").is_none() || need("vitest").is_none() {
            return;
        }
        let mut sandbox = Sandbox::repository();
        sandbox.keep_lessons();
        sandbox.add_path(tools());
        sandbox.write("left/package.json", r#"{"name": "left", "version": "1.0.0", "main": "index.js"}"#);
        sandbox.write("left/index.js", "module.exports = (text) => text.trimStart();\n");
        sandbox.write(
            "app/package.json",
            r#"{"name": "app", "version": "1.0.0", "dependencies": {"left": "file:../left"}}"#,
        );
        sandbox.write("app/check.test.js", "const left = require('left');\nif (left(' a') !== 'a') process.exit(1);\n");
        sandbox.write(".gitignore", "node_modules\npackage-lock.json\n");
        sandbox.commit("An app");
        let run = |command: &[&str]| {
            tick(&sandbox);
            let outcome = quiet(sandbox.verify_run(command)).dir("app").outcome();
            sandbox.settle();
            tick(&sandbox);
            outcome
        };
        let test = ["node", "--test"];
        assert_eq!(run(&test).ended, CommandEnd::Exit(1), "{}", run(&test).stdout());
        let install = ["npm", "install", "--no-audit", "--no-fund", "--offline"];
        let installed = if recorded {
            run(&[&["--record"], &install[..]].concat())
        } else {
            quiet(sandbox.bare("npm")).args(&install[1..]).dir("app").outcome()
        };
        assert_eq!(installed.ended, CommandEnd::Exit(0), "{}{}", installed.stdout(), installed.stderr());
        tick(&sandbox);
        let passed = run(&test);
        assert_eq!(passed.ended, CommandEnd::Exit(0), "{}", passed.stdout());
        let fix = fix(&sandbox);
        let last = fix["steps"].as_array().expect("attempts").last().expect("one").clone();
        assert_eq!((last["outcome"].as_str(), last["means"].as_str()), (Some("success"), Some("command")), "{fix}");
        assert_eq!(last["changed_dependencies"], serde_json::json!(["app/node_modules"]));
        assert_eq!(paths(&last), [] as [&str; 0]);
        let lesson = sandbox.lesson().text;
        if recorded {
            assert_eq!(last["commands"][0]["line"], "npm install --no-audit --no-fund --offline");
            assert!(lesson.contains("\n  npm install --no-audit --no-fund --offline\n"), "{lesson}");
        }
        assert!(lesson.contains("Changed outside the repository:\n  app/node_modules\n"), "{lesson}");
        assert_eq!(sandbox.verify_run(["fix", "list", "--flakes"]).outcome().stdout(), "");
    }
}

#[test]
fn two_work_trees_do_not_mix() {
    let Some(sandbox) = python() else { return };
    sandbox.git(["worktree", "add", "--quiet", "-b", "other", "../other"]);
    let there = |command: &[&str]| {
        let outcome = quiet(sandbox.verify_run(command)).dir("../other").outcome();
        sandbox.settle();
        tick(&sandbox);
        outcome.ended.passed()
    };
    fails(&sandbox, &["pytest", "-q"]);
    assert!(!there(&["pytest", "-q"]));
    std::fs::write(sandbox.path("../other/shop.py"), "def total(prices):\n    return sum(prices) + 0\n")
        .expect("a file");
    assert!(there(&["pytest", "-q"]));
    let mut list = fixes(&sandbox);
    assert_eq!(list.len(), 1, "the other work tree's failure is open: {list:?}");
    assert_eq!(list.remove(0)["task"], "other");
    sandbox.write("shop.py", "def total(prices):\n    return sum(prices)\n");
    passes(&sandbox, &["pytest", "-q"]);
    let list = fixes(&sandbox);
    assert_eq!(
        list.iter().map(|fix| fix["state"].as_str().expect("a word")).collect::<Vec<_>>(),
        ["success", "success"]
    );
    for (fix, line) in list.iter().zip(["+    return sum(prices)\n", "+    return sum(prices) + 0\n"]) {
        let id = fix["id"].as_str().expect("an id");
        let page = sandbox.verify_run(["fix", "show", id, "--json"]).prints_json();
        assert_eq!(steps(&page), [(Some(1), "success", "edit")]);
        assert!(page["steps"][0]["diff"].as_str().expect("a diff").ends_with(line), "{page}");
    }
    let lessons = sandbox.lessons_in(&sandbox.path("../other"));
    assert!(lessons.iter().all(|lesson| !lesson.text.contains("return sum(prices)\n")), "its own fix only");
}

#[test]
fn a_rebase_between_failure_and_pass_is_survived() {
    let Some(sandbox) = python() else { return };
    sandbox.git(["switch", "--quiet", "--create", "topic"]);
    sandbox.write("topic.txt", "mine\n");
    sandbox.commit("My own");
    sandbox.git(["pack-refs", "--all"]);
    fails(&sandbox, &["pytest", "-q"]);
    sandbox.git(["switch", "--quiet", "main"]);
    for n in 0..20 {
        sandbox.write(format!("new/{n}.txt"), "from others\n");
    }
    sandbox.write("notes.txt", "changed by others\n");
    sandbox.commit("Others");
    sandbox.git(["switch", "--quiet", "topic"]);
    sandbox.write("shop.py", "def total(prices):\n    return sum(prices)\n");
    sandbox.commit("The fix");
    sandbox.git(["rebase", "--quiet", "main"]);
    tick(&sandbox);
    passes(&sandbox, &["pytest", "-q"]);
    let fix = fix(&sandbox);
    assert_eq!(steps(&fix), [(Some(1), "success", "edit")]);
    assert_eq!(paths(&fix["steps"][0]), ["shop.py"], "{fix}");
    assert_eq!(fix["steps"][0]["came_with_base"], 21);
    assert!(sandbox.lesson().text.contains("Left out: 21 files that came with a new base\n"));
}

#[test]
fn another_branch_says_nothing_of_a_failure_and_one_that_was_begun_there_goes_on() {
    let Some(sandbox) = python() else { return };
    sandbox.git(["switch", "--quiet", "--create", "broken"]);
    sandbox.write("test_shop.py", "import shop\n\n\ndef test_total():\n    assert shop.total([1, 2]) == 99\n");
    sandbox.commit("Break it");
    fails(&sandbox, &["pytest", "-q"]);
    sandbox.git(["switch", "--quiet", "main"]);
    sandbox.write("shop.py", "def total(prices):\n    return sum(prices)\n");
    tick(&sandbox);
    passes(&sandbox, &["pytest", "-q"]);
    assert_eq!(fixes(&sandbox), [] as [Value; 0]);
    sandbox.git(["checkout", "--quiet", "--", "."]);
    sandbox.git(["switch", "--quiet", "--create", "mended", "broken"]);
    sandbox.write("shop.py", "def total(prices):\n    return 99\n");
    sandbox.commit("Mend it");
    tick(&sandbox);
    passes(&sandbox, &["pytest", "-q"]);
    let fix = fix(&sandbox);
    assert_eq!((steps(&fix), paths(&fix["steps"][0])), (vec![(Some(1), "success", "edit")], vec!["shop.py"]));
}

#[test]
fn a_pass_reached_by_deleting_the_failing_test_is_weakened_and_no_fix() {
    let Some(sandbox) = python() else { return };
    sandbox.write("test_other.py", "def test_other():\n    assert True\n");
    sandbox.commit("Another test");
    fails(&sandbox, &["pytest", "-q"]);
    sandbox.write("test_shop.py", "import shop\n");
    passes(&sandbox, &["pytest", "-q"]);
    let fix = fix(&sandbox);
    assert_eq!((fix["state"].as_str(), &fix["confirmed"]), (Some("weakened"), &Value::Null));
    let mark = &fix["steps"][0]["weakened"][0];
    assert_eq!(
        (&mark["rule"], &mark["path"], &mark["line"]),
        (&"test-deleted".into(), &"test_shop.py".into(), &4.into()),
        "{fix}"
    );
    assert!(sandbox.lesson().text.contains("Not known yet."));
    let listed = sandbox.verify_run(["fix", "list", "--weakened"]).prints();
    assert!(listed.starts_with(fix["id"].as_str().expect("an id")), "{listed}");
    assert_eq!(sandbox.verify_run(["fix", "list", "--state", "success"]).outcome().stdout(), "");
}

#[test]
fn the_same_change_in_two_tasks_is_a_recipe_and_confirms_both() {
    let (Some(sandbox), Some(_)) = (python(), need("ruff")) else { return };
    for (n, name) in ["first", "second"].into_iter().enumerate() {
        let file = format!("module_{n}.py");
        sandbox.write(&file, format!("import os\n\n\ndef f():\n    return {n}\n"));
        sandbox.commit("A module");
        fails(&sandbox, &["--task", name, "ruff", "check", "."]);
        sandbox.write(&file, format!("def f():\n    return {n}\n"));
        passes(&sandbox, &["--task", name, "ruff", "check", "."]);
    }
    let list = sandbox.verify_run(["fix", "list", "--confirmed", "--json"]).prints_json();
    let confirmed = list["fixes"].as_array().expect("a list");
    assert_eq!(confirmed.len(), 2, "{list}");
    assert!(confirmed.iter().all(|fix| fix["status_reason"] == "the same change worked 2 times"), "{list}");
    let rate = serde_json::json!([{"category": "lint_error", "workflows": 2, "fixed": 2, "quickly": 2, "attempts": 2, "success_rate": 1.0}]);
    assert_eq!(list["rates"], rate);
    let recipes = sandbox.verify_run(["fix", "list", "--recipes", "--json"]).prints_json();
    let shape =
        recipes["recipes"].as_array().expect("a list").iter().find(|recipe| recipe["kind"] == "shape").expect("one");
    let figures = (&shape["label"], &shape["tasks"], &shape["attempts"], &shape["successes"], &shape["success_rate"]);
    assert_eq!(figures, (&"-import os".into(), &2.into(), &2.into(), &2.into(), &1.0.into()));
    let lesson = sandbox.lesson().text;
    assert!(lesson.contains("Confirmed when this was written: the same change worked 2 times."), "{lesson}");

    let id = confirmed[0]["id"].as_str().expect("an id");
    sandbox.verify_run(["fix", "record", id]).expect(
        CommandEnd::Exit(2),
        "",
        "verify-run: nothing to record: give --cause, --approach or --rule\n",
    );
    let recorded =
        ["fix", "record", id, "--cause", "a rest", "--rule", "remove what is not used", "--by", "me", "--json"];
    let page = sandbox.verify_run(recorded).prints_json();
    let said = &page["said"][0];
    assert_eq!(
        (&said["cause"], &said["rule"], &said["by"]),
        (&"a rest".into(), &"remove what is not used".into(), &"me".into())
    );
    assert!(sandbox.verify_run(["fix", "show", id]).prints().contains("rule (me): remove what is not used\n"));
    let only = |arguments: &[&str]| {
        let line = [&["fix", "list"], arguments].concat();
        sandbox.verify_run(line).outcome().stdout().lines().count()
    };
    assert_eq!(
        (only(&["--task", "first"]), only(&["--file", "module_1.py"]), only(&["--category", "test_failure"])),
        (1, 1, 0)
    );
    assert_eq!((only(&["--state", "success"]), only(&["--unconfirmed"]), only(&["--limit", "1"])), (2, 0, 1));
}

#[test]
fn a_failure_of_which_only_the_cut_summary_was_seen_is_the_same_failure() {
    for commands in [["--tb=short", "--tb=no"], ["--tb=no", "--tb=short"]] {
        let Some(sandbox) = python() else { return };
        let long = "a_name_that_is_so_long_that_the_summary_has_little_room_left_for_what_is_wrong";
        sandbox.write(
            "test_shop.py",
            format!("import shop\n\n\ndef test_{long}():\n    assert shop.total([1, 2]) == 3\n"),
        );
        for report in commands {
            let outcome = check(&sandbox, &["pytest", "-q", report]);
            assert_eq!(outcome.stdout().contains("E   "), report != "--tb=no", "{}", outcome.stdout());
        }
        let patterns = sandbox.verify_run(["pattern", "list", "--json"]).prints_json();
        assert_eq!(patterns["patterns"].as_array().map(Vec::len), Some(1), "{commands:?}: {patterns}");
        assert_eq!((&patterns["patterns"][0]["failures"], sandbox.lessons().len()), (&2.into(), 1), "{commands:?}");
    }
}
