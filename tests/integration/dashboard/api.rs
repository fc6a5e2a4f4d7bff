//! The documents for programs: their shapes, their paging, and what they answer to bad input.

use std::sync::LazyLock;

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::Dashboard;
use crate::sandbox::Sandbox;
use crate::story::discount_story;

/// The description of the API.
pub(super) static DESCRIPTION: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../../src/surface/http/openapi.json")).expect("the description is JSON")
});

/// Panics when a document is not what the description says of its address.
#[track_caller]
pub(super) fn assert_described(address: &str, document: &Value) {
    let operation = DESCRIPTION["paths"][address].as_object().and_then(|methods| methods.values().next());
    let shape = operation.and_then(|it| it.pointer("/responses/200/content/application~1json/schema/$ref"));
    let name = shape.and_then(Value::as_str).and_then(|it| it.rsplit('/').next()).expect("a described address");
    let schemas = &DESCRIPTION["components"]["schemas"];
    let mut schema = schemas[name].clone();
    schema["$defs"] = schemas.clone();
    let schema = schema.to_string().replace("#/components/schemas/", "#/$defs/");
    let schema = crate::json_replies::ReplySchema::new(serde_json::from_str(&schema).expect("stays JSON"));
    let faults = schema.faults(document);
    assert!(faults.is_empty(), "{address}: {}\n{document:#}", faults.join("\n"));
}

/// Ids of the story: a pattern, a failure, its run, a fix, a lesson.
fn ids(dashboard: &Dashboard) -> [String; 5] {
    let first = |path: &str, pointer: &str| {
        let document = dashboard.json(path);
        document.pointer(pointer).and_then(Value::as_str).unwrap_or_else(|| panic!("{path}: {document:#}")).to_owned()
    };
    [
        first("/api/v1/patterns", "/patterns/0/id"),
        first("/api/v1/failures", "/failures/0/id"),
        first("/api/v1/failures", "/failures/0/run"),
        first("/api/v1/fixes?state=success", "/fixes/0/id"),
        first("/api/v1/lessons", "/lessons/0/id"),
    ]
}

#[test]
fn every_address_answers_as_it_is_described() {
    let sandbox = discount_story();
    let dashboard = Dashboard::start(&sandbox, &[]);
    let [pattern, failure, run, fix, lesson] = ids(&dashboard);
    let entry = dashboard.json("/api/v1/knowledge")["entries"][0]["id"].as_str().expect("an entry").to_owned();
    let mut asked = 0;
    for (address, methods) in DESCRIPTION["paths"].as_object().expect("addresses") {
        let id = match address.as_str() {
            path if path.contains("/patterns/") => &pattern,
            path if path.contains("/failures/{") => &failure,
            path if path.contains("/runs/") => &run,
            path if path.contains("/fixes/") => &fix,
            path if path.contains("/lessons/") => &lesson,
            path if path.contains("/knowledge/{") => &entry,
            path if path.contains("/figures/{") => "failures",
            _ => "discount",
        };
        let is_text = matches!(address.as_str(), "/api/knowledge/metrics" | "/api/openapi.json");
        // These have records of their own in other tests.
        let is_elsewhere = ["/promotions/{", "/gate/", "/library/"].iter().any(|part| address.contains(part));
        if methods.get("get").is_none() || is_text || is_elsewhere && address.contains('{') {
            continue;
        }
        let path =
            address.replace("{id}", id).replace("{name}", id).replace("{task}", id).replace("{error}", "TypeError");
        assert_described(address, &dashboard.json(&path));
        asked += 1;
    }
    assert!(asked > 25, "{asked}");
    dashboard.ends(Signal::SIGINT);
}

