//! The same events in any order give the same proposals.

use super::list;
use crate::base::lossless::Lossless;
use crate::base::random::Random;
use crate::capture::Identity;
use crate::config::{Environment, Places};
use crate::store::sample::{delivery, failed_run, folder, key, merge, passed_run, promotion, task_done};
use crate::store::{Body, Event, Store, lock};

/// `alpha` and `bravo` (one pattern since they were merged) pass the gate, `cargo` was approved and came back, `delta` was
/// rejected; tasks are warned, held out, and end.
fn history() -> Vec<Event> {
    let mut events = Vec::new();
    for (n, task) in ["a", "b", "c", "d", "e"].into_iter().enumerate() {
        let n = n as u64 * 10;
        events.push(failed_run(n + 1, task, if n < 30 { &["alpha", "cargo"] } else { &["bravo", "delta"] }));
    }
    for (n, task) in ["v", "w", "x", "y"].into_iter().enumerate() {
        let n = 100 + n as u64 * 10;
        // Every fifth is held out.
        events.extend([delivery(n + 1, task, &key("alpha")), delivery(n + 5, task, &key("bravo"))]);
        events.extend([delivery(n + 3, task, &key("cargo")), passed_run(n + 7, task)]);
    }
    events.extend([
        failed_run(190, "z", &["cargo"]),
        task_done(195, "v"),
        merge(160, &key("bravo"), &key("alpha"), None),
    ]);
    events.extend([promotion(151, &key("cargo")), promotion(152, &key("delta")), promotion(150, &key("delta"))]);
    // One promotion has one id, whoever proposed it.
    for event in &mut events {
        if let Body::Promotion(said) = &mut event.body {
            said.promotion = crate::base::ids::promotion(said.pattern.as_deref().unwrap_or_default());
        }
        if let Body::Run(run) = &mut event.body {
            run.root = Lossless::from("/repo");
        }
    }
    events
}

fn proposals(events: &[Event]) -> serde_json::Value {
    let dir = folder();
    let (root, state) = (dir.path().join("root"), dir.path().join("state"));
    std::fs::create_dir_all(&root).expect("a folder");
    let places = Places { root, repository: None, state: state.clone(), fallbacks: Vec::new() };
    let mut store = Store::open(&state, lock(&state, std::time::Duration::ZERO).expect("nobody else")).expect("opens");
    for event in events {
        store.append(std::slice::from_ref(event)).expect("appends");
    }
    drop(store);
    let found = list(&places, &Environment::default(), &Identity::default(), true).expect("lists");
    serde_json::to_value(&found.promotions).expect("is JSON")
}

#[test]
fn the_same_events_in_100_random_orders_give_the_same_proposals() {
    let mut events = history();
    let expected = proposals(&events);
    let states: Vec<_> = expected.as_array().expect("a list").iter().map(|one| one["state"].clone()).collect();
    for state in ["pending", "approved", "rejected"] {
        assert!(states.contains(&state.into()), "{state} is not in {expected:#}");
    }
    let mut random = Random(7);
    for order in 0..100 {
        for at in (1..events.len()).rev() {
            events.swap(at, random.below(at + 1));
        }
        assert_eq!(proposals(&events), expected, "order {order}");
    }
}
