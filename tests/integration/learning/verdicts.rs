//! What jobs say of fixes that prove less than they seem to, and of machines that cannot show them.

use serde_json::Value;
use verify_run::run::CommandEnd;

use super::{agree, done, fails, job_in, job_page, library_page, mend, mend_calc, passes, python_project, work};
use crate::lab::has_namespaces;
use crate::sandbox::{Sandbox, wait_until};

const PYTEST: [&str; 2] = ["pytest", "-q"];

/// A pytest project, where labs can be made.
fn project() -> Option<Sandbox> {
    let sandbox = python_project()?;
    has_namespaces().then_some(sandbox)
}

/// Adds a test of `calc.py`.
fn add_test(sandbox: &Sandbox, test: &str) {
    sandbox.write("tests/test_calc.py", format!("{}\n\n{test}", sandbox.read("tests/test_calc.py")));
}

/// A person agrees, and the one job runs; all about it.
fn work_on_it(sandbox: &Sandbox) -> Value {
    agree(sandbox);
    let job = work(sandbox);
    job_page(sandbox, job["id"].as_str().expect("an id"))
}

fn assert_failed(page: &Value, cause: &str, words: &str) {
    assert_eq!((&page["state"], &page["cause"]), (&"failed".into(), &cause.into()), "{page:#}");
    assert!(page["why"].as_str().is_some_and(|why| why.contains(words)), "{page:#}");
}

fn assert_no_page(sandbox: &Sandbox) {
    let list = sandbox.verify_run(["library", "list", "--json"]).prints_json();
    assert_eq!(list["pages"], serde_json::json!([]));
}

#[test]
fn a_check_that_reads_env_files_is_not_for_the_lab() {
    let Some(sandbox) = project() else { return };
    sandbox.write(".gitignore", "__pycache__\n.pytest_cache\n.env\n");
    sandbox.write(".env", "KEY=1\n");
    add_test(&sandbox, "def test_key():\n    assert open('.env').read() == 'KEY=1\\n'\n");
    sandbox.commit("A key");
    mend(&sandbox, &PYTEST, mend_calc);
    assert_failed(&work_on_it(&sandbox), "lab_unsuitable", ".env is not lent");
    assert_no_page(&sandbox);
}

#[test]
fn a_failure_that_does_not_come_again_is_replayed_and_has_no_page() {
    let Some(sandbox) = project() else { return };
    sandbox.write("calc.py", sandbox.read("calc.py").replace("a - b", "a + b"));
    add_test(&sandbox, "def test_machine():\n    import os\n    assert 'IS_BROKEN' not in os.environ\n");
    sandbox.commit("A test about the machine");
    let outcome = sandbox.verify_run(["--sync", "pytest", "-q"]).env("IS_BROKEN", "1").outcome();
    assert_eq!(outcome.ended, CommandEnd::Exit(1), "{}", outcome.stdout());
    sandbox.write("calc.py", format!("# Sums.\n{}", sandbox.read("calc.py")));
    passes(&sandbox, &PYTEST);
    sandbox.settle();
    done(&sandbox);
    let page = work_on_it(&sandbox);
    assert_eq!(
        (&page["state"], &page["judgement"]["evidence"]),
        (&"no_artifact".into(), &"replayed".into()),
        "{page:#}"
    );
    assert_no_page(&sandbox);
}

#[test]
fn what_broke_after_the_check_passed_is_named() {
    let Some(sandbox) = project() else { return };
    fails(&sandbox, &PYTEST);
    mend_calc(&sandbox);
    passes(&sandbox, &PYTEST);
    sandbox.settle();
    sandbox.write("calc.py", sandbox.read("calc.py").replace("'calc'", "'sums'"));
    done(&sandbox);
    let page = work_on_it(&sandbox);
    assert_failed(&page, "regressed", "test_name");
    assert_no_page(&sandbox);
}

#[test]
fn a_change_of_tests_alone_is_no_fix() {
    let Some(sandbox) = project() else { return };
    mend(&sandbox, &PYTEST, |sandbox| {
        let text = sandbox.read("tests/test_calc.py").replace("add(1, 2) == 3", "add(1, 2) == -1");
        sandbox.write("tests/test_calc.py", text);
    });
    assert_failed(&work_on_it(&sandbox), "test_only", "only tests were changed");
    assert_no_page(&sandbox);
}

