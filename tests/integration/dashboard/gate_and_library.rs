//! Pages of the quality gate and the pattern library: the figures of their commands, and an explanation without any.

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::Dashboard;
use super::api::assert_described;
use super::decisions::{Browser, assert_bad_body, assert_leads_to, form_with};
use crate::gate::decisions::{failing_project, judge};
use crate::lab::has_namespaces;
use crate::learning::{agree, job_page, mend, mend_calc, python_project, work};
use crate::sandbox::Sandbox;
use crate::story::discount_story;

/// The kinds of what waits, with their ids.
fn waiting(dashboard: &Dashboard) -> Vec<(String, String)> {
    let inbox = dashboard.json("/api/v1/inbox");
    let items = inbox["items"].as_array().expect("items").iter();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    items.map(|item| (text(&item["kind"]), text(&item["id"]))).filter(|(kind, _)| kind != "problem").collect()
}

#[test]
fn without_its_records_a_page_is_not_named_and_explains_itself() {
    let sandbox = discount_story();
    let dashboard = Dashboard::start(&sandbox, &[]);
    let overview = dashboard.get("/").body;
    assert!(!overview.contains("href=\"/gate\"") && !overview.contains("href=\"/library\""), "{overview}");
    for (path, command) in [("/gate", "verify-run gate run"), ("/library", "verify-run library init")] {
        let answer = dashboard.get(path);
        assert_eq!(answer.status, 200, "{answer:?}");
        assert!(answer.body.contains(command), "{path}: {}", answer.body);
    }
    dashboard.ends(Signal::SIGINT);
}

#[test]
fn the_gate_page_has_the_figures_of_the_command() {
    let sandbox = failing_project();
    let mut judged = Vec::new();
    for attempt in 1..=3 {
        sandbox.write("check.sh", format!("# {attempt}\necho 'a.py:{attempt}: error: kind {attempt}'\nexit 1\n"));
        judged.push(judge(&sandbox).1);
    }
    let dashboard = Dashboard::start(&sandbox, &[]);
    assert!(dashboard.get("/").body.contains("href=\"/gate\""));
    let list = dashboard.json("/api/v1/gate/cycles");
    let cycle = &list["cycles"][0];
    assert_eq!((&list["total"], &cycle["phase"], &cycle["attempt"]), (&1.into(), &"escalated".into(), &3.into()));
    assert_eq!(list["first_attempts"]["cycles"], 1);
    assert_eq!(list["first_attempts"]["approved"], 0);
    let evaluations = cycle["evaluations"].as_array().expect("evaluations");
    assert_eq!(evaluations.len(), 3, "{cycle}");
    for (line, document) in evaluations.iter().zip(&judged) {
        for name in ["evaluation", "at", "tree", "verdict", "checks_total", "checks_passing", "blocking_issues"] {
            assert_eq!(line[name], document[name], "{name}");
        }
        let states: Vec<&Value> = document["items"].as_array().expect("items").iter().map(|it| &it["status"]).collect();
        let shown: Vec<&Value> = line["items"].as_array().expect("items").iter().map(|it| &it["status"]).collect();
        assert_eq!(shown, states);
    }
    let id = cycle["id"].as_str().expect("an id");
    let page = dashboard.json(&format!("/api/v1/gate/cycles/{id}"));
    assert_described("/api/v1/gate/cycles", &list);
    assert_described("/api/v1/gate/cycles/{id}", &page);
    assert_eq!(page["standing"], without_schema(sandbox.verify_run(["gate", "status", "--json"]).prints_json()));
    for document in page["evaluations"].as_array().expect("evaluations") {
        let evaluation = document["evaluation"].as_str().expect("an id");
        let shown = sandbox.verify_run(["gate", "show", evaluation, "--format", "json"]).prints_json();
        assert_eq!(*document, without_schema(shown));
        let mut report = dashboard.json(&format!("/api/v1/gate/evaluations/{evaluation}"));
        let printed = sandbox.verify_run(["gate", "show", evaluation]).prints();
        assert_eq!(report["report"], printed.as_str());
        assert_described("/api/v1/gate/evaluations/{id}", &report);
        report.as_object_mut().expect("an object").remove("report");
        assert_eq!(without_schema(report), *document);
        let html = dashboard.get(&format!("/gate/evaluations/{evaluation}"));
        assert!(html.status == 200 && html.body.contains("kind "), "{html:?}");
    }
    let html = dashboard.get(&format!("/gate/{id}"));
    assert!(html.status == 200 && html.body.contains("escalated"), "{html:?}");
    assert_eq!(dashboard.get("/gate/g-nope").status, 404);
    assert_eq!(waiting(&dashboard), [("escalation".to_owned(), id.to_owned())]);
    assert!(dashboard.get("/inbox").body.contains(&format!("/gate/{id}")));
    dashboard.ends(Signal::SIGINT);
}

