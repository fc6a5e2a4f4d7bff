//! Merged patterns, and patterns whose keys changed with the fingerprint.

use proptest::prelude::*;

use super::worlds::world;
use super::{failed_run, flake, folder, key, merge, old_failed_run, old_key, open, passed_run, review, split};
use crate::base::ids::{self, IdKind};
use crate::diagnose;
use crate::event::DeliveryArm;
use crate::event::sample::found;
use crate::event::{Event, EventBody, LessonChange, LessonChangeKind, ReviewState};
use crate::fingerprint::{self, CANDIDATES_MAX};
use crate::store::{PatternRow, Store, StoreError};

fn store(events: &[Event]) -> (tempfile::TempDir, Store) {
    let dir = folder();
    let mut store = open(dir.path());
    store.append(events).expect("appends");
    (dir, store)
}

fn shown(store: &Store, name: &str) -> PatternRow {
    store.index().find_pattern(&id(name)).expect("is there")
}

fn id(name: &str) -> String {
    ids::short(IdKind::Pattern, key(name).as_bytes())
}

#[test]
fn a_group_is_counted_as_one_and_named_by_its_most_frequent_member() {
    let events = [
        failed_run(1, "one", &["alpha"]),
        failed_run(2, "one", &["alpha", "bravo"]),
        failed_run(3, "two", &["bravo"]),
        failed_run(4, "three", &["bravo"]),
        merge(5, &key("bravo"), &key("alpha"), None),
    ];
    let (_dir, mut store) = store(&events);
    let row = shown(&store, "alpha");
    assert_eq!(row.id, id("bravo"), "three failures to two");
    assert_eq!((row.failures, row.tasks, row.family_tasks, row.members), (4, 3, 3, 2), "a failure with both is one");
    assert_eq!((row.first_seen.0, row.last_seen.0), (1_000_000, 4_000_000));
    assert_eq!(shown(&store, "bravo"), row);
    assert_eq!(store.index().list_patterns(0, 10, None).expect("reads").len(), 1);
    assert_eq!(store.index().occurrences_of_pattern(row.number, 10).expect("reads").len(), 4);
    assert_eq!(store.index().pattern_files(row.number, 10).expect("reads"), [("src/a.js".to_owned(), 4)]);
    assert_eq!(store.index().runs_of_id(&id("alpha")).expect("reads").len(), 4);
    let merges = store.index().merges_of_group(row.number).expect("reads");
    assert_eq!((merges[0].from.as_str(), merges[0].into.as_str()), (&*id("bravo"), &*id("alpha")));
    // The other one is more frequent from now on.
    store.append(&[failed_run(6, "x", &["alpha"]), failed_run(7, "x", &["alpha"])]).expect("appends");
    assert_eq!(shown(&store, "bravo").id, id("alpha"));
}

#[test]
fn a_split_takes_back_what_was_merged_before_it() {
    let names = ["alpha", "bravo", "cargo"];
    let mut events = vec![failed_run(1, "one", &names)];
    events.push(merge(5, &key("alpha"), &key("bravo"), None));
    events.push(merge(6, &key("cargo"), &key("bravo"), None));
    events.push(split(7, &key("alpha")));
    let (_dir, mut store) = store(&events);
    assert_eq!((shown(&store, "alpha").members, shown(&store, "bravo").members), (1, 2));
    store.append(&[merge(8, &key("alpha"), &key("cargo"), None)]).expect("appends");
    assert_eq!(shown(&store, "alpha").members, 3, "merged again");
    store.append(&[split(9, &key("bravo"))]).expect("appends");
    assert_eq!((shown(&store, "alpha").members, shown(&store, "bravo").members), (2, 1), "the hub is out");
}

#[test]
fn the_recorder_does_not_undo_what_a_person_split() {
    let events = [
        failed_run(1, "one", &["alpha", "bravo"]),
        merge(2, &key("alpha"), &key("bravo"), Some(900)),
        split(3, &key("alpha")),
        merge(4, &key("alpha"), &key("bravo"), Some(900)),
    ];
    let (_dir, mut store) = store(&events);
    assert_eq!(shown(&store, "alpha").members, 1);
    store.append(&[merge(5, &key("alpha"), &key("bravo"), None)]).expect("appends");
    assert_eq!(shown(&store, "alpha").members, 2, "a person may");
}

