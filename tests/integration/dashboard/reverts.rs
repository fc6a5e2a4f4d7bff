//! What a person decided about a pattern is reverted on the audit page, each time as an event.

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::Dashboard;
use super::decisions::{Browser, assert_leads_to, form_with};
use crate::sandbox::{Sandbox, files_in};

/// Events of a kind in all segments.
fn count_events(sandbox: &Sandbox, kind: &str) -> usize {
    let files = files_in(&sandbox.state().join("events"));
    let segments = files.iter().filter(|file| file.extension().is_some_and(|it| it == "jsonl"));
    let text: String = segments.map(|file| std::fs::read_to_string(file).expect("a segment")).collect();
    text.matches(&format!("\"kind\":\"{kind}\"")).count()
}

/// A store with these many patterns.
fn patterns(count: usize) -> (Sandbox, Vec<String>) {
    let sandbox = Sandbox::repository();
    sandbox.tool("luacheck", "printf \"src/$NAME.lua:1:1: error: $MESSAGE\\n\"; exit 1");
    let messages = ["undefined variable x", "unreachable code after return", "line is too long (131 > 120)"];
    for (name, message) in ["a", "b", "c"].iter().zip(messages).take(count) {
        sandbox.verify_run(["--sync", "luacheck", "."]).env("NAME", name).env("MESSAGE", message).outcome();
    }
    let listed = sandbox.verify_run(["pattern", "list", "--json"]).prints_json();
    let ids = listed["patterns"].as_array().expect("patterns").iter();
    let ids: Vec<String> = ids.map(|it| it["id"].as_str().expect("an id").to_owned()).collect();
    assert_eq!(ids.len(), count, "{listed}");
    (sandbox, ids)
}

fn group(dashboard: &Dashboard, id: &str) -> usize {
    dashboard.json(&format!("/api/v1/patterns/{id}"))["group"].as_array().map_or(0, Vec::len)
}

#[test]
fn each_decision_about_a_pattern_is_reverted_on_the_audit_page() {
    let (sandbox, ids) = patterns(2);
    let [first, second] = &ids[..] else { panic!("{ids:?}") };
    let dashboard = Dashboard::start(&sandbox, &[]);
    let browser = Browser::open(&dashboard);
    let page = format!("/patterns/{first}");
    let shown = || dashboard.json(&format!("/api/v1{page}"));
    // What is done with its event and the patterns counted together then, and what reverts it.
    for (verb, event, together, undo, undone) in [
        ("mute", "review", 1, "unmute", "review"),
        ("deprecate", "review", 1, "restore", "review"),
        ("merge", "merge", 2, "split", "split"),
        ("split", "split", 1, "unsplit", "merge"),
    ] {
        let mut subject = first.as_str();
        if verb == "split" {
            // What is split is a member, on the page of the pattern that represents the group.
            sandbox.verify_run(["pattern", "merge", first, second, "--by", "Ada"]).prints();
            subject = if shown()["group"][0]["id"] == **first { second } else { first };
        }
        let counted = count_events(&sandbox, event);
        let typed = [("by", "Ada"), ("reason", "a try"), ("into", second.as_str())];
        let typed = if verb == "merge" { &typed[..] } else { &typed[..2] };
        let done = browser.submit(&page, &format!("/patterns/{subject}/{verb}"), typed);
        assert_eq!(done.status, 303, "{verb}: {done:?}");
        assert_eq!((count_events(&sandbox, event), group(&dashboard, first)), (counted + 1, together), "{verb}");
        let line = dashboard.json("/api/v1/audit")["decisions"][0].clone();
        assert_eq!((&line["who"], &line["reverted_at"]), (&json!("Ada"), &Value::Null), "{verb}: {line}");
        let command = line["undo"].as_str().unwrap_or_else(|| panic!("no command reverts {verb}: {line}"));
        assert!(command.starts_with("verify-run pattern ") && command.contains(subject), "{verb}: {command}");

        let (revert, counted) = (format!("/patterns/{subject}/{undo}"), count_events(&sandbox, undone));
        assert_leads_to(&browser.submit("/audit", &revert, &[]), "/audit");
        let together = if verb == "split" { 2 } else { 1 };
        assert_eq!((count_events(&sandbox, undone), group(&dashboard, first)), (counted + 1, together), "{undo}");
        assert_eq!(shown()["state"], "open", "{undo}");
        let line = dashboard.json("/api/v1/audit")["decisions"][1].clone();
        assert!(line["reverted_at"].is_string() && line["undo"].is_null(), "{verb}: {line}");
        assert!(form_with(&browser.page("/audit"), &revert).is_none(), "{verb} is reverted");
    }
    dashboard.ends(Signal::SIGINT);
}

#[test]
fn a_split_is_undone_with_all_that_it_was_split_from() {
    let (sandbox, ids) = patterns(3);
    let [first, second, third] = &ids[..] else { panic!("{ids:?}") };
    let pattern = |arguments: &[&str]| sandbox.verify_run([&["pattern"], arguments].concat()).outcome();
    let members = |id: &str| {
        // On standard error it says which pattern represents the group.
        let shown = sandbox.verify_run(["pattern", "show", id, "--json"]).outcome();
        let shown: Value = serde_json::from_str(shown.stdout()).expect("a document");
        shown["group"].as_array().map_or(0, Vec::len)
    };
    let undo = |id: &str| pattern(&["split", id, "--undo", "--by", "Bo"]);
    let refused = undo(first);
    assert!(refused.stderr().contains("was not split from another pattern"), "{refused:?}");
    for other in [second, third] {
        pattern(&["merge", first, other]);
    }
    assert_eq!(members(first), 3);
    // What was split before is no part of what a later split reverts.
    pattern(&["split", third]);
    assert_eq!((members(first), members(third)), (2, 1));
    pattern(&["split", first]);
    undo(first);
    assert_eq!((members(first), members(third)), (2, 1));
    undo(third);
    assert_eq!(members(first), 3);
    pattern(&["split", first]);
    assert_eq!((members(first), members(second), members(third)), (1, 1, 1));
    undo(first);
    assert_eq!(members(first), 3);
    let again = undo(first);
    assert!(again.stderr().contains("is merged again"), "{again:?}");
}
