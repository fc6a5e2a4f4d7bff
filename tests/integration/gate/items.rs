//! Single items on real projects.

use super::{add_feature, evaluate, item, python_project};
use crate::sandbox::{Sandbox, need};

/// A function of this complexity, with a comment.
pub(super) fn function_of_complexity(complexity: usize) -> String {
    let branches: String = (1..complexity).map(|n| format!("    if value == {n}:\n        return {n}\n")).collect();
    format!("def choose(value):\n    # Each value has its own.\n{branches}    return 0\n")
}

#[test]
fn a_function_at_the_limit_fails_and_one_below_it_passes() {
    let Some(sandbox) = python_project() else { return };
    add_feature(&sandbox);
    for (complexity, status) in [(10, "fail"), (9, "pass")] {
        sandbox.write("choose.py", function_of_complexity(complexity));
        let document = evaluate(&sandbox);
        let judged = item(&document, "C2");
        assert_eq!(judged["status"], status, "{judged}");
        let details = judged["details"].as_str().expect("details");
        assert!(details.starts_with(&format!("Max: {complexity} (choose, choose.py:1;")), "{details}");
    }
}

#[test]
fn old_complexity_is_named_and_only_more_of_it_fails() {
    let Some(sandbox) = python_project() else { return };
    sandbox.write("choose.py", function_of_complexity(41));
    sandbox.git(["switch", "-q", "main"]);
    sandbox.commit("A legacy function");
    sandbox.git(["switch", "-q", "feat/subtract-rows"]);
    sandbox.git(["merge", "-q", "main"]);
    add_feature(&sandbox);
    sandbox.write("choose.py", function_of_complexity(41).replace("return 7\n", "return 70\n"));
    let document = evaluate(&sandbox);
    let judged = item(&document, "C2");
    assert_eq!(judged["status"], "pass", "{judged}");
    assert!(judged["details"].as_str().is_some_and(|it| it.contains("as complex as before: 41 (choose")), "{judged}");
    sandbox.write("choose.py", function_of_complexity(42));
    let document = evaluate(&sandbox);
    assert_eq!(item(&document, "C2")["findings"][0]["message"], "choose has a complexity of 42, before 41");
}

#[test]
fn a_criterion_needs_a_test_that_names_it_and_ran() {
    let Some(sandbox) = python_project() else { return };
    add_feature(&sandbox);
    let prp = "# PRP: Subtract rows\n\n### Success Criteria\n\n- [x] AC-1 subtract works\n- [x] AC-2 add works\n- [x] AC-3 zero\n";
    sandbox.write("prp.md", prp);
    let tests = "import pytest\n\nfrom rows import add, subtract\n\n\ndef test_ac_1_subtract():\n    assert subtract(1, 2) == -1\n\n\n\
                 # covers: AC-2\ndef test_add():\n    assert add(1, 2) == 3\n\n\n\
                 @pytest.mark.skip(reason=\"later\")\ndef test_ac_3_zero():\n    assert add(0, 0) == 0\n";
    sandbox.write("test_rows.py", tests);
    let document = evaluate(&sandbox);
    let judged = item(&document, "F2");
    assert!(judged["details"].as_str().is_some_and(|it| it.starts_with("67% (2 of 3 criteria)")), "{judged}");
    let message = judged["findings"][0]["message"].as_str().expect("a message");
    assert!(message.starts_with("AC-3 is not covered: ") && message.ends_with("is skipped"), "{message}");
}

#[test]
fn the_changelog_needs_a_new_line_under_the_newest_version() {
    let Some(sandbox) = python_project() else { return };
    add_feature(&sandbox);
    let (start, older) = ("# Changelog\n\n## [Unreleased]\n\n- Add rows\n", "\n## [0.1.0]\n\n- Begin\n");
    sandbox.git(["stash", "-q", "-u"]);
    sandbox.git(["switch", "-q", "main"]);
    sandbox.write("CHANGELOG.md", format!("{start}{older}"));
    sandbox.commit("A version");
    sandbox.git(["switch", "-q", "-c", "feat/other"]);
    sandbox.git(["checkout", "-q", "stash@{0}", "--", "rows.py", "test_rows.py", "README.md"]);
    sandbox.write("prp.md", "# PRP: Subtract rows\n\n### Success Criteria\n\n- [ ] AC-1 subtract works\n");
    let cases = [
        (format!("{start}\n\n{older}"), "fail"),
        (format!("{start}- Subtract rows\n{older}"), "pass"),
        (format!("{start}{older}- Subtract rows\n"), "fail"),
    ];
    for (changelog, status) in cases {
        sandbox.write("CHANGELOG.md", &changelog);
        let document = evaluate(&sandbox);
        assert_eq!(item(&document, "D5")["status"], status, "{changelog}: {document}");
        sandbox.git(["commit", "-q", "--allow-empty", "-m", "x"]);
    }
}