#[test]
fn a_merge_may_come_before_its_patterns() {
    let (_dir, mut store) = store(&[merge(5, &key("alpha"), &key("bravo"), None)]);
    store.append(&[failed_run(6, "one", &["alpha"])]).expect("appends");
    assert_eq!(shown(&store, "alpha").members, 1);
    store.append(&[failed_run(7, "one", &["bravo"])]).expect("appends");
    assert_eq!(shown(&store, "bravo").members, 2);
}

#[test]
fn a_lesson_of_one_member_is_known_for_the_other() {
    let forgotten = LessonChangeKind::Forgotten { patterns: vec![key("bravo")] };
    let lesson = EventBody::Lesson(LessonChange { lesson: "l-x".into(), change: forgotten, by: None });
    let mut events = vec![failed_run(1, "one", &["alpha", "bravo", "cargo"])];
    events.push(merge(5, &key("alpha"), &key("bravo"), None));
    let (_dir, mut store) = store(&events);
    store.record_event(lesson).expect("records");
    let (alpha, cargo) = (key("alpha"), key("cargo"));
    let known = store.index().forgotten_patterns(&[&alpha, &cargo]).expect("reads");
    assert!(known.contains(&alpha) && !known.contains(&cargo));
}

#[test]
fn the_latest_review_of_any_member_holds_for_the_group() {
    let mut events = vec![failed_run(1, "one", &["alpha", "bravo"]), merge(2, &key("alpha"), &key("bravo"), None)];
    events.push(review(3, &key("alpha"), ReviewState::Muted));
    events.push(review(4, &key("bravo"), ReviewState::Deprecated));
    let (_dir, mut store) = store(&events);
    let row = shown(&store, "bravo");
    assert!(row.muted && row.deprecated);
    store.append(&[review(5, &key("bravo"), ReviewState::Unmuted)]).expect("appends");
    let row = shown(&store, "alpha");
    assert!(!row.muted && row.deprecated);
    assert_eq!(store.index().reviews_of_group(row.number).expect("reads").len(), 3);
}

#[test]
fn history_with_older_keys_is_counted_with_the_new_ones() {
    let events = [
        old_failed_run(1, "one", &["bravo"]),
        old_failed_run(2, "two", &["bravo"]),
        review(3, &old_key("bravo"), ReviewState::Muted),
        merge(4, &old_key("bravo"), &key("delta"), None),
        failed_run(5, "three", &["bravo", "delta"]),
    ];
    let (_dir, store) = store(&events);
    let row = shown(&store, "bravo");
    assert_eq!((row.id.as_str(), row.failures, row.tasks, row.members), (&*id("bravo"), 3, 3, 2));
    assert_eq!(row.masked, "bravo could not be parsed", "the text of this version");
    assert!(row.muted, "said of the older key");
    let old_id = ids::short(IdKind::Pattern, old_key("bravo").as_bytes());
    assert_eq!(store.index().find_pattern(&old_id).expect("still an id"), row);
    assert_eq!(store.index().members_of_group(row.number).expect("reads")[0].earlier_ids, [old_id]);
}

#[test]
fn an_older_key_of_several_patterns_names_them_all() {
    let (_dir, store) = store(&[old_failed_run(1, "one", &["alpha", "apple"])]);
    let old_id = ids::short(IdKind::Pattern, old_key("alpha").as_bytes());
    let error = store.index().find_pattern(&old_id).expect_err("two now");
    assert!(matches!(&error, StoreError::Ambiguous { count: 2, .. }), "{error}");
    assert!(error.to_string().contains(&id("apple")), "{error}");
}