/// A document as a part of another one.
fn without_schema(mut document: Value) -> Value {
    document.as_object_mut().expect("an object").remove("schema");
    document
}

#[test]
fn the_library_page_has_the_figures_of_the_commands() {
    let Some(sandbox) = python_project() else { return };
    if !has_namespaces() {
        return;
    }
    mend(&sandbox, &["pytest", "-q"], mend_calc);
    agree(&sandbox);
    let job = work(&sandbox)["id"].as_str().expect("an id").to_owned();
    let dashboard = Dashboard::start(&sandbox, &[]);
    assert!(dashboard.get("/").body.contains("href=\"/library\""));
    let library = dashboard.json("/api/v1/library");
    let listed = sandbox.verify_run(["library", "list", "--json"]).prints_json();
    assert_eq!((&library["pages"], &library["unreadable"]), (&listed["pages"], &listed["unreadable"]));
    assert_eq!(library["pages"][0]["evidence"], "proven", "{library}");
    assert_eq!(library["jobs"], serde_json::json!([{"state": "candidate", "count": 1}]));
    assert_eq!(library["figures"]["jobs_with_evidence"], 1);
    let id = library["pages"][0]["id"].as_str().expect("an id").to_owned();
    assert_described("/api/v1/library", &library);
    for (address, id, command) in [
        ("/api/v1/library/jobs", "", vec!["library", "jobs", "--json"]),
        ("/api/v1/library/jobs/{id}", &job, vec!["library", "job", &job, "--json"]),
        ("/api/v1/library/{id}", &id, vec!["library", "show", &id, "--json"]),
    ] {
        let document = dashboard.json(&address.replace("{id}", id));
        assert_described(address, &document);
        assert_eq!(document, sandbox.verify_run(command).prints_json(), "{address}");
    }
    for path in [format!("/library/jobs/{job}"), format!("/library/{id}"), "/library".to_owned()] {
        let html = dashboard.get(&path);
        assert!(html.status == 200 && html.body.contains("proven"), "{path}: {html:?}");
    }
    assert_eq!(waiting(&dashboard), [("candidate".to_owned(), id)]);
    dashboard.ends(Signal::SIGINT);
}

/// Has Ada sign a command that shows nothing for a job; the file.
fn sign_scenario(sandbox: &Sandbox, job: &str) -> String {
    let template = sandbox.verify_run(["library", "scenario", job, "--json"]).prints_json();
    let path = template["path"].as_str().expect("a path");
    let text = sandbox.read(path);
    let entrypoint = text.lines().find(|line| line.starts_with("- Entrypoint command:")).expect("the line").to_owned();
    let signed = text
        .replace(&entrypoint, "- Entrypoint command: `pytest -q 'tests/no such.py'`")
        .replace("- Approver (name/id):", "- Approver (name/id): Ada")
        .replace("- Date:", "- Date: 2026-11-26")
        .replace("acknowledgement:", "acknowledgement: I have read it");
    sandbox.write(path, signed);
    path.to_owned()
}

