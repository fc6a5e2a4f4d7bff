//! Decision records, API documents and criteria, on real projects.

use std::os::unix::fs::symlink;

use super::items::{branch_of, some_items};
use super::{add_feature, evaluate, item, python_project};
use crate::sandbox::{Sandbox, need};

/// A record in the form of MADR, with this text under its decision.
fn decision_record(status: &str, decision: &str) -> String {
    format!(
        "---\nstatus: {status}\n---\n\n# Use SQLite\n\n## Context and Problem Statement\n\nRows have to be kept.\n\n\
         ## Decision Outcome\n\n{decision}\n"
    )
}

/// The state of D2 with its reason or its first finding, after a whole evaluation.
fn judge_decisions(sandbox: &Sandbox) -> (String, String) {
    let document = evaluate(sandbox);
    let judged = item(&document, "D2");
    let said = judged["reason"].as_str().or(judged["findings"][0]["message"].as_str()).or(judged["details"].as_str());
    (judged["status"].as_str().expect("a status").to_owned(), said.unwrap_or_default().to_owned())
}

#[test]
fn a_decision_needs_a_record_that_says_it() {
    let Some(sandbox) = python_project() else { return };
    add_feature(&sandbox);
    let prp = sandbox.read("prp.md");
    sandbox.write("prp.md", format!("{prp}\n## Architecture decision\n\nRows are kept in SQLite.\n"));
    let (status, said) = judge_decisions(&sandbox);
    assert_eq!(status, "fail");
    assert!(said.contains("no decision record is added, changed or named by this change"), "{said}");
    sandbox.write("docs/adr/0001-use-sqlite.md", decision_record("accepted", ""));
    let (status, said) = judge_decisions(&sandbox);
    assert_eq!((status.as_str(), said.as_str()), ("fail", "the decision record lacks a decision section with text"));
    sandbox.write("docs/adr/0001-use-sqlite.md", decision_record("accepted", "SQLite, because it is one file."));
    let (status, said) = judge_decisions(&sandbox);
    assert_eq!((status.as_str(), said.as_str()), ("pass", "added docs/adr/0001-use-sqlite.md"));
}

#[test]
fn a_record_of_the_base_counts_where_the_change_names_it_and_it_is_in_force() {
    let Some(sandbox) = python_project() else { return };
    sandbox.git(["switch", "-q", "main"]);
    sandbox.write("docs/adr/0001-use-sqlite.md", decision_record("accepted", "SQLite, because it is one file."));
    sandbox.write("docs/adr/0002-use-files.md", decision_record("superseded by ADR-0001", "Files."));
    sandbox.commit("Decide");
    sandbox.git(["switch", "-q", "feat/subtract-rows"]);
    sandbox.git(["merge", "-q", "main"]);
    add_feature(&sandbox);
    let prp = sandbox.read("prp.md");
    for (named, wanted) in [("ADR-0001", "pass"), ("ADR-0002", "fail")] {
        sandbox.write("prp.md", format!("{prp}\n## Decision\n\nAs {named} says.\n"));
        let (status, said) = judge_decisions(&sandbox);
        assert_eq!(status, wanted, "{named}: {said}");
        let is_about = if wanted == "pass" { "the PRP names docs/adr/0001-use-sqlite.md" } else { "it is superseded" };
        assert!(said.contains(is_about), "{named}: {said}");
    }
}

#[test]
fn a_change_that_decides_nothing_needs_no_record_and_the_reason_says_what_was_looked_for() {
    let Some(sandbox) = python_project() else { return };
    add_feature(&sandbox);
    let (status, said) = judge_decisions(&sandbox);
    assert_eq!(status, "not_applicable");
    for looked_for in ["a heading about a decision", "dependency manifests", "migrations", "public API files"] {
        assert!(said.contains(looked_for), "{said}");
    }
    sandbox.git(["branch", "-q", "-m", "fix/subtract-rows"]);
    let (status, said) = judge_decisions(&sandbox);
    assert_eq!(status, "not_applicable");
    assert_eq!(said, "the change is a fix (by the branch fix/subtract-rows); this is for feature, refactor");
    sandbox.git(["branch", "-q", "-m", "feat/subtract-rows"]);
    sandbox.write("pyproject.toml", "[project]\nname = \"rows\"\nversion = \"1\"\ndependencies = [\"requests\"]\n");
    let (status, said) = judge_decisions(&sandbox);
    assert!(status == "fail" && said.contains("no decision record"), "{status}: {said}");
}

