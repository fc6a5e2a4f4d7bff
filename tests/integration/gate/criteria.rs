//! `gate criteria`: links of acceptance criteria are written for people, counted by evaluations, and never forged.

use std::fs;

use serde_json::Value;
use verify_run::run::CommandEnd;

use super::decisions::decide;
use super::{add_feature, item, python_project};
use crate::sandbox::{Outcome, Sandbox};

const FILE: &str = ".verify-run/qa-criteria.yml";

/// A project with three criteria, of which a test names the first one.
fn project() -> Option<Sandbox> {
    let sandbox = python_project()?;
    add_feature(&sandbox);
    let criteria = ["AC-1 subtract works", "AC-2 zero stays", "AC-3 it is fast on staging"];
    let items: String = criteria.iter().map(|text| format!("- [ ] {text}\n")).collect();
    sandbox.write("prp.md", format!("# PRP: Subtract rows\n\n### Success Criteria\n\n{items}"));
    let tests = sandbox.read("test_rows.py") + "\n\ndef test_zero():\n    assert subtract(0, 0) == 0\n";
    sandbox.write("test_rows.py", tests);
    Some(sandbox)
}

fn criteria(sandbox: &Sandbox, arguments: &[&str]) -> Outcome {
    sandbox.verify_run(["gate", "criteria"]).args(arguments).outcome()
}

fn list(sandbox: &Sandbox) -> Value {
    sandbox.verify_run(["gate", "criteria", "list", "--prp", "prp.md", "--json"]).prints_json()
}

/// The item about criteria, evaluated alone.
fn coverage(sandbox: &Sandbox) -> Value {
    let run = ["gate", "run", "--prp", "prp.md", "--base", "main", "--only", "F2", "--json"];
    let outcome = sandbox.verify_run(run).outcome();
    assert_eq!(outcome.ended, CommandEnd::Exit(5), "{outcome:?}");
    item(&serde_json::from_str(outcome.stdout()).expect("JSON"), "F2").clone()
}

#[test]
fn links_are_written_listed_and_counted() {
    let Some(sandbox) = project() else { return };
    let before = list(&sandbox);
    assert_eq!((&before["file"], &before["stale"]), (&Value::Null, &Value::Null));
    assert_eq!(before["criteria"][0]["kind"], "named", "{before}");
    assert_eq!(before["criteria"][0]["evidence"][0], "test_rows.py:8 (test_ac_1_subtract)");
    assert_eq!(before["criteria"][1]["kind"], Value::Null);
    let linked = criteria(&sandbox, &["link", "AC-2", "test_rows.py::test_zero", "--prp", "prp.md"]);
    assert_eq!(
        (linked.ended, linked.stdout(), linked.stderr()),
        (CommandEnd::Exit(0), format!("wrote {FILE}\n").as_str(), "")
    );
    let text = sandbox.read(FILE);
    assert!(text.contains("prp: \"prp.md\"\n  digest: \"blake3:"), "{text}");
    assert!(text.ends_with("    - {id: AC-2, test: \"test_rows.py::test_zero\"}\n"), "{text}");
    // A link to a test names no command: nothing has to be approved.
    assert_eq!(
        coverage(&sandbox)["details"].as_str().expect("details").split(';').next(),
        Some("67% (2 of 3 criteria)")
    );
    let confirm = ["gate", "criteria", "confirm", "AC-3", "--by", "Ada", "--note", "20 ms: seen on \"staging\""];
    let refused = sandbox.verify_run(confirm).stdin("Ada\n").outcome();
    assert_eq!((refused.ended, sandbox.read(FILE)), (CommandEnd::Exit(2), text), "a pipe is no person");
    assert_eq!(decide(&sandbox, &confirm, "Ada"), CommandEnd::Exit(0));
    let covered = coverage(&sandbox);
    assert_eq!(covered["status"], "pass", "{covered}");
    let after = list(&sandbox);
    assert_eq!((&after["criteria"][1]["kind"], &after["criteria"][2]["kind"]), (&"test".into(), &"manual".into()));
    assert!(after["criteria"][2]["evidence"][0].as_str().expect("a text").ends_with(": 20 ms: seen on \"staging\""));
    let shown = criteria(&sandbox, &[]);
    assert!(shown.stdout().contains("AC-2") && shown.stdout().contains("test: test_rows.py::test_zero"), "{shown:?}");
    let unknown = criteria(&sandbox, &["link", "AC-9", "test_rows.py::test_zero"]);
    assert_eq!(unknown.ended, CommandEnd::Exit(2));
    assert!(unknown.stderr().contains("prp.md has no criterion AC-9: it has AC-1, AC-2, AC-3"), "{}", unknown.stderr());
    let missing = criteria(&sandbox, &["link", "AC-2", "test_rows.py::test_other"]);
    assert_eq!(
        (missing.ended, missing.stderr()),
        (CommandEnd::Exit(0), "there is no test test_rows.py::test_other yet\n")
    );
    assert_eq!(coverage(&sandbox)["status"], "fail");
}

