//! An evaluation in the formats of CI systems, checked against their schemas; and an evaluation that stops early.

use std::fs;
use std::path::Path;

use serde_json::Value;
use verify_run::run::CommandEnd;

use super::{add_feature, checklist, evaluate, gate, item, python_project};
use crate::report::{JSON, XML, validate};
use crate::sandbox::{Sandbox, tools};

/// A rejected change with a failing test, lint findings, a missing tool, a waived item, and characters that are escaped.
fn rejected_project() -> Option<Sandbox> {
    let sandbox = python_project()?;
    add_feature(&sandbox);
    sandbox.write(
        "rows.py",
        "import os\n\n\ndef add(a, b):\n    return a + b\n\n\ndef subtract(a, b):\n    return a + b\n",
    );
    let test = "import pytest\n\nfrom rows import subtract\n\n\n@pytest.mark.parametrize(\"text\", [\"`|<script>|`\"])\n\
                def test_ac_1_subtract(text):\n    assert subtract(1, 2) == -1, \"100% <wrong> & \\\"odd\\\"\"\n";
    sandbox.write("test_rows.py", test);
    sandbox.write("README.md", "# Rows\n");
    let settings = sandbox.home().join(".config/verify-run");
    fs::create_dir_all(&settings).expect("a folder");
    fs::write(settings.join("verify-run.toml"), "[gate]\npeople = [\"Ada\"]\n").expect("settings");
    let waive = ["gate", "waive", "D1", "--by", "Ada", "--reason", "no <README> yet", "--until", "2099-12-31"];
    sandbox.verify_run(waive).prints();
    Some(sandbox)
}

/// A change that is approved.
fn approved_project() -> Option<Sandbox> {
    let sandbox = python_project()?;
    add_feature(&sandbox);
    Some(sandbox)
}

fn render(sandbox: &Sandbox, format: &str) -> String {
    let outcome = gate(sandbox).args(["--format", format]).outcome();
    assert!(matches!(outcome.ended, CommandEnd::Exit(0 | 1)), "{outcome:?}");
    outcome.stdout().to_owned()
}

#[test]
fn sarif_is_valid_and_names_items_places_and_waivers() {
    let (Some(rejected), Some(approved)) = (rejected_project(), approved_project()) else { return };
    let (bad, good) = (render(&rejected, "sarif"), render(&approved, "sarif"));
    let schema = "../node/node_modules/@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json";
    validate(JSON, &tools().join(schema), &[bad.clone(), good.clone()]);
    let document: Value = serde_json::from_str(&bad).expect("JSON");
    let run = &document["runs"][0];
    assert_eq!(run["properties"]["verdict"], "REJECT");
    let rules: Vec<&str> = run["tool"]["driver"]["rules"]
        .as_array()
        .expect("rules")
        .iter()
        .filter_map(|rule| rule["id"].as_str())
        .collect();
    assert_eq!(rules.len(), 11, "{rules:?}");
    let results = run["results"].as_array().expect("results");
    let of =
        |rule: &str| results.iter().find(|result| result["ruleId"] == rule).unwrap_or_else(|| panic!("{rule}: {bad}"));
    let place = |result: &Value| result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].clone();
    assert_eq!((&of("F1")["level"], place(of("F1"))), (&"error".into(), "test_rows.py".into()));
    assert_eq!((&of("C1")["level"], place(of("C1"))), (&"error".into(), "rows.py".into()));
    assert_eq!(of("D1")["suppressions"][0]["kind"], "external");
    assert!(of("D1")["suppressions"][0]["justification"].as_str().expect("a text").contains("no <README> yet"));
    let document: Value = serde_json::from_str(&good).expect("JSON");
    assert_eq!(document["runs"][0]["properties"]["verdict"], "APPROVE");
    let levels = document["runs"][0]["results"].as_array().expect("results");
    assert!(levels.iter().all(|result| result["level"] != "error"), "{good}");
    // The report of a recorded evaluation is the same document.
    assert_eq!(approved.verify_run(["gate", "show", "--format", "sarif"]).prints(), good);
}

#[test]
fn junit_is_valid_and_a_warning_is_no_failure() {
    let (Some(rejected), Some(approved)) = (rejected_project(), approved_project()) else { return };
    let (bad, good) = (render(&rejected, "junit"), render(&approved, "junit"));
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/jenkins-junit.xsd");
    validate(XML, &schema, &[bad.clone(), good.clone()]);
    assert_eq!(bad.matches("<testcase ").count(), 11);
    assert!(bad.contains("<failure type=\"blocking\" message=\"test_rows.py:"), "{bad}");
    assert!(bad.contains("<skipped>The README describes the feature: waived: no &lt;README&gt; yet"), "{bad}");
    assert!(!good.contains("<failure"), "{good}");
}