#[test]
fn a_page_is_what_the_command_prints() {
    let sandbox = discount_story();
    let dashboard = Dashboard::start(&sandbox, &[]);
    let [pattern, _, _, fix, _] = ids(&dashboard);
    let printed = |arguments: &[&str]| sandbox.verify_run([arguments, &["--json"]].concat()).prints_json();
    assert_eq!(dashboard.json("/api/v1/overview"), {
        let mut overview = printed(&["stats"])["overview"].clone();
        overview["schema"] = 1.into();
        overview
    });
    assert_eq!(dashboard.json(&format!("/api/v1/fixes/{fix}")), printed(&["fix", "show", &fix]));
    assert_eq!(dashboard.json("/api/v1/failures"), printed(&["log", "--failures"]));
    let page = dashboard.json(&format!("/api/v1/patterns/{pattern}"));
    for (name, value) in printed(&["pattern", "show", &pattern]).as_object().expect("a document") {
        // How much is recent changes while it is asked.
        assert!(&page[name] == value || name == "frequency", "{name}: {value} and {}", page[name]);
    }
    for figure in dashboard.json("/api/v1/overview")["figures"].as_array().expect("figures") {
        let command = figure["command"].as_str().and_then(|it| it.strip_prefix("verify-run ")).expect("a command");
        let said = sandbox.verify_run(command.split(' ')).prints_json();
        assert_eq!(said.pointer(figure["pointer"].as_str().expect("a pointer")), Some(&figure["value"]), "{figure}");
    }
    dashboard.ends(Signal::SIGINT);
}

#[test]
fn the_failures_in_numbers_have_the_fields_that_programs_read() {
    let sandbox = Sandbox::repository();
    sandbox.tool("luacheck", "echo \"a.lua:1:1: error: $MESSAGE\"; exit 1");
    for (task, message) in [("a", "one"), ("a", "one"), ("b", "one"), ("c", "two")] {
        sandbox.verify_run(["--sync", "--task", task, "luacheck", "."]).env("MESSAGE", message).outcome();
    }
    let dashboard = Dashboard::start(&sandbox, &[]);
    let numbers = dashboard.json("/api/qa/failures/dashboard");
    assert_eq!(numbers["total_failures"], json!({"count": 4}));
    assert_eq!(numbers["by_category"], json!([{"failure_category": "lint_error", "count": 4}]));
    assert_eq!(numbers["resolution_rate"], json!({"rate": 0.0}));
    let top = numbers["top_patterns"].as_array().expect("patterns");
    assert_eq!((top.len(), top[0]["occurrences"].as_u64(), top[1]["occurrences"].as_u64()), (2, Some(3), Some(1)));
    for field in ["pattern_name", "prevention_effectiveness", "confidence"] {
        assert!(!top[0][field].is_null(), "{field}");
    }
    let patterns = dashboard.json("/api/qa/failures/patterns");
    assert_eq!((patterns["count"].as_u64(), patterns["total"].as_u64()), (Some(2), Some(2)));
    let columns = [
        "id",
        "pattern_name",
        "failure_category",
        "error_pattern",
        "file_pattern",
        "description",
        "common_cause",
        "recommended_fix",
        "occurrences",
        "prevention_successes",
        "prevention_failures",
        "prevention_effectiveness",
        "knowledge_entry_id",
        "confidence",
        "first_seen_at",
        "last_seen_at",
        "created_at",
        "updated_at",
    ];
    for column in columns {
        assert!(patterns["patterns"][0].get(column).is_some(), "{column}");
    }
    assert_eq!(patterns["patterns"][0]["common_cause"], "not known yet");
    let other = dashboard.json("/api/qa/failures/dashboard?agent=nobody");
    assert_eq!((other["total_failures"]["count"].as_u64(), &other["resolution_rate"]["rate"]), (Some(0), &Value::Null));
    sandbox.tool("luacheck", "exit 0");
    sandbox.verify_run(["--sync", "--task", "c", "luacheck", "."]).outcome();
    assert_eq!(dashboard.json("/api/qa/failures/dashboard")["resolution_rate"]["rate"], 1.0);
    dashboard.ends(Signal::SIGINT);
}

