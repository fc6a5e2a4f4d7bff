//! Runs that prove nothing: flakes, and runs that did not get to what had failed.

use serde_json::Value;

use super::{fails, fix, fixes, passes, paths, python, quiet, steps, tick};
use crate::sandbox::{Sandbox, VERIFY_RUN, need, tools};

/// A shop with a fault in `total` and a sitting fault in `first`; `-x` stops pytest at the first test that fails.
fn with_two_faults(sandbox: &Sandbox) {
    sandbox.write(
        "shop.py",
        "def first(prices):\n    return prices[1]\n\n\ndef total(prices):\n    return sum(prices) + 1\n",
    );
    let tests = "def test_first():\n    assert shop.first([1, 2]) == 1\n\n\ndef test_total():\n    assert shop.total([1, 2]) == 3\n";
    sandbox.write("test_shop.py", format!("import shop\n\n\n{tests}"));
    sandbox.commit("Two faults");
}

#[test]
fn a_run_that_did_not_get_to_a_failing_test_says_nothing_of_it() {
    let Some(sandbox) = python() else { return };
    with_two_faults(&sandbox);
    let pytest = ["pytest", "-q", "-x"];
    fails(&sandbox, &pytest);
    sandbox.write(
        "shop.py",
        "def first(prices):\n    return prices[0]\n\n\ndef total(prices):\n    return sum(prices) + 1\n",
    );
    fails(&sandbox, &pytest);
    let count = |step: &Value, set: &str| step[set]["count"].as_u64().unwrap_or(0);
    let counts = |step: &Value| ["fixed", "persisted", "introduced", "not_reached"].map(|set| count(step, set));
    let open = fix(&sandbox);
    assert_eq!((steps(&open), counts(&open["steps"][0])), (vec![(Some(1), "failure", "edit")], [0, 0, 1, 1]));
    sandbox
        .write("shop.py", "def first(prices):\n    return prices[0]\n\n\ndef total(prices):\n    return sum(prices)\n");
    passes(&sandbox, &pytest);
    // The last run is an attempt at each of the two, since it failed: one attempt with two comparisons.
    let whole = fix(&sandbox);
    let mut steps = steps(&whole);
    steps.sort_unstable();
    assert_eq!(steps, [(Some(1), "failure", "edit"), (Some(2), "success", "edit"), (Some(2), "success", "edit")]);
    assert_eq!((whole["state"].as_str(), whole["attempts"].as_u64()), (Some("success"), Some(2)));
    let shown = sandbox.verify_run(["fix", "show", whole["id"].as_str().expect("an id")]).prints();
    assert!(shown.matches("\nattempt 2, ").count() == 2, "{shown}");
    assert!(shown.matches("\n  compared with the failure: ").count() == 1, "{shown}");
    let of = |test: &str| -> String {
        let steps = whole["steps"].as_array().expect("attempts").iter();
        let fixed = |step: &Value| step["fixed"]["first"][0]["test"].as_str().is_some_and(|name| name.contains(test));
        let mut found = steps.filter(|step| fixed(step) && count(step, "fixed") == 1);
        let step = found.next().expect("it was fixed");
        assert!(found.next().is_none());
        step["diff"].as_str().expect("a diff").to_owned()
    };
    assert!(
        of("test_first").contains("+    return prices[0]") && of("test_first").contains("+    return sum(prices)\n")
    );
    assert!(!of("test_total").contains("prices[0]\n-") && !of("test_total").contains("+    return prices[0]"));
    let lessons = sandbox.lessons();
    let about =
        |test: &str| lessons.iter().find(|lesson| lesson.text.contains(&format!("::{test}"))).expect("a lesson");
    assert!(about("test_first").text.contains("+    return prices[0]"), "{}", about("test_first").text);
    assert!(!about("test_total").text.contains("+    return prices[0]"), "{}", about("test_total").text);
}

