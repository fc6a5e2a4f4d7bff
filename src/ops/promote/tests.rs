//! The same events in any order give the same proposals.

use super::list_promotions;
use crate::base::lossless::Lossless;
use crate::base::random::Random;
use crate::config::{Environment, Places, StateDir};
use crate::event::sample::{
    delivery, entry_change, entry_delivery, failed_run, folder, gotcha, key, merge, names, passed_run, promotion,
    task_done,
};
use crate::event::{EntryChange, EntryUse, Event, EventBody};
use crate::ops::request::Request;
use crate::store::{Store, lock_store};

/// `alpha` and `bravo` (one pattern since they were merged) pass the gate, `cargo` was approved and came back,
/// `delta` was rejected; tasks are warned, held out, and end. Of the entries `k-2`, which has `alpha` as its source
/// and is one with `k-3`, is warned of in the same tasks and passes the gate, too; `k-4`, which says what `cargo`
/// says, has enough confidence.
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
    let alpha = names("alpha")[0].clone();
    events.extend([
        gotcha(2, "the migration is forgotten", &[alpha]),
        gotcha(3, "the migration is left out", &[]),
        gotcha(4, "cargo could not be parsed", &[]),
    ]);
    // Neither fades: it was long ago.
    let pinned = [2, 4].map(|about| (about, EntryChange::Pinned { on: true }));
    let said = [(3, EntryChange::Merged { into: "k-2".into() }), (4, set(900)), (4, used()), (4, used())];
    for (about, how) in pinned.into_iter().chain(said) {
        let mut event = entry_change(30 + events.len() as u64, about, 0);
        if let EventBody::Knowledge(note) = &mut event.body {
            note.change = how;
            note.by.session = Some(format!("s{}", events.len()));
        }
        events.push(event);
    }
    for (n, task) in ["v", "w", "x", "y"].into_iter().enumerate() {
        let n = 100 + n as u64 * 10;
        events.extend([entry_delivery(n + 1, task, if n == 110 { 3 } else { 2 }), entry_delivery(n + 3, task, 4)]);
    }
    events.extend([entry_delivery(189, "z", 4), promotion(151, &key("cargo")), promotion(152, &key("delta"))]);
    events.push(promotion(150, &key("delta")));
    // One promotion has one id, whoever proposed it.
    for event in &mut events {
        if let EventBody::Promotion(said) = &mut event.body {
            said.promotion = crate::base::ids::promotion(said.pattern.as_deref().unwrap_or_default());
        }
        if let EventBody::Run(run) = &mut event.body {
            run.root = Lossless::from("/repo");
        }
    }
    events
}

fn set(value_permille: u16) -> EntryChange {
    EntryChange::ConfidenceSet { value_permille, reason: "seen otherwise".into() }
}

fn used() -> EntryChange {
    EntryChange::Used { how: EntryUse::Applied, with: Vec::new() }
}

fn proposals(events: &[Event]) -> serde_json::Value {
    let dir = folder();
    let (root, state) = (dir.path().join("root"), StateDir::from(dir.path().join("state")));
    std::fs::create_dir_all(&root).expect("a folder");
    let places = Places { root, repository: None, state: state.clone(), fallbacks: Vec::new() };
    let mut store =
        Store::open(&state, lock_store(&state, std::time::Duration::ZERO).expect("no one else")).expect("opens");
    for event in events {
        store.append(std::slice::from_ref(event)).expect("appends");
    }
    drop(store);
    let found = list_promotions(&Request::at_places(places, Environment::default()), true).expect("lists");
    serde_json::to_value(&found.data.promotions).expect("is JSON")
}

#[test]
fn the_same_events_in_100_random_orders_give_the_same_proposals() {
    let mut events = history();
    let expected = proposals(&events);
    let states: Vec<_> = expected.as_array().expect("a list").iter().map(|one| one["state"].clone()).collect();
    for state in ["pending", "approved", "rejected"] {
        assert!(states.contains(&state.into()), "{state} is not in {expected:#}");
    }
    let of = |entry: &str| {
        let found = expected.as_array().expect("a list").iter().find(|one| one["entry"] == entry);
        let found = found.unwrap_or_else(|| panic!("{entry} is not in {expected:#}"));
        let figures = &found["figures"];
        (found["way"].clone(), [figures["prevented"].clone(), figures["failed_anyway"].clone()])
    };
    assert_eq!(of("k-2"), ("prevention".into(), [4.into(), 0.into()]), "{expected:#}");
    assert_eq!(of("k-4"), ("knowledge".into(), [0.into(), 1.into()]), "it was made again in z: {expected:#}");
    let mut random = Random(7);
    for order in 0..100 {
        for at in (1..events.len()).rev() {
            events.swap(at, random.below(at + 1));
        }
        assert_eq!(proposals(&events), expected, "order {order}");
    }
}