#[test]
fn pages_visit_each_pattern_once_while_more_is_recorded() {
    let sandbox = Sandbox::repository();
    sandbox.tool("luacheck", "echo \"a.lua:1:1: error: $MESSAGE\"; exit 1");
    let words = ["apple", "brick", "cloud", "delta", "eagle", "fjord", "grape"];
    let record = |word: &str| drop(sandbox.verify_run(["--sync", "luacheck", "."]).env("MESSAGE", word).outcome());
    words.iter().for_each(|word| record(word));
    let dashboard = Dashboard::start(&sandbox, &[]);
    let mut seen = Vec::new();
    let mut path = "/api/qa/failures/patterns?limit=2".to_owned();
    loop {
        let answer = dashboard.get(&path);
        let document = answer.json();
        assert_eq!(document["count"].as_u64(), document["patterns"].as_array().map(|rows| rows.len() as u64));
        assert_eq!(document["total"], 7, "{document}");
        seen.extend(document["patterns"].as_array().expect("rows").iter().map(|row| row["id"].to_string()));
        record("apple");
        let Some(link) = answer.header("link") else { break };
        path = link.strip_prefix('<').and_then(|it| it.split_once('>')).expect("a link").0.to_owned();
        assert!(seen.len() < 20, "{seen:?}");
    }
    let unique: std::collections::BTreeSet<&String> = seen.iter().collect();
    assert_eq!((seen.len(), unique.len()), (7, 7), "{seen:?}");
    dashboard.ends(Signal::SIGINT);
}

#[test]
fn entries_are_recorded_merged_and_found() {
    let sandbox = discount_story();
    let dashboard = Dashboard::start(&sandbox, &[]);
    let gotcha = |agent: &str, fix: &str| {
        let body = json!({"fix": fix, "filePattern": "app/**", "actionType": "UPDATE", "taskId": "discount", "agentId": agent});
        let answer = dashboard.post("/api/knowledge/gotcha", &body.to_string());
        assert_eq!(answer.status, 200, "{answer:?}");
        let document = answer.json();
        assert_described("/api/knowledge/gotcha", &document);
        document
    };
    let fix = "Multiply the price by the share that is left instead of subtracting the discount from it";
    let first = gotcha("codex", fix);
    assert_eq!((&first["content"], &first["result"]), (&json!(fix), &json!("created")));
    assert!(first["confidence"].as_f64() > Some(0.4), "{first}");
    let second = gotcha("claude-code", &format!("{fix}."));
    assert_eq!((&second["id"], &second["result"], &second["occurrences"]), (&first["id"], &json!("merged"), &json!(2)));
    assert!(second["confidence"].as_f64() > first["confidence"].as_f64(), "{second}");

    let body = json!({
        "description": "Retry with jitter", "codeTemplate": "await retry(f)\n", "filePattern": "src/**/*.ts",
        "actionType": "CREATE", "agentId": "codex",
    });
    let pattern = dashboard.post("/api/knowledge/pattern", &body.to_string()).json();
    assert_eq!(pattern["content"], "Retry with jitter\n\n```typescript\nawait retry(f)\n```");

    let found = dashboard.json("/api/knowledge/relevant/discount");
    assert!(
        found["entries"].as_array().is_some_and(|all| all.iter().any(|entry| entry["id"] == first["id"])),
        "{found}"
    );
    assert_eq!(found["count"].as_u64(), found["entries"].as_array().map(|all| all.len() as u64));
    let none = dashboard.json("/api/knowledge/relevant/discount?minConfidence=0.99");
    assert_eq!((&none["entries"], &none["count"]), (&json!([]), &json!(0)));
    assert_eq!(dashboard.json("/api/knowledge/relevant/no-such-task")["entries"], json!([]));

    let stats = dashboard.json("/api/knowledge/stats");
    let listed = sandbox.verify_run(["knowledge", "query", "--limit", "100", "--json"]).prints_json();
    let entries = listed["entries"].as_array().expect("entries");
    assert_eq!(stats["total_entries"].as_u64(), Some(entries.len() as u64));
    for row in stats["by_type"].as_array().expect("types") {
        let count = entries.iter().filter(|entry| entry["type"] == row["type"]).count() as u64;
        assert_eq!(row["count"].as_u64(), Some(count), "{row}");
    }
    dashboard.ends(Signal::SIGINT);
}

