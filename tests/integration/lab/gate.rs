//! `gate run --isolated`: the commands of an evaluation on a copy of its tree; and red evidence by trial.

use std::fs;

use serde_json::Value;
use verify_run::run::CommandEnd;

use super::{LabUser, has_namespaces, left_by_labs};
use crate::gate::checklist;
use crate::sandbox::{Outcome, Sandbox, need, wait_until};

/// A project with an item that runs `check.sh`, the policy of which is trusted.
fn project_with_check(script: &str) -> (Sandbox, String) {
    let sandbox = Sandbox::repository();
    sandbox.write(".verify-run/qa-checklist.yml", checklist(&[("X1", "sh check.sh")]));
    sandbox.write("check.sh", script);
    sandbox.write("kept.txt", "kept\n");
    sandbox.write(".gitignore", "*.log\nnode_modules\n");
    sandbox.commit("The project");
    let digest = sandbox.verify_run(["gate", "trust", "--digest"]).prints();
    (sandbox, digest.trim().to_owned())
}

fn evaluate(user: LabUser, sandbox: &Sandbox, digest: &str, more: &[&str]) -> (Outcome, Value) {
    let arguments = [&["gate", "run", "--isolated", "--no-prp", "--json", "--trust", digest], more].concat();
    let outcome = user.verify_run(sandbox, &arguments).outcome();
    let document = serde_json::from_str(outcome.stdout()).unwrap_or_else(|error| panic!("{error}: {outcome:?}"));
    (outcome, document)
}

fn item<'a>(document: &'a Value, id: &str) -> &'a Value {
    let items = document["items"].as_array().expect("items");
    items.iter().find(|item| item["id"] == id).unwrap_or_else(|| panic!("no {id} in {document}"))
}

/// The recorded runs of a program.
fn runs_of(user: LabUser, sandbox: &Sandbox, program: &str) -> Vec<Value> {
    let log = user.verify_run(sandbox, &["log", "--json"]).prints_json();
    let runs = log["runs"].as_array().expect("runs").clone();
    runs.into_iter().filter(|run| run["argv"][0] == program).collect()
}

#[test]
fn commands_run_on_the_tree_and_reach_nothing_else() {
    let script = "cat kept.txt; echo x > out.log; echo x > \"$HOME/new\"; curl -s -m 2 http://1.1.1.1 && exit 1; \
                  test -n \"$GITHUB_TOKEN\" && exit 1; test -n \"$VERIFY_RUN_EVALUATION\" || exit 1; exit 0\n";
    for user in [LabUser::Own, LabUser::Nobody] {
        if !has_namespaces() || !user.is_here() || need("curl").is_none() {
            continue;
        }
        let (sandbox, digest) = project_with_check(script);
        let (outcome, document) = evaluate(user, &sandbox, &digest, &[]);
        assert_eq!(outcome.ended, CommandEnd::Exit(0), "{user:?}: {document}");
        assert_eq!((&document["verdict"], &document["isolation"]), (&"approve".into(), &"namespaces".into()));
        assert!(!sandbox.path("out.log").exists() && !sandbox.home().join("new").exists());
        let report = user.verify_run(&sandbox, &["gate", "show"]).prints();
        assert!(report.contains("- Isolation: namespaces\n"), "{report}");
        assert_eq!(left_by_labs(&sandbox).len(), 0);
    }
}