#[test]
fn a_run_that_was_ended_before_it_got_there_makes_no_flake_of_an_earlier_failure() {
    let Some(sandbox) = python() else { return };
    fails(&sandbox, &["pytest", "-q"]);
    // Others mended it, and the tests were interrupted: pytest says so, and ends with a status of its own.
    sandbox.write("shop.py", "def total(prices):\n    return sum(prices)\n");
    let flag = sandbox.tmp().join("interrupt");
    let ending = "def pytest_collection_finish():\n    if os.path.exists";
    sandbox.write("conftest.py", format!("import os\n\n\n{ending}({flag:?}):\n        raise KeyboardInterrupt\n"));
    sandbox.commit("Total is right");
    std::fs::write(&flag, "").expect("a file");
    fails(&sandbox, &["pytest", "-q"]);
    std::fs::remove_file(&flag).expect("is there");
    passes(&sandbox, &["pytest", "-q"]);
    let whole = fix(&sandbox);
    assert_eq!((whole["state"].as_str(), whole["confirmed"].as_bool()), (Some("success"), Some(false)));
    assert_eq!(whole["status_reason"], "its task is not over yet", "the interrupted run is no reason for doubt");
    let step = whole["steps"]
        .as_array()
        .expect("attempts")
        .iter()
        .find(|step| step["outcome"] == "success" && step["means"] == "edit");
    assert!(paths(step.expect("a fix")).contains(&"shop.py"), "{whole}");
    let lessons = sandbox.lessons();
    let lesson = lessons.iter().find(|lesson| lesson.text.contains("test_total")).expect("its lesson stays");
    assert!(lesson.text.contains("+    return sum(prices)\n"), "{}", lesson.text);
    assert!(!lesson.text.to_lowercase().contains("flake"), "{}", lesson.text);
}

#[test]
fn a_rerun_that_passes_without_a_change_is_a_flake_and_no_fix() {
    let Some(sandbox) = python() else { return };
    sandbox.write(
        "test_shop.py",
        "import os\n\n\ndef test_weather():\n    assert os.path.exists(os.environ['TMPDIR'] + '/sun')\n",
    );
    sandbox.commit("A flaky test");
    fails(&sandbox, &["pytest", "-q"]);
    assert_eq!(sandbox.lessons().len(), 1);
    std::fs::write(sandbox.tmp().join("sun"), "").expect("the sun");
    passes(&sandbox, &["pytest", "-q"]);
    let flakes = sandbox.verify_run(["fix", "list", "--flakes", "--json"]).prints_json();
    let flakes = flakes["flakes"].as_array().expect("a list");
    assert_eq!(flakes.len(), 1, "{flakes:?}");
    assert_eq!(
        (&flakes[0]["proof"], &flakes[0]["failures"], &flakes[0]["runs"]),
        (&"proven".into(), &1.into(), &2.into())
    );
    assert_eq!(flakes[0]["rate"], 0.5);
    let lesson = sandbox.lesson();
    assert!(lesson.text.contains("None: this is a proven flake.\n"), "{}", lesson.text);
    assert_eq!(fix(&sandbox)["state"], "flaky");
    assert_eq!(fix(&sandbox)["confirmed"], Value::Null);
    let rates = sandbox.verify_run(["fix", "list", "--json"]).prints_json()["rates"].clone();
    assert_eq!(rates, serde_json::json!([]), "a flake is no attempt at anything");
}

