//! The quality gate: policy, verdicts, attempts, and what is refused.

mod base_line;
mod criteria;
pub(crate) mod decisions;
mod documents;
mod formats;
mod hostile;
mod hosts;
mod items;
mod memory;
mod phases;
mod policy;
mod report;
mod reuse;
mod review;
mod session;
mod ship;
mod stacks;

use verify_run::run::CommandEnd;

use crate::sandbox::{Invocation, Sandbox, need};

/// A checklist of these items, each with an id and its command.
pub(crate) fn checklist(items: &[(&str, &str)]) -> String {
    let item = |(id, command): &(&str, &str)| {
        format!(
            "    - id: {id}\n      criterion: c\n      validation: exit_code == 0\n      command: {command}\n      blocking: true\n"
        )
    };
    let items: String = items.iter().map(item).collect();
    format!("qa_checklist:\n  version: \"1\"\n  functionality:\n{items}")
}

/// A Python project on a branch, with every tool that the shipped policy asks for but radon. `None` where they are missing.
fn python_project() -> Option<Sandbox> {
    let (pytest, _) = (need("pytest")?, need("ruff")?);
    let mut sandbox = Sandbox::repository();
    sandbox.add_path(pytest.parent().expect("a folder").to_owned());
    sandbox.write("pyproject.toml", "[project]\nname = \"rows\"\nversion = \"1\"\n");
    sandbox.write(".gitignore", "__pycache__\n.pytest_cache\n.ruff_cache\n");
    sandbox.write("README.md", "# Rows\n\n## Features\n\n- Add rows\n");
    sandbox.write("CHANGELOG.md", "# Changelog\n\n## [Unreleased]\n\n- Add rows\n");
    sandbox.write("rows.py", "def add(a, b):\n    return a + b\n");
    sandbox.write("test_rows.py", "from rows import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n");
    sandbox.commit("The project");
    sandbox.git(["switch", "-q", "-c", "feat/subtract-rows"]);
    Some(sandbox)
}

/// Adds the feature in all that the checklist asks for.
fn add_feature(sandbox: &Sandbox) {
    sandbox.write("rows.py", "def add(a, b):\n    return a + b\n\n\ndef subtract(a, b):\n    return a - b\n");
    let tests = "from rows import add, subtract\n\n\ndef test_add():\n    assert add(1, 2) == 3\n\n\n\
                 def test_ac_1_subtract():\n    assert subtract(1, 2) == -1\n";
    sandbox.write("test_rows.py", tests);
    sandbox.write("prp.md", "# PRP: Subtract rows\n\n### Success Criteria\n\n- [ ] AC-1 subtract works\n");
    sandbox.write("README.md", "# Rows\n\n## Features\n\n- Add rows\n- Subtract rows\n");
    sandbox.write("CHANGELOG.md", "# Changelog\n\n## [Unreleased]\n\n- Add rows\n- Subtract rows\n");
}

fn gate(sandbox: &Sandbox) -> Invocation<'_> {
    sandbox.verify_run(["gate", "run", "--prp", "prp.md", "--base", "main"])
}

/// The item of this id in a document.
fn item<'a>(document: &'a serde_json::Value, id: &str) -> &'a serde_json::Value {
    let items = document["items"].as_array().expect("items");
    items.iter().find(|item| item["id"] == id).unwrap_or_else(|| panic!("no {id} in {document}"))
}

fn evaluate(sandbox: &Sandbox) -> serde_json::Value {
    let outcome = gate(sandbox).arg("--json").outcome();
    serde_json::from_str(outcome.stdout()).unwrap_or_else(|error| panic!("{error}: {outcome:?}"))
}

#[test]
fn a_change_that_has_everything_is_approved() {
    let Some(sandbox) = python_project() else { return };
    add_feature(&sandbox);
    let outcome = gate(&sandbox).outcome();
    assert_eq!(outcome.ended, CommandEnd::Exit(0), "{outcome:?}");
    let printed = outcome.stdout();
    for line in
        ["VERDICT: APPROVE\n", "BLOCKING_ISSUES: 0\n", "  GATE_1: true\n", "  CAN_EXIT: false\n", "✅ F1 ", "✅ F2 "]
    {
        assert!(printed.contains(line), "{line}\nis not in\n{printed}");
    }
    let document = evaluate(&sandbox);
    assert_eq!(document["items"].as_array().expect("items").len(), 11);
    let (total, passing) = (document["checks_total"].as_u64(), document["checks_passing"].as_u64());
    assert!(total >= passing && document["phase"] == "approved" && document["attempt"] == 1, "{document}");
    let report = sandbox.verify_run(["gate", "show"]).prints();
    let headings = [
        "# QA VALIDATION REPORT",
        "## Verdict: ✅ APPROVED",
        "## Memory Context",
        "## Checklist Results",
        "### Functionality",
        "### Code quality",
        "### Documentation",
        "## Issues Found",
        "### Blocking Issues (0)",
        "## Recommendations",
        "## Next Action",
    ];
    let mut from = 0;
    for heading in headings {
        let at = report[from..].find(heading).unwrap_or_else(|| panic!("{heading} is not in order in\n{report}"));
        from += at;
    }
}

