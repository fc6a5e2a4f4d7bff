use serde_json::{Value, json};

use super::*;

/// One run in a format.
fn render(run: &ReportedRun, format: ReportFormat) -> ReportDocument {
    render_report(std::slice::from_ref(run), format)
}

/// A run of `eslint` with these items.
fn run_with(items: &[Value]) -> ReportedRun {
    let mut run = json!({
        "argv": ["eslint", "src dir"], "root": "/repo", "dir": "", "key": "k", "tool": "eslint",
        "started_at": "2026-03-04T05:06:07.250000Z", "ended_at": "2026-03-04T05:06:08.500000Z",
        "duration_us": 1_250_000, "ended": { "exit": 1 }, "task": "t",
    });
    if !items.is_empty() {
        run["failure"] = json!({
            "id": "f-1", "category": "lint_error", "files": [], "items": items, "lines": [], "lesson": "known",
        });
    }
    ReportedRun { id: "r".to_owned(), record: serde_json::from_value(run).expect("a run") }
}

fn item(fields: Value) -> Value {
    let mut item = json!({
        "tool": "eslint", "severity": "error", "message": "wrong", "exact": "e", "pattern": "p", "family": "f",
        "masked": "m", "masked_family": "m",
    });
    for (name, value) in fields.as_object().expect("fields") {
        item[name] = value.clone();
    }
    item
}

/// What every format has trouble with.
fn awkward() -> ReportedRun {
    run_with(&[
        item(
            json!({ "file": "src/a b%c.js", "line": 3, "col": 7, "code": "no-undef", "message": "50% < \"x\" & y\nmore" }),
        ),
        item(json!({ "tool": "jest", "test": "adds: 1, 2", "message": "bad\u{1b}[31m\u{fffe}\u{0}", "count": 2 })),
        item(json!({ "severity": "warning", "file": "/usr/include/é.h", "message": "" })),
    ])
}

#[test]
fn workflow_commands_are_escaped_as_the_toolkit_does_it() {
    let expected = "::error file=src/a b%25c.js,line=3,col=7,title=eslint%3A no-undef::50%25 < \"x\" & y%0Amore\n\
                    ::error title=jest%3A lint_error::adds: 1, 2: bad[31m\u{fffe} (2 times in this file)\n\
                    ::warning file=/usr/include/é.h,title=eslint%3A lint_error::eslint failed\n";
    assert_eq!(render(&awkward(), ReportFormat::Github).text, expected);
}

#[test]
fn a_step_gets_ten_annotations_of_a_kind_and_the_rest_is_counted() {
    let items: Vec<Value> = (1..=13).map(|line| item(json!({ "file": "a.js", "line": line }))).collect();
    let text = render(&run_with(&items), ReportFormat::Github).text;
    assert_eq!(text.lines().filter(|line| line.starts_with("::error ")).count(), 10);
    assert_eq!(text.lines().last(), Some("verify-run: 3 errors more: a step shows 10 of each kind"));
}

#[test]
fn sarif_places_are_percent_encoded_and_relative_to_the_root() {
    let text = render(&awkward(), ReportFormat::Sarif).text;
    let sarif: Value = serde_json::from_str(&text).expect("JSON");
    let runs = sarif["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 2, "one a tool");
    assert_eq!(runs[1]["tool"]["driver"]["name"], "jest");
    let place = &runs[0]["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"], json!({ "uri": "src/a%20b%25c.js", "uriBaseId": "%SRCROOT%" }));
    assert_eq!(place["region"], json!({ "startLine": 3, "startColumn": 7 }));
    let outside = &runs[0]["results"][1]["locations"][0]["physicalLocation"];
    assert_eq!(outside["artifactLocation"], json!({ "uri": "file:///usr/include/%C3%A9.h" }));
    assert_eq!(runs[0]["tool"]["driver"]["rules"], json!([{ "id": "no-undef" }, { "id": "lint_error" }]));
    assert_eq!(runs[0]["results"][1]["ruleIndex"], 1);
    assert_eq!(runs[1]["results"][0].get("locations"), None);
    assert_eq!(runs[0]["invocations"][0]["commandLine"], "eslint 'src dir'");
    assert_eq!(runs[0]["invocations"][0]["exitCode"], 1);
}

#[test]
fn junit_has_a_suite_a_tool_and_what_the_schema_of_ant_asks_for() {
    let text = render(&awkward(), ReportFormat::Junit).text;
    let suite = "<testsuite name=\"eslint\" id=\"0\" package=\"eslint\" hostname=\"localhost\" \
                 timestamp=\"2026-03-04T05:06:07\" tests=\"2\" failures=\"2\" errors=\"0\" time=\"1.250000\">";
    assert!(text.contains(suite), "{text}");
    let case = "    <testcase name=\"no-undef at src/a b%c.js:3:7\" classname=\"src/a b%c.js\" time=\"0\">\n      \
                <failure type=\"no-undef\" message=\"50% &lt; &quot;x&quot; &amp; y\">src/a b%c.js:3:7: 50% &lt; \
                &quot;x&quot; &amp; y\nmore</failure>\n    </testcase>\n";
    assert!(text.contains(case), "{text}");
    assert!(text.contains("<testcase name=\"adds: 1, 2\" classname=\"jest\""), "{text}");
    assert!(!text.contains(['\u{1b}', '\u{0}', '\u{fffe}']), "{text}");
}

