//! Where a proof shows, and where approved pages are read: warnings, known failures, knowledge, the Model Context Protocol,
//! the quality gate, promotions. A candidate is read nowhere.

use serde_json::{Value, json};
use verify_run::run::CommandEnd;

use super::{agree, fails, judge, mend, mend_calc, passes, python_project, work};
use crate::lab::has_namespaces;
use crate::mcp::Server;
use crate::sandbox::{Sandbox, wait_until};

const SETTINGS: &str = "[advice]\nholdout = false\n[promotion]\ntasks = 1\nconfidence = 0.5\n";

/// A project with a proven candidate; the page's id.
pub(super) fn with_candidate(settings: &str) -> Option<(Sandbox, String)> {
    let sandbox = python_project()?;
    if !has_namespaces() {
        return None;
    }
    sandbox.write("verify-run.toml", settings);
    sandbox.commit("Settings");
    mend(&sandbox, &["pytest", "-q"], mend_calc);
    agree(&sandbox);
    let job = work(&sandbox);
    assert_eq!(job["state"], "candidate", "{job}");
    let id = job["artifact"].as_str().expect("a page").to_owned();
    Some((sandbox, id))
}

pub(super) fn approve(sandbox: &Sandbox, id: &str) {
    sandbox.verify_run(["library", "approve", id, "--by", "Ada", "--reason", "it is right"]).prints();
}

fn relevant(sandbox: &Sandbox) -> Value {
    sandbox.verify_run(["knowledge", "relevant", "--files", "calc.py", "--json"]).prints_json()
}

/// What the resource of active patterns says to a session about a file in its title.
fn resource(sandbox: &Sandbox) -> String {
    sandbox.verify_run(["task", "start", "next", "--title", "rework the sums in calc.py"]).prints();
    let mut server = Server::start(sandbox).modern();
    let answer = server.ask("resources/read", json!({"uri": "verify-run://patterns/active"}));
    let text = answer["result"]["contents"][0]["text"].as_str().expect("a text").to_owned();
    server.ends();
    text
}

/// The names of patterns in a report of the gate for which memory answered in time: a busy machine may be late.
fn gate_patterns(sandbox: &Sandbox) -> Value {
    let mut memory = Value::Null;
    wait_until("memory answers all questions in time", || {
        judge(sandbox, &[]);
        memory = sandbox.verify_run(["gate", "show", "--format", "json"]).prints_json()["memory"].clone();
        memory["queries"] == 4
    });
    memory["findings"]["patterns"].clone()
}

#[test]
fn a_candidate_is_read_nowhere_and_an_approved_page_everywhere() {
    let Some((sandbox, id)) = with_candidate("[advice]\nholdout = false\n") else { return };
    assert!(relevant(&sandbox)["pages"].is_null());
    assert!(!resource(&sandbox).contains(&id));
    sandbox.write("calc.py", sandbox.read("calc.py") + "\n\nLAST = 1\n");
    assert!(!gate_patterns(&sandbox).to_string().contains(&id));
    approve(&sandbox, &id);
    let found = relevant(&sandbox);
    assert_eq!((&found["pages"][0]["id"], &found["pages"][0]["evidence"]), (&json!(id), &json!("proven")), "{found}");
    let text = sandbox.verify_run(["knowledge", "relevant", "--files", "calc.py"]).prints();
    assert!(text.contains(&id) && text.contains("proven"), "{text}");
    let text = resource(&sandbox);
    assert!(
        text.contains("# Approved patterns") && text.contains(&id) && text.contains("`+    return a + b`"),
        "{text}"
    );
    let patterns = gate_patterns(&sandbox);
    assert!(patterns.to_string().contains(&id), "{patterns}");
    sandbox.settle();
    let shown: Vec<Value> = sandbox.events().into_iter().filter(|event| event["kind"] == "delivery").collect();
    assert!(shown.iter().any(|event| event["entry"] == json!(id)), "{shown:?}");
}

