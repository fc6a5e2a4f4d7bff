//! What the base has as well: old findings of a linter, its policy, and what was chosen for the evaluation before.

use verify_run::run::CommandEnd;

use super::items::{branch_of, some_items};
use super::ship::{approved_project, run_gate};
use super::{add_feature, checklist, gate, item, python_project};
use crate::sandbox::{Sandbox, need};

/// A Python project whose base has three findings of ruff, with a checklist that asks for no new ones.
fn project_with_old_findings(validation: &str) -> Option<Sandbox> {
    let ruff = need("ruff")?;
    let mut sandbox = Sandbox::repository();
    sandbox.add_path(ruff.parent().expect("a folder").to_owned());
    sandbox.write("pyproject.toml", "[project]\nname = \"x\"\nversion = \"1\"\n");
    sandbox.write(".gitignore", ".ruff_cache\n");
    sandbox.write("old.py", "import os\nimport sys\n\n\ndef one():\n    return unknown\n");
    sandbox.verify_run(["gate", "init"]).outcome();
    let shipped = sandbox.read(".verify-run/qa-checklist.yml");
    let held = "comando: \"{detected_lint_command}\"\n        hold_the_line: true\n";
    let own = shipped.replacen("comando: \"{detected_lint_command}\"\n", held, 1);
    let own = own.replacen("validacao: \"linter exit_code == 0\"", &format!("validacao: \"{validation}\""), 1);
    assert_ne!(own, shipped);
    sandbox.write(".verify-run/qa-checklist.yml", own);
    sandbox.commit("The project");
    sandbox.git(["switch", "-q", "-c", "fix/a"]);
    Some(sandbox)
}

fn details(judged: &serde_json::Value) -> (String, String) {
    let lint = item(judged, "C1");
    let text = |key: &str| lint[key].as_str().unwrap_or_default().to_owned();
    (text("status"), text("details"))
}

#[test]
fn old_findings_do_not_count_where_the_line_is_held() {
    let Some(sandbox) = project_with_old_findings("linter exit_code == 0") else { return };
    // The old findings are in other lines now.
    sandbox.write("old.py", "# A comment\nimport os\nimport sys\n\n\ndef one():\n    return unknown\n");
    let judged = some_items(&sandbox, "C1");
    assert_eq!(details(&judged), ("pass".into(), "0 new, 3 as before".into()), "{judged}");
    sandbox.write("new.py", "import json\n");
    let judged = some_items(&sandbox, "C1");
    assert_eq!(details(&judged), ("fail".into(), "1 new, 3 as before".into()), "{judged}");
    let findings = item(&judged, "C1")["findings"].as_array().expect("findings");
    let paths: Vec<&str> = findings.iter().filter_map(|finding| finding["path"].as_str()).collect();
    assert_eq!(paths, ["new.py"], "{judged}");
    let left: Vec<_> = std::fs::read_dir(sandbox.state().join("gate")).expect("a folder").flatten().collect();
    assert!(!left.iter().any(|entry| entry.file_name().to_string_lossy().ends_with(".base")), "{left:?}");
    let runs = sandbox.verify_run(["log", "--json"]).prints_json();
    let roots = runs["runs"].as_array().expect("runs").iter().filter(|run| run["argv"][0] == "ruff");
    assert_eq!(roots.count(), 2, "the run on the base is no run of this repository: {runs}");
}

#[test]
fn a_moved_file_has_its_old_findings_and_a_second_one_of_a_kind_is_new() {
    let Some(sandbox) = project_with_old_findings("introduced == 0") else { return };
    sandbox.git(["mv", "old.py", "moved.py"]);
    let judged = some_items(&sandbox, "C1");
    assert_eq!(details(&judged), ("pass".into(), "0 new, 3 as before".into()), "{judged}");
    sandbox.write(
        "moved.py",
        "import os\nimport sys\n\n\ndef one():\n    return unknown\n\n\ndef two():\n    return unknown\n",
    );
    let judged = some_items(&sandbox, "C1");
    assert_eq!(details(&judged), ("fail".into(), "1 new, 3 as before".into()), "{judged}");
}

#[test]
fn a_recorded_run_over_the_tree_of_the_base_spares_another_one() {
    let Some(sandbox) = project_with_old_findings("linter exit_code == 0") else { return };
    // What was written a moment ago may be newer than the run, so far as times can tell.
    std::thread::sleep(std::time::Duration::from_millis(50));
    sandbox.verify_run(["--sync", "ruff", "check", "."]).outcome();
    sandbox.write("new.py", "import json\n");
    // Whatever would be checked out could not be.
    let blocked = sandbox.state().join("gate");
    std::fs::create_dir_all(&blocked).expect("a folder");
    let judged = some_items(&sandbox, "C1");
    assert_eq!(details(&judged), ("fail".into(), "1 new, 3 as before".into()), "{judged}");
    let runs =
        sandbox.events().into_iter().filter(|event| event["kind"] == "run" && event["argv"][0] == "ruff").count();
    assert_eq!(runs, 2, "one by hand, and one by the gate");
}

