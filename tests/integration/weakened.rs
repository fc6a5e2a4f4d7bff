//! What a change weakens: `check-diff` in real repositories, in hooks, in subfolders and out of order.

use verify_run::run::CommandEnd;

use crate::sandbox::{Sandbox, need, tools};

const TEST: &str = "import cart\n\n\ndef test_total():\n    assert cart.total([1, 2]) == 3\n\n\n\
                    def test_empty():\n    assert cart.total([]) == 0\n";

fn project() -> Sandbox {
    let sandbox = Sandbox::repository();
    sandbox.write("cart.py", "import os\n\n\ndef total(prices):\n    return sum(prices)\n");
    sandbox.write("tests/test_cart.py", TEST);
    sandbox.commit("The project");
    sandbox
}

const DELETED: &str = "tests/test_cart.py:4: deletes the test `test_total` [test-deleted]: def test_total():\n";
const NOQA: &str = "cart.py:1: turns off F401 of the linter [python-noqa]: import os  # noqa: F401\n";

fn without_total() -> String {
    TEST.replace("def test_total():\n    assert cart.total([1, 2]) == 3\n\n\n", "")
}

#[test]
fn a_deleted_test_is_found_wherever_it_is_on_its_way() {
    let sandbox = project();
    sandbox.verify_run(["check-diff"]).expect(CommandEnd::Exit(0), "", "");
    sandbox.write("tests/test_cart.py", without_total());
    sandbox.verify_run(["check-diff"]).expect(CommandEnd::Exit(1), DELETED, "");
    sandbox.verify_run(["check-diff", "--staged"]).expect(CommandEnd::Exit(0), "", "");
    sandbox.verify_run(["check-diff", "HEAD"]).dir("tests").expect(CommandEnd::Exit(1), DELETED, "");
    sandbox.git(["add", "--all"]);
    sandbox.verify_run(["check-diff", "--staged"]).expect(CommandEnd::Exit(1), DELETED, "");
    sandbox.commit("Tidy up");
    sandbox.verify_run(["check-diff"]).expect(CommandEnd::Exit(0), "", "");
    for range in ["HEAD~1..HEAD", "HEAD~1...HEAD", "HEAD^!", "HEAD~1"] {
        sandbox.verify_run(["check-diff", range]).expect(CommandEnd::Exit(1), DELETED, "");
    }
}

#[test]
fn a_test_that_moved_to_a_file_that_git_does_not_know_yet_is_not_deleted() {
    let sandbox = project();
    sandbox.write("tests/test_cart.py", without_total());
    sandbox.write("tests/test_total.py", "import cart\n\n\ndef test_total():\n    assert cart.total([1, 2]) == 3\n");
    sandbox.verify_run(["check-diff"]).expect(CommandEnd::Exit(0), "", "");
}

#[test]
fn json_has_every_mark_and_likely_ones_can_be_left_out() {
    let sandbox = project();
    sandbox.write("cart.py", "import os  # noqa: F401\n\n\ndef total(prices):\n    return sum(prices)\n");
    sandbox.write("new.py", "import sys  # noqa: F401\n");
    sandbox.verify_run(["check-diff", "--certain"]).expect(CommandEnd::Exit(1), NOQA, "");
    let outcome = sandbox.verify_run(["check-diff", "--json"]).outcome();
    assert_eq!(outcome.ended, CommandEnd::Exit(1));
    let report: serde_json::Value = serde_json::from_str(outcome.stdout()).expect("JSON");
    let mark = |path: &str, severity: &str, text: &str| {
        serde_json::json!({
            "rule": "python-noqa", "family": "disabled-rule", "language": "python", "path": path, "line": 1,
            "text": text, "message": "turns off F401 of the linter", "severity": severity,
        })
    };
    let marks =
        [mark("cart.py", "certain", "import os  # noqa: F401"), mark("new.py", "likely", "import sys  # noqa: F401")];
    assert_eq!(
        report,
        serde_json::json!({ "schema": 1, "weakened": marks, "regressions": [], "deprecated": [], "cut": 0 })
    );
}