#[test]
fn an_edit_that_came_before_the_recorder_makes_no_flake() {
    let Some(sandbox) = python() else { return };
    // The recorder waits, as on a machine that is busy.
    std::fs::create_dir_all(sandbox.state()).expect("the state folder");
    let lock = std::fs::File::create(sandbox.state().join("recorder.lock")).expect("a file");
    lock.lock().expect("no one else");
    assert!(!sandbox.verify_run(["pytest", "-q"]).outcome().ended.passed());
    sandbox.settle();
    tick(&sandbox);
    sandbox.write("shop.py", "def total(prices):\n    return sum(prices)\n");
    drop(lock);
    sandbox.verify_run(["store", "status"]).prints();
    let taken = sandbox.snapshots();
    assert_eq!(taken.last().expect("the failing run's")["late"], true, "{taken:?}");
    passes(&sandbox, &["pytest", "-q"]);
    let flakes = sandbox.verify_run(["fix", "list", "--flakes", "--json"]).prints_json();
    assert_eq!(flakes["flakes"], serde_json::json!([]));
    let whole = fix(&sandbox);
    assert_eq!((whole["state"].as_str(), steps(&whole)), (Some("success"), vec![(Some(1), "success", "unknown")]));
    let done = sandbox.verify_run(["task", "done", "--json"]).prints();
    assert!(!done.contains("flaky"), "{done}");
}

#[test]
fn a_flake_is_proven_only_when_variables_and_programs_are_known_to_be_the_same() {
    let sandbox = Sandbox::repository();
    let tool = |version: &str| {
        let script = "[ -e $TMPDIR/sun ] && exit\necho \"a.lua:1:1: error: $WEATHER in the morning\"\nexit 1";
        sandbox.tool("luacheck", &format!("# {version}\n{script}"));
    };
    tool("1");
    sandbox.write("verify-run.toml", "[fix]\nenvironment = [\"SHOP_DB\"]\n");
    sandbox.commit("A flaky check");
    let run = |weather: &str, (name, value): (&str, &str)| {
        tick(&sandbox);
        let invocation = sandbox.verify_run(["luacheck", "."]).env("WEATHER", weather).env(name, value);
        let outcome = quiet(invocation).outcome();
        sandbox.settle();
        outcome.ended.passed()
    };
    // A failure, then a pass over the same tree; what is said of it.
    let rerun = |weather: &str, first, between: &dyn Fn(), second| {
        let _ = std::fs::remove_file(sandbox.tmp().join("sun"));
        assert!(!run(weather, first), "{weather}");
        between();
        std::fs::write(sandbox.tmp().join("sun"), "").expect("the sun");
        assert!(run(weather, second), "{weather}");
        let list = sandbox.verify_run(["fix", "list", "--flakes", "--json"]).prints_json();
        let flakes = list["flakes"].as_array().expect("a list");
        let flake = flakes.iter().find(|flake| flake["title"].as_str().is_some_and(|title| title.contains(weather)));
        let flake = flake.unwrap_or_else(|| panic!("{weather}: {flakes:?}"));
        let why = flake["why"].as_str().expect("a reason").to_owned();
        (flake["proof"].as_str().expect("a word").to_owned(), why.rsplit(" but ").next().unwrap_or_default().to_owned())
    };
    let utc = ("TZ", "UTC");
    let suspected = |why: &str| ("suspected".to_owned(), why.to_owned());
    let others = suspected("environment variables that affect checks differed");
    // The further names are known from the first recorder on.
    assert_eq!(rerun("rain", utc, &|| {}, utc), others);
    assert_eq!(rerun("hail", utc, &|| {}, utc).0, "proven");
    assert_eq!(rerun("snow", utc, &|| {}, ("TZ", "Asia/Tokyo")), others);
    assert_eq!(rerun("fog", ("SHOP_DB", "one"), &|| {}, ("SHOP_DB", "other-one")), others);
    assert_eq!(rerun("wind", utc, &|| tool("2"), utc), suspected("its program was changed in between"));
    assert_eq!(rerun("storm", utc, &|| {}, utc).0, "proven");
    let told = std::process::Command::new("grep").args(["-rlE", "other-one|Tokyo"]).arg(sandbox.state()).output();
    assert_eq!(String::from_utf8_lossy(&told.expect("grep").stdout), "", "values are kept nowhere");
}

