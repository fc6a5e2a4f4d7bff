//! What a hook says counts once it was written, and is said again where it matters.

use serde_json::{Value, json};

use super::{answer, hook, scene};
use crate::sandbox::{Sandbox, VERIFY_RUN};

fn edit(sandbox: &Sandbox, session: &str, file: &str) -> String {
    let input = json!({ "file_path": sandbox.path(file) });
    json!({ "session_id": session, "cwd": sandbox.work(), "tool_name": "Edit", "tool_input": input }).to_string()
}

fn prompt(sandbox: &Sandbox, session: &str, text: &str) -> String {
    json!({ "session_id": session, "cwd": sandbox.work(), "prompt": text }).to_string()
}

fn deliveries(sandbox: &Sandbox) -> Vec<Value> {
    sandbox.verify_run(["store", "status"]).outcome();
    sandbox.events().into_iter().filter(|event| event["kind"] == "delivery").collect()
}

fn limit(sandbox: &Sandbox, ms: u32) {
    sandbox.write("verify-run.toml", format!("[advice]\nhook_ms = {ms}\nholdout = false\n"));
}

#[test]
fn a_hook_that_gives_up_records_nothing_and_silences_nothing() {
    let sandbox = scene();
    limit(&sandbox, 1);
    assert_eq!(answer(hook(&sandbox, "claude", "pre-tool", edit(&sandbox, "s", "src/a.js"))), "");
    assert!(deliveries(&sandbox).is_empty());
    limit(&sandbox, 60_000);
    assert!(answer(hook(&sandbox, "claude", "pre-tool", edit(&sandbox, "s", "src/a.js"))).contains("foo"));
    assert_eq!(deliveries(&sandbox).len(), 1);
}

#[test]
fn what_the_host_does_not_take_was_not_said() {
    let sandbox = scene();
    let said = edit(&sandbox, "s", "src/a.js");
    sandbox.write("../call.json", &said);
    let script = format!("'{VERIFY_RUN}' hook claude pre-tool < ../call.json > /dev/full");
    sandbox.bare("sh").args(["-c", &script]).outcome();
    assert!(deliveries(&sandbox).is_empty());
    assert!(answer(hook(&sandbox, "claude", "pre-tool", said)).contains("foo"));
}

#[test]
fn the_time_limit_begins_when_the_input_was_read() {
    let sandbox = scene();
    limit(&sandbox, 5_000);
    sandbox.write("../call.json", edit(&sandbox, "s", "src/a.js"));
    let script = format!("(sleep 5.2; cat ../call.json) | '{VERIFY_RUN}' hook claude pre-tool");
    assert!(sandbox.bare("sh").args(["-c", &script]).outcome().stdout().contains("foo"));
}

#[test]
fn a_mention_elsewhere_does_not_silence_the_edit_of_the_very_file() {
    let sandbox = scene();
    let at = |event: &str, said: String| answer(hook(&sandbox, "claude", event, said));
    assert!(at("prompt", prompt(&sandbox, "s", "look at src/a.js")).contains("foo"));
    assert_eq!(at("prompt", prompt(&sandbox, "s", "look at src/a.js again")), "", "once");
    assert!(at("pre-tool", edit(&sandbox, "s", "src/a.js")).contains("foo"), "here it matters");
    assert_eq!(at("pre-tool", edit(&sandbox, "s", "src/a.js")), "");
    assert_eq!(at("prompt", prompt(&sandbox, "s", "and src/a.js")), "");
    assert_eq!(deliveries(&sandbox).len(), 2);
}

#[test]
fn a_notification_is_no_prompt() {
    let sandbox = scene();
    let note = "<task-notification>\n<summary>foo is not defined in src/a.js</summary>\n</task-notification>";
    assert_eq!(answer(hook(&sandbox, "claude", "prompt", prompt(&sandbox, "s", note))), "");
    let both = format!("{note}\nfix src/a.js");
    assert!(answer(hook(&sandbox, "claude", "prompt", prompt(&sandbox, "s", &both))).contains("foo"));
}
