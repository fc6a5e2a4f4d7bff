//! Who wrote a change, and a reviewer that the user configured.

use std::fs;

use serde_json::{Value, json};
use verify_run::run::CommandEnd;

use super::decisions::failing_project;
use super::{add_feature, item, python_project};
use crate::json_replies::assert_valid;
use crate::sandbox::{Outcome, Sandbox};

/// Sets the user's reviewer: a shell script that keeps what it is asked and prints `answer`, and more settings.
fn configure(sandbox: &Sandbox, answer: &str, more: &str) {
    let answered = sandbox.tmp().join("answer.json");
    fs::write(&answered, answer).expect("written");
    let script = sandbox.tmp().join("review.sh");
    let asked = sandbox.tmp().join("asked.json");
    fs::write(&script, format!("cat >{}\ncat {}\n", asked.display(), answered.display())).expect("written");
    configure_command(sandbox, &["sh", script.to_str().expect("UTF-8")], more);
}

fn configure_command(sandbox: &Sandbox, command: &[&str], more: &str) {
    let file = sandbox.home().join(".config/verify-run/verify-run.toml");
    fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
    fs::write(file, format!("[gate.review]\ncommand = {command:?}\n{more}")).expect("written");
}

/// Evaluates a project of one command; the outcome and the document.
fn evaluate(sandbox: &Sandbox, more: &[&str]) -> (Outcome, Value) {
    let digest = sandbox.verify_run(["gate", "trust", "--digest"]).prints();
    let arguments = ["gate", "run", "--no-prp", "--json", "--trust", digest.trim()];
    let outcome = sandbox.verify_run(arguments.iter().chain(more)).outcome();
    let document = serde_json::from_str(outcome.stdout()).unwrap_or_else(|error| panic!("{error}: {outcome:?}"));
    (outcome, document)
}

/// A project whose check passes, with a change.
fn passing_project() -> Sandbox {
    let sandbox = failing_project();
    sandbox.write("check.sh", "true\n\nexit 0\n");
    sandbox
}

fn report(sandbox: &Sandbox) -> String {
    sandbox.verify_run(["gate", "show"]).prints()
}

fn issue_kinds(document: &Value) -> Vec<&str> {
    let issues = document["issues"].as_array().expect("issues");
    issues.iter().map(|issue| issue["kind"].as_str().expect("a kind")).collect()
}