#[test]
fn as_a_hook_it_looks_at_what_is_being_committed_and_blocks_only_for_that() {
    let sandbox = project();
    let hooks = sandbox.path(".git/hooks");
    let script = format!("#!/bin/sh\n{} check-diff --staged\n[ $? -ne 1 ]\n", crate::sandbox::VERIFY_RUN);
    sandbox.write(".git/hooks/pre-commit", &script);
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(hooks.join("pre-commit"), executable).expect("an executable hook");
    let commit = |arguments: &[&str]| {
        let hooks = format!("core.hooksPath={}", hooks.display());
        let outcome =
            sandbox.bare("git").args(["-c", &hooks, "commit", "--quiet", "-m", "x"]).args(arguments).outcome();
        (outcome.ended, outcome.stdout().to_owned() + outcome.stderr())
    };
    // With a path git commits from an index of its own, and says which by a variable.
    sandbox.write("tests/test_cart.py", without_total());
    sandbox.write("cart.py", "import os\n\n\ndef total(prices):\n    return sum(prices or [])\n");
    assert_eq!(commit(&["cart.py"]), (CommandEnd::Exit(0), String::new()), "the test is not part of this commit");
    assert_eq!(commit(&["--all"]), (CommandEnd::Exit(1), DELETED.to_owned()));
    assert_eq!(commit(&["tests/test_cart.py"]), (CommandEnd::Exit(1), DELETED.to_owned()));
    // Its own failure is reported and blocks nothing.
    sandbox.write("tests/test_cart.py", TEST);
    sandbox.write("cart.py", "VAT = 19\n");
    sandbox.write(".git/hooks/pre-commit", script.replace("--staged", "no-such-commit"));
    let (ended, said) = commit(&["--all"]);
    assert_eq!(ended, CommandEnd::Exit(0), "{said}");
    assert!(
        said.contains("verify-run: cannot read the change: git diff: ") && said.contains("no-such-commit"),
        "{said}"
    );
}

#[test]
fn trouble_is_an_exit_code_of_its_own() {
    let sandbox = Sandbox::new();
    let outcome = sandbox.verify_run(["check-diff"]).outcome();
    assert_eq!((outcome.ended, outcome.stdout()), (CommandEnd::Exit(3), ""));
    assert!(outcome.stderr().contains("not a git repository"), "{}", outcome.stderr());
    assert!(outcome.stderr().ends_with("\nhint: change into a git work tree\n"), "{}", outcome.stderr());
    let sandbox = project();
    let outcome = sandbox.verify_run(["check-diff"]).env("PATH", "/nowhere").outcome();
    let said = "verify-run: cannot read the change: git is not installed\nhint: install git\n";
    assert_eq!((outcome.ended, outcome.stderr()), (CommandEnd::Exit(3), said));
    for wrong in
        [&["check-diff", "--", "--output=x"][..], &["check-diff", "HEAD", "--staged"], &["check-diff", "nothing"]]
    {
        assert_eq!(sandbox.verify_run(wrong).outcome().ended, CommandEnd::Exit(2), "{wrong:?}");
    }
    assert!(!sandbox.path("x").exists());
}

#[test]
fn before_the_first_commit_everything_is_new() {
    let sandbox = Sandbox::new();
    sandbox.git(["init", "--quiet"]);
    sandbox.write("cart.py", "import os  # noqa: F401\n");
    let likely = NOQA.replace("[python-noqa]", "[python-noqa, likely]");
    sandbox.verify_run(["check-diff"]).expect(CommandEnd::Exit(1), &likely, "");
    sandbox.git(["add", "--all"]);
    sandbox.verify_run(["check-diff", "--staged"]).expect(CommandEnd::Exit(1), &likely, "");
}