#[test]
fn a_base_that_cannot_be_checked_is_no_pass() {
    let Some(sandbox) = project_with_old_findings("linter exit_code == 0") else { return };
    sandbox.write("pyproject.toml", "[project\n");
    sandbox.git(["commit", "-q", "-a", "-m", "Break the settings"]);
    sandbox.write("pyproject.toml", "[project]\nname = \"x\"\nversion = \"1\"\n");
    let run = ["gate", "run", "--no-prp", "--json", "--only", "C1", "--base", "HEAD"];
    let judged: serde_json::Value = serde_json::from_str(sandbox.verify_run(run).outcome().stdout()).expect("JSON");
    let lint = item(&judged, "C1");
    assert_eq!(lint["status"], "not_evaluated", "{judged}");
    assert!(
        lint["reason"].as_str().is_some_and(|it| it.starts_with("the base could not be checked: ruff")),
        "{judged}"
    );
}

#[test]
fn holding_the_line_is_for_linters() {
    let sandbox = branch_of(&[("package.json", "{}\n")]);
    let other =
        checklist(&[("X1", "sh check.sh")]).replace("blocking: true", "blocking: true\n      hold_the_line: true");
    sandbox.write(".verify-run/qa-checklist.yml", other);
    let outcome = sandbox.verify_run(["gate", "plan"]).outcome();
    assert_eq!(outcome.ended, CommandEnd::Exit(2));
    assert!(outcome.stderr().contains("hold_the_line is for the lint command of the stack"), "{outcome:?}");
}

#[test]
fn what_was_chosen_in_another_way_than_before_is_said() {
    let Some(sandbox) = python_project() else { return };
    add_feature(&sandbox);
    sandbox.write("rows.py", "def add(a, b):\n    return a + b\n\n\ndef subtract(a, b):\n    return a + b\n");
    let first = gate(&sandbox).outcome();
    assert_eq!(first.ended, CommandEnd::Exit(1), "{first:?}");
    assert!(!first.stderr().contains("since the last evaluation"), "{first:?}");
    sandbox.write("notes.txt", "x\n");
    let other = sandbox.verify_run(["gate", "run", "--no-prp", "--base", "HEAD"]).outcome();
    for said in [
        "since the last evaluation, the base was merge base with main, and is merge base with HEAD\n",
        "since the last evaluation, the PRP was prp.md, and is none\n",
    ] {
        assert!(other.stderr().contains(said), "{said}\n{other:?}");
    }
    let report = sandbox.verify_run(["gate", "show"]).prints();
    assert!(report.contains("- Since the last evaluation: the PRP was prp.md, and is none\n"), "{report}");
    gate(&sandbox).outcome();
    let without = sandbox.verify_run(["gate", "run", "--base", "main", "--only", "F2"]).outcome();
    assert!(without.stdout().contains("the last evaluation had --prp prp.md"), "{without:?}");
}

#[test]
fn a_given_checklist_that_is_weaker_than_the_bases_own_is_refused() {
    let sandbox = approved_project();
    let own = sandbox.read(".verify-run/qa-checklist.yml");
    let weaker = own.replace("blocking: true", "blocking: false");
    std::fs::write(sandbox.home().join("weak.yml"), &weaker).expect("written");
    let given = sandbox.home().join("weak.yml");
    let run = ["gate", "run", "--no-prp", "--json", "--checklist", given.to_str().expect("UTF-8")];
    let outcome = sandbox.verify_run(run).outcome();
    assert_eq!(outcome.ended, CommandEnd::Exit(1), "{outcome:?}");
    let document: serde_json::Value = serde_json::from_str(outcome.stdout()).expect("JSON");
    let message = document["issues"][0]["message"].as_str().expect("a message");
    assert!(message.contains("given by --checklist, is weaker than .verify-run/qa-checklist.yml"), "{message}");
    assert!(message.contains("X1 does not block any more"), "{message}");
}

#[test]
fn a_change_that_removes_or_moves_the_policy_is_judged_by_it() {
    for is_moved in [false, true] {
        let sandbox = branch_of(&[
            ("package.json", "{}\n"),
            (".verify-run/qa-checklist.yml", &checklist(&[("X1", "true"), ("X2", "true")])),
        ]);
        let file = ".verify-run/qa-checklist.yml";
        drop(if is_moved { sandbox.git(["mv", file, "policy.yml"]) } else { sandbox.git(["rm", "-q", file]) });
        let outcome = sandbox.verify_run(["gate", "run", "--no-prp", "--json"]).outcome();
        let document: serde_json::Value = serde_json::from_str(outcome.stdout()).expect("JSON");
        let message = document["issues"][0]["message"].as_str().unwrap_or_else(|| panic!("{is_moved}: {document}"));
        assert!(
            message.contains("in the place of .verify-run/qa-checklist.yml, which is stricter: X1 is gone"),
            "{message}"
        );
    }
}

#[test]
fn commands_of_the_bases_list_run_only_if_a_person_approved_them() {
    let sandbox = approved_project();
    // The branch takes out a command of the base that no person here approved.
    sandbox.git(["stash", "-q", "-u"]);
    sandbox.git(["switch", "-q", "main"]);
    let own = sandbox.read(".verify-run/qa-checklist.yml");
    let hostile = checklist(&[("X1", "sh check.sh"), ("X2", "touch pwned")]);
    sandbox.write(".verify-run/qa-checklist.yml", hostile);
    sandbox.commit("A command");
    sandbox.git(["switch", "-q", "-c", "feat/less"]);
    sandbox.write(".verify-run/qa-checklist.yml", own);
    let outcome = run_gate(&sandbox, &["--json"]);
    assert_eq!(outcome.ended, CommandEnd::Exit(1), "{outcome:?}");
    assert!(outcome.stdout().contains("commands of the list of the base are not approved"), "{outcome:?}");
    assert!(!sandbox.path("pwned").exists());
}
