//! The files that evaluations leave for other programs.

use std::fs;

use verify_run::run::CommandEnd;

use super::ship::{approved_project, run_gate};

#[test]
fn the_session_folder_has_state_report_and_log_and_is_never_read() {
    let sandbox = approved_project();
    let exclude = sandbox.read(".git/info/exclude");
    let made = sandbox.verify_run(["gate", "init", "--session"]).outcome();
    assert!(made.stdout().contains("made .prp-session"), "{made:?}");
    sandbox.write("check.sh", "exit 1\n");
    run_gate(&sandbox, &[]);
    let state = sandbox.read(".prp-session/qa-state.json");
    let keys = ["attempt", "last_verdict", "report_path", "memory_context", "schema"];
    let found: Vec<Option<usize>> = keys.iter().map(|key| state.find(&format!("\"{key}\""))).collect();
    assert!(found.is_sorted() && found[0].is_some(), "{state}");
    let document: serde_json::Value = serde_json::from_str(&state).expect("JSON");
    assert_eq!((&document["attempt"], &document["last_verdict"]), (&1.into(), &"REJECT".into()));
    assert_eq!(document["report_path"], ".prp-session/qa-report-1.md");
    assert!(sandbox.read(".prp-session/qa-report-1.md").contains("REJECTED"));
    let tree = document["tree"].clone();
    sandbox.write(".prp-session/qa-state.json", state.replace("\"attempt\": 1", "\"attempt\": 0"));
    run_gate(&sandbox, &[]);
    let document: serde_json::Value = serde_json::from_str(&sandbox.read(".prp-session/qa-state.json")).expect("JSON");
    assert_eq!((&document["attempt"], &document["tree"]), (&1.into(), &tree), "its own files are no part of the work");
    assert_eq!(sandbox.read(".prp-session/phase-status.log").matches("---END_PRP_PHASE_STATUS---").count(), 2);
    assert!(!sandbox.git(["status", "--short"]).contains("prp-session"));
    fs::remove_dir_all(sandbox.path(".prp-session")).expect("removed");
    sandbox.write("check.sh", "exit 2\n");
    run_gate(&sandbox, &[]);
    assert_eq!(sandbox.verify_run(["gate", "status", "--json"]).prints_json()["attempt"], 2);
    assert!(!sandbox.path(".prp-session").exists(), "it is not made by an evaluation");
    sandbox.verify_run(["uninstall", "--purge"]).outcome();
    assert_eq!(sandbox.read(".git/info/exclude"), exclude);
}

#[test]
fn a_session_folder_or_report_behind_a_link_is_refused() {
    let sandbox = approved_project();
    let outside = sandbox.tmp().join("outside");
    fs::create_dir(&outside).expect("a folder");
    std::os::unix::fs::symlink(&outside, sandbox.path(".prp-session")).expect("a link");
    let outcome = run_gate(&sandbox, &[]);
    assert_eq!(outcome.ended, CommandEnd::Exit(0), "{outcome:?}");
    assert!(outcome.stderr().contains("nothing was written into .prp-session: it is a link"), "{outcome:?}");
    let report = run_gate(&sandbox, &["--report", ".prp-session/report.md"]);
    assert_eq!(report.ended, CommandEnd::Exit(2));
    assert!(report.stderr().contains("a link leads out of the work tree"), "{report:?}");
    assert_eq!(fs::read_dir(&outside).expect("read").count(), 0);
    fs::remove_file(sandbox.path(".prp-session")).expect("removed");
    fs::create_dir(sandbox.path(".prp-session")).expect("a folder");
    std::os::unix::fs::symlink(outside.join("x"), sandbox.path(".prp-session/phase-status.log")).expect("a link");
    assert!(run_gate(&sandbox, &[]).stderr().contains("phase-status.log is a link"));
    assert!(!outside.join("x").exists() && !sandbox.path(".prp-session/qa-state.json").exists());
}

#[test]
fn a_tracked_session_folder_is_no_part_of_the_judged_tree() {
    let sandbox = approved_project();
    sandbox.write(".prp-session/notes.md", "1\n");
    sandbox.git(["add", "-f", ".prp-session/notes.md"]);
    sandbox.git(["commit", "-q", "-m", "Track the session"]);
    run_gate(&sandbox, &[]);
    let tree = || sandbox.verify_run(["gate", "status", "--json"]).prints_json()["tree"].clone();
    let before = tree();
    sandbox.write(".prp-session/notes.md", "2\n");
    sandbox.write(".prp-session/other.md", "2\n");
    run_gate(&sandbox, &[]);
    assert_eq!(tree(), before);
}
