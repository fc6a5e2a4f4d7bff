//! What is learnt without anybody writing it down: gotchas from fixes, what agents remembered, proposals.

use serde_json::{Value, json};
use verify_run::run::CommandEnd;

use super::{knowledge, misused, refused};
use crate::sandbox::Sandbox;

/// A repository in which the same fix helped in three tasks, and the id of the gotcha that was learnt from it.
fn with_learnt() -> (Sandbox, String) {
    let sandbox = Sandbox::repository();
    sandbox.write("verify-run.toml", "[advice]\nholdout = false\n");
    let finding = "printf '\\n%s\\n  1:1  error  foo is not defined  no-undef\\n' \"$PWD/src/a.js\"; exit 1";
    sandbox.tool("eslint", &format!("! grep -q foo src/a.js || {{ {finding}; }}"));
    for task in ["1", "2", "3"] {
        for (call, code) in [("foo", 1), ("bar", 0)] {
            sandbox.write("src/a.js", format!("call({call}) // {task}\n"));
            let run = sandbox.verify_run(["--sync", "--task", task, "--session", task, "eslint", "src"]).outcome();
            assert_eq!(run.ended, CommandEnd::Exit(code), "{}", run.stderr());
        }
    }
    let listed = knowledge(&sandbox, &["query", "--type", "gotcha"]);
    let id = listed["entries"][0]["id"].as_str().expect("a gotcha").to_owned();
    assert_eq!(listed["entries"][0]["learnt"], true);
    (sandbox, id)
}

#[test]
fn a_learnt_gotcha_is_listed_and_exported_with_what_was_written() {
    let (sandbox, id) = with_learnt();
    knowledge(&sandbox, &["add", "gotcha", "--title", "Other", "--set", "pitfall=other", "--set", "fix=do it"]);
    for filter in [&["query"][..], &["query", "--min-confidence", "0.5"], &["export"]] {
        let found = knowledge(&sandbox, filter);
        let ids: Vec<&str> =
            found["entries"].as_array().expect("a list").iter().filter_map(|it| it["id"].as_str()).collect();
        assert_eq!((ids.len(), ids.contains(&id.as_str())), (2, true), "{filter:?}: {found}");
    }
    assert_eq!(knowledge(&sandbox, &["query", "--type", "decision"])["entries"], json!([]));
    assert_eq!(knowledge(&sandbox, &["query", "--tag", "x"])["entries"], json!([]));
    let of_pattern = knowledge(&sandbox, &["show", &id])["sources"][0].as_str().map(str::to_owned);
    let source = of_pattern.expect("a pattern");
    assert_eq!(knowledge(&sandbox, &["query", "--from", &source])["entries"][0]["id"], id.as_str());
    let stats = sandbox.verify_run(["stats", "--json"]).prints_json();
    let counted = &stats["knowledge"];
    assert_eq!(
        (&counted["entries"], &counted["reused"], &counted["uses"]),
        (&2.into(), &1.into(), &2.into()),
        "{counted}"
    );
}

#[test]
fn what_is_said_of_a_learnt_gotcha_counts_as_for_a_written_one() {
    let (sandbox, id) = with_learnt();
    let confidence = |page: &Value| page["confidence"].as_f64().expect("a confidence");
    let before = confidence(&knowledge(&sandbox, &["show", &id]));
    let boosted = knowledge(&sandbox, &["boost", &id[..6], "--did-not-help"]);
    assert!(confidence(&boosted["entry"]) < before, "{boosted}");
    let set = knowledge(&sandbox, &["confidence", &id, "--set", "0.9", "--reason", "seen often"]);
    assert_eq!(confidence(&set["entry"]), 0.9);
    assert_eq!(knowledge(&sandbox, &["pin", &id])["entry"]["pinned"], true);
    sandbox.verify_run(["store", "rebuild"]).outcome();
    let page = knowledge(&sandbox, &["show", &id]);
    assert_eq!((confidence(&page), &page["pinned"]), (0.9, &true.into()));
    let other = knowledge(&sandbox, &["add", "gotcha", "--title", "Better", "--set", "pitfall=p", "--set", "fix=f"]);
    let better = other["entry"]["id"].as_str().expect("an id").to_owned();
    let superseded = knowledge(&sandbox, &["supersede", &id, "--with", &better]);
    assert_eq!(superseded["entry"]["superseded_by"], better.as_str());
    let left = knowledge(&sandbox, &["query"]);
    assert_eq!(left["entries"].as_array().map(Vec::len), Some(1), "{left}");
    assert!(refused(&sandbox, &["knowledge", "supersede", &better, "--with", &id]).contains("already"));
    let merged = refused(&sandbox, &["knowledge", "merge", &id, "--into", &better]);
    assert!(merged.contains(&format!("verify-run knowledge supersede {id} --with ID")), "{merged}");
}