#[test]
fn what_was_a_flake_is_no_sighting_for_a_warning_either() {
    let mut flaky = flake(9, 2);
    if let EventBody::Flake(flake) = &mut flaky.body {
        flake.patterns = vec![key("alpha")];
    }
    let events = [failed_run(1, "one", &["alpha"]), failed_run(2, "two", &["alpha"]), passed_run(9, "two"), flaky];
    let (_dir, store) = store(&events);
    let number = shown(&store, "alpha").number;
    let row = store.index().advice_row(number).expect("reads");
    assert_eq!(row.seen.iter().map(|(_, at)| at.0).collect::<Vec<_>>(), [1_000_000]);
    assert_eq!((row.failures, store.index().first_occurrences(number).expect("reads").len()), (2, 1));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    /// Both are asked of the same tables in their own ways.
    #[test]
    fn a_warning_reads_of_a_pattern_what_its_page_reads(events in world(8)) {
        let dir = folder();
        let mut store = open(dir.path());
        store.append(&events).expect("appends");
        let index = store.index();
        for page in index.list_patterns(0, 100, None).expect("reads") {
            let (row, brief) = (index.advice_row(page.number).expect("reads"), index.brief_of_pattern(page.number).expect("reads"));
            let mut times: Vec<_> = index.first_occurrences(page.number).expect("reads").iter().map(|seen| seen.at).collect();
            times.sort();
            prop_assert_eq!(row.seen.iter().map(|(_, at)| *at).collect::<Vec<_>>(), times);
            prop_assert_eq!(&row.files[..row.files.len().min(5)], &brief.files[..]);
            prop_assert_eq!(&brief.files, &index.pattern_files(page.number, 5).expect("reads"));
            let deliveries = index.deliveries_of_pattern(page.number).expect("reads");
            prop_assert_eq!(row.exposures, deliveries.len() as u64);
            let told = index.shown_deliveries_of_pattern(page.number).expect("reads").into_iter();
            let known = deliveries.into_iter().filter(|known| known.arm == DeliveryArm::Shown).map(|known| {
                (known.at, known.failed_in.zip(known.failed_at), known.passed_in.zip(known.passed_at))
            });
            let became = |(_, failed, passed): &(_, Option<_>, Option<_>)| failed.is_some() || passed.is_some();
            let told: Vec<_> = told.map(|told| (told.at, told.failed, told.passed)).filter(became).collect();
            prop_assert_eq!(told, known.filter(became).collect::<Vec<_>>());
            prop_assert!(row.silenced || !page.muted && !page.deprecated);
            prop_assert_eq!((brief.id, brief.tasks, brief.last_seen), (page.id, page.tasks, page.last_seen));
        }
    }
}

#[test]
fn of_many_that_share_a_little_those_that_share_most_are_candidates() {
    let common: Vec<String> = (0..300).map(|n| format!("the value of {} alpha", letters(n))).collect();
    let names: Vec<&str> = common.iter().map(String::as_str).collect();
    let close = ["the first value of the second widget in alpha", "the first value of the second widgets in alpha"];
    let events = [
        failed_run(1, "one", &names),
        failed_run(2, "one", &close),
        failed_run(3, "one", &["the first value of the second widget inside alpha"]),
        merge(4, &key("the first value of the second widget inside alpha"), &key(close[0]), None),
    ];
    let (_dir, store) = store(&events);
    let asked = found("the first value of the second widget on alpha");
    let near = fingerprint::sketch_message(&asked).expect("says enough");
    let rows = store.index().near_patterns(&near).expect("reads");
    assert!(rows.len() > 10 && rows.len() <= CANDIDATES_MAX, "{}", rows.len());
    assert!(rows.is_sorted_by(|a, b| a.bands >= b.bands), "{rows:?}");
    let best: Vec<&str> = rows.iter().take(2).map(|row| row.key.as_str()).collect();
    assert!(best.contains(&key(close[0]).as_str()) && best.contains(&key(close[1]).as_str()), "{rows:?}");
    let member = key("the first value of the second widget inside alpha");
    assert!(rows.iter().all(|row| row.key != member), "its group is asked for it");
    let elsewhere =
        fingerprint::sketch_message(&diagnose::Diagnostic { code: Some("E2".into()), ..asked }).expect("says enough");
    assert!(store.index().near_patterns(&elsewhere).expect("reads").is_empty(), "another code is another scope");
}

/// A word for a number.
fn letters(n: u32) -> String {
    let letter = |n: u32| char::from_u32(u32::from(b'a') + n % 26).expect("a letter");
    ["z", "y"].iter().flat_map(|end| [letter(n / 26), letter(n), letter(n)].into_iter().chain(end.chars())).collect()
}
