//! What was decided about promotions, in whichever order it comes to be known.

use super::{failed_run, folder, key, merge, open};
use crate::event::sample::promotion;
use crate::event::{Event, EventBody};
use crate::store::{Index, PromotionRow, Store};

fn store(events: &[Event]) -> (tempfile::TempDir, Store) {
    let dir = folder();
    let mut store = open(dir.path());
    store.append(events).expect("appends");
    (dir, store)
}

fn only(index: &Index) -> PromotionRow {
    let rows = index.list_promotions().expect("reads");
    let [row] = &rows[..] else { panic!("{rows:?}") };
    row.clone()
}

/// Of `alpha` in second `n`; what is said goes by the last digit: 0 and 5 proposed, 1 and 6 approved, 2 and 7 rejected,
/// 3 and 8 rolled back, 4 and 9 retirement proposed.
fn said(n: u64) -> Event {
    promotion(n, &key("alpha"))
}

#[test]
fn the_last_decision_holds_in_any_order_of_import() {
    let orders: [&[u64]; 3] = [&[10, 11, 14, 13, 12], &[12, 13, 14, 11, 10], &[14, 10, 12, 11, 13]];
    for order in orders {
        let (_dir, store) = store(&order.iter().map(|n| said(*n)).collect::<Vec<_>>());
        let row = only(store.index());
        assert_eq!((row.state.as_str(), row.reason.as_str()), ("rolled_back", "because of 13"), "{order:?}");
        assert_eq!((row.proposed_at.0, row.retirement_proposed), (10_000_000, false));
    }
    let (_dir, store) = store(&[said(11), said(14)]);
    let row = only(store.index());
    assert_eq!(
        (row.state.as_str(), row.retirement_proposed, row.target.as_deref()),
        ("approved", true, Some("AGENTS.md"))
    );
    let changes = store.index().promotion_changes(&row.id).expect("reads");
    let changes: Vec<_> = changes.iter().map(|change| (change.change.as_str(), change.person.as_deref())).collect();
    assert_eq!(changes, [("approved", Some("Ada")), ("retirement_proposed", Some("Ada"))]);
}

#[test]
fn approving_again_after_a_proposed_retirement_starts_over() {
    let (_dir, mut store) = store(&[said(11), said(14)]);
    store.append(&[said(16)]).expect("appends");
    assert!(!only(store.index()).retirement_proposed);
}

#[test]
fn what_nobody_answers_for_decides_nothing() {
    let nobodys = |n| {
        let mut event = said(n);
        if let EventBody::Promotion(said) = &mut event.body {
            said.by.person = Some("  ".into());
        }
        event
    };
    let (_dir, mut store) = store(&[said(10), nobodys(11), nobodys(13)]);
    assert_eq!(only(store.index()).state.as_str(), "pending");
    store.append(&[nobodys(14)]).expect("appends");
    assert_eq!(store.index().promotion_changes(&only(store.index()).id).expect("reads").len(), 2, "not a decision");
}

#[test]
fn what_was_promoted_is_silenced_with_all_that_is_counted_with_it_until_it_is_rolled_back() {
    let events = [failed_run(1, "one", &["alpha", "bravo"]), failed_run(2, "two", &["alpha"])];
    let (_dir, mut store) = store(&events);
    let silenced = |store: &Store, name: &str| {
        let row = store.index().pattern_of_key(&key(name)).expect("reads").expect("is there");
        store.index().advice_row(row.number).expect("reads").silenced
    };
    assert!(!silenced(&store, "alpha"));
    store.append(&[said(11)]).expect("appends");
    assert_eq!((silenced(&store, "alpha"), silenced(&store, "bravo")), (true, false));
    store.append(&[merge(20, &key("bravo"), &key("alpha"), None)]).expect("appends");
    assert!(silenced(&store, "bravo"));
    store.append(&[said(23)]).expect("appends");
    assert!(!silenced(&store, "alpha") && !silenced(&store, "bravo"));
}