#[test]
fn a_failing_test_rejects_and_is_recorded_as_without_the_gate() {
    let Some(sandbox) = python_project() else { return };
    add_feature(&sandbox);
    sandbox.write("rows.py", "def add(a, b):\n    return a + b\n\n\ndef subtract(a, b):\n    return a + b\n");
    let document = evaluate(&sandbox);
    assert_eq!((&document["verdict"], &document["phase"]), (&"reject".into(), &"rejected".into()));
    let tests = item(&document, "F1");
    assert_eq!(tests["status"], "fail");
    assert_eq!(tests["findings"][0]["path"], "test_rows.py");
    assert!(tests["findings"][0]["message"].as_str().expect("a message").contains("test_ac_1_subtract"), "{tests}");
    assert_eq!(tests["details"], "1 passing; 1 failing");
    assert_eq!(item(&document, "F2")["status"], "fail");
    let runs = sandbox.verify_run(["log", "--json"]).prints_json();
    let run =
        runs["runs"].as_array().expect("runs").iter().find(|run| run["argv"][0] == "pytest").expect("the test run");
    assert!(run["failure"].is_string(), "{run}");
}

#[test]
fn tests_that_are_all_skipped_are_no_pass() {
    let Some(sandbox) = python_project() else { return };
    add_feature(&sandbox);
    let skipped =
        "import pytest\n\nfrom rows import add\n\n\n@pytest.mark.skip\ndef test_add():\n    assert add(1, 2) == 3\n";
    sandbox.write("test_rows.py", skipped);
    let document = evaluate(&sandbox);
    let tests = item(&document, "F1");
    assert_eq!(tests["status"], "fail", "{tests}");
    assert!(tests["details"].as_str().expect("details").contains("weakened in"), "{tests}");
    sandbox.git(["add", "-A"]);
    sandbox.git(["commit", "-q", "-m", "Skip the tests"]);
    let outcome = sandbox.verify_run(["gate", "run", "--no-prp", "--base", "HEAD", "--only", "F1", "--json"]).outcome();
    assert_eq!(outcome.ended, CommandEnd::Exit(5));
    let partial: serde_json::Value = serde_json::from_str(outcome.stdout()).expect("JSON");
    let tests = item(&partial, "F1");
    assert_eq!((&tests["status"], &tests["reason"]), (&"not_evaluated".into(), &"no test ran".into()), "{tests}");
}

#[test]
fn a_rule_that_is_turned_off_fails_the_clean_linter() {
    let Some(sandbox) = python_project() else { return };
    add_feature(&sandbox);
    sandbox.write(
        "rows.py",
        "import os  # noqa: F401\n\n\ndef add(a, b):\n    return a + b\n\n\ndef subtract(a, b):\n    return a - b\n",
    );
    let document = evaluate(&sandbox);
    let lint = item(&document, "C1");
    assert_eq!((&lint["status"], &lint["findings"][0]["path"]), (&"fail".into(), &"rows.py".into()), "{lint}");
}

#[test]
fn an_edit_while_it_runs_gives_no_verdict() {
    let Some(sandbox) = python_project() else { return };
    add_feature(&sandbox);
    let conftest = "import pathlib\n\npathlib.Path('generated.txt').write_text('x')\n";
    sandbox.write("conftest.py", conftest);
    let document = evaluate(&sandbox);
    let tests = item(&document, "F1");
    assert_eq!((&tests["status"], &document["verdict"]), (&"not_evaluated".into(), &"reject".into()));
    assert_eq!(tests["reason"], "the command changed 1 file: generated.txt");
    assert_eq!(document["issues"][0]["kind"], "TREE");
}