#[test]
fn gitlab_gives_every_issue_a_place_and_its_own_fingerprint() {
    let items = [item(json!({ "file": "a.js" })), item(json!({ "file": "b.js" })), item(json!({ "tool": "tsc" }))];
    let issues: Value = serde_json::from_str(&render(&run_with(&items), ReportFormat::Gitlab).text).expect("JSON");
    let issues = issues.as_array().expect("an array");
    let mut prints: Vec<&str> = issues.iter().filter_map(|issue| issue["fingerprint"].as_str()).collect();
    prints.sort_unstable();
    prints.dedup();
    assert_eq!(prints.len(), 3);
    assert_eq!(issues[2]["location"], json!({ "path": ".", "lines": { "begin": 1 } }));
    assert_eq!((&issues[0]["severity"], &issues[0]["check_name"]), (&"major".into(), &"eslint/lint_error".into()));
}

#[test]
fn checkstyle_has_the_errors_below_their_files() {
    let expected = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<checkstyle version=\"10.0\">\n  <file name=\".\">\n    \
                    <error line=\"0\" severity=\"error\" message=\"adds: 1, 2: bad[31m (2 times in this file)\" \
                    source=\"jest.lint_error\"/>\n  </file>\n  <file name=\"/usr/include/é.h\">\n    <error line=\"0\" \
                    severity=\"warning\" message=\"eslint failed\" source=\"eslint.lint_error\"/>\n  </file>\n  <file \
                    name=\"src/a b%c.js\">\n    <error line=\"3\" column=\"7\" severity=\"error\" message=\"50% &lt; \
                    &quot;x&quot; &amp; y&#10;more\" source=\"eslint.no-undef\"/>\n  </file>\n</checkstyle>\n";
    assert_eq!(render(&awkward(), ReportFormat::Checkstyle).text, expected);
}

#[test]
fn a_run_that_passed_is_a_document_without_findings() {
    let mut passed = run_with(&[]);
    passed.record.ended = crate::run::CommandEnd::Exit(0);
    assert_eq!(render(&passed, ReportFormat::Github).text, "");
    assert_eq!(render(&passed, ReportFormat::Gitlab).text, "[]\n");
    let sarif: Value = serde_json::from_str(&render(&passed, ReportFormat::Sarif).text).expect("JSON");
    assert_eq!(sarif["runs"][0]["results"], json!([]));
    assert_eq!(sarif["runs"][0]["invocations"][0]["executionSuccessful"], true);
    let junit = render(&passed, ReportFormat::Junit).text;
    assert!(junit.contains("tests=\"1\" failures=\"0\"") && !junit.contains("<failure"), "{junit}");
}

#[test]
fn what_a_record_does_not_hold_is_said() {
    let mut cut = awkward();
    cut.record.failure.as_mut().expect("a failure").items_cut = 97;
    let rendered = render(&cut, ReportFormat::Sarif);
    assert_eq!(rendered.notes, ["97 problems beyond the record's limit are missing here"]);
    let sarif: Value = serde_json::from_str(&rendered.text).expect("JSON");
    let note = &sarif["runs"][0]["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"];
    assert_eq!(note, "97 problems beyond the record's limit are missing here");
}

#[test]
fn a_failure_that_nobody_can_explain_is_one_all_the_same() {
    let mut killed = run_with(&[]);
    killed.record.ended = crate::run::CommandEnd::Signal(9);
    let junit = render(&killed, ReportFormat::Junit).text;
    assert!(junit.contains("tests=\"1\" failures=\"1\"") && junit.contains("message=\"ended by signal 9\""), "{junit}");
    assert_eq!(
        render(&killed, ReportFormat::Github).text,
        "::error title=eslint::eslint 'src dir': ended by signal 9\n"
    );
}

#[test]
fn runs_share_a_document_and_what_a_step_may_say() {
    let items: Vec<Value> =
        (1..=7).map(|line| item(json!({ "file": "a.js", "line": line, "exact": line.to_string() }))).collect();
    let twice = [run_with(&items), run_with(&items)];
    let text = render_report(&twice, ReportFormat::Github).text;
    assert_eq!(text.lines().filter(|line| line.starts_with("::error ")).count(), 10);
    assert_eq!(text.lines().last(), Some("verify-run: 4 errors more: a step shows 10 of each kind"));
    let issues: Value = serde_json::from_str(&render_report(&twice, ReportFormat::Gitlab).text).expect("JSON");
    assert_eq!(issues.as_array().map(Vec::len), Some(7), "a finding of both is one");
    let sarif: Value = serde_json::from_str(&render_report(&twice, ReportFormat::Sarif).text).expect("JSON");
    assert_eq!(sarif["runs"].as_array().map(Vec::len), Some(2));
    let junit = render_report(&twice, ReportFormat::Junit).text;
    assert!(junit.contains("id=\"0\"") && junit.contains("id=\"1\"") && junit.matches("<testsuites>").count() == 1);
    let checkstyle = render_report(&twice, ReportFormat::Checkstyle).text;
    assert_eq!(checkstyle.matches("<file ").count(), 1);
}