#[test]
fn a_strategy_is_known_after_it_helped() {
    let sandbox = discount_story();
    let dashboard = Dashboard::start(&sandbox, &[]);
    let path = "/api/knowledge/strategy/TypeError?message=x%20is%20undefined";
    let unknown = dashboard.json(path);
    assert_eq!(unknown, json!({"message": "No known strategy for this error", "strategy": null}));
    let added = sandbox
        .verify_run([
            "strategy",
            "add",
            "--error",
            "x is undefined",
            "--technique",
            "define x",
            "--step",
            "let x",
            "--json",
        ])
        .prints_json();
    let id = added["strategy"]["id"].as_str().expect("an id").to_owned();
    let attempt = |outcome: &str| {
        let told = sandbox.verify_run(["strategy", "attempt", &id, "--outcome", outcome, "--json"]);
        assert!(told.prints_json()["strategy"]["id"] == id.as_str());
    };
    attempt("success");
    let known = dashboard.json(path);
    assert_eq!((&known["id"], &known["success_count"], &known["steps"]), (&json!(id), &json!(1), &json!(["let x"])));
    assert_eq!((&known["recovery_technique"], &known["error_type"]), (&json!("define x"), &json!("TypeError")));
    attempt("success");
    attempt("failure");
    let known = dashboard.json(path);
    assert_eq!((&known["success_count"], &known["failure_count"]), (&json!(2), &json!(1)));
    assert!(known["effectiveness"].as_f64().is_some_and(|it| (it - 2.0 / 3.0).abs() < 1e-3), "{known}");
    dashboard.ends(Signal::SIGINT);
}

