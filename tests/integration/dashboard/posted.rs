//! What programs send: each address takes it once, and refuses what it does not understand before anything is recorded.

use nix::sys::signal::Signal;
use serde_json::{Map, Value, json};

use super::api::{DESCRIPTION, assert_described};
use super::decisions::{events, promotion_story};
use super::{Answer, Dashboard};
use crate::sandbox::Sandbox;
use crate::story::discount_story;

/// The addresses that take a document, each with the schema of it.
fn writes() -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for (address, methods) in DESCRIPTION["paths"].as_object().expect("addresses") {
        let Some(body) = methods.pointer("/post/requestBody/content/application~1json/schema") else { continue };
        let named = body["$ref"].as_str().and_then(|name| name.rsplit('/').next());
        let schema = named.map_or(body, |name| &DESCRIPTION["components"]["schemas"][name]);
        found.push((address.clone(), schema.clone()));
    }
    found
}

/// A document that an address takes, if its id is known.
fn fitting_document(schema: &Value) -> Map<String, Value> {
    let value_of = |name: &str| match name {
        "value" => json!(0.9),
        "actionType" => json!("UPDATE"),
        "filePattern" => json!("src/**"),
        _ => json!("Ada"),
    };
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    required.map(|name| (name.to_owned(), value_of(name))).collect()
}

#[track_caller]
fn assert_problem(answer: &Answer, status: u16, kind: &str) -> Value {
    assert_eq!(answer.status, status, "{answer:?}");
    assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{answer:?}");
    let problem = answer.json();
    assert_eq!((&problem["type"], &problem["status"]), (&json!(format!("/problems/{kind}")), &json!(status)));
    for field in ["title", "detail"] {
        assert!(problem[field].as_str().is_some_and(|text| !text.is_empty()), "{problem}");
    }
    problem
}

#[test]
fn every_address_that_records_refuses_what_it_does_not_understand() {
    let sandbox = discount_story();
    let dashboard = Dashboard::start(&sandbox, &[]);
    let before = events(&sandbox).len();
    let bearer = dashboard.bearer();
    let writes = writes();
    assert!(writes.len() >= 26, "{writes:?}");
    let (mut missing, mut wrong) = (0, 0);
    for (address, schema) in writes {
        let path = address.replace("{id}", "p-nope");
        let fitting = fitting_document(&schema);
        let with = |name: &str, value: Option<Value>| {
            let mut document = fitting.clone();
            document.remove(name);
            document.extend(value.map(|value| (name.to_owned(), value)));
            Value::Object(document).to_string()
        };
        for media_type in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"] {
            let headers = [("Authorization", bearer.as_str()), ("Content-Type", media_type)];
            let answer = dashboard.ask("POST", &path, &headers, "{}");
            assert_problem(&answer, 415, "unsupported-media-type");
        }
        for no_document in ["{", "\u{1}", "null", "[]", "7", "\"x\""] {
            assert_problem(&dashboard.post(&path, no_document), 400, "bad-body");
        }
        let faults = |body: &str| {
            let problem = assert_problem(&dashboard.post(&path, body), 400, "bad-body");
            let faults = problem["errors"].as_array().unwrap_or_else(|| panic!("{path} {body}: {problem}")).iter();
            faults.map(|fault| fault["pointer"].as_str().expect("a pointer").to_owned()).collect::<Vec<_>>()
        };
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            assert_eq!(faults(&with(name, None)), [format!("/{name}")], "{path} without {name}");
            missing += 1;
        }
        for name in schema["properties"].as_object().into_iter().flat_map(Map::keys) {
            let found = faults(&with(name, Some(json!({"x": 1}))));
            assert!(found.contains(&format!("/{name}")), "{path} with an object as {name}: {found:?}");
            wrong += 1;
        }
        assert_eq!(faults(&with("surprise", Some(json!("x")))).last().map(String::as_str), Some("/surprise"), "{path}");
        if address.contains('{') && !schema["required"].as_array().is_none_or(Vec::is_empty) {
            let answer = dashboard.post(&path, &Value::Object(fitting).to_string());
            assert_problem(&answer, 404, "unknown-id");
        }
    }
    assert!(missing > 30 && wrong > 60, "{missing} fields were missing, {wrong} had another type");
    assert_eq!(events(&sandbox).len(), before, "nothing was recorded");
    dashboard.ends(Signal::SIGINT);
}