#[test]
fn a_reviewer_that_approves_does_not_approve() {
    let sandbox = failing_project();
    sandbox.write("check.sh", "exit 2\n");
    configure(&sandbox, r#"{"model":"claude-opus-4","verdict":"APPROVE"}"#, "");
    let (outcome, document) = evaluate(&sandbox, &["--implementer-model", "claude-sonnet-5"]);
    assert_eq!((outcome.ended, &document["verdict"]), (CommandEnd::Exit(1), &json!("reject")));
    assert_eq!(document["review"]["verdict"], "APPROVE");
    assert!(
        report(&sandbox)
            .contains("- Review: 0 issues, 0 about anything else dropped; its verdict (APPROVE) has no effect\n")
    );
}

#[test]
fn a_model_does_not_review_what_its_own_family_wrote() {
    let sandbox = passing_project();
    configure(&sandbox, r#"{"model":"claude-opus-4","verdict":"APPROVE"}"#, "");
    let (outcome, document) = evaluate(&sandbox, &["--implementer-model", "claude-sonnet-5"]);
    assert_eq!((outcome.ended, &document["diversity"]), (CommandEnd::Exit(0), &json!("enforced")), "{document}");
    assert!(
        report(&sandbox)
            .contains("- Model diversity: enforced: reviewed by claude-opus-4\n- Implemented by: claude-sonnet-5\n")
    );
    let same = passing_project();
    configure(&same, r#"{"model":"claude-opus-4","verdict":"APPROVE"}"#, "");
    let (outcome, document) = evaluate(&same, &["--implementer-model", "claude-opus-4-1"]);
    assert_eq!((outcome.ended, issue_kinds(&document)), (CommandEnd::Exit(1), vec!["MODEL"]), "{document}");
    let said = "claude-opus-4 reviews what claude-opus-4-1 wrote, and both are anthropic/opus: review with sonnet";
    assert_eq!(document["issues"][0]["message"], said);
    assert_eq!((&document["diversity"], &document["verdict"]), (&json!("same_family"), &json!("reject")));
    // The models of a cycle are a set: another name afterwards takes none back.
    let (_, document) = evaluate(&same, &["--implementer-model", "claude-sonnet-5"]);
    assert_eq!(document["implementers"], json!(["claude-opus-4-1", "claude-sonnet-5"]));
    assert_eq!(issue_kinds(&document), ["MODEL"]);
    let vendor = passing_project();
    configure(&vendor, r#"{"model":"claude-sonnet-5"}"#, "diversity = \"vendor\"\n");
    let (_, document) = evaluate(&vendor, &["--implementer-model", "claude-opus-4-1"]);
    assert!(
        document["issues"][0]["message"].as_str().is_some_and(|it| it.ends_with("both are anthropic: review with gpt"))
    );
}

#[test]
fn an_unknown_author_is_a_warning_and_blocks_on_request() {
    let sandbox = passing_project();
    configure(&sandbox, r#"{"model":"claude-opus-4"}"#, "");
    let (outcome, document) = evaluate(&sandbox, &[]);
    let found = (&document["diversity"], &document["warning_issues"]);
    assert_eq!((outcome.ended, found), (CommandEnd::Exit(0), (&json!("unknown_implementer"), &json!(1))));
    let report = report(&sandbox);
    assert!(report.contains("1. **[MODEL]** it is not known which model wrote the change\n"), "{report}");
    assert!(report.contains("- Model diversity: ⚠️ unknown implementer: reviewed by claude-opus-4\n"), "{report}");
    let strict = passing_project();
    configure(&strict, r#"{"model":"claude-opus-4"}"#, "unknown = \"block\"\n");
    let (outcome, document) = evaluate(&strict, &[]);
    assert_eq!((outcome.ended, issue_kinds(&document)), (CommandEnd::Exit(1), vec!["MODEL"]));
    // Without a review no model takes part.
    let plain = passing_project();
    let (outcome, document) = evaluate(&plain, &[]);
    assert_eq!(
        (outcome.ended, &document["diversity"], &document["review"]),
        (CommandEnd::Exit(0), &json!("not_needed"), &Value::Null)
    );
}

#[test]
fn models_come_from_runs_variables_and_hosts() {
    let sandbox = passing_project();
    configure(&sandbox, r#"{"model":"gemini-3-pro"}"#, "");
    let claude = |arguments: &[&str]| {
        let invocation = sandbox.verify_run(arguments).env("CLAUDECODE", "1").env("CLAUDE_CODE_SESSION_ID", "s-1");
        invocation.env("VERIFY_RUN_TASK", "the-task")
    };
    // The host names the model at the start of a session; its commands do not learn it.
    let said = json!({"session_id": "s-1", "cwd": sandbox.work(), "hook_event_name": "SessionStart", "source": "startup",
        "model": "claude-haiku-4-5"});
    sandbox.verify_run(["hook", "claude", "session-start"]).stdin(said.to_string()).prints();
    claude(&["--sync", "--record", "sh", "-c", "exit 3"]).outcome();
    claude(&["--sync", "--record", "sh", "-c", "exit 4"]).env("VERIFY_RUN_MODEL", "gpt-5").outcome();
    claude(&["--sync", "--record", "sh", "-c", "exit 5"])
        .env("VERIFY_RUN_TASK", "other")
        .env("VERIFY_RUN_MODEL", "kimi")
        .outcome();
    let models: Vec<Value> =
        sandbox.events().into_iter().filter(|event| event["kind"] == "run").map(|run| run["model"].clone()).collect();
    assert_eq!(models, [json!("claude-haiku-4-5"), json!("gpt-5"), json!("kimi")]);
    let digest = sandbox.verify_run(["gate", "trust", "--digest"]).prints();
    let arguments = ["gate", "run", "--no-prp", "--json", "--trust", digest.trim()];
    let copilot = sandbox.verify_run(arguments).env("COPILOT_MODEL", "o4-mini").env("VERIFY_RUN_TASK", "the-task");
    let document: Value = serde_json::from_str(copilot.outcome().stdout()).expect("JSON");
    assert_eq!(document["implementers"], json!(["claude-haiku-4-5", "gpt-5", "o4-mini"]), "{document}");
    assert_eq!(document["diversity"], "enforced");
}

#[test]
fn remarks_about_anything_but_the_change_are_dropped_and_counted() {
    let sandbox = passing_project();
    let answer = json!({"schema": 1, "model": "claude-opus-4", "verdict": "REJECT", "issues": [
        {"severity": "high", "file": "check.sh", "line": 3, "text": "it \u{1b}[31malways passes", "fix": "run the tests"},
        {"severity": "low", "text": "a name"},
        {"severity": "high", "file": "check.sh", "line": 77, "text": "not there"},
        {"severity": "high", "file": "other.sh", "text": "not changed"}]});
    configure(&sandbox, &answer.to_string(), "");
    let (outcome, document) = evaluate(&sandbox, &["--implementer-model", "gpt-5"]);
    assert_eq!((outcome.ended, &document["verdict"]), (CommandEnd::Exit(0), &json!("approve")), "{document}");
    let review = &document["review"];
    assert_eq!((review["issues"].as_array().map(Vec::len), &review["dropped"]), (Some(2), &json!(2)));
    assert_eq!((&document["warning_issues"], &review["issues"][0]["message"]), (&json!(2), &json!("it always passes")));
    let report = report(&sandbox);
    let said = "1. **[REVIEW]** it always passes\n   - **File:** `check.sh:3`\n   - **Note:** run the tests\n2. **[REVIEW]** a name\n";
    assert!(report.contains("### Warnings (2)\n") && report.contains(said), "{report}");
    let status = sandbox.verify_run(["gate", "status"]).outcome();
    assert!(status.stdout().contains("⚠️  REVIEW: check.sh:3: it always passes\n"), "{status:?}");
    // What was asked is what the page about the protocol says.
    let asked: Value =
        serde_json::from_str(&fs::read_to_string(sandbox.tmp().join("asked.json")).expect("asked")).expect("JSON");
    assert_valid("gate-review-request.json", &asked, "the reviewer's input");
    assert_valid("gate-review-answer.json", &answer, "the reviewer's answer");
    assert!(asked["diff"]["text"].as_str().is_some_and(|diff| diff.contains("+exit 0")), "{asked}");
    assert_eq!((&asked["implementers"], &asked["items"][0]["status"]), (&json!(["gpt-5"]), &json!("pass")));
}

#[test]
fn the_answer_of_the_documentation_is_a_review() {
    let page = include_str!("../../../docs/concepts/gate.md");
    let answer = page.split_once("```json\n").and_then(|(_, rest)| rest.split_once("```")).expect("an answer").0;
    let read: Value = serde_json::from_str(answer).expect("JSON");
    assert_valid("gate-review-answer.json", &read, "docs/concepts/gate.md");
    let sandbox = passing_project();
    sandbox.write("src/rows.py", "x = 1\n".repeat(50));
    configure(&sandbox, answer, "");
    let (_, document) = evaluate(&sandbox, &["--implementer-model", "claude-opus-4-1"]);
    let review = &document["review"];
    assert_eq!((&review["model"], &review["verdict"]), (&read["model"], &read["verdict"]), "{review}");
    assert_eq!((&review["issues"][0]["message"], &review["dropped"]), (&read["issues"][0]["text"], &json!(0)));
}

#[test]
fn a_high_remark_blocks_where_the_user_wants_it() {
    let sandbox = passing_project();
    let answer = r#"{"model": "claude-opus-4", "issues": [{"severity": "high", "file": "check.sh", "text": "it always passes"}]}"#;
    configure(&sandbox, answer, "may_block = true\n");
    let (outcome, document) = evaluate(&sandbox, &["--implementer-model", "gpt-5"]);
    assert_eq!((outcome.ended, &document["blocking_issues"]), (CommandEnd::Exit(1), &json!(1)), "{document}");
    assert_eq!(document["recommendation"], "Fix 1 blocking issue: REVIEW it always passes");
    assert!(report(&sandbox).contains("### Blocking Issues (1)\n\n1. **[REVIEW]** it always passes\n"));
    let (_, again) = evaluate(&sandbox, &[]);
    assert_eq!(again["same_error_count"], 2, "whatever the words of the remark are");
}

#[test]
fn a_review_that_fails_did_not_take_place() {
    let failed = |command: &[&str], more: &str, why: &str| {
        let sandbox = passing_project();
        configure_command(&sandbox, command, more);
        let (outcome, document) = evaluate(&sandbox, &["--implementer-model", "claude-opus-4-1"]);
        assert_eq!((outcome.ended, &document["diversity"]), (CommandEnd::Exit(0), &json!("not_needed")), "{document}");
        let said = document["review"]["warning"].as_str().unwrap_or_else(|| panic!("no warning in {document}"));
        assert!(said.starts_with("the review did not take place: ") && said.contains(why), "{said}");
        assert_eq!(document["warning_issues"], 1);
        assert!(report(&sandbox).contains("1. **[REVIEW]** the review did not take place: "), "{}", report(&sandbox));
    };
    failed(&["sh", "-c", "cat >/dev/null; echo no key >&2; exit 3"], "", "it ended with exit status: 3: no key");
    failed(&["sh", "-c", "echo APPROVE"], "", "its answer is no JSON of this kind");
    failed(&["sh", "-c", "echo '{}'"], "", "its answer names no model");
    failed(&["sh", "-c", "head -c 100000 /dev/zero | tr '\\0' x"], "", "longer than 64 KiB");
    failed(&["sh", "-c", "kill -9 $$"], "", "it ended with signal: 9");
    failed(&["no-such-reviewer"], "", "no-such-reviewer cannot be started");
    failed(&["./review.sh"], "", "relative to the repository");
    failed(&["sh", "-c", "sleep 600"], "[gate]\nreview_seconds = 1\n", "it took longer than 1 s");
    let other = "model = \"claude-sonnet-5\"\n";
    failed(
        &["sh", "-c", "echo '{\"model\": \"gpt-5\"}'"],
        other,
        "it was done by gpt-5, and claude-sonnet-5 is configured",
    );
}

#[test]
fn a_reviewer_that_writes_and_runs_things_changes_no_verdict_for_the_better() {
    let sandbox = passing_project();
    let root = sandbox.work();
    let script = format!(
        "cat >/dev/null; {} --sync --record sh -c 'exit 3' >/dev/null 2>&1; echo x >{}/left; echo '{{\"model\": \"opus\"}}'",
        crate::sandbox::VERIFY_RUN,
        root.display()
    );
    configure_command(&sandbox, &["sh", "-c", &script], "");
    let digest = sandbox.verify_run(["gate", "trust", "--digest"]).prints();
    let arguments = ["gate", "run", "--no-prp", "--json", "--trust", digest.trim()];
    let outcome = sandbox.verify_run(arguments).env("VERIFY_RUN_MODEL", "gpt-5").outcome();
    let document: Value = serde_json::from_str(outcome.stdout()).expect("JSON");
    assert_eq!((outcome.ended, issue_kinds(&document)), (CommandEnd::Exit(1), vec!["TREE"]), "{document}");
    assert_eq!(document["issues"][0]["message"], "the reviewer changed 1 file: left");
    assert_eq!(document["implementers"], json!(["gpt-5"]), "what the reviewer runs is no work on the change");
    let run = sandbox.events().into_iter().rfind(|event| event["kind"] == "run" && event["argv"][0] == "sh");
    assert_eq!(run.expect("its run")["agent"], "gate");
}

#[test]
fn only_the_user_names_a_reviewer() {
    let sandbox = passing_project();
    sandbox.write("verify-run.toml", "[gate.review]\ncommand = [\"sh\", \"-c\", \"touch ran\"]\nmay_block = true\n");
    let (outcome, document) = evaluate(&sandbox, &[]);
    assert!(outcome.stderr().contains("gate.review.command"), "{outcome:?}");
    assert!(document["review"].is_null() && !sandbox.path("ran").exists());
}

#[test]
fn a_proposed_test_is_run_and_covers_a_criterion_only_once_it_names_it() {
    let Some(sandbox) = python_project() else { return };
    add_feature(&sandbox);
    sandbox.write("test_rows.py", sandbox.read("test_rows.py").replace("test_ac_1_subtract", "test_subtract"));
    let answer = json!({"model": "gpt-5", "verdict": "APPROVE", "criteria": [
        {"id": "AC-1", "test": "test_rows.py::test_subtract"}, {"id": "AC-1", "test": "test_rows.py::test_none; touch pwned"}]});
    configure(&sandbox, &answer.to_string(), "");
    let gate = || sandbox.verify_run(["gate", "run", "--prp", "prp.md", "--base", "main", "--json"]).outcome();
    let outcome = gate();
    let document: Value = serde_json::from_str(outcome.stdout()).expect("JSON");
    assert_eq!((outcome.ended, &document["verdict"]), (CommandEnd::Exit(1), &json!("reject")), "{document}");
    let links = &document["review"]["links"];
    assert_eq!((&links[0]["passed"], &links[1]["passed"]), (&json!(true), &json!(false)), "{links}");
    assert!(!sandbox.path("pwned").exists());
    let criteria = item(&document, "F2");
    assert_eq!(criteria["status"], "fail");
    let fix = "gpt-5 proposes test_rows.py::test_subtract, which passes: name AC-1 in it";
    assert_eq!(criteria["findings"][0]["fix"], fix);
    let tests = sandbox.read("test_rows.py").replace("def test_subtract", "# covers: AC-1\ndef test_subtract");
    sandbox.write("test_rows.py", tests);
    let outcome = gate();
    let document: Value = serde_json::from_str(outcome.stdout()).expect("JSON");
    assert_eq!(item(&document, "F2")["status"], "pass", "{document}");
}