#[test]
fn a_fix_that_holds_only_sometimes_is_flaky() {
    let Some(sandbox) = project() else { return };
    // The race is lost from the moment at which a run that won it is recorded.
    sandbox.write(".gitignore", "__pycache__\n.pytest_cache\nlocal/\n");
    sandbox.write("local/outcome", "won");
    add_test(&sandbox, "def test_race():\n    assert open('local/outcome').read() == 'won'\n");
    // Slow enough that the outcome changes before both trees have run again.
    add_test(&sandbox, "def test_slow():\n    import time\n    time.sleep(1)\n");
    sandbox.commit("A race");
    mend(&sandbox, &PYTEST, mend_calc);
    agree(&sandbox);
    let id = job_in(&sandbox, "queued")["id"].as_str().expect("an id").to_owned();
    let mut runner = sandbox.verify_run(["library", "work"]).spawn();
    wait_until("the known good tree has passed", || {
        job_page(&sandbox, &id)["trials"].as_array().is_some_and(|trials| !trials.is_empty())
    });
    sandbox.write("local/outcome", "lost");
    assert!(runner.wait().expect("it ends").success());
    let page = job_page(&sandbox, &id);
    assert_failed(&page, "flaky", "passed, then failed");
    assert_no_page(&sandbox);
}

#[test]
fn one_of_two_runners_works() {
    let Some(sandbox) = project() else { return };
    mend(&sandbox, &PYTEST, mend_calc);
    agree(&sandbox);
    job_in(&sandbox, "queued");
    let mut first = sandbox.verify_run(["library", "work"]).spawn();
    job_in(&sandbox, "validating");
    let second = sandbox.verify_run(["library", "work", "--json"]).prints_json();
    assert_eq!((&second["busy"], &second["jobs"]), (&true.into(), &serde_json::json!([])));
    assert!(first.wait().expect("it ends").success());
    job_in(&sandbox, "candidate");
}

#[test]
fn rules_of_a_linter_that_are_turned_off_do_not_weaken_a_test() {
    let Some(sandbox) = project() else { return };
    sandbox.write(".eslintrc", "{\n  \"rules\": {\n    \"indent\": [2, 4]\n  }\n}\n");
    sandbox.commit("Rules");
    mend(&sandbox, &PYTEST, |sandbox| {
        mend_calc(sandbox);
        sandbox.write(".eslintrc", "{\n  \"rules\": {\n    \"indent\": 0\n  }\n}\n");
    });
    let page = work_on_it(&sandbox);
    assert_eq!((&page["state"], &page["minimal"]["kept"]), (&"candidate".into(), &1.into()), "{page:#}");
}

/// `calc.py` with functions, all of which the tests call; `edit` names the body of each.
fn write_functions(sandbox: &Sandbox, count: usize, body: impl Fn(usize) -> String) {
    let function = |at: usize| format!("def part_{at}(a):\n    return {}\n", body(at));
    sandbox.write("calc.py", (0..count).map(function).collect::<Vec<_>>().join("\n\n"));
}

#[test]
fn the_one_edit_that_is_needed_is_found_among_seven_in_two_files() {
    let Some(sandbox) = project() else { return };
    let words =
        "def plural(word):\n    many = word + 's'\n    return many\n\n\ndef first(words):\n    return words[0]\n";
    sandbox.write("words.py", words);
    sandbox.commit("Words");
    mend(&sandbox, &PYTEST, |sandbox| {
        mend_calc(sandbox);
        let calc = sandbox.read("calc.py").replace("'calc'", "\"calc\"").replace("def name", "# What it is.\ndef name");
        sandbox.write("calc.py", format!("# Sums.\n{calc}"));
        let words = words.replace("'s'", "\"s\"").replace("    return words", "    # One.\n    return words");
        sandbox.write("words.py", format!("# Words.\n{words}"));
    });
    let page = work_on_it(&sandbox);
    let minimal = &page["minimal"];
    assert_eq!((&page["state"], &minimal["units"]), (&"candidate".into(), &7.into()), "{page:#}");
    assert_eq!((&minimal["kept"], &minimal["is_minimal"]), (&1.into(), &true.into()), "{page:#}");
    assert!(minimal["runs"].as_u64().is_some_and(|runs| runs <= 20), "{page:#}");
}

