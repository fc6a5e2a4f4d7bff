//! Attempts, the circuit breaker, the exit signal, and the decisions of people.

use verify_run::run::CommandEnd;

use super::{add_feature, checklist, evaluate, gate, python_project};
use crate::sandbox::Sandbox;
use crate::terminal::Terminal;

/// A project whose only item is a command that fails.
pub(crate) fn failing_project() -> Sandbox {
    let sandbox = Sandbox::repository();
    sandbox.write(".verify-run/qa-checklist.yml", checklist(&[("X1", "sh check.sh")]));
    sandbox.write("check.sh", "exit 1\n");
    sandbox.commit("The project");
    sandbox
}

/// Runs the gate with its policy pinned, and gives the exit code and the document.
pub(crate) fn judge(sandbox: &Sandbox) -> (CommandEnd, serde_json::Value) {
    let digest = sandbox.verify_run(["gate", "trust", "--digest"]).prints();
    let arguments = ["gate", "run", "--no-prp", "--json", "--trust", digest.trim()];
    let outcome = sandbox.verify_run(arguments).outcome();
    let document = serde_json::from_str(outcome.stdout()).unwrap_or_else(|error| panic!("{error}: {outcome:?}"));
    (outcome.ended, document)
}

/// Types a name when a decision asks for it.
pub(crate) fn decide(sandbox: &Sandbox, arguments: &[&str], typed: &str) -> CommandEnd {
    let mut terminal = Terminal::start(sandbox.verify_run(arguments));
    terminal.shows("to confirm:");
    terminal.types(format!("{typed}\n"));
    terminal.ends().0
}

#[test]
fn three_rejected_trees_escalate_and_a_person_begins_again() {
    let sandbox = failing_project();
    for (attempt, code) in [(1, 1), (2, 1), (3, 3)] {
        sandbox.write("check.sh", format!("# {attempt}\necho 'a.py:{attempt}: error: kind {attempt}'\nexit 1\n"));
        let (ended, document) = judge(&sandbox);
        assert_eq!((ended, &document["attempt"]), (CommandEnd::Exit(code), &attempt.into()), "{document}");
    }
    sandbox.write("check.sh", "touch ran\nexit 0\n");
    let (ended, _) = judge(&sandbox);
    assert_eq!(ended, CommandEnd::Exit(3));
    assert!(!sandbox.path("ran").exists(), "nothing runs before a person decided");
    let resolve = ["gate", "resolve", "--by", "Ada", "--decision", "retry", "--reason", "the plan was wrong"];
    let unnamed = sandbox.verify_run(resolve).stdin("Ada\n").outcome();
    assert_eq!(unnamed.ended, CommandEnd::Exit(2), "a pipe is no person");
    assert_eq!(decide(&sandbox, &resolve, "Bob"), CommandEnd::Exit(2));
    assert_eq!(judge(&sandbox).0, CommandEnd::Exit(3));
    assert_eq!(decide(&sandbox, &resolve, "Ada"), CommandEnd::Exit(0));
    sandbox.write("check.sh", "exit 1\n");
    let (ended, document) = judge(&sandbox);
    assert_eq!((ended, &document["attempt"]), (CommandEnd::Exit(1), &1.into()));
}

#[test]
fn an_evaluation_is_shown_as_it_was_when_it_ended() {
    let sandbox = failing_project();
    let mut judged = Vec::new();
    for attempt in 1..=3 {
        sandbox.write("check.sh", format!("echo 'a.py:{attempt}: error: kind {attempt}'\nexit 1\n"));
        judged.push(judge(&sandbox).1);
    }
    let show = |document: &serde_json::Value| {
        let id = document["evaluation"].as_str().expect("an id");
        let shown = sandbox.verify_run(["gate", "show", id, "--format", "json"]).prints_json();
        (shown, sandbox.verify_run(["gate", "show", id]).prints())
    };
    for (attempt, document) in (1..).zip(&judged) {
        let (shown, report) = show(document);
        assert_eq!(&shown, document);
        assert!(report.contains(&format!("**Attempt:** {attempt} of 3\n")), "{report}");
    }
    let resolve = ["gate", "resolve", "--by", "Ada", "--decision", "abort", "--reason", "it is not worth it"];
    assert_eq!(decide(&sandbox, &resolve, "Ada"), CommandEnd::Exit(0));
    assert_eq!(show(&judged[1]).0, judged[1], "what was decided about a later one is not said of it");
    let (given_up, report) = show(&judged[2]);
    assert_eq!((&given_up["phase"], &given_up["verdict"]), (&"idle".into(), &"reject".into()));
    assert!(report.contains("it is not worth it"), "{report}");
}

