//! Every figure of a page leads to a page of its own, which names the command that prints the same number.

use std::collections::BTreeSet;

use nix::sys::signal::Signal;
use serde_json::Value;

use super::Dashboard;
use super::served::warned_story;
use crate::gate::decisions::{failing_project, judge};
use crate::lab::has_namespaces;
use crate::learning::{agree, mend, mend_calc, python_project, work};
use crate::sandbox::Sandbox;

/// Where the `?` of a page lead.
fn explained(html: &str) -> BTreeSet<String> {
    let links = html.split("<a class=\"why\" href=\"").skip(1);
    links.filter_map(|rest| rest.split('"').next()).map(|link| link.replace("&amp;", "&")).collect()
}

/// Follows each `?` of a page, runs the command that it names, and compares. The names of the figures, and their values.
#[track_caller]
fn reproduce(sandbox: &Sandbox, dashboard: &Dashboard, page: &str) -> Vec<(String, Value)> {
    let html = dashboard.get(page).body;
    let cards = html.split("<li><h2>").skip(1).map(|card| card.split("</h2>").next().unwrap_or_default());
    for card in cards {
        assert!(card.contains("class=\"why\""), "{page}: no `?` beside {card}");
    }
    let mut found = Vec::new();
    for link in explained(&html) {
        let shown = dashboard.get(&link);
        assert_eq!(shown.status, 200, "{link}: {shown:?}");
        let command = shown.body.split("<pre>").nth(1).and_then(|rest| rest.split("</pre>").next()).expect("a command");
        let words: Vec<&str> = command.strip_prefix("verify-run ").expect("a command of its own").split(' ').collect();
        let figure = dashboard.json(&format!("/api/v1{link}"));
        assert_eq!(figure["command"], command);
        let pointer = figure["pointer"].as_str().expect("a pointer");
        let printed = sandbox.verify_run(words).prints_json();
        assert_eq!(printed.pointer(pointer), Some(&figure["value"]), "{link}: {printed}");
        let named = printed.pointer(pointer.trim_end_matches("/value")).expect("a figure");
        assert_eq!(named["name"], figure["name"], "{link}");
        found.push((figure["name"].as_str().expect("a name").to_owned(), figure["value"].clone()));
    }
    found
}

fn value(found: &[(String, Value)], name: &str) -> f64 {
    let (_, value) = found.iter().find(|(known, _)| known == name).unwrap_or_else(|| panic!("no {name}: {found:?}"));
    value.as_f64().unwrap_or_else(|| panic!("{name} has no case: {found:?}"))
}

#[test]
fn figures_of_a_pattern_and_of_the_effect_are_what_a_command_prints() {
    let sandbox = warned_story();
    let dashboard = Dashboard::start(&sandbox, &[]);
    let listed = sandbox.verify_run(["pattern", "list", "--all", "--json"]).prints_json();
    for row in listed["patterns"].as_array().expect("patterns") {
        let id = row["id"].as_str().expect("an id");
        let found = reproduce(&sandbox, &dashboard, &format!("/patterns/{id}"));
        assert_eq!(found.len(), 5, "{found:?}");
        let figure = dashboard.get(&format!("/figures/pattern_tasks?pattern={id}")).body;
        assert!(figure.contains(&format!("href=\"/patterns/{id}\"")), "it leads back: {figure}");
        let page = sandbox.verify_run(["pattern", "show", id, "--json"]).prints_json();
        assert_eq!(value(&found, "pattern_failures"), page["failures"].as_f64().expect("a number"));
        assert_eq!(value(&found, "pattern_confidence"), page["confidence"].as_f64().expect("a number"));
    }
    let stats = sandbox.verify_run(["stats", "--json"]).prints_json();
    let found = reproduce(&sandbox, &dashboard, "/effect");
    assert!(found.len() >= 8, "{found:?}");
    assert_eq!(value(&found, "effect_evidence"), stats["effect"]["e_value"].as_f64().expect("a number"));
    assert_eq!(value(&found, "effect_missed"), stats["warnings"]["missed_opportunities"].as_f64().expect("a number"));
    assert_eq!(value(&found, "effect_observed"), 0.5, "one of two");
    let found = reproduce(&sandbox, &dashboard, "/effect?agent=codex&from=2020-01-01&to=2020-01-02");
    assert_eq!(value(&found, "effect_tokens_shown"), 0.0, "the filter is a part of the command");
    for (path, status) in [("/figures/pattern_failures", 400), ("/figures/pattern_failures?pattern=p-nope", 404)] {
        assert_eq!(dashboard.get(path).status, status, "{path}");
    }
    let table = sandbox.verify_run(["stats", "--page", "effect"]).prints();
    assert!(table.contains("tokens of the warnings shown"), "{table}");
    dashboard.ends(Signal::SIGINT);
}

#[test]
fn figures_of_the_gate_are_what_a_command_prints() {
    let sandbox = failing_project();
    judge(&sandbox);
    let dashboard = Dashboard::start(&sandbox, &[]);
    let found = reproduce(&sandbox, &dashboard, "/gate");
    assert_eq!((found.len(), value(&found, "gate_first_attempts")), (1, 0.0), "{found:?}");
    let listed = dashboard.json("/api/v1/figures");
    let names: Vec<&str> =
        listed["figures"].as_array().expect("figures").iter().filter_map(|it| it["name"].as_str()).collect();
    assert!(names.contains(&"gate_first_attempts") && names.contains(&"failing_tasks"), "{names:?}");
    assert!(!names.iter().any(|name| name.starts_with("library_")), "without a record of it: {names:?}");
    dashboard.ends(Signal::SIGINT);
}

#[test]
fn figures_of_the_library_are_what_a_command_prints() {
    let Some(sandbox) = python_project() else { return };
    if !has_namespaces() {
        return;
    }
    mend(&sandbox, &["pytest", "-q"], mend_calc);
    agree(&sandbox);
    work(&sandbox);
    let dashboard = Dashboard::start(&sandbox, &[]);
    let found = reproduce(&sandbox, &dashboard, "/library");
    assert_eq!(value(&found, "library_jobs_with_evidence"), 1.0, "{found:?}");
    // Without a decision the page has no time of one.
    assert_eq!(found.len(), 4, "{found:?}");
    dashboard.ends(Signal::SIGINT);
}