#[test]
fn a_failure_is_recorded_as_of_any_other_run() {
    let script = "cat kept.txt\necho 'src/a.py:3: error: wrong name'\nexit 1\n";
    if !has_namespaces() {
        return;
    }
    let (sandbox, digest) = project_with_check(script);
    let (outcome, document) = evaluate(LabUser::Own, &sandbox, &digest, &[]);
    assert_eq!(outcome.ended, CommandEnd::Exit(1), "{document}");
    let finding = &item(&document, "X1")["findings"][0];
    assert_eq!((&finding["path"], &finding["line"]), (&"src/a.py".into(), &3.into()), "{document}");
    assert_eq!(finding["message"], "wrong name");
    let runs = runs_of(LabUser::Own, &sandbox, "sh");
    assert_eq!(runs.len(), 1, "{runs:?}");
    let recorded = sandbox.events().into_iter().find(|event| event["kind"] == "run").expect("an event");
    assert_eq!((&recorded["agent"], &recorded["dir"]), (&"gate".into(), &"".into()), "{recorded}");
    assert!(runs[0]["failure"].is_string(), "{runs:?}");
    let snapshots = sandbox.snapshots();
    assert_eq!((&snapshots[0]["tree"], &snapshots[0]["exact"]), (&document["tree"], &true.into()), "{snapshots:?}");
    // Without the lab the same command gives the same finding.
    let plain = ["gate", "run", "--no-prp", "--json", "--fresh", "--trust", &digest];
    let plain: Value = serde_json::from_str(sandbox.verify_run(plain).outcome().stdout()).expect("JSON");
    assert_eq!(item(&plain, "X1")["findings"], item(&document, "X1")["findings"]);
    assert!(plain["isolation"].is_null());
}

#[test]
fn an_edit_while_it_runs_does_not_concern_the_verdict() {
    if !has_namespaces() {
        return;
    }
    let (sandbox, digest) = project_with_check("sleep 1\ngrep -q kept kept.txt\n");
    let (_, before) = evaluate(LabUser::Own, &sandbox, &digest, &[]);
    let arguments = ["gate", "run", "--isolated", "--no-prp", "--fresh", "--trust", &digest];
    let mut child = sandbox.verify_run(arguments).spawn();
    wait_until("the check runs", || sandbox.processes().iter().any(|(_, line)| line.starts_with("sleep 1")));
    sandbox.write("kept.txt", "edited\n");
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    let status = sandbox.verify_run(["gate", "status", "--json"]).prints_json();
    assert_eq!((&status["tree"], &status["verdict"]), (&before["tree"], &"approve".into()));
    assert_ne!(status["evaluation"], before["evaluation"]);
    // What is recorded is the tree that the command saw.
    let trees: Vec<Value> = sandbox.snapshots().into_iter().map(|snapshot| snapshot["tree"].clone()).collect();
    assert_eq!(trees, [before["tree"].clone(), before["tree"].clone()]);
    // The work tree as it is now is another one: its work may not end with that verdict.
    let signal = sandbox.verify_run(["gate", "status", "--can-exit"]).outcome();
    assert_eq!(signal.ended, CommandEnd::Exit(1));
}

#[test]
fn a_command_that_changes_a_file_is_not_evaluated_and_changes_none_outside() {
    if !has_namespaces() {
        return;
    }
    let (sandbox, digest) =
        project_with_check("echo more >> kept.txt; rm -f .gitignore; echo x > new.txt; echo x > a.log\n");
    let (outcome, document) = evaluate(LabUser::Own, &sandbox, &digest, &[]);
    let judged = item(&document, "X1");
    assert_eq!((outcome.ended, &judged["status"]), (CommandEnd::Exit(1), &"not_evaluated".into()), "{document}");
    assert_eq!(judged["reason"], "the command changed 3 files: .gitignore, kept.txt, new.txt");
    assert_eq!(sandbox.read("kept.txt"), "kept\n");
    assert!(sandbox.path(".gitignore").exists() && !sandbox.path("new.txt").exists());
}

#[test]
fn a_limit_that_ends_a_command_is_its_reason() {
    if !has_namespaces() {
        return;
    }
    let memory = "/usr/bin/python3 -c 'x=[]\nwhile True: x.append(b\"1\"*(8<<20))'\n";
    let (sandbox, digest) = project_with_check(memory);
    let folder = sandbox.home().join(".config/verify-run");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("verify-run.toml"), "[lab]\nmemory_bytes = 134217728\n").expect("settings");
    let (_, document) = evaluate(LabUser::Own, &sandbox, &digest, &[]);
    let reason = item(&document, "X1")["reason"].as_str().expect("a reason").to_owned();
    assert_eq!(reason, "sh was ended: it used more than 128 MiB of memory (setting lab.memory_bytes)");
    assert_eq!(runs_of(LabUser::Own, &sandbox, "sh").len(), 0, "half a run is no record");
}

