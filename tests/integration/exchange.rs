//! Records that go from one clone to another.

use std::fs;
use std::path::PathBuf;

use verify_run::run::CommandEnd;

use crate::sandbox::Sandbox;

/// A project whose linter finds `PART` undefined; every clone has the same.
fn clone() -> Sandbox {
    let sandbox = Sandbox::repository();
    let script = "printf '\\n'$PWD'/src/a.js\\n  1:1  error  '\\''%s'\\'' is not defined  no-undef\\n\\n✖ 1 problem (1 error)\\n' \"$PART\"; exit 1";
    sandbox.tool("eslint", script);
    sandbox.write("src/a.js", "x");
    sandbox
}

fn fail(sandbox: &Sandbox, task: &str, part: &str) {
    sandbox.verify_run(["--sync", "--task", task, "eslint", "src"]).env("PART", part).outcome();
}

/// Exports into a folder of its own.
fn export(sandbox: &Sandbox, options: &[&str]) -> PathBuf {
    let out = sandbox.tmp().join(format!("out-{}", options.len()));
    let arguments = ["store", "export", "--json", "--out"].into_iter().map(Into::into);
    let arguments = arguments.chain([out.clone().into_os_string()]).chain(options.iter().map(Into::into));
    sandbox.verify_run(arguments).prints_json();
    out
}

#[test]
fn a_ci_job_s_segment_is_merged_into_a_developer_s_store() {
    let (developer, ci) = (clone(), clone());
    fail(&developer, "one", "x");
    for task in ["two", "three"] {
        fail(&ci, task, "x");
    }
    fail(&ci, "three", "y");
    let out = export(&ci, &[]);
    let done =
        developer.verify_run(["store".as_ref(), "import".as_ref(), out.as_os_str(), "--json".as_ref()]).prints_json();
    assert_eq!((&done["schema"], &done["bad"], &done["known"]), (&1.into(), &0.into(), &0.into()));
    let list = developer.verify_run(["pattern", "list", "--recurring", "--json"]).prints_json();
    let of_three = |pattern: &serde_json::Value| (&pattern["failures"], &pattern["tasks"]) == (&3.into(), &3.into());
    assert!(list["patterns"].as_array().expect("a list").iter().any(of_three), "{list}");
    let status = developer.verify_run(["store", "status", "--json"]).prints_json();
    assert_eq!((&status["counts"]["failures"], status["segments"].as_array().map(Vec::len)), (&4.into(), Some(2)));

    // Once more, and the developer's own back again: nothing new.
    let own = export(&developer, &[]);
    for path in [&out, &own] {
        let again = developer
            .verify_run(["store".as_ref(), "import".as_ref(), path.as_os_str(), "--json".as_ref()])
            .prints_json();
        assert_eq!(again["events"], 0, "{again}");
    }
    // The other way round the other clone has the same.
    let back = ci.verify_run(["store".as_ref(), "import".as_ref(), own.as_os_str(), "--json".as_ref()]).prints_json();
    assert!(back["events"].as_u64().is_some_and(|events| events > 0), "{back}");
    let ids = |sandbox: &Sandbox| {
        let list = sandbox.verify_run(["pattern", "list", "--json"]).prints_json();
        let row = |pattern: &serde_json::Value| {
            format!("{} {} {}", pattern["id"], pattern["failures"], pattern["confidence"])
        };
        let mut rows: Vec<String> = list["patterns"].as_array().expect("a list").iter().map(row).collect();
        rows.sort();
        rows
    };
    assert_eq!(ids(&ci), ids(&developer));
}

#[test]
fn a_masked_export_counts_and_tells_nothing() {
    let sandbox = clone();
    fail(&sandbox, "one", "secretName");
    let (masked, later) = (export(&sandbox, &["--masked"]), export(&sandbox, &["--since", "2100-01-01"]));
    assert_eq!(fs::read_dir(later).expect("a folder").count(), 0);
    let files: Vec<PathBuf> = fs::read_dir(&masked).expect("a folder").flatten().map(|entry| entry.path()).collect();
    assert_eq!(files.len(), 1);
    let text = fs::read_to_string(&files[0]).expect("a segment");
    let root = sandbox.work().display().to_string();
    for told in ["✖ 1 problem", root.as_str(), "refs/", "tty-"] {
        assert!(!text.contains(told), "{told}: {text}");
    }
    let other = clone();
    other.verify_run(["store".as_ref(), "import".as_ref(), masked.as_os_str()]).prints();
    let list = other.verify_run(["pattern", "list", "--json"]).prints_json();
    assert_eq!(list["patterns"][0]["code"], "no-undef");
}

#[test]
fn what_is_no_segment_is_named_with_the_next_command() {
    let sandbox = clone();
    let path = sandbox.write("bad/x.jsonl", "not an event\n");
    let answer = sandbox.verify_run(["store", "import", "bad"]).outcome();
    assert_eq!(answer.ended, CommandEnd::Exit(0));
    assert!(
        answer
            .stderr()
            .contains(&format!("{}:1: not an event", path.strip_prefix(sandbox.work()).expect("below").display())),
        "{answer:?}"
    );
    sandbox.write("empty/README", "");
    for (path, wanted) in [("empty", "verify-run store export"), ("nowhere", "cannot read nowhere")] {
        let answer = sandbox.verify_run(["store", "import", path]).outcome();
        assert_eq!(answer.ended, CommandEnd::Exit(1));
        assert!(answer.stderr().contains(wanted), "{answer:?}");
    }
    let answer = sandbox.verify_run(["store", "export", "--since", "soon"]).outcome();
    assert_eq!(answer.ended, CommandEnd::Exit(2));
}