#[test]
fn a_covering_test_has_to_have_failed_before_where_the_checklist_asks_for_it() {
    let Some(sandbox) = python_project() else { return };
    add_feature(&sandbox);
    let document = evaluate(&sandbox);
    let judged = item(&document, "F2");
    let details = judged["details"].as_str().expect("details");
    let start = "100% (1 of 1 criterion); no run saw the tests of AC-1 (no recorded run of this task, and ";
    assert!(details.starts_with(start), "{details}");
    assert_eq!(judged["status"], "pass");
    sandbox.verify_run(["gate", "init"]).outcome();
    let checklist = sandbox.read(".verify-run/qa-checklist.yml").replace("red_evidence: warn", "red_evidence: block");
    sandbox.write(".verify-run/qa-checklist.yml", checklist);
    let document = evaluate(&sandbox);
    let judged = item(&document, "F2");
    assert_eq!(judged["status"], "fail", "{judged}");
    let message = judged["findings"][0]["message"].as_str().expect("a message");
    assert!(message.contains("(test_ac_1_subtract) was never seen failing"), "{message}");
    let rows = sandbox.read("rows.py");
    sandbox.write("rows.py", rows.replace("a - b", "a + b"));
    sandbox.verify_run(["--sync", "pytest"]).outcome();
    sandbox.write("rows.py", rows);
    let document = evaluate(&sandbox);
    assert_eq!(item(&document, "F2")["details"], "100% (1 of 1 criterion)", "{document}");
}

/// `fix/a` of a repository with these files, none of which the change touches.
pub(super) fn branch_of(files: &[(&str, &str)]) -> Sandbox {
    let sandbox = Sandbox::repository();
    files.iter().for_each(|(path, text)| drop(sandbox.write(path, text)));
    sandbox.commit("The project");
    sandbox.git(["switch", "-q", "-c", "fix/a"]);
    sandbox
}

pub(super) fn some_items(sandbox: &Sandbox, only: &str) -> serde_json::Value {
    let outcome = sandbox.verify_run(["gate", "run", "--no-prp", "--json", "--only", only]).outcome();
    serde_json::from_str(outcome.stdout()).unwrap_or_else(|error| panic!("{error}: {outcome:?}"))
}

#[test]
fn eslint_and_node_judge_a_javascript_project() {
    let (Some(eslint), Some(_)) = (need("eslint"), need("node")) else { return };
    let mut sandbox = branch_of(&[
        ("package.json", "{\"name\": \"n\", \"type\": \"module\", \"scripts\": {\"test\": \"node --test\"}}\n"),
        ("eslint.config.js", "export default [{rules: {\"no-undef\": \"error\"}}];\n"),
        ("sum.js", "export function sum(a, b) {\n  return a + b;\n}\n"),
        (
            "sum.test.js",
            "import test from \"node:test\";\nimport assert from \"node:assert\";\nimport { sum } from \"./sum.js\";\n\
             test(\"adds\", () => assert.equal(sum(1, 2), 3));\n",
        ),
    ]);
    sandbox.add_path(eslint.parent().expect("a folder").to_owned());
    let branches: String = (1..10).map(|n| format!("  if (value === {n}) return {n};\n")).collect();
    sandbox.write("pick.js", format!("export function pick(value) {{\n{branches}  return 0;\n}}\n"));
    let judged = some_items(&sandbox, "F1,C1,C2,C4");
    assert_eq!(item(&judged, "F1")["details"], "1 passing", "{judged}");
    assert_eq!(item(&judged, "C1")["status"], "pass", "{judged}");
    assert_eq!(item(&judged, "C2")["details"], "Max: 10 (pick, pick.js:1; eslint)", "{judged}");
    assert_eq!((&item(&judged, "C2")["status"], &item(&judged, "C4")["status"]), (&"fail".into(), &"pass".into()));
    sandbox.write("package.json", "{\"scripts\": {\"test\": \"echo \\\"Error: no test specified\\\" && exit 1\"}}\n");
    let judged = some_items(&sandbox, "F1");
    assert_eq!(item(&judged, "F1")["reason"], "no test ran: package.json has no test script", "{judged}");
}

#[test]
fn go_counts_its_tests_and_a_deleted_one_fails() {
    let Some(_) = need("go") else { return };
    let sandbox = branch_of(&[
        ("go.mod", "module x\n\ngo 1.19\n"),
        ("a.go", "package x\n\nfunc Add(a, b int) int { return a + b }\n"),
        (
            "a_test.go",
            "package x\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Fatal(\"no\")\n\t}\n}\n",
        ),
    ]);
    sandbox.write("b.go", "package x\n\nfunc Sub(a, b int) int { return a - b }\n");
    let judged = some_items(&sandbox, "F1,C1,C2");
    assert_eq!(item(&judged, "F1")["details"], "1 passing", "{judged}");
    assert_eq!(item(&judged, "C1")["details"], "0 errors; golangci-lint is not installed", "{judged}");
    let complexity = item(&judged, "C2")["details"].as_str().expect("details");
    assert!(complexity.starts_with("Max: 1 (Sub, b.go:3; "), "{complexity}");
    std::fs::remove_file(sandbox.path("a_test.go")).expect("removed");
    let judged = some_items(&sandbox, "F1");
    assert_eq!(item(&judged, "F1")["status"], "fail", "{judged}");
    assert!(item(&judged, "F1")["findings"][0]["message"].as_str().is_some_and(|it| it.contains("deletes the test")));
}

