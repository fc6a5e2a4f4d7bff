//! The library over time: pages that were moved or planted, deprecated patterns that come back, pages that do not help, figures.

use serde_json::{Value, json};
use verify_run::run::CommandEnd;

use super::{approved, fails, judge, library_page, passes};
use crate::sandbox::Sandbox;

/// A project with an approved page; the page's id and file.
fn approved_page() -> Option<(Sandbox, String, String)> {
    let (sandbox, id) = approved()?;
    let path = library_page(&sandbox, &id)["path"].as_str().expect("a path").to_owned();
    Some((sandbox, id, path))
}

/// What `library check` says, with the exit code that goes with it.
fn findings(sandbox: &Sandbox) -> Vec<(String, String)> {
    let outcome = sandbox.verify_run(["library", "check", "--json"]).outcome();
    let check: Value = serde_json::from_str(outcome.stdout()).expect("JSON");
    let found = check["findings"].as_array().expect("findings");
    let wanted = if found.is_empty() { 0 } else { 1 };
    assert_eq!(outcome.ended, CommandEnd::Exit(wanted), "{}", outcome.stderr());
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap_or_default().to_owned();
    found.iter().map(|finding| (text(finding, "kind"), text(finding, "path"))).collect()
}

fn doctor(sandbox: &Sandbox) -> Vec<Value> {
    let outcome = sandbox.verify_run(["doctor", "--json"]).outcome();
    let report: Value = serde_json::from_str(outcome.stdout()).expect("JSON");
    report["findings"].as_array().expect("findings").iter().filter(|it| it["name"] == "library").cloned().collect()
}

#[test]
fn a_page_that_was_moved_by_hand_is_named_and_its_change_is_noticed_when_it_comes_back() {
    let Some((sandbox, id, path)) = approved_page() else { return };
    let name = path.rsplit('/').next().expect("a name").to_owned();
    assert!(findings(&sandbox).is_empty());
    assert_eq!(doctor(&sandbox).len(), 0);
    sandbox.commit("The fix and its page");
    std::fs::create_dir_all(sandbox.path(".agent/patterns/deprecated")).expect("a folder");
    let moved = format!(".agent/patterns/deprecated/{name}");
    sandbox.git(["mv", &path, &moved]);
    assert_eq!(findings(&sandbox), [("moved".to_owned(), moved.clone())]);
    assert!(findings(&sandbox).is_empty(), "the move is recorded");
    assert_eq!(library_page(&sandbox, &id)["served"], false);
    sandbox.commit("Deprecated");
    sandbox.write("other.py", "def plus(a, b):\n    return a + b\n");
    let outcome = sandbox.verify_run(["check-diff", "--json"]).outcome();
    assert_eq!(outcome.ended, CommandEnd::Exit(1), "{}", outcome.stderr());
    let report: Value = serde_json::from_str(outcome.stdout()).expect("JSON");
    let found = &report["deprecated"][0];
    assert_eq!(
        (&found["page"], &found["path"], &found["line"]),
        (&json!(id), &json!("other.py"), &json!(2)),
        "{report}"
    );
}

#[test]
fn a_deprecated_change_that_is_added_elsewhere_is_reported_by_check_diff_and_the_gate() {
    let Some((sandbox, _, _)) = approved_page() else { return };
    let page = "---\nschema: 1\nid: a-2222222k\nstatus: deprecated\ntitle: \"Sleep before the request\"\nkind: fix\nevidence: \
                recorded\nlevel: none\napplies_to:\n  globs: []\n  tools: []\n  categories: []\n  words: []\npatterns: []\nfixes: \
                []\nauthor: \"verify-run 0.1.0\"\nsupersedes: []\n---\n\n# Sleep before the \
                request\n\n```diff\n+++ b/calc.py\n@@ -1 +1,2 @@\n+    time.sleep(retry_delay)\n```\n";
    sandbox.write(".agent/patterns/deprecated/a-2222222k-sleep.md", page);
    sandbox.commit("A deprecated page");
    sandbox.write("other.py", "def ask(retry_delay):\n    time.sleep(retry_delay)\n");
    let outcome = sandbox.verify_run(["check-diff"]).outcome();
    assert_eq!(outcome.ended, CommandEnd::Exit(1), "{}", outcome.stderr());
    assert!(
        outcome.stdout().contains("other.py:2: brings back a-2222222k, a deprecated pattern"),
        "{}",
        outcome.stdout()
    );
    judge(&sandbox, &[]);
    let report = sandbox.verify_run(["gate", "show", "--format", "markdown"]).prints();
    assert!(report.contains("⚠️ other.py:2 brings back the deprecated pattern a-2222222k"), "{report}");
    sandbox.write("other.py", "def ask(retry_delay):\n    pass\n");
    assert_eq!(sandbox.verify_run(["check-diff"]).outcome().ended, CommandEnd::Exit(0));
}

