//! Which change is said to have fixed a failure: one that has to do with it, and no return to an earlier state.

use serde_json::Value;

use super::{fails, fix, passes, python, tick};
use crate::sandbox::{Sandbox, need, tools};

fn labels(page: &Value, what: &str) -> Vec<String> {
    let rows = page[what].as_array().map_or(&[][..], Vec::as_slice);
    rows.iter().map(|row| row["label"].as_str().unwrap_or_default().to_owned()).collect()
}

fn also_changed(step: &Value) -> Vec<&str> {
    let files = step["also_changed"].as_array().map_or(&[][..], Vec::as_slice);
    files.iter().map(|file| file.as_str().expect("a path")).collect()
}

fn strategies(sandbox: &Sandbox) -> Vec<String> {
    let list = sandbox.verify_run(["strategy", "list", "--json"]).prints_json();
    let rows = list["strategies"].as_array().expect("a list").iter();
    rows.map(|row| row["technique"].as_str().expect("a text").to_owned()).collect()
}

#[test]
fn only_the_file_of_a_finding_is_its_fix() {
    let Some(_) = need("ruff") else { return };
    let mut sandbox = Sandbox::repository();
    sandbox.add_path(tools());
    sandbox.write(".gitignore", ".ruff_cache\n");
    sandbox.write("aaa_geometry.py", "def area(r):\n    return 3 * r * r\n");
    sandbox.write("util.py", "import os\n\n\ndef f(x):\n    return x\n");
    sandbox.commit("An unused import");
    fails(&sandbox, &["ruff", "check", "."]);
    sandbox.write("aaa_geometry.py", "def area(r):\n    return 3.14159 * r * r\n");
    sandbox.write("util.py", "def f(x):\n    return x\n");
    passes(&sandbox, &["ruff", "check", "."]);
    let page = fix(&sandbox);
    assert_eq!(labels(&page, "recipes"), ["util.py", "-import os"]);
    assert!(strategies(&sandbox).iter().all(|label| !label.contains("3.14159")), "{:?}", strategies(&sandbox));
    let step = &page["steps"][0];
    assert_eq!(also_changed(step), ["aaa_geometry.py"]);
    let diff = step["diff"].as_str().expect("a diff");
    assert!(diff.find("util.py").expect("is there") < diff.find("aaa_geometry.py").expect("is there"), "{diff}");
    let shown = sandbox.verify_run(["fix", "show", page["id"].as_str().expect("an id")]).prints();
    assert!(shown.contains("\n  also changed: aaa_geometry.py (+1 -1)\n"), "{shown}");
}

#[test]
fn a_file_that_a_failing_test_imports_through_another_one_is_its_fix() {
    let Some(sandbox) = python() else { return };
    sandbox.write("app/__init__.py", "");
    sandbox.write("app/core.py", "def inner(prices):\n    return sum(prices) + 1\n");
    sandbox.write("app/api.py", "from app.core import inner\n\n\ndef total(prices):\n    return inner(prices)\n");
    sandbox.write("conftest.py", "");
    let test = "from app.api import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n";
    sandbox.write("test_shop.py", test);
    sandbox.write("zother.py", "x = 1\n");
    sandbox.write("uv.lock", "one\ntwo\n");
    sandbox.commit("An app");
    fails(&sandbox, &["pytest", "-q"]);
    sandbox.write("app/core.py", "def inner(prices):\n    return sum(prices)\n");
    sandbox.write("zother.py", "x = 2\n");
    sandbox.write("uv.lock", "one\nthree\nfour\n");
    passes(&sandbox, &["pytest", "-q"]);
    let page = fix(&sandbox);
    assert_eq!(labels(&page, "recipes"), ["app/core.py", "+return sum(prices)"]);
    let step = &page["steps"][0];
    assert_eq!(also_changed(step), ["uv.lock", "zother.py"]);
    let diff = step["diff"].as_str().expect("a diff");
    assert!(diff.ends_with("+x = 2\nuv.lock: 3 lines changed\n") && !diff.contains("three"), "{diff}");
    let lesson = sandbox.lesson();
    assert!(lesson.text.contains("Also changed:\n  uv.lock\n  zother.py\n"), "{}", lesson.text);
    assert!(lesson.text.contains("uv.lock: 3 lines changed\n"), "{}", lesson.text);
}

#[test]
fn a_pass_after_a_change_of_something_else_has_an_unknown_cause() {
    let Some(sandbox) = python() else { return };
    let test = "import os\n\n\ndef test_sun():\n    assert os.path.exists(os.environ['TMPDIR'] + '/sun')\n";
    sandbox.write("test_shop.py", test);
    sandbox.write("web/util.js", "export const one = 1\n");
    sandbox.commit("The weather");
    fails(&sandbox, &["pytest", "-q"]);
    std::fs::write(sandbox.tmp().join("sun"), "").expect("the sun");
    sandbox.write("web/util.js", "import fs from 'fs'\nexport const one = 1\n");
    passes(&sandbox, &["pytest", "-q"]);
    let page = fix(&sandbox);
    assert_eq!(labels(&page, "recipes"), [] as [String; 0]);
    assert_eq!((&page["status_reason"], &page["high_value"]), (&"cause of the fix unknown".into(), &false.into()));
    assert_eq!((strategies(&sandbox), page["gotchas"].clone()), (Vec::new(), serde_json::json!([])));
    assert!(sandbox.lesson().text.contains("cause of the fix unknown"), "{}", sandbox.lesson().text);
}