#[test]
fn no_more_than_two_pages_are_read_at_a_time() {
    let Some((sandbox, id)) = with_candidate("[advice]\nholdout = false\n") else { return };
    approve(&sandbox, &id);
    let pages = sandbox.verify_run(["library", "list", "--active", "--json"]).prints_json();
    let path = pages["pages"][0]["path"].as_str().expect("a path").to_owned();
    let text = sandbox.read(&path);
    for other in ["a-22222222", "a-33333333"] {
        sandbox.write(format!(".agent/patterns/active/{other}.md"), text.replace(&id, other));
    }
    sandbox.commit("Two more pages");
    let list = sandbox.verify_run(["library", "list", "--active", "--json"]).prints_json();
    let served = list["pages"].as_array().expect("pages").iter().filter(|page| page["served"] == true).count();
    assert_eq!(served, 3, "{list}");
    assert_eq!(relevant(&sandbox)["pages"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_page_is_held_out_from_a_share_of_tasks_like_all_advice() {
    let Some((sandbox, id)) = with_candidate("[advice]\nholdout_share = 0.9\n") else { return };
    approve(&sandbox, &id);
    let is_held_out = |task: &str| {
        let words = ["knowledge", "relevant", "--task", task, "--files", "calc.py", "--json"];
        sandbox.verify_run(words).prints_json()["pages"].is_null()
    };
    let tasks: Vec<String> = (0..12).map(|number| format!("T{number}")).collect();
    assert!(tasks.iter().any(|task| is_held_out(task)), "9 of 10 tasks are");
}

#[test]
fn warnings_and_known_failures_say_that_a_fix_is_proven() {
    let Some((sandbox, _)) = with_candidate("[advice]\nholdout = false\n") else { return };
    let asked = |format| ["warn", "--files", "calc.py", "--format", format];
    let warned = sandbox.verify_run(asked("json")).prints_json();
    let worked = &warned["warnings"][0]["worked"];
    assert_eq!((&worked["proven"], &worked["how_often"]), (&json!(true), &json!("worked once, in a proven fix")));
    let text = sandbox.verify_run(asked("text")).prints();
    assert!(text.contains("worked once, in a proven fix"), "{text}");
    let text = sandbox.verify_run(asked("markdown")).prints();
    assert!(text.contains("Proven fix: `"), "{text}");
    let text = sandbox.read("calc.py").replace("a + b", "a - b");
    sandbox.write("calc.py", text);
    // Back in the same task, the fix would not have helped.
    fails(&sandbox, &["--task", "other", "pytest", "-q"]);
    let mut server = Server::start(&sandbox).modern();
    let (text, known) = server.tool("known_failure", json!({}));
    let fixes = known["patterns"][0]["fixes"].as_array().expect("fixes");
    assert!(fixes.iter().any(|fix| fix["proven"] == true), "{known}");
    assert!(text.contains("(worked 1 of 1 time, proven"), "{text}");
    server.ends();
}

#[test]
fn a_pattern_is_promoted_only_while_its_page_is_active() {
    let Some((sandbox, id)) = with_candidate(SETTINGS) else { return };
    let asked = ["warn", "--task", "B", "--session", "b", "--files", "calc.py", "--format", "json"];
    let warned = sandbox.verify_run(asked).prints_json();
    let pattern = warned["warnings"][0]["pattern"].as_str().expect("a pattern").to_owned();
    sandbox.write("calc.py", sandbox.read("calc.py") + "\n\nLAST = 1\n");
    passes(&sandbox, &["--task", "B", "pytest", "-q"]);
    sandbox.settle();
    let approve_line = || {
        let words = ["promote", "approve", &pattern, "--by", "Ada", "--reason", "it keeps coming back"];
        sandbox.verify_run(words).outcome()
    };
    let waiting = || sandbox.verify_run(["promote", "list", "--json"]).prints_json()["promotions"].clone();
    assert_eq!(waiting(), json!([]));
    let refused = approve_line();
    assert_eq!(refused.ended, CommandEnd::Exit(1), "{}", refused.stdout());
    let why = format!("its page {id} of the pattern library is a candidate: approve it first");
    assert!(refused.stderr().contains(&why), "{}", refused.stderr());
    approve(&sandbox, &id);
    assert_eq!(waiting()[0]["pattern"], json!(pattern));
    sandbox.verify_run(["library", "deprecate", &id, "--by", "Ada", "--reason", "outdated"]).prints();
    let refused = approve_line();
    assert!(refused.stderr().contains("is deprecated"), "{}", refused.stderr());
    sandbox.verify_run(["library", "restore", &id, "--by", "Ada", "--reason", "needed"]).prints();
    assert_eq!(approve_line().ended, CommandEnd::Exit(0));
}
