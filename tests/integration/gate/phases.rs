//! Phases of the work on a task: which runs belong to one, and when its circuit breaker opens.

use serde_json::Value;
use verify_run::run::CommandEnd;

use super::decisions::decide;
use super::python_project;
use crate::sandbox::{Outcome, Sandbox};

/// Runs the tests, in a phase that a variable names.
fn test(sandbox: &Sandbox, phase: Option<&str>) -> Outcome {
    let run = sandbox.verify_run(["--sync", "pytest", "-q"]);
    phase.into_iter().fold(run, |run, phase| run.env("VERIFY_RUN_PHASE", phase)).outcome()
}

fn status(sandbox: &Sandbox, phase: &str) -> Value {
    sandbox.verify_run(["gate", "status", "--phase", phase, "--json"]).prints_json()
}

/// Tests of which these functions fail, each for a reason of its own.
fn write_tests(sandbox: &Sandbox, failing: &[u32], passing: u32) {
    let function =
        |number: u32, expected: u32| format!("def test_{number}():\n    assert {number} == {expected}\n\n\n");
    let failing = failing.iter().map(|number| function(*number, number + 1));
    let text: String = failing.chain((100..100 + passing).map(|number| function(number, number))).collect();
    sandbox.write("test_rows.py", text.trim_end().to_owned() + "\n");
}

fn counts(page: &Value) -> (u64, u64, u64, String) {
    let count = |name: &str| page[name].as_u64().unwrap_or_else(|| panic!("no {name} in {page}"));
    let state = page["circuit_breaker"].as_str().expect("a state").to_owned();
    (count("runs"), count("no_progress_count"), count("same_error_count"), state)
}

#[test]
fn green_opens_when_its_runs_make_no_progress_and_a_person_closes_it() {
    let Some(sandbox) = python_project() else { return };
    let fresh = sandbox.verify_run(["gate", "status", "--phase", "GREEN"]).prints();
    assert!(fresh.contains("  STATE: CLOSED\n") && fresh.contains("No run of this phase is recorded"), "{fresh}");
    write_tests(&sandbox, &[1, 2, 3], 1);
    assert_eq!(test(&sandbox, Some("GREEN")).ended, CommandEnd::Exit(1));
    assert_eq!(counts(&status(&sandbox, "GREEN")), (1, 0, 1, "CLOSED".into()));
    write_tests(&sandbox, &[1, 2], 2);
    test(&sandbox, Some("green"));
    let progress = status(&sandbox, "green");
    assert_eq!(counts(&progress), (2, 0, 1, "CLOSED".into()), "{progress}");
    assert_eq!((&progress["passing"], &progress["failing"]), (&2.into(), &2.into()), "{progress}");
    assert!(progress["failures"][0].as_str().is_some_and(|text| text.contains("assert 1 == 2")), "{progress}");
    test(&sandbox, Some("GREEN"));
    assert_eq!(counts(&status(&sandbox, "GREEN")), (3, 1, 2, "CLOSED".into()));
    // Neither a run of another phase nor one without counts, and the gate's own runs do not.
    test(&sandbox, Some("REFACTOR"));
    test(&sandbox, None);
    sandbox.verify_run(["gate", "run", "--no-prp", "--only", "F1"]).env("VERIFY_RUN_PHASE", "GREEN").outcome();
    assert_eq!(counts(&status(&sandbox, "GREEN")), (3, 1, 2, "CLOSED".into()));
    test(&sandbox, Some("GREEN"));
    let open = status(&sandbox, "GREEN");
    assert_eq!(counts(&open), (4, 2, 3, "OPEN".into()), "{open}");
    assert!(
        open["opened_at"].is_string() && open["recommendation"].as_str().is_some_and(|it| it.contains("gate reset"))
    );
    write_tests(&sandbox, &[], 4);
    assert_eq!(test(&sandbox, Some("GREEN")).ended, CommandEnd::Exit(0));
    assert_eq!(counts(&status(&sandbox, "GREEN")), (5, 0, 0, "OPEN".into()), "a pass does not close it");
    let reset = ["gate", "reset", "--phase", "green", "--by", "Ada", "--reason", "another approach"];
    let refused = sandbox.verify_run(reset).stdin("Ada\n").outcome();
    assert_eq!((refused.ended, counts(&status(&sandbox, "GREEN")).3), (CommandEnd::Exit(2), "OPEN".into()));
    assert_eq!(decide(&sandbox, &reset, "Ada"), CommandEnd::Exit(0));
    assert_eq!(counts(&status(&sandbox, "GREEN")), (0, 0, 0, "CLOSED".into()));
    test(&sandbox, Some("GREEN"));
    let done = status(&sandbox, "GREEN");
    assert_eq!((counts(&done).0, &done["recommendation"]), (1, &"All checks of this phase pass".into()), "{done}");
    let before = sandbox.verify_run(["gate", "status", "--phase", "GREEN"]).prints();
    sandbox.verify_run(["store", "rebuild"]).outcome();
    assert_eq!(sandbox.verify_run(["gate", "status", "--phase", "GREEN"]).prints(), before);
}