#[test]
fn a_return_to_an_earlier_state_is_an_undo_and_teaches_nothing() {
    let Some(sandbox) = python() else { return };
    sandbox.write("shop.py", "def total(prices):\n    return sum(prices)\n");
    sandbox.commit("Total is right");
    let broken = "def total(prices):\n    return sum(prices) + 1\n\n\ndef more():\n    return 1\n";
    let ways: [&dyn Fn(&Sandbox); 4] = [
        &|sandbox| drop(sandbox.git(["checkout", "--quiet", "shop.py"])),
        &|sandbox| drop(sandbox.git(["stash", "--quiet"])),
        // By hand.
        &|sandbox| drop(sandbox.write("shop.py", "def total(prices):\n    return sum(prices)\n")),
        &|sandbox| {
            sandbox.git(["commit", "--quiet", "--all", "--message=Break it"]);
            sandbox.git(["revert", "--no-edit", "HEAD"]);
        },
    ];
    for back in ways {
        sandbox.write("shop.py", broken);
        fails(&sandbox, &["pytest", "-q"]);
        tick(&sandbox);
        back(&sandbox);
        passes(&sandbox, &["pytest", "-q"]);
    }
    let list = sandbox.verify_run(["fix", "list", "--json"]).prints_json();
    let fixes = list["fixes"].as_array().expect("a list");
    assert_eq!((fixes.len(), &list["rates"]), (4, &serde_json::json!([])));
    for row in fixes {
        let page = sandbox.verify_run(["fix", "show", row["id"].as_str().expect("an id"), "--json"]).prints_json();
        assert_eq!((&page["state"], &page["steps"][0]["undo"]), (&"undone".into(), &true.into()), "{page}");
        assert_eq!((labels(&page, "recipes"), &page["gotchas"]), (Vec::new(), &serde_json::json!([])), "{page}");
        let shown = sandbox.verify_run(["fix", "show", row["id"].as_str().expect("an id")]).prints();
        assert!(shown.contains(": passes again after a revert\n"), "{shown}");
    }
    assert_eq!(strategies(&sandbox), [] as [String; 0]);
    // What the hint says of it when it fails again: nothing that takes a function away.
    sandbox.write("shop.py", broken);
    tick(&sandbox);
    let outcome = super::quiet(sandbox.verify_run(["--hint", "stderr", "pytest", "-q"])).outcome();
    assert!(!outcome.stderr().contains("fixed by"), "{}", outcome.stderr());
    sandbox.settle();
}

#[test]
fn a_manifest_may_be_the_fix_and_a_lock_file_is_none() {
    let sandbox = Sandbox::repository();
    sandbox.tool("luacheck", "grep -q 26 package.json && exit\necho 'src/a.lua:1:1: error: needs 26'\nexit 1");
    sandbox.write("src/a.lua", "local x\n");
    sandbox.write("package.json", "{ \"jsdom\": \"^30.0.1\" }\n");
    sandbox.write("package-lock.json", "{ \"node\": \">=22\", \"version\": \"3.2.0\" }\n");
    sandbox.commit("Packages");
    fails(&sandbox, &["luacheck", "."]);
    sandbox.write("package.json", "{ \"jsdom\": \"^26.1.0\" }\n");
    sandbox.write("package-lock.json", "{ \"node\": \">=18\", \"version\": \"2.0.0\" }\n");
    passes(&sandbox, &["luacheck", "."]);
    let page = fix(&sandbox);
    let recipes = labels(&page, "recipes");
    assert_eq!(recipes, ["package.json"], "{page}");
    let diff = page["steps"][0]["diff"].as_str().expect("a diff");
    assert!(diff.starts_with("diff --git a/package.json") && diff.ends_with("\npackage-lock.json: 2 lines changed\n"));
}

#[test]
fn an_edit_that_never_helped_is_no_proposal_and_a_template_is_found_for_a_text_by_its_category() {
    let Some(sandbox) = python() else { return };
    let table = "[strategies.look]\ncategory = \"test_failure\"\ntechnique = \"Look at {{ file }}\"\n";
    sandbox.write("verify-run.toml", table);
    sandbox.commit("A template");
    fails(&sandbox, &["pytest", "-q"]);
    for wrong in [2, 3] {
        sandbox.write("shop.py", format!("def total(prices):\n    return sum(prices) + {wrong} * len(prices)\n"));
        fails(&sandbox, &["pytest", "-q"]);
    }
    let suggested = |arguments: &[&str]| -> Vec<String> {
        let suggest = ["strategy", "suggest", "--json"].iter().chain(arguments);
        let list = sandbox.verify_run(suggest).prints_json();
        let rows = list["strategies"].as_array().expect("a list").iter();
        rows.map(|row| row["technique"].as_str().expect("a text").to_owned()).collect()
    };
    assert_eq!(suggested(&["--run", "last"]), ["Look at test_shop.py"]);
    let text = "FAILED test_shop.py::test_total - assert 4 == 3\n1 failed in 0.02s\n";
    assert_eq!(suggested(&["--error", text]), ["Look at test_shop.py"]);
    assert_eq!(suggested(&["--error", "src/a.rs:1:1: warning: too long [style]"]), [] as [String; 0]);
    sandbox.write("shop.py", "def total(prices):\n    return sum(prices)\n");
    passes(&sandbox, &["pytest", "-q"]);
    let helped = suggested(&["--error", text]);
    assert_eq!(helped.last().map(String::as_str), Some("Look at test_shop.py"), "{helped:?}");
}