/// Sends a document that is taken; the answer, which is what the description says.
#[track_caller]
fn sends(dashboard: &Dashboard, address: &str, id: &str, body: &Value) -> Value {
    let answer = dashboard.post(&address.replace("{id}", id), &body.to_string());
    assert_eq!(answer.status, 200, "{address} {body}: {answer:?}");
    let document = answer.json();
    assert_described(address, &document);
    document
}

#[test]
fn patterns_are_curated_by_the_api() {
    let sandbox = discount_story();
    sandbox.tool("luacheck", "echo 'src/a.lua:1:1: error: undefined variable x'; exit 1");
    sandbox.verify_run(["--sync", "--task", "lua", "luacheck", "."]).outcome();
    let dashboard = Dashboard::start(&sandbox, &[]);
    let patterns = dashboard.json("/api/v1/patterns?state=all");
    let [first, second] = [0, 1].map(|row: usize| patterns["patterns"][row]["id"].as_str().expect("an id").to_owned());
    let said = json!({"by": "Ada", "reason": "noise"});
    let group = || dashboard.json(&format!("/api/v1/patterns/{first}"))["group"].as_array().map(Vec::len);
    for (verb, state) in [("mute", "muted"), ("unmute", "open"), ("deprecate", "deprecated"), ("restore", "open")] {
        sends(&dashboard, &format!("/api/v1/patterns/{{id}}/{verb}"), &first, &said);
        assert_eq!(dashboard.json(&format!("/api/v1/patterns/{first}"))["state"], state, "{verb}");
    }
    sends(&dashboard, "/api/v1/patterns/{id}/merge", &second, &json!({"into": &first, "by": "Ada"}));
    assert_eq!(group(), Some(2));
    sends(&dashboard, "/api/v1/patterns/{id}/split", &second, &said);
    assert_eq!(group(), Some(1));
    sends(&dashboard, "/api/v1/patterns/{id}/unsplit", &second, &said);
    assert_eq!(group(), Some(2));
    let audit = dashboard.json("/api/v1/audit");
    let who: Vec<&Value> = audit["decisions"].as_array().expect("decisions").iter().map(|line| &line["who"]).collect();
    assert_eq!(who, ["Ada"; 7], "each is a decision: {audit:#}");
    dashboard.ends(Signal::SIGINT);
}