#[test]
fn a_task_with_nothing_but_memories_can_be_done_and_one_that_fell_silent_shares_them_too() {
    let sandbox = Sandbox::repository();
    let remember = |task: &str, text: &str| {
        let said = sandbox.verify_run(["memory", "remember", text, "--type", "learning", "--json"]);
        let said = said.env("VERIFY_RUN_TASK", task).env("VERIFY_RUN_AGENT", "codex").prints_json();
        let id = said["memories"][0]["id"].as_str().expect("an id").to_owned();
        sandbox.verify_run(["memory", "validate", &id]).env("VERIFY_RUN_AGENT", "codex").prints();
    };
    let known = |text: &str| knowledge(&sandbox, &["query", text])["entries"].as_array().map_or(0, Vec::len);
    remember("said", "Pool the connections");
    assert!(sandbox.verify_run(["task", "done", "said"]).outcome().stdout().contains("said to be over"));
    assert_eq!(known("connections"), 1);
    remember("silent", "Close the handles");
    sandbox.verify_run(["task", "list"]).prints();
    assert_eq!(known("handles"), 0, "it goes on");
    sandbox.write("verify-run.toml", "[fix]\nsilence_hours = 0\n");
    sandbox.verify_run(["task", "list"]).prints();
    assert_eq!(known("handles"), 1);
    sandbox.verify_run(["task", "list"]).prints();
    assert_eq!(known("handles"), 1, "once");
}

#[test]
fn a_branch_that_is_merged_shares_what_was_remembered_and_proposes_its_fixes() {
    let sandbox = Sandbox::repository();
    sandbox
        .tool("eslint", "! grep -q foo src/a.js || { printf 'src/a.js:1:1: error: foo is not defined\\n'; exit 1; }");
    sandbox.git(["branch", "-M", "main"]);
    sandbox.git(["checkout", "-q", "-b", "work"]);
    let check = |content: &str| {
        sandbox.write("src/a.js", content);
        sandbox.verify_run(["--sync", "eslint", "src"]).outcome();
        sandbox.commit(content);
    };
    ["call(foo)", "call(bar)"].into_iter().for_each(check);
    let said = sandbox.verify_run(["memory", "remember", "Name bar first", "--type", "learning", "--json"]);
    let said = said.env("VERIFY_RUN_AGENT", "codex").prints_json();
    let id = said["memories"][0]["id"].as_str().expect("an id").to_owned();
    sandbox.verify_run(["memory", "validate", &id]).env("VERIFY_RUN_AGENT", "codex").prints();
    sandbox.git(["checkout", "-q", "main"]);
    let left = || {
        sandbox.verify_run(["--sync", "eslint", "src"]).outcome();
        // No reader waits for shared lessons.
        sandbox.settle();
        let known = knowledge(&sandbox, &["query", "bar"])["entries"].as_array().map_or(0, Vec::len);
        (known, knowledge(&sandbox, &["proposals"])["proposals"].clone())
    };
    assert_eq!(left(), (0, json!([])), "it goes on");
    sandbox.git(["merge", "-q", "--ff-only", "work"]);
    let (known, proposals) = left();
    assert_eq!((known, &proposals[0]["task"]), (1, &json!("work")), "{proposals}");
}

