//! What had changed at a failure, and since when.

use serde_json::{Value, json};

use super::{changed, fail, pass, run_in};
use crate::sandbox::Sandbox;

#[test]
fn a_failure_is_compared_with_the_last_pass_of_its_check() {
    let sandbox = Sandbox::repository();
    sandbox.write("src/a.c", "one\ntwo\nthree\n");
    sandbox.write("old name", "content that is\nlong enough\nto be known again\n");
    let passed = pass(&sandbox);
    assert_eq!((&passed["base"]["what"], &passed["diff"]), (&json!("head"), &Value::Null));
    sandbox.commit("A commit is no reason to compare with");
    sandbox.write("src/a.c", "one\n2\nthree\n");
    sandbox.write("bytes", b"\0\x01\xff");
    std::fs::rename(sandbox.path("old name"), sandbox.path("new name")).expect("renames");
    let failed = fail(&sandbox);
    assert_eq!(failed["base"], json!({"what": "pass", "run": passed["run"], "tree": passed["tree"]}));
    assert_eq!(
        failed["files"],
        json!([
            {"path": "bytes", "kind": "added", "opaque": true},
            {"path": "new name", "kind": "renamed", "from": "old name"},
            {"path": "src/a.c", "kind": "modified", "added": 1, "removed": 1},
        ])
    );
    let diff = failed["diff"].as_str().expect("text");
    assert!(diff.contains("@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n") && !diff.contains("bytes"), "{diff}");
    // Another failure doesn't change what it is compared with, another check has passes of its own.
    sandbox.write("src/b.c", "x\n");
    assert_eq!(changed(&fail(&sandbox)), ["bytes", "new name", "src/a.c", "src/b.c"]);
    assert_eq!(changed(&run_in(&sandbox, "src", "exit 3", 3)).len(), 4);
    assert_eq!(pass(&sandbox)["base"]["tree"], passed["tree"]);
    assert_eq!(changed(&fail(&sandbox)), Vec::<&str>::new());
}

#[test]
fn secrets_controls_and_long_texts_stay_out() {
    let sandbox = Sandbox::repository();
    pass(&sandbox);
    let token = format!("ghp_{}", "a1B2c3D4e5".repeat(4)).get(..40).expect("long").to_owned();
    let key = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ\n".repeat(20);
    let key = format!("-----BEGIN PRIVATE KEY-----\n{key}-----END PRIVATE KEY-----\n");
    sandbox.write("config.py", format!("token = \"{token}\"\nTITLE = \"\u{1b}]0;owned\u{7}\u{202e}\"\n"));
    sandbox.write("key.txt", &key);
    sandbox.write(".env.local", "COLOUR=hunter2-in-no-known-shape\n");
    sandbox.write("id_rsa", "no shape either: hunter2\n");
    sandbox.write("long.js", format!("{}\nlast\n", "x".repeat(9_000)));
    sandbox.write("many", (0..9_000).map(|line| format!("line {line}\n")).collect::<String>());
    for part in 0..7 {
        sandbox.write(format!("part{part}"), (0..900).map(|line| format!("line {line}\n")).collect::<String>());
    }
    let event = fail(&sandbox);
    let text = event.to_string();
    for secret in [token.as_str(), "MIIEvQIBADAN", "hunter2", "\\u001b", "\u{202e}"] {
        assert!(!text.contains(secret), "{secret}");
    }
    let diff = event["diff"].as_str().expect("text");
    assert!(diff.contains("[redacted:") && diff.contains("+TITLE"), "{diff}");
    assert!(diff.len() <= 32 << 10 && diff.ends_with('\n'));
    assert!(diff.lines().all(|line| line.len() <= 2_000));
    assert!(event["diff_cut"].as_u64().expect("a count") > 50_000, "{}", event["diff_cut"]);
    assert!(text.len() < 64 << 10);
    assert_eq!(changed(&event).len(), 13);
}

#[test]
fn many_files_are_counted() {
    let sandbox = Sandbox::repository();
    for number in 0..250 {
        sandbox.write(format!("folder/file{number:03}"), format!("{number}\n"));
    }
    let event = fail(&sandbox);
    assert_eq!((changed(&event).len(), &event["files_cut"]), (200, &json!(50)));
    let last = sandbox.verify_run(["last", "--json"]).prints_json();
    assert_eq!(last["changed"]["count"], 250);
}

#[test]
fn a_base_whose_objects_are_gone_is_said_so() {
    let sandbox = Sandbox::repository();
    sandbox.write("staged", "only there\n");
    sandbox.git(["add", "staged"]);
    let passed = pass(&sandbox);
    // Only the user's repository had this content, and only in the index.
    sandbox.git(["reset", "--quiet", "--hard"]);
    sandbox.git(["gc", "--quiet", "--prune=now"]);
    sandbox.write("new", "x\n");
    let event = fail(&sandbox);
    assert_eq!(event["base"]["tree"], passed["tree"]);
    assert!(event["unavailable"].as_str().is_some_and(|why| why.contains("missing")), "{event}");
    assert!(event["tree"].is_string());
}

#[test]
fn the_last_failure_says_what_changed_since_the_last_pass() {
    let sandbox = Sandbox::repository();
    sandbox.write("src/a.c", "one\n");
    pass(&sandbox);
    sandbox.write("src/a.c", "two\n");
    fail(&sandbox);
    let last = sandbox.verify_run(["last", "--json"]).prints_json();
    let mut changed = last["changed"].clone();
    let diff = changed["diff"].take();
    assert!(diff.as_str().is_some_and(|diff| diff.ends_with("-one\n+two\n")), "{diff}");
    let wanted = json!({"since": "pass", "files": ["src/a.c"], "count": 1, "exact": true, "diff": null, "diff_cut": 0});
    assert_eq!(changed, wanted);
    let said = sandbox.verify_run(["last"]).prints();
    assert!(said.contains("changed since it last passed: src/a.c\n"), "{said}");
    pass(&sandbox);
    assert!(!sandbox.verify_run(["last"]).prints().contains("changed since"));
}