#[test]
fn without_a_repository_or_a_stack_nothing_is_approved() {
    let sandbox = Sandbox::new();
    let outcome = sandbox.verify_run(["gate", "run", "--no-prp"]).outcome();
    assert_eq!(outcome.ended, CommandEnd::Exit(2), "{outcome:?}");
    assert!(outcome.stderr().contains("not in a git repository"), "{outcome:?}");
    let sandbox = Sandbox::repository();
    sandbox.write("notes.txt", "x\n");
    let outcome = sandbox.verify_run(["gate", "run", "--no-prp", "--json"]).outcome();
    assert_eq!(outcome.ended, CommandEnd::Exit(1));
    let document: serde_json::Value = serde_json::from_str(outcome.stdout()).expect("JSON");
    assert_eq!(item(&document, "F1")["status"], "not_evaluated", "{document}");
}

#[test]
fn a_plan_names_every_command_and_runs_none() {
    let sandbox = Sandbox::repository();
    sandbox.write("pyproject.toml", "[project]\nname = \"p\"\n");
    sandbox.write("web/package.json", "{}\n");
    sandbox.tool("pytest", "#!/bin/sh\ntouch ran\n");
    let outcome = sandbox.verify_run(["gate", "plan", "--kind", "fix"]).outcome();
    assert_eq!(outcome.ended, CommandEnd::Exit(0));
    let plan = outcome.stdout();
    for line in [
        "checklist: shipped\n",
        "project: . (python, by pyproject.toml)\nproject: web (javascript, by package.json)\n",
        "F1 (python): pytest\nF1 (web, javascript): npm test\n",
        "C3 (python): built-in duplication, not blocking\n",
        "D1: method grep_readme\n  does not apply to a change of kind fix, only to feature\n",
    ] {
        assert!(plan.contains(line), "{line}\nis not in\n{plan}");
    }
    assert!(!sandbox.path("ran").exists());
}

#[test]
fn the_plain_commands_of_a_policy_show_how_they_are_read() {
    let sandbox = Sandbox::repository();
    sandbox.write("pyproject.toml", "[project]\nname = \"p\"\n");
    let mapping = "qa_tools:\n  detection:\n    python:\n      markers: [\"pyproject.toml\"]\n  stacks:\n    python:\n      \
                   test: \"pytest tests/ -v\"\n      complexity: \"radon cc . -a -nc\"\n";
    sandbox.write(".verify-run/qa-tools-mapping.yml", mapping);
    let outcome = sandbox.verify_run(["gate", "plan"]).outcome();
    assert_eq!(outcome.ended, CommandEnd::Exit(0));
    let plan = outcome.stdout();
    assert!(plan.contains("C2 (python): radon cc . -a -nc → radon cc . -j, read as radon\n"), "{plan}");
    assert!(plan.contains("tools: .verify-run/qa-tools-mapping.yml\n"), "{plan}");
    assert!(outcome.stderr().contains("qa-tools-mapping.yml: its commands are not approved\n"));
}

#[test]
fn a_policy_of_the_repository_is_shown_and_never_run_without_a_person() {
    let sandbox = Sandbox::repository();
    sandbox.write(".verify-run/qa-checklist.yml", checklist(&[("X1", "touch pwned")]));
    let trust = sandbox.verify_run(["gate", "trust"]).outcome();
    assert_eq!(trust.ended, CommandEnd::Exit(2));
    assert!(trust.stdout().contains("not approved: .verify-run/qa-checklist.yml\n"));
    assert!(trust.stdout().contains("command: touch pwned\n"));
    let run = sandbox.verify_run(["gate", "run", "--no-prp"]).env("CI", "true").outcome();
    assert_eq!(run.ended, CommandEnd::Exit(2));
    assert!(run.stderr().contains("nothing was run") && run.stderr().contains("hint: run `verify-run gate trust`"));
    let plan = sandbox.verify_run(["gate", "plan", "--json"]).env("CI", "true").prints_json();
    assert_eq!(plan["items"][0]["source"]["trusted"], false);
    assert_eq!(plan["items"][0]["source"]["origin"], ".verify-run/qa-checklist.yml:4");
    assert_eq!(plan["untrusted"][0]["file"], ".verify-run/qa-checklist.yml");
    assert!(!sandbox.path("pwned").exists());
    let digest = sandbox.verify_run(["gate", "trust", "--digest"]).prints();
    let pinned = sandbox.verify_run(["gate", "run", "--no-prp", "--trust", digest.trim()]).outcome();
    assert!(sandbox.path("pwned").exists(), "{pinned:?}");
}