#[test]
fn what_the_users_git_is_told_to_print_changes_nothing() {
    let sandbox = project();
    for setting in [
        ["diff.noprefix", "true"],
        ["diff.mnemonicPrefix", "true"],
        ["color.ui", "always"],
        ["diff.context", "0"],
        ["diff.external", "false"],
        ["diff.renames", "false"],
    ] {
        sandbox.git(["config", setting[0], setting[1]]);
    }
    sandbox.git(["mv", "tests/test_cart.py", "tests/test_basket.py"]);
    sandbox.verify_run(["check-diff", "--staged"]).expect(CommandEnd::Exit(0), "", "");
    sandbox.write("tests/test_basket.py", without_total());
    let renamed = DELETED;
    let external = sandbox.verify_run(["check-diff"]).env("GIT_EXTERNAL_DIFF", "false");
    external.expect(CommandEnd::Exit(1), renamed, "");
}

/// A check that fails, then passes after the change: the only workflow, and the lines of `fix list --weakened`.
struct Passed {
    state: String,
    listed: String,
    lesson: String,
}

fn fail_then_pass(sandbox: &Sandbox, command: &[&str], change: impl FnOnce(&Sandbox)) -> Passed {
    sandbox.keep_lessons();
    let run = || {
        // Python takes a cached module for fresh when size and second of its source agree.
        let invocation = sandbox.verify_run(command).env("PYTHONDONTWRITEBYTECODE", "1").env("CI", "true");
        let outcome = invocation.outcome();
        sandbox.settle();
        (outcome.ended, outcome.stdout().to_owned() + outcome.stderr())
    };
    let (ended, said) = run();
    assert!(!ended.passed(), "{said}");
    change(sandbox);
    let (ended, said) = run();
    assert_eq!(ended, CommandEnd::Exit(0), "{said}");
    let list = sandbox.verify_run(["fix", "list", "--json"]).prints_json();
    let fixes = list["fixes"].as_array().expect("a list");
    assert_eq!(fixes.len(), 1, "{list}");
    let listed = sandbox.verify_run(["fix", "list", "--weakened"]).outcome().stdout().to_owned();
    let marks = listed.lines().filter_map(|line| line.split_once('\t').filter(|_| line.matches('\t').count() == 1));
    Passed {
        state: fixes[0]["state"].as_str().expect("a state").to_owned(),
        listed: marks.map(|(_, mark)| format!("{mark}\n")).collect(),
        lesson: sandbox.lesson().text,
    }
}

#[track_caller]
fn assert_weakened(passed: &Passed, listed: &str) {
    assert_eq!((passed.state.as_str(), passed.listed.as_str()), ("weakened", listed));
    assert!(passed.lesson.contains("Not known yet."), "a weakened pass is no fix:\n{}", passed.lesson);
}

fn with_tool(tool: &str, files: &[(&str, &str)]) -> Option<Sandbox> {
    let mut sandbox = Sandbox::repository();
    if tool == "cargo" {
        sandbox.add_path(crate::tools::toolchain()?);
    } else {
        need(tool)?;
    }
    sandbox.add_path(tools());
    sandbox.write(".gitignore", "node_modules\ntarget\n*_cache\n__pycache__\nCargo.lock\n");
    let packages = tools().join("../node/node_modules");
    if packages.is_dir() {
        std::os::unix::fs::symlink(packages, sandbox.path("node_modules")).expect("a link to the packages");
    }
    for (path, content) in files {
        sandbox.write(path, content);
    }
    sandbox.commit("The project");
    Some(sandbox)
}

const WRONG: &str = "def total(prices):\n    return sum(prices) + 1\n";

#[test]
fn deleting_the_failing_test_is_a_weakened_pass_of_pytest() {
    let Some(sandbox) = with_tool("pytest", &[("cart.py", WRONG), ("test_cart.py", TEST)]) else { return };
    sandbox.write("cart.py", "def total(prices):\n    return sum(prices) + len(prices)\n");
    let passed = fail_then_pass(&sandbox, &["pytest", "-q"], |sandbox| {
        sandbox.write("test_cart.py", without_total());
    });
    assert_weakened(&passed, "test_cart.py:4: deletes the test `test_total` [test-deleted]: def test_total():\n");
}

