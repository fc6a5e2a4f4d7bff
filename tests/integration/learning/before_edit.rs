//! Approved pages in the answer of an agent's hook before an edit: where they matter, two at a time, once a session.

use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;
use verify_run::run::CommandEnd;

use super::agents_read::{approve, with_candidate};
use crate::sandbox::Sandbox;

const SETTINGS: &str = "[advice]\nholdout = false\nhook_ms = 60000\n";

/// What Claude Code's hook answers before an edit of a file, as it names it.
#[track_caller]
fn before_edit(sandbox: &Sandbox, session: &str, file: &Path) -> String {
    let call = json!({
        "session_id": session, "cwd": sandbox.work(), "hook_event_name": "PreToolUse", "tool_name": "Edit",
        "tool_input": { "file_path": file, "old_string": "a", "new_string": "b" },
    });
    let outcome = sandbox.verify_run(["hook", "claude", "pre-tool"]).stdin(call.to_string()).outcome();
    assert_eq!((outcome.ended, outcome.stderr()), (CommandEnd::Exit(0), ""));
    outcome.stdout().to_owned()
}

#[test]
fn an_approved_page_is_shown_once_in_each_session_and_a_candidate_in_none() {
    let Some((sandbox, id)) = with_candidate(SETTINGS) else { return };
    let file = sandbox.path("calc.py");
    assert!(!before_edit(&sandbox, "one", &file).contains(&id), "it is a candidate");
    approve(&sandbox, &id);
    let said = before_edit(&sandbox, "one", &file);
    assert!(said.contains(&format!("Approved pattern {id} (proven)")) && said.contains("return a + b"), "{said}");
    assert!(!before_edit(&sandbox, "one", &file).contains(&id), "once");
    sandbox.settle();
    assert!(!before_edit(&sandbox, "one", &file).contains(&id), "nor once the recorder has taken note");
    assert!(before_edit(&sandbox, "two", &file).contains(&id));
    assert!(!before_edit(&sandbox, "three", &sandbox.path("conftest.py")).contains(&id), "it is about another file");
}

#[test]
fn two_pages_are_shown_at_a_time_and_the_next_one_at_the_next_edit() {
    let Some((sandbox, id)) = with_candidate(SETTINGS) else { return };
    approve(&sandbox, &id);
    let pages = sandbox.verify_run(["library", "list", "--active", "--json"]).prints_json();
    let text = sandbox.read(pages["pages"][0]["path"].as_str().expect("a path"));
    for other in ["a-22222222", "a-33333333"] {
        sandbox.write(format!(".agent/patterns/active/{other}.md"), text.replace(&id, other));
    }
    sandbox.commit("Two more pages");
    let shown = || before_edit(&sandbox, "one", &sandbox.path("calc.py")).matches("Approved pattern a-").count();
    assert_eq!([shown(), shown(), shown()], [2, 1, 0]);
}

#[test]
fn a_file_that_is_named_by_way_of_a_link_is_the_same_file() {
    let Some((sandbox, id)) = with_candidate(SETTINGS) else { return };
    approve(&sandbox, &id);
    let link = sandbox.tmp().join("link");
    symlink(sandbox.work(), &link).expect("a link");
    assert!(before_edit(&sandbox, "one", &link.join("calc.py")).contains(&id));
}