#[test]
fn a_broken_policy_names_file_and_line_and_nothing_happens() {
    let sandbox = Sandbox::repository();
    sandbox.write(".verify-run/qa-checklist.yml", checklist(&[("X1", "touch pwned")]).replace("exit_code", "exit_cod"));
    let expected =
        "verify-run: .verify-run/qa-checklist.yml:6: unknown metric \"exit_cod\": did you mean \"exit_code\"?\n";
    for arguments in [["gate", "plan"], ["gate", "trust"], ["gate", "run"]] {
        sandbox.verify_run(arguments).expect(CommandEnd::Exit(2), "", expected);
    }
    sandbox.write(".verify-run/qa-checklist.yml", "a: &x 1\n");
    let outcome = sandbox.verify_run(["gate", "plan"]).outcome();
    assert_eq!(outcome.ended, CommandEnd::Exit(2));
    assert!(outcome.stderr().contains("qa-checklist.yml:1: anchors are not supported"), "{}", outcome.stderr());
}

#[test]
fn init_writes_the_shipped_policy_once() {
    let sandbox = Sandbox::repository();
    let written = "wrote .verify-run/qa-checklist.yml\nwrote .verify-run/qa-tools-mapping.yml\n";
    sandbox.verify_run(["gate", "init"]).expect(CommandEnd::Exit(0), written, "hint: run `verify-run gate plan`\n");
    sandbox.verify_run(["gate", "trust", "--show"]).expect(
        CommandEnd::Exit(0),
        "This repository has no policy files of its own. There is nothing to approve.\n",
        "",
    );
    sandbox.write(".verify-run/qa-checklist.yml", checklist(&[("X1", "touch pwned")]));
    sandbox.verify_run(["gate", "init"]).expect(CommandEnd::Exit(0), "The policy files are there already.\n", "");
    assert_eq!(sandbox.read(".verify-run/qa-checklist.yml"), checklist(&[("X1", "touch pwned")]));
}

#[test]
fn a_change_that_makes_the_policy_weaker_is_judged_by_the_base() {
    let sandbox = Sandbox::repository();
    sandbox.verify_run(["gate", "init"]).outcome();
    sandbox.commit("The policy");
    sandbox.git(["switch", "-q", "-c", "chore/weaker"]);
    let checklist = sandbox.read(".verify-run/qa-checklist.yml");
    sandbox.write(".verify-run/qa-checklist.yml", checklist.replace("max_complexity < 10", "max_complexity < 100"));
    let outcome = sandbox.verify_run(["gate", "run", "--no-prp", "--json"]).outcome();
    assert_eq!(outcome.ended, CommandEnd::Exit(1), "{outcome:?}");
    let document: serde_json::Value = serde_json::from_str(outcome.stdout()).expect("JSON");
    assert_eq!(document["issues"][0]["kind"], "POLICY");
    let message = document["issues"][0]["message"].as_str().expect("a message");
    assert!(message.contains("C2 has a weaker or another condition"), "{message}");
    sandbox.write(".verify-run/qa-checklist.yml", checklist.replace("max_complexity < 10", "max_complexity < 5"));
    let outcome = sandbox.verify_run(["gate", "run", "--no-prp", "--json"]).outcome();
    let document: serde_json::Value = serde_json::from_str(outcome.stdout()).expect("JSON");
    assert!(document["issues"].as_array().is_some_and(Vec::is_empty), "{document}");
}

#[test]
fn the_policy_of_this_repository_is_read() {
    let sandbox = Sandbox::repository();
    sandbox.write("Cargo.toml", "[package]\nname = \"a\"\nversion = \"1.0.0\"\n");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/.verify-run");
    let (checklist, mapping) = (format!("{folder}/qa-checklist.yml"), format!("{folder}/qa-tools-mapping.yml"));
    let plan =
        sandbox.verify_run(["gate", "plan", "--json", "--checklist", &checklist, "--mapping", &mapping]).prints_json();
    let items: Vec<&str> =
        plan["items"].as_array().expect("items").iter().filter_map(|item| item["item"].as_str()).collect();
    assert_eq!(items, ["F1", "F2", "C1", "C2", "C3", "D4", "D5"]);
    assert_eq!(plan["items"][0]["source"]["argv"][1], "nextest");
}