#[test]
fn bad_input_is_a_problem_document() {
    let sandbox = discount_story();
    let dashboard = Dashboard::start(&sandbox, &[]);
    let mut known: Vec<String> = Vec::new();
    let mut is_problem = |answer: super::Answer, status: u16, kind: &str| {
        assert_eq!(answer.status, status, "{answer:?}");
        assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{answer:?}");
        let problem = answer.json();
        assert_eq!(problem["type"], format!("/problems/{kind}").as_str(), "{problem}");
        assert!(problem["title"].is_string() && problem["detail"].is_string() && problem["status"] == status);
        known.push(problem["type"].as_str().expect("a type").to_owned());
    };
    let long = format!("/api/v1/patterns/{}", "x".repeat(8_000));
    for (path, status, kind) in [
        ("/api/v1/patterns?x=1", 400, "bad-parameter"),
        ("/api/v1/patterns?after=zz", 400, "bad-parameter"),
        ("/api/v1/patterns?limit=0", 400, "bad-parameter"),
        ("/api/v1/patterns?limit=1001", 400, "bad-parameter"),
        ("/api/v1/patterns?order=best", 400, "bad-parameter"),
        ("/api/v1/patterns?from=soon", 400, "bad-parameter"),
        ("/api/v1/patterns?from=2026-02-02&to=2026-02-01", 400, "bad-parameter"),
        ("/api/v1/patterns?q=%ff", 400, "bad-parameter"),
        ("/api/v1/patterns/p-zzzzzzzz", 404, "unknown-id"),
        ("/api/v1/patterns/%00", 404, "unknown-id"),
        ("/api/v1/patterns/%ff", 404, "unknown-id"),
        ("/api/v1/patterns/..%2f..%2fetc%2fpasswd", 404, "unknown-id"),
        ("/api/v1/lessons/..%2f..%2fetc%2fpasswd", 404, "unknown-id"),
        ("/api/v1/fixes/%27%22%3Cscript%3E", 404, "unknown-id"),
        ("/api/v1/tasks/no%20such", 404, "unknown-id"),
        ("/api/v1/nope", 404, "unknown-path"),
        ("/api/knowledge/relevant/x?minConfidence=2", 400, "bad-parameter"),
        (&long, 404, "unknown-id"),
    ] {
        is_problem(dashboard.get(path), status, kind);
    }
    let gotcha = "/api/knowledge/gotcha";
    let faults = dashboard.post(gotcha, r#"{"fix":"","filePattern":1,"actionType":"no","agentId":"a","x":1}"#);
    let pointers: Vec<String> =
        faults.json()["errors"].as_array().expect("faults").iter().map(|it| it["pointer"].to_string()).collect();
    assert_eq!(pointers, ["\"/fix\"", "\"/filePattern\"", "\"/actionType\"", "\"/x\""]);
    is_problem(faults, 400, "bad-body");
    is_problem(dashboard.post(gotcha, "{"), 400, "bad-body");
    is_problem(dashboard.post(gotcha, "[]"), 400, "bad-body");
    is_problem(dashboard.post(gotcha, &format!("\"{}\"", "x".repeat(65 << 10))), 413, "too-large");
    let bearer = dashboard.bearer();
    let form = [("Authorization", bearer.as_str()), ("Content-Type", "application/x-www-form-urlencoded")];
    is_problem(dashboard.ask("POST", gotcha, &form, "fix=1"), 415, "unsupported-media-type");
    let put = dashboard.ask("PUT", "/api/v1/patterns", &form[..1], "");
    assert_eq!(put.header("allow"), Some("GET, HEAD, OPTIONS"));
    is_problem(put, 405, "wrong-method");
    is_problem(dashboard.get(gotcha), 405, "wrong-method");
    for kind in known {
        assert_eq!(dashboard.get(&kind).status, 200, "{kind} opens as a page");
    }
    let log = std::fs::read_to_string(sandbox.state().join("recorder.log")).unwrap_or_default();
    assert!(!log.contains("panic"), "{log}");
    dashboard.ends(Signal::SIGINT);
}

#[test]
fn a_known_document_is_not_sent_again() {
    let sandbox = discount_story();
    let dashboard = Dashboard::start(&sandbox, &[]);
    let bearer = dashboard.bearer();
    let first = dashboard.get("/api/v1/failures");
    let tag = first.header("etag").expect("a tag").to_owned();
    let again = || {
        let headers = [("Authorization", bearer.as_str()), ("If-None-Match", tag.as_str())];
        dashboard.ask("GET", "/api/v1/failures", &headers, "")
    };
    assert_eq!((again().status, again().body.as_str()), (304, ""));
    let head = dashboard.ask("HEAD", "/api/v1/failures", &[("Authorization", bearer.as_str())], "");
    assert_eq!((head.status, head.body.as_str(), head.header("etag")), (200, "", Some(tag.as_str())));
    sandbox.write("app/pricing.py", "def total(prices, discount=0):\n    return 0\n");
    sandbox.verify_run(["--sync", "--task", "more", "pytest", "-q"]).outcome();
    assert_eq!(again().status, 200, "there is one more");
    dashboard.ends(Signal::SIGINT);
}

#[test]
fn figures_for_prometheus_are_well_formed() {
    let sandbox = discount_story();
    let dashboard = Dashboard::start(&sandbox, &[]);
    let answer = dashboard.get("/api/knowledge/metrics");
    assert_eq!(answer.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    for line in [
        "# TYPE verify_run_failures_total counter",
        "verify_run_failures_total{category=\"test_failure\"} 2",
        "verify_run_runs_total{outcome=\"failed\"} 2",
        "verify_run_runs_total{outcome=\"passed\"} 1",
        "verify_run_fixes_total{state=\"success\"} 1",
    ] {
        assert!(answer.body.lines().any(|known| known == line), "no {line} in {}", answer.body);
    }
    let bearer = dashboard.bearer();
    let headers = [("Authorization", bearer.as_str()), ("Accept", "application/openmetrics-text; version=1.0.0")];
    let open = dashboard.ask("GET", "/api/knowledge/metrics", &headers, "");
    assert!(open.header("content-type").is_some_and(|kind| kind.starts_with("application/openmetrics-text")));
    assert!(
        open.body.ends_with("# EOF\n") && open.body.contains("# TYPE verify_run_failures counter"),
        "{}",
        open.body
    );
    dashboard.ends(Signal::SIGINT);
}

#[test]
fn the_description_is_valid_openapi() {
    let Some(validator) = crate::sandbox::need("openapi-spec-validator") else { return };
    let sandbox = Sandbox::repository();
    let printed = sandbox.verify_run(["dashboard", "openapi"]).prints();
    assert_eq!(printed, include_str!("../../../src/surface/http/openapi.json"));
    sandbox.write("openapi.json", printed);
    let outcome = sandbox.bare(validator).arg("openapi.json").outcome();
    assert_eq!(outcome.ended, verify_run::run::CommandEnd::Exit(0), "{}{}", outcome.stdout(), outcome.stderr());
}