#[test]
fn what_a_task_proposes_is_shown_until_somebody_decides() {
    let (sandbox, _) = with_learnt();
    let proposals = || knowledge(&sandbox, &["proposals"])["proposals"].as_array().expect("a list").clone();
    assert_eq!(proposals().len(), 0, "no task is over");
    for task in ["1", "2", "3"] {
        sandbox.verify_run(["task", "done", task]).outcome();
    }
    let found = proposals();
    let [first, second, third] = &found[..] else { panic!("{found:?}") };
    assert_eq!(proposals(), found, "they are kept");
    let of_task = sandbox.verify_run(["task", "show", "3", "--json"]).prints_json()["proposals"][0].clone();
    assert!(found.contains(&of_task), "{of_task}");

    // Taken over, and with what a person says instead of what the tool said.
    let accept = first["accept"].as_str().expect("a command").to_owned();
    sandbox.verify_run(accept.split(' ').skip(1)).prints();
    let id = |proposal: &Value| proposal["fix"].as_str().expect("an id").to_owned();
    sandbox.verify_run(["fix", "record", &id(second), "--rule", "Call bar."]).prints();
    let left = proposals();
    assert!(left.iter().all(|proposal| proposal["fix"] != first["fix"]), "{left:?}");
    let said = left.iter().find(|proposal| proposal["fix"] == second["fix"]).expect("it waits");
    assert_eq!(said["title"], "Call bar.");

    let declined = knowledge(&sandbox, &["decline", &id(second), "--reason", "too small", "--by", "Ada"]);
    assert_eq!(declined["declined"], second["fix"]);
    let left: Vec<Value> = proposals().iter().map(|proposal| proposal["fix"].clone()).collect();
    assert_eq!(left, [third["fix"].clone()]);
    let page = sandbox.verify_run(["fix", "show", &id(second)]).prints();
    assert!(page.contains("\ndeclined as a pattern (Ada): too small\n"), "{page}");
    assert!(refused(&sandbox, &["knowledge", "decline", "x-nothing"]).contains("x-nothing"));
}

#[test]
fn a_strategy_that_failed_too_often_names_what_was_learnt_as_the_next() {
    let (sandbox, _) = with_learnt();
    let strategy = |arguments: &[&str]| {
        let said = sandbox.verify_run(["strategy"].iter().chain(arguments).chain(&["--json"]));
        said.env("VERIFY_RUN_TASK", "late").outcome().stdout().parse::<Value>().expect("JSON")
    };
    let added = strategy(&["add", "--error", "foo is not defined", "--technique", "alpha"]);
    let id = added["strategy"]["id"].as_str().expect("an id").to_owned();
    let attempts = [(); 3].map(|()| strategy(&["attempt", &id, "--outcome", "failure"]));
    let suggested = strategy(&["suggest", "--error", "foo is not defined"]);
    let next = &suggested["strategies"][0]["id"];
    assert!(next.is_string() && *next != id.as_str(), "{suggested}");
    assert_eq!(&attempts[2]["escalation"]["next"], next, "{}", attempts[2]);
}

#[test]
fn a_type_that_does_not_exist_and_a_confidence_that_is_none_are_refused() {
    let (sandbox, _) = with_learnt();
    let kind = misused(&sandbox, &["knowledge", "query", "--type", "nope"]);
    assert!(kind.contains("unknown type \"nope\"") && kind.contains("gotcha"), "{kind}");
    let confidence = misused(&sandbox, &["knowledge", "query", "--min-confidence", "3"]);
    assert!(confidence.contains("between 0 and 1"), "{confidence}");
}

#[test]
fn a_hunk_that_several_fixes_share_is_taken_back_in_one_line() {
    let (sandbox, _) = with_learnt();
    sandbox.write("src/a.js", "call(bar) // 3\n");
    sandbox.commit("Fixed");
    sandbox.write("src/a.js", "call(foo) // 3\n");
    let back = sandbox.verify_run(["check-diff"]).outcome();
    assert_eq!(back.stdout().lines().count(), 1, "{back:?}");
}