#[test]
fn the_same_tree_is_one_attempt_and_opens_the_breaker_at_the_third_evaluation() {
    let sandbox = failing_project();
    sandbox.write("note.txt", "a change\n");
    for (no_progress, same_error, state, code) in [(0, 1, "CLOSED", 1), (1, 2, "CLOSED", 1), (2, 3, "OPEN", 4)] {
        let (ended, document) = judge(&sandbox);
        let counted = (&document["no_progress_count"], &document["same_error_count"], &document["circuit_breaker"]);
        assert_eq!(counted, (&no_progress.into(), &same_error.into(), &state.into()), "{document}");
        assert_eq!((ended, &document["attempt"]), (CommandEnd::Exit(code), &1.into()));
    }
    assert_eq!(judge(&sandbox).0, CommandEnd::Exit(4));
    let reset = ["gate", "reset", "--by", "Ada", "--reason", "the tool was broken"];
    let unnamed = sandbox.verify_run(reset).outcome();
    assert_eq!(unnamed.ended, CommandEnd::Exit(2));
    assert_eq!(judge(&sandbox).0, CommandEnd::Exit(4));
    assert_eq!(decide(&sandbox, &reset, "Ada"), CommandEnd::Exit(0));
    assert_eq!(judge(&sandbox).0, CommandEnd::Exit(1));
}

#[test]
fn the_same_mistake_at_other_lines_is_the_same_error() {
    let Some(sandbox) = python_project() else { return };
    add_feature(&sandbox);
    let mut counted = Vec::new();
    for comment in ["", "# One\n", "# One\n# Two\n"] {
        let rows = format!("{comment}def add(a, b):\n    return a - b\n\n\ndef subtract(a, b):\n    return a - b\n");
        sandbox.write("rows.py", rows);
        counted.push(evaluate(&sandbox)["same_error_count"].clone());
    }
    assert_eq!(counted, [1, 2, 3]);
}

#[test]
fn another_branch_and_task_with_the_same_files_give_no_new_attempts() {
    let sandbox = failing_project();
    for attempt in 1..=2 {
        sandbox.write("work.txt", format!("{attempt}\n"));
        assert_eq!(judge(&sandbox).1["attempt"], attempt);
    }
    sandbox.git(["switch", "-q", "-c", "other"]);
    sandbox.verify_run(["task", "start", "other"]).outcome();
    sandbox.write("work.txt", "3\n");
    assert_eq!(judge(&sandbox).1["attempt"], 3);
}

#[test]
fn the_work_may_end_only_on_the_signalled_tree() {
    let Some(sandbox) = python_project() else { return };
    add_feature(&sandbox);
    let outcome = gate(&sandbox).outcome();
    assert_eq!(outcome.ended, CommandEnd::Exit(0), "{}", outcome.stdout());
    let can_exit = || sandbox.verify_run(["gate", "status", "--can-exit"]).outcome().ended;
    assert_eq!(can_exit(), CommandEnd::Exit(1));
    let block = sandbox.verify_run(["gate", "signal"]).prints();
    assert!(block.contains("STATUS: COMPLETE\n") && block.contains("  CAN_EXIT: true\n"), "{block}");
    assert_eq!(can_exit(), CommandEnd::Exit(0));
    sandbox.write("rows.py", "def add(a, b):\n    return b + a\n\n\ndef subtract(a, b):\n    return a - b\n");
    assert_eq!(can_exit(), CommandEnd::Exit(1));
    let late = sandbox.verify_run(["gate", "signal"]).outcome();
    assert_eq!(late.ended, CommandEnd::Exit(2));
    assert!(late.stderr().contains("the work tree changed since the last evaluation"), "{late:?}");
}