#[test]
fn two_edits_that_only_work_together_are_found_among_twelve() {
    let Some(sandbox) = project() else { return };
    let needed = [3, 8];
    write_functions(&sandbox, 12, |at| format!("a + {at}"));
    let test = "from calc import part_3, part_8\n\n\ndef test_sum():\n    assert part_3(1) + part_8(1) == 26\n";
    sandbox.write("tests/test_calc.py", test);
    sandbox.commit("Parts");
    mend(&sandbox, &PYTEST, |sandbox| {
        let body = |at| if needed.contains(&at) { format!("a * {at} + {}", 7 + at % 2) } else { format!("{at} + a") };
        write_functions(sandbox, 12, body);
    });
    let page = work_on_it(&sandbox);
    let minimal = &page["minimal"];
    assert_eq!((&page["state"], &minimal["units"]), (&"candidate".into(), &12.into()), "{page:#}");
    assert_eq!((&minimal["kept"], &minimal["is_minimal"]), (&2.into(), &true.into()), "{page:#}");
    // By hand: both together pass, and neither alone.
    let markdown = library_page(&sandbox, page["artifact"].as_str().expect("a page"))["markdown"].to_string();
    for (at, edit) in [(3, "a * 3 + 8"), (8, "a * 8 + 7")] {
        assert!(markdown.contains(edit), "{markdown}");
        let body = |it| {
            if it != at && needed.contains(&it) { format!("a * {it} + {}", 7 + it % 2) } else { format!("a + {it}") }
        };
        write_functions(&sandbox, 12, body);
        assert_eq!(sandbox.bare("pytest").arg("-q").outcome().ended, CommandEnd::Exit(1), "without {edit}");
    }
}

#[test]
fn an_edit_goes_with_the_lines_that_it_needs_wherever_a_diff_cuts() {
    let Some(sandbox) = project() else { return };
    let total = |words: &str, body: &str| format!("def total(rows):\n    \"\"\"{words}\"\"\"\n\n{body}\n");
    sandbox.write("total.py", total("Adds.", "    return len(rows)"));
    sandbox
        .write("tests/test_calc.py", "from total import total\n\n\ndef test_total():\n    assert total([2, 3]) == 5\n");
    sandbox.commit("Totals");
    let mended = total("The sum of all.", "    found = sum(rows)\n\n    return found");
    mend(&sandbox, &PYTEST, |sandbox| {
        sandbox.write("total.py", &mended);
    });
    let page = work_on_it(&sandbox);
    let minimal = &page["minimal"];
    assert_eq!((&page["state"], &minimal["units"]), (&"candidate".into(), &2.into()), "{page:#}");
    assert_eq!((&minimal["kept"], &minimal["is_minimal"]), (&1.into(), &true.into()), "{page:#}");
    let markdown = library_page(&sandbox, page["artifact"].as_str().expect("a page"))["markdown"].to_string();
    assert!(markdown.contains("found = sum(rows)") && !markdown.contains("The sum of all"), "{markdown}");
}

/// A fix of 64 edits, one of which is needed.
fn mend_one_of_many(sandbox: &Sandbox) {
    write_functions(sandbox, 64, |at| format!("a + {at}"));
    sandbox
        .write("tests/test_calc.py", "from calc import part_41\n\n\ndef test_part():\n    assert part_41(2) == 82\n");
    sandbox.commit("Parts");
    mend(sandbox, &PYTEST, |sandbox| {
        write_functions(sandbox, 64, |at| if at == 41 { "a * 41".to_owned() } else { format!("{at} + a") });
    });
}

#[test]
fn the_one_of_sixty_four_edits_is_found_in_few_runs() {
    let Some(sandbox) = project() else { return };
    mend_one_of_many(&sandbox);
    let page = work_on_it(&sandbox);
    let searched =
        page["trials"].as_array().expect("trials").iter().filter(|trial| trial["purpose"] == "reduced").count();
    assert_eq!((&page["minimal"]["units"], &page["minimal"]["kept"]), (&64.into(), &1.into()), "{page:#}");
    assert!(searched <= 40 && page["minimal"]["is_minimal"] == true, "{searched}");
}

#[test]
fn without_runs_left_the_smallest_change_so_far_is_shown_and_said_to_be_that() {
    let Some(sandbox) = project() else { return };
    let folder = sandbox.home().join(".config/verify-run");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("verify-run.toml"), "[learn]\nminimise_runs = 10\n").expect("settings");
    mend_one_of_many(&sandbox);
    let page = work_on_it(&sandbox);
    let (minimal, kept) = (&page["minimal"], page["minimal"]["kept"].as_u64().expect("a number"));
    assert_eq!((&page["state"], &minimal["is_minimal"]), (&"candidate".into(), &false.into()), "{page:#}");
    assert!((1..64).contains(&kept) && minimal["why"].as_str().is_some_and(|why| why.contains("used up")), "{page:#}");
    let searched =
        page["trials"].as_array().expect("trials").iter().filter(|trial| trial["purpose"] == "reduced").count();
    assert_eq!(searched, 10);
    let artifact = library_page(&sandbox, page["artifact"].as_str().expect("a page"));
    let markdown = artifact["markdown"].as_str().expect("a text");
    assert!(markdown.contains("used up") && markdown.contains("a * 41"), "{markdown}");
}