#[test]
fn what_fails_over_a_tree_that_passed_is_suspected_and_discounts_nothing() {
    let Some(sandbox) = python() else { return };
    sandbox.write("shop.py", "def total(prices):\n    return sum(prices)\n");
    sandbox.write(
        "test_shop.py",
        "import os\n\nimport shop\n\n\ndef test_weather():\n    assert shop and not os.path.exists(os.environ['TMPDIR'] + '/rain')\n",
    );
    sandbox.commit("A flaky test");
    let flakes = || sandbox.verify_run(["fix", "list", "--flakes", "--json"]).prints_json()["flakes"].clone();
    passes(&sandbox, &["pytest", "-q"]);
    std::fs::write(sandbox.tmp().join("rain"), "").expect("rain");
    fails(&sandbox, &["pytest", "-q"]);
    assert_eq!(flakes()[0]["proof"], "suspected");
    std::fs::remove_file(sandbox.tmp().join("rain")).expect("sun");
    sandbox.write("shop.py", "def total(prices):\n    return 1\n");
    passes(&sandbox, &["pytest", "-q"]);
    let fix = fix(&sandbox);
    assert_eq!((&fix["state"], &fix["high_value"]), (&"success".into(), &true.into()));
    assert_eq!(fix["status_reason"], "its task is not over yet");
    let list = sandbox.verify_run(["fix", "list", "--json"]).prints_json();
    assert_eq!(list["rates"][0]["fixed"], 1, "{list}");
    // Twice in a row, then a pass: something outside of the tree may have changed.
    std::fs::write(sandbox.tmp().join("rain"), "").expect("rain");
    sandbox.write("notes.txt", "another tree\n");
    fails(&sandbox, &["pytest", "-q"]);
    fails(&sandbox, &["pytest", "-q"]);
    std::fs::remove_file(sandbox.tmp().join("rain")).expect("sun");
    passes(&sandbox, &["pytest", "-q"]);
    assert_eq!((&flakes()[0]["proof"], &flakes()[0]["pairs"]), (&"suspected".into(), &2.into()));
}

#[test]
fn two_runs_that_stop_at_different_tests_over_the_same_tree_are_no_flake() {
    let Some(sandbox) = python() else { return };
    with_two_faults(&sandbox);
    // As with tests in parallel or at random: the first to fail is random.
    let flag = sandbox.tmp().join("backwards");
    let order = "def pytest_collection_modifyitems(items):\n    if os.path.exists";
    sandbox.write("conftest.py", format!("import os\n\n\n{order}({flag:?}):\n        items.reverse()\n"));
    sandbox.commit("Any order");
    fails(&sandbox, &["pytest", "-q", "-x"]);
    std::fs::write(&flag, "").expect("a file");
    fails(&sandbox, &["pytest", "-q", "-x"]);
    assert_eq!(sandbox.verify_run(["fix", "list", "--flakes"]).outcome().stdout(), "");
    assert_eq!(steps(&fix(&sandbox)), [(None, "failure", "none")]);
}

/// A shell line in which `run` is the program under test.
fn line(sandbox: &Sandbox, line: &str) {
    tick(sandbox);
    let line = format!("run() {{ {VERIFY_RUN} \"$@\"; }}\n{line}");
    quiet(sandbox.bare("sh")).args(["-c", &line]).outcome();
    sandbox.settle();
    tick(sandbox);
}

fn flakes(sandbox: &Sandbox) -> Vec<Value> {
    let list = sandbox.verify_run(["fix", "list", "--flakes", "--json"]).prints_json();
    list["flakes"].as_array().expect("a list").clone()
}