#[test]
fn a_waiver_names_a_person_and_ends() {
    let sandbox = failing_project();
    sandbox.write("work.txt", "1\n");
    let waive = ["gate", "waive", "X1", "--by", "Ada", "--reason", "known", "--until"];
    let past = sandbox.verify_run(waive).arg("2020-01-01").outcome();
    assert_eq!(past.ended, CommandEnd::Exit(2));
    let arguments: Vec<&str> = waive.iter().copied().chain(["2999-12-31"]).collect();
    assert_eq!(decide(&sandbox, &arguments, "Ada"), CommandEnd::Exit(0));
    let (ended, document) = judge(&sandbox);
    assert_eq!((ended, &document["items"][0]["status"]), (CommandEnd::Exit(0), &"waived".into()));
    assert!(document["items"][0]["reason"].as_str().is_some_and(|reason| reason.contains("Ada")), "{document}");
    let listed = sandbox.verify_run(["gate", "waive", "--list"]).prints();
    assert!(listed.starts_with("X1: known (Ada, until 3000-01-01"), "{listed}");
}

#[test]
fn the_state_survives_a_rebuilt_index() {
    let sandbox = failing_project();
    for attempt in 1..=2 {
        sandbox.write("work.txt", format!("{attempt}\n"));
        judge(&sandbox);
    }
    let before = sandbox.verify_run(["gate", "status", "--json"]).prints_json();
    sandbox.verify_run(["store", "rebuild"]).outcome();
    assert_eq!(sandbox.verify_run(["gate", "status", "--json"]).prints_json(), before);
}

#[test]
fn going_back_and_forth_is_no_progress() {
    let states = |setting: &str| {
        let sandbox = failing_project();
        sandbox.write("config/verify-run/verify-run.toml", setting);
        let items = [("X1", "sh check.sh"), ("X2", "sh X2.sh"), ("X3", "sh X3.sh")];
        sandbox.write(".verify-run/qa-checklist.yml", checklist(&items));
        // The first tree has two problems, the second one three others.
        let trees = [[1, 1, 0], [1, 1, 1], [1, 1, 0], [1, 1, 1]];
        let configuration = sandbox.path("config");
        let digest = sandbox.verify_run(["gate", "trust", "--digest"]).prints();
        let judged = trees.map(|tree| {
            for (name, code) in ["check", "X2", "X3"].into_iter().zip(tree) {
                sandbox.write(format!("{name}.sh"), format!("exit {code}\n"));
            }
            let run = ["gate", "run", "--no-prp", "--json", "--trust", digest.trim()];
            let invocation = sandbox.verify_run(run).env("XDG_CONFIG_HOME", &configuration);
            let document: serde_json::Value = serde_json::from_str(invocation.outcome().stdout()).expect("JSON");
            (document["no_progress_count"].as_u64().expect("a count"), document["circuit_breaker"].clone())
        });
        let ended =
            sandbox.verify_run(["gate", "status", "--json"]).env("XDG_CONFIG_HOME", &configuration).prints_json();
        assert_eq!(ended["attempt"], 2);
        judged.map(|(count, state)| (count, state.as_str().expect("a state").to_owned()))
    };
    let named = |rows: [(u64, &str); 4]| rows.map(|(count, state)| (count, state.to_owned()));
    assert_eq!(states(""), named([(0, "CLOSED"), (1, "CLOSED"), (2, "HALF_OPEN"), (3, "OPEN")]));
    let last = "[gate]\nprogress_against = \"last\"\n";
    assert_eq!(states(last), named([(0, "CLOSED"), (1, "CLOSED"), (0, "CLOSED"), (1, "CLOSED")]));
}

#[test]
fn people_of_the_users_settings_decide_without_a_terminal() {
    let sandbox = failing_project();
    sandbox.write("work.txt", "1\n");
    let waive = ["gate", "waive", "X1", "--by", "Ada", "--reason", "known", "--until", "2999-12-31"];
    sandbox.write("verify-run.toml", "[gate]\npeople = [\"Ada\"]\n");
    assert_eq!(sandbox.verify_run(waive).outcome().ended, CommandEnd::Exit(2), "a repository names no people");
    sandbox.write("config/verify-run/verify-run.toml", "[gate]\npeople = [\"Ada\"]\n");
    let invocation = sandbox.verify_run(waive).env("XDG_CONFIG_HOME", sandbox.path("config"));
    assert_eq!(invocation.outcome().ended, CommandEnd::Exit(0));
}
