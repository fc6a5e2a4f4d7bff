//! What agents learn of the gate: over MCP, at the start of a session, and at the end of a turn.

use std::fs;

use serde_json::{Value, json};
use verify_run::run::CommandEnd;

use super::decisions::{failing_project, judge};
use crate::mcp::Server;
use crate::sandbox::Sandbox;

/// Rejects three trees.
fn escalate(sandbox: &Sandbox) {
    for code in [1, 1, 3] {
        let text = sandbox.read("check.sh");
        sandbox.write("check.sh", format!("{text}# again\n"));
        assert_eq!(judge(sandbox).0, CommandEnd::Exit(code));
    }
}

/// What a hook answers.
#[track_caller]
fn hook(sandbox: &Sandbox, agent: &str, event: &str, more: &Value) -> String {
    let mut said = json!({"session_id": "s-1", "cwd": sandbox.work(), "sessionId": "s-1", "conversation_id": "s-1"});
    said.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    let outcome = sandbox.verify_run(["hook", agent, event]).stdin(said.to_string()).outcome();
    assert_eq!((outcome.ended, outcome.stderr()), (CommandEnd::Exit(0), ""));
    outcome.stdout().to_owned()
}

fn stop(sandbox: &Sandbox, agent: &str) -> String {
    hook(sandbox, agent, "stop", &json!({"stop_hook_active": false, "status": "completed"}))
}

#[test]
fn the_status_and_the_report_are_read_over_mcp_and_nothing_is_started() {
    let sandbox = failing_project();
    let mut server = Server::start(&sandbox).modern();
    let (text, status) = server.tool("gate_status", json!({}));
    assert_eq!((&status["evaluated"], &status["gate"]), (&json!(false), &Value::Null));
    assert!(text.starts_with("Nothing was evaluated in this work tree."), "{text}");
    let read = |server: &mut Server| server.ask("resources/read", json!({"uri": "verify-run://gate/report"}));
    assert!(
        read(&mut server)["error"]["message"].as_str().is_some_and(|said| said.contains("verify-run://gate/report"))
    );
    sandbox.write("check.sh", "echo ran >>\"$TMPDIR/ran\"\nexit 2\n");
    judge(&sandbox);
    let ran = fs::read(sandbox.tmp().join("ran")).expect("it ran");
    let (text, status) = server.tool("gate_status", json!({}));
    let typed = sandbox.verify_run(["gate", "status", "--json"]).prints_json();
    let gate = &status["gate"];
    assert_eq!((&gate["evaluation"], &gate["verdict"]), (&typed["evaluation"], &json!("reject")));
    assert!(text.starts_with("REJECT (g-") && text.contains("- X1 `c` (blocking, fail): `exit code 2`"), "{text}");
    let listed = server.ask("resources/list", json!({}));
    let uris: Vec<&Value> =
        listed["result"]["resources"].as_array().expect("resources").iter().map(|it| &it["uri"]).collect();
    assert!(uris.contains(&&json!("verify-run://gate/report")), "{uris:?}");
    let report = read(&mut server)["result"]["contents"][0]["text"].as_str().expect("a text").to_owned();
    assert_eq!(report.trim_end(), sandbox.verify_run(["gate", "show"]).prints().trim_end());
    assert_eq!(fs::read(sandbox.tmp().join("ran")).expect("it ran"), ran);
    server.ends();
}

#[test]
fn a_session_begins_with_what_a_person_has_to_decide_and_nothing_else() {
    let sandbox = failing_project();
    let start = || hook(&sandbox, "claude", "session-start", &json!({"source": "startup"}));
    sandbox.write("check.sh", "exit 1\n# one\n");
    judge(&sandbox);
    assert!(!start().contains("quality gate"), "a rejection is the agent's to mend");
    let escalated = failing_project();
    escalate(&escalated);
    let said = hook(&escalated, "claude", "session-start", &json!({"source": "startup"}));
    let said: Value = serde_json::from_str(&said).expect("JSON");
    let context = said["hookSpecificOutput"]["additionalContext"].as_str().expect("a text");
    let notice = "The quality gate rejected too many trees (feature `main`). Nothing is evaluated before a person runs \
                  `verify-run gate resolve`.";
    assert!(context.starts_with(notice), "{context}");
    let halted = failing_project();
    halted.write("note.txt", "a change\n");
    (0..3).for_each(|_| drop(judge(&halted)));
    let said = hook(&halted, "codex", "session-start", &json!({"source": "startup"}));
    assert!(said.contains("its circuit breaker is open") && said.contains("verify-run gate reset"), "{said}");
}