#[test]
fn entries_are_changed_by_the_api() {
    let sandbox = discount_story();
    let dashboard = Dashboard::start(&sandbox, &[]);
    let decision = |text: &str| {
        let body =
            json!({"decision": text, "context": format!("why {text}"), "agentId": "codex", "taskId": "discount"});
        let entry = sends(&dashboard, "/api/knowledge/decision", "", &body);
        assert_eq!((&entry["type"], &entry["source_agent_id"]), (&json!("decision"), &json!("codex")), "{entry}");
        entry["id"].as_str().expect("an id").to_owned()
    };
    let (old, new) = (decision("Retry failed requests three times"), decision("Use a queue for all requests"));
    let shown = || sandbox.verify_run(["knowledge", "show", &old, "--json"]).prints_json();
    let field = |name: &str| shown()["entry"].get(name).or(shown().get(name)).cloned().unwrap_or_default();
    sends(&dashboard, "/api/v1/knowledge/{id}/pin", &old, &json!({}));
    assert_eq!(field("pinned"), true);
    sends(&dashboard, "/api/v1/knowledge/{id}/unpin", &old, &json!({}));
    assert_eq!(field("pinned"), false);
    let confidence = json!({"value": 0.25, "by": "Ada", "reason": "it was true once"});
    sends(&dashboard, "/api/v1/knowledge/{id}/confidence", &old, &confidence);
    assert_eq!(field("confidence"), 0.25);
    for value in [json!(-0.1), json!(1.5), json!("much")] {
        let body = json!({"value": value, "by": "Ada", "reason": "x"}).to_string();
        assert_eq!(dashboard.post(&format!("/api/v1/knowledge/{old}/confidence"), &body).status, 400, "{body}");
    }
    assert_eq!(field("confidence"), 0.25);
    sends(&dashboard, "/api/v1/knowledge/{id}/supersede", &old, &json!({"with": &new}));
    assert_eq!(field("superseded_by"), json!(new));
    let unknown = dashboard.post(&format!("/api/v1/knowledge/{new}/supersede"), r#"{"with":"k-nope"}"#);
    assert_problem(&unknown, 404, "unknown-id");
    dashboard.ends(Signal::SIGINT);
}

#[test]
fn promotions_are_decided_by_the_api() {
    let sandbox = promotion_story();
    let agents = "# Rules\n";
    sandbox.write("AGENTS.md", agents);
    let dashboard = Dashboard::start(&sandbox, &[]);
    let listed = dashboard.json("/api/v1/promotions");
    let [first, second] = [0, 1].map(|row: usize| listed["promotions"][row]["id"].as_str().expect("an id").to_owned());
    let change = |id: &str| dashboard.json(&format!("/api/v1/promotions/{id}"))["change"].clone();
    let stale = json!({"change": "0000", "by": "Ada", "reason": "we all trip over this"});
    let refused = dashboard.post(&format!("/api/v1/promotions/{first}/approve"), &stale.to_string());
    assert_problem(&refused, 409, "changed-meanwhile");
    assert_eq!(sandbox.read("AGENTS.md"), agents);
    let said = |id: &str| json!({"change": change(id), "by": "Ada", "reason": "we all trip over this"});
    sends(&dashboard, "/api/v1/promotions/{id}/approve", &first, &said(&first));
    assert_ne!(sandbox.read("AGENTS.md"), agents);
    sends(&dashboard, "/api/v1/promotions/{id}/rollback", &first, &said(&first));
    assert_eq!(sandbox.read("AGENTS.md"), agents);
    sends(&dashboard, "/api/v1/promotions/{id}/reject", &second, &json!({"by": "Bo", "reason": "noise"}));
    let all = sandbox.verify_run(["promote", "list", "--all", "--json"]).prints_json();
    let state = |id: &str| {
        let mut lines = all["promotions"].as_array().expect("promotions").iter();
        lines.find(|line| line["id"] == *id).expect("it is listed")["state"].clone()
    };
    assert_eq!((state(&first), state(&second)), (json!("rolled_back"), json!("rejected")), "{all:#}");
    dashboard.ends(Signal::SIGINT);
}

#[test]
fn pages_of_the_library_are_decided_by_the_api() {
    let Some(sandbox) = crate::learning::python_project() else { return };
    if !crate::lab::has_namespaces() {
        return;
    }
    crate::learning::mend(&sandbox, &["pytest", "-q"], crate::learning::mend_calc);
    crate::learning::agree(&sandbox);
    crate::learning::work(&sandbox);
    let dashboard = Dashboard::start(&sandbox, &[]);
    let id = dashboard.json("/api/v1/library")["pages"][0]["id"].as_str().expect("a page").to_owned();
    let folder = || crate::learning::library_page(&sandbox, &id)["folder"].clone();
    let said = json!({"by": "Ada", "reason": "it is right"});
    let stale = json!({"by": "Ada", "reason": "it is right", "digest": "0000"}).to_string();
    let refused = dashboard.post(&format!("/api/v1/library/{id}/approve"), &stale);
    assert_problem(&refused, 409, "changed-meanwhile");
    assert_eq!(folder(), "candidates");
    let digest = dashboard.json(&format!("/api/v1/library/{id}"))["digest"].clone();
    let approval = json!({"by": "Ada", "reason": "it is right", "digest": digest});
    sends(&dashboard, "/api/v1/library/{id}/approve", &id, &approval);
    assert_eq!(folder(), "active");
    sends(&dashboard, "/api/v1/library/{id}/deprecate", &id, &said);
    assert_eq!(folder(), "deprecated");
    sends(&dashboard, "/api/v1/library/{id}/restore", &id, &said);
    assert_eq!(folder(), "active");
    let late = dashboard.post(&format!("/api/v1/library/{id}/reject"), &said.to_string());
    assert_problem(&late, 409, "changed-meanwhile");
    dashboard.ends(Signal::SIGINT);
}

/// One that has nothing to decide about.
#[test]
fn before_the_first_run_nothing_can_be_decided() {
    let sandbox = Sandbox::repository();
    let dashboard = Dashboard::start(&sandbox, &[]);
    for (address, schema) in writes().into_iter().filter(|(address, _)| address.contains('{')) {
        let body = Value::Object(fitting_document(&schema)).to_string();
        let answer = dashboard.post(&address.replace("{id}", "x"), &body);
        assert!(matches!(answer.status, 400 | 404), "{address}: {answer:?}");
        assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{address}");
    }
    assert!(!sandbox.state().join("events").exists(), "nothing is recorded");
    dashboard.ends(Signal::SIGINT);
}
