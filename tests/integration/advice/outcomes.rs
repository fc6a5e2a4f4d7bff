//! The outcome of warnings, found out from the runs that follow.

use serde_json::Value;
use verify_run::run::CommandEnd;

use super::{UNDEFINED, fail, linter, warn, whats};
use crate::sandbox::Sandbox;

fn pass(sandbox: &Sandbox, task: &str) {
    let outcome = sandbox.verify_run(["--sync", "--task", task, "eslint", "."]).env("MESSAGE", "").outcome();
    assert_eq!(outcome.ended, CommandEnd::Exit(0));
}

fn stats(sandbox: &Sandbox) -> Value {
    sandbox.verify_run(["stats", "--json"]).prints_json()
}

/// Confidence and the last line of the ledger of the only pattern.
fn believed(sandbox: &Sandbox) -> (f64, String) {
    let list = sandbox.verify_run(["pattern", "list", "--json"]).prints_json();
    let id = list["patterns"][0]["id"].as_str().expect("an id").to_owned();
    let page = sandbox.verify_run(["pattern", "show", &id, "--json"]).prints_json();
    let steps = page["ledger"]["steps"].as_array().expect("a ledger");
    let last = steps.last().expect("has steps")["what"].as_str().expect("a text").to_owned();
    (page["confidence"].as_f64().expect("a number"), last)
}

#[test]
fn a_clean_pass_after_a_warning_is_a_prevention_and_the_same_mistake_is_not() {
    let sandbox = linter();
    for task in ["A", "B"] {
        fail(&sandbox, task, "src/x.js", UNDEFINED);
    }
    let (before, _) = believed(&sandbox);

    assert_eq!(whats(&warn(&sandbox, "c", &["--task", "C", "--files", "src/x.js"])).len(), 1);
    pass(&sandbox, "C");
    let now = stats(&sandbox);
    assert_eq!((&now["warnings"]["shown"], &now["warnings"]["prevented"]), (&1.into(), &1.into()), "{now}");
    let (prevented, last) = believed(&sandbox);
    assert!((prevented - before - 0.10).abs() < 1e-9, "{before} {prevented}");
    assert_eq!(last, "prevented in task C");

    assert_eq!(whats(&warn(&sandbox, "d", &["--task", "D", "--files", "src/x.js"])).len(), 1);
    fail(&sandbox, "D", "src/x.js", UNDEFINED);
    let now = stats(&sandbox);
    assert_eq!((&now["warnings"]["shown"], &now["warnings"]["failed_anyway"]), (&2.into(), &1.into()), "{now}");
    assert_eq!(now["warnings"]["ignored"][0]["task"], "D");
    let (despite, last) = believed(&sandbox);
    assert!((prevented - despite - 0.05).abs() < 1e-9, "{prevented} {despite}");
    assert_eq!(last, "made despite a warning in task D");
}

#[test]
fn a_pass_of_another_check_prevents_nothing_and_a_task_may_end_without_an_answer() {
    let sandbox = linter();
    for task in ["A", "B"] {
        fail(&sandbox, task, "src/x.js", UNDEFINED);
    }
    warn(&sandbox, "c", &["--task", "C", "--files", "src/x.js"]);
    let open = |now: &Value| (now["warnings"]["open"].clone(), now["warnings"]["no_opportunity"].clone());
    assert_eq!(open(&stats(&sandbox)), (1.into(), 0.into()));
    sandbox.tool("ruff", "exit 0");
    assert_eq!(
        sandbox.verify_run(["--sync", "--task", "C", "ruff", "check", "."]).outcome().ended,
        CommandEnd::Exit(0)
    );
    assert_eq!(open(&stats(&sandbox)), (1.into(), 0.into()));
    sandbox.verify_run(["task", "done", "C"]).prints();
    assert_eq!(open(&stats(&sandbox)), (0.into(), 1.into()));
}

#[test]
fn stats_say_when_there_is_no_measurable_effect_and_set_figures_beside_targets() {
    let sandbox = linter();
    assert_eq!(sandbox.verify_run(["stats"]).prints(), "nothing is recorded here yet\n");
    fail(&sandbox, "A", "src/x.js", UNDEFINED);
    let text = sandbox.verify_run(["stats"]).prints();
    assert!(text.contains("failures with a category\t100 %\t\t80 %\t1\t\n"), "{text}");
    assert!(text.contains("too few cases") && text.contains("effect of warnings: not measured yet"), "{text}");
    let figures = stats(&sandbox)["figures"].as_array().expect("a list").clone();
    let names: Vec<&str> = figures.iter().filter_map(|figure| figure["name"].as_str()).collect();
    assert_eq!(
        names,
        [
            "categorised",
            "failure_rate",
            "first_time_pass",
            "attempts",
            "warnings_prevent",
            "strategies_effective",
            "reuse"
        ]
    );
}

#[test]
fn harmful_advice_stops_by_itself_and_says_so() {
    let sandbox = linter();
    fail(&sandbox, "A", "src/x.js", UNDEFINED);
    sandbox.write("verify-run.toml", "[advice]\nholdout_share = 0.5\n[snapshot]\nenabled = false\n");
    let ask = |task: &str| -> Value {
        let asked = sandbox.verify_run(["warn", "--json", "--session", task, "--task", task, "--files", "src/x.js"]);
        serde_json::from_str(asked.outcome().stdout()).expect("is JSON")
    };
    // Who is warned makes the mistake, who is held out doesn't: 2^n/(n + 1) says so at 20 from the eighth on.
    let mut warned = 0;
    for number in 0.. {
        let task = format!("T{number}");
        let answer = ask(&task);
        if answer["harmful"] == 1 {
            break;
        }
        assert!(number < 60 && warned < 8, "{warned} of {number} were warned: {answer}");
        if answer["held_out"] == 1 {
            pass(&sandbox, &task);
        } else {
            assert_eq!(whats(&answer).len(), 1, "{answer}");
            fail(&sandbox, &task, "src/x.js", UNDEFINED);
            warned += 1;
        }
    }
    assert_eq!(warned, 8);
    let asked = sandbox.verify_run(["warn", "--task", "Z", "--files", "src/x.js"]).outcome();
    assert_eq!(asked.stdout(), "");
    assert!(asked.stderr().contains("1 pattern suppressed: warnings increased failures"), "{}", asked.stderr());
    let harmful = &stats(&sandbox)["warnings"]["harmful"];
    let list = sandbox.verify_run(["pattern", "list", "--json"]).prints_json();
    assert_eq!(harmful, &serde_json::json!([list["patterns"][0]["id"]]));
    let said = sandbox.verify_run(["stats"]).outcome();
    assert!(
        said.stdout().contains("no more warnings, because warned tasks made the mistake more often: p-"),
        "{}",
        said.stdout()
    );
}
