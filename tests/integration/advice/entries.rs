//! The outcome of warnings from entries, found out from the runs that follow.

use serde_json::{Value, json};

use super::promotion::{list, pass};
use super::written::knowledge;
use super::{UNDEFINED, fail, linter, warn, whats};
use crate::sandbox::Sandbox;

/// The id of the only pattern.
fn pattern(sandbox: &Sandbox) -> String {
    let list = sandbox.verify_run(["pattern", "list", "--json"]).prints_json();
    list["patterns"][0]["id"].as_str().expect("an id").to_owned()
}

/// A gotcha that a person writes about `src/x.js`.
fn written(sandbox: &Sandbox, pitfall: &str, more: &[&str]) -> Value {
    let pitfall = format!("pitfall={pitfall}");
    let fix = "fix=import it first";
    let base =
        ["add", "gotcha", "--title", "Imports come first", "--set", &pitfall, "--set", fix, "--files", "src/x.js"];
    knowledge(sandbox, "writer", &[&base[..], more].concat())["entry"].clone()
}

fn id(entry: &Value) -> &str {
    entry["id"].as_str().expect("an id")
}

/// Of an entry its confidence, its effectiveness, and the last line of its ledger.
fn believed(sandbox: &Sandbox, entry: &Value) -> (f64, f64, String) {
    let page = knowledge(sandbox, "reader", &["show", id(entry)]);
    let number = |value: &Value| value.as_f64().expect("a number");
    let last = page["ledger"]["steps"].as_array().and_then(|steps| steps.last()).expect("has steps");
    let what = last["what"].as_str().expect("a text").to_owned();
    (number(&page["confidence"]), number(&page["measured"]["effectiveness"]), what)
}

fn stats(sandbox: &Sandbox) -> Value {
    sandbox.verify_run(["stats", "--json"]).prints_json()
}

#[test]
fn an_entry_with_a_source_is_credited_for_a_clean_pass_and_charged_for_the_same_mistake() {
    let sandbox = linter();
    fail(&sandbox, "A", "src/x.js", UNDEFINED);
    let pattern = pattern(&sandbox);
    let entry = written(&sandbox, "a name is used before its import", &["--from", &pattern[..7]]);
    assert_eq!(entry["sources"], json!([pattern]), "by its whole id");
    let page = knowledge(&sandbox, "reader", &["show", id(&entry)]);
    assert_eq!(page["measured"]["patterns"], json!([pattern]));
    let (before, effectiveness, _) = believed(&sandbox, &entry);
    assert_eq!((before, effectiveness), (0.7, 0.5));

    let told = warn(&sandbox, "b", &["--task", "B", "--files", "src/x.js"]);
    assert_eq!(whats(&told), ["a name is used before its import"], "in place of its pattern: {told}");
    pass(&sandbox, "B");
    let now = stats(&sandbox)["warnings"].clone();
    assert_eq!((&now["prevented"], &now["from_entries"]["prevented"]), (&1.into(), &1.into()), "{now}");
    let (prevented, effectiveness, last) = believed(&sandbox, &entry);
    assert!((prevented - before - 0.10).abs() < 1e-9, "{before} {prevented}");
    assert_eq!((effectiveness, last.as_str()), (1.0, "prevented in task B"));

    warn(&sandbox, "d", &["--task", "D", "--files", "src/x.js"]);
    fail(&sandbox, "D", "src/x.js", UNDEFINED);
    let now = stats(&sandbox);
    let of_entries = &now["warnings"]["from_entries"];
    assert_eq!((&of_entries["shown"], &of_entries["failed_anyway"]), (&2.into(), &1.into()), "{now}");
    assert_eq!((&now["warnings"]["missed_opportunities"], &now["warnings"]["not_measurable"]), (&0.into(), &0.into()));
    let (despite, effectiveness, last) = believed(&sandbox, &entry);
    assert!((prevented - despite - 0.05).abs() < 1e-9, "{prevented} {despite}");
    assert_eq!((effectiveness, last.as_str()), (0.5, "made despite a warning in task D"));
    let text = sandbox.verify_run(["stats"]).prints();
    let counted = "\nwarnings from entries: 2 shown, 0 held out: 1 prevented, 1 failed anyway\n";
    assert!(text.contains(counted), "{text}");
    let shown = sandbox.verify_run(["knowledge", "show", id(&entry)]).prints();
    assert!(shown.contains("\neffect: 1 of 2 warned tasks avoided the mistake\n"), "{shown}");
}