#[test]
fn mending_the_code_is_a_fix_and_no_weakening() {
    let Some(sandbox) = with_tool("pytest", &[("cart.py", WRONG), ("test_cart.py", TEST)]) else { return };
    let passed = fail_then_pass(&sandbox, &["pytest", "-q"], |sandbox| {
        sandbox.write("cart.py", "def total(prices):\n    return sum(prices)\n");
    });
    assert_eq!((passed.state.as_str(), passed.listed.as_str()), ("success", ""));
    assert!(!passed.lesson.contains("Not known yet."), "{}", passed.lesson);
}

#[test]
fn skipping_the_failing_test_is_a_weakened_pass_of_vitest() {
    let test = "import { expect, test } from 'vitest'\n\ntest('adds', () => {\n  expect(1 + 1).toBe(3)\n})\n\n\
                test('counts', () => {\n  expect([1].length).toBe(1)\n})\n";
    let project =
        [("package.json", "{\"name\":\"cart\",\"private\":true,\"type\":\"module\"}"), ("cart.test.js", test)];
    let Some(sandbox) = with_tool("vitest", &project) else { return };
    let passed = fail_then_pass(&sandbox, &["vitest", "run"], |sandbox| {
        sandbox.write("cart.test.js", test.replace("test('adds'", "test.skip('adds'"));
    });
    assert_weakened(&passed, "cart.test.js:3: skips a test [javascript-skip]: test.skip('adds', () => {\n");
}

#[test]
fn ignoring_the_failing_test_is_a_weakened_pass_of_cargo() {
    let manifest = "[package]\nname = \"cart\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
    let test = "#[test]\nfn adds() {\n    assert_eq!(1 + 1, 3);\n}\n\n#[test]\nfn counts() {\n    assert_eq!([1].len(), 1);\n}\n";
    let Some(sandbox) = with_tool("cargo", &[("Cargo.toml", manifest), ("src/lib.rs", test)]) else { return };
    let passed = fail_then_pass(&sandbox, &["cargo", "test", "--offline"], |sandbox| {
        sandbox.write("src/lib.rs", test.replacen("#[test]\n", concat!("#[test]\n#[", "ignore]\n"), 1));
    });
    assert_weakened(&passed, concat!("src/lib.rs:2: skips a test [rust-ignore]: #[", "ignore]\n"));
}

#[test]
fn turning_the_rule_off_is_a_weakened_pass_of_ruff() {
    let Some(sandbox) = with_tool("ruff", &[("cart.py", "import os\n")]) else { return };
    let passed = fail_then_pass(&sandbox, &["ruff", "check"], |sandbox| {
        sandbox.write("cart.py", "import os  # noqa: F401\n");
    });
    assert_weakened(&passed, NOQA);
}

#[test]
fn turning_the_rule_off_is_a_weakened_pass_of_eslint() {
    let project = [
        ("package.json", "{\"name\":\"cart\",\"private\":true,\"type\":\"module\"}"),
        ("eslint.config.js", "export default [{ rules: { 'no-unused-vars': 'error' } }];\n"),
        ("cart.js", "const tax = 1;\nexport const fine = 2;\n"),
    ];
    let Some(sandbox) = with_tool("eslint", &project) else { return };
    let passed = fail_then_pass(&sandbox, &["eslint", "cart.js"], |sandbox| {
        sandbox.write("cart.js", "const tax = 1; // eslint-disable-line no-unused-vars\nexport const fine = 2;\n");
    });
    let text = "const tax = 1; // eslint-disable-line no-unused-vars";
    assert_weakened(&passed, &format!("cart.js:1: turns off no-unused-vars of eslint [eslint-disable]: {text}\n"));
}