#[test]
fn a_phase_that_is_announced_holds_until_another_one_is() {
    let Some(sandbox) = python_project() else { return };
    assert_eq!(sandbox.verify_run(["task", "phase"]).prints(), "feat/subtract-rows: no phase\n");
    assert_eq!(sandbox.verify_run(["task", "phase", "RED"]).prints(), "feat/subtract-rows: RED\n");
    write_tests(&sandbox, &[], 1);
    test(&sandbox, None);
    write_tests(&sandbox, &[1], 1);
    test(&sandbox, None);
    // In RED a test that fails for the first time is what is wanted.
    let red = status(&sandbox, "RED");
    assert_eq!(counts(&red), (2, 0, 1, "CLOSED".into()), "{red}");
    assert!(red["recommendation"].as_str().is_some_and(|it| it.starts_with("1 failure as wanted")), "{red}");
    test(&sandbox, None);
    assert_eq!(counts(&status(&sandbox, "RED")), (3, 1, 2, "CLOSED".into()));
    sandbox.verify_run(["task", "phase", "GREEN"]).prints();
    test(&sandbox, None);
    // A variable wins over what was announced.
    test(&sandbox, Some("DOCUMENT"));
    let one = |phase: &str| counts(&status(&sandbox, phase)).0;
    assert_eq!((one("RED"), one("GREEN"), one("DOCUMENT")), (3, 1, 1));
    assert_eq!(
        sandbox.verify_run(["task", "phase"]).env("VERIFY_RUN_PHASE", "qa").prints(),
        "feat/subtract-rows: QA\n"
    );
    // Another task is in no phase.
    sandbox.git(["switch", "-q", "-c", "feat/other"]);
    assert_eq!(sandbox.verify_run(["task", "phase"]).prints(), "feat/other: no phase\n");
    test(&sandbox, None);
    sandbox.git(["switch", "-q", "feat/subtract-rows"]);
    assert_eq!(sandbox.verify_run(["task", "phase", "--end"]).prints(), "feat/subtract-rows: no phase\n");
    test(&sandbox, None);
    assert_eq!((one("RED"), one("GREEN"), one("DOCUMENT")), (3, 1, 1));
}

#[test]
fn thresholds_are_the_users_and_qa_is_the_gates_own_breaker() {
    let Some(sandbox) = python_project() else { return };
    sandbox.write("verify-run.toml", "[gate.breaker]\ngreen_no_progress = 99\n");
    let config = sandbox.home().join(".config/verify-run");
    std::fs::create_dir_all(&config).expect("a folder");
    std::fs::write(config.join("verify-run.toml"), "[gate.breaker]\ngreen_same_error = 9\n").expect("settings");
    let page = status(&sandbox, "GREEN");
    assert_eq!((&page["no_progress_threshold"], &page["same_error_threshold"]), (&2.into(), &9.into()), "{page}");
    let thresholds = |phase: &str| {
        let page = status(&sandbox, phase);
        (page["no_progress_threshold"].as_u64(), page["same_error_threshold"].as_u64())
    };
    assert_eq!(thresholds("RED"), (Some(3), Some(5)));
    assert_eq!(thresholds("REFACTOR"), (Some(5), Some(5)));
    assert_eq!(thresholds("DOCUMENT"), (Some(3), Some(5)));
    assert_eq!(thresholds("QA"), (Some(3), Some(3)));
    write_tests(&sandbox, &[1], 1);
    sandbox.verify_run(["gate", "run", "--no-prp", "--kind", "chore"]).outcome();
    let page = status(&sandbox, "QA");
    assert_eq!(counts(&page).0, 1, "{page}");
    assert!(page["failures"][0].as_str().is_some_and(|item| item.starts_with("F1 ")), "{page}");
}