#[test]
fn a_person_queues_and_cancels_a_job_on_its_page_beside_what_it_runs() {
    let Some(sandbox) = python_project() else { return };
    if !has_namespaces() {
        return;
    }
    // The recorded command had a secret in it: it is run no more.
    let command = ["pytest", "-q", "-o", "cache_dir=ghp_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"];
    mend(&sandbox, &command, mend_calc);
    agree(&sandbox);
    let id = work(&sandbox)["id"].as_str().expect("an id").to_owned();
    let path = sign_scenario(&sandbox, &id);
    let dashboard = Dashboard::start(&sandbox, &[]);
    let browser = Browser::open(&dashboard);
    let page = format!("/library/jobs/{id}");
    let [requeue, cancel] = ["requeue", "cancel"].map(|verb| format!("{page}/{verb}"));
    let api = |verb: &str| format!("/api/v1{page}/{verb}");
    let state = || job_page(&sandbox, &id)["state"].as_str().expect("a state").to_owned();
    let said = [("by", "Ada"), ("reason", "packages are there now")];
    let html = browser.page(&page);
    assert!(form_with(&html, &requeue).is_some_and(|form| form.contains("recorded here")), "{html}");
    assert_bad_body(&dashboard, &api("requeue"), &json!({"by": "Ada", "reason": "x"}), "/digest");
    assert_bad_body(&dashboard, &api("requeue"), &json!({"by": "Ada", "digest": "x"}), "/reason");
    assert_bad_body(&dashboard, &api("cancel"), &json!({"reason": "x"}), "/by");
    let scenario = json!({"by": "Ada", "reason": "x", "digest": "x", "scenario": &path});
    assert_bad_body(&dashboard, &api("requeue"), &scenario, "/scenario");
    for action in [&requeue, &cancel] {
        assert_eq!(browser.submit(&page, action, &said[..1]).status, 400, "{action} without a reason");
        assert_eq!(browser.submit_from_elsewhere(&page, action, &said).status, 403, "{action}");
    }
    assert_eq!(state(), "needs_manual_scenario", "nothing was decided");
    assert_leads_to(&browser.submit(&page, &requeue, &said), &page);
    assert_eq!(state(), "queued");
    assert_eq!(work(&sandbox)["state"], "needs_manual_scenario", "nothing was signed");

    // A person signs a scenario while the page is open: what the page showed is not what would run.
    let before = dashboard.json(&format!("/api/v1{page}"));
    let sign = ["library", "requeue", &id, "--by", "Ada", "--reason", "written", "--scenario", &path];
    sandbox.verify_run(sign).prints();
    assert_eq!(form_with(&browser.page(&page), &requeue), None, "it is queued already");
    let failed = work(&sandbox);
    assert_eq!(failed["state"], "failed", "{failed}");
    let stale = json!({"by": "Bo", "reason": "again", "digest": before["digest"]}).to_string();
    let refused = dashboard.post(&api("requeue"), &stale);
    assert!(refused.status == 409 && refused.body.contains("changed since"), "{refused:?}");
    assert_eq!(state(), "failed");
    let html = browser.page(&page);
    let form = form_with(&html, &requeue).expect("a form");
    assert!(form.contains("pytest -q &#x27;tests/no such.py&#x27;"), "the command is beside the button: {form}");
    assert_eq!(form_with(&html, &cancel), None, "it is over");

    let now = dashboard.json(&format!("/api/v1{page}"))["digest"].clone();
    let body = json!({"by": "Bo", "reason": "again", "digest": now}).to_string();
    let answer = dashboard.post(&api("requeue"), &body);
    assert_eq!((answer.status, &answer.json()["state"]), (200, &json!("queued")), "{answer:?}");
    assert_described("/api/v1/library/jobs/{id}/requeue", &answer.json());
    assert_eq!(dashboard.post(&api("requeue"), &body).status, 409, "it does not wait for a person");
    assert_leads_to(&browser.submit(&page, &cancel, &said), &page);
    assert_eq!(state(), "cancelled");
    let audit = dashboard.json("/api/v1/audit");
    let lines: Vec<[&str; 4]> = audit["decisions"]
        .as_array()
        .expect("decisions")
        .iter()
        .map(|line| ["kind", "action", "who", "about"].map(|name| line[name].as_str().unwrap_or_default()))
        .collect();
    let line = |action, who| ["job", action, who, id.as_str()];
    assert_eq!(
        lines,
        [line("cancelled", "Ada"), line("requeued", "Bo"), line("requeued", "Ada"), line("requeued", "Ada")]
    );
    assert!(browser.page("/audit").contains(&format!("href=\"{page}\"")), "the audit page leads to it");
    dashboard.ends(Signal::SIGINT);
}