#[test]
fn a_slip_that_is_taken_back_in_the_same_task_is_no_knowledge() {
    let Some(sandbox) = project() else { return };
    mend_calc(&sandbox);
    sandbox.commit("Right");
    passes(&sandbox, &PYTEST);
    sandbox.write("calc.py", sandbox.read("calc.py").replace("a + b", "a +- b"));
    mend(&sandbox, &PYTEST, |sandbox| {
        sandbox.write("calc.py", sandbox.read("calc.py").replace("a +- b", "a + b"));
    });
    let list = sandbox.verify_run(["library", "jobs", "--json"]).prints_json();
    let (state, why) = (&list["jobs"][0]["state"], &list["jobs"][0]["why"]);
    assert_eq!((state, why), (&"skipped".into(), &"the files went back to an earlier state".into()), "{list}");
    assert_no_page(&sandbox);
    // Something else was changed with it: the job finds that what is needed of the change is the way back.
    sandbox.write("calc.py", sandbox.read("calc.py").replace("a + b", "b +- a"));
    mend(&sandbox, &PYTEST, |sandbox| {
        sandbox.write("calc.py", format!("# Sums.\n{}", sandbox.read("calc.py").replace("b +- a", "a + b")));
    });
    let page = work_on_it(&sandbox);
    assert_eq!((&page["state"], &page["minimal"]["is_undo"]), (&"no_artifact".into(), &true.into()), "{page:#}");
    assert_eq!(page["why"], "it reverts a slip of the same task");
    assert_no_page(&sandbox);
}

#[test]
fn the_same_correction_of_old_code_has_a_page_that_names_what_brought_the_failure() {
    let Some(sandbox) = project() else { return };
    mend_calc(&sandbox);
    sandbox.commit("Right");
    passes(&sandbox, &[&["--task", "one"], &PYTEST[..]].concat());
    sandbox.write("calc.py", sandbox.read("calc.py").replace("a + b", "a +- b"));
    sandbox.commit("A slip that was not seen");
    let command = [&["--task", "two"], &PYTEST[..]].concat();
    fails(&sandbox, &command);
    sandbox.write("calc.py", sandbox.read("calc.py").replace("a +- b", "a + b"));
    passes(&sandbox, &command);
    sandbox.settle();
    sandbox.verify_run(["task", "done", "two"]).prints();
    let page = work_on_it(&sandbox);
    assert_eq!((&page["state"], &page["minimal"]["is_undo"]), (&"candidate".into(), &Value::Null), "{page:#}");
    let markdown = library_page(&sandbox, page["artifact"].as_str().expect("a page"))["markdown"].clone();
    let markdown = markdown.as_str().expect("a text");
    let rationale = markdown.split("## Rationale").nth(1).expect("a section");
    assert!(rationale.contains("calc.py") && rationale.contains("a +- b"), "{markdown}");
}

#[test]
fn a_fix_for_one_time_zone_says_so() {
    let Some(sandbox) = project() else { return };
    sandbox.write("calc.py", "import time\n\n\ndef hour():\n    return -1\n");
    sandbox.write(
        "tests/test_calc.py",
        "import time\n\nfrom calc import hour\n\n\ndef test_hour():\n    assert hour() == time.gmtime(0).tm_hour\n",
    );
    sandbox.commit("Hours");
    mend(&sandbox, &PYTEST, |sandbox| {
        sandbox.write("calc.py", "import time\n\n\ndef hour():\n    return time.localtime(0).tm_hour\n");
    });
    let page = work_on_it(&sandbox);
    let minimal = &page["minimal"];
    assert_eq!(
        (&page["state"], &minimal["breaks_under"]),
        (&"candidate".into(), &serde_json::json!(["TZ=Pacific/Chatham"]))
    );
    let (robust, perturbed) = (minimal["robust"].as_u64(), minimal["perturbed"].as_u64());
    assert_eq!(robust.map(|robust| robust + 1), perturbed, "{page:#}");
    let artifact = library_page(&sandbox, page["artifact"].as_str().expect("a page"));
    assert!(artifact["markdown"].as_str().is_some_and(|text| text.contains("TZ=Pacific/Chatham")), "{artifact:#}");
}