#[test]
fn an_agent_that_stops_on_rejected_work_is_asked_once_for_each_tree_and_three_times_at_most() {
    let sandbox = failing_project();
    assert_eq!(stop(&sandbox, "claude"), "", "nothing was evaluated");
    sandbox.write("check.sh", "exit 2\n");
    judge(&sandbox);
    let said: Value = serde_json::from_str(&stop(&sandbox, "claude")).expect("JSON");
    let reason = said["reason"].as_str().expect("a reason");
    assert_eq!(said["decision"], "block");
    assert!(
        reason.starts_with("The quality gate rejects this work (g-") && reason.contains("Fix 1 blocking issue: X1"),
        "{reason}"
    );
    assert!(reason.ends_with("Then run `verify-run gate run` again."), "{reason}");
    assert_eq!(stop(&sandbox, "claude"), "", "once for this tree");
    sandbox.write("check.sh", "exit 3\n");
    let said = stop(&sandbox, "claude");
    assert!(said.contains("rejected this work before your last edits"), "{said}");
    assert_eq!(stop(&sandbox, "claude"), "");
    sandbox.write("check.sh", "exit 4\n");
    assert_ne!(stop(&sandbox, "claude"), "");
    for code in 5..9 {
        sandbox.write("check.sh", format!("exit {code}\n"));
        assert_eq!(stop(&sandbox, "claude"), "", "three times in a cycle");
    }
}

#[test]
fn whoever_may_stop_is_not_asked() {
    let sandbox = failing_project();
    sandbox.write("check.sh", "exit 2\n");
    judge(&sandbox);
    let said = json!({"session_id": "s", "cwd": sandbox.work(), "hook_event_name": "Stop"}).to_string();
    let inside = sandbox.verify_run(["hook", "claude", "stop"]).env("VERIFY_RUN_EVALUATION", "g-1").stdin(said.clone());
    assert_eq!(inside.prints(), "", "a reviewer of the gate");
    let elsewhere = Sandbox::repository();
    assert_eq!(stop(&elsewhere, "claude"), "");
    sandbox.write("check.sh", "exit 0\n");
    assert_eq!(judge(&sandbox).0, CommandEnd::Exit(0));
    assert_eq!(stop(&sandbox, "claude"), "", "it is approved");
    let escalated = failing_project();
    escalate(&escalated);
    assert_eq!(stop(&escalated, "claude"), "", "a person has to decide");
}

#[test]
fn each_host_is_asked_in_its_own_words() {
    let rejected = || {
        let sandbox = failing_project();
        sandbox.write("check.sh", "exit 2\n");
        judge(&sandbox);
        sandbox
    };
    let asked = |agent: &str| -> Value { serde_json::from_str(&stop(&rejected(), agent)).expect("JSON") };
    for agent in ["codex", "droid", "qwen", "copilot"] {
        let said = asked(agent);
        assert_eq!((&said["decision"], said["reason"].is_string()), (&json!("block"), true), "{agent}: {said}");
    }
    let gemini = asked("gemini");
    assert_eq!((&gemini["decision"], gemini["reason"].is_string()), (&json!("deny"), true), "{gemini}");
    assert!(asked("cursor")["followup_message"].as_str().is_some_and(|said| said.contains("rejects this work")));
    let sandbox = rejected();
    assert_eq!(hook(&sandbox, "cursor", "stop", &json!({"status": "aborted"})), "{}", "a person ended the turn");
    // Hosts whose hooks cannot keep an agent going are not set up for it, and are answered nothing.
    assert_eq!(stop(&sandbox, "kiro"), "");
}
