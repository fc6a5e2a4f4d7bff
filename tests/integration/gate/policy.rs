//! The policy as the specification writes it, conditions of a checklist's own, and statements that an item does not apply.

use verify_run::run::CommandEnd;

use super::items::{branch_of, function_of_complexity};
use super::{checklist, item};
use crate::sandbox::{Sandbox, need};

/// The YAML blocks of the specification, byte by byte.
const SPECIFICATION_CHECKLIST: &str = include_str!("../../data/gate/specification-checklist.yml");
const SPECIFICATION_MAPPING: &str = include_str!("../../data/gate/specification-mapping.yml");

/// A Python project with a change, and these files as its policy.
fn project_with(checklist: Option<&str>, mapping: Option<&str>) -> Sandbox {
    let manifest = "[project]\nname = \"x\"\nversion = \"1\"\n";
    let sandbox = branch_of(&[("pyproject.toml", manifest), ("old.py", "import os\n")]);
    for (name, text) in [("qa-checklist.yml", checklist), ("qa-tools-mapping.yml", mapping)] {
        if let Some(text) = text {
            sandbox.write(format!(".verify-run/{name}"), text);
        }
    }
    sandbox.write("one.py", "def one():\n    return 1\n");
    sandbox
}

/// Runs some items with the policy pinned, and gives the reply.
fn judge_some(sandbox: &Sandbox, only: &str) -> serde_json::Value {
    let mut run = vec!["gate", "run", "--no-prp", "--json", "--only", only];
    // A checklist without commands of its own needs no approval.
    let digest = sandbox.verify_run(["gate", "trust", "--digest"]).outcome();
    if !digest.stdout().is_empty() {
        run.extend(["--trust", digest.stdout().trim()]);
    }
    let outcome = sandbox.verify_run(run).outcome();
    assert_eq!(outcome.ended, CommandEnd::Exit(5), "{outcome:?}");
    serde_json::from_str(outcome.stdout()).expect("JSON")
}

#[test]
fn what_init_writes_passes_the_checks_of_the_specification() {
    let Some(python) = need("schema-python") else { return };
    let sandbox = Sandbox::repository();
    sandbox.verify_run(["gate", "init"]).outcome();
    let checks = r#"
import sys, yaml
checklist = yaml.safe_load(open(".verify-run/qa-checklist.yml"))["qa_checklist"]
mapping = yaml.safe_load(open(".verify-run/qa-tools-mapping.yml"))["qa_tools"]
categories = {key: value for key, value in checklist.items() if key != "version"}
assert list(categories) == ["funcionalidade", "qualidade_codigo", "documentacao"], list(categories)
items = [item for each in categories.values() for item in (each["items"] if isinstance(each, dict) else each)]
ids = [item["id"] for item in items]
assert ids == "F1 F2 C1 C2 C3 C4 D1 D2 D3 D4 D5".split(), ids
blocking = [item["id"] for item in items if item["blocking"] is True]
assert blocking == "F1 F2 C1 C2 D1 D2 D5".split(), blocking
assert [item["id"] for item in items if item["blocking"] is False] == "C3 C4 D3 D4".split()
assert all(("comando" in item) != ("metodo" in item) for item in items)
assert all(item["validacao"] and item["criterio"] for item in items)
markers = {
    "node_typescript": ["package.json", "tsconfig.json"],
    "python": ["pyproject.toml", "setup.py", "requirements.txt"],
    "golang": ["go.mod", "go.sum"],
    "lua": ["*.rockspec", "lua/"],
}
for stack, wanted in markers.items():
    found = mapping["detection"][stack]["markers"]
    assert set(wanted) <= set(found), (stack, found)
assert len(mapping["stacks"]) >= 6 and set(mapping["stacks"]) == set(mapping["detection"])
for stack, commands in mapping["stacks"].items():
    assert {"test", "lint", "complexity", "duplication"} <= set(commands), (stack, commands)
print("in order")
"#;
    sandbox.bare(python).args(["-c", checks]).expect(CommandEnd::Exit(0), "in order\n", "");
}

#[test]
fn the_literal_yaml_of_the_specification_loads_and_shows_how_it_is_read() {
    let sandbox = project_with(Some(SPECIFICATION_CHECKLIST), Some(SPECIFICATION_MAPPING));
    let outcome = sandbox.verify_run(["gate", "plan"]).outcome();
    assert_eq!(outcome.ended, CommandEnd::Exit(0), "{outcome:?}");
    for line in [
        "F1 (python): pytest tests/ -v",
        "C1 (python): ruff check .",
        "C2 (python): radon cc . -a -nc → radon cc . -j, read as radon",
        "C3 (python): built-in duplication, not blocking",
        "C4 (python): ",
        "D1: method grep_readme",
        "D3: method validate_openapi, not blocking",
        "D5: method grep_changelog",
    ] {
        assert!(outcome.stdout().contains(line), "{line}\nis not in\n{}", outcome.stdout());
    }
    let plan = sandbox.verify_run(["gate", "plan", "--json"]).prints_json();
    let items: Vec<&str> =
        plan["items"].as_array().expect("items").iter().filter_map(|it| it["item"].as_str()).collect();
    assert_eq!(items, ["F1", "F2", "C1", "C2", "C3", "C4", "D1", "D2", "D3", "D4", "D5"]);
    let judged = judge_some(&sandbox, "C2,C3,D2,D3");
    assert!(item(&judged, "C2")["status"] == "pass", "{judged}");
}