#[test]
fn what_is_made_of_a_failure_or_learnt_of_a_pattern_is_about_that_pattern() {
    let sandbox = linter();
    fail(&sandbox, "A", "src/x.js", UNDEFINED);
    let pattern = pattern(&sandbox);
    let page = sandbox.verify_run(["pattern", "show", &pattern, "--json"]).prints_json();
    let failure = page["occurrences"][0]["failure"].as_str().expect("an id").to_owned();
    let entry = written(&sandbox, "a name is used before its import", &["--from", &failure]);
    assert_eq!(entry["sources"], json!([failure, pattern]));
    let learn = ["memory", "learn", "globals are gone in modules", "--type", "error_pattern", "--from", &pattern];
    let learnt = sandbox.verify_run(learn.iter().chain(&["--files", "src/**", "--json"])).prints_json();
    let learnt = &learnt["knowledge"]["entry"];
    assert_eq!((&learnt["type"], &learnt["sources"]), (&"gotcha".into(), &json!([pattern])), "{learnt}");
    let of = |entry: &Value| knowledge(&sandbox, "reader", &["show", id(entry)])["measured"]["patterns"].clone();
    assert_eq!((of(&entry), of(learnt)), (json!([pattern]), json!([pattern])));
}

#[test]
fn of_an_entry_that_no_failure_says_nothing_is_claimed_and_it_says_why() {
    let sandbox = linter();
    fail(&sandbox, "A", "src/y.js", UNDEFINED);
    let entry = written(&sandbox, "the schema of the page is old", &[]);
    assert_eq!(whats(&warn(&sandbox, "b", &["--task", "B", "--files", "src/x.js"])).len(), 1);
    pass(&sandbox, "B");
    fail(&sandbox, "B", "src/x.js", UNDEFINED);
    sandbox.verify_run(["task", "done", "B"]).prints();
    let now = stats(&sandbox)["warnings"].clone();
    let of_entries = &now["from_entries"];
    let claims = (&of_entries["prevented"], &of_entries["failed_anyway"], &of_entries["no_opportunity"]);
    assert_eq!((claims, &now["not_measurable"]), ((&0.into(), &0.into(), &1.into()), &1.into()), "{now}");
    assert_eq!(believed(&sandbox, &entry).0, 0.7);
    let shown = sandbox.verify_run(["knowledge", "show", id(&entry)]).prints();
    assert!(shown.contains("\neffect: not measurable: no recorded failure is its source"), "{shown}");

    // One whose pitfall a failure says is the same mistake.
    let same = written(&sandbox, "'x' is not defined", &[]);
    warn(&sandbox, "c", &["--task", "C", "--files", "src/x.js"]);
    fail(&sandbox, "C", "src/x.js", UNDEFINED);
    let (confidence, effectiveness, last) = believed(&sandbox, &same);
    assert_eq!((effectiveness, last.as_str()), (0.0, "made despite a warning in task C"));
    assert!((confidence - 0.65).abs() < 1e-9, "{confidence}");
}