/// A Python project with a feature on a branch; `pytest` and `ruff` are on its path.
fn python_feature(test: &str) -> Option<Sandbox> {
    let (pytest, _) = (need("pytest")?, need("ruff")?);
    let mut sandbox = Sandbox::repository();
    sandbox.add_path(pytest.parent().expect("a folder"));
    sandbox.write("pyproject.toml", "[project]\nname = \"rows\"\nversion = \"1\"\n");
    sandbox.write(".gitignore", "__pycache__\n.pytest_cache\n.ruff_cache\n");
    sandbox.write("rows.py", "def add(a, b):\n    return a - b\n");
    sandbox.write("test_rows.py", "def test_other():\n    assert True\n");
    sandbox.commit("The project");
    sandbox.git(["switch", "-q", "-c", "fix/add"]);
    sandbox.write("rows.py", "def add(a, b):\n    return a + b\n\n\ndef subtract(a, b):\n    return a - b\n");
    sandbox.write("test_rows.py", format!("{test}\n\n\ndef test_other():\n    assert True\n"));
    sandbox.write("prp.md", "# PRP: Add rows\n\n### Success Criteria\n\n- [ ] AC-1 add works\n");
    Some(sandbox)
}

fn criteria(sandbox: &Sandbox, more: &[&str]) -> Value {
    let arguments = [&["gate", "run", "--prp", "prp.md", "--base", "main", "--only", "F2", "--json"], more].concat();
    let outcome = sandbox.verify_run(arguments).outcome();
    let document: Value = serde_json::from_str(outcome.stdout()).unwrap_or_else(|error| panic!("{error}: {outcome:?}"));
    item(&document, "F2").clone()
}

const ASSERTS: &str = "from rows import add\n\n\ndef test_ac_1_add():\n    assert add(1, 2) == 3";
const PASSES_ANYWAY: &str = "from rows import add\n\n\ndef test_ac_1_add():\n    assert add(1, 0) == 1";
const NEEDS_A_NEW_NAME: &str =
    "from rows import add, subtract\n\n\ndef test_ac_1_add():\n    assert add(1, 2) == 3 and subtract(1, 1) == 0";
const FAILS_BESIDE: &str = "import rows\n\n\ndef test_ac_1_add(broken):\n    assert rows.add(1, 0) == 1\n\n\nimport pytest\n\n\n\
                            @pytest.fixture\ndef broken():\n    return rows.add";

#[test]
fn a_test_that_fails_on_the_sources_of_the_base_is_red_evidence() {
    for more in [&[][..], &["--isolated"]] {
        let Some(sandbox) = python_feature(ASSERTS) else { return };
        if !has_namespaces() {
            return;
        }
        let judged = criteria(&sandbox, more);
        assert_eq!(
            (&judged["status"], &judged["details"]),
            (&"pass".into(), &"100% (1 of 1 criterion)".into()),
            "{judged}"
        );
        // The trial is no run of the user's: only the test of the change is recorded.
        let runs = runs_of(LabUser::Own, &sandbox, "pytest");
        assert!(runs.iter().all(|run| run["failure"].is_null()) && runs.len() == 1, "{runs:?}");
        assert_eq!(left_by_labs(&sandbox).len(), 0);
    }
}

