//! Entries for programs: those that fit a task, and how many there are.

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::Dashboard;
use crate::story::discount_story;

/// Texts that are not alike, so that none is merged with another one.
const FIXES: [&str; 6] = [
    "Multiply the price by the share that is left",
    "Round amounts only when an invoice is printed",
    "Load currencies before the first conversion happens",
    "Never keep a cart longer than its session lives",
    "Close database handles inside a finally block",
    "Compare dates in UTC and without their weekday",
];

fn numbers(entries: &[Value], name: &str) -> Vec<f64> {
    entries.iter().map(|entry| entry[name].as_f64().unwrap_or_else(|| panic!("no {name}: {entry}"))).collect()
}

#[test]
fn entries_for_a_task_come_with_the_best_first() {
    let sandbox = discount_story();
    let dashboard = Dashboard::start(&sandbox, &[]);
    let mut recorded = Vec::new();
    for fix in FIXES {
        let body = json!({
            "fix": fix, "filePattern": "app/**", "actionType": "UPDATE", "taskId": "discount", "agentId": "codex",
        });
        let answer = dashboard.post("/api/knowledge/gotcha", &body.to_string());
        assert_eq!((answer.status, &answer.json()["result"]), (200, &json!("created")), "{answer:?}");
        recorded.push(answer.json()["id"].as_str().expect("an id").to_owned());
    }
    let set = json!({"value": 0.95, "by": "Ada", "reason": "it is true"}).to_string();
    assert_eq!(dashboard.post(&format!("/api/v1/knowledge/{}/confidence", recorded[3]), &set).status, 200);

    let relevant = |query: &str| {
        let document = dashboard.json(&format!("/api/knowledge/relevant/discount{query}"));
        let entries = document["entries"].as_array().expect("entries").clone();
        assert_eq!(document["count"].as_u64(), Some(entries.len() as u64), "{document}");
        entries
    };
    let ids = |entries: &[Value]| entries.iter().map(|entry| entry["id"].clone()).collect::<Vec<_>>();
    let all = relevant("?limit=100");
    assert!(recorded.iter().all(|id| ids(&all).contains(&json!(id))), "all six match: {all:?}");
    assert!(numbers(&all, "score").is_sorted_by(|a, b| a >= b), "the best first: {all:?}");
    let own = ids(&all).into_iter().find(|id| recorded.iter().any(|known| id == known));
    assert_eq!(own, Some(json!(recorded[3])), "the surest of those that fit alike");
    assert!(numbers(&all, "confidence").iter().all(|confidence| *confidence >= 0.5), "{all:?}");
    assert_eq!(ids(&relevant("?limit=5")), ids(&all)[..5]);
    assert!(all.len() <= 10 && ids(&relevant("")) == ids(&all), "ten unless asked");
    let sure = relevant("?minConfidence=0.9");
    assert_eq!(ids(&sure), [json!(recorded[3])]);
    assert_eq!(relevant("?minConfidence=0.99"), [] as [Value; 0]);
    assert_eq!(dashboard.json("/api/knowledge/relevant/no-such-task")["count"], 0);
    dashboard.ends(Signal::SIGINT);
}

#[test]
fn entries_are_counted_as_by_hand() {
    let sandbox = discount_story();
    let dashboard = Dashboard::start(&sandbox, &[]);
    let gotcha = |fix: &str, agent: &str| {
        let body = json!({"fix": fix, "filePattern": "app/**", "actionType": "UPDATE", "agentId": agent}).to_string();
        dashboard.post("/api/knowledge/gotcha", &body).json()["id"].as_str().expect("an id").to_owned()
    };
    // The first is recorded by three agents, the second is sure, the third is neither.
    let often = gotcha(FIXES[0], "codex");
    for agent in ["claude-code", "cursor"] {
        assert_eq!(gotcha(FIXES[0], agent), often, "it is merged");
    }
    let sure = gotcha(FIXES[1], "codex");
    gotcha(FIXES[2], "codex");
    let body = json!({"decision": "Use a queue", "context": "Requests are lost", "agentId": "codex"}).to_string();
    assert_eq!(dashboard.post("/api/knowledge/decision", &body).status, 200);
    for id in [&often, &sure] {
        let set = json!({"value": 0.85, "by": "Ada", "reason": "it is true"}).to_string();
        assert_eq!(dashboard.post(&format!("/api/v1/knowledge/{id}/confidence"), &set).status, 200);
    }
    let listed = sandbox.verify_run(["knowledge", "query", "--limit", "100", "--json"]).prints_json();
    let entries = listed["entries"].as_array().expect("entries");
    let stats = dashboard.json("/api/knowledge/stats");
    assert_eq!(stats["total_entries"].as_u64(), Some(entries.len() as u64));
    let high: Vec<&Value> = entries.iter().filter(|entry| entry["confidence"].as_f64() >= Some(0.8)).collect();
    let candidates = high.iter().filter(|entry| entry["occurrences"].as_u64() >= Some(3)).count();
    assert_eq!((high.len(), candidates), (2, 1), "{listed:#}");
    assert_eq!((&stats["high_confidence"], &stats["promotion_candidates"]), (&json!(2), &json!(1)));
    let of_type = |name: &str| {
        let mut rows = stats["by_type"].as_array().expect("types").iter();
        rows.find(|row| row["type"] == name).map(|row| row["count"].clone())
    };
    let gotchas = entries.iter().filter(|entry| entry["type"] == "gotcha").count();
    assert!(gotchas >= 3);
    assert_eq!((of_type("gotcha"), of_type("decision")), (Some(json!(gotchas)), Some(json!(1))), "{stats}");
    dashboard.ends(Signal::SIGINT);
}