#[test]
fn an_entry_is_labelled_strong_when_held_out_tasks_prove_it() {
    let sandbox = linter();
    sandbox.write(
        "verify-run.toml",
        "[advice]\nholdout_share = 0.3\n[snapshot]\nenabled = false\n[promotion]\ntasks = 1\nconfidence = 0.5\nevidence = 2\n",
    );
    fail(&sandbox, "A", "src/x.js", UNDEFINED);
    let entry = written(&sandbox, "a name is used before its import", &["--from", &pattern(&sandbox)]);
    let (mut held, mut shown) = (0, 0);
    for n in 0..60 {
        let task = format!("T{n}");
        let asked = warn(&sandbox, &task, &["--task", &task, "--files", "src/x.js"]);
        if asked["held_out"] == 1 && held < 5 {
            held += 1;
            fail(&sandbox, &task, "src/x.js", UNDEFINED);
        } else if asked["held_out"] == 0 && shown < 3 {
            assert_eq!(asked["warnings"][0]["entry"], entry["id"], "{asked}");
            shown += 1;
            pass(&sandbox, &task);
        }
        if held == 5 && shown == 3 {
            break;
        }
    }
    let found = list(&sandbox, &[]);
    let item = found.iter().find(|item| item["entry"] == entry["id"]).unwrap_or_else(|| panic!("{found:?}"));
    assert_eq!((&item["way"], &item["label"]["strength"]), (&"prevention".into(), &"strong".into()), "{item}");
    let reason = item["label"]["reason"].as_str().expect("a reason");
    assert!(reason.starts_with("warnings about it prevent it: 0 of 3 warned tasks and 5 of 5 held-out"), "{reason}");
    // Once for each task, here and in all figures.
    let measured = knowledge(&sandbox, "reader", &["show", id(&entry)])["measured"].clone();
    for trial in [&measured, &stats(&sandbox)["effect"]] {
        assert_eq!(trial["shown"], json!({"exposures": 3, "recurrences": 0}), "{trial}");
        assert_eq!(trial["held_out"], json!({"exposures": 5, "recurrences": 5}), "{trial}");
    }
    assert_eq!((&measured["verdict"], &measured["not_measurable"]), (&"prevents".into(), &Value::Null));
    let evidence = item["proposal"]["evidence"].to_string();
    assert!(
        evidence.contains("effectiveness 1.00, observed without a control group: 3 of 3 warned tasks avoided it"),
        "{evidence}"
    );
    assert!(evidence.contains("proposed because tasks that were warned from it avoided the mistake"), "{evidence}");
}

#[test]
fn an_entry_that_does_harm_is_left_out_with_its_family_and_named() {
    let sandbox = linter();
    fail(&sandbox, "A", "src/x.js", UNDEFINED);
    sandbox.write("verify-run.toml", "[advice]\nholdout_share = 0.5\n[snapshot]\nenabled = false\n");
    let pattern = pattern(&sandbox);
    let entry = written(&sandbox, "a name is used before its import", &["--from", &pattern]);
    let ask = |task: &str| -> Value {
        let asked = sandbox.verify_run(["warn", "--json", "--session", task, "--task", task, "--files", "src/x.js"]);
        serde_json::from_str(asked.outcome().stdout()).expect("is JSON")
    };
    for number in 0.. {
        let task = format!("T{number}");
        let answer = ask(&task);
        if answer["harmful"] == 2 {
            break;
        }
        assert!(number < 60, "{answer}");
        // Who is warned makes the mistake, who is held out doesn't.
        if answer["held_out"] == 1 { pass(&sandbox, &task) } else { fail(&sandbox, &task, "src/x.js", UNDEFINED) }
    }
    let asked = sandbox.verify_run(["warn", "--task", "Z", "--files", "src/x.js"]).outcome();
    assert_eq!(asked.stdout(), "");
    for left_out in ["1 pattern suppressed: ", "1 entry suppressed: "] {
        assert!(asked.stderr().contains(left_out), "{}", asked.stderr());
    }
    let harmful = stats(&sandbox)["warnings"]["harmful"].clone();
    assert!(harmful.as_array().expect("a list").contains(&entry["id"]), "{harmful}");
}

#[test]
fn a_promoted_line_names_a_file_once_whoever_wrote_it_and_keeps_the_pitfall() {
    let sandbox = linter();
    let pitfall = "a name is used before its import";
    let entry = written(&sandbox, pitfall, &[]);
    for (session, agent) in [("s1", "codex"), ("s2", "claude")] {
        let again = ["add", "gotcha", "--title", "Imports come first", "--set", "fix=import it first"];
        let more = ["--set", &format!("pitfall={pitfall}"), "--files", "src/x.js", "--json"];
        let run = sandbox.verify_run(["knowledge"].iter().chain(&again).chain(&more));
        run.env("VERIFY_RUN_AGENT", agent).env("VERIFY_RUN_SESSION", session).prints();
        knowledge(&sandbox, session, &["boost", id(&entry), "--validated"]);
    }
    let found = list(&sandbox, &[]);
    let line = found[0]["proposal"]["line"].as_str().expect("a proposal");
    assert_eq!(line.matches("src/x.js").count(), 1, "{line}");
    assert!(line.contains(pitfall) && line.ends_with("import it first."), "{line}");
}