#[test]
fn a_test_that_passes_on_the_sources_of_the_base_proves_nothing() {
    let cases = [
        (PASSES_ANYWAY, "it passes on the base's sources, too"),
        (FAILS_BESIDE, "it passes on the base's sources, too"),
        (
            NEEDS_A_NEW_NAME,
            "no recorded run of this task, and on the base's sources the run fails before the test does",
        ),
    ];
    for (test, why) in cases {
        let Some(sandbox) = python_feature(test) else { return };
        if !has_namespaces() {
            return;
        }
        let judged = criteria(&sandbox, &[]);
        assert_eq!(judged["status"], "pass", "{judged}");
        let details = format!("100% (1 of 1 criterion); no run saw the tests of AC-1 ({why}) fail");
        assert_eq!(judged["details"], details, "{judged}");
        sandbox.verify_run(["gate", "init"]).outcome();
        let policy = sandbox.read(".verify-run/qa-checklist.yml").replace("red_evidence: warn", "red_evidence: block");
        sandbox.write(".verify-run/qa-checklist.yml", policy);
        let judged = criteria(&sandbox, &[]);
        assert_eq!(judged["status"], "fail", "{judged}");
        let message = judged["findings"][0]["message"].as_str().expect("a message");
        assert!(message.contains(&format!("(test_ac_1_add) was never seen failing: {why}")), "{message}");
    }
}

#[test]
fn a_trial_is_repeated_when_a_test_changes_and_not_when_a_source_does() {
    for more in [&[][..], &["--isolated"]] {
        let Some(sandbox) = python_feature(PASSES_ANYWAY) else { return };
        if !has_namespaces() {
            return;
        }
        let details = |more: &[&str]| criteria(&sandbox, more)["details"].as_str().expect("details").to_owned();
        let passes =
            "100% (1 of 1 criterion); no run saw the tests of AC-1 (it passes on the base's sources, too) fail";
        assert_eq!(details(more), passes);
        // What is kept says something else from now on: whoever says so has it from there.
        let kept = sandbox.state().join("gate/cache/red-trials.json");
        let text = std::fs::read_to_string(&kept).expect("a trial was kept");
        std::fs::write(&kept, text.replace("passes_on_base", "red")).expect("writes");
        assert_eq!(details(more), "100% (1 of 1 criterion)");
        sandbox.write("rows.py", "def add(a, b):\n    return b + a\n");
        assert_eq!(details(more), "100% (1 of 1 criterion)");
        assert_eq!(details(&[more, &["--fresh"]].concat()), passes, "nothing that is kept counts");
        std::fs::write(&kept, text.replace("passes_on_base", "red")).expect("writes");
        sandbox.write("test_rows.py", format!("{PASSES_ANYWAY} + 0\n"));
        assert_eq!(details(more), passes);
    }
}

#[test]
fn a_pass_in_the_lab_is_reused_there_and_nowhere_else() {
    let Some(sandbox) = python_feature(ASSERTS) else { return };
    if !has_namespaces() {
        return;
    }
    sandbox.write(".verify-run/qa-checklist.yml", checklist(&[("X1", "pytest")]));
    let digest = sandbox.verify_run(["gate", "trust", "--digest"]).prints().trim().to_owned();
    let details = |document: &Value| item(document, "X1")["details"].as_str().expect("details").to_owned();
    let (_, first) = evaluate(LabUser::Own, &sandbox, &digest, &[]);
    assert_eq!(item(&first, "X1")["status"], "pass", "{first}");
    assert!(!details(&first).contains("not run again"), "{first}");
    let (_, second) = evaluate(LabUser::Own, &sandbox, &digest, &[]);
    assert!(details(&second).contains("not run again: passed "), "{second}");
    let (_, fresh) = evaluate(LabUser::Own, &sandbox, &digest, &["--fresh"]);
    assert!(!details(&fresh).contains("not run again"), "{fresh}");
    let plain = sandbox.verify_run(["--reuse", "--sync", "pytest", "-q"]).outcome();
    assert_eq!(plain.ended, CommandEnd::Exit(0), "{plain:?}");
    let plain = sandbox.verify_run(["--reuse", "--sync", "pytest"]).outcome();
    assert_eq!(plain.stderr(), "verify-run: not reused: isolation changed\n", "{plain:?}");
    // Another tree is another run.
    sandbox.write("rows.py", sandbox.read("rows.py") + "\n\nX = 1\n");
    let (_, edited) = evaluate(LabUser::Own, &sandbox, &digest, &[]);
    assert!(!details(&edited).contains("not run again"), "{edited}");
}