#[test]
fn english_keys_give_the_same_json() {
    let portuguese = project_with(Some(SPECIFICATION_CHECKLIST), None);
    let mut english = SPECIFICATION_CHECKLIST.to_owned();
    for (from, to) in [
        ("funcionalidade:", "functionality:"),
        ("qualidade_codigo:", "code_quality:"),
        ("documentacao:", "documentation:"),
        ("criterio:", "criterion:"),
        ("validacao:", "validation:"),
        ("comando:", "command:"),
        ("metodo:", "method:"),
    ] {
        assert!(english.contains(from), "{from}");
        english = english.replace(from, to);
    }
    let english = project_with(Some(&english), None);
    let plan = |sandbox: &Sandbox| sandbox.verify_run(["gate", "plan", "--json"]).prints_json();
    let mut plans = [plan(&portuguese), plan(&english)];
    // The two files differ, and so do their digests.
    plans.iter_mut().for_each(|plan| plan["untrusted"] = serde_json::Value::Null);
    assert_eq!(plans[0], plans[1]);
    let only = "C2,C3,D1,D2,D3,D4,D5";
    assert_eq!(judge_some(&portuguese, only), judge_some(&english, only));
}

#[test]
fn a_condition_of_the_checklists_own_is_obeyed() {
    let own = |condition: &str| {
        let wanted = SPECIFICATION_CHECKLIST.replace("max_complexity < 10", condition);
        assert_ne!(wanted, SPECIFICATION_CHECKLIST);
        project_with(Some(&wanted), None)
    };
    let sandbox = own("max_complexity < 15 AND NOT weakened");
    for (complexity, status) in [(14, "pass"), (15, "fail")] {
        sandbox.write("choose.py", function_of_complexity(complexity));
        let judged = judge_some(&sandbox, "C2");
        assert_eq!(item(&judged, "C2")["status"], status, "{judged}");
    }
    sandbox.write("choose.py", function_of_complexity(14));
    sandbox.write("old.py", "import os  # noqa: F401\n");
    let judged = judge_some(&sandbox, "C2");
    assert_eq!(item(&judged, "C2")["status"], "fail", "{judged}");
    assert_eq!(item(&judged, "C2")["findings"][0]["path"], "old.py", "{judged}");
    let misspelt = own("max_complexty < 15");
    let line = misspelt.read(".verify-run/qa-checklist.yml").lines().position(|line| line.contains("complexty"));
    let expected = format!(
        "verify-run: .verify-run/qa-checklist.yml:{}: unknown metric \"max_complexty\": did you mean \"max_complexity\"?\n",
        line.expect("a line") + 1
    );
    misspelt.verify_run(["gate", "run", "--no-prp"]).expect(CommandEnd::Exit(2), "", &expected);
}

#[test]
fn a_person_answers_for_an_item_that_does_not_apply() {
    let stated = |statement: &str| {
        let at = "comando: \"{detected_lint_command}\"\n";
        let wanted = SPECIFICATION_CHECKLIST.replacen(at, &format!("{at}      not_applicable: {statement}\n"), 1);
        assert_ne!(wanted, SPECIFICATION_CHECKLIST);
        project_with(Some(&wanted), None)
    };
    let sandbox = stated("{reason: \"no linter for this dialect\", by: \"Ada\"}");
    let judged = judge_some(&sandbox, "C1");
    let lint = item(&judged, "C1");
    let expected = ("not_applicable", "no linter for this dialect (says Ada)");
    assert_eq!((lint["status"].as_str(), lint["reason"].as_str()), (Some(expected.0), Some(expected.1)), "{judged}");
    sandbox.verify_run(["gate", "run", "--no-prp"]).outcome();
    let report = sandbox.verify_run(["gate", "show"]).prints();
    let row = report.lines().find(|line| line.starts_with("| C1 ")).unwrap_or_else(|| panic!("{report}"));
    assert!(row.contains("| N/A ") && row.contains("no linter for this dialect (says Ada)"), "{row}");
    let unsigned = stated("{reason: \"no linter for this dialect\"}");
    let outcome = unsigned.verify_run(["gate", "run", "--no-prp"]).outcome();
    assert_eq!(outcome.ended, CommandEnd::Exit(2), "{outcome:?}");
    let said = "not_applicable needs `by`: a person answers for it";
    assert!(outcome.stderr().contains("qa-checklist.yml:") && outcome.stderr().contains(said), "{outcome:?}");
}

#[test]
fn a_number_that_a_command_prints_is_judged() {
    let sandbox = project_with(
        Some(&checklist(&[("X1", "sh count.sh")]).replace(
            "validation: exit_code == 0",
            "validation: errors <= 3\n      metric: {name: errors, regex: \"(\\\\d+) problems\"}",
        )),
        None,
    );
    for (count, status) in [(3, "pass"), (4, "fail")] {
        sandbox.write("count.sh", format!("echo '{count} problems'\n"));
        assert_eq!(item(&judge_some(&sandbox, "X1"), "X1")["status"], status);
    }
    sandbox.write("count.sh", "echo nothing\n");
    assert_eq!(item(&judge_some(&sandbox, "X1"), "X1")["status"], "not_evaluated");
}