#[test]
fn taking_a_confirmed_fix_back_is_told_with_the_failure_that_it_fixed() {
    let Some(sandbox) = with_tool("pytest", &[("cart.py", WRONG), ("test_cart.py", TEST)]) else { return };
    // A task is over at once: then a fix that held is confirmed.
    sandbox.write("verify-run.toml", "[fix]\nsilence_hours = 0\n");
    sandbox.commit("Settings");
    fail_then_pass(&sandbox, &["pytest", "-q"], |sandbox| {
        sandbox.write("cart.py", "def total(prices):\n    return sum(prices)\n");
    });
    sandbox.commit("Mend the total");
    let fix = sandbox.verify_run(["fix", "list", "--confirmed", "--json"]).prints_json()["fixes"][0].clone();
    assert_eq!(fix["confirmed"], true, "{fix}");
    sandbox.verify_run(["check-diff"]).expect(CommandEnd::Exit(0), "", "");
    sandbox.write("cart.py", "def total(prices):\n        return sum(prices) + 1\n");
    sandbox.git(["add", "--all"]);
    let (id, failure, summary) = (&fix["id"], &fix["failure"], &fix["summary"]);
    let word = |value: &serde_json::Value| value.as_str().expect("a word").to_owned();
    let told = format!(
        "cart.py:2: reverts {} ({}), which fixed {}: {} [regression]: return sum(prices) + 1\n",
        word(id),
        word(&fix["status_reason"]),
        word(failure),
        word(summary)
    );
    sandbox.verify_run(["check-diff", "--staged"]).expect(CommandEnd::Exit(1), &told, "");
    sandbox.verify_run(["check-diff", "--regressions-only"]).expect(CommandEnd::Exit(1), &told, "");
    sandbox.verify_run(["check-diff", "--weakened-only"]).expect(CommandEnd::Exit(0), "", "");
    let report = sandbox.verify_run(["check-diff", "--json"]).outcome();
    let report: serde_json::Value = serde_json::from_str(report.stdout()).expect("JSON");
    let regression = &report["regressions"][0];
    assert_eq!((&regression["fix"], &regression["failure"], &regression["line"]), (id, failure, &2.into()));
}

/// A data file decides which tests there are: no line of the change says that one is gone.
const CASES: &str = "[[1, 2],\n[2, 5],\n[3, 6]]\n";
const FEWER_CASES: &str = "[[1, 2],\n[3, 6]]\n";
const FEWER: &str = "passes with fewer tests than before [fewer-tests]: 3 before, 2 after\n";
const SUMS: &str = "import json\nimport pytest\n\nCASES = json.load(open('cases.json'))\n\n\n\
                    @pytest.mark.parametrize('a, b', CASES)\ndef test_sum(a, b):\n    assert a + a == b\n";

fn drop_a_case(sandbox: &Sandbox) {
    sandbox.write("cases.json", FEWER_CASES);
}

#[test]
fn a_pass_of_pytest_with_fewer_tests_than_failed_before_is_weakened_though_no_line_says_so() {
    let project = [("test_sums.py", SUMS), ("cases.json", CASES)];
    let Some(sandbox) = with_tool("pytest", &project) else { return };
    let passed = fail_then_pass(&sandbox, &["pytest", "-q"], drop_a_case);
    assert_weakened(&passed, FEWER);
}

#[test]
fn a_pass_of_vitest_with_fewer_tests_than_failed_before_is_weakened_though_no_line_says_so() {
    let test = "import { expect, test } from 'vitest';\nimport cases from './cases.json';\n\n\
                test.each(cases)('doubles %i to %i', (a, b) => {\n  expect(a + a).toBe(b);\n});\n";
    let project = [("sums.test.js", test), ("cases.json", CASES), ("package.json", "{\"type\": \"module\"}\n")];
    let Some(sandbox) = with_tool("vitest", &project) else { return };
    let passed = fail_then_pass(&sandbox, &["vitest", "run"], drop_a_case);
    assert_weakened(&passed, FEWER);
}

#[test]
fn a_pass_with_fewer_tests_is_a_fix_where_the_total_is_not_printed_or_the_tests_are_chosen_each_time() {
    // With -qq pytest prints no count; with --lf the same command runs what failed last, which is all at first.
    for options in [&["-qq"] as &[&str], &["-q", "--lf"]] {
        let project = [("test_sums.py", SUMS), ("cases.json", CASES)];
        let Some(sandbox) = with_tool("pytest", &project) else { return };
        let command = [&["pytest"], options].concat();
        let passed = fail_then_pass(&sandbox, &command, drop_a_case);
        assert_ne!(passed.state, "weakened", "{options:?}");
        assert_eq!(passed.listed, "", "{options:?}");
    }
}