#[test]
fn luacheck_judges_lint_and_complexity_of_lua() {
    let Some(_) = need("luacheck") else { return };
    let sandbox = branch_of(&[
        ("lua/m.lua", "local M = {}\nfunction M.add(a, b) return a + b end\nreturn M\n"),
        (".luacheckrc", "std = \"lua51\"\n"),
    ]);
    let changed = "local M = {}\nfunction M.add(a, b)\n   if a then return b elseif b then return a end\n   return 0\nend\nreturn M\n";
    sandbox.write("lua/m.lua", changed);
    let judged = some_items(&sandbox, "C1,C2,C4");
    assert_eq!(item(&judged, "C1")["status"], "pass", "{judged}");
    assert_eq!(item(&judged, "C2")["details"], "Max: 3 (M.add, lua/m.lua:2; luacheck)", "{judged}");
    assert_eq!(item(&judged, "C4")["reason"], "no tool for the naming of lua", "{judged}");
}

#[test]
fn copied_lines_are_named_at_both_places() {
    let Some(sandbox) = python_project() else { return };
    let function = |name: &str| {
        let body: String = (0..30).map(|n| format!("    total_{n} = value + {n} * 2\n")).collect();
        format!("def {name}(value):\n{body}    return value\n")
    };
    sandbox.write("one.py", function("one"));
    sandbox.write("two.py", function("two"));
    let judged = some_items(&sandbox, "C3");
    let duplication = item(&judged, "C3");
    assert_eq!(duplication["status"], "fail", "{duplication}");
    let message = duplication["findings"][0]["message"].as_str().expect("a message");
    assert!(message.starts_with("lines ") && message.contains(" are also "), "{message}");
}

#[test]
fn a_source_file_that_cannot_be_read_is_no_pass() {
    let sandbox = branch_of(&[("package.json", "{}\n")]);
    sandbox.write("large.js", "// 0123456789\n".repeat(200_000));
    let judged = some_items(&sandbox, "C2,C3,D4");
    for id in ["C2", "C3", "D4"] {
        assert_eq!(item(&judged, id)["status"], "not_evaluated", "{judged}");
    }
}

#[test]
fn a_proven_flake_has_a_second_try() {
    let Some(sandbox) = python_project() else { return };
    add_feature(&sandbox);
    let flaky = "import os\n\n\ndef test_ac_1_comes_and_goes():\n    good = os.path.join(os.environ[\"HOME\"], \"good\")\n    \
                 if not os.path.exists(good):\n        open(good, \"w\").close()\n        assert False, \"not yet\"\n";
    sandbox.write("test_flaky.py", flaky);
    std::thread::sleep(std::time::Duration::from_millis(50));
    for _ in 0..2 {
        sandbox.verify_run(["--sync", "pytest"]).outcome();
    }
    let flakes = sandbox.verify_run(["fix", "list", "--flakes", "--json"]).prints_json();
    assert_eq!(flakes["flakes"][0]["proof"], "proven", "{flakes}");
    std::fs::remove_file(sandbox.home().join("good")).expect("removed");
    let judged = some_items(&sandbox, "F1");
    let details = item(&judged, "F1")["details"].as_str().expect("details");
    assert!(details.contains("passed on the second try: flake p-"), "{details}");
    assert_eq!(item(&judged, "F1")["status"], "pass", "{judged}");
}

#[test]
fn what_fixed_the_same_failure_before_is_named() {
    let Some(sandbox) = python_project() else { return };
    let source = "import math\n\n\ndef root(x):\n    return math.sqrt(x)\n";
    for name in ["one", "two", "three"] {
        sandbox.write(format!("{name}.py"), source);
        let test = format!("import {name}\n\n\ndef test_root():\n    assert {name}.root(4) == 2\n");
        sandbox.write(format!("test_{name}.py"), test);
    }
    let wrong = source.replace("import math\n", "\n");
    for name in ["one", "two"] {
        for text in [&wrong, source] {
            sandbox.write(format!("{name}.py"), text);
            std::thread::sleep(std::time::Duration::from_millis(50));
            sandbox.verify_run(["--sync", "--task", name, "pytest"]).outcome();
        }
    }
    sandbox.write("three.py", wrong);
    let judged = some_items(&sandbox, "F1");
    let fix = item(&judged, "F1")["findings"][0]["fix"].as_str().unwrap_or_else(|| panic!("{judged}"));
    assert!(fix.starts_with("fixed before by ") && fix.contains("import math"), "{fix}");
}