#[test]
fn a_run_that_was_not_seen_whole_makes_no_flake_and_hides_no_fix() {
    for first in
        ["run pytest -v | head -3", "run pytest -q >/dev/null", "run pytest -q --tb=no", "run pytest -q | head -1"]
    {
        let Some(sandbox) = python() else { return };
        line(&sandbox, first);
        line(&sandbox, "run pytest -q");
        assert_eq!(flakes(&sandbox), [] as [Value; 0], "{first}");
        let open = fixes(&sandbox);
        assert!(open.iter().all(|fix| fix["state"] == "failure"), "{first}: {open:?}");
        sandbox.write("shop.py", "def total(prices):\n    return sum(prices)\n");
        passes(&sandbox, &["pytest", "-q"]);
        assert_eq!(flakes(&sandbox), [] as [Value; 0], "{first}");
        let fixed: Vec<Value> = fixes(&sandbox).into_iter().filter(|fix| fix["state"] == "success").collect();
        assert!(!fixed.is_empty(), "{first}");
        let list = sandbox.verify_run(["strategy", "list", "--json"]).prints_json();
        let strategies = list["strategies"].as_array().expect("a list");
        let helped = |it: &&Value| it["technique"] == "+return sum(prices)" && it["successes"] == 1;
        assert!(strategies.iter().any(|it| helped(&it)), "{first}: {strategies:?}");
    }
}

#[test]
fn a_cut_or_silent_run_is_recorded_as_partly_seen() {
    let Some(sandbox) = python() else { return };
    let seen = |sandbox: &Sandbox| {
        let events = sandbox.events();
        events.last().expect("a run")["partly_seen"].as_bool().unwrap_or(false)
    };
    line(&sandbox, "run pytest -q >/dev/null");
    assert!(seen(&sandbox), "{:?}", sandbox.events());
    line(&sandbox, "run pytest -q | cat");
    assert!(!seen(&sandbox));
    line(&sandbox, "run pytest -q 2>&1 | cat >/dev/null");
    assert!(!seen(&sandbox), "its reader read it all");
}

#[test]
fn a_test_has_one_name_whatever_folder_it_is_run_in() {
    let Some(sandbox) = python() else { return };
    for file in ["shop.py", "test_shop.py"] {
        std::fs::remove_file(sandbox.path(file)).expect("is there");
    }
    sandbox.write("app/pricing.py", "def total(prices):\n    return sum(prices) + 1\n");
    let test = "from pricing import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n";
    sandbox.write("app/test_pricing.py", test);
    sandbox.commit("An app");
    line(&sandbox, "run pytest -q app | tail -1; (cd app && run pytest -q | tail -1); run pytest -q app | tail -1");
    assert_eq!(flakes(&sandbox), [] as [Value; 0]);
    let list = sandbox.verify_run(["pattern", "list", "--json"]).prints_json();
    let patterns = list["patterns"].as_array().expect("a list");
    assert_eq!(patterns.len(), 1, "{patterns:?}");
    assert_eq!(sandbox.lessons().len(), 1);
    assert!(fixes(&sandbox).iter().all(|fix| fix["state"] == "failure"), "{:?}", fixes(&sandbox));
    sandbox.write("app/pricing.py", "def total(prices):\n    return sum(prices)\n");
    passes(&sandbox, &["pytest", "-q", "app"]);
    assert!(fixes(&sandbox).iter().any(|fix| fix["state"] == "success"));
}

#[test]
fn another_report_of_the_same_findings_is_neither_a_fix_nor_a_flake() {
    let Some(_) = need("ruff") else { return };
    let mut sandbox = Sandbox::repository();
    sandbox.add_path(tools());
    sandbox.write(".gitignore", ".ruff_cache\n");
    sandbox.write("util.py", "import os\nimport sys\n\n\ndef f(x):\n    return y\n");
    sandbox.commit("Unused names");
    let reports = ["", "--output-format json", "--statistics", "--output-format concise", ""];
    for report in reports {
        line(&sandbox, &format!("run ruff check . {report} | cat"));
    }
    assert_eq!(flakes(&sandbox), [] as [Value; 0]);
    for fix in fixes(&sandbox) {
        assert_eq!(fix["state"], "failure", "{fix}");
        let page = sandbox.verify_run(["fix", "show", fix["id"].as_str().expect("an id"), "--json"]).prints_json();
        for step in page["steps"].as_array().expect("attempts") {
            let count = |set: &str| step[set]["count"].as_u64().unwrap_or(0);
            assert_eq!((count("fixed"), count("introduced")), (0, 0), "{step}");
        }
    }
}