/// A document of one operation that answers with this schema.
fn api_document(schema: &str) -> String {
    format!(
        "openapi: 3.0.3\ninfo:\n  title: Rows\n  version: \"1\"\npaths:\n  /rows:\n    get:\n      operationId: listRows\n      \
         responses:\n        \"200\":\n          description: The rows\n          content:\n            application/json:\n              \
         schema:\n                {schema}\ncomponents:\n  schemas:\n    Row:\n      type: object\n"
    )
}

#[test]
fn a_reference_to_nothing_is_named_and_without_a_document_only_routes_matter() {
    let row = "$ref: '#/components/schemas/Row'";
    let sandbox = branch_of(&[("package.json", "{}\n"), ("openapi.yaml", &api_document(row))]);
    sandbox.write("openapi.yaml", api_document("$ref: '#/components/schemas/Line'"));
    let judged = some_items(&sandbox, "D3");
    let documents = item(&judged, "D3");
    let message = documents["findings"][0]["message"].as_str().unwrap_or_else(|| panic!("{judged}"));
    assert!(documents["status"] == "fail" && message.contains("#/components/schemas/Line"), "{judged}");
    assert_eq!((&documents["findings"][0]["path"], &documents["blocking"]), (&"openapi.yaml".into(), &false.into()));
    let bare = branch_of(&[("package.json", "{}\n"), ("a.js", "export const a = 1;\n")]);
    bare.write("a.js", "export const a = 2;\n");
    assert_eq!(item(&some_items(&bare, "D3"), "D3")["status"], "not_applicable");
    bare.write(
        "a.js",
        "import express from \"express\";\nconst app = express();\napp.get(\"/rows\", (q, r) => r.send([]));\n",
    );
    let judged = some_items(&bare, "D3");
    assert_eq!(item(&judged, "D3")["status"], "fail", "{judged}");
}

#[test]
fn openapi_spec_validator_judges_a_document_whose_structure_is_in_order() {
    let Some(validator) = need("openapi-spec-validator") else { return };
    let row = "$ref: '#/components/schemas/Row'";
    let mut sandbox = branch_of(&[("package.json", "{}\n"), ("openapi.yaml", &api_document(row))]);
    let folder = sandbox.tmp().join("programs");
    std::fs::create_dir(&folder).expect("a folder");
    symlink(validator, folder.join("openapi-spec-validator")).expect("a link");
    sandbox.add_path(folder);
    sandbox.write("a.js", "export const a = 1;\n");
    let said = |judged: &serde_json::Value| item(judged, "D3")["details"].as_str().unwrap_or_default().to_owned();
    let judged = some_items(&sandbox, "D3");
    assert_eq!(item(&judged, "D3")["status"], "pass", "{judged}");
    assert!(said(&judged).contains("openapi-spec-validator: valid"), "{judged}");
    sandbox.write("openapi.yaml", api_document("type: rows"));
    let judged = some_items(&sandbox, "D3");
    assert_eq!(item(&judged, "D3")["status"], "fail", "{judged}");
    assert!(said(&judged).contains("openapi-spec-validator: not valid"), "{judged}");
}

#[test]
fn an_open_criterion_is_named_with_the_test_that_may_prove_it() {
    let Some(sandbox) = python_project() else { return };
    add_feature(&sandbox);
    let prp = "# PRP: Subtract rows\n\n### Success Criteria\n\n- [x] AC-1 subtract works\n- [x] AC-2 add works\n\
               - [x] AC-3 adding zero rows changes nothing\n";
    sandbox.write("prp.md", prp);
    let tests = "from rows import add, subtract\n\n\ndef test_ac_1_subtract():\n    assert subtract(1, 2) == -1\n\n\n\
                 # covers: AC-2\ndef test_add():\n    assert add(1, 2) == 3\n\n\n\
                 def test_adding_zero_rows_changes_nothing():\n    assert add(1, 0) == 1\n";
    sandbox.write("test_rows.py", tests);
    let document = evaluate(&sandbox);
    let judged = item(&document, "F2");
    assert_eq!(judged["status"], "fail", "{judged}");
    assert!(judged["details"].as_str().is_some_and(|it| it.starts_with("67% (2 of 3 criteria)")), "{judged}");
    let finding = &judged["findings"][0];
    assert_eq!(finding["message"], "AC-3 is not covered: no test names AC-3");
    let fix = finding["fix"].as_str().expect("a suggestion");
    assert!(fix.starts_with("maybe test_rows.py:13 (test_adding_zero_rows_changes_nothing)"), "{fix}");
}