#[test]
fn a_confirmation_that_no_person_typed_does_not_count() {
    let Some(sandbox) = project() else { return };
    criteria(&sandbox, &["link", "AC-2", "test_rows.py::test_zero", "--prp", "prp.md"]);
    let forged = sandbox.read(FILE) + "    - {id: AC-3, manual: {by: \"Ada\", at: \"2026-11-23\", note: \"seen\"}}\n";
    sandbox.write(FILE, &forged);
    let run = ["gate", "run", "--prp", "prp.md", "--only", "F2"];
    let refused = sandbox.verify_run(run).outcome();
    assert_eq!(refused.ended, CommandEnd::Exit(2), "{refused:?}");
    assert!(refused.stderr().contains(FILE), "{}", refused.stderr());
    // A link that verify-run adds does not approve what was there before.
    let linked = criteria(&sandbox, &["link", "AC-1", "test_rows.py::test_ac_1_subtract"]);
    assert_eq!((linked.ended, linked.stderr()), (CommandEnd::Exit(0), "hint: run `verify-run gate trust`\n"));
    assert_eq!(sandbox.verify_run(run).outcome().ended, CommandEnd::Exit(2));
    fs::remove_file(sandbox.path(FILE)).expect("removed");
    let command = criteria(&sandbox, &["link", "AC-3", "--command", "touch pwned", "--prp", "prp.md"]);
    assert_eq!((command.ended, command.stderr()), (CommandEnd::Exit(0), "hint: run `verify-run gate trust`\n"));
    assert_eq!(sandbox.verify_run(run).outcome().ended, CommandEnd::Exit(2));
    assert!(!sandbox.path("pwned").exists());
    let open = criteria(&sandbox, &["link", "AC-3", "--command", "echo 'a"]);
    assert!(open.ended == CommandEnd::Exit(2) && open.stderr().contains("a quote of the command is not closed"));
}

#[test]
fn links_of_changed_criteria_are_stale_until_they_are_renewed() {
    let Some(sandbox) = project() else { return };
    criteria(&sandbox, &["link", "AC-2", "test_rows.py::test_zero", "--prp", "prp.md"]);
    let confirm = ["gate", "criteria", "confirm", "AC-3", "--by", "Ada", "--note", "seen"];
    assert_eq!(decide(&sandbox, &confirm, "Ada"), CommandEnd::Exit(0));
    let commented = sandbox.read(FILE).replace("  criteria:\n", "  criteria:\n    # the zero row\n");
    sandbox.write(FILE, &commented);
    sandbox.write("prp.md", sandbox.read("prp.md").replace("it is fast", "it is very fast"));
    let stale = list(&sandbox);
    assert_eq!(stale["stale"], "the criteria of the PRP have changed since these links were made");
    assert_eq!((&stale["criteria"][0]["kind"], &stale["criteria"][1]["kind"]), (&"named".into(), &Value::Null));
    let refused = criteria(&sandbox, &["link", "AC-1", "test_rows.py::test_ac_1_subtract"]);
    assert_eq!((refused.ended, sandbox.read(FILE)), (CommandEnd::Exit(2), commented));
    assert!(refused.stderr().contains("hint: read the links again, and give --renew"), "{}", refused.stderr());
    let renewed = criteria(&sandbox, &["link", "AC-1", "test_rows.py::test_ac_1_subtract", "--renew"]);
    assert_eq!(renewed.ended, CommandEnd::Exit(0), "{renewed:?}");
    assert_eq!(renewed.stderr(), "removed AC-3: it was about other criteria\n");
    let text = sandbox.read(FILE);
    assert!(text.contains("# the zero row") && text.contains("AC-2") && !text.contains("AC-3"), "{text}");
    assert_eq!(list(&sandbox)["stale"], Value::Null);
    let details = coverage(&sandbox)["details"].as_str().expect("details").to_owned();
    assert!(details.starts_with("67% (2 of 3 criteria)"), "{details}");
}

#[test]
fn the_file_beside_the_prp_counts_and_a_bad_or_linked_one_is_left_alone() {
    let Some(sandbox) = project() else { return };
    fs::create_dir_all(sandbox.path("docs/prps")).expect("a folder");
    fs::rename(sandbox.path("prp.md"), sandbox.path("docs/prps/rows.md")).expect("moved");
    let bad = "qa_criteria:\n  criteria:\n    - {test: x}\n";
    sandbox.write("docs/prps/qa-criteria.yml", bad);
    let link = ["link", "AC-2", "test_rows.py::test_zero", "--prp", "docs/prps/rows.md"];
    let refused = criteria(&sandbox, &link);
    assert_eq!((refused.ended, refused.stdout()), (CommandEnd::Exit(2), ""));
    assert_eq!(refused.stderr(), "verify-run: docs/prps/qa-criteria.yml:3: `id` is missing in this entry\n");
    assert_eq!(sandbox.read("docs/prps/qa-criteria.yml"), bad);
    sandbox.write("docs/prps/qa-criteria.yml", "# ours\nqa_criteria:\n  criteria: []\n");
    assert_eq!(criteria(&sandbox, &link).stdout(), "wrote docs/prps/qa-criteria.yml\n");
    let text = sandbox.read("docs/prps/qa-criteria.yml");
    assert!(text.starts_with("# ours\nqa_criteria:\n  prp: \"docs/prps/rows.md\"\n"), "{text}");
    assert!(!sandbox.path(FILE).exists());
    fs::remove_file(sandbox.path("docs/prps/qa-criteria.yml")).expect("removed");
    fs::create_dir_all(sandbox.path(".verify-run")).expect("a folder");
    let outside = sandbox.tmp().join("outside.yml");
    std::os::unix::fs::symlink(&outside, sandbox.path(FILE)).expect("a link");
    assert_eq!(criteria(&sandbox, &link).ended, CommandEnd::Exit(2));
    assert!(!outside.exists());
}
