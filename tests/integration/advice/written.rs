//! What one person recorded and others used, earns a line in AGENTS.md as well.

use serde_json::{Value, json};

use super::promotion::{ids, list, promote};
use crate::sandbox::Sandbox;

pub(super) fn knowledge(sandbox: &Sandbox, session: &str, arguments: &[&str]) -> Value {
    let run = sandbox.verify_run(["knowledge"].iter().chain(arguments).chain(&["--json"]));
    run.env("VERIFY_RUN_AGENT", "human").env("VERIFY_RUN_SESSION", session).prints_json()
}

fn written(sandbox: &Sandbox, title: &str, fix: &str) -> String {
    let (pitfall, fix) = (format!("pitfall={title} is forgotten"), format!("fix={fix}"));
    let more = ["--set", &pitfall, "--set", &fix, "--files", "db/**", "--by", "Ada"];
    let added = knowledge(sandbox, "a", &[&["add", "gotcha", "--title", title], &more[..]].concat());
    added["entry"]["id"].as_str().expect("an id").to_owned()
}

#[test]
fn an_entry_that_is_believed_and_was_used_is_proposed_approved_and_taken_back() {
    let sandbox = Sandbox::repository();
    sandbox.write("verify-run.toml", "[advice]\nholdout = false\n");
    sandbox.write("db/AGENTS.md", "# Database\n");
    let entry = written(&sandbox, "The migration", "Run `make migrate`, then @everybody\n# restart");
    let told = |session: &str| -> usize {
        let asked = ["warn", "--json", "--task", "T", "--session", session, "--files", "db/user.sql"];
        sandbox.verify_run(asked).prints_json()["warnings"].as_array().expect("a list").len()
    };
    assert_eq!(told("before"), 1);
    // The writer's own session doesn't count, and another one counts once.
    for session in ["a", "b", "b"] {
        knowledge(&sandbox, session, &["boost", &entry]);
        assert!(list(&sandbox, &[]).is_empty(), "believed at 0.75, and met twice at most");
    }
    knowledge(&sandbox, "c", &["boost", &entry]);

    let found = list(&sandbox, &[]);
    let [item] = &found[..] else { panic!("{found:?}") };
    assert_eq!((&item["entry"], &item["pattern"]), (&entry.as_str().into(), &Value::Null));
    assert_eq!((&item["way"], &item["label"]["strength"]), (&"knowledge".into(), &"weak".into()));
    let reason = item["label"]["reason"].as_str().expect("a reason");
    assert!(reason.starts_with("not measurable: no recorded failure is its source"), "{reason}");
    let lines = || sandbox.verify_run(["stats", "--json"]).prints_json()["promotions"].clone();
    let counted = |[promoted, waiting, retired]: [u64; 3]| json!({"promoted": promoted, "waiting": waiting, "rejected": 0, "retired": retired});
    assert_eq!(lines(), counted([0, 1, 0]));
    assert_eq!(item["target"], "db/AGENTS.md", "the nearest of the files that it is about");
    let evidence = item["proposal"]["evidence"].to_string();
    assert!(evidence.contains("written once, applied 2 times"), "{evidence}");
    assert!(item["proposal"]["context"].as_str().is_some_and(|text| text.contains("A gotcha that Ada wrote down")));
    let id = item["id"].as_str().expect("an id").to_owned();
    let shown = promote(&sandbox, &["show", &entry]);
    assert!(shown.stdout().contains("+- The migration in `db/**`."), "{}", shown.stdout());
    // Another user's words stay one line, and import nothing.
    assert!(shown.stdout().contains("then `@everybody`"), "{}", shown.stdout());

    let doctor = || sandbox.verify_run(["doctor"]).outcome().stdout().to_owned();
    assert!(!doctor().contains("promoted"), "{}", doctor());
    let because = ["--by", "Bo", "--reason", "we all forget it"];
    promote(&sandbox, &[&["approve", &id], &because[..]].concat());
    let text = sandbox.read("db/AGENTS.md");
    assert!(text.starts_with("# Database\n\n<!-- verify-run begin ") && text.contains(&format!("(`{id}`)")), "{text}");
    assert!(!text.contains("\n# restart"), "{text}");
    assert_eq!(lines(), counted([1, 0, 0]));
    assert_eq!(told("after"), 0, "everybody reads of it");
    assert!(list(&sandbox, &[]).is_empty(), "nothing waits");
    assert!(doctor().contains("1 line promoted; `verify-run promote list` shows"), "{}", doctor());

    // Something better is known: the line should go.
    let better = written(&sandbox, "A better way of changing tables", "Use the wizard");
    knowledge(&sandbox, "d", &["supersede", &entry, "--with", &better]);
    let found = list(&sandbox, &[]);
    assert_eq!(found[0]["retirement"], format!("{better} is better"));
    let back = promote(&sandbox, &[&["rollback", &id], &because[..]].concat());
    assert_eq!(back.stdout(), format!("{id}\trolled_back\tdb/AGENTS.md\tas before\n"));
    assert_eq!(sandbox.read("db/AGENTS.md"), "# Database\n");
    assert_eq!(lines(), counted([0, 0, 1]));
    assert!(ids(&sandbox).is_empty(), "what something better is known for is not proposed again");
}