#[test]
fn github_gets_annotations_the_page_of_the_job_and_the_exit_code() {
    let Some(sandbox) = rejected_project() else { return };
    let page = sandbox.tmp().join("page");
    let run = || {
        let variables = [("GITHUB_ACTIONS", "true"), ("GITHUB_STEP_SUMMARY", page.to_str().expect("UTF-8"))];
        variables
            .into_iter()
            .fold(gate(&sandbox).args(["--format", "github"]), |run, (name, value)| run.env(name, value))
    };
    let outcome = run().outcome();
    assert_eq!(outcome.ended, CommandEnd::Exit(1), "{outcome:?}");
    let lines: Vec<&str> = outcome.stdout().lines().collect();
    let is_line = |line: &&str| line.starts_with("::error ") || line.starts_with("::warning ");
    assert!(lines.iter().all(is_line), "{}", outcome.stdout());
    let of_test = lines.iter().find(|line| line.contains("title=verify-run gate%3A F1")).expect("an annotation of F1");
    assert!(of_test.starts_with("::error file=test_rows.py,line=") && of_test.contains("100%25 <wrong>"), "{of_test}");
    assert!(!outcome.stdout().contains("gate%3A D1"), "what is waived is not annotated");
    let report = fs::read_to_string(&page).expect("a page");
    assert_eq!(report, sandbox.verify_run(["gate", "show"]).prints());
    // A page that is full gets the block, or nothing; the verdict stays what it is.
    fs::write(&page, "x".repeat((1 << 20) - 1_500)).expect("written");
    assert_eq!(run().outcome().ended, CommandEnd::Exit(1));
    assert!(fs::read_to_string(&page).expect("a page").ends_with("---END_PRP_PHASE_STATUS---\n```\n"));
    fs::write(&page, "x".repeat(1 << 20)).expect("written");
    assert_eq!(run().outcome().ended, CommandEnd::Exit(4), "the same error for the third time");
    assert_eq!(fs::metadata(&page).expect("a page").len(), 1 << 20);
}

#[test]
fn some_items_have_documents_without_a_verdict() {
    let Some(sandbox) = approved_project() else { return };
    let only = |format: &str| gate(&sandbox).args(["--only", "F1,C1", "--format", format]).outcome();
    let sarif = only("sarif");
    assert_eq!(sarif.ended, CommandEnd::Exit(5));
    let document: Value = serde_json::from_str(sarif.stdout()).expect("JSON");
    assert_eq!(document["runs"][0]["properties"]["verdict"], Value::Null);
    assert_eq!(only("junit").stdout().matches("<testcase ").count(), 2);
    assert_eq!((only("github").ended, only("github").stdout()), (CommandEnd::Exit(5), ""));
}

#[test]
fn fail_fast_measures_nothing_after_the_first_blocking_item_that_does_not_pass() {
    let sandbox = Sandbox::repository();
    let items = [("X1", "touch one"), ("X2", "false"), ("X3", "touch three")];
    sandbox.write(".gitignore", "one\nthree\n");
    sandbox.write(".verify-run/qa-checklist.yml", checklist(&items));
    sandbox.commit("The project");
    let digest = sandbox.verify_run(["gate", "trust", "--digest"]).prints();
    let run = |further: &[&str]| {
        let arguments = ["gate", "run", "--no-prp", "--json", "--trust", digest.trim()];
        let outcome = sandbox.verify_run(arguments).args(further).outcome();
        let document: Value =
            serde_json::from_str(outcome.stdout()).unwrap_or_else(|error| panic!("{error}: {outcome:?}"));
        (outcome.ended, document)
    };
    let (ended, document) = run(&["--fail-fast"]);
    assert_eq!(ended, CommandEnd::Exit(1), "{document}");
    let states = ["X1", "X2", "X3"].map(|id| item(&document, id)["status"].as_str().expect("a state").to_owned());
    assert_eq!(states, ["pass", "fail", "not_evaluated"]);
    assert_eq!(item(&document, "X3")["reason"], "X2 does not pass, and --fail-fast stops there");
    assert!(sandbox.path("one").exists() && !sandbox.path("three").exists());
    let (_, document) = run(&[]);
    assert_eq!(item(&document, "X3")["status"], "pass", "{document}");
    assert!(sandbox.path("three").exists());
}

#[test]
fn fail_fast_goes_past_warnings_and_what_is_waived() {
    let Some(sandbox) = approved_project() else { return };
    let document = evaluate(&sandbox);
    let outcome = gate(&sandbox).args(["--fail-fast", "--json"]).outcome();
    assert_eq!(outcome.ended, CommandEnd::Exit(0), "{outcome:?}");
    let fast: Value = serde_json::from_str(outcome.stdout()).expect("JSON");
    let states = |document: &Value| -> Vec<Value> {
        document["items"].as_array().expect("items").iter().map(|item| item["status"].clone()).collect()
    };
    assert_eq!(states(&fast), states(&document));
}