#[test]
fn pages_without_approval_and_edited_pages_are_named() {
    let Some((sandbox, id, path)) = approved_page() else { return };
    let text = sandbox.read(&path);
    sandbox.write(&path, format!("{text}\nMore.\n"));
    let planted = ".agent/patterns/active/a-22222222.md";
    sandbox.write(planted, text.replace(&id, "a-22222222"));
    sandbox.write(".agent/patterns/candidates/a-33333333.md", "no page\n");
    let found = findings(&sandbox);
    for wanted in [
        ("not_served", path.as_str()),
        ("not_served", planted),
        ("unreadable", ".agent/patterns/candidates/a-33333333.md"),
    ] {
        assert!(found.contains(&(wanted.0.to_owned(), wanted.1.to_owned())), "{found:?}");
    }
    let named: Vec<String> =
        doctor(&sandbox).iter().map(|it| it["file"].as_str().unwrap_or_default().to_owned()).collect();
    assert!(named.iter().any(|file| file == planted), "{named:?}");
    let stats = sandbox.verify_run(["library", "stats", "--json"]).prints_json();
    assert_eq!(stats["hygiene"]["not_served"], 2, "{stats}");
}

#[test]
fn a_page_whose_failure_comes_back_in_two_tasks_is_proposed_for_deprecation_and_stays() {
    let Some((sandbox, id, _)) = approved_page() else { return };
    sandbox.commit("The fix");
    let change = |from: &str, to: &str| sandbox.write("calc.py", sandbox.read("calc.py").replace(from, to));
    for task in ["B", "C"] {
        let check = ["--task", task, "pytest", "-q"];
        for number in 0..2 {
            change("a + b", "a - b");
            // Going back to an earlier state of the file would be an undo.
            sandbox.write("calc.py", format!("{}# {task} {number}\n", sandbox.read("calc.py")));
            fails(&sandbox, &check);
            change("a - b", "a + b");
            passes(&sandbox, &check);
        }
    }
    sandbox.settle();
    let outcome = sandbox.verify_run(["library", "check"]).outcome();
    assert_eq!(outcome.ended, CommandEnd::Exit(1), "{}", outcome.stderr());
    assert!(
        outcome
            .stdout()
            .contains("its failure came back in 2 tasks in which it was applied (B, C) [deprecation proposed]"),
        "{}",
        outcome.stdout()
    );
    assert_eq!(
        (&library_page(&sandbox, &id)["folder"], &library_page(&sandbox, &id)["served"]),
        (&json!("active"), &json!(true))
    );
    let stats = sandbox.verify_run(["library", "stats", "--json"]).prints_json();
    assert_eq!((&stats["regressions"]["escaped"], &stats["hygiene"]["proposed"]), (&json!(1), &json!(1)), "{stats}");
    assert_eq!((&stats["validation"]["proven"], &stats["review"]["approved"]), (&json!(1), &json!(1)), "{stats}");
    let text = sandbox.verify_run(["library", "stats"]).prints();
    assert!(text.contains("1 of 1 job proven, 0 failed") && text.contains("the effect is not known"), "{text}");
}
